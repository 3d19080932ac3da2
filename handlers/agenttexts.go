package handlers

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/workspace"
)

// agentTexts keeps where the texts of agent files come from, by path. A save approves
// an agent only when the person typed what is new in it, on top of a text that they had
// approved (SEC-09): no text that a tool or another program brought in.
type agentTexts struct {
	work *conc.WaitGroup
	disk sequence // compares texts with their files
	// Guards all below.
	mu      sync.Mutex
	open    map[string]*authorship
	closed  map[string]*authorship               // with a text of the person's that may be saved yet, or opened under another name
	byTool  map[string]map[workspace.Digest]bool // that the editor was asked to make since the file was opened
	renamed map[workspace.Digest]bool            // that files get by renames of agents, which the person asked for
}

// newAgentTexts returns an agentTexts whose comparing belongs to work.
func newAgentTexts(work *conc.WaitGroup) agentTexts {
	return agentTexts{work: work, open: make(map[string]*authorship), closed: make(map[string]*authorship),
		byTool: make(map[string]map[workspace.Digest]bool), renamed: make(map[workspace.Digest]bool)}
}

// authorship is where a text comes from. Its lower half is known once the changes have
// been compared with the file, and belongs to agentTexts.disk.
// A text that both typed and foreign are true of is nobody's alone: to save it approves
// nothing.
type authorship struct {
	text string // as it is
	base string // as it was opened or last saved; never changed

	typed   bool     // the person changed it
	foreign bool     // a tool or another program did
	onDisk  *stamped // the file that had the text before the document did
}

// textChange is one change of the text of an agent file.
// byTool is a change that a tool has the editor make, byRename one by the rename of an
// agent.
type textChange struct {
	text             string
	byTool, byRename bool
}

// stamped tells one writing of a file from the next.
type stamped struct {
	at   time.Time
	size int64
}

// stampOf returns the stamp of a file, the zero one for none.
// Of a link it is the stamp of the file that it leads to.
func stampOf(path string) stamped {
	info, err := os.Stat(path)
	if err != nil {
		return stamped{}
	}
	return stamped{info.ModTime(), info.Size()}
}

// linesDigest is one digest of all texts that differ in nothing but line ends, which an
// editor may write in its own way.
func linesDigest(text string) workspace.Digest { return workspace.DigestOf(tool.LineFeeds(text)) }

// ofPerson reports whether a text that was saved is the person's. An editor may tell its
// last change only after it has written it (Neovim does); a file that was written once
// more since then is one that the editor had read again, and saved.
func (a *authorship) ofPerson(path string) bool {
	if a.foreign || a.onDisk == nil {
		return a.typed && !a.foreign
	}
	return *a.onDisk == stampOf(path)
}

// add takes a change in. disk returns the text of the file, false for none.
//
// It runs in the order of the changes (agentTexts.disk), and may read the disk.
func (a *authorship) add(c textChange, path string, disk func() (string, bool)) {
	switch {
	case c.byRename: // the editor may have written it, and moved the file, before it tells this
		a.typed, a.foreign, a.onDisk = true, a.foreign || a.onDisk != nil, nil
	case c.byTool, a.onDisk != nil:
		a.foreign = true
	case c.text == a.base: // undone
	default:
		at := stampOf(path) // before the text is read: one that is written meanwhile has another
		saved, there := disk()
		if there && (saved == c.text || (tool.SameLines(saved, c.text) && !tool.SameLines(a.base, c.text))) {
			a.onDisk = &at
		} else {
			a.typed = true
		}
	}
}

// onOpen is told that a file was opened. One that is renamed is closed under its old name
// and opened with its text under the new one.
func (t *agentTexts) onOpen(path, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := &authorship{text: text, base: text}
	// The old name is not told, so the text says which closed file this is.
	for from, was := range t.closed {
		if tool.SameLines(was.text, text) {
			now = was
			delete(t.closed, from)
		}
	}
	delete(t.closed, path)
	delete(t.byTool, path)
	t.open[path] = now
}

// onEdit is told that a document has another text. What the disk has is looked at at once,
// but beside the reading of messages.
// disk returns the file's text; it is called later, in another goroutine.
func (t *agentTexts) onEdit(path, text string, disk func() (string, bool)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// agents/create may fill a file that is open already, by an edit.
	if made, ok := t.closed[path]; ok && tool.SameLines(made.text, text) {
		delete(t.closed, path)
		t.open[path] = made
		return
	}
	now := t.open[path]
	if now == nil {
		now = new(authorship)
		t.open[path] = now
	}
	now.text = text
	digest := linesDigest(text)
	change := textChange{text: text, byTool: t.byTool[path][digest], byRename: t.renamed[digest]}
	// Under the lock, so that comparisons come in the order of the changes.
	t.disk.then(t.work, func() { now.add(change, path, disk) })
}

// onSave is told that a file was saved, with the text of the document that is open if one
// is. It returns where that comes from, nil where nobody knows.
func (t *agentTexts) onSave(path string) *authorship {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.open[path]
	if was != nil {
		t.open[path] = &authorship{text: was.text, base: was.text}
	} else {
		was = t.closed[path]
	}
	delete(t.closed, path)
	delete(t.byTool, path)
	return was
}

