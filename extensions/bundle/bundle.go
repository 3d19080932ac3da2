// Package bundle keeps Gemini CLI extensions: folders with a gemini-extension.json
// that bring agents, MCP servers, custom commands, context files, hooks and skills
// along (spec 9.3).
//
// [Read] looks at a folder and starts nothing. What it brings is a list of [Item]s,
// each with a digest; a [Store] has what the person has approved of each bundle, and a
// bundle takes effect only while it brings exactly that (SEC-08, SEC-96).
// [Store.Stage] brings one in, all or nothing (SEC-95).
package bundle

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentls/agentls/extensions/command"
	"github.com/agentls/agentls/extensions/skill"
)

// ManifestName is the file that makes a folder a bundle.
const ManifestName = "gemini-extension.json"

// installedName is where gemini-cli and we write down where a bundle came from.
const installedName = ".gemini-extension-install.json"

const (
	maxManifest = 1 << 20
	maxHashed   = 64 << 20 // bytes of one file that is part of an item
	maxItems    = 2000
)

// The kinds of items, in the order in which they are shown.
const (
	ServerItem  = "MCP server"
	HookItem    = "hook"
	CommandItem = "command"
	AgentItem   = "agent"
	SkillItem   = "skill"
	ContextItem = "context file"
	ExcludeItem = "excluded tool"
	SettingItem = "setting"
)

// Item is one thing that a bundle brings.
type Item struct {
	Kind   string
	Name   string
	Detail string // what it runs or is for, in a line
	Digest string
}

// Bundle is a bundle as it lies on the disk.
type Bundle struct {
	Name        string
	Version     string
	Description string
	Folder      string // under extensions, which names it
	Dir         string // where its files are: Folder, or where a link leads
	Project     string // the workspace folder that it lies in; "" = the person's own
	Source      string // where it came from; "" = it is not known
	Linked      bool
	Items       []Item
	LeftOut     []string // what it brings that has no effect here
	Problem     string   // why it cannot be used; "" = it can

	contextFiles []string // relative
	exclude      []string
	settings     []setting
	servers      map[string]json.RawMessage
	hooks        json.RawMessage
}

// setting is a value that a bundle wants from the person, by a variable of the
// environment.
type setting struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	EnvVar      string `json:"envVar"`
}

// manifest is the content of a gemini-extension.json.
type manifest struct {
	Name            string                     `json:"name"`
	Version         string                     `json:"version"`
	Description     string                     `json:"description"`
	MCPServers      map[string]json.RawMessage `json:"mcpServers"`
	ContextFileName json.RawMessage            `json:"contextFileName"`
	ExcludeTools    []string                   `json:"excludeTools"`
	Settings        []setting                  `json:"settings"`
}

// installed is the content of the file that says where a bundle came from.
type installed struct {
	Source string `json:"source"`
	Type   string `json:"type"` // local, git, archive, link
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Read returns the bundle in a folder. project is the workspace folder that it lies
// in, "" for the person's own. One that cannot be used has a Problem.
func Read(folder, project string) *Bundle {
	b := &Bundle{Name: filepath.Base(folder), Folder: folder, Dir: folder, Project: project}
	if err := b.read(); err != nil {
		b.Problem, b.Items = err.Error(), nil
	}
	return b
}

func (b *Bundle) read() error {
	info, err := os.Lstat(b.Folder)
	if err != nil {
		return err
	}
	if b.Project != "" && info.Mode()&fs.ModeSymlink != 0 {
		return errors.New("it is a link; a project's extensions have to lie in it")
	}
	root, err := os.OpenRoot(b.Dir)
	if err != nil {
		return err
	}
	defer func() { root.Close() }()
	var from installed
	if data, err := readFile(root, installedName, maxManifest); err == nil && json.Unmarshal(data, &from) == nil {
		b.Source = from.Source
		if from.Type == "link" {
			if b.Project != "" || !filepath.IsAbs(from.Source) {
				return errors.New("it is a link to another folder; a project's extensions have to lie in it")
			}
			linked, err := os.OpenRoot(from.Source)
			if err != nil {
				return fmt.Errorf("the folder that it links to cannot be opened: %w", err)
			}
			root.Close()
			root, b.Dir, b.Linked = linked, from.Source, true
		}
	}
	return b.readFrom(root)
}

func (b *Bundle) readFrom(root *os.Root) error {
	data, err := readFile(root, ManifestName, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s in %s", ManifestName, b.Dir)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", ManifestName, err)
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("%s cannot be read: %w", ManifestName, err)
	}
	if !nameForm.MatchString(m.Name) {
		return fmt.Errorf("%s: the name %q cannot be that of an extension; use letters, digits, - and _", ManifestName, m.Name)
	}
	b.Name, b.Version, b.Description = m.Name, m.Version, m.Description
	b.exclude, b.settings, b.servers = m.ExcludeTools, m.Settings, m.MCPServers
	if b.contextFiles, err = contextFiles(root, m.ContextFileName); err != nil {
		return err
	}
	return b.itemize(root)
}

