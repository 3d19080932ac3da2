package workspace

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/internal/fault"
)

// WatchConfig says what a [Watcher] watches and how.
// It is not changed once it was given.
type WatchConfig struct {
	Dirs  []string // absolute; agent files directly in them count ([AgentFile]); need not exist
	Files []string // absolute; single files of any name, such as settings.json; need not exist

	Debounce time.Duration // quiet time before a look at the disk; 0 = 80 ms (spec 1.1)
	MaxDelay time.Duration // at most so long after the first event; 0 = 2 s (spec 1.1)
	// Poll is the time between looks at what events do not tell of, where there
	// is any; 0 = 2 s. It grows to 8 times that while nothing changes, and to 50
	// times what a look takes, a minute at most.
	Poll time.Duration
	// Safety is the time between looks at everything; 0 = 30 s. It grows to 4
	// times that while nothing happens.
	Safety time.Duration

	// Now is the clock that file times are compared with; required.
	Now func() time.Time

	// Notice is told, in a sentence for a person that says what to do, when the
	// system's events fail and looking from time to time takes their place, and
	// when they are back. It is called by the watcher's goroutine and must not
	// call the watcher; it may be nil.
	Notice func(string)

	open    func() (eventSource, error) // nil = fsnotify
	distant func(dir string) bool       // whether others change files there without an event; nil = what the system says
	looked  func()                      // called after each look at the disk; nil = not
}

// A Batch is what changed on disk since the batch before: absolute paths below
// the watched folders as they were given, each list sorted.
// Each path is in one of the lists. The caller owns them.
type Batch struct {
	Created, Changed, Removed []string
}

func (b *Batch) empty() bool { return len(b.Created)+len(b.Changed)+len(b.Removed) == 0 }

// A Watcher tells when agent files, or single other files, appear, change and go.
//
// Events of the system are hints only: after a quiet time it looks at the disk
// and compares sizes, times, permissions and inodes with what it saw before.
// So an overflow, a replaced folder or a missed event costs time, never truth.
// It does not go into sub-folders. A program has one, with all folders in it:
// the system's instances are few.
//
// What lies there when a folder is first given is not reported: start the
// watcher, then read the files. What changes after that is.
// Besides the loop there is a pump for each source of events: all that it leaves
// for the loop is in hints.
type Watcher struct {
	config   WatchConfig
	batches  chan Batch
	orders   chan watchOrder
	stop     chan struct{}
	stopOnce sync.Once
	wg       conc.WaitGroup // the loop, and a pump for each event source; Close waits
	hints    *hints
	state    watchState // of the loop alone, once it runs
}

// watchOrder is a new set of folders and files.
type watchOrder struct {
	dirs, files []string
	done        chan struct{}
}

// NewWatcher looks at the disk and starts to watch. It fails only for a path
// that is not absolute ([fault.Invalid]); a system without events is polled.
// The caller closes it. The first look at the disk is made before it returns.
func NewWatcher(config WatchConfig) (*Watcher, error) {
	if config.Now == nil {
		return nil, fault.New(fault.Internal, "workspace.watch", "WatchConfig.Now is required")
	}
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{
		{&config.Debounce, 80 * time.Millisecond}, {&config.MaxDelay, 2 * time.Second},
		{&config.Poll, 2 * time.Second}, {&config.Safety, 30 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.or
		}
	}
	if config.open == nil {
		config.open = openFsnotify
	}
	if config.distant == nil {
		config.distant = distant
	}
	dirs, files, err := watchPaths(config.Dirs, config.Files)
	if err != nil {
		return nil, err
	}
	w := &Watcher{
		config:  config,
		batches: make(chan Batch),
		orders:  make(chan watchOrder),
		stop:    make(chan struct{}),
		hints:   newHints(),
	}
	w.reset(dirs, files)
	w.wg.Go(w.run)
	return w, nil
}

