package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/tool"
)

// Grant is an answer that is remembered, for one agent, tool and shape of
// arguments (spec 4.3).
type Grant struct {
	ID      string  // made of the rest: the same answer has the same
	Scope   Outcome // Run, Session or Always
	Session string  // "" for Always
	Run     string  // "" but for Run
	Agent   string
	Project string // the folder that the agent comes with; "" for the person's own and ours
	Tool    string
	Folder  string    // that the calls run in
	Shape   string    // of the arguments, as in [tool.Plan]; "" for bash
	Argv    []string  // bash: the words of one command, exactly
	Covers  string    // what it covers, for people
	Since   time.Time // of Always; set by the store
}

// Store keeps the answers for always of one workspace
// (~/.gemini/agentls/permissions.json, SEC-24). It is safe for concurrent use.
type Store interface {
	// Grants returns what is kept. With an error nothing is: it fails closed.
	Grants() ([]Grant, error)
	// Keep adds the answers to one question, all or none; the same one stays as it
	// is. The error says that they are not kept.
	Keep(...Grant) error
	// Forget drops an answer and reports whether there was one.
	Forget(id string) (bool, error)
}

// memory is what an answer is kept for. run is "" for an answer that holds for
// the session.
type memory struct{ run, agent, project, tool, folder, key string }

// keys are what has to be remembered for a plan to run by itself; none = it
// never does.
func keys(p *tool.Plan) []string {
	if p.Shape != "" {
		return []string{p.Shape}
	}
	all := make([]string, 0, len(p.Keep))
	for _, argv := range p.Keep {
		all = append(all, strings.Join(argv, "\x00"))
	}
	return all
}

// covers says in words what answers for a plan of bash would cover.
func covers(p *tool.Plan) string {
	all := make([]string, 0, len(p.Keep))
	for _, argv := range p.Keep {
		all = append(all, commandLine(argv))
	}
	return "exactly " + strings.Join(all, ", and ")
}

func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		if words[i] = tool.Escape(w); w == "" || strings.ContainsAny(w, " \t\n'\"\\") {
			words[i] = fmt.Sprintf("%q", w)
		}
	}
	return strings.Join(words, " ")
}

// grants returns what an answer for longer grants.
func grants(r Request, d Decision, o Outcome) []Grant {
	one := Grant{Scope: o, Agent: r.ID.Agent, Project: r.Project, Tool: r.Plan.Tool, Folder: r.Folder, Covers: d.Covers}
	if o != Always {
		one.Session = r.ID.Session
	}
	if o == Run {
		one.Run = r.ID.Run
	}
	if r.Plan.Shape != "" {
		one.Shape = r.Plan.Shape
		one.ID = one.name()
		return []Grant{one}
	}
	all := make([]Grant, 0, len(r.Plan.Keep))
	for _, argv := range r.Plan.Keep {
		g := one
		g.Argv, g.Covers = slices.Clone(argv), "exactly "+commandLine(argv)
		g.ID = g.name()
		all = append(all, g)
	}
	return all
}

// name returns the grant's id.
func (g Grant) name() string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{string(g.Scope), g.Session, g.Run, g.Agent, g.Project, g.Tool, g.Folder, g.Shape}, g.Argv...), "\x00")))
	return hex.EncodeToString(sum[:8])
}

func (g Grant) memory() memory {
	key := g.Shape
	if key == "" {
		key = strings.Join(g.Argv, "\x00")
	}
	return memory{run: g.Run, agent: g.Agent, project: g.Project, tool: g.Tool, folder: g.Folder, key: key}
}

// keep remembers an answer.
func (g *Gate) keep(r Request, d Decision, o Outcome) error {
	all := grants(r, d, o)
	if o == Always {
		return g.store.Keep(all...)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range all {
		g.kept[one.memory()] = one
	}
	return nil
}

// remembers reports whether earlier answers stand for this question: for each
// of its commands one that was kept for this run, this session or always. They
// never do for a call above medium, but for an answer for always about argv.
func (g *Gate) remembers(r Request) bool {
	p := r.Plan
	wanted := keys(p)
	argv := p.Shape == "" && p.Risk == tool.High
	if len(wanted) == 0 || p.Risk == tool.Unclassified || p.Risk > tool.Medium && !argv {
		return false
	}
	var always map[memory]bool // read once, and only where it is needed
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, key := range wanted {
		m := memory{agent: r.ID.Agent, project: r.Project, tool: p.Tool, folder: r.Folder, key: key}
		if !argv {
			if _, ok := g.kept[m]; ok {
				continue
			}
			ofRun := m
			ofRun.run = r.ID.Run
			if _, ok := g.kept[ofRun]; ok {
				continue
			}
		}
		if always == nil {
			always = g.always(r)
		}
		if !always[m] {
			return false
		}
	}
	return true
}

// always returns what is kept for always about a request's agent and tool;
// nothing where that cannot be read.
func (g *Gate) always(r Request) map[memory]bool {
	found := make(map[memory]bool)
	if g.store == nil {
		return found
	}
	all, err := g.store.Grants()
	if err != nil {
		return found
	}
	for _, one := range all {
		if one.Agent == r.ID.Agent && one.Tool == r.Plan.Tool {
			found[one.memory()] = true
		}
	}
	return found
}

// allowed reports whether rules of the user's own settings stand for the
// question: for a call of at most medium, or of high risk where they name the
// words of each command.
func (r Request) allowed() bool {
	p := r.Plan
	one := func(words []string) bool {
		for _, rule := range r.Allow {
			if (p.Risk <= tool.Medium || len(rule.Words) > 0) && rule.Allows(p, words, r.Folder) {
				return true
			}
		}
		return false
	}
	switch {
	case p.Risk == tool.Unclassified || p.Risk > tool.High:
		return false
	case len(p.Keep) > 0:
		return !slices.ContainsFunc(p.Keep, func(argv []string) bool { return !one(argv) })
	case p.Preview.Kind == "command":
		return false // one whose words are not all known
	}
	return p.Risk <= tool.Medium && one(nil)
}

// granted reports whether rules of the user's own settings name every path of a
// plan.
func (r Request) granted() bool {
	return slices.ContainsFunc(r.Allow, func(rule tool.Rule) bool { return rule.Path != "" && rule.Allows(r.Plan, nil, r.Folder) })
}

// Grants returns the answers for runs and the session, in no particular order.
// Those for always are the store's.
func (g *Gate) Grants() []Grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make([]Grant, 0, len(g.kept))
	for _, one := range g.kept {
		all = append(all, one)
	}
	return all
}

// ForgetGrant drops an answer for a run or the session, and reports whether
// there was one of that id.
func (g *Gate) ForgetGrant(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for m, one := range g.kept {
		if one.ID == id {
			delete(g.kept, m)
			return true
		}
	}
	return false
}

// Forget drops what was kept for a run that has ended.
func (g *Gate) Forget(run string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.runs, run)
	for m := range g.kept {
		if m.run == run {
			delete(g.kept, m)
		}
	}
}

// Taint records that a run has read what others may have written (spec 11.1
// rule 6). It holds for the session; the web, besides, for the run.
func (g *Gate) Taint(run string, t tool.Taint) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taint = g.taint.Max(min(t, tool.Foreign))
	if t > tool.Clean {
		g.runs[run] = g.runs[run].Max(t)
	}
}

func (g *Gate) tainted(run string) tool.Taint {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.taint.Max(g.runs[run])
}
