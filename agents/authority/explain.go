package authority

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// Explain returns what an agent really gets (spec 1.8). in.File must not be nil. The
// result is the caller's. Not all of its texts are escaped: [Text] and [Markdown]
// escape what they show, other readers have to.
func Explain(in Input) *Explanation {
	def := in.Definition
	if def == nil {
		def = in.File
	}
	if in.Table == nil {
		in.Table = model.NewTable(nil)
	}
	if in.Approval == "" {
		in.Approval = guard.ByDefault
	}
	// in is a copy, so what is filled in here is not the caller's.
	if in.ByName == nil {
		in.ByName = make(map[string]*definition.Definition, len(in.Agents))
		for _, d := range in.Agents {
			in.ByName[d.Name] = d
		}
	}
	x := &explainer{in: &in, def: def, places: newPlaces(&in)}
	x.e = &Explanation{
		Name: def.Name, Title: def.Title, File: def.Path, Scope: def.Scope, Ignored: slices.Clone(in.Ignored),
		Trusted: in.Trusted, Approval: string(in.Approval),
	}
	// The order is that of the results: each part reads what those before it have filled in.
	x.refusals()
	x.explainLost()
	mode, whyTask := x.mode()
	set := newToolset(x.places, def)
	x.e.Open = set.open()
	x.e.Tools, x.e.Tokens.Tools = set.explain(mode, whyTask)
	x.e.Tokens.Prompt = model.EstimateTokens(def.Prompt)
	if def.Graph != nil { // it goes through its nodes instead of asking
		x.e.Tokens = Tokens{}
	}
	x.model(mode)
	x.limits(mode)
	x.sampling()
	x.confirmation()
	x.references()
	x.guards()
	for _, h := range in.Hooks {
		h.Name, h.Text = tool.Escape(h.Name), tool.Escape(h.Text)
		x.e.Hooks = append(x.e.Hooks, h)
	}
	x.e.Worst = Worst(x.worst(mode))
	return x.e
}

// explainer makes one explanation. Its parts fill in e in the order of Explain: what is
// reached (routes, subagents, the worst case) goes by the tools that are offered.
type explainer struct {
	*places
	in *Input
	// With the overrides of the settings; in.File is without them.
	def *definition.Definition
	e   *Explanation

	entries []model.Entry // of who may answer
	sums    []model.Entry // of who may sum up
}

// add notes a value; from is what says it, the weakest first, at least one. The last of
// them counts; the others are what it overrode.
func (x *explainer) add(key, text string, value any, from ...Origin) {
	origin, overrode := holds(from)
	x.e.Values = append(x.e.Values, Value{Key: key, Text: tool.Escape(text), Value: value,
		Origin: origin, Overrode: overrode})
}

// originsOf returns what says a field: the standard, the file where it is given
// there, the overrides. fields are where the file may have it.
// given is for values that the file has in a spelling which fields does not list.
func (x *explainer) originsOf(standard Origin, given bool, key string, fields ...string) []Origin {
	all := []Origin{standard}
	if origin, found := x.file(fields...); found || given {
		all = append(all, origin)
	}
	return append(all, x.overrides(key)...)
}

// explainLost says which entries of the lists of tools name none, and what has no effect.
func (x *explainer) explainLost() {
	for _, p := range x.def.Problems {
		if p.Code == "agent/tool-unknown" || p.Code == "agent/no-effect" {
			x.e.Lost = append(x.e.Lost, tool.Escape(fmt.Sprintf("line %d: %s", p.Range.Start.Line+1, p.Message)))
		}
	}
}

