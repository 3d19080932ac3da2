package editortest

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/workspace"
)

// Apply makes an edit of buffers and of files that are not open, as the protocol has
// it: in its order, all of it or nothing. An edit that this editor cannot make, that
// is about another version of a buffer or without one, whose ranges overlap, or that
// would replace a file without being told to, is an error.
func (e *Editor) Apply(ctx context.Context, edit *protocol.WorkspaceEdit) error {
	e.mu.Lock()
	plan, err := e.plan(edit)
	e.mu.Unlock()
	if err != nil {
		return err
	}
	for _, step := range plan {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// planned is a file as it will be, at one point of an edit.
type planned struct {
	exists bool
	text   string
	buffer *buffer // where it is open
	edited bool
}

// planner looks at an edit before anything of it is made.
type planner struct {
	*Editor
	files map[uri.URI]*planned
	steps []func(context.Context) error
}

// plan returns the steps of an edit. It is called under the lock.
func (e *Editor) plan(edit *protocol.WorkspaceEdit) ([]func(context.Context) error, error) {
	p := &planner{Editor: e, files: map[uri.URI]*planned{}}
	switch {
	case edit.DocumentChanges != nil && e.config.NoVersions:
		e.violate("documentChanges came to an editor that does not know them")
		return nil, fmt.Errorf("documentChanges are not known")
	case edit.DocumentChanges == nil:
		for u, edits := range edit.Changes {
			if err := p.write(u, edits); err != nil {
				return nil, err
			}
		}
	}
	for _, change := range edit.DocumentChanges {
		if err := p.change(change); err != nil {
			return nil, err
		}
	}
	return p.steps, nil
}

// at returns a file as it will be.
func (p *planner) at(u uri.URI) *planned {
	if f := p.files[u]; f != nil {
		return f
	}
	f := &planned{buffer: p.bufferAt(u)}
	if f.buffer != nil {
		f.exists, f.text = true, f.buffer.text
	} else if data, err := os.ReadFile(u.FsPath()); err == nil {
		f.exists, f.text = true, string(data)
	}
	p.files[u] = f
	return f
}

// does reports whether the editor said that it makes an operation.
func (p *planner) does(kind protocol.ResourceOperationKind) error {
	if !slices.Contains(p.operations, kind) {
		p.violate("an edit has the operation %s, which the editor did not say that it makes", kind)
		return fmt.Errorf("the operation %s is not supported", kind)
	}
	return nil
}

func (p *planner) change(change protocol.DocumentChange) error {
	switch c := change.(type) {
	case *protocol.TextDocumentEdit:
		f, version := p.at(c.TextDocument.URI), c.TextDocument.Version
		switch {
		case f.buffer != nil && version == nil:
			return fmt.Errorf("%s is open, and the edit does not say for which version it is", c.TextDocument.URI)
		case f.buffer == nil && version != nil:
			return fmt.Errorf("%s is not open, and the edit is for version %d of it", c.TextDocument.URI, *version)
		case f.buffer != nil && (*version != f.buffer.version || f.edited):
			return fmt.Errorf("the buffer has version %d, the edit is for %d", f.buffer.version, *version)
		}
		var edits []protocol.TextEdit
		for _, element := range c.Edits {
			switch t := element.(type) {
			case *protocol.TextEdit:
				edits = append(edits, *t)
			case *protocol.AnnotatedTextEdit:
				if !p.annotates {
					p.violate("an edit is annotated, and the editor did not say that it knows that")
				}
				edits = append(edits, t.TextEdit)
			default:
				return fmt.Errorf("%T is not supported", element)
			}
		}
		return p.write(c.TextDocument.URI, edits)
	case *protocol.CreateFile:
		if err := p.does(protocol.ResourceOperationKindCreate); err != nil {
			return err
		}
		f := p.at(c.URI)
		if f.exists {
			if c.Options != nil && (is(c.Options.Overwrite) || is(c.Options.IgnoreIfExists)) {
				return fmt.Errorf("%s is there, and the fake editor replaces nothing", c.URI)
			}
			return fmt.Errorf("%s is there already", c.URI)
		}
		f.exists = true
		p.steps = append(p.steps, func(context.Context) error {
			if err := os.MkdirAll(filepath.Dir(c.URI.FsPath()), 0o755); err != nil {
				return err
			}
			return os.WriteFile(c.URI.FsPath(), nil, 0o644)
		})
	case *protocol.RenameFile:
		if err := p.does(protocol.ResourceOperationKindRename); err != nil {
			return err
		}
		from, to := p.at(c.OldURI), p.at(c.NewURI)
		if !from.exists || to.exists {
			return fmt.Errorf("%s cannot be renamed to %s: one is there %v, the other %v", c.OldURI, c.NewURI,
				from.exists, to.exists)
		}
		p.files[c.NewURI], p.files[c.OldURI] = from, to
		p.steps = append(p.steps, func(ctx context.Context) error { return p.move(ctx, c.OldURI, c.NewURI) })
	case *protocol.DeleteFile:
		if err := p.does(protocol.ResourceOperationKindDelete); err != nil {
			return err
		}
		f := p.at(c.URI)
		if !f.exists {
			return fmt.Errorf("%s is not there", c.URI)
		}
		f.exists = false
		p.steps = append(p.steps, func(ctx context.Context) error { return p.remove(ctx, c.URI) })
	default:
		return fmt.Errorf("%T is not supported", change)
	}
	return nil
}

func is(b *bool) bool { return b != nil && *b }

// write plans the edits of one text.
func (p *planner) write(u uri.URI, edits []protocol.TextEdit) error {
	f := p.at(u)
	if !f.exists {
		return fmt.Errorf("%s is not there", u)
	}
	text, err := Edited(f.text, edits, workspace.Negotiate([]string{string(p.Caps.PositionEncoding)}))
	if err != nil {
		return fmt.Errorf("%s: %w", u, err)
	}
	if p.config.CRLF {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	f.text, f.edited = text, true
	p.steps = append(p.steps, func(ctx context.Context) error {
		if f.buffer != nil {
			return p.set(ctx, f.buffer, text)
		}
		mode := fs.FileMode(0o644)
		if info, err := os.Stat(u.FsPath()); err == nil {
			mode = info.Mode()
		}
		return os.WriteFile(u.FsPath(), []byte(text), mode)
	})
	return nil
}

// remove deletes a file. A buffer of it is closed, as VS Code and Neovim do.
func (e *Editor) remove(ctx context.Context, u uri.URI) error {
	if err := os.Remove(u.FsPath()); err != nil {
		return err
	}
	e.mu.Lock()
	b := e.bufferAt(u)
	e.mu.Unlock()
	if b == nil {
		return nil
	}
	e.update(func() {
		maps.DeleteFunc(e.buffers, func(_ string, other *buffer) bool { return other == b })
	})
	var shut protocol.DidCloseTextDocumentParams
	shut.TextDocument.URI = b.uri
	return e.conn.Notify(ctx, protocol.MethodTextDocumentDidClose, &shut)
}

// move gives a file another name. A buffer of it is closed and opened by that, with
// what was not saved.
func (e *Editor) move(ctx context.Context, from, to uri.URI) error {
	if err := os.Rename(from.FsPath(), to.FsPath()); err != nil {
		return err
	}
	e.mu.Lock()
	b := e.bufferAt(from)
	e.mu.Unlock()
	if b == nil {
		return nil
	}
	name, err := filepath.Rel(e.config.Dir, to.FsPath())
	if err != nil {
		return err
	}
	var shut protocol.DidCloseTextDocumentParams
	shut.TextDocument.URI = from
	var open protocol.DidOpenTextDocumentParams
	e.update(func() {
		for old, other := range e.buffers {
			if other == b {
				delete(e.buffers, old)
			}
		}
		b.uri, b.version = to, 1
		e.buffers[filepath.ToSlash(name)], e.reopened[to] = b, true
		open.TextDocument.URI, open.TextDocument.Version, open.TextDocument.Text = to, 1, b.text
		open.TextDocument.LanguageID = languageOf(to.FsPath())
	})
	if err := e.conn.Notify(ctx, protocol.MethodTextDocumentDidClose, &shut); err != nil {
		return err
	}
	return e.conn.Notify(ctx, protocol.MethodTextDocumentDidOpen, &open)
}

// RenameFile gives a file another name as a person does in a list of files: the
// daemon is asked first, where it wants to be, and its edit is made. The names are
// relative to the editor's folder. The edit is returned.
func (e *Editor) RenameFile(ctx context.Context, from, to string) (*protocol.WorkspaceEdit, error) {
	old, next := uri.File(e.path(from)), uri.File(e.path(to))
	var edit *protocol.WorkspaceEdit
	if w := e.Caps.Workspace; w != nil && w.FileOperations != nil && len(w.FileOperations.WillRename.Filters) > 0 {
		p := &protocol.RenameFilesParams{Files: []protocol.FileRename{{OldURI: string(old), NewURI: string(next)}}}
		if err := e.conn.Call(ctx, protocol.MethodWorkspaceWillRenameFiles, p, &edit); err != nil {
			return nil, err
		}
	}
	if edit != nil {
		if err := e.Apply(ctx, edit); err != nil {
			return edit, err
		}
	}
	return edit, e.move(ctx, old, next)
}

// apply makes the edit of workspace/applyEdit.
func (e *Editor) apply(ctx context.Context, p protocol.ApplyWorkspaceEditParams) (any, error) {
	for _, a := range p.Edit.ChangeAnnotations {
		if is(a.NeedsConfirmation) { // the person looks at it first: reply apply
			if r, err := e.reply(ctx); err != nil || r.Choice != "apply" {
				return &protocol.ApplyWorkspaceEditResult{}, err
			}
		}
	}
	if err := e.Apply(ctx, &p.Edit); err != nil {
		why := err.Error()
		return &protocol.ApplyWorkspaceEditResult{FailureReason: &why}, nil
	}
	return &protocol.ApplyWorkspaceEditResult{Applied: true}, nil
}

// Edited applies edits whose ranges are all about the same text, as LSP has it: none
// may overlap, and those that insert at one place do so in their order.
func Edited(text string, edits []protocol.TextEdit, encoding workspace.Encoding) (string, error) {
	type span struct {
		start, end int
		text       string
	}
	var spans []span
	for _, edit := range edits {
		start, err := workspace.Offset(text, workspace.Position(edit.Range.Start), encoding)
		if err != nil {
			return "", err
		}
		end, err := workspace.Offset(text, workspace.Position(edit.Range.End), encoding)
		if err != nil {
			return "", err
		}
		spans = append(spans, span{start, end, edit.NewText})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.start - b.start })
	out, last := "", 0
	for _, s := range spans {
		if s.start < last || s.end < s.start {
			return "", fmt.Errorf("two edits overlap: %+v", edits)
		}
		out += text[last:s.start] + s.text
		last = s.end
	}
	return out + text[last:], nil
}

// languageOf returns the language of a file as editors call it.
func languageOf(name string) protocol.LanguageKind {
	ending := strings.TrimPrefix(filepath.Ext(name), ".")
	known := map[string]string{"md": "markdown", "txt": "plaintext", "py": "python",
		"js": "javascript", "ts": "typescript"}
	return protocol.LanguageKind(cmp.Or(known[ending], ending))
}
