package clienttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// screen is a terminal in which a program runs and a person types.
type screen struct {
	t    *testing.T
	args []string
}

// open runs a command on a screen of its own.
func open(t *testing.T, env []string, dir string, command ...string) *screen {
	t.Helper()
	s := &screen{t: t, args: []string{"-S", filepath.Join(t.TempDir(), "tmux"), "-f", "/dev/null"}}
	c := exec.Command("tmux", append(append(append([]string{}, s.args...), "new-session", "-d", "-x", "110", "-y", "32"), command...)...)
	c.Env, c.Dir = env, dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", append(s.args, "kill-server")...).Run() })
	return s
}

// read returns what the screen shows.
func (s *screen) read() string {
	out, err := exec.Command("tmux", append(s.args, "capture-pane", "-p")...).Output()
	if err != nil {
		s.t.Fatalf("tmux capture-pane: %v", err)
	}
	return string(out)
}

// await waits until the screen shows a text, and returns all of it.
func (s *screen) await(text string) string {
	s.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		now := s.read()
		if strings.Contains(now, text) {
			return now
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the screen does not show %q:\n%s", text, now)
		}
		// A screen tells nobody that it changed: it has to be looked at again.
		<-time.After(20 * time.Millisecond)
	}
}

// send presses keys; names as tmux has them.
func (s *screen) send(keys ...string) {
	s.t.Helper()
	if out, err := exec.Command("tmux", append(append(s.args, "send-keys"), keys...)...).CombinedOutput(); err != nil {
		s.t.Fatalf("tmux send-keys: %v\n%s", err, out)
	}
}

// TestNeovimWithoutAPlugin: the plain dialog with Reject first, an edit in the
// open buffer, and its undo there.
func TestNeovimWithoutAPlugin(t *testing.T) {
	for _, name := range []string{"nvim", "tmux"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	dir := unfold(t, map[string]string{"note.txt": "milk\neggs\n", ".gemini/agents/fixer.md": fixer})
	script, err := filepath.Abs("testdata/plain.lua")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, append(play(t, "testdata/nvim.model"), "AGENTLS="+build(t)), dir, "nvim", "-u", "NONE", "-i", "NONE", "-n", "-S", script)
	s.await("eggs")

	s.send(":Agent refuse me", "Enter")
	dialog := s.await("Type number and <Enter>")
	if first, second := strings.Index(dialog, "1. Reject"), strings.Index(dialog, "2. "); first < 0 || second < first {
		t.Errorf("Reject is not the first action:\n%s", dialog)
	}
	for _, want := range []string{"edit_file note.txt", "-milk", "+oat milk", "3. Allow once", "4. Allow for this session", "covers: changes of ordinary files"} {
		if !strings.Contains(dialog, want) {
			t.Errorf("the dialog does not show %q:\n%s", want, dialog)
		}
	}
	t.Logf("the dialog:\n%s", dialog)
	s.send("1", "Enter")
	s.await("ended: GOAL")
	s.send("Enter", ":redraw!", "Enter")
	if now := s.read(); strings.Contains(now, "oat milk\n") {
		t.Errorf("a refused edit is in the buffer:\n%s", now)
	}

	s.send(":Agent allow me", "Enter")
	s.await("Type number and <Enter>")
	s.send("3", "Enter")
	s.await("ended: GOAL")
	s.send("Enter", ":redraw!", "Enter")
	if now := s.await("oat milk"); !strings.HasPrefix(now, "oat milk\neggs") {
		t.Errorf("the buffer after the edit:\n%s", now)
	}
	if disk, _ := os.ReadFile(filepath.Join(dir, "note.txt")); string(disk) != "milk\neggs\n" {
		t.Errorf("the file on disk was written behind the buffer: %q", disk)
	}
	s.send("u")
	if now := s.await("; before #"); !strings.HasPrefix(now, "milk\neggs") {
		t.Errorf("the buffer after undo:\n%s", now)
	}
	s.send(":qa!", "Enter")
}
