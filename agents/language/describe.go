package language

// What things are, in Markdown: for hover and beside completions.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
)

// visible returns the agents that a person or an agent of a folder may name, each name
// once, in the order of the snapshot. Of several with one name the folder's own counts.
// Only agents that can run are among them.
func (w *World) visible(folder string) []*registry.Entry {
	if w.Agents == nil {
		return nil
	}
	best := make(map[string]int)
	var found []*registry.Entry
	for _, e := range w.Agents.Entries() {
		d := e.Definition
		if e.State != registry.OK {
			continue
		}
		at, twice := best[d.Name]
		switch {
		case !twice:
			best[d.Name] = len(found)
			found = append(found, e)
		case d.Scope == definition.Project && d.Folder == folder:
			found[at] = e
		}
	}
	return found
}

// decimal is a number as text.
func decimal(n int) string { return strconv.Itoa(n) }

// tokens is a number of tokens with its noun.
func tokens(n int) string {
	if n == 1 {
		return "1 token"
	}
	return tool.Tokens(n) + " tokens"
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return decimal(n) + " " + noun
}

// windowOf is a model's window in words.
// It is "" where that is not known.
func windowOf(e model.Entry) string {
	if e.Window == 0 {
		return ""
	}
	return tokens(e.Window)
}

// describeModel tells what is known of a model, by its id or an alias, in Markdown. It is
// "" where no table is known, and says so of a model that the table does not have.
func describeModel(w *World, name string) string {
	if w.Models == nil {
		return ""
	}
	e, known := w.Models.Lookup(name)
	if !known {
		// Without a window no pattern of the table fits the name either.
		if e = w.Models.Describe(name); e.Window == 0 {
			return "**" + escape(name) + "** · not in the model table"
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**", escape(e.ID))
	if len(e.Aliases) > 0 {
		fmt.Fprintf(&b, " · also %s", escape(strings.Join(e.Aliases, ", ")))
	}
	if !known {
		b.WriteString(" · not in the model table; by its name it is like others")
	}
	if next, gone := w.Models.Successor(e.ID); gone {
		b.WriteString("\n\n**Retired** since " + escape(e.Retired))
		if next.ID != "" {
			b.WriteString(": runs as " + escape(next.ID))
		}
		b.WriteByte('.')
	} else if e.Retired != "" {
		b.WriteString("\n\nTo be retired on " + escape(e.Retired))
		if e.Successor != "" {
			b.WriteString(", followed by " + escape(e.Successor))
		}
		b.WriteByte('.')
	}
	if e.Window > 0 {
		fmt.Fprintf(&b, "\n\nWindow %s tokens", tool.Tokens(e.Window))
		if e.MaxOutput > 0 {
			fmt.Fprintf(&b, ", answers up to %s", tool.Tokens(e.MaxOutput))
		}
		b.WriteByte('.')
	}
	b.WriteString(pricesOf(e))
	if !e.Sampling {
		b.WriteString("\n\nTakes no temperature and no top_p.")
	}
	switch e.Thinking {
	case model.Level:
		b.WriteString("\n\nThinks by level: " + strings.Join(e.Levels, ", ") + ".")
	case model.Budget:
		fmt.Fprintf(&b, "\n\nThinks by budget: %d to %d tokens.", e.MinBudget, e.MaxBudget)
	}
	if e.Note != "" {
		b.WriteString("\n\n" + escape(e.Note))
	}
	return b.String()
}

// pricesOf tells a model's prices, one paragraph.
// It begins with an empty line, since it stands behind the model's other facts. There is a
// price for each size of request where the provider has several.
func pricesOf(e model.Entry) string {
	if len(e.Prices) == 0 {
		return "\n\nThe price is not known."
	}
	var b strings.Builder
	b.WriteString("\n\nUSD for a million tokens: ")
	for i, p := range e.Prices {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s in, %s out", price(p.Input), price(p.Output))
		if p.Cached > 0 {
			fmt.Fprintf(&b, ", %s cached", price(p.Cached))
		}
		if p.UpTo > 0 {
			fmt.Fprintf(&b, " (requests up to %s)", tool.Tokens(p.UpTo))
		}
	}
	return b.String() + "."
}

// price is an amount of dollars with two decimals, or with all that it has.
func price(usd float64) string {
	s := strconv.FormatFloat(usd, 'f', -1, 64)
	if whole, cents, _ := strings.Cut(s, "."); len(cents) < 2 {
		return "$" + whole + "." + cents + strings.Repeat("0", 2-len(cents))
	}
	return "$" + s
}

// risks are the tiers of risk in words, with whether a person is asked in each approval
// mode.
var risks = map[string]string{
	"safe":      "it only reads, and is not asked about",
	"low":       "limited writes, asked about unless the mode is edits or auto",
	"medium":    "it may change the system's state, asked about unless the mode is auto",
	"high":      "dangerous, always asked about",
	"protected": "it touches protected places, always asked about", "catastrophic": "refused",
	ByCommand: "a command that is known to only read is not asked about; others are, unless the mode is auto, and dangerous ones always",
}

// describeTool tells what a tool does, and its tier.
// The texts of servers in it are escaped.
func describeTool(t Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**", escape(t.Name))
	if t.Risk != "" {
		fmt.Fprintf(&b, " · %s", escape(t.Risk))
		if words := risks[t.Risk]; words != "" {
			fmt.Fprintf(&b, ": %s", words)
		}
	}
	if t.Summary != "" {
		b.WriteString("\n\n" + escape(t.Summary))
	}
	if len(t.Aliases) > 0 {
		b.WriteString("\n\nAlso " + escape(strings.Join(t.Aliases, ", ")) + ".")
	}
	if t.Tokens > 0 {
		fmt.Fprintf(&b, "\n\nIts description takes %s of each request.", tokens(t.Tokens))
	}
	return b.String()
}

// describeServer tells what an MCP server is.
func describeServer(s Server) string {
	text := "**" + escape(s.Name) + "** · MCP server"
	if s.State != "" {
		text += " · " + escape(s.State)
	}
	if s.Summary != "" {
		text += "\n\n" + escape(s.Summary)
	}
	return text
}

// describeAgent tells what an agent is for.
// A long description is cut: it may be written for models.
func describeAgent(w *World, d *definition.Definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** · %s", escape(d.Title), d.Scope)
	if d.Dialect != definition.Agentls {
		fmt.Fprintf(&b, " · a file of %s", d.Dialect)
	}
	if d.Description != "" {
		b.WriteString("\n\n" + escape(tool.Clip(d.Description, 600)))
	}
	fmt.Fprintf(&b, "\n\nModel %s", escape(resolveModel(w, d)))
	if d.Tools.Given {
		fmt.Fprintf(&b, " · %s", plural(len(d.Tools.Allow), "allowed tool"))
	}
	if len(d.Handoffs) > 0 {
		fmt.Fprintf(&b, " · %s", plural(len(d.Handoffs), "handoff"))
	}
	return b.String()
}

// resolveModel is the model that an agent's own becomes after aliases and inheritance. It
// stays auto where requests choose, and inherit where nothing is known that could be
// inherited.
func resolveModel(w *World, d *definition.Definition) string {
	if d.Model == model.Auto || w.Models == nil || (d.Model == "inherit" && w.Model == "") {
		return d.Model
	}
	id, _, _ := w.Models.Resolve(d.Model, w.Model)
	return id
}
