package activity

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// watchEvery is how often a log that another process writes is looked at while somebody
// waits for its events.
const watchEvery = 200 * time.Millisecond

// watcher reads a log that another process writes.
type watcher struct {
	log  *Log
	seg  *segment // that is read
	info fs.FileInfo
	stop chan struct{}
}

// Watch opens the log at cfg.Path for reading while another process may write it: it
// takes no lock and changes nothing, and nothing can be appended. What is new is seen by
// [Log.Look], and shortly after it came by who follows the log. A line that is damaged is
// passed over. No log gives fault.NotFound, one that cannot be read fault.Unavailable.
// Close it.
//
// cfg.Now, Mask, Health and Copy are not used. cfg.Fold is called as by Open, for what is
// there and then for what comes, under the log's lock.
func Watch(cfg Config) (*Log, error) {
	l := &Log{cfg: cfg, files: cfg.Files, closing: true} // closing: nothing is appended
	if l.files == nil {
		l.files = disk{}
	}
	l.watched = &watcher{log: l, stop: make(chan struct{}), seg: &segment{path: cfg.Path, number: 1}}
	if err := l.Look(); err != nil {
		return nil, err
	}
	l.wg.Go(l.watched.run)
	return l, nil
}

// run looks for new events while somebody waits for them.
//
// It looks only while somebody waits for more.
func (w *watcher) run() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
		w.log.mu.Lock()
		wanted := w.log.grown != nil
		w.log.mu.Unlock()
		if !wanted {
			continue
		}
		if err := w.log.Look(); err != nil {
			w.log.logger().Debug("log not read", "session", w.log.cfg.Session, "err", err)
		}
	}
}

// Look takes in what another process has written to a log that is watched.
// For a log of our own it does nothing.
func (l *Log) Look() error {
	if l.watched == nil {
		return nil
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	err := l.watched.look()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, "activity.watch", "there is no log at %s", l.cfg.Path)
	case err != nil:
		return fault.New(fault.Unavailable, "activity.watch", "The log at %s cannot be read: %w.", l.cfg.Path, err)
	}
	return nil
}

// look reads what is new in the segment that is read, and then in those that follow it.
// The caller holds syncing, so that only one look goes on.
func (w *watcher) look() error {
	if w.info != nil {
		if now, err := os.Stat(w.seg.path); err == nil && !os.SameFile(w.info, now) {
			w.restart() // it was rewritten, without what a person had erased
		}
	}
	for {
		if err := w.read(); err != nil {
			return err
		}
		next := &segment{path: segmentPath(w.log.cfg.Path, w.seg.number+1), number: w.seg.number + 1}
		if _, err := os.Stat(next.path); err != nil {
			return nil
		}
		w.seg, w.info = next, nil
	}
}

// restart reads all segments again, for where the lines lie by now.
func (w *watcher) restart() {
	l := w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.index {
		p.seg.gone = true
	}
	l.index = nil
	w.seg, w.info = &segment{path: l.cfg.Path, number: 1}, nil
}

// read takes in the whole lines of a segment behind those that it took before.
// The log's lock is taken for one line at a time, so that readers never wait for the
// disk. A line that is not whole is left for the next time.
func (w *watcher) read() error {
	l, s := w.log, w.seg
	file, err := l.files.Open(s.path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if w.info == nil {
		if w.info, err = os.Stat(s.path); err != nil {
			return err
		}
	}
	size, err := file.Size()
	if err != nil {
		return err
	}
	in, from := newLines(file, s.size, size), s.size
	for {
		line, off, whole, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLong):
			continue
		case err != nil:
			return err
		case !whole:
			return nil // it is being written
		}
		header := from == 0 && off == 0
		if header && s.number == 1 {
			if h, err := parseHeader(line); err == nil {
				l.created, l.title, l.agent = h.creationTime(), h.Title, h.Agent
			}
		}
		e, ok := verify(line)
		l.mu.Lock()
		s.size = off
		if ok {
			l.mark(s, e.FromSeq)
		}
		fresh := ok && e.Seq > l.last
		if fresh {
			l.last, l.written, l.synced = e.Seq, e.Seq, e.Seq
			(&opener{log: l}).fold(e)
			l.announce()
		}
		s.size = in.off
		l.mu.Unlock()
	}
}
