package handlers

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/workspace"
)

// agentTexts keeps where the texts of agent files come from, by path. A save approves
// an agent only when the person typed what is new in it, on top of a text that they had
// approved (SEC-09): no text that a tool or another program brought in.
type agentTexts struct {
	mu      sync.Mutex
	open    map[string]authorship
	closed  map[string]authorship                // with a text of the person's that may be saved yet, or opened under another name
	byTool  map[string]map[workspace.Digest]bool // that the editor was asked to make since the file was opened
	renamed map[workspace.Digest]bool            // that files get by renames of agents, which the person asked for
}

// authorship is where a text comes from.
type authorship struct {
	text, base string   // as it is, and as it was opened or last saved
	typed      bool     // the person changed it
	foreign    bool     // a tool or another program did
	onDisk     *stamped // the file that had the text before the document did
}

// stamped tells one writing of a file from the next.
type stamped struct {
	at   time.Time
	size int64
}

// stampOf returns the stamp of a file, the zero one for none.
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
func (a authorship) ofPerson(path string) bool {
	if a.foreign || a.onDisk == nil {
		return a.typed && !a.foreign
	}
	return *a.onDisk == stampOf(path)
}

// onOpen is told that a file was opened. One that is renamed is closed under its old name
// and opened with its text under the new one.
func (t *agentTexts) onOpen(path, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := authorship{text: text, base: text}
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

// onEdit is told that a document has another text, and what the disk has.
func (t *agentTexts) onEdit(path, text string, disk func() (string, bool)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.open[path]
	now.text = text
	if made, ok := t.closed[path]; ok && tool.SameLines(made.text, text) {
		delete(t.closed, path)
		t.open[path] = made
		return
	}
	if t.renamed[linesDigest(text)] { // the editor may have written it, and moved the file, before it tells this
		now.typed, now.foreign, now.onDisk = true, now.foreign || now.onDisk != nil, nil
		t.open[path] = now
		return
	}
	saved, there := disk()
	sameAsSaved := there && (saved == text || (tool.SameLines(saved, text) && !tool.SameLines(now.base, text)))
	switch {
	case t.byTool[path][linesDigest(text)], now.onDisk != nil:
		now.foreign = true
	case text == now.base: // undone
	case sameAsSaved:
		at := stampOf(path)
		now.onDisk = &at
	default:
		now.typed = true
	}
	t.open[path] = now
}

// onSave is told that a file was saved, with the text of the document that is open if one
// is. It returns on top of what the person made the text; false where it is not theirs.
func (t *agentTexts) onSave(path string) (was authorship, theirs bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was, open := t.open[path]
	if open {
		t.open[path] = authorship{text: was.text, base: was.text}
	} else {
		was = t.closed[path]
	}
	delete(t.closed, path)
	delete(t.byTool, path)
	return was, was.ofPerson(path)
}

// onClose is told that a document was closed. What the person typed stays theirs: VS Code
// saves what it changed in the background after it closed it.
func (t *agentTexts) onClose(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.open[path]
	if now.typed && !now.foreign && now.text != now.base {
		now.text, now.base = strings.Clone(now.text), strings.Clone(now.base)
		t.closed[strings.Clone(path)] = now
	}
	delete(t.open, path)
	delete(t.byTool, path)
}

// expect is told of a file that the person has the editor make, until withdraw is called.
func (t *agentTexts) expect(path, text string) (withdraw func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, was := t.closed[path]
	t.closed[path] = authorship{text: text, typed: true}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.closed, path)
		if was {
			t.closed[path] = before
		}
	}
}

// noteRename is told of the edits of a rename of an agent, which the person asked for.
func (h *Handlers) noteRename(q *query, edits []language.Edit) {
	byFile := make(map[string][]language.Edit)
	for _, e := range edits {
		byFile[e.URI] = append(byFile[e.URI], e)
	}
	for name, own := range byFile {
		if f, ok := q.file(uri.URI(name)); ok {
			h.texts.mu.Lock()
			if h.texts.renamed == nil {
				h.texts.renamed = make(map[workspace.Digest]bool)
			}
			h.texts.renamed[linesDigest(withEdits(f.Text, own))] = true
			h.texts.mu.Unlock()
		}
	}
}

// withEdits returns a text with edits of it, none of which overlap.
func withEdits(text string, edits []language.Edit) string {
	index := definition.NewIndex(text)
	slices.SortFunc(edits, func(x, y language.Edit) int { return index.Offset(y.Range.Start) - index.Offset(x.Range.Start) })
	for _, e := range edits {
		text = text[:index.Offset(e.Range.Start)] + e.Text + text[index.Offset(e.Range.End):]
	}
	return text
}

// noteTool is told what a tool has the editor make of a document, before it does.
func (t *agentTexts) noteTool(name uri.URI, text string) {
	path, ok := filePath(name)
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
type agentFile struct{ path, folder, rel string }

// agentFile returns the agent file that a URI names.
func (h *Handlers) agentFile(name uri.URI) (a agentFile, ok bool) {
	path, ok := filePath(name)
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
func (h *Handlers) onSaveAgent(name uri.URI) {
	a, ok := h.agentFile(name)
	if !ok {
		return
	}
	was, theirs := h.texts.onSave(a.path)
	if !theirs {
		return
	}
	a.folder, a.rel = strings.Clone(a.folder), strings.Clone(a.rel)
	h.saves.then(&h.work, func() {
		if err := h.daemon.Reviews.Saved(h.ctx, a.folder, a.rel, was.text, was.base); err != nil {
			h.Log.Warn("an agent that was saved has to be reviewed", "path", a.path, "err", err)
		}
	})
}

// saves are what follows from saved documents: in order, and beside the reading
// of messages, since the records of trust may be locked by another daemon.
type saves struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last one is done; nil for none
}

// then has work done after what was handed over before it.
func (s *saves) then(group *conc.WaitGroup, work func()) {
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
}

// catalog returns the agents once they have been read, as they are after all that
// was saved before.
func (h *Handlers) catalog(ctx context.Context) (*registry.Snapshot, error) {
	h.saves.mu.Lock()
	last := h.saves.last
	h.saves.mu.Unlock()
	if last != nil {
		select {
		case <-last:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return h.daemon.Catalog(ctx)
}
