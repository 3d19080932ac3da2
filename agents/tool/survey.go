package tool

// Which places of a workspace folder commands must not read or change (spec 4.5).

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
)

// The bounds of a survey. A folder that goes beyond one is not Complete.
const (
	maxPlaces        = 2_000 // places to be masked, and as many to be read-only: each becomes a mount for each command
	maxSurveyFolders = 200_000
	maxSurveyDepth   = 200
	maxSurveys       = 8               // folders, each with its rules, that are remembered
	settleTime       = 2 * time.Second // two changes of a folder within it may leave the same time stamp
)

// Places are the files and folders of a workspace folder that a sandbox hides or
// keeps from being written. Paths are absolute and sorted; what lies below a
// folder that is listed is not listed.
//
// It is of a moment; a command that runs may make new ones, which is why the wall looks
// once more when it has ended.
type Places struct {
	Credentials []string // hold secrets (SEC-20): to be masked
	Denied      []string // rules keep them from being read (SEC-60): to be masked
	Protected   []string // to be read-only, by name (SEC-17) or because rules keep them from being written
	// Complete is false if there may be more: there are too many, or a folder
	// could not be read. The caller asks instead of relying on the sandbox.
	Complete bool
}

// Survey knows the places of workspace folders. Its first look at a folder reads
// all of it; later ones only compare the time stamps of the folders in it and
// read those that changed. It is safe for concurrent use; there is one for a
// daemon, made with [NewSurvey].
type Survey struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]*surveyed
	uses  int
}

// NewSurvey returns a Survey that knows no folder.
func NewSurvey(now func() time.Time) *Survey {
	return &Survey{now: now, known: make(map[string]*surveyed)}
}

// Look returns the places of a workspace folder as they are now. folder is
// canonical; deny are the rules that deny, of which those with paths count.
// Links are not followed into, but what a link with the name of such a place
// leads to is listed if it lies in the folder; a protected link itself is, too. The error is that of the context,
// or says that the folder is not there.
//
// Looks at one folder wait for each other. The first one of a large folder takes as long
// as listing all of its folders does; ctx ends it. The slices are the caller's.
func (s *Survey) Look(ctx context.Context, folder string, deny []Rule) (Places, error) {
	f := s.folder(folder, deny)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.look(ctx)
}

