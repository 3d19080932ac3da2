package definition

// What is allowed, and does not do what it says.

import (
	"fmt"
	"slices"
	"strings"
)

// doubts reports fields that do not do what they say, by what other fields say.
// finish calls it when all fields are read: they may stand in any order.
func (r *reader) doubts() {
	r.emptyTitle()
	r.bothThinking()
	r.checkSampling()
	r.outputText()
	if r.Dialect == Agentls {
		r.lacksTools("subagents", len(r.Subagents) > 0, "delegate_to_agent")
		r.lacksTools("memory", r.Memory != nil, "store_memory", "recall_memory")
		r.lacksServerTools()
	}
}

// lacksServerTools reports mcp.servers where the list of tools has none of a server.
func (r *reader) lacksServerTools() {
	k, _ := r.keyOf("mcp")
	// mcp.x.x stands for a tool of any server.
	if k == nil || len(r.MCPServers) == 0 || !r.Tools.Given || slices.ContainsFunc(r.Tools.Allow, func(p string) bool {
		return strings.HasPrefix(p, "mcp.") || MatchTool(p, "mcp.x.x")
	}) {
		return
	}
	server := r.MCPServers[0]
	r.report("agent/no-effect", Warning, k.start, k.end,
		fmt.Sprintf("mcp.servers has no effect without tools of a server in tools.allow; add mcp.%s.*, or remove mcp.",
			strings.ReplaceAll(server, "*", "SERVER")))
}

// lacksTools reports a field that needs one of some tools, where the lists of tools leave
// out all of them; and such a tool in the list, where the field that it needs is not on.
// The first kind of finding is at the field, the second at the entry of tools.allow.
func (r *reader) lacksTools(field string, on bool, tools ...string) {
	matches := func(patterns []string, tool string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return MatchTool(p, tool) })
	}
	offered := slices.ContainsFunc(tools, func(tool string) bool {
		allowed := !r.Tools.Given || matches(r.AllowedTools(), tool)
		return allowed && !matches(r.Tools.Deny, tool)
	})
	if k, _ := r.keyOf(field); on && !offered && k != nil {
		r.report("agent/no-effect", Warning, k.start, k.end,
			fmt.Sprintf("%s has no effect without the tool %s, which tools leaves out; allow it, or remove %s.",
				field, strings.Join(tools, " or "), field))
	}
	_, lists := r.keyOf("tools")
	if on || lists == nil {
		return
	}
	if allow := lists.get("allow"); allow != nil {
		for _, item := range allow.items {
			if item.kind == str && slices.Contains(tools, item.text) {
				r.report("agent/no-effect", Warning, item.start, item.end,
					fmt.Sprintf("The agent is not offered %s without the field %s; write that, or remove the tool.", item.text, field))
			}
		}
	}
}

// keyOf returns the first key of the top that has one of some names; nil for none.
// Both results are nil together. They point into the tree.
func (r *reader) keyOf(names ...string) (*key, *node) {
	for i := range r.root.keys {
		if slices.Contains(names, r.root.keys[i].name) {
			return &r.root.keys[i], &r.root.items[i]
		}
	}
	return nil, nil
}

// emptyTitle reports a title that is there and says nothing.
func (r *reader) emptyTitle() {
	k, v := r.keyOf("title", "displayName", "display_name")
	if k != nil && (v.kind == null || (v.kind == str && strings.TrimSpace(v.text) == "")) {
		r.report("agent/type", r.idleSeverity(), k.start, max(k.end, v.end),
			fmt.Sprintf("The title is empty, so %q is shown; write one, or remove the field.", r.Title))
	}
}

// bothThinking reports a budget and a level of thinking, of which one is sent.
func (r *reader) bothThinking() {
	budget, _ := r.keyOf("thinking_budget", "thinkingBudget")
	level, _ := r.keyOf("thinking_level", "thinkingLevel")
	if budget == nil || level == nil || r.ThinkingBudget == nil || r.ThinkingLevel == "" {
		return
	}
	// The finding is at the one that stands second.
	k := budget
	if level.start > k.start {
		k = level
	}
	r.report("agent/no-effect", r.idleSeverity(), k.start, k.end,
		"thinking_budget and thinking_level are both given, and the model is sent only the one that it takes; remove one.")
}