// Batches returns the channel of changes, which is closed when the watcher ends.
// While nobody receives, changes are joined: a batch is always the difference to
// the one received before.
func (w *Watcher) Batches() <-chan Batch { return w.batches }

// Set replaces the watched folders and files. When it returns, those that are
// new were looked at; what is no longer watched is not reported any more.
// It waits for a look at the disk that goes on. The error is [fault.Invalid] for a
// path that is not absolute, and [fault.Unavailable] once the watcher is closed;
// then the folders are as before.
func (w *Watcher) Set(dirs, files []string) error {
	dirs, files, err := watchPaths(dirs, files)
	if err != nil {
		return err
	}
	order := watchOrder{dirs, files, make(chan struct{})}
	select {
	case w.orders <- order:
	case <-w.stop:
		return errWatcherClosed()
	}
	select {
	case <-order.done:
		return nil
	case <-w.stop:
		return errWatcherClosed()
	}
}

// Recheck has a batch to come name each watched path of paths, whatever happened to
// it: as removed where no file is there. Call it after reading a file that was not
// in a batch: without it, a file that is read that way and gone before the watcher
// has seen it is never reported as removed.
// It does not wait. Paths that are not watched are ignored.
func (w *Watcher) Recheck(paths ...string) {
	for _, path := range paths {
		w.hints.recheck(filepath.Clean(path))
	}
}

// errWatcherClosed is the error of what is asked of a closed watcher.
func errWatcherClosed() error {
	return fault.New(fault.Unavailable, "workspace.watch", "the watcher was closed")
}

// Close ends the watcher and waits for its goroutines. It may be called twice.
// The error is nil.
func (w *Watcher) Close() error {
	w.stopOnce.Do(func() { close(w.stop) })
	w.wg.Wait()
	return nil
}

