package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	agentfile "github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/template"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/handlers/language"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// create serves agents/create: the file is made as spec 1.6 has it, through the
// editor where it can make files, else on the disk, and shown. With the answer the
// catalog has the agent. Nothing is written of what would not be valid, nor over a
// file that is there, unless it is to be replaced.
// What cannot be used (the name, folder, scope, or template) is bad params and
// what is in the way fault.Invalid or fault.Denied; nothing was written then. When
// the editor made the file and has not saved it, the answer says so, and the agent
// is there once it is.
func (h *Handlers) create(ctx context.Context, s *workspace.Snapshot,
	p *wire.CreateParams) (*wire.CreateResult, error) {
	a, err := h.language.Query(ctx, s)
	if err != nil {
		return nil, err
	}
	to, err := h.nest(wire.MethodCreate, s.Folders(), p.Folder, p.Scope)
	if err != nil {
		return nil, err
	}
	if err := agentfile.CheckName(p.Name); err != nil {
		why := strings.TrimPrefix(fault.Message(err), fmt.Sprintf("%q cannot be an agent's name: ", p.Name))
		return nil, server.BadParams(wire.MethodCreate, "name", "is %q, which cannot be an agent's: %s", p.Name, why)
	}
	t, err := template.Find(h.daemon.Templates, cmp.Or(p.Template, "blank"))
	if err != nil {
		if kind := fault.KindOf(err); kind == fault.NotFound || kind == fault.Invalid {
			return nil, server.BadParams(wire.MethodCreate, "template", "cannot be used: %s", fault.Message(err))
		}
		return nil, err
	}
	t = t.In(h.daemon.Locale)
	k := h.daemon.Knowledge
	fields := p.Fields
	if _, given := fields["description"]; !given && p.Template == "" && p.Prompt != "" {
		fields = maps.Clone(fields) // what blank says there is for who writes the prompt later
		if fields == nil {
			fields = map[string]any{}
		}
		fields["description"] = nil
	}
	made, err := agentfile.New(a.World(to.folder), agentfile.Answers{
		Name: p.Name, Template: &t, Fields: fields, Prompt: p.Prompt, Force: p.Force,
		Dir: to.dir, Folder: to.folder, Scope: to.scope, Model: k.Model, Installed: k.Installed,
	})
	if err != nil {
		return nil, err
	}
	// A dry run reports this, too.
	if err := free(s, made.Path, p.Force); err != nil {
		return nil, err
	}
	result := &wire.CreateResult{URI: a.URI(made.Path), Text: made.Text, Problems: []definition.Problem{},
		Notes: h.besides(a.Catalog, to, p.Name)}
	columns := a.Columns(made.Text)
	for _, problem := range made.Problems {
		r := columns.Out(problem.Range)
		problem.URI = result.URI
		problem.Range.Start.Character, problem.Range.End.Character = r.Start.Character, r.End.Character
		result.Problems = append(result.Problems, problem)
	}
	if p.DryRun {
		return result, nil
	}
	label := "Create the agent " + p.Name
	withdraw := h.texts.expect(made.Path, made.Text) // before the editor has it: it may save it at once
	if err := h.make(ctx, a, to, made, p.Force, label); err != nil {
		withdraw()
		return nil, err
	}
	saved := lies(made)
	if !saved && h.caps.SaveDocuments {
		ask := &wire.SaveDocumentsParams{URIs: []string{result.URI}, Reason: label}
		_ = h.Peer.Call(ctx, wire.MethodSaveDocuments, ask, new(wire.SaveDocumentsResult)) // what is not saved is told
		saved = lies(made)
	}
	if saved {
		withdraw() // it is taken over here
		result.Notes = append(result.Notes, h.takeOver(ctx, to, made)...)
	} else {
		result.Unsaved = true
		result.Notes = append(result.Notes, "The editor has not saved the file yet; save it, and the agent is there.")
	}
	if h.shows {
		focus := true // that it was made is not undone by an editor that cannot show it
		_, _ = h.Peer.ShowDocument(ctx, &protocol.ShowDocumentParams{URI: uri.URI(result.URI), TakeFocus: &focus})
	}
	return result, nil
}

// nest is where an agent's file goes.
//
// It is found from a request and does not change.
type nest struct {
	dir    string // of the agents, absolute
	folder string // the workspace folder, canonical; "" for a global agent
	scope  definition.Scope
}

