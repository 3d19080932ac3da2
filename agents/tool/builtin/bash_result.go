package builtin

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/process"
)

// maxNotes is how many notes of one command are told.
const maxNotes = 50

// result returns what the model is told.
//
// The two streams share the room that a result has: errors get half of it at most where both are
// long. Where something is left out, Whole is the output as it came.
func (e ending) result(output *process.Output, note string, limit time.Duration) *tool.Result {
	var b strings.Builder
	b.WriteString(note)
	r := new(tool.Result)
	// The first line says how it ended: it is what a model reads, and what stays where the
	// output is cut.
	switch {
	case e.timeout:
		r.Failed, r.Code = true, tool.CodeTimeout
		fmt.Fprintf(&b, "The command was ended after %v.\n", limit)
	case e.cancelled:
		r.Failed, r.Code = true, tool.CodeCancelled
		b.WriteString("The command was cancelled.\n")
	case e.signal != "":
		r.Failed, r.Code = true, tool.CodeFailed
		fmt.Fprintf(&b, "Ended by signal: %s\n", e.signal)
	// A command that fails has no code of its own: it ran, and its output says why.
	default:
		r.Failed = e.code != 0
		fmt.Fprintf(&b, "Exit code: %d\n", e.code)
	}
	if e.left != "" {
		b.WriteString("Note: " + e.left + ".\n")
	}
	for i, note := range e.notes {
		if i == maxNotes {
			fmt.Fprintf(&b, "Note: %d more of these.\n", len(e.notes)-i)
			break
		}
		b.WriteString("Note: " + note + ".\n")
	}
	// What is left out is counted where it is known how much there was.
	room := max(0, tool.MaxResult-utf8.RuneCountInString(b.String())-500) // for the titles and the notes of both
	forErrors := min(output.Stderr.Length(), max(room/2, room-output.Stdout.Length()))
	if output.Long() || output.Stdout.Length() > room-forErrors || output.Stderr.Length() > forErrors {
		r.Whole = output.Whole()
	}
	section(&b, "Stdout", output.Stdout.TextTo(room-forErrors))
	section(&b, "Stderr", output.Stderr.TextTo(forErrors))
	r.Content = b.String()
	r.Display = "```\n" + strings.TrimRight(r.Content, "\n") + "\n```"
	if strings.Contains(r.Content, "```") || len(r.Content) > tool.MaxResult {
		r.Display = "" // a fence that the output could close shows nothing that is sure
	}
	return r
}

// section writes one stream under its name.
func section(b *strings.Builder, name, text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		fmt.Fprintf(b, "%s: (empty)\n", name)
		return
	}
	fmt.Fprintf(b, "%s:\n%s\n", name, text)
}

// noteUnsaved names the documents that a process reads as they were.
func noteUnsaved(env *tool.Env, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		// Documents of other folders keep their whole paths.
		names[i] = tool.Name(path)
		if rel, err := filepath.Rel(env.Folder, path); err == nil && tool.Within(env.Folder, path) {
			names[i] = tool.Name(filepath.ToSlash(rel))
		}
	}
	return "unsaved in the editor: " + strings.Join(names, ", ") + "\n"
}
