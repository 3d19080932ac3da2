package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/chat"
	"github.com/agentls/agentls/internal/wire"
)

// contextCommand shows or clears what an agent has seen and said in a session. show asks
// for the context (agents/context/get), or with --state for the session's state, and
// prints it. clear has the agent's next run begin anew (agents/context/clear) and asks
// nothing: with --purge the text is erased from the disk, which cannot be undone.
func contextCommand(std streams) *cobra.Command {
	c := &cobra.Command{
		Use: "context", Short: "Show or clear what an agent has seen and said",
		Args: cobra.ArbitraryArgs, RunE: needsPart,
	}
	var session string
	var asJSON, asState, purge bool
	show := &cobra.Command{
		Use: "show NAME", Short: "Show what an agent has seen and said in a session",
		Args: arguments(1, 1), ValidArgsFunction: completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				if asState {
					return showState(ctx, conn, std.out, session, asJSON)
				}
				if asJSON {
					return printContext(ctx, conn, std.out, session, args[0])
				}
				return showContext(ctx, conn, std.out, session, args[0], 0)
			})
		},
	}
	show.Flags().BoolVar(&asJSON, "json", false, "print JSON: the messages whole, as the model sees them")
	show.Flags().BoolVar(&asState, "state", false,
		"show the session's state instead: the task, who works at it, and the values that agents set")
	clear := &cobra.Command{
		Use: "clear NAME", Short: "Have an agent's next run begin a new context",
		Long: `Has the agent's next run begin a new context, and removes the keys of the session's
state that its file names (memory.session). The session's log keeps what was said;
with --purge it is erased from the disk as well.`,
		Args: arguments(1, 1), ValidArgsFunction: completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				p := &wire.ContextClearParams{Session: session, Agent: args[0], Purge: purge}
				if err := conn.Call(ctx, wire.MethodContextClear, p, nil); err != nil {
					return err
				}
				did := "is cleared: its next run begins a new one"
				if purge {
					did = "is cleared and erased from the disk"
				}
				_, err := fmt.Fprintf(std.out, "The context of %s in session %s %s.\n", tool.Escape(args[0]),
					tool.Escape(cmp.Or(session, "main")), did)
				return err
			})
		},
	}
	clear.Flags().BoolVar(&purge, "purge", false, "erase what it held from the disk as well")
	for _, part := range []*cobra.Command{show, clear} {
		part.Flags().StringVar(&session, "session", "main", "the session")
		completeSessionFlag(part)
	}
	c.AddCommand(show, clear)
	return c
}

// printContext prints a context as JSON, in a form of its own that scripts rely on, not as
// the protocol has it.
func printContext(ctx context.Context, conn *connection, out io.Writer, session, agent string) error {
	var r wire.ContextGetResult
	if err := conn.Call(ctx, wire.MethodContextGet, &wire.ContextParams{Session: session,
		Agent: agent}, &r); err != nil {
		return err
	}
	type metadata struct {
		Session   string `json:"session"`
		Messages  int    `json:"messages"`
		Tokens    int    `json:"tokens"`
		Window    int    `json:"window"` // of the model, in tokens; 0 = not known
		Estimated bool   `json:"estimated"`
	}
	// Scripts get a list also of an empty context.
	if r.Messages == nil {
		r.Messages = []wire.Message{}
	}
	return printJSON(out, struct {
		AgentName           string            `json:"agentName"`
		ConversationHistory []wire.Message    `json:"conversationHistory"`
		Metadata            metadata          `json:"metadata"`
		StartedAt           string            `json:"startedAt,omitempty"`
		LastActiveAt        string            `json:"lastActiveAt,omitempty"`
		MemoryFiles         []wire.MemoryFile `json:"memoryFiles,omitempty"`
	}{agent, r.Messages, metadata{cmp.Or(session, "main"), len(r.Messages), r.Tokens, r.Window, r.Estimated},
		r.StartedAt, r.LastActiveAt, r.MemoryFiles})
}

