package run_test

import (
	"context"
	"encoding/json"
	"fmt"
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
			store := session.New(session.Config{Now: time.Now})
			defer store.Close()
			s, err := store.Open("bench")
			if err != nil {
				b.Fatal(err)
			}
			var left conc.WaitGroup
			parts := make([]model.Part, n)
			for i := range parts {
				parts[i] = calls("look", `{}`)
			}
			const turns = 10
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m := &script{t: b, rest: says("done")}
				for range turns {
					m.steps = append(m.steps, asks(parts...))
				}
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
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*turns), "µs/turn")
		})
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
