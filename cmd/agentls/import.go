package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/exchange"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
	"github.com/agentls/agentls/workspace"
)

// importOptions are the flags of import.
type importOptions struct {
	from, scope, name          string
	global, dry, force, asJSON bool
	verbose                    bool
}

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
			if o.from != "" && !slices.Contains(toolNames, o.from) {
				return usage{fmt.Errorf("invalid --from %q; use %s", o.from, joinOr(toolNames))}
			}
			o.global = scope == "global"
			return importAgents(c.Context(), std, o, args)
		},
	}
	c.Flags().StringVar(&o.from, "from", "",
		"whose format it is, where neither place nor keys tell: "+joinOr(toolNames))
	c.Flags().StringVar(&o.scope, "scope", "", "project or global: who has the agents from now on (project)")
	c.Flags().BoolVar(&o.global, "global", false, "the same as --scope global")
	c.Flags().StringVar(&o.name, "name", "", "what the agent is to be called, if one file is imported")
	c.Flags().BoolVar(&o.dry, "dry-run", false, "only say what would be done")
	c.Flags().BoolVar(&o.force, "force", false, "replace files of ours that are there")
	c.Flags().BoolVar(&o.verbose, "verbose", false,
		"below each file all that did not translate, also what several have in common")
	c.Flags().BoolVar(&o.asJSON, "json", false, "the report as JSON")
	complete(c, "from", toolNames...)
	complete(c, "scope", "project", "global")
	return c
}

// toolNames are the other tools by the names that --from and --to take.
var toolNames = []string{string(definition.Claude), string(definition.Copilot), string(definition.OpenCode),
	string(definition.GeminiCLI)}

// joinOr joins alternatives: a, b or c.
func joinOr(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// imports is one import of several files.
type imports struct {
	importOptions
	ctx   context.Context
	disk  *workspace.Disk   // nil in a dry run without a folder
	root  string            // that names are relative to
	dir   string            // of the agents, relative to it
	taken map[string]string // which file of ours has which name
	made  map[string]string // which files of ours this import made, of which
	model func(string) (string, bool)
	known *registry.Snapshot // the agents that there are
}

// importedFile is what became of one file.
type importedFile struct {
	File     string             `json:"file"`
	Status   string             `json:"status"` // ok, repaired, refused
	From     definition.Dialect `json:"from,omitempty"`
	Name     string             `json:"name,omitempty"`
	Path     string             `json:"path,omitempty"` // the new file
	Written  bool               `json:"written"`
	There    bool               `json:"there"`            // the very same file is there already
	Stopped  bool               `json:"stopped"`          // a restriction that cannot be kept stops its runs
	Reason   string             `json:"reason,omitempty"` // why it was refused
	Repaired []string           `json:"repaired,omitempty"`
	Losses   []exchange.Loss    `json:"losses,omitempty"`
	Notes    []string           `json:"notes,omitempty"` // what becomes of other agents of the name

	missing bool // it is not there, and so in no folder
}

// importReport is what --json prints.
type importReport struct {
	Scope    string         `json:"scope"`
	Folder   string         `json:"folder"` // of the new files
	DryRun   bool           `json:"dryRun"`
	OK       int            `json:"ok"`
	Repaired int            `json:"repaired"`
	Refused  int            `json:"refused"`
	Files    []importedFile `json:"files"`
}

func importAgents(ctx context.Context, std streams, o importOptions, args []string) error {
	config, err := base(std)
	if err != nil {
		return err
	}
	folder, err := here()
	if err != nil {
		return err
	}
	files, err := sources(o, args)
	if err != nil {
		return err
	}
	if o.name != "" && len(files) != 1 {
		return usage{fmt.Errorf("--name is for one file, and these are %d; name the file", len(files))}
	}
	im := &imports{importOptions: o, ctx: ctx, root: folder, dir: filepath.Join(".gemini", "agents"),
		made: map[string]string{}, model: config.Models(ctx, folder)}
	report := importReport{Scope: "project", DryRun: o.dry, Files: []importedFile{}}
	if o.global {
		report.Scope, im.root, im.dir = "global", filepath.Join(config.Home, "agents"), "." // wherever a link has it
	}
	report.Folder = filepath.Join(im.root, im.dir)
	if im.taken, err = namesIn(report.Folder); err != nil {
		return err
	}
	if !o.dry {
		if err := os.MkdirAll(im.root, 0o700); err != nil {
			return err
		}
	}
	if im.disk, err = workspace.OpenDisk(im.root); err == nil {
		defer im.disk.Close()
		im.disk = im.disk.Direct() // nothing is written but what the report names
	} else if !o.dry || fault.KindOf(err) != fault.NotFound {
		return err
	}
	im.known, err = registry.New(registry.Config{Model: im.model, Places: []registry.Place{
		{Scope: definition.Global, Dir: filepath.Join(config.Home, "agents")},
		{Scope: definition.Project, Dir: filepath.Join(folder, ".gemini", "agents"), Folder: folder},
	}}).Load(ctx)
	if err != nil {
		return err
	}
	for _, f := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r := im.file(f)
		switch r.Status {
		case "ok":
			report.OK++
		case "repaired":
			report.Repaired++
		default:
			report.Refused++
		}
		report.Files = append(report.Files, r)
	}
	if o.asJSON {
		err = printJSON(std.out, report)
	} else {
		err = printImport(std.out, report, o.verbose, after(config, folder, report))
	}
	if err == nil && report.Refused > 0 {
		return exit{exitFailed}
	}
	return err
}

