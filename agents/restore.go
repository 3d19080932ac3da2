package agents

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Content is what a file is to hold.
type Content struct {
	// Text is what a document that is open in the editor is given.
	Text string
	// Data are the bytes on disk. Nil: Text in the charset of the file that is
	// there, UTF-8 for a new one. Nothing else of it is changed.
	Data []byte

	binary bool // Data are no text
}

// tries is how often a file is looked at again that somebody writes meanwhile.
const tries = 4

// shelf is what a session kept of files, beside the files as they are.
type shelf struct {
	conv *conversation
	desk Desk
	env  *tool.Env // where files may lie
}

func (s *Service) shelf(conv *conversation, desk Desk) *shelf {
	folders := s.Folders()
	env := &tool.Env{Folders: folders, Home: s.Home, State: s.State}
	if len(folders) > 0 {
		env.Folder = folders[0]
	}
	for _, folder := range append([]string{""}, folders...) {
		env.Folders = append(env.Folders, s.Settings(folder).AdditionalFolders...)
	}
	return &shelf{conv, desk, env}
}

// content returns what a blob holds: the text of a document, or the bytes that
// lay on disk. Nil for "": there was no file.
func (b *shelf) content(sha string, buffer bool) (*Content, error) {
	if sha == "" {
		return nil, nil
	}
	data, err := b.conv.GetBlob(sha)
	if err != nil {
		return nil, err
	}
	if buffer {
		return &Content{Text: string(data)}, nil
	}
	text, ok := b.desk.Decode(data)
	return &Content{Text: text, Data: data, binary: !ok}, nil
}

// text is the content as package change has it: what is no text is compared as
// it is.
func (c *Content) text() *string {
	if c == nil {
		return nil
	}
	text := c.Text
	if c.binary {
		text = string(c.Data)
	}
	return &text
}

// read returns a file as it is; nil where there is none.
func (b *shelf) read(ctx context.Context, path string) (*tool.File, error) {
	f, err := b.desk.Read(ctx, path)
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
	if f.Binary {
		text = string(f.Data)
	}
	return &text
}

// keep keeps what a file holds: the text of an open document, else the bytes on
// disk. "" for no file.
func (b *shelf) keep(f *tool.File) (sha string, err error) {
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
func (b *shelf) holds(f *tool.File, sha string, buffer bool) (bool, error) {
	switch {
	case f == nil || sha == "":
		return f == nil && sha == "", nil
	case f.Open == buffer:
		return f.Digest == sha, nil
	}
	c, err := b.content(sha, buffer)
	if err != nil {
		return false, err
	}
	return !f.Binary && !c.binary && f.Text == c.Text, nil
}

// put makes a file hold something, nil for none, if it is still what was read,
// and returns what it was and is. The error is that of [Desk.Restore], or says
// that what the file is now could not be kept; written is whether it is another
// now.
func (b *shelf) put(ctx context.Context, path string, now *tool.File, to *Content, label string) (kept activity.Kept, written bool, err error) {
	kept = activity.Kept{URI: tool.URI(path)}
	base := ""
	if now != nil {
		base, kept.Buffer = now.Digest, now.Open
	}
	if kept.Before, err = b.keep(now); err != nil {
		return kept, false, err
	}
	if err := b.desk.Restore(ctx, path, base, to, label); err != nil {
		return kept, false, err
	}
	if to == nil {
		return kept, true, nil
	}
	// From here on the file is another: what it is must be known, whatever becomes
	// of the request.
	after, err := b.read(context.WithoutCancel(ctx), path)
	if err != nil || after == nil || after.Open != kept.Buffer || !after.Binary && !tool.SameLines(after.Text, to.Text) {
		after = &tool.File{Text: to.Text, Open: kept.Buffer, Data: to.Data} // somebody is quicker, or the editor has not told it yet
		if after.Data == nil {
			after.Data = []byte(to.Text)
		}
	}
	kept.After, err = b.keep(after)
	return kept, true, err
}

// checkpoint says in the log what files held before a person has them written,
// and returns when that is on stable storage.
func (b *shelf) checkpoint(ctx context.Context, kept []activity.Kept) error {
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
func (b *shelf) place(uri string) (path, why string, protected bool) {
	path = tool.PathOf(uri)
	if path == "" {
		return "", "It is no file on this machine.", false
	}
	p, err := tool.Resolve(b.env, path)
	switch {
	case err != nil && !b.inside(path):
		return path, "It lies outside of the workspace.", false
	case err != nil:
		return path, because("It cannot be reached", err), false
	case p.Real != path:
		return path, "A link leads elsewhere now: to " + tool.Name(p.Real) + ".", false
	case p.Sealed != "":
		return path, "It is never written for an agent: " + p.Sealed + ".", false
	case p.IsDir():
		return path, "It is a folder now.", false
	}
	return path, "", p.Protected
}

// writable is place for the file of a history, whose steps say whether a call
// wrote it.
func (b *shelf) writable(h session.FileHistory) (path, why string) {
	path, why, protected := b.place(h.URI)
	if why == "" && protected && !wroteByCall(h.Steps) {
		why = "It lies in a protected place, and no call that somebody allowed wrote it."
	}
	return path, why
}

// wroteByCall reports whether a call wrote the file.
func wroteByCall(steps []session.FileStep) bool {
	return slices.ContainsFunc(steps, func(st session.FileStep) bool { return st.Call != "" && st.Complete })
}

func (b *shelf) inside(path string) bool {
	for _, folder := range append([]string{b.env.Folder}, b.env.Folders...) {
		if tool.Within(folder, path) {
			return true
		}
	}
	return false
}

// name is a file as patches and people are told it: relative to the workspace
// folder that it lies in.
func (b *shelf) name(uri string) string {
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

// because is a sentence with the reason that an error gives.
func because(what string, err error) string {
	return what + ": " + strings.TrimSuffix(fault.Message(err), ".") + "."
}
