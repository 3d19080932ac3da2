package dial

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Transport returns a round tripper that judges the host of each request, also of
// those that follow a redirect, as [Dialer.Dial] does. header is how long a server
// may take until the headers of its answer are there. It does not decompress.
// The caller closes its idle connections.
func (d *Dialer) Transport(header time.Duration) *Transport {
	direct := &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, port, err := ParseHostPort(address, 0)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, Timeout)
			defer cancel()
			return d.direct(ctx, host, port)
		},
		TLSHandshakeTimeout: Timeout, ResponseHeaderTimeout: header, MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2: true, DisableCompression: true, MaxIdleConns: 16, IdleConnTimeout: 30 * time.Second,
	}
	// net/http connects to the proxy itself, which the person named.
	proxied := direct.Clone()
	proxied.DialContext = (&net.Dialer{Timeout: Timeout}).DialContext
	proxied.Proxy = func(q *http.Request) (*url.URL, error) { return d.proxy(q.URL) }
	return &Transport{dialer: d, direct: direct, proxied: proxied}
}

// maxHeader is how large the headers of an answer may be, in bytes.
const maxHeader = 256 << 10

// Transport is a round tripper of a [Dialer]. It is safe for concurrent use.
type Transport struct {
	dialer          *Dialer
	direct, proxied *http.Transport
}

// RoundTrip implements [http.RoundTripper]. The request is copied before it is changed.
// Its Host header is that of the URL: another one would ask the same server for what
// nobody was asked about.
func (t *Transport) RoundTrip(q *http.Request) (*http.Response, error) {
	u, err := FromURL(q.URL)
	if err != nil {
		return nil, err
	}
	if err := t.dialer.Check(u.Hostname, u.Port); err != nil {
		return nil, err
	}
	via, err := t.dialer.proxy(u.URL)
	if err != nil {
		return nil, err
	}
	r := q.Clone(q.Context())
	r.URL, r.Host = u.URL, u.Host
	if via == nil {
		return t.direct.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(q.Context(), Timeout)
	defer cancel()
	if err := t.dialer.checkBehindProxy(ctx, u.Hostname, u.Port); err != nil {
		return nil, err
	}
	return t.proxied.RoundTrip(r)
}

// CloseIdleConnections closes what is kept for later requests.
func (t *Transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}
