package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/folder"
)

// recordVersion is the format of the files of records that this program writes.
const recordVersion = 1

// maxRecords is how large such a file may be, in bytes.
const maxRecords = 4 << 20

// settled is how old a file must be before what was read of it is kept: another
// one of the same size and time may take the place of a younger one.
const settled = time.Second

// recordFile is a file of what people decided, which all daemons of one person
// share: JSON of type T, which has a member version. It fails closed: of a file
// that cannot be read, is not understood or could have been written by somebody
// else (SEC-116, SEC-140) nothing counts.
// Reading takes no lock, as the file is replaced whole; changing takes that of its
// folder. It is safe for concurrent use.
type recordFile[T any] struct {
	file string
	op   string
	void string // what an error means, in words: "no folder is trusted"
	now  func() time.Time
	uid  int // who must own the file; -1 = not looked at

	// A pointer, since newRecordFile's result is copied into the types that embed it.
	cache *recordCache[T]
}

// recordCache is what was read last, and of what.
type recordCache[T any] struct {
	mu   sync.Mutex
	data *T // nil = nothing is kept
	info fs.FileInfo
}

// newRecordFile returns the records in file. op and void are for errors: who was asked,
// and what follows for the person. It reads nothing.
func newRecordFile[T any](file, op, void string, now func() time.Time) recordFile[T] {
	return recordFile[T]{file: filepath.Clean(file), op: op, void: void, now: now, uid: os.Geteuid(),
		cache: new(recordCache[T])}
}

var (
	// In the chain where the file is no JSON, or not of this kind: the next change sets
	// it aside.
	errCorrupt = errors.New("it is not understood")
	// In the chain where another user owns or can write the file.
	errOpen = errors.New("others could have written it")
)

// load returns what the file says, which the caller must not change; with an
// error, and without a file, nothing. It reads a file again only when it looks
// like another one.
func (f *recordFile[T]) load() (*T, error) {
	info, err := f.look()
	if err != nil || info == nil {
		return new(T), err
	}
	if data := f.cachedValue(info); data != nil {
		return data, nil
	}
	data, info, err := f.read()
	if err == nil && info != nil && f.now().Sub(info.ModTime()) > settled {
		f.cache.mu.Lock()
		f.cache.data, f.cache.info = data, info
		f.cache.mu.Unlock()
	}
	return data, err
}

// look returns what the file looks like, nil where there is none.
func (f *recordFile[T]) look() (info fs.FileInfo, err error) {
	for _, path := range []string{filepath.Dir(f.file), f.file} {
		info, err = os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fault.New(fault.Unavailable, f.op, "%s: %q cannot be read: %w", f.void, path, err)
		}
		if err := f.private(path, info); err != nil {
			return nil, err
		}
	}
	return info, nil
}

// read returns what the file says, as the caller's own, and what it looks like:
// nil where there is none.
func (f *recordFile[T]) read() (*T, fs.FileInfo, error) {
	none := new(T)
	if info, err := f.look(); err != nil || info == nil {
		return none, nil, err
	}
	content, info, err := folder.ReadRegular(f.file, maxRecords)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil, nil
	}
	if err != nil {
		return none, nil, fault.New(fault.Unavailable, f.op, "%s: %w", f.void, err)
	}
	// Another file may have taken the place of the one that look judged.
	if err := f.private(f.file, info); err != nil {
		return none, nil, err
	}
	data, err := f.decode(content)
	if err != nil {
		return none, nil, err
	}
	return data, info, nil
}

// cachedValue returns what was read of a file that looks like this one, else nil.
func (f *recordFile[T]) cachedValue(info fs.FileInfo) *T {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	if f.cache.data != nil && unchanged(f.cache.info, info) {
		return f.cache.data
	}
	return nil
}

