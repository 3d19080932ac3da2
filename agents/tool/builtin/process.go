package builtin

import (
	"context"
	"crypto/rand"
	"errors"
	"os/exec"
	"runtime"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
)

// How a process is ended: asked to, after grace made to, and given up after
// giveUp (REL-72, REL-74). lingers is how long its output is still read after
// it has exited (REL-71).
const (
	grace   = 2 * time.Second
	giveUp  = 500 * time.Millisecond
	lingers = 200 * time.Millisecond
)

// marker is the variable by which the processes of a call are found, whatever
// group or session they have put themselves in.
const marker = "AGENTLS_CALL"

// work is a call's processes.
type work struct {
	env    *tool.Env
	dir    string
	mark   string // NAME=value, different for each call of the daemon
	output *output
	groups groups
	known  map[int]process // what was found of the call; only the one that ends it looks
}

func newWork(env *tool.Env, dir string) *work {
	return &work{
		env: env, dir: dir, output: newOutput(env.Blobs, env.Now),
		mark: marker + "=" + rand.Text(), // call ids are of a session, and there are several
	}
}

// command returns a process of the call: no input, no terminal, no descriptor
// but its output (SEC-117), a session of its own.
func (w *work) command(path string, args []string, extra []string) *exec.Cmd {
	cmd := exec.Command(path)
	cmd.Args = args
	cmd.Dir = w.dir
	cmd.Env = append(append(childEnviron(w.env), extra...), w.mark, "PWD="+w.dir)
	cmd.WaitDelay = lingers
	isolate(cmd)
	return cmd
}

// finish starts a process and waits for it. The thread that forks is kept until
// then: the kernel ends the process when that thread, and so the daemon, is
// gone (REL-76).
func (w *work) finish(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := w.groups.start(cmd); err != nil {
		return err
	}
	err := cmd.Wait()
	w.groups.ended(cmd.Process.Pid)
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it exited well; something else holds its output
	}
	return err
}

// during runs do and, when ctx ends first, ends all processes of the call.
// Everything that do started has been waited for when it returns.
func (w *work) during(ctx context.Context, do func() error) error {
	done := make(chan struct{})
	var err error
	var both conc.WaitGroup
	telling, told := context.WithCancel(context.WithoutCancel(ctx))
	both.Go(func() { w.output.tell(telling, w.env.Progress) })
	both.Go(func() {
		defer told()
		defer close(done)
		err = do()
	})
	both.Go(func() {
		select {
		case <-done:
		case <-ctx.Done():
			w.end(done)
		}
	})
	both.Wait()
	return err
}

// end ends all processes of the call: asked first, then made to. What cannot be
// ended is left to the kernel.
func (w *work) end(done <-chan struct{}) {
	w.groups.close()
	w.signal(terminate)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case <-timer.C:
			waiting = false
		case <-look.C:
			select {
			case <-done:
				waiting = len(w.left()) > 0
			default:
			}
		}
	}
	w.sweep()
}

// sweep kills what is left of the call until nothing is, or for as long as
// giveUp says: what forks while it is killed is found the next time.
func (w *work) sweep() {
	deadline := time.NewTimer(giveUp)
	defer deadline.Stop()
	for {
		left := w.left()
		w.groups.signal(kill)
		for _, p := range left {
			p.signal(kill)
		}
		if len(left) == 0 {
			return
		}
		pause := time.NewTimer(10 * time.Millisecond)
		select {
		case <-deadline.C:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// signal sends a signal to all processes of the call. They are looked for
// first: when their parents are gone some cannot be told any more.
func (w *work) signal(what signal) {
	left := w.left()
	w.groups.signal(what)
	for _, p := range left {
		p.signal(what)
	}
}

// left returns the processes of the call that there are.
func (w *work) left() []process {
	found := marked(w.mark, w.known)
	w.known = make(map[int]process, len(found))
	for _, p := range found {
		w.known[p.pid] = p
	}
	return found
}
