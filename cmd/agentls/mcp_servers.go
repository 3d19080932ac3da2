package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

// mcpServersCommand lists the MCP servers of the settings and tries them. list asks what
// is known of them (agents/mcp/list) and starts none; test and restart start servers in
// this command's own daemon (agents/mcp/restart), which ends them again. Only restart
// --approve, login and logout change something that lasts. stop is always an error, exit
// code 1: it says that servers of an editor are stopped there.
func mcpServersCommand(std streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "mcp-servers", Short: "List the MCP servers of your settings, and try them",
		Long: `Lists the MCP servers that your settings and those of this folder describe under
mcpServers, and tries whether they start. Each editor, and each agentls on a terminal,
runs servers of its own.`,
		Args: cobra.ArbitraryArgs, RunE: needsPart,
	}
	list := &cobra.Command{
		Use: "list", Short: "List the servers and what they offered last", Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return request(c, std, wire.MethodMCPList, &wire.MCPListParams{}, asJSON,
				func(r *wire.MCPListResult) error { return printServers(std.out, r.Servers) })
		},
	}
	test := &cobra.Command{
		Use: "test [NAME]", Short: "Start a server, or each, and show its tools", Args: arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error { return testServers(c.Context(), std, args, false, asJSON) },
	}
	var approve bool
	restart := &cobra.Command{
		Use: "restart NAME", Short: "Start a server anew, and approve its tools with --approve", Args: arguments(1, 1),
		Long: `Starts a server anew and shows it, as test does. With --approve you approve its tools
as they are now: those that changed since you first used it are offered again.

The servers of an editor that runs are restarted there (agents/mcp/restart).`,
		RunE: func(c *cobra.Command, args []string) error {
			return testServers(c.Context(), std, args, approve, asJSON)
		},
	}
	restart.Flags().BoolVar(&approve, "approve", false, "approve the tools that it lists now")
	stop := &cobra.Command{
		Use: "stop NAME", Short: "Say how to stop a server of an editor", Args: arguments(1, 1),
		RunE: func(*cobra.Command, []string) error {
			return errors.New("no server runs on the command line once a command has ended, so there is nothing to stop; stop a server of your editor there (agents/mcp/stop), or take it out of the settings")
		},
	}
	login := &cobra.Command{
		Use: "login NAME", Short: "Log in at a server over HTTP, in your browser (OAuth)", Args: arguments(1, 1),
		Long: `Shows the page at which you log in, waits for five minutes until you have, and starts
the server. The login is kept in your keyring, or, where there is none, in a file that
only you can read (~/.gemini/agentls/logins.json).`,
		RunE: func(c *cobra.Command, args []string) error { return login(c.Context(), std, args[0], asJSON) },
	}
	logout := &cobra.Command{
		Use: "logout NAME", Short: "Forget your login at a server", Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				if err := conn.Call(ctx, wire.MethodMCPLogout, &wire.MCPLogoutParams{Name: args[0]}, nil); err != nil {
					return err
				}
				_, err := fmt.Fprintf(std.out,
					"Logged out of %s. What it was allowed stays allowed there until you withdraw it at the server.\n",
					tool.Escape(args[0]))
				return err
			})
		},
	}
	c.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(list, test, restart, stop, login, logout)
	return c
}

// servers returns the MCP servers of the folder, as they are known without starting them.
func (c *connection) servers(ctx context.Context) ([]wire.MCPServer, error) {
	var all wire.MCPListResult
	err := c.Call(ctx, wire.MethodMCPList, &wire.MCPListParams{}, &all)
	return all.Servers, err
}

// testServers starts the servers that are named, or all, one after the other, and shows
// each when it has answered. It fails at the end where one did not start. approve takes
// the tools as they are now; without it those that are new or changed are listed as
// pending.
func testServers(ctx context.Context, std streams, names []string, approve, asJSON bool) error {
	return with(ctx, std, func(ctx context.Context, conn *connection) error {
		if len(names) == 0 {
			all, err := conn.servers(ctx)
			if err != nil {
				return err
			}
			for _, s := range all {
				names = append(names, s.Name)
			}
			if len(all) == 0 && !asJSON {
				return printServers(std.out, all)
			}
		}
		var failed []string
		tried := []wire.MCPServer{}
		for _, name := range names {
			began := time.Now()
			var r wire.MCPServerResult
			if err := conn.Call(ctx, wire.MethodMCPRestart, &wire.MCPRestartParams{Name: name,
				Approve: approve}, &r); err != nil {
				return err
			}
			// The other servers are tried all the same.
			if r.Server.State != "ready" {
				failed = append(failed, tool.Escape(name))
			}
			if tried = append(tried, r.Server); !asJSON {
				printServer(std.out, r.Server, time.Since(began))
			}
		}
		if asJSON {
			if err := printJSON(std.out, wire.MCPListResult{Servers: tried}); err != nil {
				return err
			}
		}
		if len(failed) > 0 {
			return fmt.Errorf("did not start: %s", strings.Join(failed, ", "))
		}
		return nil
	})
}

