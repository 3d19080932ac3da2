package gemini

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// joiner makes one chunk of chunks that differ only in their text: the same
// bytes before and after one string. The strings are joined as they are
// written, so nothing is decoded: a string of JSON after another is one. What
// may be before and after is only what has nothing to lose (see begin): no
// call, no signature, no reason to end and no counts. A stream has one; it is what
// makes some hundred events of 20,000 chunks that lie in the socket's buffer together
// (docs/architecture.md, The stream).
type joiner struct {
	before, after []byte // of the last chunk of text; empty = none
	text          []byte // of chunks that wait, without quotes
	count         int    // of chunks that wait
}

// waiting reports whether there is text that has not gone out.
func (j *joiner) waiting() bool { return j.count > 0 }

// take joins a chunk to the text that waits, or starts anew with the form of
// the last one. It reports whether it did; data is not checked to be JSON.
func (j *joiner) take(data []byte) bool {
	if len(j.before) == 0 || len(data) < len(j.before)+len(j.after) ||
		!bytes.HasPrefix(data, j.before) || !bytes.HasSuffix(data, j.after) {
		return false
	}
	text := data[len(j.before) : len(data)-len(j.after)]
	if !isText(text) {
		return false
	}
	j.text = append(j.text, text...)
	j.count++
	return true
}

// begin reports whether an event is a chunk of text and no more; then it waits
// for others like it. Nothing else may wait. Slices of data are copied: the stream's
// buffer is used again.
func (j *joiner) begin(data []byte) bool {
	start, end, ok := textOf(data)
	if !ok {
		return false
	}
	j.before = append(j.before[:0], data[:start]...)
	j.after = append(j.after[:0], data[end:]...)
	j.text = append(j.text[:0], data[start:end]...)
	j.count = 1
	return true
}

// event returns the chunk of all that waits, which then waits no more.
func (j *joiner) event() []byte {
	b := make([]byte, 0, len(j.before)+len(j.text)+len(j.after))
	b = append(append(append(b, j.before...), j.text...), j.after...)
	j.text, j.count = j.text[:0], 0
	return b
}

// isText reports whether b can stand between the quotes of a JSON string. Control
// characters and bytes that are no UTF-8 cannot.
func isText(b []byte) bool {
	ascii := true
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"' || c < 0x20:
			return false
		case c == '\\':
			n, ok := escapeLen(b[i:])
			if !ok {
				return false
			}
			i += n - 1
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return ascii || utf8.Valid(b)
}

// escapeLen returns how long the escape at the beginning of b is, and whether it is one.
func escapeLen(b []byte) (int, bool) {
	if len(b) < 2 {
		return 0, false
	}
	if b[1] != 'u' {
		return 2, bytes.IndexByte([]byte(`"\/bfnrt`), b[1]) >= 0
	}
	if len(b) < 6 {
		return 0, false
	}
	for _, c := range b[2:6] {
		if !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
			return 0, false
		}
	}
	return 6, true
}

// textOf returns where the text of a chunk is, between its quotes, if the chunk
// has one candidate with one part that is text, of thoughts or not, and beside
// it only names that every chunk of an answer repeats.
func textOf(data []byte) (start, end int, ok bool) {
	w := walker{data: data}
	found := 0
	w.object(func(key string) {
		switch key {
		case "candidates":
			w.array(func() {
				found++
				w.object(func(key string) {
					switch key {
					case "content":
						w.object(func(key string) {
							switch key {
							case "role":
								w.skip()
							case "parts":
								w.array(func() {
									start, end = w.textPart()
									found++
								})
							default:
								w.bad = true
							}
						})
					case "index":
						w.skip()
					default:
						w.bad = true
					}
				})
			})
		case "modelVersion", "responseId", "createTime":
			w.skip()
		default:
			w.bad = true
		}
	})
	// One candidate and one part.
	return start, end, !w.bad && found == 2 && start > 0
}

// walker walks through JSON that is valid, with offsets. Once it is bad, the
// rest of a walk does nothing. It allocates nothing, which decoding would for each of
// many chunks. It trusts what it is given to be valid: of anything else it may find
// less or be bad, and never reads beyond the data.
type walker struct {
	data []byte
	// at is the next byte. bad says that the data is not as the walk expects it.
	at  int
	bad bool
}

// space skips white space.
func (w *walker) space() {
	for w.at < len(w.data) && bytes.IndexByte([]byte(" \t\r\n"), w.data[w.at]) >= 0 {
		w.at++
	}
}

// next skips c, if it comes next. It reports whether it did; a walk that is bad skips
// nothing.
func (w *walker) next(c byte) bool {
	w.space()
	if w.bad || w.at >= len(w.data) || w.data[w.at] != c {
		return false
	}
	w.at++
	return true
}

// object walks over an object and calls member at the value of each, which must walk over it.
func (w *walker) object(member func(key string)) {
	if !w.next('{') {
		w.bad = true
		return
	}
	for !w.bad && !w.next('}') {
		start, end := w.text()
		if w.bad || !w.next(':') {
			w.bad = true
			return
		}
		member(string(w.data[start:end]))
		w.next(',')
	}
}

// member walks over an object, and into its member of a name.
func (w *walker) member(name string, inside func()) {
	w.object(func(key string) {
		if key == name {
			inside()
		} else {
			w.value()
		}
	})
}

// array walks over an array and calls element at each, which must walk over it.
func (w *walker) array(element func()) {
	if !w.next('[') {
		w.bad = true
		return
	}
	for !w.bad && !w.next(']') {
		element()
		w.next(',')
	}
}

// text walks over a string and returns where it is, between its quotes.
func (w *walker) text() (start, end int) {
	if !w.next('"') {
		w.bad = true
		return 0, 0
	}
	start = w.at
	for w.at < len(w.data) && w.data[w.at] != '"' {
		if w.data[w.at] == '\\' {
			w.at++
		}
		w.at++
	}
	end = w.at
	w.at++
	if w.at > len(w.data) {
		w.bad = true
	}
	return start, end
}

// skip walks over a string, a number or a word. An object or an array makes it bad:
// nothing that may be skipped has one.
func (w *walker) skip() {
	w.space()
	if w.bad || w.at >= len(w.data) {
		w.bad = true
		return
	}
	switch w.data[w.at] {
	case '"':
		w.text()
	case '{', '[':
		w.bad = true
	default:
		for w.at < len(w.data) && bytes.IndexByte([]byte(",}] \t\r\n"), w.data[w.at]) < 0 {
			w.at++
		}
	}
}

// value walks over any value. It trusts brackets to match, and commas and colons to stand
// where they should.
func (w *walker) value() {
	depth := 0
	for {
		w.space()
		if w.bad || w.at >= len(w.data) {
			w.bad = true
			return
		}
		switch w.data[w.at] {
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			depth--
			w.at++
		case ',', ':':
			w.at++
		default:
			w.skip()
		}
		if depth == 0 {
			return
		}
	}
}

// textPart walks over a part that is text and no more. The flag of a thought may be
// there; anything else is more than text.
func (w *walker) textPart() (start, end int) {
	w.object(func(key string) {
		switch key {
		case "text":
			if start > 0 {
				w.bad = true
				return
			}
			start, end = w.text()
		case "thought":
			from := w.at
			w.skip()
			if !w.bad && !json.Valid(w.data[from:w.at]) {
				w.bad = true
			}
		default:
			w.bad = true
		}
	})
	if !w.bad && (start == 0 || !isText(w.data[start:end])) {
		w.bad = true
	}
	return start, end
}
