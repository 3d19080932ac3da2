package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

func trustCommand(std streams) *cobra.Command {
	var revoke bool
	c := &cobra.Command{
		Use: "trust [PATH]", Short: "Trust a folder: its agents run, and may ask to change files and start programs",
		Args: arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			folder := "."
			if len(args) == 1 {
				folder = args[0]
			}
			folder, err := filepath.Abs(folder)
			if err != nil {
				return err
			}
			config, err := base(std)
			if err != nil {
				return err
			}
			config.Brief = true
			conn, err := connect(c.Context(), config, folder, client.Config{})
			if err != nil {
				return err
			}
			defer conn.Close()
			p := &wire.TrustParams{URI: string(uri.File(folder)), Trusted: new(!revoke)}
			if err := conn.Call(c.Context(), wire.MethodTrust, p, nil); err != nil {
				if aboutOf(err).Path == "uri" {
					return fmt.Errorf("%s is no folder that is there; name one, as in agentls trust PATH", tool.Escape(folder))
				}
				return err
			}
			word := "is trusted now"
			if revoke {
				word = "is not trusted any more"
			}
			_, err = fmt.Fprintf(std.out, "%s %s.\n", tool.Escape(folder), word)
			return err
		},
	}
	c.Flags().BoolVar(&revoke, "revoke", false, "take the trust back")
	return c
}
