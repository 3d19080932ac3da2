package session

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// older puts a golden log, which is never changed, into a folder of sessions.
func older(t *testing.T, dir, name, id string) (data []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return data
}

// REL-106, REL-35: a session that an older version kept is listed and goes on, and
// what neither of the two knows stays as it was, also in a fork and where another
// agent is purged.
func TestREL106SessionsOfOlderVersions(t *testing.T) {
	dir := t.TempDir()
	data := older(t, dir, "format1.jsonl", "golden")
	store := New(Config{Dir: dir, Now: clock, Version: "next"})
	info := listed(t, store)["golden"]
	if info.Title != "Mend the lexer" || info.Problem != "" || info.State != Paused || info.Runs != 2 || info.Usage.TotalTokens != 110 {
		t.Errorf("listed as %+v", info)
	}
	s := open(t, store, "golden")
	want := []string{"user: In the person's editor now:\n> file: /w/lexer.go\n The lexer loses the last token.", "model: call r1#1-0", "user: r1#1-0=lexer.go and the first", "model: Both are mended."}
	if diff := cmp.Diff(want, says(s.Context("fixer"))); diff != "" {
		t.Error(diff)
	}
	p, ok := s.Progress("r2")
	if !ok || p.Turn != 1 || len(p.Open) != 1 || p.Open[0].State != activity.Executing || s.Approval() != "edits" {
		t.Errorf("%+v, %v, %s", p, ok, s.Approval())
	}
	f, err := store.Fork(t.Context(), s, s.Log.Last())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Clear("fixer", true); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	old := bytes.SplitAfter(data, []byte("\n"))
	for i, line := range lines(t, dir, "golden")[:len(old)-2] {
		if line != string(old[i+1]) {
			t.Errorf("line %d is %s, was %s", i+2, line, old[i+1])
		}
	}
	for i, line := range lines(t, dir, f.ID)[:len(old)-2] {
		if !strings.Contains(line, `"agent":"fixer"`) && line != string(old[i+1]) {
			t.Errorf("in the fork, line %d is %s, was %s", i+2, line, old[i+1])
		}
	}
}

// REL-35: a session that a newer version kept is listed with what to do, and
// whatever is asked of it, it is left byte for byte as it is.
func TestREL35SessionsOfNewerVersions(t *testing.T) {
	dir := t.TempDir()
	data := older(t, dir, "format2.jsonl", "future")
	store := New(Config{Dir: dir, Now: clock, Version: "old"})
	for range 2 {
		info := listed(t, store)["future"]
		if !strings.Contains(info.Problem, "agentls 9.0.0") || !strings.Contains(info.Problem, "update agentls") || info.Title != "Mend the lexer" {
			t.Errorf("listed as %+v", info)
		}
	}
	if info, runs, err := store.Peek("future"); err != nil || info.Problem == "" || len(runs) != 2 {
		t.Errorf("looked at: %+v, %v", info, err)
	}
	for what, err := range map[string]error{
		"open":   func() error { _, err := store.Open("future"); return err }(),
		"get":    func() error { _, err := store.Get("future"); return err }(),
		"delete": store.Delete("future"),
	} {
		if reason, _ := fault.ReasonOf(err); reason != fault.Config || !strings.Contains(fault.Message(err), "9.0.0") || !strings.Contains(fault.Message(err), "update agentls") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if gone, err := store.Retain(Retention{MaxSessions: 1, Days: 1}); err != nil || len(gone) != 0 {
		t.Errorf("%v, %v", gone, err)
	}
	after, err := os.ReadFile(filepath.Join(dir, "future.jsonl"))
	if err != nil || !bytes.Equal(after, data) {
		t.Errorf("it was changed: %v", err)
	}
	store.Close()
}
