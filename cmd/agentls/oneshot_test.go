package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestAPromptNeedsNoVerb: an argument with a blank, or -p, is a request to main.
func TestAPromptNeedsNoVerb(t *testing.T) {
	for _, args := range [][]string{{"say hello", "--new"}, {"-p", "say hello"}, {"--prompt=say hello"}} {
		play(t, "> say hello\n< Hello.\n")
		if code, out, errs := command(t, t.TempDir(), args...); code != 0 || out != "Hello.\n" {
			t.Errorf("%q: exit %d, stdout %q\n%s", args, code, out, errs)
		}
	}
}

// TestAPipeGetsTheFinalText alone: what the agent said before a call is told on
// standard error.
func TestAPipeGetsTheFinalText(t *testing.T) {
	play(t, "> look\n< I look.\n<call ls {\"dir_path\": \".\"}\n\n>result ls\n< Nothing.\n")
	code, out, errs := command(t, t.TempDir(), "run", "-p", "look", "--trust")
	if code != 0 || out != "Nothing.\n" || !strings.Contains(errs, "\nI look.\n") || strings.Contains(errs, "Nothing.") {
		t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
	}
}

// TestARefusalThatNobodySaw ends a run that went well with a code of its own.
func TestARefusalThatNobodySaw(t *testing.T) {
	play(t, "> note it\n<call write_file {\"file_path\": \"a.txt\", \"content\": \"a\"}\n\n>result-error write_file contains denied\n< I may not.\n")
	code, out, errs := command(t, t.TempDir(), "run", "-p", "note it", "--trust")
	if code != exitRefused || out != "I may not.\n" {
		t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
	}
}

// TestAPolicyThatRefuses is not the person's absence: the run's end counts.
func TestAPolicyThatRefuses(t *testing.T) {
	play(t, "> note it\n<call write_file {\"file_path\": \"a.txt\", \"content\": \"a\"}\n\n>result-error write_file contains plan\n< I may not.\n")
	if code, out, errs := command(t, t.TempDir(), "run", "-p", "note it", "--trust", "--approve", "plan"); code != 0 || out != "I may not.\n" {
		t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
	}
}

// TestNamesOfSessions: an id, the beginning of one, or latest.
func TestNamesOfSessions(t *testing.T) {
	play(t, "> one\n< First.\n\n> two\n< Second.\n")
	dir := t.TempDir()
	for _, c := range []struct{ prompt, session string }{{"one", "alpha-1"}, {"two", "alpha-2"}} {
		if code, _, errs := command(t, dir, "run", "-p", c.prompt, "--session", c.session); code != 0 {
			t.Fatal(errs)
		}
	}
	if code, out, errs := command(t, dir, "sessions"); code != 0 || !strings.Contains(out, "alpha-1") || !strings.Contains(out, "alpha-2") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	for name, want := range map[string]string{"latest": "Second.", "alpha-2": "Second.", "alpha-1": "First."} {
		if code, out, errs := command(t, dir, "sessions", "show", name); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d\n%s%s", name, code, out, errs)
		}
	}
	if code, _, errs := command(t, dir, "sessions", "show", "al"); code != exitUsage || !strings.Contains(errs, "\"al\" means 2 sessions\n  Name one of alpha-2, alpha-1\n") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := command(t, dir, "sessions", "delete", "alpha-1", "--yes"); code != 0 {
		t.Error(errs)
	}
	for _, args := range [][]string{{"delete", "alpha-1", "--yes"}, {"delete", "alpha", "--yes"}, {"delete", "latest", "--yes"}, {"rewind", "alpha", "--to", "1"}} {
		if code, _, errs := command(t, dir, append([]string{"sessions"}, args...)...); code != exitFailed || !strings.Contains(errs, "there is no session") {
			t.Errorf("%q: exit %d\n%s", args, code, errs)
		}
	}
	if code, out, errs := command(t, dir, "sessions", "show", "al"); code != 0 || !strings.Contains(out, "Second.") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, _, errs := command(t, dir, "sessions", "resume"); code != exitFailed || !strings.Contains(errs, "there is no run to resume") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestATooBusyModelIsWaitedFor: what a 429 says is one line with the time and the count, and
// no line end is printed as a backslash.
func TestATooBusyModelIsWaitedFor(t *testing.T) {
	busy := `<status 429 {"message":"Resource has been exhausted.\nPlease wait."} retry-after=1`
	play(t, "> hello\n"+busy+"\n\n> hello\n< Hello.\n")
	code, out, errs := command(t, t.TempDir(), "run", "-p", "hello", "--trust")
	if code != 0 || out != "Hello.\n" ||
		!regexp.MustCompile(`(?m)^retrying in 1s, attempt 2: Resource has been exhausted\. …$`).MatchString(errs) || strings.Contains(errs, `\n`) {
		t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
	}
}
