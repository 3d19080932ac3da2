package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChoose(t *testing.T) {
	yes, no := new(true), new(false)
	tests := map[string]struct {
		when  When
		facts Facts
		holds bool
	}{
		"nothing asked":       {When{}, Facts{}, true},
		"at the least":        {When{MinTokens: 100}, Facts{Tokens: 100}, true},
		"below the least":     {When{MinTokens: 100}, Facts{Tokens: 99}, false},
		"at the most":         {When{MaxTokens: 100}, Facts{Tokens: 100}, true},
		"above the most":      {When{MaxTokens: 100}, Facts{Tokens: 101}, false},
		"between":             {When{MinTokens: 1, MaxTokens: 3}, Facts{Tokens: 2}, true},
		"images":              {When{Images: yes}, Facts{Images: true}, true},
		"images missing":      {When{Images: yes}, Facts{}, false},
		"no images":           {When{Images: no}, Facts{}, true},
		"images unwanted":     {When{Images: no}, Facts{Images: true}, false},
		"images not asked":    {When{}, Facts{Images: true}, true},
		"mode":                {When{Mode: "task"}, Facts{Mode: "task"}, true},
		"another mode":        {When{Mode: "task"}, Facts{Mode: "chat"}, false},
		"tools":               {When{Tools: []string{"a", "b"}}, Facts{Tools: []string{"b", "c", "a"}}, true},
		"a tool missing":      {When{Tools: []string{"a", "b"}}, Facts{Tools: []string{"a"}}, false},
		"no tools needed":     {When{Tools: []string{}}, Facts{}, true},
		"all but one":         {When{MinTokens: 5, Mode: "chat", Images: yes}, Facts{Tokens: 9, Mode: "chat"}, false},
		"all":                 {When{MinTokens: 5, Mode: "chat", Images: yes}, Facts{Tokens: 9, Mode: "chat", Images: true}, true},
		"tools of an unarmed": {When{Tools: []string{"a"}}, Facts{}, false},
	}
	for name, tt := range tests {
		rest := Route{Model: "rest"}
		want := "rest"
		if tt.holds {
			want = "first"
		}
		if got, ok := Choose([]Route{{Model: "first", When: tt.when}, rest}, tt.facts); got != want || !ok {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, want)
		}
		got, ok := Choose([]Route{{Model: "first", When: tt.when}}, tt.facts)
		if ok != tt.holds || ok != (got == "first") {
			t.Errorf("%s: alone %q, %v", name, got, ok)
		}
	}
	if got, ok := Choose(nil, Facts{}); ok || got != "" {
		t.Errorf("no rules: %q, %v", got, ok)
	}
	// The order decides, not how much a rule asks.
	if got, _ := Choose([]Route{{Model: "a", When: When{}}, {Model: "b", When: When{Mode: "chat"}}}, Facts{Mode: "chat"}); got != "a" {
		t.Errorf("got %q", got)
	}
}

