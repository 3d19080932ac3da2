// Package proxy is the way of sandboxed commands to the network (spec 4.5): an
// HTTP proxy (CONNECT, and requests for whole URLs) and a SOCKS5 proxy on one
// socket. It reaches the hosts that its [Policy] allows, by package dial, and so
// no address of this machine or its network that the person's settings do not
// name.
//
// There is one proxy for each command. It asks about a host once, for ports 80 and
// 443 together and for each other port: connections that come meanwhile wait for the
// same answer, and a refusal holds for the command.
//
// The listener is the caller's: a Unix socket in a folder that is the daemon's
// alone, which is bound into the sandbox (package relay passes connections on).
//
// # Goroutines
//
// [Serve] has one for each connection and waits for all of them: when it returns
// nothing of the proxy is left, and Allow and Report are not called any more. A
// connection that waits for a person keeps its place among [Policy.Connections].
package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/proxy/relay"
)

// The limits of a proxy, for what a Policy leaves 0.
const (
	MaxConnections = 64
	Idle           = 5 * time.Minute
	Total          = time.Hour
)

// Policy says what a proxy lets through. Dialer and Allow are required.
type Policy struct {
	Dialer *dial.Dialer

	// Allow returns nil for a host that the command may reach, and else why not,
	// for the command and the model. It may ask the person, and waits for the
	// answer or ctx, the proxy's. host is in the form of [dial.ParseHost]. It is
	// called once for each host with ports 80 and 443, once for each other port, and
	// concurrently for different ones.
	Allow func(ctx context.Context, host string, port int) error

	// Report, if not nil, is told of each connection: err is nil when it came
	// about. It may be called from any goroutine.
	Report func(host string, port int, err error)

	// At once; further ones wait to be accepted. 0 = MaxConnections.
	Connections int
	// Of one connection: without a byte, and altogether. 0 = the constants.
	Idle, Total time.Duration
}

// Serve serves the connections of the listener until ctx ends or the listener
// does; then it closes the listener and all connections, and returns when they
// are gone. The error is nil if ctx ended. It is called once for each listener, which
// it owns.
func Serve(ctx context.Context, listener net.Listener, policy Policy) error {
	ctx, cancel := context.WithCancel(ctx)
	p := &server{Policy: policy, ctx: ctx, answers: make(map[endpoint]*answer)}
	p.web = &queue{conns: make(chan net.Conn), ctx: ctx, at: listener.Addr()}
	setDefault(&p.Connections, MaxConnections)
	setDefault(&p.Idle, Idle)
	setDefault(&p.Total, Total)
	var serving conc.WaitGroup
	defer p.busy.Lock() // waits for the handlers of net/http; p is not used again
	defer serving.Wait()
	defer cancel()
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	serving.Go(p.serveHTTP)
	places := make(chan struct{}, p.Connections)
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		accepted, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		from := p.limit(accepted, func() { <-places })
		serving.Go(func() { p.serve(from) })
	}
}

// setDefault gives a value that is not set another.
func setDefault[T int | time.Duration](value *T, def T) {
	if *value <= 0 {
		*value = def
	}
}

// server is a proxy at work. It lives as long as Serve.
type server struct {
	Policy
	ctx  context.Context // ends with Serve
	web  *queue
	busy sync.RWMutex // read-locked by each handler of net/http, which nobody else waits for

	mu sync.Mutex
	// Guarded by mu; an entry is never removed, so that a refusal stays.
	answers map[endpoint]*answer
}

// endpoint is what one answer is about.
type endpoint struct {
	host string
	port int // 443 stands for 80 as well
}

// answer is what Allow says of an endpoint, once done is closed.
type answer struct {
	done chan struct{}
	err  error
}

// serve serves one connection: SOCKS5 begins with its version, HTTP with a letter. A
// client that sends nothing is closed after Idle.
func (p *server) serve(from *conn) {
	reader := bufio.NewReader(from.Conn)
	from.reader = reader
	quiet := time.AfterFunc(p.Idle, func() { _ = from.Close() })
	first, err := reader.Peek(1)
	switch quiet.Stop(); {
	case err != nil:
		_ = from.Close()
	case first[0] == socksVersion:
		p.serveSOCKS(from)
	default:
		p.web.put(from)
	}
}

// open connects to a host that the policy allows. It waits for the answer of a person,
// if one is asked. What came of it is reported in either case.
func (p *server) open(host string, port int) (net.Conn, error) {
	var to net.Conn
	err := p.allow(host, port)
	if err == nil {
		to, err = p.Dialer.Dial(p.ctx, host, port)
	}
	p.report(host, port, err)
	return to, err
}

