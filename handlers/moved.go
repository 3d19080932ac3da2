package handlers

import (
	"slices"
	"sync"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/language"
	"github.com/agentls/agentls/workspace"
)

// moved are the texts that agent files get under the names that a rename gives
// them, by path. Their editor closes the old file and opens the new one with them:
// nothing else would tell that they are what the person approved, but for the
// names in them.
type moved struct {
	mu    sync.Mutex
	texts map[string]workspace.Digest
}

// note keeps what becomes of a file that a rename moves, where its text is the
// approved one: it is approved under its new name once the person saves it.
func (h *Handlers) noteMoved(a *author, from, to uri.URI, edits []language.Edit) {
	old, err := uri.Parse(string(from))
	target, err2 := uri.Parse(string(to))
	if err != nil || err2 != nil || !old.IsFile() || !target.IsFile() || h.house.Reviews == nil {
		return
	}
	f, ok := a.file(from)
	folder, rel, inside := workspace.Within(a.snapshot.Folders(), old.FsPath())
	if !ok || !inside {
		return
	}
	approved, ok := h.house.Reviews.Approved(folder.Canonical, rel)
	text, err := workspace.DecodeText(approved)
	if !ok || err != nil || text.Text != f.Text {
		return
	}
	var own []language.Edit
	for _, e := range edits {
		if e.URI == f.URI {
			own = append(own, e)
		}
	}
	h.moves.mu.Lock()
	defer h.moves.mu.Unlock()
	if h.moves.texts == nil {
		h.moves.texts = make(map[string]workspace.Digest)
	}
	h.moves.texts[target.FsPath()] = workspace.DigestOf(applied(f.Text, own))
}

// take reports whether a rename gave the file at a path the text, once.
func (m *moved) take(path, text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.texts[path] != workspace.DigestOf(text) {
		return false
	}
	delete(m.texts, path)
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
