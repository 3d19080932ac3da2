package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
)

// TestLoginIsRenewed: a token that is over, by its time or by the server's word, is
// renewed where it came from, and what another daemon renewed is used.
func TestLoginIsRenewed(t *testing.T) {
	t.Run("its time is over", func(t *testing.T) {
		o := newOffice(t)
		w := o.world(t, "")
		o.lasts = -1
		o.logIn(t, w)
		at := o.URL + "/mcp"
		var l login
		if err := json.Unmarshal(w.logins.all[at], &l); err != nil {
			t.Fatal(err)
		}
		l.Token.ExpiresAt = l.Token.ExpiresAt.Add(1) // in the year 1
		raw, _ := json.Marshal(l)
		w.Close()
		w.logins.all[at] = raw
		w.open(nil)
		tools, _ := w.offer("far")
		if got, err := w.call(t.Context(), tools["mcp.far.env"], `{}`); got != "Bearer access-token-2" || !o.has("refresh_token") {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("the server takes it no more", func(t *testing.T) {
		o := newOffice(t)
		w := o.world(t, "")
		o.logIn(t, w)
		tools, _ := w.offer("far")
		o.revoke()
		if got, err := w.call(t.Context(), tools["mcp.far.env"], `{}`); got != "Bearer access-token-2" {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("another daemon has renewed it", func(t *testing.T) {
		o := newOffice(t)
		w := o.world(t, "")
		o.logIn(t, w)
		tools, _ := w.offer("far")
		var l login
		if err := json.Unmarshal(w.logins.all[o.URL+"/mcp"], &l); err != nil {
			t.Fatal(err)
		}
		l.Token.AccessToken, l.Token.RefreshToken = "access-token-9", "refresh-token-9"
		raw, _ := json.Marshal(l)
		_ = w.logins.Put(t.Context(), o.URL+"/mcp", raw)
		o.mu.Lock()
		o.access, o.refresh = "access-token-9", "refresh-token-9"
		o.mu.Unlock()
		if got, err := w.call(t.Context(), tools["mcp.far.env"], `{}`); got != "Bearer access-token-9" || o.has("refresh_token") {
			t.Errorf("%q, %v", got, err)
		}
	})
	for name, move := range map[string]func(o *office){
		"the metadata is where its 401 says": func(*office) {},
		"the metadata names another place":   func(o *office) { o.token = o.URL + "/elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			o.hidden = true
			w := o.world(t, "")
			o.logIn(t, w)
			w.Close()
			move(o)
			o.revoke()
			w.open(nil)
			tools, _ := w.offer("far")
			if got, err := w.call(t.Context(), tools["mcp.far.env"], `{}`); got != "Bearer access-token-2" || o.has("/elsewhere") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestLoginIsRenewedOnce: of two connections whose token is over at once, one renews it,
// and the other uses what that got: a refresh token is good for once, and a server that
// sees it twice takes back all.
func TestLoginIsRenewedOnce(t *testing.T) {
	o := newOffice(t)
	w := o.world(t, "")
	o.logIn(t, w)
	folders := []string{w.folder, t.TempDir()}
	env := make([]tool.Tool, len(folders))
	for i, folder := range folders {
		for _, offered := range w.Offer(t.Context(), folder, []string{"far"}).Tools {
			if offered.Spec().Name == "mcp.far.env" {
				env[i] = offered
			}
		}
		if env[i] == nil {
			t.Fatalf("no tools in %s", folder)
		}
	}
	o.revoke()
	wants, second := make(chan struct{}, 10), make(chan struct{})
	w.logins.mu.Lock()
	w.logins.wants = wants
	w.logins.mu.Unlock()
	var spent atomic.Int32
	o.mu.Lock()
	o.spends = func() { // the first waits until the other wants to renew it as well, one way or the other
		if n := spent.Add(1); n > 1 {
			if n == 2 {
				close(second)
			}
			return
		}
		for range folders {
			select {
			case <-wants:
			case <-second:
				return
			}
		}
	}
	o.mu.Unlock()
	var calls sync.WaitGroup
	for _, one := range env {
		calls.Go(func() {
			if got, err := w.call(t.Context(), one, `{}`); got != "Bearer access-token-2" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	calls.Wait()
	if n := spent.Load(); n != 1 {
		t.Errorf("it was renewed %d times", n)
	}
}

// TestLoginIsRenewedForGood: the token of a renewal that nobody waits for any more is
// kept, and a server that is stopped waits for it.
func TestLoginIsRenewedForGood(t *testing.T) {
	o := newOffice(t)
	w := o.world(t, "")
	w.Close()
	w.open(func(times *times) { times.closing = time.Minute })
	o.logIn(t, w)
	tools, _ := w.offer("far")
	o.revoke()
	ctx, cancel := context.WithCancel(t.Context())
	asked, answer := make(chan struct{}), make(chan struct{})
	o.mu.Lock()
	first := sync.OnceFunc(func() { close(asked) })
	o.spends = func() {
		first()
		<-answer
	}
	o.mu.Unlock()
	var call sync.WaitGroup
	call.Go(func() {
		if _, err := w.call(ctx, tools["mcp.far.env"], `{}`); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	<-asked
	cancel()
	call.Wait() // the call has ended, and the server has not answered
	close(answer)
	if s, err := w.Stop(w.folder, "far"); err != nil || s.State != Stopped {
		t.Errorf("%+v, %v", s, err)
	}
	if kept := string(w.logins.all[o.URL+"/mcp"]); !strings.Contains(kept, "refresh-token-2") {
		t.Errorf("kept: %s", kept)
	}
}
