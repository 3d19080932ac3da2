package run_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/model/gemini"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/modelserver"
)

// The models of runs that ask a real client.
const flash, pro = "gemini-3.8-flash", "gemini-3.8-pro"

// of a script, which must be one.
func scripted(t testing.TB, text string) *modelserver.Script {
	t.Helper()
	s, err := modelserver.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plays has the models of the world be the real client of a server that plays a
// script, and returns the server.
func (w *world) plays(t testing.TB, script *modelserver.Script, models ...string) *modelserver.Server {
	t.Helper()
	server := modelserver.New(modelserver.Config{Script: script, Now: time.Now})
	w.served(t, gemini.Config{APIKey: "the-key", Transport: modelserver.Transport(server)}, models...)
	return server
}

func (w *world) served(t testing.TB, config gemini.Config, models ...string) {
	t.Helper()
	config.Table, config.Now = model.NewTable(nil), time.Now
	client, err := gemini.New(config)
	if err != nil {
		t.Fatal(err)
	}
	key := model.NewRetries(time.Now)
	w.config.Models = nil
	for _, id := range append([]string{flash}, models...) {
		w.config.Models = append(w.config.Models, run.Choice{ID: id, Model: client, Retries: key, Entry: model.Entry{ID: id, Window: 1 << 20}})
	}
}

// usable checks that the agent's next run can ask: what it would be sent is a
// conversation.
func (w *world) usable() {
	w.t.Helper()
	messages := append(w.log.Context(agentName), model.Message{Role: model.User, Parts: []model.Part{text("and now?")}})
	if n := len(messages); n > 1 && messages[n-2].Role == model.User {
		messages = messages[:n-1]
	}
	if err := session.Check(messages); err != nil {
		w.t.Errorf("the session is not usable: %v", err)
	}
}

// paused lets the person answer what a stopped run asks, by the number of the
// choice, and keeps what it says.
func (w *world) pauses(choice int) *[]string {
	messages := new([]string)
	w.config.Env.Ask = asked(choice, messages)
	return messages
}

// received are the models of the requests, with the times since the first.
func received(server *modelserver.Server) (models []string, times []time.Duration) {
	for _, r := range server.Requests() {
		models = append(models, r.Model)
		times = append(times, r.Received-server.Requests()[0].Received)
	}
	return models, times
}

// TestREL51RetryInfo: what the provider asks for is waited, a person is told, and
// can end it at once.
func TestREL51RetryInfo(t *testing.T) {
	refusal := `<status 429 {"message":"slow down","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}` + "\n\n"
	in(t, func(w *world) {
		server := w.plays(t, scripted(t, refusal+"< hello\n"))
		w.ended(w.do(), activity.Goal)
		_, times := received(server)
		if len(times) != 2 || times[1] < 7*time.Second || times[1] > 8*time.Second {
			t.Errorf("asked at %v", times)
		}
		told := of[activity.Retry](w)
		if len(told) != 1 || told[0].WaitMs != times[1].Milliseconds() || !strings.Contains(told[0].Cause, "slow down") {
			t.Errorf("told %+v", told)
		}
	})
	in(t, func(w *world) {
		server := w.plays(t, scripted(t, refusal))
		h := w.start()
		time.Sleep(3 * time.Second)
		h.end(run.ErrCancelled)
		w.ended(h.wait(), activity.Aborted)
		if took := time.Since(of1(w)); took != 3*time.Second || len(server.Requests()) != 1 {
			t.Errorf("it ended after %s, with %d requests", took, len(server.Requests()))
		}
	})
}

// TestREL52BusyThenFallbackThenPaused: five attempts, five of the next model,
// and then a person decides.
func TestREL52BusyThenFallbackThenPaused(t *testing.T) {
	for _, status := range []int{408, 429, 500, 502, 503, 504} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			in(t, func(w *world) {
				messages := w.pauses(0)
				server := w.plays(t, scripted(t, strings.Repeat(fmt.Sprintf("<status %d no luck\n\n", status), 10)+"< hello\n"), pro)
				got := w.do()
				w.ended(got, activity.Goal)
				models, times := received(server)
				if want := strings.Repeat(flash+" ", 5) + strings.Repeat(pro+" ", 5) + flash; strings.Join(models, " ") != want {
					t.Errorf("asked %v", models)
				}
				for i, limit := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 0} {
					for _, at := range []int{i, i + 5} {
						if wait := times[at+1] - times[at]; wait > limit+time.Millisecond {
							t.Errorf("wait %d is %s, at most %s", at, wait, limit)
						}
					}
				}
				if len(*messages) != 1 || !strings.Contains((*messages)[0], "no luck") {
					t.Errorf("the person is asked %q", *messages)
				}
				states := of[activity.RunState](w)
				if s := states[1]; s.To != activity.Paused || s.Resumes != "agents/resume" || !strings.Contains(s.Why, fmt.Sprint("HTTP ", status)) {
					t.Errorf("the states are %+v", states)
				}
			})
		})
	}
}

