package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/agentls/agentls/internal/dial"
)

// The ways in which a server is reached that is not started here.
const (
	overHTTP = "httpUrl" // streamable HTTP
	overSSE  = "url"     // server-sent events, as before streamable HTTP
)

// maxHops is how many redirects are followed.
const maxHops = 5

// maxErrorBody is how much is read of an answer that is no success, in bytes.
const maxErrorBody = 4 << 10

// dial returns the transport to a server over HTTP. Nothing is sent yet.
// The error says that the address cannot be used.
func (c *connection) dial(context.Context) (transport.Interface, error) {
	all, s := c.entry.all, c.server
	u, err := dial.ParseURL(s.URL)
	if err != nil {
		return nil, fmt.Errorf("its %s cannot be used: %w", s.Via, err)
	}
	dialer := &dial.Dialer{Hosts: s.hosts(u), Proxy: all.Proxy}
	if all.Hosts != nil {
		dialer.Hosts = append(dialer.Hosts, all.Hosts(c.entry.folder)...)
	}
	g := &guard{connection: c, at: u.URL, next: dialer.Transport(0), headers: s.Headers}
	c.idle = g.next.CloseIdleConnections
	// Where the headers say who it is, no login is looked for.
	if s.logsIn() == nil {
		g.account = c.entry.newAccount(c.life, s, u)
		c.idle = func() {
			g.account.close()
			g.next.CloseIdleConnections()
		}
	}
	httpClient := &http.Client{Transport: g, CheckRedirect: checkRedirect}
	quiet := slog.New(slog.DiscardHandler)
	if s.Via == overSSE {
		sse, err := transport.NewSSE(u.String(), transport.WithHTTPClient(httpClient), transport.WithSSELogger(quiet),
			transport.WithEndpointTimeout(all.times.connect), transport.WithResponseTimeout(maxTimeout))
		if err != nil {
			return nil, err
		}
		sse.SetConnectionLostHandler(func(error) { c.die(errEnded) })
		g.refuse = func(m message) { c.refuse(httpClient, sse.GetEndpoint(), m) }
		return sseRecorder{sse, c}, nil
	}
	//lint:ignore SA1019 the versions before 2026-07-28, which servers speak, tell changes by that stream alone
	listening := transport.WithContinuousListening()
	streamable, err := transport.NewStreamableHTTP(u.String(), transport.WithHTTPBasicClient(httpClient),
		transport.WithHTTPLogger(quiet), listening)
	if err != nil {
		return nil, err
	}
	return httpRecorder{streamable, c}, nil
}

// hosts returns what a description lets through besides public addresses: the host
// of the person's own servers, whatever its address, and the port of a project's
// (SEC-90).
// A project's server may be at any name, but the dialer lets it have public addresses
// alone.
func (s *Server) hosts(u *dial.URL) dial.Hosts {
	if s.Project {
		return dial.Hosts{{Any: true, Port: u.Port}}
	}
	return dial.Hosts{{Name: u.Hostname, Port: u.Port}}
}

// checkRedirect follows redirects that stay at the server and keep the request.
func checkRedirect(q *http.Request, via []*http.Request) error {
	first := via[0].URL
	code := q.Response.StatusCode
	if q.URL.Host != first.Host || q.URL.Scheme != first.Scheme || len(via) > maxHops ||
		(code != http.StatusTemporaryRedirect && code != http.StatusPermanentRedirect) {
		return fmt.Errorf("it redirects to %s; correct its address in the settings if you trust that one",
			q.URL.Redacted())
	}
	return nil
}

// guard is what the library sends requests through. It adds the headers of the
// description, ends them with the connection, and passes on only what a filter lets
// through. Only where the description says are requests sent: they may hold a token.
// It is safe for concurrent use, as the library sends requests at the same time.
type guard struct {
	*connection
	at      *url.URL // of the description
	next    *dial.Transport
	headers http.Header
	account *account        // of the person; nil = the headers say who it is
	refuse  func(m message) // answers a request of the server; nil = the library does
}

