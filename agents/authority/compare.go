package authority

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// Difference is how the power of an agent changes (spec 1.8, 4.2). A person is shown it
// before a file's new text is approved, so what gives power must never be missing in
// it.
type Difference struct {
	Grows bool     `json:"grows"` // one of the changes does
	Lines []Change `json:"lines"` // what gives power first
}

// Change is one line of a difference.
type Change struct {
	Sign  string `json:"sign"`           // + is there now, − is gone, ~ is another
	What  string `json:"what"`           // bash, confirmation of write_file, run.max_turns
	From  string `json:"from,omitempty"` // of a value that is another
	To    string `json:"to,omitempty"`
	Note  string `json:"note,omitempty"` // in words; the same in both directions
	Grows bool   `json:"grows"`          // it gives power

	// Field is what a file says it in, as tools.allow, and Name the entry of it
	// that it is about; "" = none by itself.
	Field string `json:"field,omitempty"`
	Name  string `json:"name,omitempty"`
}

// The signs of a [Change].
const (
	Added   = "+"
	Removed = "−"
	Other   = "~"
)

// Text is the change on one line, safe to be shown.
func (c Change) Text() string {
	text := c.Sign + " " + tool.Escape(c.What)
	if c.From != "" || c.To != "" {
		text += " " + tool.Escape(c.From) + " → " + tool.Escape(c.To)
	}
	if c.Note != "" {
		text += " (" + tool.Escape(c.Note) + ")"
	}
	return text
}

// Text is one line for each change; "" where there is none.
func (d Difference) Text() string {
	lines := make([]string, len(d.Lines))
	for i, c := range d.Lines {
		lines[i] = c.Text()
	}
	return strings.Join(lines, "\n")
}

// Compare says how the power of an agent changes from a to b: its tools, what of
// their calls a person is asked about in each mode, whom and what it reaches, and
// how much it may use. Both must be made in the same circumstances, or what these
// give is in the difference too. The difference from b to a has the same lines
// with + and −, and From and To, exchanged; a line that grows does not grow there,
// but for models and conditions, of which neither may be the lesser one.
//
// What one cannot say takes the strict side: an entry of a list about tools that
// are not registered counts as power, and so does a model without a price. It changes
// neither.
func Compare(a, b *Explanation) Difference {
	c := &comparing{}
	c.runs(a, b)
	c.tools(a, b)
	c.open(a.Open, b.Open)
	c.references("mcp.servers", "mcp server ", a.Servers, b.Servers)
	c.references("subagents", "subagent ", a.Subagents, b.Subagents)
	c.references("handoffs", "handoff to ", a.Handoffs, b.Handoffs)
	c.handoffs(a.Handoffs, b.Handoffs)
	c.references("graph", "agent of the graph ", a.Graph, b.Graph)
	c.field = "scope"
	c.set("questions about protected places", "only agents that do not come with the project may ask for them",
		a.Scope != definition.Project, b.Scope != definition.Project, true)
	for _, key := range []string{"run.max_turns", "run.max_time", "run.max_tokens", "run.max_cost"} {
		c.field = key
		c.limit(key, a, b)
	}
	c.models(a, b)
	c.field = "run.mode"
	if before, after := text(a, "run.mode"), text(b, "run.mode"); before != after {
		c.add(Change{Sign: Other, What: "run.mode", From: before, To: after})
	}
	slices.SortStableFunc(c.d.Lines, func(a, b Change) int { return rank(a) - rank(b) })
	return c.d
}

// rank puts what gives power first, and what is only other last.
func rank(c Change) int {
	switch {
	case c.Grows:
		return 0
	case c.Sign == Other:
		return 2
	}
	return 1
}

// comparing collects changes.
//
// Methods set field and name before they add, and take name back when they are done; field
// stays until the next one sets it.
type comparing struct {
	d           Difference
	field, name string // of the changes that come
}

// add notes a change of the field and the name that are looked at.
func (c *comparing) add(change Change) {
	change.Field, change.Name = c.field, c.name
	c.d.Lines = append(c.d.Lines, change)
	c.d.Grows = c.d.Grows || change.Grows
}

