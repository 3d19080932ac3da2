package server_test

import (
	"context"
	"encoding/json"
	"testing"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/server"
)

// TestSEC73NoMessageHoldsALink: VS Code would show only the words of a link, and
// run a command when they are clicked.
func TestSEC73NoMessageHoldsALink(t *testing.T) {
	for text, want := range map[string]string{
		"touch [notes](command:x?%5B%5D) end":     `touch [notes]\x28command:x?%5B%5D) end`,
		"[a](https://a.example/b) [c](file:///d)": `[a]\x28https://a.example/b) [c]\x28file:///d)`,
		"[a](HTTP://A.example) [b](vscode-x.y:z)": `[a]\x28HTTP://A.example) [b]\x28vscode-x.y:z)`,
		"-a[i](b)\n+[see](docs/x.md) [ ](1:2)":    "-a[i](b)\n+[see](docs/x.md) [ ](1:2)",
		"command:x (https://a.example) [1]: b":    "command:x (https://a.example) [1]: b",
	} {
		var r *rig
		r = serve(t, server.Query("ask", func(*none) int { return 0 }, func(ctx context.Context, _ int, _ *none) (any, error) {
			params := &protocol.ShowMessageRequestParams{Message: text}
			if err := r.peer.ShowMessage(ctx, &protocol.ShowMessageParams{Message: text}); err != nil {
				return nil, err
			}
			chosen, err := r.peer.ShowMessageRequest(ctx, params)
			if params.Message != text {
				t.Errorf("the caller's own text became %q", params.Message)
			}
			return chosen, err
		}))
		r.send(call("1", "ask", `{}`))
		for _, method := range []string{"window/showMessage", "window/showMessageRequest"} {
			m := r.next()
			var p struct{ Message string }
			if err := json.Unmarshal(m.Params, &p); err != nil || m.Method != method {
				t.Fatalf("%v: %s", err, m.Raw)
			}
			if p.Message != want {
				t.Errorf("%s of %q: %q, not %q", method, text, p.Message, want)
			}
			if len(m.ID) > 0 {
				r.send(result(string(m.ID), `null`))
			}
		}
		r.answer("1")
	}
}