// private refuses a file or folder that is not ours alone to write (SEC-116).
func (f *recordFile[T]) private(path string, info fs.FileInfo) error {
	if uid, _, ok := owner(info); ok && f.uid >= 0 {
		if uid != f.uid {
			return fault.New(fault.Denied, f.op, "%s: %q belongs to another user; remove it: %w", f.void, path, errOpen)
		}
		if perm := info.Mode().Perm(); perm&0o022 != 0 {
			return fault.New(fault.Denied, f.op,
				"%s: %q can be written by others (mode %04o); run chmod go-w on it after you looked at it: %w",
				f.void, path, perm, errOpen)
		}
	}
	return nil
}

// decode reads the content of the file, whose version must be one that this program knows.
// A file that is damaged, or of a later version, is fault.Unavailable and never empty:
// to begin anew would forget what the person decided.
func (f *recordFile[T]) decode(content []byte) (*T, error) {
	damaged := func(err error) error {
		return fault.New(fault.Unavailable, f.op, "%s: %q is damaged: %w", f.void, f.file, err)
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return nil, damaged(fmt.Errorf("%w (%w)", errCorrupt, err))
	}
	switch {
	case head.Version < 1:
		return nil, damaged(errCorrupt)
	case head.Version > recordVersion:
		return nil, fault.New(fault.Unavailable, f.op, "%s: %q was written by a later version of agentls; use that one",
			f.void, f.file)
	}
	data := new(T)
	if err := json.Unmarshal(content, data); err != nil {
		return nil, damaged(fmt.Errorf("%w (%w)", errCorrupt, err))
	}
	return data, nil
}

// change replaces the file by what change makes of it, at once and whole under
// the lock of its folder. A damaged file is set aside as *.bad; one that others
// can write, or of a later format, is left alone and refused.
// change gets what the file says, as its own, and may be called when another process
// has changed it since the caller looked. Its error leaves the file as it is. The error
// says that nothing was recorded: [fault.Denied] for a file that others can write, else
// [fault.Unavailable], and change's own as it is.
func (f *recordFile[T]) change(ctx context.Context, change func(*T) error) error {
	failed := func(format string, args ...any) error {
		return fault.New(fault.Unavailable, f.op, "it is not recorded: "+format, args...)
	}
	dir := filepath.Dir(f.file)
	if err := privateFolder(dir); err != nil {
		return failed("the folder %q cannot be made: %w", dir, err)
	}
	unlock, err := lockFolder(ctx, dir)
	if err != nil {
		return failed("%w", err)
	}
	defer unlock()
	// read and not load: the result of load is shared, and change may modify its argument.
	data, _, err := f.read()
	if errors.Is(err, errCorrupt) {
		if err := setAside(f.file); err != nil {
			return failed("the damaged %q cannot be set aside: %w", f.file, err)
		}
	} else if err != nil {
		return err
	}
	if err := change(data); err != nil {
		return err
	}
	if err := f.save(data); err != nil {
		return failed("%w", err)
	}
	// Should the new file look like the one before it, the cache would not notice.
	f.forget()
	return nil
}

// forget lets go of what was read.
func (f *recordFile[T]) forget() {
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	f.cache.data = nil
}

// save writes the file. The caller holds the lock.
func (f *recordFile[T]) save(data *T) error {
	content, err := json.Marshal(data)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(content, &members); err != nil {
		return err
	}
	// T may have the version that was read, but this program writes its own format.
	members["version"] = json.RawMessage(fmt.Sprint(recordVersion))
	if content, err = json.MarshalIndent(members, "", "  "); err != nil {
		return err
	}
	dir, err := os.OpenRoot(filepath.Dir(f.file))
	if err != nil {
		return err
	}
	defer dir.Close()
	return putFile(dir, filepath.Base(f.file), putting{content: append(content, '\n'), mode: 0o600})
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
	// One that others can write is not fixed in silence: what lies in it may be theirs.
	if perm := info.Mode().Perm(); perm&0o077 != 0 && perm&0o022 == 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// setAside renames a damaged file to the first free name beside it.
//
// It links first, which never replaces a file; only where the disk has no links does it
// rename.
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
