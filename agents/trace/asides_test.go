package trace_test

import (
	"slices"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/trace"
)

// aside is a question of a tool's to a model.
func aside(purpose, call string) (asked, answered activity.Body) {
	return activity.ModelStarted{Model: "flash", Attempt: 1, Purpose: purpose, Call: call},
		activity.ModelFinished{Model: "flash", Finish: model.Stop, Purpose: purpose, Call: call, Content: []model.Part{{Text: "answer to " + call}}}
}

// TestModelsBesideTools: what a tool asks a model is a part of its call, and takes as long as
// the model took, also where several tools ask at once and one gets no answer.
func TestModelsBesideTools(t *testing.T) {
	searchAsked, searchAnswered := aside("search", "a#1-0")
	vectorAsked, vectorAnswered := aside("embedding", "a#1-1")
	lostAsked, _ := aside("aside", "a#1-2")
	var s story
	s.begin(activity.Origin{Run: "a", Agent: "debugger"}, "find it", "")
	s.say(activity.TurnStarted{Turn: 1})
	s.say(answer("I look.")...)
	for _, id := range []string{"a#1-0", "a#1-1", "a#1-2"} {
		s.say(call(id, "web_search", `{}`, activity.Executing)) // 7, 8, 9
	}
	s.say(searchAsked, vectorAsked, lostAsked)                 // 10, 11, 12
	s.say(vectorAnswered, activity.Note{}, searchAnswered)     // 13, 14, 15
	s.say(call("a#1-0", "web_search", `{}`, activity.Success)) // 16
	s.say(call("a#1-1", "web_search", `{}`, activity.Success))
	s.say(call("a#1-2", "web_search", `{}`, activity.Failed), activity.TurnFinished{Turn: 1}, told("GOAL"))
	spans := trace.Build(s.events)
	want := []string{
		"run debugger 19s", "  turn turn 17s", "    llm flash 2s",
		"    tool web_search 9s", "    tool web_search 9s", "    tool web_search 9s ✗ tool.notFound",
		"      llm flash 5s", "      llm flash 2s", "      llm flash 6s ✗ no answer",
	}
	if got := lines(spans); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, span := range spans {
		if span.Kind == trace.Model && span.Call == "a#1-0" && (span.Details.Get("purpose") != "search" || span.Details.Get("response") != "answer to a#1-0") {
			t.Errorf("%v", span.Details)
		}
	}
}

// TestModelsBesideToolsOfOldLogs: logs of before this say of a question neither what it is for
// nor whose it is. It takes no longer than up to its answer, whatever follows.
func TestModelsBesideToolsOfOldLogs(t *testing.T) {
	for name, finished := range map[string]activity.ModelFinished{
		"search":    {Model: "flash", Finish: model.Stop, Purpose: "search", Content: []model.Part{{Text: "found"}}},
		"embedding": {Model: "flash", Finish: model.Stop},
	} {
		var s story
		s.begin(activity.Origin{Run: "a", Agent: "debugger"}, "find it", "")
		s.say(activity.TurnStarted{Turn: 1}, call("a#1-0", "web_search", `{}`, activity.Executing))
		s.say(activity.ModelStarted{Model: "flash", Attempt: 1}, finished)
		s.say(call("a#1-0", "web_search", `{}`, activity.Success), activity.Note{}, activity.TurnFinished{Turn: 1}, told("GOAL"))
		want := []string{"run debugger 8s", "  turn turn 6s", "    tool web_search 3s", "    llm flash 1s"}
		if got := lines(trace.Build(s.events)); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
