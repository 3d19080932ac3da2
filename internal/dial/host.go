package dial

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// ParseHost returns a host in the one form that is judged, shown and dialled: an
// IP address as [netip.Addr] writes it, without brackets, or a name in lower case
// and ASCII (punycode). Everything that two parsers could read differently is an
// error: user names, escapes, control characters, zones, a trailing dot, an
// address in another form than four decimal numbers. It looks nothing up. Its result
// given to it again is itself, which [Dialer.Check] relies on.
func ParseHost(text string) (string, error) {
	inner, bracketed := strings.CutPrefix(text, "[")
	if bracketed {
		var closed bool
		inner, closed = strings.CutSuffix(inner, "]")
		if !closed {
			return "", hostError(text, "its bracket is not closed")
		}
	}
	if bracketed || strings.Contains(inner, ":") {
		a, err := netip.ParseAddr(inner)
		if err != nil || !a.Is6() || a.Zone() != "" {
			return "", hostError(text, "it is no IPv6 address")
		}
		return a.String(), nil
	}
	return parseName(text)
}

// parseName reads a host that is no IPv6 address. The name is checked again after
// punycode, which may be longer.
func parseName(text string) (string, error) {
	if text == "" || len(text) > maxName {
		return "", hostError(text, "a host has 1 to %d characters", maxName)
	}
	name := strings.ToLower(text)
	ascii := isASCII(name)
	if !ascii || strings.Contains(name, "xn--") {
		var err error
		if name, err = idna.Lookup.ToASCII(name); err != nil {
			return "", hostError(text, "it is no name of the internet")
		}
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !isLabel(label) {
			return "", hostError(text, "it is no name of the internet")
		}
	}
	if len(name) > maxName {
		return "", hostError(text, "a host has 1 to %d characters", maxName)
	}
	if !isNumber(labels[len(labels)-1]) {
		return name, nil
	}
	// Some resolvers read 2130706433, 0x7f.1 and 0177.0.0.1 as 127.0.0.1.
	a, err := netip.ParseAddr(name)
	if err != nil || !ascii {
		return "", hostError(text, "write an IPv4 address as four decimal numbers")
	}
	return a.String(), nil
}

// maxName is the length of the longest name that the DNS has.
const maxName = 253

// isLabel reports whether a part of a name between dots is one. Underscores are
// not of host names, but there are hosts that have them.
func isLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, c := range []byte(label) {
		letter, digit := 'a' <= c && c <= 'z', '0' <= c && c <= '9'
		if !letter && !digit && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// isNumber reports whether the last label of a name makes it an address to some
// parser: a decimal, octal or hexadecimal number.
func isNumber(label string) bool {
	digits, set := label, "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		digits, set = hex, "0123456789abcdef"
	}
	return strings.Trim(digits, set) == ""
}

// isASCII reports a text without characters beyond ASCII.
func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}

// hostError is an error for people and models, with the host in quotes so that nothing in it is a
// line of its own.
func hostError(host, format string, args ...any) error {
	return fmt.Errorf("invalid host %q: %s", host, fmt.Sprintf(format, args...))
}

// ParseHostPort reads a host with its port, as CONNECT names them. def is the
// port of a text without one; with 0 there must be one.
func ParseHostPort(text string, def int) (host string, port int, err error) {
	host, port, err = splitPort(text)
	if err != nil {
		return "", 0, err
	}
	if port = cmp.Or(port, def); port == 0 {
		return "", 0, hostError(text, "it has no port")
	}
	host, err = ParseHost(host)
	return host, port, err
}

// splitPort returns what stands before a port, and the port; 0 = there is none.
func splitPort(text string) (host string, port int, err error) {
	// Only a colon after the brackets of an IPv6 address begins a port.
	if at := strings.LastIndexByte(text, ':'); at > strings.LastIndexByte(text, ']') {
		if port, err = parsePort(text[at+1:]); err != nil {
			return "", 0, err
		}
		text = text[:at]
	}
	if strings.Contains(text, ":") && !strings.HasPrefix(text, "[") {
		return "", 0, hostError(text, "write an IPv6 address in brackets")
	}
	return text, port, nil
}

// parsePort reads a port: decimal digits only, 1 to 65535.
func parsePort(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("invalid port %q", text)
	}
	return int(port), nil
}

// URL is an address of the web that was read by [ParseURL].
type URL struct {
	*url.URL // its Host is Host, with Port where that is not the scheme's
	Hostname string
	Port     int
}

// ParseURL reads an absolute http or https URL. The host is in the form of
// [ParseHost]. There may be no user name or password in it; a fragment is dropped.
func ParseURL(text string) (*URL, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '\\' || (r >= 0x7f && r <= 0xa0) }) {
		return nil, fmt.Errorf("invalid URL: it holds blanks, control characters or backslashes; escape them")
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("invalid URL: %w", err)
	}
	return FromURL(u)
}

// FromURL is [ParseURL] of a URL that was taken apart already. u is not changed.
func FromURL(u *url.URL) (*URL, error) {
	ports := map[string]int{"http": 80, "https": 443}
	def, ok := ports[u.Scheme]
	switch {
	case !ok:
		return nil, fmt.Errorf("invalid URL: its scheme is %q, use http or https", u.Scheme)
	case u.User != nil:
		return nil, fmt.Errorf("invalid URL: it holds a user name or password")
	case u.Opaque != "" || u.Host == "":
		return nil, fmt.Errorf("invalid URL: it names no host")
	}
	host, port, err := ParseHostPort(u.Host, def)
	if err != nil {
		return nil, err
	}
	canonical := *u
	canonical.Fragment, canonical.RawFragment = "", ""
	if canonical.Host = bracket(host); port != def {
		canonical.Host = net.JoinHostPort(host, strconv.Itoa(port))
	}
	return &URL{URL: &canonical, Hostname: host, Port: port}, nil
}

// bracket returns a host as it stands in a URL.
func bracket(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
