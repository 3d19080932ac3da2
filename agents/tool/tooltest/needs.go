package tooltest

// What tests need of the machine.

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// Program fails a test in CI, and leaves it out elsewhere, where a program is not
// installed.
func Program(t testing.TB, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed: .ci/run has to install it", name)
	}
	t.Skipf("%s is not installed", name)
}

// Symlink makes a symbolic link at path to target. A test that cannot have one
// fails, but on Windows, where not every user may make links: there it is left
// out.
func Symlink(t testing.TB, target, path string) {
	t.Helper()
	err := os.Symlink(target, path)
	if err != nil && runtime.GOOS == "windows" {
		t.Skip("links cannot be made here:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
