package guard

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/agentls/agentls/agents/tool"
)

// shelf is a store in memory, as two daemons would share it.
type shelf struct {
	kept []Grant
	err  error
}

func (s *shelf) Grants() ([]Grant, error) { return s.kept, s.err }
func (s *shelf) Keep(g ...Grant) error {
	if s.err == nil {
		s.kept = append(s.kept, g...)
	}
	return s.err
}
func (s *shelf) Forget(id string) (bool, error) {
	n := len(s.kept)
	s.kept = slices.DeleteFunc(s.kept, func(g Grant) bool { return g.ID == id })
	return len(s.kept) < n, s.err
}

func shell(risk tool.Risk, keep ...[]string) *tool.Plan {
	p := plan(risk)
	p.Tool, p.Shape, p.Covers, p.Keep, p.Commands = "bash", "", "", keep, keep
	p.Preview = tool.Preview{Kind: "command", Command: "x"}
	for _, argv := range keep {
		p.Names = append(p.Names, argv[0])
	}
	return p
}

func asks(p *tool.Plan) Request {
	return Request{ID: id, Plan: p, Approval: Asks, Trusted: true, CanAsk: true, Sandbox: true, Folder: "/w"}
}

// TestSEC70And79AnswersForAlways: an answer for always holds in another session,
// for this agent, tool and shape or argv only, and where the store fails nothing
// of it holds and nothing runs.
func TestSEC70And79AnswersForAlways(t *testing.T) {
	ctx := context.Background()
	store := &shelf{}
	permit := func(r Request, o Outcome) error {
		t.Helper()
		g := NewKeeping(store)
		d := g.Authorize(r)
		if d.Verdict != Ask || !slices.Contains(d.Outcomes, o) || d.Covers == "" {
			t.Fatalf("%+v", d)
		}
		_, err := g.Permit(ctx, r, d, o)
		return err
	}
	verdict := func(r Request) Verdict { return NewKeeping(store).Authorize(r).Verdict }

	if err := permit(asks(plan(tool.Low)), Always); err != nil || len(store.kept) != 1 {
		t.Fatalf("%v, %+v", err, store.kept)
	}
	headless := asks(plan(tool.Low))
	headless.CanAsk = false
	if verdict(headless) != Auto {
		t.Error("a kept answer does not hold where nobody can be asked")
	}
	for name, change := range map[string]func(*Request){
		"another agent":     func(r *Request) { r.ID.Agent = "b" },
		"a project's agent": func(r *Request) { r.Project = "/w" },
		"another folder":    func(r *Request) { r.Folder = "/v" },
		"another tool":      func(r *Request) { r.Plan.Tool = "edit_file" },
		"another shape":     func(r *Request) { r.Plan.Shape = "other" },
		"a higher risk":     func(r *Request) { r.Plan.Risk = tool.High },
		"a protected place": func(r *Request) { r.Plan.Risk = tool.Protected },
		"always asks":       func(r *Request) { r.Require = []string{"*"} },
	} {
		r := asks(plan(tool.Low))
		change(&r)
		if verdict(r) != Ask {
			t.Errorf("%s: the answer holds", name)
		}
	}

	// A high one only as argv, and of each command.
	test, push := []string{"npm", "test"}, []string{"git", "push"}
	if err := permit(asks(shell(tool.High, test, push)), Always); err != nil || len(store.kept) != 3 {
		t.Fatalf("%v, %+v", err, store.kept)
	}
	for _, c := range []struct {
		plan *tool.Plan
		want Verdict
	}{
		{shell(tool.High, test), Auto},
		{shell(tool.High, push, test), Auto},
		{shell(tool.Medium, test), Auto},
		{shell(tool.High, []string{"npm", "test", "-f"}), Ask},
		{shell(tool.High, test, []string{"rm", "x"}), Ask},
		{shell(tool.High), Ask},
		{shell(tool.Protected, test), Ask},
	} {
		if got := verdict(asks(c.plan)); got != c.want {
			t.Errorf("%v of %v: %v", c.plan.Keep, c.plan.Risk, got)
		}
	}
	bare := asks(shell(tool.High, test))
	bare.Sandbox = false
	bare.Plan.Spawns = true
	if d := NewKeeping(store).Authorize(bare); d.Verdict != Ask || d.Covers != "" || len(d.Outcomes) != 4 {
		t.Errorf("without a sandbox: %+v", d)
	}
	if d := New().Authorize(asks(shell(tool.High, test))); slices.Contains(d.Outcomes, Always) {
		t.Error("always is offered without a place to keep it")
	}

	gone, err := store.Forget(store.kept[0].ID)
	if !gone || err != nil || verdict(asks(plan(tool.Low))) != Ask {
		t.Error("an answer that was taken back holds")
	}
	store.err = errors.New("the disk is full")
	if err := permit(asks(plan(tool.Low)), Always); err == nil {
		t.Error("a token for an answer that could not be kept")
	}
	if verdict(asks(shell(tool.High, test))) != Ask {
		t.Error("SEC-140: a store that cannot be read permits")
	}
}

