package guard

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

// TestSEC109CommandsByAccessAndWall is the table of spec 4.2 for commands, as it
// stands there: what each access asks for in each mode, behind a wall, behind one
// that cannot hide credential files, and without one.
func TestSEC109CommandsByAccessAndWall(t *testing.T) {
	const (
		auto   = Auto
		ask    = Ask
		refuse = Refuse
	)
	modes := []Approval{Plan, Asks, Edits, Free}
	for name, c := range map[string]struct {
		sandbox Sandbox
		want    map[sandbox.Access][4]Verdict
	}{
		"behind a wall": {Sandbox{Wall: sandbox.Bubblewrap}, map[sandbox.Access][4]Verdict{
			sandbox.Read:    {auto, auto, auto, auto},
			sandbox.Write:   {refuse, ask, auto, auto},
			sandbox.Network: {refuse, ask, ask, ask},
			sandbox.AnyHost: {refuse, ask, ask, ask},
			sandbox.Full:    {refuse, ask, ask, ask},
		}},
		"behind one that hides nothing": {Sandbox{Wall: sandbox.Landlock, Exposed: true}, map[sandbox.Access][4]Verdict{
			sandbox.Read:    {ask, ask, ask, ask},
			sandbox.Write:   {refuse, ask, ask, ask},
			sandbox.Network: {refuse, ask, ask, ask},
			sandbox.AnyHost: {refuse, ask, ask, ask},
			sandbox.Full:    {refuse, ask, ask, ask},
		}},
		"without one": {Sandbox{Wall: sandbox.None}, map[sandbox.Access][4]Verdict{
			sandbox.Read:    {refuse, ask, ask, ask},
			sandbox.Write:   {refuse, ask, ask, ask},
			sandbox.Network: {refuse, ask, ask, ask},
			sandbox.AnyHost: {refuse, ask, ask, ask},
			sandbox.Full:    {refuse, ask, ask, ask},
		}},
		"zero": {Sandbox{}, map[sandbox.Access][4]Verdict{sandbox.Read: {refuse, ask, ask, ask}}},
		"where one is required": {Sandbox{Wall: sandbox.None, Required: true}, map[sandbox.Access][4]Verdict{
			sandbox.Read: {}, sandbox.Write: {}, sandbox.Network: {}, sandbox.AnyHost: {}, sandbox.Full: {},
		}},
	} {
		for access, want := range c.want {
			for i, mode := range modes {
				r := asks(shell(access, []string{"x"}))
				r.Sandbox, r.Approval = c.sandbox, mode
				d := New().Authorize(r)
				if d.Verdict != want[i] {
					t.Errorf("%s, %s in mode %s: %v (%s)", name, access, mode, d.Verdict, d.Why)
				}
				if !c.sandbox.Confines() && d.Verdict == Ask && !strings.Contains(d.Why, "no sandbox") {
					t.Errorf("%s, %s: the question does not say so: %s", name, access, d.Why)
				}
				r.Trusted = false
				if d := New().Authorize(r); d.Verdict != Refuse {
					t.Errorf("%s, %s in a folder that is not trusted: %v", name, access, d.Verdict)
				}
				r.Trusted, r.CanAsk = true, false
				if d := New().Authorize(r); d.Verdict == Ask || (want[i] == ask && d.Verdict != Refuse) {
					t.Errorf("%s, %s with nobody to ask: %v", name, access, d.Verdict)
				}
			}
		}
	}
}

// TestQuestionsSayWhatACommandMay, in plain words.
func TestQuestionsSayWhatACommandMay(t *testing.T) {
	for access, want := range map[sandbox.Access]string{
		sandbox.Write: "may change files in /w", sandbox.Network: "may change files in /w and reach the network",
		sandbox.AnyHost: "may change files in /w and reach any host, also this machine and its network",
		sandbox.Full:    "runs without a sandbox",
	} {
		if d := New().Authorize(asks(shell(access, []string{"x"}))); !strings.HasPrefix(d.Why, want) {
			t.Errorf("%s: %s", access, d.Why)
		}
		if d := New().Authorize(bare(shell(access, []string{"x"}))); !strings.HasPrefix(d.Why, "no sandbox here: it can do what you can") {
			t.Errorf("%s: %s", access, d.Why)
		}
	}
}

// TestQuestionsNameAllFoldersThatACommandMayChange, and so do the words of an answer
// that holds longer.
func TestQuestionsNameAllFoldersThatACommandMayChange(t *testing.T) {
	for want, folders := range map[string][]string{
		"/w":                                {"/w"},
		"/w and /v":                         {"/w", "/v"},
		"/w, /v, /u and /t":                 {"/w", "/v", "/u", "/t"},
		"/w, /v, /u, /t and 2 more folders": {"/w", "/v", "/u", "/t", "/s", "/r"},
	} {
		for _, access := range []sandbox.Access{sandbox.Write, sandbox.Network} {
			r := asks(shell(access, []string{"x"}))
			r.Writable = folders
			d := New().Authorize(r)
			if !strings.HasPrefix(d.Why, "may change files in "+want+map[bool]string{true: " and reach", false: ";"}[access == sandbox.Network]) {
				t.Errorf("%s: %s", access, d.Why)
			}
			if access == sandbox.Write && strings.HasSuffix(d.Covers, ", which may change files in "+want) != (len(folders) > 1) {
				t.Errorf("an answer covers %q", d.Covers)
			}
		}
	}
}

