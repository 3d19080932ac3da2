package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

// trustCommand decides about a folder, the current one without an argument, or approves
// one agent of a trusted folder (agents/trust). What the person types is the decision, so
// for a folder it asks nothing; it prints what takes effect. --list only shows it
// (agents/trust/get). AGENTLS_TRUST is ignored here, since that is for a process, and this
// decision lasts. An argument that names nothing is an error, exit code 1.
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
		// It offers the agents by name, and leaves folders to the shell.
		ValidArgsFunction: func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			names, _ := completeFiles(1)(c, args, begun)
			return names, cobra.ShellCompDirectiveDefault
		},
		RunE: func(c *cobra.Command, args []string) error {
			folder, file, err := trustTarget(append(args, ".")[0])
			if err != nil {
				return err
			}
			// These flags are about folders. For any other argument the daemon says that
			// there is no such folder.
			if list || revoke || forget {
				file = ""
			}
			config, err := base(std)
			if err != nil {
				return err
			}
			config.Brief, config.Trust = true, false // it is about what is decided for longer than this process
			root := folder
			if file != "" {
				// An agent file lies in .gemini/agents of its folder.
				root = filepath.Dir(filepath.Dir(filepath.Dir(file)))
			}
			conn, err := connect(c.Context(), config, root, client.Config{})
			if err != nil {
				return err
			}
			defer conn.Close()
			switch {
			case file != "":
				err = approveAgent(c.Context(), std, conn, file)
			case list && patch:
				err = printDifferences(c.Context(), std.out, conn, folder)
			case list:
				err = listTrust(c.Context(), std.out, conn, folder)
			case forget:
				if err = conn.setTrust(c.Context(), folder, wire.TrustParams{Forget: true}); err == nil {
					_, err = fmt.Fprintf(std.out, "What was decided about %s is forgotten.\n", tool.Escape(folder))
				}
			default:
				err = giveTrust(c.Context(), std.out, conn, folder, !revoke)
			}
			if aboutOf(err).Path == "uri" {
				return fmt.Errorf("there is no folder %s, and no agent of that name here; name one, as in agentls trust FOLDER",
					tool.Escape(folder))
			}
			return err
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

// trustTarget returns the folder that an argument of trust names, or else the agent file:
// by its path, or by the agent's name in the folder where the command runs. A folder is
// meant before an agent of its name. Where there is neither, folder is the path all the
// same, and the daemon says that there is none.
func trustTarget(arg string) (folder, file string, err error) {
	path, err := filepath.Abs(arg)
	if err != nil {
		return "", "", err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path, "", nil
	}
	for _, file := range []string{path, filepath.Join(filepath.Dir(path), ".gemini", "agents",
		filepath.Base(path)+".md")} {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && isAgentFile(file) {
			file, err = filepath.EvalSymlinks(file)
			return path, file, err
		}
	}
	return path, "", nil
}

// trustIn returns what was decided about a folder, or about that of an agent file; with
// items what it brings, and with texts what these say. The result is never nil, also with
// an error.
func (c *connection) trustIn(ctx context.Context, path string, items, texts bool) (*wire.TrustGetResult, error) {
	r := new(wire.TrustGetResult)
	err := c.Call(ctx, wire.MethodTrustGet,
		&wire.TrustGetParams{URI: tool.URI(path), Items: items, Texts: texts}, r)
	return r, err
}

// setTrust decides about a folder, or an agent file, as p says; it fills in p.URI.
func (c *connection) setTrust(ctx context.Context, path string, p wire.TrustParams) error {
	p.URI = tool.URI(path)
	return c.Call(ctx, wire.MethodTrust, &p, nil)
}

// giveTrust trusts a folder as it is, or takes that back. It prints what takes effect,
// marked by what was new or changed before: afterwards all of it counts as approved.
func giveTrust(ctx context.Context, out io.Writer, conn *connection, folder string, trusted bool) error {
	before := new(wire.TrustGetResult)
	if trusted {
		before, _ = conn.trustIn(ctx, folder, true, false) // what cannot be read is an error of what follows
	}
	if err := conn.setTrust(ctx, folder, wire.TrustParams{Trusted: &trusted}); err != nil {
		return err
	}
	if !trusted {
		_, err := fmt.Fprintf(out, "%s is not trusted any more.\n", tool.Escape(folder))
		return err
	}
	now, err := conn.trustIn(ctx, folder, true, false)
	if err != nil {
		return err
	}
	for i, item := range now.Items { // seen from what was approved before
		if at := slices.IndexFunc(before.Items, func(was wire.TrustItem) bool { return was.Name == item.Name }); at >= 0 {
			now.Items[i].State = before.Items[at].State
		}
	}
	fmt.Fprintf(out, "%s is trusted now. What takes effect:\n", tool.Escape(folder))
	return printBrought(out, now)
}

// askTrustOnce asks whether the folder is trusted, where nobody has decided and somebody
// can be asked: main, which may only read then, would find out by turns that fail. For an
// agent of the folder the daemon asks. In the mode plan agents only read anyway, so it
// does not ask. A no holds, until agentls trust.
func askTrustOnce(ctx context.Context, conn *connection, std streams, asks *terminal, mode string) error {
	folder, err := here()
	if err != nil || !asks.there || mode == "plan" {
		return err
	}
	r, err := conn.trustIn(ctx, folder, false, false)
	if err != nil || r.Trusted || (r.Decided != "" && !r.Replaced) {
		return err
	}
	// The items are read only now, when somebody is asked about them.
	if r, err = conn.trustIn(ctx, folder, true, false); err != nil {
		return err
	}
	fmt.Fprintln(std.err, "This folder is not trusted, so agents only read here. If you trust it, they may change files and run\n"+
		"commands after asking you, and this takes effect:")
	if err := printBrought(std.err, r); err != nil {
		return err
	}
	yes := asks.yes(ctx, fmt.Sprintf("Trust %s? [y/N] ", tool.Escape(folder)), false)
	if ctx.Err() != nil {
		return exit{exitInterrupted}
	}
	return conn.setTrust(ctx, folder, wire.TrustParams{Trusted: &yes})
}

// listTrust shows what a folder brings, and decides nothing. What was decided stands in
// the first line.
func listTrust(ctx context.Context, out io.Writer, conn *connection, folder string) error {
	r, err := conn.trustIn(ctx, folder, true, false)
	if err != nil {
		return err
	}
	word := "is not trusted, and nobody has decided about it"
	switch {
	case r.Trusted:
		word = "is trusted"
	case r.Replaced:
		word = "is not trusted: another folder has taken its place since you trusted it"
	case r.Decided != "":
		word = "is not trusted, as you decided"
	}
	fmt.Fprintf(out, "%s %s.\n", tool.Escape(folder), word)
	return printBrought(out, r)
}

// printBrought prints what a folder brings, a line each, and what of it is other than was
// approved.
func printBrought(out io.Writer, r *wire.TrustGetResult) error {
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	for _, item := range r.Items {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", item.Kind, tool.Escape(item.Label), tool.Escape(item.Name), item.State)
	}
	for _, key := range r.Settings {
		fmt.Fprintf(w, "  setting\t%s\t%s\t\n", tool.Escape(key), settingsFile)
	}
	if len(r.Items)+len(r.Settings) == 0 {
		fmt.Fprintln(w, "  It brings no agents, hooks, MCP servers, settings or instructions.")
	}
	return w.Flush()
}
