package language

// Completion of values: what a field may be, by its type and its meaning.

import (
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/graph"
	"github.com/agentls/agentls/agents/model"
)

// value offers values of the field at hand. It finds out what may be replaced, and how a
// text must be written there (quotes, brackets, commas), and then offers what the field
// table lists, true and false, and what only the meaning of the field tells.
func (c *completion) value() {
	f, p := c.f, c.place
	var ok bool
	if c.span, c.quote, ok = f.word(p.last().Span, c.offset); !ok {
		return
	}
	if f.before(c.span.Start) == ':' && c.quote == 0 {
		c.space = " "
	}
	if c.quote == 0 && strings.HasPrefix(f.Text[c.span.End:], "#") {
		c.behind = " " // or else the comment is part of it
	}
	c.flow = f.bracketed(c.span.Start)
	field, known := definition.FieldAt(p.field)
	if !known || (p.list && c.besideBrackets()) {
		return
	}
	if p.list && len(definition.KeysUnder(tablePath(p.field+"[]"))) > 0 {
		// "- t": the entry is to become a mapping.
		c.keys(p.field + "[]")
		return
	}
	whole := p.last().Span
	var first byte
	if whole.Start < whole.End {
		first = f.Text[whole.Start]
	}
	onQuote := c.quote == 0 && (first == '"' || first == '\'')
	blocked := first == '|' || first == '>'
	c.block = blocked && whole.Start < f.lineStart(c.offset)
	if (onQuote || (blocked && !c.block)) && strings.ContainsAny(f.Text[whole.Start:whole.End], "\r\n") {
		return // no line of it can be replaced alone
	}
	lists := slices.Contains(field.Type, "string[]")
	if !p.list && first != '[' && c.commaText(field) {
		if part := f.part(c.span, c.offset); part != c.span {
			if onQuote {
				return // around several names: one in place of a part would break it
			}
			c.span, c.space = part, ""
		}
	} else {
		// A field that also takes a text needs no list around it.
		c.wrap = lists && !p.list && c.quote == 0 && !c.block && !slices.Contains(field.Type, "string")
	}
	for _, v := range field.Values {
		i := Item{Label: v, Kind: ValueItem, Doc: escape(field.Doc)}
		if v == field.Default {
			i.Detail = "default"
		}
		c.scalar(i)
	}
	if slices.Contains(field.Type, "boolean") {
		c.wrap = false
		for _, v := range []string{"true", "false"} {
			i := Item{Label: v, Kind: ValueItem, Doc: escape(field.Doc), Insert: c.space + v + c.behind}
			if v == field.Default {
				i.Detail = "default"
			}
			if c.quote == 0 && !c.block {
				c.add(i)
			}
		}
	}
	c.byMeaning(field)
}

// besideBrackets reports whether there is nothing at hand but the outside of a list
// or a mapping in brackets, which an entry would become a part of.
func (c *completion) besideBrackets() bool {
	before, after := c.f.Text[:c.span.Start], c.f.Text[c.span.End:]
	return c.span.Start == c.span.End && c.quote == 0 &&
		(strings.HasSuffix(before, "]") || strings.HasSuffix(before, "}") || strings.HasPrefix(after, "[") ||
			strings.HasPrefix(after, "{"))
}

// commaText reports whether the value at hand is, or is to be, a text of names
// with commas between, as Claude Code writes its lists.
func (c *completion) commaText(field definition.Field) bool {
	if c.f.Tree.Dialect == definition.Agentls {
		return false
	}
	return field.Path == "tools" || field.Path == "disallowedTools"
}

