package gemini_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/internal/modelserver"
)

// chunkOf is a chunk of text.
func chunkOf(text string) string {
	return `{"candidates":[{"content":{"parts":[{"text":` + mustJSON(text) + `}],"role":"model"},"index":0}]}`
}

const last = `{"candidates":[{"content":{"parts":[{"text":"!"}],"role":"model"},"finishReason":"STOP","index":0}]}`

// serve returns a client of a server that answers every request with this body.
func serve(t testing.TB, body io.Reader, header ...string) *gemini.Client {
	return client(t, gemini.Config{Transport: roundTripper(func(q *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"text/event-stream"}}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(body), Request: q}, nil
	})})
}

func TestREL63Streams(t *testing.T) {
	a, b := chunkOf("one "), chunkOf("two")
	bare := strings.NewReplacer(`"index":0`, `"index":0,`).Replace(a) // a comma too many
	for name, body := range map[string]string{
		"plain":                  "data: " + a + "\n\ndata: " + b + "\n\ndata: " + last + "\n\n",
		"CRLF":                   "data: " + a + "\r\n\r\ndata: " + b + "\r\n\r\ndata: " + last + "\r\n\r\n",
		"mixed ends":             "data: " + a + "\r\n\ndata: " + b + "\n\r\ndata: " + last + "\n",
		"no space":               "data:" + a + "\n\ndata:" + b + "\n\ndata:" + last + "\n\n",
		"no empty lines":         "data: " + a + "\ndata: " + b + "\ndata: " + last + "\n",
		"no end of the last":     "data: " + a + "\n\ndata: " + b + "\n\ndata: " + last,
		"byte order mark":        "\xef\xbb\xbfdata: " + a + "\n\ndata: " + b + "\n\ndata: " + last + "\n\n",
		"mark alone":             "\xef\xbb\xbf\n\ndata: " + a + "\n\ndata: " + b + "\n\ndata: " + last + "\n\n",
		"comments":               ": ping\n\ndata: " + a + "\n: ping\n\n:\ndata: " + b + "\n\n: ping\n\ndata: " + last + "\n\n",
		"event, id, retry":       "event: message\nid: 1\nretry: 3\ndata: " + a + "\n\nid\ndata: " + b + "\n\nevent:x\ndata: " + last + "\n\n",
		"DONE":                   "data: " + a + "\n\ndata: " + b + "\n\ndata: " + last + "\n\ndata: [DONE]\n\n",
		"empty data":             "data:\n\ndata: " + a + "\n\ndata: \n\ndata: " + b + "\n\ndata: " + last + "\n\n",
		"comma after":            "data: " + a + ",\n\ndata: " + b + ",\n\ndata: " + last + "\n\n",
		"comma within":           "data: " + bare + "\n\ndata: " + b + "\n\ndata: " + last + "\n\n",
		"several data lines":     "data: " + strings.Replace(a, "[", "[\ndata: ", 1) + "\n\ndata: " + b + "\n\ndata: " + strings.ReplaceAll(last, ",", ",\ndata:\ndata: ") + "\n\n",
		"unknown lines":          "x-proxy: 7\n\ndata: " + a + "\n\nhello\ndata: " + b + "\n\ndata: " + last + "\n\n",
		"an array":               "[" + a + "\n,\r\n" + b + ",\n" + last + "]\n",
		"an array in pretty":     "\xef\xbb\xbf[\n " + strings.ReplaceAll(a, ":", " :\n") + ",\n\n" + b + ",\n" + last + "\n]",
		"an array and a comma":   "[" + a + "," + b + "," + last + ",]",
		"null among the parts":   "data: " + strings.Replace(a, "[{\"text", "[null,{\"text", 1) + "\n\ndata: " + b + "\n\ndata: " + last + "\n\n",
		"empty candidates":       "data: {\"candidates\":[]}\n\ndata: {}\n\ndata: " + a + "\n\ndata: {\"candidates\":[{}]}\n\ndata: " + b + "\n\ndata: " + last + "\n\n",
		"escapes":                "data: " + strings.Replace(a, "one ", `\u006fne\u0020`, 1) + "\n\ndata: " + strings.Replace(b, "two", `t\u0077o`, 1) + "\n\ndata: " + last + "\n\n",
		"names of our templates": "data: " + a + "\n\ndata: " + strings.Replace(b, `"two"}`, `"t"},{"text":"wo"}`, 1) + "\n\ndata: " + last + "\n\n",
	} {
		for how, r := range map[string]func() io.Reader{
			"at once":      func() io.Reader { return strings.NewReader(body) },
			"byte by byte": func() io.Reader { return iotest.OneByteReader(strings.NewReader(body)) },
			"end with it":  func() io.Reader { return iotest.DataErrReader(strings.NewReader(body)) },
		} {
			text, _, answer, err := listen(t, serve(t, r()), hello())
			if err != nil || text != "one two!" || answer.Finish != model.Stop {
				t.Errorf("%s, %s: %q, %v", name, how, text, err)
				continue
			}
			if want := `{"role":"model","parts":[{"text":"one two!"}]}`; name != "escapes" && string(answer.Message.Raw) != want {
				t.Errorf("%s, %s: %s", name, how, answer.Message.Raw)
			}
		}
	}
}

