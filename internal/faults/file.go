package faults

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// file is an open file of a Disk.
type file struct {
	disk    *Disk
	name    string
	appends bool
	real    *os.File // nil in memory

	// Guarded by the disk's mu.
	node   *node
	off    int64 // where the next Write goes unless it appends
	failed bool  // a sync of this descriptor failed
	closed bool
}

func (f *file) Write(b []byte) (int, error) {
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.closed {
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: fs.ErrClosed}
	}
	if len(b) == 0 {
		return 0, nil
	}
	err := d.call(Write, f.name, len(b))
	part := len(b)
	if err != nil {
		part = 0
		if torn, ok := errors.AsType[Torn](err); ok {
			part = max(0, min(torn.N, len(b)))
		}
		err = &fs.PathError{Op: "write", Path: f.name, Err: plain(err)}
	}
	if part > 0 {
		if f.real != nil {
			if n, err := f.real.Write(b[:part]); err != nil {
				f.put(b[:n])
				return n, err
			}
		}
		f.put(b[:part])
	}
	return part, err
}

// put changes the content. disk.mu is held.
func (f *file) put(b []byte) {
	n := f.node
	if f.appends {
		f.off = int64(len(n.now))
	}
	if gap := f.off - int64(len(n.now)); gap > 0 {
		n.now = append(n.now, make([]byte, gap)...)
	}
	over := copy(n.now[f.off:], b)
	n.now = append(n.now, b[over:]...)
	f.off += int64(len(b))
}

func (f *file) ReadAt(b []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	switch {
	case f.closed:
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrClosed}
	case f.real != nil:
		return f.real.ReadAt(b, off)
	case off >= int64(len(f.node.now)):
		return 0, io.EOF
	}
	n := copy(b, f.node.now[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Sync makes the content safe. It does not sync the machine's disk: what a cut
// of the power leaves is the Disk's to say.
func (f *file) Sync() error {
	f.disk.t.Helper()
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.closed {
		return &fs.PathError{Op: "fdatasync", Path: f.name, Err: fs.ErrClosed}
	}
	if f.failed {
		d.t.Errorf("faults: %s was synced again after its sync had failed", f.name)
	}
	if err := d.call(Sync, f.name, 0); err != nil {
		f.failed, f.node.lost = true, true
		return &fs.PathError{Op: "fdatasync", Path: f.name, Err: plain(err)}
	}
	if !f.node.lost {
		f.node.safe = slices.Clone(f.node.now)
	}
	return nil
}

func (f *file) Truncate(size int64) error {
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.closed || size < 0 {
		return &fs.PathError{Op: "truncate", Path: f.name, Err: fs.ErrInvalid}
	}
	if err := d.call(Truncate, f.name, 0); err != nil {
		return &fs.PathError{Op: "truncate", Path: f.name, Err: plain(err)}
	}
	if f.real != nil {
		if err := f.real.Truncate(size); err != nil {
			return err
		}
	}
	n := f.node
	if gap := int(size) - len(n.now); gap > 0 {
		n.now = append(n.now, make([]byte, gap)...)
	}
	n.now = slices.Clone(n.now[:size])
	return nil
}

func (f *file) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.closed {
		return 0, &fs.PathError{Op: "stat", Path: f.name, Err: fs.ErrClosed}
	}
	if f.real != nil {
		info, err := f.real.Stat()
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	return int64(len(f.node.now)), nil
}

// Close closes the file. It is no call that counts, and closing twice is the
// error of os.
func (f *file) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	f.closed = true
	if f.real != nil {
		return f.real.Close()
	}
	return nil
}
