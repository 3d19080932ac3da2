package handlers

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/wire"
)

// TestPending: what was asked and what waits behind it is listed, the oldest first, and
// only what was asked can be answered; what was answered is gone.
func TestPending(t *testing.T) {
	asked, answer := make(chan string, 2), make(chan struct{})
	conn := connect(t, func(ctx context.Context, method string, _ []byte) (any, error) {
		asked <- method
		<-answer
		if method == wire.MethodAsk {
			return &wire.AskResult{Action: "decline"}, nil
		}
		return &wire.ConfirmResult{Outcome: "reject"}, nil
	})
	list := func(session string) string {
		r, err := conn.h.pending(t.Context(), struct{}{}, &wire.PendingParams{Session: session})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, c := range r.Confirmations {
			fmt.Fprintf(&b, "%s %s %d %t, ", c.ID, c.Session, c.QueueLength, c.Nonce != "")
		}
		for _, q := range r.Questions {
			fmt.Fprintf(&b, "%s %s %t, ", q.Message, q.Session, q.Nonce != "")
		}
		return b.String()
	}
	until := func(want string) {
		t.Helper()
		for list("") != want {
			if t.Context().Err() != nil {
				t.Fatalf("%q, want %q", list(""), want)
			}
			time.Sleep(time.Millisecond)
		}
	}
	var work sync.WaitGroup
	confirm := func(id, session string) {
		q := plain()
		q.ID, q.Session = id, session
		work.Go(func() { conn.h.frontend.Confirm(t.Context(), q) })
	}
	confirm("a", "main")
	<-asked
	confirm("b", "other")
	until("a main 1 true, b other 0 false, ")
	work.Go(func() { _, _ = conn.h.frontend.Ask("main", "r", "x")(t.Context(), tool.Question{Message: "Which?"}) })
	until("a main 1 true, b other 0 false, Which? main false, ")
	if got := list("main"); got != "a main 0 true, Which? main false, " {
		t.Errorf("%q", got)
	}
	close(answer)
	work.Wait()
	if got := list(""); got != "" {
		t.Errorf("%q", got)
	}
}
