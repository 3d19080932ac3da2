package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/filelock"
	"github.com/agentls/agentls/internal/git"
)

// Config is what a Store needs. Paths are absolute and canonical.
type Config struct {
	Dir  string // of the repositories; made when the first is needed
	Home string // the person's; "" if it is not known
	// It has PATH; git's own variables are not taken from it (internal/git).
	Environ []string // to find git in, as os.Environ has it
	// Must not be nil.
	Now    func() time.Time
	Limits Limits
}

// Limits bound what is looked at and kept. A zero is the usual value.
type Limits struct {
	Files   int   // of a folder: 100,000
	File    int64 // bytes of one file: 10 MiB
	Folder  int64 // bytes of what is new in a folder since the last look: 2 GiB
	Command int64 // bytes of what one command changed: 256 MiB
}

// withDefaults returns the limits with the usual values for zeros.
func (l Limits) withDefaults() Limits {
	if l.Files == 0 {
		l.Files = 100_000
	}
	if l.File == 0 {
		l.File = 10 << 20
	}
	if l.Folder == 0 {
		l.Folder = 2 << 30
	}
	if l.Command == 0 {
		l.Command = 256 << 20
	}
	return l
}

// Store looks at workspace folders. It is safe for concurrent use; make one for
// each daemon with [New]. Errors are sentences for people
// (kind Unavailable where trying again may help), or the context's cause.
type Store struct {
	Config
	mu sync.Mutex
	// found at the first need; guarded by mu, as folders
	git *git.Program
	// by path; never removed
	folders map[string]*folder
}

// New returns a store that has looked at nothing.
func New(c Config) *Store {
	c.Limits = c.Limits.withDefaults()
	return &Store{Config: c, folders: make(map[string]*folder)}
}

// retryAfter is for how long a folder that could not be looked at is not tried
// again.
const retryAfter = time.Minute

