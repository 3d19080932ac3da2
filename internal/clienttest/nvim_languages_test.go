package clienttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gopls returns the language server of Go: of the PATH, else of testdata/newer.
func gopls(t *testing.T) string {
	t.Helper()
	if program, err := exec.LookPath("gopls"); err == nil {
		return program
	}
	program := filepath.Join(os.Getenv("AGENTLS_NEWER"), "bin", "gopls")
	if _, err := os.Stat(program); err != nil {
		t.Skip("gopls is neither in the PATH nor in the folder that AGENTLS_NEWER names")
	}
	return program
}

// TestNeovimPluginLanguages: an agent fixes an error of a Go file that it learned of by
// diagnostics alone, which gopls reports of a buffer that is not saved; it finds its way
// by symbols, definition and references, and is told what its edit broke.
func TestNeovimPluginLanguages(t *testing.T) {
	server := gopls(t)
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := unfold(t, map[string]string{
			"go.mod":                  "module shop\n\ngo 1.20\n",
			".gemini/agents/fixer.md": strings.Replace(fixer, "read_file", "diagnostics, symbols, definition, references, read_file", 1),
			"main.go":                 "package main\n\nfunc main() {\n\tprintln(price(2))\n}\n",
			"price.go":                "package main\n\nfunc price(n int) int { return 3 * n }\n",
		})
		// gopls looks at Go's own packages first, which takes as long as it takes.
		if out, err := exec.CommandContext(t.Context(), server, "check", filepath.Join(dir, "main.go")).CombinedOutput(); err != nil {
			t.Fatalf("gopls check: %v\n%s", err, out)
		}
		_, env := perform(t, `> make it compile
<call diagnostics {"file_path": "main.go"}

>result diagnostics contains main.go:4 error (compiler
<call symbols {"file_path": "main.go"}

>result symbols contains main.go:3 function: main
<call definition {"file_path": "main.go", "symbol": "price"}

>result definition contains price.go:3
<call references {"file_path": "main.go", "symbol": "price"}

>result references contains main.go:4
<call read_file {"file_path": "main.go"}

>result read_file contains milk
<call edit_file {"file_path": "main.go", "old_string": "\"milk\"", "new_string": "two"}

>result edit_file contains main.go:4 error: undefined: two
<call edit_file {"file_path": "main.go", "old_string": "two", "new_string": "2"}

>result edit_file
>!result edit_file contains New diagnostics
<call diagnostics {"file_path": "main.go"}

>result diagnostics contains report nothing
< It compiles.
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1", "GOFLAGS=-mod=mod"), dir, "main.go", fmt.Sprintf(`
vim.api.nvim_set_keymap('n', 'a', '<Nop>', { noremap = true }) -- one that comes after its question is gone
vim.api.nvim_create_autocmd('FileType', { pattern = 'go', callback = function()
  local config = { name = 'gopls', cmd = { '%s' }, root_dir = '%s' }
  if vim.lsp.start then
    vim.lsp.start(config)
  else
    vim.lsp.buf_attach_client(0, vim.lsp.start_client(config))
  end
end })
`, server, dir))
		s.await("println")
		// Neovim 0.7 tells a change that comes while a server begins out of order.
		s.until("that both servers have begun", func(now string) bool {
			if strings.Contains(now, "servers: 2") {
				return true
			}
			s.command("lua print('servers: ' .. #(vim.lsp.get_clients or vim.lsp.get_active_clients)())")
			<-time.After(100 * time.Millisecond)
			return false
		})
		s.command("4s/2/\"milk\"/")
		t.Logf("what gopls says:\n%s", s.await(`cannot use "milk"`))
		s.command("AgentsRun fixer make it compile")
		s.until("that it is fixed, when each question is answered", func(now string) bool {
			if strings.Contains(now, "[n] no") {
				s.send("y")
				<-time.After(100 * time.Millisecond) // keys that come at once are no answer
			}
			return strings.Contains(now, "It compiles.")
		})
		t.Logf("it is fixed:\n%s", s.await("It compiles."))
		if disk, _ := os.ReadFile(filepath.Join(dir, "main.go")); strings.Contains(string(disk), "milk") {
			t.Errorf("control: the error was saved: %s", disk)
		}
		s.command("qall!")
	})
}

// TestNeovimPluginEditsFirst: a person makes another text of what an agent wants to
// write, in the comparison, and accepts that; closed, it answers nothing.
func TestNeovimPluginEditsFirst(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		_, env := perform(t, `> buy oats
<call read_file {"file_path": "note.txt"}

>result read_file
<call edit_file {"file_path": "note.txt", "old_string": "milk", "new_string": "oat milk"}

>result edit_file contains unsweetened
< You want it unsweetened.
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "")
		s.await("eggs")
		s.command("AgentsRun fixer buy oats")
		s.await("[e] edit first")
		s.press("e", ":w accepts")
		s.command("tabclose!")
		s.await("[e] edit first")
		s.press("e", ":w accepts")
		s.command("1s/$/, unsweetened/")
		t.Logf("edited:\n%s", s.await("oat milk, unsweetened"))
		s.command("wincmd h")
		s.command("wall")
		s.await("in its own window")
		s.send("Enter")
		s.command("wincmd l")
		s.command("w")
		s.await("You want it unsweetened.")
		s.command("wincmd t | only")
		s.lines("after it was accepted", "oat milk, unsweetened", "eggs")
		s.command("qall!")
	})
}

// TestNeovimPluginFocus: a command of the server's that names no document is about the
// line that is selected.
func TestNeovimPluginFocus(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		_, env := perform(t, `> look
>body eggs
>!body milk
< I see eggs.
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", `
vim.api.nvim_set_keymap('x', 'X', '', { callback = function()
  vim.lsp.buf_request(0, 'workspace/executeCommand', {
    command = 'agentls.runOnSelection', arguments = { vim.NIL, vim.NIL, 'fixer', 'look' },
  }, function(_, result)
    vim.cmd('normal! \27')
    vim.notify(result.text)
  end)
end })
`)
		s.await("eggs")
		s.command("AgentsCancel") // the server has started
		s.await("no run goes on")
		s.send("Enter")
		for _, key := range []string{"G", "V"} { // V alone moves no cursor
			s.send(key)
			<-time.After(300 * time.Millisecond) // it rests
		}
		s.send("X")
		t.Logf("answers:\n%s", s.await("I see eggs."))
		s.command("qall!")
	})
}
