package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// talked makes a workspace whose session main has two requests that were
// answered, the second with a new file.
func talked(t *testing.T, more string) (home, dir string) {
	t.Helper()
	home = play(t, "> first\n< One.\n\n> second\n<call write_file {\"file_path\": \"a.txt\", \"content\": \"a\\n\"}\n\n>result write_file\n< Two.\n"+more)
	dir = writer(t)
	for _, prompt := range []string{"the first", "the second"} {
		if code, _, errs := command(t, dir, "run", "writer", prompt, "--trust", "--approve", "edits"); code != 0 {
			t.Fatalf("exit %d\n%s", code, errs)
		}
	}
	t.Setenv("AGENTLS_TRUST", "1")
	return home, dir
}

// places returns the numbers in brackets of what sessions show prints.
func places(shown string) (numbers []string) {
	for _, m := range regexp.MustCompile(`(?m)^\[(\d+)\]$`).FindAllStringSubmatch(shown, -1) {
		numbers = append(numbers, m[1])
	}
	return numbers
}

// TestSessionsRewindAndFork: what show prints as a place is one for rewind and
// fork; each says how it is undone, or how to go on.
func TestSessionsRewindAndFork(t *testing.T) {
	_, dir := talked(t, "\n> third\n>history One.\n>!history Two.\n< Three.\n")
	_, shown, _ := command(t, dir, "sessions", "show", "main")
	at := places(shown)
	if len(at) != 3 || !strings.Contains(shown, "agentls sessions rewind main --to N") {
		t.Fatalf("places %q in\n%s", at, shown)
	}
	code, out, errs := command(t, dir, "sessions", "rewind", "main", "--to", at[0], "--files")
	undo := regexp.MustCompile(`agentls (sessions rewind main --to \d+ --files)`).FindStringSubmatch(out)
	if code != 0 || !strings.Contains(out, "brought back  a.txt") || undo == nil {
		t.Fatalf("rewind: exit %d, %q\n%s", code, out, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
		t.Error("the file is there")
	}
	if code, _, errs := command(t, dir, strings.Fields(undo[1])...); code != 0 {
		t.Fatalf("undone: exit %d\n%s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err != nil {
		t.Error("the rewind is not undone")
	}

	code, out, errs = command(t, dir, "sessions", "fork", "main", "--at", at[0])
	next := regexp.MustCompile(`agentls run --session (\S+) `).FindStringSubmatch(out)
	if code != 0 || next == nil {
		t.Fatalf("fork: exit %d, %q\n%s", code, out, errs)
	}
	if code, out, errs := command(t, dir, "run", "writer", "the third", "--session", next[1]); code != 0 || !strings.Contains(out, "Three.") {
		t.Errorf("the fork: exit %d, %q\n%s", code, out, errs)
	}
	code, out, _ = command(t, dir, "sessions", "fork", "main", "--json")
	var forked wire.SessionNewResult
	if err := json.Unmarshal([]byte(out), &forked); code != 0 || err != nil || forked.Session == "" {
		t.Errorf("fork --json: exit %d, %q", code, out)
	}
	code, out, _ = command(t, dir, "sessions", "rewind", "main", "--to", "1", "--files", "--json")
	var back wire.SessionRewindResult
	if err := json.Unmarshal([]byte(out), &back); code != 0 || err != nil || len(back.Files) != 1 || back.Left == nil {
		t.Errorf("rewind --json: exit %d, %q", code, out)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "--to is missing\n  agentls sessions show main", []string{"rewind", "main"}},
		{2, "--force is about files", []string{"rewind", "main", "--to", "1", "--force"}},
		{1, "the place", []string{"rewind", "main", "--to", "99999"}},
		{1, "the place", []string{"fork", "main", "--at", "99999"}},
		{1, "there is no session nope", []string{"rewind", "nope", "--to", "1"}},
		{1, "there is no session nope", []string{"fork", "nope"}},
		{1, "there is no session nope", []string{"delete", "nope", "--yes"}},
		{2, "missing argument", []string{"fork"}},
	} {
		if code, out, errs := command(t, dir, append([]string{"sessions"}, c.args...)...); code != c.code || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit %d, %q, %q", c.args, code, out, errs)
		}
	}
}

// TestSessionsDelete: without a terminal nothing is erased that was not agreed
// to on the command line.
func TestSessionsDelete(t *testing.T) {
	home, dir := talked(t, "")
	if code, _, errs := command(t, dir, "sessions", "delete", "main"); code != 2 || !strings.Contains(errs, "--yes") || len(sessions(t, home)) != 1 {
		t.Errorf("exit %d, %q, %q", code, errs, sessions(t, home))
	}
	if code, out, errs := command(t, dir, "sessions", "delete", "main", "--yes"); code != 0 || out != "Session main is erased.\n" || len(sessions(t, home)) != 0 {
		t.Errorf("exit %d, %q, %q, %q", code, out, errs, sessions(t, home))
	}
}

