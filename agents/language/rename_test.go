package language

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/fault"
)

// fixture is a workspace on the disk: files by their place, as "a/code-fixer.md" in
// the folder a, or "global/x.md". A | in a text is the cursor.
type fixture struct {
	t       testing.TB
	dir     string
	world   *World
	sources Sources
	cursor  *File
	at      definition.Position
}

func newFixture(t testing.TB, files map[string]string) *fixture {
	t.Helper()
	h := &fixture{t: t, dir: t.TempDir()}
	var places []registry.Place
	var cursor string
	var offset int
	for _, name := range sortedKeys(files) {
		path := h.path(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := files[name]
		if i := strings.Index(text, "‸"); i >= 0 {
			cursor, offset = name, i
			text = text[:i] + text[i+len("‸"):]
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := h.place(name)
		if !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	r := registry.New(registry.Config{Places: places})
	snapshot, err := r.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.world = &World{Agents: snapshot}
	h.sources = Sources{
		Read: func(path string) (string, bool) {
			b, err := os.ReadFile(path)
			return string(b), err == nil
		},
		Exists: func(path string) bool {
			_, err := os.Stat(path)
			return err == nil
		},
	}
	if cursor != "" {
		h.cursor = h.file(cursor)
		h.at = h.cursor.Index.Position(offset)
	}
	return h
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (h *fixture) path(name string) string {
	folder, base := filepath.Split(name)
	return filepath.Join(h.dir, folder, ".gemini/agents", base)
}

func (h *fixture) place(name string) registry.Place {
	folder := filepath.Join(h.dir, filepath.Dir(name))
	p := registry.Place{Scope: definition.Project, Dir: filepath.Join(folder, ".gemini/agents"), Folder: folder}
	switch filepath.Dir(name) {
	case "global":
		p.Scope, p.Folder = definition.Global, ""
	case "ext":
		p.Scope, p.Folder = definition.Extension, ""
	}
	return p
}

func (h *fixture) file(name string) *File {
	p := h.place(name)
	data, err := os.ReadFile(h.path(name))
	if err != nil {
		h.t.Fatal(err)
	}
	return Open(definition.Source{Path: h.path(name), Folder: p.Folder, Scope: p.Scope, Data: data})
}

// name returns a file's name in the fixture by its URI.
func (h *fixture) name(uri string) string {
	path := strings.TrimPrefix(uri, "file://")
	rel, err := filepath.Rel(h.dir, path)
	if err != nil {
		return uri
	}
	return strings.Replace(filepath.ToSlash(rel), ".gemini/agents/", "", 1)
}

// apply makes an edit and returns the files that changed, by their new names.
func (h *fixture) apply(edit WorkspaceEdit) map[string]string {
	changed := map[string]string{}
	for _, e := range edit.Edits {
		name := h.name(e.URI)
		if _, ok := changed[name]; !ok {
			b, err := os.ReadFile(strings.TrimPrefix(e.URI, "file://"))
			if err != nil {
				h.t.Fatal(err)
			}
			changed[name] = string(b)
		}
	}
	for name := range changed {
		var own []Edit
		for _, e := range edit.Edits {
			if h.name(e.URI) == name {
				own = append(own, e)
			}
		}
		changed[name] = applyEdits(h.t, changed[name], own)
	}
	for _, r := range edit.Renames {
		changed[h.name(r.New)] = changed[h.name(r.Old)]
		delete(changed, h.name(r.Old))
	}
	return changed
}

// applyEdits makes edits of one text, which must not overlap.
func applyEdits(t interface {
	Fatalf(string, ...any)
	Helper()
}, text string, edits []Edit) string {
	t.Helper()
	index := definition.NewIndex(text)
	type span struct {
		start, end int
		text       string
	}
	var spans []span
	for _, e := range edits {
		spans = append(spans, span{index.Offset(e.Range.Start), index.Offset(e.Range.End), e.Text})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	last := 0
	for _, s := range spans {
		if s.start < last || s.end < s.start {
			t.Fatalf("edits overlap: %+v", edits)
		}
		b.WriteString(text[last:s.start] + s.text)
		last = s.end
	}
	return b.String() + text[last:]
}

const fixer = "---\nkind: agent\nname: ‸code-fixer\ntitle: Code Fixer\n---\nYou fix. You are @code-fixer, not @code-fixer-two or a@code-fixer.com.\n"

func TestRenameEverywhere(t *testing.T) {
	files := map[string]string{
		"a/code-fixer.md": fixer,
		"a/handoff.md":    "---\nkind: agent\nname: handoff\ntitle: H\nhandoffs:\n  - to: code-fixer # the fixer\n    when: auto\n  - {to: \"code-fixer\", description: again}\n---\nx\n",
		"a/parent.md":     "---\nkind: agent\nname: parent\ntitle: P\nsubagents: [code-fixer, 'other']\ntools:\n  allow: [read_file, transfer_to_code-fixer, handoff_to_code-fixer]\n  confirmation:\n    require_confirmation: [transfer_to_code-fixer]\n---\nAsk @code-fixer, or call transfer_to_code-fixer.\n",
		"a/flow.md":       "---\nkind: agent\nname: flow\ntitle: F\ngraph:\n  entry: code-fixer\n  nodes:\n    - name: code-fixer\n      agent: code-fixer\n    - name: b\n      graph: {nodes: [{name: c, agent: code-fixer}]}\n    - {name: d, graph: code-fixer}\n---\n`@code-fixer` in code stays.\n",
		"a/query.md":      "---\nkind: agent\nname: query\ntitle: Q\nquery: Begin with @code-fixer please\ninitial_messages:\n  - {role: user, text: \"see @code-fixer\"}\n---\nx @code-fixers\n",
		"a/other.md":      "---\nkind: agent\nname: other\ntitle: O\n---\nNothing of a code-fixer here.\n",
	}
	want := map[string]string{
		"a/mender.md":  "---\nkind: agent\nname: mender\ntitle: Code Fixer\n---\nYou fix. You are @mender, not @code-fixer-two or a@code-fixer.com.\n",
		"a/handoff.md": "---\nkind: agent\nname: handoff\ntitle: H\nhandoffs:\n  - to: mender # the fixer\n    when: auto\n  - {to: \"mender\", description: again}\n---\nx\n",
		"a/parent.md":  "---\nkind: agent\nname: parent\ntitle: P\nsubagents: [mender, 'other']\ntools:\n  allow: [read_file, transfer_to_mender, handoff_to_mender]\n  confirmation:\n    require_confirmation: [transfer_to_mender]\n---\nAsk @mender, or call transfer_to_mender.\n",
		"a/flow.md":    "---\nkind: agent\nname: flow\ntitle: F\ngraph:\n  entry: code-fixer\n  nodes:\n    - name: code-fixer\n      agent: mender\n    - name: b\n      graph: {nodes: [{name: c, agent: mender}]}\n    - {name: d, graph: mender}\n---\n`@code-fixer` in code stays.\n",
		"a/query.md":   "---\nkind: agent\nname: query\ntitle: Q\nquery: Begin with @mender please\ninitial_messages:\n  - {role: user, text: \"see @mender\"}\n---\nx @code-fixers\n",
	}
	h := newFixture(t, files)
	edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "mender")
	if err != nil {
		t.Fatal(err)
	}
	got := h.apply(edit)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got[name], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("changed %v", sortedKeys(got))
	}
	for name, text := range got {
		if d := definition.Parse(definition.Source{Path: "/w/.gemini/agents/" + filepath.Base(name), Scope: definition.Project, Data: []byte(text)}); name != "a/flow.md" && len(d.Problems) > 0 && d.Problems[0].Severity == definition.Error {
			t.Errorf("%s: %+v", name, d.Problems)
		}
	}
	// From each place that names it, the same is renamed.
	for _, l := range References(h.world, h.sources, h.cursor, h.at, true) {
		f := h.file(h.name(l.URI))
		again, err := RenameAgent(h.world, h.sources, f, l.Range.Start, "mender")
		if err != nil || len(again.Edits) != len(edit.Edits) || len(again.Renames) != 1 {
			t.Errorf("%s %v: %v, %d edits, want %d", h.name(l.URI), l.Range, err, len(again.Edits), len(edit.Edits))
		}
		if where, ok := Definition(h.world, h.sources, f, l.Range.Start); !ok || h.name(where.URI) != "a/code-fixer.md" || where.Range.Start.Line != 2 {
			t.Errorf("%s %v is defined at %+v", h.name(l.URI), l.Range, where)
		}
		if r, name, err := PrepareRename(h.world, h.sources, f, l.Range.Start); err != nil || name != "code-fixer" || r != l.Range {
			t.Errorf("%s: %v %s %v, want %v", h.name(l.URI), r, name, err, l.Range)
		}
	}
}

func TestRenameDocumentsSettingsAndBuffers(t *testing.T) {
	h := newFixture(t, map[string]string{"a/code-fixer.md": fixer, "a/b.md": "---\nkind: agent\nname: b\ntitle: B\n---\n@code-fixer\n"})
	open := h.file("a/b.md")
	text := strings.Replace(open.Text, "@code-fixer", "now: @code-fixer and @code-fixer", 1)
	h.sources.Open = []*File{Open(definition.Source{Path: open.Path, Folder: open.Folder, Scope: open.Scope, Data: []byte(text)})}
	folder := filepath.Join(h.dir, "a")
	h.sources.Documents = []Document{
		{URI: "file:///x.go", Folder: folder, Text: "package x\n\n// @code-fixer mend this\nvar s = 1 // @code-fixer not at the start\n// @code-fixers\n\t# @code-fixer go\n// @code-fixer\n/* @code-fixer: go */"},
		{URI: "untitled:1", Folder: folder, Text: "nobody"},
	}
	settings := Location{"file:///settings.json", definition.Range{Start: definition.Position{Line: 2, Character: 7}, End: definition.Position{Line: 2, Character: 17}}}
	h.sources.Named = []Named{{Location: settings, Name: "code-fixer", Folder: folder}, {Location: Location{URI: "file:///other.json"}, Name: "b", Folder: folder}}
	edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "mender")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, e := range edit.Edits {
		count[filepath.Base(e.URI)]++
	}
	if fmt.Sprint(count) != "map[b.md:2 code-fixer.md:2 settings.json:1 x.go:3]" {
		t.Error(count)
	}
	if i := slices.IndexFunc(edit.Edits, func(e Edit) bool { return e.URI == settings.URI }); edit.Edits[i].Range != settings.Range {
		t.Error(edit.Edits[i])
	}
}

func TestRenameScopes(t *testing.T) {
	agent := func(name, to string) string {
		return "---\nkind: agent\nname: " + name + "\ntitle: T\nhandoffs: [{to: " + to + "}]\n---\nx\n"
	}
	plain := "---\nkind: agent\nname: code-fixer\ntitle: T\n---\nx\n"
	for _, c := range []struct{ cursor, want string }{
		{"a/code-fixer.md", "a/caller.md a/mender.md b/by-folder.md b/caller.md"},
		{"global/code-fixer.md", "global/caller.md global/mender.md"},
	} {
		files := map[string]string{
			"a/code-fixer.md": plain, "global/code-fixer.md": plain,
			"a/caller.md": agent("caller", "code-fixer"), "b/caller.md": agent("caller", "code-fixer"), "global/caller.md": agent("called", "code-fixer"),
			"b/by-folder.md": agent("by-folder", "a:code-fixer"), "a/other-folder.md": agent("other-folder", "b:code-fixer"),
		}
		files[c.cursor] = fixer[:strings.Index(fixer, "You are")]
		h := newFixture(t, files)
		edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "mender")
		if err != nil {
			t.Errorf("%s: %v", c.cursor, err)
			continue
		}
		// The folder b has no such agent, so that its caller means that of the first
		// folder that has one, before the global one.
		if got := strings.Join(sortedKeys(h.apply(edit)), " "); got != c.want {
			t.Errorf("%s: changed %s, want %s", c.cursor, got, c.want)
		}
	}
}

// TestRenameToWords: what names the agent does so still, where YAML takes the new
// name for something else.
func TestRenameToWords(t *testing.T) {
	const agent = "---\nkind: agent\nname: %s\ntitle: T\n%s---\n%s\n"
	const naming = "handoffs:\n  - to: %[1]s # it\n  - {to: \"x\"}\n  - to:\n      %[1]s\nsubagents: [%[1]s, 'x']\ntools:\n  allow: [transfer_to_%[2]s]\n"
	for _, name := range []string{"null", "true", "no", "off", "nan"} {
		h := newFixture(t, map[string]string{
			"a/target.md": fmt.Sprintf(agent, "‸target", "", "x"),
			"a/caller.md": fmt.Sprintf(agent, "caller", fmt.Sprintf(naming, "target", "target"), "Ask @target."),
			"a/text.md":   fmt.Sprintf(agent, "text", "subagents: target\n", "x"),
		})
		edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, name)
		if err != nil {
			t.Fatal(err)
		}
		got := h.apply(edit)
		quoted := strconv.Quote(name)
		for file, want := range map[string]string{
			"a/" + name + ".md": fmt.Sprintf(agent, quoted, "", "x"),
			"a/caller.md":       fmt.Sprintf(agent, "caller", fmt.Sprintf(naming, quoted, name), "Ask @"+name+"."),
			"a/text.md":         fmt.Sprintf(agent, "text", "subagents: "+quoted+"\n", "x"),
		} {
			if got[file] != want {
				t.Errorf("%s:\n%s\nwant:\n%s", file, got[file], want)
			}
		}
	}
}

