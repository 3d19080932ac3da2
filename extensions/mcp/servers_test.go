package mcp

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"go.uber.org/goleak"

	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
)

// world is servers with what is around them.
type world struct {
	*Servers
	t      testing.TB
	folder string
	dir    string // of the approved tools

	ask     tool.Ask                                                             // of calls; may be nil
	consult func(context.Context, string, *model.Request) (*model.Answer, error) // of calls; may be nil

	logins keptLogins
	hidden []string // guarded by mu

	mu        sync.Mutex
	described []Server
	states    []string
}

// quick are times for tests: what has to be waited for is short, the rest long.
var quick = times{
	connect: 20 * time.Second, silence: 20 * time.Second, closing: 100 * time.Millisecond, write: 20 * time.Second, ping: time.Hour, idle: time.Hour,
	first: 10 * time.Millisecond, most: 50 * time.Millisecond, list: 10 * time.Millisecond, settle: 0,
}

func newWorld(t testing.TB, tune func(*times), faults ...string) *world {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	w := &world{t: t, folder: t.TempDir(), dir: filepath.Join(t.TempDir(), "mcp")}
	for _, fault := range faults {
		w.described = append(w.described, w.faulty(strings.ReplaceAll(fault, " ", "-"), fault, ""))
	}
	w.open(tune)
	return w
}

func (w *world) open(tune func(*times)) {
	all := quick
	if tune != nil {
		tune(&all)
	}
	w.Servers = newServers(w.t.Context(), Config{
		Described: func(string) []Server {
			w.mu.Lock()
			defer w.mu.Unlock()
			return slices.Clone(w.described)
		},
		Roots:   func() []string { return []string{w.folder} },
		Environ: process.Environ([]string{"PATH=/usr/bin:/bin", "GEMINI_API_KEY=secret-of-the-daemon"}),
		Sandbox: func(string) *sandbox.Sandbox { return nil },
		Places:  func(context.Context, string) (tool.Places, error) { return tool.Places{Complete: true}, nil },
		Logins:  &w.logins, Hide: w.hide,
		Dir: w.dir, Version: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Changed: func(_ string, s State) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.states = append(w.states, s.Name+" "+s.State)
		},
	}, all)
	w.t.Cleanup(w.Close)
}

// faulty describes a server that is this test's binary.
func (w *world) faulty(name, fault, more string) Server {
	raw, _ := json.Marshal(map[string]any{"command": os.Args[0], "env": map[string]string{faultyServer: fault}})
	if more != "" {
		raw = append(raw[:len(raw)-1], ","+more+"}"...)
	}
	return Parse(name, false, raw, "", func(string) (string, bool) { return "", false })
}

func (w *world) offer(names ...string) (map[string]tool.Tool, Offer) {
	w.t.Helper()
	o := w.Offer(w.t.Context(), w.folder, names)
	byName := make(map[string]tool.Tool)
	for _, t := range o.Tools {
		byName[t.Spec().Name] = t
	}
	return byName, o
}

// call plans and runs a call, and returns what the model gets.
func (w *world) call(ctx context.Context, t tool.Tool, args string) (string, error) {
	w.t.Helper()
	var mu sync.Mutex
	progress := ""
	env := &tool.Env{Folder: w.folder, Folders: []string{w.folder}, Trusted: true, Now: time.Now, Ask: w.ask, Consult: w.consult, Model: "flash", Secret: func(text string) bool { return text == "key of the daemon" }, Progress: func(s string) {
		mu.Lock()
		defer mu.Unlock()
		progress += s
	}}
	result, err := tooltest.Run(ctx, t, env, args)
	if err != nil {
		return "", err
	}
	mu.Lock()
	defer mu.Unlock()
	return progress + result.Content, nil
}

func (w *world) state(name string) State {
	w.t.Helper()
	for _, s := range w.List(w.folder) {
		if s.Name == name {
			return s
		}
	}
	w.t.Fatalf("no server %s", name)
	return State{}
}

// list returns what a server lists, approved or not.
func (w *world) list(name string) []listed {
	e, err := w.find(w.folder, name)
	if err != nil {
		w.t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.listed
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come to pass that %s", what)
		}
	}
}

