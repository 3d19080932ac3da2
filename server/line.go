package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"

	"github.com/agentls/agentls/internal/fault"
)

// Limits of what a client may send (REL-06, REL-07).
const (
	maxFrame   = 64 << 20 // bytes of one message
	maxHeader  = 8 << 10  // bytes of one header line
	maxHeaders = 32       // lines
	maxID      = 64 << 10 // bytes of an id
	keep       = 64 << 10 // bytes of a buffer that outlives its message
	trusted    = 1 << 20  // bytes of a message after which there is room for the rest
)

// line frames messages. It is a [jsonrpc2.Stream] of ours because the package's
// own takes a gigabyte on trust, reads a header without an end, and closes the
// connection at the first message that is not JSON-RPC; LSP clients expect an
// answer and the next message served (REL-05 to REL-14).
//
// All but Write is called on the read loop only.
type line struct {
	in    *bufio.Reader
	out   *outbox
	calls *ledger
	asks  *asks
	log   *slog.Logger
	tell  func(text string) // shows the person a warning; does not wait
	done  <-chan struct{}   // the connection has ended
	ended func(error)       // called once, when nothing more can be read: io.EOF, or why
	pulse *Pulse            // nil for none

	// repeated is where the message that ReadFrame returned last has one member
	// twice, as a pointer into its params; "" if nowhere.
	repeated jsontext.Pointer

	dec  *jsontext.Decoder
	body []byte // of the last message, if it was small
	call []byte // the last call as the transport sees it, if it was small

	// The person knows that a message was too large. One warning is enough: an editor
	// that sends such a document sends it with every keystroke.
	told bool
}

// flaw is a message that was framed well and cannot be served, and the client's
// id for it ("" is null). The next message can be.
type flaw struct {
	err *jsonrpc2.Error
	id  string
}

// ReadFrame implements the transport's fast path: it returns the body of the
// next notification, or of the next request with an id that LSP allows, its id
// replaced by ours. Answers to us go to who asked, and what is neither is
// refused here. The bytes are valid until the next call.
// An error ends the connection: the transport calls it no more. By then drain has
// given the answers that are owed their time, and ended has been called.
func (l *line) ReadFrame(context.Context) ([]byte, int64, error) {
	for {
		l.pulse.rest()
		body, bad, err := l.next()
		if err == nil {
			l.pulse.work()
		}
		if err == nil && l.over() {
			err = io.EOF
		}
		if err != nil {
			l.drain() // once the transport has read the end, it refuses to write what is ready
			l.ended(err)
			return nil, 0, err
		}
		if bad == nil && body != nil {
			if body, bad = l.admit(body); bad == nil && body != nil {
				return body, int64(len(body)), nil
			}
		}
		if bad != nil {
			l.log.Warn("message refused", "code", int(bad.err.Code), "why", bad.err.Message)
			l.refuse(bad)
		}
	}
}

// over reports whether the connection has ended. What was read in the same moment
// is not served then.
func (l *line) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// drain waits until the client's calls have been answered, for at most grace.
func (l *line) drain() {
	end := time.NewTimer(grace)
	defer end.Stop()
	select {
	case <-l.calls.owed.none():
	case <-l.done:
	case <-end.C:
	}
}

// refuse answers a message that is not served with its error, under the client's
// id or null. It goes out before the initialize reply as well: it answers
// something that the client did send.
func (l *line) refuse(bad *flaw) {
	id := bad.id
	if id == "" {
		id = "null"
	}
	body := jsonrpc2.AppendResponse(nil, jsonrpc2.ID{}, nil, bad.err)
	_ = l.answer(frame{answer: true, early: true}, []byte(id),
		body[len(answerPrefix+"null"):]) // a client that is gone needs no refusal
}

