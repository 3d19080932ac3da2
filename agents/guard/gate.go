package guard

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/sandbox"
)

// Gate is the one chokepoint of a session's tool calls (spec 11.1 rule 3). It
// remembers what a person answered for a run or for the session, and whether
// something was read that others may have written. It is safe for concurrent
// use.
//
// There is one for a session, shared by all its runs, so that an answer for the session
// counts for each of them. It reads no file but through its Store and never waits for a
// person: whoever asks is the run.
type Gate struct {
	store Store // of answers for always; nil = none are kept

	mu    sync.Mutex
	kept  map[memory]Grant
	taint tool.Taint            // of the session
	read  []string              // calls that brought it, in words, the newest last
	runs  map[string]tool.Taint // of runs
}

// New returns a gate that remembers nothing, and has nowhere to keep an answer
// for longer than the session.
func New() *Gate { return NewKeeping(nil) }

// NewKeeping returns a gate that keeps answers for always in store; nil is none.
func NewKeeping(store Store) *Gate {
	return &Gate{store: store, kept: make(map[memory]Grant), runs: make(map[string]tool.Taint)}
}

// Request is a question to the gate. Everything but Plan and ID may be zero;
// what is zero makes the decision stricter.
//
// It is a snapshot: the caller reads mode, trust and rules at the moment of the
// question, and asks again after it has waited.
type Request struct {
	// Whose call it is. Required; it is part of the digest.
	ID tool.Identity
	// The call. Required; must not be modified while the gate looks at it.
	Plan *tool.Plan
	// The session's mode; one that is unknown refuses.
	Approval   Approval
	Trusted    bool        // the places that the call is about are (spec 4.4, SEC-16)
	Place      string      // the folder that Trusted is about, for the reason; may be ""
	TrustError error       // why it cannot be told whether they are; nil = it can be
	CanAsk     bool        // there is a person to ask
	Sandbox    Sandbox     // what confines commands (spec 4.5)
	NoUndo     string      // why what a command changes could not be undone; "" = it can be (spec 3.7)
	Require    []string    // the agent's own list of tools that always ask (globs, spec 1.3)
	HookAsks   string      // why a hook has the person asked; "" = none does
	Critical   bool        // the user's settings say security.critical: ask
	Deny       []tool.Rule // of all scopes: these calls are refused
	Allow      []tool.Rule // of the user's own settings: these need no question; never above medium but for words of commands
	Project    string      // the folder that the agent comes with, "" for the person's own and ours: such an agent writes no protected place that Allow does not name (SEC-17)
	Folder     string      // the run's: what relative paths of rules start at
	Writable   []string    // what a command behind a wall may change with access write: folders, the run's first; nil = Folder
}

// Decision is what the gate says of one plan. The zero Decision refuses.
//
// It is for exactly the request that it was made from: Permit checks the digest. Only
// its user may widen it.
type Decision struct {
	// What is to happen.
	Verdict Verdict
	// The tier that the decision was made for: the plan's, or a higher one.
	Risk     tool.Risk
	Digest   string    // of the plan that was decided about
	Why      string    // for people and the model: why it asks, or why not
	Outcomes []Outcome // what a person may answer, when Verdict is Ask
	Covers   string    // what an answer that holds longer than once covers, in words
	Prefix   []string  // the words that such an answer may be for instead: see [Decision.Widen]; nil = none
	Kept     bool      // an earlier answer, or a rule of the user's, stands for the question
	Taint    bool      // it asks because of what was read before

	wide bool // an answer for longer is for Prefix
}

// Widen returns the decision with the person's choice that an answer for longer
// is for all commands that begin with Prefix, instead of for these words.
func (d Decision) Widen() Decision {
	d.wide = len(d.Prefix) > 0
	return d
}