// TestToolsOfAServer: a server is started when it is needed, its tools are called,
// and it gets nothing of the daemon's environment.
func TestToolsOfAServer(t *testing.T) {
	w := newWorld(t, nil, "works")
	if s := w.state("works"); s.State != Idle {
		t.Errorf("before it is needed: %s", s.State)
	}
	tools, o := w.offer("*")
	if len(tools) != 3 || len(o.Problems)+len(o.Changes) != 0 {
		t.Fatalf("offered: %v, problems %q", tools, o.Problems)
	}
	spec := tools["mcp.works.echo"].Spec()
	if spec.Model != "mcp_works_echo" || spec.Risk != tool.Medium || !strings.Contains(spec.Description, "Says the text again.") {
		t.Errorf("spec: %+v", spec)
	}
	if got, err := w.call(t.Context(), tools["mcp.works.echo"], `{"text": "hello"}`); err != nil || got != "hello" {
		t.Errorf("echo: %q, %v", got, err)
	}
	for range 20 { // the result follows the last step at once, and that is told all the same
		if got, err := w.call(t.Context(), tools["mcp.works.slow"], `{}`); err != nil || got != "1 of 3: step\n2 of 3: step\n3 of 3: step\ndone" {
			t.Fatalf("slow: %q, %v", got, err)
		}
	}
	got, err := w.call(t.Context(), tools["mcp.works.env"], `{}`)
	if err != nil || strings.Contains(got, "secret-of-the-daemon") || !strings.Contains(got, "AGENTLS=1") {
		t.Errorf("env: %q, %v", got, err)
	}
	s := w.state("works")
	if s.State != Ready || s.Title != "Faulty" || s.Version != "1.2.3" || s.Calls != 22 || s.Errors != 0 || len(s.Tools) != 3 {
		t.Errorf("state: %+v", s)
	}
	w.Close()
	if _, o := w.offer("*"); len(o.Tools) != 0 {
		t.Error("a closed one offers tools")
	}
}

// TestTheLastStepIsTold, also where more steps came than whoever is told could hear.
func TestTheLastStepIsTold(t *testing.T) {
	w := newWorld(t, nil, "tells much")
	tools, _ := w.offer("*")
	var told []string
	first, hears := make(chan struct{}), make(chan struct{})
	env := &tool.Env{Folder: w.folder, Folders: []string{w.folder}, Trusted: true, Now: time.Now, Progress: func(s string) {
		if told = append(told, s); len(told) == 1 {
			close(first)
			<-hears
		}
	}}
	var call conc.WaitGroup
	call.Go(func() {
		if _, err := tooltest.Run(t.Context(), tools["mcp.tells-much.slow"], env, `{}`); err != nil {
			t.Error(err)
		}
	})
	<-first
	e, err := w.find(w.folder, "tells-much")
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the answer is there", func() bool {
		e.conn.mu.Lock()
		defer e.conn.mu.Unlock()
		return len(e.conn.progress) == 0
	})
	close(hears)
	call.Wait()
	if last := told[len(told)-1]; last != "100 of 100: step\n" {
		t.Errorf("%d steps were told, the last is %q", len(told), last)
	}
}

// TestREL83NeverAnswers: a server that does not answer fails, and others are there.
func TestREL83NeverAnswers(t *testing.T) {
	w := newWorld(t, func(t *times) { t.connect = time.Second }, "never answers", "works")
	tools, o := w.offer("*")
	if len(tools) != 3 || len(o.Problems) != 1 {
		t.Fatalf("tools %v, problems %q", tools, o.Problems)
	}
	until(t, "it has failed", func() bool {
		s := w.state("never-answers")
		return s.State == Failed && strings.Contains(s.Why, "within")
	})
}

// TestREL84Dies: a call of a server that dies has an error, and the next need
// starts it again; one that always dies is started by hand only.
func TestREL84Dies(t *testing.T) {
	w := newWorld(t, nil, "dies")
	tools, _ := w.offer("dies")
	for range maxFailures {
		if _, err := w.call(t.Context(), tools["mcp.dies.echo"], `{"text": "x"}`); err == nil || !strings.Contains(err.Error(), "did not do it") {
			t.Fatalf("a call of what dies: %v", err)
		}
		until(t, "it is seen", func() bool { return w.state("dies").State != Ready })
	}
	until(t, "nobody starts it", func() bool {
		_, err := w.call(t.Context(), tools["mcp.dies.echo"], `{"text": "x"}`)
		return err != nil && strings.Contains(err.Error(), "in a row")
	})
	if _, o := w.offer("dies"); len(o.Tools) != 0 || len(o.Problems) != 1 {
		t.Errorf("it offers %v, %q", o.Tools, o.Problems)
	}
	if s, err := w.Restart(t.Context(), w.folder, "dies", false); err != nil || s.State != Ready {
		t.Errorf("restart: %+v, %v", s, err)
	}
}

