package clienttest

import (
	"fmt"
	"strings"
	"testing"
)

// TestNeovimPluginQuestionOnASmallScreen: a question covers half of the screen at most, and
// what does not fit into it can be scrolled to, as it says.
func TestNeovimPluginQuestionOnASmallScreen(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		n.columns, n.rows = 80, 24
		dir := notes(t)
		var content strings.Builder
		for i := range 40 {
			fmt.Fprintf(&content, `thing %d\n`, i+1)
		}
		_, env := perform(t, `> wait
< I have a long list for you.
<call write_file {"file_path": "new.txt", "content": "`+content.String()+`"}

>result write_file
< It is there.
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "")
		s.await("eggs")
		s.command("AgentsRun fixer wait")
		now := s.await("[n] no")
		s.keep("question")
		top, bottom := 0, 0
		for i, row := range strings.Split(now, "\n") {
			if strings.Contains(row, "╭") {
				top = i
			}
			if strings.Contains(row, "╰") {
				bottom = i
			}
		}
		if rows := bottom - top + 1; bottom == 0 || rows > 12 {
			t.Errorf("the question covers %d of 24 rows:\n%s", rows, now)
		}
		for _, want := range []string{"[j] [k] scroll", "[y] allow once", "eggs", "I have a long list"} {
			if !strings.Contains(now, want) {
				t.Errorf("the screen lacks %q:\n%s", want, now)
			}
		}
		s.press("j", "+thing 40")
		s.keep("scrolled")
		s.press("k", "[n] no")
		s.answer("y")
		s.await("It is there.")
		s.command("qall!")
	})
}

// TestNeovimPluginAllowsAPrefix: a capital letter allows every command that begins as shown.
func TestNeovimPluginAllowsAPrefix(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		_, env := perform(t, `> look
<call bash {"command": "go env GOOS", "access": "write"}

>result bash
<call bash {"command": "go env GOARCH", "access": "write"}

>result bash
< Both are known.
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "")
		s.await("eggs")
		s.command("AgentsRun fixer look")
		s.await("[R] [S] [A] the same for all that begins: go env *")
		s.keep("prefix")
		s.answer("R")
		s.await("Both are known.") // without a second question
		s.command("qall!")
	})
}

// progressOf notes what Neovim tells of the progress of language servers, as each version
// tells it.
const progressOf = `
_G.kinds = {}
if vim.fn.has('nvim-0.10') == 1 then
  vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)
    local value = event.data.params.value
    table.insert(_G.kinds, value.kind .. ' ' .. (value.title or value.message or ''))
  end })
else
  vim.api.nvim_create_autocmd('User', { pattern = 'LspProgressUpdate', callback = function()
    for _, one in ipairs(vim.lsp.util.get_progress_messages()) do
      table.insert(_G.kinds, one.done and 'end ' or 'begin ' .. (one.title or ''))
    end
  end })
end
`

// TestNeovimPluginTellsProgress: a run is progress as that of any language server.
func TestNeovimPluginTellsProgress(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		_, env := perform(t, "> hello\n< Hello.\n", patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", progressOf)
		s.await("eggs")
		s.command("AgentsRun fixer hello")
		s.await("*done")
		s.until("the progress of the run", func(now string) bool {
			s.command("lua print('progress: ' .. _G.kinds[1] .. ', ' .. _G.kinds[#_G.kinds] .. '.')")
			return strings.Contains(now, "progress: begin fixer, end .") || strings.Contains(now, "progress: begin fixer, end ")
		})
		t.Logf("progress:\n%s", s.read())
		s.command("qall!")
	})
}

// TestNeovimPluginSecondWindow: a session that another window has is named so in the list,
// can be read along, and says what to do where somebody acts on it.
func TestNeovimPluginSecondWindow(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		model, env := perform(t, "> wait\n< I wait.\n<gate on\n< I go on.\n", patience)
		env = append(env, "AGENTLS_TRUST=1")
		s := n.plugged(t, env, dir, "note.txt", "")
		s.await("eggs")
		s.command("AgentsRun fixer wait")
		s.await("I wait.")

		second := n.plugged(t, env, dir, "note.txt", "")
		second.await("eggs")
		second.command("AgentsSessions")
		t.Logf("sessions:\n%s", second.await("(in another window "))
		second.send("2", "Enter")
		second.await("I wait.")
		second.command("AgentsCancel")
		second.until("who has the session", func(now string) bool {
			flat := strings.ReplaceAll(now, "\n", "")
			return strings.Contains(flat, "in use by another window or terminal") && strings.Contains(flat, ":AgentsSessions")
		})
		t.Logf("cancelled there:\n%s", second.read())
		second.send("Enter")
		model.Open("on")
		second.await("I go on.")
		s.await("*done")
		second.command("qall!")
		s.command("qall!")
	})
}
