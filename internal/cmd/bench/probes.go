package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/internal/wire"
)

// probe measures some rows of the table.
type probe struct {
	name          string // of -only
	rows          []row
	rounds, quick int // repetitions, in full and quick
	// round measures once. It returns samples for each row; none for a row that
	// the peer does not have.
	round func(ctx context.Context, b *bench, p peer) ([][]float64, error)
}

// row is one row of the table: what it is and what is wanted.
type row struct {
	what, unit string
	goal       float64 // 0 = none
	times      float64 // the goal in limits; 0 = none
	of         func([]float64) float64
}

// sessions is how many work at once, turns how many turns of each read a file.
const (
	sessions = 50
	turns    = 5
)

// probes are those of spec 13, first table, in its order.
func probes() []probe {
	return []probe{
		{"start", []row{
			{"start → initialize answered, 100 agents", "ms", 20, 6.5, median},
			{"memory after initialize, PSS", "MiB", 25, 4, median},
		}, 20, 3, starting((*bench).smallWorld)},
		{"start-10000", []row{
			{"start → initialize answered, 10,000 agents", "ms", 400, 0, median},
			{"memory with 10,000 agents, PSS", "MiB", 70, 0, median},
			{"start → agents/list answered, 10,000 agents", "ms", 0, 0, median},
		}, 5, 1, onlyAgentls(starting((*bench).largeWorld))},
		{"idle", []row{{"private memory after 10 s idle", "MiB", 8, 8, median}}, 2, 1, idle},
		{"once", []row{{"one-shot run, process start to end", "ms", 35, 9, median}}, 20, 3, once},
		{"running", []row{{"the same on a running server", "ms", 5, 2.3, median}}, 3, 1, running},
		{"session", []row{{"new session", "ms", 1, 0, median}}, 3, 1, newSession},
		{"turn", []row{{"own cost of a turn with one file read", "ms", 0.7, 3, median}}, 3, 1, turn},
		{"parallel", []row{{"10 parallel calls in one turn", "ms", 3, 3, median}}, 3, 1, parallel},
		{"stream", []row{{"20,000 chunks, first byte → done", "ms", 0, 1.3, median}}, 5, 2, stream},
		{"lag", []row{
			{"chunk from the model's socket to the client, p50", "ms", 0.15, 1.7, median},
			{"the same, p99", "ms", 1, 2.9, p99},
		}, 3, 1, lag},
		{"load", []row{
			{"50 sessions × 5 turns at once, wall", "ms", 250, 2.3, median},
			{"the same, processor", "s", 0.25, 3.6, median},
		}, 7, 2, load},
		{"load-memory", []row{
			{"the same, peak PSS", "MiB", 60, 3.5, median},
			{"memory for each further session (active)", "MiB", 0.4, 1.9, median},
		}, 5, 1, loadMemory},
		{"size", []row{{"installed size, one file", "MiB", 50, 5, median}}, 1, 1, size},
	}
}

func probeNames() []string {
	var names []string
	for _, p := range probes() {
		names = append(names, p.name)
	}
	return names
}

// measure does all rounds, the peers by turns. With an error there are rows all
// the same: what could be measured.
func (p probe) measure(ctx context.Context, b *bench) ([]result, error) {
	rounds := p.rounds
	if b.quick {
		rounds = p.quick
	}
	samples := make(map[string][][]float64)
	var failed error
	for range rounds {
		for _, who := range b.peers() {
			got, err := p.round(ctx, b, who)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s of %s: %w", p.name, who.name(), err))
				continue
			}
			if samples[who.name()] == nil {
				samples[who.name()] = make([][]float64, len(p.rows))
			}
			for i, s := range got {
				samples[who.name()][i] = append(samples[who.name()][i], s...)
			}
		}
		if failed != nil || ctx.Err() != nil {
			break // what fails once fails again
		}
	}
	results := make([]result, len(p.rows))
	for i, r := range p.rows {
		results[i] = result{Probe: p.name, What: r.what, Unit: r.unit, Goal: r.goal, Times: r.times}
		if s := samples["agentls"]; s != nil && len(s[i]) > 0 {
			results[i].Agentls, results[i].Samples = new(r.of(s[i])), len(s[i])
		}
		if s := samples["limit"]; s != nil && len(s[i]) > 0 {
			results[i].Limit = new(r.of(s[i]))
		}
		results[i].judge()
	}
	return results, failed
}

func (b *bench) smallWorld() (*world, error) { return b.work, nil }

// onlyAgentls is a round for what the limit does not have.
func onlyAgentls(round func(context.Context, *bench, peer) ([][]float64, error)) func(context.Context, *bench, peer) ([][]float64, error) {
	return func(ctx context.Context, b *bench, p peer) ([][]float64, error) {
		if p.name() != "agentls" {
			return nil, nil
		}
		return round(ctx, b, p)
	}
}