// TestChanges: what agents changed is listed with what can be done about it, kept
// and undone, in the files that are named.
func TestChanges(t *testing.T) {
	_, dir := talked(t, "\n> third\n<call write_file {\"file_path\": \"b.txt\", \"content\": \"b\\n\"}\n\n>result write_file\n< Three.\n")
	if code, _, errs := command(t, dir, "run", "writer", "the third", "--approve", "edits"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	code, out, errs := command(t, dir, "changes")
	for _, want := range []string{"create  a.txt  1 pending\n", "create  b.txt  1 pending\n", "agentls changes --keep"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in %q\n%s", code, want, out, errs)
		}
	}
	if _, out, _ := command(t, dir, "changes", "-p", "b.txt"); !strings.Contains(out, "+b\n") || strings.Contains(out, "a.txt") {
		t.Errorf("of one file: %q", out)
	}
	if _, out, _ := command(t, dir, "changes", "--json"); !strings.Contains(out, `"status": "pending"`) {
		t.Errorf("as JSON: %q", out)
	}
	if code, out, errs := command(t, dir, "changes", "--undo", "b.txt"); code != 0 || out != "b.txt  1 undone\n" {
		t.Errorf("undo: exit %d, %q\n%s", code, out, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.txt")); err == nil {
		t.Error("b.txt is there")
	}
	if code, out, errs := command(t, dir, "changes", "--keep"); code != 0 || out != "a.txt  1 kept\n" {
		t.Errorf("keep: exit %d, %q\n%s", code, out, errs)
	}
	if _, out, _ := command(t, dir, "changes"); !strings.HasPrefix(out, "There are no changes") {
		t.Errorf("after that: %q", out)
	}
	if code, _, errs := command(t, dir, "changes", "--keep", "--undo"); code != 2 || !strings.Contains(errs, "Leave one out") {
		t.Errorf("both: exit %d, %q", code, errs)
	}
}

// TestApproveCountsMoreThanTheSession: what is said for this process holds for
// its runs, whatever mode the session was given.
func TestApproveCountsMoreThanTheSession(t *testing.T) {
	_, dir := talked(t, "\n> third\n<call write_file {\"file_path\": \"b.txt\", \"content\": \"b\"}\n\n>result-error write_file contains plan\n< Three.\n"+
		"\n> fourth\n<call write_file {\"file_path\": \"c.txt\", \"content\": \"c\"}\n\n>result write_file\n< Four.\n")
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := with(t.Context(), streams{in, io.Discard, io.Discard}, func(ctx context.Context, conn *connection) error {
		return conn.Call(ctx, wire.MethodSessionSetApproval, &wire.SessionApprovalParams{Approval: "edits"}, nil)
	}); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := command(t, dir, "run", "writer", "the third", "--approve", "plan"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "b.txt")); err == nil {
		t.Error("b.txt was written")
	}
	if code, _, errs := command(t, dir, "run", "writer", "the fourth"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "c.txt")); err != nil {
		t.Errorf("with the session's own mode: %v", err)
	}
}

