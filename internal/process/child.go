package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/internal/process/helper"
)

// Child is a process of a job. The thread that forked it is kept for as long as
// it lives: the kernel ends the process when that thread, and so the daemon, is
// gone (REL-76).
//
// It belongs to its job, which waits for it; [Job.Wait] tells how it ended.
type Child struct {
	PID int // of the command

	exited chan struct{} // closed when it has ended and its output was read
	status Status        // valid after exited
	err    error         // why it did not run; valid after exited
	ended  chan struct{} // closed when nothing supervises it any more
}

// Start starts a process as a child of the daemon. The kernel ends it with the
// daemon, but not what it has started itself.
// cmd comes from [Job.Command]. What it writes to an io.Writer is copied until it
// ends, and a moment longer for what holds the pipe. The error says that it did not
// start, [ErrEnded] that the job is ending.
func (j *Job) Start(cmd *exec.Cmd) (*Child, error) { return j.start(cmd, leader) }

// StartContainer starts a process in which the command is contained: all that
// the command starts ends with it, as in a pid namespace. When the job is ended,
// the command is asked to end, and its container is not: that would kill the
// command at once.
func (j *Job) StartContainer(cmd *exec.Cmd) (*Child, error) { return j.start(cmd, container) }

// start starts a process on a goroutine that stays locked to its thread until the
// process has ended: the kernel's death signal goes by the thread that forked, and Go
// would end an idle one.
func (j *Job) start(cmd *exec.Cmd, r role) (*Child, error) {
	var out outputs
	if err := out.attach(cmd, cmd.Stdout, cmd.Stderr); err != nil {
		return nil, err
	}
	c := &Child{exited: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan error, 1)
	j.children.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.ended)
		err := j.groups.start(cmd, r, nil)
		// The child has these now. Open here, they would keep its output from ending.
		out.closeTheirs()
		if err == nil {
			c.PID = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			out.close()
			return
		}
		out.copy()
		c.status, c.err = statusOf(cmd.Wait())
		j.groups.forget(c.PID)
		out.finish()
		close(c.exited)
	})
	return c, <-started
}

// StartReaped starts a process under a reaper (see [helper.Reap]), or as
// [Job.Start] does where there are none. Its output is read as there: what
// holds it after the command has exited is read for a moment more.
func (j *Job) StartReaped(cmd *exec.Cmd) (*Child, error) {
	if !helper.Works {
		return j.Start(cmd)
	}
	return j.startHelper(cmd, helper.Reap, nil)
}

// StartConfined is StartReaped with limits, a file from which the reaper learns
// how to confine the command (see [helper.Limits]).
func (j *Job) StartConfined(cmd *exec.Cmd, limits *os.File) (*Child, error) {
	return j.startHelper(cmd, helper.Confine, limits)
}

// startHelper starts the reaper, which starts the command and tells by the pipe when
// it has, and how it ended. Two goroutines follow: one waits for the reaper, the other
// reads the pipe. The command counts as exited when its status has come and its output
// was read; the reaper stays while anything is left below it.
func (j *Job) startHelper(cmd *exec.Cmd, name string, limits *os.File) (*Child, error) {
	status, theirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("a pipe for its status: %w", err)
	}
	defer theirs.Close()
	var out outputs
	reaper := exec.Command(helper.Program)
	reaper.Args = append([]string{"agentls", helper.Argument, name, cmd.Path}, cmd.Args...)
	reaper.Dir, reaper.Env, reaper.Stdin = cmd.Dir, cmd.Env, cmd.Stdin
	reaper.ExtraFiles = []*os.File{theirs}
	if limits != nil {
		reaper.ExtraFiles = append(reaper.ExtraFiles, limits)
	}
	if err := out.attach(reaper, cmd.Stdout, cmd.Stderr); err != nil {
		_ = status.Close() // nothing comes
		return nil, err
	}
	defer out.closeTheirs()
	reaper.SysProcAttr = ownSession()

	c := &Child{exited: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan error, 1)
	j.children.Go(func() {
		defer close(c.ended)
		err := j.groups.start(reaper, leader, status)
		started <- err
		if err != nil {
			return
		}
		_ = reaper.Wait() // how the command ended comes by the pipe
		j.groups.forget(reaper.Process.Pid)
	})
	if err := <-started; err != nil {
		out.close()
		_ = status.Close()
		return nil, err
	}
	_ = theirs.Close() // the reaper has its own: the pipe ends with it
	lines := bufio.NewScanner(status)
	c.PID, err = readStarted(lines)
	if err != nil {
		out.close()
		_ = status.Close()
		return nil, err
	}
	j.groups.add(c.PID)
	j.children.Go(func() {
		defer status.Close()
		out.copy()
		c.status = readStatus(lines)
		j.groups.forget(c.PID)
		out.finish()
		close(c.exited)
		<-c.ended // to close the pipe earlier would dismiss the reaper
	})
	return c, nil
}

