package exchange

// Front-matter of another tool's, made of an agent of ours.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
)

// honoured are the keys that restrict, have no counterpart here, and are each
// tool's own.
var honoured = map[definition.Dialect][]string{
	definition.Claude:   {"hooks", "isolation", "permissionMode"},
	definition.OpenCode: {"permission", "disable"},
}

// fresh writes the front-matter for a tool. back says that the agent came from
// there, so that what restricts it there is known there. It depends on its arguments
// alone: before and write compare two of its results by their text.
func fresh(d *definition.Definition, t *definition.Tree, to definition.Dialect, back bool) (e entries, loss []Loss) {
	if to == definition.GeminiCLI {
		e.put("kind", "local")
	}
	if name := nameIn(d, to); name != "" {
		e.text("name", name)
	}
	if to == definition.GeminiCLI && sample(to, "").Title != d.Title {
		e.text("display_name", d.Title)
	}
	if d.Description != "" {
		e.text("description", d.Description)
	} else {
		e.text("description", d.Title) // they want one
	}
	e.text("model", modelIn(d.Model, to))
	loss = toolsIn(&e, d, to)
	writeModelFields(&e, d, to)
	switch to {
	case definition.Claude, definition.OpenCode:
		e.text("color", colorIn(d.Color, to))
	case definition.Copilot:
		if !d.UserInvocable {
			e.put("user-invocable", "false")
		}
		if !d.Delegable {
			e.put("disable-model-invocation", "true")
		}
	}
	// A key that restricts goes only to a tool that heeds it; close finds out what it leaves open
	// for the others. Its own value counts more than one that was made.
	for _, key := range restricting(d, t) {
		if _, there := e.get(key); back || slices.Contains(honoured[to], key) {
			if there {
				e = slices.DeleteFunc(e, func(x entry) bool { return x.key == key })
			}
			e.put(definition.YAMLText(key), flow(t.Root.Get(key)))
		}
	}
	if to == definition.OpenCode {
		askIn(&e, d)
	}
	return e, loss
}

