package definition

// Which tool's format a file is in, and what its names become (spec 1.7).

import (
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// dialectOf decides by place, else by keys.
// The place wins, as the other tool reads the file there whatever its keys. Keys that
// only one tool has are looked at before those that several have.
// A file that fits none is ours. TestDialects holds the order.
func dialectOf(path string, root *node) Dialect {
	dir := filepath.ToSlash(filepath.Dir(path))
	switch {
	case strings.HasSuffix(dir, "/.claude/agents"):
		return Claude
	case strings.HasSuffix(dir, "/.github/agents"):
		return Copilot
	case strings.HasSuffix(dir, "/.opencode/agent"), strings.HasSuffix(dir, "/.opencode/agents"):
		return OpenCode
	}
	tools := root.get("tools")
	if k := root.get("kind"); k != nil && k.kind == str {
		switch k.text {
		case "agent":
			return Agentls
		case "local", "remote":
			return GeminiCLI
		}
	}
	switch {
	case root.get("display_name") != nil:
		return GeminiCLI
	case root.get("disallowedTools") != nil, root.get("permissionMode") != nil, tools != nil && tools.kind == str:
		return Claude
	case strings.HasSuffix(path, ".agent.md"), root.get("mcp-servers") != nil, tools != nil && hasSlash(tools):
		return Copilot
	case root.get("permission") != nil, tools != nil && switches(tools):
		return OpenCode
	// An unknown kind is a mistake in a file of ours.
	case root.get("kind") != nil:
		return Agentls
	case root.get("max_turns") != nil, root.get("timeout_mins") != nil, root.get("mcp_servers") != nil:
		return GeminiCLI
	case root.get("name") != nil && root.get("description") != nil && !ours(root):
		return Claude
	}
	return Agentls
}

// hasSlash reports whether a list names a tool as Copilot does: set/tool.
func hasSlash(n *node) bool {
	if n.kind != list {
		return false
	}
	for i := range n.items {
		if strings.Contains(n.items[i].text, "/") {
			return true
		}
	}
	return false
}

// switches reports whether tools is opencode's: an object of booleans.
func switches(n *node) bool {
	if n.kind != mapping || len(n.items) == 0 {
		return false
	}
	for i := range n.items {
		if n.items[i].kind != boolean {
			return false
		}
	}
	return true
}

// ours reports whether a file without kind has a key that only our format has, with a
// value of its shape. What people add to any tool's file (title, version, temperature)
// says nothing.
func ours(root *node) bool {
	for i, k := range root.keys {
		v := &root.items[i]
		switch k.name {
		case "systemPrompt", "system_prompt", "fallback_models", "tool_confirmation", "mcp", "triggers",
			"guardrails", "memory_files",
			"graph", "tracing", "inputs", "output", "query", "initial_messages", "thinking_budget",
			"thinking_level", "thinkingBudget",
			"run", "maxTokens", "maxCost", "max_time_minutes", "subagents", "user_invocable", "routable", "displayName":
			if shapedAsOurs(k.name, v) {
				return true
			}
		case "tools", "memory":
			if v.kind == mapping {
				return true
			}
		case "handoffs":
			if v.kind == list && len(v.items) > 0 && v.items[0].get("to") != nil {
				return true
			}
		}
	}
	return false
}

// shapedAsOurs reports whether a value has the shape that our field of this name has.
// Other tools, and people, give the plainer names to things of their own. What
// restricts an agent has it in any shape, so that it is never passed over.
//
// A name that is not listed is ours in any shape.
func shapedAsOurs(name string, v *node) bool {
	switch name {
	case "output", "run", "graph", "tracing", "mcp":
		return v.kind == mapping
	case "inputs":
		return v.kind == mapping && all(v, mapping)
	case "triggers":
		return v.kind == mapping || (v.kind == list && all(v, mapping))
	case "initial_messages":
		return v.kind == list && all(v, mapping)
	case "query", "scope", "version", "title":
		return v.kind != mapping && v.kind != list
	case "temperature", "temp", "top_p", "topP", "thinking_budget", "thinkingBudget":
		return v.kind == number
	case "memory_files", "routable":
		return v.kind == boolean
	case "fallback_models", "fallbackModels", "subagents":
		return v.kind == str || (v.kind == list && all(v, str))
	}
	return true
}

// all reports whether each item of a node is of a kind.
// It is true for a node without items.
func all(n *node, want kind) bool {
	for i := range n.items {
		if n.items[i].kind != want {
			return false
		}
	}
	return true
}

// maxName is the longest name of spec 1.2.
const maxName = 64

// validName reports whether a name is as spec 1.2 has it, but for reserved ones:
// ^[a-z][a-z0-9]*([-_][a-z0-9]+)*$ in at most 64 characters.
func validName(name string) bool {
	if name == "" || len(name) > maxName || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	mark := false
	for i := range len(name) {
		switch c := name[i]; {
		case (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'):
			mark = false
		case (c == '-' || c == '_') && !mark:
			mark = true
		default:
			return false
		}
	}
	return !mark
}

// reservedName reports whether a name means something else (spec 1.2).
// Such a name fits the shape, so validName has to be asked as well.
func reservedName(name string) bool {
	switch name {
	case "main", "auto", "user", "END", "system":
		return true
	}
	return false
}

// slug makes a usable name of another tool's, or "" of one without a letter or
// digit of ASCII.
// It is in lower case, without apostrophes, and begins with a letter; what is too long is
// cut at a dash in its second half where there is one.
func slug(name string) string {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(name) {
		switch {
		case (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'):
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			if b.Len() == 0 && c <= '9' {
				b.WriteString("agent-")
			}
			b.WriteRune(c)
		case c == '\'' || c == '’':
		default:
			gap = true
		}
	}
	s := b.String()
	if len(s) > maxName {
		// A cut at a dash leaves whole words, and nothing more has to go.
		boundary := s[maxName] == '-'
		s = s[:maxName]
		if i := strings.LastIndexByte(s, '-'); i > maxName/2 && !boundary {
			s = s[:i]
		}
		s = strings.TrimRight(s, "-")
	}
	return s
}

// titleOf makes a title of a name: code-fixer is Code Fixer.
// A name without a letter or digit has the title Agent, so that there is one to show.
func titleOf(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	for word := range strings.FieldsFuncSeq(name, func(c rune) bool { return c == '-' || c == '_' }) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		_, size := utf8.DecodeRuneInString(word)
		b.WriteString(strings.ToUpper(word[:size]))
		b.WriteString(word[size:])
	}
	if b.Len() == 0 {
		return "Agent"
	}
	return b.String()
}

// colorNames are what other tools' colour names become.
var colorNames = map[string]string{
	"red": "#EF4444", "blue": "#3B82F6", "green": "#22C55E", "yellow": "#EAB308", "purple": "#A855F7",
	"orange": "#F97316", "pink": "#EC4899", "cyan": "#06B6D4", "teal": "#14B8A6", "indigo": "#6366F1",
	"violet": "#8B5CF6", "magenta": "#D946EF", "lime": "#84CC16", "amber": "#F59E0B", "emerald": "#10B981",
	"rose": "#F43F5E", "sky": "#0EA5E9", "gold": "#FFD700", "brown": "#92400E", "black": "#000000",
	"white": "#FFFFFF", "gray": "#6B7280", "grey": "#6B7280", "slate": "#64748B", "silver": "#C0C0C0",
	"navy": "#000080", "maroon": "#800000", "olive": "#808000", "crimson": "#DC143C", "coral": "#FF7F50",
	"turquoise": "#40E0D0", "fuchsia": "#FF00FF", "aqua": "#00FFFF",
	"primary": "#3B82F6", "secondary": "#6B7280", "accent": "#A855F7", "success": "#22C55E", "warning": "#EAB308",
	"error": "#EF4444", "info": "#06B6D4",
}

// colorOf resolves a colour, as it is or by name. Words before the name, as in
// neon-green, do not count.
// false = it is not known.
// The result is #RRGGBB in the case in which it is written.
func colorOf(name string) (string, bool) {
	if hexColor(name) {
		return name, true
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if c, ok := colorNames[name]; ok {
		return c, true
	}
	if i := strings.LastIndexAny(name, "- _"); i >= 0 {
		c, ok := colorNames[name[i+1:]]
		return c, ok
	}
	return "", false
}

// hexColor reports whether s is #RRGGBB.
func hexColor(s string) bool {
	return len(s) == 7 && s[0] == '#' && strings.Trim(s[1:], "0123456789abcdefABCDEF") == ""
}
