package gemini_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/model/gemini"
)

// TestConnectionsAreKept has 50 sessions take 5 turns, all at the same time:
// without HTTP/2 each stream needs a connection of its own, and the next turn
// uses it again.
func TestConnectionsAreKept(t *testing.T) {
	const sessions, turns = 50, 5
	var opened atomic.Int64
	var all atomic.Pointer[sync.WaitGroup] // of a turn: everybody is answered when all have asked
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		turn := all.Load()
		turn.Done()
		turn.Wait()
		_, _ = io.WriteString(w, `data: {"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}, "finishReason": "STOP"}]}`+"\n\n")
	}))
	h.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	h.Start()
	defer h.Close()
	c := client(t, gemini.Config{BaseURL: h.URL})
	defer c.Close()
	for range turns {
		var turn sync.WaitGroup
		turn.Add(sessions)
		all.Store(&turn)
		var work conc.WaitGroup
		for range sessions {
			work.Go(func() {
				if text, _, _, err := listen(t, c, hello()); text != "hello" || err != nil {
					t.Errorf("%q %v", text, err)
				}
			})
		}
		work.Wait()
	}
	// A connection may be given back a moment after its answer was read.
	if n := opened.Load(); n > 2*sessions {
		t.Errorf("%d connections for %d sessions", n, sessions)
	}
}
