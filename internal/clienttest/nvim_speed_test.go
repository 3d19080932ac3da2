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
)

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
		t.Logf("measured: %s: from Enter to the first streamed character %.1f ms (%.1f to %.1f); the plugin adds %.2f ms to the start (%.2f to %.2f)",
			n.version(t), took[runs/2], took[0], took[runs-1], added[runs/2], added[0], added[runs-1])
	})
}

// version returns what a Neovim calls itself.
func (n neovimOf) version(t *testing.T) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), n.program, "--version")
	c.Env = append(os.Environ(), n.environ...)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return first
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
