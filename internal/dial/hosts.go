package dial

import (
	"slices"
	"strings"
)

// Host is an entry of a list of hosts in settings:
//
//	example.com         this host, ports 80 and 443
//	example.com:8443    this host and port
//	*.example.com       the hosts below example.com, not itself
//	*                   any host
type Host struct {
	Name string // canonical (see [ParseHost]); what follows the * of a wildcard
	Any  bool   // a wildcard
	Port int    // 0 = 80 and 443
}

// ParseHostRule reads an entry. The error is for the person who wrote the settings.
func ParseHostRule(text string) (Host, error) {
	name, port, err := splitPort(text)
	if err != nil {
		return Host{}, err
	}
	rest, wild := strings.CutPrefix(name, "*")
	if !wild {
		name, err = ParseHost(name)
		return Host{Name: name, Port: port}, err
	}
	if rest == "" {
		return Host{Any: true, Port: port}, nil
	}
	if rest, wild = strings.CutPrefix(rest, "."); !wild {
		return Host{}, hostError(text, "a * stands for whole names, as in *.example.com")
	}
	name, err = parseName(rest)
	return Host{Name: "." + name, Any: true, Port: port}, err
}

// Hosts are the hosts that a person's settings let agents reach. nil is none.
type Hosts []Host

// Allow reports whether one of the entries covers a canonical host and port. It is what
// a person is not asked about.
func (h Hosts) Allow(host string, port int) bool {
	return slices.ContainsFunc(h, func(one Host) bool { return one.covers(host) && one.reaches(port) })
}

// Name reports whether an entry names just this host, so that the person meant
// the machine whatever address it has. A wildcard does not: whoever can add a name
// below a domain chooses its address.
func (h Hosts) Name(host string, port int) bool {
	return slices.ContainsFunc(h, func(one Host) bool { return !one.Any && one.Name == host && one.reaches(port) })
}

// port reports whether a port may be dialled at a host: 80, 443, or one that an
// entry gives.
func (h Hosts) port(host string, port int) bool {
	return port == 80 || port == 443 || h.Allow(host, port)
}

// covers reports whether an entry is about a host.
func (h Host) covers(host string) bool {
	if h.Any {
		return h.Name == "" || strings.HasSuffix(host, h.Name)
	}
	return h.Name == host
}

// reaches reports whether an entry is about a port.
func (h Host) reaches(port int) bool {
	return h.Port == port || (h.Port == 0 && (port == 80 || port == 443))
}
