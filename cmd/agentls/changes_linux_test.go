package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// edited has two sessions in which agents changed files: main two parts of long.txt,
// another made b.txt.
func edited(t *testing.T) (dir string) {
	t.Helper()
	play(t, "> first\n<call read_file {\"file_path\": \"long.txt\"}\n\n>result read_file\n<call edit_file {\"file_path\": \"long.txt\", \"old_string\": \"one\\n\", \"new_string\": \"ONE\\n\"}\n\n"+
		">result edit_file\n<call edit_file {\"file_path\": \"long.txt\", \"old_string\": \"nine\\n\", \"new_string\": \"NINE\\n\"}\n\n>result edit_file\n< One.\n\n"+
		"> second\n<call write_file {\"file_path\": \"b.txt\", \"content\": \"b\\n\"}\n\n>result write_file\n< Two.\n")
	dir = t.TempDir()
	put(t, filepath.Join(dir, "long.txt"), "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n")
	for _, args := range [][]string{{"trust"}, {"run", "-p", "first", "--approve", "edits"}, {"run", "-p", "second", "--session", "other", "--approve", "edits"}} {
		if code, _, errs := command(t, dir, args...); code != 0 {
			t.Fatalf("%q: exit %d\n%s", args, code, errs)
		}
	}
	return dir
}

func textOf(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// TestChangesOfAllSessions are listed by session, and one part of a file is undone alone.
func TestChangesOfAllSessions(t *testing.T) {
	dir := edited(t)
	code, out, errs := command(t, dir, "changes", "-p")
	if code != 0 {
		t.Fatal(errs)
	}
	has(t, out, "other (second)\n", "create  b.txt  1 pending\n", "main (first)\n", "edit    long.txt  2 pending\n")
	ids := regexp.MustCompile(`hunk (\S+)  from line (\d+)`).FindAllStringSubmatch(out, -1)
	if len(ids) != 2 || ids[0][2] != "1" || ids[1][2] != "9" {
		t.Fatalf("%q\n%s", ids, out)
	}
	if _, out, _ := command(t, dir, "__complete", "changes", "--hunk", ""); !strings.Contains(out, ids[1][1]+"\tlong.txt:9\n") {
		t.Errorf("it completes\n%s", out)
	}
	if code, out, errs := command(t, dir, "changes", "--undo", "--hunk", ids[1][1][:8]); code != 0 || !strings.Contains(out, "long.txt  1 pending, 1 undone") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if text := textOf(t, dir, "long.txt"); !strings.HasPrefix(text, "ONE\n") || !strings.Contains(text, "nine\n") {
		t.Errorf("long.txt is %q", text)
	}
	if code, _, errs := command(t, dir, "changes", "--undo", "--hunk", "nope"); code != exitUsage || !strings.Contains(errs, "0 hunks have an id that begins with nope") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := command(t, dir, "changes", "none.txt"); code != exitFailed || !strings.Contains(errs, "no agent changed none.txt") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestChangesOfARun: the newest run is undone, and no other.
func TestChangesOfARun(t *testing.T) {
	dir := edited(t)
	if code, out, errs := command(t, dir, "changes", "--undo", "--run", "latest"); code != 0 || out != "b.txt  1 undone\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if b, long := textOf(t, dir, "b.txt"), textOf(t, dir, "long.txt"); b != "" || !strings.Contains(long, "NINE") {
		t.Errorf("b.txt is %q, long.txt %q", b, long)
	}
	if code, out, errs := command(t, dir, "changes", "--undo"); code != 0 || out != "long.txt  2 undone\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// TestChangesAreAskedAbout: part by part, on a terminal.
func TestChangesAreAskedAbout(t *testing.T) {
	dir := edited(t)
	code, shown := perform(t, dir, func(types func(string) func()) []act {
		return []act{{"+ONE", func() {}}, {"Keep or undo it? ", types("k\n")}, {"+NINE", func() {}}, {"Keep or undo it? ", types("u\n")}}
	}, "changes", "-i", "long.txt")
	if text := textOf(t, dir, "long.txt"); code != 0 || !strings.HasPrefix(text, "ONE\n") || !strings.Contains(text, "nine\n") {
		t.Errorf("exit %d, long.txt is %q\n%s", code, text, shown)
	}
	if _, out, _ := command(t, dir, "changes", "long.txt"); strings.Contains(out, "pending") {
		t.Errorf("something is left:\n%s", out)
	}
}

// performInChat is perform for the chat, which has all three streams.
func performInChat(t *testing.T, dir string, play func(types func(string) func()) []act, args ...string) (code int, shown string) {
	t.Helper()
	t.Chdir(dir)
	for name, value := range map[string]string{"TERM": "xterm-256color", "NO_COLOR": "", "ACCESSIBLE": ""} {
		t.Setenv(name, value)
	}
	keyboard, screen := seat(t)
	a := new(actor)
	a.acts = play(func(text string) func() { return func() { _, _ = io.WriteString(keyboard, text) } })
	go func() { _, _ = io.Copy(a, keyboard) }() // ends with the terminal
	code = execute(args, streams{screen, screen, screen})
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, left := range a.acts {
		t.Errorf("%q was never shown:\n%q", left.when, a.all.String())
	}
	return code, a.all.String()
}

// TestChangesOfOneFileInTheChat: who reviews one file decides about that one alone.
func TestChangesOfOneFileInTheChat(t *testing.T) {
	play(t, "> make them\n<call write_file {\"file_path\": \"a.txt\", \"content\": \"a\\n\"}\n<call write_file {\"file_path\": \"b.txt\", \"content\": \"b\\n\"}\n\n>result write_file\n< Made.\n")
	dir := t.TempDir()
	if code, _, errs := command(t, dir, "run", "-p", "make them", "--approve", "edits", "--trust"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	code, shown := performInChat(t, dir, func(types func(string) func()) []act {
		return []act{{"session main", types("/changes a.txt\r")}, {"1 file changed", types("u")}, {" undone", types("/exit\r")}}
	}, "run", "-i", "--trust")
	has(t, shown, "0 parts kept, 1 undone")
	if a, b := textOf(t, dir, "a.txt"), textOf(t, dir, "b.txt"); code != 0 || a != "" || b != "b\n" {
		t.Errorf("exit %d, a.txt is %q, b.txt %q\n%q", code, a, b, shown)
	}
}
