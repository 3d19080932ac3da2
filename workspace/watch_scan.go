package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// freshness is how young a file's time is when the file may be written again
// without a new one: the tick of the coarsest clocks of file systems.
const freshness = 20 * time.Millisecond

// stamp is what is known of a file without reading it.
type stamp struct {
	size  int64
	time  int64 // of the last write, in ns since 1970
	inode uint64
	mode  fs.FileMode
	link  bool // reached by a symbolic link: no event tells of its target
	fresh bool // written so shortly before it was seen that its time may not move again
}

// same compares two looks at a file.
func (s stamp) same(o stamp) bool {
	s.fresh, o.fresh = false, false
	return s == o
}

// stampOf returns the stamp of what path is or leads to; ok is false when that
// is no regular file.
func stampOf(path string, now time.Time) (stamp, bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}, false, err
	}
	link := info.Mode()&fs.ModeSymlink != 0
	if link {
		if info, err = os.Stat(path); err != nil {
			return stamp{}, false, err
		}
	}
	if !info.Mode().IsRegular() {
		return stamp{}, false, nil
	}
	age := now.Sub(info.ModTime())
	return stamp{
		size: info.Size(), time: info.ModTime().UnixNano(), inode: inode(info), mode: info.Mode().Perm(),
		link: link, fresh: age.Abs() < freshness,
	}, true, nil
}

// targets are the watched folders and files.
type targets struct {
	dirs, files []string
	isDir       map[string]bool
	isFile      map[string]bool
}

func newTargets(dirs, files []string) targets {
	t := targets{dirs: dirs, files: files, isDir: map[string]bool{}, isFile: map[string]bool{}}
	for _, d := range dirs {
		t.isDir[d] = true
	}
	for _, f := range files {
		t.isFile[f] = true
	}
	return t
}

// wants says whether a file of that path is reported.
func (t *targets) wants(path string) bool {
	return t.isFile[path] || t.isDir[filepath.Dir(path)] && AgentFile(filepath.Base(path))
}

// watchState is what the loop knows.
type watchState struct {
	targets   targets
	delivered map[string]stamp    // as of the last batch that was received
	seen      map[string]stamp    // as of the last look
	touched   map[string]struct{} // changed since delivered although the stamp is the same
	pending   Batch               // from delivered to seen

	source   eventSource // nil while there is none
	armed    map[string]fs.FileInfo
	degraded bool // events do not reach everything
}

// scan looks at every target. A folder that cannot be read just now keeps the
// files that it had: a disk that hiccups must not remove all agents.
func (s *watchState) scan(now time.Time) map[string]stamp {
	seen := make(map[string]stamp, len(s.seen))
	keep := func(path string) {
		if old, ok := s.seen[path]; ok {
			seen[path] = old
		}
	}
	take := func(path string) {
		st, ok, err := stampOf(path, now)
		switch {
		case ok:
			seen[path] = st
		case err != nil && !gone(err):
			keep(path)
		}
	}
	for _, dir := range s.targets.dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !gone(err) {
			for path := range s.seen {
				if filepath.Dir(path) == dir {
					keep(path)
				}
			}
		}
		for _, e := range entries {
			if AgentFile(e.Name()) && !e.IsDir() {
				take(filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, file := range s.targets.files {
		take(file)
	}
	return seen
}

// gone says that there is nothing at a path.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotDir(err) }

// linksMoved looks at the files that are reached by links.
func (s *watchState) linksMoved() bool {
	for path, old := range s.seen {
		if !old.link {
			continue
		}
		now, ok, err := stampOf(path, time.Unix(0, old.time))
		if err == nil && (!ok || !now.same(old)) || err != nil && gone(err) {
			return true
		}
	}
	return false
}

func (s *watchState) touch(path string) {
	if s.touched == nil {
		s.touched = make(map[string]struct{})
	}
	s.touched[path] = struct{}{}
}

// difference returns what leads from delivered to seen.
func (s *watchState) difference() Batch {
	var b Batch
	for path, now := range s.seen {
		before, ok := s.delivered[path]
		_, touched := s.touched[path]
		switch {
		case !ok:
			b.Created = append(b.Created, path)
		case touched || !now.same(before):
			b.Changed = append(b.Changed, path)
		}
	}
	for path := range s.delivered {
		if _, ok := s.seen[path]; !ok {
			b.Removed = append(b.Removed, path)
		}
	}
	slices.Sort(b.Created)
	slices.Sort(b.Changed)
	slices.Sort(b.Removed)
	return b
}

// received notes that somebody has the pending batch.
func (s *watchState) received() {
	s.delivered = s.seen
	s.touched = nil
	s.pending = Batch{}
}
