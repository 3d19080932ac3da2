package registry

// Reading agent files from the disk.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/iter"
	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/agents/definition"
)

// file is one agent file, or folder, as it was read last. It is never changed.
type file struct {
	path  string
	place Place
	stamp stamp
	now   *definition.Definition // of what is on the disk
	good  *definition.Definition // what is used: now, or the last good version of a file that looks half-written
}

// stale reports whether the last good version is used (REL-114).
func (f *file) stale() bool { return f.good != f.now }

// stamp is what a file looks like without reading it.
type stamp struct {
	size             int64
	modified, change time.Time
	device, inode    uint64
	link             bool
}

// job is one file to be looked at.
type job struct {
	path   string
	place  *Place
	known  *file // as it was read last; nil = never
	anyway bool  // read it even if its stamp is as before
}

// candidate reports whether a name is an agent file's: *.md, and no editor's
// temporary or hidden file (spec 1.1).
func candidate(name string) bool {
	return strings.HasSuffix(name, ".md") && name[0] != '.' && name[0] != '_' && name[0] != '#' && len(name) > len(".md")
}

// list returns the names of a place's agent files. A folder that is not there
// has none; one that cannot be read is a fault.
func (r *Registry) list(place *Place) ([]string, *file) {
	broken := func(format string, args ...any) *file {
		d := definition.Unreadable(r.source(place.Dir, place), fmt.Sprintf(format, args...))
		return &file{path: place.Dir, place: *place, now: d, good: d}
	}
	if place.Folder != "" {
		if outside(place.Dir, place.Folder) {
			return nil, broken("The agents folder is a link that leads out of its workspace folder, so it is not read; put the files into it.")
		}
	}
	entries, err := os.ReadDir(place.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && len(entries) == 0:
		return nil, broken("The agents folder cannot be read: %s.", reason(err))
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if candidate(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// outside reports whether a path, with its links resolved, is out of a folder.
// What does not exist is not.
func outside(path, folder string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if root, err := filepath.EvalSymlinks(folder); err == nil {
		folder = root
	}
	rel, err := filepath.Rel(folder, real)
	return err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// readAll looks at the jobs' files, as many at once as there are processors. A
// nil file is gone. The order is that of the jobs.
func (r *Registry) readAll(ctx context.Context, jobs []job) ([]*file, error) {
	mapper := iter.Mapper[job, *file]{MaxGoroutines: runtime.GOMAXPROCS(0)}
	files := mapper.Map(jobs, func(j *job) *file {
		if ctx.Err() != nil {
			return nil
		}
		var f *file
		if caught := panics.Try(func() { f = r.read(j) }); caught != nil {
			d := definition.Unreadable(r.source(j.path, j.place), "Reading this file failed by a fault of this program; please report it.")
			return &file{path: j.path, place: *j.place, now: d, good: d}
		}
		return f
	})
	return files, ctx.Err()
}

// source returns what a definition is parsed from, but for the bytes.
func (r *Registry) source(path string, place *Place) definition.Source {
	return definition.Source{Path: path, Folder: place.Folder, Scope: place.Scope, URI: r.config.URI(path), Model: r.config.Model}
}

// read looks at one file. It returns nil for one that is gone.
func (r *Registry) read(j *job) *file {
	src := r.source(j.path, j.place)
	unreadable := func(s stamp, format string, args ...any) *file {
		message := fmt.Sprintf(format, args...)
		if j.known != nil && j.known.stamp == s && !j.known.stale() && len(j.known.now.Problems) == 1 && j.known.now.Problems[0].Message == message {
			return j.known
		}
		d := definition.Unreadable(src, message)
		return &file{path: j.path, place: *j.place, stamp: s, now: d, good: d}
	}
	info, err := os.Lstat(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unreadable(stamp{}, "The file cannot be read: %s.", reason(err))
	}
	link := info.Mode()&fs.ModeSymlink != 0
	if link {
		if info, err = os.Stat(j.path); err != nil {
			return unreadable(stamp{link: true}, "The file is a link that leads nowhere (%s); mend or remove it.", reason(err))
		}
		if j.place.Folder != "" && outside(j.path, j.place.Folder) {
			return unreadable(stamp{link: true}, "The file is a link that leads out of its workspace folder, so it is not read; copy the file.")
		}
	}
	s := stampOf(info)
	s.link = link
	switch {
	case info.IsDir():
		return unreadable(s, "This is a folder with the name of an agent file; rename it.")
	case !info.Mode().IsRegular():
		// Opening a pipe would wait for its writer.
		return unreadable(s, "This is no regular file, so it is not read.")
	case j.known != nil && j.known.stamp == s && !j.anyway && !j.known.stale() && j.known.place == *j.place:
		return j.known
	}
	data, err := readCapped(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unreadable(s, "The file cannot be read: %s.", reason(err))
	}
	src.Data, src.Updated, src.Created = data, info.ModTime(), birth(j.path)
	d := definition.Parse(src)
	f := &file{path: j.path, place: *j.place, stamp: s, now: d, good: d}
	r.keepGood(f, j.known)
	return f
}

// keepGood keeps the last good version of a file that looks half-written: one
// that was usable and now breaks off. When the same bytes are found again, the
// file is as its writer meant it (REL-114).
func (r *Registry) keepGood(f, known *file) {
	if known == nil || known.place != f.place {
		return
	}
	if usable, _ := known.good.Usable(); !usable || !halfWritten(f.now) {
		return
	}
	if known.now.Digest == f.now.Digest {
		return
	}
	f.good = known.good
}

// halfWritten reports whether a definition may be the beginning of a file.
func halfWritten(d *definition.Definition) bool {
	return slices.ContainsFunc(d.Problems, func(p definition.Problem) bool {
		return p.Severity == definition.Error && (p.Code == "agent/yaml" || p.Code == "agent/prompt-empty")
	})
}

// readCapped reads a file up to what is sure to be too large.
func readCapped(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := 0
	if info, err := f.Stat(); err == nil {
		size = int(min(info.Size(), definition.MaxFile))
	}
	data := make([]byte, 0, size+1)
	for len(data) <= definition.MaxFile {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// reason returns why a file operation failed, without the path.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
