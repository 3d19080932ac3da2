package handlers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// TestSEC54FoldersThatBecameLinks: what was resolved is opened through the
// outermost folder, and a link in it is not followed any more.
func TestSEC54FoldersThatBecameLinks(t *testing.T) {
	r := enter(t)
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "f"), []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	r.has("inner/f", racing)
	r.has(".env", canary)
	inner := r.path("inner")
	r.h.daemon.Reach = func() []string { return []string{r.folder, inner} } // a folder of its own, below another
	if err := os.Rename(inner, r.path("was")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, inner); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".env", r.path("innocent")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inner/f", "innocent"} {
		if f, err := r.person.Read(t.Context(), r.path(name)); err == nil {
			t.Errorf("%s: %q", name, f.Data)
		}
		if err := r.person.Edits("r").Write(t.Context(), r.path(name), digest(canary), edited, "x"); err == nil {
			t.Errorf("%s was written", name)
		}
		if err := r.restore(name, digest(canary), &agents.Content{Text: edited}); err == nil {
			t.Errorf("%s was restored", name)
		}
		if err := r.restore(name, digest(canary), nil); err == nil {
			t.Errorf("%s was deleted", name)
		}
		r.holds(name, canary) // and the positive control: a plain open follows the link
	}
	t.Log("positive control: os.ReadFile of each path reads the canary behind the link")
}