// Authorize decides about a plan. It changes nothing.
//
// It does not wait but for the store's file where answers for always are looked at.
// r.Plan and r.ID must be set. The reason in Why is a sentence for the person and the
// model, escaped where it quotes.
func (g *Gate) Authorize(r Request) Decision {
	p := r.Plan
	d := Decision{Risk: p.Risk, Digest: p.Digest(r.ID), Why: p.Why, Covers: p.Covers}
	if d.Digest == "" {
		d.Why = "the call cannot be shown as it is"
		return d
	}
	if !r.Approval.Valid() {
		d.Why = fmt.Sprintf("the approval mode %q is unknown", r.Approval)
		return d
	}
	for _, rule := range r.Deny {
		if rule.Denies(p, r.Folder) {
			d.Why = "the rule " + tool.Escape(rule.Text) + " denies it"
			if p.Unclear != "" && len(rule.Words) > 0 {
				d.Why = fmt.Sprintf("the rule %s denies commands, and this one cannot be checked against it: %s",
					tool.Escape(rule.Text), p.Unclear)
			}
			return d
		}
	}
	if !r.Trusted {
		d = decideUntrusted(d, r)
		if d.Verdict == Auto && r.HookAsks != "" {
			d.Verdict, d.Why = Ask, d.Why+"; a hook asks: "+tool.Escape(r.HookAsks)
			return g.askable(d, r, false)
		}
		return d
	}
	c := r.command()
	if c.runs && !r.Sandbox.Confines() && r.Sandbox.Required {
		d.Why = "there is no sandbox here, and tools.sandbox.mode is require; `agentls doctor` says why"
		return d
	}
	if r.Project != "" && p.Risk == tool.Protected && len(p.Writes) > 0 && !r.granted() {
		d.Why = fmt.Sprintf("%s, and %s comes with the project: an agent of your own may ask for it, "+
			"or tools.allowed of your own settings names the file", p.Why, r.ID.Agent)
		return d
	}
	d = g.withTaint(d, r, c)
	d.Verdict = c.verdict(r.Approval, p.Access, d.Risk)
	if d.Risk == tool.Catastrophic && r.Critical && r.Approval != Plan {
		d.Verdict = Ask
	}
	if d.Verdict == Refuse {
		d.Why = refusal(r, d.Risk)
		return d
	}
	return g.question(d, r, c)
}

// withTaint returns a decision with the risk of a call, and what it is in a session in
// which others' words were read.
func (g *Gate) withTaint(d Decision, r Request, c command) Decision {
	p := r.Plan
	d.Risk = r.Sandbox.Risk(p)
	if c.runs {
		d.Why = fmt.Sprintf("%s; %s", c.lets, p.Why)
	}
	taint := g.taintOf(r.ID.Run)
	if p.Lasts && taint > tool.Clean {
		// Somebody else's words may want to be remembered (SEC-134).
		d.Risk, d.Taint = d.Risk.Max(tool.Protected), true
		d.Why += "; what others wrote was read in this session" + g.sources() + ", and this may come from it"
	}
	if (p.Leaves || c.leaves) && taint > tool.Clean && d.Risk < tool.Protected {
		// Egress of a tainted session (spec 11.1): what was read may want to be sent.
		d.Risk, d.Taint = d.Risk.Max(tool.Protected), true
		d.Why += "; what others wrote was read in this session, and this may send something off"
	}
	return d
}