func TestREL55Unreadable(t *testing.T) {
	a := "data: " + chunkOf("one ") + "\n\n"
	for name, tt := range map[string]struct{ body, message string }{
		"nothing":           {"", "without saying why"},
		"no reason":         {a, "without saying why"},
		"half a chunk":      {a + "data: {\"candidates\":[{\"cont", "in the middle of a chunk"},
		"half a rune":       {a + "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xe6\x80", "in the middle of a chunk"},
		"not JSON":          {a + "data: {]\n\n" + "data: " + last + "\n\n", "cannot be read"},
		"not an object":     {a + "data: 17\n\n", "cannot be read"},
		"other types":       {a + `data: {"candidates":{"content":7}}` + "\n\n", "cannot be read"},
		"null candidate":    {a + `data: {"candidates":[null]}` + "\n\n", "cannot be read"},
		"text is a number":  {a + `data: {"candidates":[{"content":{"parts":[{"text":7}]}}]}` + "\n\n", "answer was cut"},
		"a page":            {"<html><body>Log in, please</body>\n</html>\n", "<html><body>Log in"},
		"half an array":     {"[" + chunkOf("one ") + ",\n", "in the middle of a chunk"},
		"comments and end":  {": ping\n\n: ping\n\n", "without saying why"},
		"unfinished reason": {a + `data: {"candidates":[{"finishReason":"","index":0}]}` + "\n\n", "without saying why"},
	} {
		text, _, answer, err := listen(t, serve(t, strings.NewReader(tt.body)), hello())
		var e *model.Error
		if !errors.As(err, &e) || e.Class != model.Cut || answer != nil || !strings.Contains(e.Message, tt.message) {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
		if strings.HasPrefix(tt.body, a) && text != "one " {
			t.Errorf("%s: text %q", name, text)
		}
	}
	// What was read before a broken connection counts.
	broken := io.MultiReader(strings.NewReader(a), iotest.ErrReader(errors.New("connection reset by peer "+key)))
	text, _, _, err := listen(t, serve(t, broken), hello())
	if text != "one " || err == nil || !strings.Contains(err.Error(), "connection reset by peer [key]") {
		t.Errorf("%q, %v", text, err)
	}
	whole := io.MultiReader(strings.NewReader(a+"data: "+last+"\n\n"), iotest.ErrReader(errors.New("reset")))
	if _, _, answer, err := listen(t, serve(t, whole), hello()); err != nil || answer.Finish != model.Stop {
		t.Errorf("a whole answer is not one: %v", err)
	}
}

func TestREL63Limits(t *testing.T) {
	line := func(n int) string {
		return "data: " + chunkOf(strings.Repeat("x", n)) + "\n\ndata: " + last + "\n\n"
	}
	text, _, _, err := listen(t, serve(t, strings.NewReader(line(15<<20))), hello())
	if err != nil || len(text) != 15<<20+1 {
		t.Errorf("a line of 15 MiB: %d bytes, %v", len(text), err)
	}
	_, _, _, err = listen(t, serve(t, strings.NewReader(line(20<<20))), hello())
	var e *model.Error
	if !errors.As(err, &e) || e.Class != model.Cut || !strings.Contains(e.Message, "16 MiB") {
		t.Errorf("a line of 20 MiB: %v", err)
	}
	many := "data: " + strings.Repeat("x\ndata: "+strings.Repeat("y", 1<<20), 20) + "\n\n"
	if _, _, _, err = listen(t, serve(t, strings.NewReader(many)), hello()); !errors.As(err, &e) || !strings.Contains(e.Message, "16 MiB") {
		t.Errorf("an event of 20 MiB: %v", err)
	}
	c, _ := play(t, "<repeat 100000 w{} \n")
	var want strings.Builder
	for i := range 100000 {
		fmt.Fprintf(&want, "w%d ", i)
	}
	text, _, answer, err := listen(t, c, hello())
	if err != nil || text != want.String() || answer.Message.Parts[0].Text != text {
		t.Errorf("100,000 chunks: %d bytes, %v", len(text), err)
	}
}

func TestREL63Gzip(t *testing.T) {
	c, _ := play(t, "<gzip\n< one\\s\n<thought Hm: hm\n< two\n\n<gzip\n< one\n<cut\n")
	if text, _, _, err := listen(t, c, hello()); err != nil || text != "one two" {
		t.Errorf("%q, %v", text, err)
	}
	if text, _, _, err := listen(t, c, hello()); err == nil || text != "one" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestJoiningChangesNothing compares answers that are read in one piece with
// the same read chunk by chunk, where nothing can be joined.
func TestJoiningChangesNothing(t *testing.T) {
	texts := []string{"plain", "", "\"q\"", "back\\slash", "世界", "🌍", "a\nb", "\u2028", "<b>"}
	thought := strings.NewReplacer(`}],"role"`, `,"thought":true}],"role"`)
	var events []string
	for i, text := range texts {
		events = append(events, chunkOf(text), chunkOf(text+"2"))
		switch i {
		case 2:
			events = append(events, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":1}},"thoughtSignature":"YQ=="}],"role":"model"},"index":0}]}`)
		case 3:
			events = append(events, thought.Replace(chunkOf("**A b**\n\nI see.\n\n")), thought.Replace(chunkOf("**Next**\n")), thought.Replace(chunkOf("More.")))
		case 4:
			events = append(events, `{"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3}}`, strings.Replace(chunkOf("s"), `"text"`, `"thoughtSignature":"Yg==","text"`, 1))
		case 5:
			events = append(events, strings.Replace(chunkOf("u"), `"index":0}]`, `"index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":4,"totalTokenCount":13},"modelVersion":"m"`, 1))
		}
	}
	events = append(events, last)
	body := "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
	text, th, joined, err := listen(t, serve(t, strings.NewReader(body)), hello())
	if err != nil {
		t.Fatal(err)
	}
	text1, th1, single, err := listen(t, serve(t, iotest.OneByteReader(strings.NewReader(body))), hello())
	if err != nil {
		t.Fatal(err)
	}
	if text != text1 || th != th1 {
		t.Errorf("%q, %q\n%q, %q", text, th, text1, th1)
	}
	if diff := cmp.Diff(single, joined); diff != "" {
		t.Error(diff)
	}
	if joined.Usage != (model.Usage{InputTokens: 9, OutputTokens: 4, TotalTokens: 13}) || th != "I see.\n\nMore." {
		t.Errorf("%+v %q", joined.Usage, th)
	}
	var raw struct{ Parts []map[string]any }
	if err := json.Unmarshal(joined.Message.Raw, &raw); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, p := range raw.Parts {
		if s, ok := p["text"].(string); ok && p["thought"] == nil {
			all.WriteString(s)
		}
	}
	if all.String() != text || len(raw.Parts) != 7 {
		t.Errorf("%d parts: %s", len(raw.Parts), joined.Message.Raw)
	}
}

// TestREL69CountsThatCannotBe: where one chunk has counts that cannot be ones, those of
// the chunks before it do not stand for the answer.
func TestREL69CountsThatCannotBe(t *testing.T) {
	counted := func(count string) string {
		return strings.Replace(chunkOf("u"), `"index":0}]`, `"index":0}],"usageMetadata":{"promptTokenCount":`+count+`,"totalTokenCount":13}`, 1)
	}
	for _, c := range []struct {
		second string
		want   bool
	}{{"9", true}, {"-9", false}, {"1e30", false}, {`"x"`, false}} {
		body := "data: " + counted("9") + "\n\ndata: " + counted(c.second) + "\n\ndata: " + last + "\n\n"
		text, _, answer, err := listen(t, serve(t, strings.NewReader(body)), hello())
		if err != nil || text != "uu!" || answer.Counted != c.want {
			t.Errorf("%s: %q, %+v, %v", c.second, text, answer, err)
		}
	}
}

func TestChunksComeWhenTheyAreThere(t *testing.T) {
	c, server := play(t, "< one\n< two\n<gate more\n< three\n")
	var got []string
	for chunk, err := range c.Generate(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Text != "" {
			got = append(got, chunk.Text)
			if strings.HasSuffix(chunk.Text, "two") {
				server.Open("more")
			}
		}
	}
	if strings.Join(got, "") != "onetwothree" || len(got) < 2 {
		t.Errorf("%q", got)
	}
}

func TestREL56OfAWholeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A server that keeps the connection does not keep an answer that is whole.
		c, _ := play(t, "< one\n<usage in=1\n<finish STOP\n<hang\n")
		start := time.Now()
		_, _, answer, err := listen(t, c, hello())
		if err != nil || answer.Finish != model.Stop || time.Since(start) > 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// A long line that comes slowly is not silence.
		slow := &slowReader{strings.NewReader("data: " + chunkOf(strings.Repeat("x", 1000)) + "\n\ndata: " + last + "\n\n")}
		if text, _, _, err := listen(t, serve(t, slow), hello()); err != nil || len(text) != 1001 {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	})
}

// slowReader gives 100 bytes a minute.
type slowReader struct{ r io.Reader }

func (s *slowReader) Read(p []byte) (int, error) {
	time.Sleep(time.Minute)
	return s.r.Read(p[:min(len(p), 100)])
}

func TestRecordedAnswers(t *testing.T) {
	files, _ := filepath.Glob("../../../../shared/data/gemini-recorded/*.responses")
	if len(files) == 0 {
		t.Skip("the recorded answers are not here")
	}
	finishes := make(map[model.Finish]int)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range bytes.Lines(data) {
			n++
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(f), n), func(t *testing.T) {
				finishes[recorded(t, line)]++
			})
		}
	}
	want := map[model.Finish]int{model.Stop: 14, model.Empty: 2, model.Malformed: 1}
	if diff := cmp.Diff(want, finishes); diff != "" {
		t.Error(diff)
	}
}

