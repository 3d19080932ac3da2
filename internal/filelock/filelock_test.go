package filelock_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agentls/agentls/internal/filelock"
)

// TestLocks: with the system's locks and without them, one holder keeps others
// of this process away.
func TestLocks(t *testing.T) {
	for name, fault := range map[string]error{"flock": nil, "ENOLCK": &fs.PathError{Op: "flock", Err: syscall.ENOLCK}} {
		t.Run(name, func(t *testing.T) {
			if fault != nil {
				filelock.Fault = func(string) error { return fault }
				defer func() { filelock.Fault = nil }()
			}
			path := filepath.Join(t.TempDir(), "x.lock")
			one, two := filelock.New(path), filelock.New(path)
			take := func(what string, want bool, try func() (bool, error)) {
				t.Helper()
				if ok, err := try(); ok != want || err != nil {
					t.Errorf("%s: %t, %v", what, ok, err)
				}
			}
			take("one", true, one.TryLock)
			take("one again", true, one.TryLock)
			take("two", false, two.TryLock)
			take("a share for two", false, two.TryRLock)
			if fault == nil {
				if _, err := one.Stat(); err != nil {
					t.Error(err)
				}
			}
			if err := one.Unlock(); err != nil {
				t.Error(err)
			}
			take("a share for two", true, two.TryRLock)
			take("a share for one", true, one.TryRLock)
			three := filelock.New(path)
			take("three", false, three.TryLock)
			for _, l := range []*filelock.Lock{one, two, two} {
				if err := l.Unlock(); err != nil {
					t.Error(err)
				}
			}
			take("three", true, three.TryLock)
			if err := three.Unlock(); err != nil {
				t.Error(err)
			}
			if err := filelock.Works(filepath.Dir(path)); !errors.Is(err, fault) {
				t.Errorf("it says that locks work: %v", err)
			}
		})
	}
}

// TestOtherErrors: what is wrong with one file is told.
func TestOtherErrors(t *testing.T) {
	dir := t.TempDir()
	if ok, err := filelock.New(filepath.Join(dir, "none", "x.lock")).TryLock(); ok || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%t, %v", ok, err)
	}
	if left, _ := os.ReadDir(dir); filelock.Works(dir) != nil || len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
