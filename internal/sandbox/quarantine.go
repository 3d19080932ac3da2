package sandbox

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentls/agentls/internal/folder"
)

// places are the protected places of a workspace before a command.
type places struct {
	at    map[string]place
	files map[string]savedFile // what was in them, where the wall does not keep them from being written
	all   map[string]bool      // the paths of all that was in them; nil where the wall keeps them

	links   map[string]string // those that are links, which no wall keeps, and what they say
	targets []string          // what those in .git folders lead to
}

// place is what stands at a path. Its file is told from a later one that got the
// same number by when it was made.
type place struct {
	info os.FileInfo
	born int64 // 0 where the file system does not tell
}

// is reports whether two are the same file.
func (p place) is(other place) bool {
	return os.SameFile(p.info, other.info) && p.info.Mode().Type() == other.info.Mode().Type() && p.born == other.born
}

// placeAt returns what stands at a path, without following a link.
func placeAt(path string) (place, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return place{}, err
	}
	return place{info, born(path)}, nil
}

// savedFile is a file as it was.
type savedFile struct {
	data []byte
	mode fs.FileMode
}

// stillAt reports whether the file at a path is as it was.
func (k savedFile) stillAt(path string) bool {
	// A file that has grown is an error here, and so not as it was.
	now, info, err := folder.ReadPlain(path, int64(len(k.data)))
	return err == nil && info.Mode().Perm() == k.mode && bytes.Equal(now, k.data)
}

// The bounds of what is kept of protected places behind Landlock. Beyond them a
// change is not found.
const (
	maxKeptFiles = 5_000
	maxKeptFile  = 4 << 20
	maxKept      = 64 << 20
)

// expandProtected returns the protected places as they are: those that are given
// and, in .git folders among them, what makes git run programs. A .git folder
// itself is one, too, but what else is in it is not.
func expandProtected(given []string) []string {
	out := slices.Clone(given)
	for _, path := range given {
		if filepath.Base(path) == ".git" && isFolder(path) {
			out = append(out, gitExecutables(path)...)
		}
	}
	return out
}

// placesOf remembers the protected places before a command.
// Where the wall cannot keep such a place from being written (Landlock), its files are
// kept as well, as far as maxKept, so that they can be put back.
func (s *Sandbox) placesOf(spec Spec) *places {
	p := &places{at: make(map[string]place), links: make(map[string]string), targets: spec.gitTargets()}
	if w, _ := s.Wall(); w == Landlock {
		p.files, p.all = make(map[string]savedFile), make(map[string]bool)
	}
	var size int64
	// What cannot be read is left out, and counts as new if it can be read after the command.
	for _, path := range append(expandProtected(spec.Protected), p.targets...) {
		at, err := placeAt(path)
		if err != nil {
			continue
		}
		p.at[path] = at
		if target, err := os.Readlink(path); err == nil {
			p.links[path] = target
		}
		// Of a .git folder only the names that make git run programs are kept: git itself writes
		// the rest (expandProtected).
		if p.files == nil || (filepath.Base(path) == ".git" && at.info.IsDir()) {
			continue
		}
		_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			p.all[path] = true
			if err != nil || !d.Type().IsRegular() || len(p.files) >= maxKeptFiles || size > maxKept {
				return nil
			}
			info, err := d.Info()
			if err != nil || info.Size() > maxKeptFile {
				return nil
			}
			if data, err := os.ReadFile(path); err == nil {
				p.files[path] = savedFile{data, info.Mode().Perm()}
				size += int64(len(data))
			}
			return nil
		})
	}
	return p
}

// quarantine moves away what is new among the protected places after the command,
// and puts back what changed where the wall could not prevent that.
//
// now are the protected places as they are now; nil where nobody knows. It goes on
// after an error, so that as much as possible is put right, and returns both what it
// moved and what it could not.
func (b *Box) quarantine(now []string) ([]Quarantined, error) {
	if now == nil {
		now = b.spec.Protected
	}
	var moved []Quarantined
	var failed error
	move := func(path string) bool {
		to, err := b.moveAway(path)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s is new and could not be moved to quarantine: %w", path, err))
			return false
		}
		moved = append(moved, Quarantined{Path: path, To: to})
		return true
	}
	// What was moved away stood at path, or had it inside.
	back := func(path string) {
		for i := range moved {
			moved[i].Back = moved[i].Back || within(moved[i].Path, path)
		}
	}
	for _, path := range append(expandProtected(now), b.before.targets...) {
		at, err := placeAt(path)
		// A place inside of one that was moved went with it.
		gone := slices.ContainsFunc(moved, func(q Quarantined) bool { return within(q.Path, path) })
		if err != nil || gone || b.before.has(path, at) {
			continue
		}
		move(path)
	}
	// Only behind Landlock there are any: other walls keep these places from being written.
	for _, path := range b.before.newPlaces() {
		move(path)
	}
	// The changed file is moved away first: what the command wrote may be wanted.
	for path, before := range b.before.files {
		if before.stillAt(path) || (exists(path) && !move(path)) {
			continue
		}
		if err := b.putBack(path, before); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s could not be put back: %w", path, err))
			continue
		}
		back(path)
	}
	// A link can be replaced behind every wall, since it is its folder that is written.
	for path, target := range b.before.links {
		if now, err := os.Readlink(path); (err == nil && now == target) || !isFolder(filepath.Dir(path)) {
			continue // the same, or it moved with its folder
		}
		if exists(path) && !move(path) {
			continue
		}
		if err := b.putLinkBack(path, target); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s could not be put back: %w", path, err))
			continue
		}
		back(path)
	}
	return moved, failed
}

