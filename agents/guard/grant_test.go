package guard

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
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

// shell is a command of bash that asks for an access, made of simple commands.
func shell(access sandbox.Access, keep ...[]string) *tool.Plan {
	risks := map[sandbox.Access]tool.Risk{sandbox.Read: tool.Safe, sandbox.Write: tool.Medium, sandbox.Network: tool.High,
		sandbox.AnyHost: tool.High, sandbox.Full: tool.High}
	p := plan(risks[access])
	p.Tool, p.Shape, p.Covers, p.Commands = "bash", "", "", keep
	p.Access, p.Spawns = access, true
	p.Leaves = access.Connects() || access == sandbox.Full
	p.Preview = tool.Preview{Kind: "command", Command: "x", Cwd: "/w"}
	for _, argv := range keep {
		p.Names = append(p.Names, argv[0])
		p.Keep = append(p.Keep, tool.Words{Argv: argv, Folder: "/w"})
	}
	return p
}

func asks(p *tool.Plan) Request {
	return Request{ID: id, Plan: p, Approval: Asks, Trusted: true, CanAsk: true, Sandbox: Sandbox{Wall: sandbox.Bubblewrap}, Folder: "/w"}
}

// bare is a request where nothing confines commands.
func bare(p *tool.Plan) Request {
	r := asks(p)
	r.Sandbox = Sandbox{Wall: sandbox.None}
	return r
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

	// Of a command: by words, folder and access, and of each part of it.
	test, push := []string{"npm", "test"}, []string{"git", "push"}
	if err := permit(asks(shell(sandbox.Network, test, push)), Always); err != nil || len(store.kept) != 3 {
		t.Fatalf("%v, %+v", err, store.kept)
	}
	elsewhere := shell(sandbox.Network, test)
	elsewhere.Keep[0].Folder = "/w/sub"
	hidden := shell(sandbox.Network, test)
	hidden.Risk = tool.Protected
	for name, c := range map[string]struct {
		plan *tool.Plan
		want Verdict
	}{
		"one of them":               {shell(sandbox.Network, test), Auto},
		"without a proxy":           {shell(sandbox.AnyHost, test), Ask},
		"both, the other way round": {shell(sandbox.Network, push, test), Auto},
		"less access":               {shell(sandbox.Write, test), Auto},
		"more access":               {shell(sandbox.Full, test), Ask},
		"another word":              {shell(sandbox.Network, []string{"npm", "test", "-f"}), Ask},
		"another command":           {shell(sandbox.Network, test, []string{"rm", "x"}), Ask},
		"words that are not known":  {shell(sandbox.Network), Ask},
		"another folder":            {elsewhere, Ask},
		"a higher risk":             {hidden, Ask},
	} {
		if got := verdict(asks(c.plan)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	unasked := asks(shell(sandbox.Network, test))
	if unasked.CanAsk = false; verdict(unasked) != Refuse {
		t.Error("where nobody can be asked, an answer for always holds for a command of high risk")
	}
	unasked = asks(shell(sandbox.Write, test))
	if unasked.CanAsk = false; verdict(unasked) != Auto {
		t.Error("where nobody can be asked, an answer for always does not hold for a command of medium risk")
	}
	// Without a sandbox the same answers count, and are offered.
	if verdict(bare(shell(sandbox.Write, test))) != Auto {
		t.Error("without a sandbox an answer for always does not count")
	}
	if d := NewKeeping(store).Authorize(bare(shell(sandbox.Read, []string{"ls"}))); d.Verdict != Ask || !slices.Contains(d.Outcomes, Always) {
		t.Errorf("without a sandbox: %+v", d)
	}
	if d := New().Authorize(asks(shell(sandbox.Network, test))); slices.Contains(d.Outcomes, Always) {
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
	if verdict(asks(shell(sandbox.Network, test))) != Ask {
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
	push, build := []string{"git", "push", "origin"}, []string{"npm", "run", "build"}
	unclear := func(p *tool.Plan) *tool.Plan {
		p.Unclear = "it cannot be taken apart"
		return p
	}
	r := asks(shell(sandbox.Network, push))
	if _, err := g.Permit(context.Background(), r, g.Authorize(r), Always); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		deny, allow string
		plan        *tool.Plan
		want        Verdict
	}{
		{"", "", shell(sandbox.Network, push), Auto},
		{"bash(git push)", "bash(git push origin)", shell(sandbox.Network, push), Refuse},
		{"bash(git push *)", "bash", shell(sandbox.Read, push), Refuse},
		{"bash(git origin)", "", shell(sandbox.Network, push), Refuse},
		{"bash(git)", "", shell(sandbox.Write, []string{"env", "/usr/bin/git"}, []string{"/usr/bin/git", "status"}), Refuse},
		{"bash(git pull)", "", shell(sandbox.Network, push), Auto},
		{"bash(git pull)", "", unclear(shell(sandbox.Read, push)), Refuse},
		{"read_file(x)", "", unclear(shell(sandbox.Read, push)), Auto},
		{"bash", "", shell(sandbox.Read, push), Refuse},
		{"write_file", "", plan(tool.Low), Refuse},
		{"write_*", "write_file", plan(tool.Low), Refuse},
		{"write_file", "", plan(tool.Safe), Refuse},
		{"", "write_file", plan(tool.Low), Auto},
		{"", "write_file", plan(tool.High), Ask},
		{"", "write_file", plan(tool.Protected), Ask},
		{"", "bash(npm run build)", shell(sandbox.Full, build), Auto},
		{"", "bash(npm run *)", shell(sandbox.Write, build), Auto},
		{"", "bash(npm run *)", shell(sandbox.Network, build), Ask}, // by exact words only
		{"", "bash(npm run)", shell(sandbox.Write, build), Ask},
		{"", "bash", shell(sandbox.Network, build), Ask},
		{"", "bash", shell(sandbox.Write, build), Auto},
		{"", "bash(npm run *)", shell(sandbox.Write, build, []string{"rm", "x"}), Ask},
		{"", "bash", shell(sandbox.Write), Ask}, // words that are not known
	} {
		r := asks(c.plan)
		if c.deny != "" {
			r.Deny = rule(c.deny)
		}
		if c.allow != "" {
			r.Allow = rule(c.allow)
		}
		if d := g.Authorize(r); d.Verdict != c.want {
			t.Errorf("deny %q, allow %q, %v with %s: %v (%s)", c.deny, c.allow, c.plan.Keep, c.plan.Access, d.Verdict, d.Why)
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
		store.kept = append(store.kept, Grant{Scope: Always, Agent: "x", Tool: "bash", Access: sandbox.Write, Argv: []string{"npm", "test"}})
	}
	deny, _ := tool.ParseRule("bash(git push)", nil)
	for name, s := range map[string]Store{"none kept": nil, "a thousand kept": store} {
		b.Run(name, func(b *testing.B) {
			g := NewKeeping(s)
			r := asks(shell(sandbox.Write, []string{"npm", "run", "build"}))
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
