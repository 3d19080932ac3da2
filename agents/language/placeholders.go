package language

import (
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// geminiVariables are gemini-cli's own placeholders (spec 1.7).
var geminiVariables = []string{"query", "cliVersion", "activeModel", "today"}

// placeholders returns the names that ${ may be followed by.
// field is the path of the text's field, "" for the prompt. The items have no Insert yet.
func (c *completion) placeholders(field string) []Item {
	var items []Item
	tree := c.f.Tree
	if field == "output.text" {
		fields := tree.Find("output", "schema", "properties")
		if fields == nil || fields.Kind != definition.Mapping {
			return nil
		}
		return variables(fields)
	}
	if inputs := tree.Find("inputs"); inputs != nil && inputs.Kind == definition.Mapping {
		items = variables(inputs)
	}
	if tree.Dialect == definition.GeminiCLI {
		for _, name := range geminiVariables {
			items = append(items, Item{Label: name, Kind: VariableItem, Detail: "gemini-cli's"})
		}
	}
	return items
}

// variables are the keys of a mapping that a placeholder can name.
func variables(of *definition.Value) []Item {
	var items []Item
	for i, k := range of.Keys {
		if variableName(k.Name) {
			items = append(items, variable(k.Name, &of.Items[i]))
		}
	}
	return items
}

// variableName reports whether a placeholder can have a name: letters, digits and _.
func variableName(name string) bool {
	return name != "" && wordEnd(name, 0) == len(name) && !strings.Contains(name, "-")
}

// variable is an input, or a field of an output.
// A type that is not given is string, as in inputs.
func variable(name string, v *definition.Value) Item {
	i := Item{Label: name, Kind: VariableItem, Detail: "string"}
	if t := v.Get("type"); t != nil && t.Kind == definition.String {
		i.Detail = t.Text
	}
	if d := v.Get("description"); d != nil {
		i.Doc = escape(d.Text)
	}
	return i
}

// braces offers names behind { alone.
// The closing brace comes with a name, unless it is there.
func (c *completion) braces(names []string) {
	span, ok := c.f.openMark(c.offset, "{")
	if !ok {
		return
	}
	c.span = span
	shut := "}"
	if strings.HasPrefix(c.f.Text[span.End:], "}") {
		shut = ""
	}
	for _, name := range names {
		c.add(Item{Label: name, Kind: VariableItem, Insert: name + shut})
	}
}
