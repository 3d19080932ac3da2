package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/trace"
	"github.com/agentls/agentls/agents/trace/export"
)

// bed is a tracer with one log.
type bed struct {
	t      *testing.T
	id     string // of the session
	config export.Config
	tracer *export.Tracer
	log    *activity.Log
	told   bytes.Buffer // what the daemon's own log has
}

func newBed(t *testing.T, change func(*export.Config)) *bed {
	b := &bed{t: t, id: "main"}
	b.config = export.Config{
		Dir: filepath.Join(t.TempDir(), "traces"), Console: io.Discard, Env: func(string) string { return "" }, Version: "1", Now: time.Now,
		Log: slog.New(slog.NewTextHandler(&b.told, nil)),
	}
	if change != nil {
		change(&b.config)
	}
	b.tracer = export.New(t.Context(), b.config)
	b.log = newLog(t, "main")
	return b
}

func newLog(t *testing.T, id string) *activity.Log {
	t.Helper()
	log, _, err := activity.Open(activity.Config{Session: id, Now: func() time.Time { return time.Unix(1_700_000_000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// run writes a whole run that answers once.
func (b *bed) run(id string, o export.Options) {
	about := activity.Origin{Run: id, Agent: "debugger", CorrelationID: id}
	b.tracer.Begin(b.log, b.id, id, o)
	for _, body := range []activity.Body{
		activity.RunStarted{Input: []activity.ContentBlock{{Type: "text", Text: "the question"}}, Model: "flash"},
		activity.TurnStarted{Turn: 1}, activity.ModelStarted{Model: "flash"}, activity.ContentDelta{Text: "the answer"},
		activity.ModelFinished{Model: "flash", Finish: model.Stop, Usage: model.Usage{InputTokens: 7}},
		activity.ModelContent{Content: []model.Part{{Text: "the answer"}}},
		activity.ToolState{Call: id + "#1-0", Name: "ls", Args: json.RawMessage(`{}`), State: activity.Executing},
		activity.ToolState{Call: id + "#1-0", Name: "ls", Args: json.RawMessage(`{}`), State: activity.Success, Result: &activity.ToolResult{Content: "a file"}},
		activity.TurnFinished{Turn: 1}, activity.RunFinished{Reason: activity.Goal, Text: "the answer"},
	} {
		b.log.Append(about, body, 0)
	}
}

func (b *bed) close() {
	b.t.Helper()
	if err := b.log.Close(); err != nil {
		b.t.Error(err)
	}
	b.tracer.Close()
}

// file returns the events of the session's file.
func (b *bed) file() (events []trace.FileEvent) {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.config.Dir, time.Now().Format(time.DateOnly), "session-"+b.id+".json"))
	if err == nil {
		err = json.Unmarshal(data, &events)
	}
	if err != nil {
		b.t.Error(err)
	}
	return events
}

func kinds(events []trace.FileEvent) (all []string) {
	for _, e := range events {
		all = append(all, e.EventType)
	}
	return all
}

var all = []string{"llm", "tool", "handoff", "guardrail", "route"}

// TestFile: the file is a JSON array after each run, also when another process goes on
// with it, and has the chosen events of the traced runs only.
func TestFile(t *testing.T) {
	b := newBed(t, nil)
	b.run("a", export.Options{Enabled: true, Backend: "file", Events: all, SampleRate: 1})
	b.run("b", export.Options{Backend: "file", Events: all, SampleRate: 1})
	b.run("c", export.Options{Enabled: true, Backend: "file", Events: []string{"tool"}, SampleRate: 1, CaptureContent: new(false)})
	b.close()
	whole := []string{"agent_start", "llm_call", "tool_call", "agent_complete"}
	events := b.file()
	if got := kinds(events); !slices.Equal(got, append(slices.Clone(whole), "agent_start", "tool_call", "agent_complete")) {
		t.Errorf("%q", got)
	}
	for i, e := range events {
		if said := strings.Contains(string(e.Details), "the answer") || strings.Contains(string(e.Details), "the question") || strings.Contains(string(e.Details), "a file"); said != (i < 4) {
			t.Errorf("%s of %s: %s", e.EventType, e.CorrelationID, e.Details)
		}
	}
	next := newBed(t, func(c *export.Config) { c.Dir = b.config.Dir })
	next.run("d", export.Options{Enabled: true, Backend: "file", Events: all, SampleRate: 1})
	next.close()
	if got := kinds(next.file()); len(got) != 11 {
		t.Errorf("gone on with: %q", got)
	}
	if b.told.Len()+next.told.Len() > 0 {
		t.Errorf("%s%s", &b.told, &next.told)
	}
}

// TestConsole: each span is told when it has ended.
func TestConsole(t *testing.T) {
	var out bytes.Buffer
	b := newBed(t, func(c *export.Config) { c.Console = &out })
	b.run("a", export.Options{Enabled: true, Backend: "console", Events: all, SampleRate: 1})
	b.close()
	for _, want := range []string{"[Trace] llm (debugger) 0ms\n  model: flash\n  prompt: user: the question\n  response: the answer\n", "[Trace] tool (debugger) 0ms\n", "[Trace] run (debugger) 0ms\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// TestSampled: a session is traced whole or not at all, and as many as the rate says.
func TestSampled(t *testing.T) {
	dir := t.TempDir()
	traced := 0
	for i := range 400 {
		b := newBed(t, func(c *export.Config) { c.Dir = filepath.Join(dir, fmt.Sprint(i)) })
		b.id = fmt.Sprint("session", i)
		b.log = newLog(t, b.id)
		for run := range 3 {
			b.run(fmt.Sprint(run), export.Options{Enabled: true, Backend: "file", Events: all, SampleRate: 0.5})
		}
		b.close()
		if _, err := os.Stat(b.config.Dir); err == nil {
			traced++
			if got := len(kinds(b.file())); got != 12 {
				t.Errorf("%s: %d events of 3 runs", b.id, got)
			}
		}
	}
	if traced < 100 || traced > 300 {
		t.Errorf("%d of 400 sessions are traced", traced)
	}
}

// receiver is an OpenTelemetry collector.
type receiver struct {
	mu      sync.Mutex
	spans   []string
	headers http.Header
	bodies  strings.Builder
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []struct{ Name string } }
		}
	}
	data, err := io.ReadAll(req.Body)
	if err != nil || json.Unmarshal(data, &body) != nil || !strings.HasSuffix(req.URL.Path, "/v1/traces") || req.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers = req.Header
	r.bodies.Write(data)
	for _, s := range body.ResourceSpans[0].ScopeSpans[0].Spans {
		r.spans = append(r.spans, s.Name)
	}
	_, _ = io.WriteString(w, "{}")
}

// TestCollector: what has ended reaches a collector and LangSmith, with the headers of the
// person's environment, and without content unless it is asked for.
func TestCollector(t *testing.T) {
	for _, c := range []struct {
		backend string
		env     map[string]string
		header  string
	}{
		{"otlp", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "$", "OTEL_EXPORTER_OTLP_HEADERS": "X-Team=a%20b"}, "X-Team: a b"},
		{"otlp", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "$/v1/traces"}, ""},
		{"langsmith", map[string]string{"LANGSMITH_ENDPOINT": "$", "LANGSMITH_API_KEY": "k"}, "X-Api-Key: k"},
	} {
		for _, content := range []bool{false, true} {
			r := new(receiver)
			server := httptest.NewServer(r)
			b := newBed(t, func(config *export.Config) {
				config.Env = func(name string) string { return strings.ReplaceAll(c.env[name], "$", server.URL) }
			})
			o := export.Options{Enabled: true, Backend: c.backend, Events: all, SampleRate: 1}
			if content {
				o.CaptureContent = &content
			}
			b.run("a", o)
			b.close()
			server.Close()
			if slices.Sort(r.spans); !slices.Equal(r.spans, []string{"chat flash", "execute_tool ls", "invoke_agent debugger", "turn turn"}) || b.told.Len() > 0 {
				t.Errorf("%s: %q\n%s", c.backend, r.spans, &b.told)
			}
			if strings.Contains(r.bodies.String(), "the answer") != content {
				t.Errorf("%s, content %v: %s", c.backend, content, &r.bodies)
			}
			if name, value, ok := strings.Cut(c.header, ": "); ok && r.headers.Get(name) != value {
				t.Errorf("%s: %v", c.backend, r.headers)
			}
		}
	}
}

