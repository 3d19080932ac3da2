// Package dial connects to hosts that a model chose, and never to this machine
// or to the network that it stands in (SEC-100).
//
// A host is read once, by [ParseHost], into the form in which it is judged,
// shown, asked about and dialled. The address behind a name is judged when the
// system connects to it ([net.Dialer.ControlContext]), so a name that changes its
// address between two questions gains nothing: loopback, private, link-local,
// metadata, multicast, unspecified and reserved addresses are refused, and so are
// IPv6 addresses that stand for IPv4 ones. Ports other than 80 and 443 are
// refused. Hosts that the person's settings name are let through ([Hosts]).
//
// Where the person's environment names a proxy ([Dialer.Proxy]) the connection
// goes through it. The proxy resolves names then; an address that the name has
// here is judged all the same, and names that only a local network knows are
// refused.
//
// # Use
//
// [Dialer.Dial] is for connections, [Dialer.Transport] for HTTP; both judge in the same
// way. [ParseHost], [ParseHostPort] and [ParseURL] are the only parsers of hosts in
// what a model chose: a question is shown with what they return, and the connection is
// made to that. The tests dial real sockets and scripted resolvers.
package dial
