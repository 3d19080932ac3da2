package authority

// Limits, sampling, confirmation, and what the file names outside of it.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/graph"
	"github.com/agentls/agentls/agents/handoff"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// limits are those of a run and of its tree. Of a project's file that nobody has
// reviewed they are the clamped ones, with that as their origin.
// A clamped limit is told as one only where it is less than what the file or the default
// asks for.
func (x *explainer) limits(mode definition.Mode) {
	turns, span := x.turns(x.def, mode)
	task := mode == definition.Task
	clamped := Origin{What: "the most of a project's file that nobody has reviewed"}
	standard := Origin{What: "default of " + string(mode) + " runs"}

	from := x.originsOf(standard, x.in.File.MaxTurns > 0, "run.max_turns", "run.max_turns")
	// It counts last, whatever the file and the overrides say.
	if asked := cmp.Or(x.def.MaxTurns, defaultTurns(task)); asked > turns {
		from = append(from, clamped)
	}
	x.add("run.max_turns", fmt.Sprint(turns), turns, from...)

	from = x.originsOf(standard, x.in.File.MaxTime > 0, "run.max_time", "run.max_time")
	if asked := cmp.Or(x.def.MaxTime, defaultTime(task)); asked > span {
		from = append(from, clamped)
	}
	x.add("run.max_time", Span(span), span.Seconds(), from...)

	none := Origin{What: "default"}
	tokens := "none"
	if x.def.MaxTokens > 0 {
		tokens = fmt.Sprint(x.def.MaxTokens)
	}
	x.add("run.max_tokens", tokens, x.def.MaxTokens, x.originsOf(none, x.in.File.MaxTokens > 0,
		"run.max_tokens", "run.max_tokens")...)
	cost := "none"
	if x.def.MaxCost > 0 {
		cost = dollars(x.def.MaxCost)
		if !x.priced() {
			cost += " (not enforced: no price is known)"
		}
	}
	x.add("run.max_cost", cost, x.def.MaxCost, x.originsOf(none, x.in.File.MaxCost > 0,
		"run.max_cost", "run.max_cost")...)

	limits := x.in.Settings.Limits
	for _, l := range []struct {
		key   string
		value int
	}{
		{"limits.modelCalls", limits.ModelCalls}, {"limits.depth", limits.Depth}, {"limits.live", limits.Live},
		{"limits.runs", limits.Runs}, {"limits.inputTokens", limits.InputTokens},
	} {
		origin := cmp.Or(x.in.origin("agents."+l.key), none)
		x.add(l.key, fmt.Sprint(l.value), l.value, origin)
	}
}

// dollars is a sum for people: to the cent, or as exactly as it was written.
func dollars(sum float64) string {
	cents, exact := strconv.FormatFloat(sum, 'f', 2, 64), strconv.FormatFloat(sum, 'f', -1, 64)
	if len(exact) > len(cents) {
		cents = exact
	}
	return "$" + cents
}

// turns returns the turns and the time of a run of an agent, as they are when
// nobody says otherwise.
func (x *explainer) turns(d *definition.Definition, mode definition.Mode) (int, time.Duration) {
	task := mode == definition.Task
	turns, span := cmp.Or(d.MaxTurns, defaultTurns(task)), cmp.Or(d.MaxTime, defaultTime(task))
	if x.in.Unreviewed && d.Scope == definition.Project {
		return Clamp(mode, turns, span)
	}
	return turns, span
}

// Clamp lowers the limits of a run of a project's file that nobody has reviewed
// to those of spec 12.2. A time of 0 is none. Runs ask the same function.
func Clamp(mode definition.Mode, turns int, span time.Duration) (int, time.Duration) {
	if mode != definition.Task {
		return min(turns, UnreviewedChatTurns), span
	}
	if span == 0 {
		span = UnreviewedTaskTime
	}
	return min(turns, UnreviewedTaskTurns), min(span, UnreviewedTaskTime)
}

// defaultTurns is the turns of a run whose file does not say.
func defaultTurns(task bool) int {
	if task {
		return definition.DefaultTaskTurns
	}
	return definition.DefaultChatTurns
}

// defaultTime is the time of a run whose file does not say; 0 = none.
func defaultTime(task bool) time.Duration {
	if task {
		return definition.DefaultTaskTime
	}
	return 0
}

