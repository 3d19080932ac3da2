package language

// Hover: what the thing under the cursor is.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/mention"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
)

// Hover is what is shown about a place.
type Hover struct {
	Markdown string
	Range    definition.Range // of the thing
}

// HoverAt tells what is at a position: what a field means and what a key or a value of
// another tool's was read as, what a tool does and its tier, what an agent is for, a
// model's row; on the agent's own name all that it really gets ([World.Explain]). A value
// that means nothing by itself gets what is told of its field. It reports false where
// there is nothing to tell. Texts of files are plain in it: they hold no links and no
// images.
func HoverAt(w *World, f *File, at definition.Position) (Hover, bool) {
	offset := f.Index.Offset(at)
	p, ok := f.placeAt(offset)
	if !ok {
		return f.hoverText(offset, definition.Span{Start: f.Tree.Body.Start, End: len(f.Text)}, "", w)
	}
	span := p.last().Span
	if span.Start == span.End {
		return Hover{}, false
	}
	field, known := definition.FieldAt(p.field)
	var text string
	switch {
	case p.key:
		text = f.hoverKey(p, field, known, w)
	case !known:
	default:
		switch field.Path {
		case "query", "initial_messages[].text", "systemPrompt", "output.text":
			if h, ok := f.hoverText(offset, span, field.Path, w); ok {
				return h, true
			}
		}
		var word definition.Span
		text, word = f.hoverValue(p, field, offset, w)
		if text != "" {
			span = word
		} else {
			text = describeField(field, p.field)
		}
	}
	if read := f.readAs(span); read != "" {
		text = strings.TrimPrefix(text+"\n\n"+read, "\n\n")
	}
	if text == "" {
		return Hover{}, false
	}
	// On a quote the cursor is beside what is told.
	return Hover{text, f.Index.Range(definition.Span{Start: min(span.Start, offset), End: max(span.End, offset)})}, true
}

// describeField tells what a field means. path is as the file spells it.
// Fields of inputs have names that the author chose, so these are no spellings.
func describeField(field definition.Field, path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** · %s", escape(field.Path), escape(strings.Join(field.Type, " or ")))
	if field.Required {
		b.WriteString(" · required")
	}
	b.WriteString("\n\n" + escape(field.Doc))
	switch len(field.Values) {
	case 0:
	case 1:
		fmt.Fprintf(&b, "\n\nThe only value is %s.", escape(field.Values[0]))
	default:
		fmt.Fprintf(&b, "\n\nOne of %s.", escape(strings.Join(field.Values, ", ")))
	}
	if field.Default != "" {
		fmt.Fprintf(&b, "\n\nDefault: %s.", escape(field.Default))
	}
	if path != field.Path && !strings.HasPrefix(path, "inputs.") {
		fmt.Fprintf(&b, "\n\n%s is another spelling of %s.", escape(path), escape(field.Path))
	}
	return b.String()
}

// hoverKey tells of a key, and what became of a list of tools under it.
// It is "" for a key that the table does not have.
// Of a file of ours nothing is added: it says itself what it means.
func (f *File) hoverKey(p place, field definition.Field, known bool, w *World) string {
	if !known {
		return ""
	}
	if field.Path == "name" {
		if text := f.explain(w); text != "" {
			return text
		}
	}
	text := describeField(field, p.field)
	d := f.Definition
	if f.Tree.Dialect == definition.Agentls || f.Tree.Root == nil {
		return text
	}
	switch field.Path {
	case "tools":
		text += "\n\nRead as tools.allow: " + listOf(d.Tools.Allow)
		if len(d.Tools.Deny) > 0 {
			text += "\n\nDenied: " + listOf(d.Tools.Deny)
		}
	case "disallowedTools", "permission":
		text += "\n\nRead as tools.deny: " + listOf(d.Tools.Deny)
	case "mcpServers":
		text += "\n\nRead as mcp.servers: " + listOf(d.MCPServers)
	}
	return text
}

// listOf is a list of names in words.
func listOf(names []string) string {
	if len(names) == 0 {
		return "none."
	}
	return escape(strings.Join(names, ", ")) + "."
}

