package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// bubblewrap is the program as it works here.
type bubblewrap struct {
	path  string
	users bool // it needs a namespace of users even for root
}

// The sizes of a command's own folders, which are in memory.
const (
	maxTemp = 8 << 30
	maxHome = 1 << 30
)

// relayProgram is where a command of the network finds this program.
const (
	relayProgram = "/run/agentls/agentls"
	relaySocket  = "/run/agentls/proxy"
)

// namespaces are the arguments that put a command into its own world, without
// what it sees of the file system.
func (w bubblewrap) namespaces(hostNetwork bool) []string {
	args := []string{
		"--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL",
	}
	if w.users {
		args = append(args, "--unshare-user")
	}
	// A network of its own has nothing but loopback, where the relay stands.
	if !hostNetwork {
		args = append(args, "--unshare-net")
	}
	return args
}

// arguments returns the arguments of bubblewrap for what a command sees, but for
// descriptors and the command itself.
//
// The order is bubblewrap's order of mounting: a later one lies over an earlier one, so
// parents come first and what is strict last. Places that are missing are left out:
// bubblewrap would make them on the person's disk.
func (w bubblewrap) arguments(mounts []mount, hostNetwork bool) []string {
	args := w.namespaces(hostNetwork)
	var system []mount
	for _, path := range systemFolders {
		system = append(system, mount{path, systemMount})
	}
	var readOnly []string
	for _, m := range append(system, mounts...) {
		info, err := os.Lstat(m.path)
		missing := err != nil
		link := !missing && info.Mode()&os.ModeSymlink != 0
		folder := !missing && info.IsDir()
		switch {
		case m.kind == emptyMount && m.path == "/tmp", m.kind == emptyMount && m.path == "/var/tmp":
			args = append(args, "--perms", "1777", "--size", strconv.Itoa(maxTemp), "--tmpfs", m.path)
		case m.kind == emptyMount:
			args = append(args, "--perms", "0700", "--size", strconv.Itoa(maxHome), "--tmpfs", m.path)
		case missing: // a mount point would be made, and stay
		case link && m.kind == systemMount:
			target, err := os.Readlink(m.path)
			if err == nil {
				args = append(args, "--symlink", target, m.path)
			}
		case link: // what it leads to is listed if it is in reach
		case m.kind == systemMount, m.kind == readOnlyMount, m.kind == fixedMount:
			args = append(args, "--ro-bind", m.path, m.path)
		case m.kind == writableMount:
			args = append(args, "--bind", m.path, m.path)
		case folder:
			// It looks empty, but its files are not gone: git, which would commit that,
			// is denied to look for them. Ours has others in it that are there.
			perms := "0400"
			if slices.ContainsFunc(mounts, func(in mount) bool { return in != m && within(m.path, in.path) }) {
				perms = "0500"
			}
			args = append(args, "--perms", perms, "--tmpfs", m.path)
			readOnly = append(readOnly, m.path)
		default:
			args = append(args, "--ro-bind", os.DevNull, m.path)
		}
	}
	// After the mounts, so that nothing of the person's lies over them.
	args = append(args, "--proc", "/proc", "--dev", "/dev")
	if os.Geteuid() == 0 {
		args = append(args, limitProc()...)
	}
	// Last: until here places inside of these folders had to be mounted in them.
	for _, path := range readOnly {
		args = append(args, "--remount-ro", path)
	}
	return args
}

// What of /proc is the whole machine's and root's: to a command of root's, which
// needs no capability to write its own files, the first are read-only, and the
// second empty.
var (
	fixedProc = []string{"/proc/sys", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/mtrr", "/proc/driver",
		"/proc/dynamic_debug"}
	maskedProc = []string{"/proc/sysrq-trigger", "/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/key-users",
		"/proc/timer_list", "/proc/acpi", "/proc/scsi", "/proc/asound"}
)

// limitProc returns arguments that keep root from what of /proc is the machine's.
// Without a namespace of users, root behind the wall is root to these files.
func limitProc() []string {
	var args []string
	for _, path := range fixedProc {
		if exists(path) {
			args = append(args, "--ro-bind", path, path)
		}
	}
	for _, path := range maskedProc {
		switch {
		case isFolder(path):
			args = append(args, "--tmpfs", path, "--remount-ro", path)
		case exists(path):
			args = append(args, "--ro-bind", os.DevNull, path)
		}
	}
	return args
}

// useBubblewrap has the box's command started by bubblewrap.
//
// Rules, arguments and this program reach bubblewrap as files in memory, by descriptor:
// a list of arguments may be longer than a command line, and other users could read it
// in /proc.
func (b *Box) useBubblewrap() error {
	for _, folder := range b.spec.Folders {
		if folder == string(filepath.Separator) {
			return fmt.Errorf("the whole system cannot be a workspace of sandboxed commands: open a folder in it")
		}
		if !isFolder(folder) {
			return fmt.Errorf("the workspace folder %s is gone", folder)
		}
	}
	w, cmd := b.sandbox.bwrap, b.cmd
	anyHost := b.spec.Access.Connects() && b.spec.Proxy == ""
	args := w.arguments(b.sandbox.mounts(b.spec), anyHost)
	open := ownSockets
	if anyHost {
		open = netSockets
	}
	program, err := filter(open)
	if err != nil {
		return err
	}
	rules, err := inMemory("seccomp", program)
	if err != nil {
		return err
	}
	args = append(args, "--seccomp", strconv.Itoa(b.addFile(rules)))
	command := append([]string{cmd.Path}, cmd.Args[1:]...)
	if b.spec.Access == Network && b.spec.Proxy != "" {
		self, err := os.Open("/proc/self/exe") // also when its file has been replaced
		if err != nil {
			return err
		}
		// By descriptor, since the program's path may lie where the wall hides it.
		at := "/proc/self/fd/" + strconv.Itoa(b.addFile(self))
		args = append(args, "--ro-bind", at, relayProgram, "--bind", b.spec.Proxy, relaySocket)
		command = append(relayCommand(), append([]string{cmd.Path}, cmd.Args...)...)
	}
	args = append(args, "--remount-ro", "/", "--chdir", cmd.Dir)
	list, err := inMemory("arguments", nulSeparated(args))
	if err != nil {
		return err
	}
	cmd.Args = append([]string{"bwrap", "--args", strconv.Itoa(b.addFile(list)), "--"}, command...)
	cmd.Path = w.path
	return nil
}

// nulSeparated returns arguments as bubblewrap reads them from a descriptor.
func nulSeparated(args []string) []byte {
	var out []byte
	for _, arg := range args {
		out = append(append(out, arg...), 0)
	}
	return out
}
