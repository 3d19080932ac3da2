package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/filelock"
	"github.com/agentls/agentls/workspace"
)

// rootMarkers are what editors look for above a file to find its workspace folder.
var rootMarkers = []string{".git", ".gemini"}

// scratchFolder returns the folder below which each process has one for texts that it shows
// as files. An editor that found a root marker above such a file would start a
// second daemon for it, and the person's home has one, so it lies where temporary
// files do; only where there is no such place it is the daemon's own folder.
func (b *daemon) scratchFolder() string {
	// XDG_RUNTIME_DIR is the person's own. In the others anybody may make files; lasting
	// and mayBePrivate check that nobody can replace ours.
	for _, temp := range []string{b.env("XDG_RUNTIME_DIR"), b.env("TMPDIR"), "/tmp"} {
		dir, err := workspace.Canonical(temp)
		if err == nil && outsideRoots(dir) && !b.inWorkspace(dir) && lasting(dir) {
			if dir = filepath.Join(dir, "agentls-"+strconv.Itoa(os.Geteuid())); mayBePrivate(dir) {
				return dir
			}
		}
	}
	return filepath.Join(b.state(), "shown")
}

// outsideRoots reports whether no folder on the way to a path has a root marker. The path
// itself counts too.
func outsideRoots(path string) bool {
	for {
		if slices.ContainsFunc(rootMarkers, func(name string) bool {
			_,
				err := os.Lstat(filepath.Join(path, name))
			return err == nil
		}) {
			return false
		}
		up := filepath.Dir(path)
		if up == path {
			return true
		}
		path = up
	}
}

// inWorkspace reports whether agents may write in a folder.
func (b *daemon) inWorkspace(path string) bool {
	return slices.ContainsFunc(b.site.Folders, func(f workspace.Folder) bool {
		_, inside := workspace.Below(f.Canonical, path)
		return inside
	})
}

// lasting reports whether what this user makes in a folder cannot be replaced by
// others.
// So the folder is sticky, as /tmp is, or nobody else may write to it.
func lasting(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && (info.Mode()&fs.ModeSticky != 0 || workspace.Private(info) == nil)
}

// mayBePrivate reports whether a folder is this user's alone, or is still to be
// made.
func mayBePrivate(path string) bool {
	info, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist) || (err == nil && workspace.OnlyMine(info) == nil)
}

// makeShown makes this process's folder for texts that it shows, and the one that it
// lies in, where somebody may have cleaned up since.
func (b *daemon) makeShown() error {
	in := filepath.Dir(b.shownIn)
	if err := os.MkdirAll(filepath.Dir(in), 0o700); err != nil {
		return err
	}
	if err := workspace.MakePrivate(in); err != nil {
		return err
	}
	return workspace.MakePrivate(b.shownIn)
}

// keepShown is how long texts stay that a daemon which was killed has shown.
const keepShown = 24 * time.Hour

// sweep removes what was shown by processes that ended without doing so.
// A daemon that ends as it should removes its own folder.
func (b *daemon) sweep() {
	for _, dir := range []string{filepath.Dir(b.shownIn), filepath.Join(b.state(), "shown")} {
		if info, err := os.Lstat(dir); err != nil || workspace.OnlyMine(info) != nil {
			continue // in a temporary folder anybody may have made it meanwhile
		}
		entries, _ := os.ReadDir(dir) // a folder that is not there has nothing to remove
		for _, e := range entries {
			// The name begins with the id of the process. One that is at work may show a text for days.
			id, _, _ := strings.Cut(e.Name(), "-")
			if pid, err := strconv.Atoi(id); err == nil && filelock.Alive(pid) {
				continue
			}
			if info, err := e.Info(); err == nil && b.Now().Sub(info.ModTime()) > keepShown {
				_ = os.RemoveAll(filepath.Join(dir, e.Name())) // what cannot be removed is tried again the next time
			}
		}
	}
}
