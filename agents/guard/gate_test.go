package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

var id = tool.Identity{Session: "s", Run: "r", Call: "r#1-0", Agent: "a"}

func plan(risk tool.Risk) *tool.Plan {
	return &tool.Plan{Tool: "write_file", Args: json.RawMessage(`{}`), Risk: risk, Why: "writes a file", Shape: "files", Covers: "files of the folder"}
}

// TestSEC02TheTableOfModes is spec 4.2 as it stands there, row by row.
func TestSEC02TheTableOfModes(t *testing.T) {
	const (
		auto   = Auto
		ask    = Ask
		refuse = Refuse
	)
	risks := []tool.Risk{tool.Safe, tool.Low, tool.Medium, tool.High, tool.Protected, tool.Catastrophic}
	for _, row := range []struct {
		mode    Approval
		trusted bool
		want    [6]Verdict
	}{
		{Plan, true, [6]Verdict{auto, refuse, refuse, refuse, refuse, refuse}},
		{Asks, true, [6]Verdict{auto, ask, ask, ask, ask, refuse}},
		{Edits, true, [6]Verdict{auto, auto, ask, ask, ask, refuse}},
		{Free, true, [6]Verdict{auto, auto, auto, ask, ask, refuse}},
		{Plan, false, [6]Verdict{auto, refuse, refuse, refuse, refuse, refuse}},
		{Asks, false, [6]Verdict{auto, refuse, refuse, refuse, refuse, refuse}},
		{Edits, false, [6]Verdict{auto, refuse, refuse, refuse, refuse, refuse}},
		{Free, false, [6]Verdict{auto, refuse, refuse, refuse, refuse, refuse}},
		{"yolo", true, [6]Verdict{}},
		{"", true, [6]Verdict{}},
	} {
		for i, risk := range risks {
			r := Request{ID: id, Plan: plan(risk), Approval: row.mode, Trusted: row.trusted, CanAsk: true}
			if got := New().Authorize(r).Verdict; got != row.want[i] {
				t.Errorf("mode %q, trusted %v, %v: %v, want %v", row.mode, row.trusted, risk, got, row.want[i])
			}
			r.CanAsk = false
			want := row.want[i]
			if want == ask {
				want = refuse
			}
			if got := New().Authorize(r).Verdict; got != want {
				t.Errorf("nobody to ask, mode %q, %v: %v, want %v", row.mode, risk, got, want)
			}
		}
	}
}

// TestSEC78AHookOnlyAddsQuestions: what a hook asks about is asked, whatever was answered
// before and whatever rules allow, in every folder; what is refused stays refused.
func TestSEC78AHookOnlyAddsQuestions(t *testing.T) {
	g := New()
	r := Request{ID: id, Plan: plan(tool.Low), Approval: Asks, Trusted: true, CanAsk: true}
	if _, err := g.Permit(t.Context(), r, g.Authorize(r), Session); err != nil {
		t.Fatal(err)
	}
	if got := g.Authorize(r).Verdict; got != Auto {
		t.Fatalf("after an answer for the session: %v", got)
	}
	for _, risk := range []tool.Risk{tool.Safe, tool.Low} {
		for _, trusted := range []bool{true, false} {
			r.Plan, r.Trusted, r.HookAsks = plan(risk), trusted, ""
			want := g.Authorize(r).Verdict
			if want == Auto {
				want = Ask
			}
			r.HookAsks = "why"
			d := g.Authorize(r)
			if d.Verdict != want {
				t.Errorf("%v, trusted %v: %v, want %v", risk, trusted, d.Verdict, want)
			}
			for _, o := range []Outcome{Run, Session, Always} {
				if slices.Contains(d.Outcomes, o) {
					t.Errorf("%v, trusted %v: may be answered with %s", risk, trusted, o)
				}
			}
			r.CanAsk = false
			if got := g.Authorize(r).Verdict; got != Refuse {
				t.Errorf("%v, trusted %v, nobody to ask: %v", risk, trusted, got)
			}
			r.CanAsk = true
		}
	}
}

