package activity

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// Recovery tells what Open found damaged. The zero Recovery is a log that was
// whole.
//
// The session tells the person of a Damaged one. A Cut alone is no loss: it is the
// rest of a write that a power cut or a kill ended, of an event that was never
// announced.
type Recovery struct {
	Cut  int64  // bytes after the last whole line, which were cut: an event that nobody had been told of
	Bad  int    // lines that were moved to File
	Lost []Span // the events that cannot be read any more
	File string // "<session>.bad"; "" where nothing was moved
}

// Span is the events From..To.
type Span struct{ From, To uint64 }

// Damaged reports whether something that had been recorded is lost.
func (r Recovery) Damaged() bool { return r.Bad > 0 || len(r.Lost) > 0 }

// Open opens the log at cfg.Path, or begins it where there is none. The caller
// makes sure that nobody else writes it.
//
// What it fixes (spec 3.1), it reports: a line that was not wholly written is
// cut; a line that does not match its checksum, or is out of order, is moved to
// "<session>.bad", and a note takes the place of the events that are missing,
// so that numbers stay without a gap; what follows is read. Types and members
// that this version does not know are kept.
//
// A log of a newer format is left as it is: fault.Unavailable with the reason
// config. A file that cannot be read or written gives fault.Unavailable.
//
// It reads all segments, so it takes time in proportion to the log. cfg.Fold is
// called for each event on the caller's goroutine before Open returns. On an error
// nothing is open, and a file that was not there may have been begun.
func Open(cfg Config) (*Log, Recovery, error) {
	if cfg.Now == nil || cfg.Session == "" {
		return nil, Recovery{}, fault.New(fault.Internal, "activity.open", "a log needs a session and a clock")
	}
	l := &Log{cfg: cfg}
	o := opener{log: l}
	begin := o.open
	if cfg.Path == "" {
		begin = o.inMemory
	} else if l.files = cfg.Files; l.files == nil {
		l.files = disk{}
	}
	if err := begin(); err != nil {
		for _, s := range o.segs {
			if s.file != nil {
				_ = s.file.Close() // nothing was written
			}
		}
		if _, ok := errors.AsType[*fault.Error](err); ok {
			return nil, Recovery{}, err
		}
		return nil, Recovery{}, fault.New(fault.Unavailable, "activity.open",
			"The session %s cannot be opened: %w. Fix the file or use another session.", cfg.Session, err)
	}
	if r := o.found; r.Cut > 0 || r.Damaged() {
		l.logger().Warn("log fixed", "session", cfg.Session, "cutBytes", r.Cut, "badLines", r.Bad, "lost",
			r.Lost, "file", r.File)
	}
	return l, o.found, nil
}

// opener is what Open knows while it reads.
type opener struct {
	log   *Log
	segs  []*segment
	found Recovery
}

// edit is a change of a segment's bytes: from off to end goes, note comes.
type edit struct {
	off, end int64
	note     []byte
	bad      bool // what goes is kept in the file of bad lines
	events   int  // how many events a bad line seems to have been
}

// inMemory begins a log without a file.
// Of a session that goes on from another one it keeps the copied events, which must
// all be there. Everything counts as written and synced.
func (o *opener) inMemory() error {
	l := o.log
	l.created = l.cfg.Now().UTC().Truncate(time.Millisecond)
	l.title, l.agent = l.cfg.Title, l.cfg.Agent
	if l.cfg.Copy == nil {
		return nil
	}
	err := o.copyEvents(func(e Entry) error {
		if e.FromSeq < e.Seq {
			return errors.New("the beginning of the session that it is to go on from is not kept any more")
		}
		l.tail.add(e.Seq, e.line(nil))
		return nil
	})
	l.written, l.synced = l.last, l.last
	l.announce()
	return err
}

// open reads the segments in order and makes the last one the log's own. It is done
// in two passes over the files: how far a segment counts depends on where the next
// one begins.
func (o *opener) open() error {
	l := o.log
	for n := 1; ; n++ {
		s := &segment{path: segmentPath(l.cfg.Path, n), number: n}
		f, err := l.files.Open(s.path, os.O_RDWR|os.O_APPEND, 0)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
		s.file = f
		o.segs = append(o.segs, s)
	}
	if len(o.segs) == 0 {
		return o.create()
	}
	// A segment is read up to where the next one begins: that one repeats what
	// was not known to be on disk.
	begins := make([]uint64, len(o.segs))
	for i, s := range o.segs {
		var err error
		if begins[i], err = o.begin(s); err != nil {
			return err
		}
	}
	for i, s := range o.segs {
		limit := uint64(math.MaxUint64)
		for _, b := range begins[i+1:] {
			if b != 0 {
				limit = min(limit, b)
			}
		}
		if err := o.read(s, limit); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(s.path), err)
		}
	}
	for _, s := range o.segs[:len(o.segs)-1] {
		_ = s.file.Close() // only read, or synced by fix
		s.file = nil
	}
	l.seg = o.segs[len(o.segs)-1]
	if l.last > 0 {
		// What an earlier process wrote is not known to be on disk.
		if err := l.seg.file.Sync(); err != nil {
			return err
		}
	}
	l.seg.dirty = true
	l.written, l.synced, l.announced, l.restLast = l.last, l.last, l.last, l.last
	return nil
}

