package main

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

func listCommand(std streams) *cobra.Command {
	var scope, format string
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the agents of this folder and your own", Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if scope != "all" && scope != "project" && scope != "global" {
				return usage{fmt.Errorf("--scope is %q, want global, project or all", scope)}
			}
			if format != "table" && format != "json" {
				return usage{fmt.Errorf("--format is %q, want table or json", format)}
			}
			config, err := base(std)
			if err != nil {
				return err
			}
			config.Brief = true
			conn, err := connect(c.Context(), config, ".", client.Config{})
			if err != nil {
				return err
			}
			defer conn.Close()
			p := &wire.ListParams{}
			if scope != "all" {
				p.Scope = scope
			}
			var result wire.ListResult
			if err := conn.Call(c.Context(), wire.MethodList, p, &result); err != nil {
				return err
			}
			if format == "json" || asJSON {
				return printJSON(std.out, result)
			}
			return printAgents(std.out, result)
		},
	}
	c.Flags().StringVar(&scope, "scope", "all", "global, project or all")
	c.Flags().StringVar(&format, "format", "table", "table or json")
	c.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	complete(c, "scope", "global", "project", "all")
	complete(c, "format", "table", "json")
	return c
}

// headings are the groups of a list, in their order.
var headings = []struct{ scope, title string }{
	{"project", "Agents of this folder"}, {"global", "Your agents"}, {"extension", "Agents of extensions"}, {"system", "Built in"},
}

// printAgents prints a line for each agent, and below its group an explanation
// with file, line, column and reason for each file that is no agent.
func printAgents(out io.Writer, r wire.ListResult) error {
	listed := map[string]bool{}
	usable := ""
	for _, group := range headings {
		w := tabwriter.NewWriter(out, 2, 4, 2, ' ', 0)
		n := 0
		for _, a := range r.Agents {
			if a.Scope != group.scope {
				continue
			}
			if n++; n == 1 {
				fmt.Fprintf(w, "%s\n", group.title)
			}
			state := ""
			switch {
			case a.State == "shadowed":
				state = "shadowed by " + place(a.ShadowedBy)
			case a.State != "ok":
				state = a.State
			}
			line := fmt.Sprintf("  %s\t%s\t%s", tool.Escape(a.Name), tool.Escape(a.Title), a.ResolvedModel)
			if state != "" {
				line += "\t" + state
			}
			fmt.Fprintln(w, line)
			if a.State == "ok" && (usable == "" || a.Scope == "project" && usable == "main") {
				usable = a.Name
			}
			for _, p := range a.Problems {
				if p.Severity == "error" {
					listed[p.URI+p.Code] = true
					fmt.Fprintf(w, "    %s\n", explain(p.URI, p.Range.Start.Line, p.Range.Start.Character, p.Message))
				}
			}
		}
		if n > 0 {
			fmt.Fprintln(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	rest := 0
	for _, p := range r.Problems {
		if p.Severity != "error" || listed[p.URI+p.Code] {
			continue
		}
		if rest++; rest == 1 {
			fmt.Fprintln(out, "Files that are no agents")
		}
		fmt.Fprintf(out, "  %s\n", explain(p.URI, p.Range.Start.Line, p.Range.Start.Character, p.Message))
	}
	if rest > 0 {
		fmt.Fprintln(out)
	}
	for _, a := range r.Agents {
		if a.State == "untrusted" {
			fmt.Fprintln(out, "This folder is not trusted, so its agents do not run. Look at them, then: agentls trust")
			break
		}
		if a.State == "review" {
			fmt.Fprintln(out, "What you have not approved yet does not run. See what that is with agentls trust --list, then: agentls trust")
			break
		}
	}
	_, err := fmt.Fprintf(out, "Run one: agentls run %s \"your request\"\n", cmp.Or(usable, "main"))
	return err
}

// explain says where and why, as compilers do: file:line:column: reason.
func explain(uri string, line, character uint32, message string) string {
	return fmt.Sprintf("%s:%d:%d: %s", place(uri), line+1, character+1, tool.Escape(message))
}

// place returns the path of a file URI, as short as it can be named from here.
func place(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return tool.Escape(uri)
	}
	path := filepath.FromSlash(u.Path)
	if wd, err := os.Getwd(); err == nil {
		if real, err := filepath.EvalSymlinks(wd); err == nil {
			wd = real
		}
		if rel, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(rel, "..") {
			path = rel
		}
	}
	return tool.Escape(path)
}
