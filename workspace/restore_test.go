package workspace_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// TestRestore: whatever lies at a name, it can be made what it was; what is not
// what was seen stays.
func TestRestore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs links and modes")
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := func(text string, mode fs.FileMode) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), mode) }
	}
	link := func(path string) error { return os.Symlink("outside", path) }
	folders := func(path string) error { return os.MkdirAll(filepath.Join(path, "a", "b"), 0o755) }
	full := func(path string) error {
		if err := folders(path); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(path, "a", "f"), nil, 0o644)
	}
	nothing := func(string) error { return nil }
	for _, c := range []struct {
		name     string
		is       func(path string) error
		digest   string // what Look says; "" = nothing
		to       workspace.Restoration
		mode     fs.FileMode // afterwards
		text     string
		kind     fault.Kind // of the error
		deletion bool
	}{
		{name: "nothing → file", is: nothing, to: workspace.Restoration{Bytes: []byte("x")}, mode: 0o644, text: "x"},
		{name: "nothing → executable", is: nothing, to: workspace.Restoration{Bytes: []byte("x"), Mode: 0o755}, mode: 0o755, text: "x"},
		{name: "nothing → private", is: nothing, to: workspace.Restoration{Bytes: []byte("x"), Mode: 0o600}, mode: 0o600, text: "x"},
		{name: "nothing → link", is: nothing, to: workspace.Restoration{Bytes: []byte("there"), Mode: fs.ModeSymlink}, mode: fs.ModeSymlink, text: "there"},
		{name: "file → file", is: file("a", 0o600), digest: "a", to: workspace.Restoration{Bytes: []byte("x")}, mode: 0o600, text: "x"},
		{name: "file → executable", is: file("a", 0o640), digest: "a", to: workspace.Restoration{Bytes: []byte("a"), Mode: 0o755}, mode: 0o750, text: "a"},
		{name: "executable → file", is: file("a", 0o755), digest: "a", to: workspace.Restoration{Bytes: []byte("a"), Mode: 0o644}, mode: 0o644, text: "a"},
		{name: "file → link", is: file("a", 0o644), digest: "a", to: workspace.Restoration{Bytes: []byte("there"), Mode: fs.ModeSymlink}, mode: fs.ModeSymlink, text: "there"},
		{name: "link → file", is: link, digest: "outside", to: workspace.Restoration{Bytes: []byte("x")}, mode: 0o644, text: "x"},
		{name: "link → link", is: link, digest: "outside", to: workspace.Restoration{Bytes: []byte("there"), Mode: fs.ModeSymlink}, mode: fs.ModeSymlink, text: "there"},
		{name: "link → nothing", is: link, digest: "outside", deletion: true},
		{name: "file → nothing", is: file("a", 0o644), digest: "a", deletion: true},
		{name: "folders → file", is: folders, to: workspace.Restoration{Bytes: []byte("x")}, mode: 0o644, text: "x"},
		{name: "a folder with a file stays", is: full, to: workspace.Restoration{Bytes: []byte("x")}, kind: fault.Invalid},
		{name: "another file stays", is: file("a", 0o644), digest: "b", to: workspace.Restoration{Bytes: []byte("x")}, kind: fault.Stale},
		{name: "another link stays", is: link, digest: "elsewhere", to: workspace.Restoration{Bytes: []byte("x")}, kind: fault.Stale},
		{name: "a file that was not there stays", is: file("a", 0o644), to: workspace.Restoration{Bytes: []byte("x")}, kind: fault.Stale},
		{name: "what is read-only stays", is: file("a", 0o444), digest: "a", to: workspace.Restoration{Bytes: []byte("x")}, kind: fault.Denied},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "sub", "x")
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(filepath.Join(folder, "sub", "outside"), []byte("outside"), 0o644))
			must(t, c.is(path))
			disk, err := workspace.OpenDisk(folder)
			must(t, err)
			defer disk.Close()
			d := disk.WithoutLinks()
			seen := workspace.Digest("")
			if c.digest != "" {
				seen = workspace.DigestOf([]byte(c.digest))
			}
			if now, err := d.Look(t.Context(), "sub/x", 0); (c.kind == 0 && (fault.KindOf(err) == fault.NotFound) != (seen == "")) || (err == nil && c.kind == 0 && now.Digest != seen) {
				t.Errorf("Look: %+v, %v", now, err)
			}
			c.to.Name, c.to.Seen = "sub/x", seen
			if c.deletion {
				err = d.Remove(t.Context(), "sub/x", seen)
			} else {
				err = d.Restore(t.Context(), c.to)
			}
			if c.kind != 0 {
				if fault.KindOf(err) != c.kind {
					t.Errorf("%v, want %v", err, c.kind)
				}
				return
			}
			must(t, err)
			now, err := d.Look(t.Context(), "sub/x", 0)
			switch {
			case c.deletion:
				if fault.KindOf(err) != fault.NotFound {
					t.Errorf("it is there: %v", err)
				}
			case err != nil || string(now.Bytes) != c.text || now.Mode != c.mode:
				t.Errorf("%q %v, %v", now.Bytes, now.Mode, err)
			}
			if data, err := os.ReadFile(filepath.Join(folder, "sub", "outside")); err != nil || string(data) != "outside" {
				t.Errorf("what the link leads to is %q, %v", data, err)
			}
		})
	}
}

// hooked is a context that calls a function whenever it is asked whether it ended.
type hooked struct {
	context.Context
	hook func()
}

func (h hooked) Err() error {
	h.hook()
	return h.Context.Err()
}

// TestRestoreLooksAgain right before a link takes the place of a file or a file that
// of a link: what was written meanwhile stays.
func TestRestoreLooksAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs links")
	}
	for name, c := range map[string]struct {
		is func(path string) error
		to workspace.Restoration
	}{
		"file → link": {
			func(path string) error { return os.WriteFile(path, []byte("seen"), 0o644) },
			workspace.Restoration{Bytes: []byte("there"), Mode: fs.ModeSymlink},
		},
		"link → file": {func(path string) error { return os.Symlink("seen", path) }, workspace.Restoration{Bytes: []byte("x")}},
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, "x")
		if err := c.is(path); err != nil {
			t.Fatal(err)
		}
		disk, err := workspace.OpenDisk(folder)
		if err != nil {
			t.Fatal(err)
		}
		ctx := hooked{t.Context(), func() {
			if made, _ := filepath.Glob(filepath.Join(folder, ".agentls-*")); len(made) > 0 {
				_ = os.Remove(path)
				_ = os.WriteFile(path, []byte("the person's"), 0o644)
			}
		}}
		c.to.Name, c.to.Seen = "x", workspace.DigestOf("seen")
		if err := disk.WithoutLinks().Restore(ctx, c.to); fault.KindOf(err) != fault.Stale {
			t.Errorf("%s: %v", name, err)
		}
		if data, err := os.ReadFile(path); string(data) != "the person's" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, ".agentls-*")); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
		disk.Close()
	}
}
