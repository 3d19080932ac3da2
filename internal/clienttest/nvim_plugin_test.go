package clienttest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The plugin of editors/nvim in each Neovim of this machine, on a screen: what is
// asserted stands in a buffer or on the screen.

// inPlugin plays a story with the plugin in all Neovims at once: most of the time each
// waits for its screen.
func inPlugin(t *testing.T, play func(*testing.T, neovimOf)) {
	inNeovims(t, func(t *testing.T, n neovimOf) {
		t.Parallel()
		n.block = "neovim-plugin"
		play(t, n)
	})
}

// plugged opens a file of a folder in a Neovim with the plugin. More is Lua that is run
// before the plugin is loaded.
func (n neovimOf) plugged(t *testing.T, env []string, dir, file, more string) *screen {
	t.Helper()
	env = append(env, "PATH="+filepath.Dir(build(t))+":"+os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8")
	return n.open(t, env, dir, more, file)
}

// notes is a workspace with a note and an agent that edits it.
func notes(t *testing.T) string {
	t.Helper()
	return unfold(t, map[string]string{"note.txt": "milk\neggs\n", ".gemini/agents/fixer.md": strings.Replace(fixer, "title: Fixer\n", "title: Fixer\ndescription: Fixes the notes.\n", 1)})
}

// command types a command of Neovim.
func (s *screen) command(text string) {
	s.t.Helper()
	s.send(":"+text, "Enter")
}

// answer presses a key of a question until it is gone: keys that come right after it
// appeared are not taken for an answer.
func (s *screen) answer(key string) {
	s.t.Helper()
	s.until("that the question is gone after "+key, func(now string) bool {
		if !strings.Contains(now, "[n] no") {
			return true
		}
		s.send(key)
		<-time.After(100 * time.Millisecond)
		return false
	})
}

// press presses a key of a question until something shows: keys that come right after it
// appeared are not taken for an answer.
func (s *screen) press(key, shows string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%q after %s", shows, key), func(now string) bool {
		if strings.Contains(now, shows) {
			return true
		}
		s.send(key)
		<-time.After(100 * time.Millisecond)
		return false
	})
}

// lines waits until the buffer in the left window is these lines, and shows them.
func (s *screen) lines(when string, want ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%q %s", want, when), func(now string) bool {
		rows := strings.Split(now, "\n")
		for i, line := range append(want, "~") {
			if left, _, _ := strings.Cut(rows[i], "│"); strings.Trim(left, " ▎") != line {
				return false
			}
		}
		return true
	})
}

func TestNeovimPluginAuthor(t *testing.T) { inPlugin(t, authorInNeovim) }

