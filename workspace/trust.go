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
type TrustRecord struct {
	Folder  string // canonical
	Trusted bool
	Since   time.Time
	Items   []TrustItem // approved, by name; without their texts
	Process bool        // granted for this process only: nothing is reviewed
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
	recordFile[trustFile]

	mu      sync.Mutex
	granted map[string]TrustRecord // for this process, by folder
}

// NewTrust returns the records in file, an absolute path, which need not exist.
// Now gives the time of new records.
func NewTrust(file string, now func() time.Time) *Trust {
	t := &Trust{granted: make(map[string]TrustRecord)}
	t.recordFile = newRecordFile[trustFile](file, "workspace.trust", "no folder is trusted", now)
	return t
}

// Trusted says whether a folder is trusted, and by which record; the record is
// zero when there is none. With an error nothing that the file says counts, and
// only what was granted for this process is trusted.
func (t *Trust) Trusted(folder string) (bool, TrustRecord, error) {
	canonical, err := Canonical(folder)
	if err != nil {
		return false, TrustRecord{}, err
	}
	data, err := t.load()
	t.mu.Lock()
	defer t.mu.Unlock()
	for dir := canonical; ; dir = filepath.Dir(dir) {
		if r, ok := t.granted[dir]; ok {
			return r.Trusted, r, err
		}
		if r, ok := data.Folders[dir]; ok {
			return r.Trusted, r.record(dir), err
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

// Grant trusts a folder for this process only (--trust, AGENTLS_TRUST=1).
func (t *Trust) Grant(folder string) error {
	canonical, err := Canonical(folder)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.granted[canonical] = TrustRecord{Folder: canonical, Trusted: true, Since: t.now(), Process: true}
	return nil
}

// Set records that a folder is trusted or not, and of a trusted one what the
// person has approved with it: no more and no less. The file is replaced at once
// and whole under a lock, so that no record of another daemon is lost (REL-102);
// the file is 0600 and its folder 0700 under any umask. A file that is no JSON is
// kept beside the new one as trust.json.bad; one that others can write, or of a
// later format, is left alone and refused ([fault.Denied], [fault.Unavailable]).
func (t *Trust) Set(ctx context.Context, folder string, trusted bool, items ...TrustItem) error {
	canonical, err := Canonical(folder)
	if err != nil {
		return err
	}
	if !trusted {
		items = nil
	}
	return t.decide(ctx, canonical, items, func(data *trustFile) error {
		data.Folders[canonical] = trustFolder{Trusted: trusted, Since: t.now().UTC(), Items: merged(nil, items)}
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
	return t.decide(ctx, canonical, items, func(data *trustFile) error {
		record, ok := data.Folders[canonical]
		if !ok || !record.Trusted {
			return fault.New(fault.Denied, t.op, "%s is not trusted, so nothing of it can be approved", canonical).Because(fault.Untrusted)
		}
		record.Items = merged(record.Items, items)
		data.Folders[canonical] = record
		return nil
	})
}

// Forget drops the record of a folder, which is then one that was never seen,
// and reports whether there was one.
func (t *Trust) Forget(ctx context.Context, folder string) (bool, error) {
	canonical, err := Canonical(folder)
	if err != nil {
		return false, err
	}
	found := false
	err = t.decide(ctx, canonical, nil, func(data *trustFile) error {
		_, found = data.Folders[canonical]
		delete(data.Folders, canonical)
		return nil
	})
	return found, err
}

// decide changes the records, and keeps the texts of what was approved.
func (t *Trust) decide(ctx context.Context, folder string, items []TrustItem, change func(*trustFile) error) error {
	err := t.change(ctx, func(data *trustFile) error {
		if data.Folders == nil {
			data.Folders = make(map[string]trustFolder)
		}
		if err := change(data); err != nil {
			return err
		}
		t.keepTexts(data, items)
		return nil
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// What was granted for the process gives way to what the person said now.
	delete(t.granted, folder)
	return nil
}

// trustFile is the file's JSON.
type trustFile struct {
	Version int                    `json:"version"`
	Folders map[string]trustFolder `json:"folders"`
}

type trustFolder struct {
	Trusted bool              `json:"trusted"`
	Since   time.Time         `json:"since"`
	Items   map[string]string `json:"items,omitempty"` // digests by name
}

func (f trustFolder) record(folder string) TrustRecord {
	r := TrustRecord{Folder: folder, Trusted: f.Trusted, Since: f.Since}
	for _, name := range slices.Sorted(maps.Keys(f.Items)) {
		r.Items = append(r.Items, TrustItem{Name: name, Digest: Digest(f.Items[name])})
	}
	return r
}

// merged returns the digests of items over those before.
func merged(before map[string]string, items []TrustItem) map[string]string {
	all := make(map[string]string, len(before)+len(items))
	maps.Copy(all, before)
	for _, item := range items {
		all[item.Name] = string(item.Digest)
	}
	return all
}
