package dial

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// TestSEC101HostsHaveOneForm reads hosts, and refuses what parsers differ about.
func TestSEC101HostsHaveOneForm(t *testing.T) {
	for text, want := range map[string]string{
		"example.com": "example.com", "EXAMPLE.com": "example.com", "a_b.example": "a_b.example", "1.2.3.4": "1.2.3.4",
		"::1": "::1", "[::1]": "::1", "[2001:DB8:0:0::1]": "2001:db8::1", "bücher.example": "xn--bcher-kva.example",
		"xn--bcher-kva.example": "xn--bcher-kva.example", "аpple.com": "xn--pple-43d.com", "localhost": "localhost",
		"\u212aelvin.example": "kelvin.example", "ｅxample.com": "example.com", "4chan.org": "4chan.org", "0xbad.example": "0xbad.example",
	} {
		if got, err := ParseHost(text); got != want {
			t.Errorf("ParseHost(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ".", "a..b", ".a", "example.com.", "localhost.", "a b", "a\tb", "a\x00b", "a\nb", "a@b", "a\\b", "a/b", "a%00b", "a%2eb", "a?b", "a#b",
		"2130706433", "0x7f.1", "0x7f000001", "127.1", "0177.0.0.1", "127.0.0.01", "1.2.3.4.5", "1.2.3.256", "a.1", "a.0x", "１２７.0.0.1", "127。0。0。1",
		"[::1", "::1]", "[::1]x", "[fe80::1%25eth0]", "fe80::1%eth0", "[127.0.0.1]", "1:2", "-a.com", "a-.com", "xn--a.example", "a\u202eb.com", "a\u200bb.com/",
		strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 130) + "com", "\xff.com", "*.example.com", "a,b", "a;b", "a'b", `a"b`, "a!b", "a$b",
	} {
		if got, err := ParseHost(text); err == nil {
			t.Errorf("ParseHost(%q) = %q", text, got)
		}
	}
}

// TestSEC101URLs reads URLs, of which nothing is left to a second parser.
func TestSEC101URLs(t *testing.T) {
	for text, want := range map[string]string{
		"http://Example.com": "http://example.com", "https://example.com:443/a?b#c": "https://example.com/a?b",
		"http://example.com:8080/%2e%2e/": "http://example.com:8080/%2e%2e/", "HTTP://bücher.example/ü": "http://xn--bcher-kva.example/%C3%BC",
		"http://[::1]:80/": "http://[::1]/",
	} {
		if got, err := ParseURL(text); err != nil || got.String() != want {
			t.Errorf("ParseURL(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "example.com", "//example.com/", "ftp://example.com/", "file:///etc/passwd", "http:", "http:///x", "http:example.com", "http://user@example.com/",
		"http://good.example@evil.example/", "http://:pw@example.com", "http://good.example\\@evil.example/", "http://exa mple.com/", "http://example.com\x00.evil/",
		"http://example.com%00.evil/", "http://2130706433/", "http://0x7f.1/", "http://127.1/", "http://localhost./", "http://::1/", "http://[::1%25lo]/",
		"http://example.com:0/", "http://example.com:65536/", "http://example.com:+80/", "http://example.com:http/", "http://example.com:/", "javascript:alert(1)",
		"http://example.com/\n", "http://example.com/a\tb", "http://example.com/\u00a0",
	} {
		if got, err := ParseURL(text); err == nil {
			t.Errorf("ParseURL(%q) = %v", text, got)
		}
	}
}

// TestHostRules holds entries of settings to what they say.
func TestHostRules(t *testing.T) {
	for _, c := range []struct {
		rule, host  string
		port        int
		allow, name bool
	}{
		{"example.com", "example.com", 443, true, true},
		{"Example.COM", "example.com", 80, true, true},
		{"example.com", "a.example.com", 443, false, false},
		{"example.com", "example.com", 22, false, false},
		{"example.com:22", "example.com", 22, true, true},
		{"example.com:22", "example.com", 443, false, false},
		{"*.example.com", "a.b.example.com", 443, true, false},
		{"*.example.com", "example.com", 443, false, false},
		{"*.example.com", "evilexample.com", 443, false, false},
		{"*.example.com:8443", "a.example.com", 8443, true, false},
		{"*", "anything.example", 443, true, false},
		{"*:22", "anything.example", 22, true, false},
		{"[::1]:8080", "::1", 8080, true, true},
		{"[::1]", "::1", 80, true, true},
	} {
		h := hosts(t, c.rule)
		if h.Allow(c.host, c.port) != c.allow || h.Name(c.host, c.port) != c.name {
			t.Errorf("%+v: %v, %v", c, h.Allow(c.host, c.port), h.Name(c.host, c.port))
		}
	}
	for _, text := range []string{"", "*example.com", "a.*.com", "https://example.com", "example.com/", "example.com:", "::1", "*.", "*.*", "127.1", "a b"} {
		if h, err := ParseHostRule(text); err == nil {
			t.Errorf("ParseHostRule(%q) = %+v", text, h)
		}
	}
}

// FuzzSEC101ParseHost holds that what is accepted is read alike by everyone: by
// this parser again, by net/url, and by a resolver that takes every old form of
// an IPv4 address.
func FuzzSEC101ParseHost(f *testing.F) {
	for _, seed := range []string{"example.com", "127.0.0.1", "[::ffff:7f00:1]", "0x7f.1", "2130706433", "a.b.c", "аpple.com", "xn--pple-43d.com", "a%00b", "１。２", "K.com", "a\tb@c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, err := ParseHost(text)
		if u, bad := ParseURL("http://" + text + "/"); bad == nil && u.Path == "/" && u.Port == 80 && u.RawQuery == "" && err == nil && u.Hostname != host {
			t.Errorf("%q is %q, and %q in a URL", text, host, u.Hostname)
		}
		if err != nil {
			return
		}
		if again, err := ParseHost(host); again != host {
			t.Errorf("%q is %q is %q, %v", text, host, again, err)
		}
		if host != strings.ToLower(host) || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.:-_") != "" {
			t.Errorf("%q is %q", text, host)
		}
		if u, err := url.Parse("http://" + net.JoinHostPort(host, "80") + "/"); err != nil || u.Hostname() != host {
			t.Errorf("%q is %q, and net/url reads %v, %v", text, host, u, err)
		}
		if _, err := netip.ParseAddr(host); err != nil && oldAddress(host) {
			t.Errorf("%q is %q, which some read as an address", text, host)
		}
	})
}

// oldAddress reports whether inet_aton could read a name as an address.
func oldAddress(name string) bool {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return false
	}
	for _, p := range parts {
		digits, set := p, "0123456789"
		if hex, ok := strings.CutPrefix(p, "0x"); ok {
			digits, set = hex, "0123456789abcdef"
		}
		if strings.Trim(digits, set) != "" {
			return false
		}
	}
	return true
}