// Available reports whether what a command changes in a folder can be undone; why
// not is for people. The first time it looks at the folder, which takes a moment
// for each thousand files. An answer that there is one is kept as long as looks
// succeed; a failure for retryAfter.
func (s *Store) Available(ctx context.Context, path string) (ok bool, why string) {
	f, err := s.folder(ctx, path)
	if err != nil {
		return false, fault.Message(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tree != "" && f.why == "" {
		return true, ""
	}
	if f.why != "" && s.Now().Sub(f.looked) < retryAfter {
		return false, f.why
	}
	if err := f.withLock(ctx, func() error { _, err := f.look(ctx); return err }); err != nil {
		return false, fault.Message(err)
	}
	return true, ""
}

// folder returns a folder that can be looked at. The error is for people. It makes the
// repository the first time, and runs no git but to find its version. s.mu is held
// meanwhile, so two callers make one.
func (s *Store) folder(ctx context.Context, path string) (*folder, error) {
	const op = "snapshot.folder"
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.folders[path]; f != nil {
		return f, nil
	}
	switch {
	case s.Home != "" && within(path, s.Home):
		return nil, fault.New(fault.Unavailable, op, "%s holds the home folder: it is not kept as a whole", path)
	case within(path, s.Dir):
		return nil, fault.New(fault.Unavailable, op, "%s holds the daemon's own folder", path)
	}
	if s.git == nil {
		program, err := git.Find(ctx, s.Environ)
		if err != nil {
			return nil, err
		}
		s.git = program
	}
	sum := sha256.Sum256([]byte(path))
	f := &folder{store: s, path: path, dir: filepath.Join(s.Dir, hex.EncodeToString(sum[:8])),
		windows: make(map[*window]bool), wrote: make(map[string]string)}
	f.root, f.scope = rootOf(path, s.Home)
	f.repository = s.git.Own(f.dir, f.root)
	if err := f.create(s.Now()); err != nil {
		return nil, fault.New(fault.Unavailable, op, "the folder of snapshots cannot be made: %w", err)
	}
	f.flock = filelock.New(filepath.Join(f.dir, "agentls.lock"))
	s.folders[path] = f
	return f, nil
}

// within reports whether path is folder or lies below it.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// rootOf returns the top folder of the repository that a folder is part of, whose
// lists of ignored files count, and where the folder lies in it with slashes, ""
// for the top. The home folder and what is above are never it.
func rootOf(path, home string) (root, scope string) {
	for at := path; ; at = filepath.Dir(at) {
		if (home != "" && within(at, home)) || at == filepath.Dir(at) {
			return path, ""
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if rel, err := filepath.Rel(at, path); err == nil && rel != "." {
				return at, filepath.ToSlash(rel)
			}
			return path, ""
		}
	}
}

// folder is one workspace folder and the repository of its snapshots. mu is taken
// before the lock of other daemons.
type folder struct {
	store      *Store
	path       string // the workspace folder
	root       string // the work tree that git sees
	scope      string // path in root, with slashes; "" for the whole
	dir        string // of the repository
	repository *git.Repository
	flock      *filelock.Lock // other daemons may have the same folder

	mu      sync.Mutex // held during a look, and for what follows
	tree    string     // the newest; "" before the first look
	index   string     // how the index looked when tree was made of it
	looked  time.Time
	why     string // why the newest look failed; "" = it did not
	told    string // the tree up to which changes were told, while windows are open
	windows map[*window]bool
	wrote   map[string]string // SHA-256 of what others than commands wrote since told, by path; "" = removed
	forced  forced
}

// oldest is how long what nobody ended is kept for a session that may go on.
const oldest = 7 * 24 * time.Hour

// create makes the repository if there is none, and takes away what an earlier
// daemon left. It is made of files, without git init, so that no template and no
// configuration of the person's has a part in it.
func (f *folder) create(now time.Time) error {
	for _, name := range []string{"objects", "refs/heads", "refs/pending", "info"} {
		if err := os.MkdirAll(filepath.Join(f.dir, filepath.FromSlash(name)), 0o700); err != nil {
			return err
		}
	}
	bits := runtime.GOOS != "windows"
	folds := runtime.GOOS == "windows" || runtime.GOOS == "darwin"
	config := fmt.Sprintf("[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfilemode = %t\n\tsymlinks = %t\n\tignorecase = %t\n\tcompression = 1\n"+
		"\tfsyncMethod = batch\n[gc]\n\tpruneExpire = 1.day.ago\n\tautoDetach = false\n\tpackRefs = false\n", bits,
		bits, folds)
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/none\n", "config": config,
		// What a project says about the conversion of files does not count: each byte does.
		"info/attributes": "* -text -eol -ident -filter -working-tree-encoding\n",
		"folder":          f.path + "\n",
	} {
		path := filepath.Join(f.dir, filepath.FromSlash(name))
		if old, err := os.ReadFile(path); err == nil && string(old) == text {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	pending, err := os.ReadDir(filepath.Join(f.dir, "refs", "pending"))
	for _, entry := range pending {
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > oldest {
			_ = os.Remove(filepath.Join(f.dir, "refs", "pending",
				entry.Name())) // it is looked at again by the next daemon
		}
	}
	return err
}

// withLock does something while no other daemon looks at the folder. It waits two
// minutes for another daemon, and ends with ctx. Begin and End must see the same
// folder, so f.mu is held around it.
func (f *folder) withLock(ctx context.Context, do func() error) error {
	const wait, pause = 2 * time.Minute, 5 * time.Millisecond
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if ok, err := f.flock.TryLockContext(limited, pause); !ok {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fault.New(fault.Unavailable, "snapshot.lock", "the folder of snapshots is in use: %v", err)
	}
	defer func() { _ = f.flock.Unlock() }()
	// Whoever held this lock was killed in the middle of a look.
	_ = os.Remove(filepath.Join(f.dir, "index.lock"))
	return do()
}

// name is a path of git as it is on this machine.
func (f *folder) name(rel string) string { return filepath.Join(f.root, filepath.FromSlash(rel)) }

// relative is a path as git names it. It is the path itself where it does not lie below
// the root.
func (f *folder) relative(path string) string {
	rel, err := filepath.Rel(f.root, path)
	if err != nil {
		return path
	}
	return strings.TrimPrefix(filepath.ToSlash(rel), "./")
}
