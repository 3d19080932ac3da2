package clienttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
		if !strings.Contains(now, "[r] reject") {
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
		question := s.await("[r] reject")
		t.Logf("asks:\n%s", question)
		for _, want := range []string{"fixer wants to run edit_file note.txt", "-milk", "+oat milk", "[a] allow once", "[d] compare", "Risk: low"} {
			if !strings.Contains(question, want) {
				t.Errorf("the question lacks %q", want)
			}
		}
		s.press("r", "Why not?")
		s.send("C-u", "not on my list", "Enter")
		t.Logf("refused:\n%s", s.await("You refused it."))
		s.lines("after a refused edit", "milk", "eggs")
		s.await("*done")

		s.command("AgentsRun fixer allow me")
		s.await("[r] reject")
		s.answer("a")
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
		s.await("[r] reject")
		s.send("a sausAge")
		now := s.await("a sausAge")
		if !strings.Contains(now, "[r] reject") {
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
		s.await("[r] reject")
		s.command("AgentsCancel")
		s.until("that the question goes with its run", func(now string) bool {
			return strings.Contains(now, "*cancelled") && !strings.Contains(now, "[r] reject")
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
		t.Logf("asks:\n%s", s.await("[r] reject"))
		s.answer("a")
		s.await("Copied.")
		if disk, _ := os.ReadFile(filepath.Join(dir, "note.txt")); string(disk) != "oats\neggs\n" {
			t.Errorf("the note was not saved before the command: %q", disk)
		}
		s.command("buffer other.txt")
		s.lines("after the command wrote it", "butter", "bread")
		s.command("qall!")
	})
}

// TestNeovimPluginTrouble: what can be wrong has a message that says what to do.
func TestNeovimPluginTrouble(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		_, env := perform(t, "# it is not asked\n", patience)
		trusted := append(env, "AGENTLS_TRUST=1")
		dir := notes(t)
		old, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			setup, command string
			want           []string
		}{
			"missing":         {"{ cmd = { 'no-such-agentls', 'serve' } }", "AgentsRun fixer hello", []string{"no-such-agentls is not in your PATH: install agentls, or see :checkhealth agents"}},
			"crashing":        {"{ cmd = { 'sh', '-c', 'exit 3' } }", "AgentsRun fixer hello", []string{"agentls ended by itself (code 3): see :checkhealth agents"}},
			"too old":         {"{ cmd = { 'env', '" + beOld + "=1', '" + old + "' } }", "AgentsRun fixer hello", []string{"too old for the plugin: update it"}},
			"unknown agent":   {"{}", "AgentsRun @fixr hello", []string{"fixr", "fixer"}},
			"health":          {"{}", "checkhealth agents", []string{"sandbox", "Neovim"}},
			"no run":          {"{}", "AgentsCancel", []string{"no run goes on"}},
			"graph":           {"{}", "AgentsGraph fixer", []string{"Entry: fixer", "• fixer (", "fixer → END"}},
			"no graph":        {"{}", "AgentsGraph", []string{"name an agent: :AgentsGraph NAME"}},
			"no changes":      {"{}", "AgentsChanges", []string{"Nothing is left to decide."}},
			"empty session":   {"{}", "AgentsTranscript empty", []string{"Nothing has been said in session empty"}},
			"another machine": {"{}", "file scp://host/note.txt | AgentsTranscript", []string{"Nothing has been said"}},
		} {
			t.Run(name, func(t *testing.T) {
				s := n.plugged(t, trusted, dir, "note.txt", "vim.schedule(function() require('agents').setup("+c.setup+") end)\n")
				s.await("eggs")
				s.command(c.command)
				now := s.until(fmt.Sprintf("%q", c.want), func(now string) bool {
					if wantsEnter(now) {
						s.send("Space")
					}
					flat := strings.ReplaceAll(now, "\n", "")
					for _, want := range c.want {
						if !strings.Contains(flat, want) {
							return false
						}
					}
					return true
				})
				t.Logf("%s:\n%s", name, now)
				s.send("Enter")
				s.command("qall!")
			})
		}
	})
}

