package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentls/agentls/agents/snapshot"
)

// TestALookThatWasCancelled: what the project tracks although it is ignored is known to
// the next look, where the first was cancelled while git told it.
func TestALookThatWasCancelled(t *testing.T) {
	w := newWorld(t)
	w.sh("git init -q; echo kept > .gitignore; echo a > kept; git add -f kept .gitignore")
	real, err := exec.LookPath("git")
	w.must(err)
	bin := t.TempDir()
	pipe := filepath.Join(bin, "pipe")
	w.must(exec.Command("mkfifo", pipe).Run())
	script := fmt.Sprintf("#!/bin/sh\ncase \"$GIT_INDEX_FILE\" in\n*/.git/index) if [ ! -e %[1]q ]; then : > %[1]q; echo > %[2]q; read line < %[2]q; fi;;\nesac\nexec %[3]q \"$@\"\n",
		filepath.Join(bin, "once"), pipe, real)
	w.must(os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755))
	w.config.Environ = append(os.Environ(), "PATH="+bin)
	w.store = snapshot.New(w.config)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := w.store.Begin(ctx, []string{w.folder}, "1")
		ended <- err
	}()
	_, err = os.ReadFile(pipe) // when git was asked for it
	w.must(err)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	window := w.begin("2")
	w.sh("echo b > kept")
	told, _ := w.end(window)
	w.same(told, `kept: file "a\n" → file "b\n"`)
}