// namesIn returns which file of an agents folder has which name. A folder that is
// not there has none.
func namesIn(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	taken := make(map[string]string)
	for _, e := range entries {
		if !workspace.AgentFile(e.Name()) {
			continue
		}
		if data, err := agentFile(filepath.Join(dir, e.Name())); err == nil {
			d := definition.Parse(definition.Source{Path: filepath.Join(dir, e.Name()),
				Scope: definition.Project, Data: data})
			taken[d.Name] = e.Name()
		}
	}
	return taken, nil
}

// agentFile reads a regular file, as much of it as an agent's may have and a byte
// more.
func agentFile(path string) ([]byte, error) {
	f, _, err := folder.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, definition.MaxFile+1))
}

// file imports one file.
func (im *imports) file(f found) importedFile {
	r := importedFile{File: f.path, From: definition.Dialect(cmp.Or(im.from, string(f.from))), Status: "refused"}
	data, err := []byte(nil), f.err
	if err == nil {
		data, err = agentFile(f.path)
	}
	if err != nil {
		r.Reason, r.missing = reasonOf(err), f.err != nil
		return r
	}
	made, err := exchange.Import(f.path, data, exchange.Options{From: r.From, Name: im.name, Model: im.model})
	if err != nil {
		r.Reason = fault.Message(err)
		if _, named := exchange.Import(f.path, data, exchange.Options{From: r.From, Name: "named"}); named == nil &&
			im.name == "" {
			r.Reason = strings.TrimSuffix(r.Reason, ".") + ", or import it with --name NAME"
		}
		return r
	}
	r.Name, r.From, r.Losses, r.Repaired = made.Name, made.From, made.Loss, made.Repaired
	if im.name != "" { // and what the name of the file is read as does not matter
		r.Losses = slices.DeleteFunc(r.Losses, func(l exchange.Loss) bool {
			return l.Key == "name" &&
				l.Severity == definition.Hint
		})
	}
	r.Path = filepath.Join(im.root, im.dir, made.Name+".md")
	if r.Written, r.There, err = im.write(made); err != nil {
		r.Reason = fault.Message(err)
		return r
	}
	im.taken[made.Name], im.made[made.Name] = made.Name+".md", f.path
	r.Notes = im.besides(made.Name)
	r.Stopped = len(definition.Parse(definition.Source{Path: r.Path, Data: made.Text}).Authority) > 0
	r.Status = "ok"
	if len(made.Repaired) > 0 {
		r.Status = "repaired"
	}
	return r
}

// write writes the new file, unless its name is taken, the very same file is there
// already, or this is a dry run.
func (im *imports) write(made *exchange.Imported) (written, there bool, err error) {
	file := made.Name + ".md"
	if by := im.made[made.Name]; by != "" {
		return false, false, fmt.Errorf("%s has the name %s too; import one of them alone under another: --name NAME",
			displayPath(by), made.Name)
	}
	if by, taken := im.taken[made.Name]; taken && by != file {
		return false, false, fmt.Errorf("the name %s is taken by %s in %s; import it under another: --name NAME",
			made.Name, by, displayPath(filepath.Join(im.root, im.dir)))
	}
	path := filepath.Join(im.root, im.dir, file)
	if im.disk == nil {
		return false, false, nil // a dry run, where there is no folder yet
	}
	same, seen, err := beforeWriting(im.ctx, im.disk, filepath.Join(im.dir, file), made.Text)
	switch {
	case err != nil || same:
		return false, same, err
	case seen != "" && !im.force:
		return false, false, fmt.Errorf("%s is there already; replace it with --force, or import this one under another name: --name NAME", displayPath(path))
	case im.dry:
		return false, false, nil
	}
	_, err = im.disk.Write(im.ctx, workspace.Write{Name: filepath.Join(im.dir, file), Text: string(made.Text),
		Seen: seen, Exact: true})
	return err == nil, false, err
}

