package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// sections runs text through the cutter of thoughts in pieces and writes what
// comes: ⟨subject⟩ and text.
func sections(pieces ...string) string {
	var th thoughts
	var b strings.Builder
	take := func(subject, text string) error {
		if subject != "" {
			b.WriteString("⟨" + subject + "⟩")
		}
		b.WriteString(text)
		return nil
	}
	for _, p := range pieces {
		_ = th.add(p, take)
	}
	_ = th.end(take)
	return b.String()
}

func TestThoughtSections(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"plain":                                  "plain",
		"**A b**\n\nI see.\n\n\n":                "⟨A b⟩I see.\n\n\n",
		"**A**":                                  "⟨A⟩",
		"**A** \r\n\r\ntext":                     "⟨A⟩text",
		"x\n**A**\ny\n**B**\n\nz":                "x\n⟨A⟩y\n⟨B⟩z",
		"**bold** and more\n":                    "**bold** and more\n",
		"**a** **b**\n":                          "**a** **b**\n",
		"****\nx":                                "****\nx",
		"*x*\n**":                                "*x*\n**",
		"a **B**\n":                              "a **B**\n",
		"**" + strings.Repeat("x", 300) + "**\n": "**" + strings.Repeat("x", 300) + "**\n",
		"**A**\n**B**\nx":                        "⟨A⟩⟨B⟩x",
		"\n\ntext":                               "\n\ntext",
	} {
		if got := sections(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestThoughtSectionsDoNotDependOnChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"**", "*", "A", " ", "\n", "**B**\n", "\r\n", "words "})).Draw(t, "text"), "")
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if whole, cut := sections(text), sections(pieces...); whole != cut {
			t.Fatalf("%q in %q: %q, whole %q", text, pieces, cut, whole)
		}
	})
}

// filter returns what genai would get of a body.
func filter(body io.Reader) (out []byte, c *call) {
	c = &call{watch: newWatchdog(func(error) {}, IdleTimeout)}
	s := newStream(io.NopCloser(body), c)
	c.stream = s
	out, _ = io.ReadAll(s)
	return out, c
}

// texts are the strings of a filtered body's plain chunks, joined.
func texts(c *call) string {
	var b bytes.Buffer
	for _, e := range c.events {
		if start, end, ok := textOf(e); ok {
			b.Write(e[start:end])
		} else {
			b.WriteString("|")
			b.Write(e)
			b.WriteString("|")
		}
	}
	return b.String()
}

func FuzzREL63Stream(f *testing.F) {
	chunk := `{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0}]}`
	for _, s := range []string{
		"data: " + chunk + "\n\ndata: " + chunk + "\n\n", "\xef\xbb\xbfdata:" + chunk + "\r\n\r\n: x\r\ndata: [DONE]\n",
		"[" + chunk + ",\n" + chunk + "]", "data: {\ndata: }\n\n", "data: {\"a\":1,}\n\n", "event: x\nid\n\ndata: \"\xff\"\n\n",
		"data: " + chunk + "\ndata: " + strings.Replace(chunk, "a", `\ud83d`, 1) + "\n", `data: {"usageMetadata":{"promptTokenCount":-1}}`,
		"data: " + strings.Replace(chunk, `"text":"a"`, `"text":"a","thought":true`, 1) + "\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		out, c := filter(bytes.NewReader(body))
		// What genai gets is events of JSON objects, and nothing else.
		n := 0
		for rest := out; len(rest) > 0; n++ {
			event, after, ok := bytes.Cut(rest, []byte("\n\n"))
			data, isData := bytes.CutPrefix(event, []byte("data: "))
			if !ok || !isData || !json.Valid(data) || data[0] != '{' || !bytes.Equal(data, c.events[n]) {
				t.Fatalf("%q of %q", event, body)
			}
			rest = after
		}
		if n != len(c.events) {
			t.Fatalf("%d events, %d kept", n, len(c.events))
		}
		// Where reads begin and end changes nothing but what is joined.
		_, single := filter(iotest.OneByteReader(bytes.NewReader(body)))
		if texts(c) != texts(single) || c.incomplete != single.incomplete || (c.stream.failed == nil) != (single.stream.failed == nil) {
			t.Fatalf("%q: %q, byte by byte %q", body, texts(c), texts(single))
		}
	})
}

func TestJoinerRefuses(t *testing.T) {
	for _, chunk := range []string{
		`{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"finishReason":"STOP","index":0}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0}],"usageMetadata":{}}`,
		`{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"YQ=="}],"role":"model"}}]}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}],"role":"model"}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}]}}]}`,
		`{"candidates":[{"content":{"parts":[]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"thought":true}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":7}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"a"}]},"groundingMetadata":{}}]}`,
		`{"error":{}}`, `{}`, `[]`,
	} {
		if _, _, ok := textOf([]byte(chunk)); ok {
			t.Errorf("%s is taken for a text", chunk)
		}
	}
	for _, s := range []string{`"`, "a\"b", `\`, `\x`, `\u12`, `\u12g4`, "\n", "\xff"} {
		if isText([]byte(s)) {
			t.Errorf("%q is taken for the inside of a string", s)
		}
	}
}

func TestSEC124HalfSurrogates(t *testing.T) {
	for in, want := range map[string]string{
		`"\ud83d\ude00"`: `"\ud83d\ude00"`, `"\ud83d"`: `"\ufffd"`, `"\ude00x"`: `"\ufffdx"`, `"\ud83d\n"`: `"\ufffd\n"`,
		`"\ud83d\ud83d\ude00"`: `"\ufffd\ud83d\ude00"`, `"\\ud83d"`: `"\\ud83d"`, `"\u0041\\"`: `"\u0041\\"`, `"\uDBFF\uDFFF"`: `"\uDBFF\uDFFF"`,
	} {
		if got := string(wellFormed([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	// A pair that comes in two chunks is one in the end.
	var r rawParts
	r.add(json.RawMessage(`{"text":"\ud83d"}`))
	r.add(json.RawMessage(`{"text":"\ude00"}`))
	if raw := r.content(); string(raw) != `{"role":"model","parts":[{"text":"\ud83d\ude00"}]}` {
		t.Errorf("%s", raw)
	}
	_, c := filter(strings.NewReader("data: {\"a\":\"\xff\"}\n\n"))
	if string(c.events[0]) != "{\"a\":\"\uFFFD\"}" {
		t.Errorf("%q", c.events)
	}
}

func TestREL56WatchdogStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := newWatchdog(cancel, IdleTimeout)
	w.stop()
	w.arm(1, errNoHeaders)
	w.touch()
	w.pause()
	w.resume()
	w.hurry(1)
	if w.timer != nil || ctx.Err() != nil {
		t.Error("it bites after stop")
	}
}
