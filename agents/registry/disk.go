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
	"sync"
	"syscall"
	"time"

	"github.com/sourcegraph/conc/iter"
	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/agents/definition"
)

// file is one agent file, or folder, as it was read last. It is never changed.
type file struct {
	path  string
	place *Place // of Registry.known
	stamp stamp
	now   *definition.Definition // of what is on the disk
	good  *definition.Definition // what is used: now, or the last good version of a file that looks half-written
}

// stale reports whether the last good version is used (REL-114).
func (f *file) stale() bool { return f.good != f.now }

// stamp is what a file looks like without reading it.
type stamp struct {
	size             int64
	modified, change int64 // ns since 1970; change is 0 where it is not known
	device, inode    uint64
	link             bool
}

// fileState is what lies at a path: its stamp, and what of it is no sign of a change.
type fileState struct {
	stamp
	mode    fs.FileMode // its type alone
	created time.Time   // zero where it is not known
}

// job is one file to be looked at.
type job struct {
	path   string
	place  *Place
	known  *file // as it was read last; nil = never
	anyway bool  // read it even if its stamp is as before
}

// worker is what one goroutine needs to read one file after another: memory
// that is used again, so that reading leaves little but what is kept.
// A worker is used by one goroutine at a time.
type worker struct {
	buffer  []byte
	scratch definition.Scratch
}

// candidate reports whether a name is an agent file's: *.md, and no editor's
// temporary or hidden file (spec 1.1).
func candidate(name string) bool {
	return strings.HasSuffix(name, ".md") && name[0] != '.' && name[0] != '_' && name[0] != '#' &&
		len(name) > len(".md")
}

// list returns the names of a place's agent files, sorted. A folder that is not
// there has none; one that cannot be read is a fault.
// The file that is returned stands for the folder and holds the problem; it is nil
// where there is none.
func (r *Registry) list(place *Place) ([]string, *file) {
	broken := func(format string, args ...any) *file {
		d := definition.Unreadable(r.source(place.Dir, place), fmt.Sprintf(format, args...))
		return &file{path: place.Dir, place: place, now: d, good: d}
	}
	if place.leadsOut() {
		return nil, broken("The agents folder is a link that leads out of its workspace folder, so it is not read; put the files into it.")
	}
	entries, err := readNames(place.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && len(entries) == 0:
		return nil, broken("The agents folder cannot be read: %s.", reason(err))
	}
	names := slices.DeleteFunc(entries, func(name string) bool { return !candidate(name) })
	slices.Sort(names)
	return names, nil
}

// readNames returns the names in a folder; with an error, those that it found
// before.
func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// leadsOut reports whether a project's agents folder is a link out of its
// workspace folder.
func (p *Place) leadsOut() bool { return p.Folder != "" && outside(p.Dir, p.Folder) }

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
// A panic of the parser costs its file alone: that is an entry which says so. The
// error is ctx's, and then the files are incomplete.
func (r *Registry) readAll(ctx context.Context, jobs []job) ([]*file, error) {
	workers := sync.Pool{New: func() any { return new(worker) }}
	mapper := iter.Mapper[job, *file]{MaxGoroutines: runtime.GOMAXPROCS(0)}
	files := mapper.Map(jobs, func(j *job) *file {
		if ctx.Err() != nil {
			return nil
		}
		var f *file
		if caught := panics.Try(func() {
			w := workers.Get().(*worker)
			f = r.read(j, w)
			workers.Put(w)
		}); caught != nil {
			d := definition.Unreadable(r.source(j.path, j.place),
				"Reading this file failed by a fault of this program; please report it.")
			return &file{path: j.path, place: j.place, now: d, good: d}
		}
		return f
	})
	return files, ctx.Err()
}

// source returns what a definition is parsed from, but for the bytes.
func (r *Registry) source(path string, place *Place) definition.Source {
	src := definition.Source{Path: path, Folder: place.Folder, Scope: place.Scope, Model: r.config.Model,
		Installed: r.config.Installed}
	if r.config.URI != nil {
		src.URI = r.config.URI(path)
	}
	return src
}

