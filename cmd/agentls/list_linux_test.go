package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// teamOf has a broken agent between two others, one with a long title.
func teamOf(t *testing.T) (dir string) {
	t.Helper()
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	dir = t.TempDir()
	for name, text := range map[string]string{
		"a":           "---\nkind: agent\nname: a\ntitle: 漢字 " + strings.Repeat("long ", 20) + "\n---\nx\n",
		"broken":      "---\nkind: agent\nname: broken\nrun: {max_turns: x}\n---\nx\n",
		"c-long-name": "---\nkind: agent\nname: c-long-name\ntitle: C\n---\nx\n",
	} {
		put(t, filepath.Join(dir, ".gemini", "agents", name+".md"), text)
	}
	return dir
}

// modelColumns returns in which columns the lines have their model.
func modelColumns(shown string) (columns []int) {
	for line := range strings.Lines(shown) {
		if before, _, ok := strings.Cut(line, "gemini-"); ok && strings.Contains(line, "trusted") {
			columns = append(columns, columnsOf(before))
		}
	}
	return columns
}

// TestListAligns: what is wrong with one agent does not move the columns of the
// next, and titles are made shorter rather than lines longer than the terminal.
func TestListAligns(t *testing.T) {
	dir := teamOf(t)
	code, out, _ := command(t, dir, "list")
	if at := modelColumns(out); code != 0 || len(at) != 2 || at[0] != at[1] || at[0] < 100 {
		t.Errorf("exit %d, the models stand at %v\n%s", code, at, out)
	}
	if !strings.Contains(out, "\n    .gemini/agents/broken.md:4:") {
		t.Errorf("what is wrong is not told:\n%s", out)
	}
	keyboard, screen := seat(t) // of 80 columns
	over := make(chan string)
	go func() { // ends with the text that is awaited
		var shown strings.Builder
		b := make([]byte, 4096)
		for !strings.Contains(shown.String(), "Run one") {
			n, err := keyboard.Read(b)
			shown.Write(b[:n])
			if err != nil {
				break
			}
		}
		over <- shown.String()
	}()
	if code := execute([]string{"list"}, streams{screen, screen, os.Stderr}); code != 0 {
		t.Errorf("exit %d", code)
	}
	shown := <-over
	for line := range strings.Lines(shown) {
		if n := columnsOf(strings.TrimRight(line, "\r\n")); n > 80 && strings.Contains(line, "gemini-") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if at := modelColumns(shown); len(at) != 2 || at[0] != at[1] || !strings.Contains(shown, "…") {
		t.Errorf("the models stand at %v\n%s", at, shown)
	}
}

// TestListSaysThatThereAreNone of a scope.
func TestListSaysThatThereAreNone(t *testing.T) {
	dir := teamOf(t)
	if code, out, _ := command(t, dir, "list", "--scope", "global"); code != 0 || out != "You have no agents of your own. Make one: agentls create --global\n" {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, out, _ := command(t, t.TempDir(), "list", "--scope", "project"); code != 0 || out != "This folder has no agents. Make one: agentls create\n" {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestShellCompletion offers what can be typed.
func TestShellCompletion(t *testing.T) {
	dir := teamOf(t)
	for _, c := range []struct {
		args      string
		want, not []string
	}{
		{"create --tools |", []string{"read_file\n", "bash\n"}, nil},
		{"create --tools |read_file,", []string{"read_file,bash\n"}, []string{"read_file,read_file"}},
		{"create --model |", []string{"flash\n", "inherit\n", "auto\n"}, nil},
		{"validate |", []string{"broken\t"}, []string{"main"}},
		{"explain |", []string{"broken\t"}, nil},
		{"edit |", []string{"broken\t"}, []string{"main"}},
		{"delete |", []string{"broken\t"}, []string{"main"}},
		{"export |", []string{"broken\t"}, []string{"main"}},
	} {
		before, begun, _ := strings.Cut(c.args, "|")
		code, out, _ := command(t, dir, append(append([]string{"__complete"}, strings.Fields(before)...), begun)...)
		if code != 0 {
			t.Errorf("%s: exit %d", c.args, code)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not offer %q:\n%s", c.args, want, out)
			}
		}
		for _, not := range c.not {
			if strings.Contains(out, not) {
				t.Errorf("%s offers %q:\n%s", c.args, not, out)
			}
		}
	}
}