// explain is the whole explanation of the file's agent, "" where none is to be
// had.
func (f *File) explain(w *World) string {
	if w.Explain == nil {
		return ""
	}
	return w.Explain(f.Definition)
}

// readAs tells what the reader of the file said of another tool's key or value at just
// this place.
func (f *File) readAs(s definition.Span) string {
	var b strings.Builder
	here := f.Index.Range(s)
	for _, p := range f.Definition.Problems {
		if p.Range == here && (p.Code == "agent/dialect" || (p.Severity == definition.Hint &&
			p.Code == "agent/tool-unknown")) {
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(escape(p.Message))
		}
	}
	return b.String()
}

// hoverValue tells of a value by the meaning of its field, and which part of it
// is meant; "" where the field says all.
// In another tool's file a text with commas is a list, and the part at offset is meant.
func (f *File) hoverValue(p place, field definition.Field, offset int, w *World) (string, definition.Span) {
	span := p.last().Span
	word := scalarSpan(f, &definition.Value{Span: span})
	if f.Tree.Dialect != definition.Agentls && !p.list && strings.Contains(f.Text[word.Start:word.End], ",") {
		word = f.part(word, min(max(offset, word.Start), word.End))
		span = word
	}
	name := strings.TrimSpace(f.Text[word.Start:word.End])
	switch field.Path {
	case "name":
		if text := f.explain(w); text != "" {
			return text, span
		}
		return describeAgent(w, f.Definition), span
	case "model", "fallback_models":
		return f.hoverModel(name, w), span
	case "tools", "tools.allow", "tools.deny", "tools.confirmation.require_confirmation", "disallowedTools":
		return f.hoverTool(name, w), span
	case "mcp.servers", "mcpServers":
		if s, ok := w.server(name); ok {
			return describeServer(s), span
		}
		if name != "*" {
			return "**" + escape(name) + "** · no such server in mcpServers of the settings", span
		}
	case "handoffs[].to":
		return f.hoverHandoff(name, w), span
	case "subagents", "agents":
		return f.hoverAgent(name, w), span
	}
	return "", span
}

// hoverModel tells of a model by what is written.
// It is "" where nothing is known of it.
func (f *File) hoverModel(name string, w *World) string {
	switch name {
	case "auto":
		return "**auto** · a model is chosen for each request by how hard it is."
	case "inherit":
		text := "**inherit** · the model that the settings or the caller have."
		if w.Model == "" || w.Models == nil {
			return text
		}
		id, _, _ := w.Models.Resolve(w.Model, "")
		return text + " By the settings:\n\n" + describeModel(w, id)
	}
	if w.Models != nil {
		if _, known := w.Models.Lookup(name); known || f.Tree.Dialect == definition.Agentls {
			return describeModel(w, name)
		}
	}
	// Another tool's name for it: what it was read as is what is told.
	if f.Tree.Dialect != definition.Agentls && w.Models != nil && f.Definition.Model != "inherit" {
		return describeModel(w, f.Definition.Model)
	}
	return ""
}

// maxMatches is how many tools of a glob are told.
const maxMatches = 20

// hoverTool tells of a tool by one of its names, of those that a glob stands for,
// or of what another tool's name was read as.
func (f *File) hoverTool(name string, w *World) string {
	if f.Tree.Dialect != definition.Agentls {
		// gemini-cli's names are ours; those of other tools may look like ours and mean
		// something else.
		if _, ours := definition.CanonicalTool(name); !ours || f.Tree.Dialect != definition.GeminiCLI {
			return f.hoverForeign(name, w)
		}
	}
	if strings.ContainsAny(name, "*?") {
		return hoverGlob(name, w)
	}
	if to, ok := transferTarget(name); ok {
		return "**" + escape(name) + "** · safe: passes control to\n\n" + f.hoverAgent(to, w)
	}
	if t, ok := w.tool(name); ok {
		return describeTool(t)
	}
	if _, ok := definition.CanonicalTool(name); ok {
		return "**" + escape(name) + "** · no tool of this name is there now"
	}
	return "**" + escape(name) + "** · no tool of this name is known"
}

