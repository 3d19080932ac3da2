package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// trustVersion is the format of the file that this program writes.
const trustVersion = 1

// maxTrust is how large the file may be, in bytes.
const maxTrust = 4 << 20

// A TrustRecord is what a person decided about one folder.
type TrustRecord struct {
	Folder  string // canonical
	Trusted bool
	Since   time.Time
}

// Trust is what people decided about folders: a file of records that all daemons
// of one person share (~/.gemini/agentls/trust.json, spec 4.4), and what was
// granted for this process.
//
// A record covers its folder and plain sub-folders. It does not cover a
// repository, submodule or worktree inside, told by a .git of any kind (SEC-14),
// and a record of a sub-folder beats those above it.
//
// Everything fails closed: a file that cannot be read, is not understood or
// could have been written by somebody else (SEC-116) trusts nothing.
type Trust struct {
	file string
	now  func() time.Time
	uid  int // who must own the file; -1 = not looked at

	mu      sync.Mutex
	granted map[string]TrustRecord // for this process, by folder
}

// NewTrust returns the records in file, an absolute path, which need not exist.
// Now gives the time of new records.
func NewTrust(file string, now func() time.Time) *Trust {
	return &Trust{file: filepath.Clean(file), now: now, uid: os.Geteuid(), granted: make(map[string]TrustRecord)}
}

// Trusted says whether a folder is trusted, and by which record; the record is
// zero when there is none. With an error nothing that the file says counts, and
// only what was granted for this process is trusted.
func (t *Trust) Trusted(folder string) (bool, TrustRecord, error) {
	canonical, err := Canonical(folder)
	if err != nil {
		return false, TrustRecord{}, err
	}
	records, err := t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	for dir := canonical; ; dir = filepath.Dir(dir) {
		if r, ok := t.granted[dir]; ok {
			return r.Trusted, r, err
		}
		if r, ok := records[dir]; ok {
			return r.Trusted, r, err
		}
		if dir == filepath.Dir(dir) || ownRepository(dir) {
			return false, TrustRecord{}, err
		}
	}
}

// ownRepository says that trust given above dir does not reach it. A .git that
// cannot be looked at counts as one.
func ownRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !isNotDir(err)
}

// Records returns the records of the file, by folder.
func (t *Trust) Records() ([]TrustRecord, error) {
	records, err := t.load()
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(records), func(a, b TrustRecord) int { return strings.Compare(a.Folder, b.Folder) }), nil
}

// Grant trusts a folder for this process only (--trust, AGENTLS_TRUST=1).
func (t *Trust) Grant(folder string) error {
	canonical, err := Canonical(folder)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.granted[canonical] = TrustRecord{Folder: canonical, Trusted: true, Since: t.now()}
	return nil
}

// Set records that a folder is trusted or not. The file is replaced at once and
// whole under a lock, so that no record of another daemon is lost (REL-102); the
// file is 0600 and its folder 0700 under any umask. A file that is no JSON is
// kept beside the new one as trust.json.bad; one that others can write, or of a
// later format, is left alone and refused ([fault.Denied], [fault.Unavailable]).
func (t *Trust) Set(ctx context.Context, folder string, trusted bool) error {
	const op = "workspace.setTrust"
	canonical, err := Canonical(folder)
	if err != nil {
		return err
	}
	dir := filepath.Dir(t.file)
	if err := privateFolder(dir); err != nil {
		return fault.New(fault.Unavailable, op, "the folder %q cannot be made: %w", dir, err)
	}
	unlock, err := lockFolder(ctx, dir)
	if err != nil {
		return fault.New(fault.Unavailable, op, "trust cannot be recorded now: %w", err)
	}
	defer unlock()
	records, err := t.load()
	if errors.Is(err, errTrustCorrupt) {
		if err := setAside(t.file); err != nil {
			return fault.New(fault.Unavailable, op, "the damaged %q cannot be set aside: %w", t.file, err)
		}
	} else if err != nil {
		return err
	}
	next := maps.Clone(records)
	if next == nil {
		next = make(map[string]TrustRecord)
	}
	next[canonical] = TrustRecord{Folder: canonical, Trusted: trusted, Since: t.now().UTC()}
	if err := t.save(next); err != nil {
		return fault.New(fault.Unavailable, op, "trust cannot be recorded: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// What was granted for the process gives way to what the person said now.
	delete(t.granted, canonical)
	return nil
}

// trustFile is the file's JSON.
type trustFile struct {
	Version int                    `json:"version"`
	Folders map[string]trustFolder `json:"folders"`
}

type trustFolder struct {
	Trusted bool      `json:"trusted"`
	Since   time.Time `json:"since"`
}

var (
	errTrustCorrupt = errors.New("it is not understood")
	errTrustOpen    = errors.New("others could have written it")
)

// load reads the file; no file is no records.
func (t *Trust) load() (map[string]TrustRecord, error) {
	const op = "workspace.trust"
	for _, path := range []string{filepath.Dir(t.file), t.file} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fault.New(fault.Unavailable, op, "no folder is trusted: %q cannot be read: %w", path, err)
		}
		if err := t.private(path, info); err != nil {
			return nil, err
		}
	}
	content, info, err := ownFile(t.file, maxTrust)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "no folder is trusted: %w", err)
	}
	if err := t.private(t.file, info); err != nil {
		return nil, err
	}
	return decodeTrust(t.file, content)
}

