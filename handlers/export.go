package handlers

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/exchange"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// exports is one export of several agents.
//
// written has the files that this export made, by path, with the agent that each is of.
type exports struct {
	*wire.ExportParams
	h    *Handlers
	s    *workspace.Snapshot
	disk *workspace.Disk // nil where only texts are wanted
	dir  string          // of the new files, relative to the disk
	// written has the names of the agents, by the paths of their new files.
	written map[string]string
}

// exportAgents serves agents/export: the files of agents as they are on the disk.
//
// One that is refused keeps no other from being exported. An error is one of the request.
func (h *Handlers) exportAgents(ctx context.Context, s *workspace.Snapshot,
	p *wire.ExportParams) (*wire.ExportResult, error) {
	catalog, err := h.catalog(ctx)
	if err != nil {
		return nil, err
	}
	folder := ""
	if all := s.Folders(); len(all) > 0 {
		folder = all[0].Canonical
	}
	chosen, err := agentsToExport(catalog, p, folder)
	if err != nil {
		return nil, err
	}
	ex := &exports{ExportParams: p, h: h, s: s, written: map[string]string{}}
	if !p.Text {
		if err := ex.open(folder); err != nil {
			return nil, err
		}
		defer ex.disk.Close()
	}
	result := &wire.ExportResult{Files: []wire.ExportedFile{}}
	for _, d := range chosen {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r := wire.ExportedFile{Name: d.Name, Status: "ok", Source: tool.URI(d.Path)}
		if err := ex.file(ctx, d, &r); err != nil {
			r.Status, r.Reason = "refused", reasonOf(err)
		}
		result.Files = append(result.Files, r)
	}
	return result, nil
}

// agentsToExport returns the agents that are meant. One that is not usable is among them
// where all are: its export says why.
// It is all agents of a scope, or each name; a name without a scope means the agent that
// it means in the folder.
func agentsToExport(catalog *registry.Snapshot, p *wire.ExportParams, folder string) ([]*definition.Definition, error) {
	const op = "handlers.export"
	scope := definition.Scope(cmp.Or(p.Scope, string(definition.Project)))
	var list []*definition.Definition
	ofScope := func(meant func(*definition.Definition) bool) {
		for _, e := range catalog.Entries() {
			if d := e.Definition; d.Scope == scope && (d.Folder == "" || d.Folder == folder) && meant(d) {
				list = append(list, d)
			}
		}
	}
	if p.All {
		ofScope(func(*definition.Definition) bool { return true })
		switch {
		case len(list) > 0:
			return list, nil
		case scope == definition.Global:
			return nil, fault.New(fault.NotFound, op, "you have no agents of your own to export; see `agentls list`")
		}
		return nil, fault.New(fault.NotFound, op,
			"this folder has no agents to export; for your own: agentls export --all --global")
	}
	for _, name := range p.Names {
		if before := len(list); p.Scope != "" {
			if ofScope(func(d *definition.Definition) bool { return d.Name == name }); len(list) > before {
				continue
			}
		}
		e, err := catalog.Lookup(folder, name)
		switch reason, _ := fault.ReasonOf(err); {
		case reason == fault.InvalidAgent:
			return nil, fault.New(fault.Invalid, op, "%s is not usable; see why with agentls validate %s", name, name).
				Because(fault.InvalidAgent)
		case err != nil:
			return nil, err
		case e.Definition.Path == "":
			return nil, fault.New(fault.Invalid, op,
				"%s is built in and has no file to export; make one of your own with agentls create", name)
		case p.Scope != "" && e.Definition.Scope != scope:
			return nil, fault.New(fault.NotFound, op, "there is no %s agent %s", scope, name).
				Because(fault.UnknownAgent, "suggestions", []string{})
		}
		if !slices.Contains(list, e.Definition) { // named twice
			list = append(list, e.Definition)
		}
	}
	return list, nil
}

// open opens the folder that is written to, which is made where it is missing.
//
// The caller closes the disk. A named folder is made with its parents.
func (ex *exports) open(folder string) error {
	ex.dir = filepath.FromSlash(exchange.Folder(definition.Dialect(ex.To)))
	if ex.Folder != "" {
		path, ok := folderPath(ex.Folder)
		if !ok {
			return server.BadParams(wire.MethodExport, "folder", "is %q, which is no URI of a folder", ex.Folder)
		}
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fault.New(fault.Unavailable, "handlers.export", "the folder %s cannot be made: %w", path, err)
		}
		folder, ex.dir = path, "."
	}
	if folder == "" {
		return server.BadParams(wire.MethodExport, "folder", "is required where the editor has no folder open")
	}
	disk, err := workspace.OpenDisk(folder)
	if err == nil {
		ex.disk = disk.Direct() // nothing is written but what the result names
	}
	return err
}

// file exports one agent.
//
// Errors are the file's own and end up in its answer. Refused are a file that the catalog
// has not read or that changed since, a name that this export has used, the agent's own
// file, and what exchange.Export refuses.
func (ex *exports) file(ctx context.Context, d *definition.Definition, r *wire.ExportedFile) error {
	const op = "handlers.export"
	if d.Digest == "" && len(d.Problems) > 0 { // the catalog has not read it, as a link that leads out
		return fault.New(fault.Invalid, op, "%s", d.Problems[0].Message)
	}
	data, err := folder.ReadStart(d.Path, definition.MaxFile+1)
	if err != nil {
		return err
	}
	if string(workspace.DigestOf(string(data))) != d.Digest { // or a link leads elsewhere by now
		return fault.New(fault.Stale, op, "%s was changed just now; try again", relativeTo(ex.s, d.Path)).
			Because(fault.OutOfDate)
	}
	made, err := exchange.Export(d.Path, data, definition.Dialect(ex.To),
		exchange.Options{Model: ex.h.daemon.Knowledge.Model, Force: ex.DropRestrictions})
	if err != nil {
		return err
	}
	r.Losses = lossesOf(made.Loss)
	if ex.Text {
		r.Text = new(string(made.Data))
		return nil
	}
	name := filepath.Join(ex.dir, made.File)
	path := filepath.Join(ex.disk.Path(), name)
	r.URI = tool.URI(path)
	if by := ex.written[path]; by != "" {
		return fault.New(fault.Invalid, op, "%s is called %s there, as %s is; write one of them to another folder",
			d.Name, made.File, by)
	}
	ex.written[path] = d.Name
	if canonical, err := workspace.Canonical(path); err == nil && canonical == d.Path {
		return fault.New(fault.Invalid, op, "%s is the agent itself; write to another folder",
			relativeTo(ex.s, path))
	}
	if doc, open := ex.s.DocumentAt(path); open && doc.Dirty() {
		return fault.New(fault.Denied, op, "%s has unsaved changes in the editor; save or close it first",
			relativeTo(ex.s, path))
	}
	r.Written, _, err = writeExact(ctx, ex.disk, name, made.Data, ex.Force, false,
		relativeTo(ex.s, path)+" is there already; replace it with force, or write to another folder")
	return err
}
