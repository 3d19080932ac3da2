package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// TestAnswers: what each answer makes of a call, and what the model is told.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer run.Answer
		risk   tool.Risk
		ran    bool
		says   string
	}{
		"once":                          {answer(guard.Once), tool.Low, true, "done change"},
		"once, high":                    {answer(guard.Once), tool.High, true, "done change"},
		"once, protected":               {answer(guard.Once), tool.Protected, true, "done change"},
		"run":                           {answer(guard.Run), tool.Medium, true, "done change"},
		"session":                       {answer(guard.Session), tool.Medium, true, "done change"},
		"reject":                        {answer(guard.Reject), tool.Low, false, "Tool execution denied by user: change"},
		"with a reason":                 {run.Answer{Outcome: guard.Reject, By: "user", Feedback: "use b"}, tool.Low, false, "Tool execution denied by user: change\nThe person says: use b"},
		"SEC-81 time-out":               {run.Answer{Outcome: guard.Reject, By: "timeout"}, tool.Low, false, "Tool execution denied: change (nobody answered in time)"},
		"SEC-81 no dialog":              {run.Answer{Outcome: guard.Reject, By: "client"}, tool.Low, false, "Tool execution denied: change (the question could not be shown; the approval mode says what runs without asking)"},
		"SEC-69 nothing":                {run.Answer{}, tool.Low, false, "Tool execution denied by user: change"},
		"SEC-69 always, not offered":    {answer(guard.Always), tool.Low, false, "change was not permitted"},
		"SEC-69 session for a high one": {answer(guard.Session), tool.High, false, "change was not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.tool("change", c.risk, nil)
				w.person.expires = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
				w.person.answer = func(context.Context, run.Question) run.Answer { return c.answer }
				w.says(asks(calls("change", `{"x":1}`)), says("done"))
				w.ended(w.do(), activity.Goal)
				if got := w.results(1)[0]; got.Content != c.says || got.Error == c.ran {
					w.t.Errorf("the model is told %+v, not %q", got, c.says)
				}
				want := "[validating scheduled awaiting_approval error]"
				if c.ran {
					want = "[validating scheduled awaiting_approval executing success]"
				} else if got := w.ends(1)[0].Error.Code; got != tool.CodeDenied {
					w.t.Errorf("the code is %q", got)
				}
				if got := fmt.Sprint(w.states(id(1, 0))); got != want || c.ran != (len(w.executed()) == 1) {
					w.t.Errorf("the call is %s, and %v executed", got, w.executed())
				}
				asked, answered := of[activity.ConfirmationAsked](w), of[activity.ConfirmationAnswered](w)
				if len(asked) != 1 || len(answered) != 1 || asked[0].ID != answered[0].ID || asked[0].Risk != c.risk.String() ||
					asked[0].ExpiresAt != "2030-01-02T03:04:05.000Z" || asked[0].Tool != "change" || asked[0].Call != id(1, 0) || asked[0].Why != "it does change" {
					w.t.Errorf("asked %+v, answered %+v", asked, answered)
				}
				if answered[0].Outcome != string(c.answer.Outcome) || answered[0].By != c.answer.By || answered[0].Feedback != c.answer.Feedback {
					w.t.Errorf("answered %+v", answered[0])
				}
				note := "Operation cancelled by user."
				if c.answer.Feedback != "" {
					note += " The agent is told: " + c.answer.Feedback
				}
				cancelled := slices.ContainsFunc(of[activity.Note](w), func(n activity.Note) bool { return n.Message == note })
				byUser := c.answer.By != "timeout" && c.answer.By != "client"
				if cancelled != (!c.ran && byUser) && !c.answer.Outcome.Yes() {
					w.t.Errorf("the person sees %+v", of[activity.Note](w))
				}
			})
		})
	}
}