// refusals says why no run of the agent begins.
// Each reason is a sentence for the person with the way out of it where there is one.
// Values that are told here (user_invocable and the like) are told only where they differ
// from the default.
func (x *explainer) refusals() {
	refuse := func(format string, args ...any) { x.e.Refused = append(x.e.Refused, fmt.Sprintf(format, args...)) }
	if ok, why := x.def.Usable(); !ok {
		refuse("line %d: %s", why.Range.Start.Line+1, why.Message)
	}
	if x.def.FromProject() && !x.in.Trusted {
		refuse("its folder is not trusted: look at what it brings, then trust it (agentls trust)")
	}
	// Told twice: as reasons why it does not run, and by themselves, for Compare.
	x.e.Restricted = slices.Clone(x.def.Authority)
	for _, why := range x.def.Authority {
		refuse("%s", restricts(why))
	}
	if x.in.Off != (Origin{}) {
		refuse("it is switched off by %s", place(x.in.Off))
	}
	standard := Origin{What: "default"}
	if !x.def.UserInvocable {
		if !x.in.Subagent {
			refuse(NotByPersons)
		}
		x.add("user_invocable", "no: other agents run it, not a person", false,
			x.originsOf(standard, true, "user_invocable", "user_invocable", "user-invocable",
				"userInvocable", "user-invokable")...)
	}
	if !x.def.Delegable {
		x.add(notDelegable, "yes: a person runs it, no other agent", true,
			x.originsOf(standard, true, notDelegable, notDelegable, "disableModelInvocation", "mode")...)
	}
	if !x.def.Routable {
		x.add("routable", "no: only who names it runs it", false,
			x.originsOf(standard, true, "routable", "routable", notDelegable, "disableModelInvocation", "mode")...)
	}
}

// NotByPersons is why a person cannot run an agent that is for other agents.
const NotByPersons = "it is not meant to be run by a person (user_invocable: false); other agents may run it"

// notDelegable is the key by which a file says that no other agent may start the agent.
const notDelegable = "disable-model-invocation"

// restricts says that an agent does not run because of what its file has.
func restricts(why string) string {
	return "it restricts itself in a way that cannot be kept here: " + why
}

// mode returns how a run ends when nobody says otherwise, and what makes it a
// task.
func (x *explainer) mode() (definition.Mode, Origin) {
	mode := cmp.Or(x.def.Mode, definition.Chat)
	from := x.originsOf(Origin{What: "default"}, x.in.File.Mode == definition.Task, "run.mode", "run.mode")
	// As a run does it: complete_task is what gives a structured result.
	if x.def.Output != nil {
		output, _ := x.file("output")
		mode, from = definition.Task, append(from, output)
	}
	x.add("run.mode", string(mode), mode, from...)
	return mode, from[len(from)-1]
}

// delegate is the tool that leads to subagents (spec 4.1).
const delegate = "delegate_to_agent"

// model says who answers. It comes after the tools, since rules of the model auto may
// ask for them.
func (x *explainer) model(mode definition.Mode) {
	standard := Origin{What: "default"}
	from := []Origin{standard}
	if named(x.in.Settings.Model.Name) {
		from = append(from, x.in.origin("model.name"))
	}
	// def has the overrides in it; the file is an origin only where it says a model itself.
	if named(x.def.Model) {
		if named(x.in.File.Model) {
			origin, _ := x.file("model")
			from = append(from, origin)
		}
		from = append(from, x.overrides("model")...)
	}
	m, entries := x.resolve(x.def)
	text := chain(m)
	if m.ID == model.Auto {
		text = x.route(&m, mode)
	}
	x.e.Model, x.entries = m, entries
	x.add("model", text, m.ID, from...)

	text, from = "none", []Origin{standard}
	if origin := x.in.origin("agents.fallbackModels"); origin != (Origin{}) {
		from = append(from, origin)
	}
	if len(x.def.FallbackModels) > 0 {
		origin, _ := x.file("fallback_models")
		from = append(from, origin)
	}
	if len(m.Fallbacks) > 0 {
		text = strings.Join(m.Fallbacks, ", ")
	}
	x.add("fallback_models", text, m.Fallbacks, from...)
	if x.in.Settings.Compression.Enabled {
		x.sums = x.summing(entries)
	}
}

// named reports a model that is said: neither empty nor inherit.
func named(model string) bool { return model != "" && model != "inherit" }

