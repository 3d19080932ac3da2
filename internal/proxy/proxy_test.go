package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	xproxy "golang.org/x/net/proxy"

	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/proxy"
	"github.com/agentls/agentls/internal/proxy/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a proxy, and what its policy was asked and told.
type world struct {
	*testing.T
	socket string
	mu     sync.Mutex
	asked  []string
	told   []string
}

// start starts a proxy on a socket; allow may be nil for yes.
func start(t *testing.T, policy proxy.Policy, allow func(ctx context.Context, host string) error) *world {
	t.Helper()
	w := &world{T: t, socket: filepath.Join(t.TempDir(), "p")}
	policy.Allow = func(ctx context.Context, host string, _ int) error {
		w.mu.Lock()
		w.asked = append(w.asked, host)
		w.mu.Unlock()
		if allow == nil {
			return nil
		}
		return allow(ctx, host)
	}
	policy.Report = func(host string, port int, err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, fmt.Sprintf("%s:%d %v", host, port, err == nil))
	}
	listener, err := net.Listen("unix", w.socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := proxy.Serve(ctx, listener, policy); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	return w
}

func (w *world) questions() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.asked...)
}

func (w *world) reports() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.told...)
}

// client returns a client that goes through the proxy, by SOCKS or HTTP.
func (w *world) client(kind string) *http.Client {
	w.Helper()
	unix := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", w.socket)
	}
	t := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	if kind == "socks" {
		through, err := xproxy.SOCKS5("tcp", "x", nil, dialer(unix))
		if err != nil {
			w.Fatal(err)
		}
		t.DialContext = through.(xproxy.ContextDialer).DialContext
	} else {
		t.Proxy, t.DialContext = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}), unix
	}
	w.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d(context.Background(), network, address)
}

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// named returns a dialer whose settings name the servers at URLs.
func named(t *testing.T, urls ...string) *dial.Dialer {
	t.Helper()
	d := new(dial.Dialer)
	for _, u := range urls {
		h, err := dial.ParseHostRule(u[strings.Index(u, "//")+2:])
		if err != nil {
			t.Fatal(err)
		}
		d.Hosts = append(d.Hosts, h)
	}
	return d
}

var echo = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	_, _ = fmt.Fprintf(w, "%s %s %s %s", q.Method, q.URL, body, q.Header.Get("Proxy-Authorization"))
})

// TestProxyPassesOn has each way of a client reach the servers that are allowed.
func TestProxyPassesOn(t *testing.T) {
	plain, secure := httptest.NewServer(echo), httptest.NewTLSServer(echo)
	defer plain.Close()
	defer secure.Close()
	for _, kind := range []string{"http", "socks"} {
		w := start(t, proxy.Policy{Dialer: named(t, plain.URL, secure.URL)}, nil)
		c := w.client(kind)
		for _, server := range []string{plain.URL, secure.URL} {
			answer, err := c.Post(server+"/a?b=c", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
			if err != nil {
				t.Errorf("%s %s: %v", kind, server, err)
				continue
			}
			got, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if want := "POST /a?b=c " + strings.Repeat("x", 1<<20) + " "; err != nil || string(got) != want {
				t.Errorf("%s %s: %d bytes, %v", kind, server, len(got), err)
			}
		}
		if n := len(w.questions()); n != 2 {
			t.Errorf("%s: asked %v", kind, w.questions())
		}
	}
}

// TestSEC100ProxyReachesNothingInside has commands ask for what stands for this
// machine; nobody is asked, nothing is reached.
func TestSEC100ProxyReachesNothingInside(t *testing.T) {
	var reached atomic.Int32
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer canary.Close()
	number := canary.URL[strings.LastIndex(canary.URL, ":")+1:]
	any, err := dial.ParseHostRule("*:" + number)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"http", "socks"} {
		w := start(t, proxy.Policy{Dialer: &dial.Dialer{Hosts: dial.Hosts{any}}}, nil)
		c := w.client(kind)
		for _, host := range []string{"127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "localhost."} {
			for _, scheme := range []string{"http", "https"} {
				answer, err := c.Get(scheme + "://" + host + ":" + number + "/")
				if err == nil {
					_ = answer.Body.Close()
					if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusBadGateway {
						t.Errorf("%s %s://%s: %s", kind, scheme, host, answer.Status)
					}
				}
			}
		}
		if len(w.questions()) > 0 {
			t.Errorf("%s: asked %v", kind, w.questions())
		}
	}
	if reached.Load() > 0 {
		t.Error("the canary was reached")
	}
}

