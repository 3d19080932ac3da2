package activity

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// badPath is the file into which lines that cannot be read are moved, beside the
// log.
func (o *opener) badPath() string { return strings.TrimSuffix(o.log.cfg.Path, suffix) + ".bad" }

// repairSegment rewrites a segment: the bad lines go to the file of bad lines, notes
// come in, and what follows end is cut. The segment is replaced in one step, so
// a crash meanwhile leaves it as it was.
func (o *opener) repairSegment(s *segment, edits []edit, end int64) error {
	l := o.log
	o.found.Cut += s.size - end
	for _, e := range edits {
		if e.bad {
			if err := o.setAside(s, edits); err != nil {
				return err
			}
			break
		}
	}
	temp := s.path + ".tmp"
	f, err := l.files.Open(temp, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = o.rewrite(f, s, edits, end)
	if err == nil {
		err = l.files.Rename(temp, s.path)
	}
	if err == nil {
		err = l.files.SyncDir(filepath.Dir(s.path))
	}
	if err != nil {
		_ = f.Close()
		_ = l.files.Remove(temp) // a rest does no harm
		return err
	}
	_ = s.file.Close() // only read
	s.file = f
	s.size, err = f.Size()
	return err
}

// rewrite writes what a fixed segment holds.
// What an edit takes out is replaced by its note. end is where the part that is kept
// ends. It is synced before it returns.
func (o *opener) rewrite(f File, s *segment, edits []edit, end int64) error {
	at := int64(0)
	for _, e := range edits {
		if err := copyRange(f, s.file, at, min(e.off, end)); err != nil {
			return err
		}
		if _, err := f.Write(e.note); err != nil {
			return err
		}
		at = e.end
	}
	if err := copyRange(f, s.file, at, end); err != nil {
		return err
	}
	return f.Sync()
}

// setAside appends a segment's bad lines to the file of bad lines.
// It is synced before the segment that held them is replaced: a crash in between
// leaves them in both files, never in neither.
func (o *opener) setAside(s *segment, edits []edit) error {
	l := o.log
	f, err := l.files.Open(o.badPath(), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, e := range edits {
		if !e.bad {
			continue
		}
		if err := copyRange(f, s.file, e.off, e.end); err != nil {
			return err
		}
		o.found.Bad++
	}
	o.found.File = o.badPath()
	return f.Sync()
}

// copyRange copies the bytes off..end of a file; an empty range copies nothing.
func copyRange(to io.Writer, from io.ReaderAt, off, end int64) error {
	if off >= end {
		return nil
	}
	_, err := io.Copy(onlyWriter{to}, io.NewSectionReader(from, off, end-off))
	return err
}

// onlyWriter hides the methods by which io.Copy would go around Write.
type onlyWriter struct{ io.Writer }
