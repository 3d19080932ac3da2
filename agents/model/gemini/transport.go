package gemini

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// writeBuffer is how large a request may be that leaves in one write, in bytes: as
// large as most first turns are.
const writeBuffer = 32 << 10

// maxError is how much of the body of an error is read, in bytes.
const maxError = 1 << 20

// call is what the round tripper and the reader of the answer share. The round
// trip is over before the first event is read, and both are on the goroutine
// that runs the loop, but for what net/http sends on one of its own: that only
// touches the watchdog. Its fields have no lock for that reason; dials is counted by
// goroutines of net/http and is atomic.
type call struct {
	watch   *watchdog
	body    body         // of the request
	bodyErr error        // it could not be encoded
	dials   atomic.Int32 // connections that were begun for it

	status     int // 0: there was no answer
	header     http.Header
	errorBody  []byte // of an answer that is an error
	transport  error  // there was no answer because of this
	began      bool   // something came that may be of an answer
	passed     int    // how many chunks genai has yielded
	stray      string // the first line that no event stream has
	stream     *stream
	events     [][]byte // what genai was given and has not yielded yet
	incomplete bool     // the stream ended within an event
}

// callKey is the key of a request's context under which its *call is.
type callKey struct{}

// nextEvent returns the bytes of the chunk that genai has just yielded. genai yields
// one chunk for each event, in order; nil where it yields one more.
func (c *call) nextEvent() []byte {
	if len(c.events) == 0 {
		return nil
	}
	e := c.events[0]
	c.events = c.events[1:]
	c.passed++
	return e
}

// readErr returns why the stream ended, if not by its end. It is nil where no answer that
// could be read began.
func (c *call) readErr() error {
	if c.stream == nil {
		return nil
	}
	return c.stream.failed
}

// transport is the round tripper under genai.
type transport struct {
	base          http.RoundTripper
	headerTimeout time.Duration
	tokens        *tokens // nil: requests carry an API key
}

// RoundTrip implements [http.RoundTripper]. A request with a [call] gets its body from it, and its
// answer is read by this package; any other (an embedding) is passed on. Errors are kept in the
// call, since genai wraps them in words of its own.
func (t *transport) RoundTrip(q *http.Request) (*http.Response, error) {
	c, ok := q.Context().Value(callKey{}).(*call)
	if !ok {
		return t.plain(q)
	}
	if q.Body != nil {
		// genai's own body is empty; the request is c.body.
		_ = q.Body.Close()
	}
	if c.bodyErr != nil {
		return nil, c.bodyErr
	}
	resp, err := t.send(q, c)
	if err != nil {
		c.transport = err
		return nil, err
	}
	// The answer has begun: from here on the watchdog waits for its pieces.
	c.watch.arm(c.watch.idle, errIdle)
	c.status, c.header = resp.StatusCode, resp.Header
	body := resp.Body
	// Nobody asked for compression (newTransport), but proxies compress all the same.
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") && !resp.Uncompressed {
		body = &unzipped{from: body}
		resp.Header.Del("Content-Encoding")
		resp.ContentLength = -1
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		// What was read of it is judged, also where the rest does not come.
		c.errorBody, _ = io.ReadAll(io.LimitReader(body, maxError))
		_ = body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(c.errorBody))
		return resp, nil
	}
	c.stream = newStream(body, c)
	resp.Body = c.stream
	return resp, nil
}

// plain sends a request whose answer genai reads by itself. It carries a token where
// one is wanted, and is not tried again with another.
func (t *transport) plain(q *http.Request) (*http.Response, error) {
	if t.tokens == nil {
		return t.base.RoundTrip(q)
	}
	who, err := t.tokens.get(q.Context(), "")
	if err != nil {
		return nil, err
	}
	q = q.Clone(q.Context())
	who.sign(q)
	return t.base.RoundTrip(q)
}

// send sends a request, with a token where one is wanted. A token that is
// refused is replaced once. No model has seen a request that is refused with 401, so
// sending it twice costs nothing (spec 3.3).
func (t *transport) send(q *http.Request, c *call) (*http.Response, error) {
	if t.tokens == nil {
		return t.sendAs(q, c, token{})
	}
	first, err := t.tokens.get(q.Context(), "")
	if err != nil {
		return nil, err
	}
	resp, err := t.sendAs(q, c, first)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	second, err := t.tokens.get(q.Context(), first.value)
	// There is no other token, so the refusal is the answer.
	if err == nil && second.value == first.value {
		return resp, nil
	}
	// What is left is read, so that the connection is used again.
	_, _ = io.CopyN(io.Discard, resp.Body, maxError)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	return t.sendAs(q, c, second)
}

// sendAs sends a request with a token, which may be none. net/http may call open again
// when a kept connection turns out to be closed, so the body can be read any number of
// times.
func (t *transport) sendAs(q *http.Request, c *call, who token) (*http.Response, error) {
	// As long as the request goes out, the headers are not late.
	late := func() { c.watch.arm(t.headerTimeout, errNoHeaders) }
	r := q.Clone(httptrace.WithClientTrace(q.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { c.watch.touch() },
	}))
	open := func() (io.ReadCloser, error) {
		if c.body.size() <= writeBuffer {
			// Of what net/http knows to be in memory it sends the head with the body.
			return io.NopCloser(bytes.NewReader(bytes.Join(c.body, nil))), nil
		}
		return io.NopCloser(&progress{c.body.reader(), c.watch}), nil
	}
	r.Body, _ = open()
	r.GetBody, r.ContentLength = open, c.body.size()
	r.Header.Set("Accept", "text/event-stream")
	who.sign(r)
	late()
	return t.base.RoundTrip(r)
}

// sign has a request say who asks; nobody where there is no token.
func (who token) sign(q *http.Request) {
	if who.value == "" {
		return
	}
	q.Header.Set("Authorization", "Bearer "+who.value)
	if who.quota != "" {
		q.Header.Set("X-Goog-User-Project", who.quota)
	}
}

// progress tells the watchdog that a request goes out.
type progress struct {
	io.Reader
	watch *watchdog
}

// Read implements [io.Reader].
func (p *progress) Read(b []byte) (int, error) {
	p.watch.touch()
	return p.Reader.Read(b)
}

// unzipped reads a compressed body as it comes. Its header is read with the first Read,
// so that nothing blocks before.
type unzipped struct {
	from io.ReadCloser
	zip  *gzip.Reader
}

// Read implements [io.Reader].
func (u *unzipped) Read(b []byte) (int, error) {
	if u.zip == nil {
		zip, err := gzip.NewReader(u.from)
		if err != nil {
			return 0, err
		}
		u.zip = zip
	}
	return u.zip.Read(b)
}

// Close implements [io.Closer].
func (u *unzipped) Close() error { return u.from.Close() }

// withCall gives the round tripper of a request its call.
func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}