// private refuses a file or folder that is not ours alone to write (SEC-116).
func (t *Trust) private(path string, info fs.FileInfo) error {
	const op = "workspace.trust"
	if uid, _, ok := owner(info); ok && t.uid >= 0 {
		if uid != t.uid {
			return fault.New(fault.Denied, op, "no folder is trusted: %q belongs to another user; remove it: %w", path, errTrustOpen)
		}
		if perm := info.Mode().Perm(); perm&0o022 != 0 {
			return fault.New(fault.Denied, op, "no folder is trusted: %q can be written by others (mode %04o); run chmod go-w on it after you looked at it: %w", path, perm, errTrustOpen)
		}
	}
	return nil
}

// decodeTrust reads the content of the file, strictly.
func decodeTrust(file string, content []byte) (map[string]TrustRecord, error) {
	const op = "workspace.trust"
	var data trustFile
	if err := json.Unmarshal(content, &data); err != nil {
		return nil, fault.New(fault.Unavailable, op, "no folder is trusted: %q is damaged: %w (%w)", file, errTrustCorrupt, err)
	}
	if data.Version < 1 {
		return nil, fault.New(fault.Unavailable, op, "no folder is trusted: %q is damaged: %w", file, errTrustCorrupt)
	}
	if data.Version > trustVersion {
		return nil, fault.New(fault.Unavailable, op, "no folder is trusted: %q was written by a later version of agentls; use that one", file)
	}
	records := make(map[string]TrustRecord, len(data.Folders))
	for folder, r := range data.Folders {
		records[folder] = TrustRecord{Folder: folder, Trusted: r.Trusted, Since: r.Since}
	}
	return records, nil
}

// save writes the file. The caller holds the lock.
func (t *Trust) save(records map[string]TrustRecord) error {
	data := trustFile{Version: trustVersion, Folders: make(map[string]trustFolder, len(records))}
	for folder, r := range records {
		data.Folders[folder] = trustFolder{Trusted: r.Trusted, Since: r.Since}
	}
	content, err := json.MarshalIndent(data, "", "  ")
	if err != nil {
		return err
	}
	dir, err := os.OpenRoot(filepath.Dir(t.file))
	if err != nil {
		return err
	}
	defer dir.Close()
	return putFile(dir, filepath.Base(t.file), putting{content: append(content, '\n'), mode: 0o600})
}

// privateFolder makes a folder that is ours alone. One that exists is closed to
// others if it is ours.
func privateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	// One that others can write is not mended in silence: what lies in it may be theirs.
	if perm := info.Mode().Perm(); perm&0o077 != 0 && perm&0o022 == 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// setAside renames a damaged file to the first free name beside it.
func setAside(file string) error {
	for n := 1; ; n++ {
		bad := file + ".bad"
		if n > 1 {
			bad = fmt.Sprintf("%s.bad.%d", file, n)
		}
		err := os.Link(file, bad)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			return os.Remove(file)
		}
		if cannotLink(err) {
			return os.Rename(file, bad)
		}
		return err
	}
}
