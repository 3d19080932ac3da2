package handlers

import (
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/workspace"
)

// fileCalls are the system calls that look at files.
var fileCalls = []uint32{
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_READLINKAT,
	unix.SYS_GETDENTS64, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2,
}

// countFileCalls returns how many of them work makes by itself: not what it has other
// goroutines do. It asks the kernel, which tells every call of one thread and then lets
// it go on.
func countFileCalls(t *testing.T, work func()) (count int) {
	t.Helper()
	const last = unix.SYS_GETPPID // the thread calls it when the work is done
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}}
	for _, call := range append(fileCalls, last) {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
	}
	raw, err := bpf.Assemble(append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
	if err != nil {
		t.Fatal(err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	listener := make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its filter
		fd := -1
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
			n, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
				uintptr(unsafe.Pointer(&prog)))
			if errno == 0 {
				fd = int(n)
			}
		}
		listener <- fd
		if fd >= 0 {
			work()
			_, _, _ = unix.Syscall(last, 0, 0, 0) // not Getppid, which Go's scheduler cannot interrupt: a collection would wait for ever
		}
	}()
	fd := <-listener
	if fd < 0 {
		t.Fatal("system calls cannot be counted here")
	}
	defer unix.Close(fd)
	for {
		var told struct { // struct seccomp_notif
			id         uint64
			pid, flags uint32
			call       int32
			_          [60]byte
		}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&told))); errno == unix.EINTR {
			continue
		} else if errno != 0 {
			t.Fatal(errno)
		}
		answer := struct { // struct seccomp_notif_resp
			id, value   uint64
			code, flags uint32
		}{id: told.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer))); errno != 0 {
			t.Fatal(errno)
		}
		if told.call == last {
			return count
		}
		count++
	}
}

// TestAKeystrokeReadsNoFile: a change of an agent file waits for no disk, which may be
// one across a network, before the next message is read.
func TestAKeystrokeReadsNoFile(t *testing.T) {
	r, known, u := editsAgent(t)
	close(known.locked)
	if n := countFileCalls(t, func() { r.didChange(u, 2, "typed\n") }); n != 0 {
		t.Errorf("%d calls", n)
	}
	if n := countFileCalls(t, func() { workspace.ReadAgent(t.Context(), r.folder, ".gemini/agents/a.md") }); n == 0 {
		t.Error("control: reading a file is not counted")
	}
}