// TestNeovimPluginManyAtOnce: an agent that is at work can be told more; a second window
// on the same workspace is told to use another session; and an answer of many lines, or
// with what other viewers of Markdown would follow, is text.
func TestNeovimPluginManyAtOnce(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		model, env := perform(t, `> wait
< I wait.
<gate on
<call read_file {"file_path": "note.txt"}

> and buy bread
< [run](command:quit) ![x](http://192.0.2.1/x.png) <b>bold</b>

> long
<repeat 10000 line {} of many\n
< The end.

> second window
< Hello, second.
`, patience)
		env = append(env, "AGENTLS_TRUST=1")
		s := n.plugged(t, env, dir, "note.txt", "")
		s.await("eggs")
		s.command("AgentsRun fixer wait")
		s.await("I wait.")
		s.command("AgentsRun fixer and buy bread")
		t.Logf("busy:\n%s", s.await("1: Tell it now"))
		s.send("1", "Enter")
		s.await("**you**: and buy bread")
		model.Open("on")
		s.await("*done")
		t.Logf("told:\n%s", s.await("[run](command:quit)"))
		s.command("AgentsRun fixer long")
		s.until("all lines", func(now string) bool {
			return strings.Contains(now, "line 9999 of many") && strings.Contains(now, "The end.") && strings.Contains(now, "*done")
		})

		second := n.plugged(t, env, dir, "note.txt", "")
		second.await("eggs")
		second.command("AgentsRun fixer second window")
		t.Logf("second window:\n%s", second.await("begins another"))
		second.command("AgentsSessions")
		second.await("1: a new session")
		second.send("1", "Enter")
		second.until("the new session", func(now string) bool {
			return !strings.Contains(now, "in use by") && !strings.Contains(now, "a new session")
		})
		second.command("AgentsRun fixer second window")
		second.await("Hello, second.")
		second.command("qall!")
		s.command("qall!")
	})
}

// TestNeovimPluginShowsChains: runs that a run started stand behind what it has shown,
// each by itself, also when both speak at once; a handoff is a line, and its successor
// goes on below.
func TestNeovimPluginShowsChains(t *testing.T) {
	events := []string{
		`"run":"1","agent":"lead","type":"run.started","data":{"input":[{"type":"text","text":"fix it"}]}`,
		`"run":"1","agent":"lead","type":"tool.state","data":{"call":"c","name":"finder","args":{"query":"bug"},"state":"executing","risk":"low"}`,
		`"run":"2","parentRun":"1","agent":"finder","type":"run.started","data":{"input":[{"type":"text","text":"find it"}]}`,
		`"run":"3","parentRun":"1","agent":"tester","type":"run.started","data":{"input":[{"type":"text","text":"test it"}]}`,
		`"run":"2","parentRun":"1","agent":"finder","type":"content.delta","data":{"text":"It is\n"}`,
		`"run":"3","parentRun":"1","agent":"tester","type":"content.delta","data":{"text":"It fails.\nOften."}`,
		`"run":"2","parentRun":"1","agent":"finder","type":"content.delta","data":{"text":"in a.go."}`,
		`"run":"1","agent":"lead","type":"tool.state","data":{"call":"c","name":"finder","args":{"query":"bug"},"state":"success","risk":"low","result":{"content":"in a.go","bytes":7}}`,
		`"run":"1","agent":"lead","type":"content.delta","data":{"text":"Found."}`,
		`"run":"1","agent":"lead","type":"handoff.started","data":{"from":"lead","to":"mender","reason":"it is to be mended","chain":["lead","mender"],"depth":1,"run":"4"}`,
		`"run":"4","parentRun":"1","agent":"mender","type":"run.started","data":{"input":[{"type":"text","text":"fix it"}]}`,
		`"run":"4","parentRun":"1","agent":"mender","type":"content.delta","data":{"text":"Mended."}`,
	}
	lua := "function Play()\n  local client = { config = { root_dir = vim.fn.getcwd() } }\n  require('agents.ui').open(client, 'main', true)\n"
	for i, event := range events {
		lua += fmt.Sprintf("  require('agents.events').show(client, vim.fn.json_decode([[{\"seq\":%d,\"session\":\"main\",%s}]]))\n", i+1, strings.ReplaceAll(event, `\n`, `\\n`))
	}
	lua = strings.ReplaceAll(lua, `\\n`, `\n`) + "end\n"
	want := []string{
		"## @lead fix it", "",
		"✓ finder bug  +2 lines", "",
		"> **@finder** find it", ">", "> It is", "> in a.go.", "",
		"> **@tester** test it", ">", "> It fails.", "> Often.", "",
		"Found.", "",
		"**lead → mender**: it is to be mended", "",
		"## @mender", "",
		"Mended.", "", "~",
	}
	inPlugin(t, func(t *testing.T, n neovimOf) {
		s := n.plugged(t, os.Environ(), t.TempDir(), "x", lua)
		s.await("0,0-1")
		s.command("lua Play()")
		s.until(strings.Join(want, "\n"), func(now string) bool {
			for i, row := range strings.Split(now, "\n")[:len(want)] {
				_, right, _ := strings.Cut(row, "│")
				if strings.TrimSpace(right) != want[i] {
					return false
				}
			}
			return true
		})
		s.command("qall!")
	})
}

