package language

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// TestNamedElsewhere asks the same questions of an inline command and of a setting
// as of an agent file: each answers as if the cursor were in the agent's own file.
func TestNamedElsewhere(t *testing.T) {
	h := newHouse(t, map[string]string{
		"a/code-fixer.md": fixer,
		"a/caller.md":     "---\nkind: agent\nname: caller\ntitle: C\nsubagents: [code-fixer]\n---\nx\n",
		"a/hidden.md":     "---\nkind: agent\nname: hidden\ntitle: H\nuser_invocable: false\n---\nx\n",
	})
	folder := filepath.Join(h.dir, "a")
	const code = "é := 1\n  // @code-fixer mend this, @code-fixer\n// @nobody there\n// @hidden too\n/* @a:code-fixer */\n"
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
		n, ok := NamedAt(h.world, h.sources, c.uri, c.at)
		if !ok || n.Range != c.want {
			t.Errorf("%s %v: %+v %v, want %v", c.uri, c.at, n, ok, c.want)
			continue
		}
		if l, ok := NamedDefinition(h.world, h.sources, n); !ok || h.name(l.URI) != "a/code-fixer.md" || l.Range.Start.Line != 2 {
			t.Errorf("%s %v: defined at %v", c.uri, c.at, l)
		}
		if r, name, err := PrepareRenameNamed(h.world, h.sources, n); err != nil || r != c.want || name != "code-fixer" {
			t.Errorf("%s %v: %v %s %v", c.uri, c.at, r, name, err)
		}
		if got := NamedReferences(h.world, h.sources, n, true); len(got) != len(references) {
			t.Errorf("%s %v: %d references, want %d: %v", c.uri, c.at, len(got), len(references), got)
		}
		if got := NamedReferences(h.world, h.sources, n, false); len(got) != len(references)-1 {
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
	for _, at := range []definition.Position{{Line: 0}, {Line: 1, Character: 18}, {Line: 1, Character: 27}, {Line: 2, Character: 6}, {Line: 3, Character: 6}, {Line: 99}} {
		if n, ok := NamedAt(h.world, h.sources, "file:///x.go", at); ok {
			t.Errorf("%v names %+v", at, n)
		}
	}
	if n, ok := NamedAt(h.world, h.sources, "file:///nowhere", definition.Position{}); ok {
		t.Error(n)
	}
}

func TestRenameNamedRefused(t *testing.T) {
	h := newHouse(t, map[string]string{"a/code-fixer.md": strings.Replace(fixer, "‸", "", 1), "a/taken.md": "---\nkind: agent\nname: taken\ntitle: T\n---\nx\n"})
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
