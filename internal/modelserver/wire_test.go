package modelserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// everything is an answer of all that a script can say, with runes of several
// bytes.
const everything = "<thought Look: at 世界\n< Good 🌍\n<call read_file {\"path\": \"é\"} id=a\n<usage in=5 out=3\n"

func here(l *Local) way { return way{"http://model.test", &http.Client{Transport: l}} }

// TestREL55CutAtEveryByte: what comes is as long as it was said, and the
// connection breaks then.
func TestREL55CutAtEveryByte(t *testing.T) {
	for _, more := range []string{"", "<gzip\n", "<wire bom lf done\n"} {
		whole := parse(t, more+everything)
		server := New(Config{Script: whole})
		local := here(Transport(server))
		want := readAll(t, local.post(t, t.Context(), stream, ask("x")))
		n := server.Requests()[0].Written
		if n != len(want) || n < 100 {
			t.Fatalf("%d bytes were written, %d came", n, len(want))
		}
		for at := range n + 2 {
			local := Transport(New(Config{Script: whole.Cut(at)}))
			resp := here(local).post(t, t.Context(), stream, ask("x"))
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			local.Wait()
			if !errors.Is(err, io.ErrUnexpectedEOF) || string(b) != want[:min(at, n)] {
				t.Fatalf("cut at %d: %v, %q", at, err, b)
			}
		}
	}
}

// TestREL55REL56CutAndStallAt: as lines of a script, also over a socket.
func TestREL55REL56CutAndStallAt(t *testing.T) {
	script := "<cut at 9\n< whole\n\n<cut at 0\n< whole\n\n<stall at 9\n< whole\n\n<stall at 0\n< whole\n"
	ways(t, func() Config { return Config{Script: parse(t, script)} }, func(t *testing.T, s *Server, w way) {
		for _, want := range []string{`data: {"c`, ""} {
			resp := w.post(t, t.Context(), stream, ask("x"))
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil || string(b) != want {
				t.Errorf("cut: %v, %q", err, b)
			}
		}
		for _, want := range []string{`data: {"c`, ""} {
			ctx, cancel := context.WithCancel(t.Context())
			resp := w.post(t, ctx, stream, ask("x"))
			b := make([]byte, len(want))
			if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != want {
				t.Errorf("stall: %v, %q", err, b)
			}
			time.AfterFunc(time.Millisecond, cancel)
			if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("after the stall: %v, %q", err, rest)
			}
			resp.Body.Close()
		}
	})
}

// TestREL63Wire: each style is what it says.
func TestREL63Wire(t *testing.T) {
	for style, want := range map[string]string{
		"":             "data: {C\r\n\r\n",
		"lf":           "data: {C\n\n",
		"lf nospace":   "data:{C\n\n",
		"lf bom":       "\xef\xbb\xbfdata: {C\n\n",
		"lf comments":  ": ping\n\n:\ndata: {C\n\n",
		"lf fields":    "event: message\nid: 7\nretry:3\ndata: {C\n\n",
		"lf comma":     "data: {C,\n\n",
		"lf done":      "data: {C\n\ndata: [DONE]\n\n",
		"done nospace": "data:{C\r\n\r\ndata:[DONE]\r\n\r\n",
	} {
		script := "<raw {\"x\":1}\n"
		if style != "" {
			script = "<wire " + style + "\n" + script
		}
		w := here(Transport(New(Config{Script: parse(t, script)})))
		if got := strings.Replace(readAll(t, w.post(t, t.Context(), stream, ask("x"))), `{"x":1}`, "{C", 1); got != want {
			t.Errorf("%q: %q", style, got)
		}
	}
	w := here(Transport(New(Config{Script: parse(t, "<wire lf lines comma\n<raw {\"x\":[1]}\n\n<long 20971520\n")})))
	if got := readAll(t, w.post(t, t.Context(), stream, ask("x"))); got != "data: {\ndata: \t\"x\": [\ndata: \t\t1\ndata: \t]\ndata: },\n\n" {
		t.Errorf("%q", got)
	}
	if got := readAll(t, w.post(t, t.Context(), stream, ask("x"))); strings.Index(got, "\r\n") < 20<<20 {
		t.Errorf("a line of %d bytes", len(got))
	}
}
