package helper

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// statusFile is the descriptor by which a reaper reports on its command.
const statusFile = 3

// reap starts a command in a session of its own and lives until nothing of it is
// left: not the command, and not what that started, whatever group, session or
// environment it took, since the kernel gives all that lose their parents to the
// reaper (a child subreaper, prctl(2)). When nobody reads its reports any more,
// because the daemon is gone in whatever way or has dismissed it, it kills them
// all (REL-73, REL-76).
//
// It reports on descriptor 3, which the command does not get, a line each:
// "started PID" or "failed WHY", then "exit CODE" or "signal NUMBER". The
// command's signals are not the reaper's: only SIGKILL ends it.
//
// It runs on the process's first thread, which init functions do, so that the
// command, which dies with the thread that started it, dies with the reaper.
// confine is called on that thread before the command is started: what it does to
// the thread, the command and all that it starts inherit. The other threads of
// the reaper do not.
func reap(path string, args, environ []string, confine func() error) int {
	runtime.LockOSThread() // from then on new threads come from another, which is not confined
	report := os.NewFile(statusFile, "status")
	unix.CloseOnExec(statusFile)
	fail := func(err error) int {
		fmt.Fprintf(report, "failed %v\n", err)
		return 1
	}
	ignoreSignals()
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fail(err)
	}
	go killWhenDismissed() // ends with the process
	if err := confine(); err != nil {
		return fail(err)
	}
	command, err := syscall.ForkExec(path, args, &syscall.ProcAttr{
		Env: environ, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return fail(&os.PathError{Op: "fork/exec", Path: path, Err: err})
	}
	fmt.Fprintf(report, "started %d\n", command)
	// The command holds its output, not its reaper.
	for fd := range 3 {
		_ = unix.Dup3(null, fd, 0) // else the output ends with the reaper
	}
	waitForAll(command, report)
	return 0
}

// ignoreSignals has the kernel drop the signals that end a process by default.
// os/signal would do it too, and is not ready yet (see the package's comment).
// The command does not inherit it: for each signal that Go's runtime handles, a
// fork sets the default again.
func ignoreSignals() {
	action := [8]uintptr{1} // the kernel's struct sigaction: the handler SIG_IGN, no flags
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP,
		syscall.SIGQUIT, syscall.SIGPIPE} {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	}
}

// waitForAll takes the status of each child that ends, reports that of the
// command, and returns when there are no children any more.
func waitForAll(command int, report *os.File) {
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &s, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid == command && s.Signaled():
			fmt.Fprintf(report, "signal %d\n", s.Signal())
		case pid == command:
			fmt.Fprintf(report, "exit %d\n", s.ExitStatus())
		}
	}
}

// killWhenDismissed waits until nobody reads the reports any more, and then
// kills all children again and again: what forked while it was killed is found
// the next time. What is left after three seconds cannot be killed.
func killWhenDismissed() {
	end := []unix.PollFd{{Fd: statusFile}}
	for end[0].Revents&(unix.POLLERR|unix.POLLNVAL) == 0 {
		if _, err := unix.Poll(end, -1); err != nil && err != unix.EINTR {
			break
		}
	}
	for range 300 {
		killChildren()
		time.Sleep(10 * time.Millisecond)
	}
	os.Exit(1)
}

// killChildren kills all that is below this process.
func killChildren() {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	parents := make(map[int]int)
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			parents[pid] = parentOf(pid)
		}
	}
	own := os.Getpid()
	for pid := range parents {
		for up := parents[pid]; up > 0; up = parents[up] {
			if up == own {
				_ = syscall.Kill(pid, syscall.SIGKILL) // gone already is as good
				break
			}
		}
	}
}

// parentOf returns the parent of a process; 0 where it is gone. The name in
// /proc/PID/stat stands in brackets and may hold anything.
func parentOf(pid int) int {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	var state string
	var parent int
	if _, err := fmt.Sscan(string(raw[bytes.LastIndexByte(raw, ')')+1:]), &state, &parent); err != nil {
		return 0
	}
	return parent
}
