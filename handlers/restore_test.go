package handlers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/workspace"
)

// room is a folder on disk that a client has opened.
type room struct {
	*connected
	t      *testing.T
	folder string
	person agents.Frontend
	silent chan struct{} // while it is open the editor says nothing; nil = it does
	crlf   bool          // the editor ends lines with \r\n, whatever it is given
	given  []string      // the texts of the edits that it was given
}

// enter returns a room. A client that applies edits does so at once, and says so.
func enter(t *testing.T) *room {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &room{t: t, folder: folder}
	r.connected = connect(t, func(ctx context.Context, method string, params []byte) (any, error) {
		if r.silent != nil {
			<-r.silent
			return &protocol.ApplyWorkspaceEditResult{Applied: true}, nil
		}
		var p protocol.ApplyWorkspaceEditParams
		if err := (wire.Codec{}).Unmarshal(params, &p); method != protocol.MethodWorkspaceApplyEdit || err != nil {
			return nil, errors.Join(errors.New("not expected: "+method), err)
		}
		for _, c := range p.Edit.DocumentChanges {
			edits := c.(*protocol.TextDocumentEdit)
			change := workspace.Edited{URI: edits.TextDocument.URI, Version: *edits.TextDocument.Version + 1}
			for _, e := range slices.Backward(edits.Edits) { // as if from the end, so that none moves another
				e := e.(*protocol.TextEdit)
				at := rangeIn(e.Range)
				r.given = append(r.given, e.NewText)
				if r.crlf {
					e.NewText = strings.ReplaceAll(tool.LineFeeds(e.NewText), "\n", "\r\n")
				}
				change.Edits = append(change.Edits, workspace.Edit{Range: &at, Text: e.NewText})
			}
			if _, err := r.h.Workspace.Apply(change); err != nil {
				return nil, err
			}
		}
		return &protocol.ApplyWorkspaceEditResult{Applied: true}, nil
	})
	r.h.edits = editing{applies: true, versions: true}
	r.h.daemon.Reach = func() []string { return []string{folder} }
	r.person = r.h.person(nil)
	return r
}

func (r *room) path(name string) string { return filepath.Join(r.folder, filepath.FromSlash(name)) }

