package clienttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is taken of a list in a real editor that takes one line for a word: each line
// of a new agent file, and a whole one of the code actions.

// newFile is what is written with the list, key by key.
const newFile = "---\nkind: agent\nname: x\ntools:\n  allow: []\nhandoffs:\ninputs:\n---\n"

// written waits until a file is there with a text, and judges its bytes.
func written(t *testing.T, s *screen, path, want string) {
	t.Helper()
	for deadline := time.Now().Add(patient); ; <-time.After(20 * time.Millisecond) { // an editor tells nobody that it has written
		text, err := os.ReadFile(path)
		if bytes.IndexByte(text, 0) >= 0 {
			t.Fatalf("there is a NUL in %q\nthe screen:\n%s", text, s.read())
		}
		if err == nil && strings.HasPrefix(string(text), want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the file is %q (%v), want %q\nthe screen:\n%s", text, err, want, s.read())
		}
	}
}

// completeInNeovim writes two agent files in a Neovim: one key by key, and one by the
// action that writes a template.
func completeInNeovim(t *testing.T, n neovimOf) {
	s, dir, _ := brokenInNeovim(t, n) // the server is there
	s.send(":edit .gemini/agents/x.md", "Enter", ":set noautoindent", "Enter")
	take := func(typed, taken string) { // the only one that fits is taken at once
		s.send(typed, "C-x", "C-o")
		s.await(taken)
		s.send("Enter")
	}
	s.send("i---", "Enter", "kind: agent", "Enter", "name: x", "Enter")
	s.await("name: x") // the other file is off the screen
	take("too", "tools:")
	take("  all", "  allow: []")
	take("hand", "handoffs:")
	take("inp", "inputs:")
	s.send("Escape", "S---", "Escape", ":write", "Enter")
	written(t, s, filepath.Join(dir, ".gemini/agents/x.md"), newFile)

	s.send(":edit .gemini/agents/y.md", "Enter", ":lua vim.lsp.buf.code_action()", "Enter")
	offered := s.await("Write the template code-review")
	t.Logf("what can be written:\n%s", offered)
	number := ""
	for line := range strings.Lines(offered) {
		if n, _, ok := strings.Cut(line, ": Write the template code-review"); ok {
			number = strings.TrimSpace(n)
		}
	}
	s.send(number, "Enter")
	s.await("# Duties")
	s.send(":write", "Enter")
	written(t, s, filepath.Join(dir, ".gemini/agents/y.md"), "---\nkind: agent\nname: y\ntitle: Y\n")
	s.send(":qall!", "Enter")
}

func TestNeovimCompletion(t *testing.T) {
	inNeovims(t, func(t *testing.T, n neovimOf) {
		if n.block == "neovim" { // since 0.11 it takes several lines
			completeInNeovim(t, n)
		}
	})
}
