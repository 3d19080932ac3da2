package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// TestEditorQuery: what an editor answers is read leniently and within limits; one
// that refuses, answers nonsense or does not answer is told so.
func TestEditorQuery(t *testing.T) {
	for name, c := range map[string]struct {
		query  tool.LanguageQuery
		answer string // "" = none; an error for one that begins with -
		want   string // of what was found, or of the error
	}{
		"diagnostics": {
			tool.LanguageQuery{Kind: tool.Diagnostics},
			`{"items":[{"uri":"file:///w/a.go","diagnostics":[{"range":{"start":{"line":2,"character":1},"end":{"line":2,"character":2}},"severity":2,"code":7,"source":"vet","message":"m","tags":[1]},{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"message":"n","code":"E1"}]}]}`,
			"[{/w/a.go 3 warning m vet 7} {/w/a.go 1 error n E1}]",
		},
		"symbols": {
			tool.LanguageQuery{Kind: tool.Symbols, Name: "x"},
			`[{"name":"f","kind":12,"containerName":"T","location":{"uri":"file:///w/a.go","range":{"start":{"line":4,"character":0},"end":{"line":4,"character":1}}}},{"name":"g","kind":99,"location":{"uri":"untitled:1","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}}]`,
			"[{/w/a.go 5 function f T} { 1  g }]",
		},
		"null":           {tool.LanguageQuery{Kind: tool.References}, `null`, "[]"},
		"no such method": {tool.LanguageQuery{Kind: tool.References}, "-method not found", "the editor refused: method not found"},
		"another shape":  {tool.LanguageQuery{Kind: tool.Definition}, `{"uri":"file:///w/a.go"}`, "cannot be read"},
		"a number":       {tool.LanguageQuery{Kind: tool.Diagnostics}, `{"items":7}`, "cannot be read"},
		"silence":        {tool.LanguageQuery{Kind: tool.Definition}, "", "the editor did not answer within 20ms"},
		"too many": {
			tool.LanguageQuery{Kind: tool.References},
			"[" + strings.Repeat(`{"uri":"file:///w/a.go","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}},`, maxFound) + `{"uri":"file:///w/b.go","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}]`,
			fmt.Sprint(maxFound),
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, answersWith(c.answer))
			if conn.h.person(nil).Languages() != nil {
				t.Error("an editor is asked that did not offer it")
			}
			conn.h.caps.EditorQueries, conn.h.edits.answers = true, time.Minute
			if c.answer == "" {
				conn.h.edits.answers = 20 * time.Millisecond
			}
			found, err := conn.h.person(nil).Languages().Query(t.Context(), c.query)
			got := fmt.Sprint(found)
			if len(found) == maxFound {
				got = fmt.Sprint(len(found))
			}
			if err != nil {
				got = fault.Message(err)
				if fault.KindOf(err) != fault.Unavailable {
					t.Errorf("the error's kind is %q", fault.KindOf(err))
				}
			}
			if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// answersWith is a client that answers each question with a text.
func answersWith(text string) answers {
	return func(ctx context.Context, method string, _ []byte) (any, error) {
		switch {
		case method != wire.MethodEditorQuery:
			return nil, errors.New("not expected: " + method)
		case text == "":
			<-ctx.Done()
			return nil, ctx.Err()
		case text[0] == '-':
			return nil, &jsonrpc2.Error{Code: jsonrpc2.MethodNotFound, Message: text[1:]}
		}
		return json.RawMessage(text), nil
	}
}

// TestEditorQueryIsCancelled: who does not want the answer any more does not wait for
// it, and the editor is told.
func TestEditorQueryIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	withdrawn := make(chan struct{})
	conn := connect(t, func(ctx context.Context, _ string, _ []byte) (any, error) {
		cancel() // it was asked
		<-ctx.Done()
		close(withdrawn)
		return nil, ctx.Err()
	})
	conn.h.caps.EditorQueries = true
	if _, err := conn.h.person(nil).Languages().Query(ctx, tool.LanguageQuery{Kind: tool.Diagnostics}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-withdrawn
}

// TestEditorQueryCountsAsTheClient: the position is in the client's encoding, and a
// file has the name that the editor gives it.
func TestEditorQueryCountsAsTheClient(t *testing.T) {
	var asked wire.EditorQueryParams
	conn := connect(t, func(_ context.Context, _ string, params []byte) (any, error) {
		return nil, (wire.Codec{}).Unmarshal(params, &asked)
	})
	conn.h.caps.EditorQueries = true
	named := uri.URI("file:///w/%61.go")
	if _, err := conn.h.Workspace.Apply(workspace.Opened{URI: named, Version: 1, Text: "𝄞ü name\n"}); err != nil {
		t.Fatal(err)
	}
	q := tool.LanguageQuery{Kind: tool.Definition, Path: "/w/a.go", Line: 0, Before: "𝄞ü "}
	if _, err := conn.h.person(nil).Languages().Query(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if asked.Position == nil || asked.Position.Character != 4 || asked.Kind != "definition" {
		t.Errorf("asked %+v", asked)
	}
}
