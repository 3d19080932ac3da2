package dial

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// TestSEC100AddressesInside dials what stands for this machine or its network, by
// address and by a name that has it. Nothing is connected to.
func TestSEC100AddressesInside(t *testing.T) {
	inside := []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "100.100.100.200",
		"169.254.169.254", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1",
		"::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1",
		"64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001:db8::1", "2001::1", "100::1", "fec0::1",
	}
	names := zone{}
	for i, address := range inside {
		names["n"+strconv.Itoa(i)+".example."] = netip.MustParseAddr(address)
	}
	d := &Dialer{Resolver: names.resolver(t)}
	for i, address := range inside {
		for _, host := range []string{netip.MustParseAddr(address).String(), "n" + strconv.Itoa(i) + ".example"} {
			if conn, err := d.Dial(t.Context(), host, 443); err == nil || !errors.Is(err, ErrRefused) {
				t.Errorf("%s (%s): %v, %v", host, address, conn, err)
			}
		}
	}
	for _, host := range []string{"localhost", "a.localhost"} {
		if _, err := d.Dial(t.Context(), host, 80); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, outside := range []string{"8.8.8.8", "1.1.1.1", "2606:4700::1111"} {
		if err := judge(outside, netip.MustParseAddr(outside)); err != nil {
			t.Errorf("%s: %v", outside, err)
		}
	}
}

// TestSEC100PortsAndHostsOfSettings dials a server of this machine: it is reached
// only where the settings name it, host and port.
func TestSEC100PortsAndHostsOfSettings(t *testing.T) {
	var reached atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = io.WriteString(w, "here")
	}))
	defer s.Close()
	address := strings.TrimPrefix(s.URL, "http://")
	_, number, _ := net.SplitHostPort(address)
	port, _ := strconv.Atoi(number)
	names := zone{"inside.example.": netip.MustParseAddr("127.0.0.1")}
	for _, c := range []struct {
		settings, host string
		ok             bool
	}{
		{"", "127.0.0.1", false},
		{"127.0.0.1", "127.0.0.1", false}, // ports 80 and 443
		{"127.0.0.1:1", "127.0.0.1", false},
		{address, "127.0.0.1", true},
		{address, "inside.example", false},
		{"*:" + number, "127.0.0.1", false},
		{"*.example:" + number, "inside.example", false}, // a wildcard names no machine
		{"inside.example:" + number, "inside.example", true},
	} {
		before := reached.Load()
		d := &Dialer{Hosts: hosts(t, c.settings), Resolver: names.resolver(t)}
		conn, err := d.Dial(t.Context(), c.host, port)
		if err == nil {
			_ = conn.Close()
		}
		if (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrRefused)) {
			t.Errorf("Dial %+v: %v", c, err)
		}
		transport := d.Transport(Timeout)
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(c.host, number), nil)
		answer, err := transport.RoundTrip(q)
		if err == nil {
			_ = answer.Body.Close()
		}
		transport.CloseIdleConnections()
		if (err == nil) != c.ok || (reached.Load() > before) != c.ok {
			t.Errorf("RoundTrip %+v: %v", c, err)
		}
	}
}

