package exchange

// The names that other tools have for tools. What each means is not here: it is
// asked of definition.Parse, as if it stood in one of their files.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/agentls/agentls/agents/definition"
)

// natives returns a tool's own names for tools, in the order in which they are
// written; sets come before what is in them.
func natives(d definition.Dialect) []string {
	return definition.NativeTools(d)
}

// askable returns opencode's names that its permission takes.
func askable() []string {
	return []string{"edit", "bash", "webfetch", "websearch", "read", "glob", "grep", "list", "lsp",
		"todowrite", "question", "task"}
}

// sample reads front-matter in a dialect.
func sample(d definition.Dialect, front string) *definition.Definition {
	return definition.Parse(source("sample.md", "---\nname: sample\n"+front+"\n---\nx\n", d))
}

// meaning returns what an entry of another tool's list of tools allows here. It is
// empty for a name that means nothing.
//
// The dialect's own parser is asked, so that this package has no second table.
func meaning(d definition.Dialect, name string) definition.Tools {
	if d == definition.OpenCode {
		return sample(d, `tools: {"*": false, `+definition.YAMLText(name)+": true}").Tools
	}
	return sample(d, "tools: ["+definition.YAMLText(name)+"]").Tools
}

// server splits the name of an MCP server's tool, or a glob of them. ok is false for
// anything else.
func server(pattern string) (name, tool string, ok bool) {
	rest, ok := strings.CutPrefix(pattern, "mcp.")
	if !ok {
		return "", "", false
	}
	name, tool, ok = strings.Cut(rest, ".")
	return name, tool, ok && name != "" && tool != ""
}

// spell returns how a tool writes what mcp.<server>.<tool> is here, or "". A spelling
// counts only if definition.Parse reads the very pattern from it: a name with an
// underscore, say, may be split elsewhere there.
func spell(d definition.Dialect, pattern string) string {
	s, tool, ok := server(pattern)
	odd := func(c rune) bool { return strings.ContainsRune(",()", c) || unicode.IsSpace(c) || !unicode.IsPrint(c) }
	if !ok || wild(s) || (wild(tool) && tool != "*") || strings.ContainsFunc(pattern, odd) {
		return ""
	}
	name := ""
	switch d {
	case definition.Claude:
		if name = "mcp__" + s; tool != "*" {
			name += "__" + tool
		}
	case definition.Copilot:
		name = s + "/" + tool
	case definition.GeminiCLI:
		name = "mcp_" + s + "_" + tool
	default:
		return ""
	}
	if m := meaning(d, name); len(m.Allow) != 1 || m.Allow[0] != pattern {
		return ""
	}
	return name
}

// choice is which of another tool's tools an agent gets. choose makes it; servers adds
// to it and delegates may take the entry for subagents away.
type choice struct {
	names  []string // as that tool spells them
	denied []string // the same, of those that names would include
	loss   []Loss
}

// choose finds the entries that together allow as much as the agent has and
// nothing more, but for tools that are covered. A set (Copilot's edit) is tried before
// what is in it, and only if the agent has all of it; a tool that another entry covers
// already is not named again. What cannot be named without allowing more is left out,
// with a loss that says what to allow to keep it.
func choose(d *definition.Definition, to definition.Dialect) choice {
	var c choice
	var missing []string
	guarded := make(map[string][]string) // what is left out, by the name that would allow more
	means := make(map[string][]string)
	for _, name := range natives(to) {
		means[name] = meaning(to, name).Allow
	}
	covered := make(map[string]bool)
	for _, name := range natives(to) {
		means := means[name]
		// An entry must mean only what the agent can do already, with this tool or with others that
		// cover it, and at least one tool that it has and that no entry before has covered.
		fits := len(means) > 0 && !slices.ContainsFunc(means, func(tool string) bool { return !can(d, tool) })
		if !fits || !slices.ContainsFunc(means, func(tool string) bool { return has(d, tool) && !covered[tool] }) {
			continue
		}
		c.names = append(c.names, name)
		for _, tool := range means {
			covered[tool] = true
		}
	}
	for _, t := range definition.ToolNames() {
		if covered[t.Name] || !has(d, t.Name) || t.Name == "complete_task" { // which a run brings with it
			continue
		}
		i := slices.IndexFunc(natives(to), func(name string) bool { return slices.Contains(means[name], t.Name) })
		if i < 0 {
			missing = append(missing, t.Name)
			continue
		}
		guarded[natives(to)[i]] = append(guarded[natives(to)[i]], t.Name)
	}
	severity := definition.Warning
	if !d.Tools.Given {
		severity = definition.Hint
	}
	if len(missing) > 0 {
		c.loss = append(c.loss, Loss{"tools", fmt.Sprintf("%s has no counterpart for %s.", Title(to),
			strings.Join(missing, ", ")), severity})
	}
	for _, name := range slices.Sorted(maps.Keys(guarded)) {
		out, are, it := guarded[name], "is", "it"
		if len(out) > 1 {
			are, it = "are", "them"
		}
		more := slices.DeleteFunc(slices.Clone(means[name]), func(tool string) bool { return can(d, tool) })
		c.loss = append(c.loss, Loss{"tools",
			fmt.Sprintf("%s %s left out, since %s there would also be %s; allow that too to keep %s.",
				strings.Join(out, ", "), are, name, strings.Join(more, " and "), it), definition.Warning})
	}
	c.servers(d, to)
	return c
}

// servers adds the tools of MCP servers.
//
// A pattern of which a part is denied needs a tool that can deny that part, which Claude
// Code alone can.
func (c *choice) servers(d *definition.Definition, to definition.Dialect) {
	lose := func(format string, args ...any) {
		c.loss = append(c.loss, Loss{"mcp", fmt.Sprintf(format, args...), definition.Warning})
	}
	for _, pattern := range reachable(d) {
		if slices.ContainsFunc(d.Tools.Deny, func(q string) bool { return covers(q, pattern) }) {
			continue
		}
		name := spell(to, pattern)
		if name == "" {
			lose("%s cannot be named in %s and is left out.", pattern, Title(to))
			continue
		}
		var denied []string
		fits := true
		for _, q := range d.Tools.Deny {
			if !overlap(q, pattern) {
				continue
			}
			// The denied part must be nameable there, too, or it would be allowed.
			other := spell(to, q)
			if fits = fits && other != "" && to == definition.Claude; fits {
				denied = append(denied, other)
			}
		}
		if !fits {
			lose("%s is left out, since %s cannot deny a part of it.", pattern, Title(to))
			continue
		}
		c.names = append(c.names, name)
		c.denied = append(c.denied, denied...)
	}
	slices.Sort(c.denied)
	c.denied = slices.Compact(c.denied)
}

// reachable returns the patterns of tools of MCP servers that an agent has.
//
// A list that allows all of a server's tools gives one pattern for them; else each entry
// that is about a server which the agent has.
func reachable(d *definition.Definition) []string {
	var patterns []string
	for _, s := range d.MCPServers {
		whole := "mcp." + s + ".*"
		if !d.Tools.Given || slices.ContainsFunc(d.Tools.Allow, func(q string) bool { return covers(q, whole) }) {
			patterns = append(patterns, whole)
		}
	}
	if !d.Tools.Given {
		return patterns
	}
	for _, p := range d.Tools.Allow {
		s, _, ok := server(p)
		if ok && !slices.Contains(patterns, p) && (slices.Contains(d.MCPServers, s) ||
			slices.Contains(d.MCPServers, "*")) {
			patterns = append(patterns, p)
		}
	}
	return patterns
}
