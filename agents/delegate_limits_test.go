package agents

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// giver is a person who answers what paused runs ask.
type giver struct {
	at
	asked  chan tool.Question
	answer string
}

// Ask implements [Desk].
func (g giver) Ask(string, string, string) tool.Ask {
	return func(_ context.Context, q tool.Question) (tool.Answer, error) {
		g.asked <- q
		return tool.Answer{Action: "accept", Text: g.answer}, nil
	}
}

// TestREL122ChildAsksForMore: children that come to a limit of their tree pause, and the
// person is asked once for all of them. With more they go on where they were, and so does
// their caller; without, they end BUDGET and it asks for itself.
func TestREL122ChildAsksForMore(t *testing.T) {
	for _, goOn := range []bool{true, false} {
		tm := newCrew(t, map[string]string{"lead": "subagents: [helper]", "helper": ""})
		tm.limits.ModelCalls = 5
		var all sync.WaitGroup // all have asked once before one asks again
		all.Add(4)
		tm.says = func(_ context.Context, agent string, n int, req *model.Request) model.Answer {
			switch {
			case agent == "lead" && n == 1:
				return several(tool.Delegate, `{"agent_name":"helper","query":"a"}`, tool.Delegate, `{"agent_name":"helper","query":"b"}`,
					tool.Delegate, `{"agent_name":"helper","query":"c"}`, tool.Delegate, `{"agent_name":"helper","query":"d"}`)
			case agent == "lead":
				return text("Done.")
			case !answered(req):
				all.Done()
				all.Wait()
				return several("ls", `{"dir_path":"."}`)
			}
			return completes("found")
		}
		desk := giver{at{tm.site, tm}, make(chan tool.Question, 100), "End the run"}
		if goOn {
			desk.answer = "Go on, with as much again"
		}
		s := tm.service()
		live, err := s.Start(t.Context(), Start{Run: "root", Agent: "lead", Input: []activity.ContentBlock{{Type: "text", Text: "go"}}, Desk: desk, Client: t.Context()})
		if err != nil {
			t.Fatal(err)
		}
		<-live.Done()
		reasons := map[activity.Reason]int{}
		given := 0
		for _, e := range tm.events(s) {
			switch b := e.Body.(type) {
			case activity.RunFinished:
				reasons[b.Reason]++
			case activity.RunState:
				if b.Extended != nil && e.Run == "root" {
					given += b.Extended.ModelCalls
				}
			}
		}
		first := <-desk.asked
		if !strings.Contains(first.Title, "lead → helper") {
			t.Errorf("%+v", first)
		}
		switch more := len(desk.asked); {
		case goOn && (reasons[activity.Goal] != 5 || given != 5 || more != 0):
			t.Errorf("%v, %d given, asked %d times more", reasons, given, more)
		case !goOn && (reasons[activity.Budget] != 5 || given != 0):
			t.Errorf("refused: %v, %d given", reasons, given)
		}
	}
}
