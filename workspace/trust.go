package workspace

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// A TrustRecord is what a person decided about one folder.
// The caller owns it.
type TrustRecord struct {
	Folder  string // canonical
	Trusted bool
	Since   time.Time
	Items   []TrustItem // approved, by name; without their texts
	// Replaced: another directory is at the path than the one that was trusted, so
	// that the record does not hold (SEC-15).
	Replaced bool
}

// Trust is what people decided about folders: a file of records that all daemons
// of one person share (~/.gemini/agentls/trust.json, spec 4.4).
//
// A record covers its folder and plain sub-folders. It does not cover a
// repository, submodule or worktree inside, told by a .git of any kind (SEC-14),
// and a record of a sub-folder beats those above it. It is of one directory, told
// by its inode and birth time, and by its device as long as the process lasts:
// another one at the same path, by a move or a mount, is not trusted (SEC-15).
//
// Everything fails closed: a file that cannot be read, is not understood or
// could have been written by somebody else (SEC-116) trusts nothing.
type Trust struct {
	recordFile[trustFile]

	mu    sync.Mutex
	first map[string]firstUse // of trusted folders, by folder
}

// firstUse is which directory a record was of when this process first used it.
type firstUse struct {
	since         time.Time // of the record
	recorded, was identity
}

// NewTrust returns the records in file, an absolute path, which need not exist.
// Now gives the time of new records.
func NewTrust(file string, now func() time.Time) *Trust {
	t := &Trust{first: make(map[string]firstUse)}
	t.recordFile = newRecordFile[trustFile](file, "workspace.trust", "no folder is trusted", now)
	return t
}

// Lookup says whether a folder is trusted, and by which record; the record is
// zero when there is none. With an error nothing is trusted.
// It looks at each folder above, up to the record, and reads the file only when that
// has changed. The error is of kind [fault.Unavailable], or [fault.Denied] where
// others could have written the file.
func (t *Trust) Lookup(folder string) (bool, TrustRecord, error) {
	canonical, err := Canonical(folder)
	if err != nil {
		return false, TrustRecord{}, err
	}
	// On an error data is empty, so nothing is trusted.
	data, err := t.load()
	for dir := canonical; ; dir = filepath.Dir(dir) {
		if r, ok := data.Folders[dir]; ok {
			record := r.record(dir)
			record.Replaced = r.Trusted && !t.holds(dir, r)
			return r.Trusted && !record.Replaced, record, err
		}
		// A repository's own record was looked for first; those above it do not reach in (SEC-14).
		if dir == filepath.Dir(dir) || ownRepository(dir) {
			return false, TrustRecord{}, err
		}
	}
}

// holds reports whether the directory at dir is the one that a record is of. A
// record of an earlier version, without an identity, is believed (see
// [Trust.Complete]).
func (t *Trust) holds(dir string, r trustFolder) bool {
	now, err := identify(dir)
	if err != nil || (r.known() && !r.same(now)) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// The device is not recorded, so remember the directory at the first use of each decision.
	first, ok := t.first[dir]
	if !ok || !first.since.Equal(r.Since) || !first.recorded.same(r.identity) { // a new decision
		t.first[dir] = firstUse{r.Since, r.identity, now}
		return true
	}
	// first.was includes the device, so a mount over the folder is noticed.
	return first.was.same(now)
}

// Complete adds to the record that a folder is trusted by, where an earlier
// version made it, which directory it is of; it reports whether it did.
func (t *Trust) Complete(ctx context.Context, folder string) (completed bool, err error) {
	trusted, record, err := t.Lookup(folder)
	if err != nil || !trusted {
		return false, err
	}
	if data, err := t.load(); err != nil || data.Folders[record.Folder].known() {
		return false, err
	}
	now, err := identify(record.Folder)
	if err != nil || !now.known() {
		return false, err
	}
	err = t.change(ctx, func(data *trustFile) error {
		// Another daemon may have recorded a new decision before the lock was ours.
		r, ok := data.Folders[record.Folder]
		if completed = ok && r.Trusted && !r.known(); completed {
			r.identity = now
			data.Folders[record.Folder] = r
		}
		return nil
	})
	return completed && err == nil, err
}

// PlainlyIn reports whether a folder is one of some, or lies in one and is neither a
// repository of its own nor in one.
func PlainlyIn(folders []string, folder string) bool {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if slices.Contains(folders, dir) {
			return true
		}
		if dir == filepath.Dir(dir) || ownRepository(dir) {
			return false
		}
	}
}