// set notes that something is there that was not, or the other way round. power
// is whether its being there gives power, or its absence.
// The same call serves both directions, which is what makes the difference from b to a the
// mirror of that from a to b (TestCompareLaws).
func (c *comparing) set(what, note string, before, after, power bool) {
	switch {
	case before == after:
	case after:
		c.add(Change{Sign: Added, What: what, Note: note, Grows: power})
	default:
		c.add(Change{Sign: Removed, What: what, Note: note, Grows: !power})
	}
}

// tools compares what is offered, tool by tool.
//
// A tool that one side does not have is one line with its tier; for the others only what
// differs is told.
func (c *comparing) tools(a, b *Explanation) {
	before, after := offeredTools(a), offeredTools(b)
	defer func() { c.name = "" }()
	for _, name := range union(before, after) {
		c.field, c.name = "tools.allow", name
		x, had := before[name]
		y, has := after[name]
		if !had || !has {
			one := x
			if has {
				one = y
			}
			c.set(name, describeTool(one), had, has, true)
			continue
		}
		if x.Tier != y.Tier {
			c.add(Change{Sign: Other, What: "tier of " + name, From: x.Tier, To: y.Tier})
		}
		c.asks(name, x, y)
	}
}

// describeTool says what comes or goes with a tool.
func describeTool(t Tool) string {
	what := "tier " + t.Tier
	if t.Command {
		what = "tier by command"
	}
	if t.Require {
		what += ", always asks"
	}
	return what
}

// offeredTools returns the tools that are offered, without those that a run adds to
// end with.
func offeredTools(e *Explanation) map[string]Tool {
	all := make(map[string]Tool, len(e.Tools))
	for _, t := range e.Tools {
		if t.Offered && !t.Added {
			all[t.Name] = t
		}
	}
	return all
}

// asks compares what becomes of a tool's calls in each mode.
// Modes in which the same happens are joined to one line; a note names them where they are
// not all four.
func (c *comparing) asks(name string, a, b Tool) {
	c.field = "tools.confirmation.require_confirmation"
	modes := []struct {
		name          string
		before, after Verdict
	}{
		{"plan", a.Asks.Plan, b.Asks.Plan}, {"ask", a.Asks.Ask, b.Asks.Ask},
		{"edits", a.Asks.Edits, b.Asks.Edits}, {"auto", a.Asks.Auto, b.Asks.Auto},
	}
	changed := make(map[string][]string) // what, and in which modes, by direction
	for _, m := range modes {
		if m.before == m.after {
			continue
		}
		what := "confirmation of "
		if m.before == Refuse || m.after == Refuse {
			what = "refusal of "
		}
		sign := Added
		if freedom(m.after) > freedom(m.before) {
			sign = Removed
		}
		changed[sign+what] = append(changed[sign+what], m.name)
	}
	if a.Require != b.Require {
		// No answer is remembered for what always asks: that is more than the modes tell.
		sign := Added
		if a.Require {
			sign = Removed
		}
		key := sign + "confirmation of "
		if _, told := changed[key]; !told {
			changed[key] = nil
		}
	}
	for _, what := range []string{"confirmation of ", "refusal of "} {
		for _, sign := range []string{Added, Removed} {
			in, is := changed[sign+what]
			if !is {
				continue
			}
			note := ""
			if len(in) > 0 && len(in) < len(modes) {
				note = "in mode " + strings.Join(in, ", ")
			}
			c.add(Change{Sign: sign, What: what + name, Note: note, Grows: sign == Removed})
		}
	}
}

// freedom orders the verdicts, the strictest first; what is none is strictest.
func freedom(v Verdict) int { return slices.Index([]Verdict{Refuse, Ask, Auto}, v) }

