package handlers

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// labels are how an outcome is offered.
var labels = map[agents.Outcome]string{
	guard.Once:    "Allow once",
	guard.Run:     "Allow for this run",
	guard.Session: "Allow for this session",
	guard.Always:  "Allow always in this folder",
	guard.Modify:  "Change it",
	guard.Reject:  "Reject",
	guard.Cancel:  "Reject and end the run",
}

// How many blanks in a row are shown as they are: more are counted (SEC-71). A
// diff has tables and deep indentation.
const (
	commandBlanks = 7
	diffBlanks    = 64
)

// longCommand is the length, in characters, from which a command's is told.
const longCommand = 200

// confirmParams is a question as agents/confirm asks it. Texts for people are
// escaped; args and preview are whole and exact, but for the preview's notes.
// It leaves out "modify" for a client that cannot change arguments.
func (h *Handlers) confirmParams(q agents.Question, nonce string) *wire.ConfirmParams {
	p := &wire.ConfirmParams{
		ID: q.ID, Nonce: nonce, Session: q.Session, Run: q.Run, Call: q.Call, Agent: q.Agent, AgentPath: q.AgentPath,
		Tool: q.Plan.Tool, Risk: q.Risk.String(), Why: tool.Escape(q.Why), Title: confirmationTitle(q),
		Message: confirmationText(q),
		Args:    q.Plan.Args, Remembers: tool.Escape(q.Covers), Prefix: prefix(q),
	}
	switch v := q.Plan.Preview; v.Kind {
	case "diff":
		p.Preview = &wire.Preview{Kind: v.Kind, URI: tool.URI(q.Plan.Path), OldText: v.OldText, NewText: v.NewText,
			Patch: v.Patch, Notes: previewNotes(q)}
	case "patch":
		p.Preview = &wire.Preview{Kind: v.Kind, Patch: v.Patch, Notes: previewNotes(q)}
	case "command":
		p.Preview = &wire.Preview{Kind: v.Kind, Command: v.Command, Parsed: v.Parsed, Cwd: v.Cwd,
			Access: string(q.Plan.Access), Notes: previewNotes(q)}
	}
	if v := q.Plan.Preview; v.Kind == "mcp" {
		p.Preview = &wire.Preview{Kind: v.Kind, Server: v.Server, Notes: previewNotes(q)}
	}
	for _, o := range q.Outcomes {
		if o == guard.Modify && (h.caps.Confirm == nil || !h.caps.Confirm.Modify) {
			continue
		}
		p.Options = append(p.Options, wire.Option{ID: string(o), Kind: string(o), Label: labels[o]})
	}
	return p
}

// confirmationTitle is what is asked, in one line.
func confirmationTitle(q agents.Question) string {
	return tool.Visible(fmt.Sprintf("%s wants to run %s", q.Agent, q.Plan.Title), commandBlanks, false)
}

// confirmationText is what a person decides on, as plain text. Lines that others wrote are
// indented, begin with the sign of a diff, or are quoted: none can pass for one
// of ours. What the model and the agent say of the call stands below, and is
// marked as such (SEC-76).
func confirmationText(q agents.Question) string {
	var b strings.Builder
	line := func(name, text string) {
		fmt.Fprintf(&b, "%s: %s\n", name, tool.Visible(text, commandBlanks, false))
	}
	fmt.Fprintf(&b, "%s\n", confirmationTitle(q))
	line("Risk", fmt.Sprintf("%s (%s)", q.Risk, q.Why))
	if len(q.AgentPath) > 1 {
		line("Asked by", strings.Join(q.AgentPath, " → "))
	}
	switch v := q.Plan.Preview; v.Kind {
	case "command":
		line("Folder", v.Cwd)
		fmt.Fprintf(&b, "Command%s:\n%s", size(v.Command), indent(commandLines(v.Command)))
		// A single program is already shown above.
		if len(v.Parsed) > 1 {
			b.WriteString("Which runs:\n")
			for _, one := range v.Parsed {
				b.WriteString(indent(commandLines(one)))
			}
		}
	case "diff", "patch":
		if q.Plan.Path != "" {
			line("File", q.Plan.Path)
		}
		fmt.Fprintf(&b, "Change:\n%s\n", escapeDiff(v.Patch))
	default:
		if q.Plan.Path != "" {
			line("File", q.Plan.Path)
		}
		line("Arguments"+size(string(q.Plan.Args)), string(q.Plan.Args))
	}
	for _, path := range besides(q.Plan, q.Plan.Reads) {
		line("Reads", path)
	}
	for _, path := range besides(q.Plan, q.Plan.Writes) {
		line("Writes", path)
	}
	for _, note := range previewNotes(q) {
		fmt.Fprintf(&b, "%s\n", note)
	}
	if q.Covers != "" {
		line("This run, this session and always also allow", q.Covers)
	}
	if text := prefix(q); text != "" {
		line("Or everything that begins", text)
	}
	if text := commandPurpose(q.Plan); text != "" {
		fmt.Fprintf(&b, "The model says:\n%s", quoteStranger(text))
	}
	if q.Prompt != "" {
		fmt.Fprintf(&b, "The agent says:\n%s", quoteStranger(q.Prompt))
	}
	return b.String()
}

