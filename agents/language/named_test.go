package language

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/fault"
)

// TestNamedElsewhere asks the same questions of an inline command and of a setting
// as of an agent file: each answers as if the cursor were in the agent's own file.
func TestNamedElsewhere(t *testing.T) {
	h := newFixture(t, map[string]string{
		"a/code-fixer.md": fixer,
		"a/caller.md":     "---\nkind: agent\nname: caller\ntitle: C\nsubagents: [code-fixer]\n---\nx\n",
		"a/hidden.md":     "---\nkind: agent\nname: hidden\ntitle: H\nuser_invocable: false\n---\nx\n",
	})
	folder := filepath.Join(h.dir, "a")
	const code = "é := 1\n  // @code-fixer mend this, @code-fixer\n// @nobody there\n// @hidden too\n/* @a:code-fixer go */\n// @code-fixer\n"
	h.sources.Documents = []Document{{URI: "file:///x.go", Folder: folder, LanguageID: "go", Text: code}}
	place := func(line, start, end uint32) definition.Range {
		return definition.Range{Start: definition.Position{Line: line, Character: start}, End: definition.Position{Line: line, Character: end}}
	}
	h.sources.Named = []Named{
		{Location: Location{"file:///settings.json", place(2, 7, 17)}, Name: "code-fixer", Folder: folder},
		{Location: Location{"file:///settings.json", place(3, 7, 19)}, Name: "a:code-fixer"},
	}
	wanted, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "mender")
	if err != nil {
		t.Fatal(err)
	}
	references := References(h.world, h.sources, h.cursor, h.at, true)
	for _, c := range []struct {
		uri  string
		at   definition.Position
		want definition.Range
	}{
		{"file:///x.go", definition.Position{Line: 1, Character: 5}, place(1, 6, 16)},
		{"file:///x.go", definition.Position{Line: 1, Character: 16}, place(1, 6, 16)},
		{"file:///x.go", definition.Position{Line: 4, Character: 4}, place(4, 6, 16)},
		{"file:///settings.json", definition.Position{Line: 2, Character: 9}, place(2, 7, 17)},
		{"file:///settings.json", definition.Position{Line: 3, Character: 7}, place(3, 9, 19)},
	} {
		n, ok := NameAt(h.world, h.sources, c.uri, c.at)
		if !ok || n.Range != c.want {
			t.Errorf("%s %v: %+v %v, want %v", c.uri, c.at, n, ok, c.want)
			continue
		}
		if l, ok := DefinitionOfName(h.world, h.sources, n); !ok || h.name(l.URI) != "a/code-fixer.md" || l.Range.Start.Line != 2 {
			t.Errorf("%s %v: defined at %v", c.uri, c.at, l)
		}
		if r, name, err := PrepareRenameNamed(h.world, h.sources, n); err != nil || r != c.want || name != "code-fixer" {
			t.Errorf("%s %v: %v %s %v", c.uri, c.at, r, name, err)
		}
		if got := ReferencesOfName(h.world, h.sources, n, true); len(got) != len(references) {
			t.Errorf("%s %v: %d references, want %d: %v", c.uri, c.at, len(got), len(references), got)
		}
		if got := ReferencesOfName(h.world, h.sources, n, false); len(got) != len(references)-1 {
			t.Errorf("%s %v: %d references without the declaration", c.uri, c.at, len(got))
		}
		edit, err := RenameNamed(h.world, h.sources, n, "mender")
		if err != nil || len(edit.Edits) != len(wanted.Edits) || len(edit.Renames) != 1 {
			t.Errorf("%s %v: %+v %v", c.uri, c.at, edit, err)
			continue
		}
		for i := range edit.Edits {
			if edit.Edits[i] != wanted.Edits[i] {
				t.Errorf("%s %v: %+v, want %+v", c.uri, c.at, edit.Edits[i], wanted.Edits[i])
			}
		}
	}
	for _, at := range []definition.Position{{Line: 0}, {Line: 1, Character: 18}, {Line: 1, Character: 27}, {Line: 2, Character: 6}, {Line: 3, Character: 6}, {Line: 5, Character: 6}, {Line: 99}} {
		if n, ok := NameAt(h.world, h.sources, "file:///x.go", at); ok {
			t.Errorf("%v names %+v", at, n)
		}
	}
	hidden := h.file("a/hidden.md")
	if edit, err := RenameAgent(h.world, h.sources, hidden, hidden.Definition.NameRange.Start, "secret"); err != nil || len(edit.Edits) != 1 {
		t.Errorf("an agent that no line can call: %+v %v", edit, err)
	}
	if n, ok := NameAt(h.world, h.sources, "file:///nowhere", definition.Position{}); ok {
		t.Error(n)
	}
}