// TestSessionsResume: a run that was left is taken up by its own name or by that
// of its session; one that has ended is not.
func TestSessionsResume(t *testing.T) {
	home := play(t, "> goes\n<call ls {\"dir_path\": \".\"}\n<usage in=90 out=20\n\n>result ls\n< Went on.\n")
	dir := writer(t)
	path := filepath.Join(dir, ".gemini", "agents", "writer.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	frugal := strings.Replace(string(text), "model: flash\n", "model: flash\nrun: {max_turns: 10}\n", 1)
	if err := os.WriteFile(path, []byte(frugal), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AGENTLS_TRUST", "1")
	// What a daemon leaves that is killed before the model answers.
	if code, _, errs := command(t, dir, "run", "writer", "goes on"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	logs, err := filepath.Glob(filepath.Join(home, "agentls", "sessions", "*", "main.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%q, %v", logs, err)
	}
	if code, _, errs := command(t, dir, "sessions", "resume", "main"); code != 1 || !strings.Contains(errs, "all have ended") {
		t.Errorf("of a session with nothing left: exit %d, %q", code, errs)
	}
	if code, _, errs := command(t, dir, "sessions", "resume", "nobody"); code != 1 || !strings.Contains(errs, "no run nobody") {
		t.Errorf("of nobody: exit %d, %q", code, errs)
	}
	log, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	cut := regexp.MustCompile(`(?m)^.*"type":"turn.started","data":{"turn":2}.*\n`).FindIndex(log)
	if cut == nil {
		t.Fatalf("no second turn:\n%s", log)
	}
	for _, name := range []string{"main", ""} {
		if err := os.WriteFile(logs[0], log[:cut[0]], 0o600); err != nil {
			t.Fatal(err)
		}
		run := regexp.MustCompile(`"run":"([^"]+)"`).FindSubmatch(log)
		if name == "" {
			name = string(run[1])
		}
		stage(t, "> goes\n>result ls\n< Taken up.\n")
		t.Setenv("GEMINI_HOME", home)
		code, out, errs := command(t, dir, "sessions", "resume", name)
		if code != 0 || out != "Taken up.\n" {
			t.Errorf("resume %s: exit %d, %q\n%s", name, code, out, errs)
		}
	}
}

// TestResumeAtALimit: a run that ended at its limit says how it goes on, and does.
func TestResumeAtALimit(t *testing.T) {
	stage(t, "> look\n<call ls {\"dir_path\": \".\"}\n\n> been given more\n<call ls {\"dir_path\": \".gemini\"}\n\n>result ls\n< Found.\n")
	t.Setenv("AGENTLS_TRUST", "1")
	dir := writer(t)
	path := filepath.Join(dir, ".gemini", "agents", "writer.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "model: flash\n", "model: flash\nrun: {max_turns: 1}\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := command(t, dir, "run", "writer", "look")
	if code != 1 || out != "" || !strings.Contains(errs, "Out of turns. The run ended after 1 turns.\n") || !strings.Contains(errs, "To give it more: agentls sessions resume main\n") {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	code, out, errs = command(t, dir, "sessions", "resume", "--turns", "2", "--session", "main")
	if code != 0 || !strings.Contains(out, "Found.\n") || strings.Contains(errs, "To give it more") {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
}

// TestRewindHints: only what --force would bring back is offered with it, and runs
// that had to end are named.
func TestRewindHints(t *testing.T) {
	for why, want := range map[string]bool{
		"It was changed by hand since: to go back without regard to that, force it.": true,
		"It is a folder now.": false,
	} {
		var out strings.Builder
		r := &wire.SessionRewindResult{Left: []wire.LeftFile{{URI: "file:///w/a", Why: why}}}
		if err := printRewound(&out, &wire.SessionRewindParams{Session: "main", ToSeq: 3, Files: true}, 9, r, nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "--force") != want || strings.Contains(out.String(), "ended") {
			t.Errorf("%s: %q", why, out.String())
		}
	}
}

// TestRewindNamesTheRunsThatItEnds: they are not brought back with the rest.
func TestRewindNamesTheRunsThatItEnds(t *testing.T) {
	home, dir := talked(t, "")
	logs, err := filepath.Glob(filepath.Join(home, "agentls", "sessions", "*", "main.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%q, %v", logs, err)
	}
	log, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	// What a daemon leaves that is killed in the second run's last turn.
	cut := regexp.MustCompile(`(?m)^.*"type":"turn.started","data":{"turn":2}.*\n`).FindIndex(log)
	if cut == nil {
		t.Fatalf("no second turn:\n%s", log)
	}
	if err := os.WriteFile(logs[0], log[:cut[0]], 0o600); err != nil {
		t.Fatal(err)
	}
	run := regexp.MustCompile(`"run":"([^"]+)"[^\n]*\n$`).FindSubmatch(log[:cut[0]])
	if run == nil {
		t.Fatalf("no run in\n%s", log[:cut[0]])
	}
	_, shown, _ := command(t, dir, "sessions", "show", "main")
	code, out, errs := command(t, dir, "sessions", "rewind", "main", "--to", places(shown)[0])
	if code != 0 || !strings.Contains(out, "ended         run "+string(run[1])+" of writer:") {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	if _, out, _ := command(t, dir, "sessions", "rewind", "main", "--to", places(shown)[0]); strings.Contains(out, "ended") {
		t.Errorf("once more: %q", out)
	}
}

// TestChangesOfANameThatURIsEscape: what is listed can be named.
func TestChangesOfANameThatURIsEscape(t *testing.T) {
	const name = "b+c=d@(e),f;g:h&i$.txt"
	_, dir := talked(t, "\n> third\n<call write_file {\"file_path\": \""+name+"\", \"content\": \"b\\n\"}\n\n>result write_file\n< Three.\n")
	if code, _, errs := command(t, dir, "run", "writer", "the third", "--approve", "edits"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	if code, out, errs := command(t, dir, "changes", "--undo", "./"+name); code != 0 || out != name+"  1 undone\n" {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		t.Error("it is there")
	}
	if uris, err := urisOf([]string{"/w/" + name}); err != nil || len(uris) != 1 || uris[0] != tool.URI("/w/"+name) {
		t.Errorf("%q, %v", uris, err)
	}
}