// admit checks one body. It returns what the transport shall see, or what is
// wrong; both nil for an answer to us, which goes to who asked.
//
// The order of the checks decides what the client is told. A batch is told apart
// before its JSON is checked, so that it gets a sentence about batches. The id is
// looked at last, since only a message that is a request has one to look up, and
// entering it in the ledger is what cannot be undone.
//
// The request that the transport gets is written anew with a number of ours for
// its id; method and params are the client's bytes.
func (l *line) admit(body []byte) ([]byte, *flaw) {
	l.repeated = ""
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) > 0 && trimmed[0] == '[' {
		return nil, newFlaw(jsonrpc2.InvalidRequest,
			"batches are not part of LSP; send each message in a frame of its own")
	}
	if err := l.strict(body); err != nil {
		return nil, newFlaw(jsonrpc2.ParseError, "the message is not JSON")
	}
	if trimmed[0] != '{' {
		return nil, newFlaw(jsonrpc2.InvalidRequest, "the message is not a JSON-RPC object")
	}
	v, err := jsonrpc2.ScanMessageView(trimmed)
	outer := l.repeated != "" && !under(l.repeated, "/params/") && !under(l.repeated, "/result/") &&
		!under(l.repeated, "/error/")
	if err != nil || outer || (v.Kind == jsonrpc2.MessageViewNotification && v.IDRaw != nil) {
		return l.refuseMessage(trimmed)
	}
	switch v.Kind {
	case jsonrpc2.MessageViewNotification:
		return body, nil
	case jsonrpc2.MessageViewResponseResult: // a repeated member in it is found where it is decoded
		l.asks.give(v.ID, reply{result: bytes.Clone(v.Result)})
		return nil, nil
	case jsonrpc2.MessageViewResponseError:
		if e, ok := v.Error.Owned(); ok {
			l.asks.give(v.ID, reply{err: e})
		} else {
			l.asks.give(v.ID, reply{err: errMalformed})
		}
		return nil, nil
	}
	same, ok := sameID(v.ID)
	if len(v.IDRaw) > maxID {
		return nil, newFlaw(jsonrpc2.InvalidRequest, "the id is longer than 64 KiB, so it is answered with null")
	}
	if !ok {
		return nil, newFlaw(jsonrpc2.InvalidRequest, "the id has to be a string or an integer")
	}
	n, ok := l.calls.add(v.IDRaw, same)
	if !ok {
		return nil, &flaw{positionError("the id " + clip(string(v.IDRaw)) +
			" belongs to a request that has not been answered yet"), string(v.IDRaw)}
	}
	call := append(l.call[:0], `{"jsonrpc":"2.0","id":`...)
	call = strconv.AppendInt(call, n, 10)
	call = append(call, `,"method":`...)
	call = append(call, v.MethodRaw...)
	if v.Params != nil {
		call = append(call, `,"params":`...)
		call = append(call, v.Params...)
	}
	call = append(call, '}')
	if l.call = nil; cap(call) <= keep {
		l.call = call
	}
	return call, nil
}

// under reports whether p points into the member that parent names, which ends in
// a slash.
func under(p jsontext.Pointer, parent string) bool { return strings.HasPrefix(string(p), parent) }

// refuseMessage is a JSON object that is no JSON-RPC message. A request is refused
// under its id if that can be told; what was meant to answer a call of ours
// ends that call, since nobody will answer it again.
func (l *line) refuseMessage(body []byte) ([]byte, *flaw) {
	id, has := envelope(body)
	view, err := jsonrpc2.ScanMessageView([]byte(`{"jsonrpc":"2.0","id":` + id + `,"result":0}`))
	if err != nil || !view.ID.IsValid() || l.repeated == "/id" {
		id = ""
	}
	if !has.method && has.outcome && view.ID.IsNumber() && id != "" {
		l.asks.give(view.ID, reply{err: errMalformed})
		return nil, nil
	}
	if same, ok := sameID(view.ID); !ok || l.calls.open(same) {
		id = "" // an answer to another request already has this id
	}
	message := "the message is not a JSON-RPC 2.0 request"
	if l.repeated != "" {
		message = "the member " + clip(dotPath(l.repeated)) + " is given twice"
	}
	return nil, &flaw{positionError(message), id}
}

// members are those of a message that say what it was meant to be.
type members struct{ method, outcome bool }

// envelope returns the id of a JSON object as it is written ("null" if it has
// none) and what else it has. body is known to be valid.
func envelope(body []byte) (id string, has members) {
	id = "null"
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true))
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = dec.ReadToken(); err != nil {
			break
		}
		member := name.String()
		// By the name: of a message that is cut off the value is not whole.
		has.method = has.method || member == "method"
		has.outcome = has.outcome || member == "result" || member == "error"
		var value jsontext.Value
		if value, err = dec.ReadValue(); err != nil {
			break
		}
		if member == "id" {
			if id = string(value); len(id) > maxID {
				id = "null"
			}
		}
	}
	return id, has
}

