package workspace

import (
	"errors"
	"io/fs"
	"maps"
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
// fresh does not count: it says something of the look, and nothing of the file.
func (s stamp) same(o stamp) bool {
	s.fresh, o.fresh = false, false
	return s == o
}

// freshAt says whether a file written at written was so shortly before now.
// A time in the future counts as well, as of a file system with a clock of its own.
func freshAt(written int64, now time.Time) bool {
	age := time.Duration(now.UnixNano() - written)
	return age.Abs() < freshness
}

// stampOf returns the stamp of what path is or leads to; ok is false when that
// is no regular file.
// The error is the system's; [gone] says of one whether nothing is there. A link that
// leads nowhere has it, too.
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
	written := info.ModTime().UnixNano()
	return stamp{
		size: info.Size(), time: written, inode: inode(info), mode: info.Mode().Perm(), link: link,
		fresh: freshAt(written, now),
	}, true, nil
}

// targets are the watched folders and files.
// It is not changed once it was made.
type targets struct {
	dirs, files []string
	isDir       map[string]bool
	isFile      map[string]bool
}

// newTargets returns the targets of clean paths.
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
	return t.isFile[path] || (t.isDir[filepath.Dir(path)] && AgentFile(filepath.Base(path)))
}

// watchState is what the loop knows.
// Only the loop's goroutine has it, so there is no lock.
type watchState struct {
	targets targets
	seen    map[string]listing // as of the last look: each folder's files, and under "" the single files by path
	was     map[string]former  // what differs, or did, since the last batch that was received
	linked  bool               // some of seen are reached by links
	pending Batch              // what was leads to

	source   eventSource // nil while there is none
	armed    map[string]fs.FileInfo
	distant  bool // others change files in some folder without an event
	degraded bool // events do not reach everything
}

// listing is what is known of one folder's files, by name.
type listing map[string]sighting

// sighting is a file, and the look in which it was seen.
type sighting struct {
	stamp
	look uint32
}

// former is what a file was when the last batch was received.
type former struct {
	stamp
	there   bool
	touched bool // changed since, although the stamp may be the same
	recheck bool // reported whatever it is: somebody read it in between
}

// at returns what was seen at a path.
// false stands for a file that was not there in the last look.
func (s *watchState) at(path string) (stamp, bool) {
	if known, ok := s.seen[""][path]; ok {
		return known.stamp, true
	}
	known, ok := s.seen[filepath.Dir(path)][filepath.Base(path)]
	return known.stamp, ok
}

// note remembers what a path was, unless an earlier look did.
// So was has the state of the last batch that somebody received, however many looks follow.
func (s *watchState) note(path string, known stamp, there bool) {
	if _, noted := s.was[path]; noted {
		return
	}
	if s.was == nil {
		s.was = make(map[string]former)
	}
	s.was[path] = former{stamp: known, there: there}
}

// touch notes that a file changed although its stamp is the same.
// An event says so where the file has the same size and time again.
func (s *watchState) touch(path string) {
	known, ok := s.at(path)
	s.note(path, known, ok)
	f := s.was[path]
	f.touched = true
	s.was[path] = f
}

// recheck notes that a path is reported, whether it changed or not.
func (s *watchState) recheck(path string) {
	s.touch(path)
	f := s.was[path]
	f.recheck = true
	s.was[path] = f
}

// scan looks at the targets. What it finds in a folder for the first time is no change:
// who gives a folder reads its files afterwards.
func (s *watchState) scan(now time.Time) {
	s.linked = false
	for _, dir := range s.targets.dirs {
		s.scanDir(dir, now)
	}
	files := s.seen[""]
	if files == nil {
		files = make(listing)
		s.seen[""] = files
	}
	for _, path := range s.targets.files {
		s.scanFile(files, path, now)
	}
}

// scanDir looks at one folder. One that cannot be read just now keeps the files
// that it had: a disk that hiccups must not remove all agents.
func (s *watchState) scanDir(dir string, now time.Time) {
	files, before := s.seen[dir]
	if !before {
		files = make(listing)
		s.seen[dir] = files
	}
	// The number of this look. What keeps the number of the look before was not found.
	look := uint32(0)
	for _, known := range files {
		look = known.look + 1 // all have that of the last look
		break
	}
	note := func(name string, known stamp, there bool) {
		if before {
			s.note(filepath.Join(dir, name), known, there)
		}
	}
	err := eachStamp(dir, now, func(name string, st stamp, ok bool, err error) {
		known, there := files[name]
		switch {
		case ok:
			if !there || !known.same(st) {
				note(name, known.stamp, there)
			}
			s.linked = s.linked || st.link
			files[name] = sighting{st, look}
		// The file exists but cannot be looked at just now: keep it as it was.
		case err != nil && !gone(err) && there:
			s.linked = s.linked || known.link
			known.look = look
			files[name] = known
		}
	})
	// Only a listing that came to its end tells that a file is not in it.
	whole := err == nil || gone(err)
	for name, known := range files {
		switch {
		case known.look == look:
		case whole:
			note(name, known.stamp, true)
			delete(files, name)
		default:
			known.look = look
			files[name] = known
		}
	}
}

// scanFile looks at one single file.
func (s *watchState) scanFile(files listing, path string, now time.Time) {
	known, there := files[path]
	st, ok, err := stampOf(path, now)
	switch {
	case ok:
		if !there || !known.same(st) {
			s.note(path, known.stamp, there)
		}
		s.linked = s.linked || st.link
		files[path] = sighting{stamp: st}
	case there && (err == nil || gone(err)):
		s.note(path, known.stamp, true)
		delete(files, path)
	}
}

// gone says that there is nothing at a path.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || isNotDir(err) }

// difference returns what leads from the last batch received to what was seen.
//
// Paths that are as they were are taken out of was. Each list is sorted.
func (s *watchState) difference() Batch {
	var b Batch
	for path, before := range s.was {
		now, there := s.at(path)
		switch {
		case there && !before.there:
			b.Created = append(b.Created, path)
		case there && (before.touched || !now.same(before.stamp)):
			b.Changed = append(b.Changed, path)
		case !there && (before.there || before.recheck):
			b.Removed = append(b.Removed, path)
		default:
			delete(s.was, path) // as it was
		}
	}
	slices.Sort(b.Created)
	slices.Sort(b.Changed)
	slices.Sort(b.Removed)
	return b
}

// acknowledge notes that somebody has the pending batch.
func (s *watchState) acknowledge() {
	s.was = nil
	s.pending = Batch{}
}

// retarget takes over new targets: what is no longer watched is forgotten, and
// what is new is not known yet.
func (s *watchState) retarget(t targets) {
	s.targets = t
	if s.seen == nil {
		s.seen = make(map[string]listing)
	}
	maps.DeleteFunc(s.seen, func(dir string, _ listing) bool { return dir != "" && !t.isDir[dir] })
	maps.DeleteFunc(s.seen[""], func(path string, _ sighting) bool { return !t.isFile[path] })
	maps.DeleteFunc(s.was, func(path string, _ former) bool { return !t.wants(path) })
}
