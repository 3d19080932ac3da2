package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/agentls/agentls/workspace"
)

// Of the daemon's own log (REL-49): at most so many bytes a file, and so many
// files, of which the newest has the plain name.
const (
	logSize  = 10 << 20
	logFiles = 3
)

// logFile is a log that is kept to a size: a file that is full becomes NAME.1,
// that one NAME.2, and the last one goes. Several processes may write to one.
// It is opened when the first line comes. Lines that cannot be written are
// dropped, and counted; the next one that can says how many.
type logFile struct {
	path string
	// size is of one file, in bytes; 0 is logSize. Tests have a smaller one.
	size int64

	mu sync.Mutex
	// file is nil while it is not open.
	file *os.File
	// dropped counts the lines that could not be written since the last one that could.
	dropped int
	// why is the last reason.
	why error
	// torn says that the last line was written in part: the next one begins with a line
	// end.
	torn bool
}

// Write writes one line. It never fails: a log that is full is no reason not to work. A
// line goes to the system in one call, so that lines of several processes do not mix.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(line); err != nil {
		l.dropped, l.why = l.dropped+1, err
		_ = l.close() // it may be another disk by the next line
	}
	return len(line), nil
}

// write writes one line, after the news of lines that were dropped before it. l.mu is
// held, as for all methods below that are not exported.
func (l *logFile) write(line []byte) error {
	if err := l.ready(int64(len(line))); err != nil {
		return err
	}
	var head []byte
	if l.torn {
		head = append(head, '\n')
	}
	if l.dropped > 0 {
		head = fmt.Appendf(head, "level=WARN msg=\"lines of this log were dropped\" lines=%d err=%q\n", l.dropped,
			l.why)
	}
	// One call: the file is opened to append, so lines of other processes stay whole.
	n, err := l.file.Write(append(head, line...))
	l.torn = err != nil && (n > 0 || l.torn)
	if err == nil {
		l.dropped, l.why = 0, nil
	}
	return err
}

// ready makes sure that the file is open and has room for more bytes. A full file is moved
// on first, unless another process has done so already: then the new one is opened. More
// bytes than a whole file has room for go into an empty one.
func (l *logFile) ready(more int64) error {
	limit := l.size
	if limit == 0 {
		limit = logSize
	}
	if l.file == nil {
		if err := l.open(); err != nil {
			return err
		}
	}
	info, err := l.file.Stat()
	if err != nil || info.Size() == 0 || info.Size()+more <= limit {
		return err
	}
	// Another process may have moved the file on already.
	if now, err := os.Stat(l.path); err == nil && os.SameFile(info, now) {
		for n := logFiles - 1; n > 0; n-- {
			from := l.path
			if n > 1 {
				from = fmt.Sprintf("%s.%d", l.path, n-1)
			}
			// Between the look and this, another process may have moved it.
			if err := os.Rename(from, fmt.Sprintf("%s.%d", l.path, n)); err != nil && n == 1 &&
				!errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	_ = l.close() // every line of it was written
	return l.open()
}

// open opens the file and makes its folder. It refuses a pipe, whose opening may take for
// ever, and a file that is another user's or that others can write.
func (l *logFile) open() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(l.path); err == nil && !info.Mode().IsRegular() && info.Mode()&os.ModeDevice == 0 {
		return fmt.Errorf("%s is not a file", l.path) // to open a pipe may take for ever
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = workspace.Private(info)
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return fmt.Errorf("%s: %w", l.path, err)
	}
	l.file = file
	return nil
}

// close closes the file, if it is open.
func (l *logFile) close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// Close closes the file. A line that comes later opens it again.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.close()
}

// masked is a log from which secrets are taken out. slog writes a record at once, so that
// no secret is cut in two by the border between writes.
type masked struct {
	to   io.Writer
	mask func([]byte) []byte
}

// Write writes a record.
func (m masked) Write(record []byte) (int, error) {
	if _, err := m.to.Write(m.mask(record)); err != nil {
		return 0, err
	}
	return len(record), nil
}

// levels says what is logged: on standard error what a person should know, in a
// file also what helps to find out what happened; everything when debugging.
func levels(debug string) (errs, file slog.Level) {
	if debug != "" {
		return slog.LevelDebug, slog.LevelDebug
	}
	return slog.LevelWarn, slog.LevelInfo
}
