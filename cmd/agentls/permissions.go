package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// permissionsCommand lists what the person allowed always in this folder
// (agents/permissions/list), or has one asked about again (agents/permissions/forget). An
// unknown id is an error, exit code 1. What is allowed can only be given as the answer to
// a question, so there is no command that adds to it.
func permissionsCommand(std streams) *cobra.Command {
	var asJSON bool
	// list serves the command itself and its subcommand list.
	list := func(c *cobra.Command, _ []string) error {
		return request(c, std, wire.MethodPermissionsList, &wire.PermissionsListParams{}, asJSON,
			func(r *wire.PermissionsListResult) error { return printPermissions(std.out, r.Permissions) })
	}
	c := &cobra.Command{
		Use: "permissions", Short: "List what you allowed always in this folder, or forget it",
		Long: `Lists what you answered with "always" in this folder: these calls are not asked
about any more. What was allowed for one run or session ended with it.`,
		// Without an argument the command lists; an argument can only be a mistyped
		// subcommand.
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return needsPart(c, args)
			}
			return nil
		},
		RunE: list,
	}
	listing := &cobra.Command{
		Use: "list", Short: "List what you allowed always in this folder", Args: arguments(0, 0), RunE: list,
	}
	forget := &cobra.Command{
		Use: "forget ID", Short: "Ask again about what was allowed always", Args: arguments(1, 1),
		ValidArgsFunction: completePermissions,
		RunE: func(c *cobra.Command, args []string) error {
			p := &wire.PermissionsForgetParams{ID: args[0]}
			return request(c, std, wire.MethodPermissionsForget, p, asJSON, func(r *wire.PermissionsForgetResult) error {
				if !r.Forgotten {
					return fmt.Errorf("nothing is allowed under %s; see `agentls permissions list`",
						tool.Escape(args[0]))
				}
				_, err := fmt.Fprintln(std.out, "Forgotten: it is asked about again.")
				return err
			})
		},
	}
	c.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(listing, forget)
	return c
}

// printPermissions prints a line for each answer. What it covers comes last: it
// is as long as it is.
func printPermissions(out io.Writer, all []wire.Permission) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "Nothing is allowed always in this folder.")
		return err
	}
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tAGENT\tTOOL\tSINCE\tCOVERS")
	for _, p := range all {
		since := p.Scope
		if at, err := time.Parse(time.RFC3339, p.Since); err == nil {
			since = ago(time.Since(at))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.ID, tool.Escape(p.Agent), tool.Escape(p.Tool), since,
			tool.Escape(p.Pattern))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "\nForget one: agentls permissions forget ID")
	return err
}