// TestZeroRefuses: nothing that somebody forgot to fill in lets a call run.
func TestZeroRefuses(t *testing.T) {
	if (Decision{}).Verdict != Refuse {
		t.Error("the zero decision does not refuse")
	}
	for _, mode := range []Approval{Plan, Asks, Edits, Free} {
		r := Request{ID: id, Plan: plan(tool.Unclassified), Approval: mode, Trusted: true, CanAsk: true, Critical: true}
		if d := New().Authorize(r); d.Verdict != Refuse {
			t.Errorf("an unclassified call in mode %s: %v", mode, d.Verdict)
		}
	}
	g := New()
	r := Request{ID: id, Plan: plan(tool.Safe), Approval: Free, Trusted: true}
	if _, err := g.Permit(context.Background(), r, Decision{}, Once); err == nil {
		t.Error("a token for the zero decision")
	}
}

func TestAgentMayOnlyAddQuestions(t *testing.T) {
	for _, c := range []struct {
		require string
		mode    Approval
		risk    tool.Risk
		want    Verdict
	}{
		{"write_*", Free, tool.Low, Ask},
		{"bash", Free, tool.Low, Auto},
		{"[", Free, tool.Safe, Ask}, // a glob that does not compile
		{"write_file", Plan, tool.Low, Refuse},
		{"write_file", Asks, tool.Catastrophic, Refuse},
	} {
		r := Request{ID: id, Plan: plan(c.risk), Approval: c.mode, Trusted: true, CanAsk: true, Require: []string{c.require}}
		if d := New().Authorize(r); d.Verdict != c.want {
			t.Errorf("%+v: %v", c, d.Verdict)
		}
	}
}

