package clienttest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

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
		`"run":"2","parentRun":"1","agent":"finder","type":"todos.changed","data":{"todos":[{"description":"look","status":"in_progress"}]}`,
		`"run":"2","parentRun":"1","agent":"finder","type":"todos.changed","data":{"todos":[{"description":"look","status":"completed"}]}`,
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
		"> **@finder** find it", ">", "> It is", "> in a.go.", ">", "> - [x] look", "",
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

// TestNeovimPluginAtEdges: a diagnostic that ends behind the last line keeps nobody from
// running an agent, a change can be compared again while it is compared, and lines of code
// that begin with -- or ++ are counted; an event that overtakes a page of past ones is shown.
func TestNeovimPluginAtEdges(t *testing.T) {
	lua := `function Check()
  local client = { offset_encoding = 'utf-16' }
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'one', 'two' })
  vim.diagnostic.set(vim.api.nvim_create_namespace('edge'), 0, { { lnum = 0, col = 0, end_lnum = 2, end_col = 0, message = 'm', severity = 1 } })
  local last = require('agents.context').of()(client).diagnostics[1].range['end']
  local question = { id = 'q', preview = { uri = 'file:///x/b.txt', oldText = 'a', newText = 'b', kind = 'diff' } }
  require('agents.compare').show(question)
  vim.cmd('tabfirst')
  require('agents.compare').show(question)
  vim.cmd('tabonly')
  local server = { id = 1, config = { root_dir = vim.fn.getcwd() } }
  local patch = '--- a/a.lua\n+++ b/a.lua\n@@ -1 +1,2 @@\n--- said\n+++ i\n+++ j\n'
  require('agents.events').show(server, { seq = 1, session = 'main', run = '1', type = 'file.changed', data = { uri = 'file:///x/a.lua', kind = 'edit', patch = patch } })
  local lines = vim.api.nvim_buf_get_lines(require('agents.ui').view_of(vim.fn.getcwd(), 'main').buf, 0, 3, false)
  local answer
  server.request = function(...)
    answer = select(select('#', ...) - 1, ...)
  end
  local function said(seq, text)
    return { seq = seq, session = 'live', run = '1', agent = 'a', type = 'content.delta', data = { text = text } }
  end
  require('agents.events').replay(server, 'live')
  require('agents.events').show(server, said(2, 'two')) -- overtakes the answer, which does not have it
  answer(nil, { events = { said(1, 'one ') }, nextSeq = 2 })
  local shown = vim.api.nvim_buf_get_lines(require('agents.ui').view_of(vim.fn.getcwd(), 'live').buf, 0, 3, false)
  lines[3] = lines[3] .. ' ' .. shown[3]
  print('checked ' .. last.line .. ':' .. last.character .. lines[3])
end
`
	inPlugin(t, func(t *testing.T, n neovimOf) {
		s := n.plugged(t, os.Environ(), t.TempDir(), "x", lua)
		s.await("0,0-1")
		s.command("lua Check()")
		s.await("checked 2:0± edit /x/a.lua  +2 −1 one two")
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

// TestNeovimPluginAnswers: the letters are the terminal's. What is allowed for a run is not
// asked again in it, what is always allowed not in the next one either; n is no at once.
// And a mapping.
func TestNeovimPluginAnswers(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		write := func(i int) string {
			return fmt.Sprintf("<call write_file {\"file_path\": \"%d.txt\", \"content\": \"x\\n\"}\n\n>result write_file\n", i)
		}
		dir := notes(t)
		_, env := perform(t, "> first\n"+write(1)+write(2)+"< Two are there.\n\n> second\n"+write(3)+write(4)+"< Four are there.\n\n> third\n"+write(5)+"< Five are there.\n\n> fourth\n"+
			"<call bash {\"command\": \"echo x > 6.txt\", \"access\": \"write\"}\n\n>result-error bash\n< Then not.\n", patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "vim.api.nvim_set_keymap('n', 'X', '<Plug>(agents-cancel)', {})\n")
		s.await("eggs")
		s.command("AgentsRun fixer first")
		s.await("1.txt")
		s.await("[r] allow for this run")
		s.await("[s] allow for this session")
		s.answer("r")
		s.await("Two are there.")
		s.command("AgentsRun fixer second")
		s.await("[a] allow always in this folder")
		s.answer("a")
		s.await("Four are there.")
		s.command("AgentsRun fixer third")
		s.await("Five are there.")
		s.await("Keep or undo 1 file:")
		s.command("AgentsRun fixer fourth")
		question := s.await("[n] no")
		for _, want := range []string{"[y] allow once", "[t] no, and say why", "[c] no, and end the run"} {
			if !strings.Contains(question, want) {
				t.Errorf("the question lacks %q:\n%s", want, question)
			}
		}
		s.answer("n")
		s.await("Then not.")
		s.send("X")
		s.await("no run goes on")
		s.command("qall!")
	})
}

// TestNeovimPluginEnabled: with vim.lsp.enable, as users of 0.11 and newer may have it,
// there is one server, and the commands use it.
func TestNeovimPluginEnabled(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		if n.program == "nvim" || !strings.HasSuffix(n.program, "newest") {
			return // before 0.11 there is no vim.lsp.enable
		}
		dir := notes(t)
		_, env := perform(t, "> hello\n< Hello.\n", patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "vim.schedule(function() vim.lsp.enable('agentls') end)\n")
		s.await("eggs")
		s.command("AgentsRun fixer hello")
		s.await("Hello.")
		s.command("edit .gemini/agents/fixer.md")
		s.await("You edit notes.")
		s.command("lua print('servers: ' .. #vim.lsp.get_clients({ name = 'agentls' }))")
		s.await("servers: 1")
		s.command("qall!")
	})
}
