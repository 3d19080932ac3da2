package tool

import (
	"strings"

	"github.com/agentls/agentls/internal/dial"
)

// ofHosts returns the rule about hosts.
func (r Rule) ofHosts(argument string) (Rule, error) {
	host, err := dial.ParseHostRule(argument)
	if err != nil {
		return r, Errorf(CodeArgs, "%q names no host (%v); write web_fetch(example.com)", r.Text, err)
	}
	r.Host = &host
	return r, nil
}

// bars reports whether a rule that denies is about a host, which may have a port:
// it is the rule's or below it, at whatever port the rule does not tell from
// others.
func (r Rule) bars(hostPort string) bool {
	host, port, err := dial.ParseHostPort(hostPort, 443)
	if err != nil {
		return true // what cannot be read may be denied
	}
	if r.Host.Port != 0 && r.Host.Port != port {
		return false
	}
	name := strings.TrimPrefix(r.Host.Name, ".")
	return name == "" || (host == name && !r.Host.Any) || strings.HasSuffix(host, "."+name)
}