// TestProxyAsksOnce has many connections wait for the answer to one question, and
// a refusal hold for the command.
func TestProxyAsksOnce(t *testing.T) {
	s := httptest.NewServer(echo)
	defer s.Close()
	for _, refused := range []bool{false, true} {
		answered := make(chan struct{})
		w := start(t, proxy.Policy{Dialer: named(t, s.URL)}, func(ctx context.Context, _ string) error {
			<-answered
			if refused {
				return errors.New("the person said no")
			}
			return nil
		})
		var asking sync.WaitGroup
		codes := make(chan int, 21)
		for range 20 {
			asking.Go(func() {
				answer, err := w.client("http").Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				if refused && !strings.Contains(string(body), "the person said no") {
					t.Errorf("the refusal says %q", body)
				}
				codes <- answer.StatusCode
			})
		}
		close(answered)
		asking.Wait()
		if answer, err := w.client("http").Get(s.URL); err == nil {
			codes <- answer.StatusCode
			_ = answer.Body.Close()
		}
		close(codes)
		want := map[bool]int{false: 200, true: 403}[refused]
		n := 0
		for code := range codes {
			if n++; code != want {
				t.Errorf("refused %v: %d", refused, code)
			}
		}
		if n != 21 || len(w.questions()) != 1 || len(w.reports()) != 21 {
			t.Errorf("refused %v: %d answers, asked %v, told %v", refused, n, w.questions(), w.reports())
		}
	}
}

// TestProxyAsksForEachPort: an answer for one port of a host is none for another,
// but 80 and 443 are one question.
func TestProxyAsksForEachPort(t *testing.T) {
	s := httptest.NewServer(echo)
	defer s.Close()
	d := named(t, s.URL, "http://127.0.0.1")
	w := start(t, proxy.Policy{Dialer: d}, func(context.Context, string) error { return nil })
	c := w.client("http")
	for _, u := range []string{s.URL, s.URL, "http://127.0.0.1:80", "https://127.0.0.1:443"} {
		if answer, err := c.Get(u); err == nil { // nobody listens on 80 and 443
			_ = answer.Body.Close()
		}
	}
	if got := w.questions(); len(got) != 2 {
		t.Errorf("asked %v", got)
	}
}

// TestProxyEndsWithItsCommand ends a proxy while a question is open, a tunnel
// stands, and clients say nothing.
func TestProxyEndsWithItsCommand(t *testing.T) {
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	address := held.Addr().String()
	asked := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "p"))
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		_ = proxy.Serve(ctx, listener, proxy.Policy{Dialer: named(t, "x://"+address, "x://wait.example"), Allow: func(ctx context.Context, host string, _ int) error {
			if host == "127.0.0.1" {
				return nil
			}
			close(asked)
			<-ctx.Done()
			return ctx.Err()
		}})
	})
	open := func(send string) net.Conn {
		c, err := net.Dial("unix", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, send)
		return c
	}
	conns := []net.Conn{open("\x05"), open("GET "), open("CONNECT wait.example:443 HTTP/1.1\r\nHost: x\r\n\r\n"), open("CONNECT " + address + " HTTP/1.1\r\n\r\n")}
	tunnel, err := held.Accept()
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	cancel()
	served.Wait()
	for _, c := range append(conns, tunnel) {
		_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		_ = c.Close()
	}
}