// TestREL85Hangs: a call without progress ends, is cancelled at the server, and so
// is one that the person cancels.
func TestREL85Hangs(t *testing.T) {
	w := newWorld(t, func(t *times) { t.silence = 200 * time.Millisecond }, "hangs")
	tools, _ := w.offer("hangs")
	if _, err := w.call(t.Context(), tools["mcp.hangs.echo"], `{}`); err == nil || !strings.Contains(err.Error(), "no progress for 200ms") {
		t.Errorf("a call that hangs: %v", err)
	}
	until(t, "it is told", func() bool { return slices.Contains(w.state("hangs").Stderr, "told to cancel") })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := w.call(ctx, tools["mcp.hangs.echo"], `{}`); err == nil {
		t.Error("a cancelled call has a result")
	}
	if s := w.state("hangs"); s.State != Ready || s.Errors != 2 {
		t.Errorf("state: %+v", s)
	}
}

// TestREL86Floods: what a server tells without end costs neither memory nor the
// calls.
func TestREL86Floods(t *testing.T) {
	w := newWorld(t, nil, "floods")
	tools, _ := w.offer("floods")
	if got, err := w.call(t.Context(), tools["mcp.floods.echo"], `{"text": "through"}`); err != nil || got != "through" {
		t.Errorf("a call in a flood: %q, %v", got, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.entries {
		e.stderr.mu.Lock()
		if n := len(e.stderr.data); n > 2*maxStderr {
			t.Errorf("%d bytes of stderr are kept", n)
		}
		e.stderr.mu.Unlock()
	}
}

// TestREL87AndSEC86Garbage: what is no message is skipped, and ends a server where
// it is nothing else; results of another shape are errors.
func TestREL87AndSEC86Garbage(t *testing.T) {
	w := newWorld(t, nil, "garbage only", "garbage first", "answers nothing", "answers in another shape", "sends too much", "lists badly", "cannot start")
	tools, o := w.offer("*")
	if len(o.Problems) != 2 || !strings.Contains(strings.Join(o.Problems, "\n"), "no JSON-RPC") || !strings.Contains(strings.Join(o.Problems, "\n"), "no database") {
		t.Errorf("problems: %q", o.Problems)
	}
	if got, err := w.call(t.Context(), tools["mcp.garbage-first.echo"], `{"text": "fine"}`); err != nil || got != "fine" {
		t.Errorf("after garbage: %q, %v", got, err)
	}
	if got, err := w.call(t.Context(), tools["mcp.answers-nothing.echo"], `{}`); err == nil && got != "(no output)" {
		t.Errorf("null: %q", got)
	}
	if _, err := w.call(t.Context(), tools["mcp.answers-in-another-shape.echo"], `{}`); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("another shape: %v", err)
	}
	if _, err := w.call(t.Context(), tools["mcp.sends-too-much.echo"], `{}`); err == nil || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("100 MB: %v", err)
	}
	s := w.state("lists-badly")
	var names []string
	for _, tool := range s.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"good", "elsewhere", "read_file", "__proto__", strings.Repeat("x", 200)}; !slices.Equal(names, want) || len(s.Left) != 4 {
		t.Errorf("tools %q\nleft %q", names, s.Left)
	}
}

// TestSEC83AndSEC85AndSEC91ToolsInWords: names are the server's own and fit models,
// descriptions are cut, and a server's hints count for nothing.
func TestSEC83AndSEC85AndSEC91ToolsInWords(t *testing.T) {
	w := newWorld(t, nil, "lists badly")
	w.described[0].Name = "a_b"
	w.described = append(w.described, w.faulty("a", "works", ""))
	_, o := w.offer("*")
	seen := make(map[string]bool)
	for _, one := range o.Tools {
		s := one.Spec()
		if !strings.HasPrefix(s.Name, "mcp.") || !strings.HasPrefix(s.Model, "mcp_") || len(s.Model) > maxName || notInNames.MatchString(s.Model) || seen[s.Model] {
			t.Errorf("the name %s of %s", s.Model, s.Name)
		}
		if seen[s.Model] = true; len(s.Description) > maxDescription+200 || s.Risk != tool.Medium {
			t.Errorf("%s: %d bytes of description, %v", s.Name, len(s.Description), s.Risk)
		}
		if !json.Valid(s.Parameters) || strings.Contains(string(s.Parameters), "$ref") {
			t.Errorf("%s: %s", s.Name, s.Parameters)
		}
	}
	x, y := &serverTool{server: Server{Name: "a_b"}, name: "c"}, &serverTool{server: Server{Name: "a"}, name: "b_c"}
	if setNames([]*serverTool{x, y}); x.spec.Model == y.spec.Model || !strings.HasPrefix(x.spec.Model, "mcp_a_b_c_") {
		t.Errorf("two tools are %s and %s", x.spec.Model, y.spec.Model)
	}
}

