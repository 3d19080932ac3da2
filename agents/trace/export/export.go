// Package export writes and sends traces of sessions (spec 7.2): into files, to standard
// error, to an OpenTelemetry collector, or to LangSmith.
//
// It reads the log, behind it: nothing here is waited for by a run. A collector that is
// slow makes the export late, and one that fails loses what was to be sent, which is
// told once; the log has it all, and agentls trace export sends it again.
//
// # Life cycle
//
// The daemon makes one [Tracer]; each run that begins is told to it by [Tracer.Begin]
// with the [Options] of its folder, its agent and its request. One goroutine for each
// log with traced runs follows it, and ends with the last of them. [Tracer.Close] comes
// after the logs are closed. TestCollectorFails and TestSlowCollector hold that the run
// knows of neither, TestProjectsOnlyLowerWhatIsSent that an agent of a project has
// nothing sent which the person did not ask for, and TestForget that what is deleted
// goes from the files too.
package export

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/trace"
	"github.com/agentls/agentls/internal/settings"
)

// Options say what is done with the trace of a run. The zero value traces nothing.
type Options settings.Tracing

// Over returns the options with what an agent says instead. t is that of the agent's
// file, nil for none. An agent that comes with a project may lower what is sent to
// another machine, and never raise it: it can switch it off, take events away and lower
// the share.
func (o Options) Over(t *definition.Tracing) Options {
	if t == nil {
		return o
	}
	if t.Backend != "" {
		o.Backend = t.Backend
	}
	// A project's backend is one of this machine (definition takes no other from it), so what is
	// sent away is sent because the person has chosen it.
	lowers := t.Project && (o.Backend == "otlp" || o.Backend == "langsmith")
	if t.Enabled != nil {
		o.Enabled = *t.Enabled && (o.Enabled || !lowers)
	}
	if t.Events != nil {
		if lowers && o.Events != nil {
			o.Events = slices.DeleteFunc(slices.Clone(o.Events),
				func(e string) bool { return !slices.Contains(t.Events, e) })
		} else {
			o.Events = t.Events
		}
	}
	if t.SampleRate != nil && (!lowers || *t.SampleRate < o.SampleRate) {
		o.SampleRate = *t.SampleRate
	}
	if t.CaptureContent != nil {
		o.CaptureContent = t.CaptureContent
	}
	return o
}

// For returns the options for a run that a person wants traced, or not; nil = they did not say.
// Asked for by name, a run is traced whatever its session's draw.
func (o Options) For(asked *bool) Options {
	if asked == nil {
		return o
	}
	o.Enabled, o.SampleRate = *asked, 1
	return o
}

// content reports whether traces have what was said.
func (o Options) content() bool {
	if o.CaptureContent != nil {
		return *o.CaptureContent
	}
	return o.Backend == "file" || o.Backend == "console"
}

// wants reports whether traces have a span of some kind. Runs and turns are always
// there, for the others hang below them.
func (o Options) wants(k trace.Kind) bool {
	group := k.Group()
	return group == "" || slices.Contains(o.Events, group)
}

// Config is what a [Tracer] needs. All of it is required but where it says so.
type Config struct {
	// The folder of the files; it is made with the first one.
	Dir     string
	Console io.Writer                // of the backend console
	Env     func(name string) string // variables of the person's environment; "" = not set
	// It is given an event's JSON and returns JSON.
	Mask      func([]byte) []byte                   // takes what looks like a credential out of an event's data; nil = nothing
	Transport http.RoundTripper                     // nil = the network
	Proxy     func(*http.Request) (*url.URL, error) // the person's; nil = none
	Version   string                                // of agentls
	// The clock: names of files and pauses; must not be nil.
	Now func() time.Time
	Log *slog.Logger // hears, once for each backend, that traces cannot be written or sent
}

// Times of sending.
const (
	sendEvery = time.Second      // how long a span waits for others at most, to be sent or written to a file
	sendMost  = 256              // spans in a request
	patience  = 5 * time.Second  // for a request
	rest      = 30 * time.Second // after a failure, before the next request
	lastWait  = time.Second      // for what is still to be sent when the daemon ends
)

// Tracer follows the logs of sessions and passes their spans on. It is safe for
// concurrent use. A nil Tracer traces nothing.
type Tracer struct {
	Config
	client *http.Client
	ctx    context.Context // ends what waits for a collector
	end    context.CancelFunc
	work   conc.WaitGroup

	mu sync.Mutex
	// By log and not by id: sessions of two folders may have one name.
	sessions map[*activity.Log]*session
	failed   map[string]time.Time // by backend: when it failed last
	closed   bool
}

// New returns a tracer. Close it after the logs: it goes on when ctx has ended, since
// runs say then how they ended. It starts nothing and touches nothing.
func New(ctx context.Context, c Config) *Tracer {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	t := &Tracer{Config: c, ctx: ctx, end: end, sessions: make(map[*activity.Log]*session),
		failed: make(map[string]time.Time)}
	t.client = &http.Client{
		Transport: c.Transport, Timeout: patience,
		CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		}, // keys go to no other host
	}
	if c.Transport == nil {
		t.client.Transport = &http.Transport{Proxy: c.Proxy, IdleConnTimeout: rest}
	}
	return t
}

