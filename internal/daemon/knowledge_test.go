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
	dir, home, person, far := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	b := &daemon{Config: Config{Home: home, Environ: []string{"HOME=" + person}}}
	for path, mode := range map[string]os.FileMode{
		filepath.Join(dir, ".gemini/validators/good"): 0o700, filepath.Join(dir, ".gemini/validators/plain"): 0o600,
		filepath.Join(dir, "scripts/check it.sh"): 0o700, filepath.Join(home, "validators/mine"): 0o700,
		filepath.Join(person, "bin/check"): 0o700,
	} {
		write(t, path, "#!/bin/sh\n")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{filepath.Join(dir, "out"), filepath.Join(dir, ".gemini/validators/out"), filepath.Join(person, "out")} {
		if err := os.Symlink(far, link); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"good": true, "mine": true, "plain": false, "nope": false, "": false, ".": false, "..": false, "../validators/good": false, "what:good": false,
		"command:scripts/nope.sh": false, "command:": false, "command:scripts": false, "command:'scripts/check it.sh' --strict": true,
		"command:.gemini/validators/good -v": true, "command:.gemini/validators/plain": false,
		"command:" + filepath.Join(dir, ".gemini/validators/good"): true, "command:" + filepath.Join(dir, "nope"): false,
		"command:" + filepath.Join(home, "validators/mine"): true, "command:" + filepath.Join(home, "nope"): false,
		"command:" + filepath.Join(person, "bin/check"): true, "command:" + filepath.Join(person, "bin/nope"): false,
		// What lies elsewhere is not looked at, so nobody knows that it is not there.
		"command:" + filepath.Join(far, "nope"): true, "command:../" + filepath.Base(far) + "/nope": true, "command:out/nope": true, "out": true,
		"command:" + filepath.Join(dir, "out/nope"): true, "command:" + filepath.Join(person, "out/nope"): true,
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