// starting takes the time from the process's start to the answer to initialize,
// and the memory when the agents have been read.
func starting(where func(*bench) (*world, error)) func(context.Context, *bench, peer) ([][]float64, error) {
	return func(ctx context.Context, b *bench, p peer) ([][]float64, error) {
		w, err := where(b)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		s, err := serve(ctx, p, w)
		if err != nil {
			return nil, err
		}
		defer s.end()
		if p.name() == "agentls" {
			// One agent is known when all have been read; the list of them all would
			// cost memory of its own.
			if err := s.Call(ctx, wire.MethodGet, &wire.GetParams{Name: agentName}, new(wire.GetResult)); err != nil {
				return nil, s.fault(err)
			}
		}
		pss, err := memory(s.pid(), "Pss")
		out := [][]float64{{ms(s.ready)}, {pss}}
		if err != nil || w == b.work {
			return out, err
		}
		var list wire.ListResult
		if err := s.Call(ctx, wire.MethodList, &wire.ListParams{}, &list); err != nil {
			return nil, s.fault(err)
		}
		if len(list.Agents) < w.agents {
			return nil, fmt.Errorf("agents/list has %d agents", len(list.Agents))
		}
		return append(out, []float64{ms(time.Since(began))}), nil
	}
}

// idle takes the private memory of a server that does nothing.
func idle(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	private, err := memory(s.pid(), "Pss_Anon")
	return [][]float64{{private}}, err
}

// once runs a process for one prompt.
func once(_ context.Context, b *bench, p peer) ([][]float64, error) {
	c := p.once(b.work, "scenario:hello")
	began := time.Now()
	out, err := c.CombinedOutput()
	took := time.Since(began)
	if err == nil && !bytes.Contains(out, []byte("Hello there")) {
		err = errors.New("it does not answer")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return [][]float64{{ms(took)}}, nil
}

// running asks for one answer, in a new session each time, of a server that has
// answered before.
func running(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	var samples []float64
	for i := range b.some(30) + 1 {
		session, err := s.session(ctx, s.Client, b.label(p, "hello"))
		if err != nil && !errors.Is(err, errUnknown) {
			return nil, s.fault(err)
		}
		began := time.Now()
		if err := s.prompt(ctx, s.Client, session, "scenario:hello"); err != nil {
			return nil, s.fault(err)
		}
		if i > 0 { // the first connects to the model
			samples = append(samples, ms(time.Since(began)))
		}
	}
	return [][]float64{samples}, nil
}

// some returns how often something is done within a round.
func (b *bench) some(n int) int {
	if b.quick {
		return max(n/5, 1)
	}
	return n
}

// newSession takes the time of the request for a session.
func newSession(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	var samples []float64
	for range b.some(50) {
		began := time.Now()
		_, err := s.session(ctx, s.Client, b.label(p, "new"))
		if errors.Is(err, errUnknown) {
			return nil, nil
		}
		if err != nil {
			return nil, s.fault(err)
		}
		samples = append(samples, ms(time.Since(began)))
	}
	return [][]float64{samples}, nil
}

// turn takes the time from an answer's end to the next request, in one session
// of 200 turns. They are of four runs, since a run may ask its model 200 times
// at most, the last answer included.
func turn(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	const runs, each = 4, 50
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	sid := b.label(p, "turn")
	session, err := s.session(ctx, s.Client, sid)
	if err != nil && !errors.Is(err, errUnknown) {
		return nil, s.fault(err)
	}
	for range runs {
		if err := s.prompt(ctx, s.Client, session, fmt.Sprintf("scenario:tools %d sid=%s", each, sid)); err != nil {
			return nil, s.fault(err)
		}
	}
	own, err := b.between(ctx, sid, runs*(each+1))
	if err == nil && len(own) != runs*each {
		err = fmt.Errorf("there were %d turns, not %d", len(own), runs*each)
	}
	return [][]float64{own}, err
}

// between returns the times between an answer with calls and the next of n
// requests.
func (b *bench) between(ctx context.Context, sid string, n int) ([]float64, error) {
	requests, err := b.model.requests(ctx, sid, n)
	if err != nil {
		return nil, err
	}
	var own []float64
	for i, r := range requests[1:] {
		if before := requests[i]; before.Kind == "call" {
			own = append(own, ms(time.Duration(r.Arrive-before.End)))
		}
	}
	return own, nil
}

// parallel is turn with an answer of ten calls.
func parallel(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	var samples []float64
	for i := range b.some(20) + 1 {
		sid := b.label(p, "parallel")
		if err := s.ask(ctx, sid, "scenario:parallel 10"); err != nil {
			return nil, err
		}
		own, err := b.between(ctx, sid, 2)
		if err == nil && len(own) != 1 {
			err = errors.New("the model made no calls")
		}
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first connects to the model
			samples = append(samples, own...)
		}
	}
	return [][]float64{samples}, nil
}

// stamp is what a chunk of the model's looks like: a word that ends in its
// number, and when it was sent.
var stamp = regexp.MustCompile(`w[0-9a-f]+[a-z](\d+) @(\d+) `)

