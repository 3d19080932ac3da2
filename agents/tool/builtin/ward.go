package builtin

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
)

// ward is a process of a call. The thread that forked it is kept for as long as
// it lives: the kernel ends the process, or tells its reaper, when that thread,
// and so the daemon, is gone (REL-76).
type ward struct {
	pid    int           // of the command
	exited chan struct{} // closed when it has ended and its output was read
	status status        // how; from then on
	err    error         // why it did not run; from then on
	ended  chan struct{} // closed when nobody sees to it any more
}

// start starts a process, which is a child of the daemon.
func (w *work) start(cmd *exec.Cmd) (*ward, error) {
	v := &ward{exited: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan error, 1)
	w.wards.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(v.ended)
		err := w.groups.start(cmd, false)
		if err == nil {
			v.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		v.status, v.err = statusOf(cmd.Wait())
		w.groups.ended(v.pid)
		close(v.exited)
	})
	return v, <-started
}

// shelter starts a process under a reaper (see [Reap]), or without one where
// there is none. The output is as in start: what holds it when the command has
// exited is read for a moment more.
func (w *work) shelter(cmd *exec.Cmd) (*ward, error) {
	if w.reaper == "" || !canReap {
		return w.start(cmd)
	}
	told, tell, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("a pipe for its status: %w", err)
	}
	defer tell.Close()
	var out outputs
	reaper := exec.Command(ownProgram)
	reaper.Args = append([]string{"agentls", w.reaper, cmd.Path}, cmd.Args...)
	reaper.Dir, reaper.Env = cmd.Dir, cmd.Env
	reaper.ExtraFiles = []*os.File{tell}
	if reaper.Stdout, err = out.end(cmd.Stdout); err == nil {
		if reaper.Stderr = reaper.Stdout; cmd.Stderr != cmd.Stdout {
			reaper.Stderr, err = out.end(cmd.Stderr)
		}
	}
	defer out.started()
	if err != nil {
		out.close()
		_ = told.Close() // nothing comes
		return nil, fmt.Errorf("a pipe for its output: %w", err)
	}
	isolateReaper(reaper)

	v := &ward{exited: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan error, 1)
	w.wards.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(v.ended)
		err := w.groups.start(reaper, true)
		started <- err
		if err != nil {
			return
		}
		_ = reaper.Wait() // how the command ended comes by the pipe
		w.groups.ended(reaper.Process.Pid)
	})
	if err := <-started; err != nil {
		out.close()
		_ = told.Close()
		return nil, err
	}
	_ = tell.Close() // the reaper has its own: its end is the pipe's
	lines := bufio.NewScanner(told)
	begun, err := readBegun(lines)
	if err != nil {
		out.close()
		_ = told.Close()
		return nil, err
	}
	v.pid = begun
	w.groups.lead(begun)
	w.wards.Go(func() {
		defer told.Close()
		out.copy()
		v.status = readStatus(lines)
		w.groups.ended(begun)
		out.finish()
		close(v.exited)
	})
	return v, nil
}

// readBegun reads the first line of a reaper: "started PID", or "failed WHY".
func readBegun(lines *bufio.Scanner) (pid int, err error) {
	if !lines.Scan() {
		return 0, errors.New("the process that was to look after it ended at once")
	}
	if text, ok := strings.CutPrefix(lines.Text(), "started "); ok {
		return strconv.Atoi(text)
	}
	return 0, errors.New(strings.TrimPrefix(lines.Text(), "failed "))
}

// readStatus reads the second: "exit CODE" or "signal NUMBER". A reaper that
// ends without it was killed, and its command with it.
func readStatus(lines *bufio.Scanner) status {
	killed := status{code: 128 + int(syscall.SIGKILL), signal: syscall.SIGKILL.String()}
	if !lines.Scan() {
		return killed
	}
	kind, number, _ := strings.Cut(lines.Text(), " ")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return killed
	case kind == "signal":
		return status{code: 128 + n, signal: syscall.Signal(n).String()}
	}
	return status{code: n}
}

// outputs are the pipes by which the output of a command comes that is not a
// child of ours.
type outputs struct {
	to      []io.Writer
	ours    []*os.File
	theirs  []*os.File
	copying conc.WaitGroup
}

// end returns what a child writes to so that it reaches to.
func (o *outputs) end(to io.Writer) (io.Writer, error) {
	if to == nil {
		return nil, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.to, o.ours, o.theirs = append(o.to, to), append(o.ours, r), append(o.theirs, w)
	return w, nil
}

// started closes what the child has.
func (o *outputs) started() {
	for _, f := range o.theirs {
		_ = f.Close() // it was only passed on
	}
}

// close gives up what is not read.
func (o *outputs) close() {
	for _, f := range o.ours {
		_ = f.Close() // it was only read
	}
}

// copy begins to read.
func (o *outputs) copy() {
	for i, f := range o.ours {
		o.copying.Go(func() { _, _ = io.Copy(o.to[i], f) }) // ends with the output, or finish
	}
}

// finish reads on until the output ends, for as long as lingers says.
func (o *outputs) finish() {
	late := time.AfterFunc(lingers, o.close)
	o.copying.Wait()
	late.Stop()
	o.close()
}

// statusOf returns how a wait ended; the error says that the process did not
// run.
func statusOf(err error) (status, error) {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return status{}, nil // it exited well, and maybe something else holds its output
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return status{}, err
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return status{128 + int(s.Signal()), s.Signal().String()}, nil
	}
	return status{code: exit.ExitCode()}, nil
}
