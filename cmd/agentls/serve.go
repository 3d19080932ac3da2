package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/server"
)

func serveCommand(std streams) *cobra.Command {
	var stdio, trust bool
	var parent int
	var approve string
	c := &cobra.Command{
		Use: "serve", Short: "Serve an editor as a language server, on standard input and output", Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			mode, err := approval(approve)
			if err != nil {
				return err
			}
			config, err := base(std)
			if err != nil {
				return err
			}
			config.Trust = config.Trust || trust
			config.Approval = mode
			config.Parent = parent
			// From here on nothing but frames goes to the client: a stray print
			// would end the session.
			rwc, err := server.Stdio(os.Stdin, os.Stdout, os.Stderr)
			if err != nil {
				return err
			}
			outcome, err := daemon.Serve(c.Context(), rwc, config)
			if err != nil {
				config.Log.Error("the connection ended", "err", err)
			}
			if code := outcome.Code(); code != 0 {
				return exit{code}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&stdio, "stdio", true, "speak on standard input and output")
	c.Flags().BoolVar(&trust, "trust", false, "trust the workspace for this process")
	c.Flags().StringVar(&approve, "approve", "", approveHelp)
	c.Flags().IntVar(&parent, "clientProcessId", 0, "end when this process has")
	return c
}
