package exchange

// Whether a translation may do more than what it was made of.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
)

// more is one way in which one agent may do more than another. It is compared with ==,
// so that a way which the original has already is known again (exporter.ever).
type more struct {
	key     string // of our format
	message string
}

// Gains returns the keys of our format in which to may do more than from, each
// once, "" for a restriction that has none; see [Import].
func Gains(from, to *definition.Definition) []string {
	var keys []string
	for _, m := range growth(from, to) {
		if !slices.Contains(keys, m.key) {
			keys = append(keys, m.key)
		}
	}
	return keys
}

// growth returns in what to may do more than from. Patterns are compared as sets
// as far as that can be decided, and otherwise taken for more. Nothing is
// compared that does not bear on power. So one way too many may be told, and one too
// few not: import and export refuse by it (TestNothingGainsPower).
func growth(from, to *definition.Definition) []more {
	from, to = withGlobs(from), withGlobs(to)
	var found []more
	tell := func(key, format string, args ...any) {
		found = append(found, more{key, fmt.Sprintf(format, args...)})
	}
	gainsOfTools(from, to, tell)
	if extra := beyond(from.MCPServers, nonEmpty(to.MCPServers)); len(extra) > 0 {
		tell("mcp", "the MCP servers %s", strings.Join(extra, ", "))
	}
	if extra := beyond(from.Subagents, to.Subagents); len(extra) > 0 {
		tell("subagents", "the subagents %s", strings.Join(extra, ", "))
	}
	for _, h := range to.Handoffs {
		if !slices.ContainsFunc(from.Handoffs, func(g definition.Handoff) bool { return g.To == h.To }) {
			tell("handoffs", "a handoff to %s", h.To)
		}
	}
	for _, pattern := range nonEmpty(from.Confirmation.Require) {
		if !asked(pattern, to) {
			tell("tools", "%s without being asked for", pattern)
		}
	}
	for _, reason := range from.Authority {
		if !slices.Contains(to.Authority, reason) {
			tell("", "a run although %s", reason)
		}
	}
	if from.MaxTurns > 0 && (to.MaxTurns == 0 || to.MaxTurns > from.MaxTurns) {
		tell("run", "more than %d turns", from.MaxTurns)
	}
	if from.MaxTime > 0 && (to.MaxTime == 0 || to.MaxTime > from.MaxTime) {
		tell("run", "a run longer than %s", from.MaxTime)
	}
	if from.MaxTokens > 0 && (to.MaxTokens == 0 || to.MaxTokens > from.MaxTokens) {
		tell("run", "more than %d tokens", from.MaxTokens)
	}
	if from.MaxCost > 0 && (to.MaxCost == 0 || to.MaxCost > from.MaxCost) {
		tell("run", "more than %g USD", from.MaxCost)
	}
	if !from.Delegable && to.Delegable {
		tell("disable-model-invocation", "runs that other agents start")
	}
	return found
}

// gainsOfTools tells what the list of tools of to allows beyond that of from, and what from denies
// and to does not.
// A list that was there and is gone is all tools, and then nothing else is told.
func gainsOfTools(from, to *definition.Definition, tell func(key, format string, args ...any)) {
	if from.Tools.Given && !to.Tools.Given && !slices.Contains(from.Tools.Allow, "*") {
		tell("tools", "all tools")
		return
	}
	if to.Tools.Given && from.Tools.Given {
		for _, p := range to.Tools.Allow {
			if !slices.ContainsFunc(from.Tools.Allow, func(q string) bool { return covers(q, p) }) {
				tell("tools", "the tool %s", p)
			}
		}
	}
	// What was denied must be denied still, or be out of reach of the list.
	for _, denied := range nonEmpty(from.Tools.Deny) {
		if slices.ContainsFunc(to.Tools.Deny, func(q string) bool { return covers(q, denied) }) {
			continue
		}
		if !to.Tools.Given || slices.ContainsFunc(to.Tools.Allow,
			func(p string) bool { return overlap(p, denied) && !deniedWhole(p, to) }) {
			tell("tools", "the denied tool %s", denied)
		}
	}
}

// deniedWhole reports whether all that a pattern allows is denied again.
func deniedWhole(p string, d *definition.Definition) bool {
	return slices.ContainsFunc(d.Tools.Deny, func(q string) bool { return covers(q, p) })
}

// beyond returns what of names is not in of, where * is all.
func beyond(of, names []string) []string {
	if slices.Contains(of, "*") {
		return nil
	}
	var extra []string
	for _, name := range names {
		if !slices.Contains(of, name) {
			extra = append(extra, name)
		}
	}
	return extra
}

