package server

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.lsp.dev/jsonrpc2"

	"github.com/agentls/agentls/internal/fault"
)

func TestEveryKindHasACode(t *testing.T) {
	for k := range fault.Kind(fault.Count) {
		if edges[k].code == 0 || k.String() == "" {
			t.Errorf("kind %d %q has code %d", k, k, edges[k].code)
		}
	}
}

func TestCoded(t *testing.T) { // spec 2.5
	asked, cancel := context.WithCancelCause(t.Context())
	cancel(errAskedFor)
	hungUp, cancel := context.WithCancelCause(t.Context())
	cancel(ended{HungUp, nil})
	for _, c := range []struct {
		name    string
		ctx     context.Context
		err     error
		code    jsonrpc2.Code
		message string
		data    string
	}{
		{"a kind", t.Context(), fault.New(fault.NotFound, "a.b", "nothing here"), -32803, "nothing here", `{"kind":"notFound","retryable":false}`},
		{"wrapped", t.Context(), fmt.Errorf("hover: %w", fault.New(fault.Stale, "a.b", "too old")), -32801, "hover: a.b: too old", `{"kind":"stale","retryable":true}`},
		{"a reason", t.Context(), fault.New(fault.Unavailable, "a.b", "sign in").Because(fault.AuthRequired, "command", "agentls auth"), -32803, "sign in", `{"command":"agentls auth","kind":"authRequired","retryable":false}`},
		{"busy", t.Context(), fault.New(fault.Denied, "a.b", "it runs").Because(fault.Busy), -32803, "it runs", `{"kind":"busy","retryable":true}`},
		{"a fault that knows better", t.Context(), fault.New(fault.Unavailable, "a.b", "quota").Because(fault.Provider, "status", 429, "retryable", false), -32803, "quota", `{"kind":"provider","retryable":false,"status":429}`},
		{"a reason of a stale one", t.Context(), fault.New(fault.Stale, "a.b", "gone").Because(fault.OutOfDate), -32803, "gone", `{"kind":"stale","retryable":false}`},
		{"a reason of an invalid one", t.Context(), fault.New(fault.Invalid, "a.b", "bad").Because(fault.InvalidAgent, "problems", []int{}), -32803, "bad", `{"kind":"invalidAgent","problems":[],"retryable":false}`},
		{"a reason below another kind", t.Context(), fault.New(fault.Invalid, "a.b", "no: %w", fault.New(fault.Stale, "c.d", "gone").Because(fault.OutOfDate)), -32803, "no: c.d: gone", `{"kind":"stale","retryable":false}`},
		{"a bug", t.Context(), fault.New(fault.Unavailable, "a.b", "panic").Because(fault.Bug), -32603, "panic", `{"kind":"internal","retryable":false}`},
		{"asked for, with a reason", asked, fault.New(fault.Canceled, "a.b", "ended").Because(fault.Provider), -32800, "ended", `{"kind":"provider","retryable":false}`},
		{"data cannot rename", t.Context(), fault.New(fault.Denied, "a.b", "no").Because(fault.Refused, "kind", "x"), -32803, "no", `{"kind":"denied","retryable":false}`},
		{"data that is no JSON", t.Context(), fault.New(fault.Denied, "a.b", "no").Because(fault.Refused, "f", func() {}, "g", 1), -32803, "no", `{"g":1,"kind":"denied","retryable":false}`},
		{"unsorted", t.Context(), errors.New("boom"), -32603, "boom", `{"kind":"internal","retryable":false}`},
		{"a client's refusal", t.Context(), &jsonrpc2.Error{Code: -32601, Message: "not here"}, -32603, "not here", `{"kind":"internal","retryable":false}`},
		{"no UTF-8", t.Context(), errors.New("a\xffb"), -32603, "a\ufffdb", `{"kind":"internal","retryable":false}`},
		{"asked for", asked, context.Canceled, -32800, "context canceled", `{"kind":"canceled","retryable":false}`},
		{"asked for, another error", asked, fault.New(fault.Denied, "a.b", "no"), -32803, "no", `{"kind":"denied","retryable":false}`},
		{"not asked for", t.Context(), context.Canceled, -32803, "context canceled", `{"kind":"unavailable","retryable":true}`},
		{"hung up", hungUp, context.Canceled, -32803, "context canceled", `{"kind":"unavailable","retryable":true}`},
		{"late", t.Context(), context.DeadlineExceeded, -32803, "context deadline exceeded", `{"kind":"unavailable","retryable":true}`},
	} {
		got := errorObject(c.ctx, c.err)
		if got.Code != c.code || got.Message != c.message || string(got.Data) != c.data {
			t.Errorf("%s: %d %q %s", c.name, got.Code, got.Message, got.Data)
		}
	}
}
