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

// typing is what became of an open agent file since it was opened or last saved.
type typing struct {
	person bool   // it had a text that neither the disk had nor a tool made: the person's own
	below  string // on top of which they made that
	next   string // on top of which they make what they change from now on
	// loaded is the file as it was when the document's text was found to be the
	// disk's already, which the editor may have read from there; nil otherwise.
	loaded *stamped
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

// agentDocument is an open document that is an agent file of the workspace.
type agentDocument struct {
	path, folder, rel, text string
	saved                   string // the text as it was opened or last saved
}

// agentDocument returns the agent file that a URI names, if it is open.
func (h *Handlers) agentDocument(name uri.URI) (a agentDocument, ok bool) {
	path, ok := filePath(name)
	if !ok || h.daemon == nil || h.daemon.Reviews == nil {
		return a, false
	}
	s := h.Workspace.Snapshot()
	d, open := s.DocumentAt(path)
	f, rel, inside := workspace.Within(s.Folders(), path)
	if !open || !inside || !workspace.IsAgentFile(rel) {
		return a, false
	}
	return agentDocument{path, f.Canonical, rel, d.Text, d.Saved()}, true
}

// edited is told that a document has another text. One that an agent file has on
// the disk already is what the editor read there: a program wrote it, and no
// person.
func (h *Handlers) edited(name uri.URI) {
	a, ok := h.agentDocument(name)
	if !ok {
		return
	}
	was, since := h.typed[a.path]
	if !since {
		was.next = a.saved
	}
	now := typing{person: true, below: was.next, next: was.next}
	if h.byTool.made(a.path, a.text) {
		now = typing{next: a.text} // also of what was typed before: it is no longer the person's alone
	} else if item, there := workspace.ReadAgent(h.ctx, a.folder, a.rel); there {
		disk, err := workspace.DecodeText(item.Text)
		// An editor reads a file with line ends of its own; where those are all that is
		// new, the person has them changed.
		if err == nil && (disk.Text == a.text || (tool.SameLines(disk.Text, a.text) && !tool.SameLines(was.next, a.text))) {
			at := stampOf(a.path)
			now = typing{person: was.person, below: was.below, next: a.text, loaded: &at}
		}
	}
	h.typed[a.path] = now
}

// leaves is told that a document is about to be closed. What the person made of an agent
// file stays theirs until it is opened again, in case it is saved yet.
func (h *Handlers) leaves(name uri.URI) {
	a, ok := h.agentDocument(name)
	if !ok || a.text == a.saved {
		h.untyped(name)
		return
	}
	a.folder, a.rel, a.path, a.text, a.saved = strings.Clone(a.folder), strings.Clone(a.rel), strings.Clone(a.path), strings.Clone(a.text), strings.Clone(a.saved)
	if h.closing == nil {
		h.closing = make(map[string]agentDocument)
	}
	h.closing[a.path] = a
	h.byTool.forget(a.path)
}

// untyped is told that the editor took over what a file has, or gave it back.
func (h *Handlers) untyped(name uri.URI) {
	if path, ok := filePath(name); ok {
		delete(h.typed, path)
		delete(h.closing, path)
		h.byTool.forget(path)
	}
}

// tooled are the texts that tools had the editor make of agent files, by path,
// since they were opened. The editor writes them with line ends of its own.
type tooled struct {
	mu    sync.Mutex
	texts map[string]map[workspace.Digest]bool
}

// note is told what the editor is asked to make of a document, before it is.
func (t *tooled) note(name uri.URI, text string) {
	path, ok := filePath(name)
	if !ok || !isAgentFile(path) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.texts == nil {
		t.texts = make(map[string]map[workspace.Digest]bool)
	}
	if t.texts[path] == nil {
		t.texts[path] = make(map[workspace.Digest]bool)
	}
	t.texts[path][linesDigest(text)] = true
}

// made reports whether a tool had the editor make the text.
func (t *tooled) made(path, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.texts[path] != nil && t.texts[path][linesDigest(text)]
}

// wrote reports whether a tool had the editor change a document.
func (t *tooled) wrote(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.texts[path] != nil
}

// linesDigest is one digest of all texts that differ in nothing but line ends.
func linesDigest(text string) workspace.Digest { return workspace.DigestOf(tool.LineFeeds(text)) }

func (t *tooled) forget(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.texts, path)
}

// saves are what follows from saved documents: in order, and beside the reading
// of messages, since the records of trust may be locked by another daemon.
type saves struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last one is done; nil for none
	// theirs are the texts that the person saved last on top of what was approved:
	// the next save may be told before this one is recorded. Only the work has it.
	theirs map[string]workspace.Digest
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

// arrived is told that a document was opened or closed. An editor that renames may
// write the file, and move it then without ever opening or saving it under the new name
// (Neovim): what the rename was to make of it is approved once the disk has it.
func (h *Handlers) arrived(name uri.URI) {
	path, ok := filePath(name)
	if !ok || h.daemon == nil || h.daemon.Reviews == nil {
		return
	}
	for _, to := range h.moves.about(path) {
		f, rel, inside := workspace.Within(h.Workspace.Snapshot().Folders(), to)
		if !inside || !workspace.IsAgentFile(rel) || !h.moves.came(to) {
			continue
		}
		item, there := workspace.ReadAgent(h.ctx, f.Canonical, rel)
		if !there {
			continue
		}
		disk, err := workspace.DecodeText(item.Text)
		if err != nil || !h.moves.take(to, disk.Text) {
			continue
		}
		h.saves.then(&h.work, func() {
			if _, err := h.daemon.Reviews.Saved(h.ctx, f.Canonical, rel, disk.Text, nil); err != nil {
				h.Log.Warn("an agent that was renamed has to be reviewed", "path", to, "err", err)
			}
		})
	}
}

// saved is told that the client saved a document. Where that is an agent file of
// the workspace, which the person changed since it was opened or read again, with
// the text that is now on disk, they have approved it, if what they changed was
// approved: an edit of a few words, as of a rename, is no look at the rest.
//
// VS Code tells that it saved what it changed in the background after it closed it.
func (h *Handlers) saved(name uri.URI) {
	a, ok := h.agentDocument(name)
	if !ok {
		path, _ := filePath(name)
		if a, ok = h.closing[path]; !ok {
			return
		}
	}
	was := h.typed[a.path]
	delete(h.typed, a.path)
	delete(h.closing, a.path)
	h.moves.stays(a.path, a.text)
	asked := h.moves.take(a.path, a.text)
	// An editor may tell its last change only after it has written it. What the
	// disk had before this save is not the person's.
	if !asked && (!was.person || (was.loaded != nil && *was.loaded != stampOf(a.path))) {
		return
	}
	a.folder, a.rel, a.path = strings.Clone(a.folder), strings.Clone(a.rel), strings.Clone(a.path)
	h.saves.then(&h.work, func() {
		below := &was.below
		if asked || h.saves.theirs[a.path] == workspace.DigestOf(*below) {
			below = nil
		}
		theirs, err := h.daemon.Reviews.Saved(h.ctx, a.folder, a.rel, a.text, below)
		if theirs {
			if h.saves.theirs == nil {
				h.saves.theirs = make(map[string]workspace.Digest)
			}
			h.saves.theirs[a.path] = workspace.DigestOf(a.text)
		}
		if err != nil {
			h.Log.Warn("an agent that was saved has to be reviewed", "path", a.path, "err", err)
		}
	})
}
