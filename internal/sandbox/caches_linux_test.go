package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCleanCacheFollowsNoLink: a link that a command left among the caches costs the
// person nothing, however full the caches are.
func TestCleanCacheFollowsNoLink(t *testing.T) {
	for _, name := range []string{"go-build", "npm", "more", "go-build/00"} {
		home := t.TempDir()
		s := New(Config{Home: home, State: filepath.Join(home, "state")})
		kept := filepath.Join(home, "own", "folder", "file")
		for _, path := range []string{kept, s.cache("go-mod/file"), s.cache("go-build/01/file")} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(s.cache(name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(home, "own"), s.cache(name)); err != nil {
			t.Fatal(err)
		}
		if err := s.cleanCache(t.Context(), 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !exists(kept) {
			t.Errorf("a link at %s: what it leads to was removed", name)
		}
		if exists(s.cache("go-mod")) || exists(s.cache("go-build/01")) {
			t.Errorf("a link at %s: the caches are still there", name)
		}
	}
}

// TestCleanCacheWhatCannotBeRead: a folder that nobody may read stops nothing.
func TestCleanCacheWhatCannotBeRead(t *testing.T) {
	s := New(Config{State: t.TempDir()})
	if err := s.cleanCache(t.Context(), 0); err != nil {
		t.Errorf("no caches: %v", err)
	}
	if err := os.MkdirAll(s.cache("npm/shut"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.cache("npm/shut"), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.cleanCache(t.Context(), 1<<20); err != nil || !exists(s.cache("npm/shut")) {
		t.Error(err)
	}
}

// TestMakeStateReplacesWhatIsNoFolder: what a command puts in the place of a cache
// does not keep later commands from running.
func TestMakeStateReplacesWhatIsNoFolder(t *testing.T) {
	home := t.TempDir()
	shared := t.TempDir()
	s := New(Config{Home: home, State: filepath.Join(home, "state"), Environ: os.Environ(), Write: []string{shared}})
	if err := os.MkdirAll(s.cacheFolder(), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"npm": "nowhere", "go-build": home, "yarn": shared} {
		if err := os.Symlink(target, s.cache(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(s.cache("pip"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.makeState(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"npm", "go-build", "pip"} {
		if !isFolder(s.cache(name)) {
			t.Errorf("%s is no folder", name)
		}
	}
	if target, err := os.Readlink(s.cache("yarn")); target != shared {
		t.Errorf("the link to a folder that commands may write: %q, %v", target, err)
	}
}