func (r *room) has(name, data string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(data), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// holds fails where a file on disk holds something else; "-" for no file.
func (r *room) holds(name, want string) {
	r.t.Helper()
	data, err := os.ReadFile(r.path(name))
	got := string(data)
	if errors.Is(err, fs.ErrNotExist) {
		got = "-"
	}
	if got != want {
		r.t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// opens opens a file in the editor as it is on disk, and types a text.
func (r *room) opens(name, typed string) {
	r.t.Helper()
	f, err := r.person.Read(r.t.Context(), r.path(name))
	if err != nil {
		r.t.Fatal(err)
	}
	u := uri.File(r.path(name))
	if _, err := r.h.Workspace.Apply(workspace.Opened{URI: u, Version: 1, Text: f.Text}); err != nil {
		r.t.Fatal(err)
	}
	d, _ := r.h.Workspace.Snapshot().Document(u)
	d.Dirty() // compared with the file now, as when a client opens it
	if typed != f.Text {
		if _, err := r.h.Workspace.Apply(workspace.Edited{URI: u, Version: 2, Edits: []workspace.Edit{{Text: typed}}}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *room) buffer(name string) string {
	d, ok := r.h.Workspace.Snapshot().DocumentAt(r.path(name))
	if !ok {
		return "-"
	}
	return d.Text
}

func (r *room) restore(name, base string, to *agents.Content) error {
	return r.person.Restore(r.t.Context(), r.path(name), base, to, "restore")
}

func digest(data string) string { return string(workspace.DigestOf(data)) }

// units is a text in UTF-16 with its mark.
func units(text string) string {
	data := "\xff\xfe"
	for _, c := range []byte(text) {
		data += string([]byte{c, 0})
	}
	return data
}

// TestRestore: exactly what is asked for comes to lie on disk, in place of
// exactly what was there.
func TestRestore(t *testing.T) {
	for name, c := range map[string]struct {
		was  string // "-": no file
		base string // "" = of what was
		to   *agents.Content
		want string // "" = as it was
		kind fault.Kind
	}{
		"bytes":                 {was: "a\n", to: &agents.Content{Text: "b", Data: []byte("b\r\n\x00")}, want: "b\r\n\x00"},
		"no final newline":      {was: "a\r\n", to: &agents.Content{Text: "a\nb"}, want: "a\nb"},
		"text in its charset":   {was: units("a\n"), to: &agents.Content{Text: "b"}, want: units("b")},
		"text with its mark":    {was: "\ufeffa", to: &agents.Content{Text: "b"}, want: "\ufeffb"},
		"empty":                 {was: "a", to: &agents.Content{Data: []byte{}}, want: ""},
		"in place of no text":   {was: "\x00", to: &agents.Content{Text: "b"}, want: "b"},
		"a new file":            {was: "-", to: &agents.Content{Text: "b\r"}, want: "b\r"},
		"no file":               {was: "a", want: "-"},
		"still no file":         {was: "-", want: "-"},
		"another file":          {was: "a", base: digest("b"), to: &agents.Content{Text: "c"}, want: "a", kind: fault.Stale},
		"another file goes":     {was: "a", base: digest("b"), want: "a", kind: fault.Stale},
		"a file that has gone":  {was: "-", base: digest("b"), to: &agents.Content{Text: "c"}, want: "-", kind: fault.Stale},
		"gone already":          {was: "-", base: digest("b"), want: "-", kind: fault.Stale},
		"a file that came":      {was: "a", base: "-", to: &agents.Content{Text: "b"}, want: "a", kind: fault.Stale},
		"a file that is folder": {was: "/", base: "-", to: &agents.Content{Text: "b"}, kind: fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			r := enter(t)
			switch c.was {
			case "-":
			case "/":
				r.has("sub/f/x", "x")
			default:
				r.has("sub/f", c.was)
			}
			base := c.base
			if base == "" && c.was != "-" {
				base = digest(c.was)
			} else if base == "-" {
				base = ""
			}
			err := r.restore("sub/f", base, c.to)
			if (c.kind == 0 && err != nil) || (c.kind != 0 && fault.KindOf(err) != c.kind) {
				t.Errorf("%v, want %v", err, c.kind)
			}
			if c.was != "/" {
				r.holds("sub/f", c.want)
			}
		})
	}
	r := enter(t)
	if err := r.person.Restore(t.Context(), filepath.Join(t.TempDir(), "x"), "", &agents.Content{Text: "x"}, ""); fault.KindOf(err) != fault.Denied {
		t.Errorf("outside: %v", err)
	}
}

// TestRestoreThroughTheEditor: what is open there is changed there, if it is what
// it was; what cannot be changed there is left.
func TestRestoreThroughTheEditor(t *testing.T) {
	r := enter(t)
	r.has("a", "on disk\n")
	r.opens("a", "typed\n")
	if err := r.restore("a", digest("on disk\n"), &agents.Content{Text: "x"}); fault.KindOf(err) != fault.Stale {
		t.Errorf("as it was on disk: %v", err)
	}
	if err := r.restore("a", digest("typed\n"), nil); fault.KindOf(err) != fault.Denied {
		t.Errorf("taken away: %v", err)
	}
	if err := r.restore("a", digest("typed\n"), &agents.Content{Text: "before\nit\n", Data: []byte("\ufeffbefore\nit\n")}); err != nil {
		t.Error(err)
	}
	if got := r.buffer("a"); got != "before\nit\n" {
		t.Errorf("the buffer is %q", got)
	}
	r.holds("a", "on disk\n")

	// A client that takes no edits reads a clean file again; a dirty one is left.
	r.h.edits.applies = false
	if err := r.restore("a", digest("before\nit\n"), &agents.Content{Text: "x"}); fault.KindOf(err) != fault.Denied {
		t.Errorf("a dirty one: %v", err)
	}
	r.has("b", units("clean\n"))
	r.opens("b", "clean\n")
	if err := r.restore("b", digest("clean\n"), &agents.Content{Text: "x\n"}); err != nil {
		t.Error(err)
	}
	r.holds("b", units("x\n"))
	r.has("c", "clean\n")
	r.opens("c", "clean\n")
	r.has("c", "changed below it\n")
	if err := r.restore("c", digest("clean\n"), &agents.Content{Text: "x\n"}); fault.KindOf(err) != fault.Stale {
		t.Errorf("another one on disk: %v", err)
	}
	r.holds("c", "changed below it\n")
}

// TestRestoreAtASilentEditor: an editor that never says whether it applied an edit
// holds nobody up for ever.
func TestRestoreAtASilentEditor(t *testing.T) {
	r := enter(t)
	r.has("a", "on disk\n")
	r.opens("a", "typed\n")
	r.silent, r.h.edits.within = make(chan struct{}), 10*time.Millisecond
	defer close(r.silent)
	if err := r.restore("a", digest("typed\n"), &agents.Content{Text: "before\n"}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("without an answer: %v", err)
	}
	if got := r.buffer("a"); got != "typed\n" {
		t.Errorf("the buffer is %q", got)
	}
}

// edit runs edit_file in a room, as a run would: between is called when the call
// is planned.
func (r *room) edit(name, old, fresh string, between func()) (*tool.Result, error) {
	r.t.Helper()
	env := r.env()
	if f, err := r.person.Read(r.t.Context(), r.path(name)); err == nil {
		env.Seen.Note(r.path(name), f.Digest)
	}
	return r.callBetween(env, "edit_file", map[string]any{"file_path": name, "old_string": old, "new_string": fresh}, between)
}

// intact fails where a file is not what it was, or something lies beside it.
func (r *room) intact(name, want string) {
	r.t.Helper()
	r.holds(name, want)
	list, err := os.ReadDir(r.folder)
	if err != nil || len(list) != 1 {
		r.t.Errorf("%v, %v", list, err)
	}
}

// TestREL79EditsThatFail leave the file as it is, nothing beside it, and say
// precisely why.
func TestREL79EditsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		between func(r *room)
		code    string
		says    string
		want    string // on disk afterwards
	}{
		"changed between read and write": {func(r *room) { r.has("f", "by hand\n") }, tool.CodeStale, "changed while the call was decided about (it is now ", "by hand\n"},
		"gone": {func(r *room) {
			if err := os.Remove(r.path("f")); err != nil {
				t.Fatal(err)
			}
			r.has("other", "")
		}, tool.CodeStale, "it is gone", "-"},
		"read-only": {func(r *room) {
			if err := os.Chmod(r.path("f"), 0o444); err != nil {
				t.Fatal(err)
			}
		}, tool.CodeDenied, "read-only; make it writable", "one\n"},
		"typed in the editor": {func(r *room) { r.opens("f", "typed\n") }, tool.CodeStale, "changed while the call was decided about", "one\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := enter(t)
			r.has("f", "one\n")
			_, err := r.edit("f", "one", "two", func() { c.between(r) })
			if tooltest.Code(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", tooltest.Code(err), err)
			}
			r.intact("f", c.want)
		})
	}
	t.Run("a folder", func(t *testing.T) {
		r := enter(t)
		r.has("f/x", "x")
		if _, err := r.edit("f", "one", "two", func() { t.Error("it was planned") }); err == nil || !strings.Contains(err.Error(), "folder") {
			t.Error(err)
		}
		r.intact("f/x", "x")
	})
	t.Run("a folder took its place", func(t *testing.T) {
		r := enter(t)
		r.has("f", "one\n")
		_, err := r.edit("f", "one", "two", func() {
			if err := os.Remove(r.path("f")); err != nil {
				t.Fatal(err)
			}
			r.has("f/x", "x")
		})
		if err == nil || !strings.Contains(err.Error(), "folder") {
			t.Error(err)
		}
		r.intact("f/x", "x")
	})
}
