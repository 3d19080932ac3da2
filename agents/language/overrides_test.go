package language

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// TestRenameKeepsOverrides: what settings say of an agent holds for it under its new
// name, and for the others that have the old one.
func TestRenameKeepsOverrides(t *testing.T) {
	agent := func(name string) string { return "---\nkind: agent\nname: " + name + "\ntitle: T\n---\nx\n" }
	both := map[string]string{"a/fix.md": agent("fix"), "b/fix.md": agent("fix")}
	home := map[string]string{"a/fix.md": agent("fix"), "global/fix.md": agent("fix")}
	const moved, copied = "mend", `"mend": {"enabled": false}, `
	for _, c := range []struct {
		name    string
		files   map[string]string
		renamed string
		person  string // what becomes of the key in the person's settings
		a, b    string // and in those of the folders
	}{
		{"alone", map[string]string{"a/fix.md": agent("fix"), "b/x.md": agent("x")}, "a/fix.md", moved, moved, ""},
		{"of the first folder", both, "a/fix.md", copied, moved, ""},
		{"of the second folder", both, "b/fix.md", copied, "", moved},
		{"of a folder, over the person's", home, "a/fix.md", copied, copied, ""},
		{"of the person, under a folder's", home, "global/fix.md", copied, copied, moved},
		{"of the person", map[string]string{"global/fix.md": agent("fix"), "a/x.md": agent("x")}, "global/fix.md", moved, moved, moved},
		{"over a system agent", map[string]string{"a/main.md": agent("main")}, "a/main.md", copied, copied, ""},
		{"twice in a folder", map[string]string{"a/fix.md": agent("fix"), "a/fix2.md": agent("fix")}, "a/fix2.md", copied, copied, ""},
	} {
		h := newFixture(t, c.files)
		f := h.file(c.renamed)
		at := definition.Range{Start: definition.Position{Line: 3, Character: 5}, End: definition.Position{Line: 3, Character: 8}}
		before := definition.Position{Line: 3, Character: 4}
		for uri, folder := range map[string]string{"file:///person/settings.json": "", "file:///a/settings.json": filepath.Join(h.dir, "a"), "file:///b/settings.json": filepath.Join(h.dir, "b")} {
			h.sources.Named = append(h.sources.Named, Named{
				Location: Location{uri, at}, Name: f.Definition.Name, Folder: folder, Override: &Override{At: before, Value: `{"enabled": false}`, Behind: " "},
			})
		}
		edit, err := RenameAgent(h.world, h.sources, f, f.Definition.NameRange.Start, "mend")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := map[string]string{}
		for _, e := range edit.Edits {
			if strings.HasSuffix(e.URI, "settings.json") {
				got[e.URI] += e.Text
				if want := (definition.Range{Start: before, End: before}); (e.Text == copied && e.Range != want) || (e.Text == moved && e.Range != at) {
					t.Errorf("%s: %+v", c.name, e)
				}
			}
		}
		if p, a, b := got["file:///person/settings.json"], got["file:///a/settings.json"], got["file:///b/settings.json"]; p != c.person || a != c.a || b != c.b {
			t.Errorf("%s: person %q, a %q, b %q; want %q, %q, %q", c.name, p, a, b, c.person, c.a, c.b)
		}
		// Where the new name has an override already, neither is lost.
		taken := h.sources.Named[0]
		taken.Name = "mend"
		h.sources.Named = append(h.sources.Named, taken)
		if _, err := RenameAgent(h.world, h.sources, f, f.Definition.NameRange.Start, "mend"); got[taken.URI] != "" && (fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "agents.overrides")) {
			t.Errorf("%s: both have overrides: %v", c.name, err)
		}
	}
}

// TestRenameFile: an agent that is called after its file, and what names it.
func TestRenameFile(t *testing.T) {
	h := newFixture(t, map[string]string{
		"a/cl.md":    "---\ndescription: d\ntools: Read\n---\nx\n",
		"a/plain.md": "---\nkind: agent\ntitle: P\n---\nx\n",
		"a/boss.md":  "---\nkind: agent\nname: boss\ntitle: B\n---\nAsk @cl or @plain.\n",
	})
	for _, name := range []string{"cl", "plain"} {
		f := h.file("a/" + name + ".md")
		if f.OwnName() {
			t.Errorf("%s has a name: %+v", name, f.Definition)
		}
		edit, err := RenameFile(h.world, h.sources, f, "cx")
		if err != nil || len(edit.Edits) != 1 || h.name(edit.Edits[0].URI) != "a/boss.md" || edit.Edits[0].Text != "cx" || len(edit.Renames) != 0 {
			t.Errorf("%s: %+v %v", name, edit, err)
		}
	}
	if edit, err := RenameFile(h.world, h.sources, h.file("a/boss.md"), "cl"); fault.KindOf(err) != fault.Invalid || len(edit.Edits) != 0 {
		t.Errorf("%+v %v", edit, err)
	}
}
