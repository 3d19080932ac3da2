package mask

import (
	"io"
	"sync"
)

// Stream takes the values that a daemon holds out of a text that comes in
// pieces. It keeps back what may be the beginning of a value, so that one that
// is cut in two is found. Make it with [Masker.Stream]; it is for one goroutine. What
// it keeps back is no longer than the longest value, or than a URL up to its path where
// the masker has those.
type Stream struct {
	// Nil takes nothing out.
	m    *Masker
	kept []byte // may be the beginning of a value
}

// Stream returns a stream with nothing kept back.
func (m *Masker) Stream() *Stream { return &Stream{m: m} }

// Write returns what of the text up to now can be passed on: the next piece
// continues it. It may be "".
func (s *Stream) Write(text string) string {
	if s.m == nil || (s.m.values == nil && !s.m.urls) {
		return text
	}
	data := append(s.kept, text...)
	places := s.m.knownPlaces(data, nil)
	keep := len(data) - s.m.unfinishedValue(data)
	if s.m.urls {
		keep = min(keep, len(data)-openURLLength(data))
	}
	for i := len(places) - 1; i >= 0 && places[i].to > keep; i-- {
		// A value that ends in what is kept stays with it, since a longer one may
		// begin in it.
		keep = min(keep, places[i].from)
	}
	out := s.mask(data[:keep])
	s.kept = append([]byte(nil), data[keep:]...)
	return out
}

// Flush returns what was kept back. The stream begins anew. Call it at the end of the
// text, or what was kept back is lost.
func (s *Stream) Flush() string {
	if len(s.kept) == 0 {
		return ""
	}
	out := s.mask(s.kept)
	s.kept = nil
	return out
}

// mask returns a text that is whole as far as it is known.
func (s *Stream) mask(text []byte) string { return string(replace(text, s.m.knownPlaces(text, nil))) }

// unfinishedValue returns the length of the longest end of data that begins a value
// and does not finish it.
func (m *Masker) unfinishedValue(data []byte) int {
	for n := min(m.most-1, len(data)); n > 0; n-- {
		end := data[len(data)-n:]
		if !m.begins[end[0]] {
			continue
		}
		for _, p := range m.patterns {
			if len(p.text) > n && p.text[:n] == string(end) {
				return n
			}
		}
	}
	return 0
}

// NewReader returns a reader of what r has, masked by s, in pieces. s must be used by
// nobody else. Read waits for r; what is kept back comes with r's end, before its
// error.
func NewReader(s *Stream, r io.Reader) io.Reader { return &reader{s: s, from: r} }

// reader is what NewReader returns.
type reader struct {
	s    *Stream
	from io.Reader
	// What is read at once, 64 KiB; made with the first Read.
	piece []byte
	rest  string // masked, and not read yet
	err   error
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	if r.piece == nil {
		r.piece = make([]byte, 64<<10)
	}
	for r.rest == "" && r.err == nil {
		var n int
		n, r.err = r.from.Read(r.piece)
		if r.rest = r.s.Write(string(r.piece[:n])); r.err != nil {
			r.rest += r.s.Flush()
		}
	}
	if r.rest == "" {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Writer masks what is written through it. It is safe for concurrent use; make it
// with [Masker.Writer]. It owns its stream, not w.
type Writer struct {
	mu sync.Mutex
	s  *Stream
	w  io.Writer
}

// Writer returns a writer that passes on to w what is no secret.
func (m *Masker) Writer(w io.Writer) *Writer { return &Writer{s: m.Stream(), w: w} }

// Write implements [io.Writer]. What may be the beginning of a secret is passed on
// by the next Write, or by Flush. It blocks for w. The error is w's; the bytes count as
// written in any case, for they cannot be written again.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.w, w.s.Write(string(p)))
	return len(p), err
}

// Flush passes on what was kept back. Call it at the end; more may be written after it.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.w, w.s.Flush())
	return err
}
