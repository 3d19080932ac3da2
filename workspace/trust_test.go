//go:build unix

package workspace

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

func clock() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// newTrust returns empty records and a folder to trust things in.
func newTrust(t testing.TB) (*Trust, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return NewTrust(filepath.Join(dir, "home", "agentls", "trust.json"), clock), dir
}

func mkdir(t testing.TB, elements ...string) string {
	t.Helper()
	path := filepath.Join(elements...)
	must(t, os.MkdirAll(path, 0o755))
	return path
}

func trusted(t testing.TB, tr *Trust, folder string) bool {
	t.Helper()
	ok, _, err := tr.Lookup(folder)
	if err != nil {
		t.Errorf("%s: %v", folder, err)
	}
	return ok
}

func TestNothingIsTrustedAtFirst(t *testing.T) {
	tr, dir := newTrust(t)
	if trusted(t, tr, dir) || trusted(t, tr, filepath.Join(dir, "not", "there")) {
		t.Error("a folder never seen is trusted")
	}
	if _, _, err := tr.Lookup("relative"); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

func TestTrustCoversPlainSubFolders(t *testing.T) {
	tr, dir := newTrust(t)
	proj := mkdir(t, dir, "proj")
	mkdir(t, proj, ".git")
	sub := mkdir(t, proj, "sub", "deep")
	must(t, os.Symlink(proj, filepath.Join(dir, "link")))
	must(t, tr.Set(t.Context(), filepath.Join(dir, "link"), true))
	ok, record, err := tr.Lookup(sub)
	if !ok || err != nil || record.Folder != proj || !record.Trusted || !record.Since.Equal(clock()) || len(record.Items) != 0 {
		t.Errorf("%v, %+v, %v", ok, record, err)
	}
	for folder, want := range map[string]bool{
		proj: true, filepath.Join(dir, "link", "sub"): true, filepath.Join(proj, "not", "there"): true,
		dir: false, proj + "-evil": false,
	} {
		if trusted(t, tr, folder) != want {
			t.Errorf("%s: trusted is not %v", folder, want)
		}
	}
	// A record nearer by beats those above it.
	must(t, tr.Set(t.Context(), filepath.Join(proj, "sub"), false))
	if trusted(t, tr, sub) || !trusted(t, tr, proj) {
		t.Error("an untrusted sub-folder of a trusted one")
	}
	must(t, tr.Set(t.Context(), filepath.Join(proj, "sub"), true))
	if !trusted(t, tr, sub) {
		t.Error("a decision cannot be taken back")
	}
	records, err := NewTrust(tr.file, clock).Records()
	if err != nil || len(records) != 2 || records[0].Folder != proj {
		t.Errorf("%+v, %v", records, err)
	}
}

func TestSEC14RepositoriesInsideAskForThemselves(t *testing.T) {
	tr, dir := newTrust(t)
	proj := mkdir(t, dir, "proj")
	must(t, tr.Set(t.Context(), proj, true))
	nested := mkdir(t, proj, "nested")
	mkdir(t, nested, ".git")
	submodule := mkdir(t, proj, "third", "submodule")
	must(t, os.WriteFile(filepath.Join(submodule, ".git"), []byte("gitdir: ../../.git/modules/x"), 0o644))
	worktree := mkdir(t, proj, "worktree")
	must(t, os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: "+proj+"/.git/worktrees/x"), 0o644))
	dangling := mkdir(t, proj, "dangling")
	must(t, os.Symlink("nowhere", filepath.Join(dangling, ".git")))
	for _, folder := range []string{nested, submodule, worktree, dangling} {
		for _, sub := range []string{"", "src", "src/deep"} {
			if trusted(t, tr, filepath.Join(mkdir(t, folder, sub))) {
				t.Errorf("%s/%s inherits trust", folder, sub)
			}
		}
	}
	if !trusted(t, tr, filepath.Join(proj, "third")) {
		t.Error("a plain sub-folder does not")
	}
	must(t, tr.Set(t.Context(), nested, true))
	if !trusted(t, tr, filepath.Join(nested, "src")) {
		t.Error("a repository with its own record is not trusted")
	}
}

func TestSEC116TrustFileIsPrivate(t *testing.T) {
	tr, dir := newTrust(t)
	must(t, os.MkdirAll(filepath.Dir(tr.file), 0o755))
	must(t, tr.Set(t.Context(), dir, true))
	for path, want := range map[string]os.FileMode{tr.file: 0o600, filepath.Dir(tr.file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	refused := func(what string) {
		t.Helper()
		ok, _, err := tr.Lookup(dir)
		if ok || fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "no folder is trusted") {
			t.Errorf("%s: %v, %v", what, ok, err)
		}
		if err := tr.Set(t.Context(), dir, true); fault.KindOf(err) != fault.Denied {
			t.Errorf("%s: Set: %v", what, err)
		}
	}
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		must(t, os.Chmod(tr.file, mode))
		refused(mode.String())
	}
	must(t, os.Chmod(tr.file, 0o600))
	must(t, os.Chmod(filepath.Dir(tr.file), 0o770))
	refused("the folder")
	must(t, os.Chmod(filepath.Dir(tr.file), 0o700))
	if !trusted(t, tr, dir) {
		t.Error("mended, but refused")
	}
	tr.uid++
	refused("another user's file")
}

func TestSEC140DamagedTrustFileTrustsNothingAndIsKept(t *testing.T) {
	for _, content := range []string{"{", "", "null", "[]", `{"version":1,"folders":{"/":{"trusted":"yes"}}}`, `{"version":1}{}`, "\x00"} {
		tr, dir := newTrust(t)
		must(t, os.MkdirAll(filepath.Dir(tr.file), 0o700))
		must(t, os.WriteFile(tr.file, []byte(content), 0o600))
		if ok, _, err := tr.Lookup(dir); ok || fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%q: %v, %v", content, ok, err)
		}
		must(t, os.WriteFile(tr.file+".bad", []byte("older"), 0o600))
		must(t, tr.Set(t.Context(), dir, true))
		kept, err := os.ReadFile(tr.file + ".bad.2")
		if err != nil || string(kept) != content || !trusted(t, tr, dir) {
			t.Errorf("%q: kept %q, %v", content, kept, err)
		}
	}
}

func TestLaterTrustFormatIsLeftAlone(t *testing.T) {
	tr, dir := newTrust(t)
	must(t, os.MkdirAll(filepath.Dir(tr.file), 0o700))
	content := fmt.Sprintf(`{"version":2,"folders":{%q:{"trusted":true}}}`, dir)
	must(t, os.WriteFile(tr.file, []byte(content), 0o600))
	ok, _, err := tr.Lookup(dir)
	if ok || err == nil {
		t.Error("a format that we do not know is trusted")
	}
	if err := tr.Set(t.Context(), dir, true); err == nil {
		t.Error("it was replaced")
	}
	if now, _ := os.ReadFile(tr.file); string(now) != content {
		t.Errorf("%s", now)
	}
}

func TestTrustWaitsForTheLockAsLongAsItsContext(t *testing.T) {
	tr, dir := newTrust(t)
	must(t, os.MkdirAll(filepath.Dir(tr.file), 0o700))
	unlock, err := lockFolder(t.Context(), filepath.Dir(tr.file))
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := tr.Set(ctx, dir, true); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	unlock()
	must(t, tr.Set(t.Context(), dir, true))
}

// Several daemons record trust and settings at once: nothing is lost.
func TestREL102ConcurrentProcessesLoseNothing(t *testing.T) {
	if dir := os.Getenv("AGENTLS_TEST_WRITER"); dir != "" {
		writeMany(t, dir, os.Getenv("AGENTLS_TEST_NAME"))
		return
	}
	const processes = 4
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestREL102ConcurrentProcessesLoseNothing$")
		cmd.Env = append(os.Environ(), "AGENTLS_TEST_WRITER="+dir, fmt.Sprintf("AGENTLS_TEST_NAME=p%d", i))
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	tr := NewTrust(filepath.Join(dir, "agentls", "trust.json"), clock)
	records, err := tr.Records()
	if err != nil || len(records) != processes*writes {
		t.Errorf("%d of %d records, %v", len(records), processes*writes, err)
	}
	s := LoadSettings(t.Context(), SettingsFiles{User: filepath.Join(dir, "settings.json")})
	if len(s.MCPServers) != processes*writes || len(s.Problems) != 0 {
		t.Errorf("%d of %d keys, %v", len(s.MCPServers), processes*writes, s.Problems)
	}
	content, err := os.ReadFile(filepath.Join(dir, "settings.json"))
	must(t, err)
	if !bufio.NewScanner(strings.NewReader(string(content))).Scan() || strings.Count(string(content), "// mine") != 1 {
		t.Error("the comment is gone")
	}
}

const writes = 40

func writeMany(t *testing.T, dir, name string) {
	tr := NewTrust(filepath.Join(dir, "agentls", "trust.json"), clock)
	for i := range writes {
		must(t, tr.Set(t.Context(), mkdir(t, dir, name, fmt.Sprint(i)), true))
		if i == 0 {
			// Once, by whoever is first: a file with a comment.
			f, err := os.OpenFile(filepath.Join(dir, "settings.json"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err == nil {
				_, err = f.WriteString("{} // mine\n")
				must(t, err)
				must(t, f.Close())
			}
		}
		must(t, SetKey(t.Context(), filepath.Join(dir, "settings.json"), []string{"mcpServers", fmt.Sprint(name, i)}, map[string]any{}))
	}
}
