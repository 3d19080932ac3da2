package clienttest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// An agent file is written in real editors: what is wrong is shown, a name is
// completed, and an agent is renamed with all that name it.

// team is the workspace: one file has a mistake, another names the agent that is
// renamed.
var team = map[string]string{
	".gemini/agents/broken.md": `---
kind: agent
name: broken
title: Broken
description: Has a mistake.
tools:
  allow: [read_fil]
handoffs:
  - to:
---
You are broken.
`,
	".gemini/agents/code-fixer.md": `---
kind: agent
name: code-fixer
title: Code Fixer
description: Mends code.
tools: {allow: [read_file, edit_file]}
---
You mend code.
`,
	".gemini/agents/reviewer.md": `---
kind: agent
name: reviewer
title: Reviewer
description: Reads code.
tools: {allow: [read_file]}
handoffs:
  - to: code-fixer
---
You read code. Ask @code-fixer to mend it.
`,
}

// configuration returns the block of docs/clients.md for an editor.
func configuration(t *testing.T, editor string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?ms)^```[a-z]+ " + editor + "\n(.*?)^```$").FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("docs/clients.md has no block for %s", editor)
	}
	return m[1]
}

// desk is where the author sits: an environment in which agentls is found and
// trusts the workspace, which is a repository.
func desk(t *testing.T) (env []string, dir string) {
	t.Helper()
	dir = unfold(t, team)
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	home := unfoldIn(t, outliving(t), map[string]string{".gemini/settings.json": "{}"})
	return append(os.Environ(), "PATH="+filepath.Dir(build(t))+":"+os.Getenv("PATH"), "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"),
		"GEMINI_HOME="+filepath.Join(home, ".gemini"), "AGENTLS_TRUST=1", "TERM=xterm-256color", "LANG=C.UTF-8"), dir
}

// newer returns a program of the editors that testdata/newer/install.sh unpacks, and
// the folder with all of them. It leaves the test out where they are not there.
func newer(t *testing.T, program string) (path, root string) {
	t.Helper()
	root = os.Getenv("AGENTLS_NEWER")
	if root == "" {
		t.Skip("AGENTLS_NEWER does not name the folder in which internal/clienttest/testdata/newer/install.sh has unpacked newer editors")
	}
	path = filepath.Join(root, "bin", program)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s has no %s", root, program)
	}
	return path, root
}

// judgeNames waits until the disk has the agent's new name in all its places.
// In file is where the agent is then.
func judgeNames(t *testing.T, s *screen, dir, file string) {
	t.Helper()
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(dir, ".gemini/agents", name))
		return string(text)
	}
	var problems []string
	for deadline := time.Now().Add(patient); ; <-time.After(20 * time.Millisecond) { // an editor tells nobody that it has written
		problems = nil
		if !strings.Contains(read(file), "name: mender\n") {
			problems = append(problems, file+": "+read(file))
		}
		if old := read("code-fixer.md"); old != "" && file != "code-fixer.md" {
			problems = append(problems, "code-fixer.md is still there: "+old)
		}
		if text := read("reviewer.md"); !strings.Contains(text, "to: mender\n") || !strings.Contains(text, "@mender to mend") {
			problems = append(problems, "reviewer.md: "+text)
		}
		if text := read("broken.md"); !strings.Contains(text, "- to: mender\n") || !strings.Contains(text, "[read_file]") {
			problems = append(problems, "broken.md: "+text)
		}
		if len(problems) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s\nthe screen:\n%s", strings.Join(problems, "\n"), s.read())
		}
	}
}

// neovimOf is a Neovim of this machine, and what it is started with.
type neovimOf struct {
	program, block string // of docs/clients.md
	environ        []string
	columns, rows  int // of its screen; 0 are the usual ones
}

// start opens a Neovim with its block of docs/clients.md.
func (n neovimOf) start(t *testing.T, env []string, dir string) *screen {
	t.Helper()
	return n.open(t, env, dir, configuration(t, "neovim-run"))
}

// open is start with more Lua, which is run first, and files to edit.
func (n neovimOf) open(t *testing.T, env []string, dir, more string, files ...string) *screen {
	t.Helper()
	script := filepath.Join(t.TempDir(), "init.lua")
	text := "vim.o.swapfile = false\nvim.o.more = false\nvim.o.hidden = true\nvim.diagnostic.config({ virtual_text = true })\nvim.cmd('filetype on')\n" +
		more + n.configuration(t)
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if n.columns == 0 {
		n.columns, n.rows = 110, 32
	}
	return openSized(t, append(env, n.environ...), dir, n.columns, n.rows, append([]string{n.program, "-u", script, "-i", "NONE", "-n"}, files...)...)
}