// uri returns the URI of a path for a problem.
func (r *Registry) uri(path string) string {
	if r.config.URI != nil {
		return r.config.URI(path)
	}
	return definition.FileURI(path)
}

// read looks at one file. It returns nil for one that is gone.
// It returns j.known itself where nothing is to be read anew, so that callers see by
// the pointer that a file is unchanged. Links of a project must not lead out of its
// workspace folder, since the person trusted that folder alone.
func (r *Registry) read(j *job, w *worker) *file {
	src := r.source(j.path, j.place)
	unreadable := func(s stamp, format string, args ...any) *file {
		message := fmt.Sprintf(format, args...)
		// The same failure of the same file is the same value, so that no new snapshot comes of
		// each look at it.
		if j.known != nil && j.known.stamp == s && j.known.place == j.place && !j.known.stale() &&
			len(j.known.now.Problems) == 1 && j.known.now.Problems[0].Message == message {
			return j.known
		}
		d := definition.Unreadable(src, message)
		return &file{path: j.path, place: j.place, stamp: s, now: d, good: d}
	}
	at, err := lookAt(j.path, false)
	if gone(err) {
		return nil
	}
	if err != nil {
		return unreadable(stamp{}, "The file cannot be read: %s.", reason(err))
	}
	link := at.mode&fs.ModeSymlink != 0
	if link {
		if at, err = lookAt(j.path, true); err != nil {
			return unreadable(stamp{link: true}, "The file is a link that leads nowhere (%s); fix or remove it.",
				reason(err))
		}
		if j.place.Folder != "" && outside(j.path, j.place.Folder) {
			return unreadable(stamp{link: true},
				"The file is a link that leads out of its workspace folder, so it is not read; copy the file.")
		}
	}
	s := at.stamp
	s.link = link
	switch {
	case at.mode.IsDir():
		return unreadable(s, "This is a folder with the name of an agent file; rename it.")
	case !at.mode.IsRegular():
		return unreadable(s, "This is no regular file, so it is not read.")
	// A file that looked half-written is read again, though it looks as before: found twice,
	// the same bytes are meant so (keepGood).
	case j.known != nil && j.known.stamp == s && !j.anyway && !j.known.stale() && j.known.place == j.place:
		return j.known
	}
	data, err := slurp(j.path, w.buffer, link)
	if gone(err) {
		return nil
	}
	if err != nil {
		return unreadable(s, "The file cannot be read: %s.", reason(err))
	}
	w.buffer = data
	src.Data, src.Updated, src.Created, src.Scratch = data, time.Unix(0, at.modified), at.created, &w.scratch
	d := definition.Parse(src)
	f := &file{path: j.path, place: j.place, stamp: s, now: d, good: d}
	r.keepGood(f, j.known)
	return f
}

// lookPlainly is lookAt with what every system tells.
func lookPlainly(path string, follow bool) (fileState, error) {
	stat := os.Lstat
	if follow {
		stat = os.Stat
	}
	info, err := stat(path)
	if err != nil {
		return fileState{}, err
	}
	at := fileState{stamp: stamp{size: info.Size(), modified: info.ModTime().UnixNano()}, mode: info.Mode().Type()}
	at.more(info)
	return at, nil
}

// gone reports whether an error says that there is nothing at a path.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
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
	// Found a second time: nobody is in the middle of writing it.
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

// fill reads into a buffer up to what is sure to be too large, and returns what
// was read: the buffer, or a larger one that took its place.
// Which is one byte more than [definition.MaxFile], so that the parser sees that the
// file is too large.
func fill(buffer []byte, read func([]byte) (int, error)) ([]byte, error) {
	if cap(buffer) == 0 {
		buffer = make([]byte, 0, 16<<10)
	}
	data := buffer[:0]
	for len(data) <= definition.MaxFile {
		if len(data) == cap(data) {
			data = slices.Grow(data, cap(data))
		}
		n, err := read(data[len(data):cap(data)])
		data = data[:len(data)+max(n, 0)]
		switch {
		case errors.Is(err, io.EOF), err == nil && n == 0:
			return data, nil
		case err != nil:
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
