package agents

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/internal/fault"
)

// Explain returns what an agent really gets in a run that a person starts in a new
// session, in the folder that it comes with or else the first (spec 1.8). text is
// that of its file, for the lines in it; "" = none are told. Whether the file waits
// for a review is not looked at. It starts nothing and asks nobody: servers are told as
// they were last seen. The result is the caller's. It is made for each
// keystroke in an agent's file.
func (s *Service) Explain(def *definition.Definition, text string) *explanation.Explanation {
	return s.explain(def, text, false)
}

// ExplainAsIfTrusted returns what the agent would get, was its folder trusted and
// its file approved. Trusted of the explanation says whether the folder is.
func (s *Service) ExplainAsIfTrusted(def *definition.Definition, text string) *explanation.Explanation {
	e := s.explain(def, text, true)
	e.Trusted = s.Trusted(s.homeOf(def))
	return e
}

// explain makes the explanation from the same functions that make a run, so that both say the same
// (TestEveryCallIsExplained, TestRunsGoByTheirExplanation).
func (s *Service) explain(def *definition.Definition, text string, asIf bool) *explanation.Explanation {
	folder := s.homeOf(def)
	set := s.Settings(folder)
	agent := override(def, set.Overrides[def.Name])
	in := authority.Input{
		File: def, Definition: agent.Definition, Text: text, Ignored: agent.Problems, Only: agent.Only, Off: agent.Off,
		Tools:    slices.Concat(s.toolsFor(agent.Definition, folder, set), s.toolsOf(agent.Definition, folder)),
		Settings: set.Values, Exclude: set.Exclude, Deny: set.Deny, Allow: set.Allow, Routes: set.Routes,
		Approval: s.Approval, Trusted: asIf || s.Trusted(folder), CanAsk: true, Sandbox: guard.SandboxOf(set.Sandbox),
		Unreviewed: !asIf && s.unreviewed(def),
		Table:      s.Table, Standard: defaultModel,
		Configured: func(id string) bool { return s.checkConfigured(id) == nil },
		Servers:    s.withStates(set.Servers, folder),
	}
	if s.ExplainHooks != nil {
		in.Hooks = s.ExplainHooks(folder)
	}
	if agent.Definition.Memory != nil {
		in.Memory = s.describeMemory(agent.Definition, folder)
	}
	if s.Memory != nil && agent.MemoryFiles {
		for _, f := range s.Memory(folder, "").Files {
			in.MemoryFiles = append(append(in.MemoryFiles, f.Path), f.Imports...)
		}
	}
	if agent.Graph != nil || len(agent.Subagents)+len(agent.Handoffs)+len(agent.Guards) > 0 { // there may be thousands
		in.Agents, in.ByName = s.others(folder, set)
		in.Callable = []string{}
		for _, d := range s.callable(agent.Definition, folder, set) {
			in.Callable = append(in.Callable, d.Name)
		}
	}
	e := authority.Explain(in)
	if id := cmp.Or(e.Model.Route, e.Model.ID); s.checkConfigured(id) != nil {
		e.Refused = append(e.Refused, fault.Message(s.checkConfigured(id)))
	}
	return e
}

// checkConfigured returns why a model cannot be asked. Who has not signed in yet can.
func (s *Service) checkConfigured(id string) error {
	_, _, err := s.Provider(id)
	if reason, _ := fault.ReasonOf(err); reason == fault.AuthRequired {
		return nil
	}
	return err
}

// homeOf returns the folder that a run of an agent is in when nobody says
// another. An agent of a project is in its project's.
func (s *Service) homeOf(def *definition.Definition) string {
	if folders := s.Folders(); !def.FromProject() && len(folders) > 0 {
		return folders[0]
	}
	return def.Folder
}

// unreviewed reports whether a run of a project's agent has lowered limits.
func (s *Service) unreviewed(def *definition.Definition) bool {
	return def.Scope == definition.Project && s.Unreviewed != nil && s.Unreviewed(def)
}

// othersOf are the agents that names mean in a folder, made once for each catalog
// and reading of the settings: an explanation is made for each keystroke. It is never
// changed; another one takes its place.
type othersOf struct {
	catalog *registry.Snapshot
	folder  string
	set     *Settings

	all    []*definition.Definition
	byName map[string]*definition.Definition
}

// others returns the agents that names mean in a folder, as the settings have
// them. Nobody changes what it returns. Two callers at once may make it twice, which
// does no harm.
func (s *Service) others(folder string, set *Settings) ([]*definition.Definition, map[string]*definition.Definition) {
	catalog := s.Agents()
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if known == nil || known.catalog != catalog || known.folder != folder || known.set != set {
		known = &othersOf{catalog: catalog, folder: folder, set: set, all: s.meantAgents(catalog, folder, set)}
		known.byName = make(map[string]*definition.Definition, len(known.all))
		for _, d := range known.all {
			known.byName[d.Name] = d
		}
		s.mu.Lock()
		s.known = known
		s.mu.Unlock()
	}
	return known.all, known.byName
}

// meantAgents makes the list of [Service.others]: of each name the agent that the folder means,
// with hidden ones where the folder is not trusted.
func (s *Service) meantAgents(catalog *registry.Snapshot, folder string, set *Settings) []*definition.Definition {
	entries := catalog.Entries()
	own := make(map[string]bool)
	for _, e := range entries {
		if d := e.Definition; e.State == registry.OK && d.Scope == definition.Project && d.Folder == folder {
			own[d.Name] = true
		}
	}
	all := make([]*definition.Definition, 0, len(entries))
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		d := e.Definition
		// The folder's own agent comes before its namesakes, else the catalog's order decides.
		if e.State != registry.OK || (own[d.Name] && d.Folder != folder) || seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		all = append(all, override(s.unhide(d, d.Name), set.Overrides[d.Name]).Definition)
	}
	return all
}

// Last is what is told of the run of an agent that ended last.
type Last struct {
	Tokens int // that its models were sent and answered
	Took   time.Duration
}

// Last returns it; false where none has ended since the daemon began. Agents of one
// name are told apart by their files. It is for people, as a lens in the agent's file,
// and is not kept over a restart.
func (s *Service) Last(def *definition.Definition) (Last, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.last[placeOf(def)]
	return l, ok
}

// remember notes a run that has ended for [Service.Last].
func (s *Service) remember(def *definition.Definition, live *Live, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[placeOf(def)] = Last{live.result.Usage.TotalTokens, took}
}

// placeOf is the path of an agent's file, or the name of what is built in.
func placeOf(def *definition.Definition) string { return cmp.Or(def.Path, def.Name) }
