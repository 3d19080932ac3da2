package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

// Grant is an answer that is remembered, for one agent, tool and shape of
// arguments (spec 4.3).
//
// It is a value that can be stored: its members say everything that a later call
// is compared with. Two answers for the same have the same ID, so keeping one
// twice changes nothing.
type Grant struct {
	ID      string  // made of the rest: the same answer has the same
	Scope   Outcome // Run, Session or Always
	Session string  // "" for Always
	Run     string  // "" but for Run
	// Whose calls it covers; an answer for one agent is none for another.
	Agent   string
	Project string // the folder that the agent comes with; "" for the person's own and ours
	// The canonical name of the tool.
	Tool   string
	Folder string         // that the calls run in
	Shape  string         // of the arguments, as in [tool.Plan]; "" for commands
	Access sandbox.Access // of commands: this, and what it includes
	Argv   []string       // of commands: the words of one
	Prefix bool           // of commands: of all that begin with Argv
	Covers string         // what it covers, for people
	Since  time.Time      // of Always; set by the store
}

// Store keeps the answers for always of one workspace
// (~/.gemini/agentls/permissions.json, SEC-24). It is safe for concurrent use.
//
// Whoever implements it writes a grant down before Keep returns, since the call
// runs then.
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
type memory struct {
	run, agent, project, tool, folder, key string
	access                                 sandbox.Access
	prefix                                 bool
}

// covers says in words what answers for a plan of commands would cover.
func covers(p *tool.Plan) string {
	all := make([]string, 0, len(p.Keep))
	for _, one := range p.Keep {
		all = append(all, coversOne(p, one))
	}
	return strings.Join(all, ", and ")
}

// coversOne says it of one command, with the folder where that is another than
// the shown one.
func coversOne(p *tool.Plan, one tool.Words) string {
	text := fmt.Sprintf("exactly %s with access %s", commandLine(one.Argv), p.Access)
	if one.Folder != p.Preview.Cwd {
		text += " in " + tool.Name(one.Folder)
	}
	return text
}

// commandLine returns words as a person reads a command: escaped, and quoted
// where a shell would have to.
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
// A call of a shape gives one grant; a command gives one for each entry of the
// plan's Keep, so that another line of the same programs need not be asked
// about.
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
	for _, words := range r.Plan.Keep {
		g := one
		g.Access, g.Folder, g.Argv, g.Covers = r.Plan.Access, words.Folder, slices.Clone(words.Argv),
			coversOne(r.Plan, words)
		if d.wide {
			g.Argv, g.Prefix = slices.Clone(d.Prefix), true
			g.Covers = fmt.Sprintf("%s * with access %s", commandLine(g.Argv), g.Access)
		}
		g.ID = g.name()
		all = append(all, g)
	}
	return all
}

// name returns the grant's id.
func (g Grant) name() string {
	parts := []string{string(g.Scope), g.Session, g.Run, g.Agent, g.Project, g.Tool, g.Folder, g.Shape}
	if g.Access != "" {
		parts = append(parts, string(g.Access), strconv.FormatBool(g.Prefix))
	}
	sum := sha256.Sum256([]byte(strings.Join(append(parts, g.Argv...), "\x00")))
	return hex.EncodeToString(sum[:8])
}

// memory returns what the gate finds the grant by.
func (g Grant) memory() memory {
	key := g.Shape
	if key == "" {
		key = strings.Join(g.Argv, "\x00")
	}
	return memory{run: g.Run, agent: g.Agent, project: g.Project, tool: g.Tool, folder: g.Folder, key: key,
		access: g.Access, prefix: g.Prefix}
}

// keep remembers an answer.
// The error is the store's, and then nothing is kept.
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

