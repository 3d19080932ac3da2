package workspace

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
	"github.com/sourcegraph/conc/panics"
)

// maxHints is how many names of events are kept; with more, every file could
// have changed.
const maxHints = 65_536

// eventSource is the system's file events, as far as a watcher needs them.
type eventSource interface {
	Add(dir string) error
	Remove(dir string) error
	WatchList() []string
	Events() <-chan fsnotify.Event // closed when the source ends
	Errors() <-chan error
	Close() error
}

// fsnotifySource is the source of this system.
type fsnotifySource struct{ *fsnotify.Watcher }

// Events implements [eventSource].
func (s fsnotifySource) Events() <-chan fsnotify.Event { return s.Watcher.Events }

// Errors implements [eventSource].
func (s fsnotifySource) Errors() <-chan error { return s.Watcher.Errors }

// openFsnotify opens a source. It fails where the system has no more of them.
func openFsnotify() (eventSource, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return fsnotifySource{w}, nil
}

// hints is what the pump leaves for the loop.
// It is safe for concurrent use.
type hints struct {
	signal   chan struct{} // buffered 1: there is something to take
	interest atomic.Pointer[interest]

	mu    sync.Mutex
	paths map[string]struct{}
	again map[string]struct{} // of [Watcher.Recheck]
	all   bool                // events were dropped: anything may have happened
	lost  bool                // the source ended
}

// newHints returns hints of nothing.
func newHints() *hints { return &hints{signal: make(chan struct{}, 1)} }

// interest says which events count. It is read-only.
type interest struct {
	targets targets
	exact   map[string]bool // folders on the way to a target, and targets
	wide    map[string]bool // armed folders that stand for others, too: a folder has one watch under one name
}

// relevant keeps the noise of a home folder away from the loop.
func (i *interest) relevant(path string) bool {
	return i.exact[path] || i.wide[filepath.Dir(path)] || i.targets.wants(path)
}

// pump moves events from a source into the hints. It is apart from the loop,
// and calls nothing of the source, because a source that waits for somebody to
// take its error lets nobody add a folder. It ends with the source.
func (h *hints) pump(source eventSource) {
	// A pump that panics has lost its source, too: the loop opens another.
	_ = panics.Try(func() {
		for {
			select {
			case e, ok := <-source.Events():
				if !ok {
					return
				}
				if i := h.interest.Load(); e.Name != "" && i != nil && i.relevant(filepath.Clean(e.Name)) {
					h.add(filepath.Clean(e.Name))
				}
			case _, ok := <-source.Errors():
				if !ok {
					return
				}
				// An overflow, mostly: something happened, nobody knows what.
				h.add("")
			}
		}
	})
	h.mu.Lock()
	h.lost = true
	h.mu.Unlock()
	h.wake()
}

// add notes an event; "" is one without a name.
func (h *hints) add(path string) {
	h.mu.Lock()
	if h.paths == nil {
		h.paths = make(map[string]struct{})
	}
	if path == "" || len(h.paths) >= maxHints {
		h.all = true
	} else {
		h.paths[path] = struct{}{}
	}
	h.mu.Unlock()
	h.wake()
}

// recheck notes a path that was read without a batch.
func (h *hints) recheck(path string) {
	h.mu.Lock()
	if h.again == nil {
		h.again = make(map[string]struct{})
	}
	h.again[path] = struct{}{}
	h.mu.Unlock()
	h.add(path)
}

// wake tells the loop, which may know already.
func (h *hints) wake() {
	select {
	case h.signal <- struct{}{}:
	default:
	}
}

// take returns the names since it was last called, and whether there were more.
func (h *hints) take() hinted {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken := hinted{h.paths, h.again, h.all}
	h.paths, h.again, h.all = nil, nil, false
	return taken
}

// hinted is what events named.
type hinted struct {
	paths    map[string]struct{}
	rechecks map[string]struct{} // of [Watcher.Recheck]
	all      bool                // not everything is in paths
}

// has reports whether something may have happened at a path.
func (h hinted) has(path string) bool {
	_, ok := h.paths[path]
	return ok || h.all
}

// ended says, once, that the source has ended.
func (h *hints) ended() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	lost := h.lost
	h.lost = false
	return lost
}

// armPasses bounds how often folders that appear while others are armed are
// followed in one go; the next event goes on.
const armPasses = 16

// arm watches each target folder and the two above it, and for each single file its
// folder and the one above, or the nearest folder that exists. Hints are names of events:
// a folder among them may be another one now, under the same inode.
func (w *Watcher) arm(hints hinted) {
	s := &w.state
	if w.hints.ended() {
		s.closeSource()
	}
	var failed error
	if s.source == nil {
		failed = w.openSource()
	}
	for pass := 0; pass < armPasses; pass++ {
		folders, watching := w.foldersToWatch()
		// Before the folders are armed: the pump drops events that are not of interest.
		w.hints.interest.Store(watching)
		if s.source == nil {
			break
		}
		added, err := s.rearm(folders, hints)
		if err != nil {
			failed = err
		}
		if !added {
			break
		}
		// What appeared beneath a folder before it was armed gave no event.
		hints = hinted{}
	}
	// The person is told when it begins and when it is over, and not at each look.
	switch degraded := failed != nil; {
	case degraded && !s.degraded:
		w.notice("the system does not tell of changed files (" + reason(failed) +
			"), so agentls looks for them every " + w.config.Poll.String() + " to " +
			(mostPolls * w.config.Poll).String() + "; " + remedy(failed))
	case !degraded && s.degraded:
		w.notice("the system tells of changed files again, so agentls looks for them no longer")
	}
	s.degraded = failed != nil
}

