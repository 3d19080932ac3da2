package handlers

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/workspace"
)

const (
	// scratchEvery is how often a scratch file is looked at, since not every
	// editor tells the daemon of a file of this name.
	scratchEvery = 500 * time.Millisecond
	maxScratch   = 256 << 10 // bytes of an answer
	// scratchEnd is the last line of what stands above the answer.
	scratchEnd = "---- write below this line ----"
)

// askByFile asks for free text in an editor that has no dialog for it: in a file
// that is shown, whose text counts when it is saved (spec 2.6). Saved or closed
// as it was, it declines, as does an editor that shows no files.
// It blocks until then, or until ctx ends. The file is removed in every case.
// A text on disk that changed has to be the same at two looks before it counts; what the
// client itself says was saved counts at once.
func (d *frontend) askByFile(ctx context.Context, agent string, q tool.Question) (tool.Answer, error) {
	declined := tool.Answer{Action: "decline"}
	if !d.h.shows {
		return declined, nil
	}
	lines := []string{tool.Escape(agent + " asks:"), ""}
	if q.Title != "" && q.Title != agent+" asks" {
		lines = append(lines, tool.Escape(q.Title))
	}
	lines = append(lines, tool.EscapeLines(q.Message), "", "Save this file to answer; save or close it as it is to decline.",
		scratchEnd, "", "")
	asked := strings.Join(lines, "\n")
	path, err := d.h.newShown(agent + " asks " + newNonce()[:4] + ".md") // an editor may still show an earlier one
	if err == nil {
		err = writePrivate(path, asked)
	}
	if err != nil {
		d.h.Log.Warn("a question could not be written to be shown", "err", err)
		return declined, nil
	}
	defer func() { _ = os.Remove(path) }() // or with the connection
	touched := d.h.awaitDocument(path)
	defer touched.stop()
	focus := true
	end := protocol.Position{Line: uint32(strings.Count(asked, "\n") - 1)} // where the answer is to be written
	result, err := d.h.Peer.ShowDocument(ctx, &protocol.ShowDocumentParams{
		URI: uri.File(path), TakeFocus: &focus, Selection: &protocol.Range{Start: end, End: end},
	})
	if err != nil || result == nil || !result.Success {
		return declined, d.clientError(ctx, err)
	}
	look := time.NewTicker(scratchEvery)
	defer look.Stop()
	for before := asked; ; {
		settled := false
		select {
		case <-touched.seen: // what the file has now is the answer
			settled = true
		case <-look.C:
		case <-ctx.Done():
			return tool.Answer{}, ctx.Err()
		}
		text, err := readScratch(path)
		if err != nil {
			text = "" // removed, or about to be replaced
		}
		// What changes on the disk counts when it is the same the next time: an
		// editor may be in the middle of writing it.
		if settled || (text != asked && text == before) {
			if answer := answerIn(text, asked); text != asked && answer != "" {
				return tool.Answer{Action: "accept", Text: answer}, nil
			}
			return declined, nil
		}
		before = text
	}
}

// readScratch returns what a scratch file has.
// Beyond maxScratch it is cut.
// Bytes that are not UTF-8 are left out.
func readScratch(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxScratch))
	return strings.ToValidUTF8(string(text), ""), err
}

// answerIn returns what the person wrote: what stands below the line, or what
// they left instead of it all.
//
// Without the line, lines of the question are taken out by their text.
func answerIn(text, asked string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if _, below, ok := strings.Cut(text, scratchEnd); ok {
		return strings.TrimSpace(below)
	}
	known := strings.Split(asked, "\n")
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return line != "" &&
			slices.Contains(known, line)
	})
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// awaitDocument returns what waits until the client says that it saved or closed a
// file.
// path must be clean. seen is closed at the first of both; stop has to be called in any
// case, or the watcher stays.
func (h *Handlers) awaitDocument(path string) textWait {
	a := textWait{seen: make(chan struct{})}
	done := false // watchers are called one at a time
	a.stop = h.Workspace.Watch(func(_ *workspace.Snapshot, c workspace.Change) {
		var of uri.URI
		switch c := c.(type) {
		case workspace.Saved:
			of = c.URI
		case workspace.Closed:
			of = c.URI
		default:
			return
		}
		if name, ok := workspace.FilePath(of); ok && filepath.Clean(name) == path && !done {
			done = true
			close(a.seen)
		}
	})
	return a
}
