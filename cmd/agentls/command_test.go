package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// command runs the command line in a folder, with a home of its own, and
// returns what it printed.
func command(t *testing.T, dir string, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Chdir(dir)
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var stdout, stderr screen
	code = execute(args, streams{in, &stdout, &stderr})
	return code, stdout.String(), stderr.String()
}

// screen is what a command writes to. As a file does, it takes what several write at once:
// the timeline and the log.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// String returns what was written.
func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestListPublicAgents: in a folder with a collection of real agent files, list
// exits 0 and every file is a line of the list or an explanation with file,
// line, column and reason.
func TestListPublicAgents(t *testing.T) {
	collections, err := filepath.Glob("../../../shared/data/agents/*")
	if err != nil || len(collections) == 0 {
		t.Skip("the collections of agent files are not beside this checkout")
	}
	explanation := regexp.MustCompile(`(?m)^ +(\S+\.md):\d+:\d+: \S`)
	for _, collection := range collections {
		collection, err := filepath.Abs(collection)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(collection), func(t *testing.T) {
			t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
			dir := t.TempDir()
			if err := os.CopyFS(filepath.Join(dir, ".gemini", "agents"), os.DirFS(collection)); err != nil {
				t.Fatal(err)
			}
			if code, out, errs := command(t, dir, "trust"); code != 0 {
				t.Fatalf("trust: exit %d\n%s%s", code, out, errs)
			}
			code, out, errs := command(t, dir, "list")
			if code != 0 {
				t.Fatalf("list: exit %d\n%s%s", code, out, errs)
			}
			code, raw, errs := command(t, dir, "list", "--format", "json")
			if code != 0 {
				t.Fatalf("list --format json: exit %d\n%s", code, errs)
			}
			var list struct {
				Agents []struct{ Name, URI, State string }
			}
			if err := json.Unmarshal([]byte(raw), &list); err != nil {
				t.Fatal(err)
			}
			explained := map[string]bool{}
			for _, m := range explanation.FindAllStringSubmatch(out, -1) {
				explained[filepath.Base(m[1])] = true
			}
			named := map[string]string{}
			for _, a := range list.Agents {
				named[filepath.Base(a.URI)] = a.Name
			}
			files, err := os.ReadDir(collection)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				name := named[f.Name()]
				line := name != "" && regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(name)+` `).MatchString(out)
				if !line && !explained[f.Name()] {
					t.Errorf("%s is neither a line of the list nor explained", f.Name())
				}
			}
			t.Logf("%d files, %d explained", len(files), len(explained))
		})
	}
}

// TestDemo is the first thing that a newcomer sees.
func TestDemo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the demo runs a Go test")
	}
	for _, c := range []struct {
		flags []string
		want  []string
		not   []string
	}{
		{nil, []string{
			"--- FAIL: TestAverage", "→ debugger · rule · ", "✓ read_file average.go", "debugger → fixer: ", "Subagent 'test-reader' finished (GOAL", "Asked by: debugger → fixer", "-	for i := 0; i <= len(readings); i++ {",
			"+	for i := 0; i < len(readings); i++ {", "the demo says yes itself", "✓ bash go test ./...  ok    example.com/thermometer  ", "Fixed:",
			"average.go is changed, and the test passes.", "user → debugger → fixer → reviewer", "Folder: ", "Session: ", "removed",
		}, []string{"still fails"}},
		{[]string{"--deny"}, []string{"no (--deny)", "You refused the edit", "average.go is unchanged, and the test still fails."}, []string{"Fixed:"}},
	} {
		t.Run(strings.Join(append([]string{"demo"}, c.flags...), " "), func(t *testing.T) {
			code, out, errs := command(t, t.TempDir(), append([]string{"demo"}, c.flags...)...)
			if code != 0 {
				t.Fatalf("exit %d\n%s\n%s", code, out, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("the demo does not show %q", want)
				}
			}
			for _, not := range c.not {
				if strings.Contains(out, not) {
					t.Errorf("the demo shows %q", not)
				}
			}
			if folder := regexp.MustCompile(`(?m)^Folder: (.*)$`).FindStringSubmatch(out); folder != nil {
				if _, err := os.Stat(folder[1]); err == nil {
					t.Errorf("%s was not removed", folder[1])
				}
			}
			if t.Failed() {
				t.Logf("%s\n%s", out, errs)
			}
		})
	}
}

