package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/internal/wire"
)

// replayCommand shows what happened in a session, step by step. A session is named by an
// argument or by --session.
func replayCommand(std streams) *cobra.Command {
	var session string
	var asJSON bool
	c := &cobra.Command{
		Use: "replay [ID]", Short: "Show what happened in a session, step by step; without an ID, the newest",
		Long: `Shows a session step by step, each with its time: what agents said, the tools that
they called, handoffs and checks; then what it adds up to. Nothing runs.`,
		Args: arguments(0, 1), ValidArgsFunction: completeSessions,
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				id, err := conn.tracedSession(ctx, append(args, session)[0])
				if err != nil {
					return err
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
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	completeSessionFlag(c)
	return c
}
