package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

func validateCommand(std streams) *cobra.Command {
	var all, asJSON bool
	c := &cobra.Command{
		Use: "validate [NAME | FILE]", Short: "Check an agent's file, or those of all agents",
		Long: "Checks an agent's file: one line a check, and how many passed. A FILE is a path, or ends in .md.\n" +
			"Without a name, and with --all, it checks all agents, a line each. It exits with 1 when one is not valid.\n" +
			"Nothing runs, so the folder need not be trusted.",
		Args: arguments(0, 1), ValidArgsFunction: completeFiles(1),
		RunE: func(c *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return usage{fmt.Errorf("--all checks every agent; leave %s out, or --all", quoted(args[0]))}
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
						p.Name, p.URI = "", string(uri.File(path))
					}
				}
				return validate(ctx, conn, std.out, p, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "check all agents, a line each")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: every check with its place")
	return c
}

// validate checks files and prints what it found. The error is exit 1 where one
// is not valid.
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
	language.Titles(reports, func(i int) string { return place(r.Results[i].URI) })
	for i, v := range r.Results {
		report := reports[i]
		bad = bad || !report.Valid()
		var err error
		switch {
		case asJSON:
		case p.Name == "" && p.URI == "":
			_, err = fmt.Fprintln(out, tool.Escape(report.Line()))
		default:
			if len(r.Results) > 1 {
				fmt.Fprintln(out, place(v.URI))
			}
			_, err = io.WriteString(out, escapedLines(report.Text()))
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

// reportOf returns a validation as it is printed.
func reportOf(v wire.Validation) *language.Report {
	r := &language.Report{Agent: v.Agent, URI: v.URI, Passed: v.Passed, Total: v.Total}
	for _, c := range v.Checks {
		check := language.Check{Code: c.Code, OK: c.OK, Title: c.Title, Message: c.Message}
		if c.Range != nil {
			check.Range = definition.Range{Start: c.Range.Start, End: c.Range.End}
		}
		r.Checks = append(r.Checks, check)
	}
	return r
}

// escapedLines escapes each line of a text that ends with one.
func escapedLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(tool.Escape(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}
