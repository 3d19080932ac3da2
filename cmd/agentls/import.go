package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/exchange"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// importOptions are the flags of import. from and scope are "" where they were not given.
type importOptions struct {
	from, scope, name          string
	global, dry, force, asJSON bool
	verbose                    bool
}

// importCommand brings in agents of other tools. It asks the daemon (agents/import), which
// reads, converts and writes them, and prints a report to standard output, with what to do
// next. It asks nothing. It exits with 1 where a file was refused; the others are imported
// all the same. With --dry-run nothing is written.
func importCommand(std streams) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: "import [PATH…]", Short: "Bring in agents of Claude Code, GitHub Copilot, opencode or gemini-cli",
		Long: `Brings agent files of other tools into our format. PATH is such a file, a folder of
them, or the folder of a project that has them; without it this folder is looked
through (with --global your own folders of these tools):

` + placesInWords() + `
Nothing gains power: what restricts an agent there and cannot be kept here stops its
runs until you decide. The original is kept inside of the new file, so that
agentls export gives it back. gemini-cli's own agents load from .gemini/agents as
they are. docs/migrating.md goes key by key.`,
		RunE: func(c *cobra.Command, args []string) error {
			scope, err := scopeOf(o.scope, o.global)
			if err != nil {
				return err
			}
			o.scope = scope
			return with(c.Context(), std, func(ctx context.Context, conn *connection) error {
				return importAgents(ctx, conn, std, o, args)
			})
		},
	}
	choose(c, &o.from, "from", "",
		"whose format it is, where neither place nor keys tell: "+joinOr(toolNames), toolNames...)
	choose(c, &o.scope, "scope", "", "project or global: who has the agents from now on (project)", "project", "global")
	c.Flags().BoolVar(&o.global, "global", false, "the same as --scope global")
	c.Flags().StringVar(&o.name, "name", "", "what the agent is to be called, if one file is imported")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "only say what would be done")
	c.Flags().BoolVar(&o.force, "force", false, "replace files of ours that are there")
	c.Flags().BoolVar(&o.verbose, "verbose", false,
		"below each file all that did not translate, also what several have in common")
	c.Flags().BoolVar(&o.asJSON, "json", false, "the report as JSON")
	return c
}

// toolNames are the other tools by the names that --from and --to take.
var toolNames = []string{string(definition.Claude), string(definition.Copilot), string(definition.OpenCode),
	string(definition.GeminiCLI)}

