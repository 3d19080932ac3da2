//go:build linux

package spine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/faults"
	"github.com/agentls/agentls/internal/wire"
)

// busy is a script whose run streams, then has a process of the given seconds,
// which are also its mark, when it has been permitted.
func busy(seconds string) string {
	return "<repeat 100 w{} \n<call bash {\"command\":\"sleep " + seconds + "\"}\n\n< Not reached.\n"
}

// mark returns a number of seconds that no other process of the machine sleeps.
func mark(n int) string { return fmt.Sprintf("%d.%d%03d", 1000, os.Getpid(), n) }

// executing starts the binary and a run, whose process then runs.
func executing(t *testing.T, n int) (*world, *process, *editor, <-chan ended) {
	t.Helper()
	w := newWorld(t, busy(mark(n)))
	p := w.spawn()
	e := p.connect(w)
	e.Answer(editortest.Reply{Choice: "once"})
	end := e.start("", "go")
	e.await("the process of the run", saw("tool.state", `"state":"executing"`))
	if err := whenStarted(t, mark(n)); err != nil {
		t.Fatal(err)
	}
	return w, p, e, end
}

// whenStarted waits until there is a process with the mark: tool.state tells of
// it before it is started.
func whenStarted(t *testing.T, mark string) error {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		for _, line := range having(t, mark) {
			if strings.HasPrefix(line, "sleep ") {
				return nil
			}
		}
	}
	return fmt.Errorf("there is no process with %s", mark)
}

// over holds that a process has ended as it must with a run under way: the run
// is interrupted in a log that is whole, and no process of it is left.
func over(t *testing.T, w *world, p *process, n int) {
	t.Helper()
	log := mustLog(t, w.log("main"))
	got := states(log)
	if len(got) == 0 || !strings.HasSuffix(got[len(got)-1], ":interrupted") {
		t.Errorf("the run went %v\n%s", got, p.said.String())
	}
	if want := words(100, "w%d "); joined(log) != want {
		t.Errorf("the log has %q", joined(log))
	}
	if left := children(t, mark(n)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestREL25StdinClosed: the editor closes its end while a run has a process.
func TestREL25StdinClosed(t *testing.T) {
	w, p, e, end := executing(t, 25)
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	if code := p.exits(); code != 1 {
		t.Errorf("exit code %d\n%s", code, p.said.String())
	}
	<-end // with an error: nobody answers
	over(t, w, p, 25)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := check(e.Seen().Events, mustLog(t, w.log("main"))); err != nil {
		t.Error(err)
	}
}

// TestREL27StdoutClosed: the editor stops reading for good, with SIGPIPE as the
// answer to the next write. Its own end stays open.
func TestREL27StdoutClosed(t *testing.T) {
	w := newWorld(t, "<repeat 100 w{} \n<gate closed\n<repeat 100 x{} \n<gate never\n")
	p := w.spawn()
	p.gone = true // what it writes last is not read
	e := p.connect(w)
	end := e.start("", "go")
	e.await("the first words", saw("content.delta", "w99"))
	w.reached("closed")
	if err := p.out.Close(); err != nil {
		t.Fatal(err)
	}
	w.model.Open("closed") // now something is written
	if code := p.exits(); code != 1 {
		t.Errorf("exit code %d\n%s", code, p.said.String())
	}
	<-end
	_ = e.Close() // the connection is broken: that is the test
	log := mustLog(t, w.log("main"))
	if got := states(log); len(got) != 2 || !strings.HasSuffix(got[1], ":interrupted") {
		t.Errorf("the run went %v\n%s", got, p.said.String())
	}
	if err := check(e.Seen().Events, log); err != nil {
		t.Error(err)
	}
}

// TestREL04Exit: the exit code is 0 after shutdown, else 1; exit ends the process
// also when the editor leaves its end open.
func TestREL04Exit(t *testing.T) {
	ctx := context.Background()
	t.Run("after shutdown", func(t *testing.T) {
		w := newWorld(t, "< Hello.\n")
		p := w.spawn()
		e := p.connect(w)
		e.finish(e.start("", "go"))
		if err := e.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if code := p.exits(); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.said.String())
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := check(e.Seen().Events, mustLog(t, w.log("main"))); err != nil {
			t.Error(err)
		}
	})
	t.Run("after shutdown with a run under way", func(t *testing.T) {
		w, p, e, end := executing(t, 4)
		if err := e.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if code := p.exits(); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.said.String())
		}
		<-end
		over(t, w, p, 4)
		_ = e.Close()
	})
	t.Run("without shutdown", func(t *testing.T) {
		w, p, e, end := executing(t, 5)
		if err := e.Notify(ctx, "exit", nil); err != nil {
			t.Error(err)
		}
		if code := p.exits(); code != 1 {
			t.Errorf("exit code %d\n%s", code, p.said.String())
		}
		<-end
		over(t, w, p, 5)
		_ = e.Close()
	})
	t.Run("before initialize", func(t *testing.T) {
		p := newWorld(t, "< Hello.\n").spawn()
		if _, err := p.Write([]byte("Content-Length: 33\r\n\r\n" + `{"jsonrpc":"2.0","method":"exit"}`)); err != nil {
			t.Fatal(err)
		}
		if code := p.exits(); code != 1 {
			t.Errorf("exit code %d\n%s", code, p.said.String())
		}
	})
	t.Run("shutdown and hang up", func(t *testing.T) {
		w := newWorld(t, "< Hello.\n")
		p := w.spawn()
		e := p.connect(w)
		if err := e.Call(ctx, "shutdown", nil, nil); err != nil {
			t.Error(err)
		}
		if err := p.in.Close(); err != nil {
			t.Error(err)
		}
		if code := p.exits(); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.said.String())
		}
		_ = e.Close()
	})
}