// restricting returns the keys of a file that restrict and that we cannot honour.
func restricting(d *definition.Definition, t *definition.Tree) []string {
	var keys []string
	index := definition.NewIndex(t.Text)
	for _, p := range d.Problems {
		if p.Code != "agent/authority" {
			continue
		}
		if key := keyOf(t, index, p); key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// nameIn returns the agent's name in another tool's file; opencode names agents
// after their files only, and Copilot shows the name to people.
func nameIn(d *definition.Definition, to definition.Dialect) string {
	switch to {
	case definition.OpenCode:
		return ""
	case definition.Copilot:
		if as := definition.Parse(source("sample.md", "---\nname: "+definition.YAMLText(d.Title)+"\n---\nx\n",
			to)); as.Name == d.Name && as.Title == d.Title {
			return d.Title
		}
	}
	return d.Name
}

// modelIn returns how another tool names a model, or "" for its own default. It goes by
// the form of the id alone, and asks no table of models.
func modelIn(model string, to definition.Dialect) string {
	gemini := strings.HasPrefix(model, "gemini-")
	claude := strings.HasPrefix(model, "claude-")
	switch {
	case to == definition.Claude && claude:
		return model
	case to == definition.GeminiCLI && (gemini || model == "flash" || model == "flash-lite" || model == "pro"):
		return model
	case to == definition.OpenCode && gemini:
		return "google/" + model
	case to == definition.OpenCode && claude:
		return "anthropic/" + model
	case to == definition.OpenCode && strings.Contains(model, "/"):
		return model
	}
	return ""
}

// colorIn returns a colour as another tool takes it, or "". Tools that take names get
// the one that definition.Parse reads as this very colour.
func colorIn(color string, to definition.Dialect) string {
	if to == definition.OpenCode || color == "" {
		return color
	}
	for _, name := range [...]string{"red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"} {
		if sample(to, "color: "+name).Color == color {
			return name
		}
	}
	return ""
}

// toolsIn writes what the agent may use. An agent that may use nothing gets an empty
// list: without one it would have every tool there.
// The losses are what cannot be said there.
func toolsIn(e *entries, d *definition.Definition, to definition.Dialect) []Loss {
	if !d.Tools.Given && len(d.Tools.Deny) == 0 && slices.Contains(d.MCPServers, "*") &&
		slices.Contains(d.Subagents, "*") {
		return nil // all that there is, which is what their files have without a list
	}
	c := choose(d, to)
	callable := c.delegates(d, to)
	switch to {
	case definition.Claude:
		switch {
		case len(c.names) > 0:
			e.put("tools", words(c.names))
		default:
			// An empty list alone might be taken for none.
			e.put("tools", "[]")
			c.denied = natives(to)
		}
		if len(c.denied) > 0 {
			e.put("disallowedTools", words(c.denied))
		}
	case definition.OpenCode:
		on := []string{`"*": false`}
		for _, name := range c.names {
			on = append(on, definition.YAMLText(name)+": true")
		}
		e.nest("tools", "  "+strings.Join(on, "\n  "))
	default:
		e.put("tools", list(c.names))
	}
	if len(callable) > 0 {
		e.put("agents", list(callable))
	}
	return c.loss
}

// delegates limits which agents may be called: in the entry that says so, or it
// returns them for a key of their own. Without a way to say it no agent is called.
// It is called before the names are written, since it may change or remove one.
func (c *choice) delegates(d *definition.Definition, to definition.Dialect) (callable []string) {
	i := slices.IndexFunc(c.names, func(name string) bool {
		return slices.Contains(meaning(to, name).Allow,
			"delegate_to_agent")
	})
	if i < 0 || slices.Contains(d.Subagents, "*") {
		return nil
	}
	lose := func(format string, args ...any) {
		c.loss = append(c.loss, Loss{"subagents", fmt.Sprintf(format, args...), definition.Warning})
	}
	if to != definition.Claude && to != definition.Copilot {
		c.names = slices.Delete(c.names, i, i+1)
		lose("%s cannot limit which agents it may call, so it calls none.", Title(to))
		return nil
	}
	for _, agent := range d.Subagents {
		if _, named := definition.CanonicalTool("transfer_to_" + agent); named && !wild(agent) {
			callable = append(callable, agent)
		} else {
			lose("The agent %s cannot be named in %s and is left out.", agent, Title(to))
		}
	}
	switch {
	// The entry without names would mean every agent.
	case len(callable) == 0:
		c.names = slices.Delete(c.names, i, i+1)
	case to == definition.Claude:
		c.names[i] += "(" + strings.Join(callable, ", ") + ")"
		return nil
	}
	return callable
}

// askIn writes which of opencode's tools ask: those that the agent has and whose
// counterparts here always ask.
func askIn(e *entries, d *definition.Definition) {
	// The file's own permission has been written by fresh already.
	if _, there := e.get("permission"); there {
		return
	}
	var lines []string
	for _, name := range askable() {
		for _, named := range meaning(definition.OpenCode, name).Allow {
			if has(d, named) && tool.AnyTakes(d.Confirmation.Require, named) {
				lines = append(lines, "  "+name+": ask")
				break
			}
		}
	}
	e.nest("permission", lines...)
}

// writeModelFields writes limits, and what is sent to the model. What the other tool
// has no key for is left out; losses tells it.
func writeModelFields(e *entries, d *definition.Definition, to definition.Dialect) {
	turns := map[definition.Dialect]string{definition.Claude: "maxTurns", definition.OpenCode: "steps",
		definition.GeminiCLI: "max_turns"}[to]
	if turns != "" && d.MaxTurns > 0 {
		e.put(turns, number(float64(d.MaxTurns)))
	}
	if to == definition.GeminiCLI && d.MaxTime > 0 {
		e.put("timeout_mins", number(float64(d.MaxTime)/float64(time.Minute)))
	}
	if d.Temperature != nil && (to == definition.OpenCode || to == definition.GeminiCLI) {
		e.put("temperature", number(*d.Temperature))
	}
	if d.TopP != nil && to == definition.OpenCode {
		e.put("top_p", number(*d.TopP))
	}
	effort := map[definition.Dialect]string{definition.Claude: "effort", definition.OpenCode: "reasoningEffort"}[to]
	if effort != "" && d.ThinkingLevel != "" && (d.ThinkingLevel != "minimal" || to == definition.OpenCode) {
		e.text(effort, d.ThinkingLevel)
	}
}
