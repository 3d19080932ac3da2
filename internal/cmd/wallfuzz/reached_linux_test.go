package main

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestNoConnectionIsMissed: a connection that came is told however long it took
// until somebody looked, once, and none is made up.
func TestNoConnectionIsMissed(t *testing.T) {
	w, err := newWorld(filepath.Join(t.TempDir(), "w"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if got := w.reached(); len(got) != 0 {
		t.Fatalf("nobody has connected: %q", got)
	}
	past := time.Now().Add(-time.Second) // as where the process got no turn until the deadline was over
	for _, l := range []interface{ SetDeadline(time.Time) error }{w.tcp, w.unix, w.abstract, w.udp} {
		if err := l.SetDeadline(past); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range []net.Addr{w.tcp.Addr(), w.unix.Addr(), w.abstract.Addr(), w.udp.LocalAddr()} {
		c, err := net.Dial(a.Network(), a.String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if got := w.reached(); len(got) != 4 {
		t.Errorf("4 came, told is %q", got)
	}
	if got := w.reached(); len(got) != 0 {
		t.Errorf("told again: %q", got)
	}
}
