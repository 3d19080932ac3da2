package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/agentls/agentls/internal/folder"
)

// gitOutside returns the git folder outside of a workspace folder that its .git file
// leads to, "" for none: that of the repository of a worktree, or the submodule's
// own. What a .git file says counts only where the repository names the folder too:
// nobody else can have written that there (SEC-14).
func gitOutside(folder string) string {
	file := filepath.Join(folder, ".git")
	dir := leadsTo(file, "gitdir: ", folder)
	real, err := filepath.EvalSymlinks(dir)
	if dir == "" || err != nil {
		return ""
	}
	// A worktree: its folder in the repository names the .git file here, and lies where git
	// puts such folders.
	if back := leadsTo(filepath.Join(real, "gitdir"), "", real); back != "" {
		common := filepath.Dir(filepath.Dir(dir))
		inside := filepath.Base(filepath.Dir(real)) == "worktrees" && isSame(common, filepath.Dir(filepath.Dir(real)))
		if inside && isSame(back, file) && isSame(leadsTo(filepath.Join(real, "commondir"), "", real), common) &&
			isRepository(common) {
			return common
		}
		return ""
	}
	// A submodule: its repository names this folder as its work tree.
	if tree := worktreeOf(real); tree != "" && isSame(tree, folder) && isRepository(real) {
		return dir
	}
	return ""
}

// leadsTo returns the path that a file of git's names, absolute; relative ones are
// so to base. It is "" where the file is none or begins otherwise.
func leadsTo(file, prefix, base string) string {
	path, ok := strings.CutPrefix(strings.TrimSuffix(readSmall(file), "\n"), prefix)
	if !ok || path == "" {
		return ""
	}
	return absolute(path, base)
}

// readSmall returns a file of git's, "" for what is no file or too large for one.
func readSmall(file string) string {
	data, _, _ := folder.ReadPlain(file, 64<<10) // what cannot be read is as good as none
	return string(data)
}

// absolute returns a path of git's, relative ones to base.
func absolute(path, base string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// worktreeOf returns core.worktree of a repository's configuration, as git writes it
// for a submodule; "" for none.
func worktreeOf(dir string) string {
	for line := range strings.Lines(readSmall(filepath.Join(dir, "config"))) {
		if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "worktree" {
			return absolute(strings.TrimSpace(value), dir)
		}
	}
	return ""
}

// isRepository reports whether a folder looks like a repository of git's.
func isRepository(dir string) bool {
	return isFolder(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "HEAD")) &&
		exists(filepath.Join(dir, "config"))
}

// isSame reports whether two paths lead to one file.
func isSame(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
