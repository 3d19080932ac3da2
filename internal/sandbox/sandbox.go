package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agentls/agentls/internal/process"
)

// Access is what a command is let do (spec 4.2, 4.5). Each includes the ones
// before it. The zero Access is none: nothing runs with it.
//
// The zero Access is what a plan has that runs no command.
type Access string

// The accesses, the narrowest first.
const (
	Read    Access = "read"     // reads the system and the workspace; leaves nothing behind; no network
	Write   Access = "write"    // also writes in the workspace, but no protected place, and in our own caches
	Network Access = "network"  // also reaches hosts, by the proxy
	AnyHost Access = "any_host" // reaches all that this machine does, without a proxy
	Full    Access = "full"     // no wall
)

// Accesses returns all of them, the narrowest first. The caller owns the slice.
func Accesses() []Access { return []Access{Read, Write, Network, AnyHost, Full} }

// Valid reports whether a is one of them.
func (a Access) Valid() bool { return slices.Contains(Accesses(), a) }

// Writes reports whether a command behind a wall may change files of the workspace.
func (a Access) Writes() bool { return a == Write || a.Connects() }

// Connects reports whether a command behind a wall may reach a network.
func (a Access) Connects() bool { return a == Network || a == AnyHost }

// Wall is what confines a process on this machine.
type Wall string

// The walls.
const (
	None       Wall = "none"
	Landlock   Wall = "landlock"
	Bubblewrap Wall = "bubblewrap"
	Seatbelt   Wall = "seatbelt" // sandbox-exec of macOS
)

// Mode is the setting tools.sandbox.mode.
type Mode string

// The modes. The zero Mode is Auto.
const (
	Auto    Mode = "auto"    // the best wall that works here
	Require Mode = "require" // commands are refused where there is none
	Off     Mode = "off"     // none
)

// Config is what a Sandbox needs to know of the machine and the person's
// settings. Paths are absolute and canonical.
type Config struct {
	Mode    Mode
	Home    string   // the person's
	State   string   // the daemon's own folder (~/.gemini/agentls): caches, quarantine
	Environ []string // what the daemon's children get before the wall changes it
	Read    []string // tools.sandbox.read; nil = the usual toolchains that exist
	Write   []string // tools.sandbox.write
	Walls   []Wall   // which are tried, the best first; nil = all
}

// Spec is what one command needs. Paths are absolute and canonical.
//
// It describes one moment: places that come to be while the command runs are looked
// at in Release.
type Spec struct {
	Access    Access
	Folders   []string // workspace folders that may be read, and written where the access writes
	ReadOnly  []string // further folders that may only be read, as untrusted workspace folders
	Masked    []string // files and folders that nobody behind the wall reads: credentials, and what rules deny
	Protected []string // protected places that exist: never written behind the wall
	Proxy     string   // Network: the Unix socket of the daemon's proxy; "" = any host, without a proxy
}

// onlyReads reports whether the innermost of the folders that a path lies in is one
// of ReadOnly.
func (s Spec) onlyReads(path string) bool {
	readOnly, inner := false, ""
	for _, folder := range slices.Concat(s.Folders, s.ReadOnly) {
		if within(folder, path) && len(folder) >= len(inner) {
			readOnly, inner = slices.Contains(s.ReadOnly, folder), folder
		}
	}
	return readOnly
}

// Sandbox confines commands. It is safe for concurrent use; make one for each
// daemon with [New].
//
// It must not be copied. The first call of Wall takes as long as running a few
// commands does; everything else is quick.
type Sandbox struct {
	Config
	look  sync.Once
	wall  Wall
	why   string
	bwrap bubblewrap

	setup    sync.Once
	setupErr error
}

// New returns a sandbox that has not looked at the machine yet.
func New(c Config) *Sandbox {
	if c.Walls == nil {
		c.Walls = []Wall{Bubblewrap, Landlock, Seatbelt}
	}
	return &Sandbox{Config: c}
}

// Wall returns which wall stands on this machine, and why not a better one, for
// people; "" where it is the best. It looks once, at the first call, by running
// a command behind each wall.
func (s *Sandbox) Wall() (Wall, string) {
	s.look.Do(func() {
		s.wall = None
		if s.Mode == Off {
			s.why = "tools.sandbox.mode is off"
			return
		}
		var reasons []string
		// The best stands first in the list, so the first that works is taken.
		for _, w := range s.Walls {
			why := s.try(w)
			if why == "" {
				s.wall = w
				break
			}
			if why != notHere {
				reasons = append(reasons, why)
			}
		}
		s.why = strings.Join(reasons, "; ")
		if s.wall == None && s.why == "" {
			s.why = "this system has no sandbox that agentls can use"
		}
	})
	return s.wall, s.why
}

// notHere is why a wall of another system does not work: it is not worth telling.
const notHere = "not of this system"

// CanMask reports whether the wall hides single files of a workspace from
// commands with an access. Landlock does so for Read only. Where it does not, the
// caller asks before such a command runs in a workspace that has credential
// files.
func (s *Sandbox) CanMask(a Access) bool {
	w, _ := s.Wall()
	return w == Bubblewrap || w == Seatbelt || (w == Landlock && a == Read)
}

// CanLimitHosts reports whether the wall lets a command reach the hosts of the
// daemon's proxy only. Where it does not, Network is any host.
func (s *Sandbox) CanLimitHosts() bool {
	w, _ := s.Wall()
	return w == Bubblewrap
}

// ErrNoWall says that tools.sandbox.mode is require and nothing works here.
var ErrNoWall = errors.New("there is no sandbox here, and tools.sandbox.mode is require")

