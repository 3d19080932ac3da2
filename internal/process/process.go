package process

import (
	"context"
	"crypto/rand"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
)

// How a process is ended: a request first, after grace a kill, and after giveUp
// nobody waits any more (REL-72, REL-74). drain is how long the output is still
// read after the process has exited (REL-71).
const (
	grace  = 2 * time.Second
	giveUp = 500 * time.Millisecond
	drain  = 200 * time.Millisecond
)

// marker is the variable by which the processes of a job are found, whatever
// group or session they have put themselves in.
const marker = "AGENTLS_CALL"

// Options are what a job needs to know.
//
// It is read once, by NewJob. Now must be safe for concurrent use.
type Options struct {
	Dir     string           // its commands run here
	Environ []string         // as os.Environ returns it; only what [Environ] lets through is used
	Scratch string           // output that is too long for memory is kept in this folder; "" = the system's
	Now     func() time.Time // the clock
}

// Job is the processes of one call. Make one with [NewJob], start commands with
// [Job.Start] or [Job.StartReaped] inside [Job.Run], and call [Job.Release] and
// [Output.Close] when it is over. Methods may be called concurrently, but only
// one goroutine ends a job.
type Job struct {
	Output *Output

	options  Options
	mark     string // NAME=value, different for each job of the daemon
	groups   groups
	children conc.WaitGroup // the goroutines of processes
	known    map[int]Found  // what was found of the job; only the goroutine that ends it looks
	stuck    []Found        // what could not be ended; set by whoever ends the job
	lost     chan struct{}  // closed when something could not be ended: nobody waits for it
	lose     func()         // closes lost
}

// NewJob returns a job without processes.
func NewJob(o Options) *Job {
	j := &Job{
		Output: newOutput(o.Scratch, o.Now), options: o, lost: make(chan struct{}),
		mark: marker + "=" + rand.Text(), // call ids are a session's, and there are several sessions
	}
	j.lose = sync.OnceFunc(func() { close(j.lost) })
	return j
}

// Command returns a process of the job that is not started yet. args has the
// program's name first; extra are further variables.
// The process gets no input unless the caller sets it. cmd.Stdout and Stderr
// are the caller's to set.
func (j *Job) Command(path string, args, extra []string) *exec.Cmd {
	cmd := exec.Command(path)
	cmd.Args = args
	cmd.Dir = j.options.Dir
	cmd.Env = append(append(childEnviron(j.options.Environ), extra...), j.mark, "PWD="+j.options.Dir)
	cmd.WaitDelay = drain
	Isolate(cmd)
	return cmd
}

// childEnviron is [Environ] with a PATH in any case. The folders of the system stand for
// a PATH that is not set.
func childEnviron(own []string) []string {
	out := Environ(own)
	for _, entry := range out {
		if strings.HasPrefix(entry, "PATH=") {
			return out
		}
	}
	return append(out, "PATH="+strings.Join(SystemPath(), string(filepath.ListSeparator)))
}

// Status is how a process ended.
type Status struct {
	Code   int    // as a shell has it: 128 and the signal's number where a signal ended it
	Signal string // the signal's name; "" for none
}

// ErrEnded says that no process is started any more because the job ends.
var ErrEnded = errors.New("the call has ended")

// ErrStuck says that a process goes on although it was killed: it waits for a
// device or a file system that does not answer.
var ErrStuck = errors.New("it cannot be ended: it waits for the system")

// Wait waits until a process has ended and its output was read. The error says
// that it did not run, or that it cannot be ended.
// It has no context: a caller that must not wait ends the job, after which it
// returns within the bounds of the package doc.
func (j *Job) Wait(c *Child) (Status, error) {
	select {
	case <-c.exited:
		return c.status, c.err
	case <-j.lost:
		return Status{}, ErrStuck
	}
}

// Run calls do, passes the output on to progress as it comes, and ends all
// processes of the job when ctx ends first. It returns what do returns.
//
// progress is called on one goroutine, and not after Run has returned. do must
// return when the processes have ended, as Wait does. The end of ctx is no
// error of Run by itself.
func (j *Job) Run(ctx context.Context, progress func(string), do func() error) error {
	done := make(chan struct{})
	var err error
	var all conc.WaitGroup
	// Reports go on until do has returned, also after ctx has ended.
	reporting, stop := context.WithCancel(context.WithoutCancel(ctx))
	all.Go(func() { j.Output.report(reporting, progress) })
	all.Go(func() {
		defer stop()
		defer close(done)
		err = do()
	})
	all.Go(func() {
		select {
		case <-done:
		case <-ctx.Done():
			j.terminate(done)
		}
	})
	all.Wait()
	return err
}

// terminate ends all processes of the job: it asks first and kills then. What
// cannot be ended is left to the kernel, and nobody waits for it any more.
func (j *Job) terminate(done <-chan struct{}) {
	// First, so that nothing is started any more while the rest is ended.
	j.groups.close()
	j.signal(terminate)
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
				waiting = len(j.Remaining()) > 0
			default:
			}
		}
	}
	j.sweep()
	if !within(done, giveUp) {
		j.lose()
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

// sweep kills what remains of the job until nothing does, for giveUp at most: a
// process that forks while it is killed is found the next time.
func (j *Job) sweep() {
	deadline := time.NewTimer(giveUp)
	defer deadline.Stop()
	for {
		left := j.Remaining()
		j.groups.signal(kill)
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
			if j.stuck = j.Remaining(); len(j.stuck) > 0 {
				j.lose()
			}
			return
		case <-pause.C:
		}
	}
}

// signal sends a signal to all processes of the job. They are looked for first:
// once their parents are gone some cannot be recognised any more.
func (j *Job) signal(what signal) {
	left := j.Remaining()
	j.groups.signal(what)
	for _, p := range left {
		if !j.groups.contains(p.PID) {
			p.signal(what)
		}
	}
}

// Remaining returns the living processes of the job. It reads /proc for each
// process of the machine. For the goroutine that ends the job.
func (j *Job) Remaining() []Found {
	found := find(j.mark, j.known, j.groups.reaperPIDs())
	j.known = make(map[int]Found, len(found))
	for _, p := range found {
		j.known[p.PID] = p
	}
	return found
}

// Survivors returns the processes that could not be ended. It is for the goroutine
// that called [Job.Run] or [Job.Kill], after that.
func (j *Job) Survivors() []Found { return j.stuck }

// Kill ends what remains of a job whose commands have exited.
// It asks first, but waits only as long as the sweep does.
func (j *Job) Kill() {
	j.signal(terminate)
	j.sweep()
}

// Release waits for the goroutines of the job's processes, which have ended. A
// reaper that still has something below it is told to end it. What cannot be
// ended is not waited for: its goroutine stays until the kernel lets go of it.
func (j *Job) Release() {
	over := make(chan struct{})
	var both conc.WaitGroup
	both.Go(func() {
		if !within(over, drain) {
			j.groups.dismissReapers()
		}
	})
	select {
	case <-j.lost:
	default:
		j.children.Wait()
	}
	close(over)
	both.Wait()
}