// open compares what the lists say of tools that are not there yet.
// Where only one side has every tool that comes later, its allow-list is not compared name by
// name: the line about all says more.
func (c *comparing) open(a, b Open) {
	const later = "no such tool is registered now"
	c.field = "tools.allow"
	c.set("every tool that is registered later", "", a.All, b.All, true)
	if a.All == b.All {
		c.names("", later, a.Allow, b.Allow, true)
	}
	c.field = "tools.deny"
	c.names("denial of ", later, a.Deny, b.Deny, false)
	c.field = "tools.confirmation.require_confirmation"
	c.names("confirmation of ", later, a.Require, b.Require, false)
}

// names compares two lists of names, each as something that is there or not.
func (c *comparing) names(what, note string, a, b []string, power bool) {
	before, after := setOf(a), setOf(b)
	defer func() { c.name = "" }()
	for _, name := range sortedUnion(a, b) {
		c.name = name
		c.set(what+name, note, before[name], after[name], power)
	}
}

// setOf returns the set of a list.
func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// runs compares who may start the agent, and what of its file keeps every run
// from beginning.
func (c *comparing) runs(a, b *Explanation) {
	c.set("the right to run at all", "", runnable(a), runnable(b), true)
	c.names("restriction: ", "no run begins with it", a.Restricted, b.Restricted, false)
	for _, by := range []struct{ key, what string }{
		{"user_invocable", "runs that a person starts"}, {notDelegable, "runs that other agents start"},
		{"routable", "runs that routing starts"}, {"memory_files", "memory files behind the prompt"},
	} {
		c.field = by.key
		c.set(by.what, "", given(a, by.key), given(b, by.key), true)
	}
	c.field = "memory"
	c.names("long-term memory ", "", remembers(a), remembers(b), true)
	c.field = ""
}

// remembers says whose long-term memory an agent reads and writes.
func remembers(e *Explanation) []string {
	v, given := e.Value("memory")
	switch {
	case !given:
		return nil
	case v.Value == "agent":
		return []string{"of its own"}
	case v.Value == "workspace":
		return []string{"of the workspace"}
	}
	return []string{"of all your agents"}
}

// runnable reports whether nothing but its own file's restrictions, which are
// compared one by one, keeps an agent from running.
// Other reasons are an untrusted folder, a problem of the file, or that it is switched
// off.
func runnable(e *Explanation) bool {
	own := map[string]bool{NotByPersons: true}
	for _, why := range e.Restricted {
		own[restricts(why)] = true
	}
	return !slices.ContainsFunc(e.Refused, func(why string) bool { return !own[why] })
}

// given reports whether an agent has what a file has to take away: an explanation
// tells the value where it does.
func given(e *Explanation, key string) bool {
	v, told := e.Value(key)
	// disable-model-invocation says no where the others say yes.
	return !told || v.Value == (key != notDelegable)
}

// handoffs compares when those are made that both have. One that is offered while
// a condition holds is less than one that always is, and one that the run makes by
// itself is more.
func (c *comparing) handoffs(a, b []Reference) {
	before := make(map[string]Reference, len(a))
	for _, r := range a {
		before[r.Name] = r
	}
	defer func() { c.name = "" }()
	rank := func(r Reference) int { return slices.Index([]string{"conditional", "manual", "auto"}, r.When) }
	when := func(r Reference) string {
		if r.Condition != "" {
			return r.When + " (" + r.Condition + ")"
		}
		return r.When
	}
	told := make(map[string]bool, len(b))
	for _, after := range b {
		r, had := before[after.Name]
		if !had || told[after.Name] || when(r) == when(after) {
			continue
		}
		told[after.Name] = true
		more := rank(after) > rank(r) || (rank(after) == rank(r) && r.Condition != "")
		c.name = after.Name
		c.add(Change{Sign: Other, What: "handoff to " + after.Name, From: when(r), To: when(after), Grows: more})
	}
}