func TestRenameRefused(t *testing.T) {
	base := map[string]string{
		"a/code-fixer.md": fixer,
		"a/taken.md":      "---\nkind: agent\nname: taken\ntitle: T\n---\nx\n",
		"a/file.md":       "---\nkind: agent\nname: another\ntitle: T\n---\nx\n",
		"global/world.md": "---\nkind: agent\nname: world\ntitle: T\n---\nx\n",
	}
	for _, c := range []struct {
		name   string
		change func(h *fixture, files map[string]string)
		to     string
		kind   fault.Kind
		says   string
	}{
		{"pattern", nil, "Code Fixer", fault.Invalid, "a name has no capital letters; use code-fixer"},
		{"empty", nil, "", fault.Invalid, "cannot be an agent's name"},
		{"spaces", nil, " mender", fault.Invalid, "spaces"},
		{"long", nil, strings.Repeat("a", 65), fault.Invalid, "64"},
		{"quote", nil, "a\"b\nc: d", fault.Invalid, "a to z"},
		{"reserved", nil, "main", fault.Invalid, "reserved"},
		{"user", nil, "user", fault.Invalid, "reserved"},
		{"taken", nil, "taken", fault.Invalid, "taken by taken.md"},
		{"file", nil, "file", fault.Invalid, "taken by the file file.md"},
		{"hidden", nil, "world", fault.Invalid, "global agent"},
		{"read-only", func(h *fixture, _ map[string]string) {
			h.sources.ReadOnly = func(path string) bool { return strings.HasSuffix(path, "code-fixer.md") }
		}, "mender", fault.Denied, "read-only"},
		{"system", func(_ *fixture, files map[string]string) {
			files["a/code-fixer.md"] = strings.Replace(fixer, "‸", "", 1)
			files["a/taken.md"] = "---\nkind: agent\nname: taken\ntitle: T\nhandoffs: [{to: ‸main}]\n---\nx\n"
		}, "mender", fault.Denied, "system agent"},
		{"person", func(_ *fixture, files map[string]string) {
			files["a/code-fixer.md"] = strings.Replace(fixer, "‸", "", 1)
			files["a/taken.md"] = "---\nkind: agent\nname: taken\ntitle: T\nhandoffs: [{to: ‸user}]\n---\nx\n"
		}, "mender", fault.Denied, "the person"},
		{"nothing", func(_ *fixture, files map[string]string) {
			files["a/code-fixer.md"] = strings.Replace(strings.Replace(fixer, "‸", "", 1), "You fix", "You ‸fix", 1)
		}, "mender", fault.Invalid, "no agent's name"},
		{"missing", func(_ *fixture, files map[string]string) {
			files["a/code-fixer.md"] = strings.Replace(fixer, "‸", "", 1)
			files["a/taken.md"] = "---\nkind: agent\nname: taken\ntitle: T\nhandoffs: [{to: ‸nobody}]\n---\nx\n"
		}, "mender", fault.NotFound, "no agent nobody"},
		{"extension", func(_ *fixture, files map[string]string) {
			files["a/code-fixer.md"] = strings.Replace(fixer, "‸", "", 1)
			files["ext/helper.md"] = "---\nkind: agent\nname: helper\ntitle: T\n---\nx\n"
			files["a/taken.md"] = "---\nkind: agent\nname: taken\ntitle: T\nhandoffs: [{to: ‸helper}]\n---\nx\n"
		}, "mender", fault.Denied, "extension"},
		{"claude", func(_ *fixture, files map[string]string) {
			files["a/taken.md"] = "---\nname: taken\ndescription: Reads.\ntools: Read, transfer_to_code-fixer\n---\nx\n"
		}, "code_mender", fault.Invalid, "Claude Code"},
		{"broken", func(_ *fixture, files map[string]string) {
			files["a/taken.md"] = "---\nname: taken\nhandoffs: [{to: code-fixer}\n  - {{\n---\nx\n"
		}, "mender", fault.Invalid, "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			for k, v := range base {
				files[k] = v
			}
			if c.change != nil {
				c.change(&fixture{}, files)
			}
			h := newFixture(t, files)
			if c.change != nil {
				c.change(h, map[string]string{})
			}
			edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, c.to)
			if err == nil || fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || len(edit.Edits)+len(edit.Renames) > 0 {
				t.Errorf("%v (%v), want %v: %s", err, fault.KindOf(err), c.kind, c.says)
			}
		})
	}
}

