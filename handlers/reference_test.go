package handlers

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// TestSEC20ReferencesGiveNoCredentials: what a request names beside its input is
// sent to the model only where an agent may read it: no file of credentials, by
// no name, and nothing outside of the workspace, though it is open.
func TestSEC20ReferencesGiveNoCredentials(t *testing.T) {
	r := enter(t)
	r.has(".env", canary)
	r.has("ok.txt", canary)
	outside := filepath.Join(t.TempDir(), "out.txt")
	if err := os.WriteFile(outside, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link.txt": r.path(".env"), "out.txt": outside, "loop.txt": r.path("loop.txt")} {
		if err := os.Symlink(target, r.path(name)); err != nil {
			noLink(t, err)
		}
	}
	if err := os.Link(r.path(".env"), r.path("hard.txt")); err != nil {
		noLink(t, err)
	}
	for _, path := range []string{r.path("link.txt"), "/home/x/.ssh/id_rsa"} {
		if _, err := r.h.Workspace.Apply(workspace.Opened{URI: uri.File(path), Version: 1, Text: canary}); err != nil {
			t.Fatal(err)
		}
	}
	env := r.h.lookingFrom("")
	for _, path := range []string{r.path(".env"), r.path("link.txt"), r.path("out.txt"), r.path("loop.txt"), r.path("hard.txt"), outside, "/home/x/.ssh/id_rsa"} {
		b, _ := r.h.reference(t.Context(), env, r.person, string(uri.File(path)))
		if b.Type != "resource_link" || b.Resource != nil || !strings.Contains(b.Name, "not given to agents") {
			t.Errorf("%s is sent: %+v %+v", path, b, b.Resource)
		}
	}
	if b, _ := r.h.reference(t.Context(), env, r.person, string(uri.File(r.path("ok.txt")))); b.Resource == nil || b.Resource.Text != canary {
		t.Errorf("control: an ordinary file is not sent: %+v", b)
	}
	t.Log("control: the same text in an ordinary file is sent whole")
	r.h.daemon.Settings = func(string) *agents.Settings { return &agents.Settings{Reveal: []string{r.path(".env")}} }
	if b, _ := r.h.reference(t.Context(), r.h.lookingFrom(""), r.person, string(uri.File(r.path(".env")))); b.Resource == nil {
		t.Errorf("what the person's settings reveal is not sent: %+v", b)
	}
}

// TestSEC68ReferencesOfUntrustedFoldersTaint: so does what is selected there.
func TestSEC68ReferencesOfUntrustedFoldersTaint(t *testing.T) {
	r := enter(t)
	r.has("a.txt", "a\n")
	folder := workspace.Folder{Name: "w", URI: uri.File(r.folder), Path: r.folder, Canonical: r.folder}
	if _, err := r.h.Workspace.Apply(workspace.FoldersSet{Folders: []workspace.Folder{folder}}); err != nil {
		t.Fatal(err)
	}
	for trusted, want := range map[bool]tool.Taint{true: tool.Clean, false: tool.Foreign} {
		r.h.daemon.Trusted = func(string) bool { return trusted }
		env, name := r.h.lookingFrom(""), string(uri.File(r.path("a.txt")))
		b, taint := r.h.reference(t.Context(), env, r.person, name)
		if b.Resource == nil || taint != want || taintOf(env, name) != want {
			t.Errorf("trusted %v: %+v, taint %q and of a selection %q", trusted, b, taint, taintOf(env, name))
		}
		if err := os.Symlink("loop.txt", r.path("loop.txt")); err == nil {
			defer os.Remove(r.path("loop.txt"))
			if taint := taintOf(env, string(uri.File(r.path("loop.txt")))); taint != tool.Foreign {
				t.Errorf("of a file of which nobody knows where it lies: %q", taint)
			}
		}
	}
}

