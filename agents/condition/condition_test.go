package condition

import (
	"runtime"
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
		"": "empty", "  ": "empty", "task.status ==": "something is missing at its end", "a +": "missing at its end", "(": "missing at its end",
		"1 + 2": "its value is a whole number, not true or false", "1 + 'a'": "go together: a whole number and a text", "a b": "“b” does not belong",
		"a = b": "write ==", "a == 'x": "not closed", "a @ b": "means nothing", "len(1)": "no expression that is understood",
		"a " + strings.Repeat("&& a ", 2000): "allowed", `input matches "("`: "missing closing", "a" + strings.Repeat("&&a", 700): "parts",
		`input matches ("(" + "a")`: "is computed", `a || not (input matches "[\\p{L}\\p{N}]{900}")`: "too large", "1..9": "a list",
		`input matches "` + strings.Repeat(".{1000}", 140) + `"`: "too large", `input matches "` + strings.Repeat("(x{500}){2}", 90) + `"`: "too large",
		`input matches "` + strings.Repeat(`\\PL`, 400) + `"`: "classes",
	} {
		if err := Check(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{"a.b == 'c'", "((((", "any(x, {#.y})", "1..1000000000", "\x00\xff", `a matches "(x{500}){2}"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := Check(text); err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Errorf("%q: no reason", text)
		}
	})
}

// Whatever a condition says, to check it takes no memory to speak of.
func TestCostsLittle(t *testing.T) {
	for _, text := range []string{
		`input matches "` + strings.Repeat(".{1000}", 1160) + `"`,
		`input matches "` + strings.Repeat(".{1000}", 140) + `"`,
		"a" + strings.Repeat(`||a matches "`+strings.Repeat("a{1000}", 4)+`"`, 150),
		"1..900000 == 1..900000",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = Check(text)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
			t.Errorf("%.40q takes %d bytes", text, n)
		}
	}
}