// create begins a log that has no file. Its name is synced with the first event
// that must be.
func (o *opener) create() error {
	l := o.log
	s := &segment{path: l.cfg.Path, number: 1, dirty: true}
	f, err := l.files.Open(s.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	s.file = f
	o.segs = []*segment{s}
	l.title, l.agent = l.cfg.Title, l.cfg.Agent
	head := l.headerLine()
	if _, err := f.Write(head); err != nil {
		return err
	}
	s.size = int64(len(head))
	l.seg = s
	h, err := parseHeader(head)
	l.created = h.creationTime()
	if err == nil && l.cfg.Copy != nil {
		err = o.copy(s)
	}
	return err
}

// begin returns the first event of a segment that can be read, 0 where there is
// none, and refuses a newer format.
func (o *opener) begin(s *segment) (uint64, error) {
	size, err := s.file.Size()
	if err != nil {
		return 0, err
	}
	for in, first := newLines(s.file, 0, size), true; ; first = false {
		line, _, _, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return 0, nil
		case errors.Is(err, errLong):
			continue
		case err != nil:
			return 0, err
		}
		if first {
			if h, err := parseHeader(line); err == nil && h.Format > Format {
				return 0, fault.New(fault.Unavailable, "activity.open",
					"The session %s was written by agentls %s in a newer form (%d); update agentls, or use another session.",
					o.log.cfg.Session, h.Agentls, h.Format).Because(fault.Config)
			}
		}
		if e, ok := verify(line); ok && believed(e.Seq, e.FromSeq-1) {
			return e.FromSeq, nil
		}
	}
}

// reading is one segment that is read into the log, and fixed where it is damaged.
//
// A bad line is not moved aside before something readable has followed it, or the
// end of the segment has come: at the very end a torn line is the rest of an
// interrupted write and is cut, in the middle it is damage and is kept.
type reading struct {
	*opener
	s       *segment
	limit   uint64 // the first event of the next segment
	edits   []edit
	pending []edit // bad lines that nothing readable has followed yet
	shift   int64  // how much longer the fixed segment is, so far
	size    int64
	end     int64 // where what is read ends
}

// insert notes a text that the fixed segment has besides.
func (r *reading) insert(e edit) {
	r.edits = append(r.edits, e)
	r.shift += int64(len(e.note))
}

// commit notes that the bad lines go, since something readable follows them.
func (r *reading) commit() {
	for _, e := range r.pending {
		r.shift -= e.end - e.off
	}
	r.edits, r.pending = append(r.edits, r.pending...), nil
}

// addHole notes that events up to one are missing at a place.
func (r *reading) addHole(at int64, to uint64) {
	from := r.log.last + 1
	r.s.size = at + r.shift
	r.log.mark(r.s, from)
	r.insert(edit{off: at, end: at, note: r.hole(from, to)})
}

// read takes a segment's events before limit into the log, and fixes the
// segment where it is damaged.
func (o *opener) read(s *segment, limit uint64) error {
	size, err := s.file.Size()
	if err != nil {
		return err
	}
	r := &reading{opener: o, s: s, limit: limit, size: size, end: size}
	if err := r.lines(); err != nil {
		return err
	}
	r.close()
	s.size = size
	switch {
	case len(r.edits) > 0:
		return o.repairSegment(s, r.edits, r.end)
	case r.end < size:
		o.found.Cut += size - r.end
		if err := s.file.Truncate(r.end); err != nil {
			return err
		}
		s.size = r.end
		return s.file.Sync()
	}
	return nil
}