// byMeaning offers what only the meaning of a field tells.
// Fields whose values the field table lists are not here.
func (c *completion) byMeaning(field definition.Field) {
	switch field.Path {
	case "name":
		if name := nameOfFile(c.f.Path); name != "" {
			c.scalar(Item{Label: name, Kind: ValueItem, Detail: "the file's name"})
		}
	case "title":
		if name := c.f.Definition.Name; name != "" {
			c.scalar(Item{Label: titleOf(name), Kind: ValueItem, Detail: "made of the name"})
		}
	case "model":
		c.models(true)
	case "fallback_models":
		c.models(false)
	case "color":
		c.colors()
	case "tools.allow", "tools.deny", "tools.confirmation.require_confirmation", "disallowedTools":
		c.tools()
	case "tools":
		if c.f.Tree.Dialect != definition.Agentls {
			c.wrap = false
			c.tools()
		} else if c.place.list {
			c.tools()
		} else if c.span.Start == c.span.End {
			c.add(Item{Label: "allow", Kind: FieldItem, Doc: escape(field.Doc), Insert: "\n  allow: [$0]",
				Snippet: true, Line: " {allow: []}"})
		}
	case "mcp.servers", "mcpServers":
		c.servers()
	case "subagents", "agents":
		c.agents(true, field.Path == "subagents")
	case "handoffs[].to":
		c.agents(false, false)
		c.scalar(Item{Label: "user", Kind: ValueItem, Detail: "a person goes on"})
	case "graph.nodes[].agent", "graph.nodes[].graph":
		c.agents(false, false)
	case "graph.nodes[].tool":
		c.oneTool()
	case "graph.entry", "graph.edges[].from", "graph.edges[].to":
		c.nodes(field.Path == "graph.edges[].to")
	case "guardrails.custom_validator", "guardrails[].validator":
		c.validators(field.Path == "guardrails[].validator")
	case "tools.confirmation.prompt_template":
		c.braces([]string{"tool_name", "tool_args", "risk", "agent"})
	case "query", "initial_messages[].text", "systemPrompt", "output.text":
		c.text(field.Path)
	}
}

// validators offers what a guard may check with; named is whether custom may stand for the
// guard's name.
func (c *completion) validators(named bool) {
	for _, name := range definition.BuiltinValidators {
		c.scalar(Item{Label: "builtin:" + name, Kind: ValueItem, Detail: "in the program"})
	}
	stub := func(label, detail, insert string) {
		if c.quote == 0 && !c.block {
			insert = "'" + insert + "'"
		}
		c.add(Item{Label: label, Kind: ValueItem, Detail: detail, Insert: c.space + insert + c.behind, Snippet: true})
	}
	stub("builtin:max-length(n)", "at most n characters", "builtin:max-length(${1:4000})")
	stub("expr:", "an expression over output that must be true", "expr:$0")
	stub("command:", "an executable that reads the output as JSON", "command:$0")
	if named {
		c.scalar(Item{Label: "custom", Kind: ValueItem, Detail: "looked up by the guard's name"})
	}
	c.each(c.f.Folder, func(d *definition.Definition) bool { return d.Name != c.f.Definition.Name },
		func(d *definition.Definition) {
			c.scalar(Item{Label: "agent:" + d.Name, Kind: ValueItem, Detail: d.Title})
		})
}

// nodes offers the nodes of the file's graph, and its end.
func (c *completion) nodes(end bool) {
	if g := c.f.Definition.Graph; g != nil {
		picture := g.Picture("", nil)
		for _, n := range picture.Nodes {
			if n.Name != "" {
				c.scalar(Item{Label: n.Name, Kind: ValueItem, Detail: n.Does})
			}
		}
	}
	if end {
		c.scalar(Item{Label: graph.End, Kind: ValueItem, Detail: "the graph ends"})
	}
}

// entries returns the entries that the list at hand has already, but for the one at the
// cursor. They are not offered again.
func (c *completion) entries() map[string]bool {
	found := make(map[string]bool)
	if !c.place.list {
		return found
	}
	for _, v := range c.f.Tree.Find(stepNames(c.place.steps[:len(c.place.steps)-1])...).Strings() {
		if !v.Holds(c.offset) {
			found[v.Text] = true
		}
	}
	return found
}

// stepNames writes steps as a path of the tree.
func stepNames(steps []definition.Step) []string {
	names := make([]string, len(steps))
	for i, s := range steps {
		if names[i] = s.Key; s.Index >= 0 {
			names[i] = decimal(s.Index)
		}
	}
	return names
}

