//go:build linux

package spine_test

import (
	"testing"

	"github.com/agentls/agentls/server/servertest"
)

// TestREL05HostileFrames runs the table of package servertest against the process:
// what does not end the connection all against one, and a new one for each that
// does, which then exits with 1 (REL-05 to REL-19).
func TestREL05HostileFrames(t *testing.T) {
	w := newWorld(t, "< Hello.\n")
	open := func(t *testing.T) (*process, *servertest.Client) {
		p := w.spawn()
		c := servertest.NewClient(hanging{p}, patience)
		if err := c.Handshake(); err != nil {
			t.Fatalf("%v\n%s", err, p.said.String())
		}
		return p, c
	}
	shared, c := open(t)
	for _, k := range servertest.Hostile() {
		t.Run(k.Name, func(t *testing.T) {
			for _, chunk := range []int{1 << 30, 7} {
				if chunk == 7 && len(k.Bytes) > 4096 {
					continue
				}
				if !k.Ends {
					if err := c.Converse(k, chunk); err != nil {
						t.Errorf("in writes of %d bytes: %v", chunk, err)
					}
					continue
				}
				if chunk == 7 && testing.Short() {
					continue
				}
				p, own := open(t)
				if err := own.Converse(k, chunk); err != nil {
					t.Errorf("in writes of %d bytes: %v", chunk, err)
				}
				if code := p.exits(); code != 1 {
					t.Errorf("exit code %d\n%s", code, p.said.String())
				}
			}
		})
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if code := shared.exits(); code != 1 {
		t.Errorf("exit code %d\n%s", code, shared.said.String())
	}
}

// hanging is a process that is hung up on when its connection is closed.
type hanging struct{ *process }

func (h hanging) Close() error { return h.in.Close() }
