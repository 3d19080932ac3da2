package activity

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// suffix ends the name of every segment.
const suffix = ".jsonl"

// maxLine bounds a line, in bytes; what is longer is damage.
const maxLine = 256 << 20

// point says where the line of an event lies. A log has a few for each
// megabyte.
type point struct {
	seq uint64
	seg *segment
	off int64
}

// segment is one file of a log.
//
// A log has one segment until a write or sync fails; each failure begins another, and the old ones
// are only read from then on.
type segment struct {
	path   string
	number int   // from 1
	file   File  // nil when it is not the one that is written
	size   int64 // where the next line goes
	dirty  bool  // the folder may not have its name on stable storage
	gone   bool  // another file has its name, and its points are of no use; guarded by the log's mu
}

// segmentPath returns the file of a log's segment; path is the first one's.
func segmentPath(path string, number int) string {
	if number == 1 {
		return path
	}
	return strings.TrimSuffix(path, suffix) + "." + strconv.Itoa(number) + suffix
}

// begin makes the segment's file, with the given content, on stable storage.
// What a try that failed left is replaced: nothing in it was announced from
// there.
func (s *segment) begin(files Files, head []byte, ranges []stretch) (err error) {
	f, err := files.Open(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = files.Remove(s.path) // the next try replaces it
		}
	}()
	if _, err = f.Write(head); err != nil {
		return err
	}
	for _, r := range ranges {
		if _, err = f.Write(r.bytes); err != nil {
			return err
		}
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = files.SyncDir(filepath.Dir(s.path)); err != nil {
		return err
	}
	s.file = f
	return nil
}

// sync puts the segment's content, and the first time its name, on stable
// storage.
func (s *segment) sync(files Files) error {
	if err := s.file.Sync(); err != nil {
		return err
	}
	if s.dirty {
		if err := files.SyncDir(filepath.Dir(s.path)); err != nil {
			return err
		}
		s.dirty = false
	}
	return nil
}

// lines reads a file line by line.
//
// It reads with ReadAt in steps of 64 KiB and more, so it does not disturb who appends to the same
// file. A line longer than maxLine is skipped and costs no memory.
type lines struct {
	from File
	size int64 // of the file
	off  int64 // of the next line
	buf  []byte
	used int   // bytes of buf that were given out
	read int64 // where buf's end lies in the file
	keep bool  // lines stay good: a buffer is used once
}

// newLines reads f from off, the beginning of a line, up to size; what is written behind it
// meanwhile is not seen.
func newLines(f File, off, size int64) *lines {
	return &lines{from: f, off: off, read: off, size: size}
}

// errLong is a line over maxLine.
var errLong = errors.New("a line is too long")

// next returns the next line without its line feed, and where it lies. whole is
// false for what follows the last line feed. The bytes are good until the next
// call, or always with keep. io.EOF ends the lines; errLong stands for one line, which is skipped.
func (l *lines) next() (line []byte, off int64, whole bool, err error) {
	off = l.off
	searched := 0
	for {
		rest := l.buf[l.used:]
		if i := bytes.IndexByte(rest[searched:], '\n'); i >= 0 {
			n := searched + i
			l.used += n + 1
			l.off += int64(n) + 1
			return rest[:n], off, true, nil
		}
		searched = len(rest)
		if l.read >= l.size {
			l.used = len(l.buf)
			l.off = l.size
			if len(rest) == 0 {
				return nil, off, false, io.EOF
			}
			return rest, off, false, nil
		}
		if len(rest) > maxLine {
			return nil, off, true, l.skip()
		}
		if err := l.fill(); err != nil {
			return nil, off, false, err
		}
	}
}

// fill reads more of the file behind what is not given out yet.
func (l *lines) fill() error {
	rest := len(l.buf) - l.used
	want := max(min(64<<10, int(l.size-l.read)), rest)
	if cap(l.buf)-len(l.buf) < want {
		to := l.buf[:0]
		if l.keep || cap(l.buf)-rest < want {
			to = make([]byte, 0, rest+want)
		}
		l.buf, l.used = append(to, l.buf[l.used:]...), 0
	}
	room := l.buf[len(l.buf):cap(l.buf)]
	if left := l.size - l.read; left < int64(len(room)) {
		room = room[:left]
	}
	n, err := l.from.ReadAt(room, l.read)
	l.buf = l.buf[:len(l.buf)+n]
	l.read += int64(n)
	if (n == 0 && err == nil) || (errors.Is(err, io.EOF) && n == 0) {
		return io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// skip goes past the next line feed, keeping nothing.
func (l *lines) skip() error {
	for {
		l.off = l.read
		l.buf, l.used = nil, 0
		if l.read >= l.size {
			return errLong
		}
		if err := l.fill(); err != nil {
			return err
		}
		if i := bytes.IndexByte(l.buf, '\n'); i >= 0 {
			l.used = i + 1
			l.off += int64(i) + 1
			return errLong
		}
	}
}