// TestSEC79AnswersForAPrefix: an answer may be for all commands that begin so,
// where the question showed it; never for what reaches the network or has no wall.
func TestSEC79AnswersForAPrefix(t *testing.T) {
	prefixed := func(access sandbox.Access, argv ...string) Request {
		r := asks(shell(access, argv))
		r.Plan.Prefix = argv[:2]
		return r
	}
	for _, scope := range []Outcome{Run, Session, Always} {
		store := &shelf{}
		g := NewKeeping(store)
		r := prefixed(sandbox.Write, "npm", "run", "build")
		d := g.Authorize(r)
		if !slices.Equal(d.Prefix, []string{"npm", "run"}) {
			t.Fatalf("offered %q", d.Prefix)
		}
		if _, err := g.Permit(context.Background(), r, d.Widen(), scope); err != nil {
			t.Fatal(err)
		}
		if all := append(g.Grants(), store.kept...); len(all) != 1 || all[0].Covers != "npm run * with access write" {
			t.Errorf("%s: %+v", scope, all)
		}
		for _, c := range []struct {
			r    Request
			want Verdict
		}{
			{prefixed(sandbox.Write, "npm", "run", "lint", "--fix"), Auto},
			{prefixed(sandbox.Write, "npm", "run"), Auto},
			{prefixed(sandbox.Write, "npm", "install"), Ask},
			{prefixed(sandbox.Network, "npm", "run", "build"), Ask},
			{asks(shell(sandbox.Write, []string{"npm", "run", "x"}, []string{"npm", "ci"})), Ask},
			{asks(shell(sandbox.Write, []string{"npm", "run", "x"}, []string{"npm", "run", "y"})), Auto},
		} {
			if got := g.Authorize(c.r).Verdict; got != c.want {
				t.Errorf("%s: %q with %s: %v", scope, c.r.Plan.Commands, c.r.Plan.Access, got)
			}
		}
	}
	for _, access := range []sandbox.Access{sandbox.Network, sandbox.Full} {
		if d := New().Authorize(prefixed(access, "npm", "run", "build")); d.Prefix != nil {
			t.Errorf("%s: the prefix %q is offered", access, d.Prefix)
		}
	}
	g := New()
	r := prefixed(sandbox.Write, "npm", "run", "build")
	if _, err := g.Permit(context.Background(), r, g.Authorize(r), Session); err != nil {
		t.Fatal(err)
	}
	if g.Authorize(prefixed(sandbox.Write, "npm", "run", "lint")).Verdict != Ask {
		t.Error("an answer for these words holds for others")
	}
}

// TestWithoutUndoEachWriteAsks, and says why; the person's own rules still count.
func TestWithoutUndoEachWriteAsks(t *testing.T) {
	g := New()
	r := asks(shell(sandbox.Write, []string{"npm", "test"}))
	r.Approval, r.NoUndo = Edits, "the folder has over 100,000 files"
	d := g.Authorize(r)
	if d.Verdict != Ask || slices.Contains(d.Outcomes, Session) || d.Covers != "" || !strings.Contains(d.Why, r.NoUndo) {
		t.Errorf("%+v", d)
	}
	rule, err := tool.ParseRule("bash(npm test)", nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Allow = []tool.Rule{rule}; g.Authorize(r).Verdict != Auto {
		t.Error("a rule of the person's does not count")
	}
}

// TestSEC107CommandsThatLeave: behind a wall only what asks for it reaches the
// network, so that only that asks after foreign content; without one every command
// may. After web content only what reads runs by itself.
func TestSEC107CommandsThatLeave(t *testing.T) {
	for _, c := range []struct {
		taint  tool.Taint
		access sandbox.Access
		walled bool
		want   tool.Risk // of a question; Unclassified = it runs
	}{
		{tool.Foreign, sandbox.Read, true, 0},
		{tool.Foreign, sandbox.Write, true, 0},
		{tool.Foreign, sandbox.Network, true, tool.Protected},
		{tool.Foreign, sandbox.Full, true, tool.Protected},
		{tool.Foreign, sandbox.Read, false, tool.Protected},
		{tool.Web, sandbox.Read, true, 0},
		{tool.Web, sandbox.Write, true, tool.Medium},
		{tool.Web, sandbox.Network, true, tool.Protected},
	} {
		g := New()
		r := asks(shell(c.access, []string{"x"}))
		if r.Approval = Free; !c.walled {
			r.Sandbox = Sandbox{}
		}
		g.Taint(id.Run, c.taint)
		d := g.Authorize(r)
		if c.want == 0 && d.Verdict == Auto {
			continue
		}
		if c.want == 0 || d.Verdict != Ask || d.Risk != c.want || slices.Contains(d.Outcomes, Session) {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}
