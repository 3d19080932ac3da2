package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.lsp.dev/jsonrpc2"
)

// errUnframed is a header after which nobody knows where the next message is.
var errUnframed = errors.New("the client's headers cannot be followed")

// next reads one frame. It returns a flaw for one that is in order but cannot
// be looked into, nothing for one that was skipped, and [errUnframed], [io.EOF] or the reader's error for the end.
// A truncated body is an error that ends the connection: the client hung up in the
// middle of a message.
func (l *line) next() ([]byte, *flaw, error) {
	size, bad, err := l.header()
	if err != nil {
		return nil, nil, err
	}
	if size > maxFrame {
		return l.skip(size)
	}
	body := l.body[:0]
	if size > cap(body) {
		body = make([]byte, 0, min(size, keep))
	}
	for len(body) < size { // grows as bytes come, not as the header claims
		if len(body) == cap(body) {
			room := min(size, 2*cap(body))
			if len(body) >= trusted {
				room = size // doubling to the end would cost as much again
			}
			grown := make([]byte, len(body), room)
			copy(grown, body)
			body = grown
		}
		n, err := l.in.Read(body[len(body):min(size, cap(body))])
		body = body[:len(body)+n]
		if err != nil && len(body) < size {
			return nil, nil, fmt.Errorf("%d of a message's %d bytes came: %w", len(body), size, io.ErrUnexpectedEOF)
		}
	}
	if l.body = nil; cap(body) <= keep {
		l.body = body
	}
	if size == 0 {
		bad = newFlaw(jsonrpc2.ParseError, "the message is empty")
	}
	return body, bad, nil
}

// skip passes over the body of a message that is larger than maxFrame. What its
// beginning says of it decides how that is told: a request is refused under its
// id, and the person is told once of a notification, which cannot be answered.
//
// The body is discarded as it comes and never held: no message costs more memory
// than maxFrame, whatever its header says.
func (l *line) skip(size int) ([]byte, *flaw, error) {
	start, err := l.in.Peek(min(size, maxHeader)) // the size of the buffer
	if err == nil {
		start = bytes.Clone(start)
		_, err = l.in.Discard(size)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("a message of %d bytes is cut off: %w", size, io.ErrUnexpectedEOF)
	}
	const mib = 1 << 20
	message := fmt.Sprintf("the message has %d MiB; agentls takes %d MiB at most", (size+mib-1)/mib, maxFrame/mib)
	id, has := envelope(start)
	view, err := jsonrpc2.ScanMessageView([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result":0}`))
	same, ok := sameID(view.ID)
	switch {
	case has.outcome:
		l.log.Warn("answer skipped", "why", message)
		if ok && view.ID.IsNumber() {
			l.asks.give(view.ID, reply{err: errMalformed})
		}
		return nil, nil, nil
	case has.method && id == "null":
		l.log.Warn("notification skipped", "why", message)
		if !l.told {
			l.told = true
			l.tell("The editor sent a message that agentls skipped: " + message +
				". If you opened a large file, agents see it as it is saved.")
		}
		return nil, nil, nil
	case err != nil || !ok || l.calls.open(same): // no id, or one that another request has
		return nil, newFlaw(jsonrpc2.ParseError, message), nil
	}
	return nil, &flaw{positionError(message), id}, nil
}

// header reads a block of header lines and returns the length of what follows.
// A flaw refuses the message, whose length is known all the same.
//
// What leaves the length in doubt ends the connection: a line without a colon, a
// length that is no number, two that differ, none at all. Only what leaves no
// doubt is a flaw, and the next message is read: two equal lengths, or another
// charset than UTF-8.
func (l *line) header() (size int, bad *flaw, err error) {
	size = -1
	for n := 0; ; n++ {
		h, err := l.in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, nil, fmt.Errorf("%w: a line is longer than %d bytes", errUnframed, maxHeader)
		case err == io.EOF && (n > 0 || len(h) > 0):
			return 0, nil, io.ErrUnexpectedEOF
		case err != nil:
			return 0, nil, err
		}
		h = bytes.TrimRight(h, "\r\n")
		if len(h) == 0 {
			break
		}
		if n == maxHeaders {
			return 0, nil, fmt.Errorf("%w: more than %d lines", errUnframed, maxHeaders)
		}
		name, value, ok := bytes.Cut(h, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case !ok:
			return 0, nil, fmt.Errorf("%w: %.40q has no colon", errUnframed, h)
		case bytes.EqualFold(name, []byte("content-length")):
			v, err := strconv.ParseUint(string(value), 10, 31)
			switch {
			case err != nil:
				return 0, nil, fmt.Errorf("%w: Content-Length is %.40q", errUnframed, value)
			case size >= 0 && size != int(v):
				return 0, nil, fmt.Errorf("%w: Content-Length is %d and %d", errUnframed, size, v)
			case size >= 0:
				bad = newFlaw(jsonrpc2.ParseError, "Content-Length is given twice")
			}
			size = int(v)
		case bytes.EqualFold(name, []byte("content-type")):
			if c := charset(string(value)); c != "" && c != "utf-8" && c != "utf8" {
				bad = newFlaw(jsonrpc2.ParseError, "the charset "+strconv.Quote(clip(c))+" is not served; send utf-8")
			}
		}
	}
	if size < 0 {
		return 0, nil, fmt.Errorf("%w: no Content-Length", errUnframed)
	}
	return size, bad, nil
}

// charset returns the charset of a content type, in lower case; "" if it names
// none. Not mime.ParseMediaType: "application/vscode-jsonrpc; charset=utf8" is
// fine however badly the rest is spelled.
func charset(value string) string {
	for param := range strings.SplitSeq(value, ";") {
		name, v, ok := strings.Cut(param, "=")
		if ok && strings.EqualFold(strings.TrimSpace(name), "charset") {
			return strings.ToLower(strings.Trim(strings.TrimSpace(v), `"`))
		}
	}
	return ""
}
