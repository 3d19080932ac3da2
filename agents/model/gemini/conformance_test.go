package gemini_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/agents/model/modeltest"
	"github.com/agentls/agentls/internal/modelserver"
)

func TestMain(m *testing.M) {
	// A dependency of genai starts it when the program does, for good.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

const key = "AIza-secret+key/0123"

func TestConformanceLocal(t *testing.T) {
	modeltest.Run(t, modeltest.Harness{ID: "gemini-3.8-flash", Bubble: true,
		IdleTimeout: gemini.IdleTimeout, HeaderTimeout: gemini.HeaderTimeout,
		New: func(t testing.TB, answers ...modeltest.Answer) modeltest.Subject {
			server := modelserver.New(modelserver.Config{Script: write(t, answers), Key: key})
			local := modelserver.Transport(server)
			var transport http.RoundTripper = local
			if len(answers) > 0 && answers[0].Fault == modeltest.Unreachable {
				transport = roundTripper(func(*http.Request) (*http.Response, error) {
					return nil, fmt.Errorf("dial tcp: connection refused")
				})
			}
			return modeltest.Subject{Model: client(t, gemini.Config{Transport: transport}), Sent: sent(server), Idle: local.Wait}
		}})
}

func TestConformanceLoopback(t *testing.T) {
	modeltest.Run(t, modeltest.Harness{ID: "gemini-2.5-flash",
		New: func(t testing.TB, answers ...modeltest.Answer) modeltest.Subject {
			server := modelserver.New(modelserver.Config{Script: write(t, answers), Key: key})
			h := httptest.NewServer(server)
			c := client(t, gemini.Config{BaseURL: h.URL})
			// It closes when nothing is answered any more.
			t.Cleanup(h.Close)
			t.Cleanup(func() { _ = c.Close() })
			if len(answers) > 0 && answers[0].Fault == modeltest.Unreachable {
				h.Close()
			}
			return modeltest.Subject{Model: c, Sent: sent(server), Idle: func() { _ = c.Close(); h.Close() }}
		}})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

func client(t testing.TB, config gemini.Config) *gemini.Client {
	t.Helper()
	config.APIKey, config.Now = key, time.Now
	if config.Table == nil {
		config.Table = model.NewTable(nil)
	}
	c, err := gemini.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// play returns a client of a server in this process, and the server.
func play(t testing.TB, script string) (*gemini.Client, *modelserver.Server) {
	t.Helper()
	s, err := modelserver.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	server := modelserver.New(modelserver.Config{Script: s})
	return client(t, gemini.Config{Transport: modelserver.Transport(server)}), server
}

// write puts the suite's answers into a script.
func write(t testing.TB, answers []modeltest.Answer) *modelserver.Script {
	t.Helper()
	var b strings.Builder
	for _, a := range answers {
		writeAnswer(&b, a)
		b.WriteString("\n")
	}
	s, err := modelserver.Parse(b.String())
	if err != nil {
		t.Fatal(err, b.String())
	}
	return s
}

func writeAnswer(b *strings.Builder, a modeltest.Answer) {
	if line, ok := faults(a.RetryAfter)[a.Fault]; ok {
		b.WriteString(line + "\n")
		return
	}
	if a.Then == modeltest.Silence {
		b.WriteString("<hang\n")
		return
	}
	for i, p := range a.Pieces {
		if p.Signature != "" {
			fmt.Fprintf(b, "<signature %s\n", p.Signature)
		} else if p.Call != nil && (i == 0 || a.Pieces[i-1].Call == nil) {
			b.WriteString("<signature none\n")
		}
		switch {
		case p.Call != nil:
			fmt.Fprintf(b, "<call %s %s id=%s\n", p.Call.Name, p.Call.Args, p.Call.ID)
		case p.Subject != "":
			fmt.Fprintf(b, "<thought %s: %s\n", p.Subject, escape(p.Thought))
		case p.Thought != "":
			fmt.Fprintf(b, "<thought %s\n", escape(p.Thought))
		default:
			fmt.Fprintf(b, "< %s\n", escape(p.Text))
		}
	}
	if a.Fault == modeltest.Midway {
		b.WriteString(`<raw {"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}` + "\n<finish none\n<usage none\n")
		return
	}
	if u := a.Usage; u != nil {
		fmt.Fprintf(b, "<usage in=%d out=%d cached=%d thoughts=%d total=%d\n", u.InputTokens, u.OutputTokens, u.CachedTokens, u.ThoughtTokens, u.TotalTokens)
	} else if a.Then == "" {
		b.WriteString("<usage none\n")
	}
	switch reason := map[model.Finish]string{"": "STOP", model.Stop: "STOP", model.Length: "MAX_TOKENS", model.Malformed: "MALFORMED_FUNCTION_CALL",
		model.Other: "SOMETHING_NEW", model.Blocked: a.Category}[a.Finish]; {
	case a.Silent:
		b.WriteString("<finish none\n")
	case a.Finish == model.Blocked && a.Pieces == nil:
		fmt.Fprintf(b, "<block %s\n", reason)
	case a.Then == "":
		fmt.Fprintf(b, "<finish %s\n", reason)
	}
	switch a.Then {
	case modeltest.Cut, modeltest.Drop:
		b.WriteString("<cut\n")
	case modeltest.CutRune:
		b.WriteString("<cut rune\n")
	case modeltest.Hang:
		b.WriteString("<hang\n")
	case modeltest.Heartbeat:
		b.WriteString("<heartbeat 10s\n")
	}
}

func faults(retryAfter time.Duration) map[modeltest.Fault]string {
	limit := "<status 429 Resource has been exhausted (e.g. check quota)."
	if retryAfter > 0 {
		limit = fmt.Sprintf(`<status 429 {"message":"slow down","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%gs"}]}`, retryAfter.Seconds())
	}
	return map[modeltest.Fault]string{
		modeltest.RateLimit:    limit,
		modeltest.Overloaded:   "<status 503 The model is overloaded.",
		modeltest.ServerError:  "<status 500",
		modeltest.DailyQuota:   `<status 429 {"message":"You exceeded your current quota","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"11s"}]}`,
		modeltest.BadKey:       `<status 400 {"message":"API key not valid. Please pass a valid API key.","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}`,
		modeltest.NotPermitted: `<status 403 {"message":"The model is not open to you.","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SERVICE_DISABLED"}]}`,
		modeltest.BadRequest:   "<status 400 Request contains an invalid argument.",
		modeltest.NotFound:     "<status 404 models/x is not found",
		modeltest.TooLarge:     "<status 413 Request payload size exceeds the limit",
		modeltest.ClientClosed: "<status 499 The operation was cancelled.",
		modeltest.Unreachable:  "< nobody hears this",
	}
}

func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(s)
}

func sent(server *modelserver.Server) func() []modeltest.Sent {
	return func() []modeltest.Sent {
		var all []modeltest.Sent
		for _, r := range server.Requests() {
			q := modeltest.Sent{Body: r.Body, System: r.System, Tools: r.Tools}
			for _, m := range r.Messages {
				for _, p := range m.Parts {
					if p.Signature != "" {
						q.Signatures = append(q.Signatures, p.Signature)
					}
					if p.Result != nil {
						q.Results = append(q.Results, modeltest.Result{ID: p.Result.ID, Name: p.Result.Name, Content: p.Result.Text, Error: p.Result.Error})
					}
					if p.MimeType != "" {
						q.Media = append(q.Media, p.MimeType)
					}
				}
			}
			all = append(all, q)
		}
		return all
	}
}

// hello is a question.
func hello() *model.Request {
	return &model.Request{Model: "gemini-3.8-flash", Messages: []model.Message{{Role: model.User, Parts: []model.Part{{Text: "Hello."}}}}}
}

// listen returns the texts and the end of a call.
func listen(t testing.TB, m model.Model, req *model.Request) (text, thought string, answer *model.Answer, err error) {
	t.Helper()
	var b, th bytes.Buffer
	for chunk, e := range m.Generate(t.Context(), req) {
		b.WriteString(chunk.Text)
		th.WriteString(chunk.Thought)
		answer, err = chunk.Answer, e
	}
	return b.String(), th.String(), answer, err
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