// models offers what the table has, aliases first and retired ones last. meanings is
// whether inherit and auto may stand there, which are no models.
func (c *completion) models(meanings bool) {
	there := c.entries()
	if meanings {
		c.scalar(Item{Label: "inherit", Kind: ValueItem, Detail: inheritedModel(c.w),
			Doc: "The model that the settings or the caller have."})
		c.scalar(Item{Label: model.Auto, Kind: ValueItem, Detail: "chosen for each request",
			Doc: "A model is chosen for each request by how hard it is."})
	}
	if c.w.Models == nil {
		return
	}
	var ids, retired []Item
	for _, e := range c.w.Models.Entries() {
		if e.MaxOutput == 0 && e.Window > 0 {
			continue // it does not write
		}
		i := Item{Label: e.ID, Kind: ModelItem, Detail: windowOf(e), Doc: describeModel(c.w, e.ID)}
		if next, gone := c.w.Models.Successor(e.ID); gone {
			i.Retired, i.Detail = true, "retired"
			if next.ID != "" {
				i.Detail += ", runs as " + next.ID
			}
			retired = append(retired, i)
			continue
		}
		ids = append(ids, i)
		for _, alias := range e.Aliases {
			// An alias that leads to another row of the table means that one.
			if known, _ := c.w.Models.Lookup(alias); known.ID == e.ID && !there[alias] {
				c.scalar(Item{Label: alias, Kind: ModelItem, Detail: e.ID, Doc: i.Doc})
			}
		}
	}
	for _, i := range append(ids, retired...) {
		if !there[i.Label] {
			c.scalar(i)
		}
	}
}

// inheritedModel says which model inherit is.
func inheritedModel(w *World) string {
	if w.Model == "" || w.Models == nil {
		return "default"
	}
	id, _, _ := w.Models.Resolve(w.Model, "")
	return "default, " + id
}

// palette are the colours that are offered.
var palette = []struct{ name, hex string }{
	{"blue", "#3B82F6"}, {"green", "#22C55E"}, {"red", "#EF4444"}, {"amber", "#F59E0B"}, {"purple", "#A855F7"},
	{"cyan", "#06B6D4"}, {"pink", "#EC4899"}, {"orange", "#F97316"}, {"teal", "#14B8A6"}, {"indigo", "#6366F1"},
	{"lime", "#84CC16"}, {"slate", "#64748B"},
}

// colors offers a palette. What is there may be an unquoted #, which YAML takes
// for a comment.
func (c *completion) colors() {
	for _, p := range palette {
		c.scalar(Item{Label: p.hex, Kind: ColorItem, Detail: p.name, Doc: p.hex})
	}
}

// oneTool offers the tools that a node of a graph may call.
func (c *completion) oneTool() {
	c.tools()
	c.items = slices.DeleteFunc(c.items, func(i Item) bool {
		one := !strings.Contains(i.Label, "*") && i.Label != "complete_task" && !strings.HasPrefix(i.Label, "transfer_to_")
		return i.Kind == ToolItem && !one
	})
}

// tools offers every tool by its names, and globs.
// Aliases come last and are found by what they are aliases of as well. What the list has
// already is not offered.
func (c *completion) tools() {
	there := c.entries()
	var aliases []Item
	for _, t := range c.w.Tools {
		doc := describeTool(t)
		if !there[t.Name] {
			c.scalar(Item{Label: t.Name, Kind: ToolItem, Detail: t.Risk, Doc: doc})
		}
		for _, a := range t.Aliases {
			aliases = append(aliases, Item{Label: a, Kind: ToolItem, Detail: "is " + t.Name, Doc: doc})
		}
	}
	for _, s := range c.w.Servers {
		if glob := "mcp." + s.Name + ".*"; !there[glob] {
			c.scalar(Item{Label: glob, Kind: ToolItem, Detail: "all tools of the server", Doc: describeServer(s)})
		}
	}
	for _, h := range c.f.Definition.Handoffs {
		name := "transfer_to_" + h.To
		if _, ok := definition.CanonicalTool(name); ok && !there[name] {
			there[name] = true
			c.scalar(Item{Label: name, Kind: ToolItem, Detail: "safe", Doc: "Passes control to " + escape(h.To) + "."})
		}
	}
	for _, glob := range []struct{ name, what string }{{"mcp.*", "all tools of all servers"}, {"*", "all tools"}} {
		if !there[glob.name] {
			c.scalar(Item{Label: glob.name, Kind: ToolItem, Detail: glob.what})
		}
	}
	for _, i := range aliases {
		name := strings.TrimPrefix(i.Detail, "is ")
		if !there[name] && !there[i.Label] {
			c.scalarAs(i, name)
		}
	}
}

