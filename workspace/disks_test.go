//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// TestDisksKeepAFolderOpen: many uses in a row open a folder once, and a moment after the
// last one it is closed.
func TestDisksKeepAFolderOpen(t *testing.T) {
	d, _ := openDisk(t)
	put(t, d, "a", "text")
	dir := d.Path()
	synctest.Test(t, func(t *testing.T) {
		var disks Disks
		first := openFrom(t, &disks, dir)
		second := openFrom(t, &disks, dir)
		if first.root != second.root {
			t.Error("it was opened twice")
		}
		for _, d := range []*Disk{first, first, second} { // closing twice does no harm
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(idleDisk / 2)
		third := openFrom(t, &disks, dir)
		if third.root != first.root {
			t.Error("it was closed at once")
		}
		time.Sleep(2 * idleDisk)
		if _, err := third.Read(t.Context(), "a", 0); err != nil {
			t.Errorf("it was closed while it was used: %v", err)
		}
		_ = third.Close()
		time.Sleep(2 * idleDisk)
		if _, err := third.root.Stat("."); err == nil {
			t.Error("it stays open")
		}
	})
}

// TestSEC55AFolderIsReplacedWhileItIsKept: another folder in its place is another folder,
// and a link leads where it says.
func TestSEC55AFolderIsReplacedWhileItIsKept(t *testing.T) {
	_, dir := openDisk(t)
	at, other := filepath.Join(dir, "at"), filepath.Join(dir, "other")
	for folder, text := range map[string]string{at: "first", other: "second"} {
		must(t, os.Mkdir(folder, 0o700))
		must(t, os.WriteFile(filepath.Join(folder, "a"), []byte(text), 0o600))
	}
	var disks Disks
	read := func() string {
		d, err := disks.Open(at)
		if err != nil {
			return fault.KindOf(err).String()
		}
		defer d.Close()
		f, err := d.Read(t.Context(), "a", 0)
		if err != nil {
			return fault.KindOf(err).String()
		}
		return filepath.Base(d.Path()) + " " + string(f.Bytes)
	}
	if got := read(); got != "at first" {
		t.Fatal(got)
	}
	must(t, os.Rename(at, filepath.Join(dir, "gone")))
	if got := read(); got != fault.NotFound.String() {
		t.Errorf("a folder that is gone: %s", got)
	}
	must(t, os.Symlink(other, at))
	if got := read(); got != "other second" {
		t.Errorf("a link in its place: %s", got)
	}
	must(t, os.Remove(at))
	must(t, os.Rename(other, at))
	if got := read(); got != "at second" {
		t.Errorf("another folder in its place: %s", got)
	}
}

func openFrom(t *testing.T, s *Disks, folder string) *Disk {
	t.Helper()
	d, err := s.Open(folder)
	must(t, err)
	return d
}
