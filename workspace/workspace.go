package workspace

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Workspace is the moving head of a chain of snapshots.
// The zero Workspace is empty and ready to use.
// It is safe for concurrent use, must not be copied, and need not be closed.
type Workspace struct {
	writing sync.Mutex // held while a new head is made; readers never take it
	head    atomic.Pointer[Snapshot]
	news    news
}

// Snapshot returns the workspace as it stands. It never blocks.
func (w *Workspace) Snapshot() *Snapshot {
	if s := w.head.Load(); s != nil {
		return s
	}
	return new(Snapshot)
}

// A Change is one thing that happened to a workspace. String says what, for
// logs. The changes are [Opened], [Edited], [Saved], [Closed], [FoldersSet] and
// [Negotiated].
type Change interface {
	String() string
	// apply returns the snapshot after s, or s itself if nothing came of it. It
	// may return both a snapshot and an error: the change was refused, and that
	// is something to know too.
	apply(s *Snapshot) (*Snapshot, error)
}

// Apply makes c happen, tells the watchers and returns the new head. On an
// error the change did not happen and the snapshot is nil; an edit that was
// refused still makes a new head, in which the document is Lost.
//
// Changes are announced in the order in which they happened. When Apply is
// called by several goroutines, or by a watcher, it may return before its own
// change was announced.
func (w *Workspace) Apply(c Change) (*Snapshot, error) {
	w.writing.Lock()
	old := w.Snapshot()
	next, err := c.apply(old)
	// An edit that was refused makes a head, too, in which its document is lost.
	if next != nil && next != old {
		w.head.Store(next)
		w.news.add(announcement{next, c})
	}
	w.writing.Unlock()
	w.news.deliver()
	if err != nil {
		return nil, err
	}
	return next, nil
}

// Watch calls f after each change, with the head that the change made, until
// stop is called; a call that has begun when stop is called still ends. F runs
// on the goroutine of whoever applied a change, outside the lock under which
// heads are made, one call at a time and in order: it may read and apply
// changes, and it must be quick.
func (w *Workspace) Watch(f func(*Snapshot, Change)) (stop func()) {
	return w.news.watch(f)
}

// announcement is a new head and what made it.
type announcement struct {
	head   *Snapshot
	change Change
}

// news is the queue of announcements that watchers have not had yet.
type news struct {
	mu       sync.Mutex
	queue    []announcement
	busy     bool // somebody delivers
	watchers []*watcher
}

// watcher is one call of Watch: a pointer, so that two of the same function are two.
type watcher struct{ f func(*Snapshot, Change) }

// add queues an announcement. It is called under the lock of writers, so the queue has
// their order.
func (n *news) add(a announcement) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.watchers) > 0 {
		n.queue = append(n.queue, a)
	}
}

// watch adds a watcher; what it returns takes it out, and may be called more than
// once.
func (n *news) watch(f func(*Snapshot, Change)) func() {
	n.mu.Lock()
	defer n.mu.Unlock()
	added := &watcher{f}
	// The slice is replaced, never changed: deliver walks an old one without the lock.
	n.watchers = append(slices.Clone(n.watchers), added)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.watchers = slices.DeleteFunc(slices.Clone(n.watchers), func(w *watcher) bool { return w == added })
	}
}

// deliver empties the queue, unless somebody already does.
// So each announcement is told by one goroutine, and all in order.
func (n *news) deliver() {
	n.mu.Lock()
	if n.busy {
		n.mu.Unlock()
		return
	}
	n.busy = true
	// A watcher that panics must not stop the news for ever.
	defer func() {
		n.busy = false
		n.mu.Unlock()
	}()
	for len(n.queue) > 0 {
		// While tell calls watchers the lock is free, and what they apply is told by this loop.
		a, watchers := n.queue[0], n.watchers
		n.queue = n.queue[1:]
		n.tell(a, watchers)
	}
	n.queue = nil
}

// tell calls the watchers without the lock, which it holds again when it ends
// in whichever way.
func (n *news) tell(a announcement, watchers []*watcher) {
	n.mu.Unlock()
	defer n.mu.Lock()
	for _, w := range watchers {
		w.f(a.head, a.change)
	}
}