// TestSEC33DenyBeatsEverything: deny > ask > allow, whoever says it (spec 11.1
// rule 1).
func TestSEC33DenyBeatsEverything(t *testing.T) {
	rule := func(text string) []tool.Rule {
		r, err := tool.ParseRule(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return []tool.Rule{r}
	}
	store := &shelf{}
	g := NewKeeping(store)
	push := []string{"git", "push", "origin"}
	r := asks(shell(tool.High, push))
	if _, err := g.Permit(context.Background(), r, g.Authorize(r), Always); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		deny, allow string
		plan        *tool.Plan
		want        Verdict
	}{
		{"", "", shell(tool.High, push), Auto},
		{"bash(git push)", "bash(git)", shell(tool.High, push), Refuse},
		{"bash(git push *)", "bash", shell(tool.Safe, push), Refuse},
		{"bash(git origin)", "", shell(tool.High, push), Refuse},
		{"bash(git)", "", shell(tool.Medium, []string{"env", "/usr/bin/git"}, []string{"/usr/bin/git", "status"}), Refuse},
		{"bash(git pull)", "", shell(tool.High, push), Auto},
		{"bash", "", shell(tool.Safe, push), Refuse},
		{"write_file", "", plan(tool.Low), Refuse},
		{"write_*", "write_file", plan(tool.Low), Refuse},
		{"write_file", "", plan(tool.Safe), Refuse},
		{"", "write_file", plan(tool.Low), Auto},
		{"", "write_file", plan(tool.High), Ask},
		{"", "write_file", plan(tool.Protected), Ask},
		{"", "bash(npm run)", shell(tool.High, []string{"npm", "run", "build"}), Auto},
		{"", "bash", shell(tool.High, []string{"npm", "run", "build"}), Ask},
		{"", "bash", shell(tool.Medium, []string{"npm", "run", "build"}), Auto},
		{"", "bash(npm run)", shell(tool.High, []string{"npm", "run", "build"}, []string{"rm", "x"}), Ask},
		{"", "bash", shell(tool.Medium), Ask}, // words that are not known
	} {
		r := asks(c.plan)
		if c.deny != "" {
			r.Deny = rule(c.deny)
		}
		if c.allow != "" {
			r.Allow = rule(c.allow)
		}
		if d := g.Authorize(r); d.Verdict != c.want {
			t.Errorf("deny %q, allow %q, %v of %v: %v (%s)", c.deny, c.allow, c.plan.Keep, c.plan.Risk, d.Verdict, d.Why)
		}
		if r.Trusted = false; c.want == Refuse && g.Authorize(r).Verdict != Refuse {
			t.Errorf("deny %q does not hold in a folder that is not trusted", c.deny)
		}
		r.Trusted = true
		if r.Approval = Free; c.want == Refuse && g.Authorize(r).Verdict != Refuse {
			t.Errorf("deny %q does not hold in mode auto", c.deny)
		}
	}
}