// checkSampling reports a temperature and a top_p that the agent's model does not take.
// A model that is only chosen for a run (inherit, auto) may take them.
func (r *reader) checkSampling() {
	if r.source.Installed.Sampling == nil || r.Model == "inherit" || r.Model == "auto" {
		return
	}
	for _, f := range []struct {
		given bool
		names []string
	}{{r.Temperature != nil, []string{"temperature", "temp"}}, {r.TopP != nil, []string{"top_p", "topP"}}} {
		if !f.given {
			continue
		}
		if k, _ := r.keyOf(f.names...); k != nil && !r.source.Installed.Sampling(r.Model) {
			r.report("agent/no-effect", r.idleSeverity(), k.start, k.end,
				fmt.Sprintf("The model %s takes no %s, so it is not sent; remove the field, or choose another model.",
					r.Model, f.names[0]))
		}
	}
}

// outputText reports each ${x} of output.text that the output never has: nothing
// would stand there. What a schema allows without naming it is not known.
// There are maxRepeats findings at most.
func (r *reader) outputText() {
	_, output := r.keyOf("output")
	if r.Output == nil || output == nil {
		return
	}
	text, schema := output.get("text"), output.get("schema")
	if text == nil || text.kind != str || schema == nil || schema.kind != mapping {
		return
	}
	properties := schema.get("properties")
	// Any of these may allow fields that properties does not name.
	for _, open := range []string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "additionalProperties",
		"patternProperties", "unevaluatedProperties", "dependentSchemas"} {
		if n := schema.get(open); n != nil && !(n.kind == boolean && !n.truth) {
			return
		}
	}
	if properties == nil || properties.kind != mapping {
		return
	}
	var names []string
	for i := range properties.keys {
		names = append(names, properties.keys[i].name)
	}
	told := make(map[string]bool)
	for start, name := range placeholdersOf(text.text) {
		if told[name] || slices.Contains(names, name) || len(told) == maxRepeats {
			continue
		}
		told[name] = true
		from, to := r.inText(text, start, start+len(name)+3)
		r.report("agent/placeholder", r.idleSeverity(), from, to,
			fmt.Sprintf("The output has no field %s, so nothing stands there; add it to the schema, or correct the name.", name))
	}
}

// inText returns the place of a part of a text, or of all of it where it is not in the
// file as it was read.
// Where quotes or escapes make the text another than what stands in the file, the place is
// that of the whole value.
func (r *reader) inText(v *node, start, end int) (from, to int) {
	if offset := strings.Index(r.text.src[v.start:max(v.start, v.end)], v.text); offset >= 0 {
		return v.start + offset + start, v.start + offset + end
	}
	return v.start, v.end
}

// questionPlaceholders are those of tools.confirmation.prompt_template.
var questionPlaceholders = []string{"tool_name", "tool_args", "risk", "agent"}

// questionText reports each {x} of a question's template that is no placeholder: it is
// shown as it is.
// ${x} is left out, since it is no question's, and each name is reported once.
func (r *reader) questionText(v *node) {
	told := make(map[string]bool)
	for i := 0; i < len(v.text) && len(told) < maxRepeats; i++ {
		if v.text[i] != '{' || (i > 0 && v.text[i-1] == '$') {
			continue
		}
		end := placeholderEnd(v.text, i+1)
		if end == i+1 || end == len(v.text) || v.text[end] != '}' {
			continue
		}
		name := v.text[i+1 : end]
		if told[name] || slices.Contains(questionPlaceholders, name) {
			continue
		}
		told[name] = true
		from, to := r.inText(v, i, end+1)
		r.report("agent/placeholder", r.idleSeverity(), from, to,
			fmt.Sprintf("{%s} is no placeholder of a question and stays as it is; there are {%s}.", name,
				strings.Join(questionPlaceholders, "}, {")))
	}
}

// enumHas reports whether a default is one of an input's values; of a list, each part.
func enumHas(enum, fallback *node) bool {
	values := make(map[string]bool, len(enum.items))
	for i := range enum.items {
		values[encode(&enum.items[i])] = true
	}
	if fallback.kind == list {
		return !slices.ContainsFunc(fallback.items, func(n node) bool { return !values[encode(&n)] })
	}
	return values[encode(fallback)]
}

// idleSeverity is that of what has no effect: in another tool's file, which was not
// written for this one, it is a hint.
func (r *reader) idleSeverity() Severity {
	if r.Dialect != Agentls {
		return Hint
	}
	return Warning
}
