package commandtest

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func newLab(t *testing.T) *Lab {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	lab, err := NewLab(base)
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no bash here")
	}
	if err != nil {
		t.Fatal(err)
	}
	return lab
}

func TestSEC46TheLabFindsWhatChangesFiles(t *testing.T) {
	lab := newLab(t)
	for _, harm := range []string{"touch P", "echo x >> a.txt", "rm b.txt", "mkdir src/x", "chmod 600 a.txt", "touch ../home/P", "git config a.b c", "git describe --dirty --always", "touch .git/P; rm .git/P"} {
		lab.queue = []string{"ls", "pwd", harm, "cat a.txt"} // as if the gate had let it pass
		found, err := lab.Flush(t.Context())
		if err != nil || len(found) != 1 || found[0].Text != harm {
			t.Errorf("%q: found %v, %v", harm, found, err)
		}
	}
	lab.queue = []string{"ls", "git status", "git diff", "git diff HEAD", "cat a.txt | sort"}
	if found, err := lab.Flush(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("of what is harmless: %v, %v", found, err)
	}
	if auto, found, err := lab.Try(t.Context(), "touch P"); auto || found != nil || err != nil || len(lab.queue) > 0 {
		t.Error("what is not auto is not run")
	}
}

// TestTheLabTellsWhatDoesNotEndFromWhatChangesFiles, and lets neither take the
// machine.
func TestTheLabTellsWhatDoesNotEndFromWhatChangesFiles(t *testing.T) {
	lab := newLab(t)
	lab.patience = 2 * time.Second
	for _, queue := range [][]string{{"sleep 600"}, {"ls", "sleep 600 | cat", "cat a.txt"}} {
		lab.queue, lab.Unended = queue, nil
		found, err := lab.Flush(t.Context())
		if err != nil || len(found) > 0 || !slices.Contains(lab.Unended, queue[len(queue)/2]) {
			t.Errorf("%q: found %v, unended %q, %v", queue, found, lab.Unended, err)
		}
	}
	lab.patience = 10 * time.Second
	for _, queue := range [][]string{{"touch P; sleep 600"}, {"ls", "touch P; sleep 600", "cat a.txt"}} {
		lab.queue, lab.Unended = queue, nil
		found, err := lab.Flush(t.Context())
		if err != nil || len(found) != 1 || found[0].Text != queue[len(queue)/2] || slices.Contains(lab.Unended, queue[len(queue)/2]) {
			t.Errorf("%q: found %v, unended %q, %v", queue, found, lab.Unended, err)
		}
	}
	lab.patience = 5 * time.Minute                                                   // the limits end these, however little of the processor there is
	for _, text := range []string{"while :; do :; done", "nl -w 2147483647 a.txt"} { // which take all they can get
		lab.queue, lab.Unended = []string{text}, nil
		if found, err := lab.Flush(t.Context()); err != nil || len(found) > 0 || len(lab.Unended) > 0 {
			t.Errorf("%q: found %v, unended %q, %v", text, found, lab.Unended, err)
		}
	}
}

func TestTheSameSeedMakesTheSameCommands(t *testing.T) {
	a, b, c := NewMaker(7), NewMaker(7), NewMaker(8)
	differs := false
	for range 100 {
		text := a.Next()
		if b.Next() != text {
			t.Fatal("one seed made two things")
		}
		differs = differs || c.Next() != text
	}
	if !differs {
		t.Error("two seeds made the same")
	}
}
