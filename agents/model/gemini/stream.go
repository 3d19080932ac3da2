package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxLine is the longest line of a stream, in bytes (spec 12, REL-63). A server that
// never ends a line costs no more memory than that, and some.
const maxLine = 16 << 20

// readSize is how much is read at once, in bytes.
const readSize = 32 << 10

var errLongLine = errors.New("the answer has a line of more than 16 MiB")

// stream is the body of an answer as genai gets it: "data: " and one line of
// JSON, an empty line, and nothing else. It never fails, since genai prints
// such failures to the standard log: it ends, and failed says why. It is read by genai
// on the goroutine of the call.
//
// A line that was read (line) goes to take, and the value of a data: field to datum. Text
// that goes on from the last chunk is joined there; anything else becomes an event, which
// emit puts into out for genai and keeps for the answer.
type stream struct {
	up     io.ReadCloser
	call   *call
	failed error // nil at an orderly end
	upErr  error // of the last read; what was read before is taken first
	// Nothing more is read of up; out has the rest.
	ended bool

	buf     []byte // what is read; buf[r:w] is not taken yet
	r, w    int
	scanned int    // buf[r:scanned] has no line end
	started bool   // a line that is not empty was read
	plain   bool   // not an event stream but JSON, as a whole
	data    []byte // lines of an event that goes on

	joined joiner
	// What genai has not read yet.
	out bytes.Buffer
}

// newStream returns the body of an answer, which is read through up.
func newStream(up io.ReadCloser, c *call) *stream {
	return &stream{up: up, call: c, buf: make([]byte, readSize)}
}

// Read implements [io.Reader]. It blocks only when nothing is there: text that
// waits to be joined goes out before.
func (s *stream) Read(p []byte) (int, error) {
	for s.out.Len() == 0 {
		if line, ok := s.line(); ok {
			s.take(line)
			continue
		}
		if s.joined.waiting() {
			s.flush()
			continue
		}
		switch {
		case s.ended:
			return 0, io.EOF
		case s.upErr == nil:
			s.fill()
		case errors.Is(s.upErr, io.EOF):
			s.end()
		default:
			s.fail(s.upErr)
		}
	}
	return s.out.Read(p)
}

// Close implements [io.Closer].
func (s *stream) Close() error {
	// The answer is read or given up; genai would only print a failure.
	_ = s.up.Close()
	return nil
}

// line returns the next line that is already read, without its end. The slice is good
// until the next fill.
func (s *stream) line() ([]byte, bool) {
	if s.plain || s.failed != nil {
		return nil, false
	}
	i := bytes.IndexByte(s.buf[max(s.scanned, s.r):s.w], '\n')
	if i < 0 {
		s.scanned = s.w
		return nil, false
	}
	end := max(s.scanned, s.r) + i
	line := s.buf[s.r:end]
	s.r, s.scanned = end+1, end+1
	return bytes.TrimSuffix(line, []byte("\r")), true
}

// fill reads once from the connection. The buffer grows by doubling, up to maxLine.
func (s *stream) fill() {
	if s.r > 0 {
		copy(s.buf, s.buf[s.r:s.w])
		s.w, s.scanned, s.r = s.w-s.r, max(s.scanned-s.r, 0), 0
	}
	if s.w == len(s.buf) {
		if s.w >= maxLine {
			s.fail(errLongLine)
			return
		}
		s.buf = append(s.buf, make([]byte, min(len(s.buf), maxLine-len(s.buf)))...)
	}
	n, err := s.up.Read(s.buf[s.w:])
	s.w, s.upErr = s.w+n, err
	// Lines that begin with another letter are comments, or fields that bring nothing of
	// an answer.
	if n > 0 && (s.plain || s.buf[s.r] == 'd') {
		// A long line that still comes is not silence.
		s.call.watch.touch()
	}
}

