package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The limits of what is read of a server (REL-86, REL-87).
const (
	maxMessage = 16 << 20 // bytes
	maxGarbage = 100      // lines in a row that are no message
	perSecond  = 10_000   // messages that are read
	maxOpen    = 100      // requests of the server that it has read no answer to
	maxID      = 256      // bytes
)

// lines passes the messages of a server on its standard output on to the library, as
// its filter has them.
type lines struct {
	pieces
	*filter
	in *bufio.Reader
	// Why nothing more is read; written by who reads, before the read returns the end.
	why error
}

// newLines returns the messages of in for the library. The caller sets open to the
// connection's counter before it reads.
func newLines(in io.Reader, now func() time.Time, notify func(string, []byte)) *lines {
	l := &lines{in: bufio.NewReaderSize(in, 64<<10), filter: &filter{notify: notify, now: now, wait: time.Sleep,
		open: new(atomic.Int64)}}
	l.next = func() (piece []byte, err error) {
		// The library knows the end only; why says what it was, for who ends the connection.
		if piece, l.why = l.line(); l.why != nil {
			err = io.EOF // whatever ends it
		}
		return piece, err
	}
	return l
}

// line reads a line and returns what goes on of it.
// It is empty for what the library is not told: a notification, an empty line, what is
// no message.
func (l *lines) line() ([]byte, error) {
	line, err := readLine(l.in)
	if errors.Is(err, errTooLarge) {
		return nil, err
	} else if err != nil {
		return nil, errEnded // a line without its end is not whole
	}
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil, nil
	}
	// Before the message is taken apart, since that is what costs.
	l.slow()
	out, _, err := l.take(line)
	if len(out) == 0 || err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}

// pieces is a reader of what comes piece by piece.
type pieces struct {
	next    func() ([]byte, error) // may return a piece with the error that follows it
	pending []byte
	ended   error
}

// Read implements [io.Reader].
func (r *pieces) Read(p []byte) (int, error) {
	for len(r.pending) == 0 {
		if r.ended != nil {
			return 0, r.ended
		}
		r.pending, r.ended = r.next()
	}
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	return n, nil
}

// errTooLarge says that a message is larger than what is read.
var errTooLarge = fmt.Errorf("it sent a message of more than %d MiB", maxMessage>>20)

// readLine reads up to the next line end.
// The line has its end. One that is longer than [maxMessage] is errTooLarge, and the
// reader is of no more use then.
func readLine(in *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(whole)+len(part) > maxMessage {
			return nil, errTooLarge
		}
		whole = append(whole, part...)
		switch {
		case err == nil:
			return whole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// filter judges what a server sends before the library reads it, which does so
// without limits and without minding the case of names: a message must be JSON without
// a name given twice, and goes on as it was understood here (SEC-86). Notifications
// end here.
// It is used by one goroutine, but for open, which whoever writes answers counts down.
type filter struct {
	notify  func(method string, params []byte) // of each notification; must not block
	wait    func(time.Duration)
	now     func() time.Time
	open    *atomic.Int64 // requests of the server that it has read no answer to; who writes the answers counts them down
	garbage int           // messages in a row
	second  time.Time
	count   int // messages in this second
}

// take returns what goes on of a message, and the message. What is none is skipped, up
// to a limit.
// out is nil for what does not go on. m is the zero message for what is none. An error
// ends the connection: its text says what the server does wrong.
func (f *filter) take(text []byte) (out []byte, m message, err error) {
	if !m.read(text) {
		if f.garbage++; f.garbage >= maxGarbage {
			err = fmt.Errorf("it prints what is no JSON-RPC: %.80q", text)
		}
		return nil, message{}, err
	}
	f.garbage = 0
	if m.Method != "" && m.ID == nil {
		f.notify(m.Method, m.Params)
		return nil, m, nil
	}
	if len(m.ID) > maxID {
		return nil, m, fmt.Errorf("it sent a message with an id of more than %d bytes", maxID)
	}
	// The library answers each request on a goroutine of its own, however many there are.
	if m.Method != "" && f.open.Add(1) > maxOpen {
		return nil, m, fmt.Errorf("it sent more than %d requests and read no answer", maxOpen)
	}
	// Written anew, so that the library reads the names as they were understood here.
	out, err = json.Marshal(m)
	if err != nil {
		return nil, m, nil // it was read from JSON
	}
	return out, m, nil
}

// errEnded says that a server closed its output.
var errEnded = errors.New("it has ended")

// slow lets a server wait that sends too much: its own pipe fills up.
// It is called for each message, also for those that are skipped.
func (f *filter) slow() {
	now := f.now()
	// A clock that was set back begins a new second.
	if now.Sub(f.second) >= time.Second || now.Before(f.second) {
		f.second, f.count = now, 0
	}
	if f.count++; f.count > perSecond {
		f.wait(time.Second - now.Sub(f.second))
		f.second, f.count = f.now(), 0
	}
}

// message is a message of JSON-RPC.
// Which members are there says what it is: a request has method and id, a notification
// a method alone, and an answer an id with either result or error.
type message struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  string         `json:"method,omitzero"`
	Params  jsontext.Value `json:"params,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   jsontext.Value `json:"error,omitzero"`
}

// isAnswer reports whether a message of ours answers a request of the server.
func isAnswer(text []byte) bool {
	var m message
	return json.Unmarshal(text, &m) == nil && m.Method == "" && m.ID != nil
}

// read reads a line, and reports whether it is a message. Names are compared as
// they are, and none may be given twice, at any depth.
func (m *message) read(line []byte) bool {
	if json.Unmarshal(line, m) != nil || m.Version != "2.0" {
		return false
	}
	if kind := m.ID.Kind(); m.ID != nil && kind != '"' && kind != '0' {
		return false // null, true, an object
	}
	return m.Method != "" || (m.ID != nil && (m.Result == nil) != (m.Error == nil))
}
