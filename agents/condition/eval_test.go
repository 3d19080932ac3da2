package condition

import (
	"strings"
	"testing"
)

func TestHolds(t *testing.T) {
	values := map[string]any{
		"task":   map[string]any{"status": "completed", "result": "All tests pass."},
		"output": map[string]any{"confidence": 0.9, "items": []any{1.0, 4.0}},
		"input":  "review main.go", "last_tool": "edit_file", "state": map[string]any{},
	}
	for text, want := range map[string]bool{
		"true": true, "task.status == 'completed'": true, "task.status == 'failed'": false, "output.confidence > 0.8": true,
		`last_tool in ["bash", "edit_file"]`: true, "any(output.items, # > 3)": true, "all(output.items, # > 3)": false,
		`input matches "^re"`: true, "state.missing == nil": true, "missing?.field == 1": false, "len(output.items) == 2 && lower(task.result) contains 'pass'": true,
		"len(filter(output.items, # > 1)) == 1": true, "count(output.items, any(output.items, # > 3)) == 2": true, "output['confidence'] < 1": true,
	} {
		c, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := c.Holds(values); err != nil || got != want {
			t.Errorf("%s: %t, %v, want %t", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"missing.deep.er == 1": "do not fit", "state.missing": "not there", "output.items": "not true or false", "task.status > 3": "go together",
	} {
		c, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := c.Holds(values); got || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %t, %v, want %q", text, got, err, want)
		}
	}
	if len(values) != 5 {
		t.Error("judging changed the values")
	}
}

// TestRefused: what could fill memory or goes on by itself is refused when it is
// read.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"let x = input; x == 'a'":             "let cannot",
		"reduce(items, #acc + #acc, 'a') < 1": "reduce",
		"replace(input, 'a', 'aa') == ''":     "replace",
		"repeat(input, 1000) == ''":           "repeat",
		"now().Year() == 2020":                "now",
		"foo(1)":                              "not known",
		"any(1..100000, true)":                "..",
		"2 ** 4 == 16":                        "**",
		"input.Close()":                       "not known",
	} {
		if _, err := Compile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestTakesNoLonger: a loop over what an agent gave back ends with its time.
func TestTakesNoLonger(t *testing.T) {
	items := make([]any, 20_000)
	for i := range items {
		items[i] = i
	}
	c, err := Compile("any(items, any(items, any(items, # < 0)))")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Holds(map[string]any{"items": items}); got || err == nil || !strings.Contains(err.Error(), "10 ms") {
		t.Errorf("%t, %v", got, err)
	}
}

func FuzzHolds(f *testing.F) {
	for _, text := range []string{"a.b == 'c'", "any(x, #.y == x)", "a matches 'b'", "a?.b ?? x[0] == 1", "len(x) > 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Compile(text)
		if err != nil {
			return
		}
		got, err := c.Holds(map[string]any{"a": "b", "x": []any{1, "y", nil, map[string]any{"y": 1.5}}})
		if got && err != nil {
			t.Errorf("%q holds: %v", text, err)
		}
	})
}

func BenchmarkHolds(b *testing.B) {
	c, err := Compile("task.status == 'completed' && output.confidence > 0.8")
	if err != nil {
		b.Fatal(err)
	}
	values := map[string]any{"task": map[string]any{"status": "completed"}, "output": map[string]any{"confidence": 0.9}}
	for b.Loop() {
		if ok, err := c.Holds(values); !ok {
			b.Fatal(err)
		}
	}
}
