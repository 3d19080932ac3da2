package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

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

// imports is one import of several files.
//
// It serves one request, and one goroutine uses it.
type imports struct {
	*wire.ImportParams
	h       *Handlers
	s       *workspace.Snapshot
	catalog *registry.Snapshot
	to      nest
	disk    *workspace.Disk   // nil in a dry run without a folder
	at      string            // of the agents, relative to the disk
	made    map[string]string // the path of the source, by the name of the agent made of it
}

// importAgents serves agents/import: each file by itself, so that one that is refused
// keeps no other from being written.
// The catalog is read again once, after all. An error is one of the request; what is
// wrong with a file is in its own answer.
func (h *Handlers) importAgents(ctx context.Context, s *workspace.Snapshot,
	p *wire.ImportParams) (*wire.ImportResult, error) {
	catalog, err := h.catalog(ctx)
	if err != nil {
		return nil, err
	}
	to, err := h.nest(wire.MethodImport, s.Folders(), "", cmp.Or(p.Scope, string(definition.Project)))
	if err != nil {
		return nil, err
	}
	im := &imports{ImportParams: p, h: h, s: s, catalog: catalog, to: to, made: map[string]string{}}
	files, err := im.sources()
	if err != nil {
		return nil, err
	}
	if p.Name != "" && len(files) != 1 {
		return nil, server.BadParams(wire.MethodImport, "name", "is for one file, and these are %d; name the file", len(files))
	}
	// After the sources, so that a request that finds nothing makes no folder.
	if err := im.open(); err != nil {
		return nil, err
	}
	if im.disk != nil {
		defer im.disk.Close()
	}
	result := &wire.ImportResult{Folder: tool.URI(to.dir), Files: []wire.ImportedFile{}}
	var written []string
	for _, f := range files {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r := im.file(ctx, f)
		if r.Written {
			written = append(written, im.path(r.Name))
		}
		result.Files = append(result.Files, r)
	}
	if len(written) > 0 {
		h.wrote("", written...)
		h.renew(ctx, written...)
	}
	return result, nil
}

// open opens the folder that is written to, which a dry run does not make.
// im.disk is nil after a dry run for a folder that is not there, which is no error.
func (im *imports) open() (err error) {
	if im.DryRun && im.to.folder == "" {
		im.disk, err = workspace.OpenDisk(im.to.dir)
		if fault.KindOf(err) == fault.NotFound {
			return nil
		}
	} else {
		var name string
		im.disk, name, err = im.to.disk("")
		// The folder of agents in the disk, "." where the disk is that folder.
		im.at = filepath.Dir(filepath.Join(name, "x"))
	}
	if err == nil {
		im.disk = im.disk.Direct() // nothing is written but what the result names
	}
	return err
}

// path returns where the file of an agent of ours is.
func (im *imports) path(name string) string { return filepath.Join(im.to.dir, name+".md") }

// file imports one file.
//
// It never fails: what is wrong is the Reason, with the status refused. An import that
// only lacks a usable name is tried again with one, so that the reason can say that a name
// helps.
func (im *imports) file(ctx context.Context, f found) wire.ImportedFile {
	r := wire.ImportedFile{Source: tool.URI(f.path), From: cmp.Or(im.From, string(f.from)), Status: "refused"}
	data, err := []byte(nil), f.err
	if err == nil {
		data, err = folder.ReadStart(f.path, definition.MaxFile+1) // the byte more shows that it is too large
	}
	if err != nil {
		r.Reason, r.Missing = reasonOf(err), f.err != nil
		return r
	}
	options := exchange.Options{From: definition.Dialect(r.From), Name: im.Name, Model: im.h.daemon.Knowledge.Model}
	made, err := exchange.Import(f.path, data, options)
	if err != nil {
		r.Reason = fault.Message(err)
		options.Name = "named"
		if _, named := exchange.Import(f.path, data, options); named == nil && im.Name == "" {
			r.Reason = strings.TrimSuffix(r.Reason, ".") + ", or import it under another name"
		}
		return r
	}
	r.Name, r.From, r.Repaired = made.Name, string(made.From), made.Repaired
	r.Losses = lossesOf(slices.DeleteFunc(made.Loss, func(l exchange.Loss) bool { // a name that was given counts
		return im.Name != "" && l.Key == "name" && l.Severity == definition.Hint
	}))
	r.URI = tool.URI(im.path(made.Name))
	if r.Written, r.There, err = im.write(ctx, made); err != nil {
		r.Reason = fault.Message(err)
		return r
	}
	im.made[made.Name] = f.path
	r.Notes = others(im.catalog, im.to, made.Name)
	r.Stopped = len(definition.Parse(definition.Source{Path: im.path(made.Name), Data: made.Text}).Authority) > 0
	r.Status = "ok"
	if len(made.Repaired) > 0 {
		r.Status = "repaired"
	}
	return r
}