// TestSEC68AskedIsWhatRuns: the person sees the plan that the token is for.
func TestSEC68AskedIsWhatRuns(t *testing.T) {
	in(t, func(w *world) {
		w.config.Chain = []string{"planner", agentName}
		w.config.Timeout = time.Minute
		w.config.Definition.Confirmation.Prompt = "{agent} wants {tool_name} {tool_args}, {risk}"
		w.tool("change", tool.Low, nil)
		w.says(asks(calls("change", `{"path":"/a"}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		q := w.person.questions()[0]
		if want := q.Plan.Digest(tool.Identity{Session: sessionID, Run: runID, Call: id(1, 0), Agent: agentName}); of[activity.ConfirmationAsked](w)[0].Digest != want {
			w.t.Errorf("the digest is not that of the plan that is shown")
		}
		q.Plan, q.Asked = nil, nil
		got := fmt.Sprintf("%+v", run.Question{Session: q.Session, Run: q.Run, Call: q.Call, Agent: q.Agent, AgentPath: q.AgentPath, Risk: q.Risk,
			Why: q.Why, Covers: q.Covers, Outcomes: q.Outcomes, Prompt: q.Prompt, Timeout: q.Timeout})
		want := fmt.Sprintf("%+v", run.Question{Session: sessionID, Run: runID, Call: id(1, 0), Agent: agentName, AgentPath: []string{"planner", agentName}, Risk: tool.Low,
			Why: "it does change", Covers: "all of change", Outcomes: []guard.Outcome{guard.Once, guard.Run, guard.Session, guard.Modify, guard.Reject, guard.Cancel},
			Prompt: `tester wants change {"path":"/a"}, low`, Timeout: time.Minute})
		if got != want {
			w.t.Errorf("the question is\n%s\nnot\n%s", got, want)
		}
	})
}

// TestAgentsOwnTimeout beats the settings', also when it is none.
func TestAgentsOwnTimeout(t *testing.T) {
	in(t, func(w *world) {
		w.config.Timeout = time.Minute
		w.config.Definition.Confirmation = definition.Confirmation{Given: true}
		w.tool("change", tool.Low, nil)
		w.says(asks(calls("change", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if q := w.person.questions()[0]; q.Timeout != 0 || of[activity.ConfirmationAsked](w)[0].ExpiresAt != "" {
			w.t.Errorf("the question ends after %v", q.Timeout)
		}
	})
}

// TestCancelOutcome ends the run and everything that goes on in it.
func TestCancelOutcome(t *testing.T) {
	in(t, func(w *world) {
		w.tool("change", tool.Low, takes)
		w.tool("look", tool.Safe, takes)
		w.person.answer = slowly(5*time.Second, answer(guard.Cancel))
		w.says(asks(calls("look", `{"ms":1000}`), calls("look", `{"ms":60000}`), calls("change", `{"path":"/a"}`), calls("change", `{"path":"/a"}`), calls("change", `{}`), calls("nothing", `{}`)))
		w.ended(w.do(), activity.Aborted)
		if took := time.Since(of1(w)); took != 5*time.Second {
			w.t.Errorf("the run ends after %v", took)
		}
		want := []activity.CallState{activity.Success, activity.Cancelled, activity.Cancelled, activity.Cancelled, activity.Cancelled, activity.Failed}
		for i, s := range w.ends(1) {
			if s.State != want[i] || (s.State == activity.Cancelled && s.Error.Message != "cancelled by user") {
				w.t.Errorf("call %d ends %s: %+v", i, s.State, s.Error)
			}
		}
		if a := of[activity.ConfirmationAnswered](w); len(a) != 1 || a[0].Outcome != "cancel" || len(w.person.questions()) != 1 {
			w.t.Errorf("answered %+v", a)
		}
	})
}

// TestModify: the person changes a call; it is planned anew, under the whole
// policy, and the model is told (spec 4.3).
func TestModify(t *testing.T) {
	args := func(s string) run.Answer {
		return run.Answer{Outcome: guard.Modify, By: "user", Args: json.RawMessage(s)}
	}
	for name, c := range map[string]struct {
		answers []run.Answer // to the questions, in order
		asked   int
		ran     string // with which arguments, "" = not
		says    []string
	}{
		"other arguments":    {[]run.Answer{args(`{"risk":3,"n":2}`)}, 1, `{"risk":3,"n":2}`, []string{"The person changed this call", `{"risk":3,"n":2}`, "ran"}},
		"a lesser risk":      {[]run.Answer{args(`{"risk":2}`)}, 1, `{"risk":2}`, []string{"The person changed this call"}},
		"a safe call":        {[]run.Answer{args(`{"risk":1}`)}, 1, `{"risk":1}`, []string{"The person changed this call"}},
		"a riskier one":      {[]run.Answer{args(`{"risk":4}`), answer(guard.Once)}, 2, `{"risk":4}`, []string{"The person changed this call"}},
		"riskier, no":        {[]run.Answer{args(`{"risk":4}`), answer(guard.Reject)}, 2, ``, []string{"denied by user"}},
		"riskier, again":     {[]run.Answer{args(`{"risk":4}`), args(`{"risk":2}`)}, 2, `{"risk":2}`, []string{`it ran with {"risk":2}`}},
		"refused always":     {[]run.Answer{args(`{"risk":6}`)}, 1, ``, []string{"refused in every mode"}},
		"bad arguments":      {[]run.Answer{args(`{"bad":1}`)}, 1, ``, []string{"The argument bad is not known", "The person changed this call"}},
		"no JSON":            {[]run.Answer{args(`{`)}, 1, ``, []string{"cannot be read"}},
		"nothing":            {[]run.Answer{{Outcome: guard.Modify, By: "user"}}, 1, ``, []string{"the person's change was empty"}},
		"a text for no file": {[]run.Answer{{Outcome: guard.Modify, By: "user", NewText: new(string)}}, 1, ``, []string{"it writes no text that can be changed"}},
		"the tool fails":     {[]run.Answer{args(`{"risk":3,"fail":true}`)}, 1, `{"fail":true,"risk":3}`, []string{"it failed", "The person changed this call"}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				ran := ""
				w.tool("change", tool.Safe, nil).plan = func(_ context.Context, _ *tool.Env, args map[string]any) (*tool.Plan, error) {
					n, _ := args["risk"].(float64)
					return &tool.Plan{Risk: tool.Risk(n), Do: func(context.Context, *tool.Env) (*tool.Result, error) {
						data, _ := json.Marshal(args)
						if ran = string(data); args["fail"] != nil {
							return nil, tool.Errorf(tool.CodeFailed, "it failed")
						}
						return &tool.Result{Content: "ran"}, nil
					}}, nil
				}
				w.person.answer = func(_ context.Context, q run.Question) run.Answer {
					return c.answers[len(w.person.questions())-1]
				}
				w.says(asks(calls("change", `{"risk":3}`)), says("done"))
				w.ended(w.do(), activity.Goal)
				if !sameJSON(ran, c.ran) || len(w.person.questions()) != c.asked {
					w.t.Errorf("%d questions, and it ran with %q, not %q", len(w.person.questions()), ran, c.ran)
				}
				w.contains("the result", w.results(1)[0].Content, c.says...)
				if end := w.ends(1)[0]; c.ran != "" && !sameJSON(string(end.Args), c.ran) {
					w.t.Errorf("the log says that it ran with %s", end.Args)
				}
			})
		})
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	_ = json.Unmarshal([]byte(a), &x)
	_ = json.Unmarshal([]byte(b), &y)
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// TestModifyText: the person writes another text for the file.
func TestModifyText(t *testing.T) {
	for name, c := range map[string]struct{ name, args string }{
		"whole":  {"write_file", `{"path":"/a","content":"model's"}`},
		"a part": {"edit_file", `{"path":"/a","old_string":"e","new_string":"E","expected_replacements":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				f := w.files()
				f["/a"] = "before"
				w.person.answer = func(context.Context, run.Question) run.Answer {
					text := "the person's <text>"
					return run.Answer{Outcome: guard.Modify, By: "user", NewText: &text}
				}
				w.says(asks(calls(c.name, c.args)), says("done"))
				w.ended(w.do(), activity.Goal)
				if f["/a"] != "the person's <text>" || len(w.person.questions()) != 1 {
					w.t.Errorf("the file is %q after %d questions", f["/a"], len(w.person.questions()))
				}
				w.contains("the result", w.results(1)[0].Content, "The person changed this call", "the person's")
			})
		})
	}
}

// TestAnswerStandsForLaterCalls: of the same batch too, and for as long as it
// says.
func TestAnswerStandsForLaterCalls(t *testing.T) {
	for o, want := range map[guard.Outcome]int{guard.Once: 4, guard.Run: 1, guard.Session: 1} {
		t.Run(string(o), func(t *testing.T) {
			in(t, func(w *world) {
				w.tool("change", tool.Low, nil)
				w.person.answer = slowly(time.Second, answer(o))
				w.says(asks(calls("change", `{"n":1}`), calls("change", `{"n":2}`), calls("change", `{"n":3}`)), asks(calls("change", `{"n":4}`)), says("done"))
				w.ended(w.do(), activity.Goal)
				if n := len(w.person.questions()); n != want || len(w.executed()) != 4 {
					w.t.Errorf("%d questions, not %d; %v executed", n, want, w.executed())
				}
				// An answer for the run ends with it.
				d := w.config.Gate.Authorize(guard.Request{
					ID:   tool.Identity{Session: sessionID, Run: runID, Call: "x", Agent: agentName},
					Plan: &tool.Plan{Tool: "change", Args: json.RawMessage(`{}`), Risk: tool.Low, Shape: "change"}, Approval: guard.Asks, Trusted: true, CanAsk: true,
				})
				if kept := d.Verdict == guard.Auto; kept != (o == guard.Session) {
					w.t.Errorf("after the run the answer is kept: %v", kept)
				}
			})
		})
	}
}

// TestPolicy: what is refused or runs without a question, by the session's mode
// and who is there.
func TestPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		set    func(*world)
		risk   tool.Risk
		asked  bool
		result string
	}{
		"nobody to ask":  {func(w *world) { w.person.can = false }, tool.Low, false, "nobody can be asked here"},
		"plan":           {func(w *world) { w.approval = guard.Plan }, tool.Low, false, "mode plan"},
		"plan, safe":     {func(w *world) { w.approval = guard.Plan }, tool.Safe, false, "done"},
		"edits":          {func(w *world) { w.approval = guard.Edits }, tool.Low, false, "done"},
		"auto":           {func(w *world) { w.approval = guard.Free }, tool.Medium, false, "done"},
		"auto, high":     {func(w *world) { w.approval = guard.Free }, tool.High, true, "done"},
		"untrusted":      {func(w *world) { w.config.Env.Trusted = false }, tool.Low, false, "not trusted"},
		"untrusted safe": {func(w *world) { w.config.Env.Trusted = false }, tool.Safe, false, "done"},
		"catastrophic":   {func(w *world) {}, tool.Catastrophic, false, "refused in every mode"},
		"critical":       {func(w *world) { w.config.Critical = true }, tool.Catastrophic, true, "done"},
		"unclassified":   {func(w *world) { w.approval = guard.Free }, tool.Unclassified, false, "refused"},
		"unknown mode":   {func(w *world) { w.approval = "yolo" }, tool.Safe, false, "unknown"},
		"always asks":    {func(w *world) { w.config.Definition.Confirmation.Require = []string{"ch*"} }, tool.Safe, true, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				c.set(w)
				w.tool("change", c.risk, nil)
				w.says(asks(calls("change", `{}`)), says("done"))
				w.ended(w.do(), activity.Goal)
				w.contains("the result", w.results(1)[0].Content, c.result)
				ran := len(w.executed()) == 1
				if asked := len(w.person.questions()) == 1; asked != c.asked || ran != (c.result == "done") {
					w.t.Errorf("asked: %v, executed: %v", asked, ran)
				}
				if end := w.ends(1)[0]; !ran && end.Error.Code != tool.CodeDenied {
					w.t.Errorf("the call ends %+v", end.Error)
				}
			})
		})
	}
}

