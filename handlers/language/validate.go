package language

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// validate serves agents/validate. Files are checked as they are in the editor,
// else on the disk, also those of a folder that is not trusted: nothing runs.
func (h *Handlers) validate(ctx context.Context, s *workspace.Snapshot,
	p *wire.ValidateParams) (*wire.ValidateResult, error) {
	reports, err := h.Reports(ctx, s, p.Name, p.URI)
	if err != nil {
		return nil, err
	}
	return reports.Result(), nil
}

// validated is the validation of one file.
type validated struct {
	language.Report
	scope   definition.Scope
	path    string
	columns Columns
}

// Validations are the reports about agent files that one request asked for.
type Validations []validated

// Reports validates the agent of a name, the file of a URI, or all agents that
// have a file, by scope and name.
// file comes before name. The errors are fault.NotFound, fault.Invalid for a built-in
// agent that has no file, bad params for what is no URI, and fault.Stale where the
// editor has a text that is not known: nothing is judged by another one.
func (h *Handlers) Reports(ctx context.Context, s *workspace.Snapshot, name, file string) (Validations, error) {
	a, err := h.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	var files []*language.File
	switch {
	case file != "":
		f, err := a.AnyFile(wire.MethodValidate, file)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	case name != "":
		entries, err := a.agentsCalled(name)
		if err != nil {
			return nil, h.EncodeError(err)
		}
		if files, err = a.filesOf(ctx, entries); err != nil {
			return nil, err
		}
	default:
		if files, err = a.filesOf(ctx, a.Catalog.Entries()); err != nil {
			return nil, err
		}
		for d := range s.Documents() {
			path, is := workspace.FilePath(d.URI)
			if path, _, ok := a.place(path); is && ok && d.Lost {
				return nil, workspace.LostText(path)
			}
		}
		for _, f := range a.agentFiles() { // those that are not on the disk yet
			if !slices.ContainsFunc(files, func(other *language.File) bool { return other.Path == f.Path }) {
				files = append(files, a.anew(f))
			}
		}
	}
	// A world looks at templates, settings and MCP servers: the files of a folder share one.
	worlds := map[string]*language.World{}
	var list Validations
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if worlds[f.Folder] == nil {
			worlds[f.Folder] = a.World(f.Folder)
		}
		list = append(list, validated{language.Validate(worlds[f.Folder], f), f.Scope, f.Path, a.Columns(f.Text)})
	}
	rank := []definition.Scope{definition.Project, definition.Global, definition.Extension}
	slices.SortStableFunc(list, func(x, y validated) int {
		return cmp.Or(cmp.Compare(slices.Index(rank, x.scope), slices.Index(rank, y.scope)),
			strings.Compare(x.Agent, y.Agent), strings.Compare(x.path, y.path))
	})
	return list, nil
}

// agentsCalled returns the agent that a name means, and all that are called so where
// it means none since there are several.
func (a *Query) agentsCalled(name string) ([]*registry.Entry, error) {
	e, err := a.h.Find(a.Catalog, name)
	if err != nil {
		return nil, err
	}
	d := e.Definition
	if d.Path == "" {
		if files := a.filesCalled(d.Name); len(files) > 0 {
			return files, nil
		}
		return nil, fault.New(fault.Invalid, "handlers.validate",
			"%s is built in and has no file that could be wrong", d.Name)
	}
	if e.State != registry.Duplicate {
		return []*registry.Entry{e}, nil
	}
	var all []*registry.Entry
	for _, other := range a.Catalog.Entries() {
		if o := other.Definition; o.Name == d.Name && o.Scope == d.Scope && o.Folder == d.Folder {
			all = append(all, other)
		}
	}
	return all, nil
}

// filesCalled returns the agents that have a file and a name: of a built-in's name
// they are invalid, and what is asked about files is asked about theirs.
func (a *Query) filesCalled(name string) (files []*registry.Entry) {
	for _, e := range a.Catalog.Entries() {
		if e.Definition.Name == name && e.Definition.Path != "" {
			files = append(files, e)
		}
	}
	return files
}

// filesOf returns the files of agents; one that is gone meanwhile is none, and a
// built-in agent has none. What cannot be read, as a folder or a link that leads out
// of its workspace folder, is as the catalog has it. None is judged by a text that is
// not what the editor shows.
// The error is fault.Stale, of the first document whose text got lost.
func (a *Query) filesOf(ctx context.Context, entries []*registry.Entry) ([]*language.File, error) {
	var files []*language.File
	for _, e := range entries {
		// Of a request that has ended no more is read; the caller looks at ctx.
		if e.Definition.Path == "" || ctx.Err() != nil {
			continue
		}
		d, name := e.Definition, uri.URI(a.URI(e.Definition.Path))
		place := registry.Place{Scope: d.Scope, Folder: d.Folder}
		doc, open := a.Snapshot.Document(name)
		linked := false
		if !open && d.Digest != "" { // a link to what may be read
			doc, linked = a.Snapshot.DocumentAt(workspace.CanonicalPath(d.Path))
		}
		if (open || linked) && doc.Lost {
			return nil, workspace.LostText(d.Path)
		}
		if linked {
			files = append(files, a.open(name, d.Path, place, doc.Text))
			continue
		}
		f, ok := a.file(name)
		if ok {
			f = a.anew(f)
		}
		if _, err := os.Lstat(d.Path); !ok && err == nil {
			text := ""
			if d.Digest != "" { // the catalog has read it: a link leads to what may be read
				text, _ = DiskText(d.Path)
			}
			// The file may be another one by now than the catalog's: then the catalog's is judged.
			if f, ok = a.open(name, d.Path, place, text), true; f.Definition.Digest != d.Digest {
				f = a.open(name, d.Path, place, "")
				f.Definition = d
			}
		}
		if ok {
			files = append(files, f)
		}
	}
	return files, nil
}