// TestREL29Signals: a signal ends the process as a hang-up does, and a second one
// makes no difference to what is in the log.
func TestREL29Signals(t *testing.T) {
	for i, c := range []struct {
		name    string
		signals []syscall.Signal
	}{
		{"SIGTERM", []syscall.Signal{syscall.SIGTERM}},
		{"SIGINT", []syscall.Signal{syscall.SIGINT}},
		{"SIGHUP", []syscall.Signal{syscall.SIGHUP}},
		{"SIGTERM twice", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, p, e, end := executing(t, 290+i)
			for _, s := range c.signals {
				if err := p.cmd.Process.Signal(s); err != nil && len(c.signals) == 1 {
					t.Fatal(err)
				}
			}
			code := p.exits()
			<-end
			_ = e.Close()
			if len(c.signals) > 1 {
				p.gone = true
				log, _, err := faults.ReadLog(w.log("main"))
				if err != nil {
					t.Fatal(err)
				}
				if err := check(e.Seen().Events, log); err != nil {
					t.Error(err)
				}
				if left := children(t, mark(290+i)); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				return
			}
			if code != 1 {
				t.Errorf("exit code %d\n%s", code, p.said.String())
			}
			over(t, w, p, 290+i)
		})
	}
}

// TestStrayPrints: what a child of the daemon, or anything in it, writes to the
// daemon's standard output lands on standard error. Every other test of the
// process checks its standard output as well.
func TestStrayPrints(t *testing.T) {
	w := newWorld(t, "<call bash {\"command\":\"echo stray > /proc/$(cat pid)/fd/1; echo stray >&2; echo result\"}\n\n>result bash contains result\n< Done.\n")
	p := w.spawn("AGENTLS_DUMPABLE=1") // its descriptors are root's only otherwise
	if err := os.WriteFile(filepath.Join(w.dir, "pid"), fmt.Append(nil, p.cmd.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	e := p.connect(w)
	e.Answer(editortest.Reply{Choice: "once"})
	e.finish(e.start("", "go"))
	if err := e.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if code := p.exits(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(p.said.String(), "stray\n") {
		t.Errorf("what was printed is not on standard error: %q", p.said.String())
	}
}

// TestREL130FirstStart: on one processor with little memory, in a home that has
// nothing, the daemon is ready within two seconds of the processor and then does
// nothing.
func TestREL130FirstStart(t *testing.T) {
	w := newWorld(t, "< Hello.\n")
	if err := os.RemoveAll(w.home); err != nil {
		t.Fatal(err)
	}
	p := w.spawn("GOMAXPROCS=1", "GOMEMLIMIT=64MiB")
	e := p.connect(w)
	var list wire.ListResult
	if err := e.Call(context.Background(), wire.MethodList, wire.ListParams{}, &list); err != nil {
		t.Fatal(err)
	}
	spent := func() (ticks int) {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		for _, f := range fields[11:13] { // utime and stime, in hundredths
			n, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			ticks += n
		}
		return ticks
	}
	if ticks := spent(); ticks > 200 || len(list.Agents) == 0 {
		t.Errorf("%d agents after %d hundredths of a second", len(list.Agents), ticks)
	}
	var used []int // in two seconds each: the first ones have what the start left to do
	for len(used) == 0 || used[len(used)-1] > 20 {
		if len(used) == 15 {
			t.Fatalf("in two idle seconds it used %d hundredths of one", used)
		}
		before := spent()
		<-time.After(2 * time.Second) // that nothing is done is what is looked for
		used = append(used, spent()-before)
	}
	e.finish(e.start("", "go"))
	if err := e.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if code := p.exits(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
