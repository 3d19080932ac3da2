package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// keeping is how a call changes files: what a file was before is kept first, on
// stable storage, so that a rewind can bring it back (spec 3.7).
//
// The order for every change is: read, keep the content as a blob, commit a
// checkpoint that names it, change the file, tell file.changed. A crash between any
// two steps leaves the file as it was or something to bring it back with. Changes of
// one path do not overlap: writers.go keeps calls apart that write the same file.
type keeping struct {
	tool.Edits
	b *batch
	t *task
}

// Write implements [tool.Edits].
//
// The errors are those of what it is laid over, and fault.Unavailable where nothing could
// be kept, in which case nothing was written. Languages are asked for diagnostics before
// the change, so that what it brings can be told.
func (k keeping) Write(ctx context.Context, path, base, text, label string) error {
	k.b.diagnosed.before(ctx, k.b.Env.Languages, path)
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
	if err := k.checkpoint(ctx, kept); err != nil {
		return err
	}
	if err := k.Edits.Write(ctx, path, base, text, label); err != nil {
		return err
	}
	// From here on the file is another: it is told, whatever becomes of the call.
	ctx = context.WithoutCancel(ctx)
	after, _, err := k.read(ctx, path)
	// What was written is told as it was meant where it cannot be read back: nobody could undo
	// a change that the log does not have.
	if err != nil || after == nil || after.Binary || (kept.Buffer && !tool.SameLines(after.Text, text)) {
		after = &tool.File{Text: text, Open: kept.Buffer,
			Data: []byte(text)} // somebody is quicker, or the editor has not read it yet
	}
	k.tell(path, kept, before, after)
	return nil
}

// Delete implements [tool.Edits].
func (k keeping) Delete(ctx context.Context, path, base, label string) error {
	before, kept, err := k.leaving(ctx, path)
	if err != nil {
		return err
	}
	if err := k.checkpoint(ctx, kept); err != nil {
		return err
	}
	if err := k.Edits.Delete(ctx, path, base, label); err != nil {
		return err
	}
	k.tell(path, kept, before, nil)
	return nil
}

// Move implements [tool.Edits].
//
// Both paths are in one checkpoint, so that a crash in between leaves both to be looked
// at.
func (k keeping) Move(ctx context.Context, from, to, base, label string) error {
	before, kept, err := k.leaving(ctx, from)
	if err != nil {
		return err
	}
	made := activity.Kept{URI: tool.URI(to), Buffer: kept.Buffer}
	if err := k.checkpoint(ctx, kept, made); err != nil {
		return err
	}
	if err := k.Edits.Move(ctx, from, to, base, label); err != nil {
		return err
	}
	after, _, err := k.read(context.WithoutCancel(ctx), to)
	if err != nil || after == nil {
		after = before // somebody is quicker, or the editor has not read it yet
	}
	made.Buffer = after.Open
	k.tell(from, kept, before, nil)
	k.tell(to, made, nil, after)
	return nil
}

// leaving returns a file that is about to leave its path, with its content kept.
// The mode is kept as well, since the file itself goes. The error is that of reading, or
// fault.Unavailable where the content could not be kept.
func (k keeping) leaving(ctx context.Context, path string) (*tool.File, activity.Kept, error) {
	f, err := k.b.Env.Files.Read(ctx, path)
	if err != nil {
		return nil, activity.Kept{}, err
	}
	kept := activity.Kept{URI: tool.URI(path), Buffer: f.Open}
	if info, err := os.Lstat(path); err == nil {
		kept.Mode = uint32(info.Mode().Perm())
	}
	kept.Before, err = k.put(f)
	return f, kept, err
}

// Save implements [tool.Edits]: a command's call has saved already.
func (k keeping) Save(ctx context.Context, reason string) []string {
	if k.t.saved {
		return k.t.unsaved
	}
	return k.Edits.Save(ctx, reason)
}

// checkpoint says in the log what files are before a call changes them, and
// returns when that is on stable storage.
// ctx bounds the wait for the disk. Every error is fault.Unavailable, and nothing may be
// written then.
func (k keeping) checkpoint(ctx context.Context, kept ...activity.Kept) error {
	event := activity.Checkpoint{Kept: kept}
	for _, one := range kept {
		event.Files = append(event.Files, one.URI)
	}
	seq := k.b.say(event)
	if seq == 0 {
		return errClosed
	}
	if err := k.b.Session.Commit(ctx, seq); err != nil {
		return unkept(err)
	}
	return nil
}

// tell says in the log what a call did to a file; nil is no file.
//
// That what was written could not be kept is only logged: the change itself has happened.
// b.mu is taken here.
func (k keeping) tell(path string, kept activity.Kept, before, after *tool.File) {
	b := k.b
	if after != nil {
		var err error
		if kept.After, err = k.put(after); err != nil && b.Log != nil {
			b.Log.Warn("what a call wrote could not be kept", "run", b.ID, "call", k.t.call.ID, "err", err)
		}
	}
	if b.Snapshots != nil && !kept.Buffer {
		b.Snapshots.Wrote(path, kept.After) // a command that runs meanwhile did not
	}
	c := change.Of(kept.URI, k.relative(path), contentOf(before), contentOf(after))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.say(activity.FileChanged{Change: c, Call: k.t.call.ID, Before: kept.Before, After: kept.After,
		Buffer: kept.Buffer, Modes: kept.Modes})
	b.changes = append(b.changes, c)
	k.t.told = append(k.t.told, kept.URI)
}

// contentOf returns a file as package change has it: nil for none, the bytes of what
// is no text.
func contentOf(f *tool.File) *string {
	if f == nil {
		return nil
	}
	text := f.Text
	if f.Binary {
		text = string(f.Data)
	}
	return &text
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
// One outside of the run's folder stays absolute.
func (k keeping) relative(path string) string {
	if rel, err := filepath.Rel(k.b.Env.Folder, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// errClosed is why a file is not written.
var errClosed = unkept(fault.New(fault.Unavailable, "run.keep", "the session's log is closed"))

// unkept is the error of a change that is not made: fault.Unavailable.
func unkept(err error) error {
	return fault.New(fault.Unavailable, "run.keep",
		"nothing was written, since what the file holds could not be kept first: %w", err)
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