// prefix is what an answer for longer may be for instead, as rules have it.
func prefix(q agents.Question) string {
	if len(q.Prefix) == 0 {
		return ""
	}
	return tool.Escape(strings.Join(q.Prefix, " ")) + " *"
}

// size tells how long a text is that is long, or has more than one line.
//
// A text that is short and of one line has none: it is seen whole.
func size(text string) string {
	n, lines := utf8.RuneCountInString(text), strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1
	switch {
	case lines > 1:
		return fmt.Sprintf(" (%d characters, %d lines)", n, lines)
	case n > longCommand:
		return fmt.Sprintf(" (%d characters)", n)
	}
	return ""
}

// besides returns the paths of a plan that nothing else of the facts names.
// The file of the plan and the folder of a command have lines of their own.
func besides(p *tool.Plan, paths []string) []string {
	var more []string
	for _, path := range paths {
		if path != p.Path && path != p.Preview.Cwd {
			more = append(more, path)
		}
	}
	return more
}

// previewNotes returns what a person should look at: what the tool found, as where
// links lead, and what looks like something else (SEC-75). A line each.
func previewNotes(q agents.Question) []string {
	var notes []string
	for _, note := range q.Plan.Preview.Notes {
		notes = append(notes, "Note: "+tool.Escape(note))
	}
	texts := []string{q.Plan.Path}
	switch v := q.Plan.Preview; v.Kind {
	case "command":
		texts = append(texts, v.Command, v.Cwd)
	case "diff", "patch":
	default:
		texts = append(texts, plainArgs(q.Plan.Args)...)
	}
	texts = append(texts, besides(q.Plan, q.Plan.Reads)...)
	texts = append(texts, besides(q.Plan, q.Plan.Writes)...)
	for _, note := range tool.Lookalikes(texts...) {
		notes = append(notes, "Careful: "+note)
	}
	return notes
}

// plainArgs returns the texts in arguments, without JSON's escapes.
// They are sorted, so that notes come in one order.
func plainArgs(args json.RawMessage) []string {
	var all []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for _, one := range v {
				walk(one)
			}
		}
	}
	var v any
	if json.Unmarshal(args, &v) == nil { // the arguments themselves are shown as they are
		walk(v)
	}
	slices.Sort(all)
	return all
}

// commandPurpose returns what the model says that a command is for. It is no fact.
//
// Only commands have one. It stands among the quotes and never among the facts.
func commandPurpose(p *tool.Plan) string {
	var args struct {
		Description string `json:"description"`
	}
	if p.Preview.Kind != "command" || json.Unmarshal(p.Args, &args) != nil {
		return ""
	}
	return args.Description
}

// commandLines is a command as a person is shown it: blanks that push something
// out of sight are counted, and line ends marked (SEC-71).
func commandLines(text string) []string { return tool.Lines(text, commandBlanks, false) }

// indent returns lines of a command below their heading.
func indent(lines []string) string { return "  " + strings.Join(lines, "\n  ") + "\n" }

// How much is quoted of the words of somebody who is not us: they are no fact, and
// must not push the facts off the screen (SEC-71).
const (
	quotedLines = 12
	quotedWidth = 400 // characters of a line
)

// quoteStranger returns the words of somebody who is not us, and says what it leaves out.
// Each line begins with >, so that none can look like a line of ours.
func quoteStranger(text string) string {
	lines := tool.Lines(text, commandBlanks, false)
	left := len(lines) - quotedLines
	var b strings.Builder
	for _, line := range lines[:min(len(lines), quotedLines)] {
		if n := utf8.RuneCountInString(line) - quotedWidth; n > 0 {
			line = fmt.Sprintf("%s… (%d more characters)", tool.Clip(line, quotedWidth), n)
		}
		fmt.Fprintf(&b, "> %s\n", strings.TrimSuffix(line, lineEnd))
	}
	if left > 0 {
		fmt.Fprintf(&b, "(%d more lines are left out)\n", left)
	}
	return b.String()
}

// escapeDiff shows each line of a diff; its tabs stay, which indent code.
// The first character of a line is the diff's own and is left.
func escapeDiff(patch string) string {
	lines := strings.Split(strings.TrimSuffix(patch, "\n"), "\n")
	for i, line := range lines {
		if len(line) > 1 { // a line of context that is empty is one blank
			lines[i] = line[:1] + tool.Visible(line[1:], diffBlanks, true)
		}
	}
	return strings.Join(lines, "\n")
}
