package mask

import (
	"io"
	"sync"
)

// Stream takes the values that a daemon holds out of a text that comes in
// pieces. It keeps back what may be the beginning of a value, so that one that
// is cut in two is found. Make it with [Masker.Stream]; it is for one goroutine.
type Stream struct {
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

// Flush returns what was kept back. The stream begins anew.
func (s *Stream) Flush() string {
	if len(s.kept) == 0 {
		return ""
	}
	out := s.mask(s.kept)
	s.kept = nil
	return out
}

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

// NewReader returns a reader of what r has, masked by s, in pieces.
func NewReader(s *Stream, r io.Reader) io.Reader { return &reader{s: s, from: r} }

type reader struct {
	s     *Stream
	from  io.Reader
	piece []byte
	rest  string // masked, and not read yet
	err   error
}

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
// with [Masker.Writer].
type Writer struct {
	mu sync.Mutex
	s  *Stream
	w  io.Writer
}

// Writer returns a writer that passes on to w what is no secret.
func (m *Masker) Writer(w io.Writer) *Writer { return &Writer{s: m.Stream(), w: w} }

// Write implements [io.Writer]. What may be the beginning of a secret is passed on
// by the next Write, or by Flush.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.w, w.s.Write(string(p)))
	return len(p), err
}

// Flush passes on what was kept back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := io.WriteString(w.w, w.s.Flush())
	return err
}
