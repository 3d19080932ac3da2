package language

import (
	"context"
	"path/filepath"

	"github.com/sourcegraph/conc/panics"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// publisher tells a client that does not ask what is found in its files, beside the
// reading of messages: each pass is about the newest texts. Its goroutine is started by
// Begin and ends with the connection.
type publisher struct {
	due  chan struct{}       // capacity 1: something may be other than it was told
	told map[uri.URI]finding // by the passes only, which follow one another
}

// finding is what the client was told of a file last.
type finding struct {
	open    bool // of the document, in this version; else of the file on the disk
	version int32
	id      string
	none    bool
}

// published reports whether the client is to be told of findings: one that has
// documents, and does not ask.
func (h *Handlers) published() bool { return h.client.TextDocument != nil && !h.pulls() }

// scheduleChecks has findings told again soon. It never waits.
func (h *Handlers) scheduleChecks() {
	select {
	case h.publisher.due <- struct{}{}:
	default: // they are due already
	}
}

// ScheduleCheck schedules a check of the findings where a document that changed can have some:
// an agent file, a settings file or a file of tests.
// It does not wait, and looks at no file.
func (h *Handlers) ScheduleCheck(name uri.URI) {
	if h.findable(name) {
		h.scheduleChecks()
	}
}

// findable reports whether a document may be an agent file, a settings file or a file of
// tests, by its name alone.
// It may be true for files that lie elsewhere than agents and settings do.
func (h *Handlers) findable(name uri.URI) bool {
	path, ok := workspace.FilePath(name)
	if !ok {
		return false
	}
	base := filepath.Base(path)
	return isTestFile(base) || base == filepath.Base(workspace.ProjectSettings) ||
		workspace.IsAgentFile(filepath.Join(".gemini", "agents", base))
}

// publish tells findings whenever they may be others, until the connection ends.
// It is the only goroutine that looks at publisher.told.
func (h *Handlers) publish() {
	for {
		select {
		case <-h.publisher.due:
		case <-h.ctx.Done():
			return
		}
		// What one file does must not take the findings of all others away for good.
		if caught := panics.Try(func() { h.publishNow(h.ctx) }); caught != nil {
			h.Log.Error("panic", "in", "the findings about files", "stack", fault.PanicText(caught.Value, caught.Stack))
		}
	}
}

// publishNow tells what is other than was told before, and takes back what was told of
// files that have no findings any more, or are gone. It returns early when the connection
// ends, or when there is something newer to tell; what was not told then is told by the
// next pass.
func (h *Handlers) publishNow(ctx context.Context) {
	if _, err := h.Catalog(ctx); err != nil {
		return // the connection ends
	}
	a, err := h.Query(ctx, h.Workspace.Snapshot()) // the texts as they are when the agents are known
	if err != nil {
		return
	}
	list, lost, err := a.reports(ctx)
	if err != nil {
		return
	}
	now := make(map[uri.URI]bool, len(list))
	for _, r := range list {
		now[r.uri] = true
		if !h.tellReport(ctx, r) {
			return
		}
	}
	for name, before := range h.publisher.told {
		if now[name] || lost[name] {
			continue
		}
		if !before.none && !h.tellReport(ctx, &report{uri: name, items: []protocol.Diagnostic{}}) {
			return
		}
		delete(h.publisher.told, name)
	}
}

// tellReport tells the client of one file, if that is news. Of an open document
// each version is: an editor that is ahead drops what is about an older one. It
// reports false when it stopped for what is newer, or the connection ends.
func (h *Handlers) tellReport(ctx context.Context, r *report) bool {
	now := finding{id: r.id, none: len(r.items) == 0}
	if r.version != nil {
		now.open, now.version = true, *r.version
	}
	before, known := h.publisher.told[r.uri]
	// A file without findings is news only where it is open, or where the client was told of some.
	if (known && before == now && r.id != "") || (now.none && !now.open && (!known || before.none)) {
		h.publisher.told[r.uri] = now
		return true
	}
	if h.Peer.Pressure() { // thousands of files may be told at once
		select {
		case <-h.Peer.PressureGone():
		case <-ctx.Done():
			return false
		}
		if len(h.publisher.due) > 0 {
			return false // what is typed comes before the rest
		}
	}
	p := &protocol.PublishDiagnosticsParams{URI: r.uri, Diagnostics: r.items}
	if publish := h.client.TextDocument.PublishDiagnostics; now.open && publish != nil &&
		publish.VersionSupport != nil && *publish.VersionSupport {
		p.Version = protocol.NewOptional(now.version)
	}
	if err := h.Peer.Notify(h.ctx, protocol.MethodTextDocumentPublishDiagnostics, p); err != nil {
		h.Log.Debug("findings were not sent", "err", err) // the client has gone
	}
	h.publisher.told[r.uri] = now
	return true
}
