package agents

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
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

// Ask implements [Frontend].
func (g giver) Ask(string, string, string) tool.Ask {
	return func(_ context.Context, q tool.Question) (tool.Answer, error) {
		g.asked <- q
		return tool.Answer{Action: "accept", Text: g.answer}, nil
	}
}

// firstHangs is a frontend at which the first question is answered by nobody, until what
// asks is cancelled.
type firstHangs struct {
	giver
	first *atomic.Bool
}

// Ask implements [Frontend].
func (d firstHangs) Ask(session, run, agent string) tool.Ask {
	later := d.giver.Ask(session, run, agent)
	return func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		if d.first.CompareAndSwap(false, true) {
			d.asked <- q
			<-ctx.Done()
			return tool.Answer{}, ctx.Err()
		}
		return later(ctx, q)
	}
}

// TestREL122CancelledAskerDecidesNothing: a child that is cancelled while it asks for
// more leaves the question to the next.
func TestREL122CancelledAskerDecidesNothing(t *testing.T) {
	tm := newCrew(t, map[string]string{"lead": "subagents: [helper]", "helper": ""})
	tm.limits.ModelCalls = 3
	var all sync.WaitGroup
	all.Add(2)
	tm.says = func(_ context.Context, agent string, n int, req *model.Request) model.Answer {
		switch {
		case agent == "lead" && n == 1:
			return several(tool.Delegate, `{"agent_name":"helper","query":"a"}`, tool.Delegate, `{"agent_name":"helper","query":"b"}`)
		case agent == "lead":
			return text("Done.")
		case !answered(req):
			all.Done()
			all.Wait()
			return several("ls", `{"dir_path":"."}`)
		}
		return completes("found")
	}
	frontend := firstHangs{giver{at{tm.site, tm}, make(chan tool.Question, 100), "Go on, with as much again"}, new(atomic.Bool)}
	s := tm.service()
	live, err := s.Start(t.Context(), Start{Run: "root", Agent: "lead", Input: []activity.ContentBlock{{Type: "text", Text: "go"}}, Frontend: frontend, Client: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	<-frontend.asked
	asker := ""
	for _, e := range tm.events(s) {
		if b, ok := e.Body.(activity.RunState); ok && b.To == activity.Paused && e.Run != "root" {
			asker = e.Run
		}
	}
	if !s.Cancel(asker, "") {
		t.Fatalf("the run %q cannot be cancelled", asker)
	}
	<-live.Done()
	reasons := map[activity.Reason]int{}
	for _, e := range tm.events(s) {
		if b, ok := e.Body.(activity.RunFinished); ok {
			reasons[b.Reason]++
		}
	}
	if reasons[activity.Aborted] != 1 || reasons[activity.Goal] != 2 {
		t.Errorf("%v, want one cancelled, and two that reached their goal", reasons)
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
		frontend := giver{at{tm.site, tm}, make(chan tool.Question, 100), "End the run"}
		if goOn {
			frontend.answer = "Go on, with as much again"
		}
		s := tm.service()
		live, err := s.Start(t.Context(), Start{Run: "root", Agent: "lead", Input: []activity.ContentBlock{{Type: "text", Text: "go"}}, Frontend: frontend, Client: t.Context()})
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
		first := <-frontend.asked
		if !strings.Contains(first.Title, "lead → helper") {
			t.Errorf("%+v", first)
		}
		switch more := len(frontend.asked); {
		case goOn && (reasons[activity.Goal] != 5 || given != 5 || more != 0):
			t.Errorf("%v, %d given, asked %d times more", reasons, given, more)
		case !goOn && (reasons[activity.Budget] != 5 || given != 0):
			t.Errorf("refused: %v, %d given", reasons, given)
		}
	}
}