// TestDemoKeep: the folder is left, git diff in it is the edit, its test passes,
// and the session's log counts 1…n.
func TestDemoKeep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	code, out, errs := command(t, t.TempDir(), "demo", "--keep")
	if code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	folder := regexp.MustCompile(`(?m)^Folder: (.*)$`).FindAllStringSubmatch(out, -1)
	log := regexp.MustCompile(`(?m)^Session: (.*)$`).FindStringSubmatch(out)
	if folder == nil || log == nil {
		t.Fatalf("no folder or session:\n%s", out)
	}
	dir := folder[len(folder)-1][1]
	// An empty cache would have each demo compile Go's library.
	if cache, err := exec.Command("go", "env", "GOCACHE").Output(); err != nil {
		t.Error(err)
	} else if link, err := os.Readlink(filepath.Join(dir, "..", "home", "agentls", "cache", "go-build")); link != strings.TrimSpace(string(cache)) {
		t.Errorf("the demo's cache of Go leads to %q: %v", link, err)
	}
	test := exec.Command("go", "test", "./...")
	test.Dir = dir
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("the kept program's test: %v\n%s", err, out)
	}
	if _, err := exec.LookPath("git"); err == nil {
		diff, err := exec.Command("git", "-C", dir, "diff", "--stat").CombinedOutput()
		if err != nil || !strings.Contains(string(diff), "average.go | 2 +-") || strings.Count(string(diff), "|") != 1 {
			t.Errorf("git diff: %v\n%s", err, diff)
		}
	}
	data, err := os.ReadFile(log[1])
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var e struct{ Seq int }
		if err := json.Unmarshal(line, &e); err != nil || e.Seq != i {
			t.Fatalf("line %d of the log: seq %d, %v", i+1, e.Seq, err)
		}
	}
}

// TestUsage: what is wrong on the command line is said on standard error, and
// exits 2.
func TestUsage(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	for _, args := range [][]string{
		{"nonsense"}, {"list", "--format", "xml"}, {"list", "--nonsense"}, {"run"}, {"run", "x", "--approve", "yolo"}, {"serve", "--approve", "yolo"}, {"trust", "a", "b"},
		{"run", "x", "y", "--format", "xml"}, {"run", "x", "y", "--mode", "fast"}, {"run", "x", "y", "-p", "z"},
		{"run", "x", "y", "--input", "novalue"}, {"run", "x", "y", "--inputs", "[1]"}, {"run", "-i", "--format", "json"},
		{"serve", "--stdio", "--pipe", "x"}, {"serve", "--pipe", "x", "--socket", "1"}, {"serve", "--pipe="}, {"serve", "--socket", "0"},
		{"serve", "--socket", "65536"}, {"serve", "--stdio=false"}, {"sessions", "x"}, {"context"}, {"run", "x", "y", "--new", "--session", "z"}, {"context", "show"}, {"sessions", "show", "a", "b"},
	} {
		code, out, errs := command(t, t.TempDir(), args...)
		if code != 2 || out != "" || !strings.HasPrefix(errs, "agentls: ") {
			t.Errorf("agentls %s: exit %d, stdout %q, stderr %q", strings.Join(args, " "), code, out, errs)
		}
	}
	if code, out, _ := command(t, t.TempDir(), "--version"); code != 0 || !strings.HasPrefix(out, "agentls ") {
		t.Errorf("--version: exit %d, %q", code, out)
	}
	if code, out, _ := command(t, t.TempDir(), "version"); code != 0 || !strings.HasPrefix(out, "agentls ") {
		t.Errorf("version: exit %d, %q", code, out)
	}
}

