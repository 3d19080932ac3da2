package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxEndpoint is how long the address may be that a server over SSE is written to.
const maxEndpoint = 4 << 10

// events passes a stream of server-sent events on to the library, each message as a
// filter has it. A stream that answers a request ends with the answer.
// It is the body of a response, read by one goroutine of the library.
type events struct {
	io.Closer
	pieces
	*filter
	in      *bufio.Reader
	answers bool            // one request
	refuse  func(m message) // answers a request of the server; nil = the library does
	broken  func(err error) // the stream did not end as it should
}

// events returns the body of the response to q as a filter has it. What is wrong with it ends the
// connection, unless the request or the connection has ended: then the error is of that end.
func (g *guard) events(body io.ReadCloser, q *http.Request) io.ReadCloser {
	e := &events{Closer: body, filter: g.filter(q.Context()), in: bufio.NewReaderSize(body, 64<<10),
		answers: q.Method == http.MethodPost, refuse: g.refuse}
	e.next = e.event
	e.broken = func(err error) {
		if q.Context().Err() == nil && g.life.Err() == nil {
			g.die(err)
		}
	}
	return e
}

// event reads an event and returns what goes on of it.
// It returns the piece that the library reads in place of the event, which is empty but for its end
// where nothing goes on. io.EOF comes with the piece that is the last.
func (e *events) event() ([]byte, error) {
	var out bytes.Buffer
	var data, id, retry []byte
	name := "message"
	for {
		line, err := readLine(e.in)
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF // an event without its end is not whole
		case err != nil:
			if e.answers || errors.Is(err, errTooLarge) {
				e.broken(err) // the library connects anew where it only listens
			}
			return nil, err
		}
		e.slow()
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			// A message may be spread over lines, each of which keeps to the limit.
			if len(data)+len(value) > maxMessage {
				e.broken(errTooLarge)
				return nil, errTooLarge
			}
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		case "event":
			name = string(value)
		case "id", "retry": // the last counts
			if len(value) > maxID {
				break
			}
			if string(field) == "id" {
				id = value
			} else {
				retry = value
			}
		}
	}
	if id != nil {
		fmt.Fprintf(&out, "id: %s\n", id)
	}
	if retry != nil {
		fmt.Fprintf(&out, "retry: %s\n", retry)
	}
	end := error(nil)
	switch {
	case len(data) == 0:
	// Where a server over SSE wants to be written to; guard refuses another host.
	case name == "endpoint" && len(data) <= maxEndpoint && !bytes.ContainsRune(data, '\n'):
		fmt.Fprintf(&out, "event: endpoint\ndata: %s\n", data)
	case name == "message":
		text, m, err := e.take(data)
		switch {
		case err != nil:
			e.broken(err)
			return nil, err
		case m.Method != "" && m.ID != nil && e.refuse != nil:
			e.refuse(m)
		case text != nil:
			fmt.Fprintf(&out, "data: %s\n", text)
			if e.answers && m.Method == "" {
				end = io.EOF
			}
		}
	}
	out.WriteByte('\n')
	return out.Bytes(), end
}