// end takes what has no line end at the end of the body. A last event without an empty
// line behind it counts if it is JSON, since some servers leave that out.
func (s *stream) end() {
	// The last line may belong to the event that data has, so it is taken first.
	if !s.plain && s.r < s.w {
		line := bytes.TrimSuffix(s.buf[s.r:s.w], []byte("\r"))
		s.r = s.w
		s.take(line)
	}
	if s.plain && s.failed == nil {
		rest := s.buf[s.r:s.w]
		s.r = s.w
		s.whole(rest)
	}
	if s.failed == nil && len(s.data) > 0 {
		data := s.data
		s.data = nil
		if data, ok := tidy(data); ok {
			s.event(data)
		} else {
			s.call.incomplete = true
		}
	}
	s.ended = true
}

// fail ends the stream with a reason; what is in the buffer is dropped. The first reason stays.
func (s *stream) fail(err error) {
	if s.failed == nil && !s.ended {
		s.failed = err
	}
	s.ended = true
	s.r, s.scanned = s.w, s.w
}

// take takes a line of the stream. What is no field of an event stream is noted, for
// the error if nothing else comes.
func (s *stream) take(line []byte) {
	if !s.started {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		if len(line) == 0 {
			return
		}
		s.started = true
		if c := bytes.TrimLeft(line, " \t"); len(c) > 0 && (c[0] == '{' || c[0] == '[') {
			s.unstream(line)
			return
		}
	}
	if len(line) == 0 {
		s.dispatch()
		return
	}
	// A comment, by which servers keep a connection from going idle.
	if line[0] == ':' {
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	switch string(field) {
	case "data":
		s.call.watch.touch()
		s.datum(bytes.TrimSpace(value))
	case "event", "id", "retry":
	default:
		if s.call.stray == "" {
			s.call.stray = string(line[:min(len(line), 200)])
		}
	}
}

// unstream turns to an answer that is JSON, not events: an error, or a proxy's
// doing. The line and all that follows are one value. Lines are not looked for any more:
// end takes what has come as a whole.
func (s *stream) unstream(line []byte) {
	s.plain = true
	rest := append(bytes.Clone(line), '\n')
	rest = append(rest, s.buf[s.r:s.w]...)
	s.buf = append(rest, make([]byte, readSize)...)
	s.r, s.w = 0, len(rest)
	s.scanned = s.w
}

// datum takes the value of a data: line. Nearly always it is an event. A value that is
// not JSON by itself is kept for the lines that follow.
func (s *stream) datum(value []byte) {
	if len(value) == 0 || bytes.Equal(value, []byte("[DONE]")) {
		return
	}
	if len(s.data) == 0 {
		// A chunk like the one before it needs no parsing.
		if s.joined.take(value) {
			s.call.began = true
			return
		}
		if data, ok := tidy(value); ok {
			s.event(data)
			return
		}
	}
	if len(s.data)+len(value) > maxLine {
		s.fail(errLongLine)
		return
	}
	s.data = append(append(s.data, value...), '\n')
}

// dispatch ends an event of several data: lines. One that is not JSON even as a whole
// ends the stream: nothing tells what it was.
func (s *stream) dispatch() {
	if len(s.data) == 0 {
		return
	}
	data := s.data
	s.data = nil
	if data, ok := tidy(data); ok {
		s.event(data)
		return
	}
	s.fail(fmt.Errorf("%w: an event is not JSON", errUnreadable))
}

// whole takes an answer that is not a stream: a chunk or an array of them. An array is
// how the API answers without alt=sse, and in it may be an error.
func (s *stream) whole(body []byte) {
	body, ok := tidy(body)
	if !ok {
		s.call.incomplete = true
		return
	}
	if body[0] != '[' {
		s.event(body)
		return
	}
	var all []json.RawMessage
	if json.Unmarshal(body, &all) != nil {
		return
	}
	for _, one := range all {
		s.event(one)
	}
}

// event gives genai an event that is JSON. It must be one object on one line of valid
// UTF-8 when it goes out: that is what genai's reader takes.
func (s *stream) event(data []byte) {
	s.call.began = true
	if data[0] != '{' {
		s.fail(fmt.Errorf("%w: an event is not an object", errUnreadable))
		return
	}
	if bytes.IndexByte(data, '\n') >= 0 || bytes.IndexByte(data, '\r') >= 0 {
		// To genai an empty line is the end of an event.
		var b bytes.Buffer
		if json.Compact(&b, data) == nil {
			data = b.Bytes()
		}
	}
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	data = s.checkUsage(data)
	s.flush()
	if s.joined.begin(data) {
		return
	}
	s.emit(data)
}

// flush lets the joined text go.
func (s *stream) flush() {
	if s.joined.waiting() {
		s.emit(s.joined.event())
	}
}

// emit puts an event out for genai, and keeps its bytes for [call.nextEvent].
func (s *stream) emit(data []byte) {
	s.call.events = append(s.call.events, bytes.Clone(data))
	s.out.WriteString("data: ")
	s.out.Write(withoutCalls(data))
	s.out.WriteString("\n\n")
}

// withoutCalls returns an event without its calls: genai would make maps of their
// arguments, then JSON, then maps again, and this package reads them from the event itself
// ([answer.add]).
func withoutCalls(data []byte) []byte {
	if !bytes.Contains(data, []byte(`"functionCall"`)) {
		return data
	}
	var out []byte
	taken := 0
	w := walker{data: data}
	parts := func() {
		w.space()
		out = append(append(out, data[taken:w.at]...), '[')
		kept := 0
		w.array(func() {
			w.space()
			start := w.at
			if w.value(); w.bad || isCall(data[start:w.at]) {
				return
			}
			if kept++; kept > 1 {
				out = append(out, ',')
			}
			out = append(out, data[start:w.at]...)
		})
		out, taken = append(out, ']'), w.at
	}
	w.member("candidates", func() {
		w.array(func() {
			w.member("content", func() { w.member("parts", parts) })
		})
	})
	if w.bad {
		return data // genai says what is wrong with it
	}
	return append(out, data[taken:]...)
}

// isCall reports whether a part calls a function. A functionCall that is null is none.
func isCall(part []byte) bool {
	found := false
	w := walker{data: part}
	w.member("functionCall", func() {
		w.space()
		found = w.at < len(part) && part[w.at] == '{'
		w.value()
	})
	return found && !w.bad
}

// checkUsage puts a count that cannot be one in the place of counts that are none: genai
// would refuse some of them with the chunk, and the answer is to know that there was such
// a one. Losing a count is better than losing an answer.
func (s *stream) checkUsage(data []byte) []byte {
	if !bytes.Contains(data, []byte(`"usageMetadata"`)) {
		return data
	}
	var event map[string]json.RawMessage
	if json.Unmarshal(data, &event) != nil || event["usageMetadata"] == nil {
		return data
	}
	if _, ok := countsOf(event["usageMetadata"]); ok {
		return data
	}
	event["usageMetadata"] = json.RawMessage(`{"promptTokenCount":-1}`)
	// It was read from JSON: it can be written.
	data, _ = json.Marshal(event)
	return data
}

// tidy returns data if it is JSON, or without the commas that must not be
// there, if that makes it JSON. Some proxies write a comma after the last element. data
// is not modified.
func tidy(data []byte) ([]byte, bool) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, false
	}
	if json.Valid(data) {
		return data, true
	}
	if bytes.IndexByte(data, ',') < 0 {
		return nil, false
	}
	out := make([]byte, 0, len(data))
	inText, escaped := false, false
	// Commas within strings stay.
	for i, c := range data {
		if inText {
			inText = escaped || c != '"'
			escaped = !escaped && c == '\\'
		} else if c == '"' {
			inText = true
		} else if c == ',' {
			rest := bytes.TrimLeft(data[i+1:], " \t\r\n")
			if len(rest) == 0 || rest[0] == '}' || rest[0] == ']' {
				continue
			}
		}
		out = append(out, c)
	}
	return out, json.Valid(out)
}
