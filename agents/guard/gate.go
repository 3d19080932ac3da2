package guard

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Gate is the one chokepoint of a session's tool calls (spec 11.1 rule 3). It
// remembers what a person answered for a run or for the session. It is safe for
// concurrent use.
type Gate struct {
	mu   sync.Mutex
	kept map[memory]bool
}

// memory is what an answer is kept for. run is "" for an answer that holds for
// the session.
type memory struct{ run, agent, tool, shape string }

// New returns a gate that remembers nothing.
func New() *Gate { return &Gate{kept: make(map[memory]bool)} }

// Request is a question to the gate. Everything but Plan and ID may be zero;
// what is zero makes the decision stricter.
type Request struct {
	ID       tool.Identity
	Plan     *tool.Plan
	Approval Approval
	Trusted  bool     // the run's folder is (spec 4.4)
	CanAsk   bool     // there is a person to ask
	Sandbox  bool     // processes are confined (spec 11.1)
	Require  []string // the agent's own list of tools that always ask (globs, spec 1.3)
	Critical bool     // the user's settings say security.critical: ask
}

// Decision is what the gate says of one plan. The zero Decision refuses.
type Decision struct {
	Verdict  Verdict
	Risk     tool.Risk
	Digest   string    // of the plan that was decided about
	Why      string    // for people and the model: why it asks, or why not
	Outcomes []Outcome // what a person may answer, when Verdict is Ask
	Covers   string    // what an answer that holds longer than once covers, in words
	Kept     bool      // an earlier answer stands for the question
}

// Authorize decides about a plan. It changes nothing.
func (g *Gate) Authorize(r Request) Decision {
	p := r.Plan
	d := Decision{Risk: p.Risk, Digest: p.Digest(r.ID), Why: p.Why, Covers: p.Covers}
	if d.Digest == "" {
		d.Why = "the call cannot be shown as it is"
		return d
	}
	row, ok := policy[r.Approval]
	if !ok {
		d.Why = fmt.Sprintf("the approval mode %q is unknown", r.Approval)
		return d
	}
	if !r.Trusted {
		return decideUntrusted(d, p)
	}
	d.Verdict = row[p.Risk]
	if p.Risk == tool.Catastrophic && r.Critical && r.Approval != Plan {
		d.Verdict = Ask
	}
	if d.Verdict == Refuse {
		d.Why = refusal(r, p)
		return d
	}
	always := slices.ContainsFunc(r.Require, func(glob string) bool { return matches(glob, p.Tool) })
	unconfined := p.Spawns && !r.Sandbox && p.Risk > tool.Safe
	if d.Verdict == Auto && (always || unconfined) {
		d.Verdict = Ask
		if always {
			d.Why = "the agent's file says that " + p.Tool + " always asks"
		} else {
			d.Why = p.Why + "; no sandbox"
		}
	}
	if d.Verdict != Ask {
		return d
	}
	remember := !always && !unconfined
	if remember && g.remembers(r) {
		d.Verdict, d.Kept = Auto, true
		return d
	}
	if !r.CanAsk {
		d.Verdict = Refuse
		d.Why = fmt.Sprintf("%s asks a person first (%s), and nobody can be asked here", p.Tool, p.Why)
		return d
	}
	d.Outcomes = offered(p, p.Risk, remember)
	return d
}

func decideUntrusted(d Decision, p *tool.Plan) Decision {
	d.Verdict = untrusted[p.Risk]
	switch {
	case d.Verdict == Auto && p.Spawns:
		d.Verdict, d.Why = Refuse, "the folder is not trusted: nothing is started in it. Trust it with `agentls trust`"
	case d.Verdict == Refuse:
		d.Why = "the folder is not trusted: agents only read in it. Trust it with `agentls trust`"
	}
	return d
}

func refusal(r Request, p *tool.Plan) string {
	switch {
	case r.Approval == Plan:
		return fmt.Sprintf("the session is in mode plan, in which nothing is changed (%s)", p.Why)
	case p.Risk == tool.Catastrophic:
		return fmt.Sprintf("%s: refused in every mode", p.Why)
	}
	return fmt.Sprintf("%s: risk %s is refused in mode %s", p.Why, p.Risk, r.Approval)
}

// Permit mints the token of a decided call: at once where the decision is Auto,
// and where it is Ask only with an outcome that was offered and says yes. run
// is the run's context: the token dies with it. An answer that holds longer is
// kept. The error is fault.Denied.
func (g *Gate) Permit(run context.Context, r Request, d Decision, o Outcome) (*tool.Token, error) {
	if d.Digest == "" || d.Digest != r.Plan.Digest(r.ID) {
		return nil, fault.New(fault.Denied, "guard.permit", "%s is not the call that was decided about", r.Plan.Tool)
	}
	switch d.Verdict {
	case Auto:
		return tool.Mint(run, d.Digest), nil
	case Ask:
		if !o.Yes() || !slices.Contains(d.Outcomes, o) {
			return nil, fault.New(fault.Denied, "guard.permit", "%s was not permitted", r.Plan.Tool)
		}
	default:
		return nil, fault.New(fault.Denied, "guard.permit", "%s: %s", r.Plan.Tool, d.Why)
	}
	if o == Run || o == Session {
		key := memory{agent: r.ID.Agent, tool: r.Plan.Tool, shape: r.Plan.Shape}
		if o == Run {
			key.run = r.ID.Run
		}
		g.mu.Lock()
		g.kept[key] = true
		g.mu.Unlock()
	}
	return tool.Mint(run, d.Digest), nil
}

// remembers reports whether an earlier answer stands for this question. It
// never does for a call above medium.
func (g *Gate) remembers(r Request) bool {
	p := r.Plan
	if p.Shape == "" || p.Risk > tool.Medium || p.Risk == tool.Unclassified {
		return false
	}
	key := memory{agent: r.ID.Agent, tool: p.Tool, shape: p.Shape}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept[key] {
		return true
	}
	key.run = r.ID.Run
	return g.kept[key]
}

// Forget drops what was kept for a run that has ended.
func (g *Gate) Forget(run string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key := range g.kept {
		if key.run == run {
			delete(g.kept, key)
		}
	}
}

// matches reports whether a glob of an agent's file names the tool. A glob that
// does not compile matches everything: it can only add a question.
func matches(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok || err != nil
}