// TestSEC84Changes: a tool that changed is not called and not offered until the
// person approves it, is asked about once, and is offered in the next daemon only as
// it was approved.
func TestSEC84Changes(t *testing.T) {
	w := newWorld(t, nil, "changes")
	tools, _ := w.offer("changes")
	if _, err := w.call(t.Context(), tools["mcp.changes.echo"], `{}`); err != nil {
		t.Fatal(err)
	}
	until(t, "the change is seen", func() bool { return len(w.state("changes").Pending) == 1 })
	if _, err := w.call(t.Context(), tools["mcp.changes.echo"], `{}`); err == nil || !strings.Contains(err.Error(), "has not approved") {
		t.Errorf("a changed tool: %v", err)
	}
	tools, o := w.offer("changes")
	if tools["mcp.changes.echo"] != nil || len(tools) != 2 || len(o.Problems) != 1 || len(o.Changes) != 1 {
		t.Fatalf("offered %v, problems %q, changes %v", tools, o.Problems, o.Changes)
	}
	if _, again := w.offer("changes"); len(again.Changes) != 0 {
		t.Error("the person is asked twice")
	}
	w.Close()
	w.open(nil)
	if known := w.LastTools(w.folder, []string{"changes"}); len(known) != 2 {
		t.Errorf("the next daemon knows %d tools", len(known))
	}
	w.Close()
	if err := o.Changes[0].Approve(); err != nil {
		t.Fatal(err)
	}
	w.open(nil)
	known := w.LastTools(w.folder, []string{"changes"})
	if len(known) != 3 || !strings.Contains(known[0].Spec().Description, "Sends your files") {
		t.Errorf("after the approval: %d tools", len(known))
	}
}

// TestSEC84ChangesAfterARestart: a list settles once, and what the person approves
// with a restart is what was listed before it.
func TestSEC84ChangesAfterARestart(t *testing.T) {
	w := newWorld(t, func(t *times) { t.settle = time.Hour }, "changes")
	change := func() {
		t.Helper()
		tools, _ := w.offer("changes")
		if _, err := w.call(t.Context(), tools["mcp.changes.echo"], `{}`); err != nil {
			t.Fatal(err)
		}
	}
	changed := func() bool { return strings.Contains(w.list("changes")[0].Description, "Sends your files") }
	change()
	until(t, "the list has settled", changed)
	if s := w.state("changes"); len(s.Pending) != 0 {
		t.Fatalf("while it settles: %+v", s.Pending)
	}
	if s, err := w.Restart(t.Context(), w.folder, "changes", true); err != nil || len(s.Pending) != 1 {
		t.Errorf("what was never shown is approved: %+v, %v", s, err)
	}
	if s, err := w.Restart(t.Context(), w.folder, "changes", true); err != nil || len(s.Pending) != 0 {
		t.Errorf("what was shown is not approved: %+v, %v", s, err)
	}
	change()
	until(t, "the change is seen", changed)
	if s := w.state("changes"); len(s.Pending) != 1 {
		t.Errorf("a change of the second connection was accepted")
	}
	_, o := w.offer("changes")
	if _, again := w.offer("changes"); len(o.Changes) != 1 || len(again.Changes) != 0 {
		t.Fatalf("changes: %d, %d", len(o.Changes), len(again.Changes))
	}
	o.Changes[0].Again()
	if _, again := w.offer("changes"); len(again.Changes) != 1 {
		t.Error("a question that vanished is not asked again")
	}
}

