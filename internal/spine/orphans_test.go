//go:build linux

package spine_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server/servertest"
)

// brood is a command whose processes do what processes do to outlive who started
// them: another group, another session, no environment, no parent. There are
// five that sleep.
func brood(seconds string) string {
	return strings.ReplaceAll("sleep N & setsid sleep N & (setsid bash -c 'sleep N & true' &) ; (setsid env -i /bin/bash -c '/bin/sleep N & /bin/true' &) ; sleep N; true", "N", seconds)
}

// TestREL76AndREL92NothingOutlivesTheDaemon ends the binary in every way while a
// run has a command, one in the background and one that left processes behind:
// nothing of them is alive within three seconds.
func TestREL76AndREL92NothingOutlivesTheDaemon(t *testing.T) {
	send := func(s syscall.Signal) func(*testing.T, *process, *editor) {
		return func(t *testing.T, p *process, _ *editor) {
			if err := p.cmd.Process.Signal(s); err != nil {
				t.Error(err)
			}
		}
	}
	for i, c := range []struct {
		name string
		end  func(*testing.T, *process, *editor)
		code int // -1 for a signal
	}{
		{"shutdown and exit", func(t *testing.T, _ *process, e *editor) {
			if err := e.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}, 0},
		{"exit", func(t *testing.T, _ *process, e *editor) {
			if err := e.Notify(context.Background(), "exit", nil); err != nil {
				t.Error(err)
			}
		}, 1},
		{"end of file", func(t *testing.T, p *process, _ *editor) {
			if err := p.in.Close(); err != nil {
				t.Error(err)
			}
		}, 1},
		{"SIGTERM", send(syscall.SIGTERM), 1},
		{"SIGKILL", send(syscall.SIGKILL), -1},
		{"as of a panic", send(syscall.SIGQUIT), 2}, // the runtime ends the process, with all stacks
	} {
		t.Run(c.name, func(t *testing.T) {
			seconds := mark(9200 + i)
			behind := strings.Replace(brood(seconds), "sleep "+seconds+"; true", "true", 1) // without the last: it ends
			quote := func(text string) string { return strings.ReplaceAll(text, `"`, `\"`) }
			w := newWorld(t, `<call bash {"command":"`+quote(brood(seconds))+`","background":true}`+"\n\n"+
				`<call bash {"command":"`+quote(behind)+`"}`+"\n\n"+
				`<call bash {"command":"`+quote(brood(seconds))+`"}`+"\n\n< Not reached.\n")
			p := w.spawn()
			e := p.connect(w)
			for range 3 {
				e.Answer(editortest.Reply{Choice: "once"})
			}
			end := e.start("", "go")
			sleeping := func() (n int) {
				for _, line := range having(t, seconds) {
					if strings.HasPrefix(line, "sleep ") || strings.HasPrefix(line, "/bin/sleep ") {
						n++
					}
				}
				return n
			}
			look := time.NewTicker(10 * time.Millisecond)
			defer look.Stop()
			for late := time.Now().Add(patience); sleeping() < 14; <-look.C {
				if time.Now().After(late) {
					t.Fatalf("%d processes are there\n%s", sleeping(), p.said.String())
				}
			}
			p.gone = c.code < 0 || c.code == 2 // its last frame may be cut
			c.end(t, p, e)
			if code := p.exits(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			<-end
			_ = e.Close() // the connection may be broken
			if left := children(t, seconds); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestREL26TheEditorIsGone: the editor is killed while a process of its keeps our
// standard input open, so that no end of file comes.
func TestREL26TheEditorIsGone(t *testing.T) {
	w := newWorld(t, "<repeat 10 w{} \n<gate never\n")
	p := w.spawn()
	editor := exec.Command("sleep", mark(26))
	if err := editor.Start(); err != nil {
		t.Fatal(err)
	}
	c := servertest.NewClient(p, patience)
	for _, body := range []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":%d,"rootUri":%q,"capabilities":{}}}`, editor.Process.Pid, "file://"+w.dir),
		`{"jsonrpc":"2.0","method":"initialized","params":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"` + wire.MethodRun + `","params":{"agent":"worker","input":"go"}}`,
	} {
		if err := c.Send(servertest.Frame(body)); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := c.Answer("1"); err != nil || m.Error != nil {
		t.Fatal(m, err)
	}
	w.reached("never")
	if err := editor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = editor.Wait() // it was killed
	select {
	case <-p.ended:
	case <-time.After(time.Minute): // 6 (spec 12.2) where the machine is not busy
		t.Fatalf("it goes on without its editor\n%s", p.said.String())
	}
	p.gone = true // what it wrote last is not read
	if code := p.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d\n%s", code, p.said.String())
	}
	if got := states(mustLog(t, w.log("main"))); len(got) != 2 || !strings.HasSuffix(got[1], ":interrupted") {
		t.Errorf("the run went %v", got)
	}
}

// TestREL76PipesAreBroken: a command of the binary's has the signals of any
// other process, also those that the daemon itself does not want.
func TestREL76PipesAreBroken(t *testing.T) {
	w := newWorld(t, `<call bash {"command":"yes | head -1; ps -o ignored= -p $$ | tr -d 0"}`+"\n\n>result bash contains Stderr: (empty)\n< Done.\n")
	p := w.spawn()
	e := p.connect(w)
	e.Answer(editortest.Reply{Choice: "once"})
	e.finish(e.start("", "go"))
	if failed := w.model.Failures(); len(failed) > 0 {
		t.Error(failed)
	}
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
