package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// agentFiles is the page of the fields of agent files: a section for each field
// of the top with what may stand in it and an example.
func agentFiles() ([]byte, error) {
	p := newPage("Agent files")
	p.say("An agent is a Markdown file: `.gemini/agents/NAME.md` in a project, `~/.gemini/agents/NAME.md` for all your folders. Between two lines `---` it begins with fields in YAML, and the text below them is the agent's prompt. Only `name` is needed.")
	p.say("```markdown\n%s```", firstExample)
	p.say("`agentls create` writes a file, `agentls validate NAME` checks it, `agentls explain NAME` shows what the agent really gets. Files of gemini-cli, Claude Code, Copilot and opencode are read as well: [migrating](../migrating.md). In paths `[]` stands for an entry of a list and `*` for a name that you choose.")
	var ours, foreign []definition.Field
	for _, f := range definition.Fields() {
		if len(f.Dialects) > 0 {
			foreign = append(foreign, f)
		} else {
			ours = append(ours, f)
		}
	}
	for i := 0; i < len(ours); {
		top := topOf(ours[i].Path)
		next := i + 1
		for next < len(ours) && topOf(ours[next].Path) == top {
			next++
		}
		example, ok := examples[top]
		if !ok {
			return nil, fmt.Errorf("the field %s has no example in examples.go", top)
		}
		p.say("## %s", top)
		p.fields(ours[i:next])
		for n, one := range strings.Split(example, "---or---") {
			if n > 0 {
				p.say("or")
			}
			p.say("```yaml\n%s\n```", strings.TrimSpace(one))
		}
		i = next
	}
	p.say("## Fields of other tools")
	p.say("These are read in files of the tools that are named, and mean nothing in others.")
	var rows [][]string
	for _, f := range foreign {
		var tools []string
		for _, d := range f.Dialects {
			tools = append(tools, toolNames[d])
		}
		rows = append(rows, []string{spelled(f), strings.Join(tools, ", "), f.Doc})
	}
	p.table([]string{"field", "of", "effect"}, rows)
	return p.text(), nil
}

// toolNames are the tools whose files are read.
var toolNames = map[definition.Dialect]string{
	definition.Claude: "Claude Code", definition.GeminiCLI: "gemini-cli", definition.Copilot: "Copilot",
	definition.OpenCode: "opencode",
}

// fields writes the table of a section.
func (p *page) fields(fields []definition.Field) {
	var rows [][]string
	for _, f := range fields {
		rows = append(rows, []string{spelled(f), typesOf(f), fieldDefault(f), f.Doc})
	}
	p.table([]string{"field", "type", "default", "effect"}, rows)
}

// topOf returns the first part of a path.
func topOf(path string) string { return path[:len(path)-len(strings.TrimLeft(path, letters))] }

// letters are what names of fields are made of.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"

// spelled is a field's path, with its other spellings.
func spelled(f definition.Field) string {
	if len(f.Aliases) == 0 {
		return code(f.Path)
	}
	return code(f.Path) + ", also " + codes(f.Aliases)
}

// typesOf says what a field takes.
func typesOf(f definition.Field) string {
	if f.Values != nil && slices.Equal(f.Type, []string{"string"}) {
		return codes(f.Values)
	}
	var types []string
	for _, t := range f.Type {
		switch {
		case t == "*":
			t = "`*`"
		case strings.HasSuffix(t, "[]"):
			t = "list of " + strings.TrimSuffix(t, "[]") + "s"
		}
		types = append(types, t)
	}
	if f.Values != nil {
		return strings.Join(types, " or ") + " of " + codes(f.Values)
	}
	return strings.Join(types, " or ")
}

func fieldDefault(f definition.Field) string {
	if f.Required {
		return "**needed**"
	}
	return f.Default
}
