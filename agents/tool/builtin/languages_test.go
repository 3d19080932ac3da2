package builtin_test

import (
	"context"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// servers answers every question alike.
type servers []tool.Found

func (s servers) Query(context.Context, tool.LanguageQuery) ([]tool.Found, error) { return s, nil }

// TestWhatSeveralServersSayIsShownOnce, also where each says several things of a line.
func TestWhatSeveralServersSayIsShownOnce(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.go": "x\n"})
	one := []tool.Found{{Path: w.Path("a.go"), Line: 1, Kind: "error", Text: "unknown x"}, {Path: w.Path("a.go"), Line: 1, Kind: "error", Text: "missing package"}}
	env := w.Env()
	env.Languages = servers(append(one, one...))
	want := "a.go:1 error: unknown x\n    x\na.go:1 error: missing package\n    x\n"
	if r := call(t, env, "diagnostics", "file_path", "a.go"); r.Content != want || r.Display != "The editor's language servers know 2 diagnostics" {
		t.Errorf("%s\n%s", r.Content, r.Display)
	}
}