// chunks reads the chunks of an answer as they come.
type chunks struct {
	text []byte // not yet a whole chunk
	n    int
	lag  []float64
	err  error
}

func (c *chunks) take(text string) {
	now := mono()
	c.text = append(c.text, text...)
	at := 0
	for _, m := range stamp.FindAllSubmatchIndex(c.text, -1) {
		n, _ := strconv.Atoi(string(c.text[m[2]:m[3]]))
		sent, _ := strconv.ParseInt(string(c.text[m[4]:m[5]]), 10, 64)
		if (n != c.n || m[0] != at) && c.err == nil {
			c.err = fmt.Errorf("chunk %d came after %d", n, c.n-1)
		}
		c.n, at = n+1, m[1]
		c.lag = append(c.lag, ms(time.Duration(now-sent)))
	}
	c.text = append(c.text[:0], c.text[at:]...)
}

// all checks that n chunks came, in order.
func (c *chunks) all(n int) error {
	if c.err == nil && (c.n != n || len(c.text) > 0) {
		c.err = fmt.Errorf("%d chunks came, not %d", c.n, n)
	}
	return c.err
}

// stream takes the time from the first byte of a long answer until it has come.
func stream(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	const n = 20_000
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	// What it says is looked at when the time was taken.
	var texts []string
	s.listen(func(text string) { texts = append(texts, text) })
	var samples []float64
	for range 2 {
		sid := b.label(p, "stream")
		texts = texts[:0]
		if err := s.ask(ctx, sid, fmt.Sprintf("scenario:stream %d", n)); err != nil {
			return nil, err
		}
		done := mono()
		s.listen(nil)
		var c chunks
		for _, text := range texts {
			c.take(text)
		}
		if err := c.all(n); err != nil {
			return nil, err
		}
		requests, err := b.model.requests(ctx, sid, 1)
		if err != nil {
			return nil, err
		}
		samples = append(samples, ms(time.Duration(done-requests[0].First)))
		s.listen(func(text string) { texts = append(texts, text) })
	}
	return [][]float64{samples}, nil
}

// lag takes the time from when a chunk was sent until it has come, at one each
// two milliseconds.
func lag(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	n := b.some(1000)
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	var c chunks
	s.listen(c.take)
	if err := s.ask(ctx, b.label(p, "lag"), fmt.Sprintf("scenario:paced %d", n)); err != nil {
		return nil, err
	}
	s.listen(nil)
	return [][]float64{c.lag, slices.Clone(c.lag)}, c.all(n)
}

// load has 50 sessions work at once.
func load(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	s, err := serve(ctx, p, b.work)
	if err != nil {
		return nil, err
	}
	defer s.end()
	all, err := s.sessions(ctx, sessions, b.label(p, "load"))
	if err != nil {
		return nil, err
	}
	before, err := cpu(s.pid())
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.askAll(ctx, all, b.label(p, "load"), fmt.Sprintf("scenario:tools %d", turns)); err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := cpu(s.pid())
	return [][]float64{{ms(took)}, {(after - before).Seconds()}}, err
}

// loadMemory takes the highest memory while sessions work: fifty at once, and
// one alone in a process of its own.
func loadMemory(ctx context.Context, b *bench, p peer) ([][]float64, error) {
	peak := func(n int) (float64, error) {
		s, err := serve(ctx, p, b.work)
		if err != nil {
			return 0, err
		}
		defer s.end()
		all, err := s.sessions(ctx, n, b.label(p, "memory"))
		if err != nil {
			return 0, err
		}
		highest := watch(s.pid())
		err = s.askAll(ctx, all, b.label(p, "memory"), fmt.Sprintf("scenario:tools %d", turns))
		pss, memErr := highest()
		return pss, errors.Join(err, memErr)
	}
	one, err := peak(1)
	if err != nil {
		return nil, err
	}
	all, err := peak(sessions)
	return [][]float64{{all}, {(all - one) / (sessions - 1)}}, err
}

// watch looks at a process's memory until the function that it returns is
// called, which returns the highest.
func watch(pid int) func() (float64, error) {
	var mu sync.Mutex
	var peak float64
	var failed error
	look := func() {
		pss, err := memory(pid, "Pss")
		mu.Lock()
		defer mu.Unlock()
		peak, failed = max(peak, pss), errors.Join(failed, err)
	}
	var work conc.WaitGroup
	stop := make(chan struct{})
	work.Go(func() {
		for {
			look()
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Millisecond):
			}
		}
	})
	return func() (float64, error) {
		close(stop)
		work.Wait()
		look()
		return peak, failed
	}
}

// size weighs the binary.
func size(_ context.Context, _ *bench, p peer) ([][]float64, error) {
	info, err := os.Stat(p.binary())
	if err != nil {
		return nil, err
	}
	return [][]float64{{float64(info.Size()) / (1 << 20)}}, nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// label returns a word that no other session has.
func (b *bench) label(p peer, what string) string {
	b.labels++
	return fmt.Sprintf("%s_%s_%d_", p.name(), what, b.labels)
}
