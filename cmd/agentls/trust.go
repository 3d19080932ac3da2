package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

func trustCommand(std streams) *cobra.Command {
	var revoke, list, forget, patch bool
	c := &cobra.Command{
		Use:   "trust [FOLDER | AGENT]",
		Short: "Trust a folder: its agents run, and may ask to change files and start programs",
		Long: "Trust a folder as it is now: its agents run, and may ask to change files and start programs.\n" +
			"What is changed in it afterwards waits until you trust it again. With the name or the file of an\n" +
			"AGENT it approves that one alone, in a folder that is trusted: it shows what is new in it, and asks.",
		Example: "  agentls trust --list --patch\n  agentls trust\n  agentls trust reviewer",
		Args:    arguments(0, 1),
		ValidArgsFunction: func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			names, _ := completeFiles(1)(c, args, begun)
			return names, cobra.ShellCompDirectiveDefault
		},
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
			if len(args) == 1 && !list && !revoke && !forget {
				if file := agentFileOf(args[0]); file != "" {
					return approveAgent(c.Context(), std, config, file)
				}
			}
			switch {
			case list && patch:
				return printDifferences(c.Context(), std.out, trustOf(config), folder)
			case list:
				return listTrust(c.Context(), std.out, config, folder)
			case forget:
				return forgetTrust(c.Context(), std.out, config, folder)
			}
			return giveTrust(c.Context(), std.out, config, folder, !revoke)
		},
	}
	c.Flags().BoolVar(&revoke, "revoke", false, "take the trust back")
	c.Flags().BoolVar(&list, "list", false,
		"only show what takes effect when the folder is trusted, and what changed since")
	c.Flags().BoolVarP(&patch, "patch", "p", false,
		"with --list, show the texts that are new, and what was changed in the others")
	c.Flags().BoolVar(&forget, "forget", false,
		"forget what was decided about the folder, so that it is asked about again")
	c.MarkFlagsMutuallyExclusive("revoke", "list", "forget")
	return c
}

// trustOf returns the records of trust that daemons use.
func trustOf(config daemon.Config) *workspace.Trust {
	return workspace.NewTrust(filepath.Join(config.Home, "agentls", "trust.json"), config.Now)
}

// giveTrust trusts a folder as it is, or takes that back.
func giveTrust(ctx context.Context, out io.Writer, config daemon.Config, folder string, trusted bool) error {
	_, before, _ := trustOf(config).Lookup(folder) // what cannot be read is an error of the daemon's
	config.Brief = true
	conn, err := connect(ctx, config, folder, client.Config{})
	if err != nil {
		return err
	}
	defer conn.Close()
	p := &wire.TrustParams{URI: string(uri.File(folder)), Trusted: &trusted}
	if err := conn.Call(ctx, wire.MethodTrust, p, nil); err != nil {
		if aboutOf(err).Path == "uri" {
			return noFolder(folder)
		}
		return err
	}
	if !trusted {
		_, err = fmt.Fprintf(out, "%s is not trusted any more.\n", tool.Escape(folder))
		return err
	}
	if _, err := fmt.Fprintf(out, "%s is trusted now. What takes effect:\n", tool.Escape(folder)); err != nil {
		return err
	}
	return printActive(ctx, out, folder, before)
}

// askTrustOnce asks whether the folder is trusted, where nobody has decided and somebody
// can be asked: main, which may only read then, would find out by turns that fail. For an
// agent of the folder the daemon asks. A no holds, until agentls trust.
func askTrustOnce(ctx context.Context, conn *connection, config daemon.Config, std streams,
	asks *terminal, mode string) error {
	folder, err := here()
	if err != nil || !asks.there || config.Trust || mode == "plan" {
		return err
	}
	trusted, record, err := trustOf(config).Lookup(folder)
	if err != nil || trusted || (record.Folder != "" && !record.Replaced) {
		return err
	}
	fmt.Fprintln(std.err, "This folder is not trusted, so agents only read here. If you trust it, they may change files and run\n"+
		"commands after asking you, and this takes effect:")
	if err := printActive(ctx, std.err, folder, workspace.TrustRecord{}); err != nil {
		return err
	}
	yes := asks.yes(ctx, fmt.Sprintf("Trust %s? [y/N] ", tool.Escape(folder)), false)
	if ctx.Err() != nil {
		return exit{exitInterrupted}
	}
	return conn.Call(ctx, wire.MethodTrust, &wire.TrustParams{URI: string(uri.File(folder)), Trusted: &yes}, nil)
}

func noFolder(folder string) error {
	return fmt.Errorf("there is no folder %s, and no agent of that name here; name one, as in agentls trust FOLDER",
		tool.Escape(folder))
}

// listTrust shows what a folder brings, and decides nothing.
func listTrust(ctx context.Context, out io.Writer, config daemon.Config, folder string) error {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return noFolder(folder)
	}
	trusted, record, err := trustOf(config).Lookup(folder)
	if err != nil {
		return err
	}
	word := "is not trusted, and nobody has decided about it"
	switch {
	case trusted:
		word = "is trusted"
	case record.Replaced:
		word = "is not trusted: another folder has taken its place since you trusted it"
	case record.Folder != "":
		word = "is not trusted, as you decided"
	}
	if _, err := fmt.Fprintf(out, "%s %s.\n", tool.Escape(folder), word); err != nil {
		return err
	}
	return printActive(ctx, out, folder, record)
}

// forgetTrust drops what was decided about a folder.
func forgetTrust(ctx context.Context, out io.Writer, config daemon.Config, folder string) error {
	found, err := trustOf(config).Forget(ctx, folder)
	if err != nil {
		return err
	}
	if !found {
		return errors.New("nothing was decided about " + tool.Escape(folder) +
			"; agentls doctor tells which folder it belongs to")
	}
	_, err = fmt.Fprintf(out, "What was decided about %s is forgotten.\n", tool.Escape(folder))
	return err
}

// printActive prints what a folder brings, and what of it is other than a record
// has it.
func printActive(ctx context.Context, out io.Writer, folder string, record workspace.TrustRecord) error {
	folder, err := workspace.Canonical(folder)
	if err != nil {
		return err
	}
	active, err := workspace.ReadActive(ctx, folder)
	if err != nil {
		return err
	}
	approved := make(map[string]workspace.Digest, len(record.Items))
	for _, item := range record.Items {
		approved[item.Name] = item.Digest
	}
	rel, inside := workspace.Below(record.Folder, folder)
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	for _, item := range active.Items {
		state := ""
		if record.Trusted && inside {
			switch digest, known := approved[item.Under(rel).Name]; {
			case !known:
				state = "new"
			case digest != item.Digest:
				state = "changed"
			}
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", item.Kind, tool.Escape(item.Label), tool.Escape(item.Name), state)
	}
	for _, key := range active.Settings {
		fmt.Fprintf(w, "  setting\t%s\t%s\t\n", tool.Escape(key), workspace.ProjectSettings)
	}
	for _, item := range active.Memory {
		fmt.Fprintf(w, "  %s\t%s\t%s\t\n", item.Kind, tool.Escape(item.Label), tool.Escape(item.Name))
	}
	if active.Empty() {
		fmt.Fprintln(w, "  It brings no agents, hooks, MCP servers, settings or instructions.")
	}
	return w.Flush()
}
