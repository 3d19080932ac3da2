package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

func editCommand(std streams) *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use: "edit NAME", Short: "Edit an agent's file with $VISUAL or $EDITOR, and check it",
		Long: "Opens an agent's file in $VISUAL, else $EDITOR, and checks it when that ends; it exits with 1 when it is not valid then.\n" +
			"What you change in a file that was approved counts as approved.",
		Args: arguments(1, 1), ValidArgsFunction: completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkScope(scope); err != nil {
				return err
			}
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				info, err := agentOf(ctx, conn, args[0], scope)
				if err != nil {
					return err
				}
				if info.URI == "" {
					return fmt.Errorf("%s is built in and has no file to edit; see it with agentls explain %s", info.Name, info.Name)
				}
				return editAgent(ctx, conn, std, info)
			})
		},
	}
	c.Flags().StringVar(&scope, "scope", "", "project or global, where both have an agent of that name")
	complete(c, "scope", "project", "global")
	return c
}

// editAgent has an agent's file edited until it is valid or the person has had enough.
func editAgent(ctx context.Context, conn *connection, std streams, info wire.AgentInfo) error {
	u, err := uri.Parse(info.URI)
	if err != nil {
		return err
	}
	path := u.FsPath()
	asks := newTerminal(std)
	if len(asks.editor) == 0 {
		return fmt.Errorf("to edit %s set VISUAL or EDITOR to your editor", place(info.URI))
	}
	for {
		before, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := asks.editFile(ctx, path); err != nil {
			return err
		}
		now, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is no more", place(info.URI))
		}
		if err != nil {
			return err
		}
		if bytes.Equal(before, now) {
			fmt.Fprintln(std.err, "Nothing was changed.")
		} else if info.Scope == "project" && info.State == "ok" {
			// A folder's agent that ran before still does: who sat at the editor saw it.
			if err := conn.Call(ctx, wire.MethodTrust, &wire.TrustParams{URI: info.URI, Trusted: new(true)}, nil); err != nil {
				fmt.Fprintln(std.err, "agentls: it waits for a review:", tool.Escape(err.Error()))
			}
		}
		err = validate(ctx, conn, std.out, &wire.ValidateParams{URI: info.URI}, false)
		var code exit
		if !errors.As(err, &code) || !asks.there || !asks.yes(ctx, "Edit it again? [Y/n] ", true) {
			return err
		}
	}
}