// lines reads the segment's lines, up to the first that the next segment has.
//
// A first line that is no header is taken for an event, and a header is put before it.
// Lines that are too long are read on as damaged ones.
func (r *reading) lines() error {
	l := r.log
	in := newLines(r.s.file, 0, r.size)
	for first := true; ; first = false {
		line, off, whole, err := in.next()
		if errors.Is(err, io.EOF) {
			if first {
				r.insert(edit{note: l.headerLine()})
			}
			return nil
		}
		if err != nil && !errors.Is(err, errLong) {
			return err
		}
		if first {
			if h, err := parseHeader(line); err == nil && whole {
				if r.s.number == 1 {
					l.created, l.title, l.agent = h.creationTime(), h.Title, h.Agent
				}
				continue
			}
			r.insert(edit{note: l.headerLine()})
		}
		if covered := r.line(line, off, in.off, whole); covered {
			return nil
		}
	}
}

// line takes one line from off to end, and reports whether the next segment has it.
//
// A damaged last line without its end is cut off, since it was being written; any other
// that cannot be believed waits in pending, and goes once a readable one
// follows.
func (r *reading) line(line []byte, off, end int64, whole bool) (covered bool) {
	l := r.log
	e, ok := verify(line)
	ok = ok && believed(e.Seq, l.last)
	switch {
	case !ok && !whole:
		r.end = off
	case ok && e.FromSeq >= r.limit:
		r.end = off
		return true
	case !ok || e.FromSeq <= l.last || e.Seq >= r.limit:
		// What reaches past limit speaks of events that the next segment has.
		// A line feed that is damaged makes one line of two.
		events := max(1, bytes.Count(line, []byte(`{"seq":`)))
		r.pending = append(r.pending, edit{off: off, end: end, bad: true, events: events})
	default:
		r.commit()
		if e.FromSeq > l.last+1 {
			r.addHole(off, e.FromSeq-1)
		}
		if !whole {
			r.edits = append(r.edits, edit{off: r.size, end: r.size, note: []byte("\n")})
		}
		r.s.size = off + r.shift
		l.mark(r.s, e.FromSeq)
		l.last = e.Seq
		r.fold(e)
	}
	return false
}

// close notes events that are missing at the end: they are known from where the next
// segment begins, or else counted.
func (r *reading) close() {
	l, limit := r.log, r.limit
	if !believed(limit, l.last) {
		limit = math.MaxUint64
	}
	switch {
	case limit == math.MaxUint64 && len(r.pending) > 0:
		lost := 0
		for _, e := range r.pending {
			lost += e.events
		}
		r.commit()
		r.addHole(r.end, l.last+uint64(lost))
	case limit != math.MaxUint64 && limit > l.last+1:
		r.commit()
		r.addHole(r.end, limit-1)
	}
	if limit != math.MaxUint64 {
		// The next segment has what follows; what is left here is no loss.
		r.end = r.size
	}
}

// verify reads a line that must match its checksum.
func verify(line []byte) (Entry, bool) {
	body, ok := unseal(line)
	if !ok {
		return Entry{}, false
	}
	return parse(body, true)
}

// believed reports whether a line may claim the number seq where last is the
// newest event before it.
func believed(seq, last uint64) bool { return seq <= maxFound || seq <= last+maxLost }

// fold tells the owner of an event that the log has. Data that does not fit its
// type, as a newer version may write it, is kept and told as [Unknown].
func (o *opener) fold(e Entry) {
	if o.log.cfg.Fold == nil || strings.HasSuffix(e.Type, ".delta") {
		return
	}
	event, err := e.Event(o.log.cfg.Session)
	if err != nil {
		o.log.logger().Warn("log data not understood", "session", o.log.cfg.Session, "err", err)
		event = Event{Seq: e.Seq, Session: o.log.cfg.Session,
			Body: Unknown{Name: e.Type, Data: bytes.Clone(e.rest[e.data:e.dataEnd])}}
	}
	o.log.cfg.Fold(event)
}

// hole records that the events from..to are lost, and returns the line that
// stands for them.
func (o *opener) hole(from, to uint64) []byte {
	l := o.log
	note := Note{Level: "warning",
		Message: fmt.Sprintf("Event %d of this session could not be read and was set aside in %s.", from,
			filepath.Base(o.badPath()))}
	if from < to {
		note.Message = fmt.Sprintf("Events %d to %d of this session could not be read and were set aside in %s.", from,
			to, filepath.Base(o.badPath()))
	}
	o.found.Lost = append(o.found.Lost, Span{from, to})
	l.last = to
	now := l.cfg.Now()
	if l.cfg.Fold != nil {
		l.cfg.Fold(Event{Seq: to, Time: now, Session: l.cfg.Session, Body: note})
	}
	return l.enc.hole(nil, from, to, now, note)
}