// TestErrorsSayWhichCommandHelps: in the words of the command line, not of the
// protocol.
func TestErrorsSayWhichCommandHelps(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("GEMINI_API_KEY", "test")
	protocol := regexp.MustCompile(`agents/[a-z]|file://|see the list of agents`)
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"sessions", "foo"}, 2, []string{"unknown command \"foo\" for agentls sessions\n  Use delete, fork, list, replay, resume, rewind or show\n"}},
		{[]string{"context", "foo"}, 2, []string{"unknown command \"foo\" for agentls context\n  Use clear or show\n"}},
		{[]string{"lst"}, 2, []string{"agentls: unknown command \"lst\"\n  Did you mean list or test?\n"}},
		{[]string{"resume"}, 2, []string{"unknown command \"resume\"\n  Did you mean sessions?"}},
		{[]string{"context"}, 2, []string{"missing subcommand\n  Try `agentls context clear`"}},
		{[]string{"list", "--foo"}, 2, []string{"unknown flag: --foo\n  Run `agentls list --help` for"}},
		{[]string{"sessions", "show", "a", "b"}, 2, []string{"Use agentls sessions show [ID]"}},
		{[]string{"list", "foo"}, 2, []string{"unexpected argument \"foo\"\n  Use agentls list"}},
		{[]string{"context", "show"}, 2, []string{"missing argument\n  Use agentls context show NAME"}},
		{[]string{"trust", "a", "b"}, 2, []string{"unexpected argument \"b\"\n  Use agentls trust [FOLDER | AGENT]"}},
		{[]string{"run", "look", "at", "this"}, 2, []string{`Quote it, as in agentls run "look at this"`}},
		{[]string{"run", "hello"}, 1, []string{"there is no agent hello", "agentls list", `agentls run --prompt "hello"`}},
		{[]string{"run", "fix", "this"}, 1, []string{"there is no agent fix", `agentls run "fix this"`}},
		{[]string{"run", "writr", "look here"}, 1, []string{"there is no agent writr\n  Did you mean writer?"}},
		{[]string{"run", "writer"}, 2, []string{`Give a prompt, as in agentls run writer "your request"`}},
		{[]string{"run"}, 2, []string{"agentls run main"}},
		{[]string{"run", "say hello", "--session", "a/b"}, 1, []string{`agentls: the session's name is "a/b"`}},
		{[]string{"run", "nosuch", "look here"}, 1, []string{"there is no agent nosuch\n  See `agentls list`\n"}},
		{[]string{"context", "show", "nosuch"}, 1, []string{"there is no session main\n  See `agentls sessions list`"}},
		{[]string{"sessions", "show", "nope"}, 1, []string{"there is no session nope\n  See `agentls sessions list`"}},
		{[]string{"trust", "/nonexistent"}, 1, []string{"there is no folder /nonexistent", "agentls trust FOLDER"}},
	} {
		code, out, errs := command(t, writer(t), c.args...)
		if code != c.code || out != "" || !strings.HasPrefix(errs, "agentls: ") || protocol.MatchString(errs) {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", c.args, code, out, errs)
		}
		for _, want := range c.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%q does not say %q: %s", c.args, want, errs)
			}
		}
	}
	if got := shellQuote("it's $5"); got != `'it'\''s $5'` {
		t.Errorf("for a shell: %s", got)
	}
}

// TestRunWithoutAPrompt: an agent with a query of its own needs none, and all
// inputs that are missing are listed.
func TestRunWithoutAPrompt(t *testing.T) {
	play(t, "> Look at app.ts.\n< I look.\n")
	dir := writer(t)
	asks := "---\nkind: agent\nname: asker\ntitle: A\nmodel: flash\ninputs:\n  path: {type: string, required: true}\n  why: {type: string, required: true}\n" +
		"query: Look at ${path}.\n---\nYou look, since ${why}.\n"
	if err := os.WriteFile(filepath.Join(dir, ".gemini", "agents", "asker.md"), []byte(asks), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := command(t, dir, "run", "asker", "--trust", "--input", "path=app.ts", "--input", "why=so")
	if code != 0 || out != "I look.\n" || !strings.HasPrefix(errs, "A\n") {
		t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
	}
	if code, _, errs := command(t, dir, "run", "asker", "--trust"); code == 0 || !strings.Contains(errs, "path, why") {
		t.Errorf("without inputs: exit %d, %q", code, errs)
	}
	code, out, _ = command(t, dir, "run", "writer", "--trust", "--format", "json")
	if failure, _ := objects(t, out)[0]["error"].(map[string]any); code != 2 || failure["kind"] != "invalid" {
		t.Errorf("as JSON: exit %d, %s", code, out)
	}
}

// TestRunWithoutAKey says what to set, and names the demo.
func TestRunWithoutAKey(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("GEMINI_API_KEY", "")
	t.Setenv("GOOGLE_API_KEY", "")
	code, _, errs := command(t, t.TempDir(), "run", "say hello")
	if code != 1 || !strings.Contains(errs, "GEMINI_API_KEY") || !strings.Contains(errs, "agentls demo") {
		t.Errorf("exit %d, %q", code, errs)
	}
}
