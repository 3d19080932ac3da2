package activity

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Files is the file system as a log needs it. Tests put faults in; everybody
// else leaves [Config.Files] nil and gets the machine's.
//
// Its methods may be called from several goroutines. Errors are those of package
// os; a log looks for fs.ErrNotExist only and takes every other for a failure of
// the disk.
type Files interface {
	// Open opens a file as os.OpenFile does.
	Open(name string, flag int, perm fs.FileMode) (File, error)
	// Rename puts a file in another's place, atomically.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(name string) error
	// SyncDir puts a folder's names on stable storage.
	SyncDir(name string) error
}

// File is an open file. Write appends or goes on where the last write ended,
// as the flags of Open say.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
	// Sync puts the file's content on stable storage (fdatasync). After an
	// error nothing is known about what was written since the last success,
	// and the file must not be synced again (spec 3.1).
	Sync() error
	// Truncate cuts the file.
	Truncate(size int64) error
	// Size returns the file's length in bytes.
	Size() (int64, error)
}

// Disk returns the machine's file system.
func Disk() Files { return disk{} }

// disk is the machine's file system.
type disk struct{}

// Open implements [Files]. What is no regular file is refused: a named pipe would
// be waited for.
func (disk) Open(name string, flag int, perm fs.FileMode) (File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

func (disk) Rename(from, to string) error { return os.Rename(from, to) }

func (disk) Remove(name string) error { return os.Remove(name) }

func (disk) SyncDir(name string) error { return SyncDir(name) }

type diskFile struct{ *os.File }

func (f diskFile) Sync() error { return datasync(f.File) }

func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
