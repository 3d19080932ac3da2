package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// validateCommand checks an agent's file, or those of all agents (agents/validate).
// Nothing runs, so the folder need not be trusted. It exits with 1 where a file is not
// valid; warnings are exit code 0.
func validateCommand(std streams) *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use: "validate [NAME | FILE]", Short: "Check an agent's file, or those of all agents",
		Long: "Checks an agent's file: one line a check, then what is odd but no error, and how many passed. A FILE is\n" +
			"a path, or ends in .md. Without a name, and with --all, it checks all agents, a line each. It exits with 1\n" +
			"when one is not valid.\n" +
			"Nothing runs, so the folder need not be trusted.",
		Args: arguments(0, 1), ValidArgsFunction: completeFiles(1),
		RunE: func(c *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return usage{fmt.Errorf("--all checks every agent; leave %s out, or --all", shellQuote(args[0]))}
			}
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				p := &wire.ValidateParams{}
				if len(args) == 1 {
					p.Name = args[0]
					if isPath(args[0]) {
						path, err := filePath(args[0])
						if err != nil {
							return err
						}
						p.Name, p.URI = "", tool.URI(path)
					}
				}
				return validate(ctx, conn, std.out, p, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "check all agents, a line each")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: every check and warning with its place")
	return c
}

// validate checks files and prints what it found: all checks of a file that was named, and
// a line each where p names none. With asJSON it prints the daemon's answer. The error is
// exit 1 where one is not valid.
func validate(ctx context.Context, conn *connection, out io.Writer, p *wire.ValidateParams, asJSON bool) error {
	var r wire.ValidateResult
	if err := conn.Call(ctx, wire.MethodValidate, p, &r); err != nil {
		return err
	}
	if asJSON {
		if err := printJSON(out, r); err != nil {
			return err
		}
	}
	bad := false
	reports := make([]*language.Report, len(r.Results))
	for i, v := range r.Results {
		reports[i] = reportOf(v)
	}
	// Agents of one name are told apart by their files.
	language.Titles(reports, func(i int) string { return place(r.Results[i].URI) })
	for i, v := range r.Results {
		report := reports[i]
		bad = bad || !report.Valid()
		var err error
		switch {
		// The daemon's answer was printed whole above.
		case asJSON:
		case p.Name == "" && p.URI == "":
			line := tool.Escape(report.Line())
			if n := len(v.Warnings); n > 0 {
				line += " (" + count(n, "warning") + ")"
			}
			_, err = fmt.Fprintln(out, line)
		default:
			if len(r.Results) > 1 {
				fmt.Fprintln(out, place(v.URI))
			}
			_, err = io.WriteString(out, tool.EscapeLines(report.Text())+"\n")
		}
		if err != nil {
			return err
		}
	}
	if len(r.Results) == 0 && !asJSON {
		if _, err := fmt.Fprintln(out, "There are no agent files here. Make one: agentls create"); err != nil {
			return err
		}
	}
	if bad {
		return exit{exitFailed}
	}
	return nil
}

// reportOf returns a validation as the value that an editor's report is made of, so that
// both print the same.
func reportOf(v wire.Validation) *language.Report {
	r := &language.Report{Agent: v.Agent, URI: v.URI, Passed: v.Passed, Total: v.Total, Warnings: v.Warnings}
	for _, c := range v.Checks {
		check := language.Check{Code: c.Code, OK: c.OK, Title: c.Title, Message: c.Message}
		if c.Range != nil {
			check.Range = *c.Range
		}
		r.Checks = append(r.Checks, check)
	}
	return r
}