// ownRepository says that trust given above dir does not reach it. A .git that
// cannot be looked at counts as one.
func ownRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil || (!errors.Is(err, fs.ErrNotExist) && !isNotDir(err))
}

// Records returns the records of the file, by folder.
func (t *Trust) Records() ([]TrustRecord, error) {
	data, err := t.load()
	if err != nil {
		return nil, err
	}
	list := make([]TrustRecord, 0, len(data.Folders))
	for _, folder := range slices.Sorted(maps.Keys(data.Folders)) {
		list = append(list, data.Folders[folder].record(folder))
	}
	return list, nil
}

// Set records that a folder is trusted or not, and of a trusted one, which must
// exist, what the person has approved with it: no more and no less. The file is replaced at once
// and whole under a lock, so that no record of another daemon is lost (REL-102);
// the file is 0600 and its folder 0700 under any umask. A file that is no JSON is
// kept beside the new one as trust.json.bad; one that others can write, or of a
// later format, is left alone and refused ([fault.Denied], [fault.Unavailable]).
// It waits for the lock until ctx ends. A Lookup after it sees the decision.
func (t *Trust) Set(ctx context.Context, folder string, trusted bool, items ...TrustItem) error {
	canonical, err := Canonical(folder)
	if err != nil {
		return err
	}
	record := trustFolder{Trusted: trusted, Since: t.now().UTC()}
	if trusted {
		if record.identity, err = identify(canonical); err != nil {
			return err
		}
		record.Items = mergeDigests(nil, items)
	} else {
		// A folder that is not trusted has nothing approved, so no text of it is kept.
		items = nil
	}
	return t.decide(ctx, items, func(data *trustFile) error {
		data.Folders[canonical] = record
		return nil
	})
}

// Approve records that the person has approved items of a trusted folder, which
// must be the folder of a record: others of the same names are replaced, the rest
// stays. The error is [fault.Denied] for a folder that is not trusted by now.
func (t *Trust) Approve(ctx context.Context, folder string, items ...TrustItem) error {
	canonical, err := Canonical(folder)
	if err != nil {
		return err
	}
	return t.decide(ctx, items, func(data *trustFile) error {
		record, ok := data.Folders[canonical]
		if !ok || !record.Trusted || !t.holds(canonical, record) {
			return fault.New(fault.Denied, t.op, "%s is not trusted, so nothing of it can be approved",
				canonical).Because(fault.Untrusted)
		}
		record.Items = mergeDigests(record.Items, items)
		data.Folders[canonical] = record
		return nil
	})
}

// Forget drops the record of a folder, which is then one that was never seen,
// and reports whether there was one.
// The error is as of [Trust.Set].
func (t *Trust) Forget(ctx context.Context, folder string) (bool, error) {
	canonical, err := Canonical(folder)
	if err != nil {
		return false, err
	}
	found := false
	err = t.decide(ctx, nil, func(data *trustFile) error {
		_, found = data.Folders[canonical]
		delete(data.Folders, canonical)
		return nil
	})
	return found, err
}

// decide changes the records, and keeps the texts of what was approved.
func (t *Trust) decide(ctx context.Context, items []TrustItem, change func(*trustFile) error) error {
	return t.change(ctx, func(data *trustFile) error {
		if data.Folders == nil {
			data.Folders = make(map[string]trustFolder)
		}
		if err := change(data); err != nil {
			return err
		}
		t.keepTexts(data, items)
		return nil
	})
}

// trustFile is the file's JSON.
type trustFile struct {
	Version int                    `json:"version"`
	Folders map[string]trustFolder `json:"folders"`
}

// trustFolder is a record in the file.
type trustFolder struct {
	Trusted bool              `json:"trusted"`
	Since   time.Time         `json:"since"`
	Items   map[string]string `json:"items,omitempty"` // digests by name
	identity
}

// record returns it as callers see it.
func (f trustFolder) record(folder string) TrustRecord {
	r := TrustRecord{Folder: folder, Trusted: f.Trusted, Since: f.Since}
	for _, name := range slices.Sorted(maps.Keys(f.Items)) {
		r.Items = append(r.Items, TrustItem{Name: name, Digest: Digest(f.Items[name])})
	}
	return r
}

// mergeDigests returns the digests of items over those before.
func mergeDigests(before map[string]string, items []TrustItem) map[string]string {
	all := make(map[string]string, len(before)+len(items))
	maps.Copy(all, before)
	for _, item := range items {
		all[item.Name] = string(item.Digest)
	}
	return all
}
