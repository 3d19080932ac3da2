package registry

// What other agents make wrong with one: findings of spec 1.5 that the whole
// catalogue is needed for. They are found when they are asked for, since a
// change of one file may concern any other.

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// maxRings is of how many of a file's targets is asked whether control comes back
// from them.
const maxRings = 50

// maxRing is how many handoffs a circle has that is told, and maxWay how many
// agents are looked at for those of one: thousands of agents in one circle would
// cost their square, and a run is refused its sixth agent (spec 5.2).
const (
	maxRing = 16
	maxWay  = 2000
)

// Findings returns what is to be told of an agent file on the disk: its entry's
// problems and, if it is the text that is used, those that the other agents make:
// agent/handoff-target, agent/handoff-cycle, agent/subagent-unknown, agent/validator,
// agent/graph and agent/dead, in the order of the file. The caller must not change the
// slice.
// For a system agent and for a stale entry these are the entry's own problems. The
// first call after a change looks at the whole catalogue, the next ones at what d
// says.
func (s *Snapshot) Findings(e *Entry) []definition.Problem {
	if e.file == nil || e.Stale {
		return e.Problems
	}
	return s.among(e.Definition, true, e.Problems)
}

// FindingsIn is [Snapshot.Findings] for a definition that need not be on the
// disk, as that of an open buffer: it takes the place of what the snapshot has of
// its path. Its place decides agent/duplicate-name.
// It is for editors that show problems while a file is typed. The definition is not
// kept. The caller must not change the slice.
func (s *Snapshot) FindingsIn(d *definition.Definition) []definition.Problem {
	problems := d.Problems
	if other := s.twin(d); other != nil {
		problems = insert(problems, duplicate(s.uriOf(d.Path), d.NameRange, s.uriOf(other.Path), other))
	}
	return s.among(d, false, problems)
}

// uriOf is the URI of a path for a problem.
func (s *Snapshot) uriOf(path string) string {
	if s.uri == nil {
		return definition.FileURI(path)
	}
	return s.uri(path)
}

// twin returns another agent of a definition's name in its scope, or nil.
func (s *Snapshot) twin(d *definition.Definition) *definition.Definition {
	if d.Guessed || d.Scope == definition.System {
		return nil
	}
	return s.neighbour(d, d.Name)
}

// neighbour returns another agent of a name in the scope of d, or nil.
func (s *Snapshot) neighbour(d *definition.Definition, name string) *definition.Definition {
	for e := range s.entriesOf(name) {
		if other := e.Definition; e.file != nil && other.Path != d.Path && !other.Guessed &&
			other.Scope == d.Scope && folderOf(other.Path) == folderOf(d.Path) {
			return other
		}
	}
	return nil
}

