package route_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/route"
)

// debugger and writer are two agents as their authors write them.
func debugger() route.Agent {
	return route.Agent{
		Name: "debugger", Description: "Finds out why a program fails.", Priority: 90,
		Triggers: []definition.Trigger{{Intent: "debug", Priority: 90, Keywords: []string{"error", "crash", "stop", "retry", "pull request", "PR", "报错", "ＡＰＩ 错误"}, Patterns: []string{`\btypeerror\b`, `index out of range`, `(`}}},
		Examples: []string{"why does this panic", "the tests fail since yesterday", "程序为什么崩溃"},
	}
}

func writer() route.Agent {
	return route.Agent{
		Name: "writer", Description: "Writes documents.", Priority: 50,
		Triggers: []definition.Trigger{{Keywords: []string{"readme", "document"}, Priority: 90}},
		Examples: []string{"write a tutorial for new users", "explain the setup in the manual", "写一份使用说明"},
	}
}

func matched(c route.Candidate, kind string) (texts []string) {
	for _, m := range c.Matches {
		if m.Kind == kind {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// TestKeywords: whole words in ASCII, also those within identifiers and in simple
// inflections; sequences of characters in other scripts.
func TestKeywords(t *testing.T) {
	x := route.NewIndex([]route.Agent{debugger()})
	for input, want := range map[string]string{
		"an error": "error", "two ERRORS": "error", "a TypeError here": "error", "err_error_1": "error", "error404": "error", "HTTPError": "error",
		"it crashed": "crash", "crashes": "crash", "crashing": "crash", "it stopped": "stop", "stopping": "stop", "retries": "retry", "retried": "retry",
		"errorless": "", "terror": "", "improve": "", "PR 12": "PR", "two PRs": "PR", "open a Pull-Request": "pull request", "pull the request": "", "pullrequest": "",
		"昨天报错了": "报错", "API 错误": "ＡＰＩ 错误", "报 错": "", "": "",
	} {
		a := x.Rank(t.Context(), input)
		got := ""
		if len(a.Candidates) > 0 {
			got = strings.Join(matched(a.Candidates[0], "keyword"), " ")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", input, got, want)
		}
	}
}

// TestConfidence of rules alone: the figures of spec 5.1.
func TestConfidence(t *testing.T) {
	with := func(priority int, keywords, patterns string) route.Agent {
		return route.Agent{Name: "a", Priority: 50, Triggers: []definition.Trigger{{Keywords: strings.Fields(keywords), Patterns: strings.Fields(patterns), Priority: priority}}}
	}
	rival := route.Agent{Name: "b", Triggers: []definition.Trigger{{Keywords: []string{"one"}, Priority: 45}}}
	for name, c := range map[string]struct {
		agents     []route.Agent
		score      int
		confidence int
	}{
		"one keyword":             {[]route.Agent{with(90, "one", "")}, 9, 75},
		"the same twice":          {[]route.Agent{with(90, "one One", "")}, 18, 86}, // two keywords that its author gave
		"one pattern":             {[]route.Agent{with(90, "", "o.e")}, 18, 86},
		"both":                    {[]route.Agent{with(90, "one", "o.e")}, 27, 90},
		"three keywords":          {[]route.Agent{with(90, "one two three", "")}, 27, 90},
		"of a middling priority":  {[]route.Agent{with(50, "one two", "")}, 10, 77},
		"of none":                 {[]route.Agent{with(0, "one two", "")}, 0, 0},
		"with a rival":            {[]route.Agent{with(90, "one", ""), rival}, 9, 56},
		"with one that is behind": {[]route.Agent{with(90, "one two three", "o.e"), rival}, 45, 89},
	} {
		a := route.NewIndex(c.agents).Rank(t.Context(), "one two three")
		if best := a.Candidates[0]; best.Agent != "a" || best.Score != c.score || best.Confidence != c.confidence {
			t.Errorf("%s: %+v", name, best)
		}
	}
	a := route.NewIndex([]route.Agent{with(90, "one", ""), rival}).Rank(t.Context(), "one")
	if len(a.Candidates) != 2 || a.Candidates[1].Agent != "b" || a.Candidates[1].Confidence > 10 {
		t.Errorf("who is behind is sure: %+v", a.Candidates)
	}
}

// TestExamples: what is like an example speaks for its agent, in any script, and
// nothing is invented for what is like none.
func TestExamples(t *testing.T) {
	x := route.NewIndex([]route.Agent{debugger(), writer()})
	for input, want := range map[string]string{
		"why did this panic": "debugger", "tests failing since this morning": "debugger", "写使用说明": "writer", "程序崩溃": "debugger",
		"a tutorial for users, please": "writer", "WHY DOES THIS PANIC?": "debugger", "qqq zzz": "", "…": "", "天气": "",
	} {
		a := x.Rank(t.Context(), input)
		got := ""
		if len(a.Candidates) > 0 {
			got = a.Candidates[0].Agent
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%+v)", input, got, want, a.Candidates)
		}
	}
	a := x.Rank(t.Context(), "why does this panic")
	if best := a.Candidates[0]; best.Confidence < 80 || !slices.Equal(matched(best, "example"), []string{"why does this panic"}) {
		t.Errorf("an example word for word: %+v", best)
	}
}

// TestLateIsPartial: what ends in time tells that it did not try everything.
func TestLateIsPartial(t *testing.T) {
	agent := debugger()
	for i := range 100 {
		agent.Triggers[0].Patterns = append(agent.Triggers[0].Patterns, fmt.Sprintf("never%d", i))
	}
	late, cancel := context.WithCancel(t.Context())
	x := route.NewIndex([]route.Agent{agent})
	if a := x.Rank(late, "an error"); a.Partial {
		t.Error("in time, and partial")
	}
	cancel()
	if a := x.Rank(late, "an error"); !a.Partial || len(a.Candidates) != 1 {
		t.Errorf("too late: %+v", a)
	}
}

// TestSlowPatternIsStopped: a pattern that alone would take a second of a long input is
// stopped in the midst of it, and what was found out before counts.
func TestSlowPatternIsStopped(t *testing.T) {
	agent := debugger()
	agent.Triggers[0].Patterns = []string{`err(or)?`, `(?:.{0,900}x){1}y`}
	x := route.NewIndex([]route.Agent{agent})
	input := "an error " + strings.Repeat("x", 16<<10)
	asked := 0
	a := x.Rank(&ends{t.Context(), func() bool { asked++; return asked > 20 }}, input)
	if !a.Partial || len(a.Candidates) != 1 || !slices.Equal(matched(a.Candidates[0], "pattern"), []string{`err(or)?`}) {
		t.Errorf("%+v", a)
	}
	if asked > 25 {
		t.Errorf("it was asked %d times whether it is over", asked)
	}
	agent.Triggers[0].Patterns = []string{`err(or)?`, `x$`}
	if a := route.NewIndex([]route.Agent{agent}).Rank(t.Context(), input); a.Partial || len(matched(a.Candidates[0], "pattern")) != 2 {
		t.Errorf("in time: %+v", a)
	}
}

// ends is a context that ends when over says so.
type ends struct {
	context.Context
	over func() bool
}

// Err implements [context.Context].
func (e *ends) Err() error {
	if e.over() {
		return context.Canceled
	}
	return nil
}

// TestRankHolds what must be true of any input: it ends, confidences are percentages,
// and the order is that of the scores, the same each time.
func TestRankHolds(t *testing.T) {
	x := route.NewIndex([]route.Agent{debugger(), writer(), {Name: "empty"}})
	rapid.Check(t, func(t *rapid.T) {
		input := rapid.OneOf(rapid.String(), rapid.StringMatching(`(error|panic|tutorial|程序|[a-zA-Z_0-9 ]{0,9}|\xff){0,30}`)).Draw(t, "input")
		a := x.Rank(context.Background(), input)
		for i, c := range a.Candidates {
			if c.Confidence < 0 || c.Confidence > 100 || c.Score < 0 || len(c.Matches) == 0 || c.Agent == "empty" {
				t.Fatalf("%+v", c)
			}
			if i > 0 && (c.Score > a.Candidates[i-1].Score) {
				t.Fatalf("%q: %+v", input, a.Candidates)
			}
		}
		if again := x.Rank(context.Background(), input); fmt.Sprint(again) != fmt.Sprint(a) {
			t.Fatalf("%q: %+v, then %+v", input, a, again)
		}
	})
}

// many returns agents as large catalogs have them.
func many(agents, examples int) []route.Agent {
	words := strings.Fields("build test deploy review fix write explain query index cache parse render sign merge split trace route watch store plan list move copy check clean")
	var all []route.Agent
	n := uint32(1)
	next := func() string { n = n*1664525 + 1013904223; return words[n>>16%uint32(len(words))] + fmt.Sprint(n>>24) }
	for i := range agents {
		a := route.Agent{Name: fmt.Sprintf("agent%d", i), Priority: 50, Triggers: []definition.Trigger{{Priority: 50, Keywords: []string{next(), next(), next()}, Patterns: []string{`\b` + next() + `\b`, next() + `.*` + next()}}}}
		for range examples {
			a.Examples = append(a.Examples, strings.Join([]string{next(), next(), next(), next(), next(), next(), next(), next()}, " "))
		}
		all = append(all, a)
	}
	return all
}

func BenchmarkRank(b *testing.B) {
	for _, n := range []int{100, 1000} {
		x := route.NewIndex(many(n, 5))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				x.Rank(b.Context(), "please fix17 the build42 and review3 what the cache9 does before we deploy80 it to the new store12")
			}
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	agents := many(1000, 100)
	for b.Loop() {
		route.NewIndex(agents)
	}
}
