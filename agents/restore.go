package agents

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/snapshot"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Content is what a file is to hold. It is not changed once it was made.
type Content struct {
	// Text is what a document that is open in the editor is given.
	Text string
	// Data are the bytes on disk. Nil: Text in the charset of the file that is
	// there, UTF-8 for a new one. Nothing else of it is changed.
	Data []byte
	// Mode is the permissions of a file that is not there; of one that is, only
	// whether it may be executed counts. 0 = the usual ones, and what they are.
	Mode fs.FileMode
	// Link is a symbolic link, and Data is where it leads.
	Link bool

	binary bool // Data are no text
}

// tries is how often a file is looked at again that somebody writes meanwhile.
const tries = 4

// fileHistory is what a session kept of files, beside the files as they are. It is made
// for one request, with the folders of that moment. conv.changes is held where it
// writes.
type fileHistory struct {
	conv      *conversation
	frontend  Frontend
	env       *tool.Env       // where files may lie
	snapshots *snapshot.Store // may be nil
}

// fileHistory returns it, with the folders that calls may reach now.
func (s *Service) fileHistory(conv *conversation, frontend Frontend) *fileHistory {
	folders := s.Folders()
	env := &tool.Env{Folders: folders, Home: s.Home, State: s.State}
	if len(folders) > 0 {
		env.Folder = folders[0]
	}
	// Each folder's settings may name more folders, and so may the person's own.
	for _, folder := range append([]string{""}, folders...) {
		env.Folders = append(env.Folders, s.Settings(folder).AdditionalFolders...)
	}
	return &fileHistory{conv, frontend, env, s.Snapshots}
}

// content returns what a blob holds: the text of a document, or the bytes that
// lay on disk. Nil for "": there was no file. The error is that of the blob: what a
// person deleted, or a purge.
func (b *fileHistory) content(s side) (*Content, error) {
	if s.sha == "" {
		return nil, nil
	}
	data, err := b.conv.GetBlob(s.sha)
	switch {
	case err != nil:
		return nil, err
	case s.buffer:
		return &Content{Text: string(data)}, nil
	case s.link:
		return &Content{Data: data, Link: true, binary: true}, nil
	}
	text, ok := b.frontend.Decode(data)
	return &Content{Text: text, Data: data, Mode: s.mode, binary: !ok}, nil
}

// side is what a file was on one side of a step.
type side struct {
	sha    string      // of a blob; "" for no file
	buffer bool        // it was open in the editor
	mode   fs.FileMode // permissions; 0 = not known
	link   bool        // it was a symbolic link
}

// before is what a file was before a step.
func before(k activity.Kept) side {
	return side{k.Before, k.Buffer, fs.FileMode(k.Mode).Perm(), k.WasLink}
}

// after is what a file was after a step.
func after(k activity.Kept) side {
	return side{k.After, k.Buffer, fs.FileMode(k.AfterMode).Perm(), k.IsLink}
}

// sameMode reports whether two files are of one kind, as far as it is known.
func sameMode(x, y fs.FileMode) bool {
	const executable = 0o111
	return x == 0 || y == 0 || (x&executable == 0) == (y&executable == 0)
}

// modes is how a file is kept besides its content: what changes its mode, or
// takes away one that is not the usual one, can be undone.
func modes(now, then *tool.File) (m activity.Modes) {
	of := func(f *tool.File) (mode uint32, link bool) {
		if f == nil || f.Info == nil || f.Link {
			return 0, f != nil && f.Link
		}
		return uint32(f.Info.Mode().Perm()), false
	}
	m.Mode, m.WasLink = of(now)
	m.AfterMode, m.IsLink = of(then)
	if then != nil && now != nil && sameMode(fs.FileMode(m.Mode), fs.FileMode(m.AfterMode)) {
		m.Mode, m.AfterMode = 0, 0
	}
	return m
}

// text is the content as package change has it: what is no text is compared as
// it is.
func (c *Content) text() *string {
	if c == nil {
		return nil
	}
	text := c.Text
	switch {
	case c.Link:
		text = change.Link(string(c.Data))
	case c.binary:
		text = string(c.Data)
	}
	return &text
}

// read returns a file, or a link, as it is; nil where there is none. It is what the
// editor has where the file is open there. The error is the frontend's.
func (b *fileHistory) read(ctx context.Context, path string) (*tool.File, error) {
	f, err := b.frontend.Look(ctx, path)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	return f, err
}

// textOf is a file as package change has it.
func textOf(f *tool.File) *string {
	if f == nil {
		return nil
	}
	text := f.Text
	switch {
	case f.Link:
		text = change.Link(string(f.Data))
	case f.Binary:
		text = string(f.Data)
	}
	return &text
}

// keep keeps what a file holds: the text of an open document, else the bytes on
// disk. "" for no file. The blob is on stable storage with the next commit of the log.
func (b *fileHistory) keep(f *tool.File) (sha string, err error) {
	switch {
	case f == nil:
		return "", nil
	case f.Open:
		return b.conv.PutBlob([]byte(f.Text))
	}
	return b.conv.PutBlob(f.Data)
}

// holds reports whether a file is what a blob says: byte for byte, text for text
// where it is open in the editor, and as text where it was open only then, or is
// only now.
func (b *fileHistory) holds(f *tool.File, s side) (bool, error) {
	switch {
	case f == nil || s.sha == "":
		return f == nil && s.sha == "", nil
	case f.Link != s.link, f.Info != nil && !sameMode(f.Info.Mode().Perm(), s.mode):
		return false, nil
	case f.Open == s.buffer:
		return f.Digest == s.sha, nil
	}
	c, err := b.content(s)
	if err != nil {
		return false, err
	}
	return !f.Binary && !c.binary && f.Text == c.Text, nil
}

