package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
	"github.com/agentls/agentls/internal/settings"
)

// What an item of a folder is.
const (
	AgentItem = "agent" // an agent file
	HookItem  = "hook"  // the hooks of one event
	MCPItem   = "mcp"   // an MCP server

	MemoryItem = "instructions" // a memory file; never recorded
)

// A TrustItem is something in a folder that executes or instructs, and so counts
// only as the person approved it (spec 11.1 rule 4).
// Two items are the same where Name and Digest are.
type TrustItem struct {
	// Name is its place, relative to the folder of the record with "/" between: the
	// path of an agent file, ".gemini/settings.json#hooks.BeforeTool",
	// ".gemini/settings.json#mcpServers.db".
	Name   string
	Digest Digest // of Text
	Kind   string // AgentItem, HookItem or MCPItem; not recorded
	Label  string // for people: what it runs; not recorded, not escaped
	// Text is all that it is: of an agent its file, of a hook or a server its
	// settings and each file of the folder that these name (SEC-10, SEC-11).
	Text []byte
}

// Active is what a folder brings that takes effect when it is trusted.
type Active struct {
	Items    []TrustItem
	Settings []string // keys of the folder's settings, with dots, sorted
	// Memory are its memory files, by name and text: agents are told them, and their
	// changes are not reviewed, since they permit nothing.
	Memory []TrustItem
}

// Empty says that a folder brings nothing.
func (a Active) Empty() bool { return len(a.Items)+len(a.Settings)+len(a.Memory) == 0 }

const (
	agentsFolder = ".gemini/agents"
	maxAgentItem = 256 << 10 // bytes; a larger agent file cannot run (SEC-120)
	maxNamedFile = 64 << 20  // bytes of a file that a command names; of a larger one size and time stand for it
	maxNamedText = 16 << 10  // bytes of it that are shown
)

// ReadActive looks at what a folder brings, as it is on disk now. It starts
// nothing, follows no link out of the folder, and leaves out what cannot be read:
// that does not take effect either. The error is ctx's, or says that the folder
// cannot be opened.
// A folder that does not exist brings nothing. The caller owns the result.
func ReadActive(ctx context.Context, folder string) (Active, error) {
	disk, err := OpenDisk(folder)
	if fault.KindOf(err) == fault.NotFound {
		return Active{}, nil
	}
	if err != nil {
		return Active{}, err
	}
	defer disk.Close()
	var a Active
	entries, _ := fs.ReadDir(disk.root.FS(), agentsFolder) // a folder that leads out, or is none, has no agents
	for _, e := range entries {
		if name := e.Name(); agentName(name) {
			if item, ok := readAgent(ctx, disk, path.Join(agentsFolder, name)); ok {
				a.Items = append(a.Items, item)
			}
		}
	}
	for _, name := range memoryNames(disk) {
		if f, err := disk.Read(ctx, name, maxMemoryFile); err == nil {
			a.Memory = append(a.Memory, TrustItem{Name: name, Label: name, Kind: MemoryItem, Text: f.Bytes})
		}
	}
	if f, err := disk.Read(ctx, ProjectSettings, maxSettings); err == nil {
		a.addSettings(ctx, disk, f.Bytes)
	}
	return a, ctx.Err()
}

// ReadServers looks at the MCP servers of a folder's settings as [ReadActive] does;
// none where they cannot be read.
func ReadServers(ctx context.Context, folder string) []TrustItem {
	return readSection(ctx, folder, MCPItem, "mcpServers")
}

// ReadHooks does the same for the hooks of a folder's settings, an item for each event.
func ReadHooks(ctx context.Context, folder string) []TrustItem {
	return readSection(ctx, folder, HookItem, "hooks")
}

// readSection returns the items of one section of a folder's settings.
func readSection(ctx context.Context, folder, kind, section string) []TrustItem {
	disk, err := OpenDisk(folder)
	if err != nil {
		return nil
	}
	defer disk.Close()
	f, err := disk.Read(ctx, ProjectSettings, maxSettings)
	if err != nil {
		return nil
	}
	var a Active
	// Read with project scope, so that keys which a project may not set are no items.
	s := MergeSettings(SettingsSource{Scope: settings.ProjectScope, File: ProjectSettings, Content: f.Bytes})
	left := maxLooks
	for _, raw := range s.Lookup(section) {
		a.addSection(ctx, disk, kind, section, raw.JSON, &left)
	}
	return a.Items
}