// onClose is told that a document was closed. What the person typed stays theirs: VS Code
// saves what it changed in the background after it closed it.
func (t *agentTexts) onClose(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.open[path]
	delete(t.open, path)
	delete(t.byTool, path)
	if now == nil || now.text == now.base {
		return
	}
	path = strings.Clone(path)
	t.closed[path] = now
	// Whether the person typed is known only after the earlier changes have been compared.
	t.disk.then(t.work, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if (!now.typed || now.foreign) && t.closed[path] == now {
			delete(t.closed, path)
		}
	})
}

// expect is told of a file that the person has the editor make, until withdraw is called.
// withdraw puts back what was known of the path before.
func (t *agentTexts) expect(path, text string) (withdraw func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, was := t.closed[path]
	t.closed[path] = &authorship{text: text, typed: true}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.closed, path)
		if was {
			t.closed[path] = before
		}
	}
}

// noteRename is told of a text that an agent file gets by a rename of an agent, which the
// person asked for.
func (t *agentTexts) noteRename(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renamed[linesDigest(text)] = true
}

// noteTool is told what a tool has the editor make of a document, before it does.
// Other documents than agent files are passed over. What was noted of a path is dropped
// when it is opened, saved or closed.
func (t *agentTexts) noteTool(name uri.URI, text string) {
	path, ok := workspace.FilePath(name)
	if !ok || !isAgentFile(path) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byTool[path] == nil {
		t.byTool[path] = make(map[workspace.Digest]bool)
	}
	t.byTool[path][linesDigest(text)] = true
}

// agentFile is an agent file of the workspace.
//
// rel is the path in the folder, which is canonical.
type agentFile struct{ path, folder, rel string }

// agentFile returns the agent file that a URI names.
// ok is false outside of the workspace folders, and where there are no reviews.
func (h *Handlers) agentFile(name uri.URI) (a agentFile, ok bool) {
	path, ok := workspace.FilePath(name)
	if !ok || h.daemon == nil || h.daemon.Reviews == nil {
		return a, false
	}
	f, rel, inside := workspace.Within(h.Workspace.Snapshot().Folders(), path)
	return agentFile{path, f.Canonical, rel}, inside && workspace.IsAgentFile(rel)
}

// onOpenAgent keeps the text of a document that was opened, where it is an agent file.
func (h *Handlers) onOpenAgent(name uri.URI) {
	if a, ok := h.agentFile(name); ok {
		if d, open := h.Workspace.Snapshot().DocumentAt(a.path); open {
			h.texts.onOpen(a.path, d.Text)
		}
	}
}

// onEditAgent keeps who changed the text of an agent file.
// The text on disk is read later, in the order of the changes, and is false where it
// cannot be read.
func (h *Handlers) onEditAgent(name uri.URI) {
	a, ok := h.agentFile(name)
	d, open := h.Workspace.Snapshot().DocumentAt(a.path)
	if !ok || !open {
		return
	}
	h.texts.onEdit(a.path, d.Text, func() (string, bool) {
		item, there := workspace.ReadAgent(h.ctx, a.folder, a.rel)
		disk, err := workspace.DecodeText(item.Text)
		return disk.Text, there && err == nil
	})
}

// onSaveAgent approves an agent file that the person saved, if what they changed was
// approved: an edit of a few words, as of a rename, is no look at the rest.
// It does not wait: the record is made in a goroutine (Handlers.saves), and catalog waits
// for it.
func (h *Handlers) onSaveAgent(name uri.URI) {
	a, ok := h.agentFile(name)
	if !ok {
		return
	}
	was := h.texts.onSave(a.path)
	if was == nil {
		return
	}
	a = agentFile{strings.Clone(a.path), strings.Clone(a.folder), strings.Clone(a.rel)}
	var theirs bool
	compared := h.texts.disk.then(&h.work, func() { theirs = was.ofPerson(a.path) })
	// Not in the sequence of comparisons, which must not wait while another daemon has
	// the records of trust locked.
	h.saves.then(&h.work, func() {
		if <-compared; !theirs {
			return
		}
		// On failure the agent waits for a review, which is the safe side.
		if err := h.daemon.Reviews.ApproveSave(h.ctx, a.folder, a.rel, was.text, was.base); err != nil {
			h.Log.Warn("an agent that was saved has to be reviewed", "path", a.path, "err", err)
		}
	})
}

// sequence has work done in order, beside the reading of messages: it may have to wait
// for the disk, or for records of trust that another daemon has locked.
type sequence struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last one is done; nil for none
}

// then has work done after what was handed over before it. What it returns is closed
// when the work is done.
// One piece of work runs at a time, in the order of the calls. One that does not end
// holds up all behind it.
func (s *sequence) then(group *conc.WaitGroup, work func()) <-chan struct{} {
	done := make(chan struct{})
	s.mu.Lock()
	before := s.last
	s.last = done
	s.mu.Unlock()
	group.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		work()
	})
	return done
}

// wait waits until all is done that was handed over before. The error is ctx's.
// It does not wait for what is handed over after it was called.
func (s *sequence) wait(ctx context.Context) error {
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last == nil {
		return nil
	}
	select {
	case <-last:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// catalog returns the agents once they have been read, as they are after all that
// was saved before.
// The error is that of ctx: nothing else can go wrong, since an agent that cannot be read
// is a problem in the snapshot.
func (h *Handlers) catalog(ctx context.Context) (*registry.Snapshot, error) {
	if err := h.saves.wait(ctx); err != nil {
		return nil, err
	}
	return h.daemon.Catalog(ctx)
}