// folderOf returns a path without its last part; either separator ends it.
func folderOf(path string) string {
	return path[:max(0, strings.LastIndexAny(path, `/\`))]
}

// among adds what the other agents make to problems of d, which is the disk's
// text or need not be.
// d may be a text in an editor that the snapshot does not have: it is looked at in the
// place of the file. Of each target only the first handoff is followed for rings, and
// of maxRings targets at most.
func (s *Snapshot) among(d *definition.Definition, disk bool, problems []definition.Problem) []definition.Problem {
	uri := s.uriOf(d.Path)
	problems = s.addTaken(d, problems)
	var more []definition.Problem // put in at once: a file may have thousands
	guesses := 0
	told := make(map[string]bool)
	var ways ways
	for _, h := range d.Handoffs {
		if h.To == "user" {
			continue
		}
		target := s.find(d.Folder, h.To)
		if target == nil {
			p := definition.Problem{URI: uri, Range: h.Range, Code: "agent/handoff-target", Severity: definition.Error}
			guesses++
			more = append(more, s.unknownTarget(p, d, h.To, "this handoff is left out", guesses <= suggestions))
			continue
		}
		// By folder:name. Of the name alone the parser tells.
		if target.Definition.Path == d.Path && bare(h.To) == d.Name && h.To != d.Name {
			more = append(more, definition.Problem{
				URI: uri, Range: h.Range, Code: "agent/handoff-target", Severity: definition.Error,
				Message: "An agent cannot hand over to itself; this handoff is left out.",
			})
			continue
		}
		if told[h.To] || len(told) == maxRings {
			continue
		}
		if len(told) == 0 {
			ways = s.waysTo(d, disk)
		}
		told[h.To] = true
		if ring := s.ring(d, target, ways); ring != nil {
			more = append(more, s.cycle(d, h, ring))
		}
	}
	more = append(more, s.subagents(d, uri)...)
	more = append(more, s.judges(d, uri)...)
	more = append(more, s.graphNodes(d, uri)...)
	if s.dead(d) {
		more = append(more, definition.Problem{
			URI: uri, Range: d.NameRange, Code: "agent/dead", Severity: definition.Info,
			Message: "Nothing can reach this agent: no person, no route, no handoff and no other agent's subagents; allow one of them.",
		})
	}
	return insert(problems, more...)
}

// subagents tells of the subagents of d that no agent is.
func (s *Snapshot) subagents(d *definition.Definition, uri string) (found []definition.Problem) {
	for i, name := range d.Subagents {
		if i == len(d.SubagentRanges) {
			break // the others come with the tools of another tool's file
		}
		_, alone, ofFolder := strings.Cut(name, ":")
		if found := !ofFolder && s.find(d.Folder, name) != nil; found || name == "*" {
			continue
		}
		p := definition.Problem{URI: uri, Range: d.SubagentRanges[i], Code: "agent/subagent-unknown",
			Severity: definition.Error}
		if d.Dialect != definition.Agentls {
			p.Severity = definition.Hint
		}
		if len(found) < suggestions {
			p.Meant = s.near(d, name)
		}
		p.Message = fmt.Sprintf("There is no agent %s, so this subagent is left out; ", name)
		if ofFolder {
			p.Message = fmt.Sprintf("A subagent is named without its folder, so %s is left out; ", name)
			if s.find(d.Folder, alone) != nil {
				p.Meant = alone
			}
		}
		if p.Meant != "" {
			p.Message += "did you mean " + p.Meant + "?"
		} else {
			p.Message += "create it, or correct the name."
		}
		found = append(found, p)
	}
	return found
}

// judges tells of the guards of d whose judge no agent is.
func (s *Snapshot) judges(d *definition.Definition, uri string) (found []definition.Problem) {
	for _, g := range d.Guards {
		name := g.Judge()
		if name == "" || g.JudgeRange == (definition.Range{}) || s.find(d.Folder, name) != nil {
			continue
		}
		p := definition.Problem{URI: uri, Range: g.JudgeRange, Code: "agent/validator", Severity: definition.Error}
		so := fmt.Sprintf("the guard %s lets nothing pass", g.Name)
		found = append(found, s.unknownTarget(p, d, name, so, len(found) < suggestions))
	}
	return found
}

// addTaken adds to agent/file-name where the agent is that has the file's name
// already, so that not both can be renamed alike.
func (s *Snapshot) addTaken(d *definition.Definition, problems []definition.Problem) []definition.Problem {
	i := slices.IndexFunc(problems, func(p definition.Problem) bool { return p.Code == "agent/file-name" })
	if i < 0 {
		return problems
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(d.Path), ".md"), ".agent")
	other := s.neighbour(d, stem)
	if other == nil {
		return problems
	}
	problems = slices.Clone(problems)
	problems[i].Related = []definition.Related{{
		URI: s.uriOf(other.Path), Range: other.NameRange, Message: fmt.Sprintf("The agent %s is here.", stem),
	}}
	return problems
}

// unknownTarget completes the problem of a file that names an agent which there is not, so that
// something follows. guess says whether a name that was meant is looked for.
func (s *Snapshot) unknownTarget(p definition.Problem, d *definition.Definition, name, so string,
	guess bool) definition.Problem {
	if guess {
		p.Meant = s.near(d, name)
	}
	p.Message = fmt.Sprintf("There is no agent %s, so %s; ", name, so)
	if p.Meant != "" {
		p.Message += "did you mean " + p.Meant + "?"
	} else {
		p.Message += "create it, or correct the name."
	}
	return p
}

// near is the name that the target of a handoff of d may have meant, in the folder
// that it says, or "".
func (s *Snapshot) near(d *definition.Definition, to string) string {
	name := bare(to)
	folder, prefix := d.Folder, to[:len(to)-len(name)]
	if prefix != "" {
		var ok bool
		if folder, ok = s.folder(prefix[:len(prefix)-1]); !ok {
			return ""
		}
	}
	for _, near := range s.suggest(folder, name) {
		if target := s.find(d.Folder, prefix+near); target != nil && target.Definition.Path != d.Path {
			return prefix + near
		}
	}
	return ""
}

// bare is a name without the folder that may stand before it.
func bare(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// find is Lookup without reasons: the entry that a name means in a folder, in
// any state, or nil.
func (s *Snapshot) find(folder, name string) *Entry {
	var best *Entry
	only := false
	if i := strings.LastIndexByte(name, ':'); i > 0 { // folder:name
		if folder, only = s.folder(name[:i]); !only {
			return nil
		}
		name = name[i+1:]
	}
	for e := range s.entriesOf(name) {
		if only && (e.Definition.Scope != definition.Project || e.Definition.Folder != folder) {
			continue
		}
		own := e.Definition.Scope == definition.Project && e.Definition.Folder == folder
		switch {
		case e.State == Duplicate && best == nil, e.found && (best == nil || !best.found):
			best = e
		case e.found && own && !(best.Definition.Scope == definition.Project && best.Definition.Folder == folder):
			best = e
		}
	}
	return best
}

// hop is a handoff on a way through the catalogue.
// to is who is handed to.
type hop struct {
	from *definition.Definition
	at   definition.Range // of the handoff's target
	to   *Entry
}

// ways is of how many handoffs a way from an agent to a certain other one is.
type ways map[*Entry]int

// waysTo returns the ways that lead to d in a run of its folder, by fewer than
// maxRing handoffs: of the disk's text those from agents that are on a circle with d,
// else those from all, since a buffer may hand over to others. It goes back from d,
// so that one search does for all that d hands over to.
func (s *Snapshot) waysTo(d *definition.Definition, disk bool) ways {
	start := s.at(d.Path)
	if start == nil || start.Definition.Name != d.Name {
		return nil // a buffer has given its file another name
	}
	before := s.network().before(s, d.Folder, disk)
	if len(before[start]) == 0 {
		return nil
	}
	found := ways{start: 0}
	way := []*Entry{start}
	for i := 0; i < len(way) && i < maxWay && len(way) < 5*maxWay; i++ {
		length := found[way[i]] + 1
		if length == maxRing {
			break
		}
		for _, from := range before[way[i]] {
			if _, known := found[from]; !known {
				found[from] = length
				way = append(way, from)
			}
		}
	}
	return found
}

// ring returns the handoffs by which control comes back to d from the agent that
// it hands to, the fewest; nil if it does not.
func (s *Snapshot) ring(d *definition.Definition, target *Entry, ways ways) []hop {
	left := ways[target]
	ring := make([]hop, 0, left)
	for at := target; left > 0; left-- {
		from := at.Definition
		for _, h := range from.Handoffs {
			next := s.find(d.Folder, h.To)
			if length, known := ways[next]; known && length == left-1 {
				ring, at = append(ring, hop{from, h.Range, next}), next
				break
			}
		}
	}
	if len(ring) == 0 {
		return nil
	}
	return ring
}

// cycle tells of a ring that a handoff of d begins.
func (s *Snapshot) cycle(d *definition.Definition, h definition.Handoff, ring []hop) definition.Problem {
	names := []string{d.Name, h.To}
	p := definition.Problem{URI: s.uriOf(d.Path), Range: h.Range, Code: "agent/handoff-cycle",
		Severity: definition.Info}
	for _, step := range ring {
		names = append(names, step.to.Definition.Name)
		p.Related = append(p.Related, definition.Related{
			URI: s.uriOf(step.from.Path), Range: step.at,
			Message: fmt.Sprintf("%s hands over to %s here.", step.from.Name, step.to.Definition.Name),
		})
	}
	p.Message = fmt.Sprintf("Control can come back by handoffs (%s); a run refuses the handoff that closes the circle.",
		strings.Join(names, " → "))
	return p
}

// dead reports whether nothing can reach an agent that may run.
// d may be another version of a file of the snapshot: then what that file says of the
// name itself does not count.
func (s *Snapshot) dead(d *definition.Definition) bool {
	if d.UserInvocable || d.Scope == definition.System || (d.Routable &&
		(len(d.Triggers)+len(d.Examples) > 0 || d.Description != "")) {
		return false
	}
	if usable, _ := d.Usable(); !usable {
		return false
	}
	n := s.network()
	by := func(paths map[string]int, self bool) bool {
		others := paths[d.Name]
		if self {
			others--
		}
		return others > 0
	}
	before := s.at(d.Path)
	if by(n.handed, before != nil && slices.ContainsFunc(before.Definition.Handoffs,
		func(h definition.Handoff) bool { return bare(h.To) == d.Name })) {
		return false
	}
	if !d.Delegable {
		return true
	}
	all := n.all
	if before != nil && slices.Contains(before.Definition.Subagents, "*") {
		all--
	}
	return all <= 0 && !by(n.delegated, before != nil && slices.ContainsFunc(before.Definition.Subagents,
		func(name string) bool { return bare(name) == d.Name }))
}
