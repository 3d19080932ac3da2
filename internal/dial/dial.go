package dial

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/net/proxy"
)

// Timeout is how long a connection may take to come about.
const Timeout = 10 * time.Second

// ErrRefused is in the chain of each error that says that a host, an address or a
// port may not be dialled; others are failures of the network.
var ErrRefused = errors.New("refused")

// Dialer connects to hosts that a model chose. Its fields are not changed once
// it is used; it is safe for concurrent use. The zero Dialer reaches public
// addresses without a proxy.
type Dialer struct {
	// Hosts are named by the person's settings: their ports are let through, and
	// the addresses of those that are named one by one.
	Hosts Hosts
	// Proxy says which proxy of the person's a request goes through, as
	// [http.ProxyFromEnvironment] does; nil = none.
	Proxy func(*http.Request) (*url.URL, error)
	// Resolver looks names up; nil = the system's.
	Resolver *net.Resolver
}

// guardian has the addresses that are not dialled. Ports are ours to judge.
var guardian = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(
	netip.MustParsePrefix("168.63.129.16/32"), // metadata of Azure, a public address
))

// Dial connects to a host, which is in the form of [ParseHost]. It takes Timeout at
// most, names and proxy included, and ends with ctx. The caller closes the connection.
// An error with [ErrRefused] in it is a decision and is not tried again; others are of
// the network.
func (d *Dialer) Dial(ctx context.Context, host string, port int) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if err := d.Check(host, port); err != nil {
		return nil, err
	}
	via, err := d.proxy(&url.URL{Scheme: schemeOf(port), Host: net.JoinHostPort(host, strconv.Itoa(port))})
	if err != nil {
		return nil, err
	}
	if via == nil {
		return d.direct(ctx, host, port)
	}
	if err := d.checkBehindProxy(ctx, host, port); err != nil {
		return nil, err
	}
	return tunnel(ctx, via, host, port)
}

// schemeOf returns the scheme by which a proxy is chosen for a port.
func schemeOf(port int) string {
	if port == 80 {
		return "http"
	}
	return "https"
}

// Check judges a host and a port before anything is looked up. The error is
// [ErrRefused]; nil says nothing about the addresses that a name has. It asks nobody
// and takes no time, so it can be asked before a person is.
func (d *Dialer) Check(host string, port int) error {
	canonical, err := ParseHost(host)
	if err != nil || canonical != host {
		return fmt.Errorf("%w: the host %q is not in its canonical form", ErrRefused, host)
	}
	if !d.Hosts.port(host, port) {
		return fmt.Errorf("%w: port %d of %s; only 80 and 443 are reached, and what tools.sandbox.allowedHosts names, as %q",
			ErrRefused, port, host, net.JoinHostPort(host, strconv.Itoa(port)))
	}
	if d.Hosts.Name(host, port) {
		return nil
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return refusal(host, "this machine")
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return judge(host, a)
	}
	return nil
}

// judge refuses addresses of this machine and the network around it. The error says
// where it is, and the address where the host is a name.
func judge(host string, a netip.Addr) error {
	if guardian.SafeAddr(a) == nil {
		return nil
	}
	where := "a private or reserved address"
	switch plain := a.Unmap(); {
	case plain.IsLoopback() || plain.IsUnspecified():
		where = "this machine"
	case plain.IsLinkLocalUnicast():
		where = "a link-local address"
	}
	if a.String() != host {
		where += " (" + a.String() + ")"
	}
	return refusal(host, where)
}

// refusal is an [ErrRefused] that says which setting could allow it.
func refusal(host, where string) error {
	return fmt.Errorf("%w: %s is %s; only the person's settings can allow it, by naming it in tools.sandbox.allowedHosts", ErrRefused, host, where)
}

// direct connects without a proxy. Each address is judged just before the system
// connects to it. All addresses of a name may be tried; one that is refused does not
// end the others, and net tells the first error.
func (d *Dialer) direct(ctx context.Context, host string, port int) (net.Conn, error) {
	dialer := net.Dialer{Resolver: d.Resolver, KeepAlive: 30 * time.Second}
	if !d.Hosts.Name(host, port) {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return refusal(host, "an address that cannot be read")
			}
			return judge(host, to.Addr())
		}
	}
	return dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

// proxy returns the person's proxy for a URL; nil = none.
func (d *Dialer) proxy(u *url.URL) (*url.URL, error) {
	if d.Proxy == nil {
		return nil, nil
	}
	via, err := d.Proxy(&http.Request{URL: u, Header: http.Header{}})
	if err != nil {
		return nil, fmt.Errorf("the proxy of the environment: %w", err)
	}
	return via, nil
}

// checkBehindProxy judges a host that the person's proxy is going to look up. The
// proxy stands in the person's network, so names of a local network are refused. It may
// block for a look-up. A name that cannot be looked up here is let through: the proxy's
// network is then the only one that knows it.
func (d *Dialer) checkBehindProxy(ctx context.Context, host string, port int) error {
	if d.Hosts.Name(host, port) {
		return nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil // Check has judged it
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case last == host, last == "local", last == "internal", last == "lan", strings.HasSuffix(host, ".home.arpa"):
		return refusal(host, "a name of a local network")
	}
	resolver := d.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	found, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil // behind a proxy it is usual that names cannot be looked up here
	}
	for _, a := range found {
		if err := judge(host, a.Unmap()); err != nil {
			return err
		}
	}
	return nil
}

// tunnel connects to a host through a proxy of the person's. Credentials in the proxy's
// URL go to the proxy alone.
func tunnel(ctx context.Context, via *url.URL, host string, port int) (net.Conn, error) {
	target := net.JoinHostPort(host, strconv.Itoa(port))
	if via.Scheme == "socks5" || via.Scheme == "socks5h" {
		through, err := proxy.FromURL(via, &net.Dialer{})
		if err != nil {
			return nil, fmt.Errorf("the proxy of the environment: %w", err)
		}
		return through.(proxy.ContextDialer).DialContext(ctx, "tcp", target)
	}
	conn, err := dialProxy(ctx, via)
	if err != nil {
		return nil, fmt.Errorf("the proxy of the environment: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	reader, err := connect(conn, via, target)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("the proxy of the environment: %w", err)
	}
	return &buffered{conn, reader}, nil
}

// dialProxy connects to an HTTP proxy.
func dialProxy(ctx context.Context, via *url.URL) (net.Conn, error) {
	secure := via.Scheme == "https"
	number := via.Port()
	if number == "" {
		if number = "80"; secure {
			number = "443"
		}
	}
	address := net.JoinHostPort(via.Hostname(), number)
	if secure {
		return (&tls.Dialer{}).DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// connect has an HTTP proxy connect to the target. What it sends after its answer
// is read through the reader. It blocks until conn's deadline.
func connect(conn net.Conn, via *url.URL, target string) (*bufio.Reader, error) {
	q := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: http.Header{}}
	if via.User != nil {
		password, _ := via.User.Password()
		q.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(via.User.Username()+":"+password)))
	}
	if err := q.Write(conn); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, q)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", answer.Status)
	}
	return reader, nil
}

// buffered is a connection of which some bytes were read already. What the target sent
// right behind the proxy's answer is in reader.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

// Read reads what was buffered first.
func (b *buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

// CloseWrite ends the sending half, where the connection has halves.
func (b *buffered) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return b.Conn.Close()
}