// nest returns where an agent of a scope goes, in the folder of a URI if one is named.
// Without a scope it is the project where a folder is named, global where no
// folder is open, and else what the settings say.
func (h *Handlers) nest(method string, folders []workspace.Folder, named, scope string) (nest, error) {
	home := workspace.CanonicalPath(filepath.Join(h.daemon.Knowledge.Home, "agents")) // as the catalog may name what is below it
	global := nest{dir: home, scope: definition.Global}
	folder := ""
	if len(folders) > 0 {
		folder = folders[0].Canonical
	}
	if named != "" {
		path, ok := folderPath(named)
		i := slices.IndexFunc(folders, func(f workspace.Folder) bool {
			return ok && (f.Path == filepath.Clean(path) || f.Canonical == filepath.Clean(path))
		})
		if i < 0 {
			return nest{}, server.BadParams(method, "folder",
				"is %q, which is no folder of the workspace", named)
		}
		folder = folders[i].Canonical
	}
	switch {
	case scope != "":
	case named != "":
		scope = string(definition.Project)
	case folder == "":
		scope = string(definition.Global)
	default:
		scope = h.daemon.SettingsOf(folder).DefaultScope
	}
	switch {
	case scope == string(definition.Global) && named != "":
		return nest{}, server.BadParams(method, "folder",
			"is given for a global agent; leave it out, or use the scope project")
	case scope == string(definition.Global):
		return global, nil
	case folder == "":
		return nest{}, server.BadParams(method, "scope",
			"is project, and the editor has no folder open; open one, or use global")
	}
	return nest{dir: filepath.Join(folder, ".gemini", "agents"), folder: folder, scope: definition.Project}, nil
}

// free returns why a file cannot be made at a path. The disk and the editor have
// the last word, since the catalog may not know it yet.
// The errors are fault.Invalid (a text or a folder is there), fault.Denied (a
// link), fault.Unavailable (it cannot be looked at), and that of a document whose
// text got lost.
func free(s *workspace.Snapshot, path string, force bool) error {
	const op = "handlers.create"
	if d, open := s.DocumentAt(path); open {
		switch {
		case d.Lost:
			return workspace.LostText(path)
		case d.Text != "" && !force:
			return fault.New(fault.Invalid, op,
				"%s is open in the editor and has a text already; choose another name, or replace it with force", path)
		}
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.New(fault.Unavailable, op, "%s cannot be looked at: %w", path, err)
	case info.IsDir():
		return fault.New(fault.Invalid, op, "%s is a folder; choose another name", path)
	case info.Mode()&fs.ModeSymlink != 0: // where it leads is not what was named
		return fault.New(fault.Denied, op,
			"%s is a symbolic link, which is not written through; choose another name, or remove the link", path)
	case !force && info.Size() > 0:
		return fault.New(fault.Invalid, op, "%s is there already; choose another name, or replace it with force", path)
	}
	return nil
}

// besides says which other agents of the name there are, and what becomes of
// them.
//
// The person's own folder of agents needs no trust, also where it is open as a workspace
// folder.
func (h *Handlers) besides(catalog *registry.Snapshot, to nest, name string) []string {
	notes := others(catalog, to, name)
	own := workspace.CanonicalPath(to.dir) == workspace.CanonicalPath(filepath.Join(h.daemon.Knowledge.Home,
		"agents")) // which runs in any folder
	if to.folder != "" && !own && !h.daemon.Trusted(to.folder) {
		notes = append(notes, fmt.Sprintf("The folder %s is not trusted, so the agent does not run yet; trust it with the command agentls.trustWorkspace of your editor (agents/trust) or `agentls trust`.", to.folder))
	}
	return notes
}

// make writes the file.
// It writes through the editor where the file is open there and the editor takes
// edits, or where the editor can create files, else on the disk, and never through
// a link.
// Links are refused before anything is asked of the editor. A file that somebody made
// since free looked is fault.Invalid, unless it is empty or to be replaced.
func (h *Handlers) make(ctx context.Context, a *language.Query, to nest, made agentfile.Made, force bool,
	label string) error {
	disk, name, err := to.disk(filepath.Base(made.Path))
	if err != nil {
		return err
	}
	defer disk.Close()
	disk = disk.Direct()
	if _, err := disk.Resolve(name); err != nil { // the editor would follow a link
		return err
	}
	d, open := a.Snapshot.DocumentAt(made.Path)
	if open && h.edits.applies {
		// The document has the text already. Whether it was saved is looked at
		// afterwards.
		if tool.SameLines(d.Text, made.Text) {
			return nil
		}
		return h.applyEdit(ctx, d, made.Text, label)
	}
	if open && d.Dirty() {
		return fault.New(fault.Denied, "handlers.create",
			"%s has unsaved changes in an editor that takes no edits; save or close it first", made.Path)
	}
	write := workspace.Write{Name: name, Text: made.Text, Exact: true}
	switch now, err := disk.Read(ctx, name, 0); {
	case err == nil && (force || len(now.Bytes) == 0):
		write.Seen = now.Digest
	case err == nil:
		return fault.New(fault.Invalid, "handlers.create",
			"%s was made by somebody else meanwhile; choose another name, or replace it with force", made.Path)
	case fault.KindOf(err) != fault.NotFound:
		return err
	case h.edits.applies && h.language.EditsFiles(protocol.ResourceOperationKindCreate):
		return h.makeInEditor(ctx, disk, name, uri.URI(a.URI(made.Path)), made, label)
	}
	if _, err := disk.Write(ctx, write); err != nil {
		return err
	}
	h.wrote("", made.Path)
	return nil
}