// RoundTrip implements [http.RoundTripper].
// An answer to a request of the server is sent with a context of its own, since the
// library's may be over by then. Of a body that is neither JSON nor a stream only the
// beginning is passed on.
func (g *guard) RoundTrip(q *http.Request) (*http.Response, error) {
	// The library sends where the server tells it to, as a server over SSE does at its start.
	if q.URL.Scheme != g.at.Scheme || !strings.EqualFold(q.URL.Host, g.at.Host) {
		return nil, fmt.Errorf("it wants messages sent to %s, which is not where its settings have it",
			q.URL.Redacted())
	}
	ctx, cancel := context.WithCancel(q.Context())
	answers := answersServer(q)
	if answers {
		cancel()
		ctx, cancel = context.WithTimeout(g.life, g.entry.all.times.write)
	}
	stop := context.AfterFunc(g.life, cancel)
	end := sync.OnceFunc(func() {
		stop()
		cancel()
	})
	r := q.Clone(ctx)
	for name, values := range g.headers {
		r.Header[name] = values
	}
	resp, err := g.send(r)
	if answers && q.Response == nil { // a redirected one is counted already
		g.open.Add(-1)
	}
	if err != nil {
		end()
		if q.Method == http.MethodGet && q.Context().Err() == nil {
			g.die(unreachable(err)) // nobody waits for what the server tells by itself
		}
		return nil, err
	}
	// The answer is judged by its type, and each way keeps to a limit.
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // what cannot be read is no kind of ours
	body := closer{resp.Body, end}
	listens := q.Method == http.MethodGet && g.server.Via != overSSE
	switch {
	case resp.StatusCode/100 != 2:
		g.refused.Store(&resp.Status)
		if listens && !slices.Contains([]int{http.StatusNotFound, http.StatusTemporaryRedirect,
			http.StatusPermanentRedirect}, resp.StatusCode) {
			resp.StatusCode = http.StatusMethodNotAllowed // the library would ask each second again
		}
		resp.Body = limited{io.LimitReader(body, maxErrorBody), body}
	case kind == "text/event-stream":
		resp.Body = g.events(body, q)
	// A server that does not listen may answer anything; for the library that is 405.
	case listens:
		resp.StatusCode = http.StatusMethodNotAllowed
		resp.Body = limited{io.LimitReader(body, maxErrorBody), body}
	case kind == "application/json":
		resp.Body, err = g.answer(q.Context(), body)
		if err != nil {
			return nil, err
		}
	default:
		resp.Body = limited{io.LimitReader(body, maxErrorBody), body}
	}
	return resp, nil
}

// send sends a request with what the person's login gives. Where the server does not
// take that any more, it is renewed, once.
// A request whose body cannot be had a second time is sent once.
func (g *guard) send(r *http.Request) (*http.Response, error) {
	if g.account == nil {
		return g.next.RoundTrip(r)
	}
	// Once more at most: a server that refuses a new token as well wants another login.
	for again := false; ; again = true {
		header := g.account.authorization(r.Context())
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		resp, err := g.next.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusUnauthorized || again || (r.Body != nil && r.GetBody == nil) ||
			!g.account.reject(r.Context(), header) {
			return resp, err
		}
		_ = resp.Body.Close() // it is not read
		r = r.Clone(r.Context())
		if r.Body != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// answersServer reports whether a request carries the answer to one of the server's.
func answersServer(q *http.Request) bool {
	if q.GetBody == nil {
		return false
	}
	body, err := q.GetBody()
	if err != nil {
		return false
	}
	text, err := io.ReadAll(body) // it is in memory
	return err == nil && isAnswer(text)
}

// answer reads an answer that is one message.
// It closes body. An answer without text, as to a notification, stays one.
func (g *guard) answer(ctx context.Context, body io.ReadCloser) (io.ReadCloser, error) {
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxMessage+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxMessage:
		g.die(errTooLarge)
		return nil, errTooLarge
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return io.NopCloser(strings.NewReader("")), nil
	}
	out, _, err := g.filter(ctx).take(text)
	if err != nil {
		g.die(err)
		return nil, err
	}
	if out == nil {
		return nil, fmt.Errorf("it answered what is no JSON-RPC: %.80q", text)
	}
	return io.NopCloser(bytes.NewReader(out)), nil
}

// refuse answers a request of a server over SSE, where the library answers none: a
// ping, and that others are not known.
// It does not wait for that.
func (c *connection) refuse(through *http.Client, to *url.URL, m message) {
	answer := message{Version: "2.0", ID: m.ID, Result: jsontext.Value("{}")}
	if m.Method != string(mcp.MethodPing) {
		answer.Result, answer.Error = nil, jsontext.Value(`{"code":-32601,"message":"not supported"}`)
	}
	text, err := json.Marshal(answer)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || to == nil || err != nil {
		return
	}
	// Under the lock, so that close waits for it or it is not begun.
	c.work.Go(func() {
		ctx, cancel := context.WithTimeout(c.life, c.entry.all.times.write)
		defer cancel()
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(text))
		if err != nil {
			return // the library took the address
		}
		q.Header.Set("Content-Type", "application/json")
		if resp, err := through.Do(q); err == nil {
			_ = resp.Body.Close() // nothing is lost with it
		}
	})
}

