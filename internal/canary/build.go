package canary

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/internal/faults"
)

//go:embed unguarded.patch
var unguarded string

// workshop is the folder of the binaries.
var workshop = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "canary") })

// root is the module's.
var root = sync.OnceValues(func() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(mod))), nil
})

// Main runs the tests of a package and takes the binaries away. A package that
// uses the kit calls it in its TestMain. It returns the exit code, for os.Exit:
// deferred calls of TestMain would not run.
func Main(m *testing.M) int {
	code := m.Run()
	if dir, err := workshop(); err == nil {
		_ = os.RemoveAll(dir) // a temporary folder
	}
	return code
}

// Binary builds agentls, once in a test process, and returns its path. A build that
// fails fails each test that asks for it. The file must not be changed.
func Binary(t testing.TB) string { return made(t, guardedBinary) }

// Unguarded builds agentls without its policy, once in a test process, and
// returns its path. It does what a model asks for, so it is run in a [World] only. A
// patch that no longer fits the source is an error: then unguarded.patch has to follow
// it.
func Unguarded(t testing.TB) string { return made(t, unguardedBinary) }

// made returns a binary, and ends the test where there is none.
func made(t testing.TB, binary func() (string, error)) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	guardedBinary   = sync.OnceValues(func() (string, error) { return build("agentls", "") })
	unguardedBinary = sync.OnceValues(func() (string, error) { return build("unguarded", unguarded) })
)

// build builds agentls with a patch laid over the source, which stays as it is;
// "" is none.
func build(name, patch string) (string, error) {
	dir, err := workshop()
	if err != nil {
		return "", err
	}
	root, err := root()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, name)
	args := []string{"build", "-buildvcs=false", "-ldflags=-w", "-o", binary}
	if patch != "" {
		p, err := faults.ParsePatch(patch)
		if err != nil {
			return "", fmt.Errorf("%s.patch: %w", name, err)
		}
		overlay, err := p.Overlay(root, filepath.Join(dir, name+".overlay"))
		if err != nil {
			return "", fmt.Errorf("%s.patch is of another source: %w", name, err)
		}
		args = append(args, "-overlay", overlay)
	}
	c := exec.Command("go", append(args, "./cmd/agentls")...)
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
}
