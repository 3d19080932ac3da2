package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/sandbox"
)

// dialler is a tool that runs a command, which connects to the hosts of its
// arguments, all at once.
type dialler struct{}

func (dialler) Spec() tool.Spec {
	return tool.Spec{Name: "bash", Risk: tool.Safe, Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (dialler) Plan(_ context.Context, _ *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	var a struct{ Hosts []string }
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	return &tool.Plan{
		Tool: "bash", Args: args, Risk: tool.Safe, Why: "access network", Title: "bash", Access: sandbox.Network,
		Preview: tool.Preview{Kind: "command", Command: "fetch"}, Keep: []tool.Words{{Argv: []string{"fetch"}}},
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
			said := make([]string, len(a.Hosts))
			var dialling sync.WaitGroup
			for i, host := range a.Hosts {
				dialling.Go(func() { said[i] = fmt.Sprintf("%s: %v", host, env.Reach(ctx, host, 443)) })
			}
			dialling.Wait()
			return &tool.Result{Content: strings.Join(said, "\n")}, nil
		},
	}, nil
}

// dials gives a world the tool, and the person's rule that its command runs.
func (w *world) dials() {
	w.tools = append(w.tools, dialler{})
	rule := tool.Rule{Tool: "bash", Words: []string{"fetch"}, Text: "bash(fetch)"}
	w.config.Rules = func() (deny, allow []tool.Rule) { return nil, []tool.Rule{rule} }
}

// TestSEC44HostsOfCommandsAreAskedAbout: what each answer makes of a host that a
// command dials, and how long it stands.
func TestSEC44HostsOfCommandsAreAskedAbout(t *testing.T) {
	for name, c := range map[string]struct {
		answer run.Answer
		says   string
		asked  int // of two commands that dial one.example
	}{
		"once":     {answer(guard.Once), "one.example: <nil>", 2},
		"run":      {answer(guard.Run), "one.example: <nil>", 1},
		"session":  {answer(guard.Session), "one.example: <nil>", 1},
		"always":   {answer(guard.Always), "one.example: guard.permit: bash was not permitted", 2}, // there is nowhere to keep it
		"reject":   {run.Answer{Outcome: guard.Reject, By: "user"}, "one.example: the person refused", 2},
		"reason":   {run.Answer{Outcome: guard.Reject, By: "user", Feedback: "use the mirror"}, "one.example: the person refused: use the mirror", 2},
		"time-out": {run.Answer{Outcome: guard.Reject, By: "timeout"}, "one.example: the person was asked and did not answer in time", 2},
		"modify":   {answer(guard.Modify), "one.example: the person refused", 2}, // was not offered
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.dials()
				w.person.answer = slowly(time.Minute, c.answer)
				w.config.Env.Hosts = dial.Hosts{{Name: "allowed.example"}}
				w.says(asks(calls("bash", `{"hosts":["one.example","allowed.example"]}`)), asks(calls("bash", `{"hosts":["one.example"]}`)), says("done"))
				w.ended(w.do(), activity.Goal)
				if got := w.results(1)[0].Content; got != c.says+"\nallowed.example: <nil>" {
					w.t.Errorf("the command is told %q", got)
				}
				asked := w.person.questions()
				if len(asked) != c.asked {
					w.t.Fatalf("%d questions, not %d", len(asked), c.asked)
				}
				q := asked[0]
				if q.Risk != tool.High || q.Plan.Host != "one.example" || !strings.Contains(q.Plan.Preview.Notes[0], "one.example, port 443") || fmt.Sprint(q.Outcomes) == "" {
					w.t.Errorf("asked %+v", q)
				}
				if got := fmt.Sprint(w.states(id(1, 0))); got != "[validating scheduled executing success]" {
					w.t.Errorf("the call is %s", got)
				}
			})
		})
	}
}

// TestHostsAreAskedAboutOneByOne has a command dial several hosts, and the person
// end the run.
func TestHostsAreAskedAboutOneByOne(t *testing.T) {
	in(t, func(w *world) {
		w.dials()
		w.person.answer = slowly(time.Second, answer(guard.Once))
		w.says(asks(calls("bash", `{"hosts":["one.example","two.example","three.example"]}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if n := len(w.person.questions()); n != 3 { // the fake finds two that are open at once
			w.t.Errorf("%d questions", n)
		}
	})
	in(t, func(w *world) {
		w.dials()
		w.person.answer = slowly(time.Second, answer(guard.Cancel))
		w.says(asks(calls("bash", `{"hosts":["one.example","two.example"]}`)))
		w.ended(w.do(), activity.Aborted)
		if n := len(w.person.questions()); n != 1 {
			w.t.Errorf("%d questions", n)
		}
	})
}

// TestHostsThatNobodyCanBeAskedAbout are refused, and what to do is said.
func TestHostsThatNobodyCanBeAskedAbout(t *testing.T) {
	in(t, func(w *world) {
		w.dials()
		w.person.can = false
		w.says(asks(calls("bash", `{"hosts":["one.example"]}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if got := w.results(1)[0].Content; !strings.Contains(got, "tools.sandbox.allowedHosts") || !strings.Contains(got, "nobody can be asked here") {
			w.t.Errorf("the command is told %q", got)
		}
	})
}