// TestNeovimPluginRuns is what a person does in their first minutes: runs an agent on a
// selection, sees text stream, refuses an edit with a reason, accepts one, undoes it,
// cancels a run, and sees the server come back after it was killed.
func TestNeovimPluginRuns(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		model, env := perform(t, `> refuse me
> eggs
<thought Reading: First the note.
< I will look at
<gate look
< \sthe note.
<call read_file {"file_path": "note.txt"}

>result read_file contains milk
<call edit_file {"file_path": "note.txt", "old_string": "milk", "new_string": "oat milk"}

>result-error edit_file contains not on my list
< You refused it.

> allow me
<call read_file {"file_path": "note.txt"}

>result read_file contains milk
<call edit_file {"file_path": "note.txt", "old_string": "milk", "new_string": "oat milk"}

>result edit_file
< Bought oat milk.

> once more
<call read_file {"file_path": "note.txt"}

>result read_file contains milk
<call edit_file {"file_path": "note.txt", "old_string": "milk", "new_string": "oat milk"}

>result edit_file
< Bought it again.

> think
< I think of
<heartbeat 1s

> are you there
< I am there.

> fixes the notes
< I was picked.

> cut me
< I am cut
<heartbeat 1s

> cut me
< I went on.
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "")
		s.await("eggs")

		s.command("2AgentsRun fixer refuse me")
		t.Logf("streams:\n%s", s.await("I will look at"))
		if now := s.read(); strings.Contains(now, "the note.") || !strings.Contains(now, "## @fixer refuse me") {
			t.Errorf("it does not stream, or has no heading:\n%s", now)
		}
		model.Open("look")
		question := s.await("[n] no")
		t.Logf("asks:\n%s", question)
		for _, want := range []string{"fixer wants to run edit_file note.txt", "-milk", "+oat milk", "[y] allow once", "[d] compare", "Risk: low"} {
			if !strings.Contains(question, want) {
				t.Errorf("the question lacks %q", want)
			}
		}
		s.press("t", "Why not, or what instead?")
		s.send("C-u", "not on my list", "Enter")
		t.Logf("refused:\n%s", s.await("You refused it."))
		s.lines("after a refused edit", "milk", "eggs")
		s.await("*done")

		s.command("AgentsRun fixer allow me")
		s.await("[n] no")
		s.answer("y")
		t.Logf("allowed:\n%s", s.await("Bought oat milk."))
		s.lines("after the edit", "oat milk", "eggs")
		s.await("▎ oat milk") // a sign beside what an agent changed
		s.until("the end", func(now string) bool { return strings.Count(now, "*done") == 2 })
		s.send("u")
		s.lines("after undo", "milk", "eggs")
		s.until("that the sign is gone", func(now string) bool { return !strings.Contains(now, "▎") })
		if disk, _ := os.ReadFile(filepath.Join(dir, "note.txt")); string(disk) != "milk\neggs\n" {
			t.Errorf("the file on disk was written behind the buffer: %q", disk)
		}

		s.command("AgentsRun fixer once more")
		s.await("[n] no")
		s.answer("s")
		s.lines("after the second edit", "oat milk", "eggs")
		s.await("Bought it again.")
		s.command("AgentsChanges")
		t.Logf("changes:\n%s", s.await("+oat milk"))
		s.send("/oat", "Enter", "x")
		s.await("Nothing is left to decide.")
		s.lines("after the change was undone", "milk", "eggs")
		s.send("q")
		s.await("Bought it again.")

		s.command("AgentsRun fixer think")
		s.await("I think of")
		s.command("AgentsCancel")
		t.Logf("cancelled:\n%s", s.await("*cancelled"))

		s.command("AgentsRun fixer are you there")
		s.await("I am there.")

		s.command("AgentsRun @auto --strategy=rule fixes the notes")
		t.Logf("routed:\n%s", s.await("→ fixer · rule"))
		s.await("I was picked.")

		s.command("AgentsRun fixer cut me")
		s.await("I am cut")
		kill(t, s)
		t.Logf("killed:\n%s", s.next("agentls ended here."))
		s.next("started again")
		s.command("AgentsSessions")
		s.await("2: main")
		s.send("2", "Enter")
		t.Logf("resumes:\n%s", s.await("1: Resume"))
		s.send("1", "Enter")
		t.Logf("resumed:\n%s", s.await("I went on."))
		s.command("qall!")
	})
}

// kill ends the server of a Neovim as a crash would.
func kill(t *testing.T, s *screen) {
	t.Helper()
	s.command(`lua print('server ' .. vim.trim(vim.fn.system('pgrep -x agentls -P ' .. vim.fn.getpid())))`)
	m := regexp.MustCompile(`server (\d+)`).FindStringSubmatch(s.until("the server's number", regexp.MustCompile(`server \d+`).MatchString))
	var pid int
	fmt.Sscan(m[1], &pid)
	server, err := os.FindProcess(pid)
	if err == nil {
		err = server.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNeovimPluginQuestionWhileTyping: what is typed when a question comes is no answer
// to it, and a question that needs none any more goes away.
func TestNeovimPluginQuestionWhileTyping(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		model, env := perform(t, `> wait
<gate ask
<call write_file {"file_path": "new.txt", "content": "new\n"}

>result-error write_file
< Then not.

> again
<call write_file {"file_path": "new.txt", "content": "new\n"}
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "")
		s.await("eggs")
		s.command("AgentsRun fixer wait")
		s.await("## @fixer wait")
		s.send("o")
		s.await("-- INSERT --")
		model.Open("ask")
		s.await("[n] no")
		s.send("a sausAge")
		now := s.await("a sausAge")
		if !strings.Contains(now, "[n] no") {
			t.Errorf("what was typed answered the question:\n%s", now)
		}
		t.Logf("typed on:\n%s", now)
		s.send("Escape")
		s.until("that the question has the cursor", func(string) bool {
			s.send("j")
			return s.place(n) == "agents-question"
		})
		s.command("quit") // which is no consent
		s.await("Then not.")
		s.command("AgentsRun fixer again")
		s.await("[n] no")
		s.command("AgentsCancel")
		s.until("that the question goes with its run", func(now string) bool {
			return strings.Contains(now, "*cancelled") && !strings.Contains(now, "[n] no")
		})
		if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
			t.Error("the file was written")
		}
		s.command("qall!")
	})
}