// TestProxyLimits has idle tunnels and too many connections.
func TestProxyLimits(t *testing.T) {
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	address := held.Addr().String()
	w := start(t, proxy.Policy{Dialer: named(t, "x://"+address), Connections: 1, Idle: 500 * time.Millisecond}, nil)
	for range 3 { // each has to wait for the end of the one before it, by idleness
		c, err := net.Dial("unix", w.socket)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "CONNECT "+address+" HTTP/1.1\r\n\r\n")
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q, %v", line, err)
		}
		defer c.Close()
	}
	quiet := start(t, proxy.Policy{Dialer: named(t, "x://"+address), Total: 50 * time.Millisecond}, nil)
	c, err := net.Dial("unix", quiet.socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := io.Copy(io.Discard, c); err != nil || n > 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestSOCKSRefusals holds the codes of RFC 1928.
func TestSOCKSRefusals(t *testing.T) {
	w := start(t, proxy.Policy{Dialer: new(dial.Dialer)}, func(context.Context, string) error { return errors.New("no") })
	for request, code := range map[string]byte{
		"\x05\x01\x00\x03\x0bexample.com\x01\xbb":  2, // refused by the policy
		"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50": 2,
		"\x05\x01\x00\x03\x03a\x00b\x01\xbb":       8,
		"\x05\x03\x00\x01\x08\x08\x08\x08\x01\xbb": 7, // UDP
		"\x05\x02\x00\x01\x08\x08\x08\x08\x01\xbb": 7, // BIND
		"\x05\x01\x00\x09":                         8,
	} {
		c, err := net.Dial("unix", w.socket)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "\x05\x01\x00"+request)
		got, err := io.ReadAll(c)
		if want := "\x05\x00\x05" + string(rune(code)) + "\x00\x01\x00\x00\x00\x00\x00\x00"; err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", request, got, err, want)
		}
		_ = c.Close()
	}
}

// TestRelayPassesOn has a client reach the proxy by a port of loopback.
func TestRelayPassesOn(t *testing.T) {
	s := httptest.NewServer(echo)
	defer s.Close()
	w := start(t, proxy.Policy{Dialer: named(t, s.URL)}, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := relay.Serve(ctx, listener, w.socket); err != nil {
			t.Error(err)
		}
	})
	defer serving.Wait()
	defer cancel()
	for _, variable := range relay.Environ(listener.Addr().String()) {
		proxy, ok := strings.CutPrefix(variable, "HTTP_PROXY=")
		if !ok {
			continue
		}
		via, _ := url.Parse(proxy)
		transport := &http.Transport{Proxy: http.ProxyURL(via)}
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if !strings.HasPrefix(string(got), "GET / ") {
			t.Errorf("%q", got)
		}
	}
	for range 100 { // connections that end at once, on either side
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
}

// FuzzSEC101ProxyRequest sends anything to a proxy that allows nothing.
func FuzzSEC101ProxyRequest(f *testing.F) {
	var reached atomic.Int32
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	f.Cleanup(canary.Close)
	port, _ := strconv.Atoi(canary.URL[strings.LastIndex(canary.URL, ":")+1:])
	any, err := dial.ParseHostRule("*:" + strconv.Itoa(port))
	if err != nil {
		f.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(f.TempDir(), "p"))
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		_ = proxy.Serve(ctx, listener, proxy.Policy{
			Dialer: &dial.Dialer{Hosts: dial.Hosts{any}, Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }}},
			Allow:  func(context.Context, string, int) error { return nil },
		})
	})
	f.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	for _, seed := range []string{"CONNECT localhost:PORT HTTP/1.1\r\n\r\n", "GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT 0x7f.1:PORT HTTP/1.0\r\n\r\n", "\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, request string) {
		c, err := net.Dial("unix", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, strings.ReplaceAll(request, "PORT", strconv.Itoa(port)))
		_ = c.(*net.UnixConn).CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.Copy(io.Discard, c)
		if reached.Load() > 0 {
			t.Fatal("the canary was reached")
		}
	})
}
