// Package local keeps memory in files of this machine: an SQLite database for each store,
// over modernc.org/sqlite, with FTS5 for words and sqlite-vec for vectors.
//
// # What is acknowledged stays
//
// A record is on stable storage when Put returns (WAL, synchronous=FULL): a process that is
// killed loses nothing that it acknowledged. Several daemons may have a store open.
//
// # What is deleted is gone
//
// Freed pages are overwritten (secure_delete), FTS5 takes words out of its index at once,
// and after a deletion the index is made anew and the write-ahead log is emptied into the
// file and truncated. sqlite-vec overwrites vectors itself. The tests look at the bytes.
//
// # What is damaged is kept
//
// A file that SQLite cannot read is renamed to NAME.damaged-TIME.db, and the error says
// so. Only then does the next record begin a new store.
//
// # Connections
//
// A [Backend] keeps each store that was opened, with one connection, which closes itself
// when it is idle; lists open the others for a moment only. Whether the file of a store is
// still the one that was opened is looked at with each Open, since other daemons may drop
// it or put it aside.
//
// TestKilledInTheMiddle, TestDeletedIsInNoFile, TestDamagedIsKeptAside and TestFullDisk
// hold what is said above; memorytest has the rest of the contract.
package local

import (
	"context"
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

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/internal/fault"
)

// Config is what a [Backend] needs.
type Config struct {
	// Dir is the folder of the stores. It is made with the first one.
	Dir string
	// Prepare makes Dir, and says why nothing may be kept there, which becomes
	// Unavailable; nil makes it, for this user only. It is called before each new store.
	Prepare func() error
	// Now names what is put aside. It must not be nil.
	Now func() time.Time
}

// Backend opens the stores of a folder. It is a [memory.Backend]. All its methods may
// be called from any goroutine. It does nothing until it is asked.
type Backend struct {
	config Config

	mu   sync.Mutex
	open map[string]*store // by id; guarded by mu
}

var _ memory.Backend = (*Backend)(nil)

// New returns a backend. It touches nothing.
func New(c Config) *Backend { return &Backend{config: c, open: make(map[string]*store)} }

// Stores lie in Dir as ID.db; damaged is part of the names of those that were put aside.
const (
	extension = ".db"
	damaged   = ".damaged-"
)

// Open implements [memory.Backend].
//
// It holds mu while it opens the file, so that two callers do not open it twice;
// opening waits for another process up to the busy timeout, ten seconds.
func (b *Backend) Open(ctx context.Context, p memory.Place, make *memory.Shape) (memory.Store, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := p.ID()
	path := filepath.Join(b.config.Dir, id+extension)
	info, err := os.Stat(path)
	if s := b.open[id]; s != nil {
		if err == nil && os.SameFile(info, s.info) {
			return s, nil
		}
		s.close() // another process dropped it, or put it aside
		delete(b.open, id)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && make == nil:
		return nil, memory.None(p)
	case errors.Is(err, fs.ErrNotExist):
		if err = b.prepare(path); err == nil {
			info, err = os.Stat(path)
		}
	}
	if err != nil {
		return nil, unavailable("memory cannot be kept in "+b.config.Dir, err)
	}
	s, err := openStore(ctx, b, path, info, p, make)
	if err != nil {
		return nil, err
	}
	b.open[id] = s
	return s, nil
}

// prepare makes an empty file that only this user can read; SQLite gives the files beside
// it the same permissions.
func (b *Backend) prepare(path string) error {
	prepare := b.config.Prepare
	if prepare == nil {
		prepare = func() error { return os.MkdirAll(b.config.Dir, 0o700) }
	}
	if err := prepare(); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// Stores implements [memory.Backend]. What was put aside because it was damaged is in
// the list with its path, so that people learn of it.
func (b *Backend) Stores(ctx context.Context) ([]memory.Stored, error) {
	entries, err := os.ReadDir(b.config.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable("the folder of memories cannot be read", err)
	}
	var all []memory.Stored
	for _, entry := range entries {
		id, is := strings.CutSuffix(entry.Name(), extension)
		if !is {
			continue
		}
		if strings.Contains(id, damaged) {
			all = append(all, memory.Stored{ID: id, Problem: "damaged; kept aside as " +
				filepath.Join(b.config.Dir, entry.Name())})
			continue
		}
		stored, err := b.describe(ctx, id)
		if fault.KindOf(err) == fault.NotFound {
			continue // it has just gone, or has no record yet
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			stored = memory.Stored{ID: id, Problem: fault.Message(err)}
		}
		all = append(all, stored)
	}
	slices.SortFunc(all, func(x, y memory.Stored) int { return strings.Compare(x.ID, y.ID) })
	return all, nil
}

// describe looks at a store. One that is not open is not kept open for that. An empty
// file, which a daemon is just making a store of, counts as none: NotFound.
func (b *Backend) describe(ctx context.Context, id string) (memory.Stored, error) {
	path := filepath.Join(b.config.Dir, id+extension)
	info, err := os.Stat(path)
	if err != nil {
		return memory.Stored{}, memory.None(memory.Place{})
	}
	b.mu.Lock()
	s := b.open[id]
	b.mu.Unlock()
	if s == nil || !os.SameFile(info, s.info) {
		if s, err = openStore(ctx, b, path, info, memory.Place{}, nil); err != nil {
			return memory.Stored{}, err
		}
		defer s.close()
	}
	_, n, err := s.List(ctx, 0, 1)
	return memory.Stored{ID: id, Place: s.place, Shape: s.shape, Records: n}, err
}

// forget closes a store that is gone. It must be called without mu.
func (b *Backend) forget(s *store) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.open, func(_ string, open *store) bool { return open == s })
	s.close()
}

// Close implements [memory.Backend].
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, s := range b.open {
		s.close()
		delete(b.open, id)
	}
	return nil
}

// unavailable returns a failure of the disk as a fault: a retry may help.
func unavailable(what string, err error) error {
	return fault.New(fault.Unavailable, "memory.local", "%s: %w", what, err)
}

// aside renames a damaged store and returns its new path. It does nothing where another
// daemon has done so: a good store may lie there now. It returns "" where it could not,
// too. The log and the index of shared memory go with the file: without its log a
// database may lack what was acknowledged.
func (b *Backend) aside(s *store) string {
	if info, err := os.Stat(s.path); err != nil || !os.SameFile(info, s.info) {
		return ""
	}
	base := strings.TrimSuffix(s.path, extension) + damaged + b.config.Now().UTC().Format("20060102-150405")
	to := base + extension
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = fmt.Sprintf("%s-%d%s", base, n, extension)
	}
	for _, beside := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(s.path+beside, to+beside); err != nil && beside == "" {
			return ""
		}
	}
	return to
}