// TestModeChangesWhileCallsWait: what waits for its turn is decided by the mode
// that there is then.
func TestModeChangesWhileCallsWait(t *testing.T) {
	in(t, func(w *world) {
		w.tool("change", tool.Low, nil)
		w.person.answer = func(context.Context, run.Question) run.Answer {
			w.mu.Lock()
			w.approval = guard.Plan
			w.mu.Unlock()
			return answer(guard.Once)
		}
		w.says(asks(calls("change", `{}`), calls("change", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if len(w.executed()) != 1 || len(w.person.questions()) != 1 || !strings.Contains(w.results(1)[1].Content, "mode plan") {
			w.t.Errorf("executed %v; the second is told %q", w.executed(), w.results(1)[1].Content)
		}
	})
}

// TestSEC69LateAnswer: an answer that comes after the run's end changes
// nothing, also when it says yes.
func TestSEC69LateAnswer(t *testing.T) {
	in(t, func(w *world) {
		w.tool("change", tool.Low, nil)
		w.person.answer = func(ctx context.Context, _ run.Question) run.Answer {
			<-ctx.Done()
			return answer(guard.Session)
		}
		w.says(asks(calls("change", `{}`)))
		h := w.start()
		time.Sleep(time.Second)
		h.end(run.ErrCancelled)
		w.ended(h.wait(), activity.Aborted)
		answered := of[activity.ConfirmationAnswered](w)
		if len(w.executed()) != 0 || len(answered) != 1 || answered[0].Outcome != "cancel" || answered[0].By != "policy" {
			w.t.Errorf("executed %v, answered %+v", w.executed(), answered)
		}
		d := w.config.Gate.Authorize(guard.Request{
			ID:   tool.Identity{Session: sessionID, Run: "r2", Call: "x", Agent: agentName},
			Plan: &tool.Plan{Tool: "change", Args: json.RawMessage(`{}`), Risk: tool.Low, Shape: "change"}, Approval: guard.Asks, Trusted: true, CanAsk: true,
		})
		if d.Verdict != guard.Ask {
			w.t.Errorf("the late answer is kept")
		}
	})
}

// TestCancelledCallThatWaits: a person can end one call before it runs: while it
// is asked about, and behind another that writes the same file. The run goes on.
func TestCancelledCallThatWaits(t *testing.T) {
	in(t, func(w *world) {
		w.tool("change", tool.Low, nil)
		asked := make(chan struct{})
		w.person.answer = func(ctx context.Context, _ run.Question) run.Answer {
			close(asked)
			<-ctx.Done()
			return run.Answer{}
		}
		w.says(asks(calls("change", `{"path":"/a"}`), calls("change", `{"path":"/a","n":2}`)), says("done"))
		h := w.start()
		<-asked
		synctest.Wait()
		if !h.CancelCall(id(1, 1)) || !h.CancelCall(id(1, 0)) {
			t.Error("the calls could not be cancelled")
		}
		w.ended(h.wait(), activity.Goal)
		for i, end := range w.ends(1) {
			if end.State != activity.Cancelled {
				t.Errorf("call %d ended %+v", i, end)
			}
		}
		if len(w.executed()) != 0 || h.CancelCall(id(1, 0)) {
			t.Errorf("executed %v", w.executed())
		}
	})
}

// TestSEC67AChangedCallIsAskedAgainWhereItLeadsElsewhere: while the person
// changes a call, a link of it comes to lead to another place, which they are
// shown before it runs.
func TestSEC67AChangedCallIsAskedAgainWhereItLeadsElsewhere(t *testing.T) {
	for name, moved := range map[string]bool{"as it was": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				at := "/w/a"
				f := w.tool("change", tool.Low, nil)
				f.plan = func(context.Context, *tool.Env, map[string]any) (*tool.Plan, error) {
					return &tool.Plan{Risk: tool.Low, Preview: tool.Preview{Kind: "command", Cwd: at}}, nil
				}
				w.person.answer = func(_ context.Context, q run.Question) run.Answer {
					if moved && at == "/w/a" {
						at = "/w/.git"
						return run.Answer{Outcome: guard.Modify, By: "user", Args: json.RawMessage(`{"x":2}`)}
					}
					if q.Plan.Preview.Cwd != at {
						w.t.Errorf("shown %s, and it is %s", q.Plan.Preview.Cwd, at)
					}
					if moved {
						return answer(guard.Reject)
					}
					return run.Answer{Outcome: guard.Modify, By: "user", Args: json.RawMessage(`{"x":2}`)}
				}
				w.says(asks(calls("change", `{"x":1}`)), says("done"))
				w.ended(w.do(), activity.Goal)
				want := map[bool]int{false: 1, true: 2}[moved]
				if got := len(w.person.questions()); got != want || (len(w.executed()) == 1) == moved {
					w.t.Errorf("asked %d times, executed %q", got, w.executed())
				}
			})
		})
	}
}

