package handlers

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/workspace"
)

// moved are the texts that agent files get which the person had made: under the
// names that a rename gives them, or created, by path. Of a rename the editor closes
// the old file and opens the new one with them: nothing else would tell that they
// are what the person approved, but for the names in them.
type moved struct {
	mu    sync.Mutex
	texts map[string]workspace.Digest
	from  map[string]string // where a file was that is moved
}

// noteMoved keeps what becomes of a file that a rename moves, where its text is the
// approved one, or what the person typed on top of that: it is approved under its new
// name once the person saves it.
func (h *Handlers) noteMoved(a *author, from, to uri.URI, edits []language.Edit) {
	old, ok := filePath(from)
	if !ok || h.daemon.Reviews == nil {
		return
	}
	f, ok := a.file(from)
	folder, rel, inside := workspace.Within(a.snapshot.Folders(), old)
	if !ok || !inside {
		return
	}
	approved, ok := h.daemon.Reviews.Approved(folder.Canonical, rel)
	text, err := workspace.DecodeText(approved)
	if !ok || err != nil || (!tool.SameLines(text.Text, f.Text) && !h.typedOn(a.snapshot, old, text.Text)) {
		return
	}
	var own []language.Edit
	for _, e := range edits {
		if e.URI == f.URI {
			own = append(own, e)
		}
	}
	h.moves.keep(to, applied(f.Text, own))
	h.moves.note(old, to)
}

// typedOn reports whether an open document is what a person made of a text: that is what
// the disk has and the editor last read or saved, and no tool wrote into the document.
func (h *Handlers) typedOn(s *workspace.Snapshot, path, text string) bool {
	d, open := s.DocumentAt(path)
	if !open || h.byTool.wrote(path) || !tool.SameLines(d.Saved(), text) {
		return false
	}
	folder, rel, _ := workspace.Within(s.Folders(), path)
	item, ok := workspace.ReadAgent(h.ctx, folder.Canonical, rel)
	disk, err := workspace.DecodeText(item.Text)
	return ok && err == nil && tool.SameLines(disk.Text, text)
}

// note is told where a file was that is moved.
func (m *moved) note(from string, to uri.URI) {
	path, ok := filePath(to)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.from == nil {
		m.from = make(map[string]string)
	}
	m.from[path] = strings.Clone(from)
}

// keep is told the text that a file gets. Who calls withdraw says that it does not:
// what was to become of the file before is that again.
func (m *moved) keep(name uri.URI, text string) (withdraw func()) {
	path, ok := filePath(name)
	if !ok {
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.texts == nil {
		m.texts = make(map[string]workspace.Digest)
	}
	before, was := m.texts[path]
	m.texts[path] = linesDigest(text)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.texts, path)
		if was {
			m.texts[path] = before
		}
	}
}

// drop is told that a file has been taken over with its text.
func (m *moved) drop(name uri.URI) {
	path, ok := filePath(name)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.texts, path)
}

// about returns the paths that files are moved to which are, or were, at a path.
func (m *moved) about(path string) (to []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, from := range m.from {
		if name == path || from == path {
			to = append(to, name)
		}
	}
	return to
}

// came reports whether a file has been moved to a path: the one that it was is gone.
func (m *moved) came(to string) bool {
	m.mu.Lock()
	from := m.from[to]
	m.mu.Unlock()
	_, err := os.Lstat(from)
	return from != "" && errors.Is(err, fs.ErrNotExist)
}

// stays is told that the person gave a file another text than a move of it would, or
// deleted it: what was to become of it is not what they mean any more.
func (m *moved) stays(path, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for to, from := range m.from {
		if from == path && m.texts[to] != linesDigest(text) {
			delete(m.texts, to)
			delete(m.from, to)
		}
	}
}

// take reports whether the person had the file at a path given the text, once.
func (m *moved) take(path, text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.texts[path] != linesDigest(text) {
		return false
	}
	delete(m.texts, path)
	delete(m.from, path)
	return true
}

// applied returns a text with edits of it, none of which overlap.
func applied(text string, edits []language.Edit) string {
	index := definition.NewIndex(text)
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(x, y language.Edit) int { return index.Offset(y.Range.Start) - index.Offset(x.Range.Start) })
	for _, e := range edits {
		text = text[:index.Offset(e.Range.Start)] + e.Text + text[index.Offset(e.Range.End):]
	}
	return text
}