// resolve returns who answers for an agent, and what is known of all that may. A
// fallback that is not configured is left out, as a run leaves it out; for the model
// auto all targets of the rules may answer.
// But for auto, the first of the entries is that of the model that is asked first, and
// empty where the table does not know it.
func (x *explainer) resolve(d *definition.Definition) (Model, []model.Entry) {
	name := x.in.Standard
	for _, n := range []string{x.in.Settings.Model.Name, d.Model} {
		if named(n) {
			name = n
		}
	}
	m := Model{Name: name, ID: name, Fallbacks: []string{}}
	var entries []model.Entry
	if name == model.Auto {
		for _, r := range append(slices.Clone(x.in.Routes), model.Route{Model: x.in.Standard}) {
			_, e, _ := x.in.Table.Resolve(r.Model, x.in.Standard)
			entries = append(entries, e)
		}
	} else {
		var e model.Entry
		m.ID, e, m.Known = x.in.Table.Resolve(name, x.in.Standard)
		_, m.Retired = x.in.Table.Successor(name)
		m.Window, m.Prices = e.Window, slices.Clone(e.Prices)
		entries = append(entries, e)
	}
	names := d.FallbackModels
	if len(names) == 0 {
		names = x.in.Settings.FallbackModels
	}
	for _, name := range names {
		id, e, _ := x.in.Table.Resolve(name, x.in.Standard)
		// Prices of a fallback are told only where they are known: none is not 0.
		if x.configured(id) {
			m.Fallbacks = append(m.Fallbacks, id)
			if len(e.Prices) > 0 {
				if m.FallbackPrices == nil {
					m.FallbackPrices = make(map[string][]model.Price)
				}
				m.FallbackPrices[id] = slices.Clone(e.Prices)
			}
			entries = append(entries, e)
		}
	}
	return m, entries
}

// configured reports whether a model can be asked.
func (x *explainer) configured(id string) bool { return x.in.Configured == nil || x.in.Configured(id) }

// summing returns what is known of who sums contexts up, for an agent with these
// models.
// As a run does it: a model that is not configured is replaced by the agent's own.
func (x *explainer) summing(own []model.Entry) []model.Entry {
	if name := x.in.Settings.Compression.Model; name != "" {
		if id, e, _ := x.in.Table.Resolve(name, x.in.Standard); x.configured(id) {
			return []model.Entry{e}
		}
	}
	return own
}

// chain is the way from a written name to the id that is asked for.
//
// It has an arrow only where the two differ, as with an alias.
func chain(m Model) string {
	text := m.Name
	if m.ID != m.Name {
		text += " → " + m.ID
	}
	switch {
	case m.Retired && m.ID != m.Name:
		text += " (its successor: the named one is retired)"
	case m.Retired:
		text += " (retired)"
	case !m.Known:
		text += " (not in the table of models)"
	}
	return text
}

// route says which model a run in a new context has by the settings' rules.
// It fills in m's window and prices by the model that is chosen. A rule may depend on what
// is said later, so this is about a context without messages.
func (x *explainer) route(m *Model, mode definition.Mode) string {
	name, by := x.in.Standard, "no rule of model.routes fits"
	facts := model.Facts{Mode: string(mode), Tools: x.registeredNames()}
	for i, r := range x.in.Routes {
		// The first prefix of the rules that chooses ends with the rule that did.
		if to, ok := model.Choose(x.in.Routes[:i+1], facts); ok {
			at := explanation.OriginOf("model.routes", r.Origin)
			name, by = to, fmt.Sprintf("rule %d of model.routes at %s", i+1, place(at))
			break
		}
	}
	id, e, known := x.in.Table.Resolve(name, x.in.Standard)
	m.Route, m.Known, m.Window, m.Prices = id, known, e.Window, slices.Clone(e.Prices)
	return fmt.Sprintf("auto → %s in a new context (%s)", id, by)
}

// registeredNames returns the names of the offered tools that are registered.
func (x *explainer) registeredNames() []string {
	var names []string
	for _, t := range x.e.Tools {
		if t.Offered && !t.Added {
			names = append(names, t.Name)
		}
	}
	return names
}