// TestSEC09WithdrawnTrustHoldsForRunsThatGoOn: the next call of a run is decided
// about as its folder and the rules are then.
func TestSEC09WithdrawnTrustHoldsForRunsThatGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		withdraw func(trusted *bool, deny *[]tool.Rule)
	}{
		"trust": {func(trusted *bool, _ *[]tool.Rule) { *trusted = false }},
		"a rule": {func(_ *bool, deny *[]tool.Rule) {
			rule, _ := tool.ParseRule("change", nil)
			*deny = []tool.Rule{rule}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				trusted, deny := true, []tool.Rule(nil)
				w.config.Approval = func() guard.Approval { return guard.Free }
				w.config.Locate = func(env *tool.Env) { env.Trusted = trusted }
				w.config.Rules = func() ([]tool.Rule, []tool.Rule) { return deny, nil }
				w.tool("change", tool.Low, nil)
				w.tool("look", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
					c.withdraw(&trusted, &deny)
					return &tool.Result{Content: "seen"}, nil
				})
				w.says(asks(calls("change", `{"x":1}`)), asks(calls("look", `{}`)), asks(calls("change", `{"x":2}`)), says("done"))
				w.ended(w.do(), activity.Goal)
				if got := w.executed(); len(got) != 2 {
					w.t.Errorf("executed %q", got)
				}
				if r := w.results(3)[0]; !r.Error {
					w.t.Errorf("the model is told %+v", r)
				}
			})
		})
	}
}

// TestSEC33SearchesLeaveOutWhatARuleDenies: a tool is told which files a rule
// keeps it from.
func TestSEC33SearchesLeaveOutWhatARuleDenies(t *testing.T) {
	in(t, func(w *world) {
		rule, err := tool.ParseRule("look(private/**)", nil)
		if err != nil {
			t.Fatal(err)
		}
		w.config.Env.Folder = "/w"
		w.config.Rules = func() (deny, allow []tool.Rule) { return []tool.Rule{rule}, nil }
		var got []bool
		for _, name := range []string{"look", "see"} {
			w.tool(name, tool.Safe, func(_ context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
				got = append(got, env.Denied != nil && env.Denied("/w/private/a"), env.Denied != nil && env.Denied("/w/public/a"))
				return &tool.Result{Content: "seen"}, nil
			})
		}
		w.says(asks(calls("look", `{}`)), asks(calls("see", `{}`)), says("done"))
		w.ended(w.do(), activity.Goal)
		if fmt.Sprint(got) != "[true false false false]" {
			w.t.Errorf("denied: %v", got)
		}
	})
}