// TestSEC55AWriteMeetsTheDocumentOfAnotherName: what the editor has open through a
// link is what an agent reads and writes by the file's own name.
func TestSEC55AWriteMeetsTheDocumentOfAnotherName(t *testing.T) {
	r := enter(t)
	r.has("real/a.txt", "one\n")
	if err := os.Symlink("real", r.path("alias")); err != nil {
		noLink(t, err)
	}
	u := uri.File(r.path("alias/a.txt"))
	for _, change := range []workspace.Change{
		workspace.Opened{URI: u, Version: 1, Text: "one\n"}, workspace.Edited{URI: u, Version: 2, Edits: []workspace.Edit{{Text: "typed\n"}}},
	} {
		if _, err := r.h.Workspace.Apply(change); err != nil {
			t.Fatal(err)
		}
	}
	f, err := r.person.Read(t.Context(), r.path("real/a.txt"))
	if err != nil || !f.Open || f.Text != "typed\n" {
		t.Fatalf("read %+v, %v", f, err)
	}
	if err := r.person.Edits("r").Write(t.Context(), r.path("real/a.txt"), f.Digest, "typed\nagent\n", "l"); err != nil {
		t.Error(err)
	}
	if got := r.buffer("alias/a.txt"); got != "typed\nagent\n" {
		t.Errorf("the buffer is %q", got)
	}
	r.holds("real/a.txt", "one\n")
	t.Log("control: before, the disk was written and the buffer was behind it")
}

// TestLostDocumentsAreNeitherReadNorWritten: of one whose change was refused
// nobody knows what the editor shows.
func TestLostDocumentsAreNeitherReadNorWritten(t *testing.T) {
	r := enter(t)
	r.has("a.txt", "one\n")
	r.opens("a.txt", "one\n")
	before, err := r.person.Read(t.Context(), r.path("a.txt"))
	if err != nil {
		t.Fatal("control: ", err)
	}
	at := &workspace.Range{Start: workspace.Position{Line: 90}, End: workspace.Position{Line: 91}}
	if _, err := r.h.Workspace.Apply(workspace.Edited{URI: uri.File(r.path("a.txt")), Version: 5, Edits: []workspace.Edit{{Range: at, Text: "x"}}}); err == nil {
		t.Fatal("the change was not refused")
	}
	for _, applies := range []bool{true, false} {
		r.h.edits.applies = applies
		_, read := r.person.Read(t.Context(), r.path("a.txt"))
		write := r.person.Edits("r").Write(t.Context(), r.path("a.txt"), before.Digest, "agent\n", "l")
		restore := r.restore("a.txt", before.Digest, &agents.Content{Text: "agent\n"})
		for what, err := range map[string]error{"read": read, "write": write, "restore": restore} {
			if fault.KindOf(err) != fault.Stale || !strings.Contains(err.Error(), "open it again") {
				t.Errorf("%s, client that applies edits %v: %v", what, applies, err)
			}
		}
	}
	r.holds("a.txt", "one\n")
}

// TestWriteBelowAnEditorThatTakesNoEdits: a file that is open and clean is written
// on disk, with the mark and the charset that it has there, if it is what the
// editor shows.
func TestWriteBelowAnEditorThatTakesNoEdits(t *testing.T) {
	for name, c := range map[string]struct {
		was, shown, want string
		kind             fault.Kind // of the refusal, where nothing is to be written
		below            string     // what a program writes when the file is open
	}{
		"plain":              {was: "one\n", shown: "one\n", want: "two\n"},
		"mark":               {was: "\ufeffone\n", shown: "one\n", want: "\ufefftwo\n"},
		"mark that is shown": {was: "\ufeffone\n", shown: "\ufeffone\n", want: "\ufefftwo\n"},
		"UTF-16":             {was: units("one\n"), shown: "one\n", want: units("two\n")},
		"restored":           {was: "other\n", shown: "one\n", want: "other\n", kind: fault.Denied},
		"changed below":      {was: "one\n", shown: "one\n", want: "other\n", kind: fault.Stale, below: "other\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := enter(t)
			r.h.edits.applies = false
			r.has("a.txt", c.was)
			if _, err := r.h.Workspace.Apply(workspace.Opened{URI: uri.File(r.path("a.txt")), Version: 1, Text: c.shown}); err != nil {
				t.Fatal(err)
			}
			f, err := r.person.Read(t.Context(), r.path("a.txt"))
			if err != nil {
				t.Fatal(err)
			}
			if c.below != "" {
				r.has("a.txt", c.below)
			}
			err = r.person.Edits("r").Write(t.Context(), r.path("a.txt"), f.Digest, "two\n", "l")
			if refused := c.kind != 0; refused != (err != nil) || (refused && fault.KindOf(err) != c.kind) {
				t.Error(err)
			}
			r.holds("a.txt", c.want)
		})
	}
}

