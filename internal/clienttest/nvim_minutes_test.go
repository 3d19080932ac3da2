package clienttest

import (
	"strings"
	"testing"
)

// TestNeovimPluginFirstMinutes is what a person does who has just installed the plugin,
// on a small dark screen and on a large light one: nothing stops them with a message that
// is longer than its line.
func TestNeovimPluginFirstMinutes(t *testing.T) {
	inNeovims(t, func(t *testing.T, n neovimOf) {
		n.block = "neovim-plugin"
		for _, c := range []struct {
			background    string
			columns, rows int
		}{{"dark", 80, 24}, {"light", 120, 40}} {
			t.Run(c.background, func(t *testing.T) {
				t.Parallel()
				n := n
				n.columns, n.rows = c.columns, c.rows
				firstMinutes(t, n, "vim.o.background = '"+c.background+"'\nvim.o.termguicolors = false\nvim.o.laststatus = 2\n"+
					"vim.o.statusline = \"%f %m%=%{v:lua.require'agents'.statusline()} %l,%c\"\n")
			})
		}
	})
}

func firstMinutes(t *testing.T, n neovimOf, look string) {
	dir := notes(t)
	unfoldIn(t, dir, map[string]string{".gemini/agents/finder.md": finderOfNotes})
	model, env := perform(t, `# when system contains You edit notes

> make milk oat milk
<thought Reading: First the note.
< I will look at
<gate look
< \sthe note.
<call read_file {"file_path": "note.txt"}

>result read_file contains milk
<call edit_file {"file_path": "note.txt", "old_string": "milk", "new_string": "oat milk"}

>result edit_file
< I made the milk **oat milk**. There is nothing else to do:\n\n- `+"`note.txt`"+` has two lines\n- the second is still eggs

> the list is wrong
<call bash {"command": "sort -u note.txt > sorted.txt && wc -l sorted.txt", "access": "write"}

>result-error bash contains keep the order
< Then I leave the order.

# when system contains You find mistakes

> the list is wrong
< I know who fixes this.
<call transfer_to_fixer {"reason": "the note has to be sorted"}
`, patience)
	s := n.plugged(t, env, dir, "note.txt", look)
	calm := func(step string, wants ...string) string {
		t.Helper()
		now := s.until(step, func(now string) bool {
			for _, want := range wants {
				if !strings.Contains(now, want) {
					return false
				}
			}
			return true
		})
		s.keep(step)
		if strings.Contains(now, "Press ENTER") || strings.Contains(now, "-- More --") {
			t.Errorf("%s: a message is longer than its line:\n%s", step, now)
		}
		return now
	}
	calm("opened", "eggs", "agents: idle")

	s.command("Agents")
	calm("agents", "fixer", "Type number")
	s.send("2", "Enter")
	calm("prompt", "@fixer:")
	s.send("make milk oat milk", "Enter")
	calm("trust", "Do not trust")
	s.send("3", "Enter")
	calm("streams", "I will look at", "agents: 1 running")
	model.Open("look")
	calm("question", "[n] no", "agents: waiting for you")
	s.press("d", "back to the question")
	calm("comparison", "oat milk")
	s.send("q")
	calm("back", "[n] no")
	s.answer("y")
	calm("done", "second is still eggs", "*done", "agents: idle")
	if strings.Contains(s.colours(), "\x1b[41m") {
		t.Error("a name with a _ has a red bar")
	}
	s.command("wincmd l")
	s.send("zR", "gg")
	calm("unfolded", "│ First the note.")
	s.send("zM")
	s.until("that it is folded", func(now string) bool { return !strings.Contains(now, "First the note.") })
	s.send("G")
	s.command("wincmd h")
	s.command("AgentsChanges")
	calm("changes", "+oat milk")
	s.send("/oat", "Enter", "x")
	calm("undone", "Nothing is left to decide.")
	s.send("q")
	s.await("*done")
	s.command("AgentsRun finder the list is wrong")
	calm("handed-over", "fixer wants to run bash", "[n] no")
	s.press("t", "Why not, or what instead?")
	calm("reason", "Why not, or what instead?")
	s.send("keep the order", "Enter")
	calm("refused", "Then I leave the order.", "agents: idle")
	s.command("checkhealth agents")
	calm("health", "Neovim")
	s.command("qall!")
}

const finderOfNotes = `---
kind: agent
name: finder
title: Finder
description: Finds what is wrong with the notes.
model: flash
tools:
  allow: [read_file]
handoffs:
  - to: fixer
---
You find mistakes.
`
