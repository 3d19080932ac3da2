package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/handlers/language"
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
	fails bool          // it answers with an error
	lies  bool          // it says that it made an edit, and did not
	crlf  bool          // it ends the lines that it writes so
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
		if w.fails {
			return nil, errors.New("no")
		}
		if w.lies {
			return &protocol.ApplyWorkspaceEditResult{Applied: true}, nil
		}
		now, _ := w.h.Workspace.Snapshot().Document(w.doc)
		edits := p.Edit.DocumentChanges[0].(*protocol.TextDocumentEdit)
		if *edits.TextDocument.Version != now.Version || len(edits.Edits) != 1 {
			return &protocol.ApplyWorkspaceEditResult{}, nil
		}
		var e *protocol.TextEdit
		switch edit := edits.Edits[0].(type) {
		case *protocol.TextEdit:
			e = edit
		case *protocol.AnnotatedTextEdit:
			e = &edit.TextEdit
		}
		at, text := rangeIn(e.Range), e.NewText
		if w.crlf {
			text = strings.ReplaceAll(tool.LineFeeds(text), "\n", "\r\n")
		}
		w.apply(workspace.Edit{Range: &at, Text: text}, workspace.Edit{Range: new(workspace.Range), Text: w.also})
		return &protocol.ApplyWorkspaceEditResult{Applied: true}, nil
	})
	// What the editor tells comes before its answer, so no wait brings anything.
	w.h.edits = editing{applies: true, versions: true, synced: 10 * time.Millisecond}
	w.h.daemon.Catalog = func(context.Context) (*registry.Snapshot, error) {
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
func (w *writer) answer() (bool, string) { return w.answerAs(language.AnswerBelow, "It is.") }

func (w *writer) answerAs(want, text string) (bool, string) {
	w.t.Helper()
	s := w.h.Workspace.Snapshot()
	d, _ := s.Document(w.doc)
	a, err := w.h.language.Query(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	result := &wire.RunResult{Agent: "main", RunFinished: activity.RunFinished{Text: text}}
	there := w.h.answered(w.t.Context(), &inlineCall{d, a.InlineCommands(d)[0]}, want, result)
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

// An answer that the editor did not make is told of, whatever the document has and
// whatever is typed; one that it made among what was typed is there.
func TestAnswerIsNotTakenForThere(t *testing.T) {
	const block = "```\nb\n```"
	for _, test := range []struct {
		name, want, answer string
		fails, lies        bool
		typed, also        string
		there              bool
		text               string // of the document, "" for the usual one
		crlf               bool
	}{
		{"an error, and it is in the text", language.AnswerInstead, block, true, false, "x", "", false, "", false},
		{"a lie, and the person types the same", language.AnswerInstead, block, false, true, "b", "", false, "", false},
		{"made", language.AnswerInstead, block, false, false, "", "", true, "", false},
		{"made among what was typed", language.AnswerInstead, block, false, false, "", "x", true, "", false},
		{"below, an error, and the person types the same", language.AnswerBelow, "It is.", true, false, "\n// > It is.", "", false, "", false},
		{"below, one of before", language.AnswerBelow, "Earlier.", false, true, "x", "", false, "", false},
		{"below, the same again", language.AnswerBelow, "Earlier.", false, false, "", "x", true, "", false},
		{"made with the words of the command, among what was typed", language.AnswerInstead, "```\nlook\n```", false, false, "", "x", true, "", false},
		{"made, and the command is in it", language.AnswerInstead, "```\nb\n// @main look\n```", false, false, "", "x", true, "", false},
		{"a lie, and the command is in it", language.AnswerInstead, "```\nb\n// @main look\n```", false, true, "b\n// @main look\n", "", false, "", false},
		{"made for one of two such commands, with other line ends", language.AnswerInstead, "```\nb\nb\n```", false, false, "", "x", true, "// @main look\n" + calling, true},
		{"a lie about one of two, and the person types the same", language.AnswerInstead, block, false, true, "b\n", "", false, "// @main look\n" + calling, false},
		{"below, with other line ends", language.AnswerBelow, "It is.\nYes.", false, false, "", "x", true, "// @main look", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := writes(t)
			at := workspace.Range{Start: workspace.Position{Line: 1, Character: 13}, End: workspace.Position{Line: 1, Character: 13}}
			w.apply(workspace.Edit{Range: &at, Text: "\n// > Earlier."})
			if test.text != "" {
				w.apply(workspace.Edit{Text: test.text})
			}
			w.fails, w.lies, w.also, w.crlf = test.fails, test.lies, test.also, test.crlf
			w.typed = func(int) {
				if test.typed != "" {
					w.apply(workspace.Edit{Range: new(workspace.Range), Text: test.typed})
				}
			}
			before, _ := w.h.Workspace.Snapshot().Document(w.doc)
			there, text := w.answerAs(test.want, test.answer)
			if there != test.there || (!there && text != test.typed+before.Text) {
				t.Errorf("there: %v, %q", there, text)
			}
			if !there {
				if said := <-w.told; !strings.Contains(said, "The answer of main is not put into the document: ") {
					t.Error(said)
				}
			}
		})
	}
}

func TestInlineArguments(t *testing.T) {
	for text, want := range map[string]string{
		`{"uri": "file:///a", "line": 2, "typed": "@main x", "answer": "edit", "diagnostics": [{"x": 1}]}`: `{"uri":"file:///a","line":2,"typed":"@main x","answer":"edit","diagnostics":[{"x":1}]}`,
		`{"URI": "file:///a", "Line": 2}`: `{}`, // names are those of the protocol
		`"file:///a", 2, "@main x", {"selection": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 2}}}`: `{"uri":"file:///a","line":2,"typed":"@main x","selection":{"start":{"line":1,"character":0},"end":{"line":1,"character":2}}}`,
		`null, null, null, null`:          `{}`,
		`"a", "b"`:                        "arguments[1] must be a whole number that is not negative, not a string",
		`"a", 1, "c", {"Answer": "edit"}`: `{"uri":"a","line":1,"typed":"c"}`,
	} {
		var p protocol.ExecuteCommandParams
		if err := (wire.Codec{}).Unmarshal([]byte(`{"command": "agentls.runInline", "arguments": [`+text+`]}`), &p); err != nil {
			t.Fatal(err)
		}
		r, err := inlineArguments(&p)
		got, _ := json.Marshal(r)
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}
