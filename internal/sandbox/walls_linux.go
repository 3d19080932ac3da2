package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/process/helper"
)

// try returns why a wall does not work here; "" if it does.
func (s *Sandbox) try(w Wall) string {
	switch w {
	case Bubblewrap:
		return s.tryBubblewrap()
	case Landlock:
		return s.tryLandlock()
	}
	return notHere
}

// tryBubblewrap runs a command in bubblewrap, once as it is and once, for root in
// a container, in a namespace of users.
func (s *Sandbox) tryBubblewrap() string {
	path := ""
	for _, folder := range process.SearchPath(s.Environ) {
		// The person's own programs count, but only of folders that nobody else
		// writes; the system's are looked for as well.
		if at := filepath.Join(folder, "bwrap"); isProgram(at) {
			path = at
			break
		}
	}
	if path == "" {
		return "bubblewrap (bwrap) is not installed: install the package bubblewrap"
	}
	program, err := filter(ownSockets)
	if err != nil {
		return err.Error()
	}
	var failed string
	// The rules are a new file for each try: one that was read is at its end.
	for _, users := range []bool{false, true} {
		if users && os.Geteuid() != 0 {
			break // it makes one by itself
		}
		w := bubblewrap{path: path, users: users}
		rules, err := inMemory("seccomp", program)
		if err != nil {
			return "bubblewrap: " + err.Error()
		}
		args := append(w.arguments(nil, false), "--seccomp", "3", "--", "/bin/true")
		cmd := exec.Command(path, args...)
		cmd.Env = process.Environ(s.Environ)
		cmd.ExtraFiles = []*os.File{rules}
		out, err := output(cmd)
		_ = rules.Close() // it was only read
		if err == nil {
			s.bwrap = w
			return ""
		}
		failed = explain(strings.TrimSpace(string(out)), err)
	}
	return failed
}

// explain says in plain words why bubblewrap did not work.
func explain(out string, err error) string {
	first, _, _ := strings.Cut(out, "\n")
	switch {
	case strings.Contains(out, "No permissions to create a new namespace"),
		strings.Contains(out, "Creating new namespace failed"),
		strings.Contains(out, "setting up uid map"):
		return "bubblewrap does not work: this system does not let programs make user namespaces (" + first + ")"
	case strings.Contains(out, "Can't mount proc"):
		return "bubblewrap does not work: /proc cannot be mounted anew, as in most containers (" + first + ")"
	case first != "":
		return "bubblewrap does not work: " + first
	}
	return fmt.Sprintf("bubblewrap does not work: %v", err)
}

// isProgram reports whether a file can be executed.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// inMemory returns a file without a name that holds data, to be read from its
// beginning.
func inMemory(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.WriteAt(data, 0); err != nil {
		_ = f.Close() // it failed already
		return nil, err
	}
	return f, nil
}

// relayCommand is the command that runs another one behind a relay.
func relayCommand() []string {
	return []string{relayProgram, helper.Argument, helper.Relay, relayPort, relaySocket}
}

// tryLandlock runs a command behind Landlock.
// It returns why that does not work, "" where it does: it really starts a command,
// since a kernel that has it may still not allow it.
func (s *Sandbox) tryLandlock() string {
	abi := helper.LandlockABI()
	switch {
	case abi == 0:
		return "Landlock does not work: the kernel does not have it, or it is switched off"
	case abi < helper.MinLandlockABI:
		return fmt.Sprintf("Landlock does not work: the kernel has version %d of it, and 3 is needed (Linux 6.2)", abi)
	}
	// The strictest filter: where it works the others do.
	program, err := filter(noSockets)
	if err != nil {
		return err.Error()
	}
	limits, err := inMemory("limits", helper.Limits{Read: systemFolders, Devices: devices, Filter: program}.Encode())
	if err != nil {
		return "Landlock: " + err.Error()
	}
	defer limits.Close()
	j := process.NewJob(process.Options{Dir: "/", Environ: s.Environ, Now: time.Now})
	defer j.Release()
	child, err := j.StartConfined(j.Command("/bin/true", []string{"true"}, nil), limits)
	if err != nil {
		return "Landlock does not work: " + err.Error()
	}
	if end, err := j.Wait(child); err != nil || end.Code != 0 {
		return fmt.Sprintf("Landlock does not work: a command behind it ended with %d (%v)", end.Code, err)
	}
	return ""
}

