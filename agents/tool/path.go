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
//
// It says what was there, and does not hold it: between resolving and use
// anybody may put something else at the path. So a file is opened through Root's
// handle, which no link leads out of, and [Place.ReadAs] judges what was really
// opened. The zero Place is of no use.
type Place struct {
	Abs    string      // as it was named, absolute and cleaned; where .. follows a link, with the links before it resolved
	Real   string      // with all links followed; of something absent, where it would come to lie
	Rel    string      // Real relative to Env.Folder, with slashes; Real where it is not below it
	Folder string      // the workspace folder (or the folder of blobs) that holds Real, the innermost
	Root   string      // the outermost: what Real is opened through, as no link in it leads out
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
//
// env needs Folder and Folders; Home, State and Reveal decide what the place
// means. It reads the disk, a few calls of lstat for an ordinary path.
func Resolve(env *Env, path string) (Place, error) { return resolve(env, path, "") }

// ResolveReadable is [Resolve] for what only reads: it also accepts the
// session's folder of blobs.
func ResolveReadable(env *Env, path string) (Place, error) { return resolve(env, path, env.Blobs) }

// ResolveLink is [Resolve] for what lies at a path itself: the last element is not
// followed where it is a link.
func ResolveLink(env *Env, path string) (Place, error) {
	i := strings.LastIndexAny(path, `/`+string(filepath.Separator)) + 1
	folder, base := path[:i], path[i:]
	if base == "" || base == "." || base == ".." || strings.ContainsRune(base, 0) {
		return Resolve(env, path) // a folder, or nothing that can be
	}
	if folder == "" {
		folder = "."
	}
	dir, err := Resolve(env, folder)
	if err != nil {
		return Place{}, err
	}
	p := Place{Real: below(dir.Real, base)}
	p.Abs = p.Real
	p.Info, _ = os.Lstat(p.Real)
	p.Root, p.Folder = env.holding(p.Real)
	p.Rel = p.Real
	if rel, err := filepath.Rel(env.Folder, p.Real); err == nil && Within(env.Folder, p.Real) {
		p.Rel = filepath.ToSlash(rel)
	}
	p.judge(env)
	return p, nil
}

// resolve is Resolve; blobs is the folder besides the workspace that is
// accepted, "" for none.
// Links are followed before anything is decided: where a path leads counts and
// not how it is written. A path that is not there yet is a place as well. The
// errors are a tool's: CodeArgs, CodeNotFound and CodeOutside.
func resolve(env *Env, path, blobs string) (Place, error) {
	if path == "" {
		return Place{}, Errorf(CodeArgs, "an empty path names nothing: give one relative to the workspace folder")
	}
	if strings.ContainsRune(path, 0) {
		return Place{}, Errorf(CodeArgs, "a path cannot hold a NUL character")
	}
	abs := path
	if !filepath.IsAbs(abs) {
		abs = below(env.Folder, path)
	}
	abs, err := withoutDots(env, abs)
	if err != nil {
		return Place{}, Errorf(CodeNotFound, "%s cannot be followed: %v", Name(path), err)
	}
	real, info, err := follow(env, abs)
	if err != nil {
		return Place{}, Errorf(CodeNotFound, "%s cannot be followed: %v", Name(path), err)
	}
	p := Place{Abs: abs, Real: real, Info: info}
	p.Root, p.Folder = env.holding(real)
	if p.Folder == "" && blobs != "" && Within(blobs, real) {
		p.Folder, p.Root, p.Blob = blobs, blobs, true
	}
	if p.Folder == "" || kernelPath(real) {
		return Place{}, Errorf(CodeOutside, "%s leaves the workspace: it leads to %s", Name(path), Name(real))
	}
	if info == nil && !p.Blob {
		if _, err := os.Stat(p.Folder); errors.Is(err, fs.ErrNotExist) {
			return Place{}, Errorf(CodeNotFound,
				"%s: the folder %s is not there any more: it was removed, moved or unmounted. Tell the person.",
				Name(path), Name(p.Folder))
		}
	}
	p.Rel = real
	if Within(env.Folder, real) {
		if rel, err := filepath.Rel(env.Folder, real); err == nil {
			p.Rel = filepath.ToSlash(rel)
		}
	}
	if !p.Blob {
		p.judge(env)
	}
	return p, nil
}

// holding returns the outermost and the innermost of the folders that hold a
// path, "" where none does.
func (e *Env) holding(path string) (outer, inner string) {
	clean := plainPaths && isClean(path)
	for i := -1; i < len(e.Folders); i++ {
		folder := e.Folder
		if i >= 0 {
			folder = e.Folders[i]
		}
		if (clean && (len(path) < len(folder) || path[:len(folder)] != folder)) || !Within(folder, path) {
			continue
		}
		if outer == "" || len(folder) < len(outer) {
			outer = folder
		}
		if len(folder) > len(inner) {
			inner = folder
		}
	}
	return outer, inner
}

// judge sets what the place means. Both spellings count: a link inside .git is
// as protected as what it leads to. So do the other names of a file that has
// several (hard links).
func (p *Place) judge(env *Env) {
	p.addMeanings(env, p.Real)
	if p.Abs != p.Real {
		p.addMeanings(env, p.Abs)
	}
	p.addLinks(env, p.Info)
}

// addMeanings adds what one spelling of the path means. It only ever adds: a
// place is as strict as the strictest of its names.
func (p *Place) addMeanings(env *Env, path string) {
	names := foldPath(path)
	if why := whyProtected(names); why != "" && !p.Protected {
		p.Protected, p.ProtectedBy = true, why
	}
	if isCredential(names) {
		p.Credential = true
	}
	if p.Sealed == "" {
		p.Sealed = WhySealed(env, path)
	}
	p.reveal(env)
}

// reveal draws the conclusions of Credential.
func (p *Place) reveal(env *Env) {
	p.Revealed = p.Credential && slices.Contains(env.Reveal, p.Real)
	if p.Credential && p.Sealed == "" {
		p.Sealed = "a file that holds credentials"
	}
}

// addLinks adds what the file's other names mean.
func (p *Place) addLinks(env *Env, info fs.FileInfo) {
	other := meaningOfLinks(env, p.Real, info)
	if other.protected != "" && !p.Protected {
		p.Protected, p.ProtectedBy = true, other.protected
	}
	if other.credential {
		p.Credential = true
	}
	if p.Sealed == "" {
		p.Sealed = other.sealed
	}
	p.reveal(env)
}

// ReadAs says what the place means now that it was read as the file of info,
// which may have taken the place of the one that was resolved. A nil info (an
// open document) says nothing.
func (p Place) ReadAs(env *Env, info fs.FileInfo) Place {
	if info != nil && !p.Blob {
		p.addLinks(env, info)
	}
	return p
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
	if plainPaths && isClean(folder) && isClean(path) {
		n := len(folder)
		return path == folder || (len(path) > n && path[:n] == folder && (path[n] == '/' || n == 1))
	}
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// plainPaths says that two paths are the same only if their letters are, but for
// what the file system makes of them.
const plainPaths = filepath.Separator == '/'

// isClean reports whether an absolute path is as filepath.Clean would leave it.
//
// It is for paths with slashes, and allocates nothing.
func isClean(path string) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' || path[len(path)-1] == '/' {
		return false
	}
	start := 1 // of an element
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if e := path[start:i]; e == "" || e == "." || e == ".." {
			return false
		}
		start = i + 1
	}
	return true
}

