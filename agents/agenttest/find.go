package agenttest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Find returns the files of tests in a folder and below it, by path. Hidden folders but
// .gemini are left out, and node_modules. The error is ctx's. Folders that cannot be
// read are left out. Links are not followed.
func Find(ctx context.Context, folder string) (files []string, err error) {
	err = filepath.WalkDir(folder, func(at string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fs.SkipDir // it cannot be read, so it has none for us
		}
		name := entry.Name()
		left := name == "node_modules" || (strings.HasPrefix(name, ".") && name != ".gemini")
		hidden := left && entry.IsDir() && at != folder
		switch {
		case hidden:
			return fs.SkipDir
		case entry.Type().IsRegular() && strings.HasSuffix(name, Suffix):
			files = append(files, at)
		}
		return nil
	})
	return files, err
}

// Project returns the folder whose agents a file of tests is about: the nearest one above
// it with a folder .gemini/agents; false where there is none. path is absolute. It looks
// at the disk, up to the root.
func Project(path string) (string, bool) {
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		if info, err := os.Stat(AgentsOf(at)); err == nil && info.IsDir() {
			return at, true
		}
		if at == filepath.Dir(at) {
			return "", false
		}
	}
}

// AgentsOf returns the folder of a project's agents.
func AgentsOf(project string) string { return filepath.Join(project, ".gemini", "agents") }
