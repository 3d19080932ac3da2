package main

// The lists of the form: what the new agent may use.

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"charm.land/huh/v2"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// begin takes from a template what its agent may use, so that what is ticked is
// what it may use: what it denies is not there to be ticked. It returns fields
// that leave out of the template the lists that the form shows.
func (f *form) begin(d *definition.Definition) (hidden map[string]any) {
	hidden = map[string]any{}
	f.denied, f.listed = d.Tools.Deny, d.Tools.Given
	f.delegates = len(d.Subagents) > 0
	f.tools = slices.DeleteFunc(f.tools, func(t wire.ResolvedTool) bool { return f.denies(t.Name) })
	front := d.FrontMatter()
	// As they are written: what is not known can be unticked.
	if names, ok := texts(front, "tools", "allow"); ok {
		f.before.allow = f.usable(names)
		hidden["tools"] = map[string]any{"allow": []string{}}
	} else if f.listed {
		f.before.allow = f.usable(d.Tools.Allow)
	} else {
		for _, t := range f.tools {
			f.before.allow = append(f.before.allow, t.Name)
		}
	}
	f.before.mcp = f.each(d.MCPServers)
	if _, ok := texts(front, "mcp", "servers"); ok {
		hidden["mcp"] = map[string]any{"servers": []string{}}
	}
	return hidden
}

// texts returns the list of texts that a field of an object is, and whether it is
// one.
func texts(object map[string]any, field, key string) (list []string, ok bool) {
	fields, _ := object[field].(map[string]any)
	items, ok := fields[key].([]any)
	for _, item := range items {
		text, is := item.(string)
		if !is {
			return nil, false
		}
		list = append(list, text)
	}
	return list, ok
}

// usable returns the canonical names of tools that the template does not deny.
func (f *form) usable(tools []string) (names []string) {
	for _, name := range tools {
		if name, _ = definition.CanonicalTool(name); !f.denies(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// denies reports whether the template denies a tool, as a run has it: a glob that
// cannot be read denies all.
func (f *form) denies(name string) bool {
	return slices.ContainsFunc(f.denied, func(glob string) bool {
		ok, err := path.Match(glob, name)
		return ok || err != nil
	})
}

// each returns the names of MCP servers for a list in which * is all of them.
func (f *form) each(servers []string) []string {
	if slices.Contains(servers, "*") {
		return f.servers
	}
	return servers
}

// besides returns what the list of tools needs so that what is ticked on other
// pages can be used: the tools of an MCP server that no list speaks for yet, and
// what leads to the subagents of a template that had no list.
func (f *form) besides() (globs []string) {
	listed := func(prefix string) bool {
		return slices.ContainsFunc(f.tools, func(t wire.ResolvedTool) bool { return strings.HasPrefix(t.Name, prefix) })
	}
	for _, server := range f.mcp {
		prefix := "mcp." + server + "."
		glob := prefix + "*"
		spoken := func(name string) bool {
			ok, _ := path.Match(name, glob) // one that cannot be read allows nothing
			return ok || strings.HasPrefix(name, prefix)
		}
		if !slices.Contains(f.settled, server) && !listed(prefix) && !f.denies(glob) && !slices.ContainsFunc(f.allow, spoken) {
			globs = append(globs, glob)
		}
	}
	const delegate = "delegate_to_agent"
	if f.delegates && !f.listed && !listed(delegate) && !f.denies(delegate) {
		globs = append(globs, delegate)
	}
	return globs
}

// sameNames reports whether two lists hold the same, in whatever order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// lists asks for the tools, by tier, and for the MCP servers, each where there are
// any. What cannot be in a file is told on its page, where it can be unticked.
func (f *form) lists(ctx context.Context) (groups []*huh.Group) {
	if options := f.toolOptions(); len(options) > 0 {
		about := "What it may use, the harmless first; none ticked is none. What changes or sends something asks you first."
		if len(f.denied) > 0 {
			about += " What the template denies is left out: " + fit(tool.Escape(strings.Join(f.denied, ", ")), 60)
		}
		groups = append(groups, huh.NewGroup(f.checklist("Tools", about, &f.allow, options...).
			Validate(func(names []string) error {
				return f.checkFields(ctx, map[string]any{"tools": map[string]any{"allow": names}})
			})))
	}
	servers := slices.Clone(f.servers)
	for _, name := range f.mcp {
		if !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
	}
	var options []huh.Option[string]
	for _, name := range servers {
		options = append(options, huh.NewOption(tool.Escape(name), name))
	}
	if len(options) > 0 {
		groups = append(groups, huh.NewGroup(f.checklist("MCP servers", "Which of the configured servers it may use."+asYet("mcp.servers"), &f.mcp, options...).
			Validate(func(names []string) error {
				return f.checkFields(ctx, map[string]any{"mcp": map[string]any{"servers": names}})
			})))
	}
	return groups
}

// toolOptions are the tools by tier, and what else is ticked.
func (f *form) toolOptions() (options []huh.Option[string]) {
	ranks := []string{"safe", "low", "medium", "high", "protected", "catastrophic"}
	tier := func(t wire.ResolvedTool) string { return cmp.Or(f.tiers[t.Name].Tier, t.Risk) }
	tools := slices.Clone(f.tools)
	slices.SortStableFunc(tools, func(a, b wire.ResolvedTool) int {
		return cmp.Or(cmp.Compare(slices.Index(ranks, tier(a)), slices.Index(ranks, tier(b))), strings.Compare(a.Name, b.Name))
	})
	listed := map[string]bool{}
	for _, t := range tools {
		listed[t.Name] = true
		what, _, _ := strings.Cut(t.Description, ". ")
		what, _, _ = strings.Cut(what, "\n")
		options = append(options, huh.NewOption(fit(fmt.Sprintf("%-7s %-16s %s", tier(t), t.Name, tool.Escape(what)), 72), t.Name))
	}
	for _, name := range f.allow { // globs, what only an MCP server has, and what is not known
		if !listed[name] {
			options = append(options, huh.NewOption(fmt.Sprintf("%-7s %s", "", tool.Escape(name)), name))
		}
	}
	return options
}

// checklist asks which of a list.
func (f *form) checklist(title, description string, value *[]string, options ...huh.Option[string]) *huh.MultiSelect[string] {
	const besides = 8               // rows for the title, the description, what is wrong, and the keys
	lines := max(f.rows-besides, 8) // the rest scrolls
	above := 2 + strings.Count(wrap(description, f.width-2), "\n")
	return huh.NewMultiSelect[string]().Title(title).Description(description).Filterable(false).
		Options(options...).Height(min(len(options), lines) + above).Value(value)
}
