package workspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/fault"
)

// A Folder is one folder of the workspace.
// Two folders may be the same one on disk: compare Canonical.
type Folder struct {
	URI       uri.URI // as the client spells it
	Name      string  // as the client shows it; the last element of Path when it gave none
	Path      string  // absolute and clean, as the client spells it
	Canonical string  // the same with symbolic links resolved
}

// NewFolder returns the folder at u, which must be a file URI. It reads the
// disk to resolve links; a folder that does not exist (yet) is accepted.
// The error is [fault.Invalid] for another URI, else that of [Canonical].
func NewFolder(u uri.URI, name string) (Folder, error) {
	parsed := canonicalURI(u)
	if !parsed.IsFile() {
		return Folder{}, fault.New(fault.Invalid, "workspace.folder", "the workspace folder %q is not a file URI", u)
	}
	path := filepath.Clean(parsed.FsPath())
	canonical, err := Canonical(path)
	if err != nil {
		return Folder{}, err
	}
	if name == "" {
		name = filepath.Base(path)
	}
	return Folder{URI: u, Name: name, Path: path, Canonical: canonical}, nil
}

// Canonical returns an absolute path with its symbolic links resolved. What does
// not exist is kept as it is, below the part that does. The errors are
// [fault.Invalid] for a path that is not absolute and [fault.Unavailable] for a
// disk that fails.
func Canonical(path string) (string, error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", fault.New(fault.Invalid, "workspace.canonical", "%q is not an absolute path", path)
	}
	path = filepath.Clean(path)
	for rest := ""; ; {
		resolved, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(resolved, rest), nil
		}
		parent := filepath.Dir(path)
		// What lies below a file does not exist either, so isNotDir is no failure of the disk.
		if (!errors.Is(err, fs.ErrNotExist) && !isNotDir(err)) || parent == path {
			return "", fault.New(fault.Unavailable, "workspace.canonical", "%q cannot be resolved: %w", path, err)
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = parent
	}
}

// CanonicalPath is [Canonical], but returns the path as it is where the disk does not
// say where it leads.
func CanonicalPath(path string) string {
	if resolved, err := Canonical(path); err == nil {
		return resolved
	}
	return path
}

// FilePath returns the path that the URI of a file names; false for any other.
// The path is absolute, and is not looked at.
func FilePath[S ~string](name S) (path string, ok bool) {
	u, err := uri.Parse(string(name))
	if err != nil || !u.IsFile() {
		return "", false
	}
	return u.FsPath(), true
}

// Within returns the folder that an absolute path lies in, and the path relative
// to it; the innermost one when folders are nested. Paths are compared element
// by element after cleaning, so "/w/proj-evil" is not in "/w/proj" (SEC-53), and
// against both spellings of a folder. Links below the folder are not resolved:
// a [Disk] does that at the moment of use.
// It looks at letters alone. ok is false for a path in none of them.
func Within(folders []Folder, path string) (folder Folder, rel string, ok bool) {
	best := -1
	for _, f := range folders {
		for _, root := range []string{f.Path, f.Canonical} {
			if r, in := Below(root, path); in && len(root) > best {
				best, folder, rel, ok = len(root), f, r, true
			}
		}
	}
	return folder, rel, ok
}

// Below returns path relative to root, both absolute, when it is root or lies
// below it: "." for root itself. They are cleaned and compared element by
// element.
func Below(root, path string) (rel string, ok bool) {
	if !filepath.IsAbs(root) || !filepath.IsAbs(path) {
		return "", false
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}
