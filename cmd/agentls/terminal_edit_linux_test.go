package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/internal/wire"
)

// useEditor has an editor that does to the file what a line of sh does with "$1".
func useEditor(t *testing.T, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", path)
}

func unedited(t *testing.T) {
	t.Helper()
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "")
}

var changeable = []wire.Option{{Kind: "once"}, {Kind: "modify"}, {Kind: "reject"}}

// TestEditOnTheTerminal: e changes the command, the file's text or the
// arguments; what cannot be used, or is as it was, is asked about again.
func TestEditOnTheTerminal(t *testing.T) {
	command := &wire.ConfirmParams{
		Message: "writer wants to run bash", Options: changeable, Args: json.RawMessage(`{"command":"touch p","timeout":9}`),
		Preview: &wire.Preview{Kind: "command", Command: "touch p"},
	}
	file := &wire.ConfirmParams{
		Message: "writer wants to run write_file a.txt", Options: changeable, Args: json.RawMessage(`{"content":"a\n"}`),
		Preview: &wire.Preview{Kind: "diff", URI: "file:///w/a.txt", NewText: "a\n"},
	}
	kept := &wire.ConfirmParams{Message: "writer wants to run bash", Options: []wire.Option{{Kind: "once"}, {Kind: "session"}, {Kind: "always"}}, Prefix: "npm run *"}
	other := &wire.ConfirmParams{Message: "writer wants to run fetch", Options: changeable, Args: json.RawMessage(`{"url":"http://x"}`)}
	for name, c := range map[string]struct {
		editor string // "" = none
		p      *wire.ConfirmParams
		typed  []string
		want   string // the answer
	}{
		"a command, typed":                {"", command, []string{"e\n", "touch q; ls\n"}, `{"outcome":"modify","modified":{"args":{"command":"touch q; ls","timeout":9}}}`},
		"a command, as it was":            {"", command, []string{"edit\n", "\n", "n\n"}, `{"outcome":"reject"}`},
		"arguments that are none":         {"", other, []string{"e\n", "url\n", "e\n", `{"url":"http://y"}` + "\n"}, `{"outcome":"modify","modified":{"args":{"url":"http://y"}}}`},
		"a file, and no editor":           {"", file, []string{"e\n", "y\n"}, `{"outcome":"once"}`},
		"a command, in the editor":        {`echo "touch q" > "$1"`, command, []string{"e\n"}, `{"outcome":"modify","modified":{"args":{"command":"touch q","timeout":9}}}`},
		"a file, in the editor":           {`test "$(basename "$1")" = a.txt && echo b >> "$1"`, file, []string{"E\n"}, `{"outcome":"modify","modified":{"newText":"a\nb\n"}}`},
		"an editor that changes nothing":  {"true", command, []string{"e\n", "n\n"}, `{"outcome":"reject"}`},
		"an editor that fails":            {`echo evil > "$1"; exit 1`, command, []string{"e\n", "y\n"}, `{"outcome":"once"}`},
		"an editor that empties it":       {`: > "$1"`, command, []string{"e\n", "n\n"}, `{"outcome":"reject"}`},
		"what is typed is the editor's":   {`read -r line; echo "$line" > "$1"`, command, []string{"e\ntouch r\n"}, `{"outcome":"modify","modified":{"args":{"command":"touch r","timeout":9}}}`},
		"edit, where it is not offered":   {"", question, []string{"e\n"}, `{"outcome":"reject"}`},
		"all that begins so, always":      {"", kept, []string{"a*\n"}, `{"outcome":"always","prefix":true}`},
		"and for the session":             {"", kept, []string{"Session*\n"}, `{"outcome":"session","prefix":true}`},
		"for these words":                 {"", kept, []string{"s\n"}, `{"outcome":"session"}`},
		"once is for one call":            {"", kept, []string{"y*\n", "n\n"}, `{"outcome":"reject"}`}, // it is asked again
		"for the run, not offered":        {"", kept, []string{"r*\n"}, `{"outcome":"reject"}`},
		"without a prefix":                {"", question, []string{"s*\n"}, `{"outcome":"reject"}`},
		"a reason":                        {"", kept, []string{"n, use go test\n"}, `{"outcome":"reject","feedback":"use go test"}`},
		"a reason without a no":           {"", kept, []string{"not this file\n"}, `{"outcome":"reject","feedback":"not this file"}`},
		"always, where it is not offered": {"", question, []string{"a\n"}, `{"outcome":"always"}`}, // which the daemon does not take
	} {
		t.Run(name, func(t *testing.T) {
			if unedited(t); c.editor != "" {
				useEditor(t, c.editor)
			}
			asks, p := sit(t)
			p.prompted = func() {
				if len(c.typed) == 0 {
					t.Error("it is asked once too often")
					p.types(t, "\n")
					return
				}
				line := c.typed[0]
				c.typed = c.typed[1:]
				p.types(t, line)
			}
			r, err := asks.confirm(t.Context(), c.p)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(r); err != nil || string(got) != c.want {
				t.Errorf("%s, %v, want %s\n%s", got, err, c.want, p.shown.String())
			}
		})
	}
}

