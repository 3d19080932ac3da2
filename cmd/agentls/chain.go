package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// chainCommand shows who passed control to whom, and what each run took. It asks for the
// chain of RUN (agents/chain), or of the newest run of --session. A session without runs
// is an error, exit code 1. handoff-chain is its name in a conversation.
func chainCommand(std streams) *cobra.Command {
	var session string
	var asJSON bool
	c := &cobra.Command{
		Use: "chain [RUN]", Aliases: []string{"handoff-chain"}, Short: "Show which agents passed control on, and why",
		Long: `Shows the chain of handoffs that a run is in: the agents in order, why each got
control, and how long each took with how many tokens. Without RUN it is the newest
run of the session.`,
		Args: arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				run := ""
				if len(args) > 0 {
					run = args[0]
				}
				chain, err := conn.chain(ctx, session, run)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(std.out, chain)
				}
				return printChain(std.out, chain)
			})
		},
	}
	c.Flags().StringVar(&session, "session", "", "the session whose newest run is shown; without it, main")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	completeSessionFlag(c)
	return c
}

// chain returns the chain of a run; for run "" that of the newest run of a session, and
// for session "" of main. It serves the command and /agents handoff-chain in a
// conversation.
func (c *connection) chain(ctx context.Context, session, run string) (wire.Chain, error) {
	if run == "" {
		var s wire.SessionGetResult
		if err := c.Call(ctx, wire.MethodSessionGet, &wire.SessionParams{Session: session}, &s); err != nil {
			return nil, err
		}
		if len(s.Runs) == 0 {
			return nil, fmt.Errorf("session %s has no runs; begin one: agentls run --session %s \"your request\"",
				tool.Escape(s.Session.Session), tool.Escape(s.Session.Session))
		}
		// They are in the order of their start, delegated ones among them.
		run = s.Runs[len(s.Runs)-1].Run
	}
	var chain wire.Chain
	err := c.Call(ctx, wire.MethodChain, &wire.ChainParams{Run: run}, &chain)
	return chain, err
}

// printChain prints a chain: the names of the agents in a first line, then a line for each
// run with its time and tokens, and from whom and why it got control.
func printChain(out io.Writer, chain wire.Chain) error {
	var b strings.Builder
	// The person gave control to the first one.
	agents := []string{"user"}
	for _, link := range chain {
		agents = append(agents, tool.Escape(link.Agent))
	}
	fmt.Fprintln(&b, strings.Join(agents, " → "))
	for _, link := range chain {
		took := (time.Duration(link.DurationMs) * time.Millisecond).String()
		fmt.Fprintf(&b, "%-20s  %8s  %7s tokens in  %6s out", tool.Escape(link.Agent), took,
			tool.Tokens(link.Usage.InputTokens), tool.Tokens(link.Usage.OutputTokens+link.Usage.ThoughtTokens))
		if link.From != "" {
			fmt.Fprintf(&b, "  from %s: %s", tool.Escape(link.From), tool.Escape(link.Reason))
		}
		fmt.Fprintln(&b)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
