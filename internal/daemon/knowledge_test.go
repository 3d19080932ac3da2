//go:build unix

package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentls/agentls/workspace"
)

// TestValidators: a guard's validator is looked up where it would be run from.
func TestValidators(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	b := &house{Config: Config{Home: home}}
	for path, mode := range map[string]os.FileMode{
		filepath.Join(dir, ".gemini/validators/good"): 0o700, filepath.Join(dir, ".gemini/validators/plain"): 0o600,
		filepath.Join(dir, "scripts/check it.sh"): 0o700, filepath.Join(home, "validators/mine"): 0o700,
	} {
		write(t, path, "#!/bin/sh\n")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"good": true, "mine": true, "plain": false, "nope": false, "": false, ".": false, "..": false, "../validators/good": false, "what:good": false,
		"command:scripts/nope.sh": false, "command:": false, "command:scripts": false, "command:'scripts/check it.sh' --strict": true,
		"command:.gemini/validators/good -v": true, "command:.gemini/validators/plain": false,
		"command:" + filepath.Join(dir, ".gemini/validators/good"): true,
	} {
		if got := b.validator(dir, name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	b.folders.set([]workspace.Folder{{Path: dir, Canonical: dir}})
	if !b.validator("", "good") || b.validator("", "nope") {
		t.Error("an agent of the person's does not see the validators of the workspace's folder")
	}
}