// references compares whom or what an agent reaches, by name.
func (c *comparing) references(field, what string, a, b []Reference) {
	names := func(list []Reference) []string {
		var all []string
		for _, r := range list {
			all = append(all, r.Name)
		}
		return all
	}
	c.field = field
	defer func() { c.name = "" }()
	before, after := setOf(names(a)), setOf(names(b))
	for _, name := range sortedUnion(names(a), names(b)) {
		c.name = name
		switch {
		case before[name] == after[name]:
		case after[name]:
			// One of all there are is no more; a handoff has no name for all.
			c.add(Change{Sign: Added, What: what + name, Grows: !before["*"] || field == "handoffs"})
		default:
			c.add(Change{Sign: Removed, What: what + name})
		}
	}
}

// limit compares a number of which 0 is none. More, or no limit any more, gives power.
// The texts are those of the values, so durations and dollars look as they do elsewhere.
func (c *comparing) limit(key string, a, b *Explanation) {
	before, after := number(a, key), number(b, key)
	if before == after {
		return
	}
	more := after == 0 || (before != 0 && after > before)
	sign := Removed
	if more {
		sign = Added
	}
	c.add(Change{Sign: sign, What: key, From: text(a, key), To: text(b, key), Grows: more})
}

// models compares who answers: one that is dearer in anything, whose price is not
// known, or that each run may have another of, may cost more.
func (c *comparing) models(a, b *Explanation) {
	c.field = "model"
	if a.Model.ID != b.Model.ID || a.Model.Route != b.Model.Route {
		more := dearer(a.Model.Prices, b.Model.Prices) || (b.Model.ID == model.Auto && a.Model.ID != model.Auto)
		c.add(Change{Sign: Other, What: "model", From: answers(a), To: answers(b), Grows: more})
	}
	c.field = "fallback_models"
	if !slices.Equal(a.Model.Fallbacks, b.Model.Fallbacks) {
		c.add(Change{Sign: Other, What: "fallback_models", From: text(a, "fallback_models"),
			To: text(b, "fallback_models"), Grows: fallbacksGrow(a.Model, b.Model)})
	}
}

// fallbacksGrow reports whether one of the models that b tries when the first one
// fails may cost more than all that a has tried by then.
// A fallback is compared with the models that a tries up to the same place, and one of
// these is no news.
func fallbacksGrow(a, b Model) bool {
	tried, prices := []string{a.ID}, slices.Clone(a.Prices)
	for i, id := range b.Fallbacks {
		if i < len(a.Fallbacks) {
			tried, prices = append(tried, a.Fallbacks[i]), append(prices, a.FallbackPrices[a.Fallbacks[i]]...)
		}
		if !slices.Contains(tried, id) && dearer(prices, b.FallbackPrices[id]) {
			return true
		}
	}
	return false
}

// dearer reports whether y is not known to cost at most as much as x, whatever a
// run uses of it. Where x has no price, none that is known is more.
//
// An unknown price of y is dearer than any known one; where neither is known it is dearer
// as well. Cached input without a price of its own costs as other input.
func dearer(x, y []model.Price) bool {
	if len(y) == 0 {
		return true
	}
	most := func(prices []model.Price) (in, cached, out float64) {
		for _, p := range prices {
			in, cached, out = max(in, p.Input), max(cached, cmp.Or(p.Cached, p.Input)), max(out, p.Output)
		}
		return in, cached, out
	}
	in, cached, out := most(x)
	toIn, toCached, toOut := most(y)
	return len(x) > 0 && (toIn > in || toCached > cached || toOut > out)
}

// answers says who does, without the way there.
func answers(e *Explanation) string {
	if e.Model.Route != "" {
		return "auto (" + e.Model.Route + ")"
	}
	return e.Model.ID
}

// text is a value as it is shown; "" for none.
func text(e *Explanation, key string) string {
	v, _ := e.Value(key)
	return v.Text
}

// number returns a value that is a number; 0 for another.
func number(e *Explanation, key string) float64 {
	v, _ := e.Value(key)
	switch n := v.Value.(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// union returns the keys of both, sorted.
func union(a, b map[string]Tool) []string {
	var names []string
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sortedUnion returns what is in one of two lists, sorted, each once.
func sortedUnion(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
