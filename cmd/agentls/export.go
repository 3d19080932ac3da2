package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/exchange"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// exportOptions are the flags of export.
type exportOptions struct {
	to, out                                  string
	all, global, stdout, force, drop, asJSON bool
}

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
			case !slices.Contains(toolNames, o.to):
				return usage{fmt.Errorf("invalid --to %q; use %s", o.to, joinOr(toolNames))}
			case o.all == (len(args) > 0):
				return usage{errors.New("name the agents, or give --all, not both; see `agentls list`")}
			case o.stdout && (o.out != "" || o.force):
				return usage{errors.New("--stdout writes no file; leave out --out and --force")}
			case o.stdout && (o.all || len(args) > 1):
				return usage{errors.New("--stdout is for one agent; name it")}
			case o.to == string(definition.GeminiCLI) && o.out == "" && !o.stdout:
				return usage{errors.New("gemini-cli's agents lie where ours do, in .gemini/agents; say where to write with --out DIR, or use --stdout")}
			}
			return exportAgents(c.Context(), std, o, args)
		},
	}
	c.Flags().StringVar(&o.to, "to", "", "whose format: "+joinOr(toolNames))
	c.Flags().StringVar(&o.out, "out", "", "the folder to write to (the tool's own in this folder)")
	c.Flags().BoolVar(&o.stdout, "stdout", false, "print the file of one agent instead of writing it")
	c.Flags().BoolVar(&o.all, "all", false, "all agents of this folder; with --global all of yours")
	c.Flags().BoolVar(&o.global, "global", false, "your own agents, not this folder's")
	c.Flags().BoolVar(&o.force, "force", false, "replace files that are there")
	c.Flags().BoolVar(&o.drop, "drop-restrictions", false, "leave out restrictions that the other tool cannot express")
	c.Flags().BoolVar(&o.asJSON, "json", false, "the report as JSON")
	complete(c, "to", toolNames...)
	return c
}

// exportedFile is what became of one agent.
type exportedFile struct {
	Name    string          `json:"name"`
	Status  string          `json:"status"` // ok, refused
	From    string          `json:"from,omitempty"`
	Path    string          `json:"path,omitempty"` // the new file
	Written bool            `json:"written"`
	Reason  string          `json:"reason,omitempty"` // why it was refused
	Losses  []exchange.Loss `json:"losses,omitempty"`
	Text    *string         `json:"text,omitempty"` // with --stdout
}

// exportReport is what --json prints.
type exportReport struct {
	To      string         `json:"to"`
	OK      int            `json:"ok"`
	Refused int            `json:"refused"`
	Files   []exportedFile `json:"files"`
}

// exports is one export of several agents.
type exports struct {
	exportOptions
	ctx     context.Context
	disk    *workspace.Disk // nil with --stdout
	dir     string          // of the new files, relative to the disk
	written map[string]string
	model   func(string) (string, bool)
}

func exportAgents(ctx context.Context, std streams, o exportOptions, names []string) error {
	config, err := base(std)
	if err != nil {
		return err
	}
	folder, err := here()
	if err != nil {
		return err
	}
	ex := &exports{exportOptions: o, ctx: ctx, written: map[string]string{}, model: config.Models(ctx, folder)}
	places := []registry.Place{{Scope: definition.Global, Dir: filepath.Join(config.Home, "agents")}}
	if !o.global {
		places = append(places, registry.Place{Scope: definition.Project,
			Dir: filepath.Join(folder, ".gemini", "agents"), Folder: folder})
	}
	snapshot, err := registry.New(registry.Config{Places: places, Model: ex.model}).Load(ctx)
	if err != nil {
		return err
	}
	chosen, err := chooseAgents(snapshot, o, folder, names)
	if err != nil {
		return err
	}
	if !o.stdout {
		if err := ex.open(folder); err != nil {
			return err
		}
		defer ex.disk.Close()
	}
	report := exportReport{To: o.to, Files: []exportedFile{}}
	var printed []byte
	for _, d := range chosen {
		r, data := ex.file(d)
		if r.Status == "ok" {
			report.OK++
			printed = data
		} else {
			report.Refused++
		}
		report.Files = append(report.Files, r)
	}
	switch {
	case o.asJSON:
		err = printJSON(std.out, report)
	case o.stdout:
		printExport(std.err, report)
		_, err = std.out.Write(printed)
	default:
		printExport(std.err, report)
	}
	if err == nil && report.Refused > 0 {
		return exit{exitFailed}
	}
	return err
}