// devices are the devices that commands behind Landlock use.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// useLandlock has the box's command started by a reaper that confines it.
// Landlock can only allow: what is masked is left out of what it allows, folder by
// folder (splitAround), and a folder in another cannot have less. The error is for
// the person: the command does not run.
func (b *Box) useLandlock() error {
	s, spec := b.sandbox, b.spec
	for _, folder := range spec.Folders {
		if !isFolder(folder) {
			return fmt.Errorf("the workspace folder %s is gone", folder)
		}
	}
	for _, folder := range spec.ReadOnly {
		if spec.Access.Writes() && withinAny(spec.Folders, folder) && spec.onlyReads(folder) {
			return fmt.Errorf("%s is not trusted and lies in a folder that is, and this sandbox (Landlock) cannot keep it from being written: "+
				"run the command with access read or full, or trust the folder", folder)
		}
	}
	var err error
	// Not in the system's: the reaper removes what is in it, and /tmp is everybody's.
	temps := filepath.Join(s.State, "command-temp")
	if err = os.MkdirAll(temps, 0o700); err != nil {
		return err
	}
	if b.temp, err = os.MkdirTemp(temps, ""); err != nil {
		return err
	}
	b.cmd.Env = append(b.cmd.Env, "TMPDIR="+b.temp)
	limits := helper.Limits{
		Read: slices.Concat(systemFolders, []string{"/proc"}, s.readable(), spec.ReadOnly,
			[]string{s.configFolder()}),
		Write:   []string{b.temp},
		Devices: devices,
	}
	if spec.Access.Writes() {
		limits.Write = slices.Concat(limits.Write, spec.Folders, existing(s.Write), []string{s.cacheFolder()})
	} else {
		limits.Read = slices.Concat(limits.Read, spec.Folders, existing(s.Write), []string{s.cacheFolder()})
	}
	masked := append(s.maskedPaths(spec), s.State)
	// For root, the modes of files keep nothing from being read.
	if os.Geteuid() == 0 {
		masked = append(masked, secretsOfSystem()...)
	}
	limits.Read, limits.List = splitAround(limits.Read, masked)
	open := noSockets
	if spec.Access.Connects() {
		open = netSockets
	}
	// Landlock gives no namespaces, so what these would part is denied by call.
	denied := sharedMemoryCalls
	if spec.Access == Read {
		denied = slices.Concat(denied, attributeCalls)
	}
	if limits.Filter, err = filter(open, denied...); err != nil {
		return err
	}
	if b.limits, err = inMemory("limits", limits.Encode()); err != nil {
		return err
	}
	b.files = append(b.files, b.limits)
	return nil
}

// splitAround returns rules for reading that leave masked places out: a folder
// that has some below it becomes a folder that is only listed, and its entries.
// What is made in such a folder later cannot be read.
func splitAround(paths, masked []string) (read, list []string) {
	for _, path := range paths {
		switch {
		case !slices.ContainsFunc(masked, func(m string) bool { return m != path && within(path, m) }):
			read = append(read, path)
		default:
			list = append(list, path)
			entries, _ := os.ReadDir(path) // what cannot be listed cannot be read either
			var below []string
			for _, e := range entries {
				if child := filepath.Join(path, e.Name()); !slices.Contains(masked, child) &&
					e.Type()&os.ModeSymlink == 0 {
					below = append(below, child)
				}
			}
			moreRead, moreList := splitAround(below, masked)
			read, list = append(read, moreRead...), append(list, moreList...)
		}
	}
	return read, list
}
