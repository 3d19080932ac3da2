package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/wire"
)

// TestREL129AlwaysOnTheTerminal: a keeps the answer, the next process does not ask, one
// in another folder, as a worktree is, does; the command line lists and forgets it, and
// then it is asked again.
func TestREL129AlwaysOnTheTerminal(t *testing.T) {
	unedited(t)
	var script strings.Builder
	for _, file := range []string{"a", "b"} {
		script.WriteString("> write\n<call write_file {\"file_path\": \"" + file + ".txt\", \"content\": \"x\"}\n\n>result write_file\n< Done.\n\n")
	}
	for range 2 {
		script.WriteString("> write\n<call write_file {\"file_path\": \"c.txt\", \"content\": \"x\"}\n\n>result-error write_file contains denied\n< No.\n\n")
	}
	play(t, script.String())
	dir := writer(t)
	run := []string{"run", "writer", "write", "--trust"}
	_, shown := perform(t, dir, func(types func(string) func()) []act { return []act{{"or say why not: ", types("a\n")}} }, run...)
	has(t, shown, "a = always in this folder", "This run, this session and always also allow: changes of ordinary files in ")
	if _, shown = perform(t, dir, func(func(string) func()) []act { return nil }, run...); strings.Contains(shown, "Allow?") {
		t.Errorf("it is asked again:\n%s", shown)
	}
	no := func(types func(string) func()) []act { return []act{{"or say why not: ", types("n\n")}} }
	perform(t, writer(t), no, run...)
	none := func(func(string) func()) []act { return nil }
	_, shown = perform(t, dir, none, "permissions")
	has(t, shown, "writer", "write_file", "just now", "changes of ordinary files in ", "agentls permissions forget ID")
	_, shown = perform(t, dir, none, "permissions", "list", "--json")
	var all wire.PermissionsListResult
	if err := json.Unmarshal([]byte(shown), &all); err != nil || len(all.Permissions) != 1 || all.Permissions[0].Scope != "always" || all.Permissions[0].Decision != "allow" || all.Permissions[0].Since == "" {
		t.Fatalf("%v: %s", err, shown)
	}
	id := all.Permissions[0].ID
	if _, shown = perform(t, dir, none, "permissions", "forget", id); shown != "Forgotten: it is asked about again.\n" {
		t.Errorf("forget: %s", shown)
	}
	code, shown := perform(t, dir, none, "permissions", "forget", id)
	if has(t, shown, "nothing is allowed under "+id); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	if _, shown = perform(t, dir, none, "permissions"); shown != "Nothing is allowed always in this folder.\n" {
		t.Errorf("after it was forgotten: %s", shown)
	}
	if code, shown = perform(t, dir, none, "permissions", "sell"); code != exitUsage {
		t.Errorf("a part that is none: %d, %s", code, shown)
	}
	perform(t, dir, no, run...)
	for name, want := range map[string]bool{"a.txt": true, "b.txt": true, "c.txt": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSEC81NoEditorNoTerminal: where nobody can be asked, what is piped in is no
// answer, and the call is refused. The controls: a mode that covers it, and an
// answer that was kept, run it.
func TestSEC81NoEditorNoTerminal(t *testing.T) {
	unedited(t)
	for name, c := range map[string]struct {
		args   []string
		before string // an answer on a terminal before
		want   bool
	}{
		"nothing":              {nil, "", false},
		"a mode (the control)": {[]string{"--approve", "edits"}, "", true},
		"kept (the control)":   {nil, "a\n", true},
		"only for the session": {nil, "s\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			ask := "> write\n<call write_file {\"file_path\": \"x.txt\", \"content\": \"x\"}\n\n>history write_file\n< Over.\n"
			script := ask
			if c.before != "" {
				script = strings.Replace(ask, "x.txt", "before.txt", 1) + "\n" + ask
			}
			play(t, script)
			dir := writer(t)
			args := []string{"run", "writer", "write", "--trust"}
			if c.before != "" {
				perform(t, dir, func(types func(string) func()) []act { return []act{{"or say why not: ", types(c.before)}} }, args...)
			}
			t.Chdir(dir)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if _, err := io.WriteString(w, "y\nyes\na\n"); err != nil {
				t.Fatal(err)
			}
			w.Close()
			var shown strings.Builder
			execute(append(args, c.args...), streams{r, io.Discard, &shown})
			if _, err := os.Stat(filepath.Join(dir, "x.txt")); (err == nil) != c.want {
				t.Errorf("the file: %v, want it there: %v\n%s", err, c.want, shown.String())
			}
			t.Logf("the canary fired: %v", c.want)
		})
	}
}
