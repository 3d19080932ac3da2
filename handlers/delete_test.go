package handlers

import (
	"os"
	"path/filepath"
	"testing"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/handlers/language"
	"github.com/agentls/agentls/internal/fault"
)

// TestWhatLiesElsewhereIsNotDeleted, nor said to be.
func TestWhatLiesElsewhereIsNotDeleted(t *testing.T) {
	r := enter(t)
	r.has("a.md", "a\n")
	r.h.edits.applies = false
	d := &definition.Definition{Name: "a", Path: r.path("a.md"), Folder: filepath.Join(t.TempDir(), "other")}
	if err := r.h.remove(t.Context(), d, uri.File(d.Path)); fault.KindOf(err) != fault.Denied {
		t.Errorf("of another folder: %v", err)
	}
	r.holds("a.md", "a\n")
	d.Folder = r.folder
	if err := r.h.remove(t.Context(), d, uri.File(d.Path)); err != nil {
		t.Errorf("control: of its own folder: %v", err)
	}
	if _, err := os.Lstat(d.Path); err == nil {
		t.Error("control: it is still there")
	}
}

// TestContextsThatAnotherMayHaveStay: an agent of the name in another folder counts
// also while its file has an error, and what the deleted one hides does not.
func TestContextsThatAnotherMayHaveStay(t *testing.T) {
	const good, bad, none = "---\nname: fix\ntitle: T\nkind: agent\n---\nx\n", "---\nname: fix\ntitle: T\nkind: agent\ntemperature: hot\n---\nx\n", "-"
	for name, c := range map[string]struct {
		other, global string // "-" for none
		trusted       bool
		shared        bool
	}{
		"alone":                               {none, none, true, false},
		"of another folder":                   {good, none, true, true},
		"of another folder, invalid":          {bad, none, true, true},
		"hidden":                              {none, good, true, false},
		"hidden and invalid":                  {none, bad, true, false},
		"behind what is not trusted":          {none, good, false, true},
		"behind what is not trusted, invalid": {none, bad, false, true},
	} {
		dir := t.TempDir()
		var places []registry.Place
		for _, p := range []registry.Place{{Scope: definition.Project, Folder: "a"}, {Scope: definition.Project, Folder: "b"}, {Scope: definition.Global}} {
			text := map[string]string{"a": good, "b": c.other, "": c.global}[p.Folder]
			p.Dir = filepath.Join(dir, string(p.Scope), p.Folder)
			if p.Folder != "" {
				p.Folder = p.Dir
			}
			if err := os.MkdirAll(p.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if text != none {
				if err := os.WriteFile(filepath.Join(p.Dir, "fix.md"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			places = append(places, p)
		}
		catalog, err := registry.New(registry.Config{Places: places}).Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h := &Handlers{daemon: &Daemon{Daemon: language.Daemon{Trusted: func(string) bool { return c.trusted }}}}
		for _, e := range catalog.Entries() {
			if e.Definition.Folder == places[0].Folder && h.sharing(catalog, e) != nil != c.shared {
				t.Errorf("%s: the contexts may be of %v", name, h.sharing(catalog, e))
			}
		}
	}
}