// folder returns what is known of a folder by rules, and forgets the one that was
// not asked for the longest time if there are too many.
func (s *Survey) folder(folder string, deny []Rule) *surveyed {
	f := &surveyed{folder: folder, now: s.now}
	key := []string{folder}
	for _, r := range deny {
		hides, fixes := r.hides(), r.fixes()
		if !hides && !fixes {
			continue
		}
		key = append(key, fmt.Sprint(hides, fixes, r.Path, r.Also))
		patterns := r.patterns(folder, true)
		if hides {
			f.denied = append(f.denied, patterns...)
		}
		if fixes {
			f.fixed = append(f.fixed, patterns...)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses++
	name := strings.Join(key, "\x00")
	if s.known[name] == nil {
		s.known[name] = f
	}
	f = s.known[name]
	f.used = s.uses
	if len(s.known) > maxSurveys {
		oldest := name
		for other, known := range s.known {
			if known.used < s.known[oldest].used {
				oldest = other
			}
		}
		delete(s.known, oldest)
	}
	return f
}

// surveyed is what is known of one folder.
type surveyed struct {
	folder        string
	now           func() time.Time
	denied, fixed [][]string // patterns, element by element
	used          int        // guarded by the Survey's mu

	mu   sync.Mutex
	root *surveyDir

	dirs  []*surveyDir // those of the last look
	looks int

	// Of the look that goes on:
	at      *os.File // the folder
	found   Places
	folders int
}

// placeKind says what a place is listed as.
type placeKind uint8

const (
	// Nothing that is listed.
	ordinaryPlace placeKind = iota
	credentialPlace
	deniedPlace
	protectedPlace
)

// surveyDir is a folder as it was read.
type surveyDir struct {
	path   string
	stamp  folderStamp
	racy   bool // it may have changed after it was read and still have the same stamp
	closed bool // it could not be read, though its owner could change that

	protected  bool // it is listed, or a folder above it: what lies in it need not be
	dependency bool // lies in a folder of dependencies

	// The stamp as a look found it, and the number of that look.
	now  folderStamp
	err  error
	seen int

	dirs   []*surveyDir // sorted by path
	places []surveyPlace
}

// surveyPlace is an entry of a folder that is listed, or whose target is where it is a
// link.
type surveyPlace struct {
	path string
	kind placeKind
	link bool
}

// dependencyFolders hold what package managers and compilers put there. In
// them credentials and the folders of version control count like anywhere else.
// Other protected places do not: no editor, agent or CI takes its configuration
// from there, and a single node_modules can hold thousands of them, each of
// which would be a mount.
var dependencyFolders = map[string]bool{
	"node_modules": true, "bower_components": true, "vendor": true, "target": true, "site-packages": true, "pods": true,
}

// contentSkipped are the folders whose content is not looked through: all of it
// is version control's own.
var contentSkipped = map[string]bool{".git": true, ".hg": true, ".svn": true}

// look compares the folder with what is known and returns its places.
// The folder itself may be such a place. An error is one of the workspace folder or
// ctx's; what cannot be read below it makes the survey incomplete.
func (f *surveyed) look(ctx context.Context) (Places, error) {
	at, err := os.Open(f.folder)
	if err != nil {
		return Places{}, fmt.Errorf("the workspace folder cannot be looked through: %w", err)
	}
	defer at.Close()
	f.at = at
	stamp, err := f.stamp(f.folder)
	if err != nil {
		return Places{}, fmt.Errorf("the workspace folder cannot be looked through: %w", err)
	}
	if f.root == nil {
		f.root = &surveyDir{path: f.folder, racy: true}
	}
	f.found, f.folders = Places{Complete: true}, 0
	f.looks++
	f.stampAll()
	names := foldPath(f.folder)
	if whyProtected(names) != "" {
		f.list(f.folder, protectedPlace)
	}
	if isCredential(names) {
		f.list(f.folder, credentialPlace)
	}
	f.visit(ctx, f.root, stamp, 0)
	if err := ctx.Err(); err != nil {
		return Places{}, err
	}
	found := f.found
	f.found = Places{}
	for _, list := range []*[]string{&found.Credentials, &found.Denied, &found.Protected} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return found, nil
}

// visit brings what is known of a folder up to date, and lists its places.
// A folder is read again only if its stamp is another, or may have stayed the same
// although it changed (racy). Links are not walked into; where one leads inside of the
// workspace is listed too.
func (f *surveyed) visit(ctx context.Context, d *surveyDir, stamp folderStamp, depth int) {
	if f.folders++; f.folders > maxSurveyFolders || depth > maxSurveyDepth {
		f.found.Complete = false
		return
	}
	if f.folders%256 == 0 && ctx.Err() != nil {
		return
	}
	f.dirs = append(f.dirs, d)
	if d.racy || d.stamp != stamp {
		f.read(d, stamp)
	}
	if d.closed {
		f.found.Complete = false
	}
	for _, p := range d.places {
		if !p.link || p.kind == protectedPlace { // a new link of such a name is as bad as a folder
			f.list(p.path, p.kind)
		}
		if !p.link {
			continue
		}
		if target, err := filepath.EvalSymlinks(p.path); err == nil && Within(f.folder, target) && target != f.folder {
			f.list(target, p.kind)
		}
	}
	for _, sub := range d.dirs {
		if sub.seen != f.looks {
			sub.now, sub.err = f.stamp(sub.path)
		}
		switch {
		case sub.err == nil:
			f.visit(ctx, sub, sub.now, depth+1)
		case errors.Is(sub.err, fs.ErrPermission) && stamp.own():
			f.found.Complete = false
		} // else it went just now: its folder is read again next time
	}
}

// stamp returns the stamp of a folder. It is asked for by the handle of the
// workspace folder: to walk the whole path each time would cost a third more.
func (f *surveyed) stamp(path string) (folderStamp, error) {
	rel := strings.TrimPrefix(path[len(f.folder):], string(filepath.Separator))
	return stampAt(f.at, cmp.Or(rel, "."))
}

// stampAll takes the stamps of the folders of the last look, several at once:
// nearly all of the time of a look goes there.
func (f *surveyed) stampAll() {
	var work conc.WaitGroup
	for part := range slices.Chunk(f.dirs, max(500, len(f.dirs)/4)) {
		work.Go(func() {
			for _, d := range part {
				d.now, d.err = f.stamp(d.path)
				d.seen = f.looks
			}
		})
	}
	work.Wait()
	f.dirs = f.dirs[:0]
}

// list adds a place to what was found.
func (f *surveyed) list(path string, kind placeKind) {
	count := len(f.found.Credentials) + len(f.found.Denied)
	if kind == protectedPlace { // no number of others hides one
		count = len(f.found.Protected)
	}
	if count >= maxPlaces {
		f.found.Complete = false
		return
	}
	switch kind {
	case credentialPlace:
		f.found.Credentials = append(f.found.Credentials, path)
	case deniedPlace:
		f.found.Denied = append(f.found.Denied, path)
	case protectedPlace:
		f.found.Protected = append(f.found.Protected, path)
	}
}

// ProtectedPlaces returns the protected places directly in a folder, by their names, and
// those such as .github/workflows. There is no bound: it is for what a command may
// have made in a folder whose places are not Complete.
// It looks at the folder and one level below where such places can be, and no deeper.
func ProtectedPlaces(folder string) []string {
	var out []string
	add := func(dir string, parts []string) (folders []string) {
		entries, _ := os.ReadDir(dir) // of what cannot be read, as much as can
		for _, e := range entries {
			if whyProtected(append(parts[:len(parts):len(parts)], fold(e.Name()))) != "" {
				out = append(out, below(dir, e.Name()))
			} else if e.IsDir() {
				folders = append(folders, e.Name())
			}
		}
		return folders
	}
	for _, name := range add(folder, nil) {
		if len(protectedPaths[fold(name)]) > 0 {
			add(below(folder, name), []string{fold(name)})
		}
	}
	return out
}

// read reads a folder. stamp was taken before.
// Folders that were known keep what is known below them.
func (f *surveyed) read(d *surveyDir, stamp folderStamp) {
	d.stamp, d.racy = stamp, stamp.changedAfter(f.now().Add(-settleTime))
	old := d.dirs
	d.dirs, d.places, d.closed = nil, nil, false
	entries, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		// A command runs as the same user: what others own it cannot open either.
		d.closed = !errors.Is(err, fs.ErrPermission) || stamp.own()
		d.racy = true
	}
	tail := foldPath(d.path[len(f.folder):])
	tail = tail[max(0, len(tail)-2):] // no known place has more than three elements
	for _, e := range entries {
		kind, enter := f.classify(d, tail, e)
		path := below(d.path, e.Name())
		if kind != ordinaryPlace {
			d.places = append(d.places, surveyPlace{path, kind, e.Type()&fs.ModeSymlink != 0})
		}
		if !enter {
			continue
		}
		i, known := slices.BinarySearchFunc(old, path, func(d *surveyDir,
			path string) int {
			return cmp.Compare(d.path, path)
		})
		if known {
			d.dirs = append(d.dirs, old[i])
			continue
		}
		d.dirs = append(d.dirs, &surveyDir{
			path: path, racy: true, protected: kind == protectedPlace || d.protected,
			dependency: d.dependency || dependencyFolders[fold(e.Name())],
		})
	}
	slices.SortFunc(d.dirs, func(a, b *surveyDir) int { return cmp.Compare(a.path, b.path) })
}

// classify says what an entry of a folder is, and whether to look into it. tail
// are the last elements of the folder's path, folded.
func (f *surveyed) classify(d *surveyDir, tail []string, e fs.DirEntry) (kind placeKind, enter bool) {
	name := fold(e.Name())
	parts := append(tail[:len(tail):len(tail)], name)
	if len(f.denied) > 0 && f.matches(f.denied, d.path, e.Name()) {
		return deniedPlace, false
	}
	if isCredential(parts) {
		return credentialPlace, false
	}
	enter = e.IsDir() && !contentSkipped[name]
	switch {
	case d.protected:
	case len(f.fixed) > 0 && f.matches(f.fixed, d.path, e.Name()):
		return protectedPlace, enter
	case (!d.dependency || contentSkipped[name]) && whyProtected(parts) != "":
		return protectedPlace, enter
	}
	return ordinaryPlace, enter
}

// matches reports whether a path is one of the patterns' or lies below one.
func (f *surveyed) matches(patterns [][]string, folder, name string) bool {
	at := elementsOf(below(folder, name))
	return matchFolded(patterns, at)
}