// disk opens what the file's folder lies in: the workspace folder, out of which
// no link leads, or the person's own folder of agents, wherever it leads.
// The caller closes it.
// base may be "": then name is the folder of agents in the disk. The person's folder is
// made where it is missing, for them alone.
func (to nest) disk(base string) (d *workspace.Disk, name string, err error) {
	if to.folder != "" {
		d, err = workspace.OpenDisk(to.folder)
		return d, filepath.Join(".gemini", "agents", base), err
	}
	if err := os.MkdirAll(to.dir, 0o700); err != nil {
		return nil, "", fault.New(fault.Unavailable, "handlers.create", "the folder %s cannot be made: %w", to.dir, err)
	}
	d, err = workspace.OpenDisk(to.dir)
	return d, base, err
}

// lies reports whether the disk has the text of a file, in whatever charset and
// with whatever line ends the editor wrote it.
func lies(made agentfile.Made) bool {
	data, ok := language.DiskText(made.Path)
	if !ok {
		return false
	}
	text, err := workspace.DecodeText([]byte(data))
	return err == nil && tool.SameLines(text.Text, made.Text)
}

// makeInEditor has the editor make a file with a text. What it says is believed
// when its own synced text, or the disk, says so.
// The editor has applyIn to answer and syncIn to show or save the text;
// fault.Stale is an editor that said yes, and the text is nowhere.
func (h *Handlers) makeInEditor(ctx context.Context, disk *workspace.Disk, name string, doc uri.URI,
	made agentfile.Made, label string) error {
	const op = "handlers.create"
	root, err := os.OpenRoot(disk.Path())
	if err == nil { // not every editor makes the folders of a file
		err = errors.Join(root.MkdirAll(filepath.Dir(name), 0o755), root.Close())
	}
	if err != nil {
		return fault.New(fault.Unavailable, op, "the folder of %s cannot be made: %w", made.Path, err)
	}
	text := &protocol.TextDocumentEdit{Edits: []protocol.TextDocumentEditElement{&protocol.TextEdit{NewText: made.Text}}}
	text.TextDocument.URI = doc
	no := false // whoever made it meanwhile keeps it
	arrived := h.awaitText(doc, nil, made.Text)
	defer arrived.stop()
	asking, cancel := context.WithTimeout(ctx, cmp.Or(h.edits.within, applyIn))
	defer cancel()
	result, err := h.Peer.ApplyEdit(asking, &protocol.ApplyWorkspaceEditParams{Label: &label,
		Edit: protocol.WorkspaceEdit{
			DocumentChanges: []protocol.DocumentChange{&protocol.CreateFile{Kind: "create", URI: doc,
				Options: &protocol.CreateFileOptions{Overwrite: &no, IgnoreIfExists: &no}}, text},
		}})
	if err := refusal(op, made.Path, result, err); err != nil {
		return err
	}
	if lies(made) {
		return nil
	}
	select {
	case <-arrived.seen:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(cmp.Or(h.edits.synced, syncIn)):
		if !lies(made) {
			return fault.New(fault.Stale, op,
				"the editor says that it made %s, and neither it nor the disk has its text; look at it there",
				made.Path).Because(fault.OutOfDate)
		}
	}
	return nil
}

// refusal returns why the editor did not do something to a file, nil where it
// says that it did.
//
// The kinds are fault.Unavailable for an editor that did not answer and fault.Denied for
// one that refused.
func refusal(op, path string, result *protocol.ApplyWorkspaceEditResult, err error) error {
	switch {
	case err != nil:
		return fault.New(fault.Unavailable, op, "the editor did not take the edit of %s: %w", path, err)
	case result != nil && result.Applied:
		return nil
	case result != nil && result.FailureReason != nil:
		return fault.New(fault.Denied, op, "the editor refused the edit of %s: %s", path, *result.FailureReason)
	}
	return fault.New(fault.Denied, op, "the editor refused the edit of %s and gave no reason", path)
}

// takeOver has the catalog know a file that the person had made, which they have
// approved with it.
// An approval that cannot be recorded is a note and no error: the file is there.
// The approval has no text below it, which counts as approved: the person has just had the
// file made.
func (h *Handlers) takeOver(ctx context.Context, to nest, made agentfile.Made) (notes []string) {
	if to.folder != "" && h.daemon.Reviews != nil {
		rel, _ := workspace.Below(to.folder, made.Path) // it is below
		if err := h.daemon.Reviews.ApproveSave(ctx, to.folder, rel, made.Text, ""); err != nil {
			h.Log.Warn("an agent that was created has to be reviewed", "path", made.Path, "err", err)
			notes = append(notes, "That you approved it could not be recorded, so it waits for a review: "+fault.Message(err))
		}
	}
	h.renew(ctx, made.Path)
	return notes
}

// renew has the catalog read files again at once.
// It waits until they are read.
func (h *Handlers) renew(ctx context.Context, paths ...string) {
	if h.daemon.Renew != nil {
		h.daemon.Renew(ctx, paths...)
	}
}