// TestREL53RefusedOnce: what a wait does not mend is asked once, of one model,
// and is told in the provider's words.
func TestREL53RefusedOnce(t *testing.T) {
	quota := func(id, delay string) string {
		return `<status 429 {"message":"You exceeded your current quota.","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + id +
			`"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}]}`
	}
	for answer, says := range map[string]string{
		"<status 400 no such argument": "no such argument (HTTP 400)",
		`<status 403 {"message":"The API is off.","details":[{"reason":"SERVICE_DISABLED"}]}`: "The API is off. (HTTP 403)",
		"<status 404 models/x is not found":                                                   "models/x is not found (HTTP 404)",
		"<status 413 too large":                                                               "too large (HTTP 413)",
		"<status 499 cancelled":                                                               "cancelled (HTTP 499)",
		quota("RequestsPerDay", "7s"):                                                         "the quota of the day is used up: You exceeded your current quota. (HTTP 429)",
		quota("RequestsPerMinute", "200s"):                                                    "the provider does not want to be asked again for 3m20s: You exceeded your current quota. (HTTP 429)",
		`<status 429 {"message":"No credits.","details":[{"reason":"CREDITS_EXHAUSTED"}]}`:    "there is no credit: No credits. (HTTP 429)",
	} {
		t.Run(says, func(t *testing.T) {
			in(t, func(w *world) {
				messages := w.pauses(0)
				server := w.plays(t, scripted(t, answer+"\n"), pro)
				got := w.do()
				w.ended(got, activity.Errored)
				if got.Error.Kind != "provider" || !strings.HasSuffix(got.Error.Message, says) {
					t.Errorf("the error is %+v", got.Error)
				}
				if n := len(server.Requests()); n != 1 || time.Since(of1(w)) != 0 || len(*messages) != 0 {
					t.Errorf("%d requests in %s, asked %q", n, time.Since(of1(w)), *messages)
				}
				w.usable()
			})
		})
	}
}

// TestREL70Credentials: credentials that break while a run goes on stop it; the
// session lives, and the run goes on when they are mended.
func TestREL70Credentials(t *testing.T) {
	const person = `{"type": "authorized_user", "client_id": "c", "client_secret": "the-client-secret", "refresh_token": "the-refresh-token"}`
	for name, damage := range map[string]func(file string) error{
		"missing": os.Remove,
		"corrupt": func(file string) error { return os.WriteFile(file, []byte(`{"type": "auth`), 0o600) },
		"empty":   func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"replaced by a folder": func(file string) error {
			if err := os.Remove(file); err != nil {
				return err
			}
			return os.Mkdir(file, 0o700)
		},
		"read-only": func(file string) error { return os.Chmod(file, 0o400) }, // it is only read: nothing happens
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "credentials.json")
			mend := func() error {
				if err := os.RemoveAll(file); err != nil {
					return err
				}
				return os.WriteFile(file, []byte(person), 0o600)
			}
			if err := mend(); err != nil {
				t.Fatal(err)
			}
			in(t, func(w *world) {
				server := modelserver.New(modelserver.Config{Script: scripted(t, "<call look {}\n\n>result look\n< done\n")})
				w.served(t, gemini.Config{Vertex: &gemini.Vertex{Project: "p", Credentials: file}, Transport: modelserver.Transport(server)})
				w.tool("look", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
					server.Revoke() // as time does
					return &tool.Result{Content: "seen"}, damage(file)
				})
				var why []string
				w.config.Env.Ask = func(_ context.Context, q tool.Question) (tool.Answer, error) {
					why = append(why, q.Message)
					return tool.Answer{Action: "accept", Text: q.Choices[0]}, mend()
				}
				got := w.do()
				w.ended(got, activity.Goal)
				if err := server.Done(); err != nil || got.Text != "done" {
					t.Errorf("%q, %v", got.Text, err)
				}
				if name == "read-only" {
					if len(why) != 0 {
						t.Errorf("asked %q", why)
					}
					return
				}
				if len(why) != 1 || !strings.Contains(why[0], "credentials") || !strings.Contains(why[0], gemini.Login) || strings.Contains(why[0], "the-") {
					t.Errorf("asked %q", why)
				}
				if s := of[activity.RunState](w)[1]; s.To != activity.Paused || s.Why != why[0] || s.Resumes != "agents/resume" {
					t.Errorf("the state is %+v", s)
				}
			})
		})
	}
}

// TestREL67ClockSkew: a token that is over for the provider and not by our clock
// is replaced once, for all runs.
func TestREL67ClockSkew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(file, []byte(`{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const runs = 20
	synctest.Test(t, func(t *testing.T) {
		server := modelserver.New(modelserver.Config{Script: scripted(t, strings.Repeat("< hello\n\n", 1+runs))})
		slow := func(transport http.RoundTripper) http.RoundTripper {
			return roundTripper(func(q *http.Request) (*http.Response, error) {
				time.Sleep(time.Second) // so that all are on their way
				return transport.RoundTrip(q)
			})
		}
		first := newWorld(t)
		first.served(t, gemini.Config{Vertex: &gemini.Vertex{Project: "p", Credentials: file}, Transport: slow(modelserver.Transport(server))})
		first.ended(first.do(), activity.Goal)
		server.Revoke() // its clock is ahead of ours by more than an hour
		var all []*handle
		for range runs {
			w := newWorld(t)
			w.config.Models = first.config.Models
			all = append(all, w.start())
		}
		for _, h := range all {
			h.w.ended(h.wait(), activity.Goal)
			if told := of[activity.Retry](h.w); len(told) != 0 {
				t.Errorf("told %+v", told)
			}
		}
		if n := len(server.Grants()); n != 2 || server.Done() != nil {
			t.Errorf("signed in %d times, %v", n, server.Done())
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }
