package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/trace"
	"github.com/agentls/agentls/agents/trace/export"
	"github.com/agentls/agentls/internal/wire"
)

// traceCommand shows and exports what took time in a session. show reads the session's
// events (agents/subscribe) and builds the tree here; export has the daemon make the
// file's text (agents/trace/export) and writes it to standard output or to --output, which
// it replaces. Nothing runs.
func traceCommand(std streams) *cobra.Command {
	var session, format, output string
	var content bool
	show := &cobra.Command{
		Use: "show", Short: "Show what took time in a session, as a tree", Args: arguments(0, 0),
		Long: `Shows the runs of a session as a tree: turns, calls of models and tools, handoffs,
checks and questions, each with its time, a bar, and what is known of it, cut to a
line. Without --session it is the newest session.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				id, err := conn.findSession(ctx, session)
				if err != nil {
					return err
				}
				spans, err := conn.spans(ctx, id)
				if err != nil {
					return err
				}
				return printTrace(std.out, spans, columnsFor(std.out))
			})
		},
	}
	write := &cobra.Command{
		Use: "export", Short: "Write a session's trace for another program, or as a page for a browser",
		Args: arguments(0, 0),
		Long: `Writes the trace of a session to standard output, or to a file with --output:
json (the events), otlp (the body of a request to an OpenTelemetry collector) or
html (one page that needs nothing else). What looks like a key or a password is
left out; of otlp, which is for sending, also what was said and done, unless
--content asks for it. Without --session it is the newest session.`,
		Example: `  agentls trace export --format html --output trace.html
  agentls trace export --format otlp | curl -H 'Content-Type: application/json' --data-binary @- http://localhost:4318/v1/traces`,
		RunE: func(c *cobra.Command, _ []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				id, err := conn.findSession(ctx, session)
				if err != nil {
					return err
				}
				text, err := conn.exportTrace(ctx, id, format, content)
				if err != nil {
					return err
				}
				if output != "" {
					// The trace may quote the conversation, so only the person can read
					// the file.
					return os.WriteFile(output, text, 0o600)
				}
				_, err = std.out.Write(text)
				return err
			})
		},
	}
	// RunE is never called, since Args refuses; without it cobra would print the help,
	// and that would be a success.
	c := &cobra.Command{Use: "trace", Short: "Show or export what took time in a session",
		Args: needsPart, RunE: show.RunE}
	choose(write, &format, "format", "json", joinOr(wire.TraceFormats()), wire.TraceFormats()...)
	write.Flags().StringVarP(&output, "output", "o", "", "the `file` to write, instead of standard output")
	write.Flags().BoolVar(&content, "content", false, "with otlp, prompts and results too")
	for _, part := range []*cobra.Command{show, write} {
		part.Flags().StringVar(&session, "session", "", "the session; without it, the newest")
		completeSessionFlag(part)
	}
	c.AddCommand(show, write)
	return c
}

// findSession returns the session that a person means, the newest one for "". That there
// is no session at all is an error.
func (c *connection) findSession(ctx context.Context, name string) (string, error) {
	if name != "" {
		return c.sessionNamed(ctx, name)
	}
	id, err := c.sessionNamed(ctx, latestSession)
	if err == nil && id == latestSession {
		err = errors.New("there are no sessions in this folder yet; begin one: agentls run \"your request\"")
	}
	return id, err
}

// spans returns what took time in a session. With an error it returns those of the events
// that were read before it.
func (c *connection) spans(ctx context.Context, session string) ([]*trace.Span, error) {
	events, err := c.log(ctx, session)
	return trace.Build(events), err
}

// log returns the events of a session that this version knows, as the log has them.
func (c *connection) log(ctx context.Context, session string) (events []activity.Event, err error) {
	err = c.events(ctx, session, func(p wire.ActivityParams) error {
		if body, err := activity.Decode(p.Type, p.Data); err == nil { // else it is a newer version's
			events = append(events, eventOf(p, body))
		}
		return nil
	})
	return events, err
}

// eventOf returns an event that came over the wire as the log has it. A time that cannot
// be read is zero.
func eventOf(p wire.ActivityParams, body activity.Body) activity.Event {
	at, _ := time.Parse(time.RFC3339, p.Time) // the daemon wrote it
	return activity.Event{
		Seq: p.Seq, Time: at, Session: p.Session, Body: body, DurationMs: p.DurationMs,
		Origin: activity.Origin{Run: p.Run, ParentRun: p.ParentRun, Turn: p.Turn, Agent: p.Agent,
			CorrelationID: p.CorrelationID, Context: p.Context},
	}
}