// lossesOf are losses as the wire has them.
func lossesOf(all []exchange.Loss) (losses []wire.Loss) {
	for _, l := range all {
		losses = append(losses, wire.Loss(l))
	}
	return losses
}

// write writes the new file, unless its name is taken, the very same file is there
// already, or this is a dry run.
//
// there is true where the very same bytes lie there already, which is no error.
func (im *imports) write(ctx context.Context, made *exchange.Imported) (written, there bool, err error) {
	const op = "handlers.import"
	path := im.path(made.Name)
	if by := im.made[made.Name]; by != "" {
		return false, false, fault.New(fault.Invalid, op,
			"%s has the name %s too; import one of them alone, under another name", im.relative(by), made.Name)
	}
	// An agent may have another name than its file. A file with the same name is checked
	// by writeExact.
	for _, e := range im.catalog.Entries() {
		d := e.Definition
		if d.Name == made.Name && d.Scope == im.to.scope && d.Folder == im.to.folder &&
			filepath.Base(d.Path) != filepath.Base(path) {
			return false, false, fault.New(fault.Invalid, op, "the name %s is taken by %s in %s; import it under another name",
				made.Name, filepath.Base(d.Path), im.relative(im.to.dir))
		}
	}
	if im.disk == nil {
		return false, false, nil // a dry run, where there is no folder yet
	}
	if d, open := im.s.DocumentAt(path); open && d.Dirty() {
		return false, false, fault.New(fault.Denied, op, "%s has unsaved changes in the editor; save or close it first",
			im.relative(path))
	}
	return writeExact(ctx, im.disk, filepath.Join(im.at, filepath.Base(path)), made.Text, im.Force, im.DryRun,
		im.relative(path)+" is there already; replace it with force, or import this one under another name")
}

// relative is a path for people: relative to the workspace folder where it lies below.
func (im *imports) relative(path string) string { return relativeTo(im.s, path) }

// relativeTo is a path as people call it: relative to the first workspace folder where it
// lies below.
func relativeTo(s *workspace.Snapshot, path string) string {
	if all := s.Folders(); len(all) > 0 {
		if rel, ok := workspace.Below(all[0].Canonical, path); ok {
			return rel
		}
	}
	return path
}

// writeExact writes a file as it is given, unless these very bytes are there, or others
// that are not to be replaced, for which taken is the error; a dry run writes nothing.
// The digest of what is there is given to the disk, so that a file which changes meanwhile
// is not lost.
func writeExact(ctx context.Context, disk *workspace.Disk, name string, data []byte, force, dry bool,
	taken string) (written, there bool, err error) {
	write := workspace.Write{Name: name, Text: string(data), Exact: true}
	switch old, err := disk.Read(ctx, name, 0); {
	case fault.KindOf(err) == fault.NotFound:
	case err != nil:
		return false, false, err
	case string(old.Bytes) == string(data):
		return false, true, nil
	case !force:
		return false, false, fault.New(fault.Invalid, "handlers.write", "%s", taken)
	default:
		write.Seen = old.Digest
	}
	if dry {
		return false, false, nil
	}
	_, err = disk.Write(ctx, write)
	return err == nil, false, err
}

// reasonOf says why a file cannot be read, without its path.
// The path is left out since the answer has it already.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		if errors.Is(err, fs.ErrNotExist) {
			return "there is no such file"
		}
		return e.Err.Error()
	}
	return fault.Message(err)
}

// others says which other agents of a name there are, and what becomes of them.
// The notes are for the person, and not nil.
func others(catalog *registry.Snapshot, to nest, name string) []string {
	notes := []string{}
	for _, e := range catalog.Entries() {
		d := e.Definition
		if d.Name != name || e.State == registry.Shadowed {
			continue
		}
		switch {
		case d.Scope == definition.Project && to.scope == definition.Global:
			notes = append(notes, fmt.Sprintf("In %s the agent %s keeps the name.", d.Folder, d.Path))
		case d.Scope != to.scope:
			notes = append(notes, fmt.Sprintf("It takes the place of %s here.", cmp.Or(d.Path, "the built-in "+name)))
		}
	}
	return notes
}
