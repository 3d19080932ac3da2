package builtin

import (
	"fmt"
	"os"
	signals "os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// canReap says that this program can be a reaper here.
const canReap = true

// ownProgram is this program, also when its file has been replaced.
const ownProgram = "/proc/self/exe"

// statusFile is the descriptor by which a reaper tells how its command is.
const statusFile = 3

// Reap is the whole of a process that sees to one command. args are the
// program's path and its arguments, the name first; the process's code is
// returned.
//
// A reaper starts the command in a session of its own and lives until nothing
// of it is left: not the command, and not what that started, whatever group,
// session or environment it took, since the kernel gives all that lose their
// parents to the reaper (a child subreaper, prctl(2)). When the daemon is gone,
// in whatever way, the kernel tells the reaper, and it kills them all (REL-73,
// REL-76).
//
// It tells the daemon by descriptor 3, which the command does not get, a line
// each: "started PID" or "failed WHY", then "exit CODE" or "signal NUMBER". The
// command's signals are not the reaper's: only SIGUSR1 and SIGKILL end it.
func Reap(args []string) int {
	if len(args) < 2 {
		return 2
	}
	runtime.LockOSThread() // the command is to die with this thread, which is the process's first
	told := os.NewFile(statusFile, "status")
	unix.CloseOnExec(statusFile)
	fail := func(err error) int {
		fmt.Fprintf(told, "failed %v\n", err)
		return 1
	}
	over, children, others := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan os.Signal, 1)
	signals.Notify(over, dismissal)
	signals.Notify(children, syscall.SIGCHLD)
	signals.Notify(others, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE) // not ignored: the command would inherit that
	// The kernel may have told it before it listened: then nobody reads what it
	// tells any more.
	if end := []unix.PollFd{{Fd: statusFile}}; poll(end) && end[0].Revents&unix.POLLERR != 0 {
		return 1
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fail(err)
	}
	command, err := os.StartProcess(args[0], args[1:], &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return fail(err)
	}
	fmt.Fprintf(told, "started %d\n", command.Pid)
	// What holds the command's output is the command, not its reaper.
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(int(null.Fd()), fd, 0) // else the output ends with the reaper
		}
		_ = null.Close()
	}
	var tick *time.Ticker
	var again <-chan time.Time
	for rounds := 0; ; {
		if !collect(command.Pid, told) {
			return 0
		}
		select {
		case <-children:
		case <-over:
			if tick == nil {
				tick = time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				again = tick.C
			}
			killChildren()
		case <-again: // what forked while it was killed
			if rounds++; rounds > 300 {
				return 1 // what is left cannot be killed
			}
			killChildren()
		}
	}
}

// poll looks at descriptors without waiting, and reports whether there is
// something to see.
func poll(fds []unix.PollFd) bool {
	for {
		n, err := unix.Poll(fds, 0)
		if err != unix.EINTR {
			return n > 0
		}
	}
}

// collect takes the status of all children that have ended, and tells that of
// the command. It returns false when there are none any more.
func collect(command int, told *os.File) bool {
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &s, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return false
		case pid == 0:
			return true
		case pid == command && s.Signaled():
			fmt.Fprintf(told, "signal %d\n", s.Signal())
		case pid == command:
			fmt.Fprintf(told, "exit %d\n", s.ExitStatus())
		}
	}
}

// killChildren kills all that is below this process.
func killChildren() {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	parents := make(map[int]int)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		if _, parent, _, alive := parseStat(pid, raw); alive {
			parents[pid] = parent
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