// strict checks that body is JSON, and notes a repeated member. The transport
// looks at brackets only, and takes the last of a repeated member.
// The decoder is kept from message to message for its buffers; after a large
// message it is dropped, since it would keep what that message needed.
func (l *line) strict(body []byte) error {
	src := bytes.NewBuffer(body)
	if l.dec == nil {
		l.dec = jsontext.NewDecoder(src, jsontext.AllowInvalidUTF8(true))
	} else {
		l.dec.Reset(src, jsontext.AllowInvalidUTF8(true))
	}
	err := l.dec.SkipValue()
	if errors.Is(err, jsontext.ErrDuplicateName) {
		if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			l.repeated = e.JSONPointer
		}
		l.dec.Reset(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		err = l.dec.SkipValue()
	}
	if err == nil && len(bytes.TrimLeft(body[l.dec.InputOffset():], " \t\r\n")) > 0 {
		err = errors.New("more than one value")
	}
	if len(body) > keep {
		l.dec = nil // it keeps the names that it has seen
	}
	return err
}

// newFlaw returns a flaw whose message is answered with null for its id.
func newFlaw(code jsonrpc2.Code, message string) *flaw {
	return &flaw{err: newError(code, fault.Invalid, message, "", nil)}
}

// positionError is the error of a message that is well formed and comes where it
// may not: -32600.
func positionError(message string) *jsonrpc2.Error {
	return newError(jsonrpc2.InvalidRequest, fault.Misplaced, message, "", nil)
}

// Read implements [jsonrpc2.Stream]; the transport uses ReadFrame instead.
// It is there because the interface has it.
func (l *line) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	body, n, err := l.ReadFrame(ctx)
	if err != nil {
		return nil, 0, err
	}
	m, err := jsonrpc2.DecodeMessage(body)
	return m, n, err
}

// answerPrefix is how the transport begins an answer (jsonrpc2 v1.0.1).
const answerPrefix = `{"jsonrpc":"2.0","id":`

// Write implements [jsonrpc2.Stream]: the transport writes answers, and nothing
// else. It does not wait for the client.
//
// The transport knows the call by our number, so that is what it writes; the
// number is cut out here and the client's own id put in its place. The ledger says
// which lane the answer goes to, and what has to happen once it is queued (then).
// An error from here means a bug of ours or an outbox that takes nothing more; the
// transport then ends the connection.
func (l *line) Write(_ context.Context, m jsonrpc2.Message) (int64, error) {
	body := jsonrpc2.AppendMessage(nil, m)
	if !bytes.HasPrefix(body, []byte(answerPrefix)) {
		return 0, errors.New("not an answer")
	}
	rest := body[len(answerPrefix):]
	digits := bytes.IndexByte(rest, ',')
	n, err := strconv.ParseInt(string(rest[:max(digits, 0)]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("an answer without a number: %w", err)
	}
	c, ok := l.calls.take(n)
	if !ok {
		return 0, fmt.Errorf("call %d is answered twice", n)
	}
	defer l.calls.owed.release()
	f := frame{answer: true, early: true}
	if c.stream {
		f.lane = stream
	}
	if !c.opens {
		err := l.answer(f, c.raw, rest[digits:])
		if err == nil && c.then != nil {
			c.then()
		}
		return int64(len(body)), err
	}
	f.bytes = answering(c.raw, rest[digits:])
	return int64(len(body)), l.out.putOpening(f)
}

// answer queues an answer under the client's id.
func (l *line) answer(f frame, id, rest []byte) error {
	f.bytes = answering(id, rest)
	return l.out.put(f)
}

// answering returns the frame of an answer: our own beginning, the client's id as
// it wrote it, and rest, which begins at the comma after the id.
func answering(id, rest []byte) []byte {
	b := newFrame(len(answerPrefix) + len(id) + len(rest))
	b = append(b, answerPrefix...)
	b = append(b, id...)
	return append(b, rest...)
}

// WriteFrame completes the shape by which the transport finds ReadFrame. It
// would write batches, which admit never lets in.
func (l *line) WriteFrame(_ context.Context, body []byte) (int64, error) {
	return int64(len(body)), l.out.put(frame{bytes: append(newFrame(len(body)), body...)})
}

// Close implements [jsonrpc2.Stream]; Serve closes what is below.
func (l *line) Close() error { return nil }