// asked reports whether each tool of a pattern that an agent has always asks.
// A tool that the agent does not have need not ask.
func asked(pattern string, d *definition.Definition) bool {
	ask := func(p string) bool {
		return slices.ContainsFunc(d.Confirmation.Require, func(q string) bool { return covers(q, p) })
	}
	if ask(pattern) {
		return true
	}
	if d.Tools.Given {
		for _, p := range d.Tools.Allow {
			if overlap(p, pattern) && !ask(p) && !deniedWhole(p, d) && !deniedWhole(pattern, d) {
				return false
			}
		}
		return true
	}
	// Without a list the agent has every tool, and so those of the pattern.
	return deniedWhole(pattern, d)
}

// globs are the characters that make a pattern of a name.
const globs = `*?[\`

// wild reports whether a name has a character of globs.
func wild(p string) bool { return strings.ContainsAny(p, globs) }

// literally writes a name of another tool's as a pattern that matches it: only *
// and ? mean there what they mean here.
func literally(name string) string {
	return strings.NewReplacer(`[`, `\[`, `\`, `\\`).Replace(name)
}

// withGlobs returns an agent with patterns as ours in its lists.
func withGlobs(d *definition.Definition) *definition.Definition {
	if d.Dialect == definition.Agentls {
		return d
	}
	own := *d
	for _, list := range [...]*[]string{&own.Tools.Allow, &own.Tools.Deny, &own.Confirmation.Require} {
		*list = slices.Clone(*list)
		for i, name := range *list {
			(*list)[i] = literally(name)
		}
	}
	return &own
}

// covers reports whether every name that p matches is matched by q; false where
// that is not plain.
// What it cannot decide is false, so that a gain is told rather than missed.
func covers(q, p string) bool {
	if q == p || q == "*" {
		return true
	}
	if strings.ContainsAny(p, `[\`) || (wild(p) && strings.ContainsAny(q, `?[\`)) {
		return false
	}
	// What stands in p for any text is matched by a * of q only.
	return tool.Pattern(q).Gives(p)
}

// overlap reports whether some name may match both patterns; one that does not
// compile may match any.
// Two patterns with wildcards overlap where the texts before the first one may be the
// same.
func overlap(p, q string) bool {
	switch {
	case !tool.Pattern(p).Valid(), !tool.Pattern(q).Valid():
		return true
	case !wild(p):
		return tool.Pattern(q).Takes(p)
	case !wild(q):
		return tool.Pattern(p).Takes(q)
	}
	a, b := p[:strings.IndexAny(p, globs)], q[:strings.IndexAny(q, globs)]
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// has reports whether an agent of ours has a tool of that canonical name. It goes by
// the file's lists; delegate_to_agent needs a subagent as well.
func has(d *definition.Definition, name string) bool {
	if tool.AnyTakes(d.Tools.Deny, name) {
		return false
	}
	if name == "delegate_to_agent" && len(d.Subagents) == 0 {
		return false
	}
	return !d.Tools.Given || tool.AnyGives(d.Tools.Allow, name)
}

// coverings are the tools of which every call can be done by calls of others, at the
// same tier and without a question more: by one tool of each group. An agent that
// has those gains nothing by the tool.
var coverings = map[string][][]string{
	// It shows files, and names those that it leaves out. read_file shows each
	// file, but asks where its name holds what is not seen, since the call says
	// that name (SEC-74); grep shows the text of such a file unasked, and a picture
	// is not kept from anybody by its name. The names of files that neither shows
	// are in what glob and ls list. All of them are safe, start nothing, and go by
	// the same places, ignore files and credentials.
	"read_many_files": {{"read_file"}, {"grep"}, {"glob", "ls"}},

	// Without a row, since it is not certain: apply_patch by edit_file and
	// write_file (a patch may delete and rename, and nothing says that it wants a
	// file read first, as they do); delete_file, move_file and git_commit by bash
	// (the tiers differ); what the editor's language servers tell by grep (it
	// finds text).
}

// can reports whether an agent of ours has a tool, or has what covers it. The
// latter does not count where its file denies the tool, or has it or what covers
// it ask.
func can(d *definition.Definition, name string) bool {
	if has(d, name) {
		return true
	}
	groups, known := coverings[name]
	if !known || tool.AnyTakes(d.Tools.Deny, name) || tool.AnyTakes(d.Confirmation.Require, name) {
		return false
	}
	for _, group := range groups {
		if !slices.ContainsFunc(group, func(other string) bool {
			return has(d, other) && !tool.AnyTakes(d.Confirmation.Require, other)
		}) {
			return false
		}
	}
	return true
}

// covering returns an agent of ours with the tools in its list that what it has
// covers. d is not changed. A translation is compared with this one, so that a tool
// which gives nothing new is no gain.
func covering(d *definition.Definition) *definition.Definition {
	own := *d
	own.Tools.Allow = slices.Clone(d.Tools.Allow)
	for _, name := range slices.Sorted(maps.Keys(coverings)) {
		if can(d, name) && !has(d, name) {
			own.Tools.Allow = append(own.Tools.Allow, name)
		}
	}
	return &own
}