// TestNeovimPluginFollowsAHandoff: one agent hands over to another, which streams on below.
func TestNeovimPluginFollowsAHandoff(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		unfoldIn(t, dir, map[string]string{".gemini/agents/finder.md": `---
kind: agent
name: finder
title: Finder
model: flash
tools:
  allow: [read_file]
handoffs:
  - to: fixer
---
You find mistakes.
`})
		_, env := perform(t, `# when system contains You find mistakes

> the list is wrong
< I know who mends this.
<call transfer_to_fixer {"reason": "the note has to be edited"}

# when system contains You edit notes

> the list is wrong
< I mended it.
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "")
		s.await("eggs")
		s.command("AgentsRun finder the list is wrong")
		now := s.await("I mended it.")
		t.Logf("handed over:\n%s", now)
		last := 0
		for _, want := range []string{"## @finder the list is wrong", "I know who mends this.", "**finder → fixer**: the note has to be edited", "│## @fixer\n", "│I mended it."} {
			at := strings.Index(now, want)
			if at < last {
				t.Errorf("%q is missing, or in another place", want)
			}
			last = at
		}
		s.command("qall!")
	})
}

// TestNeovimPluginRoutes: :AgentsRoute lists the agents that a prompt may be for, the
// decided one first, and runs the chosen one.
func TestNeovimPluginRoutes(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		for name, keyword := range map[string]string{"finder": "list", "sorter": "sort"} {
			text := strings.NewReplacer("name: fixer", "name: "+name, "model: flash\n", "model: flash\ntriggers:\n  keywords: ["+keyword+"]\n").Replace(fixer)
			unfoldIn(t, dir, map[string]string{".gemini/agents/" + name + ".md": text})
		}
		_, env := perform(t, "> sort the list\n< I look.\n", `{"agents": {"routing": {"strategy": "rule"}}}`)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "")
		s.await("eggs")
		s.command("AgentsRoute sort the list")
		now := s.await("Type number")
		if !strings.Contains(now, "1: ") || !strings.Contains(now, "finder – ") || !strings.Contains(now, "% · list") || !strings.Contains(now, "% · sort") {
			t.Errorf("the list is:\n%s", now)
		}
		s.send("2", "Enter")
		s.await("I look.")
		s.command("qall!")
	})
}

// TestNeovimPluginIsFast prints what the plugin adds to the start, and how long the first
// character of an answer takes.
func TestNeovimPluginIsFast(t *testing.T) {
	inNeovims(t, func(t *testing.T, n neovimOf) {
		n.block = "neovim-plugin"
		const runs = 5
		var script strings.Builder
		for i := range runs {
			fmt.Fprintf(&script, "> question %d\n< I answer %d\n\n", i, i)
		}
		_, env := perform(t, script.String(), patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), notes(t), "note.txt", measure)
		s.await("eggs")
		s.command("lua vim.wait(60000, function() local c = require('agents').servers()[1]; return c and c.initialized end) print('ready')")
		s.await("\nready")
		var took []float64
		for i := range runs {
			s.command(fmt.Sprintf("AgentsRun fixer question %d", i))
			s.await(fmt.Sprintf("I answer %d", i))
			s.command(fmt.Sprintf(`lua vim.wait(9000, function() return first end) print(('first character %d after %%.1f ms'):format(first)) first = nil`, i))
			is := regexp.MustCompile(fmt.Sprintf(`first character %d after ([\d.]+) ms`, i))
			ms, err := strconv.ParseFloat(is.FindStringSubmatch(s.until("a duration", is.MatchString))[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, ms)
		}
		s.command("qall!")
		slices.Sort(took)

		var added []float64
		for range runs {
			added = append(added, n.startup(t))
		}
		slices.Sort(added)
		t.Logf("%s: from Enter to the first streamed character %.1f ms (%.1f to %.1f); the plugin adds %.2f ms to the start (%.2f to %.2f)",
			n.program, took[runs/2], took[0], took[runs-1], added[runs/2], added[0], added[runs-1])
	})
}

// startup returns how many milliseconds of a start Neovim spends in the plugin's files.
func (n neovimOf) startup(t *testing.T) (ms float64) {
	t.Helper()
	dir := notes(t)
	init, log := filepath.Join(dir, "init.lua"), filepath.Join(dir, "start.log")
	if err := os.WriteFile(init, []byte(n.configuration(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), n.program, "--headless", "-u", init, "-i", "NONE", "-n", "--startuptime", log, "note.txt", "-c", "qall!")
	c.Env, c.Dir = append(os.Environ(), n.environ...), dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	// clock, self and sourced, self: what follows a colon
	for _, line := range regexp.MustCompile(`(?m)^[\d.]+ +([\d.]+) +[\d.]+: .*editors/nvim/.*$`).FindAllStringSubmatch(string(text), -1) {
		took, err := strconv.ParseFloat(line[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		ms += took
	}
	if ms == 0 {
		t.Fatalf("the plugin is not loaded:\n%s", text)
	}
	return ms
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
