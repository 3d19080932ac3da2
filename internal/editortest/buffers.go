package editortest

// The open documents of an editor.

import (
	"context"
	"fmt"
	"os"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// Open opens a file in a buffer.
func (e *Editor) Open(ctx context.Context, name string) error {
	text, err := os.ReadFile(e.path(name))
	if err != nil {
		return err
	}
	return e.Restore(ctx, name, string(text))
}

// Restore opens a file with a text that was not saved when the editor, or the
// daemon, ended before.
func (e *Editor) Restore(ctx context.Context, name, text string) error {
	b := &buffer{uri: uri.File(e.path(name)), version: 1, text: text}
	e.update(func() { e.buffers[name], e.reopened[b.uri] = b, true })
	p := &protocol.DidOpenTextDocumentParams{}
	p.TextDocument.URI, p.TextDocument.Version, p.TextDocument.Text = b.uri, b.version, b.text
	p.TextDocument.LanguageID = languageOf(name)
	return e.conn.Notify(ctx, protocol.MethodTextDocumentDidOpen, p)
}

// Type replaces a buffer's text.
func (e *Editor) Type(ctx context.Context, name, text string) error {
	e.mu.Lock()
	b := e.buffers[name]
	e.mu.Unlock()
	if b == nil {
		return fmt.Errorf("%s is not open", name)
	}
	return e.set(ctx, b, text)
}

// set gives a buffer a new text and tells the daemon.
func (e *Editor) set(ctx context.Context, b *buffer, text string) error {
	var p protocol.DidChangeTextDocumentParams
	e.update(func() {
		b.undo = append(b.undo, b.text)
		b.version++
		b.text = text
		p.TextDocument.URI, p.TextDocument.Version = b.uri, b.version
		p.ContentChanges = []protocol.TextDocumentContentChangeEvent{&protocol.TextDocumentContentChangeWholeDocument{Text: text}}
	})
	return e.conn.Notify(ctx, protocol.MethodTextDocumentDidChange, &p)
}

// Undo takes a buffer's last change back.
func (e *Editor) Undo(ctx context.Context, name string) error {
	e.mu.Lock()
	b := e.buffers[name]
	if b == nil || len(b.undo) == 0 {
		e.mu.Unlock()
		return fmt.Errorf("%s has nothing to undo", name)
	}
	before := b.undo[len(b.undo)-1]
	b.undo = b.undo[:len(b.undo)-1]
	e.mu.Unlock()
	return e.set(ctx, b, before)
}

// Save writes a buffer to disk.
func (e *Editor) Save(ctx context.Context, name string) error {
	e.mu.Lock()
	b := e.buffers[name]
	e.mu.Unlock()
	if b == nil {
		return fmt.Errorf("%s is not open", name)
	}
	if err := os.WriteFile(e.path(name), []byte(b.text), 0o644); err != nil {
		return err
	}
	p := &protocol.DidSaveTextDocumentParams{}
	p.TextDocument.URI = b.uri
	return e.conn.Notify(ctx, protocol.MethodTextDocumentDidSave, p)
}

// SaveClosed closes a buffer and writes it to disk then, as VS Code does with files that a
// rename changes and that nobody looks at.
func (e *Editor) SaveClosed(ctx context.Context, name string) error {
	e.mu.Lock()
	b := e.buffers[name]
	e.mu.Unlock()
	if err := e.CloseFile(ctx, name); err != nil {
		return err
	}
	if err := os.WriteFile(e.path(name), []byte(b.text), 0o644); err != nil {
		return err
	}
	p := &protocol.DidSaveTextDocumentParams{}
	p.TextDocument.URI = b.uri
	return e.conn.Notify(ctx, protocol.MethodTextDocumentDidSave, p)
}

// CloseFile closes a buffer without saving it.
func (e *Editor) CloseFile(ctx context.Context, name string) error {
	e.mu.Lock()
	b := e.buffers[name]
	delete(e.buffers, name)
	e.mu.Unlock()
	if b == nil {
		return fmt.Errorf("%s is not open", name)
	}
	p := &protocol.DidCloseTextDocumentParams{}
	p.TextDocument.URI = b.uri
	return e.conn.Notify(ctx, protocol.MethodTextDocumentDidClose, p)
}

// Buffer returns the text of an open file.
func (e *Editor) Buffer(name string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.buffers[name]; b != nil {
		return b.text, nil
	}
	return "", fmt.Errorf("%s is not open", name)
}
