package spine_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// patience bounds each wait; a test that needs it has failed.
const patience = 2 * time.Minute

// worker is the agent that the tests run.
const worker = `---
kind: agent
name: worker
title: Worker
model: flash
run:
  max_turns: 1000
tools:
  allow: [read_file, bash]
---
You work.
`

// world is a workspace, the person's folder and a model on loopback.
type world struct {
	t         testing.TB
	dir, home string
	model     *modelserver.Server
	loopback  *httptest.Server

	mu     sync.Mutex
	asked  []time.Time // when the head of a request had come; guarded by mu
	served []time.Time // when the last byte of its answer had been written; guarded by mu
}

// ServeHTTP is the model. It notes the times itself: the script's server notes
// them when it has read and checked a request.
func (w *world) ServeHTTP(to http.ResponseWriter, q *http.Request) {
	w.mu.Lock()
	n := len(w.asked)
	w.asked, w.served = append(w.asked, time.Now()), append(w.served, time.Time{})
	w.mu.Unlock()
	w.model.ServeHTTP(to, q)
	w.mu.Lock()
	w.served[n] = time.Now()
	w.mu.Unlock()
}

// newWorld makes a world whose model plays a script.
func newWorld(t testing.TB, script string) *world {
	t.Helper()
	s, err := modelserver.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, dir: filepath.Join(base, "work"), home: filepath.Join(base, "home"),
		model: modelserver.New(modelserver.Config{Script: s, Now: time.Now}),
	}
	agents := filepath.Join(w.dir, ".gemini", "agents")
	for _, dir := range []string{agents, filepath.Dir(w.log("main"))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		filepath.Join(agents, "worker.md"): worker, filepath.Join(w.dir, "notes.txt"): "one\ntwo\nthree\n",
		// Each command but one asks, on every machine.
		filepath.Join(w.home, "settings.json"): `{"tools":{"allowed":["bash(echo hello)"],"sandbox":{"mode":"off"}}}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.loopback = httptest.NewServer(w)
	t.Cleanup(func() {
		w.loopback.CloseClientConnections()
		w.loopback.Close()
	})
	return w
}

// log returns the path of a session's log.
func (w *world) log(session string) string { return logPath(w.home, w.dir, session) }

// environ is the person's environment.
func (w *world) environ() []string {
	return []string{
		"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=" + w.loopback.URL, "GEMINI_HOME=" + w.home,
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(w.home), "OTEL_EXPORTER_OTLP_ENDPOINT=" + os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"),
	}
}

// serve runs a daemon in this process at one end of a connection. The test ends
// when the daemon has; what it leaves behind fails the test.
func (w *world) serve(far io.ReadWriteCloser) *served {
	t := w.t
	t.Helper()
	h := &served{world: w, done: make(chan struct{})}
	var daemonDone sync.WaitGroup
	daemonDone.Go(func() {
		defer close(h.done)
		outcome, err := daemon.Serve(context.Background(), far, daemon.Config{
			Home: w.home, Trust: true, Version: "test", Now: time.Now, Environ: w.environ(),
			Log: slog.New(slog.NewTextHandler(&h.said, &slog.HandlerOptions{Level: slog.LevelInfo})),
		})
		h.ending, h.err = outcome.Ending.String(), err
	})
	t.Cleanup(func() { h.wait() })
	return h
}

// served is a daemon in this process.
type served struct {
	*world
	said   sheet // its log
	done   chan struct{}
	ending string
	err    error
}

// wait waits for the daemon's end.
func (h *served) wait() {
	h.t.Helper()
	select {
	case <-h.done:
	case <-time.After(patience):
		h.t.Fatalf("the daemon does not end\n%s", h.said.String())
	}
}

// leaks fails the test for goroutines that are left when everything else that
// it made has ended. It is called first. A library below genai starts one when
// it is imported.
func leaks(t testing.TB) {
	t.Cleanup(func() { goleak.VerifyNone(t, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) })
}

// connect connects an editor to a daemon.
func (h *served) connect(near io.ReadWriteCloser) *editor {
	h.t.Helper()
	e, err := editortest.Connect(context.Background(), near, editortest.Config{Dir: h.dir, Agents: editortest.Native()})
	if err != nil {
		h.t.Fatalf("%v\n%s", err, h.said.String())
	}
	return newEditor(h.t, e)
}

// open starts a daemon over kernel pipes, as an editor does, and connects.
func (w *world) open() (*served, *editor) {
	near, far := pipes(w.t)
	h := w.serve(far)
	return h, h.connect(near)
}

// editor is a fake editor whose runs the test waits for.
type editor struct {
	*editortest.Editor
	t testing.TB
}

// newEditor has the editor closed when the test ends, and held to the protocol.
func newEditor(t testing.TB, e *editortest.Editor) *editor {
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &editor{e, t}
}

// ended is how a run's request was answered.
type ended struct {
	*wire.RunResult
	err error
}

// start sets a run going and returns where its end comes.
func (e *editor) start(session, input string) <-chan ended {
	end := make(chan ended, 1)
	go func() { // ends with the run, or with the connection
		r, err := e.Run(context.Background(), &wire.RunParams{
			Agent: "worker", Session: session, Input: wire.InputBlocks{{Type: "text", Text: input}},
		})
		end <- ended{r, err}
	}()
	return end
}

// finish waits for a run's end, which must be its goal.
func (e *editor) finish(end <-chan ended) *wire.RunResult {
	e.t.Helper()
	select {
	case r := <-end:
		if r.err != nil {
			e.t.Fatal(r.err)
		}
		if r.Reason != "GOAL" {
			e.t.Fatalf("the run ended %s: %+v", r.Reason, r.Error)
		}
		return r.RunResult
	case <-time.After(patience):
		e.t.Fatal("the run does not end")
		return nil
	}
}

// await waits until the editor has seen something.
func (e *editor) await(what string, done func(editortest.Seen) bool) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := e.Await(ctx, done); err != nil {
		e.t.Fatalf("%s: %v", what, err)
	}
}

// saw is a condition: an event of a type whose data has a text.
func saw(kind, text string) func(editortest.Seen) bool {
	at := 0
	return func(s editortest.Seen) bool {
		for ; at < len(s.Events); at++ {
			if e := s.Events[at]; e.Type == kind && strings.Contains(string(e.Data), text) {
				return true
			}
		}
		return false
	}
}

// reached waits until the model has come to a gate of its script.
func (w *world) reached(gate string) {
	w.t.Helper()
	select {
	case <-w.model.GateReached(gate):
	case <-time.After(patience):
		w.t.Fatalf("the model does not come to the gate %s: %v", gate, w.model.Failures())
	}
}

// sheet is a text that is written by one and read by another.
type sheet struct {
	mu   sync.Mutex
	text []byte
}

func (s *sheet) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	return len(p), nil
}

func (s *sheet) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// duplex is one end of a connection of two pipes.
type duplex struct {
	io.Reader
	io.Writer
	close func() error
}

func (d duplex) Close() error { return d.close() }

// pipes returns the ends of a connection of two pipes of the kernel's.
func pipes(t testing.TB) (near, far io.ReadWriteCloser) {
	t.Helper()
	end := func(r, w *os.File) duplex {
		return duplex{r, w, func() error {
			_ = w.Close() // closing twice is no harm
			_ = r.Close()
			return nil
		}}
	}
	r1, w1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return end(r1, w2), end(r2, w1)
}

// valve is a connection whose reader can be stopped.
type valve struct {
	net.Conn
	mu   sync.Mutex
	shut chan struct{} // closed when it may be read; nil while it is open
}

func (v *valve) Read(p []byte) (int, error) {
	v.mu.Lock()
	shut := v.shut
	v.mu.Unlock()
	if shut != nil {
		<-shut
	}
	return v.Conn.Read(p)
}

// Stop makes reads wait, but for one that is under way.
func (v *valve) Stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = make(chan struct{})
}

// Go lets reads go on.
func (v *valve) Go() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shut != nil {
		close(v.shut)
		v.shut = nil
	}
}

func (v *valve) Close() error {
	v.Go()
	return v.Conn.Close()
}

// words is the text that <repeat N w{} and more\n has.
func words(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