// contextFiles returns the files that contextFileName names, else GEMINI.md if it is
// there.
func contextFiles(root *os.Root, raw json.RawMessage) ([]string, error) {
	var names []string
	var one string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		if _, err := root.Stat("GEMINI.md"); err != nil {
			return nil, nil
		}
		return []string{"GEMINI.md"}, nil
	case json.Unmarshal(raw, &one) == nil:
		names = []string{one}
	case json.Unmarshal(raw, &names) != nil:
		return nil, fmt.Errorf("%s: contextFileName has to be a name or a list of names", ManifestName)
	}
	for _, name := range names {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Errorf("%s: the context file %q lies outside of the extension", ManifestName, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { _, err := root.Stat(name); return err != nil }), nil
}

// itemize lists what the bundle brings.
func (b *Bundle) itemize(root *os.Root) error {
	add := func(kind, name, detail string, content ...[]byte) {
		sum := sha256.New()
		for _, c := range content {
			fmt.Fprintf(sum, "%d:", len(c))
			sum.Write(c)
		}
		b.Items = append(b.Items, Item{kind, name, detail, hex.EncodeToString(sum.Sum(nil))})
	}
	for name, raw := range b.servers {
		var d map[string]any // which [Bundle.Servers] goes by too: what is shown is what runs
		if err := json.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("%s: the server %s cannot be read: %w", ManifestName, name, err)
		}
		hash, err := b.hashNamed(root, raw)
		if err != nil {
			return err
		}
		add(ServerItem, name, serverDetail(d), raw, hash)
	}
	if err := b.addHooks(root, add); err != nil {
		return err
	}
	for _, c := range command.Read([]command.Place{b.Commands()}) {
		data, _ := readFile(root, b.rel(c.Path), maxHashed) // one that cannot be read is no command either
		add(CommandItem, "/"+c.Name, cmp.Or(c.Problem, c.Description), data)
	}
	entries, _ := fs.ReadDir(root.FS(), "agents")
	for _, e := range entries {
		if path.Ext(e.Name()) != ".md" || strings.ContainsAny(e.Name()[:1], "._#") {
			continue
		}
		data, err := readFile(root, path.Join("agents", e.Name()), maxHashed)
		if err != nil {
			return fmt.Errorf("the agent %s cannot be read: %w", e.Name(), err)
		}
		add(AgentItem, strings.TrimSuffix(e.Name(), ".md"), "", data)
	}
	for _, s := range skill.Read([]skill.Place{b.Skills()}) {
		hash, err := hashTree(root, b.rel(s.Dir))
		if err != nil {
			return err
		}
		add(SkillItem, s.Name, cmp.Or(s.Problem, s.Description), hash)
	}
	for _, name := range b.contextFiles {
		data, err := readFile(root, name, maxHashed)
		if err != nil {
			return fmt.Errorf("the context file %s cannot be read: %w", name, err)
		}
		add(ContextItem, name, fmt.Sprintf("%d bytes, told to every agent", len(data)), data)
	}
	for _, name := range b.exclude {
		add(ExcludeItem, name, "no agent has it", nil)
	}
	for _, s := range b.settings {
		add(SettingItem, s.EnvVar, s.Description, []byte(s.Name))
	}
	for _, other := range []struct{ name, why string }{
		{"policies", "policies are not read: your own settings and answers decide what is allowed"},
		{"themes", "themes are for gemini-cli's terminal"},
	} {
		if info, err := root.Stat(other.name); err == nil && info.IsDir() {
			b.LeftOut = append(b.LeftOut, other.why)
		}
	}
	if len(b.Items) > maxItems {
		return fmt.Errorf("it brings more than %d things", maxItems)
	}
	slices.SortStableFunc(b.Items, func(x, y Item) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, x.Kind), slices.Index(kinds, y.Kind)), cmp.Compare(x.Name, y.Name))
	})
	return nil
}

