package gemini_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/internal/modelserver"
)

const manyChunks = "<repeat 20000 w{} and more \n"

func manyServer(b *testing.B) *modelserver.Server {
	s, err := modelserver.Parse(manyChunks)
	if err != nil {
		b.Fatal(err)
	}
	return modelserver.New(modelserver.Config{Script: s})
}

// BenchmarkStream20000 reads an answer of 20,000 chunks: all of it from this
// package, in process and over loopback, the same with a body that never has
// two chunks (so nothing is joined), genai alone, and the server alone.
func BenchmarkStream20000(b *testing.B) {
	ours := func(b *testing.B, transport http.RoundTripper, url string) {
		c := client(b, gemini.Config{Transport: transport, BaseURL: url})
		n := 0
		for chunk, err := range c.Generate(b.Context(), hello()) {
			if err != nil {
				b.Fatal(err)
			}
			n += len(chunk.Text)
		}
		if n < 20000*14 {
			b.Fatal(n)
		}
		_ = c.Close()
	}
	b.Run("gemini", func(b *testing.B) {
		for b.Loop() {
			ours(b, modelserver.Transport(manyServer(b)), "")
		}
	})
	b.Run("gemini-unjoined", func(b *testing.B) {
		for b.Loop() {
			local := modelserver.Transport(manyServer(b))
			ours(b, roundTripper(func(q *http.Request) (*http.Response, error) {
				resp, err := local.RoundTrip(q)
				if err == nil {
					resp.Body = &oneChunk{ReadCloser: resp.Body}
				}
				return resp, err
			}), "")
		}
	})
	b.Run("gemini-loopback", func(b *testing.B) {
		for b.Loop() {
			h := httptest.NewServer(manyServer(b))
			ours(b, nil, h.URL)
			h.Close()
		}
	})
	b.Run("genai", func(b *testing.B) {
		for b.Loop() {
			c, err := genai.NewClient(b.Context(), &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI,
				HTTPClient: &http.Client{Transport: modelserver.Transport(manyServer(b))}, HTTPOptions: genai.HTTPOptions{BaseURL: "http://x"}})
			if err != nil {
				b.Fatal(err)
			}
			off := false
			for _, err := range c.Models.GenerateContentStream(b.Context(), "m", genai.Text("Hello."), &genai.GenerateContentConfig{AutomaticContinuation: &off}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("server", func(b *testing.B) {
		for b.Loop() {
			resp := request(b, modelserver.Transport(manyServer(b)))
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

func request(b *testing.B, transport http.RoundTripper) *http.Response {
	body := io.NopCloser(&readOnce{`{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`})
	q, err := http.NewRequestWithContext(context.WithoutCancel(b.Context()), http.MethodPost, "http://x/v1beta/models/m:streamGenerateContent?alt=sse", body)
	if err != nil {
		b.Fatal(err)
	}
	q.Header.Set("x-goog-api-key", "k")
	resp, err := transport.RoundTrip(q)
	if err != nil {
		b.Fatal(err)
	}
	return resp
}

type readOnce struct{ rest string }

func (r *readOnce) Read(p []byte) (int, error) {
	if r.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// oneChunk gives at most one event with each read.
type oneChunk struct {
	io.ReadCloser
	buf  [64 << 10]byte
	rest []byte
}

func (o *oneChunk) Read(p []byte) (int, error) {
	if len(o.rest) == 0 {
		n, err := o.ReadCloser.Read(o.buf[:])
		if err != nil {
			return 0, err
		}
		o.rest = o.buf[:n]
	}
	end := len(o.rest)
	for i, c := range o.rest {
		if c == '\n' && i > 0 {
			end = i + 1
			break
		}
	}
	n := copy(p, o.rest[:end])
	o.rest = o.rest[n:]
	return n, nil
}

// BenchmarkCalls is an answer that calls a tool ten times.
func BenchmarkCalls(b *testing.B) {
	s, err := modelserver.Parse(strings.Repeat("<call read_file {\"file_path\":\"/work/a.txt\",\"limit\":100}\n", 10))
	if err != nil {
		b.Fatal(err)
	}
	c, left := (*gemini.Client)(nil), 0
	for b.Loop() {
		if left == 0 {
			c, left = client(b, gemini.Config{Transport: modelserver.Transport(modelserver.New(modelserver.Config{Script: modelserver.Join(slices.Repeat([]*modelserver.Script{s}, 100)...)}))}), 100
		}
		left--
		if _, _, _, err := listen(b, c, hello()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAnswer is a short answer from beginning to end: what a call costs
// beside the model.
func BenchmarkAnswer(b *testing.B) {
	s, err := modelserver.Parse("<thought Plan: look\n< Let me see.\n<call read_file {\"path\":\"a\"}\n")
	if err != nil {
		b.Fatal(err)
	}
	var c *gemini.Client
	var left int
	all := modelserver.Join(s, s, s, s, s, s, s, s, s, s)
	for b.Loop() {
		if left == 0 {
			c, left = client(b, gemini.Config{Transport: modelserver.Transport(modelserver.New(modelserver.Config{Script: all}))}), 10
		}
		left--
		if _, _, _, err := listen(b, c, hello()); err != nil {
			b.Fatal(err)
		}
	}
}
