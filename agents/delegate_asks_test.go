package agents

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// TestREL125TenChildrenAsk: ten agents that one reply delegates to all ask, eight of them
// at once, which is how many calls of a reply run side by side. Each question has the way
// to who asks, and whatever order they are answered in, each answer reaches its own.
func TestREL125TenChildrenAsk(t *testing.T) {
	const all, atOnce, refused = 10, 8, 3
	tm := newCrew(t, map[string]string{"lead": "subagents: [helper]\ntools: {allow: ['*']}", "helper": "tools: {allow: ['*']}"})
	type open struct {
		path   string
		answer chan Answer
	}
	questions := make(chan open, all)
	tm.asks = func(_ context.Context, q Question) Answer {
		o := open{string(q.Plan.Args), make(chan Answer)}
		if path := strings.Join(q.AgentPath, " "); path != "lead helper" {
			t.Errorf("%s asks", path)
		}
		questions <- o
		return <-o.answer
	}
	tm.says = func(_ context.Context, agent string, n int, req *model.Request) model.Answer {
		if agent == "lead" && n == 1 {
			var calls []string
			for i := range all {
				calls = append(calls, tool.Delegate, fmt.Sprintf(`{"agent_name":"helper","query":"part%d"}`, i))
			}
			return several(calls...)
		}
		if agent == "lead" {
			return text("Done.")
		}
		part := req.Messages[0].Parts[0].Text
		if !answered(req) {
			return several("write_file", fmt.Sprintf(`{"file_path":"%s.txt","content":"x"}`, part))
		}
		return completes(part + ": " + req.Messages[2].Parts[0].Result.Content)
	}
	s := tm.service()
	live := tm.start(s, "lead", "go")
	answerLast := func(n int) {
		var asked []open
		for range n {
			asked = append(asked, <-questions)
		}
		for i := range asked {
			o := asked[len(asked)-1-i]
			if strings.Contains(o.path, fmt.Sprintf("part%d.txt", refused)) {
				o.answer <- Answer{Outcome: guard.Reject, By: "user", Feedback: "Not this one."}
			} else {
				o.answer <- Answer{Outcome: guard.Once, By: "user"}
			}
		}
	}
	answerLast(atOnce)
	answerLast(all - atOnce)
	<-live.Done()
	said := tm.results("lead")
	if got := live.Result(); got.Reason != activity.Goal || len(said) != all {
		t.Fatalf("%s, %q", got.Reason, said)
	}
	for i, text := range said {
		if !strings.Contains(text, fmt.Sprintf("part%d: ", i)) || strings.Contains(text, "Not this one.") != (i == refused) {
			t.Errorf("%d: %q", i, text)
		}
	}
}