// Box is one command behind the wall, made by [Sandbox.Confine].
type Box struct {
	// What confines the command; None with Full and where there is no wall.
	Wall Wall

	sandbox *Sandbox
	spec    Spec
	cmd     *exec.Cmd
	files   []*os.File // which the command's helpers read; ours are closed when it has started
	limits  *os.File   // see [process.Job.StartConfined]
	temp    string     // a folder of the command's alone; "" for none
	before  *places    // of the workspace; nil where nothing can have changed
}

// Confine puts cmd, which has not been started, behind the wall: it changes its
// path, arguments, environment and files. With Full, and where there is no wall,
// it stays as it is. The caller starts it by [Box.Start] and, whether it was
// started or not, calls [Box.Release] when all of its processes have ended.
//
// spec.Folders must exist; a relative path is a mistake that nothing here notices.
// On an error nothing has to be released. The errors are for the person: a folder
// that is gone, a wall that cannot do what the spec asks.
func (s *Sandbox) Confine(cmd *exec.Cmd, spec Spec) (*Box, error) {
	if !spec.Access.Valid() {
		return nil, fmt.Errorf("sandbox: %q is no access", spec.Access)
	}
	b := &Box{Wall: None, sandbox: s, spec: spec, cmd: cmd}
	wall, _ := s.Wall()
	if wall == None && s.Mode == Require {
		return nil, ErrNoWall
	}
	if spec.Access == Full || wall == None {
		return b, nil
	}
	b.Wall = wall
	// Once for the daemon: the folders stay, and the configuration is that of its start.
	if s.setup.Do(func() { s.setupErr = s.makeState() }); s.setupErr != nil {
		return nil, s.setupErr
	}
	// A command that only reads leaves nothing that could be new.
	if spec.Access.Writes() {
		b.before = s.placesOf(spec)
	}
	if spec.Access == AnyHost || !s.CanLimitHosts() {
		spec.Proxy = ""
	}
	// git in a worktree or a submodule reads its repository, which lies outside of the folder.
	for _, folder := range spec.Folders {
		if dir := gitOutside(folder); dir != "" && !withinAny(spec.Folders, dir) {
			spec.ReadOnly = append(slices.Clip(spec.ReadOnly), existing([]string{dir})...)
		}
	}
	b.spec = spec
	cmd.Env = s.environ(cmd.Env, spec)
	var err error
	switch wall {
	case Bubblewrap:
		err = b.useBubblewrap()
	case Landlock:
		err = b.useLandlock()
	case Seatbelt:
		err = b.useSeatbelt()
	}
	if err != nil {
		b.closeFiles()
		return nil, errors.Join(err, b.removeTemp())
	}
	return b, nil
}

// Start starts the command as a process of the job.
func (b *Box) Start(j *process.Job) (*process.Child, error) {
	// The command has its own copies, or was not started.
	defer b.closeFiles()
	switch b.Wall {
	case Bubblewrap:
		return j.StartContainer(b.cmd)
	case Landlock:
		return j.StartConfined(b.cmd, b.limits)
	}
	return j.StartReaped(b.cmd)
}

// closeFiles closes our copies of what the command's helpers read.
func (b *Box) closeFiles() {
	for _, f := range b.files {
		_ = f.Close() // it was written whole
	}
	b.files, b.limits = nil, nil
}

// addFile gives the command one more file, and returns its descriptor there.
func (b *Box) addFile(f *os.File) int {
	b.files = append(b.files, f)
	b.cmd.ExtraFiles = append(b.cmd.ExtraFiles, f)
	return 2 + len(b.cmd.ExtraFiles)
}

// Report is what a command left behind that it must not.
type Report struct {
	// In no particular order.
	Quarantined []Quarantined
}

// Quarantined is a protected place that a command made or changed.
type Quarantined struct {
	Path string // where it was
	To   string // where it is now
	Back bool   // what was there before is back
}

// Release removes what the command had for itself. protected are the protected
// places of its folders as they are now; what is new among them is moved to
// quarantine, unless it only moved and the wall kept it as it was. It is nil where
// nobody knows: then only what executes in .git folders is looked at.
//
// It may be called once, after all processes of the command have ended: what still
// runs could write after the look.
func (b *Box) Release(protected []string) (Report, error) {
	b.closeFiles()
	err := b.removeTemp()
	if b.before == nil {
		return Report{}, err
	}
	moved, failed := b.quarantine(protected)
	return Report{Quarantined: moved}, errors.Join(err, failed)
}

// ReleaseShared is [Box.Release] where others work in the folders at the same time,
// as a person does while a server runs. It moves nothing, and returns the protected
// places that are new or changed, whoever did it.
func (b *Box) ReleaseShared(protected []string) ([]string, error) {
	b.closeFiles()
	err := b.removeTemp()
	if b.before == nil {
		return nil, err
	}
	return b.pendingQuarantine(protected), err
}

// removeTemp removes the command's own folder, also what the command made
// unreadable.
func (b *Box) removeTemp() error {
	if b.temp == "" {
		return nil
	}
	temp := b.temp
	b.temp = ""
	// A command can take its own right to write from folders.
	_ = filepath.WalkDir(temp, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // else RemoveAll says what is left
		}
		return nil
	})
	return os.RemoveAll(temp)
}

// within reports whether path is folder or lies below it.
func within(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder,
		string(filepath.Separator))+string(filepath.Separator))
}

// withinAny reports whether path is one of the folders or lies below one.
func withinAny(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(f, path) })
}