// put makes a file hold something, nil for none, if it is still what was read,
// and returns what it was and is. The error is that of [Frontend.Restore], or says
// that what the file is now could not be kept; written is whether it is another
// now. What was read is compared again by the frontend, as it writes: fault.Stale where
// somebody was quicker.
func (b *fileHistory) put(ctx context.Context, path string, now *tool.File, to *Content,
	label string) (kept activity.Kept, written bool, err error) {
	kept = activity.Kept{URI: tool.URI(path)}
	base := ""
	if now != nil {
		base, kept.Buffer = now.Digest, now.Open
	}
	if kept.Before, err = b.keep(now); err != nil {
		return kept, false, err
	}
	// A file that was deleted comes back with the permissions that it had.
	if now == nil && to != nil && to.Mode == 0 {
		made := *to
		made.Mode = b.mode(kept.URI)
		to = &made
	}
	if err := b.frontend.Restore(ctx, path, base, to, label); err != nil {
		return kept, false, err
	}
	if to == nil {
		kept.Modes = modes(now, nil)
		b.noteWrite(kept)
		return kept, true, nil
	}
	// From here on the file is another: what it is must be known, whatever becomes
	// of the request.
	after, err := b.read(context.WithoutCancel(ctx), path)
	if err != nil || after == nil || after.Open != kept.Buffer ||
		(!after.Binary && !tool.SameLines(after.Text, to.Text)) {
		after = &tool.File{Text: to.Text, Open: kept.Buffer, Data: to.Data,
			Link: to.Link} // somebody is quicker, or the editor has not told it yet
		if after.Data == nil {
			after.Data = []byte(to.Text)
		}
	}
	kept.After, err = b.keep(after)
	kept.Modes = modes(now, after)
	b.noteWrite(kept)
	return kept, true, err
}

// noteWrite says that the person had a file written, while a command may run that
// is not to be taken for who did it.
func (b *fileHistory) noteWrite(kept activity.Kept) {
	if b.snapshots != nil && !kept.Buffer {
		b.snapshots.Wrote(tool.PathOf(kept.URI), kept.After)
	}
}

// mode returns the permissions that a file had when it was last deleted or moved,
// 0 if it never was.
func (b *fileHistory) mode(uri string) fs.FileMode {
	h, _ := b.conv.FileHistory(uri)
	for _, st := range slices.Backward(h.Steps) {
		if st.Mode != 0 {
			return fs.FileMode(st.Mode).Perm()
		}
	}
	return 0
}

// checkpoint says in the log what files held before a person has them written,
// and returns when that is on stable storage. Nothing may be written where it fails.
func (b *fileHistory) checkpoint(ctx context.Context, kept []activity.Kept) error {
	event := activity.Checkpoint{Kept: kept}
	for _, k := range kept {
		event.Files = append(event.Files, k.URI)
	}
	seq := b.conv.Append(activity.Origin{}, event, 0)
	if seq == 0 {
		return fault.New(fault.Unavailable, "agents.checkpoint", "the session's log is closed")
	}
	return b.conv.Commit(ctx, seq)
}

// place returns the path of a file that a session's log names. why says why
// nothing is written there, in a sentence, "" where it may be: the log is a file
// like others, so what it says is looked at as if a model had said it (SEC-54,
// SEC-64, SEC-135). protected is whether a call has to have written there, since
// a person was asked about that (SEC-17).
//
// links is whether the file was ever a link to us: then it may be one now.
func (b *fileHistory) place(uri string, links bool) (path, why string, protected bool) {
	path = tool.PathOf(uri)
	if path == "" {
		return "", "It is no file on this machine.", false
	}
	resolve := tool.Resolve
	if links {
		resolve = tool.ResolveLink
	}
	p, err := resolve(b.env, path)
	switch {
	case err != nil && !b.inside(path):
		return path, "It lies outside of the workspace.", false
	case err != nil:
		return path, because("It cannot be reached", err), false
	case p.Real != path:
		return path, "A link leads elsewhere now: to " + tool.Name(p.Real) + ".", false
	case p.Sealed != "":
		return path, "It is never written for an agent: " + p.Sealed + ".", false
	}
	return path, "", p.Protected
}

// writable is place for the file of a history, whose steps say whether a call
// wrote it.
func (b *fileHistory) writable(h session.FileHistory) (path, why string) {
	links := slices.ContainsFunc(h.Steps, func(st session.FileStep) bool { return st.WasLink || st.IsLink })
	path, why, protected := b.place(h.URI, links)
	if why == "" && protected && !wroteByCall(h.Steps) {
		why = "It lies in a protected place, and no call that somebody allowed wrote it."
	}
	return path, why
}

// wroteByCall reports whether a call wrote the file.
func wroteByCall(steps []session.FileStep) bool {
	return slices.ContainsFunc(steps, func(st session.FileStep) bool { return st.Call != "" && st.Complete })
}

// inside reports whether a path lies in a folder that calls may reach.
// It goes by the names alone, and only says which error a person is told.
func (b *fileHistory) inside(path string) bool {
	for _, folder := range append([]string{b.env.Folder}, b.env.Folders...) {
		if tool.Within(folder, path) {
			return true
		}
	}
	return false
}

// name is a file as patches and people are told it: relative to the workspace
// folder that it lies in.
func (b *fileHistory) name(uri string) string {
	path := tool.PathOf(uri)
	if path == "" {
		return uri
	}
	for _, folder := range append([]string{b.env.Folder}, b.env.Folders...) {
		if rel, err := filepath.Rel(folder, path); err == nil && tool.Within(folder, path) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(path)
}

// because is a sentence with the reason that an error gives. It is for people.
func because(what string, err error) string {
	return what + ": " + strings.TrimSuffix(fault.Message(err), ".") + "."
}
