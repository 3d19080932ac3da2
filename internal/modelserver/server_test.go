package modelserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// way is how a test reaches a server.
type way struct {
	url    string
	client *http.Client
}

// ways runs a test over loopback and without a port.
func ways(t *testing.T, config func() Config, test func(t *testing.T, s *Server, w way)) {
	t.Run("local", func(t *testing.T) {
		s := New(config())
		l := Transport(s)
		test(t, s, way{"http://model.test", &http.Client{Transport: l}})
		l.Wait()
	})
	t.Run("loopback", func(t *testing.T) {
		s := New(config())
		h := httptest.NewServer(s)
		defer h.Close()
		test(t, s, way{h.URL, h.Client()})
		h.CloseClientConnections()
	})
}

func (w way) post(t testing.TB, ctx context.Context, path, body string) *http.Response {
	t.Helper()
	resp, err := w.try(t, ctx, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func (w way) try(t testing.TB, ctx context.Context, path, body string) (*http.Response, error) {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/v1beta/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("x-goog-api-key", "k")
	return w.client.Do(q)
}

const stream = "models/m-1:streamGenerateContent?alt=sse"

func ask(text string) string {
	return string(marshal(map[string]any{"contents": []any{
		map[string]any{"role": "user", "parts": []any{map[string]string{"text": text}}}}}))
}

func readAll(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStream(t *testing.T) {
	script := `
# A comment.
> weather
<thought Plan: look outside
< It is\s
< fine.\n
<usage in=7 out=2 cached=3 thoughts=1
`
	ways(t, func() Config { return Config{Script: parse(t, script)} }, func(t *testing.T, s *Server, w way) {
		resp := w.post(t, t.Context(), stream, ask("How is the weather?"))
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatal(resp.Status, resp.Header)
		}
		want := "" +
			`data: {"candidates":[{"content":{"parts":[{"text":"**Plan**\n\nlook outside","thought":true}],"role":"model"},"index":0}],"modelVersion":"m-1","responseId":"r0-1"}` + "\r\n\r\n" +
			`data: {"candidates":[{"content":{"parts":[{"text":"It is "}],"role":"model"},"index":0}],"modelVersion":"m-1","responseId":"r0-1"}` + "\r\n\r\n" +
			`data: {"candidates":[{"content":{"parts":[{"text":"fine.\n"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"cachedContentTokenCount":3,"candidatesTokenCount":2,"promptTokenCount":7,"thoughtsTokenCount":1,"totalTokenCount":10},"modelVersion":"m-1","responseId":"r0-1"}` + "\r\n\r\n"
		if got := readAll(t, resp); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if err := s.Done(); err != nil {
			t.Error(err)
		}
	})
}

func TestFormats(t *testing.T) {
	script := "< a\n<call f {\"n\": 12345678901234567890} id=x\n<call g {} id=none\n<finish STOP all well\n\n< b\n< c\n\n<raw {\"candidates\":[]}\n"
	ways(t, func() Config { return Config{Script: parse(t, script)} }, func(t *testing.T, s *Server, w way) {
		var chunks []json.RawMessage
		body := readAll(t, w.post(t, t.Context(), "models/m:streamGenerateContent", ask("x")))
		if err := json.Unmarshal([]byte(body), &chunks); err != nil || len(chunks) != 2 {
			t.Fatal(err, body)
		}
		for _, want := range []string{`"id":"x"`, `{"functionCall":{"args":{},"name":"g"}}`, `12345678901234567890`, `"finishMessage":"all well"`} {
			if !strings.Contains(string(chunks[1]), want) {
				t.Errorf("%s lacks %s", chunks[1], want)
			}
		}
		body = readAll(t, w.post(t, t.Context(), "models/m:generateContent", ask("x")))
		var one struct {
			Candidates []struct {
				Content struct {
					Role  string
					Parts []struct{ Text string }
				}
				FinishReason string
			}
			UsageMetadata map[string]int
		}
		if err := json.Unmarshal([]byte(body), &one); err != nil {
			t.Fatal(err, body)
		}
		c := one.Candidates[0]
		if len(c.Content.Parts) != 2 || c.Content.Parts[1].Text != "c" || c.FinishReason != "STOP" || c.Content.Role != "model" ||
			one.UsageMetadata["promptTokenCount"] != 100 {
			t.Error(body)
		}
		if body := readAll(t, w.post(t, t.Context(), stream, ask("x"))); body != "data: {\"candidates\":[]}\r\n\r\n" {
			t.Errorf("%q", body)
		}
	})
}

func TestExpectations(t *testing.T) {
	conversation := `{"systemInstruction":{"parts":[{"text":"You are careful."}]},
		"tools":[{"functionDeclarations":[{"name":"read_file"},{"name":"grep"}]}],
		"contents":[
		 {"role":"user","parts":[{"text":"Find it <now>."}]},
		 {"role":"model","parts":[{"functionCall":{"name":"read_file","id":"1","args":{"path":"a"}}},{"functionCall":{"name":"grep","id":"2"}}]},
		 {"role":"user","parts":[{"functionResponse":{"name":"read_file","id":"1","response":{"output":"func main"}}},
		  {"functionResponse":{"name":"grep","id":"2","response":{"error":"not allowed"}}},
		  {"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}]}`
	holds := []string{
		"> Find it", ">!  lost", ">system careful", ">!system careless", ">tool grep", ">!tool write_file",
		">result read_file", ">result read_file contains func", ">!result read_file contains nothing", ">result grep contains allowed",
		">result-error grep contains not", ">!result-error read_file", ">call grep", ">!call write_file", ">history \"path\":\"a\"",
		">!history feature X", ">media image/png", ">!media image/jpeg", ">model m-", ">body <now>", ">messages 3", ">!messages 2",
	}
	for _, line := range holds {
		s := New(Config{Script: parse(t, line+"\n< ok\n")})
		l := Transport(s)
		w := way{"http://x", &http.Client{Transport: l}}
		resp := w.post(t, t.Context(), stream, conversation)
		readAll(t, resp)
		if resp.StatusCode != 200 || s.Done() != nil {
			t.Errorf("%s: %v", line, s.Done())
		}
		// Turned round it must fail, and say so.
		turned := strings.Replace(line, ">", ">!", 1)
		if strings.HasPrefix(line, ">!") {
			turned = ">" + line[2:]
		}
		s = New(Config{Script: parse(t, turned+"\n< ok\n")})
		w.client.Transport = Transport(s)
		resp = w.post(t, t.Context(), stream, conversation)
		body := readAll(t, resp)
		if resp.StatusCode != 400 || !strings.Contains(body, "script: line 1: ") || len(s.Failures()) != 1 || s.Done() == nil {
			t.Errorf("%s: %s %s", turned, resp.Status, body)
		}
	}
}

func TestScriptEnd(t *testing.T) {
	ways(t, func() Config { return Config{Script: parse(t, "< a\n\n< b\n")} }, func(t *testing.T, s *Server, w way) {
		readAll(t, w.post(t, t.Context(), stream, ask("x")))
		if err := s.Done(); err == nil || !strings.Contains(err.Error(), "line 3: not played") {
			t.Error(err)
		}
		readAll(t, w.post(t, t.Context(), stream, ask("x")))
		if err := s.Done(); err != nil {
			t.Error(err)
		}
		resp := w.post(t, t.Context(), stream, ask("once more"))
		if body := readAll(t, resp); resp.StatusCode != 400 || !strings.Contains(body, "script: the steps before the first section ended after 2 steps") {
			t.Error(resp.Status, body)
		}
		if len(s.Failures()) != 1 || s.Done() == nil {
			t.Error(s.Failures())
		}
	})
}

func TestREL61ConversationsTheAPIRefuses(t *testing.T) {
	call := `{"role":"model","parts":[{"functionCall":{"name":"f","id":"1"}},{"functionCall":{"name":"g","id":"2"}}]}`
	user := `{"role":"user","parts":[{"text":"x"}]}`
	response := func(name, id string) string {
		return `{"functionResponse":{"name":"` + name + `","id":"` + id + `","response":{"output":""}}}`
	}
	parts := func(p ...string) string { return `{"role":"user","parts":[` + strings.Join(p, ",") + `]}` }
	tests := []struct {
		contents []string
		refused  string
	}{
		{[]string{user, call, parts(response("f", "1"), response("g", "2"))}, ""},
		{[]string{user, call, parts(response("f", "1"), response("g", "2"), `{"text":"and"}`)}, ""},
		{[]string{user, call}, "without function responses"},
		{[]string{user, call, user}, "not equal"},
		{[]string{user, call, parts(response("f", "1"))}, "not equal"},
		{[]string{user, call, parts(response("f", "1"), response("g", "2"), response("g", "2"))}, "not equal"},
		{[]string{user, call, parts(response("g", "2"), response("f", "1"))}, "is for g"},
		{[]string{user, call, parts(response("f", "1"), response("g", "3"))}, `"3"`},
		{[]string{user, parts(response("f", "1"))}, "not immediately"},
		{[]string{`{"role":"user","parts":[]}`}, "empty"},
		{nil, "not specified"},
	}
	for _, tt := range tests {
		s := New(Config{Script: parse(t, "< ok\n")})
		w := way{"http://x", &http.Client{Transport: Transport(s)}}
		resp := w.post(t, t.Context(), stream, `{"contents":[`+strings.Join(tt.contents, ",")+`]}`)
		body := readAll(t, resp)
		if (tt.refused == "" && resp.StatusCode != 200) || !strings.Contains(body, strings.ReplaceAll(tt.refused, `"`, `\"`)) {
			t.Errorf("%v: %s %s", tt.contents, resp.Status, body)
		}
	}
}

func TestSignatureMustComeBack(t *testing.T) {
	s := New(Config{Script: parse(t, "<signature c2lnK3ovPQ==\n<call f {}\n\n< ok\n\n< ok\n")})
	w := way{"http://x", &http.Client{Transport: Transport(s)}}
	if body := readAll(t, w.post(t, t.Context(), stream, ask("x"))); !strings.Contains(body, `"thoughtSignature":"c2lnK3ovPQ=="`) {
		t.Fatal(body)
	}
	answer := func(signature string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"x"}]},
			{"role":"model","parts":[{"functionCall":{"name":"f","id":"call-1"}` + signature + `}]},
			{"role":"user","parts":[{"functionResponse":{"name":"f","id":"call-1","response":{}}}]}]}`
	}
	if resp := w.post(t, t.Context(), stream, answer(`,"thoughtSignature":"c2lnK3ovPQ=="`)); resp.StatusCode != 200 {
		t.Error(readAll(t, resp))
	}
	resp := w.post(t, t.Context(), stream, answer(""))
	if body := readAll(t, resp); resp.StatusCode != 400 || !strings.Contains(body, "missing a thought_signature") {
		t.Error(body)
	}
}

func TestSections(t *testing.T) {
	script := `
