//go:build !unix

package tool

import (
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// folderStamp changes when an entry of a folder is made, renamed or removed.
type folderStamp struct{ mtime int64 }

// stampAt returns the stamp of a folder below at. A link is none.
func stampAt(at *os.File, rel string) (folderStamp, error) {
	path := filepath.Join(at.Name(), rel)
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "lstat", Path: path, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return folderStamp{}, err
	}
	return folderStamp{info.ModTime().UnixNano()}, nil
}

// changedAfter reports whether the folder changed after a moment.
func (s folderStamp) changedAfter(t time.Time) bool { return s.mtime > t.UnixNano() }

// own reports that it is not known whose the folder is.
func (s folderStamp) own() bool { return true }
