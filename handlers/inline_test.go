package handlers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// writer is an editor in which a person types while answers come.
type writer struct {
	*connected
	t     *testing.T
	doc   uri.URI
	typed func(try int) // what the person does before the editor looks at an edit
	also  string        // typed at the top in the same moment in which an edit is made
	tries int
}

const calling = "a\n// @main look\nb\n"

// writes returns a writer with a document open that has an inline command.
func writes(t *testing.T) *writer {
	t.Helper()
	w := &writer{t: t, doc: uri.File(filepath.Join(t.TempDir(), "a.go"))}
	w.connected = connect(t, func(_ context.Context, method string, params []byte) (any, error) {
		var p protocol.ApplyWorkspaceEditParams
		if err := (wire.Codec{}).Unmarshal(params, &p); method != protocol.MethodWorkspaceApplyEdit || err != nil {
			return nil, fmt.Errorf("not expected: %s, %w", method, err)
		}
		w.tries++
		if w.typed != nil {
			w.typed(w.tries)
		}
		now, _ := w.h.Workspace.Snapshot().Document(w.doc)
		edits := p.Edit.DocumentChanges[0].(*protocol.TextDocumentEdit)
		if *edits.TextDocument.Version != now.Version || len(edits.Edits) != 1 {
			return &protocol.ApplyWorkspaceEditResult{}, nil
		}
		e := edits.Edits[0].(*protocol.TextEdit)
		at := rangeIn(e.Range)
		w.apply(workspace.Edit{Range: &at, Text: e.NewText}, workspace.Edit{Range: new(workspace.Range), Text: w.also})
		return &protocol.ApplyWorkspaceEditResult{Applied: true}, nil
	})
	w.h.edits = editing{applies: true, versions: true}
	w.h.house.Catalog = func(context.Context) (*registry.Snapshot, error) {
		return registry.New(registry.Config{}).Snapshot(), nil
	}
	if _, err := w.h.Workspace.Apply(workspace.Opened{URI: w.doc, LanguageID: "go", Version: 1, Text: calling}); err != nil {
		t.Fatal(err)
	}
	return w
}

// apply is one change of the document.
func (w *writer) apply(edits ...workspace.Edit) {
	now, _ := w.h.Workspace.Snapshot().Document(w.doc)
	if _, err := w.h.Workspace.Apply(workspace.Edited{URI: w.doc, Version: now.Version + 1, Edits: edits}); err != nil {
		w.t.Error(err)
	}
}

// answer puts an answer below the command, and returns whether it is there and
// what the document has.
func (w *writer) answer() (bool, string) {
	w.t.Helper()
	s := w.h.Workspace.Snapshot()
	d, _ := s.Document(w.doc)
	a, err := w.h.author(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	result := &wire.RunResult{Agent: "main", RunFinished: activity.RunFinished{Text: "It is."}}
	there := w.h.answered(w.t.Context(), &inlineCall{d, a.inlineCommands(d)[0]}, answerBelow, result)
	d, _ = w.h.Workspace.Snapshot().Document(w.doc)
	return there, d.Text
}

// An edit that is refused because the person typed meanwhile is made for the text
// as it is then, and nothing of either is lost.
func TestAnswerIsMadeForTheTextThereIs(t *testing.T) {
	w := writes(t)
	w.typed = func(try int) {
		if try == 1 {
			w.apply(workspace.Edit{Range: new(workspace.Range), Text: "new\n"})
		}
	}
	if there, text := w.answer(); !there || text != "new\na\n// @main look\n// > It is.\nb\n" || w.tries != 2 {
		t.Errorf("%v after %d tries: %q", there, w.tries, text)
	}
}

// A person who never stops typing keeps what they type, and is told.
func TestAnswerGivesWayToTyping(t *testing.T) {
	w := writes(t)
	w.typed = func(int) { w.apply(workspace.Edit{Range: new(workspace.Range), Text: "x"}) }
	there, text := w.answer()
	if there || text != "xxx"+calling || w.tries != maxTries {
		t.Errorf("%v after %d tries: %q", there, w.tries, text)
	}
	if said := <-w.told; !strings.Contains(said, "not put into the document: the editor refused the edit") {
		t.Error(said)
	}
}

// An answer that came together with something that was typed is there once.
func TestAnswerIsPutOnce(t *testing.T) {
	t.Parallel()
	w := writes(t)
	w.also = "new\n"
	if there, text := w.answer(); !there || text != "new\na\n// @main look\n// > It is.\nb\n" || w.tries != 1 {
		t.Errorf("%v after %d tries: %q", there, w.tries, text)
	}
}

func TestMends(t *testing.T) {
	for text, want := range map[string]bool{
		"code-fixer Code Fixer": true, "Debugging": true, "It fixes bugs.": true, "修复 fix": true,
		"prefix": false, "a fixture": false, "": false, "fixed": false, "debris": false,
	} {
		if mends(text) != want {
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
	h := &Handlers{Workspace: new(workspace.Workspace), house: &House{Shown: b.TempDir()}}
	name := uri.File(filepath.Join(folder, "a.go"))
	if _, err := h.Workspace.Apply(workspace.Opened{URI: name, LanguageID: "go", Version: 1, Text: strings.Repeat("func f() {\n\t// @param x it\n\t// @agent-7 look\n\tx()\n}\n", 1000)}); err != nil {
		b.Fatal(err)
	}
	s := h.Workspace.Snapshot()
	d, _ := s.Document(name)
	a := &author{h, s, catalog, s.Encoding()}
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
