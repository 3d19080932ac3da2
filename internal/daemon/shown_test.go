package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/agentls/agentls/handlers"
	"github.com/agentls/agentls/workspace"
)

// TestSEC116ShownFolder: what is shown lies where no root marker stands above it and
// only this user can look, or in the daemon's own folder.
func TestSEC116ShownFolder(t *testing.T) {
	own := "agentls-" + strconv.Itoa(os.Geteuid())
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		folder  string // of the workspace, below the first temporary folder
		second  bool   // the first one will not do
	}{
		"private":               {},
		"one that is there":     {prepare: func(t *testing.T, dir string) { makeFolder(t, filepath.Join(dir, own), 0o700) }},
		"below a repository":    {prepare: func(t *testing.T, dir string) { makeFolder(t, filepath.Join(dir, ".git"), 0o700) }, second: true},
		"below a home":          {prepare: func(t *testing.T, dir string) { makeFolder(t, filepath.Join(dir, ".gemini"), 0o700) }, second: true},
		"others can look":       {prepare: func(t *testing.T, dir string) { makeFolder(t, filepath.Join(dir, own), 0o755) }, second: true},
		"others can replace it": {prepare: func(t *testing.T, dir string) { makeFolder(t, dir, 0o777) }, second: true},
		"a link": {prepare: func(t *testing.T, dir string) {
			makeFolder(t, filepath.Join(dir, "elsewhere"), 0o700)
			if err := os.Symlink("elsewhere", filepath.Join(dir, own)); err != nil {
				t.Fatal(err)
			}
		}, second: true},
		"in the workspace":     {folder: ".", second: true},
		"beside the workspace": {folder: "work"},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := workspace.CanonicalPath(t.TempDir()), workspace.CanonicalPath(t.TempDir())
			makeFolder(t, second, 0o1777)
			if c.prepare != nil {
				c.prepare(t, first)
			}
			b := &daemon{Config: Config{Home: t.TempDir(), Environ: []string{"XDG_RUNTIME_DIR=" + first, "TMPDIR=" + second}}}
			if c.folder != "" {
				b.site = handlers.Site{Folders: []workspace.Folder{{Canonical: filepath.Join(first, c.folder)}}}
			}
			want := filepath.Join(first, own)
			if c.second {
				want = filepath.Join(second, own)
			}
			got := b.scratchFolder()
			if got != want {
				t.Fatalf("%s, want %s", got, want)
			}
			b.shownIn = filepath.Join(got, "1")
			if err := b.makeShown(); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(b.shownIn); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}

	b := &daemon{Config: Config{Home: t.TempDir()}, site: handlers.Site{Folders: []workspace.Folder{{Canonical: "/"}}}}
	if got, want := b.scratchFolder(), filepath.Join(b.Home, "agentls", "shown"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b.shownIn = filepath.Join(b.scratchFolder(), "1")
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(b.shownIn)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Dir(b.shownIn)); err != nil {
		t.Fatal(err)
	}
	if err := b.makeShown(); err == nil {
		t.Error("a link was followed")
	}
}

// TestShownTextsStayWithTheirProcess: a daemon that begins removes what ended daemons left,
// and nothing of one that is at work, however long it has shown nothing new.
func TestShownTextsStayWithTheirProcess(t *testing.T) {
	temp := workspace.CanonicalPath(t.TempDir())
	b := &daemon{Config: Config{Home: t.TempDir(), Environ: []string{"XDG_RUNTIME_DIR=" + temp},
		Now: func() time.Time { return time.Now().Add(2 * keepShown) }}}
	in := b.scratchFolder()
	b.shownIn = filepath.Join(in, "1-own")
	makeFolder(t, in, 0o700)
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{
		strconv.Itoa(os.Getpid()) + "-ABCDEFGH":       true,
		strconv.Itoa(ended.Process.Pid) + "-ABCDEFGH": false,
		"something": false,
	} {
		dir := filepath.Join(in, name)
		makeFolder(t, dir, 0o700)
		b.sweep()
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// makeFolder makes a folder with a mode, whatever the umask is.
func makeFolder(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	perm := mode & 0o777
	if mode&0o1000 != 0 {
		perm |= os.ModeSticky
	}
	if err := os.Chmod(path, perm); err != nil {
		t.Fatal(err)
	}
}
