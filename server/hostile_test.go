package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/server/servertest"
)

// hostile runs the cases of the table that test an id, whole and byte by byte.
func hostile(t *testing.T, id string) {
	cases := servertest.Of(id)
	if len(cases) == 0 {
		t.Fatalf("the table has nothing for %s", id)
	}
	for _, k := range cases {
		t.Run(k.Name, func(t *testing.T) {
			for _, chunk := range []int{1 << 30, 7, 1} {
				if chunk == 1 && len(k.Bytes) > 4096 {
					continue
				}
				r := serve(t, lifecycle()...)
				r.handshake()
				if err := r.Converse(k, chunk); err != nil {
					t.Errorf("in writes of %d bytes: %v", chunk, err)
				}
				if !k.Ends {
					continue
				}
				if o := r.ends(); o.Ending != server.Desynced || o.Code() != 1 || r.err == nil {
					t.Errorf("ended as %v with code %d and %v", o.Ending, o.Code(), r.err)
				}
			}
		})
	}
}

func TestREL02HostileInitialize(t *testing.T)    { hostile(t, "REL-02") }
func TestREL05HostileLengths(t *testing.T)       { hostile(t, "REL-05") }
func TestREL07HostileHeaders(t *testing.T)       { hostile(t, "REL-07") }
func TestREL08Headers(t *testing.T)              { hostile(t, "REL-08") }
func TestREL09ManyMessagesAtOnce(t *testing.T)   { hostile(t, "REL-09") }
func TestREL10HostileBodies(t *testing.T)        { hostile(t, "REL-10") }
func TestREL11Batches(t *testing.T)              { hostile(t, "REL-11") }
func TestREL12HostileText(t *testing.T)          { hostile(t, "REL-12") }
func TestREL14Ids(t *testing.T)                  { hostile(t, "REL-14") }
func TestREL16AnswersToNothing(t *testing.T)     { hostile(t, "REL-16") }
func TestREL17HostileCancels(t *testing.T)       { hostile(t, "REL-17") }
func TestREL18UnknownMethods(t *testing.T)       { hostile(t, "REL-18") }
func TestREL19HostileNotifications(t *testing.T) { hostile(t, "REL-19") }
func TestHostileEnvelopes(t *testing.T)          { hostile(t, "spec 2.2") }

func TestREL09SplitAtRandom(t *testing.T) {
	r := serve(t, echo)
	var all strings.Builder
	for i := range 500 {
		all.WriteString(servertest.Frame(call(fmt.Sprint(i+1), "echo", fmt.Sprintf(`{"n":%d}`, i))))
	}
	go func() {
		rng := rand.New(rand.NewPCG(9, 1))
		for raw := all.String(); raw != ""; {
			n := min(1+rng.IntN(200), len(raw))
			r.Send(raw[:n])
			raw = raw[n:]
		}
	}()
	seen := map[string]bool{}
	for len(seen) < 500 {
		m := r.next()
		seen[string(m.ID)] = m.Error == nil
	}
}

func TestREL09PausesBetweenBytes(t *testing.T) {
	r := serve(t, echo)
	go func() {
		for _, b := range []byte(servertest.Frame(call("1", "echo", `{"n":5}`))) {
			r.Send(string(b))
			time.Sleep(time.Millisecond) // the client's slowness is what is tested
		}
	}()
	if m := r.answer("1"); string(m.Result) != "5" {
		t.Error(m.Raw)
	}
}

func TestREL06NothingIsAllocatedOnTrust(t *testing.T) {
	r := serve(t, echo)
	var before, after runtime.MemStats
	r.ask("1", "echo", `{}`)
	runtime.GC()
	runtime.ReadMemStats(&before)
	r.Send("Content-Length: 67108864\r\n\r\n{")
	// The server has taken a byte of the body, so it has made room for it.
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes for a body of one", grown)
	}
}

// tooLarge is a message of a byte more than is taken; start is how it begins.
func tooLarge(start string) string {
	const size = 64<<20 + 1
	return fmt.Sprintf("Content-Length: %d\r\n\r\n", size) + start + strings.Repeat("x", size-len(start))
}

