package run

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// keeping is how a call changes files: what a file was before is kept first, on
// stable storage, so that a rewind can bring it back (spec 3.7).
type keeping struct {
	tool.Edits
	b *batch
	t *task
}

// Write implements [tool.Edits].
func (k keeping) Write(ctx context.Context, path, base, text, label string) error {
	b := k.b
	before, had, err := k.read(ctx, path)
	if err != nil {
		return err
	}
	kept := activity.Kept{URI: tool.URI(path), Buffer: had && before.Open}
	if had {
		if kept.Before, err = k.put(before); err != nil {
			return err
		}
	}
	seq := b.say(activity.Checkpoint{Files: []string{kept.URI}, Kept: []activity.Kept{kept}})
	if seq == 0 {
		return errClosed
	}
	if err := b.Session.Commit(ctx, seq); err != nil {
		return unkept(err)
	}
	if err := k.Edits.Write(ctx, path, base, text, label); err != nil {
		return err
	}
	// From here on the file is another: it is told, whatever becomes of the call.
	ctx = context.WithoutCancel(ctx)
	after, _, err := k.read(ctx, path)
	if err != nil || after == nil || after.Binary || kept.Buffer && !tool.SameLines(after.Text, text) {
		after = &tool.File{Text: text, Open: kept.Buffer, Data: []byte(text)} // somebody is quicker, or the editor has not read it yet
	}
	kept.After, err = k.put(after)
	if err != nil && b.Log != nil {
		b.Log.Warn("what a call wrote could not be kept", "run", b.ID, "call", k.t.call.ID, "err", err)
	}
	var old *string
	if had {
		old = &before.Text
	}
	c := change.Of(kept.URI, k.relative(path), old, &text)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.say(activity.FileChanged{Change: c, Call: k.t.call.ID, Before: kept.Before, After: kept.After, Buffer: kept.Buffer})
	b.changes = append(b.changes, c)
	k.t.told = append(k.t.told, kept.URI)
	return nil
}

// read returns a file; had is false where there is none.
func (k keeping) read(ctx context.Context, path string) (f *tool.File, had bool, err error) {
	f, err = k.b.Env.Files.Read(ctx, path)
	if fault.KindOf(err) == fault.NotFound {
		return nil, false, nil
	}
	return f, err == nil, err
}

// put keeps the content of a file: the text of an open document, else the bytes
// on disk.
func (k keeping) put(f *tool.File) (string, error) {
	content := f.Data
	if f.Open {
		content = []byte(f.Text)
	}
	sha, err := k.b.Session.PutBlob(content)
	if err != nil {
		return "", unkept(err)
	}
	return sha, nil
}

// relative is a path as a patch names it.
func (k keeping) relative(path string) string {
	if rel, err := filepath.Rel(k.b.Env.Folder, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// errClosed is why a file is not written.
var errClosed = unkept(fault.New(fault.Unavailable, "run.keep", "the session's log is closed"))

func unkept(err error) error {
	return fault.New(fault.Unavailable, "run.keep", "nothing was written, since what the file holds could not be kept first: %w", err)
}

// keep keeps images and documents of a result in the session's blobs. What
// cannot be kept is not sent, and the model is told.
func (b *batch) keep(found []model.Media) (kept []model.Media, lost string) {
	for _, m := range found {
		name, err := b.Session.PutBlob(m.Data)
		if err != nil {
			lost += fmt.Sprintf("\nData of type %s could not be kept: %v", m.MimeType, err)
			continue
		}
		kept = append(kept, model.Media{MimeType: m.MimeType, Blob: name})
	}
	return kept, lost
}
