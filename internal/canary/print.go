package canary

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// nothing is the print of what is not there.
const nothing = "not there"

// prints tell what lies at paths, so that a change of it can be seen.
func (w *World) prints(t testing.TB, names []string) []string {
	t.Helper()
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = Print(t, w.Path(name))
	}
	return all
}

// Print tells what lies at a path, so that a change of it can be seen: the mode
// and content of a file, the target of a link, and all that lies in a folder. A
// link is not followed. A file of more than maxPrint bytes is shown by its hash. Times,
// owners and what is behind a link do not count. It ends the test where something
// cannot be read.
func Print(t testing.TB, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nothing
	}
	if err != nil {
		t.Fatal(err)
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			t.Fatal(err)
		}
		return "a link to " + target
	case mode.IsRegular():
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) <= maxPrint {
			return fmt.Sprintf("%v %q", mode.Perm(), data)
		}
		return fmt.Sprintf("%v %x", mode.Perm(), sha256.Sum256(data))
	case mode.IsDir():
		all := fmt.Sprintf("%v folder", mode.Perm())
		names, err := os.ReadDir(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range names {
			all += fmt.Sprintf(" [%s %s]", e.Name(), Print(t, filepath.Join(path, e.Name())))
		}
		return all
	}
	return info.Mode().String()
}

// Tree tells what lies in the world, by its path below the base: all but the
// sessions, logs and caches of agentls and what is temporary. A file has its print, a
// folder its mode only.
func (w *World) Tree(t testing.TB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(w.Base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(w.Base, path)
		if err != nil {
			return err
		}
		switch name {
		case "tmp", "home/.gemini/agentls/sessions", "home/.gemini/agentls/logs", "home/.gemini/agentls/starts",
			"home/.gemini/agentls/cache",
			"home/.gemini/agentls/command-config": // the last two are what commands behind the wall are given
			return fs.SkipDir
		case "home/.gemini/agentls":
			return nil // it makes that itself
		}
		if d.IsDir() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			all[name] = info.Mode().String()
			return nil
		}
		all[name] = Print(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// maxPrint is how many bytes of a file are shown as they are.
const maxPrint = 200

// clip shortens a print for a message.
func clip(text string) string {
	if len(text) > 2*maxPrint {
		return text[:2*maxPrint] + "…"
	}
	return text
}