// TestEditsKeepLineEnds: what is changed in an open document has its line ends, and an
// editor that sees to that itself is believed.
func TestEditsKeepLineEnds(t *testing.T) {
	for name, c := range map[string]struct {
		was, text, want string
		crlf            bool
	}{
		"DOS":                {"one\r\ntwo\r\n", "one\nagent\n", "one\r\nagent\r\n", false},
		"DOS, some are":      {"one\r\ntwo\r\n", "one\r\nagent\nmore\r\n", "one\r\nagent\r\nmore\r\n", false},
		"Unix":               {"one\ntwo\n", "one\nagent\r\n", "one\nagent\r\n", false},
		"mixed":              {"one\r\ntwo\n", "one\r\nagent\n", "one\r\nagent\n", false},
		"one line":           {"one", "one\nagent\n", "one\nagent\n", false},
		"one line, editor's": {"one", "one\nagent\n", "one\r\nagent\r\n", true},
		"mixed, editor's":    {"one\r\ntwo\n", "one\r\nagent\n", "one\r\nagent\r\n", true},
	} {
		r := enter(t)
		r.crlf = c.crlf
		r.has("a.txt", c.was)
		r.opens("a.txt", c.was)
		if err := r.person.Edits("r").Write(t.Context(), r.path("a.txt"), string(workspace.DigestOf(c.was)), c.text, "l"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := r.buffer("a.txt"); got != c.want {
			t.Errorf("%s: the buffer is %q, want %q", name, got, c.want)
		}
		if len(r.given) != 1 || (strings.Contains(r.given[0], "one") && c.was != "one") {
			t.Errorf("%s: a line is replaced that stays: %q", name, r.given)
		}
	}
	r := enter(t)
	r.has("a.txt", "one\r\n")
	r.opens("a.txt", "one\r\n")
	d, _ := r.h.Workspace.Snapshot().DocumentAt(r.path("a.txt"))
	err := r.h.applyChanges(t.Context(), d, []protocol.TextEdit{{NewText: "a\nb\n"}}, "a\nb\none\r\n", "l", false)
	if got := r.buffer("a.txt"); err != nil || got != "a\r\nb\r\none\r\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLineEndsComeBack: what is restored has the line ends that it had, where the
// editor lets it.
func TestLineEndsComeBack(t *testing.T) {
	for name, c := range map[string]struct {
		now, was, want string
		crlf           bool
	}{
		"mixed":               {"x\ny\n", "one\r\ntwo\n", "one\r\ntwo\n", false},
		"mixed, DOS now":      {"x\r\ny\r\n", "one\r\ntwo\n", "one\r\ntwo\n", false},
		"Unix, DOS now":       {"x\r\ny\r\n", "one\ntwo\n", "one\ntwo\n", false},
		"DOS, Unix now":       {"x\ny\n", "one\r\ntwo\r\n", "one\r\ntwo\r\n", false},
		"nothing else":        {"one\r\ntwo\r\n", "one\ntwo\n", "one\ntwo\n", false},
		"nothing at all":      {"one\r\ntwo\r\n", "one\r\ntwo\r\n", "one\r\ntwo\r\n", false},
		"mixed, the editor's": {"x\r\ny\r\n", "one\r\ntwo\n", "one\r\ntwo\r\n", true},
	} {
		r := enter(t)
		r.crlf = c.crlf
		r.has("a.txt", c.now)
		r.opens("a.txt", c.now)
		if err := r.restore("a.txt", digest(c.now), &agents.Content{Text: c.was}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := r.buffer("a.txt"); got != c.want {
			t.Errorf("%s: the buffer is %q, want %q", name, got, c.want)
		}
	}
}

// TestLineEndsAlone: where nothing but line ends would change, a document gets others
// or its editor is said to keep them.
func TestLineEndsAlone(t *testing.T) {
	write := func(r *room, base, text string) error {
		return r.person.Edits("r").Write(t.Context(), r.path("a.txt"), digest(base), text, "l")
	}
	restore := func(r *room, base, text string) error {
		return r.restore("a.txt", digest(base), &agents.Content{Text: text})
	}
	const unix, dos = "one\ntwo\n", "one\r\ntwo\r\n"
	for name, c := range map[string]struct {
		was, text string
		by        func(r *room, base, text string) error
		crlf      bool
		kept      bool
	}{
		"to DOS":                       {unix, dos, write, false, false},
		"of a mixed one":               {"one\r\ntwo\n", unix, write, false, false},
		"of a DOS one":                 {dos, unix, write, false, true},
		"of a DOS one, in part":        {dos, "one\r\ntwo\n", write, false, true},
		"restored, the editor has one": {dos, unix, restore, true, true},
	} {
		r := enter(t)
		r.crlf = c.crlf
		r.has("a.txt", c.was)
		r.opens("a.txt", c.was)
		err, want := c.by(r, c.was, c.text), c.text
		if c.kept {
			want = c.was
		}
		if said := err != nil && fault.KindOf(err) == fault.Denied && strings.Contains(err.Error(), "line ends"); said != c.kept || (!said && err != nil) {
			t.Errorf("%s: %v", name, err)
		}
		if got := r.buffer("a.txt"); got != want {
			t.Errorf("%s: the buffer is %q, want %q", name, got, want)
		}
	}
}

// belated is an editor that tells what an edit makes after it has said that it made it.
type belated struct {
	protocol.Client
	made func() // called beside the answer
}

func (l belated) ApplyEdit(context.Context, *protocol.ApplyWorkspaceEditParams) (*protocol.ApplyWorkspaceEditResult, error) {
	go l.made()
	return &protocol.ApplyWorkspaceEditResult{Applied: true}, nil
}

// TestLineEndsThatComeLate: whatever happens to other documents meanwhile, a document
// is not said to keep its line ends before the editor has told of it, or had time to.
func TestLineEndsThatComeLate(t *testing.T) {
	const dos, unix = "one\r\ntwo\r\n", "one\ntwo\n"
	nowhere := workspace.Range{Start: workspace.Position{Line: 90}, End: workspace.Position{Line: 91}}
	for name, c := range map[string]struct {
		tells *workspace.Edit // of the document; nil = nothing
		kind  fault.Kind
		waits time.Duration
	}{
		"it has others":                   {&workspace.Edit{Text: unix}, 0, 0},
		"it has what it had":              {&workspace.Edit{Text: dos}, fault.Denied, 0},
		"the editor says nothing":         {nil, fault.Denied, syncIn},
		"what it has got lost on its way": {&workspace.Edit{Range: &nowhere}, fault.Stale, syncIn},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := New(t.Context(), server.Peer{}, Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
				h.edits = editing{applies: true, versions: true}
				a, b := uri.File(filepath.Join(t.TempDir(), "a.txt")), uri.File(filepath.Join(t.TempDir(), "b.txt"))
				for _, u := range []uri.URI{a, b} {
					if _, err := h.Workspace.Apply(workspace.Opened{URI: u, Version: 1, Text: dos}); err != nil {
						t.Fatal(err)
					}
				}
				tells := []workspace.Edited{{URI: b, Version: 2, Edits: []workspace.Edit{{Text: "typed"}}}}
				if c.tells != nil {
					tells = append(tells, workspace.Edited{URI: a, Version: 2, Edits: []workspace.Edit{*c.tells}})
				}
				told := make(chan struct{})
				h.Peer.Client = belated{made: func() {
					defer close(told)
					for _, change := range tells {
						synctest.Wait() // whatever follows from what was told is done
						if _, err := h.Workspace.Apply(change); (err == nil) == (change.Edits[0].Range != nil) {
							t.Error(err)
						}
					}
				}}
				began := time.Now()
				err := h.person(nil).Restore(t.Context(), a.FsPath(), digest(dos), &agents.Content{Text: unix}, "l")
				waited := time.Since(began)
				if (c.kind == 0 && err != nil) || (c.kind != 0 && fault.KindOf(err) != c.kind) || waited != c.waits {
					t.Errorf("after %v: %v", waited, err)
				}
				<-told
			})
		})
	}
}

// noLink fails a test that could not make a link, but on Windows, where not
// everybody may.
func noLink(t *testing.T, err error) {
	t.Helper()
	if runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	t.Skip("links are not for everybody here: ", err)
}
