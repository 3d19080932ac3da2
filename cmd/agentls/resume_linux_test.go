package main

import (
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
	}, "run", "-p", "count the files")
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