// servers offers the MCP servers of the settings.
// * is only offered in the place of the whole list.
func (c *completion) servers() {
	there := c.entries()
	for _, s := range c.w.Servers {
		if !there[s.Name] {
			c.scalar(Item{Label: s.Name, Kind: ServerItem, Detail: s.State, Doc: describeServer(s)})
		}
	}
	if !c.place.list && c.place.field == "mcp.servers" {
		c.wrap = false
		c.scalar(Item{Label: "*", Kind: ValueItem, Detail: "all servers"})
	}
}

// agents offers the agents that a name may mean in the file's folder, but for the
// file's own. all is whether * may stand for every one of them.
func (c *completion) agents(list, all bool) {
	there := c.entries()
	c.wrap = c.wrap && list
	c.each(c.f.Folder, func(d *definition.Definition) bool { return d.Name != c.f.Definition.Name && !there[d.Name] },
		func(d *definition.Definition) {
			c.scalar(Item{Label: d.Name, Kind: AgentItem, Detail: d.Title})
		})
	if all && !c.place.list {
		c.wrap = false
		c.scalar(Item{Label: "*", Kind: ValueItem, Detail: "all agents"})
	}
}

// text offers, in the body or in a text of the front-matter, placeholders behind
// ${ and agents behind @.
func (c *completion) text(field string) {
	f := c.f
	if span, ok := f.openMark(c.offset, "${"); ok {
		if strings.HasSuffix(f.Text[:span.Start-len("${")], "$") {
			return // $${ is the text itself
		}
		c.span = span
		shut := "}"
		if strings.HasPrefix(f.Text[span.End:], "}") {
			shut = ""
		}
		for _, i := range c.placeholders(field) {
			i.Insert = i.Label + shut
			c.add(i)
		}
		return
	}
	if span, ok := f.openMark(c.offset, "@"); ok && field != "output.text" {
		c.span = span
		if b := f.before(span.Start - 1); b == 0 || strings.ContainsRune(" \t\r\n(\"'", b) {
			c.addAgents(f.Folder, false)
		}
	}
}

// addAgents offers agents by their bare names, for a person only those that a
// person may run.
func (c *completion) addAgents(folder string, person bool) {
	c.each(folder, func(d *definition.Definition) bool { return !person || d.UserInvocable },
		func(d *definition.Definition) {
			c.add(Item{Label: d.Name, Kind: AgentItem, Detail: d.Title, Insert: d.Name})
		})
}

// maxAgents is how many agents are offered at once.
// A client is told that there are more (Completion.Partial), and asks again as the person types.
const maxAgents = 200

// each adds the agents of a folder that fit. Of more than can be offered it takes
// those whose names begin as what was typed does, then those that have its letters
// in order, as editors filter.
func (c *completion) each(folder string, fits func(*definition.Definition) bool, add func(*definition.Definition)) {
	var found []*definition.Definition
	for _, e := range c.w.visible(folder) {
		if fits(e.Definition) {
			found = append(found, e.Definition)
		}
	}
	if len(found) > maxAgents {
		c.part = true
		typed := strings.ToLower(strings.TrimSpace(c.f.Text[min(c.span.Start, c.offset):c.offset]))
		// The agent that judges stands behind agent: in a guard's validator.
		typed = strings.TrimPrefix(typed, "agent:")
		var first, then []*definition.Definition
		for _, d := range found {
			switch name := strings.ToLower(d.Name); {
			case strings.HasPrefix(name, typed):
				first = append(first, d)
			case inOrder(name, typed):
				then = append(then, d)
			}
			if len(first) == maxAgents {
				break
			}
		}
		found = append(first, then[:min(len(then), maxAgents-len(first))]...)
	}
	for _, d := range found {
		add(d)
	}
}

// inOrder reports whether a text has the bytes of another in their order.
func inOrder(text, typed string) bool {
	for i := 0; i < len(text) && typed != ""; i++ {
		if text[i] == typed[0] {
			typed = typed[1:]
		}
	}
	return typed == ""
}