// transport is a collector without a network.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestCollectorFails: a collector that is dead, answers 500 or nothing at all costs the log
// nothing, is told of once, and does not keep the daemon from ending.
func TestCollectorFails(t *testing.T) {
	for name, collect := range map[string]transport{
		"dead": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		"500": func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 500, Status: "500 no", Body: http.NoBody, Request: r}, nil
		},
		"silent": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				b := newBed(t, func(c *export.Config) {
					c.Transport = transport(func(r *http.Request) (*http.Response, error) { requests++; return collect(r) })
				})
				o := export.Options{Enabled: true, Backend: "otlp", Events: all, SampleRate: 1}
				for i := range 20 {
					b.run(fmt.Sprint(i), o)
					time.Sleep(2 * time.Second)
				}
				if got := b.log.Last(); got != 200 {
					t.Errorf("the log has %d events", got)
				}
				began := time.Now()
				b.close()
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("the end took %v", took)
				}
				if n := strings.Count(b.told.String(), "traces are lost"); n != 1 || requests < 1 || requests > 4 {
					t.Errorf("told %d times, %d requests:\n%s", n, requests, &b.told)
				}
			})
		})
	}
}

// TestAgentsSayMore: what an agent's file says counts instead of the settings.
func TestAgentsSayMore(t *testing.T) {
	o := export.Options{Backend: "file", Events: all, SampleRate: 1}
	if got := o.Over(nil); got.Enabled || got.Backend != "file" {
		t.Errorf("%+v", got)
	}
	got := o.Over(&definition.Tracing{Enabled: new(true), Events: []string{"llm"}, Backend: "console", SampleRate: new(0.5), CaptureContent: new(false)})
	if !got.Enabled || len(got.Events) != 1 || got.Backend != "console" || got.SampleRate != 0.5 || *got.CaptureContent {
		t.Errorf("%+v", got)
	}
}

