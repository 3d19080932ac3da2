package sandbox

import (
	"encoding/binary"
	"errors"
	"runtime"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// sockets says which sockets a command may open.
type sockets int

const (
	noSockets  sockets = iota // none
	ownSockets                // those of its own network namespace
	netSockets                // those of the machine's network, but no Unix sockets
)

// architectures are the values by which the kernel tells a filter what kind of
// program called.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64, "ppc64le": unix.AUDIT_ARCH_PPC64LE,
}

// deniedCalls are system calls that no command behind a wall makes: those that
// look into other processes, hold keys, change mounts and namespaces, load code
// into the kernel, or are a way around a filter (io_uring).
var deniedCalls = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_CHROOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_REBOOT, unix.SYS_ACCT,
	unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SETTIMEOFDAY,
	unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX,
}

// sharedMemoryCalls reach the shared memory, semaphores and queues of the person's
// processes, where a command has no such namespace of its own.
var sharedMemoryCalls = []uint32{unix.SYS_SHMCTL, unix.SYS_SEMCTL, unix.SYS_MSGCTL, unix.SYS_SHMAT}

// attributeCalls are system calls that change modes, owners, times and extended
// attributes of files, which Landlock lets a command do that writes nothing.
var attributeCalls = append([]uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
}, oldAttributeCalls...)

// The places in struct seccomp_data. Of arguments only the lower half is looked
// at, as the kernel does for the ones that matter here: all supported machines
// are little-endian.
const (
	callNumber   = 0
	callArch     = 4
	callArgument = 16
)

var (
	allowCall  = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	denyCall   = deny(unix.EPERM)
	noSuchCall = deny(unix.ENOSYS) // programs then use an older call, whose arguments a filter can see
)

// deny returns the instruction that fails a call with an error number.
func deny(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// filter returns the seccomp filter of a command, as an array of struct
// sock_filter. It denies the calls that are given, too.
//
// Denied calls fail with an error and do not kill: programs probe for what they
// may do. The filter is built for the processor that this program runs on.
func filter(open sockets, denied ...uint32) ([]byte, error) {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		return nil, errors.New("there is no filter of system calls for this kind of processor")
	}
	is := func(value uint32, then ...bpf.Instruction) []bpf.Instruction {
		return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipFalse: uint8(len(then))}},
			then...)
	}
	has := func(bits uint32, then bpf.Instruction) []bpf.Instruction {
		return []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: bits, SkipFalse: 1}, then}
	}
	load := func(offset uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offset, Size: 4} }
	argument := func(n uint32) bpf.Instruction { return load(callArgument + 8*n) }

	// A call of another kind of program has other numbers, which the rules below would misread.
	program := []bpf.Instruction{load(callArch)}
	program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1}, noSuchCall, load(callNumber))
	if runtime.GOARCH == "amd64" { // the calls of x32 have other numbers
		program = append(program, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: 0x40000000, SkipFalse: 1}, noSuchCall)
	}
	for _, call := range slices.Concat(deniedCalls, denied) {
		program = append(program, is(call, denyCall)...)
	}
	// Its flags lie in memory, where a filter cannot look.
	program = append(program, is(unix.SYS_CLONE3, noSuchCall)...)
	// A new user namespace would give the command rights to more of the kernel.
	ownUsers := append([]bpf.Instruction{argument(0)}, has(unix.CLONE_NEWUSER, denyCall)...)
	program = append(program, is(unix.SYS_UNSHARE, append(ownUsers, allowCall)...)...)
	program = append(program, is(unix.SYS_CLONE, append(ownUsers, allowCall)...)...)
	// Input that is put into a terminal runs outside of the wall.
	input := []bpf.Instruction{argument(1)}
	input = append(input, is(unix.TIOCSTI, denyCall)...)
	input = append(input, is(unix.TIOCLINUX, denyCall)...)
	program = append(program, is(unix.SYS_IOCTL, append(input, allowCall)...)...)
	program = append(program, is(unix.SYS_SOCKET, socketFilter(open, argument, is)...)...)
	raw, err := bpf.Assemble(append(program, allowCall))
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, r := range raw {
		out = binary.NativeEndian.AppendUint16(out, r.Op)
		out = append(out, r.Jt, r.Jf)
		out = binary.NativeEndian.AppendUint32(out, r.K)
	}
	return out, nil
}

// socketFilter decides about socket(family, type, protocol).
func socketFilter(open sockets, argument func(uint32) bpf.Instruction,
	is func(uint32, ...bpf.Instruction) []bpf.Instruction) []bpf.Instruction {
	if open == noSockets {
		return []bpf.Instruction{denyCall}
	}
	out := append([]bpf.Instruction{argument(0)}, is(unix.AF_NETLINK, allowCall)...) // which addresses there are
	// Unix sockets of the machine's network namespace may lead to the person's own services.
	if open == ownSockets {
		out = append(out, is(unix.AF_UNIX, allowCall)...)
	}
	// Of the internet's families, no raw sockets.
	out = append(out,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 1},
		deny(unix.EAFNOSUPPORT),
		argument(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf},
	)
	out = append(out, is(unix.SOCK_STREAM, allowCall)...)
	out = append(out, is(unix.SOCK_DGRAM, allowCall)...)
	return append(out, denyCall)
}
