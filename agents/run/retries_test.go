package run_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// provider is a model that many runs ask with one key.
type provider struct {
	refuse func(n int, since time.Duration) *model.Error // of the n-th request, from 0; nil = it answers
	takes  time.Duration                                 // until it says so

	mu    sync.Mutex
	began time.Time
	times []time.Duration // of the requests
}

func (p *provider) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		p.mu.Lock()
		since := time.Since(p.began)
		err := p.refuse(len(p.times), since)
		p.times = append(p.times, since)
		p.mu.Unlock()
		if sleep(ctx, p.takes) != nil {
			err = errCut // it is not heard
		}
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		says("hello")(ctx, yield)
	}
}

// asked returns how often it was.
func (p *provider) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.times)
}

// wait is what a provider says that wants to hear nobody for so long.
func wait(d time.Duration) *model.Error {
	return &model.Error{Class: model.Busy, Status: 429, Message: "slow down", RetryAfter: d}
}

// crowd are n runs that ask one provider with one key.
func crowd(t *testing.T, n int, p *provider) []*world {
	p.began = time.Now()
	key := model.NewRetries(time.Now)
	all := make([]*world, n)
	for i := range all {
		all[i] = newWorld(t)
		all[i].config.Models = []run.Choice{{ID: "m1", Model: p, Retries: key}}
	}
	return all
}

// TestREL54NoThunderingHerd: 20 runs that one answer of a provider concerns ask
// nothing before it wants them to, and not all at once then.
func TestREL54NoThunderingHerd(t *testing.T) {
	const runs, after = 20, 7 * time.Second
	for name, first := range map[string]int{"all are refused": runs, "one is, and the others begin": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{takes: 50 * time.Millisecond, refuse: func(_ int, since time.Duration) *model.Error {
					if since < after {
						return wait(after)
					}
					return nil
				}}
				var started []*handle
				for i, w := range crowd(t, runs, p) {
					if i == first {
						time.Sleep(100 * time.Millisecond)
					}
					started = append(started, w.start())
				}
				for _, h := range started {
					h.w.ended(h.wait(), activity.Goal)
					// The person is told of the wait, whoever was refused.
					if told := of[activity.Retry](h.w); len(told) != 1 || told[0].WaitMs < 6900 || told[0].WaitMs > 17_000 || told[0].Cause == "" {
						t.Errorf("told: %+v", told)
					}
				}
				slices.Sort(p.times)
				again := p.times[first:]
				if len(again) != runs || again[0] < after || again[runs-1] > after+10*time.Second {
					t.Fatalf("asked at %v", p.times)
				}
				for i := range again {
					if j := i + runs/2; j < runs && again[j]-again[i] < time.Second/2 {
						t.Errorf("%d ask within %s: %v", runs/2, again[j]-again[i], again)
					}
				}
			})
		})
	}
}

// TestREL54OneBudget: however many runs there are, a provider that is down is
// asked again so often and no more; each of them goes to its next model then, and
// is paused with the reason.
func TestREL54OneBudget(t *testing.T) {
	const runs = 20
	down := &model.Error{Class: model.Busy, Status: 503, Message: "overloaded"}
	for name, err := range map[string]*model.Error{"503": down, "429 with a hint": wait(7 * time.Second), "cut": errCut} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{refuse: func(int, time.Duration) *model.Error { return err }}
				other := &provider{refuse: p.refuse, began: time.Now()}
				var started []*handle
				paused, spent := 0, 0 // of the second, who say why it is not tried again
				for _, w := range crowd(t, runs, p) {
					w.config.Models = append(w.config.Models, run.Choice{ID: "m2", Model: other, Retries: w.config.Models[0].Retries})
					w.config.Env.Ask = func(_ context.Context, q tool.Question) (tool.Answer, error) {
						p.mu.Lock()
						defer p.mu.Unlock()
						if paused++; strings.Contains(q.Message, "all runs with this key together have tried too often") {
							spent++
						}
						return tool.Answer{Action: "decline"}, nil
					}
					started = append(started, w.start())
				}
				for _, h := range started {
					h.w.ended(h.wait(), activity.Errored)
				}
				took := time.Since(p.began)
				p.mu.Lock()
				defer p.mu.Unlock()
				most := 2*runs + 30 + int(took/(5*time.Second))
				if n := len(p.times) + len(other.times); n > most || len(other.times) < runs {
					t.Errorf("asked %d times and %d times in %s, at most %d", len(p.times), len(other.times), took, most)
				}
				if paused != runs || (spent == 0) != (err.RetryAfter > 0) { // who waits so long has no time for many
					t.Errorf("%d runs are paused, %d say why", paused, spent)
				}
			})
		})
	}
}