// TestRemembered: an answer holds for the same agent, tool and shape, as long
// as it was given for, and never above medium.
func TestRemembered(t *testing.T) {
	ctx := context.Background()
	g := New()
	ask := func(change func(*Request)) Verdict {
		r := Request{ID: id, Plan: plan(tool.Low), Approval: Asks, Trusted: true, CanAsk: true}
		change(&r)
		return g.Authorize(r).Verdict
	}
	same := func(*Request) {}
	r := Request{ID: id, Plan: plan(tool.Low), Approval: Asks, Trusted: true, CanAsk: true}
	permit := func(o Outcome) {
		t.Helper()
		if _, err := g.Permit(ctx, r, g.Authorize(r), o); err != nil {
			t.Fatal(err)
		}
	}
	permit(Once)
	if ask(same) != Ask {
		t.Error("once holds longer than once")
	}
	permit(Run)
	if ask(same) != Auto {
		t.Error("an answer for the run is not kept")
	}
	if ask(func(r *Request) { r.ID.Run = "r2" }) != Ask {
		t.Error("an answer for the run holds in another")
	}
	g.Forget("r")
	if ask(same) != Ask {
		t.Error("an answer outlives its run")
	}
	permit(Session)
	for name, c := range map[string]struct {
		change func(*Request)
		want   Verdict
	}{
		"another run":       {func(r *Request) { r.ID.Run = "r2" }, Auto},
		"another agent":     {func(r *Request) { r.ID.Agent = "b" }, Ask},
		"another tool":      {func(r *Request) { r.Plan.Tool = "bash" }, Ask},
		"another shape":     {func(r *Request) { r.Plan.Shape = "x" }, Ask},
		"no shape":          {func(r *Request) { r.Plan.Shape = "" }, Ask},
		"a higher risk":     {func(r *Request) { r.Plan.Risk = tool.High }, Ask},
		"a protected place": {func(r *Request) { r.Plan.Risk = tool.Protected }, Ask},
		"mode plan":         {func(r *Request) { r.Approval = Plan }, Refuse},
		"untrusted":         {func(r *Request) { r.Trusted = false }, Refuse},
		"always asks":       {func(r *Request) { r.Require = []string{"*"} }, Ask},
	} {
		if got := ask(c.change); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestSEC68TokenIsForExactlyThisCall: what was agreed to is what runs, once.
func TestSEC68TokenIsForExactlyThisCall(t *testing.T) {
	ran := 0
	fresh := func() *tool.Plan {
		p := plan(tool.Low)
		p.Do = func(context.Context, *tool.Env) (*tool.Result, error) { ran++; return &tool.Result{}, nil }
		return p
	}
	g := New()
	env := func() *tool.Env { return &tool.Env{Session: id.Session, Run: id.Run, Call: id.Call, Agent: id.Agent} }
	run, end := context.WithCancel(context.Background())
	token := func(p *tool.Plan) *tool.Token {
		t.Helper()
		r := Request{ID: id, Plan: p, Approval: Asks, Trusted: true, CanAsk: true}
		tok, err := g.Permit(run, r, g.Authorize(r), Once)
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	for name, change := range map[string]func(*tool.Plan, *tool.Env){
		"other arguments": func(p *tool.Plan, _ *tool.Env) { p.Args = json.RawMessage(`{"x":1}`) },
		"another tool":    func(p *tool.Plan, _ *tool.Env) { p.Tool = "bash" },
		"another target":  func(p *tool.Plan, _ *tool.Env) { p.Writes = []string{"/etc/passwd"} },
		"another content": func(p *tool.Plan, _ *tool.Env) { p.Preview.NewText = "x" },
		"another access":  func(p *tool.Plan, _ *tool.Env) { p.Access = sandbox.Full },
		"another folder":  func(p *tool.Plan, _ *tool.Env) { p.Preview.Cwd = "/" },
		"another agent":   func(_ *tool.Plan, e *tool.Env) { e.Agent = "b" },
		"another session": func(_ *tool.Plan, e *tool.Env) { e.Session = "t" },
		"another call":    func(_ *tool.Plan, e *tool.Env) { e.Call = "r#1-1" },
	} {
		p, e := fresh(), env()
		tok := token(p)
		change(p, e)
		if _, err := p.Run(context.Background(), e, tok); err == nil || ran != 0 {
			t.Errorf("%s: it ran", name)
		}
	}
	p := fresh()
	for name, tok := range map[string]*tool.Token{"no token": nil, "the zero token": new(tool.Token)} {
		if _, err := p.Run(context.Background(), env(), tok); err == nil || ran != 0 {
			t.Errorf("%s: it ran", name)
		}
	}
	tok := token(p)
	if _, err := p.Run(context.Background(), env(), tok); err != nil || ran != 1 {
		t.Fatalf("the permitted call: %v, ran %d times", err, ran)
	}
	if _, err := p.Run(context.Background(), env(), tok); err == nil || ran != 1 {
		t.Error("a token works twice")
	}
	late := token(p)
	end()
	if _, err := p.Run(context.Background(), env(), late); err == nil || ran != 1 {
		t.Error("a token outlives its run")
	}
}

// TestAnswersThatWereNotOffered give no token (SEC-69).
func TestSEC69OnlyWhatWasOfferedCounts(t *testing.T) {
	for _, o := range []Outcome{Reject, Cancel, Modify, "always", "later", ""} {
		g := New()
		r := Request{ID: id, Plan: plan(tool.High), Approval: Asks, Trusted: true, CanAsk: true}
		if _, err := g.Permit(context.Background(), r, g.Authorize(r), o); err == nil {
			t.Errorf("%q gives a token", o)
		}
	}
	g := New()
	r := Request{ID: id, Plan: plan(tool.High), Approval: Asks, Trusted: true, CanAsk: true}
	d := g.Authorize(r)
	if _, err := g.Permit(context.Background(), r, d, Session); err == nil {
		t.Error("a call of high risk is remembered")
	}
	r.Plan = plan(tool.Low)
	if _, err := g.Permit(context.Background(), r, d, Once); err == nil {
		t.Error("a token for a plan that was not decided about")
	}
}

func ExampleGate() {
	g := New()
	r := Request{ID: id, Plan: plan(tool.Low), Approval: Asks, Trusted: true, CanAsk: true}
	d := g.Authorize(r)
	fmt.Println(d.Verdict == Ask, d.Outcomes)
	// Output: true [once run session modify reject cancel]
}