func TestRenameTwiceInOneScope(t *testing.T) {
	h := newFixture(t, map[string]string{
		"a/code-fixer.md": fixer[:strings.Index(fixer, "You are")],
		"a/second.md":     "---\nkind: agent\nname: code-fixer\ntitle: T\n---\nx\n",
		"a/caller.md":     "---\nkind: agent\nname: caller\ntitle: T\nsubagents: [code-fixer]\n---\nx\n",
	})
	edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "mender")
	if err != nil || len(edit.Edits) != 1 || len(edit.Renames) != 1 {
		t.Errorf("%+v, %v", edit, err)
	}
}

func TestRenameKeepsQuotesAndYAML(t *testing.T) {
	h := newFixture(t, map[string]string{"a/x.md": "---\r\nkind: agent\r\nname: '‸code-fixer' # c\r\ntitle: T\r\n---\r\nx\r\n"})
	edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "true")
	if err != nil || len(edit.Renames) != 0 || edit.Edits[0].Text != "'true'" {
		t.Errorf("%+v, %v", edit, err)
	}
	if scalarLike("code-fixer", "null") != `"null"` || scalarLike(`"a"`, "b") != `"b"` {
		t.Error("a name that is a word of YAML has no quotes")
	}
}

// TestRenameThereAndBack renames an agent and renames it back: every file is then
// as it was.
func TestRenameThereAndBack(t *testing.T) {
	name := rapid.StringMatching(`[a-z]{2,4}(-[a-z0-9]{1,3}){0,2}`)
	place := rapid.SampledFrom([]string{
		"handoffs: [{to: %s}]", "handoffs:\n  - to: %s\n    when: auto", "subagents: [x1, %s]", "subagents:\n  - \"%s\"", "tools: {allow: [transfer_to_%s, ls]}", "query: ask @%s now",
	})
	rapid.Check(t, func(rt *rapid.T) {
		from, to := name.Draw(rt, "from"), name.Draw(rt, "to")
		odd := func(name string) bool { // means something else in YAML, or behind @
			return strings.HasPrefix(name, "null") || strings.HasPrefix(name, "true") || name == "auto"
		}
		if from == to || odd(from) || odd(to) {
			return
		}
		text := "---\nkind: agent\nname: caller0\ntitle: T\n" + fmt.Sprintf(place.Draw(rt, "place"), from) + "\n---\nSee @" + from + ", not @" + from + "x or " + from + ".\n"
		f := Open(definition.Source{Path: "/w/.gemini/agents/caller0.md", Folder: "/w", Scope: definition.Project, Data: []byte(text)})
		change := func(f *File, from, to string) *File {
			var edits []Edit
			for _, n := range namings(f, from) {
				edits = append(edits, Edit{f.URI, f.Index.Range(n.Span), to})
			}
			if len(edits) < 2 {
				rt.Fatalf("%d places in %s", len(edits), f.Text)
			}
			return Open(definition.Source{Path: f.Path, Folder: f.Folder, Scope: f.Scope, Data: []byte(applyEdits(rt, f.Text, edits))})
		}
		if to == from+"x" {
			return
		}
		there := change(f, from, to)
		if back := change(there, to, from); back.Text != f.Text {
			rt.Fatalf("%s\nbecame\n%s\nand\n%s", f.Text, there.Text, back.Text)
		}
	})
}