// pendingQuarantine returns what quarantine would move or put back.
// now are the protected places as they are now, nil for those of the start. The paths
// are sorted, each once; nothing is changed.
func (b *Box) pendingQuarantine(now []string) []string {
	if now == nil {
		now = b.spec.Protected
	}
	out := b.before.newPlaces()
	for _, path := range append(expandProtected(now), b.before.targets...) {
		if at, err := placeAt(path); err == nil && !b.before.has(path, at) {
			out = append(out, path)
		}
	}
	for path, before := range b.before.files {
		if !before.stillAt(path) {
			out = append(out, path)
		}
	}
	for path, target := range b.before.links {
		if now, err := os.Readlink(path); (err != nil || now != target) && isFolder(filepath.Dir(path)) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// newPlaces returns what is new inside of the places, where the wall does not keep them
// from being written.
func (p *places) newPlaces() []string {
	var out []string
	for place := range p.at {
		if !p.all[place] {
			continue // a .git folder, in which only some is protected, or nothing is kept
		}
		_ = filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
			if err != nil || p.all[path] {
				return nil
			}
			out = append(out, path)
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	}
	return out
}

// has reports whether a place was there before: where the wall keeps it from being
// written, also under another path, since a folder that it is in may have been
// renamed. It has the same name then: it cannot be renamed itself.
func (p *places) has(path string, now place) bool {
	if before, ok := p.at[path]; ok && before.is(now) {
		return true
	}
	// Behind Landlock a place can be renamed, so a namesake is not the same place.
	if p.files != nil {
		return false
	}
	for from, before := range p.at {
		if filepath.Base(from) == filepath.Base(path) && before.is(now) {
			return true
		}
	}
	return false
}

// folderOf returns the workspace folder that a path is in.
func (b *Box) folderOf(path string) (string, error) {
	for _, folder := range b.spec.Folders {
		if within(folder, path) && folder != path {
			return folder, nil
		}
	}
	return "", errors.New("it is in no folder of the workspace")
}

// moveAway moves a place to quarantine. It goes by a name at the top of the
// workspace folder, through a handle of it, so that a link that another command
// puts on the way leads nowhere.
func (b *Box) moveAway(path string) (string, error) {
	folder, err := b.folderOf(path)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	rel, err := filepath.Rel(folder, path)
	if err != nil {
		return "", err
	}
	// Random, so that a command cannot put something at that name before.
	name := filepath.Base(path) + "." + rand.Text()[:8]
	top := ".quarantined" + name
	if err := root.Rename(rel, top); err != nil {
		return "", err
	}
	quarantine := filepath.Join(b.sandbox.State, "quarantine")
	to := filepath.Join(quarantine, name)
	if err := os.MkdirAll(quarantine, 0o700); err != nil {
		return "", err
	}
	if os.Rename(filepath.Join(folder, top), to) == nil {
		return to, nil
	}
	return filepath.Join(folder, top), nil // another file system: under that name nothing reads it
}

// putBack makes a file what it was.
func (b *Box) putBack(path string, before savedFile) error {
	return b.inFolder(path, func(root *os.Root, rel string) error {
		if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(rel, before.data, before.mode); err != nil {
			return err
		}
		return root.Chmod(rel, before.mode) // whatever the umask
	})
}

// putLinkBack makes a link that is gone again.
func (b *Box) putLinkBack(path, target string) error {
	return b.inFolder(path, func(root *os.Root, rel string) error { return root.Symlink(target, rel) })
}

// inFolder calls f with a handle of the workspace folder that a path is in, and the
// path below it.
func (b *Box) inFolder(path string, f func(root *os.Root, rel string) error) error {
	folder, err := b.folderOf(path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	rel, err := filepath.Rel(folder, path)
	if err != nil {
		return err
	}
	return f(root, rel)
}
