package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
)

// BenchmarkTurn is a turn with a batch of calls, in a session in memory: what
// the loop itself costs.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(n, " calls"), func(b *testing.B) {
			const turns = 10
			once := batches(b, turns, n)
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*turns), "µs/turn")
		})
	}
}

// batches returns a run, in a session in memory, of so many turns with so many calls each.
func batches(b testing.TB, turns, n int) func() {
	store := session.New(session.Config{Now: time.Now})
	b.Cleanup(func() { _ = store.Close() }) // it is in memory
	s, err := store.Open("bench")
	if err != nil {
		b.Fatal(err)
	}
	parts := make([]model.Part, n)
	for i := range parts {
		parts[i] = calls("look", fmt.Sprintf(`{"n":%d}`, i))
	}
	i := 0
	return func() {
		i++
		m := &script{t: b, rest: says("done")}
		for range turns {
			m.steps = append(m.steps, asks(parts...))
		}
		var left conc.WaitGroup
		r := run.New(run.Config{
			ID: fmt.Sprint("r", i), Chain: []string{agentName}, Definition: &definition.Definition{Name: fmt.Sprint("agent", i)},
			Models: []run.Choice{{ID: "m", Model: m}}, Approval: func() guard.Approval { return guard.Asks },
			Session: plain{s}, Tools: tool.NewSet(tool.SetConfig{Tools: []tool.Tool{idle{}}}), Gate: guard.New(), Person: &person{t: b},
			Env: tool.Env{Session: s.ID, Trusted: true}, MaxTurns: turns + 1, Leftovers: &left, Now: time.Now,
		})
		r.Begin([]activity.ContentBlock{{Type: "text", Text: "go"}})
		if got := r.Do(context.Background()); got.Reason != activity.Goal || got.ToolCalls != turns*n {
			b.Fatalf("%+v", got)
		}
		left.Wait()
	}
}

// BenchmarkParallelCalls prints with which exponent the time of a turn grows from 500 to
// 4,000 calls (spec 13: at most 1.1).
func BenchmarkParallelCalls(b *testing.B) {
	few, many := batches(b, 1, 500), batches(b, 1, 4_000)
	var took [2]time.Duration
	for b.Loop() {
		for i, once := range []func(){few, many} {
			began := time.Now()
			once()
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(took[1].Seconds()*1e3/float64(b.N), "ms/4000-calls")
	b.ReportMetric(math.Log2(took[1].Seconds()/took[0].Seconds())/3, "exponent")
}

// TestParallelCallsGrowLinearly: what a turn allocates grows with its calls and not faster,
// also from 500 to 4,000 (spec 13).
func TestParallelCallsGrowLinearly(t *testing.T) {
	allocated := func(n int) float64 {
		once := batches(t, 1, n)
		once() // what is made once is made
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		once()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	if exponent := math.Log2(allocated(4_000)/allocated(500)) / 3; exponent > 1.1 {
		t.Errorf("what 4,000 calls allocate grows with exponent %.2f", exponent)
	}
}

// plain is a session without the journal's checks.
type plain struct{ *session.Session }

func (plain) Err() error { return nil }

func (plain) WaitWritable(context.Context) error { return nil }

func (plain) GoUnsaved() {}

func (plain) Tokens(string) (int, bool) { return 0, false }

func (plain) Spill(*activity.ToolResult) error { return nil }

func (plain) CompressionFailed(string) bool { return false }

func (p plain) Append(o activity.Origin, b activity.Body, d time.Duration) uint64 {
	return p.Log.Append(o, b, d)
}

func (p plain) Commit(ctx context.Context, seq uint64) error { return p.Log.Commit(ctx, seq) }

// idle is a tool that does nothing.
type idle struct{}

func (idle) Spec() tool.Spec { return tool.Spec{Name: "look", Risk: tool.Safe} }

func (idle) Plan(_ context.Context, _ *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	return &tool.Plan{Tool: "look", Args: args, Risk: tool.Safe, Title: "look", Do: func(context.Context, *tool.Env) (*tool.Result, error) {
		return &tool.Result{Content: "seen"}, nil
	}}, nil
}