// question turns a decision into a question where one is needed, and nobody has answered
// it for longer.
// What always asks (the agent's file, a hook, a page of the web in the run) is asked
// even if somebody has answered it for longer.
func (g *Gate) question(d Decision, r Request, c command) Decision {
	p := r.Plan
	always := tool.AnyTakes(r.Require, p.Tool)
	hooked := r.HookAsks != ""
	web := g.taintOf(r.ID.Run) == tool.Web && d.Risk > tool.Safe
	if d.Verdict == Auto && (always || hooked || c.asks || web) {
		d.Verdict = Ask
	}
	if d.Verdict != Ask {
		return d
	}
	switch {
	case hooked:
		d.Why += "; a hook asks: " + tool.Escape(r.HookAsks)
	case always:
		d.Why = "the agent's file says that " + p.Tool + " always asks"
	case web:
		d.Taint = true
		d.Why += "; a page of the web was read in this run"
	}
	longer := !always && !hooked && !d.Taint
	remembered := longer && c.each == "" && g.remembers(r, d.Risk)
	if remembered || (longer && r.allowed(d.Risk)) {
		d.Verdict, d.Kept = Auto, true
		return d
	}
	if d = g.askable(d, r, longer && c.each == ""); d.Verdict == Refuse {
		return d
	}
	if d.Covers != "" && c.walled && len(r.Writable) > 1 && includes(p.Access, sandbox.Write) {
		d.Covers += ", which may change files in " + r.writable()
	}
	return d
}

// askable returns a decision to ask with what may be answered, or one to refuse where
// nobody can be asked.
func (g *Gate) askable(d Decision, r Request, longer bool) Decision {
	if !r.CanAsk {
		d.Verdict = Refuse
		d.Why = fmt.Sprintf("%s asks a person first (%s), and nobody can be asked here", r.Plan.Tool, d.Why)
		return d
	}
	g.offer(&d, r.Plan, longer)
	return d
}

// offer sets what a person may answer, and what an answer for longer covers;
// longer says that one may be given.
func (g *Gate) offer(d *Decision, p *tool.Plan, longer bool) {
	d.Outcomes = outcomesFor(p, d.Risk, longer, g.store != nil)
	if !slices.ContainsFunc(d.Outcomes, func(o Outcome) bool { return o.Yes() && o != Once }) {
		d.Covers = ""
		return
	}
	if d.Covers == "" {
		d.Covers = covers(p)
	}
	if includes(sandbox.Write, p.Access) {
		d.Prefix = p.Prefix
	}
}

// decideUntrusted decides about a call in a folder that is not trusted: the table's last
// row, and nothing is started there. Where it cannot be told whether a folder is trusted
// it counts as one that is not, and the reason says so.
func decideUntrusted(d Decision, r Request) Decision {
	place := "this folder"
	if r.Place != "" && r.Place != r.Folder {
		place = "the folder " + tool.Escape(r.Place)
	}
	d.Verdict = untrusted[r.Plan.Risk]
	if r.TrustError != nil && (d.Verdict == Refuse || (d.Verdict == Auto && r.Plan.Spawns)) {
		d.Verdict, d.Why = Refuse, "it cannot be told whether "+place+" is trusted: "+fault.Message(r.TrustError)
		return d
	}
	switch {
	case d.Verdict == Auto && r.Plan.Spawns:
		d.Verdict, d.Why = Refuse, place+" is not trusted: nothing is started in it. Trust it with `agentls trust`"
	case d.Verdict == Refuse:
		d.Why = place + " is not trusted (read-only). Trust it with `agentls trust`"
	}
	return d
}

// refusal says why a call is refused by the table.
func refusal(r Request, risk tool.Risk) string {
	p := r.Plan
	switch {
	case r.Approval == Plan:
		return fmt.Sprintf("the session is in mode plan, in which nothing is changed (%s)", p.Why)
	case risk == tool.Catastrophic:
		return fmt.Sprintf("%s: refused in every mode", p.Why)
	}
	return fmt.Sprintf("%s: risk %s is refused in mode %s", p.Why, risk, r.Approval)
}

// Permit mints the token of a decided call: at once where the decision is Auto,
// and where it is Ask only with an outcome that was offered and says yes. run
// is the run's context: the token dies with it. An answer that holds longer is
// kept first: one for always that cannot be written down is no yes. The error is
// fault.Denied, or what the store says.
//
// The token may be spent once, by [tool.Plan.Run]. It may wait for the store to write.
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
	if o == Run || o == Session || o == Always {
		if err := g.keep(r, d, o); err != nil {
			return nil, err
		}
	}
	return tool.Mint(run, d.Digest), nil
}
