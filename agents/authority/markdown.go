package authority

// An explanation in an editor's hover.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// Markdown is the explanation for a hover: what is not as by default, at most
// maxLines lines, at least one, of which the last says how to see all of it. Names
// and texts of files are shown as they are: none of them becomes a link, an image,
// a heading or HTML. e is not changed.
func Markdown(e *Explanation, maxLines int) string {
	lines := hover(e)
	last := "- all of it: "
	if maxLines = max(maxLines, 1); len(lines) >= maxLines {
		last = fmt.Sprintf("… %d more: ", len(lines)-maxLines+1)
		lines = lines[:maxLines-1]
	}
	return strings.Join(append(lines, last+tool.MarkdownCode("agentls explain "+e.Name)), "\n")
}

// hover is the whole, a line for each item.
//
// The order is by what a person wants to know first: whether it runs, what it costs, who
// answers, and what it may do.
func hover(e *Explanation) []string {
	at := naming(e)
	lines := []string{fmt.Sprintf("**%s** %s", plain(e.Title), span(e.Name))}
	item := func(what, text string) { lines = append(lines, "- "+what+": "+text) }
	for _, why := range e.Refused {
		item("cannot run", tool.MarkdownText(why)) // never cut: its end says what to do
	}
	item("worst case", plain(e.Worst.Text()))
	if e.Tokens != (Tokens{}) {
		item("tokens", fmt.Sprintf("about %d of prompt, %d of tools", e.Tokens.Prompt, e.Tokens.Tools))
	}
	if v, ok := e.Value("model"); ok {
		hoverValue(item, at, v)
	}
	hoverTools(e, item)
	for _, group := range []struct {
		what string
		all  []Reference
	}{{"MCP servers", e.Servers}, {"subagents", e.Subagents}, {"handoffs", e.Handoffs},
		{"graph", e.Graph}, {"hooks", e.Hooks}} {
		if len(group.all) > 0 {
			item(group.what, formatReferences(group.all))
		}
	}
	// What is as by default is left out: a hover has few lines.
	for _, v := range e.Values {
		if v.Key != "model" && (v.Origin.File != "" || len(v.Overrode) > 0) {
			hoverValue(item, at, v)
		}
	}
	for _, why := range slices.Concat(e.Ignored, e.Lost) {
		item("does not count", plain(why))
	}
	return lines
}

// hoverValue adds a value with the place that says it.
func hoverValue(item func(what, text string), at func(Origin) string, v Value) {
	item(plain(v.Key), span(v.Text)+" ("+plain(at(v.Origin))+")")
}

// hoverTools says what becomes of the tools in the mode that holds.
func hoverTools(e *Explanation, item func(what, text string)) {
	// By what happens in the mode that holds, and not by tier: that is what a person meets.
	by := make(map[Verdict][]string)
	var not []string
	for _, t := range e.Tools {
		if t.Offered {
			by[t.Asks.Now] = append(by[t.Asks.Now], t.Name)
		} else {
			not = append(not, t.Name)
		}
	}
	item("tools", fmt.Sprintf("%d of %d, in mode %s", len(e.ToolNames()), len(e.Tools), plain(e.Approval)))
	for _, group := range []struct {
		what  string
		names []string
	}{{"run by themselves", by[Auto]}, {"ask first", by[Ask]}, {"are refused", by[Refuse]}, {"are not offered", not}} {
		if len(group.names) > 0 {
			item(group.what, spans(group.names))
		}
	}
}

// formatReferences lists references, those that lead nowhere marked.
func formatReferences(all []Reference) string {
	parts := make([]string, 0, len(all))
	for _, r := range all {
		part := span(r.Name)
		if !r.Known {
			part += " (not known)"
		}
		parts = append(parts, part)
	}
	return few(parts)
}

// spans lists names as code spans.
func spans(names []string) string {
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, span(name))
	}
	return few(parts)
}

// few joins the first of a list, and says how many follow.
func few(parts []string) string {
	const most = 12
	if len(parts) > most {
		parts = append(slices.Clone(parts[:most]), fmt.Sprintf("and %d more", len(parts)-most))
	}
	return strings.Join(parts, ", ")
}

// span is a text as a code span, in which Markdown means nothing.
func span(text string) string { return tool.MarkdownCode(shorten(text)) }

// plain is a text that says itself and nothing more.
func plain(text string) string { return tool.MarkdownText(shorten(text)) }

// maxShown is the longest text of a file in a hover, in characters.
const maxShown = 200

// shorten is a text on one line, without what is not seen, and not too long.
func shorten(text string) string {
	text = tool.Escape(text)
	n := 0
	for i := range text {
		if n++; n > maxShown {
			return text[:i] + "…"
		}
	}
	return text
}
