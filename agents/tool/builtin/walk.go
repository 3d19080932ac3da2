package builtin

// Walking the workspace as its ignore files have it, without following links.

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	gitignore "github.com/boyter/gocodewalker/go-gitignore"

	"github.com/agentls/agentls/agents/tool"
)

// The bounds of a search (SEC-62, SEC-126, REL-80): what is over them is left
// out, and the result says so.
const (
	searchTime   = 5 * time.Second
	maxHits      = 10_000
	maxWalked    = 1_000_000
	maxSearched  = 16 << 20 // bytes of one file
	maxIgnore    = 1 << 20  // bytes of an ignore file
	maxDirDepth  = 200
	longestMatch = 500 // characters of a line that are shown
)

// skipped are the folders of version control, which no search enters.
var skipped = map[string]bool{".git": true, ".hg": true, ".svn": true}

// ignoreFiles are the files whose patterns hide others; of two that say
// different things the later one counts.
var ignoreFiles = [...]string{".gitignore", ".geminiignore"}

// ignores is what ignore files hide below a folder. It reads each of them once.
// Only the package go-gitignore of gocodewalker is used: its walker keeps every
// path that it has seen in a global map, and opens pipes that are called
// .gitignore.
//
// It is not safe for concurrent use: hides and of fill the caches.
type ignores struct {
	dir   *opened
	start string                           // the folder of the search, relative, with slashes; "." for the root
	files map[string][]gitignore.GitIgnore // by folder, relative to dir
	known map[string]bool                  // whether a folder below start is hidden
}

// newIgnores returns the ignores of a search that begins at start, relative to dir.
func newIgnores(dir *opened, start string) *ignores {
	return &ignores{dir: dir, start: start, files: make(map[string][]gitignore.GitIgnore), known: make(map[string]bool)}
}

// of returns the patterns that a folder's own files hold.
// A file that cannot be read, is too large or is no regular file hides nothing.
func (g *ignores) of(folder string) []gitignore.GitIgnore {
	if list, ok := g.files[folder]; ok {
		return list
	}
	var list []gitignore.GitIgnore
	for _, name := range ignoreFiles {
		data, _, err := g.dir.file(filepath.Join(g.dir.folder, filepath.FromSlash(folder), name), maxIgnore)
		if err != nil {
			continue // there is none, or none that may be read
		}
		list = append(list, gitignore.New(bytes.NewReader(data), filepath.Join(g.dir.folder, folder),
			func(gitignore.Error) bool { return true }))
	}
	g.files[folder] = list
	return list
}

// matches reports whether the ignore files of the folders above rel hide it, its
// parents aside.
func (g *ignores) matches(rel string, folder bool) bool {
	hidden := false
	// From the root down: a pattern of a folder below may take back what one above hides.
	for _, above := range parents(rel) {
		for _, file := range g.of(above) {
			inside := rel
			if above != "." {
				inside = strings.TrimPrefix(rel, above+"/")
			}
			if m := file.Relative(inside, folder); m != nil {
				hidden = m.Ignore()
			}
		}
	}
	return hidden
}

// hides reports whether rel, or a folder between the start of the search and
// rel, is hidden. What was asked for by name is searched, hidden or not.
// A folder's answer is remembered, so that a walk asks each level once.
func (g *ignores) hides(rel string, folder bool) bool {
	if rel == g.start || rel == "." {
		return false
	}
	if folder {
		if known, ok := g.known[rel]; ok {
			return known
		}
	}
	// A file in a hidden folder is hidden whatever its own name says: git does not look into
	// such a folder either.
	up := path.Dir(rel)
	hidden := (skipped[path.Base(rel)] && folder) || (up != "." && up != g.start && g.hides(up, true)) ||
		g.matches(rel, folder)
	if folder {
		g.known[rel] = hidden
	}
	return hidden
}

// parents returns the folders above rel, the root first.
func parents(rel string) []string {
	out := []string{"."}
	for i := range len(rel) {
		if rel[i] == '/' {
			out = append(out, rel[:i])
		}
	}
	return out
}

// walker visits the regular files below a folder, each folder by name.
//
// hidden, visit and dir are set by the caller. entries counts what was listed so far, up
// to maxWalked; partial is set where a limit or ctx kept something from being visited. One
// goroutine uses it.
type walker struct {
	ctx    context.Context
	dir    *opened
	hidden *ignores
	visit  func(rel string) bool // false ends the walk
	// Listed so far, hidden ones too.
	entries int
	// A bound or the context kept it from seeing everything.
	partial bool
}

// walk visits what lies below start, which is relative to the folder of dir
// and has slashes.
func (w *walker) walk(start string) {
	dir, err := w.dir.sub(filepath.FromSlash(start))
	if err != nil {
		return // it went, or is a link now
	}
	defer dir.close()
	w.folder(dir, start, 0)
}

// folder visits what lies in the folder that dir is of. What lies in a folder in
// it is reached through its handle.
// It reports whether the walk goes on. Names are visited in alphabetical order.
// A folder that cannot be listed is passed over and does not make the result partial.
func (w *walker) folder(dir *opened, rel string, depth int) bool {
	if w.ctx.Err() != nil || depth > maxDirDepth {
		w.partial = true
		return w.ctx.Err() == nil
	}
	entries, more, err := dir.entries(maxWalked - w.entries)
	if err != nil {
		return true // a hole in the permissions, or gone meanwhile
	}
	if w.entries += len(entries); more {
		w.partial = true
		return false
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		child := e.Name()
		if rel != "." {
			child = rel + "/" + child
		}
		switch {
		// Links are neither folders nor regular files here, so the walk does not follow them.
		case e.IsDir():
			if !w.hidden.hides(child, true) && !w.enter(dir, e.Name(), child, depth+1) {
				return false
			}
		// matches and not hides: the folders above were asked on the way down.
		case e.Type().IsRegular() && !w.hidden.matches(child, false):
			if !w.visit(child) {
				return false
			}
		}
	}
	return true
}

// enter visits a folder of dir.
func (w *walker) enter(dir *opened, name, rel string, depth int) bool {
	in, err := dir.into(name)
	if err != nil {
		return true // a hole in the permissions, or another thing meanwhile
	}
	defer in.close()
	return w.folder(in, rel, depth)
}

// displayPath returns how a file of a place's folder is named to the model: relative
// to the run's workspace folder, or absolute where it lies in another.
func displayPath(env *tool.Env, dir *opened, rel string) string {
	abs := filepath.Join(dir.folder, filepath.FromSlash(rel))
	if r, err := filepath.Rel(env.Folder, abs); err == nil && tool.Within(env.Folder, abs) {
		return filepath.ToSlash(r)
	}
	return abs
}

// slashRel returns where a place lies in its folder, with slashes.
func slashRel(dir *opened, p tool.Place) string { return filepath.ToSlash(dir.rel(p.Real)) }

// modificationTime returns when a file changed, the zero time if it is gone.
func (o *opened) modificationTime(rel string) time.Time {
	info, err := o.root.Lstat(filepath.FromSlash(rel))
	if err != nil || info.Mode()&os.ModeType != 0 {
		return time.Time{}
	}
	return info.ModTime()
}
