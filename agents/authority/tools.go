package authority

// The tools one by one.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/internal/settings"
)

// completeTask is the tool that a run adds in mode task (spec 3.3).
const completeTask = "complete_task"

// toolset resolves which of the registered tools are offered. [tool.NewSet]
// decides; the stages only say which of the lists it was.
//
// It is made by newToolset for one explanation; nothing in it changes afterwards.
type toolset struct {
	*places
	def    *definition.Definition
	all    []tool.Tool // registered, each name once, by name
	left   []string    // the names of the offered, sorted
	stages []stage     // in the order of spec 4.2
	// The agent's allow-list, read once.
	allow patterns
}

// stage is a list that takes tools away: it says whether it takes one, why, and
// where that is written.
type stage func(name string) (why string, origin Origin, takes bool)

// patterns is a list of names and globs.
type patterns struct {
	// As they are written, in their order.
	entries []string
	exact   map[string]int // of names: the first entry of each
	// In the order of the entries.
	globs []glob
}

// glob is an entry that may be about several tools.
type glob struct {
	pattern string
	entry   int
}

// newPatterns reads a list once, so that looking for a tool in it costs its globs only.
func newPatterns(entries []string) patterns {
	p := patterns{entries: entries, exact: make(map[string]int, len(entries))}
	for i, entry := range entries {
		pattern := entry
		if canonical, ok := definition.CanonicalTool(entry); ok {
			pattern = canonical
		}
		if _, twice := p.exact[pattern]; !twice {
			p.exact[pattern] = i
			if strings.ContainsAny(pattern, globbing) {
				p.globs = append(p.globs, glob{pattern, i})
			}
		}
	}
	return p
}

