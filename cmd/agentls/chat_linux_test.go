package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/wire"
)

// fill writes files of a folder, and goes there.
func fill(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

// TestFilesAreCompletedAndRideAlong: by the beginning of a name before a part of the
// path, without what nobody wrote, and only files that are there ride along.
func TestFilesAreCompletedAndRideAlong(t *testing.T) {
	fill(t, map[string]string{"src/app.ts": "", "lib/src.ts": "", "x/mysrc.ts": "", "node_modules/src.js": "", ".hidden/src.ts": "", "b c.ts": "", "src c.ts": ""})
	var got []string
	for _, offer := range completePaths(t.Context(), "@src") {
		got = append(got, offer.Text)
	}
	if want := []string{"@lib/src.ts", "@src/app.ts", "@x/mysrc.ts"}; !slices.Equal(got, want) {
		t.Errorf("offered %q, want %q", got, want)
	}
	uris := filesNamed("look at @src/app.ts, @lib/src.ts and @src/app.ts; not @nothing, @src, a@b.org or @x://y")
	if len(uris) != 2 || !strings.HasSuffix(uris[0], "/src/app.ts") || !strings.HasSuffix(uris[1], "/lib/src.ts") {
		t.Errorf("what rides along: %q", uris)
	}
}

// TestHistoryIsPrivateAndOfItsFolder: what was typed comes back in the folder where it
// was typed, from a file that only the person can read.
func TestHistoryIsPrivateAndOfItsFolder(t *testing.T) {
	home := t.TempDir()
	fill(t, nil)
	h := historyOf(home)
	h.keep("first")
	h.keep("two\nlines")
	if got := historyOf(home).lines; !slices.Equal(got, []string{"first", "two\nlines"}) {
		t.Errorf("kept %q", got)
	}
	info, err := os.Stat(h.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	fill(t, nil)
	if got := historyOf(home).lines; len(got) > 0 {
		t.Errorf("another folder has %q", got)
	}
	big := strings.Repeat(`{"folder":"/x","text":"`+strings.Repeat("y", 1000)+`"}`+"\n", historyBytes/1000+10)
	if err := os.WriteFile(h.path, []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	h = historyOf(home)
	h.keep("last")
	if info, err := os.Stat(h.path); err != nil || info.Size() > historyBytes {
		t.Errorf("it grows without end: %v, %v", info, err)
	}
	if got := historyOf(home).lines; !slices.Equal(got, []string{"last"}) {
		t.Errorf("kept %q", got)
	}
}

// TestWhatAQuestionOffers: each answer that the daemon takes, and no other.
func TestWhatAQuestionOffers(t *testing.T) {
	keys := func(p *wire.ConfirmParams) (all string) {
		for _, o := range confirmOptions(p) {
			all += o.Key
		}
		return all
	}
	of := func(kinds ...string) (options []wire.Option) {
		for _, k := range kinds {
			options = append(options, wire.Option{Kind: k})
		}
		return options
	}
	if got := keys(&wire.ConfirmParams{Options: of("once", "modify", "reject", "cancel")}); got != "yent" {
		t.Errorf("offered %q", got)
	}
	all := of("once", "run", "session", "always", "modify", "reject", "cancel")
	if got := keys(&wire.ConfirmParams{Options: all, Prefix: "npm run *"}); got != "yrRsSaAent" {
		t.Errorf("offered %q", got)
	}
}

// TestCommandsInPlainLines: what the chat has pickers for lists what there is, and
// says how to name one.
func TestCommandsInPlainLines(t *testing.T) {
	play(t, "> hello\n>model pro\n< Hi.\n")
	code, out, errs := piped(t, t.TempDir(), "/model\n/mode\n/mode plan\n/mode yolo\n/model pro\nhello\n/sessions\n/sessions nothing\n/rewind\n/changes\n/help\n", "run", "-i")
	if code != exitFailed { // two of these were wrong
		t.Errorf("exit %d", code)
	}
	has(t, out+errs, "Choose one: /model NAME", "gemini-", "Choose one: /mode NAME", "mode plan from the first request on", "there is no mode yolo", "answers with pro", "Hi.",
		"Choose one: /sessions NAME", "there is no session nothing", "hello", "sessions rewind main --to N", "There are no changes", "/compress")
}