// TestREL92ClosesWhileItStarts: closing waits for no server that is being started.
func TestREL92ClosesWhileItStarts(t *testing.T) {
	w := newWorld(t, func(t *times) { t.connect, t.closing = time.Hour, time.Hour }, "never answers")
	w.offer("*")
	w.Close() // returns
	if w.try(func() {}) {
		t.Error("something is started after the end")
	}
}

// TestREL86Requests: a server that asks and does not read the answers is ended.
func TestREL86Requests(t *testing.T) {
	ask := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` + "\n" }
	for in, want := range map[string]string{
		strings.Repeat(ask("1"), maxOpen):             errEnded.Error(),
		strings.Repeat(ask("1"), maxOpen+1):           "read no answer",
		ask(`"` + strings.Repeat("x", maxID+1) + `"`): "an id of more than",
	} {
		l := newLines(strings.NewReader(in), time.Now, nil)
		if _, err := io.ReadAll(l); err != nil || !strings.Contains(l.why.Error(), want) {
			t.Errorf("%.60s: %v, %v, want %s", in, l.why, err, want)
		}
	}
	read, file, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer file.Close()
	end := pipeEnd{file, time.Minute, func(error) {}, new(atomic.Int64)}
	for _, message := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{"method":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
		if _, err := end.Write([]byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	if open := end.open.Load(); open != -2 {
		t.Errorf("two answers were counted as %d", open)
	}
}

// TestREL90ManyServers: servers that were approved before are offered at once, the
// dead among them too, and all are started.
func TestREL90ManyServers(t *testing.T) {
	w := newWorld(t, nil, "works", "never answers")
	w.offer("works")
	w.approve("never-answers")
	w.Close()
	w.open(nil)
	tools, o := w.offer("*") // the dead one has 20 seconds to answer
	if len(tools) != 6 || len(o.Problems) != 0 {
		t.Errorf("offered: %d, %q", len(tools), o.Problems)
	}
	if got, err := w.call(t.Context(), tools["mcp.works.echo"], `{"text": "waited"}`); err != nil || got != "waited" {
		t.Errorf("a call waits for its server: %q, %v", got, err)
	}
}

// TestREL92ClosesLate: a server that does not end by itself is killed.
func TestREL92ClosesLate(t *testing.T) {
	w := newWorld(t, nil, "closes late")
	tools, _ := w.offer("*")
	if len(tools) != 3 {
		t.Fatal("it did not start")
	}
	if s, err := w.Stop(w.folder, "closes-late"); err != nil || s.State != Stopped {
		t.Errorf("stop: %+v, %v", s, err)
	}
	if _, o := w.offer("*"); len(o.Tools) != 0 || len(o.Problems) != 1 {
		t.Errorf("a stopped one offers %v, %q", o.Tools, o.Problems)
	}
	w.Close() // returns: nothing of it is left
}

// TestSEC11DescribedAnew: a server that is described anew is ended, and a call of
// the run that had the old one does not reach the new one.
func TestSEC11DescribedAnew(t *testing.T) {
	w := newWorld(t, nil, "works")
	tools, _ := w.offer("*")
	w.mu.Lock()
	w.described[0] = w.faulty("works", "works", `"args": ["other"]`)
	w.mu.Unlock()
	if _, err := w.call(t.Context(), tools["mcp.works.echo"], `{}`); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a call of the old one: %v", err)
	}
	w.mu.Lock()
	w.described[0].Problem = "waits for your approval"
	w.mu.Unlock()
	if _, o := w.offer("*"); len(o.Tools) != 0 || !strings.Contains(o.Problems[0], "waits for your approval") {
		t.Errorf("offered: %v, %q", o.Tools, o.Problems)
	}
	if s := w.state("works"); s.State != Unusable {
		t.Errorf("state: %s", s.State)
	}
}

// TestDescribedAnewWhileItWaits: a server of the old description is not "starting" for ever.
func TestDescribedAnewWhileItWaits(t *testing.T) {
	w := newWorld(t, nil, "works")
	for range maxStarting {
		w.slots <- struct{}{}
	}
	e, err := w.find(w.folder, "works")
	if err != nil {
		t.Fatal(err)
	}
	over := e.begin()
	w.mu.Lock()
	w.described[0] = w.faulty("works", "works", `"description": "another"`)
	w.mu.Unlock()
	w.Refresh()
	for range maxStarting {
		<-w.slots
	}
	<-over
	if s := w.state("works"); s.State != Idle {
		t.Errorf("%s (%s)", s.State, s.Why)
	}
}