// polled says whether there is anything that events do not tell of.
func (s *watchState) polled() bool { return s.degraded || s.linked || s.distant }

// openSource starts a source and its pump.
func (w *Watcher) openSource() error {
	source, err := w.config.open()
	if err != nil {
		return err
	}
	w.state.source = source
	w.state.armed = make(map[string]fs.FileInfo)
	w.wg.Go(func() { w.hints.pump(source) })
	return nil
}

// closeSource ends the source, and with it its pump.
func (s *watchState) closeSource() {
	if s.source != nil {
		_ = s.source.Close()
		s.source = nil
	}
}

// reason says why there are no events.
func reason(err error) string {
	switch {
	case noWatches(err):
		return "fs.inotify.max_user_watches is used up"
	case noInstances(err):
		return "fs.inotify.max_user_instances or the open files are used up"
	}
	return err.Error()
}

// remedy says what a person can do about it.
func remedy(err error) string {
	switch {
	case noWatches(err):
		return "to fix it, close programs that watch many files, or raise the limit: sudo sysctl fs.inotify.max_user_watches=524288"
	case noInstances(err):
		return "to fix it, close programs that watch files, or raise the limits: sudo sysctl fs.inotify.max_user_instances=1024, and ulimit -n"
	}
	return "changes are seen a little later, and nothing else is different"
}

// watchedFolder is one that is to be armed.
type watchedFolder struct {
	path string
	info fs.FileInfo
}

// foldersToWatch returns the folders to arm, those above before those below, each once
// however many names it has, and which events count. It notes which targets lie
// where no event tells of all changes.
func (w *Watcher) foldersToWatch() ([]watchedFolder, *interest) {
	s := &w.state
	t := s.targets
	i := &interest{targets: t, exact: map[string]bool{}, wide: map[string]bool{}}
	found := map[string]fs.FileInfo{} // nil = no folder
	look := func(path string) fs.FileInfo {
		info, looked := found[path]
		if !looked {
			if is, err := os.Stat(path); err == nil && is.IsDir() {
				info = is
			}
			found[path] = info
		}
		return info
	}
	paths := map[string]bool{}
	// levels is how many folders are armed where they exist, dir and those above it. The
	// nearest one that exists is armed in any case.
	chain := func(dir string, levels int) {
		nearest := ""
		for at := dir; ; at = filepath.Dir(at) {
			i.exact[at] = true
			if (nearest == "" || levels > 0) && look(at) != nil {
				paths[at] = true
				if nearest == "" {
					nearest = at
				}
			}
			levels--
			if at == filepath.Dir(at) {
				break
			}
		}
		s.distant = s.distant || (nearest != "" && w.config.distant(nearest))
	}
	s.distant = false
	for _, d := range t.dirs {
		chain(d, 3)
	}
	for _, f := range t.files {
		i.exact[f] = true
		chain(filepath.Dir(f), 2)
	}
	sorted := slices.SortedFunc(maps.Keys(paths), func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	var folders []watchedFolder
	for _, path := range sorted {
		info := found[path]
		same := slices.IndexFunc(folders, func(f watchedFolder) bool { return os.SameFile(f.info, info) })
		if same >= 0 {
			i.wide[folders[same].path] = true
			continue
		}
		folders = append(folders, watchedFolder{path, info})
	}
	return folders, i
}

// rearm brings the source's watches to folders; added says that there is a new
// one. Folders that cannot be watched are an error, those that went meanwhile
// are not.
func (s *watchState) rearm(folders []watchedFolder, hints hinted) (added bool, failed error) {
	want := make(map[string]fs.FileInfo, len(folders))
	for _, f := range folders {
		want[f.path] = f.info
	}
	// fsnotify drops a folder that was removed, so its own list counts as well as ours.
	listed := s.source.WatchList()
	for path, info := range s.armed {
		now, ok := want[path]
		if ok && !hints.has(path) && os.SameFile(info, now) && slices.Contains(listed, path) {
			continue
		}
		// It may be gone from the source already.
		_ = s.source.Remove(path)
		delete(s.armed, path)
	}
	for _, f := range folders {
		if s.armed[f.path] != nil {
			continue
		}
		err := s.source.Add(f.path)
		switch {
		case err == nil:
			s.armed[f.path] = f.info
			added = true
		case errors.Is(err, fsnotify.ErrClosed) || !gone(err):
			failed = err
		}
	}
	return added, failed
}
