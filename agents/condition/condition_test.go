package condition

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, text := range []string{
		"task.status == 'need-review'", "analysis.can_auto_fix", "state.current_task != nil && output?.confidence > 0.5",
		`last_tool in ["bash", "edit_file"]`, `any(output.items, # > 3)`, `input matches "^re.*"`, "true",
	} {
		if err := Check(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"": "empty", "  ": "empty", "task.status ==": "unexpected", "a +": "unexpected", "1 + 2": "bool", "(": "unexpected",
		"a " + strings.Repeat("&& a ", 2000): "allowed", `input matches "("`: "missing closing",
	} {
		if err := Check(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{"a.b == 'c'", "((((", "any(x, {#.y})", "1..1000000000", "\x00\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := Check(text); err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Errorf("%q: no reason", text)
		}
	})
}
