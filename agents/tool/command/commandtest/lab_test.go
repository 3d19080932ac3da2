package commandtest

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestSEC46TheLabFindsWhatChangesFiles(t *testing.T) {
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
	for _, harm := range []string{"touch P", "echo x >> a.txt", "rm b.txt", "mkdir src/x", "chmod 600 a.txt", "touch ../home/P", "git config a.b c"} {
		lab.queue = []string{"ls", "pwd", harm, "cat a.txt"} // as if the gate had let it pass
		found, err := lab.Flush(t.Context())
		if err != nil || len(found) != 1 || found[0].Text != harm {
			t.Errorf("%q: found %v, %v", harm, found, err)
		}
	}
	lab.queue = []string{"ls", "git status", "cat a.txt | sort"}
	if found, err := lab.Flush(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("of what is harmless: %v, %v", found, err)
	}
	if auto, found, err := lab.Try(t.Context(), "touch P"); auto || found != nil || err != nil || len(lab.queue) > 0 {
		t.Error("what is not auto is not run")
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
