package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/watchdog"
	"github.com/agentls/agentls/server"
)

// asDaemon makes the test binary be a daemon on its standard streams, with a
// fault that the binary that is shipped does not have.
const asDaemon = "AGENTLS_TEST_AS_DAEMON"

func TestMain(m *testing.M) {
	if fault := os.Getenv(asDaemon); fault != "" {
		os.Exit(beDaemon(fault))
	}
	os.Exit(m.Run())
}

func beDaemon(fault string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config := Config{
		Home: os.Getenv("GEMINI_HOME"), Environ: os.Environ(), Trust: true, Version: "test", Now: time.Now, Exit: os.Exit,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	switch fault {
	case "hang":
		config.testHooks.routes = func(all []server.Route) []server.Route {
			return append(all, server.Notify("debug/hang", hangs))
		}
	case "crash": // while the sessions of the workspace have something bad
		config.testHooks.build = func(b *daemon) {
			if _, err := os.Stat(filepath.Join(b.state(), "sessions", session.Key(b.first), "bad")); err == nil {
				go func() { panic("a bad file") }()
				select {}
			}
		}
	}
	outcome, _ := Serve(ctx, pipes{os.Stdin, os.Stdout}, config)
	return outcome.Code()
}

// hangs is found in the dump of the goroutines.
//
//go:noinline
func hangs(context.Context, *struct{}) error { select {} }

type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipes) Close() error { return errors.Join(p.ReadCloser.Close(), p.WriteCloser.Close()) }

// daemonProcess is a daemon of its own.
type daemonProcess struct {
	pipes
	cmd  *exec.Cmd
	said *bytes.Buffer // its standard error; read it once it has ended
	wait func() int    // the exit code, once it has ended
}

// spawn starts a process with a home and a fault.
func spawn(t *testing.T, home, fault string, environ ...string) *daemonProcess {
	t.Helper()
	p := &daemonProcess{cmd: exec.Command(os.Args[0]), said: new(bytes.Buffer)}
	p.cmd.Env = append(append(os.Environ(), asDaemon+"="+fault, "GEMINI_HOME="+home), environ...)
	p.cmd.Stderr = p.said
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.pipes = pipes{out, in}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.wait = sync.OnceValue(func() int {
		_ = p.cmd.Wait() // ProcessState has it
		return p.cmd.ProcessState.ExitCode()
	})
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // where it has not ended by now
		p.wait()
	})
	return p
}

func (p *daemonProcess) Read(b []byte) (int, error)  { return p.ReadCloser.Read(b) }
func (p *daemonProcess) Write(b []byte) (int, error) { return p.WriteCloser.Write(b) }
func (p *daemonProcess) Close() error                { return p.pipes.Close() }

// TestREL32ProcessThatHangsEnds: a deadlock of the read loop, in a process: the
// goroutines are dumped, the exit code is 70, and the next process serves.
func TestREL32ProcessThatHangsEnds(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := spawn(t, home, "hang")
	editor, err := editortest.Connect(t.Context(), p, editortest.Config{Dir: t.TempDir(), Agents: editortest.Native()})
	if err != nil {
		t.Fatal(err)
	}
	if err := editor.Notify(t.Context(), "debug/hang", struct{}{}); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != watchdog.Code {
		t.Errorf("exit code %d\n%s", code, p.said)
	}
	_ = editor.Close() // it was left
	dumps, _ := filepath.Glob(filepath.Join(home, "agentls", "hang-*.txt"))
	if len(dumps) != 1 {
		t.Fatalf("dumps: %q\n%s", dumps, p.said)
	}
	if text := read(t, dumps[0]); !strings.Contains(text, "daemon.hangs") || !strings.Contains(text, "read loop") {
		t.Errorf("the dump:\n%s", text)
	}
	next := spawn(t, home, "none")
	editor, err = editortest.Connect(t.Context(), next, editortest.Config{Dir: t.TempDir(), Agents: editortest.Native()})
	if err != nil {
		t.Fatal(err)
	}
	if err := editor.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if code := next.wait(); code != 0 {
		t.Errorf("the next process: exit code %d\n%s", code, next.said)
	}
	_ = editor.Close()
}

// TestREL33CrashLoopEndsInSafeMode: two processes crash on a bad file; the third
// one serves without agents, with that file set aside and a notice. The file is
// brought back once; when two more have crashed on it, it stays aside, and the
// last one serves as always.
func TestREL33CrashLoopEndsInSafeMode(t *testing.T) {
	t.Parallel()
	home, work := t.TempDir(), folder(t, "", "one")
	state := filepath.Join(home, "agentls")
	sessions := filepath.Join(state, "sessions", session.Key(work.Canonical))
	write(t, filepath.Join(sessions, "bad"), "bad")
	write(t, filepath.Join(home, "settings.json"), "{}")
	connect := func(fault string) (*daemonProcess, *editortest.Editor, error) {
		p := spawn(t, home, fault)
		e, err := editortest.Connect(t.Context(), p, editortest.Config{Dir: work.Path, Agents: editortest.Native()})
		return p, e, err
	}
	for n, safe := range []bool{false, false, true, false, false, true, false} {
		p, e, err := connect("crash")
		if !safe && n < 6 { // the bad file is there
			if code := p.wait(); err == nil || code != 2 || !strings.Contains(p.said.String(), "a bad file") {
				t.Fatalf("start %d: exit code %d, %v\n%s", n+1, code, err, p.said)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, p.said)
		}
		d := &frontend{Editor: e, t: t}
		list, err := d.catalog()
		if err != nil || strings.Contains(list, `"one"`) == safe {
			t.Errorf("safe %t: %s, %v", safe, list, err)
		}
		told := slices.ContainsFunc(e.Seen().Messages, func(m string) bool { return strings.Contains(m, "safe mode") })
		if told != safe {
			t.Errorf("safe %t: told %q", safe, e.Seen().Messages)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if code := p.wait(); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.said)
		}
		_ = e.Close()
	}
	if aside, _ := filepath.Glob(filepath.Join(state, "aside/*-stays/sessions/bad")); len(aside) != 1 {
		t.Errorf("aside: %q", aside)
	}
	for _, kept := range []string{filepath.Join(home, "settings.json"), filepath.Join(work.Path, ".gemini", "agents", "one.md")} {
		if _, err := os.Stat(kept); err != nil {
			t.Error(err)
		}
	}
}

// TestREL42DaemonUnderPressure: a limit that the process is over from the start:
// runs are refused with a reason, and everything else is served.
func TestREL42DaemonUnderPressure(t *testing.T) {
	b := newBed(t)
	b.config.Memory = 1 << 20
	d := b.serve(folder(t, "", "one"), "")
	_, err := d.ask("anything")
	if e := answered(t, err); e.Code != -32803 || e.Data.Kind != "overloaded" || !strings.Contains(e.Message, "of 1 MiB") {
		t.Errorf("%v with %+v", err, e)
	}
	if list, err := d.catalog(); err != nil || !strings.Contains(list, `"one"`) {
		t.Errorf("%s, %v", list, err)
	}
}
