package tool

// Where a path leads, and what may be done there (spec 4.1, 4.2 and 11.2 D).

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Place is where a path led at the moment when it was resolved.
type Place struct {
	Abs    string      // as it was named, absolute and cleaned
	Real   string      // with all links followed; of something absent, where it would come to lie
	Rel    string      // Real relative to Env.Folder, with slashes; Real where it is not below it
	Folder string      // the workspace folder (or the folder of blobs) that holds Real
	Info   fs.FileInfo // of Real, not following; nil if there is nothing
	Blob   bool        // in the session's folder of blobs: to be read, never written

	// What the place means, by its own name and by where its links lead.
	Protected   bool   // a write asks each time (SEC-17)
	ProtectedBy string // why, for people: "configuration in .git"
	Credential  bool   // holds secrets: read only where Revealed, never written (SEC-20)
	Revealed    bool   // the user's own rule names it
	Sealed      string // why it is never written, for people; "" where it may be
}

// Exists reports whether there was something.
func (p Place) Exists() bool { return p.Info != nil }

// IsDir reports whether a folder was there.
func (p Place) IsDir() bool { return p.Info != nil && p.Info.IsDir() }

// maxLinks is how many links a path may follow, as Linux has it.
const maxLinks = 40

// Resolve finds out where path leads: relative to env.Folder, or absolute. Links
// are followed now, so the answer is of now; it is asked for again right before
// use. A path that leaves the workspace folders is an *Error CodeOutside that
// names the target; one that cannot be a path is CodeArgs.
func Resolve(env *Env, path string) (Place, error) { return resolve(env, path, "") }

// ResolveReadable is [Resolve] for what only reads: it also accepts the
// session's folder of blobs.
func ResolveReadable(env *Env, path string) (Place, error) { return resolve(env, path, env.Blobs) }

func resolve(env *Env, path, blobs string) (Place, error) {
	if path == "" {
		return Place{}, Errorf(CodeArgs, "an empty path names nothing: give one relative to the workspace folder")
	}
	if strings.ContainsRune(path, 0) {
		return Place{}, Errorf(CodeArgs, "a path cannot hold a NUL character")
	}
	p := Place{Abs: filepath.Clean(path)}
	if !filepath.IsAbs(p.Abs) {
		p.Abs = filepath.Join(env.Folder, path)
	}
	real, info, err := follow(p.Abs)
	if err != nil {
		return Place{}, Errorf(CodeNotFound, "%s cannot be followed: %v", Name(path), err)
	}
	p.Real, p.Info = real, info
	for _, folder := range append([]string{env.Folder}, env.Folders...) {
		if Within(folder, real) && len(folder) > len(p.Folder) {
			p.Folder = folder
		}
	}
	if p.Folder == "" && blobs != "" && Within(blobs, real) {
		p.Folder, p.Blob = blobs, true
	}
	if p.Folder == "" || kernelPath(real) {
		return Place{}, Errorf(CodeOutside, "%s leaves the workspace: it leads to %s", Name(path), Name(real))
	}
	p.Rel = real
	if rel, err := filepath.Rel(env.Folder, real); err == nil && Within(env.Folder, real) {
		p.Rel = filepath.ToSlash(rel)
	}
	if !p.Blob {
		p.judge(env)
	}
	return p, nil
}

// judge sets what the place means. Both spellings count: a link inside .git is
// as protected as what it leads to.
func (p *Place) judge(env *Env) {
	for _, path := range []string{p.Abs, p.Real} {
		if why := ProtectedBy(path); why != "" && !p.Protected {
			p.Protected, p.ProtectedBy = true, why
		}
		if IsCredential(path) {
			p.Credential = true
		}
		if p.Sealed == "" {
			p.Sealed = SealedBy(env, path)
		}
	}
	p.Revealed = p.Credential && slices.Contains(env.Reveal, p.Real)
	if p.Credential && p.Sealed == "" {
		p.Sealed = "a file that holds credentials"
	}
}

// kernelPath reports whether path is a window into the kernel or a device: not
// a file of a workspace even where the workspace is the root.
func kernelPath(path string) bool {
	if runtime.GOOS == "windows" {
		return false
	}
	return Within("/proc", path) || Within("/sys", path) || Within("/dev", path)
}

// Within reports whether path is folder or lies below it. Both are absolute and
// cleaned; they are compared by path element, so /w/proj-evil is not within
// /w/proj.
func Within(folder, path string) bool {
	if folder == "" {
		return false
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// follow returns the path that abs leads to when each link in it is followed,
// and what lies there: nil if nothing does. Unlike filepath.EvalSymlinks it
// also follows links that lead to nothing, as a write would.
func follow(abs string) (string, fs.FileInfo, error) {
	volume := filepath.VolumeName(abs)
	root := volume + string(filepath.Separator)
	done, left := root, elements(abs[len(volume):])
	info, err := os.Lstat(root)
	if err != nil {
		return "", nil, fmt.Errorf("the root: %w", err)
	}
	links := 0
	for len(left) > 0 {
		e := left[0]
		left = left[1:]
		if e == ".." {
			done = filepath.Dir(done)
			info, _ = os.Lstat(done)
			continue
		}
		next := filepath.Join(done, e)
		at, err := os.Lstat(next)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && !notFolder(err) {
				return "", nil, errors.Unwrap(err)
			}
			done, info = next, nil
			continue
		}
		if at.Mode()&fs.ModeSymlink == 0 {
			done, info = next, at
			continue
		}
		if links++; links > maxLinks {
			return "", nil, errors.New("too many links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, errors.New("a link changed while it was followed")
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			done = volume + string(filepath.Separator)
			target = target[len(volume):]
		}
		info, _ = os.Lstat(done)
		left = append(elements(target), left...)
	}
	return done, info, nil
}

// notFolder reports whether err says that a parent is no folder: then nothing
// is there either.
func notFolder(err error) bool {
	var e *fs.PathError
	return errors.As(err, &e) && strings.Contains(e.Err.Error(), "not a directory")
}

// elements returns the parts of a path between separators, without the empty
// ones and the dots.
func elements(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return os.IsPathSeparator(uint8(min(r, 0xff))) })
	return slices.DeleteFunc(parts, func(s string) bool { return s == "." })
}