// TestSEC100RebindingAndRedirects has a name change its address between lookups,
// and a server send its client on to another machine's name.
func TestSEC100RebindingAndRedirects(t *testing.T) {
	var reached atomic.Int32
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer canary.Close()
	number := canary.URL[strings.LastIndex(canary.URL, ":")+1:]
	port, _ := strconv.Atoi(number)
	first := httptest.NewServer(http.RedirectHandler("http://rebound.example:"+number, http.StatusFound))
	defer first.Close()

	names := zone{"rebound.example.": netip.MustParseAddr("127.0.0.1")}
	d := &Dialer{Resolver: names.resolver(t), Hosts: hosts(t, strings.TrimPrefix(first.URL, "http://"), "*:"+number)}
	client := &http.Client{Transport: d.Transport(Timeout)}
	defer client.CloseIdleConnections()
	if answer, err := client.Get(first.URL); err == nil || !errors.Is(err, ErrRefused) {
		t.Errorf("redirect: %v, %v", answer, err)
	}
	for range 20 {
		if conn, err := d.Dial(t.Context(), "rebound.example", port); err == nil {
			t.Errorf("rebinding: connected to %v", conn.RemoteAddr())
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("the canary was reached %d times", n)
	}
}

// TestSEC100BehindTheProxyOfThePerson connects through a proxy, which looks names up.
func TestSEC100BehindTheProxyOfThePerson(t *testing.T) {
	var asked sync.Map
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked.Store(q.Method+" "+q.Host+" "+q.Header.Get("Proxy-Authorization"), true)
		if q.Method == http.MethodConnect {
			conn, buffer, _ := w.(http.Hijacker).Hijack()
			_, _ = buffer.WriteString("HTTP/1.1 200 OK\r\n\r\nhello")
			_ = buffer.Flush()
			_ = conn.Close()
		}
	}))
	defer proxy.Close()
	via, _ := url.Parse(proxy.URL)
	via.User = url.UserPassword("u", "p")
	names := zone{"inside.example.": netip.MustParseAddr("10.0.0.1"), "outside.example.": netip.MustParseAddr("8.8.8.8")}
	d := &Dialer{Proxy: http.ProxyURL(via), Resolver: names.resolver(t), Hosts: hosts(t, "intranet")}
	for _, host := range []string{"outside.example", "unknown.example", "intranet"} {
		conn, err := d.Dial(t.Context(), host, 443)
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		if said, err := io.ReadAll(conn); string(said) != "hello" {
			t.Errorf("%s: %q, %v", host, said, err)
		}
		_ = conn.Close()
		if _, ok := asked.Load("CONNECT " + host + ":443 Basic dTpw"); !ok {
			t.Errorf("%s was not asked of the proxy", host)
		}
	}
	for _, host := range []string{"inside.example", "wiki", "metadata.google.internal", "printer.local", "10.0.0.1", "localhost"} {
		if _, err := d.Dial(t.Context(), host, 443); !errors.Is(err, ErrRefused) {
			t.Errorf("Dial %s: %v", host, err)
		}
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host, nil)
		if _, err := d.Transport(Timeout).RoundTrip(q); !errors.Is(err, ErrRefused) {
			t.Errorf("RoundTrip %s: %v", host, err)
		}
	}
	q, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://outside.example/x", nil)
	transport := d.Transport(Timeout)
	defer transport.CloseIdleConnections()
	if answer, err := transport.RoundTrip(q); err != nil || answer.Body.Close() != nil {
		t.Error(err)
	}
	if _, ok := asked.Load("GET outside.example Basic dTpw"); !ok {
		t.Error("a plain request did not go through the proxy")
	}
}

func hosts(t *testing.T, entries ...string) Hosts {
	t.Helper()
	var all Hosts
	for _, entry := range entries {
		if entry == "" {
			continue
		}
		one, err := ParseHostRule(entry)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// zone has the addresses of names, which end in a dot.
type zone map[string]netip.Addr

// resolver returns one that asks a DNS server of the test's.
func (z zone) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		buffer := make([]byte, 4096)
		for {
			n, from, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buffer[:n]) != nil || len(m.Questions) == 0 {
				continue
			}
			asked := m.Questions[0]
			header := dnsmessage.ResourceHeader{Name: asked.Name, Class: dnsmessage.ClassINET}
			m.Header.Response, m.Additionals = true, nil
			address, known := z[strings.ToLower(asked.Name.String())]
			switch {
			case !known:
				m.Header.RCode = dnsmessage.RCodeNameError
			case address.Is4() && asked.Type == dnsmessage.TypeA:
				m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: address.As4()}}}
			case address.Is6() && asked.Type == dnsmessage.TypeAAAA:
				m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}}}
			}
			packed, err := m.Pack()
			if err != nil {
				return
			}
			_, _ = server.WriteTo(packed, from)
		}
	})
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}
