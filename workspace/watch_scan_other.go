//go:build !linux

package workspace

import (
	"os"
	"path/filepath"
	"time"
)

// eachStamp calls f with each agent file's name in a folder and what stampOf
// says of it.
func eachStamp(dir string, now time.Time, f func(name string, st stamp, ok bool, err error)) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if AgentFile(name) {
			st, ok, err := stampOf(filepath.Join(dir, name), now)
			f(name, st, ok, err)
		}
	}
	return err
}

// distant says that a folder lies on a file system where others may change files
// of which this system tells nothing; here it is not known.
func distant(string) bool { return false }
