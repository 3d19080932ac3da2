package canary

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Wall is what confines the commands of a run: the best that works here ("", what
// a person gets), or one by its name. NoWall is chosen by Settings and Landlock by Environ,
// so a run needs both; each leaves the other walls alone.
type Wall string

// The walls.
const (
	Bubblewrap Wall = "bubblewrap"
	Landlock   Wall = "landlock"
	NoWall     Wall = "none"
)

// Walls returns those that can be tried on this machine, the best first. bubblewrap
// counts where it can make a sandbox, not where it is installed only. It is tried with
// each call.
func Walls() []Wall {
	all := []Wall{Landlock, NoWall}
	if bwrap, err := exec.LookPath("bwrap"); err == nil && exec.Command(bwrap, "--ro-bind", "/", "/",
		"true").Run() == nil {
		all = append([]Wall{Bubblewrap}, all...)
	}
	return all
}

// Settings returns a person's settings with what chooses the wall. text is what the
// case has already, as JSON; "" is none, and stays so where the wall needs nothing.
func (w Wall) Settings(t testing.TB, text string) string {
	t.Helper()
	if w != NoWall {
		return text
	}
	all := make(map[string]any)
	if text != "" {
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
	}
	tools, _ := all["tools"].(map[string]any)
	if tools == nil {
		tools = make(map[string]any)
	}
	tools["sandbox"] = map[string]any{"mode": "off"}
	all["tools"] = tools
	out, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Environ returns the variables that choose the wall: for Landlock a PATH that
// begins with a bubblewrap that does not work.
func (w Wall) Environ(t testing.TB) []string {
	t.Helper()
	if w != Landlock {
		return nil
	}
	dir, err := brokenBubblewrap()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH")}
}

// brokenBubblewrap makes the folder of one, which others may read.
var brokenBubblewrap = sync.OnceValues(func() (string, error) {
	dir, err := workshop()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "bin")
	return dir, errors.Join(os.Mkdir(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755),
		os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\necho it does not work >&2\nexit 1\n"), 0o755))
})
