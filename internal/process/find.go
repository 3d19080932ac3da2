package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Find returns the path of a program as a process in dir would find it: as it is named,
// or in the folders of PATH. env are the process's own variables besides environ.
// The path may be relative to dir only where the name has a separator, and then need not exist; the
// start says so. The error is for the person who wrote the name.
func Find(command, dir string, env, environ []string) (string, error) {
	if filepath.IsAbs(command) {
		return command, nil
	}
	if strings.ContainsRune(command, filepath.Separator) {
		return filepath.Join(dir, command), nil
	}
	search := SearchPath(environ)
	for _, entry := range env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			search = SearchPath([]string{"PATH=" + path})
		}
	}
	for _, folder := range search {
		path := filepath.Join(folder, command)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %s in PATH; install it, or correct command", command)
}