// TestREL54Answers: what a provider answers keeps further attempts possible.
func TestREL54Answers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{refuse: func(n int, _ time.Duration) *model.Error {
			if n%2 == 0 {
				return errCut // at once: no time passes
			}
			return nil
		}}
		for _, w := range crowd(t, 100, p) {
			w.ended(w.do(), activity.Goal)
		}
	})
}

// TestREL54Held: who is held ends at once when it is cancelled, and asks nobody
// longer than it tries itself.
func TestREL54Held(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{refuse: func(int, time.Duration) *model.Error { return wait(2 * time.Minute) }}
		all := crowd(t, 2, p)
		first := all[0].start()
		time.Sleep(time.Second)
		second := all[1].start()
		time.Sleep(time.Second)
		began := time.Now()
		second.end(run.ErrCancelled)
		second.w.ended(second.wait(), activity.Aborted)
		if took := time.Since(began); took != 0 || p.asked() != 1 {
			t.Errorf("it ended after %s; asked %d times", took, p.asked())
		}
		first.w.ended(first.wait(), activity.Errored) // the second wait would be too long
		if took := time.Since(p.began); took > 3*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// Another run is told to wait again and again.
		p := &provider{refuse: func(int, time.Duration) *model.Error { return nil }}
		w := crowd(t, 1, p)[0]
		key := w.config.Models[0].Retries
		began := time.Now()
		key.RecordRefusal("m1", wait(50*time.Second))
		h := w.start()
		stop := make(chan struct{})
		w.left.Go(func() {
			for {
				select {
				case <-time.After(40 * time.Second):
					key.RecordRefusal("m1", wait(50*time.Second))
				case <-stop:
					return
				}
			}
		})
		<-h.done
		close(stop)
		got := h.wait()
		took := time.Since(began)
		w.ended(got, activity.Errored)
		w.contains("the error", got.Error.Message, "asked everybody with this key to wait")
		if took > 3*time.Minute || p.asked() != 0 {
			t.Errorf("it took %s; asked %d times", took, p.asked())
		}
	})
}

// TestREL54PerModel: a limit of one model does not hold the fallback.
func TestREL54PerModel(t *testing.T) {
	for perModel, want := range map[bool]time.Duration{true: 100 * time.Second, false: 200 * time.Second} {
		t.Run(fmt.Sprint(perModel), func(t *testing.T) {
			in(t, func(w *world) {
				key := model.NewRetries(time.Now)
				busy := &model.Error{Class: model.Busy, Status: 429, Message: "slow down", RetryAfter: 100 * time.Second, PerModel: perModel}
				other := &script{t: w.t, steps: []step{says("hello")}}
				w.config.Models[0].Retries = key
				w.config.Models = append(w.config.Models, run.Choice{ID: "m2", Model: other, Retries: key})
				w.says(fails(busy), fails(busy))
				w.ended(w.do(), activity.Goal)
				if took := time.Since(of1(w)); took < want || took > want+10*time.Second {
					w.t.Errorf("it took %s, not %s", took, want)
				}
			})
		})
	}
}