// Close passes on what the logs still have, for a moment, and lets go of the rest. The
// moment is lastWait. Begin does nothing afterwards. It returns when all goroutines
// have ended.
func (t *Tracer) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	patience := time.AfterFunc(lastWait, t.end)
	t.work.Wait()
	patience.Stop()
	t.end()
	t.client.CloseIdleConnections()
}

// session is one log that is followed while runs of it go on. Its fields belong to the
// goroutine that follows, but those that say otherwise.
type session struct {
	id      string
	log     *activity.Log
	builder trace.Builder
	after   uint64             // the last event that was read
	runs    map[string]Options // that are traced and go on; guarded by the tracer's mu
	follows bool               // a goroutine reads; guarded by the tracer's mu
	erased  map[string]uint64  // what is not to be passed on any more: of an agent, or of all with "", what began before an event; guarded by the tracer's mu
}

// Begin traces a run of a session, whose events follow from now on, as far as the
// session was drawn. The run's end in the log ends it, or the function that is returned,
// for a run that did not begin.
//
// It never blocks for a backend. It must be called before the run's first event is
// appended, so that the follower sees it. The function that is returned may be called in
// any case, and more than once.
func (t *Tracer) Begin(log *activity.Log, id, run string, o Options) (forget func()) {
	if t == nil || !o.Enabled || !drawn(log, id, o.SampleRate) {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return func() {}
	}
	s := t.sessions[log]
	if s == nil {
		s = &session{id: id, log: log, runs: make(map[string]Options)}
		t.sessions[log] = s
	}
	s.runs[run] = o
	if !s.follows {
		s.follows = true
		if s.after == 0 {
			s.after = log.Last()
		}
		t.work.Go(func() { t.follow(s) })
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(s.runs, run)
	}
}

// drawn reports whether a session is among the share that is traced: the same for all
// runs of it. The draw is a digest of id and time of creation, so that it comes out the
// same after a restart and needs no place to be kept.
func drawn(log *activity.Log, id string, rate float64) bool {
	sum := sha256.Sum256([]byte(id + strconv.FormatInt(log.CreationTime().UnixMilli(), 10)))
	return float64(binary.BigEndian.Uint64(sum[:8]))/math.MaxUint64 < rate || rate >= 1
}

// follow reads a log until no traced run goes on. Spans wait up to sendEvery for
// others, so that a run with many steps makes few requests; those of the console wait
// for nothing.
func (t *Tracer) follow(s *session) {
	f := s.log.Follow(s.after)
	out := make(map[string]*batch) // by backend
	began := t.Now()
	for {
		ctx, cancel := t.ctx, func() {}
		if len(out) > 0 {
			ctx, cancel = context.WithTimeout(t.ctx, sendEvery)
		}
		entries, ok := f.Next(ctx)
		waited := ctx.Err() != nil && t.ctx.Err() == nil
		cancel()
		for _, entry := range entries {
			s.after = entry.Seq
			t.take(s, entry, out)
		}
		// The log has ended, or no traced run goes on: what was gathered is passed on now.
		over := (!ok && !waited) || t.idle(s)
		for name, b := range out {
			if over || waited || len(b.moments) >= sendMost || t.Now().Sub(began) >= sendEvery || name == "console" {
				t.pass(name, s, b)
				delete(out, name)
				began = t.Now()
			}
		}
		if over && t.leave(s, !ok && !waited) {
			return
		}
	}
}

// take adds what has begun or ended with an event to what is passed on. The options of
// a run are read as they are with each event: forget may take them away.
func (t *Tracer) take(s *session, entry activity.Entry, out map[string]*batch) {
	t.mu.Lock()
	_, traced := s.runs[entry.Run]
	t.mu.Unlock()
	if !traced {
		if entry.Type == (activity.RunStarted{}).Type() {
			// It may be the run that a handoff of a traced one leads to, which nobody has to wait for.
			s.builder.Skip(entry.Run)
		}
		return
	}
	e, ok := trace.Decode(entry, s.id, t.Mask)
	if !ok {
		return
	}
	moments := s.builder.Add(e)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range moments {
		o := s.runs[m.Run]
		if !o.wants(m.Kind) {
			continue
		}
		b := out[o.Backend]
		if b == nil {
			b = &batch{backend: o.Backend}
			out[o.Backend] = b
		}
		b.moments = append(b.moments, moment{m, o.content()})
	}
	if ends(e.Body) {
		delete(s.runs, entry.Run)
	}
}

// ends reports whether a run says no more. An interrupted run that is resumed begins
// anew for the tracer.
func ends(b activity.Body) bool {
	switch b := b.(type) {
	case activity.RunFinished:
		return true
	case activity.RunState:
		return b.To == activity.Interrupted
	}
	return false
}

// idle reports whether no traced run goes on, nor is about to by a handoff. Without the
// second, the first run of a handoff would end the reading before the next one has
// begun.
func (t *Tracer) idle(s *session) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(s.runs) == 0 && !s.builder.Awaits()
}

// leave ends the reading of a log, unless a run has begun meanwhile; closed is for good.
// It looks under the same lock as Begin, so that a run which begins is either seen here
// or starts another goroutine.
func (t *Tracer) leave(s *session, closed bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.follows = (len(s.runs) > 0 || s.builder.Awaits()) && !closed
	if !s.follows {
		delete(t.sessions, s.log)
	}
	return !s.follows
}