// configuration returns its block of docs/clients.md, with the plugin of this repository.
func (n neovimOf) configuration(t *testing.T) string {
	t.Helper()
	plugin, err := filepath.Abs("../../editors/nvim")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(configuration(t, n.block), "/path/to/agentls/editors/nvim", plugin)
}

// brokenInNeovim opens a Neovim on an agent file with a mistake, and returns the
// screen that tells of it.
func brokenInNeovim(t *testing.T, n neovimOf) (s *screen, dir, shown string) {
	env, dir := desk(t)
	s = n.start(t, env, dir)
	s.send(":edit .gemini/agents/broken.md", "Enter")
	return s, dir, s.await("did you mean read_file")
}

// authorInNeovim plays the story in a Neovim.
func authorInNeovim(t *testing.T, n neovimOf) {
	s, dir, shown := brokenInNeovim(t, n)
	t.Logf("what is wrong:\n%s", shown)

	s.send("/to:", "Enter", "A", " co", "C-x", "C-o")
	offered := s.await("code-fixer")
	t.Logf("what is offered:\n%s", offered)
	s.send("C-y", "Escape", "/read_fil", "Enter", ":lua vim.lsp.buf.code_action()", "Enter")
	fixes := s.await("Type number")
	t.Logf("the fixes:\n%s", fixes)
	s.send("1", "Enter")
	s.await("[read_file]")
	s.send(":silent wall", "Enter", ":edit .gemini/agents/code-fixer.md", "Enter")
	s.await("You mend code.")
	s.send("gg", "/name: ", "Enter", "w", "w", ":lua vim.lsp.buf.rename('mender')", "Enter")
	s.await("name: mender")
	s.send(":silent wall", "Enter")
	judgeNames(t, s, dir, "mender.md")
	s.send(":qall!", "Enter")
}

// inNeovims plays a story in the Neovim of this machine, and in those of
// testdata/newer.
func inNeovims(t *testing.T, play func(*testing.T, neovimOf)) {
	needNeovim(t)
	t.Run("Installed", func(t *testing.T) { play(t, neovimOf{program: "nvim", block: "neovim"}) })
	for name, n := range map[string]struct{ program, folder, block string }{
		"Newer":  {"nvim", "files", "neovim"},
		"Newest": {"nvim-newest", "newest", "neovim-0.11"},
	} {
		t.Run(name, func(t *testing.T) {
			program, root := newer(t, n.program)
			play(t, neovimOf{program: program, block: n.block, environ: []string{"VIMRUNTIME=" + filepath.Join(root, n.folder, "usr/share/nvim/runtime")}})
		})
	}
}

func TestNeovimAuthor(t *testing.T) { inNeovims(t, authorInNeovim) }

func TestEmacsAuthor(t *testing.T) {
	for _, name := range []string{"emacs", "tmux"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	if err := exec.Command("emacs", "-q", "--batch", "--eval", "(require 'eglot)").Run(); err != nil {
		t.Skip("Emacs has no eglot; install it (Debian: elpa-eglot)")
	}
	env, dir := desk(t)
	script := filepath.Join(t.TempDir(), "init.el")
	text := "(setq suggest-key-bindings nil native-comp-async-report-warnings-errors nil make-backup-files nil auto-save-default nil create-lockfiles nil eglot-confirm-server-initiated-edits nil)\n" + configuration(t, "emacs")
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, env, dir, "emacs", "-nw", "-q", "--no-splash", "-l", script, ".gemini/agents/broken.md")
	s.await("You are broken.")
	find := func(text string) { // what Emacs is sent while it is busy may be thrown away
		s.send("M-<")
		s.await(" L1 ")
		s.send("C-s", text)
		s.await("I-search: " + text)
		s.send("Enter")
		s.await("Mark saved where search started")
	}
	call := func(command string) {
		s.send("M-x")
		s.await("M-x")
		s.send(command, "Enter")
	}
	call("eglot")
	s.await("Connected!")
	call("flymake-show-buffer-diagnostics")
	t.Logf("what is wrong:\n%s", s.await("The tool read_fil is not known"))
	s.send("C-x", "1")
	find("to:")
	s.send(" code-")
	s.await("to: code-")
	call("completion-at-point")
	t.Logf("what is offered:\n%s", s.await("to: code-fixer"))
	s.await("[eglot:001] ") // it has no answer to wait for any more
	find("read_fi")
	call("eglot-code-actions")
	t.Logf("the fixes:\n%s", s.await("Pick an action"))
	s.send("Enter")
	s.await("[read_file]")
	s.send("C-x", "C-s")
	s.await("Wrote ")
	s.send("C-x", "C-f")
	s.await("Find file:")
	s.send("code-fixer.md", "Enter")
	s.await("You mend code.")
	find("name: c")
	call("eglot-rename")
	s.await("Rename `code-fixer")
	s.send("mender", "Enter")
	t.Logf("what it would change:\n%s", s.await("Proceed?"))
	s.send("y")
	t.Logf("renamed:\n%s", s.await("name: mender"))
	s.send("C-x", "s")
	s.await("Save file ")
	s.send("!")
	judgeNames(t, s, dir, "code-fixer.md") // eglot does not rename files
	s.send("C-x", "C-c")
}