// anew returns an agent file as it is when it is read now: a validator may have come
// since somebody else read the document.
func (a *Query) anew(f *language.File) *language.File {
	if _, open := a.Snapshot.Document(uri.URI(f.URI)); !open {
		return f // nobody keeps it
	}
	return a.open(uri.URI(f.URI), f.Path, registry.Place{Scope: f.Scope, Folder: f.Folder}, f.Text)
}

// AnyFile returns the file of a URI as an agent's, wherever it lies.
// An agent file is read anew. The errors are bad params of method for what is no
// file's URI, fault.NotFound, and fault.Stale for a document whose text got lost.
func (a *Query) AnyFile(method, name string) (*language.File, error) {
	if f, ok := a.file(uri.URI(name)); ok {
		return a.anew(f), nil
	}
	path, ok := workspace.FilePath(name)
	if !ok {
		return nil, server.BadParams(method, "uri", "is %q, which is no URI of a file", name)
	}
	// A file that lies in no workspace folder is judged as one of the person's own.
	place := registry.Place{Scope: definition.Global, Dir: filepath.Dir(path)}
	if folder := a.FolderOf(uri.URI(name)); folder != "" {
		place.Scope, place.Folder = definition.Project, folder
	}
	if d, open := a.Snapshot.Document(uri.URI(name)); open {
		if d.Lost {
			return nil, workspace.LostText(path)
		}
		return a.open(d.URI, path, place, d.Text), nil
	}
	text, ok := DiskText(path)
	if !ok {
		meant := ""
		if agent := strings.TrimSuffix(filepath.Base(path), ".md"); !there(path) {
			if _, err := a.h.Find(a.Catalog, agent); err == nil {
				meant = "; did you mean the agent " + tool.Escape(agent) + "?"
			}
		}
		return nil, fault.New(fault.NotFound, method, "there is no file %s that can be read%s",
			tool.Escape(path), meant)
	}
	return a.open(uri.URI(name), path, place, text), nil
}

// Result is the reports as the wire has them.
// Columns are in the client's encoding, and no list is null.
func (reports Validations) Result() *wire.ValidateResult {
	result := &wire.ValidateResult{Results: []wire.Validation{}}
	for _, r := range reports {
		v := wire.Validation{Agent: r.Agent, URI: r.URI, Scope: string(r.scope), Passed: r.Passed, Total: r.Total,
			Checks: []wire.Check{}, Warnings: []definition.Problem{}}
		for _, c := range r.Checks {
			check := wire.Check{Code: c.Code, OK: c.OK, Title: c.Title, Message: c.Message}
			if !c.OK {
				check.Range = new(r.columns.Encode(c.Range))
			}
			v.Checks = append(v.Checks, check)
		}
		for _, p := range r.Warnings {
			p.Range = r.columns.Encode(p.Range)
			v.Warnings = append(v.Warnings, p)
		}
		result.Results = append(result.Results, v)
	}
	return result
}

// Line is what a person is told where no document can be shown: not every
// client's messages have lines.
// It is safe to be shown.
func (reports Validations) Line() string {
	switch len(reports) {
	case 0:
		return "There are no agent files to check."
	case 1:
		return tool.Escape(reports[0].Line())
	}
	var invalid []string
	for _, r := range reports {
		if !r.Valid() {
			invalid = append(invalid, tool.Escape(r.Agent))
		}
	}
	if len(invalid) == 0 {
		return fmt.Sprintf("%d agents, all valid", len(reports))
	}
	return fmt.Sprintf("%d agents, %d invalid: %s; see why with agentls validate NAME", len(reports), len(invalid),
		strings.Join(invalid, ", "))
}

// Text is what a person is shown: of several files a line each, then
// those that are not valid in full.
// It ends with a line end, and is safe to be shown.
func (reports Validations) Text() string {
	var b strings.Builder
	switch len(reports) {
	case 0:
		return "There are no agent files to check.\n"
	case 1:
		return tool.Escape(reports[0].Agent) + "\n" + tool.EscapeLines(reports[0].Text()) + "\n"
	}
	titled := make([]*language.Report, len(reports))
	for i := range reports {
		r := reports[i].Report // the answer keeps its own
		titled[i] = &r
	}
	language.Titles(titled, func(i int) string { return reports[i].path })
	for _, r := range titled {
		b.WriteString(tool.Escape(r.Line()) + "\n")
	}
	for _, r := range reports {
		if !r.Valid() {
			b.WriteString("\n" + tool.Escape(r.Agent+" ("+r.path+")") + "\n" + tool.EscapeLines(r.Text()) + "\n")
		}
	}
	return b.String()
}