// chooseAgents returns the agents that are meant. One that is not usable is among them:
// its export says why.
func chooseAgents(s *registry.Snapshot, o exportOptions, folder string,
	names []string) ([]*definition.Definition, error) {
	scope := definition.Project
	if o.global {
		scope = definition.Global
	}
	var list []*definition.Definition
	for _, e := range s.Entries() {
		if o.all && e.Definition.Scope == scope {
			list = append(list, e.Definition)
		}
	}
	if o.all && len(list) == 0 {
		if o.global {
			return nil, errors.New("you have no agents of your own to export; see `agentls list`")
		}
		return nil, errors.New("this folder has no agents to export; for your own: agentls export --all --global")
	}
	for _, name := range names {
		e, err := s.Lookup(folder, name)
		switch reason, data := fault.ReasonOf(err); {
		case reason == fault.InvalidAgent:
			return nil, fmt.Errorf("%s is not usable; see why with agentls validate %s",
				tool.Escape(name), tool.Escape(name))
		case reason == fault.UnknownAgent:
			if near, _ := data["suggestions"].([]string); len(near) > 0 {
				return nil, fmt.Errorf("there is no agent %s; did you mean %s?",
					tool.Escape(name), tool.Escape(near[0]))
			}
			return nil, fmt.Errorf("there is no agent %s; see `agentls list`", tool.Escape(name))
		case err != nil:
			return nil, err
		}
		if e.Definition.Path == "" {
			return nil, fmt.Errorf("%s is built in and has no file to export; make one of your own with agentls create",
				tool.Escape(name))
		}
		list = append(list, e.Definition)
	}
	return list, nil
}

// open opens the folder that is written to, which is made where it is missing.
func (ex *exports) open(folder string) (err error) {
	ex.dir = filepath.FromSlash(exchange.Folder(definition.Dialect(ex.to)))
	if ex.out != "" {
		if folder, err = filepath.Abs(ex.out); err != nil {
			return err
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		ex.dir = "."
	}
	disk, err := workspace.OpenDisk(folder)
	if err == nil {
		ex.disk = disk.Direct() // nothing is written but what the report names
	}
	return err
}

// file exports one agent, and returns its new file.
func (ex *exports) file(d *definition.Definition) (exportedFile, []byte) {
	r := exportedFile{Name: d.Name, Status: "refused", From: d.Path}
	_, _, err := target(d.Scope, d.Path)
	var data []byte
	if err == nil {
		data, err = agentFile(d.Path)
	}
	if err != nil {
		r.Reason = reasonOf(err)
		return r, nil
	}
	made, err := exchange.Export(d.Path, data, definition.Dialect(ex.to),
		exchange.Options{Model: ex.model, Force: ex.drop})
	if err != nil {
		r.Reason = fault.Message(err)
		return r, nil
	}
	r.Losses = made.Loss
	if ex.stdout {
		text := string(made.Data)
		r.Status, r.Text = "ok", &text
		return r, made.Data
	}
	r.Path = filepath.Join(ex.disk.Path(), ex.dir, made.File)
	if r.Written, err = ex.write(d, made); err != nil {
		r.Reason = fault.Message(err)
		return r, nil
	}
	r.Status = "ok"
	return r, made.Data
}

// write writes the new file. It reports false where the very same file is there
// already.
func (ex *exports) write(d *definition.Definition, made *exchange.Exported) (bool, error) {
	name := filepath.Join(ex.dir, made.File)
	path := filepath.Join(ex.disk.Path(), name)
	if by := ex.written[path]; by != "" {
		return false, fmt.Errorf("%s is called %s there, as %s is; write one of them to another folder: --out DIR",
			d.Name, made.File, by)
	}
	ex.written[path] = d.Name
	if canonical, err := workspace.Canonical(path); err == nil && canonical == d.Path {
		return false, fmt.Errorf("%s is the agent itself; write to another folder: --out DIR", displayPath(path))
	}
	same, seen, err := beforeWriting(ex.ctx, ex.disk, name, made.Data)
	switch {
	case err != nil || same:
		return false, err
	case seen != "" && !ex.force:
		return false, fmt.Errorf("%s is there already; replace it with --force, or write elsewhere: --out DIR",
			displayPath(path))
	}
	_, err = ex.disk.Write(ex.ctx, workspace.Write{Name: name, Text: string(made.Data), Seen: seen, Exact: true})
	return err == nil, err
}

// beforeWriting looks at what a file is that is to be written: whether it has
// these very bytes already, and else its digest, "" where there is none.
func beforeWriting(ctx context.Context, disk *workspace.Disk, name string, data []byte) (same bool,
	seen workspace.Digest, err error) {
	old, err := disk.Read(ctx, name, 0)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return false, "", nil
	case err != nil:
		return false, "", err
	}
	return string(old.Bytes) == string(data), old.Digest, nil
}

// printExport prints the report for people.
func printExport(out io.Writer, r exportReport) {
	for _, f := range r.Files {
		switch {
		case f.Status == "refused":
			fmt.Fprintf(out, "%-9s %s: %s\n", f.Status, tool.Escape(f.Name), tool.Escape(f.Reason))
		case f.Path == "":
			fmt.Fprintf(out, "%-9s %s\n", f.Status, tool.Escape(f.Name))
		case !f.Written:
			fmt.Fprintf(out, "%-9s %s → %s\n", "unchanged", tool.Escape(f.Name), displayPath(f.Path))
		default:
			fmt.Fprintf(out, "%-9s %s → %s\n", f.Status, tool.Escape(f.Name), displayPath(f.Path))
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