// TestREL05And06TooLargeMessagesAreSkipped: the next message is served, a request
// is refused under its id, and of what cannot be answered the person is told.
func TestREL05And06TooLargeMessagesAreSkipped(t *testing.T) {
	r := serve(t, echo, untilCanceled("wait"))
	r.send(call("1", "wait", `{}`))
	for _, c := range []struct{ start, id string }{
		{`{"jsonrpc":"2.0","id":2,"method":"echo","params":{"text":"`, "2"},
		{`{"jsonrpc":"2.0","method":"echo","id":"three","params":{"text":"`, `"three"`},
		{`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"`, "null"}, // 1 has not been answered yet
		{`{"jsonrpc":"2.0","params":{"text":"`, "null"},
		{`no JSON`, "null"},
	} {
		sent := make(chan error, 1)
		go func() { sent <- r.Send(tooLarge(c.start)) }()
		m := r.next()
		if string(m.ID) != c.id || m.Error == nil || !strings.Contains(m.Error.Message, "the message has 65 MiB; agentls takes 64 MiB at most") {
			t.Errorf("%s: %s", c.start, m.Raw)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	message := tooLarge(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a","text":"`)
	runtime.ReadMemStats(&before)
	for i := range 3 {
		if err := r.Send(message); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			continue
		}
		if m := r.next(); m.Method != "window/showMessage" || !strings.Contains(m.Raw, "agentls takes 64 MiB at most") {
			t.Errorf("the person is told %s", m.Raw)
		}
	}
	if m := r.ask("4", "echo", `{"n":4}`); string(m.Result) != "4" { // and nothing before it
		t.Error(m.Raw)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 3*uint64(len(message))+1<<20 { // the client's own copies
		t.Errorf("%d bytes for three messages that are skipped", grown)
	}
	if n := strings.Count(r.log.String(), "notification skipped"); n != 3 {
		t.Errorf("%d of 3 are in the log", n)
	}
}

// TestREL06TooLargeAnswer: who asked is told that there is no answer, and the client,
// which asked nothing, is told nothing.
func TestREL06TooLargeAnswer(t *testing.T) {
	var r *rig
	r = serve(t, echo, server.Query("put", func(*none) int { return 0 }, func(ctx context.Context, _ int, _ *none) (any, error) {
		return nil, r.peer.Call(ctx, "agents/confirm", none{}, nil)
	}))
	r.send(call("1", "put", `{}`))
	question := r.next()
	sent := make(chan error, 1)
	go func() { sent <- r.Send(tooLarge(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":"`)) }()
	if m := r.next(); string(m.ID) != "1" || m.Error == nil {
		t.Errorf("after an answer that is too large: %s", m.Raw)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

// TestREL06TooLargeAndThenSilence: nothing is kept for what does not come.
func TestREL06TooLargeAndThenSilence(t *testing.T) {
	r := serve(t, echo)
	var before, after runtime.MemStats
	r.ask("1", "echo", `{}`)
	runtime.ReadMemStats(&before)
	r.Send("Content-Length: 2147483647\r\n\r\n{")
	r.near.Close()
	if o := r.ends(); o.Code() != 1 {
		t.Errorf("ended as %v with code %d", o.Ending, o.Code())
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("%d bytes for a body of one", grown)
	}
}

// TestMethodOutlivesItsFrame fails where a request's method is looked at after
// Async: it reads another message's bytes then.
func TestMethodOutlivesItsFrame(t *testing.T) {
	gate := make(chan struct{})
	r := serve(t,
		server.Query("aaaaaaaaaaaaaaaa", func(*count) int { return 0 }, func(context.Context, int, *count) (any, error) {
			<-gate
			panic("kaboom")
		}),
		server.Notify("bbbbbbbbbbbbbbbb", func(context.Context, *count) error { return nil }))
	r.send(call("1", "aaaaaaaaaaaaaaaa", `{}`))
	for range 3 {
		r.send(`{"jsonrpc":"2.0","aa":1,"method":"bbbbbbbbbbbbbbbb","params":{}}`)
	}
	close(gate)
	if m := r.answer("1"); !strings.Contains(m.Raw, "aaaaaaaaaaaaaaaa") {
		t.Errorf("the panic of aaaa… is told as %s", m.Raw)
	}
}