// hoverGlob tells which tools a glob stands for.
// Only tools that are there now are looked at; maxMatches are named.
func hoverGlob(glob string, w *World) string {
	canonicalGlob, _ := definition.CanonicalTool(glob)
	var names []string
	for _, t := range w.Tools {
		if definition.MatchTool(canonicalGlob, t.Name) {
			names = append(names, t.Name)
		}
	}
	more := ""
	if len(names) > maxMatches {
		more = fmt.Sprintf(" and %d more", len(names)-maxMatches)
		names = names[:maxMatches]
	}
	if len(names) == 0 {
		return "**" + escape(glob) + "** · stands for no tool that is there now"
	}
	return "**" + escape(glob) + "** stands for " + escape(strings.Join(names, ", ")) + more + "."
}

// hoverForeign tells what another tool's name for a tool was read as: the reader
// itself is asked, with the one name.
// So it says what happens, and needs no table of its own.
func (f *File) hoverForeign(name string, w *World) string {
	if strings.ContainsAny(name, "\r\n") || name == "" {
		return ""
	}
	// The path decides the dialect that the reader takes.
	folders := map[definition.Dialect]string{
		definition.Claude: "/.claude/agents/a.md", definition.Copilot: "/.github/agents/a.agent.md",
		definition.OpenCode: "/.opencode/agent/a.md",
	}
	kind := ""
	if f.Tree.Dialect == definition.GeminiCLI {
		kind = "kind: local\n"
	}
	text := "---\n" + kind + "name: a\ndescription: a\ntools: ['" + strings.ReplaceAll(name, "'", "''") + "']\n---\na\n"
	d := definition.Parse(definition.Source{Path: folders[f.Tree.Dialect], Scope: f.Scope, Data: []byte(text)})
	if len(d.Tools.Allow) == 0 {
		return fmt.Sprintf("**%s** · has no counterpart here", escape(name))
	}
	text = fmt.Sprintf("**%s** is read as %s", escape(name), listOf(d.Tools.Allow))
	for _, canonical := range d.Tools.Allow {
		if t, ok := w.tool(canonical); ok {
			text += "\n\n" + describeTool(t)
		}
	}
	return text
}

// hoverHandoff tells whom control passes to, when, and what goes with it.
// Of several handoffs to one agent the first is told.
func (f *File) hoverHandoff(to string, w *World) string {
	text := f.hoverAgent(to, w)
	i := slices.IndexFunc(f.Definition.Handoffs, func(h definition.Handoff) bool { return h.To == to })
	if i < 0 {
		return text
	}
	h := f.Definition.Handoffs[i]
	when := map[string]string{"auto": "by itself, when the work is done",
		"conditional": "when the model decides"}[h.When]
	if when == "" {
		when = "when the model decides"
	}
	if h.Condition != "" {
		when += ", while " + escape(h.Condition)
	}
	passes := []string{"the request", "a reason", "a summary"}
	if to != "user" {
		passes = append(passes, "what else the model adds as context")
		if h.IncludeContext {
			passes = append(passes, "the conversation so far")
		}
	}
	var payload struct {
		Properties map[string]any `json:"properties"`
	}
	_ = json.Unmarshal(h.Payload, &payload) // a schema that names no properties passes none
	for _, name := range slices.Sorted(maps.Keys(payload.Properties)) {
		passes = append(passes, escape(name))
	}
	n := len(passes) - 1
	return strings.TrimSpace(text + "\n\nControl passes " + when + ". Passed over: " + strings.Join(passes[:n], ", ") +
		" and " + passes[n] + ".")
}

// hoverAgent tells of an agent that a file names.
// It is never empty: a name that means nobody is told as such.
func (f *File) hoverAgent(name string, w *World) string {
	switch name {
	case "*":
		return "**`*`** stands for every agent that may be delegated to."
	case "user":
		return "**user** · a person goes on."
	}
	if e := w.agent(f.Folder, name); e != nil {
		return describeAgent(w, e.Definition)
	}
	return "**" + escape(name) + "** · no agent of this name can be used"
}

