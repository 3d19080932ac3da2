package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Private says why others can change a file or folder of the daemon's own
// (SEC-116): another user owns it, or can write to it. nil where only this
// process's user can. Where files have no owners, nobody else is known of. A
// link is as private as what it leads to: give what os.Stat has.
func Private(info fs.FileInfo) error {
	if uid, _, ok := owner(info); !ok {
		return nil
	} else if uid != os.Geteuid() {
		return fmt.Errorf("it belongs to the user with the number %d", uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return errors.New("others can write to it: chmod go-w it")
	}
	return nil
}

// MakePrivate makes a folder that only this process's user can read, if there is
// none. The error says why what lies there is none, which a link never is (SEC-116).
func MakePrivate(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err == nil {
		err = OnlyMine(info)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// OnlyMine says why others can look into a folder, as os.Lstat tells of it; nil where
// only this process's user can.
func OnlyMine(info fs.FileInfo) error {
	if !info.IsDir() {
		return errors.New("it is not a folder")
	}
	if err := Private(info); err != nil {
		return err
	}
	if _, _, owned := owner(info); owned && info.Mode().Perm()&0o077 != 0 {
		return errors.New("others can read it: chmod go-rwx it")
	}
	return nil
}
