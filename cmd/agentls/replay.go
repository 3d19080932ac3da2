package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/verify"
	"github.com/agentls/agentls/internal/wire"
)

// replayCommand shows what happened in a session, step by step (agents/session/replay). A
// session is named by an argument or by --session; without either it is the newest.
// Nothing runs, unless --verify runs the session again offline; then it exits with 1 where
// something else comes of it. It is a command of sessions and of graph.
func replayCommand(std streams) *cobra.Command {
	var session string
	var asJSON, again bool
	c := &cobra.Command{
		Use: "replay [ID]", Short: "Show what happened in a session, step by step; without an ID, the newest",
		Long: `Shows a session step by step, each with its time: what agents said, the tools that
they called, handoffs and checks; then what it adds up to. Nothing runs.

With --verify its requests run again, offline, with what the models answered, the
tools gave, hooks decided and you said as the session has it, and all else as it is
today: agents, settings, validators and this program. It says whether the same comes of it, or what differs
first, and exits with 1 then.`,
		Args: arguments(0, 1), ValidArgsFunction: completeSessions,
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				// The argument counts before the flag.
				id, err := conn.findSession(ctx, append(args, session)[0])
				if err != nil {
					return err
				}
				if again {
					return verifySession(ctx, conn, std, id)
				}
				var r wire.ReplayResult
				if err := conn.Call(ctx, wire.MethodSessionReplay, &wire.SessionParams{Session: id}, &r); err != nil {
					return err
				}
				if asJSON {
					return printJSON(std.out, r)
				}
				_, err = io.WriteString(std.out, r.Text)
				return err
			})
		},
	}
	c.Flags().StringVar(&session, "session", "", "the session; without it, the newest")
	c.Flags().BoolVar(&again, "verify", false,
		"run it again from its recorded answers and results, and show the first difference")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	completeSessionFlag(c)
	return c
}

// verifySession runs a session again from its log, and says whether the same comes of it.
// That is done by package verify in this process, with a daemon whose models, tools, hooks
// and answers are those of the log. It returns exit 1 for a difference, and where the
// session cannot be run again; the report says which.
func verifySession(ctx context.Context, conn *connection, std streams, id string) error {
	events, err := conn.log(ctx, id)
	if err != nil {
		return err
	}
	config, err := base(std)
	if err != nil {
		return err
	}
	report, err := verify.Session(ctx, config, ".", id, events)
	if err != nil {
		return err
	}
	for line := range strings.Lines(report.String() + "\n") {
		if _, err := fmt.Fprintln(std.out, tool.Escape(strings.TrimSuffix(line, "\n"))); err != nil {
			return err
		}
	}
	if report.Unable != "" || report.Difference != nil {
		return exit{exitFailed}
	}
	return nil
}