// readStarted reads the first line of a reaper: "started PID", or "failed WHY". A reaper
// that ended before is an error as well.
func readStarted(lines *bufio.Scanner) (pid int, err error) {
	if !lines.Scan() {
		return 0, errors.New("the process that supervises it ended at once")
	}
	if text, ok := strings.CutPrefix(lines.Text(), "started "); ok {
		return strconv.Atoi(text)
	}
	return 0, errors.New(strings.TrimPrefix(lines.Text(), "failed "))
}

// readStatus reads the second: "exit CODE" or "signal NUMBER". A reaper that
// ends without it was killed, and its command with it.
func readStatus(lines *bufio.Scanner) Status {
	killed := Status{Code: 128 + int(syscall.SIGKILL), Signal: syscall.SIGKILL.String()}
	if !lines.Scan() {
		return killed
	}
	kind, number, _ := strings.Cut(lines.Text(), " ")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return killed
	case kind == "signal":
		return Status{Code: 128 + n, Signal: syscall.Signal(n).String()}
	}
	return Status{Code: n}
}

// outputs are the pipes through which the output of a command comes.
//
// They are pipes of our own and not exec's, since these would wait for whatever still
// holds them: a command that left a server behind would never count as ended.
type outputs struct {
	// What the child writes to theirs[i] comes out of ours[i], and goes to to[i].
	to      []io.Writer
	ours    []*os.File
	theirs  []*os.File
	copying conc.WaitGroup
}

// attach makes what cmd writes reach stdout and stderr. Where both are the same writer
// they share a pipe, so that the order of what comes stays.
func (o *outputs) attach(cmd *exec.Cmd, stdout, stderr io.Writer) (err error) {
	if cmd.Stdout, err = o.pipe(stdout); err == nil {
		if cmd.Stderr = cmd.Stdout; stderr != stdout {
			cmd.Stderr, err = o.pipe(stderr)
		}
	}
	if err != nil {
		o.closeTheirs()
		o.close()
		return fmt.Errorf("a pipe for its output: %w", err)
	}
	return nil
}

// pipe returns the file that a child writes to so that it reaches to; a file is
// the child's own.
func (o *outputs) pipe(to io.Writer) (io.Writer, error) {
	if to == nil {
		return nil, nil
	}
	if file, ok := to.(*os.File); ok {
		return file, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.to, o.ours, o.theirs = append(o.to, to), append(o.ours, r), append(o.theirs, w)
	return w, nil
}

// closeTheirs closes the ends that the child has.
func (o *outputs) closeTheirs() {
	for _, f := range o.theirs {
		_ = f.Close() // it was only passed on
	}
}

// close gives up what was not read.
func (o *outputs) close() {
	for _, f := range o.ours {
		_ = f.Close() // it was only read
	}
}

// copy begins to read. It does not wait; finish does.
func (o *outputs) copy() {
	for i, f := range o.ours {
		o.copying.Go(func() { // ends with the output, or finish
			if _, err := io.Copy(o.to[i], f); errors.Is(err, os.ErrDeadlineExceeded) {
				copyWritten(o.to[i], f)
			}
		})
	}
}

// finish reads what was written, and goes on until the output ends, for drain at most:
// something else may hold it. However busy the machine is, nothing is lost of what the
// command wrote before it ended.
func (o *outputs) finish() {
	for _, f := range o.ours {
		if f.SetReadDeadline(time.Now().Add(drain)) != nil { // where pipes have none
			late := time.AfterFunc(drain, func() { _ = f.Close() })
			defer late.Stop()
		}
	}
	o.copying.Wait()
	o.close()
}

// statusOf returns how a wait ended; the error says that the process did not
// run.
func statusOf(err error) (Status, error) {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return Status{}, nil // it exited with 0, and did not read all of its input
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return Status{}, err
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return Status{128 + int(s.Signal()), s.Signal().String()}, nil
	}
	return Status{Code: exit.ExitCode()}, nil
}
