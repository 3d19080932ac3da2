package clienttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// screen is a terminal in which a program runs and a person types.
type screen struct {
	t     *testing.T
	args  []string
	looks int // at a buffer
	shots int // that were kept
}

// open runs a command on a screen of its own.
func open(t *testing.T, env []string, dir string, command ...string) *screen {
	t.Helper()
	return openSized(t, env, dir, 110, 32, command...)
}

// openSized is open on a screen of so many columns and rows.
func openSized(t *testing.T, env []string, dir string, columns, rows int, command ...string) *screen {
	t.Helper()
	s := &screen{t: t, args: []string{"-S", filepath.Join(t.TempDir(), "tmux"), "-f", "/dev/null"}}
	c := exec.Command("tmux", append(append(append([]string{}, s.args...), "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows)), command...)...)
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

// colours is read with the sequences that colour the text.
func (s *screen) colours() string {
	out, err := exec.Command("tmux", append(s.args, "capture-pane", "-e", "-p")...).Output()
	if err != nil {
		s.t.Fatalf("tmux capture-pane: %v", err)
	}
	return string(out)
}

// keep writes the screen, with its colours, into the folder of screenshots.
func (s *screen) keep(name string) {
	s.t.Helper()
	s.shots++
	file := fmt.Sprintf("%s-%02d-%s.ansi", strings.NewReplacer("/", "-", "Test", "").Replace(s.t.Name()), s.shots, name)
	if err := os.WriteFile(filepath.Join(screenshots(s.t), file), []byte(s.colours()), 0o600); err != nil {
		s.t.Error(err)
	}
}

// patient is how long anything is waited for.
const patient = 3 * time.Minute

// until waits until a test of what the screen shows holds, and returns all of it.
func (s *screen) until(what string, holds func(now string) bool) string {
	s.t.Helper()
	deadline := time.Now().Add(patient)
	for {
		now := s.read()
		if holds(now) {
			return now
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the screen does not show %s:\n%s", what, now)
		}
		// A screen tells nobody that it changed: it has to be looked at again.
		<-time.After(20 * time.Millisecond)
	}
}

// await waits until the screen shows one of some texts, and returns all of it.
func (s *screen) await(texts ...string) string {
	s.t.Helper()
	return s.until(fmt.Sprintf("%q", texts), func(now string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(now, text) })
	})
}

// next waits for a text of a dialog that follows another one. Where it comes before
// the answer is off the screen, Neovim 0.7 wants a key after each of its lines: that
// is Space, which does nothing once the dialog is there.
func (s *screen) next(text string) string {
	s.t.Helper()
	var pressed string
	return s.until(fmt.Sprintf("%q", text), func(now string) bool {
		if now != pressed && wantsEnter(now) {
			pressed = now
			s.send("Space")
		}
		return strings.Contains(now, text)
	})
}

// wantsEnter reports whether Neovim waits for Enter: what asks for it is the last line
// then, and stays further up when it was pressed.
func wantsEnter(now string) bool {
	now = strings.TrimRight(now, "\n ")
	return strings.HasPrefix(now[strings.LastIndexByte(now, '\n')+1:], "Press ENTER")
}

// ended waits until Neovim shows that a run has ended: with what the command
// prints, or before that with what the server says, which it may want Enter for.
func (s *screen) ended() string {
	s.t.Helper()
	return s.until("the end of a run", func(now string) bool { return strings.Contains(now, "ended: GOAL") || wantsEnter(now) })
}

// buffer judges the lines of Neovim's buffer when a run is over. What it says behind
// them is there when they are drawn anew.
func (s *screen) buffer(when string, lines ...string) {
	s.t.Helper()
	s.looks++
	look := fmt.Sprintf(`:call wait(60000, {-> g:done != ''}) | redraw! | echo "looked" %d`, s.looks)
	s.send("Enter", look, "Enter")
	asked, shows := time.Now(), fmt.Sprintf("\nlooked %d", s.looks)
	now := s.until(fmt.Sprintf("%q", shows), func(now string) bool {
		if !strings.Contains(now, shows) && time.Since(asked) > 5*time.Second { // a late message stands over it
			s.send("Enter", look, "Enter")
			asked = time.Now()
		}
		return strings.Contains(now, shows)
	})
	if !strings.HasPrefix(now, strings.Join(lines, "\n")+"\n~") {
		s.t.Errorf("the buffer %s:\n%s", when, now)
	}
}

// send presses keys; names as tmux has them.
func (s *screen) send(keys ...string) {
	s.t.Helper()
	if out, err := exec.Command("tmux", append(append(s.args, "send-keys"), keys...)...).CombinedOutput(); err != nil {
		s.t.Fatalf("tmux send-keys: %v\n%s", err, out)
	}
}

// needNeovim leaves a test out where there is no Neovim, or no screen for it.
func needNeovim(t *testing.T) {
	t.Helper()
	for _, name := range []string{"nvim", "tmux"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
}

// neovim opens note.txt of a folder in a Neovim with testdata/plain.lua.
func neovim(t *testing.T, env []string, dir string) *screen {
	t.Helper()
	script, err := filepath.Abs("testdata/plain.lua")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, append(env, "AGENTLS="+build(t)), dir, "nvim", "-u", "NONE", "-i", "NONE", "-n", "-S", script)
	s.await("eggs")
	return s
}

// TestNeovimWithoutAPlugin: the plain dialog with Reject first, an edit in the
// open buffer, and its undo there.
func TestNeovimWithoutAPlugin(t *testing.T) {
	needNeovim(t)
	dir := unfold(t, map[string]string{"note.txt": "milk\neggs\n", ".gemini/agents/fixer.md": fixer})
	s := neovim(t, play(t, "testdata/nvim.model"), dir)

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
	s.ended()
	s.buffer("after a refused edit", "milk", "eggs")

	s.send(":Agent allow me", "Enter")
	s.await("Type number and <Enter>")
	s.send("3", "Enter")
	s.ended()
	s.buffer("after the edit", "oat milk", "eggs")
	if disk, _ := os.ReadFile(filepath.Join(dir, "note.txt")); string(disk) != "milk\neggs\n" {
		t.Errorf("the file on disk was written behind the buffer: %q", disk)
	}
	s.send("u")
	s.await("; before #")
	s.buffer("after undo", "milk", "eggs")
	s.send(":qa!", "Enter")
}

// TestNeovimPrompt: what a person does at the stock prompt with real keys. Esc is
// a no; what was cut can be allowed after Show, which shows it in the prompt; a
// number typed after the question expired is a no. The buffer is unsaved.
func TestNeovimPrompt(t *testing.T) {
	needNeovim(t)
	dir := unfold(t, map[string]string{"note.txt": "milk\neggs\n", ".gemini/agents/fixer.md": fixer, ".gemini/agents/hasty.md": hasty})
	const edit = `<call read_file {"file_path": "note.txt"}

>result read_file contains oats
<call edit_file {"file_path": "note.txt", "old_string": "oats", "new_string": %NEW}

`
	made := strings.NewReplacer("%ESC", strings.ReplaceAll(edit, "%NEW", `"oat milk"`), "%SHOW", strings.ReplaceAll(edit, "%NEW", `"1\n2\n3\n4\n5\n6\n7\n8\nnine"`)).Replace(`> dismiss me
%ESC>result-error edit_file contains denied by user
< You dismissed it.

> show me
%SHOW>!result-error edit_file
< It has nine lines.

> late me
%ESC>result-error edit_file contains nobody answered in time
< Nobody came.
`)
	model, env := perform(t, made, patience)
	s := neovim(t, env, dir)
	s.send("cc", "oats", "Escape")
	buffer := func(when string, lines ...string) {
		t.Helper()
		s.buffer(when, lines...)
		if disk, _ := os.ReadFile(filepath.Join(dir, "note.txt")); string(disk) != "milk\neggs\n" {
			t.Errorf("%s the file on disk is %q", when, disk)
		}
	}

	s.send(":Agent dismiss me", "Enter")
	t.Logf("the question:\n%s", s.await("Type number and <Enter>"))
	s.send("Escape")
	t.Logf("dismissed with Esc:\n%s", s.ended())
	buffer("after a dismissed question", "oats", "eggs")

	s.send(":Agent show me", "Enter")
	cut := s.await("Type number and <Enter>")
	t.Logf("cut:\n%s", cut)
	if !strings.Contains(cut, "Show has all of it") || strings.Contains(cut, "Allow once") {
		t.Errorf("what is cut can be allowed unseen:\n%s", cut)
	}
	s.send("2", "Enter")
	whole := s.next("2. Allow once")
	t.Logf("shown:\n%s", whole)
	if !strings.Contains(whole, "+8\n+nine\n eggs") {
		t.Errorf("Show does not show all of it:\n%s", whole)
	}
	s.send("2", "Enter")
	t.Logf("allowed:\n%s", s.ended())
	buffer("after Allow once", "1", "2", "3", "4", "5", "6", "7", "8", "nine", "eggs")
	s.send("u")
	s.await("; before #")
	buffer("after undo", "oats", "eggs")

	s.send(":let g:agent = 'hasty'", "Enter", ":Agent late me", "Enter")
	s.await("Type number and <Enter>")
	for deadline := time.Now().Add(patient); len(model.Requests()) < 9; <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the model is not told that nobody answered")
		}
	}
	t.Logf("the question has expired:\n%s", s.read())
	s.send("3", "Enter")
	t.Logf("answered late:\n%s", s.ended())
	buffer("after a late answer", "oats", "eggs")
	s.send(":qa!", "Enter")
}
