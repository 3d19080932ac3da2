package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/exchange"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// exportOptions are the flags of export.
type exportOptions struct {
	// to is a name of toolNames; out is a folder, "" for the other tool's own.
	to, out                                  string
	all, global, stdout, force, drop, asJSON bool
}

// exportCommand writes agents as files of another tool. It asks the daemon
// (agents/export), which converts and writes them, or with --stdout returns the text of
// one. The report goes to standard error, since standard output may be the file; with
// --json it goes to standard output. It asks nothing, and exits with 1 where an agent was
// refused; the others are written all the same.
func exportCommand(std streams) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export (NAME… | --all) --to TOOL",
		Short: "Write agents for Claude Code, GitHub Copilot, opencode or gemini-cli",
		Long: `Writes agents as files of another tool, into its folder in this one: .claude/agents,
.github/agents, .opencode/agent. An agent that was imported from there returns as it
was, but for what you changed. What does not translate is told, a line each.

Nothing gains power: where a restriction has no counterpart there, the agent is
refused; with --drop-restrictions it is written without it, and told.
docs/migrating.md goes key by key.`,
		ValidArgsFunction: completeFiles(math.MaxInt),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case o.to == "":
				return usage{fmt.Errorf("--to is missing; use %s", joinOr(toolNames))}
			case o.all == (len(args) > 0):
				return usage{errors.New("name the agents, or give --all, not both; see `agentls list`")}
			case o.stdout && (o.out != "" || o.force):
				return usage{errors.New("--stdout writes no file; leave out --out and --force")}
			case o.stdout && (o.all || len(args) > 1):
				return usage{errors.New("--stdout is for one agent; name it")}
			case o.to == string(definition.GeminiCLI) && o.out == "" && !o.stdout:
				return usage{errors.New("gemini-cli's agents lie where ours do, in .gemini/agents; say where to write with --out DIR, or use --stdout")}
			}
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				return exportAgents(ctx, conn, std, o, args)
			})
		},
	}
	choose(c, &o.to, "to", "", "whose format: "+joinOr(toolNames), toolNames...)
	c.Flags().StringVar(&o.out, "out", "", "the folder to write to (the tool's own in this folder)")
	c.Flags().BoolVar(&o.stdout, "stdout", false, "print the file of one agent instead of writing it")
	c.Flags().BoolVar(&o.all, "all", false, "all agents of this folder; with --global all of yours")
	c.Flags().BoolVar(&o.global, "global", false, "your own agents, not this folder's")
	c.Flags().BoolVar(&o.force, "force", false, "replace files that are there")
	c.Flags().BoolVar(&o.drop, "drop-restrictions", false, "leave out restrictions that the other tool cannot express")
	c.Flags().BoolVar(&o.asJSON, "json", false, "the report as JSON")
	return c
}

// exportedFile is what became of one agent, as --json prints it: the daemon's answer, with
// paths beside its URIs.
type exportedFile struct {
	From string `json:"from,omitempty"`
	Path string `json:"path,omitempty"` // the new file
	wire.ExportedFile
}

// exportReport is what --json prints.
type exportReport struct {
	To string `json:"to"`
	// OK and Refused count the agents by their status; each is in one of them.
	OK      int            `json:"ok"`
	Refused int            `json:"refused"`
	Files   []exportedFile `json:"files"`
}

// exportAgents asks for the export and prints the report. The error is exit 1 where an
// agent was refused, after the report.
func exportAgents(ctx context.Context, conn *connection, std streams, o exportOptions, names []string) error {
	p := &wire.ExportParams{Names: names, All: o.all, To: o.to, Text: o.stdout, Force: o.force, DropRestrictions: o.drop}
	if o.global {
		p.Scope = "global"
	}
	if o.out != "" {
		out, err := urisOf([]string{o.out})
		if err != nil {
			return err
		}
		p.Folder = out[0]
	}
	var r wire.ExportResult
	if err := conn.Call(ctx, wire.MethodExport, p, &r); err != nil {
		return err
	}
	report := exportReport{To: o.to, Files: []exportedFile{}}
	printed := ""
	for _, f := range r.Files {
		if f.Status == "ok" {
			report.OK++
		} else {
			report.Refused++
		}
		// With --stdout the one agent comes as a text.
		if f.Text != nil {
			printed = *f.Text
		}
		report.Files = append(report.Files, exportedFile{tool.PathOf(f.Source), tool.PathOf(f.URI), f})
	}
	var err error
	if o.asJSON {
		err = printJSON(std.out, report)
	} else {
		printExport(std.err, report)
		_, err = io.WriteString(std.out, printed)
	}
	if err == nil && report.Refused > 0 {
		return exit{exitFailed}
	}
	return err
}

// printExport prints the report for people: a line for each agent, what did not translate
// below it, and the sums where there are several.
func printExport(out io.Writer, r exportReport) {
	for _, f := range r.Files {
		switch {
		case f.Status == "refused":
			fmt.Fprintf(out, "%-9s %s: %s\n", f.Status, tool.Escape(f.Name), tool.Escape(inFlags.Replace(f.Reason)))
		case f.Path == "":
			fmt.Fprintf(out, "%-9s %s\n", f.Status, tool.Escape(f.Name))
		// A file that has the same text already is left.
		case !f.Written:
			fmt.Fprintf(out, "%-9s %s → %s\n", "unchanged", tool.Escape(f.Name), place(f.URI))
		default:
			fmt.Fprintf(out, "%-9s %s → %s\n", f.Status, tool.Escape(f.Name), place(f.URI))
		}
		printLosses(out, f.Losses)
	}
	if len(r.Files) > 1 || r.Refused > 0 {
		written := 0
		for _, f := range r.Files {
			if f.Written {
				written++
			}
		}
		fmt.Fprintf(out, "\n%s for %s: %d written", count(len(r.Files), "agent"),
			exchange.Title(definition.Dialect(r.To)), written)
		if r.OK > written {
			fmt.Fprintf(out, ", %d unchanged", r.OK-written)
		}
		fmt.Fprintf(out, ", %d refused.\n", r.Refused)
	}
}
