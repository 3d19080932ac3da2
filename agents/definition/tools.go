package definition

// The names of our tools, and how other names lead to them (spec 4.1).

import (
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/spelling"
)

// ToolName is one row of the table of names: the canonical name, what else it
// is called, and whether the tool only reads.
type ToolName struct {
	Name    string
	Aliases []string
	Safe    bool // tier safe of spec 4.1
}

// toolNames is the table of spec 4.1, in its order, without transfer_to_<agent>
// and mcp.<server>.<tool>. It is never changed.
var toolNames = []ToolName{
	{Name: "read_file", Safe: true},
	{Name: "read_many_files", Safe: true},
	{Name: "ls", Aliases: []string{"list_directory"}, Safe: true},
	{Name: "glob", Safe: true},
	{Name: "grep", Aliases: []string{"search_file_content", "search_content", "grep_search", "ripgrep"}, Safe: true},
	{Name: "diagnostics", Safe: true},
	{Name: "symbols", Safe: true},
	{Name: "definition", Safe: true},
	{Name: "references", Safe: true},
	{Name: "write_file"},
	{Name: "edit_file", Aliases: []string{"edit", "replace", "smart_edit"}},
	{Name: "apply_patch"},
	{Name: "delete_file"},
	{Name: "move_file"},
	{Name: "bash", Aliases: []string{"shell", "run_shell_command"}},
	{Name: "git_commit"},
	{Name: "web_fetch"},
	{Name: "web_search", Aliases: []string{"google_web_search"}},
	{Name: "save_memory", Aliases: []string{"memory"}},
	{Name: "store_memory"},
	{Name: "recall_memory", Safe: true},
	{Name: "write_todos", Aliases: []string{"write_todos_list"}, Safe: true},
	{Name: "get_state", Safe: true},
	{Name: "set_state", Safe: true},
	{Name: "ask_user", Safe: true},
	{Name: "delegate_to_agent", Safe: true},
	{Name: "complete_task", Safe: true},
	{Name: "activate_skill"},
}

// toolIndex leads from each name and alias to the canonical name.
var toolIndex = indexTools()

// indexTools makes toolIndex of the table. It runs once, before main.
func indexTools() map[string]string {
	index := make(map[string]string, 2*len(toolNames))
	for _, t := range toolNames {
		index[t.Name] = t.Name
		for _, a := range t.Aliases {
			index[a] = t.Name
		}
	}
	return index
}

// ToolNames returns the table of the tools' names (spec 4.1), in its order. The
// caller owns the outer slice and must not change the aliases. transfer_to_…
// and mcp.… are not in it; [CanonicalTool] knows them.
func ToolNames() []ToolName { return slices.Clone(toolNames) }

// CanonicalTool returns the canonical form of a tool's name or glob, and
// whether it can be one (spec 4.1, agent/tool-unknown). It knows the table's
// names and aliases, each also with dashes for underscores; handoff_to_x and
// transfer-to-x, which are transfer_to_x; mcp.<server>.<tool>, whose server it
// cannot check; and globs with * and ?, which stay as they are and must match a
// name of the table or begin with mcp. or transfer_to_. A name that it does not
// know is returned unchanged.
func CanonicalTool(name string) (string, bool) {
	if canonical, ok := toolIndex[name]; ok {
		return canonical, true
	}
	if strings.ContainsAny(name, "*?") {
		return canonicalGlob(name)
	}
	if rest, ok := strings.CutPrefix(name, "mcp."); ok {
		server, tool, dot := strings.Cut(rest, ".")
		return name, dot && server != "" && tool != ""
	}
	for _, prefix := range [...]string{"transfer_to_", "handoff_to_", "transfer-to-", "handoff-to-"} {
		if to, ok := strings.CutPrefix(name, prefix); ok {
			return "transfer_to_" + to, validName(to)
		}
	}
	if strings.IndexByte(name, '-') >= 0 {
		if canonical, ok := toolIndex[strings.ReplaceAll(name, "-", "_")]; ok {
			return canonical, true
		}
	}
	return name, false
}

// canonicalGlob is CanonicalTool for a name with * or ?.
//
// Dashes for underscores are tried last, as in a name.
func canonicalGlob(pattern string) (string, bool) {
	if to, ok := strings.CutPrefix(pattern, "handoff_to_"); ok {
		pattern = "transfer_to_" + to
	}
	if strings.HasPrefix(pattern, "mcp.") || strings.HasPrefix(pattern, "mcp*") ||
		strings.HasPrefix(pattern, "transfer_to_") {
		return pattern, true
	}
	for _, t := range toolNames {
		if MatchTool(pattern, t.Name) {
			return pattern, true
		}
	}
	if dashed := strings.ReplaceAll(pattern, "-", "_"); dashed != pattern {
		if canonical, ok := canonicalGlob(dashed); ok {
			return canonical, true
		}
	}
	return pattern, false
}

// AllowedTools returns tools.allow, with delegate_to_agent where the file names subagents:
// to name them is enough to call them. It counts only if Tools.Given.
func (d *Definition) AllowedTools() []string {
	if len(d.Subagents) == 0 {
		return d.Tools.Allow
	}
	return append(slices.Clip(d.Tools.Allow), "delegate_to_agent")
}

// MatchTool reports whether a canonical name matches a pattern of an allow, deny
// or confirmation list: * stands for any characters, dots too, ? for one byte,
// all else for itself. It takes time linear in len(pattern)·len(name).
func MatchTool(pattern, name string) bool {
	// star and mark are where to go on when the rest does not match.
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// safeTools returns the canonical names of the tools that only read.
func safeTools() []string {
	var names []string
	for _, t := range toolNames {
		if t.Safe {
			names = append(names, t.Name)
		}
	}
	return names
}

// nearestTool returns the name of ours that somebody who wrote name may have
// meant, or "".
// Another tool's name for the same comes before a name of ours that is spelled like it.
func nearestTool(name string) string {
	if f, ok := foreignTool(name); ok && len(f.allow) > 0 {
		return f.allow[0]
	}
	names := make([]string, 0, len(toolIndex))
	for _, t := range toolNames {
		names = append(append(names, t.Name), t.Aliases...)
	}
	best := nearest(strings.ReplaceAll(name, "-", "_"), names)
	return toolIndex[best]
}

// Nearest returns the name that somebody who wrote name may have meant, or "".
// It allows two slips, and fewer in short words; of several the first that is
// nearest. Case does not count.
func Nearest(name string, names []string) string { return nearest(name, names) }

// nearest returns the first of names whose edit distance to name is the least
// and 2 or less, or "". Case does not count.
//
// What counts as a slip spelling.Distance says.
func nearest(name string, names []string) string {
	best, least := "", 3
	lower := strings.ToLower(name)
	for _, candidate := range names {
		if abs(len(candidate)-len(lower)) >= least {
			continue
		}
		// A short word is not near to every other short word.
		if d := spelling.Distance(lower, strings.ToLower(candidate)); d < least && d < max(2, len(lower)) && d < len(candidate) {
			best, least = candidate, d
		}
	}
	return best
}

// abs is n without its sign.
func abs(n int) int { return max(n, -n) }
