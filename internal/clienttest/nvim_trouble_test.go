package clienttest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
			"crashing again":  {"{ cmd = { 'env', '" + beOld + "=crash', '" + old + "' } }", "AgentsRun fixer hello", []string{"agentls ended by itself (code 1): see :checkhealth agents"}},
			"health, missing": {"{ cmd = { 'no-such-agentls', 'serve' } }", "checkhealth agents", []string{"no-such-agentls is not in your PATH", "Install agentls"}},
			"unknown agent":   {"{}", "AgentsRun @fixr hello", []string{"fixr", "fixer"}},
			"health":          {"{}", "checkhealth agents", []string{"sandbox", "Neovim"}},
			"no run":          {"{}", "AgentsCancel", []string{"no run goes on"}},
			"graph":           {"{}", "AgentsGraph fixer", []string{"Entry: fixer", "• fixer (", "fixer → END"}},
			"no graph":        {"{}", "AgentsGraph", []string{"name an agent: :AgentsGraph NAME"}},
			"no changes":      {"{}", "AgentsChanges", []string{"Nothing is left to decide."}},
			"empty session":   {"{}", "AgentsTranscript empty", []string{"Nothing has been said in session empty"}},
			"another machine": {"{}", "file scp://host/note.txt | AgentsRun @fixr hello", []string{"the agent sees only what you select", "fixr"}},
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

// TestNeovimPluginUntrusted: an agent of a folder that is not trusted does not run, which
// says what to do; :AgentsTrust does it.
func TestNeovimPluginUntrusted(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		_, env := perform(t, "> hello\n< Hello.\n", patience)
		s := n.plugged(t, env, notes(t), "note.txt", "")
		s.await("eggs")
		s.command("AgentsRun fixer hello")
		s.await("1: Do not trust")
		s.send("1", "Enter")
		t.Logf("not trusted:\n%s", s.await(":AgentsTrust shows"))
		s.command("AgentsTrust")
		s.await("3: Trust this folder")
		s.send("3", "Enter")
		s.await("agents: trusted: ")
		s.send("Enter")
		s.command("AgentsRun fixer hello")
		s.await("Hello.")
		s.command("qall!")
	})
}

// TestNeovimPluginWithoutAKey: a run without a key says what to do in Neovim, and that helps.
func TestNeovimPluginWithoutAKey(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		_, env := perform(t, "> hello\n< Hello.\n", patience)
		env = slices.DeleteFunc(env, func(kv string) bool {
			return strings.HasPrefix(kv, "GEMINI_API_KEY=") || strings.HasPrefix(kv, "GOOGLE_API_KEY=")
		})
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), notes(t), "note.txt", "")
		s.await("eggs")
		s.command("AgentsRun fixer hello")
		now := s.await(":AgentsKey asks for one")
		s.keep("without-a-key")
		t.Logf("no key:\n%s", now)
		if strings.Contains(now, "export") {
			t.Error("it names a command of a shell")
		}
		s.command("AgentsKey")
		s.await("Gemini API key:")
		s.send("test", "Enter")
		s.await("has the key now")
		s.command("AgentsRun fixer hello")
		now = s.await("Hello.")
		if strings.Contains(now, "test") {
			t.Errorf("the key is on the screen:\n%s", now)
		}
		s.command("qall!")

		s = n.plugged(t, append(env, "AGENTLS_TRUST=1"), notes(t), "note.txt", "")
		s.await("eggs")
		s.command("checkhealth agents")
		t.Logf("health:\n%s", s.await("no key"))
		s.command("qall!")
	})
}

// TestNeovimPluginBinary: a file that is no text is not edited, and the person sees why.
func TestNeovimPluginBinary(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		unfoldIn(t, dir, map[string]string{"logo.png": "\x89PNG\r\n\x1a\n\x00\x00milk\x00\xff"})
		_, env := perform(t, `> edit it
<call read_file {"file_path": "logo.png"}

>result-error read_file contains is not text
<call edit_file {"file_path": "logo.png", "old_string": "milk", "new_string": "oats"}

>result-error edit_file contains is not text
< It is no text.
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "logo.png", "")
		s.await("PNG")
		s.command("AgentsRun fixer edit it")
		now := s.await("It is no text.")
		s.keep("binary")
		t.Logf("binary:\n%s", now)
		if !strings.Contains(now, "✗ edit_file logo.png") {
			t.Error("it does not say that the edit failed")
		}
		if disk, _ := os.ReadFile(filepath.Join(dir, "logo.png")); !strings.Contains(string(disk), "milk") {
			t.Errorf("the file was changed: %q", disk)
		}
		s.command("qall!")
	})
}

// TestNeovimPluginLeftOpen: a question goes when its server ends, and an edit that a
// person was making of one that was withdrawn says that it is not used.
func TestNeovimPluginLeftOpen(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		const edit = `<call read_file {"file_path": "note.txt"}

>result read_file
<call edit_file {"file_path": "note.txt", "old_string": "milk", "new_string": "oat milk"}

`
		dir := notes(t)
		_, env := perform(t, "> cancel me\n"+edit+"> kill me\n"+edit+"> again\n< I am here.\n", patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "")
		s.await("eggs")
		s.command("AgentsRun fixer cancel me")
		s.await("[e] edit first")
		s.press("e", ":w accepts")
		s.command("AgentsCancel")
		s.command("lua vim.wait(60000, function() return next(require('agents').runs) == nil end) print('it ended')")
		s.await("\nit ended")
		s.command("w")
		t.Logf("withdrawn:\n%s", s.await("so this text is not used"))
		s.send("Enter")
		s.command("tabclose!")
		s.await("*cancelled")
		s.command("AgentsRun fixer kill me")
		s.await("[n] no")
		s.command("wincmd p") // leaves the question and lets it wait
		kill(t, s)
		s.next("agentls ended here.")
		s.until("that the question is gone", func(now string) bool { return !strings.Contains(now, "[n] no") })
		s.next("started again")
		s.command("AgentsSessions")
		s.await("1: a new session")
		s.send("1", "Enter")
		s.until("the new session", func(now string) bool {
			return !strings.Contains(now, "a new session") && !strings.Contains(now, "agents://001/main")
		})
		s.command("AgentsRun fixer again")
		s.await("I am here.")
		s.lines("after all that", "milk", "eggs")
		s.command("qall!")
	})
}
