package activity

import (
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// write is the writer: it writes and syncs until nothing is left.
// It runs on a goroutine that wake starts, and ends when nothing is left.
func (l *Log) write() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drain()
}

// drain does the writer's work. l.mu is held, and let go during each call of
// the disk.
//
// The order of the cases is the order of need: a segment that broke is replaced
// before anything else, since nothing may be written to it; what is not written
// yet is written before a sync, so that one sync covers more.
func (l *Log) drain() {
	l.drainer = true
	defer func() {
		if l.drainer = false; l.purgers > 0 {
			l.broadcast()
		}
	}()
	for {
		switch {
		case l.broken != nil:
			if !l.renew() {
				return
			}
		case l.written < l.last:
			l.flush()
		case len(l.owed) > 0:
			l.sync()
		default:
			return
		}
	}
}

// flush hands all that was appended to the file. l.mu is held, and let go
// meanwhile; only the writer calls it, so l.written stays as it was.
//
// A write that fails may have written a part; the segment is given up then, and
// the next one repeats what was not synced.
func (l *Log) flush() {
	from, to, seg := l.written+1, l.last, l.seg
	ranges := l.ranges(from, to)
	var err error
	size := 0
	l.withoutLock(func() {
		for _, r := range ranges {
			if _, err = seg.file.Write(r.bytes); err != nil {
				return
			}
			size += len(r.bytes)
		}
	})
	if err != nil {
		l.broke(err)
		return
	}
	if l.broken != nil {
		return // a sync failed meanwhile: all of this goes to the next segment
	}
	for _, r := range ranges {
		l.mark(seg, r.first)
		seg.size += int64(len(r.bytes))
	}
	l.written = to
	l.unsafe += size
	l.announce()
	l.schedule(restAfter)
	if l.unsafe > unsafeMax && !l.resting && len(l.owed) == 0 && l.cfg.start == nil && !l.closing {
		l.resting = true
		l.spawn(l.background)
	}
	l.tail.drop(tailMax, min(l.synced, l.announced))
}

// stretch is consecutive lines of one block.
type stretch struct {
	first uint64
	bytes []byte
}

// ranges returns the lines from..to, which the tail holds. l.mu is held; the
// bytes never change.
func (l *Log) ranges(from, to uint64) []stretch {
	var out []stretch
	for i := l.tail.at(from); i < len(l.tail.blocks) && from <= to; i++ {
		b := l.tail.blocks[i]
		end := min(b.last(), to)
		out = append(out, stretch{from, b.lines(from, end)})
		from = end + 1
	}
	return out
}

// mark adds a point to the index where the last one is far enough away. l.mu is
// held; the event's line begins at the segment's end.
func (l *Log) mark(seg *segment, seq uint64) {
	if n := len(l.index); n > 0 {
		p := l.index[n-1]
		if p.seg == seg && seg.size-p.off < pointEvery {
			return
		}
	}
	l.index = append(l.index, point{seq: seq, seg: seg, off: seg.size})
}

// sync puts what is written on stable storage. l.mu is held, and let go
// meanwhile. Two syncs never overlap: the kernel tells of an error once, and
// the other one would believe that all is well.
func (l *Log) sync() {
	l.withoutLock(l.syncing.Lock)
	defer l.syncing.Unlock()
	seg, target, size := l.seg, l.written, l.unsafe
	if l.broken != nil || l.synced >= target {
		return
	}
	var err error
	l.withoutLock(func() { err = seg.sync(l.files) })
	if err != nil {
		l.broke(err)
		return
	}
	l.unsafe -= size
	l.settle(target)
}

// settle records that everything up to seq is on stable storage. l.mu is held.
func (l *Log) settle(seq uint64) {
	l.synced = seq
	n := 0
	for n < len(l.owed) && l.owed[n] <= seq {
		n++
	}
	if l.owed = l.owed[n:]; len(l.owed) == 0 {
		l.owed = nil
	}
	l.announce()
	l.tail.drop(tailMax, min(l.synced, l.announced))
}