func TestHelixAuthor(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	program, root := newer(t, "hx")
	env, dir := desk(t)
	unfoldIn(t, dir, map[string]string{".helix/languages.toml": configuration(t, "helix")})
	s := open(t, append(env, "HELIX_RUNTIME="+filepath.Join(root, "files/usr/lib/hx/runtime")), dir, program, ".gemini/agents/broken.md")
	s.await("You are broken.")
	s.send("/read_fil", "Enter")
	t.Logf("what is wrong:\n%s", s.await("did you mean read_file"))
	s.send("Space", "a")
	t.Logf("the fixes:\n%s", s.await("Replace with read_file"))
	s.send("Enter")
	s.await("[read_file]")
	s.send("/to:", "Enter")
	s.send("A")
	s.await(" INS ")
	// One at a time: changes that Helix reads together it sends in any order.
	for _, typed := range []struct{ key, place string }{{" ", " 9:9"}, {"c", " 9:10"}, {"o", " 9:11"}} {
		s.send(typed.key)
		s.await(typed.place+" ", typed.place+"\n")
	}
	t.Logf("what is offered:\n%s", s.await("code-fixer"))
	s.send("Tab", "Enter")
	s.await("to: code-fixer")
	s.send("Escape")
	s.await(" NOR ")
	s.send(":write", "Enter", ":open .gemini/agents/code-fixer.md", "Enter")
	s.await("You mend code.")
	s.send("/code-fixer", "Enter", "Space", "r")
	s.await("rename-to")
	s.send("C-u", "C-k", "mender", "Enter")
	s.await("name: mender")
	s.send(":write-all", "Enter")
	judgeNames(t, s, dir, "mender.md")
	s.send(":quit-all!", "Enter")
}

// authorInVSCode: the same with the generic client of VS Code, which shows code
// lenses, too.
func authorInVSCode(t *testing.T) {
	env, dir := desk(t)
	v := startVSCode(t, append(env, "SERVE_ARGS=--trust"), dir)
	lines := v.drive([]map[string]string{{"name": "author"}})
	if len(lines) != 1 {
		t.Fatal("the story was not played")
	}
	var got struct {
		Lenses, Fixes, Offered []string
		Hover                  string
		Problems               int
	}
	if err := json.Unmarshal(lines[0], &got); err != nil {
		t.Fatal(err)
	}
	t.Logf("lenses: %q\nfixes: %q\noffered: %q\nhover:\n%s", got.Lenses, got.Fixes, got.Offered, got.Hover)
	if !strings.Contains(got.Hover, "did you mean read_file") || !slices.Contains(got.Lenses, "Validate") {
		t.Error("what is wrong, or a lens, is not shown")
	}
	if got.Problems > 0 {
		t.Errorf("%d findings are left", got.Problems)
	}
	for name, want := range map[string]string{"mender.md": "name: mender\n", "reviewer.md": "to: mender\n", "broken.md": "- to: mender\n"} {
		if text, _ := os.ReadFile(filepath.Join(dir, ".gemini/agents", name)); !strings.Contains(string(text), want) {
			t.Errorf("%s is not renamed:\n%s", name, text)
		}
	}
}