// withoutDots returns an absolute path cleaned. Where it leads up with .. it is
// walked as the kernel walks it: behind a link, .. is above the folder that the
// link leads to, not above the link.
func withoutDots(env *Env, abs string) (string, error) {
	separator := string(filepath.Separator)
	walked, last := filepath.VolumeName(abs)+separator, -1
	parts := elements(abs[len(filepath.VolumeName(abs)):])
	for i, part := range parts {
		if part == ".." {
			last = i
		}
	}
	if last >= 0 {
		var err error
		if walked, _, err = follow(env, walked+strings.Join(parts[:last+1], separator)); err != nil {
			return "", err
		}
	}
	return filepath.Join(walked, strings.Join(parts[last+1:], separator)), nil
}

// follow returns the path that abs leads to when each link in it is followed,
// and what lies there: nil if nothing does. Unlike filepath.EvalSymlinks it
// also follows links that lead to nothing, as a write would.
func follow(env *Env, abs string) (string, fs.FileInfo, error) {
	if real, info, ok := env.straight(abs); ok {
		return real, info, nil
	}
	done, left, info, err := env.start(abs)
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
		next := below(done, e)
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
		if !filepath.IsAbs(target) {
			left = append(elements(target), left...)
			info, _ = os.Lstat(done)
			continue
		}
		var more []string
		if done, more, info, err = env.start(target); err != nil {
			return "", nil, errors.Unwrap(err)
		}
		left = append(more, left...)
	}
	return done, info, nil
}

// straight is follow where no link is met on the way down from the folder that
// holds abs; ok is false where one is, or where that is not sure.
func (e *Env) straight(abs string) (real string, info fs.FileInfo, ok bool) {
	if !plainPaths || !isClean(abs) {
		return "", nil, false
	}
	outer, _ := e.holding(abs)
	if outer == "" || !isClean(outer) {
		return "", nil, false
	}
	for at := len(outer); ; at++ {
		if at < len(abs) && (abs[at] != '/' || at == 0) {
			continue
		}
		var err error
		info, err = os.Lstat(abs[:at])
		switch {
		case err != nil && errors.Is(err, fs.ErrNotExist) && at > len(outer):
			return abs, nil, true
		case err != nil || info.Mode()&fs.ModeSymlink != 0 || (at == len(outer) && !info.IsDir()):
			return "", nil, false
		case at == len(abs):
			return abs, info, true
		}
	}
}

// start returns where an absolute path is followed from, what is left of it and
// what lies there: the outermost folder that it is in, which is canonical and
// through whose handle it is opened, or the root of the file system.
func (e *Env) start(abs string) (done string, left []string, info fs.FileInfo, err error) {
	if outer, _ := e.holding(abs); outer != "" && plainPaths && isClean(abs) && isClean(outer) {
		if info, err = os.Lstat(outer); err == nil && info.IsDir() {
			return outer, elements(abs[len(outer):]), info, nil
		}
	}
	volume := filepath.VolumeName(abs)
	root := volume + string(filepath.Separator)
	info, err = os.Lstat(root)
	return root, elements(abs[len(volume):]), info, err
}

// below is filepath.Join of a clean path and one element.
func below(folder, element string) string {
	if os.IsPathSeparator(folder[len(folder)-1]) {
		return folder + element
	}
	return folder + string(filepath.Separator) + element
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
