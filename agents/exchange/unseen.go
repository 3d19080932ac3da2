package exchange

// What a file says to its own tool and what has no meaning here, so that nothing
// of ours compares it.

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// warnUnseen returns what gives an agent power in another tool and is not compared with
// what it has here, since it means nothing here: a warning for each key. t is the
// file that d was read from. Who wrote it may have meant that nobody sees it. Nothing
// is refused for it.
func warnUnseen(d *definition.Definition, t *definition.Tree) []Loss {
	var loss []Loss
	tell := func(key, format string, args ...any) {
		loss = append(loss, Loss{key, fmt.Sprintf(format, args...), definition.Warning})
	}
	tool := Title(d.Dialect)
	for _, m := range hiddenKey.FindAllStringSubmatch(t.Text[t.Front.Start:t.Front.End], -1) {
		tell("imported", "%s stands behind a sign (U+0085, U+2028 or U+2029) that ends a line for some readers of YAML: there %s may take it for a key.", m[1], tool)
	}
	for i, k := range t.Root.Keys {
		switch v := &t.Root.Items[i]; k.Name {
		case "permissionMode", "permission-mode":
			switch v.Text {
			case "", "default", "plan", "dontAsk":
			default:
				tell(k.Name, "%s has no effect here; there %s may ask less for it.", flow(v), tool)
			}
		case "permission", "permissions":
			if lenient(v) {
				tell(k.Name, "What is neither ask nor deny has no effect here; there %s may ask less for it.", tool)
			}
		case "hooks":
			if v.Kind != definition.Null {
				tell(k.Name, "No hook of it runs here; there %s runs its commands.", tool)
			}
		case "initialPrompt":
			if d.Dialect == definition.Claude && v.Kind != definition.Null {
				tell(k.Name, "It has no effect here; there %s begins with it by itself.", tool)
			}
		case "handoffs":
			if d.Dialect == definition.Copilot && sends(v) {
				tell(k.Name, "What they send has no effect here; there %s sends it by itself.", tool)
			}
		case "mcpServers", "mcp_servers", "mcp-servers", "mcp":
			if names := serverNames(v); len(names) > 0 {
				tell(k.Name, "The MCP servers that it describes are not started here; there %s starts them: %s.", tool,
					strings.Join(names, ", "))
			}
		case "memory":
			if d.Dialect == definition.Claude && v.Kind == definition.String {
				tell(k.Name, "It has no effect here; there %s lets the agent read and write files for it.", tool)
			}
		case "tools":
			switch names := meaningless(d, t, v); len(names) {
			case 0:
			case 1:
				tell(k.Name, "%s is left out here; there %s may let the agent use it.", names[0], tool)
			default:
				tell(k.Name, "%s are left out here; there %s may let the agent use them.",
					strings.Join(names, ", "), tool)
			}
		}
	}
	return loss
}

// lenient reports whether a value of opencode's permission says anything but ask
// and deny.
//
// A word that opencode does not know counts as lenient.
func lenient(v *definition.Value) bool {
	switch v.Kind {
	case definition.Null:
		return false
	case definition.Mapping, definition.List:
		for i := range v.Items {
			if lenient(&v.Items[i]) {
				return true
			}
		}
		return false
	}
	return v.Text != "ask" && v.Text != "deny"
}

// hiddenKey is a key behind what ends a line in YAML 1.1 and not in YAML 1.2.
var hiddenKey = regexp.MustCompile(`[\x{85}\x{2028}\x{2029}][ \t]*["']?([A-Za-z][\w-]{0,63})["']?[ \t]*:`)

// sends reports whether one of Copilot's handoffs sends its prompt unasked.
func sends(handoffs *definition.Value) bool {
	for i := range handoffs.Items {
		if v := handoffs.Items[i].Get("send"); v != nil && !(v.Kind == definition.Boolean &&
			strings.EqualFold(v.Text, "false")) {
			return true
		}
	}
	return false
}

// serverNames returns the names of the MCP servers that a value describes, in lists
// too; one that is only named is among those that are compared.
func serverNames(v *definition.Value) []string {
	var names []string
	for i := range v.Items {
		if v.Kind == definition.Mapping {
			names = append(names, v.Keys[i].Name)
		} else {
			names = append(names, serverNames(&v.Items[i])...)
		}
	}
	return names
}

// meaningless returns the entries of a list of tools, or switches that are on, that
// allow nothing here.
//
// They are known by the findings about the file, within the extent of tools.
func meaningless(d *definition.Definition, t *definition.Tree, tools *definition.Value) []string {
	var index *definition.Index
	var names []string
	for _, p := range d.Problems {
		if p.Code != "agent/tool-unknown" {
			continue
		}
		if index == nil {
			index = definition.NewIndex(t.Text)
		}
		start, end := index.Offset(p.Range.Start), index.Offset(p.Range.End)
		if start < tools.Start || end > tools.End {
			continue
		}
		// A switch that is off allows nothing there either. In a list everything is on.
		on := tools.Kind != definition.Mapping
		for i, k := range tools.Keys {
			on = on || (k.Start == start && strings.EqualFold(tools.Items[i].Text, "true"))
		}
		if on {
			names = append(names, strings.Trim(t.Text[start:end], `"'`))
		}
	}
	return names
}
