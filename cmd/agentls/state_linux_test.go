package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/wire"
)

// editing is a daemon in a process of its own and an editor that speaks to it.
type editing struct {
	*editortest.Editor
	cmd    *exec.Cmd
	errors bytes.Buffer // read it once the process has ended
}

// edit starts the program serve with an environment, below others where they are
// given, and connects an editor to it.
func edit(t *testing.T, dir string, environ []string, below ...string) *editing {
	t.Helper()
	e := &editing{}
	args := append(below, os.Args[0], "serve", "--trust")
	e.cmd = exec.Command(args[0], args[1:]...)
	e.cmd.Env, e.cmd.Dir, e.cmd.Stderr = append(environ, asCommand+"=1", "PATH="+os.Getenv("PATH")), dir, &e.errors
	in, err := e.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = e.cmd.Process.Kill() // where it has not ended by now
		_ = e.cmd.Wait()         // the same
	})
	if e.Editor, err = editortest.Connect(t.Context(), pipes{out, in}, editortest.Config{Dir: dir, Agents: editortest.Native()}); err != nil {
		_ = e.cmd.Process.Kill()
		_ = e.cmd.Wait()
		t.Fatalf("%v\n%s", err, &e.errors)
	}
	return e
}

// leave ends both as they should.
func (e *editing) leave(t *testing.T) {
	t.Helper()
	if err := e.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := e.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &e.errors)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// tells waits until the status has a text, which the person was told as well.
func (e *editing) tells(t *testing.T, text string) {
	t.Helper()
	if err := e.Await(t.Context(), func(s editortest.Seen) bool {
		return strings.Contains(s.Status.Message, text) && slices.ContainsFunc(s.Messages, func(m string) bool { return strings.Contains(m, text) })
	}); err != nil {
		t.Fatal(err)
	}
}

// TestREL98NoHome: without HOME, and where the home cannot be written, the
// program starts again and again, keeps sessions in memory and says so.
func TestREL98NoHome(t *testing.T) {
	home := t.TempDir()
	for _, c := range []struct {
		name, text     string
		environ, below []string
	}{
		{"HOME is unset", "no home folder", []string{"TMPDIR=" + t.TempDir()}, nil},
		{"read-only", "cannot write to " + home, []string{"HOME=" + home},
			[]string{"unshare", "-rm", "sh", "-c", `mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"`, home}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if len(c.below) > 0 && exec.Command("unshare", "-rm", "sh", "-c", "mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp").Run() != nil {
				t.Skip("this machine has no namespaces for everybody")
			}
			for range 3 {
				e := edit(t, writer(t), c.environ, c.below...)
				e.tells(t, c.text)
				if _, err := e.Run(t.Context(), &wire.RunParams{Agent: "demo-writer"}); err == nil || strings.Contains(err.Error(), "safe mode") {
					t.Errorf("a run without a key: %v", err)
				}
				if err := e.Call(t.Context(), wire.MethodSessionNew, &wire.SessionNewParams{}, nil); err != nil {
					t.Error(err)
				}
				e.leave(t)
			}
			if left, err := filepath.Glob(filepath.Join(strings.TrimPrefix(c.environ[0], "TMPDIR="), "*")); err != nil || len(left) > 0 {
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
}

// TestREL33KilledStarts: processes that are killed before they did anything are
// no crash loop: the next one has all sessions.
func TestREL33KilledStarts(t *testing.T) {
	home, dir := t.TempDir(), writer(t)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{"GEMINI_HOME=" + home}
	sessions := filepath.Join(home, "agentls", "sessions", session.Key(dir))
	kill := func(e *editing) {
		if err := e.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = e.cmd.Wait() // it was killed
		_ = e.Close()    // so it was left
	}
	kill(edit(t, dir, environ))
	worked := edit(t, dir, environ)
	if err := worked.Call(t.Context(), wire.MethodSessionNew, &wire.SessionNewParams{Title: "kept"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := worked.Run(t.Context(), &wire.RunParams{Agent: "main", Input: []activity.ContentBlock{{Type: "text", Text: "x"}}}); err == nil {
		t.Fatal("a run without a key")
	}
	worked.leave(t)
	for range 3 {
		kill(edit(t, dir, environ))
	}
	again := edit(t, dir, environ)
	if err := again.Await(t.Context(), func(s editortest.Seen) bool { return s.Status.Health != "" }); err != nil {
		t.Fatal(err)
	}
	if s := again.Seen().Status; s.Health != "ok" {
		t.Errorf("after it was killed three times: %+v", s)
	}
	if logs, err := filepath.Glob(filepath.Join(sessions, "*.jsonl")); err != nil || len(logs) == 0 {
		t.Errorf("the sessions: %q, %v", logs, err)
	}
	again.leave(t)
}

// TestREL42GOMEMLIMIT: the program keeps to the limit of its environment, and to
// one of its own without it; it refuses runs, and is not killed.
func TestREL42GOMEMLIMIT(t *testing.T) {
	for limit, want := range map[string]string{"2MiB": "of 2 MiB", "": "no key", "off": "no key"} {
		dir := writer(t)
		environ := []string{"GEMINI_HOME=" + t.TempDir()}
		if limit != "" {
			environ = append(environ, "GOMEMLIMIT="+limit)
		}
		e := edit(t, dir, environ)
		for range 2 {
			_, err := e.Run(t.Context(), &wire.RunParams{Agent: "main", Input: []activity.ContentBlock{{Type: "text", Text: "x"}}})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("GOMEMLIMIT=%s: %v, want %s", limit, err, want)
			}
		}
		e.leave(t)
	}
}

// TestREL49ServeHasALog: in the person's folder or where --log says, private, and
// not on standard output.
func TestREL49ServeHasALog(t *testing.T) {
	home := t.TempDir()
	edit(t, writer(t), []string{"GEMINI_HOME=" + home}).leave(t)
	file := filepath.Join(home, "agentls", "logs", "agentls.log")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "connection ended") || !strings.Contains(string(text), "pid=") {
		t.Errorf("%q, %v", text, err)
	}
	for path, mode := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// TestREL130FirstStartOnASlowMachine: one processor, little memory and no state:
// the program gets ready, and then does nothing. What it uses in two seconds of
// rest is a small part of what its start took.
func TestREL130FirstStartOnASlowMachine(t *testing.T) {
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Skip("there is no taskset")
	}
	home := filepath.Join(t.TempDir(), "none")
	e := edit(t, writer(t), []string{"GEMINI_HOME=" + home, "GOMEMLIMIT=64MiB", "GOMAXPROCS=2"}, "taskset", "-c", "0")
	if err := e.Call(t.Context(), wire.MethodList, &wire.ListParams{}, nil); err != nil {
		t.Fatal(err)
	}
	started := worked(t, e.cmd.Process.Pid)
	for try := 1; ; try++ {
		before := worked(t, e.cmd.Process.Pid)
		rest := time.NewTimer(2 * time.Second) // what is measured is rest itself
		<-rest.C
		used := worked(t, e.cmd.Process.Pid) - before
		if used <= started/2+1 {
			break
		}
		if try == 15 { // on a busy machine the start goes on for a while
			t.Fatalf("it used %d ticks at rest, and %d to start", used, started)
		}
	}
	e.leave(t)
}

// worked returns how long a process has used a processor, in ticks.
func worked(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return user + system
}
