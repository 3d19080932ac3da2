package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/internal/process"
)

// hide keeps a process that is not dumpable from being looked into: its memory,
// its descriptors and /proc/PID/environ are root's only. Root can see the latter
// all the same, so that nothing is left there but what any tool gets. What the
// system refuses stays as it is: doctor says so.
func hide(environ []string, dumpable bool) {
	_ = wipe(process.Environ(environ)) // first: the file that it takes is root's afterwards
	// A mask that takes the owner's own rights would have the daemon make files
	// that it cannot open again. The mask is known only by setting another.
	unix.Umask(unix.Umask(0o077) &^ 0o700)
	// No image of the memory is left where something crashes. Children get the
	// limit and may raise it.
	core := unix.Rlimit{}
	_ = unix.Getrlimit(unix.RLIMIT_CORE, &core) // on an error it is zero
	core.Cur = 0
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &core)
	if !dumpable {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
}

// The places of a field in /proc/PID/stat, from the one after the name (proc(5)).
const (
	envStart = 50 - 3
	envEnd   = 51 - 3
)

// wipe overwrites the values of the environment as the process was given it,
// which Go has copied, but for the variables that are kept.
func wipe(kept []string) error {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= envEnd {
		return fmt.Errorf("/proc/self/stat has %d fields", len(fields))
	}
	start, err := strconv.ParseInt(string(fields[envStart]), 10, 64)
	if err != nil {
		return err
	}
	end, err := strconv.ParseInt(string(fields[envEnd]), 10, 64)
	if err != nil || start <= 0 || end <= start {
		return err
	}
	// Go has no pointer to this block, so it is read and written as a file.
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	block := make([]byte, end-start)
	if _, err := memory.ReadAt(block, start); err != nil {
		return err
	}
	// Only values are cleared: their length, and so all that comes behind them, stays
	// where it is.
	for rest := block; len(rest) > 0; {
		entry, after, _ := bytes.Cut(rest, []byte{0})
		if name := bytes.IndexByte(entry, '='); name >= 0 && !slices.Contains(kept, string(entry)) {
			clear(entry[name+1:])
		}
		rest = after
	}
	_, err = memory.WriteAt(block, start)
	return err
}

// checkProcess says whether other programs of the person can look into agentls. It asks
// the system instead of remembering what hide did, since that may have been refused.
func checkProcess() finding {
	const seen = "process: other programs of yours can look into agentls and see its keys"
	switch n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); {
	case err != nil:
		return finding{"process", odd, seen + ": " + err.Error(), ""}
	case n != 0 && os.Getenv("AGENTLS_DUMPABLE") == "1":
		return finding{"process", odd, seen + ", since AGENTLS_DUMPABLE=1 is set", "unset it"}
	case n != 0:
		return finding{"process", odd, seen, ""}
	}
	return finding{"process", fine, "process: other programs of yours cannot look into agentls", ""}
}