func TestParseRoute(t *testing.T) {
	got, err := ParseRoute([]byte(`{"model": "pro", "when": {"minTokens": 1, "maxTokens": 2, "images": false, "mode": "task", "tools": ["bash"]}}`))
	want := Route{Model: "pro", When: When{MinTokens: 1, MaxTokens: 2, Images: new(false), Mode: "task", Tools: []string{"bash"}}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if got, err := ParseRoute([]byte(`{"model": "x"}`)); err != nil || got.Model != "x" {
		t.Error(got, err)
	}
	for rule, says := range map[string]string{
		`null`:                     "names no model",
		`{}`:                       "names no model",
		`{"model": "  "}`:          "names no model",
		`[]`:                       "it is a array",
		`{"model": 3}`:             "model is a number",
		`{"model": "x", "if": {}}`: `unknown field "if"`,
		`{"model": "x", "when": {"mintoken": 1}}`:                  `unknown field "mintoken"`,
		`{"model": "x", "when": {"minTokens": 1.5}}`:               "when.minTokens is a number 1.5",
		`{"model": "x", "when": {"minTokens": -1}}`:                "negative",
		`{"model": "x", "when": {"minTokens": 5, "maxTokens": 4}}`: "holds never",
		`{"model": "x", "when": {"mode": "plan"}}`:                 "chat or task",
		`{"model": "x", "when": {"tools": [""]}}`:                  "without a name",
		`{"model": "auto"}`:                                        `leads to "auto"`,
		`{"model": "inherit"}`:                                     `leads to "inherit"`,
	} {
		if _, err := ParseRoute([]byte(rule)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", rule, err, says)
		}
	}
}

func TestParseEntry(t *testing.T) {
	flash, _ := NewTable(nil).Lookup("flash")
	got, err := ParseEntry([]byte(`{"id": "models/` + flash.ID + `", "prices": [{"input": 1, "output": 2}], "aliases": ["fast", "flash"]}`))
	want := flash
	want.Prices, want.Aliases = []Price{{Input: 1, Output: 2}}, []string{"fast", "flash"}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	// Of an id that no row has, the pattern's; of one that is nobody's, nothing.
	got, err = ParseEntry([]byte(`{"id": "gemini-99", "aliases": ["next"], "thinking": "budget", "levels": []}`))
	if err != nil || got.ID != "gemini-99" || got.Window != 1<<20 || got.Thinking != Budget || len(got.Levels) != 0 || !slices.Equal(got.Aliases, []string{"next"}) {
		t.Errorf("%+v %v", got, err)
	}
	got, err = ParseEntry([]byte(`{"id": "openai/mine", "window": 4096, "sampling": true}`))
	if d := cmp.Diff(Entry{ID: "openai/mine", Window: 4096, Sampling: true}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	// A row can bring a model back that the binary calls retired.
	got, err = ParseEntry([]byte(`{"id": "gemini-2.0-flash", "retired": "", "successor": ""}`))
	table := NewTable(on("2026-11-20"), got)
	if id, e, known := table.Resolve("gemini-2.0-flash", ""); err != nil || id != "gemini-2.0-flash" || !known || e.MaxOutput != 8192 {
		t.Errorf("%s %+v %v %v", id, e, known, err)
	}
	for row, says := range map[string]string{
		`null`: "no id", `{"window": 5}`: "no id", `3`: "it is a number", `{"id": "x", "windows": 5}`: `unknown field "windows"`,
		`{"id": "x", "window": "big"}`: "window is a string", `{"id": "x", "window": -1}`: "negative",
		`{"id": "x", "aliases": ["auto"]}`: "mean something else", `{"id": "inherit"}`: "mean something else", `{"id": "x", "aliases": [""]}`: "mean something else",
		`{"id": "gemini-2.5-pro", "maxBudget": 5}`:                                    "above its maxBudget",
		`{"id": "x", "prices": [{"input": 1, "output": 1}, {"upTo": 5, "input": 1}]}`: "smallest first",
		`{"id": "x", "prices": [{"upTo": 9, "input": 1}, {"upTo": 9, "input": 1}]}`:   "smallest first",
		`{"id": "x", "retired": "soon"}`:                                              "2006-01-02",
		`{"id": "x", "levels": ["extreme"]}`:                                          "levels are",
		`{"id": "x", "prices": [{"input": -1, "output": 0}]}`:                         "negative price",
		`{"id": "x", "thinking": "hard"}`:                                             "budget or level",
	} {
		if _, err := ParseEntry([]byte(row)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", row, err, says)
		}
	}
}

func TestTableSet(t *testing.T) {
	table := NewTable(nil)
	before, _ := table.Lookup("flash")
	table.Set(Entry{ID: "mine", Aliases: []string{"flash"}})
	if e, _ := table.Lookup("flash"); e.ID != "mine" {
		t.Errorf("flash is %s", e.ID)
	}
	table.Set()
	if e, _ := table.Lookup("flash"); e.ID != before.ID {
		t.Errorf("flash is %s", e.ID)
	}
	if _, ok := table.Lookup("mine"); ok {
		t.Error("what was taken away is still there")
	}
}

func TestAdjust(t *testing.T) {
	deaf := Entry{ID: "m", Thinking: Level}
	full := Entry{ID: "m", Thinking: Budget, Sampling: true, MaxOutput: 100}
	heat, top, budget := new(0.5), new(0.9), new(100)
	tests := map[string]struct {
		e     Entry
		in    Options
		out   Options
		notes []string
	}{
		"nothing":             {deaf, Options{}, Options{}, nil},
		"all taken":           {full, Options{heat, top, budget, "", 100, false}, Options{heat, top, budget, "", 100, false}, nil},
		"no temperature":      {deaf, Options{Temperature: heat}, Options{}, []string{"m takes no temperature; it is not sent"}},
		"no sampling at all":  {deaf, Options{Temperature: heat, TopP: top, ThinkingLevel: "low"}, Options{ThinkingLevel: "low"}, []string{"m takes no temperature; it is not sent", "m takes no top_p; it is not sent"}},
		"does not think":      {Entry{ID: "m"}, Options{ThinkingBudget: budget}, Options{}, []string{"m takes no thinking budget or level; it is not sent"}},
		"need not think":      {Entry{ID: "m"}, Options{ThinkingBudget: new(0)}, Options{}, nil},
		"does not think much": {Entry{ID: "m"}, Options{ThinkingLevel: "high"}, Options{}, []string{"m takes no thinking budget or level; it is not sent"}},
		"too long":            {full, Options{MaxOutput: 101}, Options{MaxOutput: 100}, []string{"m answers with 100 tokens at most, not 101"}},
		"unknown length":      {deaf, Options{MaxOutput: 101}, Options{MaxOutput: 101}, nil},
	}
	for name, tt := range tests {
		out, notes := tt.e.Adjust(tt.in)
		if d := cmp.Diff(tt.out, out) + cmp.Diff(tt.notes, notes); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
