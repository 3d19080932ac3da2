package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/server/servertest"
)

// fuzzed is what a fuzz target serves.
func fuzzed() []server.Route {
	return lifecycle(echo,
		server.Query("decode", func(p *runParams) string { return p.Agent }, func(_ context.Context, s string, _ *runParams) (string, error) { return s, nil }),
		server.Notify("note", func(context.Context, *runParams) error { return nil }))
}

// FuzzREL24Frames feeds any bytes to a connection (REL-05, REL-24). Whatever they
// are, nothing panics, everything that comes back is a frame of JSON, and the
// connection ends when its client does.
func FuzzREL24Frames(f *testing.F) {
	for _, k := range servertest.Hostile() {
		if len(k.Bytes) < 4096 {
			f.Add([]byte(k.Bytes))
		}
	}
	f.Add([]byte(servertest.Frame(call("1", "decode", `{"agent":"x","files":[{"range":{"start":{"line":1}}}]}`)) + servertest.Frame(note("exit", `null`))))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ours, in := io.Pipe()
		out, theirs := io.Pipe()
		done := make(chan error, 1)
		go func() {
			_, err := server.Serve(context.Background(), duplex{ours, theirs}, server.Config{Now: time.Now}, func(context.Context, server.Peer) []server.Route { return fuzzed() })
			done <- err
		}()
		go func() {
			in.Write(raw)
			in.Close()
		}()
		c := servertest.NewClient(duplex{out, in}, 10*time.Second)
		for {
			_, err := c.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%q is answered with garbage, or not in time: %v", raw, err)
			}
		}
		<-done
	})
}

// duplex is a connection of two pipes.
type duplex struct {
	*io.PipeReader
	*io.PipeWriter
}

func (d duplex) Close() error { return errors.Join(d.PipeWriter.Close(), d.PipeReader.Close()) }

// FuzzREL24Messages frames any body well (REL-10, REL-12, REL-19, REL-24). Whatever
// it is, the next request is served.
func FuzzREL24Messages(f *testing.F) {
	for _, k := range servertest.Hostile() {
		if _, body, ok := strings.Cut(k.Bytes, "\r\n\r\n"); ok && len(body) < 4096 {
			f.Add([]byte(body), true)
		}
	}
	for _, method := range []string{"initialize", "shutdown", "exit", "echo", "decode", "note", "$/cancelRequest"} {
		f.Add([]byte(call("1", method, `{"agent":"x","n":1,"id":1}`)), true)
		f.Add([]byte(note(method, `{"agent":"x","n":1,"id":1}`)), false)
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"decode","params":{"agent":"x","files":[{"uri":1}],"workDoneToken":{}}}`), true)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":99999999999,"message":"x"}}`), true)
	f.Add([]byte(`{"jsonrpc":"2.0","method":"exit","Method":"x"}`), true)
	f.Add([]byte(`{"jsonrpc":"2.0","method":"\u0065xit"}`), true)
	f.Fuzz(func(t *testing.T, body []byte, ready bool) {
		r := serve(t, fuzzed()...)
		if ready {
			r.handshake()
		}
		r.send(string(body), call(`"fuzz/probe"`, "nobody/knows", `{}`))
		for answers := 0; ; answers++ {
			m, err := r.Next()
			if err != nil {
				var exit map[string]any // which has keys as they are spelled, as the protocol does
				if json.Unmarshal(body, &exit); exit["method"] == "exit" {
					return
				}
				t.Fatalf("%q: %v", body, err)
			}
			if string(m.ID) == `"fuzz/probe"` {
				if c := m.Code(); c != -32601 && c != -32002 && c != -32600 {
					t.Errorf("%q: the next is answered %s", body, m.Raw)
				}
				return
			}
			if answers > 0 {
				t.Fatalf("%q: a second answer %s", body, m.Raw)
			}
		}
	})
}

// BenchmarkRoundTrip is a call of an empty method and its answer, over pipes as
// on stdio.
func BenchmarkRoundTrip(b *testing.B) {
	near, far := osPipes(b)
	r := serveOn(b, near, far, server.Config{}, server.Query("empty", func(*none) int { return 0 }, func(context.Context, int, *none) (none, error) { return none{}, nil }))
	ask := servertest.Frame(call("1", "empty", `{}`))
	want := servertest.Frame(result("1", `{}`))
	buf := make([]byte, len(want))
	b.ReportAllocs()
	for b.Loop() {
		r.Send(ask)
		for n := 0; n < len(want); {
			m, err := near.Read(buf[n:])
			if err != nil {
				b.Fatal(err)
			}
			n += m
		}
	}
}

// BenchmarkNotifyRaw is the stream lane, to a client that reads what comes.
func BenchmarkNotifyRaw(b *testing.B) {
	for _, size := range []int{200, 16 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			near, far := osPipes(b)
			r := serveOn(b, near, far, server.Config{})
			go func() {
				buf := make([]byte, 64<<10)
				for {
					if _, err := near.Read(buf); err != nil {
						return
					}
				}
			}()
			event := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", size))
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				for r.peer.Pressure() {
					<-r.peer.PressureGone()
				}
				if err := r.peer.NotifyRaw("agents/activity", event); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