// maxShown is how many messages of a context /context shows in a conversation.
const maxShown = 20

// showContext prints a context for people: a line about it, the memory files that the
// agent is told, and at most the last most messages; 0 is all. Results of tools are cut to
// a line.
func showContext(ctx context.Context, conn *connection, out io.Writer, session, agent string, most int) error {
	var r wire.ContextGetResult
	if err := conn.Call(ctx, wire.MethodContextGet, &wire.ContextParams{Session: session,
		Agent: agent}, &r); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s in session %s: %s", tool.Escape(agent), tool.Escape(cmp.Or(session, "main")),
		count(len(r.Messages), "message"))
	if len(r.Messages) == 0 {
		b.WriteString("\n")
		writeMemory(&b, r.MemoryFiles)
		_, err := io.WriteString(out, b.String())
		return err
	}
	about := ""
	if r.Estimated {
		about = "about "
	}
	fmt.Fprintf(&b, ", %s%s tokens", about, tool.Tokens(r.Tokens))
	if r.Window > 0 {
		fmt.Fprintf(&b, " of %s", tool.Tokens(r.Window))
	}
	// A time that is not known cannot be parsed, and is left out.
	for _, at := range []struct{ word, time string }{{"begun", r.StartedAt}, {"last used", r.LastActiveAt}} {
		if when, err := time.Parse(time.RFC3339, at.time); err == nil {
			fmt.Fprintf(&b, ", %s %s", at.word, ago(time.Since(when)))
		}
	}
	b.WriteString("\n")
	writeMemory(&b, r.MemoryFiles)
	messages := r.Messages
	if left := len(messages) - most; most > 0 && left > 0 {
		messages = messages[left:]
		fmt.Fprintf(&b, "(%s before these)\n", count(left, "message"))
	}
	for _, m := range messages {
		who := agent
		if m.Role == "user" {
			who = "you"
		}
		for _, part := range m.Parts {
			by := who
			if part.Result != nil { // the API puts it in the person's mouth
				by = "tool"
			}
			if text := inWords(part); text != "" {
				fmt.Fprintf(&b, "%s: %s\n", tool.Escape(by), strings.ReplaceAll(chat.PlainText(text), "\n", "\n  "))
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// writeMemory lists the memory files that follow an agent's prompt, with their imports,
// and those that were left out, with the reason.
func writeMemory(b *strings.Builder, files []wire.MemoryFile) {
	for _, f := range files {
		name := tool.Escape(tool.PathOf(f.URI))
		switch {
		case f.LeftOut != "":
			fmt.Fprintf(b, "not told %s: %s\n", name, tool.Escape(f.LeftOut))
			continue
		case f.Scope == "global":
			fmt.Fprintf(b, "is told %s (yours, for all projects, about %s tokens)", name, tool.Tokens(f.Tokens))
		default:
			fmt.Fprintf(b, "is told %s (the project's, about %s tokens)", name, tool.Tokens(f.Tokens))
		}
		for i, uri := range f.Imports {
			word := ", "
			if i == 0 {
				word = " with "
			}
			b.WriteString(word + tool.Escape(tool.PathOf(uri)))
		}
		b.WriteString("\n")
	}
}

// inWords says what a part of a message is: text whole, the rest in a line. A thought has
// no words here. Text is not escaped.
func inWords(p model.Part) string {
	switch {
	case p.Call != nil:
		return fmt.Sprintf("calls %s %s", p.Call.Name, fit(tool.Escape(string(p.Call.Args)), 100))
	case p.Result != nil && p.Result.Error:
		return fmt.Sprintf("%s failed: %s", p.Result.Name, fit(tool.Escape(p.Result.Content), 100))
	case p.Result != nil:
		return fmt.Sprintf("%s returned %s", p.Result.Name, fit(tool.Escape(p.Result.Content), 100))
	case p.Media != nil:
		return "(" + p.Media.MimeType + ")"
	}
	return strings.TrimSpace(p.Text)
}
