package clienttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestChat: a person opens the chat in a terminal, asks for a change, refuses it with
// a reason, allows the next one, looks at all of it, and leaves.
func TestChat(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil && os.Getenv("CI") == "" {
		t.Skip("tmux is not installed")
	}
	_, env := perform(t, `> fix it
<thought Planning: I look first.
< # Plan\n\nI **change** a.ts.\n
<call read_file {"file_path": "a.ts"}

>result read_file
<call edit_file {"file_path": "a.ts", "old_string": "old", "new_string": "wrong"}

>result-error edit_file contains The person says: say new
< Then so.
<call edit_file {"file_path": "a.ts", "old_string": "old", "new_string": "new"}

>result edit_file
< All done.
`, "")
	dir := unfold(t, map[string]string{"a.ts": "old\n"})
	if out, err := exec.Command("git", "init", "-q", "-b", "trunk", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	s := open(t, append(env, "AGENTLS_TRUST=1", "TERM=xterm-256color", "LANG=C.UTF-8", "NO_COLOR=", "VISUAL=", "EDITOR="), dir,
		"sh", "-c", build(t)+"; echo left with $?; cat")
	s.await("session main")
	s.send("fix it", "Enter")
	const armed = "a key, or"
	s.await(armed)
	s.send("t")
	s.await("Tell the agent why not")
	s.send("say new", "Enter")
	s.await("+new")
	s.until("the second question", func(now string) bool { return strings.Contains(now, armed) && strings.Contains(now, "+new") })
	s.send("y")
	s.await("tokens in")
	now := s.read()
	for _, want := range []string{"✓ edit_file a.ts", "+1 −1", "All done.", "mode ask", "trunk"} {
		if !strings.Contains(now, want) {
			t.Errorf("%q is not on the screen:\n%s", want, now)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.ts")); err != nil || string(text) != "new\n" {
		t.Errorf("a.ts is %q, %v", text, err)
	}
	s.send("C-o")
	s.await("q goes back")
	s.send("g")
	s.await("I look first.")
	s.send("q")
	s.await("mode ask")
	s.send("/exit", "Enter")
	s.await("To continue: agentls run -i --session main")
	s.await("left with 0")
}