func TestWorkspaceSymbols(t *testing.T) {
	h := newFixture(t, map[string]string{
		"a/code-fixer.md": strings.Replace(fixer, "‸", "", 1), "a/fix.md": "---\nkind: agent\nname: fix\ntitle: Mender\n---\nx\n", "a/z.md": "---\nkind: agent\nname: z\ntitle: Y\n---\nx\n",
	})
	for query, want := range map[string]string{"": "code-fixer fix z", "fix": "fix code-fixer", "cdf": "code-fixer", "mend": "fix", "Q": "", "main": ""} {
		var got []string
		for _, s := range WorkspaceSymbols(h.world, h.sources, query) {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", query, got, want)
		}
	}
}

func TestRenameInOtherDialects(t *testing.T) {
	h := newFixture(t, map[string]string{
		"a/code-fixer.md": fixer[:strings.Index(fixer, "You are")],
		"a/claude.md":     "---\nname: claude\ndescription: D.\ntools: Read, Task(code-fixer, other), Bash\n---\nx\n",
		"a/copilot.md":    "---\nname: copilot\ndescription: D.\nmcp-servers: {}\nagents: [Code Fixer, other]\nhandoffs:\n  - label: Go\n    agent: code-fixer\n---\nx\n",
		"a/guarded.md":    "---\nkind: agent\nname: guarded\ntitle: G\nguardrails:\n  - {name: g, validator: \"agent:code-fixer\"}\n---\nx\n",
	})
	edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "mender")
	if err != nil {
		t.Fatal(err)
	}
	copilot := h.file("a/copilot.md")
	for word, want := range map[string]bool{"Code Fixer": true, "Fixer": true, "other": false, "Go": false} {
		at := copilot.Index.Position(strings.Index(copilot.Text, word) + 1)
		if l, ok := Definition(h.world, h.sources, copilot, at); ok != want || (ok && h.name(l.URI) != "a/code-fixer.md") {
			t.Errorf("on %s: %v", word, l)
		}
	}
	got := h.apply(edit)
	for name, want := range map[string]string{
		"a/claude.md": "Task(mender, other)", "a/copilot.md": "[mender, other]\nhandoffs:\n  - label: Go\n    agent: mender\n", "a/guarded.md": "\"agent:mender\"",
	} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s:\n%s", name, got[name])
		}
	}
}
