package activity

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// Summary is what a log's ends tell.
type Summary struct {
	Session string
	Agentls string    // the version that began it
	Created time.Time // zero where the header cannot be read
	Updated time.Time // of the newest event that can be read; else Created
	Last    uint64    // the newest event that can be read near the end; 0 = none
}

// tailRead is how much of a file's end Inspect reads.
const tailRead = 64 << 10

// Inspect reads the header and the end of the log at path: its cost does not
// grow with the log. It changes nothing and takes no lock, so it may be asked of
// a log that is being written. files may be nil. A log that is not there gives
// fault.NotFound, one that cannot be read fault.Unavailable.
func Inspect(files Files, path string) (Summary, error) {
	if files == nil {
		files = disk{}
	}
	var sum Summary
	for n := 1; ; n++ {
		f, err := files.Open(segmentPath(path, n), os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			if n == 1 {
				return sum, fault.New(fault.NotFound, "activity.inspect", "there is no log at %s", path)
			}
			break
		}
		if err == nil {
			err = sum.read(f, n == 1)
			_ = f.Close() // only read
		}
		if err != nil {
			return sum, fault.New(fault.Unavailable, "activity.inspect", "The log at %s cannot be read: %w.", path, err)
		}
	}
	if sum.Updated.IsZero() {
		sum.Updated = sum.Created
	}
	return sum, nil
}

// read takes what a segment's ends tell.
func (s *Summary) read(f File, first bool) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	if first {
		line, _, _, err := newLines(f, 0, min(size, tailRead)).next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if h, err := parseHeader(line); err == nil {
			s.Session, s.Agentls, s.Created = h.Session, h.Agentls, h.created()
		}
	}
	for in := newLines(f, max(0, size-tailRead), size); ; {
		line, _, _, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if e, ok := verify(line); ok && e.Seq > s.Last {
			if event, err := e.Event(s.Session); err == nil {
				s.Last, s.Updated = e.Seq, event.Time
			}
		}
	}
}
