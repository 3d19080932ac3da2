package proxy

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"time"

	"github.com/agentls/agentls/internal/dial"
)

// SOCKS5, as of RFC 1928: no authentication, CONNECT only.
const (
	socksVersion = 5

	socksConnect = 1
	socksIPv4    = 1
	socksName    = 3
	socksIPv6    = 4

	socksDone        = 0
	socksRefused     = 2
	socksUnreachable = 4
	socksNoCommand   = 7
	socksNoAddress   = 8
)

// handshake is how long a client may take to say where it wants to go.
const handshake = time.Minute

// serveSOCKS serves a connection that speaks SOCKS5.
func (p *server) serveSOCKS(from *conn) {
	_ = from.SetDeadline(time.Now().Add(handshake))
	host, port, code, err := readSOCKS(from)
	if err != nil {
		_ = from.Close()
		return
	}
	_ = from.SetDeadline(time.Time{}) // a person may be asked
	if code != socksDone {
		_, _ = from.Write(socksReply(code))
		_ = from.Close()
		return
	}
	to, err := p.open(host, port)
	if err != nil {
		code = socksUnreachable
		if errors.Is(err, dial.ErrRefused) {
			code = socksRefused
		}
		_, _ = from.Write(socksReply(code))
		_ = from.Close()
		return
	}
	_, _ = from.Write(socksReply(socksDone)) // where it fails, reading does
	p.join(from, to)
}

// readSOCKS reads what a client wants. The code is what to answer it with, where
// that is not served. An error means that the client does not speak SOCKS5, and is
// closed without an answer. A name is not looked up here.
func readSOCKS(c io.ReadWriter) (host string, port int, code byte, err error) {
	var b [256]byte
	read := func(n int) []byte {
		if err == nil {
			_, err = io.ReadFull(c, b[:n])
		}
		return b[:n]
	}
	greeting := read(2)
	read(int(greeting[1])) // without authentication, whatever the client offers
	if err == nil {
		_, err = c.Write([]byte{socksVersion, 0})
	}
	head := read(4)
	version, command, kind := head[0], head[1], head[3]
	switch {
	case err != nil:
		return "", 0, 0, err
	case version != socksVersion:
		return "", 0, 0, errors.New("not SOCKS5")
	}
	switch kind {
	case socksIPv4:
		host = netip.AddrFrom4([4]byte(read(4))).String()
	case socksIPv6:
		host = netip.AddrFrom16([16]byte(read(16))).String()
	case socksName:
		host = string(read(int(read(1)[0])))
	default:
		return "", 0, socksNoAddress, nil
	}
	port = int(binary.BigEndian.Uint16(read(2)))
	if err != nil {
		return "", 0, 0, err
	}
	if host, err = dial.ParseHost(host); err != nil || port == 0 {
		return "", 0, socksNoAddress, nil
	}
	if command != socksConnect {
		return "", 0, socksNoCommand, nil
	}
	return host, port, socksDone, nil
}

// socksReply is an answer with a code; the address in it is of nobody.
func socksReply(code byte) []byte {
	return []byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0}
}
