package main

import (
	"context"
	"fmt"
	"io"
	"slices"
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
						p.Name, p.URI = "", string(uri.File(path))
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

// validate checks files and prints what it found. The error is exit 1 where one
// is not valid.
func validate(ctx context.Context, conn *connection, out io.Writer, p *wire.ValidateParams, asJSON bool) error {
	var r wire.ValidateResult
	if err := conn.Call(ctx, wire.MethodValidate, p, &r); err != nil {
		return err
	}
	warned, err := warningsOf(ctx, conn, r.Results)
	if err != nil {
		return err
	}
	if asJSON {
		type validation struct {
			wire.Validation
			Warnings []definition.Problem `json:"warnings"`
		}
		all := struct {
			Results []validation `json:"results"`
		}{[]validation{}}
		for i, v := range r.Results {
			all.Results = append(all.Results, validation{v, warned[i]})
		}
		if err := printJSON(out, all); err != nil {
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
			line := tool.Escape(report.Line())
			if n := len(warned[i]); n > 0 {
				line += " (" + count(n, "warning") + ")"
			}
			_, err = fmt.Fprintln(out, line)
		default:
			if len(r.Results) > 1 {
				fmt.Fprintln(out, place(v.URI))
			}
			_, err = io.WriteString(out, withWarnings(tool.EscapeLines(report.Text())+"\n", warned[i]))
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

// warningsOf returns what is odd in files that were checked, and no check says.
func warningsOf(ctx context.Context, conn *connection, results []wire.Validation) ([][]definition.Problem, error) {
	var list wire.ListResult
	if err := conn.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
		return nil, err
	}
	known := make(map[string][]definition.Problem)
	for _, a := range list.Agents {
		known[a.URI] = a.Problems
	}
	warned := make([][]definition.Problem, len(results))
	for i, v := range results {
		problems, ok := known[v.URI]
		if !ok { // no folder of agents has it: what it tells alone
			problems = problemsOf(v.URI)
		}
		warned[i] = []definition.Problem{}
		for _, p := range problems {
			failed := slices.ContainsFunc(v.Checks, func(c wire.Check) bool { return !c.OK && c.Code == p.Code })
			if p.Severity == definition.Warning && !failed {
				warned[i] = append(warned[i], p)
			}
		}
	}
	return warned, nil
}

// problemsOf returns what is wrong with the file of a URI, by itself; nothing where
// it cannot be read, which a check says.
func problemsOf(file string) []definition.Problem {
	u, err := uri.Parse(file)
	if err != nil {
		return nil
	}
	data, err := agentFile(u.FsPath())
	if err != nil {
		return nil
	}
	return definition.Parse(definition.Source{Path: u.FsPath(), Scope: definition.Global, Data: data}).Problems
}

// withWarnings puts warnings below the checks of a report, above its sum.
func withWarnings(report string, warnings []definition.Problem) string {
	last := strings.LastIndex(strings.TrimSuffix(report, "\n"), "\n") + 1
	var b strings.Builder
	b.WriteString(report[:last])
	for _, p := range warnings {
		fmt.Fprintf(&b, "%s line %d: %s\n", marks[odd], p.Range.Start.Line+1, tool.Escape(p.Message))
	}
	b.WriteString(report[last:])
	return b.String()
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