// reasonOf says why a file cannot be read, without its path.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		if errors.Is(err, fs.ErrNotExist) {
			return "there is no such file"
		}
		return e.Err.Error()
	}
	return fault.Message(err)
}

// displayPath is a path for people: relative to here where it lies below.
func displayPath(path string) string {
	if wd, err := here(); err == nil {
		if rel, ok := workspace.Below(wd, path); ok {
			path = rel
		}
	}
	return tool.Escape(path)
}

// after says what the person does next, which depends on the folder's trust.
func after(config daemon.Config, folder string, r importReport) []string {
	name := ""
	for _, f := range r.Files {
		if f.Written && name == "" {
			name = f.Name
		}
	}
	if name == "" {
		return nil
	}
	lines := []string{"Look at one: agentls explain " + name, "Run one: agentls run " + name + ` "your request"`}
	if r.Scope == "global" {
		return lines
	}
	if trusted, err := config.Trusted(folder); err == nil && trusted {
		return append(lines, "Imported agents need your review before they run: agentls trust")
	}
	return append(lines, "This folder is not trusted, so its agents do not run. Look at them, then: agentls trust")
}

// printImport prints the report for people. What did not translate is told below
// its file, or with all that have it where they are several; verbose is below each.
func printImport(out io.Writer, r importReport, verbose bool, next []string) error {
	var common []shared
	if !verbose {
		common = inCommon(r.Files)
	}
	dir := ""
	for i, f := range r.Files {
		file := tool.Escape(filepath.Base(f.File))
		switch d := filepath.Dir(f.File); {
		case f.missing:
			if dir != "" {
				fmt.Fprintln(out)
			}
			file, dir = displayPath(f.File), ""
		case d != dir || dir == "":
			if i > 0 {
				fmt.Fprintln(out)
			}
			of := ""
			if f.From != "" {
				of = " (" + exchange.Title(f.From) + ")"
			}
			fmt.Fprintf(out, "%s%s\n", displayPath(d), of)
			dir = d
		}
		switch {
		case f.Status == "refused":
			reason := tool.Escape(f.Reason)
			if !strings.HasPrefix(reason, file) {
				reason = file + ": " + reason
			}
			fmt.Fprintf(out, "  %-9s %s\n", f.Status, reason)
		case f.There:
			fmt.Fprintf(out, "  %-9s %s → %s\n", "unchanged", file, displayPath(f.Path))
		default:
			fmt.Fprintf(out, "  %-9s %s → %s\n", f.Status, file, displayPath(f.Path))
		}
		for _, text := range f.Repaired {
			fmt.Fprintf(out, "            repaired: %s\n", tool.Escape(text))
		}
		for _, text := range f.Notes {
			fmt.Fprintf(out, "            warning: %s\n", text)
		}
		printLosses(out, slices.DeleteFunc(slices.Clone(f.Losses), func(l exchange.Loss) bool {
			return slices.ContainsFunc(common, func(s shared) bool { return s.loss == l })
		}))
	}
	printShared(out, common)
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
	for _, line := range next {
		fmt.Fprintln(out, line)
	}
	return nil
}

// shared is what did not translate in several files.
type shared struct {
	loss exchange.Loss
	of   []string // the files
}

// inCommon returns what several files lost, the most frequent first.
func inCommon(files []importedFile) (common []shared) {
	of := make(map[exchange.Loss][]string)
	for _, f := range files {
		for i, l := range f.Losses {
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
func printLosses(out io.Writer, losses []exchange.Loss) {
	for _, l := range slices.SortedStableFunc(slices.Values(losses), worse) {
		fmt.Fprintf(out, "            %s\n", lossLine(l))
	}
}

// worse orders losses, the worst first.
func worse(a, b exchange.Loss) int {
	worst := []definition.Severity{definition.Error, definition.Warning, definition.Info, definition.Hint}
	return slices.Index(worst, a.Severity) - slices.Index(worst, b.Severity)
}

// lossLine is a loss in a line.
func lossLine(l exchange.Loss) string {
	key := l.Key
	if key != "" {
		key += ": "
	}
	return fmt.Sprintf("%s: %s%s", l.Severity, tool.Escape(key), tool.Escape(l.Message))
}
