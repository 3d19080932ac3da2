package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/wire"
)

func runCommand(std streams) *cobra.Command {
	var prompt, session, approve, format string
	var trust bool
	c := &cobra.Command{
		Use: "run [NAME] [PROMPT]", Short: "Run an agent; without a name, main", Args: arguments(0, 2),
		RunE: func(c *cobra.Command, args []string) error {
			mode, err := approval(approve)
			if err != nil {
				return err
			}
			if format != "text" {
				return usage{fmt.Errorf("--format is %q, want text", format)}
			}
			p := &wire.RunParams{Session: session}
			switch {
			case len(args) == 2 && prompt == "":
				p.Agent, prompt = args[0], args[1]
			case len(args) >= 1 && (prompt != "" || !strings.ContainsAny(args[0], " \n")):
				p.Agent = args[0]
			case len(args) == 1:
				prompt = args[0]
			}
			if prompt == "" && !term.IsTerminal(int(std.in.Fd())) {
				data, err := io.ReadAll(io.LimitReader(std.in, 1<<20))
				if err != nil {
					return err
				}
				prompt = strings.TrimSpace(string(data))
			}
			if prompt == "" {
				return usage{fmt.Errorf("there is nothing to do: give a prompt, as in agentls run %s \"your request\"", p.Agent)}
			}
			p.Input = wire.InputBlocks{{Type: "text", Text: prompt}}
			if session == "new" {
				// The form of a time has no dash before the milliseconds, and the id
				// of a session does not end in a dot and a number.
				p.Session = strings.Replace(time.Now().UTC().Format("run-20060102-150405.000"), ".", "-", 1)
			}
			config, err := base(std)
			if err != nil {
				return err
			}
			config.Trust = config.Trust || trust
			config.Approval = mode
			result, err := runAgent(c.Context(), config, ".", p, newTimeline(std, newTerminal(std)))
			if err != nil {
				return err
			}
			return verdict(c.Context(), result)
		},
	}
	c.Flags().StringVarP(&prompt, "prompt", "p", "", "what the agent is to do")
	c.Flags().StringVar(&session, "session", "", "the session to go on with, or new; without it, main")
	c.Flags().StringVar(&approve, "approve", "", approveHelp)
	c.Flags().StringVar(&format, "format", "text", "text")
	c.Flags().BoolVar(&trust, "trust", false, "trust the folder for this process")
	return c
}

// approveHelp explains the flag --approve of run and serve.
const approveHelp = "what runs without asking: plan, ask, edits or auto; never high or critical calls"

// approval returns the mode that --approve names; "" is the default.
func approval(mode string) (agents.Approval, error) {
	if a := agents.Approval(mode); mode == "" || a.Valid() {
		return a, nil
	}
	return "", usage{fmt.Errorf("--approve is %q, want plan, ask, edits or auto", mode)}
}

// runAgent runs an agent of a folder to its end, and shows it on the way.
func runAgent(ctx context.Context, config daemon.Config, folder string, p *wire.RunParams, t *timeline) (*wire.RunResult, error) {
	conn, err := connect(ctx, config, folder, t.handlers())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// Who an agent is, is told by another method than what it does. Without an
	// answer its name is as good: the run itself says what is wrong.
	agent := new(wire.GetResult)
	name := cmp.Or(p.Agent, "main")
	_ = conn.Call(ctx, wire.MethodGet, &wire.GetParams{Name: name}, agent)
	t.title = cmp.Or(agent.Title, name)
	result := new(wire.RunResult)
	// The run ends by itself when ctx is done: the request is cancelled, and is
	// answered with the result all the same.
	call := context.WithoutCancel(ctx)
	p.Run = "cli-" + time.Now().UTC().Format("20060102T150405.000000")
	stop := context.AfterFunc(ctx, func() {
		_ = conn.Call(call, wire.MethodCancel, &wire.CancelParams{Run: p.Run}, nil) // the answer to the run says how it ended
	})
	defer stop()
	if err := conn.Call(call, wire.MethodRun, p, result); err != nil {
		return nil, err
	}
	t.end(result)
	return result, nil
}

// verdict turns a run's end into the process's.
func verdict(ctx context.Context, r *wire.RunResult) error {
	switch {
	case r.Reason == "GOAL":
		return nil
	case ctx.Err() != nil:
		return exit{exitInterrupted}
	}
	return exit{exitFailed}
}