< main 1

# when system contains reviewer
# when no tool secret
< review 1

< review 2

# when model contains fast
< fast

# when input contains Fix
< fix
`
	s := New(Config{Script: parse(t, script)})
	w := way{"http://x", &http.Client{Transport: Transport(s)}}
	reviewer := `{"systemInstruction":{"parts":[{"text":"the reviewer"}]},"contents":[{"role":"user","parts":[{"text":"x"}]}]}`
	for _, q := range []struct{ path, body, want string }{
		{stream, reviewer, "review 1"}, {stream, ask("x"), "main 1"}, {stream, reviewer, "review 2"},
		{"models/fast-2:streamGenerateContent?alt=sse", ask("x"), "fast"}, {stream, ask("Fix it"), "fix"},
	} {
		if body := readAll(t, w.post(t, t.Context(), q.path, q.body)); !strings.Contains(body, `"`+q.want+`"`) {
			t.Errorf("got %s, want %s", body, q.want)
		}
	}
	if err := s.Done(); err != nil {
		t.Error(err)
	}
	got := s.Requests()
	if len(got) != 5 || got[0].Section != 1 || got[2].Step != 2 || got[0].System != "the reviewer" || got[4].Input() != "Fix it" {
		t.Errorf("%+v", got)
	}
}

func TestErrorsAndOtherMethods(t *testing.T) {
	script := `<status 429 {"message":"slow down","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]} retry-after=2

<status 503 overloaded retry-after="Wed, 21 Oct 2026 07:28:00 GMT"

<status 500
`
	ways(t, func() Config { return Config{Script: parse(t, script), Key: "k", Models: []string{"m"}} }, func(t *testing.T, s *Server, w way) {
		resp := w.post(t, t.Context(), stream, ask("x"))
		body := readAll(t, resp)
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "2" || !strings.Contains(body, `"retryDelay":"7s"`) ||
			!strings.Contains(body, `"status":"RESOURCE_EXHAUSTED"`) || !strings.Contains(body, "slow down") {
			t.Error(resp.Status, resp.Header, body)
		}
		resp = w.post(t, t.Context(), stream, ask("x"))
		if body := readAll(t, resp); resp.StatusCode != 503 || !strings.HasSuffix(resp.Header.Get("Retry-After"), "GMT") || !strings.Contains(body, "overloaded") {
			t.Error(resp.Status, body)
		}
		resp = w.post(t, t.Context(), stream, ask("x"))
		if body := readAll(t, resp); resp.StatusCode != 500 || !strings.Contains(body, "INTERNAL") {
			t.Error(resp.Status, body)
		}
		if body := readAll(t, w.post(t, t.Context(), "models/m:countTokens", ask("12345678"))); body != `{"totalTokens":3}` {
			t.Error(body)
		}
		for path, want := range map[string]int{"models/m:embed": 404, "tuned/m": 404, "models/other": 404, "models/m": 200, "models": 200} {
			resp := w.post(t, t.Context(), path, "{}")
			if readAll(t, resp); resp.StatusCode != want {
				t.Errorf("%s: %s", path, resp.Status)
			}
		}
		if resp := w.post(t, t.Context(), stream, "{"); resp.StatusCode != 400 {
			t.Error(resp.Status)
		}
		q, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/v1beta/"+stream, strings.NewReader(ask("x")))
		for key, want := range map[string]int{"": 403, "wrong": 400} {
			q.Header.Set("x-goog-api-key", key)
			q.Body = io.NopCloser(strings.NewReader(ask("x")))
			resp, err := w.client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			if body := readAll(t, resp); resp.StatusCode != want || (want == 400 && !strings.Contains(body, "API_KEY_INVALID")) {
				t.Errorf("key %q: %s %s", key, resp.Status, body)
			}
		}
		if err := s.Done(); err != nil {
			t.Error(err)
		}
	})
}

func TestREL55Cut(t *testing.T) {
	script := "< whole\n<cut\n\n< whole\n<cut rune\n\n<cut\n\n< whole\n<cut clean\n"
	ways(t, func() Config { return Config{Script: parse(t, script)} }, func(t *testing.T, s *Server, w way) {
		for _, tail := range []string{"half a sent", "half a sent\xe6\x80"} {
			resp := w.post(t, t.Context(), stream, ask("x"))
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil || !strings.HasSuffix(string(b), tail) || strings.Count(string(b), "data: ") != 2 {
				t.Errorf("%v %q", err, b)
			}
		}
		if resp, err := w.try(t, t.Context(), stream, ask("x")); err == nil {
			t.Error(resp.Status)
		}
		if body := readAll(t, w.post(t, t.Context(), stream, ask("x"))); strings.Contains(body, "finishReason") || !strings.Contains(body, "whole") {
			t.Error(body)
		}
	})
}

func TestHangEndsWithTheClient(t *testing.T) {
	script := "< one\n<hang\n\n<hang\n\n<gate never\n< one\n\n<heartbeat 1ms\n"
	ways(t, func() Config { return Config{Script: parse(t, script)} }, func(t *testing.T, s *Server, w way) {
		ctx, cancel := context.WithCancel(t.Context())
		resp := w.post(t, ctx, stream, ask("x"))
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		if err != nil || !strings.Contains(line, "one") {
			t.Fatal(line, err)
		}
		cancel()
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		resp.Body.Close()

		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := w.try(t, ctx, stream, ask("x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		go func() {
			<-s.GateReached("never")
			cancel()
		}()
		if _, err := w.try(t, ctx, stream, ask("x")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}

		resp = w.post(t, t.Context(), stream, ask("x"))
		r := bufio.NewReader(resp.Body)
		for range 3 {
			if line, err := r.ReadString('\n'); err != nil || (line != ": still there\n" && line != "\n") {
				t.Fatalf("%q %v", line, err)
			}
		}
		resp.Body.Close()
	})
}

func TestGate(t *testing.T) {
	ways(t, func() Config { return Config{Script: parse(t, "< a\n<gate g\n< b\n"), Now: time.Now} }, func(t *testing.T, s *Server, w way) {
		resp := w.post(t, t.Context(), stream, ask("x"))
		defer resp.Body.Close()
		r := bufio.NewReader(resp.Body)
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, `"a"`) {
			t.Fatal(line, err)
		}
		<-s.GateReached("g")
		if s.Requests()[0].Answered != 0 {
			t.Error("answered already")
		}
		s.Open("g")
		s.Open("g")
		rest, err := io.ReadAll(r)
		if err != nil || !strings.Contains(string(rest), `"b"`) {
			t.Errorf("%s %v", rest, err)
		}
	})
}

func TestPauseUsesTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Script: parse(t, "<pause 1h\n< a\n"), Now: time.Now})
		l := Transport(s)
		w := way{"http://x", &http.Client{Transport: l}}
		readAll(t, w.post(t, t.Context(), stream, ask("x")))
		l.Wait()
		if r := s.Requests()[0]; r.Received != 0 || r.Answered != time.Hour {
			t.Error(r.Received, r.Answered)
		}
	})
}

func TestRecorded(t *testing.T) {
	for _, bad := range []string{"", "[]", `{"method":"x","response":{}}`, `{"method":"generateContentStream","response":{}}`,
		`{"method":"generateContent","response":[]}`, `{"method":"generateContentStream","response":[null]}`} {
		if _, err := FromRecording([]byte(bad)); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
	files, _ := filepath.Glob("../../../shared/data/gemini-recorded/*.responses")
	if len(files) == 0 {
		t.Skip("the recorded answers are not here")
	}
	n := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			script, err := FromRecording(line)
			if err != nil {
				t.Errorf("%s: %v", f, err)
				continue
			}
			n++
			s := New(Config{Script: Join(script, parse(t, "< then\n"))})
			w := way{"http://x", &http.Client{Transport: Transport(s)}}
			body := readAll(t, w.post(t, t.Context(), stream, ask("x")))
			for event := range strings.SplitSeq(strings.TrimSpace(body), "\r\n\r\n") {
				if data, ok := strings.CutPrefix(event, "data: "); !ok || !json.Valid([]byte(data)) {
					t.Errorf("%s: %q", f, event)
				}
			}
			readAll(t, w.post(t, t.Context(), stream, ask("x")))
			if err := s.Done(); err != nil {
				t.Error(err)
			}
		}
	}
	if n != 17 {
		t.Errorf("%d recorded answers, want 17", n)
	}
}