// login logs the person in at a server, and shows the server. The daemon says by a message
// where the page is, which is shown on standard error, and waits until the person has
// logged in there. It needs no terminal. Ctrl-C ends the wait.
func login(ctx context.Context, std streams, name string, asJSON bool) error {
	tell := client.Config{Notified: func(method string, params []byte) {
		var p protocol.ShowMessageParams
		if method != protocol.MethodWindowShowMessage || (wire.Codec{}).Unmarshal(params, &p) != nil {
			return
		}
		// Escape shows a line end as a character, so each line is escaped by itself.
		for line := range strings.SplitSeq(p.Message, "\n") {
			fmt.Fprintln(std.err, tool.Escape(line))
		}
	}}
	return withClient(ctx, std, tell, func(ctx context.Context, conn *connection) error {
		began := time.Now()
		var r wire.MCPServerResult
		if err := conn.Call(ctx, wire.MethodMCPLogin, &wire.MCPLoginParams{Name: name}, &r); err != nil {
			return err
		}
		if asJSON {
			return printJSON(std.out, r)
		}
		fmt.Fprintf(std.out, "Logged in at %s.\n", tool.Escape(name))
		printServer(std.out, r.Server, time.Since(began))
		if r.Server.State != "ready" {
			return fmt.Errorf("did not start: %s", tool.Escape(name))
		}
		return nil
	})
}

// printServers prints a line for each server, and below all what keeps any from being
// used.
func printServers(out io.Writer, all []wire.MCPServer) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "No MCP servers are configured. Describe one in the settings under mcpServers.")
		return err
	}
	w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSCOPE\tSTATE\tVERSION\tTOOLS\tCOMMAND OR ADDRESS")
	for _, s := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", tool.Escape(s.Name), s.Scope, s.State,
			cmp.Or(tool.Escape(s.Version), "-"), len(s.Tools), tool.Escape(cmp.Or(s.Command, s.URL)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range all {
		printTroubles(out, s)
	}
	_, err := fmt.Fprintln(out, "\nTry one: agentls mcp-servers test NAME")
	return err
}

// printTroubles prints why a server or a tool of it cannot be used, with how to approve a
// tool that is new or has changed.
func printTroubles(out io.Writer, s wire.MCPServer) {
	if s.Why != "" {
		fmt.Fprintf(out, "\n%s: %s\n", tool.Escape(s.Name), tool.Escape(s.Why))
	}
	for _, t := range s.Pending {
		fmt.Fprintf(out, "\n%s is new or changed since you approved it, and is not offered. It says: %s\nApprove it: agentls mcp-servers restart %s --approve\n",
			tool.Escape(t.Name), tool.Escape(t.Description), tool.Escape(s.Name))
	}
	for _, left := range s.LeftOut {
		fmt.Fprintf(out, "\nleft out: %s\n", tool.Escape(left))
	}
}

// printServer prints a server that was tried, with its tools, and where it did not start
// with what it wrote to its standard error. took is the time until it was ready.
func printServer(out io.Writer, s wire.MCPServer, took time.Duration) {
	title := strings.TrimSpace(tool.Escape(s.Title) + " " + tool.Escape(s.Version))
	fmt.Fprintf(out, "%s: %s", tool.Escape(s.Name), s.State)
	if s.State == "ready" {
		fmt.Fprintf(out, " after %d ms (%s), %s", took.Milliseconds(), title, tool.Count(len(s.Tools), "tool", "tools"))
	}
	fmt.Fprintln(out)
	// A description may have many lines, of which the first says what the tool is for.
	for _, t := range s.Tools {
		first, _, _ := strings.Cut(t.Description, "\n")
		short, whole := tool.CutLine(first, 100)
		if !whole {
			short += "…"
		}
		fmt.Fprintf(out, "  %s  %s\n", tool.Escape(t.Name), tool.Escape(short))
	}
	printTroubles(out, s)
	if s.State != "ready" {
		for _, line := range s.Stderr {
			fmt.Fprintf(out, "  | %s\n", tool.Escape(line))
		}
	}
}