// exportTrace returns the trace of a session in a format. The page for html the daemon
// leaves in a file of this machine, which is read here. content is for otlp only.
func (c *connection) exportTrace(ctx context.Context, session, format string, content bool) ([]byte, error) {
	var r wire.TraceExportResult
	if err := c.Call(ctx, wire.MethodTraceExport, &wire.TraceExportParams{Session: session, Format: format,
		Content: content}, &r); err != nil {
		return nil, err
	}
	if r.URI == "" {
		return []byte(strings.TrimSuffix(r.Text, "\n") + "\n"), nil
	}
	return os.ReadFile(tool.PathOf(r.URI))
}

// icons stand before spans, by what they are.
var icons = map[trace.Kind]string{
	trace.Run: "▶", trace.Turn: "·", trace.Model: "◆", trace.Tool: "⚙", trace.Handoff: "⇄", trace.Guardrail: "✓",
	trace.Route: "↳", trace.Hook: "⚓", trace.Confirmation: "?",
}

// traceTree is a tree of spans that is being printed into its Builder.
type traceTree struct {
	strings.Builder
	// columns is how wide the lines may be, 40 at least.
	columns int
	// children are the spans below each, by its id, in order; 0 has those without a
	// parent.
	children map[uint64][]*trace.Span
	// from and to are the first beginning and the last end: the whole width of a bar.
	from, to time.Time
}

// printTrace prints spans as a tree, each with its time, a bar and its details. A span
// whose parent is not among them stands at the top, so that none is lost.
func printTrace(out io.Writer, spans []*trace.Span, columns int) error {
	if len(spans) == 0 {
		_, err := fmt.Fprintln(out, "No agent has run in this session yet.")
		return err
	}
	t := &traceTree{columns: max(columns, 40), children: make(map[uint64][]*trace.Span),
		from: spans[0].Start, to: spans[0].End}
	known := make(map[uint64]bool)
	for _, s := range spans {
		known[s.ID] = true
		if s.Start.Before(t.from) {
			t.from = s.Start
		}
		if s.End.After(t.to) {
			t.to = s.End
		}
	}
	for _, s := range spans {
		parent := s.Parent
		if !known[parent] {
			parent = 0
		}
		t.children[parent] = append(t.children[parent], s)
	}
	for _, s := range t.children[0] {
		t.add(s, "", "")
	}
	_, err := io.WriteString(out, t.String())
	return err
}

// add adds a span and what is below it. first stands before its line, then before the
// others: together they draw the branches.
func (t *traceTree) add(s *trace.Span, first, then string) {
	const times = 8
	bars := min(t.columns/5, 30)
	name := first + icons[s.Kind] + " " + spanTitle(s)
	if s.Error != "" {
		name += " ✗ " + export.InLine(s.Error)
	}
	width := t.columns - times - bars - 2
	name = fit(name, width)
	fmt.Fprintf(t, "%s%s %*s %s\n", name, strings.Repeat(" ", max(width-columnsOf(name), 0)), times, spanTime(s),
		strings.TrimRight(t.bar(s, bars), " "))
	children := t.children[s.ID]
	// A turn's number is in its title, and it has no other details.
	for _, f := range s.Details {
		if s.Kind == trace.Turn {
			break
		}
		line := then + "  "
		if len(children) > 0 {
			line = then + "│ "
		}
		if text := export.InLine(f.Text()); text != "" && text != "null" {
			fmt.Fprintln(t, fit(line+"  "+f.Name+": "+text, t.columns))
		}
	}
	for i, c := range children {
		if i == len(children)-1 {
			t.add(c, then+"└ ", then+"  ")
		} else {
			t.add(c, then+"├ ", then+"│ ")
		}
	}
}

// bar shows when a span was, within the whole. It has one block at least, also for a span
// that took no time.
func (t *traceTree) bar(s *trace.Span, width int) string {
	whole := max(t.to.Sub(t.from), 1)
	at := min(int(int64(width)*int64(s.Start.Sub(t.from))/int64(whole)), width-1)
	long := min(max(int(int64(width)*int64(s.Duration())/int64(whole)), 1), width-at)
	return strings.Repeat(" ", at) + strings.Repeat("█", long)
}

// spanTitle names a span.
func spanTitle(s *trace.Span) string {
	if s.Kind == trace.Turn {
		return fmt.Sprintf("turn %v", s.Details.Get("turn"))
	}
	title := fmt.Sprintf("%s %s", s.Kind, s.Name)
	if s.Kind == trace.Model || s.Kind == trace.Route {
		title += " (" + s.Agent + ")"
	}
	return export.InLine(title)
}

// spanTime is how long a span took, "open" where it has not ended.
func spanTime(s *trace.Span) string {
	if s.Open {
		return "open"
	}
	return export.ShortTime(s.Duration())
}

// tellSpans tells the spans that ended with an event, for run --trace.
func (t *timeline) tellSpans(p wire.ActivityParams, body activity.Body) {
	for _, m := range t.trace.Add(eventOf(p, body)) {
		if line := export.Line(m, true); line != "" {
			t.say("%s", line)
		}
	}
}