// recorded plays an answer, and sends it back in a second request.
func recorded(t *testing.T, line []byte) model.Finish {
	script, err := modelserver.FromRecording(line)
	if err != nil {
		t.Fatal(err)
	}
	then, err := modelserver.Parse("< then\n")
	if err != nil {
		t.Fatal(err)
	}
	server := modelserver.New(modelserver.Config{Script: modelserver.Join(script, then)})
	c := client(t, gemini.Config{Transport: modelserver.Transport(server)})
	req := hello()
	_, _, answer, err := listen(t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	var signatures []string
	for _, piece := range strings.Split(string(line), `"thoughtSignature":"`)[1:] {
		signature, _, _ := strings.Cut(piece, `"`)
		signatures = append(signatures, signature)
	}
	if answer.Finish != model.Stop {
		return answer.Finish
	}
	var results []model.Part
	for i, p := range answer.Message.Parts {
		if p.Call != nil {
			id := fmt.Sprintf("r#1-%d", i)
			results = append(results, model.Part{Result: &model.Result{ID: id, Name: p.Call.Name, Content: "ok"}})
			answer.Message.Parts[i].Call = &model.Call{ID: id, Name: p.Call.Name, Args: p.Call.Args}
		}
	}
	if results == nil {
		results = []model.Part{{Text: "Go on."}}
	}
	req.Messages = append(req.Messages, answer.Message, model.Message{Role: model.User, Parts: results})
	if _, _, _, err := listen(t, c, req); err != nil {
		t.Fatal(err)
	}
	got := sent(server)()[1].Signatures
	if diff := cmp.Diff(signatures, got); diff != "" {
		t.Error(diff)
	}
	return answer.Finish
}

// TestManyArguments: a call with 300,000 argument keys costs a few times its bytes; genai
// would make maps of it twice.
func TestManyArguments(t *testing.T) {
	var args strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&args, `,"k%d":%d`, i, i)
	}
	event := `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{` + args.String()[1:] + `}}}]},"finishReason":"STOP"}]}`
	c := client(t, gemini.Config{Transport: modelserver.Transport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+event+"\n\n") // the answer says what is missing
	}))})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, answer, err := listen(t, c, hello())
	runtime.ReadMemStats(&after)
	if err != nil || len(answer.Message.Parts) != 1 || len(answer.Message.Parts[0].Call.Args) != args.Len()+1 {
		t.Fatal(answer, err)
	}
	if times := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(event)); times > 20 {
		t.Errorf("it allocates %.1f times its bytes", times)
	}
}