// filter returns what judges one answer of the server, to a request with ctx.
func (c *connection) filter(ctx context.Context) *filter {
	return &filter{notify: c.notify, now: c.entry.all.Now, open: &c.open, wait: func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		case <-c.life.Done():
		}
	}}
}

// closer ends a request when its answer is closed.
// Without that the context of a streamed answer would never be released.
type closer struct {
	io.ReadCloser
	end func()
}

// Close implements [io.Closer].
func (c closer) Close() error {
	defer c.end()
	return c.ReadCloser.Close()
}

// limited reads a part of what it closes.
// It is a body that ends early, of which the connection can still be given back.
type limited struct {
	io.Reader
	io.Closer
}

// httpRecorder is a transport over streamable HTTP that also keeps results as the
// server wrote them.
type httpRecorder struct {
	*transport.StreamableHTTP
	c *connection
}

// RequiresLegacyProtocol hides that the transport listens, which it does with old
// versions only: the library can speak the newest all the same.
func (httpRecorder) RequiresLegacyProtocol() bool { return false }

// SetRequestHandler implements [transport.BidirectionalInterface]. The library gives an
// answer 30 s, and the person may take longer: [guard] sends late ones all the same.
func (r httpRecorder) SetRequestHandler(handler transport.RequestHandler) {
	r.StreamableHTTP.SetRequestHandler(func(ctx context.Context,
		request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(r.c.life, cancel)()
		return handler(ctx, request)
	})
}

// SendRequest implements [transport.Interface].
func (r httpRecorder) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse,
	error) {
	response, err := r.StreamableHTTP.SendRequest(ctx, request)
	r.c.tellCancelled(ctx, r.StreamableHTTP, request, err)
	return keep(ctx, response, err)
}

// sseRecorder is httpRecorder over server-sent events.
type sseRecorder struct {
	*transport.SSE
	c *connection
}

// SendRequest implements [transport.Interface].
func (r sseRecorder) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse,
	error) {
	response, err := r.SSE.SendRequest(ctx, request)
	r.c.tellCancelled(ctx, r.SSE, request, err)
	return keep(ctx, response, err)
}

// tellCancelled tells a server that nobody waits for a call any more, which the library
// does over stdio only. With the newest version the end of the request says it.
// It does not wait for that, and nobody learns whether it was taken.
func (c *connection) tellCancelled(ctx context.Context, to transport.Interface,
	request transport.JSONRPCRequest, err error) {
	if err == nil || ctx.Err() == nil || request.Method != string(mcp.MethodToolsCall) ||
		mcp.IsModernProtocol(c.client.ProtocolVersion()) {
		return
	}
	var n mcp.JSONRPCNotification
	n.JSONRPC, n.Method = mcp.JSONRPC_VERSION, string(mcp.MethodNotificationCancelled)
	n.Params.AdditionalFields = map[string]any{"requestId": request.ID, "reason": "nobody waits for it any more"}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.work.Go(func() {
		ctx, cancel := context.WithTimeout(c.life, c.entry.all.times.write)
		defer cancel()
		_ = to.SendNotification(ctx, n) // the server may be gone
	})
}

// explain returns an error of the library over HTTP in words for the person. fatal
// says that no other call can be answered either.
func (c *connection) explain(err error) (why error, fatal bool) {
	var network *url.Error
	switch {
	// One request was ended, and the connection is as good as before.
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err, false
	case errors.Is(err, transport.ErrSessionTerminated):
		return errors.New("it does not know the session any more"), true
	case errors.Is(err, transport.ErrAuthorizationRequired):
		return c.server.wantsLogin(), true
	case errors.Is(err, transport.ErrLegacySSEServer):
		if status := c.refused.Load(); status != nil {
			return fmt.Errorf("it answered %s; correct its address, or give it as url if it speaks SSE", *status), true
		}
	case errors.As(err, &network): // its text has the address, which may hold a token
		return unreachable(network.Err), true
	}
	return err, false
}

// unreachable says that there was no connection to the server, and why.
func unreachable(err error) error { return fmt.Errorf("it cannot be reached: %w", err) }