// joinOr joins alternatives: a, b or c. There must be two at least.
func joinOr(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// placesInWords lists for the help where other tools have their agents.
func placesInWords() string {
	var b strings.Builder
	for _, of := range []definition.Dialect{definition.Claude, definition.Copilot, definition.OpenCode} {
		var dirs []string
		for _, p := range exchange.Places {
			if p.Of == of {
				dirs = append(dirs, map[bool]string{true: "~/"}[p.Own]+p.Dir)
			}
		}
		fmt.Fprintf(&b, "  %-14s  %s\n", exchange.Title(of), strings.Join(dirs, ", "))
	}
	return b.String()
}

// importedFile is what became of one file, as --json prints it: the daemon's answer, with
// paths beside its URIs.
type importedFile struct {
	File string `json:"file"`
	Path string `json:"path,omitempty"` // the new file
	wire.ImportedFile
}

// importReport is what --json prints.
type importReport struct {
	Scope  string `json:"scope"`
	Folder string `json:"folder"` // of the new files
	DryRun bool   `json:"dryRun"`
	// OK, Repaired and Refused count the files by their status; each file is in one of
	// them.
	OK       int            `json:"ok"`
	Repaired int            `json:"repaired"`
	Refused  int            `json:"refused"`
	Files    []importedFile `json:"files"`
}

// importAgents asks for the import and prints the report. The error is exit 1 where a
// file was refused, after the report; an invalid --name is a usage error.
func importAgents(ctx context.Context, conn *connection, std streams, o importOptions, args []string) error {
	paths, err := urisOf(args)
	if err != nil {
		return err
	}
	report := importReport{Scope: cmp.Or(o.scope, "project"), DryRun: o.dry, Files: []importedFile{}}
	var r wire.ImportResult
	p := &wire.ImportParams{Paths: paths, From: o.from, Scope: report.Scope, Name: o.name, DryRun: o.dry, Force: o.force}
	if err := conn.Call(ctx, wire.MethodImport, p, &r); err != nil {
		// The text names the parameter; the mistake stands behind its verb.
		if aboutOf(err).Path == "name" {
			_, what, _ := strings.Cut(err.Error(), " is ")
			return usage{errors.New("--name is " + what)}
		}
		return err
	}
	report.Folder = tool.PathOf(r.Folder)
	for _, f := range r.Files {
		switch f.Status {
		case "ok":
			report.OK++
		case "repaired":
			report.Repaired++
		default:
			report.Refused++
		}
		report.Files = append(report.Files, importedFile{localName(f.Source), tool.PathOf(f.URI), f})
	}
	if o.asJSON {
		err = printJSON(std.out, report)
	} else {
		var next []string
		if next, err = after(ctx, conn, report); err == nil {
			err = printImport(std.out, report, o.verbose, next)
		}
	}
	if err == nil && report.Refused > 0 {
		return exit{exitFailed}
	}
	return err
}

// after says what the person does next, which depends on the folder's trust: imported
// agents do not run before somebody has looked at them. It is empty where nothing was
// written.
func after(ctx context.Context, conn *connection, r importReport) ([]string, error) {
	i := slices.IndexFunc(r.Files, func(f importedFile) bool { return f.Written })
	if i < 0 {
		return nil, nil
	}
	name := r.Files[i].Name
	lines := []string{"Look at one: agentls explain " + name, "Run one: agentls run " + name + ` "your request"`}
	// The person's own agents run without a review.
	if r.Scope == "global" {
		return lines, nil
	}
	folder, err := here()
	if err != nil {
		return nil, err
	}
	t, err := conn.trustIn(ctx, folder, false, false)
	if err == nil && t.Trusted {
		return append(lines, "Imported agents need your review before they run: agentls trust"), nil
	}
	return append(lines, "This folder is not trusted, so its agents do not run. Look at them, then: agentls trust"), nil
}

// printImport prints the report for people. Files of one folder stand below its name. What
// did not translate is told below its file, or once for all files that have it, so that an
// import of many is not a page of repetitions; verbose is below each.
func printImport(out io.Writer, r importReport, verbose bool, next []string) error {
	var common []shared
	if !verbose {
		common = inCommon(r.Files)
	}
	dir := ""
	for i, f := range r.Files {
		file := tool.Escape(filepath.Base(f.File))
		switch d := filepath.Dir(f.File); {
		// A path that is not there has no folder to stand below.
		case f.Missing:
			if dir != "" {
				fmt.Fprintln(out)
			}
			file, dir = tool.Escape(f.File), ""
		case d != dir || dir == "":
			if i > 0 {
				fmt.Fprintln(out)
			}
			of := ""
			if f.From != "" {
				of = " (" + exchange.Title(definition.Dialect(f.From)) + ")"
			}
			fmt.Fprintf(out, "%s%s\n", tool.Escape(d), of)
			dir = d
		}
		switch {
		case f.Status == "refused":
			reason := tool.Escape(inFlags.Replace(f.Reason))
			// Some reasons begin with the name of the file.
			if !strings.HasPrefix(reason, file) {
				reason = file + ": " + reason
			}
			fmt.Fprintf(out, "  %-9s %s\n", f.Status, reason)
		case f.There:
			fmt.Fprintf(out, "  %-9s %s → %s\n", "unchanged", file, place(f.URI))
		default:
			fmt.Fprintf(out, "  %-9s %s → %s\n", f.Status, file, place(f.URI))
		}
		for _, text := range f.Repaired {
			fmt.Fprintf(out, "            repaired: %s\n", tool.Escape(text))
		}
		for _, text := range f.Notes {
			fmt.Fprintf(out, "            warning: %s\n", tool.Escape(text))
		}
		// What several files lost is told once, below all of them.
		printLosses(out, slices.DeleteFunc(slices.Clone(f.Losses), func(l wire.Loss) bool {
			return slices.ContainsFunc(common, func(s shared) bool { return s.loss == l })
		}))
	}
	printShared(out, common)
	printSums(out, r)
	for _, line := range next {
		fmt.Fprintln(out, line)
	}
	return nil
}

// printSums prints how many files had which outcome. A file that was there already was not
// imported now, whatever its status.
func printSums(out io.Writer, r importReport) {
	there, repaired, stopped := 0, 0, 0
	for _, f := range r.Files {
		if f.Stopped {
			stopped++
		}
		switch {
		case f.There:
			there++
		case f.Status == "repaired":
			repaired++
		}
	}
	verb := "imported"
	if r.DryRun {
		verb = "would be imported"
	}
	fmt.Fprintf(out, "\n%s: %d %s", count(len(r.Files), "file"), r.OK+r.Repaired-there, verb)
	if repaired > 0 {
		fmt.Fprintf(out, ", %d repaired", repaired)
	}
	if there > 0 {
		fmt.Fprintf(out, ", %d there already", there)
	}
	fmt.Fprintf(out, ", %d refused.\n", r.Refused)
	if stopped > 0 {
		fmt.Fprintf(out, "Not to be run yet, for a restriction that cannot be kept here: %d. The warnings above say which, and what to remove.\n", stopped)
	}
}

// shared is what did not translate in several files.
type shared struct {
	loss wire.Loss
	of   []string // the files
}

// inCommon returns what several files lost: the worst first, then the most frequent. What
// only one file lost is not among it.
func inCommon(files []importedFile) (common []shared) {
	of := make(map[wire.Loss][]string)
	for _, f := range files {
		for i, l := range f.Losses {
			// A file that lost the same twice counts once.
			if !slices.Contains(f.Losses[:i], l) {
				of[l] = append(of[l], filepath.Base(f.File))
			}
		}
	}
	for loss, files := range of {
		if len(files) > 1 {
			common = append(common, shared{loss, files})
		}
	}
	slices.SortFunc(common, func(a, b shared) int {
		return cmp.Or(worse(a.loss, b.loss), len(b.of)-len(a.of),
			strings.Compare(a.loss.Key+a.loss.Message, b.loss.Key+b.loss.Message))
	})
	return common
}

// printShared prints what several files lost, a line each, with their names where
// those are few, and where they stop runs.
func printShared(out io.Writer, common []shared) {
	const few = 3
	if len(common) > 0 {
		fmt.Fprintln(out, "\nIn several files (all of it with --verbose)")
	}
	for _, s := range common {
		of := strings.Join(s.of, ", ")
		if len(s.of) > few && s.loss.Severity != definition.Error {
			of = count(len(s.of), "file")
		}
		fmt.Fprintf(out, "  %s (%s)\n", lossLine(s.loss), tool.Escape(of))
	}
}

// printLosses prints what did not translate, a line each, the worst first.
func printLosses(out io.Writer, losses []wire.Loss) {
	for _, l := range slices.SortedStableFunc(slices.Values(losses), worse) {
		fmt.Fprintf(out, "            %s\n", lossLine(l))
	}
}

// worse orders losses, the worst first. It is for the functions of package slices.
func worse(a, b wire.Loss) int {
	worst := []definition.Severity{definition.Error, definition.Warning, definition.Info, definition.Hint}
	return slices.Index(worst, a.Severity) - slices.Index(worst, b.Severity)
}

// lossLine is a loss in a line.
func lossLine(l wire.Loss) string {
	key := l.Key
	if key != "" {
		key += ": "
	}
	return fmt.Sprintf("%s: %s%s", l.Severity, tool.Escape(key), tool.Escape(l.Message))
}
