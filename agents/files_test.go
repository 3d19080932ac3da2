package agents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/change"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// site is a folder on disk, some of whose files are open in an editor: the
// person's side of a rewind. Texts are UTF-8; a byte order mark is no part of
// them.
type site struct {
	run.Person
	folder string

	mu       sync.Mutex
	open     map[string]string
	restored []string                                     // names, in order
	before   func(ctx context.Context, name string) error // each Restore; may be nil
}

const mark = "\ufeff"

func newSite(t *testing.T) *site {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &site{folder: folder, open: make(map[string]string)}
}

func digestOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

func (d *site) path(name string) string { return filepath.Join(d.folder, filepath.FromSlash(name)) }
func (d *site) uri(name string) string  { return tool.URI(d.path(name)) }

// has makes a file hold something, behind everybody's back.
func (d *site) has(t *testing.T, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.path(name), []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// opens opens a file in the editor, with a text.
func (d *site) opens(name, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[d.path(name)] = text
}

func (d *site) closes(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, d.path(name))
}

// holds fails where a file, or its buffer, holds something else; "-" for no file.
func (d *site) holds(t *testing.T, files map[string]string) {
	t.Helper()
	for name, want := range files {
		got := "-"
		if f, err := d.Read(t.Context(), d.path(name)); err == nil {
			got = string(f.Data)
			if f.Open {
				got = f.Text
			}
		}
		if got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func (d *site) Read(ctx context.Context, path string) (*tool.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	text, open := d.open[path]
	d.mu.Unlock()
	if open {
		return &tool.File{Path: path, Text: text, Open: true, Digest: digestOf(text)}, nil
	}
	data, err := os.ReadFile(path)
	switch {
	case os.IsNotExist(err):
		return nil, fault.New(fault.NotFound, "site", "there is no %s", path)
	case err != nil:
		return nil, fault.New(fault.Unavailable, "site", "%w", err)
	}
	f := &tool.File{Path: path, Data: data, Digest: digestOf(string(data))}
	if text, ok := d.Decode(data); ok {
		f.Text = text
	} else {
		f.Binary = true
	}
	return f, nil
}

func (d *site) Look(ctx context.Context, path string) (*tool.File, error) { return d.Read(ctx, path) }

func (d *site) Open() []*tool.File { return nil }

func (d *site) Edits(string) tool.Edits { return siteEdits{d} }

func (d *site) Languages() tool.Languages { return nil }

func (d *site) Ask(string, string, string) tool.Ask { return nil }

func (d *site) Decode(data []byte) (string, bool) {
	return strings.TrimPrefix(string(data), mark), utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

func (d *site) Restore(ctx context.Context, path, base string, to *Content, label string) error {
	name, _ := filepath.Rel(d.folder, path)
	if d.before != nil {
		if err := d.before(ctx, name); err != nil {
			return err
		}
	}
	now, err := d.Read(ctx, path)
	switch {
	case err != nil && fault.KindOf(err) != fault.NotFound:
		return err
	case err == nil && now.Digest != base, err != nil && base != "":
		return fault.New(fault.Stale, "site", "it is another file")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.restored = append(d.restored, name)
	if _, open := d.open[path]; open {
		if to == nil {
			return fault.New(fault.Denied, "site", "it is open")
		}
		d.open[path] = to.Text
		return nil
	}
	if to == nil {
		return os.Remove(path)
	}
	data := to.Data
	if data == nil {
		data = []byte(to.Text)
		if now != nil && bytes.HasPrefix(now.Data, []byte(mark)) {
			data = []byte(mark + to.Text)
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// siteEdits is how a run changes files of a site.
type siteEdits struct{ d *site }

func (e siteEdits) Write(ctx context.Context, path, base, text, label string) error {
	return e.d.Restore(ctx, path, base, &Content{Text: text}, label)
}

func (e siteEdits) Delete(ctx context.Context, path, base, label string) error {
	return e.d.Restore(ctx, path, base, nil, label)
}

func (e siteEdits) Move(ctx context.Context, from, to, base, label string) error {
	f, err := e.d.Read(ctx, from)
	if err != nil {
		return err
	}
	if err := e.d.Restore(ctx, to, "", &Content{Data: f.Data}, label); err != nil {
		return err
	}
	return e.Delete(ctx, from, base, label)
}

func (e siteEdits) Save(context.Context, string) []string { return nil }

func (e siteEdits) Wrote([]string) {}

// history is a session in which agents write files of a site.
type history struct {
	*site
	t    *testing.T
	dir  string // of the sessions
	s    *Service
	conv *conversation
	run  string // that goes on
	turn int
}

// begins returns a session that has nothing yet.
func begins(t *testing.T) *history {
	t.Helper()
	h := &history{site: newSite(t), t: t, dir: t.TempDir()}
	h.s = h.service(h.dir, nil)
	id, err := h.s.NewSession("", "")
	if err != nil {
		t.Fatal(err)
	}
	h.load(id)
	return h
}

// service returns a service over a folder of sessions, in which the site is the
// workspace. files writes the logs; nil is the machine's.
func (h *history) service(dir string, files activity.Files) *Service {
	h.t.Helper()
	s := NewService(h.t.Context(), Config{
		Agents: registry.New(registry.Config{}).Snapshot, Sessions: session.New(session.Config{Dir: dir, Folder: h.folder, Now: time.Now, Files: files}),
		Table: model.NewTable(time.Now), Settings: func(string) *Settings { return &Settings{} }, Folders: func() []string { return []string{h.folder} },
		Trusted: func(string) bool { return true }, Now: time.Now, Home: h.path("home"), Log: slog.New(slog.DiscardHandler),
	})
	h.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			h.t.Error(err)
		}
	})
	return s
}

func (h *history) load(id string) {
	h.t.Helper()
	conv, _, err := h.s.open(id) // or begins it
	if err != nil {
		h.t.Fatal(err)
	}
	h.conv = conv
}

// restarts closes the session and has another service open it.
func (h *history) restarts() {
	h.t.Helper()
	id := h.conv.ID
	if err := h.s.Close(); err != nil {
		h.t.Fatal(err)
	}
	h.s = h.service(h.dir, nil)
	h.load(id)
}

// last is the number of the newest event.
func (h *history) last() uint64 { return h.conv.Log.Last() }

func (h *history) say(b activity.Body) uint64 {
	h.t.Helper()
	seq := h.conv.Append(activity.Origin{Run: h.run, Agent: "main", Turn: h.turn}, b, 0)
	if seq == 0 {
		h.t.Fatal("the log is closed")
	}
	return seq
}

// works has a run write files, in one turn, and returns the number of its last
// event.
func (h *history) works(run string, writes ...func()) uint64 {
	h.t.Helper()
	h.starts(run)
	for _, w := range writes {
		w()
	}
	return h.ends()
}

func (h *history) starts(run string) {
	h.run, h.turn = run, 1
	h.say(activity.RunStarted{Input: []activity.ContentBlock{{Type: "text", Text: run}}})
	h.say(activity.TurnStarted{Turn: 1})
}

func (h *history) ends() uint64 {
	h.say(activity.TurnFinished{Turn: h.turn})
	h.turn = 0
	return h.say(activity.RunFinished{Reason: activity.Goal})
}

// checkpoint keeps what a file is, as a run does before it writes it.
func (h *history) checkpoint(name string) activity.Kept {
	h.t.Helper()
	k := activity.Kept{URI: h.uri(name)}
	if f, err := h.Read(h.t.Context(), h.path(name)); err == nil {
		k.Buffer = f.Open
		k.Before = h.blob(f)
	}
	h.say(activity.Checkpoint{Files: []string{k.URI}, Kept: []activity.Kept{k}})
	return k
}

func (h *history) blob(f *tool.File) string {
	h.t.Helper()
	data := f.Data
	if f.Open {
		data = []byte(f.Text)
	}
	sha, err := h.conv.PutBlob(data)
	if err != nil {
		h.t.Fatal(err)
	}
	return sha
}

// writes has the run that goes on write a file as a call does: "-" takes it away.
func (h *history) writes(name, text string) func() {
	return func() {
		h.t.Helper()
		var old *string
		if f, err := h.Read(h.t.Context(), h.path(name)); err == nil {
			old = textOf(f)
		}
		k := h.checkpoint(name)
		fresh := &text
		switch {
		case text == "-":
			fresh = nil
			if err := os.Remove(h.path(name)); err != nil {
				h.t.Fatal(err)
			}
		case k.Buffer:
			h.opens(name, text)
		default:
			h.has(h.t, name, text)
		}
		if f, err := h.Read(h.t.Context(), h.path(name)); err == nil {
			k.After = h.blob(f)
		}
		h.say(activity.FileChanged{
			Change: change.Of(k.URI, name, old, fresh), Call: h.run + "#1-" + name,
			Before: k.Before, After: k.After, Buffer: k.Buffer,
		})
	}
}

// back rewinds with files.
func (h *history) back(to uint64, force bool) *Rewound {
	h.t.Helper()
	done, err := h.s.Rewind(h.t.Context(), Rewind{Session: h.conv.ID, ToSeq: to, Files: true, Force: force, Frontend: h.site})
	if err != nil {
		h.t.Fatal(err)
	}
	return done
}

// names are the files of URIs, relative to the site.
func (h *history) names(uris []string) string {
	var list []string
	for _, u := range uris {
		list = append(list, strings.TrimPrefix(u, tool.URI(h.folder)+"/"))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// leaves fails unless a rewind left exactly these files, each with a reason that
// holds the text.
func (h *history) leaves(done *Rewound, want map[string]string) {
	h.t.Helper()
	for _, l := range done.Left {
		name := h.names([]string{l.URI})
		if why, ok := want[name]; !ok || !strings.Contains(l.Why, why) || !strings.HasSuffix(l.Why, ".") {
			h.t.Errorf("%s is left: %q, want %q", name, l.Why, why)
		}
	}
	if len(done.Left) != len(want) {
		h.t.Errorf("left %v, want %v", done.Left, want)
	}
}

// bodies are the session's events of one type, in order, with their numbers.
func bodies[B activity.Body](h *history) (seqs []uint64, list []B) {
	h.t.Helper()
	if err := h.conv.Commit(h.t.Context(), h.last()); err != nil {
		h.t.Fatal(err)
	}
	entries, err := h.conv.Log.Read(0, 100_000)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, entry := range entries {
		e, err := entry.Event(h.conv.ID)
		if err != nil {
			h.t.Fatal(err)
		}
		if b, ok := e.Body.(B); ok {
			seqs, list = append(seqs, e.Seq), append(list, b)
		}
	}
	return seqs, list
}

// copied returns a copy of a folder as it lies on disk now.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			return os.Remove(path) // its holder is dead
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return to
}
