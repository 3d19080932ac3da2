//go:build unix

package workspace

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestSEC15AnotherDirectoryInItsPlace: trust is of a directory and not of its
// path, within one process and after another start.
func TestSEC15AnotherDirectoryInItsPlace(t *testing.T) {
	move := func(t *testing.T, proj string) { must(t, os.Rename(proj, proj+"-old")) }
	for name, replace := range map[string]func(t *testing.T, proj, evil string){
		"a link":               func(t *testing.T, proj, evil string) { move(t, proj); must(t, os.Symlink(evil, proj)) },
		"another moved there":  func(t *testing.T, proj, evil string) { move(t, proj); must(t, os.Rename(evil, proj)) },
		"a new one":            func(t *testing.T, proj, _ string) { must(t, os.RemoveAll(proj)); mkdir(t, proj) },
		"a file":               func(t *testing.T, proj, _ string) { move(t, proj); must(t, os.WriteFile(proj, nil, 0o600)) },
		"nothing":              func(t *testing.T, proj, _ string) { must(t, os.RemoveAll(proj)) },
		"another mounted over": bindMount,
	} {
		t.Run(name, func(t *testing.T) {
			tr, dir := newTrust(t)
			proj, evil := mkdir(t, dir, "proj"), mkdir(t, dir, "evil")
			sub := mkdir(t, proj, "sub")
			must(t, tr.Set(t.Context(), proj, true))
			another := NewTrust(tr.file, clock) // uses the record for the first time afterwards
			if !trusted(t, tr, proj) || !trusted(t, tr, sub) {
				t.Fatal("control: what was trusted is not")
			}
			replace(t, proj, evil)
			for _, tr := range []*Trust{tr, another} {
				for _, folder := range []string{proj, sub} {
					if ok, record, err := tr.Lookup(folder); ok || err != nil || (name != "a link" && !record.Replaced) {
						t.Errorf("%s: %t, %+v, %v", folder, ok, record, err)
					}
				}
				if err := tr.Approve(t.Context(), proj, TrustItem{Name: "x"}); err == nil {
					t.Error("something of it is approved")
				}
			}
			if _, err := os.Stat(proj + "-old"); err == nil && name != "a link" {
				must(t, os.RemoveAll(proj))
				must(t, os.Rename(proj+"-old", proj))
				if !trusted(t, tr, proj) || !trusted(t, another, proj) {
					t.Error("back in its place, it is not trusted any more")
				}
			}
			if info, err := os.Stat(proj); err == nil && info.IsDir() {
				must(t, tr.Set(t.Context(), proj, true))
				if !trusted(t, tr, proj) || !trusted(t, another, proj) {
					t.Error("a new decision does not count")
				}
			}
		})
	}
}

// bindMount mounts a directory over another one.
func bindMount(t *testing.T, proj, evil string) {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "--bind", evil, proj).CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: %s", out)
	}
	t.Cleanup(func() { must(t, exec.Command("umount", proj).Run()) }) //nolint:noctx // the test's context has ended
}

// TestSEC15CaseOfThePath: a path in another case is another folder, or the same
// directory; it never lends its trust to another one.
func TestSEC15CaseOfThePath(t *testing.T) {
	tr, dir := newTrust(t)
	must(t, tr.Set(t.Context(), mkdir(t, dir, "proj"), true))
	mkdir(t, dir, "PROJ")
	entries, err := os.ReadDir(dir)
	must(t, err)
	distinct := len(entries) == 3 // and the home
	if distinct && trusted(t, tr, filepath.Join(dir, "PROJ")) {
		t.Error("another folder is trusted")
	}
}

// TestSEC15Identities: what the system does not say is not compared, and the
// device, which no record has, is.
func TestSEC15Identities(t *testing.T) {
	born := clock()
	one := identity{Inode: 2, Born: born, device: 7}
	for name, c := range map[string]struct {
		other identity
		same  bool
	}{
		"itself":             {one, true},
		"as recorded":        {identity{Inode: 2, Born: born}, true},
		"no birth time":      {identity{Inode: 2}, true},
		"another inode":      {identity{Inode: 3, Born: born, device: 7}, false},
		"the inode again":    {identity{Inode: 2, Born: born.Add(time.Nanosecond), device: 7}, false},
		"another device":     {identity{Inode: 2, Born: born, device: 8}, false},
		"the time elsewhere": {identity{Inode: 2, Born: born.In(time.FixedZone("x", 3600)), device: 7}, true},
	} {
		if one.same(c.other) != c.same || c.other.same(one) != c.same {
			t.Errorf("%s: not %t", name, c.same)
		}
	}
}

// TestSEC15RecordsOfEarlierVersions: one that does not say which directory it is
// of is believed, and completed once.
func TestSEC15RecordsOfEarlierVersions(t *testing.T) {
	tr, dir := newTrust(t)
	proj := mkdir(t, dir, "proj")
	mkdir(t, filepath.Dir(tr.file))
	old := `{"version": 1, "folders": {"` + proj + `": {"trusted": true, "since": "2026-01-01T00:00:00Z", "items": {"a": "b"}}}}`
	must(t, os.WriteFile(tr.file, []byte(old), 0o600))
	must(t, os.Chmod(filepath.Dir(tr.file), 0o700))
	if !trusted(t, tr, proj) {
		t.Fatal("it is not believed")
	}
	for i := range 2 {
		if completed, err := tr.Complete(t.Context(), mkdir(t, proj, "sub")); completed != (i == 0) || err != nil {
			t.Errorf("%d: %t, %v", i, completed, err)
		}
	}
	content, err := os.ReadFile(tr.file)
	must(t, err)
	if !bytes.Contains(content, []byte(`"inode"`)) || !bytes.Contains(content, []byte(`"a": "b"`)) || !trusted(t, NewTrust(tr.file, clock), proj) {
		t.Errorf("completed, it is %s", content)
	}
	must(t, os.RemoveAll(proj))
	mkdir(t, proj)
	if trusted(t, NewTrust(tr.file, clock), proj) {
		t.Error("another directory is trusted")
	}
	if completed, err := tr.Complete(t.Context(), proj); completed || err != nil {
		t.Errorf("a record that does not hold: %t, %v", completed, err)
	}
}