// TestSEC107TaintedSessions: rule 6 of spec 11.1.
func TestSEC107TaintedSessions(t *testing.T) {
	leaving := func() Request {
		r := asks(plan(tool.Medium))
		r.Plan.Leaves, r.Approval = true, Free
		return r
	}
	low := func() Request {
		r := asks(plan(tool.Low))
		r.Approval = Free
		return r
	}
	g := New()
	if g.Authorize(leaving()).Verdict != Auto || g.Authorize(low()).Verdict != Auto {
		t.Fatal("a clean session asks")
	}
	g.Taint("r", tool.Foreign)
	d := g.Authorize(leaving())
	if d.Verdict != Ask || d.Risk != tool.Protected || slices.Contains(d.Outcomes, Session) {
		t.Errorf("egress after foreign content: %+v", d)
	}
	if g.Authorize(low()).Verdict != Auto {
		t.Error("a change inside asks after foreign content")
	}
	g.Taint("r", tool.Web)
	if d := g.Authorize(low()); d.Verdict != Ask || d.Covers != "" {
		t.Errorf("a change after web content: %+v", d)
	}
	other := low()
	other.ID.Run = "r2"
	if g.Authorize(other).Verdict != Auto {
		t.Error("the web of one run makes another one's changes ask")
	}
	other = leaving()
	other.ID.Run = "r2"
	if g.Authorize(other).Verdict != Ask {
		t.Error("egress of another run of the session does not ask")
	}
	g.Forget("r")
	if g.Authorize(leaving()).Verdict != Ask {
		t.Error("a session is clean again when the run has ended")
	}
	if tool.TaintOf("something new") != tool.Web || tool.TaintOf(tool.Foreign.String()) != tool.Foreign {
		t.Error("an unknown taint is not the worst")
	}
}

// TestSEC17AgentsOfTheProject write no protected place that the user's own rules
// do not name.
func TestSEC17AgentsOfTheProject(t *testing.T) {
	protected := func(at string) Request {
		p := plan(tool.Protected)
		p.Path, p.Writes = at, []string{at}
		r := asks(p)
		r.Project = "/w"
		return r
	}
	r := protected("/w/.github/workflows/ci.yml")
	if d := New().Authorize(r); d.Verdict != Refuse {
		t.Errorf("%+v", d)
	}
	allow, err := tool.ParseRule("write_file(.github/**)", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Allow = []tool.Rule{allow}
	if d := New().Authorize(r); d.Verdict != Ask || d.Covers != "" {
		t.Errorf("with a rule: %+v", d)
	}
	r = protected("/w/.gemini/settings.json")
	r.Allow = []tool.Rule{allow}
	if d := New().Authorize(r); d.Verdict != Refuse {
		t.Errorf("another path: %+v", d)
	}
	r.Project = ""
	if d := New().Authorize(r); d.Verdict != Ask {
		t.Errorf("an agent of the person's: %+v", d)
	}
}

// BenchmarkAuthorize is one decision, where an answer for always is kept among
// a thousand, and rules deny and allow (goal with the analysis of a command: 100 µs).
func BenchmarkAuthorize(b *testing.B) {
	store := &shelf{}
	for range 1000 {
		store.kept = append(store.kept, Grant{Scope: Always, Agent: "x", Tool: "bash", Argv: []string{"npm", "test"}})
	}
	deny, _ := tool.ParseRule("bash(git push)", nil)
	for name, s := range map[string]Store{"none kept": nil, "a thousand kept": store} {
		b.Run(name, func(b *testing.B) {
			g := NewKeeping(s)
			r := asks(shell(tool.Medium, []string{"npm", "run", "build"}))
			r.Deny = []tool.Rule{deny}
			b.ReportAllocs()
			for b.Loop() {
				if d := g.Authorize(r); d.Verdict != Ask {
					b.Fatal(d)
				}
			}
		})
	}
}