// Span is a time for people; 0 is none.
func Span(d time.Duration) string {
	if d == 0 {
		return "none"
	}
	text := d.String()
	// 5m0s is 5m, and 1h0m0s is 1h.
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// priced reports whether the price of every model that may answer is known.
func (x *explainer) priced() bool {
	return !slices.ContainsFunc(x.entries, func(e model.Entry) bool { return len(e.Prices) == 0 })
}

// sampling is what the model is told beside the conversation.
// Values that the model does not take are told with that they are not sent.
func (x *explainer) sampling() {
	d := x.def
	var entry model.Entry
	if len(x.entries) > 0 {
		// That of the model which is asked first. Fallbacks may take other values.
		entry = x.entries[0]
	}
	options := model.Options{Temperature: d.Temperature, TopP: d.TopP, ThinkingBudget: d.ThinkingBudget,
		ThinkingLevel: d.ThinkingLevel}
	sent, _ := entry.Adjust(options)
	none := Origin{What: "the model's own"}
	number := func(key string, asked, given *float64, file *float64) {
		if asked == nil {
			return
		}
		text := fmt.Sprint(*asked)
		if given == nil {
			text += " (not sent: the model takes none)"
		}
		x.add(key, text, *asked, x.originsOf(none, file != nil, key, key)...)
	}
	number("temperature", d.Temperature, sent.Temperature, x.in.File.Temperature)
	number("top_p", d.TopP, sent.TopP, x.in.File.TopP)
	if d.ThinkingBudget == nil && d.ThinkingLevel == "" {
		return
	}
	text := "not sent"
	switch budget, level := entry.Think(options); {
	case budget != nil && *budget < 0:
		text = "unlimited"
	case budget != nil:
		text = fmt.Sprintf("%d tokens", *budget)
	case level != "":
		text = level
	}
	from := x.originsOf(none, true, "thinking_budget", "thinking_budget", "thinking_level", "effort")
	x.add("thinking", text, text, from...)
}

// confirmation is what the person is asked beyond the table of spec 4.2, and
// what of it they have answered in their settings.
func (x *explainer) confirmation() {
	c := x.def.Confirmation
	none := Origin{What: "default"}
	required := "none beyond those of their tier"
	from := []Origin{none}
	const field = "tools.confirmation."
	if len(c.Require) > 0 {
		required = strings.Join(c.Require, ", ")
		origin, _ := x.file(field+"require_confirmation", "tools", "permissionMode")
		from = append(from, origin)
	}
	x.add(field+"require_confirmation", required, list(c.Require), from...)
	timeout := x.in.Settings.ConfirmationTimeout
	from = []Origin{none}
	if origin := x.in.origin("agents.confirmationTimeout"); origin != (Origin{}) {
		from = append(from, origin)
	}
	if c.Given {
		timeout = c.Timeout
		origin, _ := x.file(field + "timeout")
		from = append(from, origin)
	}
	x.add(field+"timeout", Span(timeout), timeout.Seconds(), from...)
	if c.Prompt != "" {
		origin, _ := x.file(field + "prompt_template")
		x.add(field+"prompt_template", "shown below the facts", c.Prompt, origin)
	}
	// Each rule is a value of its own, with the line that it is written in.
	rules := func(key string, all []tool.Rule) {
		for _, r := range all {
			x.add(key, r.Text, r.Text, r.Origin)
		}
	}
	rules("tools.exclude", x.in.Deny)
	rules("tools.allowed", x.in.Allow)
}

// list copies names; it is never nil, so that JSON has [] and not null.
func list(names []string) []string { return append([]string{}, names...) }

// references are what the file names outside of it.
//
// It comes after the tools: a reference is only reached if the tool that leads there is
// offered.
func (x *explainer) references() {
	x.serverReferences()
	known := func(name string) bool { return name != x.def.Name && x.in.ByName[name] != nil }
	x.subagentReferences(known)
	if g := x.def.Graph; g != nil {
		for i, n := range g.Nodes {
			if n.Kind == graph.Agent || n.Kind == graph.Graph {
				r := Reference{Name: n.Of, Known: x.meant(n.Of) != nil,
					Text: fmt.Sprintf("node %s, %s", n.Name, within), Origin: x.node(i)}
				if !r.Known {
					r.Text = "unknown"
				}
				x.e.Graph = append(x.e.Graph, r)
			}
		}
	}
	var transfers []string
	for _, t := range x.e.Tools {
		// The tools of handoffs are among those that a run adds.
		if t.Offered && t.Added {
			transfers = append(transfers, t.Name)
		}
	}
	for _, h := range x.def.Handoffs {
		r := Reference{Name: h.To, Known: x.meant(h.To) != nil || h.To == "user", Text: h.When, When: h.When,
			Condition: h.Condition, Origin: x.entry(h.To, "handoffs")}
		x.e.Handoffs = append(x.e.Handoffs, unless(r, handoff.ToolName(h.To), transfers))
	}
	x.memoryReferences()
}

// meant returns the agent that an entry of handoffs or a graph's node names, which may say
// in which folder it is: folder:name. nil where there is none, or it is the agent itself.
func (x *explainer) meant(name string) *definition.Definition {
	if name == x.def.Name {
		return nil
	}
	return x.in.ByName[name[strings.LastIndexByte(name, ':')+1:]]
}

// serverReferences are the MCP servers that the file names.
//
// One that is not configured is listed as not known. What a server does now is told where
// the input says it.
func (x *explainer) serverReferences() {
	servers := make(map[string]Server, len(x.in.Servers))
	for _, s := range x.in.Servers {
		servers[s.Name] = s
	}
	for _, name := range x.def.MCPServers {
		r := Reference{Name: name, Origin: x.entry(name, "mcp.servers", "mcpServers", "mcp_servers", "tools")}
		switch _, known := servers[name]; {
		case name == "*":
			r.Known, r.Text = true, fmt.Sprintf("all that the settings have (%d)", len(servers))
		case known:
			r.Known, r.Text = true, "configured at "+place(servers[name].Origin)
			if state := servers[name].State; state != "" {
				r.Text += "; " + state
			}
		default:
			r.Text = "not configured"
		}
		x.e.Servers = append(x.e.Servers, r)
	}
}

// subagentReferences are the agents that the file lets it call.
// Without Callable it is not told of an agent whether it may be called.
func (x *explainer) subagentReferences(known func(name string) bool) {
	offered := x.registeredNames()
	for _, name := range x.def.Subagents {
		r := Reference{Name: name, Known: name == "*" || known(name),
			Origin: x.entry(name, "subagents", "agents", "tools")}
		switch {
		case name == "*" && x.in.Callable != nil:
			r.Text = fmt.Sprintf("all that may be called (%d): %s; %s", len(x.in.Callable),
				strings.Join(first(x.in.Callable, 20), ", "), within)
		case name == "*":
			r.Text = fmt.Sprintf("all that there are (%d)", len(x.in.Agents))
		case r.Known && x.in.Callable != nil && !slices.Contains(x.in.Callable, name):
			r.Text = "not called here: it is switched off, not usable, not trusted, or not for other agents"
		case r.Known && x.in.Callable != nil:
			r.Text = within
		}
		x.e.Subagents = append(x.e.Subagents, unless(r, delegate, offered))
	}
}

// memoryReferences are what the agent remembers, and the memory files behind its prompt.
//
// A memory that the file asks for and that has no place is shown as off.
func (x *explainer) memoryReferences() {
	d := x.def
	if d.Memory != nil {
		origin, _ := x.file("memory")
		text := "off: there is nowhere to keep it"
		if x.in.Memory != "" {
			text = x.in.Memory
		}
		x.add("memory", text, d.Memory.Scope, origin)
	}
	// Told where there are files, and where the agent's file does not want any.
	if x.in.MemoryFiles != nil || !d.MemoryFiles {
		origin, given := x.file("memory_files")
		if !given {
			origin = Origin{What: "default"}
		}
		text := "not read"
		if d.MemoryFiles {
			x.e.Memory = slices.Clone(x.in.MemoryFiles)
			text = fmt.Sprintf("%d follow the prompt", len(x.in.MemoryFiles))
		}
		x.add("memory_files", text, d.MemoryFiles, origin)
	}
}

// within says what an agent gets that another one calls.
const within = "with the tools that both may use, and no question less than here"

// first returns up to n entries of a list, and that there are more.
func first(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), "…")
}

// unless notes that an agent is not known, or that the tool which leads to it is
// not offered.
//
// name is the tool and offered are the names of those that the agent has.
func unless(r Reference, name string, offered []string) Reference {
	switch {
	case !r.Known:
		r.Text = "unknown"
	case !slices.Contains(offered, name):
		r.Text = strings.TrimPrefix(r.Text+"; not reached: "+name+" is not offered", "; ")
	}
	return r
}