// remembers reports whether earlier answers stand for this question: for each of
// its commands one that was kept for this run, this session or always. Where
// nobody can be asked they never do for a call above medium.
func (g *Gate) remembers(r Request, risk tool.Risk) bool {
	p := r.Plan
	if !memorable(p, risk) || (!r.CanAsk && risk > tool.Medium) {
		return false
	}
	always := sync.OnceValue(func() map[memory]bool { return g.always(r) })
	g.mu.Lock()
	defer g.mu.Unlock()
	knows := func(m memory) bool {
		ofRun := m
		ofRun.run = r.ID.Run
		_, session := g.kept[m]
		_, run := g.kept[ofRun]
		return session || run || always()[m]
	}
	m := memory{agent: r.ID.Agent, project: r.Project, tool: p.Tool, folder: r.Folder, key: p.Shape}
	if p.Shape != "" {
		return knows(m)
	}
	for _, one := range p.Keep {
		m.folder = one.Folder
		if !coveredBy(m, p.Access, one.Argv, knows) {
			return false
		}
	}
	return true
}

// maxPrefix is how many words a prefix has at most.
const maxPrefix = 2

// coveredBy reports whether an answer for one command, or for a prefix of it, is
// known: for its access, or for one that includes it.
func coveredBy(m memory, access sandbox.Access, argv []string, knows func(memory) bool) bool {
	for _, wide := range sandbox.Accesses() {
		if !includes(wide, access) {
			continue
		}
		m.access, m.prefix, m.key = wide, false, strings.Join(argv, "\x00")
		if knows(m) {
			return true
		}
		m.prefix = true
		for n := 1; n <= min(maxPrefix, len(argv)) && includes(sandbox.Write, access); n++ {
			m.key = strings.Join(argv[:n], "\x00")
			if knows(m) {
				return true
			}
		}
	}
	return false
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
func (r Request) allowed(risk tool.Risk) bool {
	p := r.Plan
	one := func(argv []string) bool {
		return slices.ContainsFunc(r.Allow, func(rule tool.Rule) bool {
			reaches := risk <= tool.Medium || len(rule.Words) > 0
			return reaches && rule.Allows(p, argv, r.Folder)
		})
	}
	switch {
	case risk == tool.Unclassified || risk > tool.High:
		return false
	case p.Access != "":
		uncovered := func(words tool.Words) bool { return !one(words.Argv) }
		return len(p.Keep) > 0 && !slices.ContainsFunc(p.Keep, uncovered)
	}
	return risk <= tool.Medium && one(nil)
}

// granted reports whether rules of the user's own settings name every path of a
// plan.
func (r Request) granted() bool {
	return slices.ContainsFunc(r.Allow, func(rule tool.Rule) bool {
		return rule.Path != "" &&
			rule.Allows(r.Plan, nil, r.Folder)
	})
}

// Grants returns the answers for runs and the session, in no particular order.
// Those for always are the store's.
// They are copies.
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
// Answers for the session stay, and so does the session's taint.
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

// maxSources is how many calls are named of those that read what others wrote.
const maxSources = 3

// TaintBy is Taint by a call, which questions name from then on.
// call is a line for people, as a plan's title.
func (g *Gate) TaintBy(run string, t tool.Taint, call string) {
	g.Taint(run, t)
	g.mu.Lock()
	defer g.mu.Unlock()
	if call == "" || slices.Contains(g.read, call) {
		return
	}
	if g.read = append(g.read, call); len(g.read) > maxSources {
		g.read = slices.Delete(g.read, 0, 1)
	}
}

// sources names the calls that read what others wrote, as far as they are known.
func (g *Gate) sources() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.read) == 0 {
		return ""
	}
	return " (" + strings.Join(g.read, ", ") + ")"
}

// TaintOf returns what a run has read that others may have written.
// The session's is in it. A run that is not known has the session's.
func (g *Gate) TaintOf(run string) tool.Taint { return g.taintOf(run) }

// taintOf is TaintOf.
func (g *Gate) taintOf(run string) tool.Taint {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.taint.Max(g.runs[run])
}
