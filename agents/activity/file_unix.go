//go:build unix

package activity

import "os"

// SyncDir puts a folder's names on stable storage.
func SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
