// Package bundle keeps Gemini CLI extensions: folders with a gemini-extension.json
// that bring agents, MCP servers, custom commands, context files, hooks and skills
// along (spec 9.3).
//
// [Read] looks at a folder and starts nothing. What it brings is a list of [Item]s,
// each with a digest; a [Store] has what the person has approved of each bundle, and a
// bundle takes effect only while it brings exactly that (SEC-08, SEC-96).
// [Store.Stage] brings one in, all or nothing (SEC-95).
//
// # Life cycle
//
// A bundle is brought in beside the others ([Store.Stage], [Store.Link]) and takes no
// effect there. The person is shown what it brings, and then it is committed, which
// approves exactly that, or discarded. [Store.List] reads all bundles again whenever it
// is asked and says of each whether it is active; what an active one brings is taken
// from its methods (use.go). A file that changes after the approval makes another
// digest, and the bundle inactive, until the person has seen what is new
// (TestSEC96ChangesAreApprovedAnew). TestSEC95Archives holds the bounds of archives.
//
// A bundle is the person's or a project's. One of a project has less power: no links,
// and a wall around its servers and hooks.
package bundle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentls/agentls/extensions/command"
	"github.com/agentls/agentls/extensions/skill"
	"github.com/agentls/agentls/internal/folder"
)

// ManifestName is the file that makes a folder a bundle.
const ManifestName = "gemini-extension.json"

// installedName is where gemini-cli and we write down where a bundle came from.
const installedName = ".gemini-extension-install.json"

const (
	// Of each file of JSON, in bytes.
	maxManifest = 1 << 20
	maxHashed   = 64 << 20 // bytes of one file that is part of an item
	// Of a bundle's items, and of the files below a folder that is a part of one.
	maxItems = 2000
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

// Item is one thing that a bundle brings. Kind and Name are unique in a bundle.
type Item struct {
	Kind   string
	Name   string
	Detail string // what it runs or is for, in a line
	// Hex SHA-256 of everything that the item does by: its description and the files that this
	// names.
	Digest string
}

// Bundle is a bundle as it lies on the disk. It is what [Store.Read] saw, and not
// changed afterwards; files may be others by now.
type Bundle struct {
	Name        string
	Version     string
	Description string
	Folder      string // under extensions, which names it
	Dir         string // where its files are: Folder, or where a link leads
	Project     string // the workspace folder that it lies in; "" = the person's own
	Source      string // where it came from; "" = it is not known
	// Its files lie in Dir, outside of the folder of extensions.
	Linked  bool
	Items   []Item
	LeftOut []string // what it brings that has no effect here
	Problem string   // why it cannot be used; "" = it can

	contextFiles []string // relative
	exclude      []string
	settings     []setting
	servers      map[string]json.RawMessage
	hooks        json.RawMessage
	named        func(ctx context.Context, folder string, said []string) ([]byte, error) // as [Store.Named]
}

// setting is a value that a bundle wants from the person, by a variable of the
// environment. Its value is the person's own variable; nothing is stored.
type setting struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	EnvVar      string `json:"envVar"`
}

// manifest is the content of a gemini-extension.json. Members that are not here are
// ignored.
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

// nameForm is what an extension may be called: its name becomes that of a folder.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Read returns the bundle in a folder. project is the workspace folder that it lies
// in, "" for the person's own. One that cannot be used, or that was not read to its end
// because ctx ended, has a Problem. It reads every file that the bundle brings, up to
// maxHashed bytes each.
func (s *Store) Read(ctx context.Context, folder, project string) *Bundle {
	b := &Bundle{Name: filepath.Base(folder), Folder: folder, Dir: folder, Project: project, named: s.Named}
	if err := b.read(ctx); err != nil {
		b.Problem, b.Items = err.Error(), nil
	}
	return b
}

// read opens the folder, or the one that it links to, and reads from that. The error is for people.
//
// A project's bundle that is a link, or says that it is one, is refused: its files have to
// lie in the project that the person has looked at.
func (b *Bundle) read(ctx context.Context) error {
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
	// Without this note only the source of the bundle is unknown.
	if data, err := folder.ReadFile(root, installedName, maxManifest); err == nil &&
		json.Unmarshal(data, &from) == nil {
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
	return b.readFrom(ctx, root)
}

// readFrom reads the manifest, and what the folder brings by the names of its files.
//
// Whatever is wrong with the manifest is an error.
func (b *Bundle) readFrom(ctx context.Context, root *os.Root) error {
	data, err := folder.ReadFile(root, ManifestName, maxManifest)
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
		return fmt.Errorf("%s: the name %q cannot be that of an extension; use letters, digits, - and _", ManifestName,
			m.Name)
	}
	b.Name, b.Version, b.Description = m.Name, m.Version, m.Description
	b.exclude, b.settings, b.servers = m.ExcludeTools, m.Settings, m.MCPServers
	if b.contextFiles, err = contextFiles(root, m.ContextFileName); err != nil {
		return err
	}
	return b.itemize(ctx, root)
}

// contextFiles returns the files that contextFileName names, else GEMINI.md if it is
// there. Names of files that are not there are left out.
// A name that leads out of the bundle is an error, and makes all of it unusable.
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

// itemize lists what the bundle brings. What cannot be read is an error and not left
// out: it would be missing in what the person approves.
// The content of an item goes into its digest with its length before each part, so that no
// bytes can move from one part to the next. Items are sorted by kind and name.
func (b *Bundle) itemize(ctx context.Context, root *os.Root) error {
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
		hash, err := b.hashNamed(ctx, raw)
		if err != nil {
			return err
		}
		add(ServerItem, name, b.serverDetail(d), raw, hash)
	}
	if err := b.addHooks(ctx, root, add); err != nil {
		return err
	}
	for _, c := range command.Read([]command.Place{b.Commands()}) {
		data, _ := folder.ReadFile(root, b.rel(c.Path), maxHashed) // one that cannot be read is no command either
		add(CommandItem, "/"+c.Name, cmp.Or(c.Problem, c.Description), data)
	}
	entries, _ := fs.ReadDir(root.FS(), "agents")
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		// The catalog does not take these names for agents either.
		if path.Ext(e.Name()) != ".md" || strings.ContainsAny(e.Name()[:1], "._#") {
			continue
		}
		data, err := folder.ReadFile(root, path.Join("agents", e.Name()), maxHashed)
		if err != nil {
			return fmt.Errorf("the agent %s cannot be read: %w", e.Name(), err)
		}
		add(AgentItem, strings.TrimSuffix(e.Name(), ".md"), "", data)
	}
	for _, s := range skill.Read([]skill.Place{b.Skills()}) {
		hash, err := hashTree(ctx, root, b.rel(s.Dir))
		if err != nil {
			return err
		}
		add(SkillItem, s.Name, cmp.Or(s.Problem, s.Description), hash)
	}
	for _, name := range b.contextFiles {
		data, err := folder.ReadFile(root, name, maxHashed)
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
		return cmp.Or(cmp.Compare(slices.Index(kinds, x.Kind), slices.Index(kinds, y.Kind)),
			cmp.Compare(x.Name, y.Name))
	})
	return nil
}

// kinds are the kinds of items in the order in which they are shown.
var kinds = []string{ServerItem, HookItem, CommandItem, AgentItem, SkillItem, ContextItem, ExcludeItem, SettingItem}

// rel returns a path relative to the bundle. It is the name itself where that does not
// lie below Dir.
func (b *Bundle) rel(name string) string {
	rel, err := filepath.Rel(b.Dir, name)
	if err != nil {
		return name
	}
	return rel
}