// TestProjectsOnlyLowerWhatIsSent: where traces leave the machine, an agent of a project
// turns nothing on.
func TestProjectsOnlyLowerWhatIsSent(t *testing.T) {
	more := &definition.Tracing{Project: true, Enabled: new(true), Events: []string{"llm", "tool"}, SampleRate: new(1.0)}
	o := export.Options{Backend: "otlp", Events: []string{"tool", "route"}, SampleRate: 0.1}
	if got := o.Over(more); got.Enabled || len(got.Events) != 1 || got.Events[0] != "tool" || got.SampleRate != 0.1 {
		t.Errorf("sent: %+v", got)
	}
	o.Backend = "file"
	if got := o.Over(more); !got.Enabled || len(got.Events) != 2 || got.SampleRate != 1 {
		t.Errorf("kept here: %+v", got)
	}
}

// TestAskedFor: what the person says of a run counts before all, also where few sessions are
// traced.
func TestAskedFor(t *testing.T) {
	o := export.Options{Backend: "file", Events: all, SampleRate: 0.01}
	if got := o.For(nil); got.Enabled || got.SampleRate != 0.01 {
		t.Errorf("%+v", got)
	}
	if got := o.For(new(true)); !got.Enabled || got.SampleRate != 1 || got.Backend != "file" {
		t.Errorf("%+v", got)
	}
	o.Enabled = true
	if got := o.For(new(false)); got.Enabled {
		t.Errorf("%+v", got)
	}
}

// TestSlowCollector: a collector that takes its time gets all spans, and no run waits for it.
func TestSlowCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(receiver)
		b := newBed(t, func(c *export.Config) {
			c.Transport = transport(func(req *http.Request) (*http.Response, error) {
				time.Sleep(4 * time.Second)
				w := httptest.NewRecorder()
				r.ServeHTTP(w, req)
				return w.Result(), nil
			})
		})
		began := time.Now()
		for i := range 20 {
			b.run(fmt.Sprint(i), export.Options{Enabled: true, Backend: "otlp", Events: all, SampleRate: 1})
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the runs waited for %v", took)
		}
		time.Sleep(time.Minute)
		if b.close(); len(r.spans) != 20*4 || b.told.Len() > 0 {
			t.Errorf("%d spans came\n%s", len(r.spans), &b.told)
		}
	})
}

// BenchmarkTurn is what a run of one turn costs the log and the tracer together, with each
// backend that stays here, and without any.
func BenchmarkTurn(b *testing.B) {
	for _, backend := range []string{"", "file", "console"} {
		b.Run("backend="+backend, func(b *testing.B) {
			log, _, err := activity.Open(activity.Config{Session: "main", Now: time.Now})
			if err != nil {
				b.Fatal(err)
			}
			tracer := export.New(b.Context(), export.Config{
				Dir: b.TempDir(), Console: io.Discard, Env: func(string) string { return "" }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			})
			one := &bed{id: "main", log: log, tracer: tracer}
			for i := 0; b.Loop(); i++ {
				one.run(fmt.Sprint(i), export.Options{Enabled: backend != "", Backend: backend, Events: all, SampleRate: 1})
			}
			if err := log.Close(); err != nil {
				b.Fatal(err)
			}
			tracer.Close()
		})
	}
}
