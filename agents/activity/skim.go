package activity

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// endRead is how much of a long log's beginning, and of its end, Skim reads.
const endRead = 64 << 10

// Skimmer reads what is of interest in logs that are not open: it changes
// nothing and takes no lock, so a log may be written meanwhile. It serves one
// goroutine, and keeps its buffer for the next log.
type Skimmer struct {
	// Files is the file system; nil is the machine's.
	Files Files
	// Max is how long a log may be, in bytes, to be read whole.
	Max int64
	// Segments is how many files the log has, where that is known; 0 = it is
	// found out.
	Segments int
	// Types are those of the events that are wanted.
	Types []string

	// Between two logs, for the next one.
	buf []byte
}

// Skimmed is what a log tells.
type Skimmed struct {
	Session string    // "" where the header cannot be read
	Format  int       // of the log; more than [Format] is a newer version's
	Title   string    // "" for none
	Agent   string    // as [Log.Agent]
	Agentls string    // the version that began it
	Created time.Time // zero where the header cannot be read
	Updated time.Time // of the newest event that was read; else Created
	Last    uint64    // the newest event that was read; 0 = none
	Whole   bool      // all of it was read
	Bad     int       // lines that cannot be read, of those that were looked at; a last one that is torn is none
}

// Skim tells fn, in order, the wanted events of the log at path: of one that is
// longer than Max those near its beginning and its end, so that the cost does
// not grow with the log. Data that does not fit its type is passed over. A log
// that is not there gives fault.NotFound, one that cannot be read
// fault.Unavailable.
//
// Of a log whose Whole is false, sums over its events are wrong; only what the
// first and the last ones say is right. Events come decoded, on the caller's
// goroutine.
func (k *Skimmer) Skim(path string, fn func(Event)) (Skimmed, error) {
	var out Skimmed
	files := k.Files
	if files == nil {
		files = disk{}
	}
	var segs []File
	defer func() {
		for _, f := range segs {
			_ = f.Close() // only read
		}
	}()
	var total int64
	var sizes []int64
	for n := 1; k.Segments == 0 || n <= k.Segments; n++ {
		f, err := files.Open(segmentPath(path, n), os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) && n > 1 {
			break
		}
		if errors.Is(err, fs.ErrNotExist) {
			return out, fault.New(fault.NotFound, "activity.skim", "there is no log at %s", path)
		}
		var size int64
		if err == nil {
			segs = append(segs, f)
			size, err = f.Size()
		}
		if err != nil {
			return out, fault.New(fault.Unavailable, "activity.skim", "The log at %s cannot be read: %w.", path, err)
		}
		sizes, total = append(sizes, size), total+size
	}
	s := skim{k: k, out: &out, fn: fn}
	out.Whole = total <= k.Max
	var err error
	for i, f := range segs {
		first, last := i == 0, i == len(segs)-1
		switch {
		case out.Whole || (sizes[i] <= 2*endRead && (first || last)):
			err = s.read(f, 0, sizes[i], first)
		case first && last:
			if err = s.read(f, 0, endRead, true); err == nil {
				err = s.read(f, sizes[i]-endRead, sizes[i], false)
			}
		case first:
			err = s.read(f, 0, endRead, true)
		case last:
			err = s.read(f, sizes[i]-endRead, sizes[i], false)
		}
		if err != nil {
			return out, fault.New(fault.Unavailable, "activity.skim", "The log at %s cannot be read: %w.", path, err)
		}
	}
	if out.Updated.IsZero() {
		out.Updated = out.Created
	}
	return out, nil
}

// skim is one Skim.
type skim struct {
	k   *Skimmer
	out *Skimmed
	fn  func(Event)
}

// read takes the lines of f between two places. header says that the log begins
// there.
// The first line between them is never an event: it is the segment's header, or
// was cut in two. A line that cannot be read is counted, and an unfinished one
// at the end is not: it may be being written.
func (s *skim) read(f File, from, to int64, header bool) error {
	in := newLines(f, from, to)
	in.buf = s.k.buf[:0]
	defer func() {
		if cap(in.buf) <= 4*endRead {
			s.k.buf = in.buf
		}
	}()
	for first := true; ; first = false {
		line, _, whole, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, errLong) {
			return err
		}
		if first {
			// Of a segment its header; else a line whose beginning was not read.
			if h, err := parseHeader(line); err == nil && header {
				s.out.Session, s.out.Format, s.out.Agentls = h.Session, h.Format, h.Agentls
				s.out.Title, s.out.Agent, s.out.Created = h.Title, h.Agent, h.creationTime()
			}
			continue
		}
		var e Entry
		body, ok := unseal(line)
		if ok {
			e, ok = parse(body, false)
		}
		if !ok {
			if whole {
				s.out.Bad++
			}
			continue
		}
		if e.Seq <= s.out.Last {
			continue // a new segment repeats it
		}
		s.out.Last = e.Seq
		if t := e.time(); !t.IsZero() {
			s.out.Updated = t
		}
		if slices.Contains(s.k.Types, e.Type) {
			if event, err := e.Event(s.out.Session); err == nil {
				s.fn(event)
			}
		}
	}
	return nil
}