// broke records that the segment must not be used any more. l.mu is held.
func (l *Log) broke(err error) {
	if l.broken == nil {
		l.broken = err
		l.logger().Warn("log segment given up", "session", l.cfg.Session, "file", l.seg.path, "err", err)
	}
}

// renew goes on in a new segment, which begins with all that is not known to be
// on disk. It reports whether that worked. l.mu is held, and let go meanwhile.
func (l *Log) renew() bool {
	l.withoutLock(l.syncing.Lock)
	defer l.syncing.Unlock()
	old, from, to := l.seg, l.synced+1, l.last
	var ranges []stretch
	if from <= to {
		ranges = l.ranges(from, to)
	}
	next := &segment{path: segmentPath(l.cfg.Path, old.number+1), number: old.number + 1}
	head := l.headerLine()
	var err error
	l.withoutLock(func() {
		if old.file != nil {
			_ = old.file.Close() // its failure is known
			old.file = nil
		}
		err = next.begin(l.files, head, ranges)
	})
	if err != nil {
		l.fail(err)
		return false
	}
	// Readers find what the new segment repeats there only.
	for len(l.index) > 0 && l.index[len(l.index)-1].seq >= from {
		l.index = l.index[:len(l.index)-1]
	}
	l.seg, next.size = next, int64(len(head))
	for _, r := range ranges {
		l.mark(next, r.first)
		next.size += int64(len(r.bytes))
	}
	l.logger().Warn("log goes on in a new segment", "session", l.cfg.Session, "file", next.path, "from",
		from, "because", l.broken)
	l.broken, l.unsaved, l.unsafe = nil, false, 0
	l.written = to
	if l.err != nil {
		l.err = nil
		l.broadcast()
		l.health(nil)
	}
	l.settle(to)
	return true
}

// fail records that no segment can be written, tells who must know, and tries
// again later. l.mu is held, and let go while Health runs.
func (l *Log) fail(err error) {
	first := l.err == nil
	l.err = fault.New(fault.Unavailable, "activity.write",
		"The session %s cannot be saved: %w. Make room or repair the disk; it goes on by itself then.", l.cfg.Session,
		err)
	l.broadcast()
	l.schedule(retryAfter)
	if first {
		l.logger().Error("log cannot be written", "session", l.cfg.Session, "err", err)
		l.health(l.err)
	}
}

// health tells who must know. l.mu is held, and let go meanwhile; the writer is
// still the only one.
func (l *Log) health(err error) {
	if l.cfg.Health != nil {
		l.withoutLock(func() { l.cfg.Health(err) })
	}
}

// withoutLock runs f without l.mu, which is held before and after, also when f
// panics.
func (l *Log) withoutLock(f func()) {
	l.mu.Unlock()
	defer l.mu.Lock()
	f()
}

// schedule makes tick run after d unless it is going to. l.mu is held.
func (l *Log) schedule(d time.Duration) {
	if l.timer == nil && !l.closing {
		l.timer = time.AfterFunc(d, l.tick)
	}
}

// tick does what is due: a new try, a sync, or letting the tail go.
//
// A log at rest lets go of its buffers; one that has failed is tried again.
func (l *Log) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	switch {
	case l.closing:
	case l.err != nil:
		if !l.drainer {
			l.drainer = true
			l.spawn(l.write)
		}
	case l.last == l.restLast && l.synced == l.last:
		// Readers that are behind find the rest in the file.
		l.tail.drop(0, min(l.synced, l.announced))
		l.scratch, l.enc = nil, encoder{}
	default:
		l.restLast = l.last
		l.schedule(restAfter)
		if l.synced < l.written && !l.resting {
			l.resting = true
			l.spawn(l.background)
		}
	}
}

// background syncs what nobody waits for.
func (l *Log) background() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sync()
	l.resting = false
	if l.broken != nil {
		l.wake()
	}
}
