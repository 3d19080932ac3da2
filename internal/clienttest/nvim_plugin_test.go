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
	return unfold(t, map[string]string{"note.txt": "milk\neggs\n", ".gemini/agents/fixer.md": fixer})
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
		if !strings.Contains(now, "[r] reject") {
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
			if left, _, _ := strings.Cut(rows[i], "│"); strings.TrimSpace(left) != line {
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

> cut me
< I am cut
<heartbeat 1s

> cut me
< I went on.
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", measure)
		s.await("eggs")

		s.command("2AgentsRun fixer refuse me")
		t.Logf("streams:\n%s", s.await("I will look at"))
		if now := s.read(); strings.Contains(now, "the note.") || !strings.Contains(now, "## @fixer refuse me") {
			t.Errorf("it does not stream, or has no heading:\n%s", now)
		}
		model.Open("look")
		question := s.await("[r] reject")
		t.Logf("asks:\n%s", question)
		for _, want := range []string{"fixer wants to run edit_file note.txt", "-milk", "+oat milk", "[a] allow once", "[d] compare", "Risk: low"} {
			if !strings.Contains(question, want) {
				t.Errorf("the question lacks %q", want)
			}
		}
		s.until("a prompt for the reason", func(now string) bool {
			if strings.Contains(now, "Why not?") {
				return true
			}
			s.send("r")
			<-time.After(100 * time.Millisecond)
			return false
		})
		s.send("C-u", "not on my list", "Enter")
		t.Logf("refused:\n%s", s.await("You refused it."))
		s.lines("after a refused edit", "milk", "eggs")
		s.await("*done")

		s.command("AgentsRun fixer allow me")
		s.await("[r] reject")
		s.answer("a")
		t.Logf("allowed:\n%s", s.await("Bought oat milk."))
		s.lines("after the edit", "oat milk", "eggs")
		s.until("the end", func(now string) bool { return strings.Count(now, "*done") == 2 })
		s.send("u")
		s.lines("after undo", "milk", "eggs")
		if disk, _ := os.ReadFile(filepath.Join(dir, "note.txt")); string(disk) != "milk\neggs\n" {
			t.Errorf("the file on disk was written behind the buffer: %q", disk)
		}

		s.command("AgentsRun fixer once more")
		s.await("[r] reject")
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
		s.command(`lua print(('first character after %.0f ms'):format(_G.first))`)
		m := regexp.MustCompile(`first character after \d+ ms`).FindString(s.await("first character after"))
		t.Logf("%s: from Enter to the first streamed character on the screen: %s", n.program, m)

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

// measure tells how long it takes from Enter to the first streamed text that is drawn.
const measure = `
local entered
vim.api.nvim_create_autocmd('CmdlineLeave', { callback = function() entered = vim.loop.hrtime() end })
vim.api.nvim_create_autocmd('FileType', { pattern = 'agents', callback = function(event)
  vim.api.nvim_buf_attach(event.buf, false, { on_lines = function(_, buf, _, first, _, last)
    local text = table.concat(vim.api.nvim_buf_get_lines(buf, first, last, false), '\n')
    if entered and text:match('^I ') then
      vim.schedule(function()
        vim.cmd('redraw')
        _G.first = entered and (vim.loop.hrtime() - entered) / 1e6 or _G.first
        entered = nil
      end)
    end
  end })
end })
`

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
