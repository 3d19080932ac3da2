package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestResumeAfterCtrlC: a run that a person cancelled has ended, and both its end and
// resume say with which command its conversation goes on.
func TestResumeAfterCtrlC(t *testing.T) {
	_, model := stage(t, "> count\n< One.\n<gate stop\n<hang\n\n> go on\n< Two.\n")
	dir := t.TempDir()
	code, shown := perform(t, dir, func(func(string) func()) []act {
		return []act{{"model ", func() {
			go func() { // ends with the request
				<-model.GateReached("stop")
				interrupt()
			}()
		}}}
	}, "run", "-p", "count the files", "--trust")
	const how = `agentls run --session main "go on"`
	if code != exitInterrupted || !strings.Contains(shown, how) {
		t.Errorf("exit %d, it does not say %s:\n%s", code, how, shown)
	}
	for _, args := range [][]string{{"sessions", "resume"}, {"sessions", "resume", "main"}} {
		if code, _, errs := command(t, dir, args...); code != exitFailed || !strings.Contains(errs, "you cancelled the last run") || !strings.Contains(errs, how) {
			t.Errorf("%q: exit %d\n%s", args, code, errs)
		}
	}
	if code, out, errs := command(t, dir, "run", "--session", "main", "go on"); code != 0 || out != "Two.\n" {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
}

// TestResumeAsksWhich run is meant, where there are several; the beginning of a session's
// id and words of its title name it, too.
func TestResumeAsksWhich(t *testing.T) {
	play(t, "> one thing\n<call ls {\"dir_path\": \".\"}\n\n> two things\n<call ls {\"dir_path\": \".\"}\n\n>result ls\n< Done.\n\n> and now\n< So.\n")
	dir := fill(t, map[string]string{".gemini/agents/short.md": "---\nkind: agent\nname: short\ntitle: S\nrun: {max_turns: 1}\n---\nx\n"})
	if code, _, errs := command(t, dir, "trust"); code != 0 {
		t.Fatal(errs)
	}
	for _, prompt := range []string{"one thing", "two things"} {
		if code, _, errs := command(t, dir, "run", "short", prompt, "--new"); code != exitFailed || !strings.Contains(errs, "To give it more: agentls sessions resume") {
			t.Fatalf("exit %d\n%s", code, errs)
		}
	}
	code, shown := perform(t, dir, func(types func(string) func()) []act {
		return []act{{"  1  ", func() {}}, {"two things", func() {}}, {"  2  ", func() {}}, {"one thing", func() {}}, {"Resume which? [1] ", types("3\n")}, {"Resume which? [1] ", types("2\n")}}
	}, "sessions", "resume")
	if code != 0 || !strings.Contains(shown, "Done.") {
		t.Errorf("exit %d\n%s", code, shown)
	}
	code, out, errs := command(t, dir, "sessions", "show", "One thing")
	if code != 0 || !strings.Contains(out, "Done.") {
		t.Errorf("by its title: exit %d\n%s%s", code, out, errs)
	}
	_, list, _ := command(t, dir, "sessions")
	id := regexp.MustCompile(`(?m)^([a-z2-7]{8})  one thing `).FindStringSubmatch(list)
	if id == nil {
		t.Fatalf("no short id in\n%s", list)
	}
	if code, out, errs := command(t, dir, "run", "--session", id[1][:5], "-p", "and now"); code != 0 || out != "So.\n" {
		t.Errorf("by the beginning of its id: exit %d, %q\n%s", code, out, errs)
	}
	if _, again, _ := command(t, dir, "sessions"); strings.Count(again, "\n") != strings.Count(list, "\n") {
		t.Errorf("another session was begun:\n%s", again)
	}
}