// report tells of a connection where somebody listens.
func (p *server) report(host string, port int, err error) {
	if p.Report != nil {
		p.Report(host, port, err)
	}
}

// allow returns what the policy says of a host. What the dialer refuses anyway is
// not asked about. The first connection to an endpoint asks; others wait for its answer
// or the proxy's end.
func (p *server) allow(host string, port int) error {
	if err := p.Dialer.Check(host, port); err != nil {
		return err
	}
	to := endpoint{host, port}
	if port == 80 {
		to.port = 443
	}
	p.mu.Lock()
	a, known := p.answers[to]
	if !known {
		a = &answer{done: make(chan struct{})}
		p.answers[to] = a
	}
	p.mu.Unlock()
	if !known {
		a.err = errors.New("the question about it was not answered") // if Allow panics
		defer close(a.done)
		if a.err = p.Allow(p.ctx, host, port); a.err != nil {
			a.err = fmt.Errorf("%w: %w", dial.ErrRefused, a.err)
		}
		return a.err
	}
	select {
	case <-a.done:
		return a.err
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// serveHTTP serves the connections that speak HTTP until the proxy ends. Its server has
// no time limit for a request or an answer: a person may be asked, and a download may
// take long; Idle and Total bound both.
func (p *server) serveHTTP() {
	transport := p.Dialer.Transport(p.Idle)
	defer transport.CloseIdleConnections()
	silent := slog.NewLogLogger(slog.DiscardHandler, 0)
	plain := &httputil.ReverseProxy{
		Transport: allowing{p, transport}, FlushInterval: -1, ErrorLog: silent,
		Rewrite:      func(*httputil.ProxyRequest) {}, // the request says where it goes
		ErrorHandler: func(w http.ResponseWriter, q *http.Request, err error) { fail(w, q.Host, err) },
	}
	s := &http.Server{
		ReadHeaderTimeout: time.Minute, IdleTimeout: p.Idle, MaxHeaderBytes: 64 << 10, ErrorLog: silent,
		BaseContext: func(net.Listener) context.Context { return p.ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			p.busy.RLock()
			defer p.busy.RUnlock()
			switch {
			case p.ctx.Err() != nil:
			case q.Method == http.MethodConnect:
				p.connect(w, q)
			default:
				plain.ServeHTTP(w, q)
			}
		}),
	}
	defer context.AfterFunc(p.ctx, func() { _ = s.Close() })()
	_ = s.Serve(p.web) // it ends with the proxy
}

// allowing passes on requests for whole URLs to hosts that the policy allows.
type allowing struct {
	*server
	to http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (p allowing) RoundTrip(q *http.Request) (*http.Response, error) {
	u, err := dial.FromURL(q.URL)
	if err != nil {
		return nil, err
	}
	var resp *http.Response
	if err = p.allow(u.Hostname, u.Port); err == nil {
		resp, err = p.to.RoundTrip(q)
	}
	p.report(u.Hostname, u.Port, err)
	return resp, err
}

// connect makes a tunnel of an HTTP connection. The client is told that the tunnel is
// there only when it is.
func (p *server) connect(w http.ResponseWriter, q *http.Request) {
	host, port, err := dial.ParseHostPort(q.Host, 0)
	if err != nil {
		fail(w, q.Host, err)
		return
	}
	to, err := p.open(host, port)
	if err != nil {
		fail(w, host, err)
		return
	}
	from, buffer, err := w.(http.Hijacker).Hijack()
	if err != nil {
		_ = to.Close()
		return
	}
	_, _ = buffer.WriteString("HTTP/1.1 200 Connection established\r\n\r\n")
	_ = buffer.Flush() // where it fails, reading does
	p.join(&conn{Conn: from, reader: buffer}, to)
}

// fail answers a request that is not passed on. It is 403 for a refusal, which programs
// do not try again, else 502.
func fail(w http.ResponseWriter, host string, err error) {
	status := http.StatusBadGateway
	if errors.Is(err, dial.ErrRefused) {
		status = http.StatusForbidden
	}
	http.Error(w, fmt.Sprintf("agentls: %s was not reached: %v", host, err), status)
}

// join passes bytes both ways; each byte puts off the end of an idle connection. It
// returns when both ways have ended.
func (p *server) join(from, to net.Conn) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	quiet := time.AfterFunc(p.Idle, cancel)
	defer quiet.Stop()
	watch := func(c net.Conn) net.Conn {
		return &conn{Conn: c, reader: reader(func(b []byte) (int, error) {
			n, err := c.Read(b)
			quiet.Reset(p.Idle)
			return n, err
		})}
	}
	relay.Join(ctx, watch(from), watch(to))
}