// TestRenameOfCalls: no line that calls an agent is left behind, however many others
// name folders, and whatever is wrong with the agent at the moment.
func TestRenameOfCalls(t *testing.T) {
	h := newFixture(t, map[string]string{
		"a/target.md": "---\nkind: agent\nname: tar‸get\ntitle: T\noutput: {schema: {type: 5}}\n---\nx\n",
		"b/other.md":  "---\nkind: agent\nname: other\ntitle: O\n---\nx\n",
	})
	if usable, _ := h.file("a/target.md").Definition.Usable(); usable {
		t.Fatal("target is usable")
	}
	var text strings.Builder
	for i := range 3 * maxQualified {
		fmt.Fprintf(&text, "// @f%d:other go\n", i)
	}
	text.WriteString("// @a:target go\n// @target go\n// @b:target go\n// @a:target\n")
	h.sources.Documents = []Document{{URI: "file:///x.go", Folder: filepath.Join(h.dir, "a"), LanguageID: "go", Text: text.String()}}
	edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "mender")
	if err != nil {
		t.Fatal(err)
	}
	edit.Edits = slices.DeleteFunc(edit.Edits, func(e Edit) bool { return e.URI != "file:///x.go" })
	for i := range edit.Edits {
		if line := edit.Edits[i].Range.Start.Line; line != uint32(3*maxQualified+i) {
			t.Errorf("line %d is edited", line)
		}
	}
	if len(edit.Edits) != 2 {
		t.Errorf("%d calls are renamed, want 2: %+v", len(edit.Edits), edit.Edits)
	}
}

// TestFolderByItsName: folder:name means the same to every question, where the
// folder is called something else than its path.
func TestFolderByItsName(t *testing.T) {
	h := newFixture(t, map[string]string{
		"a/caller.md": "---\nkind: agent\nname: caller\ntitle: C\nhandoffs: [{to: My.Lab:target}]\n---\nx\n",
		"a/asks.md":   "---\nkind: agent\nname: asks\ntitle: A\n---\nAsk @My.Lab:target.\n",
		"a/base.md":   "---\nkind: agent\nname: base\ntitle: B\nhandoffs: [{to: b:target}]\n---\nx\n",
		"b/target.md": "---\nkind: agent\nname: tar‸get\ntitle: T\n---\nx\n",
	})
	lab := h.place("b/target.md")
	lab.Name = "My.Lab"
	snapshot, err := registry.New(registry.Config{Places: []registry.Place{h.place("a/caller.md"), lab}}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.world.Agents = snapshot
	edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "other")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(sortedKeys(h.apply(edit)), " "), "a/asks.md a/caller.md b/other.md"; got != want {
		t.Errorf("changed %s, want %s", got, want)
	}
	for _, name := range []string{"a/caller.md", "a/asks.md"} {
		f := h.file(name)
		at := f.Index.Position(strings.Index(f.Text, ":target") + 3)
		if l, ok := Definition(h.world, h.sources, f, at); !ok || h.name(l.URI) != "b/target.md" {
			t.Errorf("%s: defined at %v", name, l)
		}
		if hover, ok := HoverAt(h.world, f, at); !ok || !strings.HasPrefix(hover.Markdown, "**T**") {
			t.Errorf("%s: %q", name, hover.Markdown)
		}
	}
}

func TestRenameNamedRefused(t *testing.T) {
	h := newFixture(t, map[string]string{"a/code-fixer.md": strings.Replace(fixer, "‸", "", 1), "a/taken.md": "---\nkind: agent\nname: taken\ntitle: T\n---\nx\n"})
	for _, c := range []struct {
		name, to string
		kind     fault.Kind
		says     string
	}{
		{"code-fixer", "taken", fault.Invalid, "taken by taken.md"},
		{"code-fixer", "Code Fixer", fault.Invalid, "cannot be an agent's name"},
		{"main", "mender", fault.Denied, "system agent"},
		{"nobody", "mender", fault.NotFound, "no agent nobody"},
	} {
		edit, err := RenameNamed(h.world, h.sources, Named{Name: c.name, Folder: filepath.Join(h.dir, "a")}, c.to)
		if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || len(edit.Edits) > 0 {
			t.Errorf("%s: %v (%v), want %s", c.name, err, fault.KindOf(err), c.says)
		}
	}
}