// hoverText tells of a placeholder or of an agent that a text names, within the text's
// span. field is the path of the text's field, "" for the prompt.
func (f *File) hoverText(offset int, within definition.Span, field string, w *World) (Hover, bool) {
	if offset < within.Start || offset > within.End {
		return Hover{}, false
	}
	if e, at := f.folderAgentAt(offset, within, w); e != nil {
		return Hover{describeAgent(w, e.Definition), f.Index.Range(at)}, true
	}
	start := offset
	for start > within.Start && nameByte(f.Text[start-1]) {
		start--
	}
	end := wordEnd(f.Text[:within.End], offset)
	// A dash or underscore at the end belongs to the sentence, unless a placeholder ends behind it.
	for end > offset && (f.Text[end-1] == '-' || f.Text[end-1] == '_') && !strings.HasPrefix(f.Text[end:], "}") {
		end--
	}
	name, before := f.Text[start:end], f.Text[within.Start:start]
	switch {
	case name == "":
	case strings.HasSuffix(before, "${") && strings.HasPrefix(f.Text[end:], "}"):
		text := f.describePlaceholder(name, strings.HasSuffix(before, "$${"), field)
		return Hover{text, f.Index.Range(definition.Span{Start: start - 2, End: end + 1})}, true
	case strings.HasSuffix(before, "@"):
		if e := w.agent(f.Folder, name); e != nil {
			return Hover{describeAgent(w, e.Definition), f.Index.Range(definition.Span{Start: start - 1, End: end})},
				true
		}
	}
	return Hover{}, false
}

// usable are the agents that something means.
type usable struct{ callable }

// Has reports whether a name is one.
func (u usable) Has(name string) bool { return u.w.agent(u.folder, name) != nil }

// folderAgentAt returns the agent that a text names as @folder:name at an offset, and
// where; nil where it names none.
func (f *File) folderAgentAt(offset int, within definition.Span, w *World) (*registry.Entry, definition.Span) {
	start, end := offset, offset
	// No further than a name can be long, since a line may be as long as the file.
	for start > within.Start && f.Text[start-1] > ' ' && offset-start < maxNameText {
		start--
	}
	for end < within.End && f.Text[end] > ' ' && end-offset < maxNameText {
		end++
	}
	word := f.Text[start:end]
	if !strings.Contains(word, "@") || !strings.Contains(word, ":") {
		return nil, definition.Span{}
	}
	const before = "- " // in a text, no @ is a command
	parsed, err := mention.Parse(before+word, usable{callable{w: w, folder: f.Folder}})
	if err != nil {
		return nil, definition.Span{}
	}
	for _, m := range parsed.Mentions {
		at := definition.Span{Start: start + m.Start - len(before), End: start + m.End - len(before)}
		if at.Holds(offset) && strings.Contains(m.Name, ":") {
			return w.agent(f.Folder, m.Name), at
		}
	}
	return nil, definition.Span{}
}

// describePlaceholder tells what ${name} stands for.
// literal says that another $ stands before it. field is the path of the text's field, ""
// for the prompt.
func (f *File) describePlaceholder(name string, literal bool, field string) string {
	shown := "**" + escape("${"+name+"}") + "**"
	if literal {
		return shown + " · the text itself, since another $ stands before it"
	}
	if field == "output.text" {
		return shown + " · a field of the output"
	}
	inputs := f.Tree.Find("inputs")
	v := inputs.Get(name)
	if !variableName(name) {
		v = nil
	}
	switch {
	case inputs == nil && f.Tree.Dialect == definition.GeminiCLI && slices.Contains(geminiVariables, name):
		return shown + " · gemini-cli's own variable"
	case inputs == nil:
		return shown + " · the text itself, since the file has no inputs"
	case v == nil:
		return shown + " · there is no input of this name"
	}
	i := variable(name, v)
	text := shown + " · input, " + escape(i.Detail)
	if r := v.Get("required"); r != nil && r.Text == "true" {
		text += ", required"
	}
	if i.Doc != "" {
		text += "\n\n" + i.Doc
	}
	if d := v.Get("default"); d != nil && d.Text != "" {
		text += "\n\nDefault: " + escape(tool.Clip(d.Text, 200)) + "."
	}
	return text
}
