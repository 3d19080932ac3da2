package builtin

import (
	"context"
	"crypto/rand"
	"errors"
	"os/exec"
	"sync"
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
	reaper string // see Config; "" where there is none
	output *output
	groups groups
	wards  conc.WaitGroup  // the goroutines of processes
	known  map[int]process // what was found of the call; only the one that ends it looks
	stuck  []process       // what could not be ended; whoever ends the call sets it
	lost   chan struct{}   // closed when something could not be ended: nobody waits for it
	lose   func()          // closes lost
}

func newWork(env *tool.Env, dir, reaper string) *work {
	w := &work{
		env: env, dir: dir, output: newOutput(env.Blobs, env.Now), reaper: reaper, lost: make(chan struct{}),
		mark: marker + "=" + rand.Text(), // call ids are of a session, and there are several
	}
	w.lose = sync.OnceFunc(func() { close(w.lost) })
	return w
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

// status is how a process ended.
type status struct {
	code   int    // as a shell has it: 128 and the signal's number where one ended it
	signal string // its name; "" for none
}

// finish starts a process and waits until it has ended and its output was read.
// The error says that it did not run, or that it cannot be ended.
func (w *work) finish(cmd *exec.Cmd) (status, error) { return w.await(w.start(cmd)) }

// await waits for a process that was started.
func (w *work) await(v *ward, err error) (status, error) {
	if err != nil {
		return status{}, err
	}
	select {
	case <-v.exited:
		return v.status, v.err
	case <-w.lost:
		return status{}, errLost
	}
}

// errLost says that a process goes on although it was killed: it waits for a
// device or a file system that does not answer.
var errLost = errors.New("it cannot be ended: it waits for the system")

// during runs do and, when ctx ends first, ends all processes of the call.
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
// ended is left to the kernel, and nobody waits for it any more.
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
	if !within(done, giveUp) {
		w.lose()
	}
}

// within waits for done, for at most d, and reports whether it came.
func within(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
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
			if w.stuck = w.left(); len(w.stuck) > 0 {
				w.lose()
			}
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
	found := marked(w.mark, w.known, w.groups.reaping())
	w.known = make(map[int]process, len(found))
	for _, p := range found {
		w.known[p.pid] = p
	}
	return found
}

// dismiss waits for the goroutines of the call's processes, which have ended.
// A reaper that still has something to see to is told to end it. What cannot be
// ended is not waited for: its goroutine stays until the kernel lets go of it.
func (w *work) dismiss() {
	over := make(chan struct{})
	var both conc.WaitGroup
	both.Go(func() {
		if !within(over, lingers) {
			w.groups.dismiss()
		}
	})
	select {
	case <-w.lost:
	default:
		w.wards.Wait()
	}
	close(over)
	both.Wait()
}