// ServerItem is the name of the item of an MCP server.
func ServerItem(server string) string { return ProjectSettings + "#mcpServers." + server }

// HooksItem is the name of the item of the hooks of an event.
func HooksItem(event string) string { return ProjectSettings + "#hooks." + event }

// ReadAgent returns the item of one agent file, by its path relative to a folder;
// false for what cannot be read.
// It is the file on disk, whatever an editor shows.
func ReadAgent(ctx context.Context, folder, name string) (TrustItem, bool) {
	disk, err := OpenDisk(folder)
	if err != nil {
		return TrustItem{}, false
	}
	defer disk.Close()
	return readAgent(ctx, disk, name)
}

// readAgent does that on an open disk.
func readAgent(ctx context.Context, disk *Disk, name string) (TrustItem, bool) {
	f, err := disk.Read(ctx, name, maxAgentItem)
	if err != nil {
		return TrustItem{}, false
	}
	return TrustItem{Name: filepath.ToSlash(name), Digest: f.Digest, Kind: AgentItem,
		Label: strings.TrimSuffix(path.Base(filepath.ToSlash(name)), ".md"), Text: f.Bytes}, true
}

// IsAgentFile says that a path relative to a workspace folder is that of an agent
// file (spec 1.1).
func IsAgentFile(rel string) bool {
	rel = filepath.ToSlash(rel)
	return path.Dir(rel) == agentsFolder && agentName(path.Base(rel))
}

// agentName reports whether a file directly in the agents folder is an agent file.
func agentName(name string) bool {
	return strings.HasSuffix(name, ".md") && len(name) > len(".md") && !strings.ContainsAny(name[:1], "._#")
}

// addSettings adds the hooks and MCP servers of the folder's settings, and the
// other keys that they set.
func (a *Active) addSettings(ctx context.Context, disk *Disk, content []byte) {
	s := MergeSettings(SettingsSource{Scope: settings.ProjectScope, File: ProjectSettings, Content: content})
	left := maxLooks
	for _, raw := range s.Lookup("hooks") {
		a.addSection(ctx, disk, HookItem, "hooks", raw.JSON, &left)
	}
	for _, raw := range s.Lookup("mcpServers") {
		a.addSection(ctx, disk, MCPItem, "mcpServers", raw.JSON, &left)
	}
	for _, e := range s.Effective() {
		if e.Origin.Scope == settings.ProjectScope {
			a.Settings = append(a.Settings, e.Key)
		}
	}
	for name := range s.Overrides {
		a.Settings = append(a.Settings, "agents.overrides."+name)
	}
	slices.Sort(a.Settings)
}

// addSection adds an item for each member of an object of the settings. What is
// no object is one item. left is how many looks are left for files that it names: one that
// names more has no digest, so that nobody can approve it.
func (a *Active) addSection(ctx context.Context, disk *Disk, kind, section string, raw []byte, left *int) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		members = map[string]json.RawMessage{"": raw}
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var value any
		if json.Unmarshal(members[name], &value) != nil {
			continue
		}
		item := TrustItem{Kind: kind, Name: ProjectSettings + "#" + strings.TrimSuffix(section+"."+name, ".")}
		said := textsIn(value)
		item.Label = name + ": " + strings.Join(commandsOf(value), "; ")
		var text bytes.Buffer
		// Keys come out sorted: settings that differ in nothing but their order are the same item.
		shown, _ := json.MarshalIndent(value, "", "  ") // it was read from JSON
		fmt.Fprintf(&text, "%s\n", shown)
		files, ok := filesNamedBy(disk, said, left)
		if !ok {
			item.Label = name + ": " + namesTooMuch
		}
		for _, file := range files {
			describe(ctx, disk, &text, file)
		}
		item.Text = text.Bytes()
		if ok {
			item.Digest = DigestOf(item.Text)
		}
		a.Items = append(a.Items, item)
	}
}

// textsIn returns every text in a value, keys too.
// They are in no fixed order.
func textsIn(value any) []string {
	var all []string
	switch v := value.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, one := range v {
			all = append(all, textsIn(one)...)
		}
	case map[string]any:
		for name, one := range v {
			all = append(append(all, name), textsIn(one)...)
		}
	}
	return all
}