// globbing are the characters that make a glob of a name.
const globbing = `*?[\`

// find returns the first entry that is about a tool. A malformed glob is about
// every tool in a list that takes away, and about one of its own name elsewhere.
// It returns the entry as it is written, for people. Exact names are looked up and only
// globs are tried, since lists and tools may be thousands.
func (p patterns) find(name string, takes bool) (entry string, found bool) {
	first, found := p.exact[name]
	if found && strings.ContainsAny(name, globbing) {
		found = !tool.Pattern(name).Valid() // a glob that is one is looked at below
	}
	about := tool.Pattern.Gives
	if takes {
		about = tool.Pattern.Takes
	}
	for _, g := range p.globs {
		if found && g.entry > first {
			break
		}
		if about(tool.Pattern(g.pattern), name) {
			return p.entries[g.entry], true
		}
	}
	if !found {
		return "", false
	}
	return p.entries[first], true
}

// newToolset has tool.NewSet decide, with the lists of the input.
// A project's own lists (Only) come first and one by one: each can only take away,
// whatever the others name.
func newToolset(p *places, def *definition.Definition) *toolset {
	s := &toolset{places: p, def: def, allow: newPatterns(def.AllowedTools())}
	// Without any list, so that all come out that are registered, each once and sorted.
	s.all = tool.NewSet(tool.SetConfig{Tools: p.in.Tools}).List()
	left := s.all
	for _, list := range p.in.Only {
		left = tool.NewSet(tool.SetConfig{Tools: left, Allow: list.Names, Restricted: true,
			Canonical: definition.CanonicalTool}).List()
	}
	s.left = tool.NewSet(tool.SetConfig{
		Tools: left, Exclude: p.in.Exclude.Names(), Deny: unique(def.Tools.Deny), Allow: unique(def.AllowedTools()),
		Restricted: def.Tools.Given,
		Subagent:   p.in.Subagent, Within: p.in.Within, Canonical: definition.CanonicalTool,
	}).Names()
	s.traceRemovals()
	return s
}

// traceRemovals lists what can take a tool away. The first in this order that takes a
// tool is told as the reason.
// The stages do not decide anything: a tool is offered if NewSet left it, and stages only
// find the words. Where no stage claims a tool that is gone, offers has a general reason.
func (s *toolset) traceRemovals() {
	away := func(list []string, what string, origin func(entry string) Origin) {
		p := newPatterns(list)
		s.stages = append(s.stages, func(name string) (string, Origin, bool) {
			entry, found := p.find(name, true)
			if !found {
				return "", Origin{}, false
			}
			return what + " by " + quote(entry), origin(entry), true
		})
	}
	only := func(p patterns, why string, origin func() Origin) {
		s.stages = append(s.stages, func(name string) (string, Origin, bool) {
			if _, found := p.find(name, false); found {
				return "", Origin{}, false
			}
			return why, origin(), true
		})
	}
	for _, list := range s.in.Only {
		only(newPatterns(list.Names), "not in the project's list", func() Origin { return list.Origin })
	}
	for _, list := range s.in.Exclude {
		away(list.Names, "excluded", func(string) Origin { return list.Origin })
	}
	away(s.def.Tools.Deny, "denied", s.denial)
	// The allow-list of the file, or in its place what a subagent has without one.
	switch {
	case s.def.Tools.Given:
		only(s.allow, "not in its list", sync.OnceValue(func() Origin { return s.allowance("") }))
	case s.in.Subagent:
		only(newPatterns(tool.Reading()), "a subagent whose file allows no tools by name only reads",
			func() Origin { return Origin{What: "default of subagents"} })
	}
	s.stages = append(s.stages, func(name string) (string, Origin, bool) {
		return "the agent that calls it does not have it", Origin{What: "the caller's tools"}, s.in.Within != nil &&
			!slices.Contains(s.in.Within, name)
	})
}

// offers reports whether a tool is, and by which list or against which.
//
// A tool that is offered has the entry of the list that allows it, if there is a list.
func (s *toolset) offers(name string) (bool, string, Origin) {
	if _, is := slices.BinarySearch(s.left, name); !is {
		for _, takes := range s.stages {
			if why, origin, is := takes(name); is {
				return false, why, origin
			}
		}
		return false, "its lists do not allow it", Origin{What: "tools"}
	}
	switch {
	case s.def.Tools.Given:
		entry, _ := s.allow.find(name, false)
		// definition adds the tool to the list of an agent that has subagents.
		if entry == delegate && !slices.Contains(s.def.Tools.Allow, delegate) {
			origin, _ := s.file("subagents", "agents", "tools")
			return true, "it has subagents", origin
		}
		return true, "allowed by " + quote(entry), s.allowance(entry)
	case s.in.Subagent:
		return true, "a subagent may read", Origin{What: "default of subagents"}
	}
	return true, "no list limits it", Origin{What: "default"}
}

// allowance is where an entry of the allow-list stands.
func (s *toolset) allowance(entry string) Origin {
	// The person's own override replaces the file's list.
	if over := s.persons("tools.allow"); len(over) > 0 {
		return over[len(over)-1]
	}
	return s.entry(entry, "tools.allow", "tools", "permissionMode", "allowed-tools")
}

// persons are the overrides of a key without those that only narrow.
func (s *toolset) persons(key string) []Origin {
	return slices.DeleteFunc(s.overrides(key), func(o Origin) bool {
		return slices.ContainsFunc(s.in.Only, func(l List) bool {
			return l.Origin.File == o.File &&
				l.Origin.Line == o.Line
		})
	})
}

// denial is where an entry of the deny-list stands.
func (s *toolset) denial(entry string) Origin {
	// Not the file's, so one of the overrides has it: these add to the file's list.
	if !slices.Contains(s.in.File.Tools.Deny, entry) {
		for _, o := range s.overrides("tools.deny") {
			for _, section := range s.over {
				var list []string
				if section.Origin.File == o.File && section.Origin.Line == o.Line &&
					json.Unmarshal(member(section.fields, "tools.deny"), &list) == nil && slices.Contains(list, entry) {
					return o
				}
			}
		}
	}
	return s.entry(entry, "tools.deny", "disallowedTools", "tools")
}

// quote is an entry of a list in quotes.
func quote(entry string) string { return fmt.Sprintf("%q", tool.Escape(entry)) }

// open is what the lists say of tools that are not registered.
//
// Globs are always among them, as each may be about a tool that comes later.
func (s *toolset) open() Open {
	known := make(map[string]bool, len(s.all))
	for _, t := range s.all {
		known[t.Spec().Name] = true
	}
	left := func(list []string) []string {
		var names []string
		for _, entry := range list {
			if canonical, ok := definition.CanonicalTool(entry); ok {
				entry = canonical
			}
			if strings.ContainsAny(entry, globbing) || !known[entry] {
				names = append(names, entry)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	o := Open{All: !s.def.Tools.Given && !s.in.Subagent, Deny: left(s.def.Tools.Deny),
		Require: left(s.def.Confirmation.Require)}
	if s.def.Tools.Given {
		o.Allow = left(s.def.Tools.Allow)
	}
	return o
}

// explain returns the tools one by one, by name, and the tokens of those that
// are offered.
func (s *toolset) explain(mode definition.Mode, whyTask Origin) (tools []Tool, tokens int) {
	judge := newJudge(s.in, s.def)
	for _, registered := range s.all {
		spec := registered.Spec()
		if spec.Name == completeTask && mode == definition.Task {
			continue // the run's own takes its place
		}
		t := Tool{Name: spec.Name}
		t.Offered, t.Why, t.Origin = s.offers(spec.Name)
		judge.decide(&t, spec)
		if t.Offered {
			tokens += model.EstimateTokens(spec.Name) + model.EstimateTokens(spec.Description) +
				model.EstimateTokens(string(spec.Parameters))
		}
		tools = append(tools, t)
	}
	if mode == definition.Task {
		// Its description and schema are the run's. What the agent's output adds to them is
		// counted.
		t := Tool{Name: completeTask, Offered: true, Added: true, Why: "a task ends with it", Origin: whyTask}
		judge.decide(&t, tool.Spec{Name: completeTask, Risk: tool.Safe})
		tokens += model.EstimateTokens(completeTask)
		if o := s.def.Output; o != nil {
			tokens += model.EstimateTokens(o.Name) + model.EstimateTokens(o.Description) +
				model.EstimateTokens(string(o.Schema))
		}
		tools = append(tools, t)
	}
	transfers, more := s.transfers(judge)
	tools = append(tools, transfers...)
	slices.SortStableFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools, tokens + more
}

// judge asks the gate about tools. It has no rules of its own.
//
// now is the approval mode that holds; request has what is the same for each tool.
type judge struct {
	gate    *guard.Gate
	request guard.Request
	// The approval mode that holds.
	now guard.Approval
}

// newJudge returns the judge of an agent's tools. Without a gate of the session it asks a new one,
// which has no taint and no remembered answers.
func newJudge(in *Input, def *definition.Definition) *judge {
	j := &judge{gate: in.Gate, now: in.Approval}
	if j.gate == nil {
		j.gate = guard.New()
	}
	j.request = guard.Request{
		ID: tool.Identity{Agent: def.Name}, Trusted: in.Trusted, CanAsk: in.CanAsk, Sandbox: in.Sandbox,
		Critical: in.Settings.Security.Critical == settings.AskCritical,
		Require:  def.Confirmation.Require, Project: projectOf(def), Deny: in.Deny, Allow: in.Allow,
	}
	return j
}

// ByCommand reports whether a tool's calls have the tier of the command that they
// run (spec 4.2), so that the tool's own says nothing of them.
func ByCommand(name string) bool { return name == "bash" }

// Tier is the least tier of a tool's calls, for bash that of a command that changes
// files; arguments may raise it (spec 11.1).
func Tier(spec tool.Spec) tool.Risk {
	if ByCommand(spec.Name) {
		return spec.Risk.Max(tool.Medium)
	}
	return spec.Risk
}

// decide fills in what becomes of a tool's calls: of one that has the tool's
// least tier or, for bash, of a command that changes files. The plan that is judged has
// no arguments: of a call with some the tier may be higher.
// Asks.Now is asked like the others with the mode that holds, and Reason is the gate's own
// text for it. TestAsksIsTheGates holds that both agree.
func (j *judge) decide(t *Tool, spec tool.Spec) {
	plan := &tool.Plan{Tool: spec.Name, Args: json.RawMessage("{}"), Risk: Tier(spec)}
	switch {
	case ByCommand(spec.Name):
		t.Command = true
		plan.Spawns, plan.Access = true, sandbox.Write
	case spec.Name == "git_commit":
		plan.Spawns, plan.Access = true, sandbox.Write
	// As the plans of these tools say it: a call of a server may do what a process can.
	case strings.HasPrefix(spec.Name, "mcp."):
		plan.Spawns = true
	}
	plan.Leaves = strings.HasPrefix(spec.Name, "web_") || strings.HasPrefix(spec.Name, "mcp.")
	t.Tier = plan.Risk.String()
	plan.Why = "its tier is " + t.Tier
	r := j.request
	// What the file requires is found out once (required), and then given for the whole tool.
	r.Plan, r.Require = plan, nil
	if t.Require = j.required(spec.Name); t.Require {
		r.Require = everything
	}
	verdict := func(mode guard.Approval) (Verdict, string) {
		r.Approval = mode
		d := j.gate.Authorize(r)
		switch d.Verdict {
		case guard.Auto:
			return Auto, ""
		case guard.Ask:
			return Ask, d.Why
		}
		return Refuse, d.Why
	}
	t.Asks.Plan, _ = verdict(guard.Plan)
	t.Asks.Ask, _ = verdict(guard.Asks)
	t.Asks.Edits, _ = verdict(guard.Edits)
	t.Asks.Auto, _ = verdict(guard.Free)
	t.Asks.Now, t.Reason = verdict(j.now)
}

// everything is a list that is about each tool: a glob that does not compile is.
var everything = []string{"["}

// required reports whether the agent's file says that a tool always asks: then
// a call asks that would run by itself in every mode.
func (j *judge) required(name string) bool {
	if len(j.request.Require) == 0 {
		return false
	}
	// A gate without taint or answers, and the most lenient circumstances: whatever asks here
	// asks because of the list.
	return guard.New().Authorize(guard.Request{
		ID: j.request.ID, Plan: &tool.Plan{Tool: name, Args: json.RawMessage("{}"), Risk: tool.Safe},
		Approval: guard.Free, Trusted: true, CanAsk: true, Require: j.request.Require,
	}).Verdict == guard.Ask
}

// projectOf returns the folder that an agent comes with, "" for one that comes
// with none.
func projectOf(def *definition.Definition) string {
	if !def.FromProject() {
		return ""
	}
	return cmp.Or(def.Folder, ".")
}