// TestSEC64RestoreLeavesWhatIsNoFileAnyMore: a link, a folder or a pipe in the
// place of a file stays, and so does what it leads to.
func TestSEC64RestoreLeavesWhatIsNoFileAnyMore(t *testing.T) {
	r := enter(t)
	out := t.TempDir()
	secret := filepath.Join(out, "secret")
	if err := os.WriteFile(secret, []byte(racing), 0o644); err != nil {
		t.Fatal(err)
	}
	r.has("target", racing)
	for name, target := range map[string]string{"out": secret, "in": "target", "gone": filepath.Join(out, "made"), "dir": out} {
		if err := os.Symlink(target, r.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	r.has("folder/x", racing)
	for _, name := range []string{"out", "in", "gone", "dir/secret", "dir/made", "folder"} {
		for _, base := range []string{digest(racing), ""} {
			for _, to := range []*agents.Content{{Text: edited, Data: []byte(edited)}, nil} {
				if err := r.restore(name, base, to); err == nil && !(to == nil && base == "" && (name == "dir/made")) {
					t.Errorf("%s was restored to %v", name, to)
				}
			}
		}
	}
	for _, name := range []string{"out", "in", "gone", "dir"} {
		if info, err := os.Lstat(r.path(name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", name, info, err)
		}
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != racing {
		t.Errorf("outside: %q, %v", data, err)
	}
	if all, err := os.ReadDir(out); err != nil || len(all) != 1 {
		t.Errorf("outside: %v, %v", all, err)
	}
	r.holds("target", racing)
	r.holds("folder/x", racing)
	if err := os.WriteFile(r.path("out"), []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != canary {
		t.Errorf("positive control: %q, %v", data, err)
	}
	t.Log("positive control: os.WriteFile of the path writes the file outside")
}

// TestSEC61OddNamesThroughTheEditor: the file that a URI names is the one that is
// read and changed, whatever it is called.
func TestSEC61OddNamesThroughTheEditor(t *testing.T) {
	r := enter(t)
	names := []string{"new\nline", "esc\x1b[2J", "bidi\u202egpj.exe", "-rf", strings.Repeat("n", 255), "per%20cent", "%2e%2e%2fx", "a b", "#frag?query", "quote'\"", "c1\u009b", "ünï", "semi;colon", "back\\slash"}
	for i, name := range names {
		text := fmt.Sprintf("line %d\n", i)
		r.has(name, text)
		r.opens(name, "typed "+text)
		env := r.env()
		result, err := r.call(env, "read_file", map[string]any{"file_path": name})
		if err != nil || result.Content != "typed "+text {
			t.Errorf("%q: %v, %v", name, result, err)
			continue
		}
		result, err = r.call(env, "edit_file", map[string]any{"file_path": name, "old_string": "typed", "new_string": "edited"})
		if err != nil || r.buffer(name) != "edited "+text {
			t.Errorf("%q: %v, %q", name, err, r.buffer(name))
			continue
		}
		r.holds(name, text) // the editor's to save
		if at := tool.PathOf(result.Changes[0].URI); at != r.path(name) || tool.Suspicious(result.Content) {
			t.Errorf("%q is told as %q in %q", name, at, result.Content)
		}
		if back := uri.File(r.path(name)).FsPath(); back != r.path(name) {
			t.Errorf("%q comes back from its URI as %q", name, back)
		}
	}
	result, err := r.call(r.env(), "grep", map[string]any{"pattern": "edited line"})
	if err != nil || !strings.HasPrefix(result.Content, fmt.Sprintf("%d matches", len(names))) || tool.Suspicious(result.Content) || strings.Count(result.Content, "\n") != 2+3*len(names) {
		t.Errorf("grep: %v, %v", result, err)
	}
	if all, err := os.ReadDir(r.folder); err != nil || len(all) != len(names) {
		t.Errorf("%v, %v", all, err)
	}
	t.Log("positive control: each name is on disk as it is, and makes lines and marks of its own where it is printed")
}

// TestSEC66WhatChangedSinceItWasReadIsNotOverwritten, on disk and in the editor.
func TestSEC66WhatChangedSinceItWasReadIsNotOverwritten(t *testing.T) {
	for what, c := range map[string]struct {
		open   bool
		typed  string
		change func(r *room)
		disk   string
		buffer string
		ok     bool
	}{
		"a file that changed":                   {change: func(r *room) { r.has("f", canary) }, disk: canary, buffer: "-"},
		"a file that went":                      {change: func(r *room) { _ = os.Remove(r.path("f")) }, disk: "-", buffer: "-"},
		"a file that is as it was":              {change: func(*room) {}, disk: "edited\n", buffer: "-", ok: true},
		"a buffer that changed":                 {open: true, typed: "was\n", change: func(r *room) { r.typed("f", 3, canary) }, disk: "was\n", buffer: canary},
		"a dirty buffer that changed":           {open: true, typed: "was\ntyped\n", change: func(r *room) { r.typed("f", 3, canary) }, disk: "was\n", buffer: canary},
		"a dirty buffer that is as it was":      {open: true, typed: "was\ntyped\n", change: func(*room) {}, disk: "was\n", buffer: "edited\ntyped\n", ok: true},
		"a file that was opened and typed in":   {change: func(r *room) { r.opens("f", canary) }, disk: "was\n", buffer: canary},
		"a buffer below which the file changed": {open: true, typed: "was\n", change: func(r *room) { r.has("f", canary) }, disk: canary, buffer: "edited\n", ok: true},
	} {
		t.Run(what, func(t *testing.T) {
			for _, planned := range []bool{false, true} { // it changes before the call is planned, and after
				r := enter(t)
				r.has("f", "was\n")
				if c.open {
					r.opens("f", c.typed)
				}
				env := r.env()
				if _, err := r.call(env, "read_file", map[string]any{"file_path": "f"}); err != nil {
					t.Fatal(err)
				}
				if !planned {
					c.change(r)
				}
				between := func() {
					if planned {
						c.change(r)
					}
				}
				_, err := r.callBetween(env, "edit_file", map[string]any{"file_path": "f", "old_string": "was", "new_string": "edited"}, between)
				if gone := c.disk == "-" && !planned; (c.ok && err != nil) || (!c.ok && tooltest.Code(err) != tool.CodeStale && !gone) {
					t.Errorf("planned before: %v: %v", planned, err)
				}
				r.holds("f", c.disk)
				if got := r.buffer("f"); got != c.buffer {
					t.Errorf("planned before: %v: the buffer is %q, want %q", planned, got, c.buffer)
				}
			}
		})
	}
	r := enter(t)
	r.has("f", "was\n")
	env := r.env()
	if _, err := r.call(env, "read_file", map[string]any{"file_path": "f"}); err != nil {
		t.Fatal(err)
	}
	r.has("f", canary)
	_, err := r.call(env, "write_file", map[string]any{"file_path": "f", "content": "mine"})
	if err == nil || !strings.Contains(err.Error(), digest(canary)[:12]) {
		t.Errorf("it does not tell the new hash: %v", err)
	}
	r.holds("f", canary)
	if err := os.WriteFile(r.path("f"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.holds("f", "mine")
	t.Log("positive control: os.WriteFile overwrites what somebody wrote meanwhile")
}

// typed has the person type a whole text into an open document.
func (r *room) typed(name string, version int32, text string) {
	r.t.Helper()
	if _, err := r.h.Workspace.Apply(workspace.Edited{URI: uri.File(r.path(name)), Version: version, Edits: []workspace.Edit{{Text: text}}}); err != nil {
		r.t.Fatal(err)
	}
}

// TestSEC17And20HardLinksThroughTheEditor: an editor writes a file in place, and
// with it each of its names.
func TestSEC17And20HardLinksThroughTheEditor(t *testing.T) {
	r := enter(t)
	r.has(".git/config", "[core]\n")
	r.has(".env", canary)
	for target, name := range map[string]string{".git/config": "notes.txt", ".env": "env.txt"} {
		if err := os.Link(r.path(target), r.path(name)); err != nil {
			t.Skip("no hard links here: ", err)
		}
	}
	r.opens("notes.txt", "[core]\n")
	env := r.env()
	if _, err := r.call(env, "read_file", map[string]any{"file_path": "notes.txt"}); err != nil {
		t.Fatal(err)
	}
	plan, err := r.plan(env, "edit_file", map[string]any{"file_path": "notes.txt", "old_string": "core", "new_string": "evil"})
	if err != nil || plan.Risk != tool.Protected || plan.Shape != "" {
		t.Errorf("%+v, %v", plan, err)
	}
	if got := r.buffer("notes.txt"); got != "[core]\n" {
		t.Errorf("the buffer is %q", got)
	}
	r.opens("env.txt", canary)
	for i, typed := range []string{canary, "typed " + canary} {
		r.typed("env.txt", int32(3+i), typed)
		if result, err := r.call(env, "read_file", map[string]any{"file_path": "env.txt"}); tooltest.Code(err) != tool.CodeDenied {
			t.Errorf("%v, %v", result, err)
		}
		if result, err := r.call(env, "grep", map[string]any{"pattern": "canary"}); err != nil || strings.Contains(result.Content, "inside") {
			t.Errorf("%v, %v", result, err)
		}
	}
	if f, err := r.person.Read(t.Context(), r.path("env.txt")); err != nil || !strings.Contains(f.Text, "canary") {
		t.Errorf("positive control: %v, %v", f, err)
	}
	t.Log("positive control: what the editor has open under that name holds the canary")
}

// TestSEC56AHardLinkToAFileOutsideIsBrokenOrNotWritten: on disk a write gives the
// name a file of its own; in the editor, which writes in place, it is refused.
func TestSEC56AHardLinkToAFileOutsideIsBrokenOrNotWritten(t *testing.T) {
	r := enter(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"open.txt", "shut.txt"} {
		if err := os.Link(outside, r.path(name)); err != nil {
			t.Skip("no hard links here: ", err)
		}
	}
	r.has("own.txt", canary)
	r.opens("open.txt", canary)
	r.opens("own.txt", canary)
	env := r.env()
	for name, code := range map[string]string{"open.txt": tool.CodeDenied, "shut.txt": "", "own.txt": ""} {
		if result, err := r.call(env, "read_file", map[string]any{"file_path": name}); err != nil || !strings.Contains(result.Content, "canary") {
			t.Errorf("%s is not read: %v, %v", name, result, err)
		}
		_, err := r.call(env, "write_file", map[string]any{"file_path": name, "content": "evil\n"})
		if tooltest.Code(err) != code {
			t.Errorf("%s: %v, want %q", name, err, code)
		}
	}
	if got := r.buffer("open.txt"); got != canary {
		t.Errorf("the buffer of the link is %q, and saving it writes outside", got)
	}
	if got := r.buffer("own.txt"); got != "evil\n" {
		t.Errorf("positive control: a buffer without other names is %q", got)
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != canary {
		t.Errorf("outside: %q, %v", data, err)
	}
	if data, err := os.ReadFile(r.path("shut.txt")); err != nil || string(data) != "evil\n" {
		t.Errorf("the link that is not open: %q, %v", data, err)
	}
}

// TestSEC57RestoreOfAPipe neither waits nor takes it away.
func TestSEC57RestoreOfAPipe(t *testing.T) {
	r := enter(t)
	if err := mkfifo(r.path("fifo")); err != nil {
		t.Skip("no pipes among files here: ", err)
	}
	for _, to := range []*agents.Content{{Text: "x"}, nil} {
		if err := r.restore("fifo", digest("x"), to); fault.KindOf(err) != fault.Denied {
			t.Errorf("%v: %v", to, err)
		}
	}
	if info, err := os.Lstat(r.path("fifo")); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Remove(r.path("fifo")); err != nil {
		t.Fatal(err)
	}
	t.Log("positive control: os.Remove takes it away")
}
