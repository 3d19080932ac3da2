package handlers

import (
	"context"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// editing is how a client takes what the daemon does to its documents.
type editing struct {
	applies  bool          // workspace/applyEdit
	versions bool          // with versions of documents
	progress bool          // window/workDoneProgress/create
	within   time.Duration // for it to say whether it applied an edit; 0 = applyIn
	answers  time.Duration // for it to answer a question about languages; 0 = queryIn
	synced   time.Duration // for an applied edit to come back as didChange; 0 = syncIn
}

const (
	maxRead = 16 << 20         // bytes of a file that a tool sees
	syncIn  = 2 * time.Second  // for an applied edit to come back as didChange
	applyIn = 30 * time.Second // for the editor to say whether it applied one: nobody is asked for that
)

// person is this client as a run sees it: it asks through the frontend, and reads
// and writes the documents of the editor and the files below them.
// It implements [agents.Frontend] and is safe for concurrent use.
type person struct {
	*frontend
	h *Handlers
}

// person returns this client for a run. The snapshot does not count: a run sees
// documents as they are when it looks.
func (h *Handlers) person(*workspace.Snapshot) agents.Frontend { return person{h.frontend, h} }

// Read implements [tool.Files]: the buffer where the file is open, else the
// disk.
// The errors are fault.NotFound, fault.Denied (out of reach), fault.Stale for a
// document whose text got lost, and those of the disk.
func (p person) Read(ctx context.Context, path string) (*tool.File, error) {
	return p.h.read(ctx, path, (*workspace.Disk).Read)
}

// Look implements [agents.Frontend].
// It is Read that does not follow a link: of one it returns where that leads.
func (p person) Look(ctx context.Context, path string) (*tool.File, error) {
	return p.h.read(ctx, path, (*workspace.Disk).Look)
}

// read is Read and Look, which differ in how the disk is read.
// A document that is open counts before the disk. A link is returned only by Look.
func (h *Handlers) read(ctx context.Context, path string, read func(*workspace.Disk, context.Context, string,
	int64) (*workspace.File, error)) (*tool.File, error) {
	if d, ok := h.Workspace.Snapshot().DocumentAt(path); ok {
		if d.Lost {
			return nil, workspace.LostText(path)
		}
		return document(path, d), nil
	}
	disk, err := h.disk(path)
	if err != nil {
		return nil, err
	}
	defer disk.Close()
	f, err := read(disk, ctx, path, maxRead)
	if err != nil {
		return nil, err
	}
	if f.Mode&fs.ModeSymlink != 0 {
		return &tool.File{Path: path, Data: f.Bytes, Binary: true, Digest: string(f.Digest),
			Info: f.Info, Link: true}, nil
	}
	file := &tool.File{Path: path, Data: f.Bytes, Digest: string(f.Digest),
		Type: http.DetectContentType(f.Bytes), Info: f.Info}
	if text, err := f.Text(); err == nil {
		file.Text = text.Text
	} else {
		file.Binary = true
	}
	return file, nil
}

// Open implements [tool.Files].
// They are sorted by path.
func (p person) Open() []*tool.File {
	var list []*tool.File
	for d := range p.h.Workspace.Snapshot().Documents() {
		if path, ok := workspace.FilePath(d.URI); ok {
			list = append(list, document(workspace.CanonicalPath(path), d))
		}
	}
	slices.SortFunc(list, func(a, b *tool.File) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// document returns an open document as a tool sees it. The text is the editor's,
// saved or not.
func document(path string, d *workspace.Document) *tool.File {
	f := &tool.File{
		Path: path, Text: d.Text, Type: "text/plain; charset=utf-8", Open: true, Dirty: d.Dirty(),
		Version: d.Version, Digest: string(d.Digest()),
	}
	if strings.IndexByte(d.Text, 0) >= 0 { // an editor shows the bytes of any file as characters
		f.Binary, f.Text, f.Type, f.Data = true, "", http.DetectContentType([]byte(d.Text)), []byte(d.Text)
	}
	return f
}

// disk opens the outermost folder that an absolute path lies in: a link in it
// cannot lead out, while the folder inside may have become one. Paths were
// resolved by who asks for them, so no link is followed any more. The caller
// closes it.
// A path outside of what runs may reach, and a folder that leads elsewhere by
// now, are fault.Denied.
// Of several folders that hold the path the shortest is taken, which is the outermost.
func (h *Handlers) disk(path string) (*workspace.Disk, error) {
	best := ""
	if path == h.daemon.Memory && path != "" {
		best = filepath.Dir(path) // save_memory has this one file outside of the workspace
	}
	for _, folder := range h.daemon.Reach() {
		if _, ok := workspace.Below(folder, path); ok && (best == "" || len(folder) < len(best)) {
			best = folder
		}
	}
	if best == "" {
		return nil, fault.New(fault.Denied, "handlers.disk", "%s is outside of the workspace", path)
	}
	disk, err := h.disks.Open(best)
	if err != nil {
		return nil, err
	}
	if disk.Path() != filepath.Clean(best) {
		_ = disk.Close()
		return nil, fault.New(fault.Denied, "handlers.disk", "the folder %s leads elsewhere now: to %s", best,
			disk.Path())
	}
	return disk.WithoutLinks(), nil
}
