package gemini_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/internal/modelserver"
)

// everything is an answer of all that there is, with runes of several bytes.
const everything = "<thought Look: at 世界\n< Good\n< \\sday 🌍\\n\n<call read_file {\"path\": \"é\"} id=a\n<call grep {} id=b\n<usage in=5 out=3\n"

// TestREL63EveryWire: an answer is the same in whatever way its events are
// written.
func TestREL63EveryWire(t *testing.T) {
	c, _ := play(t, everything)
	text, thought, want, err := listen(t, c, hello())
	if err != nil {
		t.Fatal(err)
	}
	styles := []string{"lf", "nospace", "bom", "comments", "fields", "lines", "comma", "done"}
	for n := range 1 << len(styles) {
		wire := ""
		for i, style := range styles {
			if n>>i&1 == 1 {
				wire += " " + style
			}
		}
		for _, first := range []string{"", "<gzip\n"} {
			c, _ := play(t, first+"<wire"+wire+"\n"+everything)
			gotText, gotThought, got, err := listen(t, c, hello())
			if err != nil || gotText != text || gotThought != thought {
				t.Fatalf("%s%s: %v, %q, %q", first, wire, err, gotText, gotThought)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s%s: %s", first, wire, diff)
			}
		}
	}
}

// TestREL55EveryByte: an answer that is cut anywhere is an error of class Cut
// and no answer, unless its end had come; what was told is the beginning of it.
func TestREL55EveryByte(t *testing.T) {
	for _, first := range []string{"", "<gzip\n", "<wire lf nospace\n", "<wire lines comments bom\n"} {
		whole, err := modelserver.Parse(first + everything)
		if err != nil {
			t.Fatal(err)
		}
		server := modelserver.New(modelserver.Config{Script: whole})
		text, _, want, err := listen(t, client(t, gemini.Config{Transport: modelserver.Transport(server)}), hello())
		if err != nil {
			t.Fatal(err)
		}
		n, answers := server.Requests()[0].Written, 0
		for at := range n + 1 {
			c := client(t, gemini.Config{Transport: modelserver.Transport(modelserver.New(modelserver.Config{Script: whole.Cut(at)}))})
			got, _, answer, err := listen(t, c, hello())
			if answer != nil {
				answers++
				if diff := cmp.Diff(want, answer); diff != "" || err != nil {
					t.Fatalf("%scut at %d of %d is another answer: %v, %s", first, at, n, err, diff)
				}
				continue
			}
			var e *model.Error
			if !errors.As(err, &e) || e.Class != model.Cut || e.Message == "" {
				t.Fatalf("%scut at %d of %d: %+v", first, at, n, err)
			}
			if !strings.HasPrefix(text, got) || !utf8.ValidString(got) {
				t.Fatalf("%scut at %d of %d: %q was told", first, at, n, got)
			}
		}
		// What may be missing is the end of the last line, and of what compresses.
		if answers == 0 || answers > 30 {
			t.Errorf("%s%d of %d bytes were not needed", first, answers, n)
		}
	}
}

// TestREL56StallsAtEveryByte: a call ends after 120 s without a byte, wherever
// they stop, and one that only heartbeats keep alive does too.
func TestREL56StallsAtEveryByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole, err := modelserver.Parse(everything)
		if err != nil {
			t.Fatal(err)
		}
		ends := func(script *modelserver.Script, text string) (whole bool) {
			t.Helper()
			local := modelserver.Transport(modelserver.New(modelserver.Config{Script: script}))
			start := time.Now()
			_, _, answer, err := listen(t, client(t, gemini.Config{Transport: local}), hello())
			took := time.Since(start)
			local.Wait()
			if answer != nil {
				return took <= 10*time.Second
			}
			var e *model.Error
			if !errors.As(err, &e) || e.Class != model.Cut || !strings.Contains(e.Message, text) || took != 120*time.Second {
				t.Fatalf("%v after %s: %+v", answer, took, err)
			}
			return false
		}
		at := 0
		for ; !ends(whole.Stall(at), "nothing came for 2m0s"); at++ {
		}
		if at < 500 {
			t.Errorf("the answer is whole after %d bytes", at)
		}
		beats, err := modelserver.Parse("<headers\n<heartbeat 15s\n")
		if err != nil {
			t.Fatal(err)
		}
		ends(beats, "nothing came for 2m0s")
	})
}

// TestREL56CapOfACall: what always brings something ends after 30 minutes.
func TestREL56CapOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := play(t, strings.Repeat("<pause 50s\n< x\n", 60))
		start := time.Now()
		text, _, _, err := listen(t, c, hello())
		var e *model.Error
		if took := time.Since(start); !errors.As(err, &e) || e.Class != model.Cut || took != 30*time.Minute || text == "" || !strings.Contains(e.Message, "longer than 30m0s") {
			t.Errorf("%q, %v after %s", text, err, took)
		}
	})
}

// TestREL65Times: each step of a call has its time, over the client's own
// connections.
func TestREL65Times(t *testing.T) {
	// peer is the other end of a connection that was made.
	peer := func(do func(net.Conn)) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go do(far)
			return near, nil
		}
	}
	silent := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	// begins answers a request, and says no more.
	begins := func(head string) func(net.Conn) {
		return func(conn net.Conn) {
			r := bufio.NewReader(conn)
			if q, err := http.ReadRequest(r); err == nil {
				_, _ = io.Copy(io.Discard, q.Body)
				_, _ = io.WriteString(conn, head)
			}
			silent(conn)
		}
	}
	for name, tt := range map[string]struct {
		scheme string
		dial   func(ctx context.Context, network, address string) (net.Conn, error)
		took   time.Duration
		class  model.Class
		says   string
	}{
		"connecting hangs": {"http", func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, 10 * time.Second, model.Busy, "no connection to model.test:80 within 10s"},
		"the handshake hangs":       {"https", peer(silent), 10 * time.Second, model.Busy, "TLS handshake timeout"},
		"no headers":                {"http", peer(silent), 60 * time.Second, model.Busy, "did not begin to answer within 1m0s"},
		"headers and no body":       {"http", peer(begins("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")), 120 * time.Second, model.Cut, "nothing came for 2m0s"},
		"an error without its body": {"http", peer(begins("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\n")), 120 * time.Second, model.Cut, "nothing came for 2m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := client(t, gemini.Config{BaseURL: tt.scheme + "://model.test/", Dial: tt.dial})
				start := time.Now()
				_, _, answer, err := listen(t, c, hello())
				took := time.Since(start)
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				var e *model.Error
				if !errors.As(err, &e) || answer != nil || e.Class != tt.class || took != tt.took || !strings.Contains(e.Message, tt.says) {
					t.Errorf("%+v after %s", err, took)
				}
			})
		})
	}
}

// counted counts the writes to a connection.
type counted struct {
	net.Conn
	writes *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// TestARequestLeavesInOneWrite, as long as it is of an ordinary size.
func TestARequestLeavesInOneWrite(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var writes atomic.Int64
	c := client(t, gemini.Config{BaseURL: server.URL, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return counted{conn, &writes}, err
	}})
	long := strings.Repeat("a line of code\n", 1000)
	for range c.Generate(t.Context(), &model.Request{Model: "m", Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: long}}}}}) {
	}
	if n := writes.Load(); n != 1 {
		t.Errorf("a request of %d bytes is sent in %d writes", len(long), n)
	}
}