// place returns the type of the buffer that the cursor is in.
func (s *screen) place(n neovimOf) string {
	s.t.Helper()
	s.looks++
	s.command(fmt.Sprintf("echo 'place %d '.&filetype.' here'", s.looks))
	is := regexp.MustCompile(fmt.Sprintf(`place %d (\S*) here`, s.looks))
	return is.FindStringSubmatch(s.until("the place of the cursor", is.MatchString))[1]
}

// TestNeovimPluginFiles: unsaved documents are saved before a command reads them, and
// buffers have what agents wrote to disk.
func TestNeovimPluginFiles(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		_, env := perform(t, `> copy it
<call bash {"command": "cat note.txt; echo bread >> other.txt", "access": "write"}

>result bash contains oats
< Copied.
`, patience)
		unfoldIn(t, dir, map[string]string{"other.txt": "butter\n"})
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "other.txt", "")
		s.await("butter")
		s.command("edit note.txt")
		s.await("eggs")
		s.send("cc", "oats", "Escape")
		s.command("AgentsRun fixer copy it")
		t.Logf("asks:\n%s", s.await("[n] no"))
		s.answer("y")
		s.await("Copied.")
		if disk, _ := os.ReadFile(filepath.Join(dir, "note.txt")); string(disk) != "oats\neggs\n" {
			t.Errorf("the note was not saved before the command: %q", disk)
		}
		s.command("buffer other.txt")
		s.lines("after the command wrote it", "butter", "bread")
		s.command("qall!")
	})
}

// TestNeovimPluginTests: the tests of an agent run, what failed is listed and marked, and
// the list closes when it passes.
func TestNeovimPluginTests(t *testing.T) { inPlugin(t, testsInNeovim) }

func testsInNeovim(t *testing.T, n neovimOf) {
	dir := notes(t)
	suite := "agent: fixer\ntests:\n  - name: says so\n    input: go\n    model: [{text: Done.}]\n    expect: {output: {equals: Finished.}}\n"
	file := filepath.Join(".gemini", "agents", "fixer.agent-test.yaml")
	if err := os.WriteFile(filepath.Join(dir, file), []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	_, env := perform(t, "# it is not asked\n", patience)
	s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, file, "")
	s.until("the tests", func(now string) bool { return strings.Contains(now, "says so") })
	s.command("AgentsTest")
	place := regexp.MustCompile(`yaml\|6 col 31(-40)? error\| says so: output\.equals: expected "Finished\."`)
	s.until("what failed", place.MatchString)
	s.send("Enter")
	s.command("s/Finished/Done/")
	s.command("AgentsTest")
	s.until("that it passes", func(now string) bool {
		return strings.Contains(now, "1 passed, 0 failed") && !strings.Contains(now, "says so: output")
	})
}
