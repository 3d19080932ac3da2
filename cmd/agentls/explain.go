package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// explainCommand shows what an agent really gets, and where each value comes from. It asks
// for the explanation of an agent or a file (agents/explain), and prints it as text as
// wide as the terminal, or as JSON. A file that cannot be read as an agent is an error
// with its line.
func explainCommand(std streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "explain NAME", Short: "Show what an agent really gets, and where each value comes from",
		Long: `Shows what an agent really gets in this folder: its model after aliases and
settings, its limits, each tool with who is asked about its calls, and the most that
a run may use before you are asked. Each value has the file and line that it comes
from, and below it what it overrode. NAME is an agent, or the path of an agent's file.`,
		Args: arguments(1, 1), ValidArgsFunction: completeAgents(1),
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				e, err := explainAgent(ctx, conn, args[0], false)
				if err != nil {
					return err
				}
				if p := e.Unreadable; p != nil {
					return fmt.Errorf("%s cannot be explained: %s", tool.Escape(args[0]),
						explain(p.URI, p.Range.Start.Line, p.Range.Start.Character, p.Message))
				}
				if asJSON {
					return printJSON(std.out, e)
				}
				_, err = io.WriteString(std.out, authority.Text(&e.Explanation, columnsFor(std.out)))
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, as agents/explain answers")
	return c
}

// diffAuthorityCommand shows what one agent may do more or less than another. It asks for
// the explanations of both and compares them here. It exits 0 whatever it finds, so that a
// difference is no failure of the command; with --exit-code it exits 1 where B may do
// more.
func diffAuthorityCommand(std streams) *cobra.Command {
	var asJSON, exitCode bool
	c := &cobra.Command{
		Use: "diff-authority A B", Short: "Show what one agent may do more or less than another",
		Long: `Shows how the power of an agent changes from A to B: + is there in B only, − in A
only, ~ is another. What gives B more power comes first. A and B are agents, or
paths of agents' files. A path is a version of the other file: where it lies does not
matter. A question that goes away gives power, as a tool does that comes. Where the
folder is not trusted, what the agents could do if it were is compared.

It exits 0 whatever it finds; with --exit-code, 1 where B may do more than A.`,
		Example: "  git show HEAD:.gemini/agents/fixer.md > /tmp/fixer.md\n  agentls diff-authority --exit-code /tmp/fixer.md .gemini/agents/fixer.md",
		Args:    arguments(2, 2), ValidArgsFunction: completeAgents(2),
		RunE: func(c *cobra.Command, args []string) error {
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				a, b, err := versions(ctx, conn, args[0], args[1])
				if err != nil {
					return err
				}
				if !a.Trusted || !b.Trusted {
					fmt.Fprintln(std.err,
						"This folder is not trusted, so its agents do not run: compared is what they could do if it were.")
				}
				d := authority.Compare(&a.Explanation, &b.Explanation)
				// JSON has a list also where nothing differs.
				if d.Lines == nil {
					d.Lines = []authority.Change{}
				}
				switch {
				case asJSON:
					err = printJSON(std.out, d)
				case len(d.Lines) == 0:
					_, err = fmt.Fprintln(std.out, "no difference in power")
				default:
					_, err = fmt.Fprintln(std.out, d.Text())
				}
				if err == nil && exitCode && d.Grows {
					err = exit{exitFailed}
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit 1 where B may do more than A")
	return c
}

// explainAgent returns the explanation of an agent, or of the file at a path. asIfTrusted
// has it say what holds in a folder that is trusted.
func explainAgent(ctx context.Context, conn *connection, name string,
	asIfTrusted bool) (*wire.ExplainResult, error) {
	if !isPath(name) {
		e, err := explanationOf(ctx, conn, wire.ExplainParams{Name: name, AsIfTrusted: asIfTrusted})
		// A file with another ending is taken for a name, which no agent has.
		if info, failed := os.Stat(name); err != nil && failed == nil && info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is no agent file; name a Markdown file, NAME.md", tool.Escape(name))
		}
		return e, err
	}
	path, err := filePath(name)
	if err != nil {
		return nil, err
	}
	return explanationOf(ctx, conn, wire.ExplainParams{URI: tool.URI(path), AsIfTrusted: asIfTrusted})
}

// filePath returns the absolute path of a file that an argument names. It is none
// of a pipe's, as a shell's <(…) is: the daemon looks at a file more than once.
func filePath(name string) (string, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return "", fmt.Errorf("%s is a pipe or a device, which is not read; write its text to a file first, as in /tmp/NAME.md", tool.Escape(name))
	}
	return filepath.Abs(name)
}

// columnsFor is how wide what is printed may be, in columns: as the terminal is, or 100
// where out is none.
func columnsFor(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 100
}

// explanationOf asks for an explanation. The result is never nil, also with an error.
func explanationOf(ctx context.Context, conn *connection, p wire.ExplainParams) (*wire.ExplainResult, error) {
	var r wire.ExplainResult
	err := conn.Call(ctx, wire.MethodExplain, &p, &r)
	return &r, err
}

// isPath reports whether an argument is a path, and no name of an agent: names have
// neither slashes nor the ending .md.
func isPath(name string) bool {
	return strings.HasSuffix(name, ".md") || strings.ContainsAny(name, `/\`)
}

// versions returns the explanations of two agents, as in a trusted folder. Where one is a
// file at a path, both are explained as versions of one file, so that what a file's place
// decides is the same for both: of the agent's file, else of the second path, else of the
// first where only that lies in a folder of agents.
func versions(ctx context.Context, conn *connection, a, b string) (first, second *wire.ExplainResult, err error) {
	if first, err = explainAgent(ctx, conn, a, true); err != nil {
		return nil, nil, err
	}
	if second, err = explainAgent(ctx, conn, b, true); err != nil || (!isPath(a) && !isPath(b)) {
		return first, second, err
	}
	at := second.File
	if isPath(b) && (!isPath(a) || (isAgentFile(first.File) && !isAgentFile(at))) {
		at = first.File
	}
	if at == "" { // a built-in agent has no file to be a version of
		return first, second, nil
	}
	// Both are explained anew, as texts of the one file.
	for _, e := range []**wire.ExplainResult{&first, &second} {
		text, err := os.ReadFile((*e).File)
		if err != nil {
			return nil, nil, err
		}
		// An empty Text would mean the file at URI.
		if *e, err = explanationOf(ctx, conn, wire.ExplainParams{URI: tool.URI(at), Text: cmp.Or(string(text), "\n"),
			AsIfTrusted: true}); err != nil {
			return nil, nil, err
		}
	}
	return first, second, nil
}

// isAgentFile reports whether a file lies in a folder of agents. Only the name of the
// folder counts: agents of the person and of a project both have it.
func isAgentFile(path string) bool { return filepath.Base(filepath.Dir(path)) == "agents" }
