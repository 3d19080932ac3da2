package helper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// limitsFile is the descriptor from which confine reads its [Limits].
const limitsFile = 4

// What Landlock's rules let be done. Of what is not in handled Landlock denies
// nothing; the kernel has all of it from ABI 3 on (Linux 6.2).
const (
	canRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	canWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	canMake  = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER
	handled = canRead | canWrite | canMake
	ofFiles = canWrite | unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE // what a rule for a file may name
)

// minABI is the oldest version of Landlock that is used: the first that knows
// truncate(2).
const minABI = 3

// LandlockABI returns the version of Landlock that the kernel has; 0 for none.
func LandlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// MinLandlockABI is the oldest version that [Confine] works with.
const MinLandlockABI = minABI

// confine holds this thread, and what it starts, to the limits of descriptor 4.
// go-landlock would do the same for all threads of a process, but imports more
// than is ready this early (see the package's comment).
func confine() error {
	file := os.NewFile(limitsFile, "limits")
	data, err := io.ReadAll(file)
	_ = file.Close() // it was only read
	if err != nil {
		return fmt.Errorf("its limits cannot be read: %w", err)
	}
	limits, ok := decode(data)
	if !ok {
		return errors.New("its limits are not complete")
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	dropCapabilities()
	if err := restrictFiles(limits); err != nil {
		return fmt.Errorf("the kernel's Landlock: %w", err)
	}
	return restrictCalls(limits.Filter)
}

// dropCapabilities takes root's rights to more than its own files; others have
// none.
func dropCapabilities() {
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // fails where there is nothing to drop
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_ = unix.Capset(&header, &none[0]) // fewer are always granted
}

// restrictFiles lets nothing be opened but what the limits name.
func restrictFiles(limits Limits) error {
	abi := LandlockABI()
	if abi < minABI {
		return fmt.Errorf("version %d of the kernel's is too old", abi)
	}
	attr := unix.LandlockRulesetAttr{Access_fs: handled}
	size := unsafe.Sizeof(attr.Access_fs)
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Sizeof(attr)
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(ruleset))
	for _, rule := range []struct {
		paths  []string
		access uint64
	}{{limits.Read, canRead}, {limits.Write, handled}, {limits.List, unix.LANDLOCK_ACCESS_FS_READ_DIR},
		{limits.Devices, unix.LANDLOCK_ACCESS_FS_READ_FILE | canWrite}} {
		for _, path := range rule.paths {
			if err := allow(int(ruleset), path, rule.access); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allow adds a rule for a path that exists.
func allow(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
		return nil // the command could not open it either
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	if access == 0 {
		return nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// restrictCalls has the kernel ask a filter about each system call.
func restrictCalls(filter []byte) error {
	if len(filter) == 0 {
		return errors.New("there is no filter of system calls")
	}
	program := unix.SockFprog{Len: uint16(len(filter) / 8), Filter: (*unix.SockFilter)(unsafe.Pointer(&filter[0]))}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}
