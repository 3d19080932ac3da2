package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrustOnTheTerminal: a run of an agent of a folder that nobody has decided
// about asks first, shows what it brings, and takes only that answer for a yes.
func TestTrustOnTheTerminal(t *testing.T) {
	unedited(t)
	for name, c := range map[string]struct {
		types []string
		code  int
		after string // shown at the end
	}{
		"only Enter": {[]string{"\n"}, exitFailed, "which is not trusted"},
		"yes":        {[]string{"yes\n", "\n"}, exitFailed, "which is not trusted"},
		"no":         {[]string{"1\n"}, exitFailed, "which is not trusted"},
		"shown":      {[]string{"2\n", "2\n"}, 0, "Done."},
		"trusted":    {[]string{"3\n"}, 0, "Done."},
		"Ctrl-C":     {nil, exitInterrupted, "(withdrawn)"},
	} {
		t.Run(name, func(t *testing.T) {
			script := "> write\n< Done.\n"
			if c.code != 0 {
				script = ""
			}
			play(t, script)
			code, shown := perform(t, writer(t), func(types func(string) func()) []act {
				var acts []act
				for _, typed := range c.types {
					acts = append(acts, act{"\n> ", types(typed)})
				}
				if c.types == nil {
					acts = append(acts, act{"\n> ", interrupt})
				}
				return acts
			}, "run", "writer", "write")
			has(t, shown, "Trust the folder ", "1 agent: writer", "1 Do not trust", "2 Show what it brings", "3 Trust this folder", c.after)
			if code != c.code {
				t.Errorf("exit %d\n%s", code, shown)
			}
			if name == "shown" {
				has(t, shown, "You write.")
			}
		})
	}
}

// TestTrustIsNotAskedWithoutATerminal: what is piped in is no answer, and what
// needs no agent of the folder asks nothing.
func TestTrustIsNotAskedWithoutATerminal(t *testing.T) {
	unedited(t)
	play(t, "")
	dir := writer(t)
	t.Chdir(dir)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.WriteString(w, "3\n3\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var shown strings.Builder
	if code := execute([]string{"run", "writer", "write"}, streams{r, io.Discard, &shown}); code != exitFailed || strings.Contains(shown.String(), "Trust the folder") {
		t.Errorf("exit %d\n%s", code, shown.String())
	}
	has(t, shown.String(), "agentls trust "+filepath.Clean(dir))
	_, listed := perform(t, dir, func(func(string) func()) []act { return nil }, "list")
	if strings.Contains(listed, "Trust the folder") {
		t.Errorf("list asks:\n%s", listed)
	}
}

// TestTrustIsAskedAtTheStart: a conversation in a folder that nobody has decided about
// asks before anything is typed, once; Ctrl-C is no yes and leaves.
func TestTrustIsAskedAtTheStart(t *testing.T) {
	play(t, "> hello\n< Hi.\n\n> again\n< Hi again.\n")
	dir := t.TempDir()
	code, shown := perform(t, dir, func(func(string) func()) []act { return []act{{"\n> ", interrupt}} }, "run", "-i")
	if code != exitInterrupted {
		t.Errorf("Ctrl-C: exit %d\n%s", code, shown)
	}
	has(t, shown, "Trust the folder ", "nothing now", "3 Trust this folder")
	if strings.Contains(shown, "main> ") {
		t.Errorf("Ctrl-C goes on:\n%s", shown)
	}
	code, shown = perform(t, dir, func(types func(string) func()) []act {
		return []act{{"\n> ", types("1\n")}, {"main> ", types("hello\n")}, {"Hi.", func() {}}, {"main> ", types("\x04")}}
	}, "run", "-i")
	if code != 0 {
		t.Errorf("refused: exit %d\n%s", code, shown)
	}
	has(t, shown, "Trust the folder ", "not trusted (read-only)", "Hi.")
	code, shown = perform(t, dir, func(types func(string) func()) []act {
		return []act{{"main> ", types("again\n")}, {"Hi again.", func() {}}, {"main> ", types("\x04")}}
	}, "run", "-i")
	if code != 0 || strings.Contains(shown, "Trust the folder") {
		t.Errorf("it asks again: exit %d\n%s", code, shown)
	}
}