// watchPaths returns clean paths, each once.
func watchPaths(dirs, files []string) (d, f []string, err error) {
	clean := func(paths []string) []string {
		var list []string
		for _, p := range paths {
			if !filepath.IsAbs(p) {
				err = fault.New(fault.Invalid, "workspace.watch", "%q is not an absolute path", p)
			}
			list = append(list, filepath.Clean(p))
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	d, f = clean(dirs), clean(files)
	return d, f, err
}

// run is the loop's goroutine; Close ends it.
func (w *Watcher) run() {
	defer close(w.batches)
	defer w.state.closeSource()
	if caught := panics.Try(w.loop); caught != nil {
		w.notice(fmt.Sprintf("agentls no longer sees changes of files: %v; restart it", caught.Value))
	}
	// Nobody answers Set any more.
	w.stopOnce.Do(func() { close(w.stop) })
}

// loop waits for whatever comes first. Only it touches the state.
// A hint is looked into after Debounce without another one, or after MaxDelay in
// any case. Where the system tells nothing, it polls; and every so often (Safety)
// it looks without a hint, because systems lose some. A batch is offered until
// somebody takes it, and grows meanwhile.
func (w *Watcher) loop() {
	quiet, limit := newIdleTimer(), newIdleTimer()
	poll := pace{timer: newIdleTimer(), least: w.config.Poll, most: mostPolls * w.config.Poll, patience: patience}
	safety := pace{timer: newIdleTimer(), least: w.config.Safety, most: 4 * w.config.Safety}
	defer func() {
		for _, t := range []*time.Timer{quiet, limit, poll.timer, safety.timer} {
			t.Stop()
		}
	}()
	safety.again(true, 0)
	waiting := false // for quiet
	look := func() {
		quiet.Stop()
		limit.Stop()
		waiting = false
		w.look(w.hints.take())
		// Events come again, so looks without one become frequent again.
		if safety.vain > 0 {
			safety.again(true, 0)
		}
	}
	for {
		if polling := w.state.polled(); polling != poll.on {
			poll.set(polling)
		}
		// out stays nil, so that its case is never chosen, while there is nothing to tell.
		var out chan Batch
		batch := w.state.pending
		if !batch.empty() {
			out = w.batches
		}
		select {
		case <-w.stop:
			return
		case order := <-w.orders:
			w.reset(order.dirs, order.files)
			close(order.done)
		case <-w.hints.signal:
			if !waiting {
				waiting = true
				limit.Reset(w.config.MaxDelay)
			}
			quiet.Reset(w.config.Debounce)
		case <-quiet.C:
			look()
		case <-limit.C:
			look()
		case <-poll.timer.C:
			begin := w.config.Now()
			found := w.look(hinted{})
			poll.again(found, w.config.Now().Sub(begin))
		case <-safety.timer.C:
			safety.again(w.look(hinted{}), 0)
		case out <- batch:
			w.state.acknowledge()
		}
	}
}

// mostPolls is how much rarer polls become while nothing changes.
const mostPolls = 8

// patience is how many looks in vain are made before looks become rarer.
const patience = 30

// maxPause is the longest time between two polls, however long they take.
const maxPause = time.Minute

// pace is when to look next: soon after a change, more rarely while nothing
// changes, so that a daemon at rest is at rest.
type pace struct {
	timer       *time.Timer
	least, most time.Duration
	patience    int // looks in vain at the first pace
	on          bool
	vain        int
}

// set starts or stops looking.
func (p *pace) set(on bool) {
	p.on = on
	if p.vain = 0; !on {
		p.timer.Stop()
		return
	}
	p.timer.Reset(p.least)
}

// again sets the next look. took is what the last one cost.
func (p *pace) again(found bool, took time.Duration) {
	if p.vain++; found {
		p.vain = 0
	}
	wait := p.least
	for range p.vain - p.patience {
		if wait *= 2; wait >= p.most {
			wait = p.most
			break
		}
	}
	p.timer.Reset(max(wait, min(50*took, maxPause)))
}

// newIdleTimer returns a timer that has not been started.
func newIdleTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// reset takes over a new set of paths. Files below the new ones are known from
// now on.
func (w *Watcher) reset(dirs, files []string) {
	s := &w.state
	before := s.targets
	s.retarget(newTargets(dirs, files))
	w.arm(hinted{})
	s.scan(w.config.Now())
	// scan has noted new single files as created. They were not watched before, so that
	// is no change.
	maps.DeleteFunc(s.was, func(path string, _ former) bool { return !before.wants(path) })
	s.pending = s.difference()
}

// look arms what can be armed, looks at the disk, and decides what changed. It reports
// whether anything did.
func (w *Watcher) look(hints hinted) (found bool) {
	s := &w.state
	w.arm(hints)
	// An event named these files, and they were written right before the last look: their
	// stamp may be the same although they changed.
	before := make(map[string]stamp)
	for path := range hints.paths {
		if old, ok := s.at(path); ok && old.fresh {
			before[path] = old
		}
	}
	s.scan(w.config.Now())
	for path, old := range before {
		// Written again within the clock tick of the file system in which it was
		// seen: nothing but the event tells.
		if now, ok := s.at(path); ok && now.same(old) {
			s.touch(path)
		}
	}
	for path := range hints.rechecks {
		if s.targets.wants(path) {
			s.recheck(path)
		}
	}
	return w.decide()
}

// decide says what leads to what was seen, and whether that is new.
func (w *Watcher) decide() bool {
	s := &w.state
	before := s.pending
	s.pending = s.difference()
	if w.config.looked != nil {
		w.config.looked()
	}
	return !slices.Equal(before.Created, s.pending.Created) || !slices.Equal(before.Changed, s.pending.Changed) ||
		!slices.Equal(before.Removed, s.pending.Removed)
}

// notice tells the person, if somebody listens.
func (w *Watcher) notice(text string) {
	if w.config.Notice != nil {
		w.config.Notice(text)
	}
}
