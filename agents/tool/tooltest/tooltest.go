// Package tooltest holds what every [tool.Tool] must do, as a test suite, and a
// workspace on disk to do it in.
//
// Call [Conform] for each tool of a package; the doc of the interface says what
// it holds them to.
package tooltest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Workspace is a folder with files, and what an editor has open over them. It
// implements [tool.Files] and [tool.Edits] and is safe for concurrent use.
type Workspace struct {
	Folder  string   // absolute, canonical
	Unsaved []string // what Save answers

	// BeforeWrite, if not nil, runs before each write looks at the file.
	BeforeWrite func(path string)

	mu   sync.Mutex
	open map[string]*tool.File
}

// New returns a workspace in a temporary folder with the files; their names
// have slashes.
func New(t testing.TB, files map[string]string) *Workspace {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &Workspace{Folder: filepath.Join(folder, "proj"), open: make(map[string]*tool.File)}
	if err := os.MkdirAll(w.Folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		w.Put(t, name, text)
	}
	return w
}

// Path returns the absolute path of a file of the workspace.
func (w *Workspace) Path(name string) string {
	return filepath.Join(w.Folder, filepath.FromSlash(name))
}

// Put writes a file behind the tools' back.
func (w *Workspace) Put(t testing.TB, name, text string) {
	t.Helper()
	path := w.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Text returns what is on disk, "" for nothing.
func (w *Workspace) Text(name string) string {
	data, err := os.ReadFile(w.Path(name))
	if err != nil {
		return ""
	}
	return string(data)
}

// Edit opens a file in the editor and changes it without saving.
func (w *Workspace) Edit(name, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[w.Path(name)] = &tool.File{Path: w.Path(name), Text: text, Open: true, Dirty: true, Version: 2,
		Digest: digest(text), Type: "text/plain"}
}

// Env returns the environment of a call in the workspace: trusted, with this
// process's own PATH and HOME.
func (w *Workspace) Env() *tool.Env {
	var environ []string
	for _, e := range os.Environ() {
		if strings.HasPrefix(e, "PATH=") || strings.HasPrefix(e, "HOME=") {
			environ = append(environ, e)
		}
	}
	return &tool.Env{
		Session: "s", Run: "r", Call: "r#1-0", Agent: "helper",
		Folder: w.Folder, Folders: []string{w.Folder}, Trusted: true,
		Home:  filepath.Join(filepath.Dir(w.Folder), "home"),
		Files: w, Edits: w, Seen: tool.NewSeen(), Now: time.Now,
		Environ: environ, Slots: make(chan struct{}, 4), Progress: func(string) {},
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Read implements [tool.Files]. What it opens it opens through a handle of the
// folder, so that no link leads out.
func (w *Workspace) Read(_ context.Context, path string) (*tool.File, error) {
	w.mu.Lock()
	f, ok := w.open[path]
	w.mu.Unlock()
	if ok {
		return f, nil
	}
	root, err := os.OpenRoot(w.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	rel, err := filepath.Rel(w.Folder, path)
	if err != nil {
		return nil, err
	}
	info, err := root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "tooltest.read", "%s does not exist", rel)
	case err != nil:
		return nil, fault.New(fault.Denied, "tooltest.read", "%w", err)
	case !info.Mode().IsRegular():
		return nil, fault.New(fault.Denied, "tooltest.read", "%s is no regular file", rel)
	}
	data, err := root.ReadFile(rel)
	if err != nil {
		return nil, fault.New(fault.Denied, "tooltest.read", "%w", err)
	}
	f = &tool.File{Path: path, Data: data, Digest: digest(string(data)), Type: http.DetectContentType(data)}
	if f.Binary = bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data); !f.Binary {
		f.Text = string(data)
	}
	return f, nil
}

// Open implements [tool.Files].
func (w *Workspace) Open() []*tool.File {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*tool.File
	for _, f := range w.open {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *tool.File) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// Write implements [tool.Edits]: into the buffer of an open file, else to disk,
// through a handle as Read does.
func (w *Workspace) Write(ctx context.Context, path, base, text, _ string) error {
	if w.BeforeWrite != nil {
		w.BeforeWrite(path)
	}
	now, err := w.Read(ctx, path)
	switch {
	case err != nil && fault.KindOf(err) != fault.NotFound:
		return err
	case err == nil && now.Digest != base, err != nil && base != "":
		return fault.New(fault.Stale, "tooltest.write", "the file is not what it was")
	}
	if err == nil && now.Open {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open[path] = &tool.File{Path: path, Text: text, Open: true, Dirty: true, Version: now.Version + 1,
			Digest: digest(text), Type: now.Type}
		return nil
	}
	root, err := os.OpenRoot(w.Folder)
	if err != nil {
		return err
	}
	defer root.Close()
	rel, err := filepath.Rel(w.Folder, path)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return fault.New(fault.Denied, "tooltest.write", "%w", err)
	}
	if err := root.WriteFile(rel, []byte(text), 0o644); err != nil {
		return fault.New(fault.Denied, "tooltest.write", "%w", err)
	}
	return nil
}

// Delete implements [tool.Edits].
func (w *Workspace) Delete(ctx context.Context, path, base, _ string) error {
	now, err := w.Read(ctx, path)
	switch {
	case err != nil:
		return err
	case now.Digest != base:
		return fault.New(fault.Stale, "tooltest.delete", "the file is not what it was")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, path)
	return os.Remove(path)
}

// Move implements [tool.Edits].
func (w *Workspace) Move(ctx context.Context, from, to, base, label string) error {
	now, err := w.Read(ctx, from)
	if err != nil {
		return err
	}
	if err := w.Write(ctx, to, "", string(now.Data), label); err != nil {
		return err
	}
	return w.Delete(ctx, from, base, label)
}

// Save implements [tool.Edits].
func (w *Workspace) Save(context.Context, string) []string { return w.Unsaved }

// Wrote implements [tool.Edits].
func (w *Workspace) Wrote([]string) {}

// Run plans a call, permits it for a run that goes on when ctx ends, and runs it. What
// either step refuses is returned.
func Run(ctx context.Context, t tool.Tool, env *tool.Env, args string) (*tool.Result, error) {
	p, err := t.Plan(ctx, env, json.RawMessage(args))
	if err != nil {
		return nil, err
	}
	id := tool.Identity{Session: env.Session, Run: env.Run, Call: env.Call, Agent: env.Agent}
	return p.Run(ctx, env, tool.Mint(context.WithoutCancel(ctx), p.Digest(id)))
}

// Code returns the code of an *[tool.Error], "" for any other error and none.
func Code(err error) string {
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return e.Code
	}
	return ""
}

// Tree returns what is in the folder that holds the workspace: paths, modes,
// sizes and times.
func (w *Workspace) Tree(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(filepath.Dir(w.Folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + info.Mode().String() + info.ModTime().String() + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
