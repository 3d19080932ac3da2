package handlers

import (
	"context"
	"io/fs"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// Decode implements [agents.Frontend].
// It detects the charset as for a file that is read; false is a file that is no
// text.
func (p person) Decode(data []byte) (string, bool) {
	t, err := workspace.DecodeText(data)
	if err != nil {
		return "", false
	}
	return t.Text, true
}

// Restore implements [agents.Frontend]. What it does to an open document the person
// can undo there; lines end as they did, where the editor lets them.
// base is the digest of what is there now, "" for nothing, and to what it shall be,
// nil for no file. The errors are fault.Stale with the reason OutOfDate (it is
// another than base: nothing was done) and those of [edits.Write].
func (p person) Restore(ctx context.Context, path, base string, to *agents.Content, label string) error {
	const op = "handlers.restore"
	d, open := p.h.Workspace.Snapshot().DocumentAt(path)
	if !open {
		return p.h.restoreOnDisk(ctx, path, workspace.Digest(base), to)
	}
	switch {
	case d.Lost:
		return workspace.LostText(path)
	case string(d.Digest()) != base:
		return fault.New(fault.Stale, op, "%s has changed in the editor since it was read",
			path).Because(fault.OutOfDate)
	case to == nil:
		return p.h.deleteOpen(ctx, d, path, base, label)
	case p.h.edits.applies:
		return p.h.applyExactly(ctx, d, to.Text, label)
	case d.Dirty():
		return fault.New(fault.Denied, op,
			"%s has unsaved changes in an editor that takes no edits; ask the person to save it", path)
	}
	disk, err := p.h.disk(path)
	if err != nil {
		return err
	}
	defer disk.Close()
	now, err := beneath(ctx, disk, path, d)
	if err != nil {
		return err
	}
	return p.h.restoreOnDisk(ctx, path, now, to)
}

// restoreOnDisk makes a file hold exactly what it is given, and tells the client.
// Bytes that were kept are written as they are; a text alone gets the charset of
// the file that is there. A file that is to be gone and is gone already is
// fault.Stale, unless nothing was expected.
// Links are made as links, with what they lead to as their bytes.
func (h *Handlers) restoreOnDisk(ctx context.Context, path string, base workspace.Digest, to *agents.Content) error {
	disk, err := h.disk(path)
	if err != nil {
		return err
	}
	defer disk.Close()
	switch {
	case to == nil:
		err = disk.Remove(ctx, path, base)
		switch gone := fault.KindOf(err) == fault.NotFound; {
		case gone && base == "":
			return nil
		case gone:
			err = fault.New(fault.Stale, "handlers.restore", "%s is gone already", path).Because(fault.OutOfDate)
		}
	default:
		r := workspace.Restoration{Name: path, Seen: base, Bytes: to.Data, Mode: to.Mode}
		if to.Link {
			r.Mode = fs.ModeSymlink
		}
		// An open document was kept as text, without a charset.
		if to.Data == nil {
			text, err := encodeLike(ctx, disk, path, to.Text)
			if err != nil {
				return err
			}
			r.Bytes = []byte(text)
		}
		err = disk.Restore(ctx, r)
	}
	if err == nil {
		h.wrote("", path)
	}
	return err
}

// encodeLike returns the bytes of a text in the charset of the file that is there,
// with its byte order mark; in UTF-8 where there is none, or no text.
// The error is any other one of reading the file.
func encodeLike(ctx context.Context, disk *workspace.Disk, path, text string) (string, error) {
	now, err := disk.ReadText(ctx, path, maxRead)
	switch fault.KindOf(err) {
	case fault.NotFound, fault.Invalid:
		return text, nil
	}
	if err != nil {
		return "", err
	}
	return string(now.Encode(text)), nil
}
