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