// commandsOf returns what a value of hooks or MCP servers runs or connects to, in
// words for people.
// They are in a fixed order, so that the same description gives the same words.
// Variables of the environment (env) are left out.
func commandsOf(value any) []string {
	var all []string
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			all = append(all, commandsOf(one)...)
		}
	case map[string]any:
		words := []string{}
		for _, key := range []string{"command", "args", "url", "httpUrl"} {
			switch one := v[key].(type) {
			case string:
				words = append(words, one)
			case []any:
				for _, word := range one {
					words = append(words, fmt.Sprint(word))
				}
			}
		}
		if len(words) > 0 {
			if _, starts := v["command"].(string); starts {
				access, given := v["sandbox"].(string)
				if !given {
					access = "write"
				}
				words = append(words, fmt.Sprintf("(sandbox: %s)", access))
			}
			all = append(all, strings.Join(words, " "))
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if name != "env" {
				all = append(all, commandsOf(v[name])...)
			}
		}
	}
	return all
}

// describe adds what a file is, so that any change of it is one of the text.
func describe(ctx context.Context, disk *Disk, text *bytes.Buffer, name string) {
	f, err := disk.Read(ctx, name, maxNamedFile)
	if err != nil {
		// It is usually too large: its size and time stand for its content.
		if info, err := disk.root.Stat(name); err == nil {
			fmt.Fprintf(text, "\nfile %s: %d bytes, of %s\n", name, info.Size(), info.ModTime().UTC())
		}
		return
	}
	fmt.Fprintf(text, "\nfile %s: sha256 %s\n", name, f.Digest)
	if len(f.Bytes) <= maxNamedText && utf8.Valid(f.Bytes) {
		fmt.Fprintf(text, "%s\n", bytes.TrimSuffix(f.Bytes, []byte("\n")))
	}
}

// Under returns an item as one of a folder above its own is called.
// rel is the way from that folder to the item's own, "." where they are the same.
func (i TrustItem) Under(rel string) TrustItem {
	if rel = filepath.ToSlash(rel); rel != "." {
		i.Name = rel + "/" + i.Name
	}
	return i
}

// The bounds of the texts that are kept: an item whose text does not fit is
// approved all the same, and its next difference is shown as the whole.
const (
	maxTexts    = 32 << 20 // bytes in all
	maxOneText  = 256 << 10
	textsFolder = "reviewed"
)

// texts is the folder of the texts that were approved, each named by its digest.
func (t *Trust) texts() string { return filepath.Join(filepath.Dir(t.file), textsFolder) }

// Text returns the text that was approved under a digest; false where it was not
// kept or is another one by now.
// The caller owns it. It reads a file.
func (t *Trust) Text(digest Digest) ([]byte, bool) {
	if len(digest) != 64 || strings.ContainsFunc(string(digest),
		func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }) {
		return nil, false
	}
	content, info, err := folder.ReadRegular(filepath.Join(t.texts(), string(digest)), maxOneText)
	if err != nil || t.private(t.file, info) != nil || DigestOf(content) != digest {
		return nil, false
	}
	return content, true
}

// keepTexts keeps the texts of items, and removes those that no record names. It
// is for showing differences, so a failure loses no more than that. The caller
// holds the lock of the folder.
func (t *Trust) keepTexts(data *trustFile, items []TrustItem) {
	if privateFolder(t.texts()) != nil {
		return
	}
	dir, err := os.OpenRoot(t.texts())
	if err != nil {
		return
	}
	defer dir.Close()
	// data already has the change, so texts that it no longer names are removed.
	used := map[string]bool{}
	for _, folder := range data.Folders {
		for _, digest := range folder.Items {
			used[digest] = true
		}
	}
	size := int64(0)
	entries, _ := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		if !used[e.Name()] {
			_ = dir.RemoveAll(e.Name())
		} else if info, err := e.Info(); err == nil {
			size += info.Size()
		}
	}
	for _, item := range items {
		if size += int64(len(item.Text)); len(item.Text) == 0 || len(item.Text) > maxOneText || size > maxTexts ||
			DigestOf(item.Text) != item.Digest {
			size -= int64(len(item.Text))
			continue
		}
		_ = putFile(dir, string(item.Digest), putting{content: item.Text, mode: 0o600})
	}
}
