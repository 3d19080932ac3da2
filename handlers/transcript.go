package handlers

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
)

// transcript is a session for people: what was said, called and answered, as
// Markdown. It is a view of the log. session is its name, "" for the default one.
// It reads the log page by page, so a long session needs no more memory than its text. The text
// is not masked.
// An event that cannot be read is left out.
func transcript(log *activity.Log, session string) (string, error) {
	var b strings.Builder
	if session == "" {
		b.WriteString("# The default session\n")
	} else {
		fmt.Fprintf(&b, "# Session %s\n", session)
	}
	paths := map[string]string{} // of delegated runs: the agents that led there
	for after := uint64(0); ; {
		page, err := log.Read(after, 500)
		if err != nil {
			return "", err
		}
		if len(page) == 0 {
			return b.String(), nil
		}
		for _, e := range page {
			after = e.Seq
			if strings.HasSuffix(e.Type, ".delta") {
				continue // model.content and the results have the whole
			}
			event, err := e.Event(session)
			switch {
			case err != nil:
			case event.ParentRun == "":
				describe(&b, event)
			default:
				describeDelegated(&b, event, paths)
			}
		}
	}
}

// describeDelegated describes an event of a run that another one started, quoted under the agents
// that led there: several may go on at once.
// paths has the chain of agents of each run that has begun; the caller makes it, and
// gives it to each call.
func describeDelegated(b *strings.Builder, e activity.Event, paths map[string]string) {
	if body, begins := e.Body.(activity.RunStarted); begins {
		paths[e.Run] = strings.Join(body.Chain, " → ")
	}
	var text strings.Builder
	describe(&text, e)
	if said := strings.TrimPrefix(strings.TrimSpace(text.String()), "## "); said != "" {
		fmt.Fprintf(b, "\n%s\n", quote(fmt.Sprintf("**%s**\n\n%s", tool.Escape(cmp.Or(paths[e.Run], e.Agent)), said)))
	}
}

// describe writes an event as Markdown, if a person wants to read of it.
// Deltas are not among the events that it is given. Texts of models are put in as they are, names
// and errors are escaped.
func describe(b *strings.Builder, e activity.Event) {
	switch body := e.Body.(type) {
	case activity.RunStarted:
		fmt.Fprintf(b, "\n## %s, %s\n\n%s\n", e.Agent, e.Time.Local().Format("2006-01-02 15:04:05"),
			quote(activity.TextOf(body.Input)))
	case activity.Input:
		fmt.Fprintf(b, "\n%s\n", quote(activity.TextOf(body.Input)))
	case activity.ModelContent:
		if body.Invalid {
			return
		}
		for _, p := range body.Content {
			if p.Text != "" {
				fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(p.Text))
			}
		}
	case activity.ToolState:
		switch body.State {
		case activity.Success:
			fmt.Fprintf(b, "\n- `%s` %s\n", body.Name, tool.Escape(firstLine(body.Result.Display)))
		case activity.Failed, activity.Cancelled:
			fmt.Fprintf(b, "\n- `%s` did not succeed: %s\n", body.Name, tool.Escape(firstLine(body.Error.Message)))
		}
	case activity.ConfirmationAnswered:
		fmt.Fprintf(b, "\n- answered: %s, by %s\n", body.Outcome, body.By)
	case activity.FileChanged:
		if body.Patch == "" { // one of very many
			fmt.Fprintf(b, "\n- %s: %s\n", body.Kind, tool.FileName(body.URI))
			return
		}
		fence := tool.Backticks(body.Patch, 3) // a blank before a fence of the file's does not hide it
		fmt.Fprintf(b, "\n%sdiff\n%s\n%s\n", fence, strings.TrimSuffix(body.Patch, "\n"), fence)
	case activity.RunState:
		if body.To == activity.Paused || body.To == activity.Interrupted || body.From == activity.Paused {
			why := ""
			if body.Why != "" {
				why = ": " + tool.Escape(body.Why)
			}
			fmt.Fprintf(b, "\n- %s%s\n", body.To, why)
		}
	case activity.Note:
		fmt.Fprintf(b, "\n- note: %s\n", tool.Escape(firstLine(body.Message)))
	case activity.ErrorSeen:
		fmt.Fprintf(b, "\n**Error**: %s\n", tool.Escape(body.Message))
	case activity.RunFinished:
		if body.Reason == activity.HandedOff {
			return // the handoff says it
		}
		fmt.Fprintf(b, "\n*%s*\n", ending(body))
	default:
		describeContext(b, e)
	}
}

// describeContext writes an event about the session and its contexts, or about what
// watches and joins runs.
func describeContext(b *strings.Builder, e activity.Event) {
	switch body := e.Body.(type) {
	case activity.TodosChanged:
		if step, ok := todo(body.Todos); ok {
			fmt.Fprintf(b, "\n- plan: %s\n", step)
		}
	case activity.HandoffStarted:
		fmt.Fprintf(b, "\n- %s\n", tool.EventLine(body))
		if body.Summary != "" {
			fmt.Fprintf(b, "\n%s\n", quote(body.Summary))
		}
	default:
		if line := tool.EventLine(body); line != "" {
			fmt.Fprintf(b, "\n- %s\n", line)
		}
	}
}

// quote makes a text a quotation of Markdown.
func quote(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ")
}

// firstLine returns the first line of a text that is not blank.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// writePrivate writes a file that only the person can read (SEC-116).
// A file that is there already keeps its mode.
func writePrivate(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
