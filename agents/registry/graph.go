package registry

import (
	"sync"

	flow "github.com/agentls/agentls/agents/graph"
)

// graph is what the agents say of each other, found out when it is first asked
// for.
// It belongs to one snapshot, so nothing of it is ever out of date; it is safe for
// concurrent use. All but mu and hands is written once, under once.
type graph struct {
	once      sync.Once
	handed    map[string]int // how many agents hand over to a name
	delegated map[string]int // how many name it as a subagent, in a graph or as a judge
	all       int            // how many, but for main, may delegate to all
	paths     map[string]*Entry

	// Guards hands, and is held while one of them is worked out.
	mu    sync.Mutex
	hands map[runs]handing
}

// runs are those of a folder. Of circles alone, only what its agents can come to by
// handoffs counts, and of it what lies on circles.
type runs struct {
	folder  string
	circles bool
}

// handing is who hands over to an agent.
// Of an agent that nobody hands over to there is nothing.
type handing map[*Entry][]*Entry

// network returns the snapshot's graph.
// The first call goes through all entries.
func (s *Snapshot) network() *graph {
	if s.graph == nil {
		return new(graph) // of the zero Snapshot
	}
	s.graph.once.Do(func() { s.graph.fill(s) })
	return s.graph
}

// at returns the entry of a path, or nil.
func (s *Snapshot) at(path string) *Entry { return s.network().paths[path] }

// fill goes through the entries once. Each agent counts once for a name, however
// often it names it.
// It counts names and not agents: a name may mean another agent in each folder, and to
// count one too many only keeps an agent from being called dead.
func (g *graph) fill(s *Snapshot) {
	g.handed, g.delegated, g.paths = make(map[string]int), make(map[string]int), make(map[string]*Entry, len(s.entries))
	seen := make(map[string]bool) // of one agent
	for _, e := range s.entries {
		if e.file != nil {
			g.paths[e.file.path] = e
		}
		d := e.Definition
		clear(seen)
		for _, h := range d.Handoffs {
			if name := bare(h.To); !seen[name] {
				seen[name] = true
				g.handed[name]++
			}
		}
		clear(seen)
		for _, name := range d.Subagents {
			all := name == "*"
			if name = bare(name); (name == "*" && !all) || seen[name] {
				continue // folder:* names nobody
			}
			seen[name] = true
			switch {
			case !all:
				g.delegated[name]++
			case d.Name != mainName:
				g.all++
			}
		}
		for _, guard := range d.Guards {
			if name := guard.Judge(); name != "" && !seen[name] {
				seen[name] = true
				g.delegated[name]++
			}
		}
		if d.Graph == nil {
			continue
		}
		for _, n := range d.Graph.Nodes {
			if name := bare(n.Of); !seen[name] && (n.Kind == flow.Agent || n.Kind == flow.Graph) {
				seen[name] = true
				g.delegated[name]++
			}
		}
	}
}

// before returns who hands over to each agent in the runs of a folder, or only those
// that the folder's agents are on circles with.
// It is worked out once for each key, and never changed afterwards.
func (g *graph) before(s *Snapshot, folder string, circles bool) handing {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := runs{folder, circles}
	if known, ok := g.hands[key]; ok {
		return known
	}
	w := walk{snapshot: s, folder: folder, names: make(map[string]bool), seen: make(map[*Entry]*stop),
		before: make(handing)}
	for _, e := range s.entries {
		switch {
		case !circles:
			for _, to := range w.targets(e) {
				w.before[to] = append(w.before[to], e)
			}
		// Agents of other places count where a handoff leads to them.
		case e.Definition.Folder == folder && w.seen[e] == nil:
			w.visit(e)
		}
	}
	if g.hands == nil {
		g.hands = make(map[runs]handing)
	}
	g.hands[key] = w.before
	return w.before
}

// walk goes through the handoffs of a folder's runs. It finds circles as Tarjan does.
type walk struct {
	snapshot *Snapshot
	folder   string
	names    map[string]bool // of one agent's handoffs
	seen     map[*Entry]*stop
	open     []*Entry // that have been come to, and may be on a circle with what comes
	before   handing
}

// stop is an agent that a walk has come to.
type stop struct {
	targets []*Entry
	at      int   // its place among the open ones
	back    int   // the first place that is known to be come back to
	circle  *stop // the first of those that it is on circles with; nil while it is open
}

// targets returns whom an agent hands over to.
func (w *walk) targets(e *Entry) []*Entry {
	targets := make([]*Entry, 0, len(e.Definition.Handoffs))
	clear(w.names)
	for _, h := range e.Definition.Handoffs {
		if w.names[h.To] {
			continue
		}
		w.names[h.To] = true
		if to := w.snapshot.find(w.folder, h.To); to != nil {
			targets = append(targets, to)
		}
	}
	return targets
}

// visit goes on from an agent to all whom it can hand control to, and notes its
// circle when the first of that is left again. It calls itself, as deep as the longest
// way of handoffs.
func (w *walk) visit(e *Entry) *stop {
	here := &stop{targets: w.targets(e), at: len(w.open), back: len(w.open)}
	w.seen[e] = here
	w.open = append(w.open, e)
	for _, to := range here.targets {
		there := w.seen[to]
		if there == nil {
			there = w.visit(to)
		}
		if there.circle == nil {
			here.back = min(here.back, there.back)
		}
	}
	// It is on a circle with one that is still open, and that one closes the circle.
	if here.back < here.at {
		return here
	}
	circle := w.open[here.at:]
	w.open = w.open[:here.at]
	for _, e := range circle {
		w.seen[e].circle = here
	}
	// An agent alone is on no circle with others; a handoff to itself is left out anyway.
	if len(circle) == 1 {
		return here
	}
	for _, from := range circle {
		for _, to := range w.seen[from].targets {
			if w.seen[to].circle == here {
				w.before[to] = append(w.before[to], from)
			}
		}
	}
	return here
}
