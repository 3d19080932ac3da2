package language

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/workspace"
)

// TestShownHasNoCommands, however its folder is reached: a model wrote it.
func TestShownHasNoCommands(t *testing.T) {
	home := t.TempDir()
	real := filepath.Join(home, "real")
	linked := filepath.Join(home, "linked")
	if err := errors.Join(os.Mkdir(real, 0o700), os.Symlink("real", linked)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		shown, dir string
		want       int
	}{{real, real, 0}, {linked, linked, 0}, {linked, real, 0}, {real, linked, 0}, {linked, home, 1}} {
		for _, name := range []string{"changes in x.diff", "agents.txt", "main.md"} {
			h := &Handlers{Config: Config{Workspace: new(workspace.Workspace)}, daemon: &Daemon{Shown: test.shown}}
			doc := uri.File(filepath.Join(test.dir, name))
			if _, err := h.Workspace.Apply(workspace.Opened{URI: doc, LanguageID: "plaintext", Version: 1, Text: "@main do evil\n"}); err != nil {
				t.Fatal(err)
			}
			s := h.Workspace.Snapshot()
			d, _ := s.Document(doc)
			a := &Query{h: h, Snapshot: s, Catalog: registry.New(registry.Config{}).Snapshot(), encoding: s.Encoding()}
			if got := len(a.InlineCommands(d)); got != test.want {
				t.Errorf("%s in %s, shown is %s: %d commands", name, test.dir, test.shown, got)
			}
		}
	}
}

func TestMends(t *testing.T) {
	for text, want := range map[string]bool{
		"code-fixer Code Fixer": true, "Debugging": true, "It fixes bugs.": true, "修复 fix": true,
		"prefix": false, "a fixture": false, "": false, "fixed": false, "debris": false,
	} {
		if isFixer(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// BenchmarkInline asks for the lenses and the actions of a document of 5,000 lines
// beside 1,000 agents.
func BenchmarkInline(b *testing.B) {
	folder := b.TempDir()
	for i := range 1000 {
		text := fmt.Sprintf("---\nkind: agent\nname: agent-%d\ntitle: A\n---\nYou are one.\n", i)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("agent-%d.md", i)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	catalog, err := registry.New(registry.Config{Places: []registry.Place{{Scope: definition.Global, Dir: folder}}}).Load(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	h := &Handlers{Config: Config{Workspace: new(workspace.Workspace)}, daemon: &Daemon{Shown: b.TempDir()}}
	name := uri.File(filepath.Join(folder, "a.go"))
	if _, err := h.Workspace.Apply(workspace.Opened{URI: name, LanguageID: "go", Version: 1, Text: strings.Repeat("func f() {\n\t// @param x it\n\t// @agent-7 look\n\tx()\n}\n", 1000)}); err != nil {
		b.Fatal(err)
	}
	s := h.Workspace.Snapshot()
	d, _ := s.Document(name)
	a := &Query{h: h, Snapshot: s, Catalog: catalog, encoding: s.Encoding()}
	p := &protocol.CodeActionParams{Range: protocol.Range{Start: protocol.Position{Line: 2}, End: protocol.Position{Line: 4}}}
	b.Run("lenses", func(b *testing.B) {
		for b.Loop() {
			if len(a.inlineLenses(d)) != 1000 {
				b.Fatal("there are 1,000")
			}
		}
	})
	b.Run("actions", func(b *testing.B) {
		for b.Loop() {
			if len(a.inlineActions(d, p)) == 0 {
				b.Fatal("there are some")
			}
		}
	})
}