// serverDetail says what starts a server: all words, the program that the first one is
// by now, its folder and the names of its variables (SEC-87).
func serverDetail(d map[string]any) string {
	said := func(key string) string { text, _ := d[key].(string); return text }
	command := cmp.Or(said("command"), said("httpUrl"), said("url"))
	text := command
	args, _ := d["args"].([]any)
	for _, arg := range args {
		text += fmt.Sprintf(" %v", arg)
	}
	if program, err := exec.LookPath(command); err == nil && program != command {
		text += "  (" + program + ")"
	}
	if cwd := said("cwd"); cwd != "" {
		text += "  in " + cwd
	}
	if env, _ := d["env"].(map[string]any); len(env) > 0 {
		text += "  with " + strings.Join(slices.Sorted(maps.Keys(env)), ", ")
	}
	return text
}

var kinds = []string{ServerItem, HookItem, CommandItem, AgentItem, SkillItem, ContextItem, ExcludeItem, SettingItem}

// addHooks adds the hooks of hooks/hooks.json, each event with the files of the folder.
func (b *Bundle) addHooks(root *os.Root, add func(kind, name, detail string, content ...[]byte)) error {
	data, err := readFile(root, "hooks/hooks.json", maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var file struct {
		Hooks json.RawMessage `json:"hooks"`
	}
	var events map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err == nil {
		err = json.Unmarshal(file.Hooks, &events)
	}
	if err != nil {
		return fmt.Errorf("hooks/hooks.json cannot be read: %w", err)
	}
	b.hooks = file.Hooks
	files, err := hashTree(root, "hooks")
	if err != nil {
		return err
	}
	for event, raw := range events {
		named, err := b.hashNamed(root, raw)
		if err != nil {
			return err
		}
		add(HookItem, event, strings.Join(commandsIn(raw), "; "), raw, files, named)
	}
	return nil
}

// commandsIn returns the values of each member command.
func commandsIn(raw json.RawMessage) (all []string) {
	var value any
	_ = json.Unmarshal(raw, &value) // it was JSON before
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			if text, ok := v["command"].(string); ok {
				all = append(all, text)
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key])
			}
		}
	}
	walk(value)
	return all
}

// hashNamed returns a digest of the bundle's files that a description names, in its
// own words or in those of a shell.
func (b *Bundle) hashNamed(root *os.Root, raw json.RawMessage) ([]byte, error) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, err
	}
	files := map[string]bool{}
	each(value, func(text string) string {
		text = b.expand(text, "")
		for _, word := range append(strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\n;|&()<>\"'`=", c) }), text) {
			if filepath.IsAbs(word) {
				word = b.rel(word)
			}
			if word = filepath.Clean(word); filepath.IsLocal(word) {
				if info, err := root.Stat(word); err == nil && info.Mode().IsRegular() {
					files[word] = true
				}
			}
		}
		return text
	})
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := hashFile(root, name, sum); err != nil {
			return nil, err
		}
	}
	return sum.Sum(nil), nil
}

// hashTree returns a digest of all files below a folder.
func hashTree(root *os.Root, dir string) ([]byte, error) {
	sum := sha256.New()
	n := 0
	err := fs.WalkDir(root.FS(), filepath.ToSlash(dir), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if n++; n > maxItems {
			return fmt.Errorf("%s has more than %d files", dir, maxItems)
		}
		return hashFile(root, name, sum)
	})
	return sum.Sum(nil), err
}

func hashFile(root *os.Root, name string, into io.Writer) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a file", name)
	case info.Size() > maxHashed:
		return fmt.Errorf("%s is larger than %d MiB", name, maxHashed>>20)
	}
	fmt.Fprintf(into, "%s\x00%d\x00", filepath.ToSlash(name), info.Size())
	_, err = io.Copy(into, io.LimitReader(f, maxHashed))
	return err
}

// readFile returns a regular file beneath a folder.
func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it is larger than %d KiB", limit>>10)
	}
	return data, err
}

// rel returns a path relative to the bundle.
func (b *Bundle) rel(name string) string {
	rel, err := filepath.Rel(b.Dir, name)
	if err != nil {
		return name
	}
	return rel
}