// TestSEC139EditedCallsPassTheGate: what the person made of a call is what runs,
// nothing else does, and one that is riskier is asked about again.
func TestSEC139EditedCallsPassTheGate(t *testing.T) {
	for name, c := range map[string]struct {
		edited string
		again  []string // answers to further questions
		model  string
		want   string // the file that is there afterwards
	}{
		"as it is (the control)":     {"", nil, ">result bash\n< Done.\n", "p"},
		"changed":                    {"touch q", nil, ">result bash contains touch q\n< Done.\n", "q"},
		"riskier, refused":           {"touch q; true a\u200bb", []string{"n\n"}, ">result-error bash contains denied\n< Done.\n", ""},
		"riskier, allowed":           {"touch q; true a\u200bb", []string{"y\n"}, ">result bash contains touch q\n< Done.\n", "q"},
		"so that it is catastrophic": {"touch q; mkfs /dev/agentls-none", nil, ">result-error bash contains not run\n< Done.\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			unedited(t)
			play(t, "> do it\n<call bash {\"command\": \"touch p\", \"access\": \"write\"}\n\n"+c.model)
			dir := writer(t)
			_, shown := perform(t, dir, func(types func(string) func()) []act {
				acts := []act{{"or say why not: ", types("e\n")}, {"> ", types(c.edited + "\n")}}
				if c.edited == "" {
					acts = []act{{"or say why not: ", types("y\n")}}
				}
				for _, answer := range c.again {
					acts = append(acts, act{"or say why not: ", types(answer)})
				}
				return acts
			}, "run", "do it", "--trust")
			for _, name := range []string{"p", "q"} {
				if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != (name == c.want) {
					t.Errorf("%s: %v, want %q there\n%s", name, err, c.want, shown)
				}
			}
			t.Logf("what ran wrote %q", c.want)
		})
	}
}

// TestSEC71ALongQuestionSaysHowItBegins: what has scrolled away is named at the
// prompt, with how long the whole is.
func TestSEC71ALongQuestionSaysHowItBegins(t *testing.T) {
	asks, p := sit(t)
	if err := unix.IoctlSetWinsize(int(asks.in.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	p.prompted = func() { p.types(t, "n\n") }
	for message, want := range map[string]bool{
		"bash x": false,
		"bash x\n" + strings.Repeat("line\n", 20):     false,
		"bash x\n" + strings.Repeat("line\n", 30):     true,
		"bash x\n" + strings.Repeat("x", 80*30) + "P": true,
	} {
		p.shown.Reset()
		if r, err := asks.confirm(t.Context(), &wire.ConfirmParams{Title: "writer wants to run bash x", Message: message, Options: changeable}); err != nil || r.Outcome != "reject" {
			t.Fatalf("%+v, %v", r, err)
		}
		if got := strings.Contains(p.shown.String(), "They begin: writer wants to run bash x"); got != want {
			t.Errorf("%d characters: %v\n%s", len(message), got, p.shown.String())
		}
	}
}
