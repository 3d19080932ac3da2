//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// newPermissions returns an empty store and a workspace.
func newPermissions(t testing.TB) (*Permissions, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return NewPermissions(filepath.Join(dir, "home", "agentls", "permissions.json"), clock), mkdir(t, dir, "work")
}

func one(id string) Permission {
	return Permission{ID: id, Agent: "fixer", Tool: "bash", Access: "write", Argv: []string{"go", "test", id}, Covers: "exactly go test " + id}
}

// holds returns the ids that count in a workspace.
func holds(t testing.TB, p *Permissions, root string) string {
	t.Helper()
	all, err := p.Of(root)
	if err != nil {
		t.Error(err)
	}
	var ids []string
	for _, one := range all {
		ids = append(ids, one.ID)
	}
	return strings.Join(ids, " ")
}

func TestPermissionsAreKeptAndForgotten(t *testing.T) {
	p, root := newPermissions(t)
	for _, id := range []string{"a", "b", "a"} {
		must(t, p.Keep(t.Context(), root, one(id)))
	}
	must(t, p.Keep(t.Context(), root+"-evil", one("c")))
	another := NewPermissions(p.file, clock)
	if got := holds(t, another, root); got != "a b" {
		t.Errorf("another process has %q", got)
	}
	if all, _ := another.Of(root); len(all) != 2 || !all[0].Since.Equal(clock()) || all[0].Covers != "exactly go test a" {
		t.Errorf("%+v", all)
	}
	if found, err := another.Forget(t.Context(), root, "a"); !found || err != nil {
		t.Error(found, err)
	}
	if found, err := p.Forget(t.Context(), root, "a"); found || err != nil {
		t.Error("forgotten twice", found, err)
	}
	if got := holds(t, p, root); got != "b" {
		t.Errorf("what another process forgot still counts: %q", got)
	}
	for _, bad := range []Permission{{}, {ID: "x", Agent: "a", Tool: "bash"}, {ID: "x", Agent: "a", Tool: "t", Shape: "s", Access: "read", Argv: []string{"a"}}, {ID: "x", Agent: "a", Tool: "bash", Argv: []string{"a"}}} {
		if err := p.Keep(t.Context(), root, bad); err == nil {
			t.Errorf("%+v is kept", bad)
		}
	}
}

// What lies in the workspace, or in the file for another one, counts for nothing.
func TestSEC24GrantsOfAProjectAreIgnored(t *testing.T) {
	p, root := newPermissions(t)
	must(t, p.Keep(t.Context(), root, one("control")))
	content, err := os.ReadFile(p.file)
	must(t, err)
	must(t, os.Remove(p.file))
	for _, name := range []string{".gemini/agentls/permissions.json", ".gemini/permissions.json", "permissions.json"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), content, 0o600))
	}
	if got := holds(t, p, root); got != "" {
		t.Errorf("the project grants itself %q", got)
	}
	must(t, os.WriteFile(p.file, content, 0o600))
	if got := holds(t, p, root); got != "control" || holds(t, p, filepath.Dir(root)) != "" || holds(t, p, filepath.Join(root, "sub")) != "" {
		t.Errorf("the person's own file has %q", got)
	}
	t.Log("control: the same bytes in the person's own folder count")
}

func TestSEC116PermissionsFileIsPrivate(t *testing.T) {
	p, root := newPermissions(t)
	must(t, os.MkdirAll(filepath.Dir(p.file), 0o755))
	must(t, p.Keep(t.Context(), root, one("a")))
	for path, want := range map[string]os.FileMode{p.file: 0o600, filepath.Dir(p.file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// Whatever is wrong with the file, nothing in it counts and the error says so,
// also after it was read well.
func TestSEC140PermissionsFailClosed(t *testing.T) {
	p, root := newPermissions(t)
	must(t, p.Keep(t.Context(), root, one("a")))
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(p.file, old, old))
	p.now = time.Now // so that what was read is kept
	good, err := os.ReadFile(p.file)
	must(t, err)
	void := func(what string, kind fault.Kind) {
		t.Helper()
		all, err := p.Of(root)
		if len(all) != 0 || fault.KindOf(err) != kind || !strings.Contains(err.Error(), "no answer for always counts") {
			t.Errorf("%s: %v, %v", what, all, err)
		}
	}
	mended := func() {
		t.Helper()
		if holds(t, p, root) != "a" {
			t.Error("control: the file as it should be does not count")
		}
	}
	mended()
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		must(t, os.Chmod(p.file, mode))
		void(mode.String(), fault.Denied)
		if err := p.Keep(t.Context(), root, one("b")); fault.KindOf(err) != fault.Denied {
			t.Errorf("%v: kept: %v", mode, err)
		}
	}
	must(t, os.Chmod(p.file, 0o600))
	mended()
	must(t, os.Chmod(filepath.Dir(p.file), 0o777))
	void("the folder", fault.Denied)
	must(t, os.Chmod(filepath.Dir(p.file), 0o700))
	p.uid++
	void("another user's", fault.Denied)
	p.uid--
	for _, content := range []string{"{", "", "null", "[]", `{"version":1,"workspaces":[]}`, `{"version":1,"workspaces":{"/":{}}}`, `{"version":1}{}`, "\x00"} {
		must(t, os.WriteFile(p.file, []byte(content), 0o600))
		void(content, fault.Unavailable)
	}
	must(t, os.WriteFile(p.file, []byte(strings.Replace(string(good), `"version": 1`, `"version": 2`, 1)), 0o600))
	void("a later format", fault.Unavailable)
	if err := p.Keep(t.Context(), root, one("b")); err == nil {
		t.Error("a later format was replaced")
	}
	must(t, os.Remove(p.file))
	must(t, os.Mkdir(p.file, 0o700))
	void("a folder", fault.Unavailable)
	must(t, os.Remove(p.file))
	must(t, os.WriteFile(p.file, []byte("{"), 0o600))
	must(t, p.Keep(t.Context(), root, one("b")))
	if kept, err := os.ReadFile(p.file + ".bad"); err != nil || string(kept) != "{" || holds(t, p, root) != "b" {
		t.Errorf("a damaged file is not set aside: %q, %v", kept, err)
	}
	t.Log("control: with the file as it should be the answer counts")
}

// BenchmarkPermissions: the gate asks at each call.
func BenchmarkPermissions(b *testing.B) {
	p, root := newPermissions(b)
	for i := range 50 {
		must(b, p.Keep(b.Context(), root, one(string(rune('a'+i)))))
	}
	old := time.Now().Add(-time.Hour)
	must(b, os.Chtimes(p.file, old, old))
	p.now = time.Now
	for b.Loop() {
		if all, err := p.Of(root); len(all) != 50 || err != nil {
			b.Fatal(len(all), err)
		}
	}
}
