package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/server"
)

type file struct {
	URI   string         `json:"uri"`
	Range protocol.Range `json:"range,omitzero"`
}

type runParams struct {
	Agent    string                 `json:"agent"`
	Approval string                 `json:"approval"`
	Turns    uint                   `json:"turns"`
	Wait     bool                   `json:"wait"`
	Files    []file                 `json:"files"`
	Inputs   map[string]file        `json:"inputs"`
	Token    protocol.ProgressToken `json:"workDoneToken,omitzero"`
}

func (p *runParams) Check() (string, error) {
	if p.Agent == "" {
		return "agent", errors.New("is required")
	}
	if p.Approval != "" && p.Approval != "ask" && p.Approval != "auto" {
		return "approval", errors.New("must be ask or auto")
	}
	return "", nil
}

// TestREL19BadParamsNameTheField (spec 2.2).
func TestREL19BadParamsNameTheField(t *testing.T) {
	ran := false
	r := serve(t,
		server.Query("run", func(p *runParams) string { ran = true; return p.Agent }, func(_ context.Context, a string, _ *runParams) (string, error) { return a, nil }),
		server.Query("hover", func(*protocol.HoverParams) int { ran = true; return 0 }, func(context.Context, int, *protocol.HoverParams) (any, error) { return nil, nil }),
		server.Query("change", func(*protocol.DidChangeTextDocumentParams) int { ran = true; return 0 }, func(context.Context, int, *protocol.DidChangeTextDocumentParams) (any, error) { return nil, nil }),
		server.Query("late", func(*none) int { return 0 }, func(context.Context, int, *none) (any, error) {
			return nil, server.BadParams("late", "agent", "names no agent")
		}))
	for _, c := range []struct{ method, params, path, message string }{
		{"run", `null`, "agent", "run: agent is required"},
		{"run", `{}`, "agent", "run: agent is required"},
		{"run", `{"agent":""}`, "agent", "run: agent is required"},
		{"run", `{"Agent":"x"}`, "agent", "run: agent is required"},
		{"run", `{"agent":"x","approval":"maybe"}`, "approval", "run: approval must be ask or auto"},
		{"run", `{"agent":5}`, "agent", "run: agent must be a string, not a number"},
		{"run", `{"agent":"x","turns":-1}`, "turns", "run: turns must be a whole number that is not negative"},
		{"run", `{"agent":"x","turns":1.5}`, "turns", "run: turns must be a whole number that is not negative"},
		{"run", `{"agent":"x","turns":99999999999999999999}`, "turns", "run: turns is out of range"},
		{"run", `{"agent":"x","wait":"end"}`, "wait", "run: wait must be true or false, not a string"},
		{"run", `{"agent":"x","files":{}}`, "files", "run: files must be an array, not an object"},
		{"run", `{"agent":"x","files":[{},{"uri":[]}]}`, "files[1].uri", "run: files[1].uri must be a string, not an array"},
		{"run", `{"agent":"x","files":[{"range":{"start":{"line":"x"}}}]}`, "files[0].range.start.line", "run: files[0].range.start.line must be a number"},
		{"run", `{"agent":"x","files":[{"range":5}]}`, "files[0].range", "run: files[0].range must be an object"},
		{"run", `{"agent":"x","inputs":{"a b/c":{"uri":1}}}`, `inputs["a b/c"].uri`, `run: inputs["a b/c"].uri must be a string, not a number`},
		{"run", `{"agent":"x","workDoneToken":{}}`, "workDoneToken", "run: workDoneToken has a form that is not known here"},
		{"run", `[]`, "", "run: must be an object, not an array"},
		{"run", `5`, "", "run: params must be an object"},
		{"run", `"x"`, "", "run: params must be an object"},
		{"run", `{"agent":"x","agent":"y"}`, "agent", "run: agent is given twice"},
		{"run", `{"agent":"x","files":[{},{"uri":"a","\u0075ri":"b"}]}`, "files[1].uri", "run: files[1].uri is given twice"},
		{"hover", `{"textDocument":5}`, "textDocument", "hover: textDocument must be an object"},
		{"hover", `{"position":{"line":"x"}}`, "position.line", "hover: position.line must be a number"},
		{"hover", `{"position":{"line":-1}}`, "position.line", "hover: position.line must be a whole number that is not negative"},
		{"hover", `{"textDocument":{"uri":5}}`, "textDocument.uri", "hover: textDocument.uri must be a string"},
		{"change", `{"textDocument":{"uri":"file:///a","version":1},"contentChanges":[{"text":5}]}`, "contentChanges[0]", "change: contentChanges[0] has a form that is not known here"},
		{"late", `{}`, "agent", "late: agent names no agent"},
	} {
		m := r.ask("1", c.method, c.params)
		if m.Code() != -32602 {
			t.Errorf("%s %s: %s", c.method, c.params, m.Raw)
			continue
		}
		d := data(t, m)
		if d["path"] != c.path || m.Error.Message != c.message || d["kind"] != "invalid" || d["retryable"] != false {
			t.Errorf("%s %s: %s", c.method, c.params, m.Raw)
		}
	}
	if ran {
		t.Error("something ran on bad params")
	}
	for i, params := range []string{`{"agent":"x","more":{"a":1},"approval":"auto"}`, `{"agent":"x","files":null,"turns":3}`} {
		if m := r.ask(fmt.Sprint(i), "run", params); string(m.Result) != `"x"` {
			t.Errorf("%s: %s", params, m.Raw)
		}
	}
	r.send(`{"jsonrpc":"2.0","id":9,"method":"run"}`)
	if m := r.answer("9"); m.Code() != -32602 {
		t.Errorf("without params: %s", m.Raw)
	}
}

func TestWhatAClientSendsIsNotQuotedAtLength(t *testing.T) {
	r := serve(t, echo)
	long := strings.Repeat("x", 1<<20)
	for _, body := range []string{
		call("1", long, `{}`),
		call("1", "echo", `{"`+long+`":1,"`+long+`":2}`),
		call("1", "echo", `{"n":{"`+long+`":1}}`),
		`{"jsonrpc":"2.0","id":1,"method":"echo","` + long + `":1,"` + long + `":2}`,
	} {
		r.send(body)
		if m := r.answer("1"); m.Code() == 0 || len(m.Raw) > 2000 {
			t.Errorf("%.80s… is answered with %d bytes: %.300s", body, len(m.Raw), m.Raw)
		}
	}
}

// TestDecodedParamsOutliveTheirFrame fails where a decoded string is a view of
// a buffer that the next message is read into.
func TestDecodedParamsOutliveTheirFrame(t *testing.T) {
	gate := make(chan struct{})
	type params struct {
		S string           `json:"s"`
		A protocol.LSPAny  `json:"a"`
		P protocol.Command `json:"p"`
	}
	r := serve(t, server.Query("keep", func(*params) int { return 0 }, func(_ context.Context, _ int, p *params) (string, error) {
		<-gate
		return p.S + string(p.A) + p.P.Title, nil
	}), server.Notify("note", func(context.Context, *count) error { return nil }), echo)
	r.send(call("1", "keep", `{"s":"aaaa","a":[1,2],"p":{"title":"bbbb","command":"c"}}`))
	for range 5 {
		r.send(note("note", `{"n":1111111111111111111111111111,"s":"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"}`))
	}
	r.ask("2", "echo", `{}`)
	close(gate)
	if m := r.answer("1"); string(m.Result) != `"aaaa[1,2]bbbb"` {
		t.Error(m.Raw)
	}
}
