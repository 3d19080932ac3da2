package activity

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"syscall"
)

var errDead = errors.New("the machine has ended")

// memFS is a file system that knows what is on stable storage, counts the calls
// that change it, and fails or ends at one of them.
type memFS struct {
	mu    sync.Mutex
	names map[string]*memData // as the running system sees them
	safe  map[string]*memData // as they are after a power cut
	ops   int
	fault func(op int, kind, name string) error // called with the lock held
	short bool                                  // a write that fails writes a part
	dead  bool
}

type memData struct {
	now, safe []byte
}

func newMemFS() *memFS {
	return &memFS{names: map[string]*memData{}, safe: map[string]*memData{}}
}

// state returns what a file holds, what of it is synced, and whether its name
// is.
func (m *memFS) state(name string) (now, safe string, named bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.names[name].now), string(m.names[name].safe), m.safe[name] != nil
}

// op counts a call. The error is what the fault says, or that all has ended.
func (m *memFS) op(kind, name string) error {
	if m.dead {
		return errDead
	}
	m.ops++
	if m.fault != nil {
		err := m.fault(m.ops, kind, name)
		if err == errDead {
			m.dead = true
		}
		return err
	}
	return nil
}

func (m *memFS) Open(name string, flag int, _ fs.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.names[name]
	if d == nil && flag&os.O_CREATE == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if d != nil && flag&os.O_EXCL != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	}
	if d == nil || flag&os.O_TRUNC != 0 {
		if err := m.op("open", name); err != nil {
			return nil, err
		}
		if d == nil {
			d = &memData{}
			m.names[name] = d
		}
		d.now = nil
	}
	return &memFile{fs: m, name: name, data: d}, nil
}

func (m *memFS) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.op("rename", to); err != nil {
		return err
	}
	m.names[to] = m.names[from]
	delete(m.names, from)
	return nil
}

func (m *memFS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.op("remove", name); err != nil {
		return err
	}
	delete(m.names, name)
	return nil
}

func (m *memFS) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.op("syncdir", name); err != nil {
		return err
	}
	clear(m.safe)
	for name, d := range m.names {
		m.safe[name] = d
	}
	return nil
}

// crash returns what the next process finds. After a power cut that is what was
// synced and, by chance, some of what was not.
func (m *memFS) crash(power bool, r *rand.Rand) *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := newMemFS()
	names := m.names
	if power && r.IntN(2) == 0 {
		names = m.safe
	}
	for name, d := range names {
		data := slices.Clone(d.now)
		if power {
			data = slices.Clone(d.safe)
			if rest := len(d.now) - len(d.safe); rest > 0 {
				n := r.IntN(rest + 1)
				data = append(data, d.now[len(d.safe):len(d.safe)+n]...)
				if r.IntN(2) == 0 {
					data = append(data, make([]byte, r.IntN(rest-n+1))...)
				}
			}
		}
		next.names[name] = &memData{now: data, safe: slices.Clone(data)}
		next.safe[name] = next.names[name]
	}
	return next
}

type memFile struct {
	fs   *memFS
	name string
	data *memData
	lost bool // a sync failed: what follows is never safe through this descriptor
}

func (f *memFile) Write(b []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	if err := f.fs.op("write", f.name); err != nil {
		n := 0
		if f.fs.short {
			n = len(b) / 2
			f.data.now = append(f.data.now, b[:n]...)
		}
		return n, err
	}
	f.data.now = append(f.data.now, b...)
	return len(b), nil
}

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if off >= int64(len(f.data.now)) {
		return 0, io.EOF
	}
	n := copy(b, f.data.now[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.lost {
		panic("a file was synced again after its sync had failed")
	}
	if err := f.fs.op("sync", f.name); err != nil {
		f.lost = true
		return err
	}
	f.data.safe = slices.Clone(f.data.now)
	return nil
}

func (f *memFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.op("truncate", f.name); err != nil {
		return err
	}
	f.data.now = slices.Clone(f.data.now[:size])
	return nil
}

func (f *memFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.data.now)), nil
}

func (f *memFile) Close() error { return nil }

// failing returns a fault that gives err at the n-th call of a kind, and at
// every one up to the last-th.
func failing(kind string, n, last int, err error) func(int, string, string) error {
	seen := 0
	return func(_ int, k, _ string) error {
		if k != kind {
			return nil
		}
		if seen++; seen >= n && seen <= last {
			return err
		}
		return nil
	}
}

var errIO = &fs.PathError{Op: "fdatasync", Path: "s.jsonl", Err: syscall.EIO}
