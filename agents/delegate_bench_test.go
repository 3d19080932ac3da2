package agents

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// crowd is a crew whose lead has as many others work side by side in each of some turns,
// each of which takes a while to answer, and then ends.
func crowd(t testing.TB, turns, children int, takes time.Duration) *crew {
	tm := newCrew(t, map[string]string{"lead": fmt.Sprintf("subagents: [helper]\nrun: {max_turns: %d}", turns+1), "helper": ""})
	tm.limits = settings.Limits{ModelCalls: 1 << 30, Depth: 1, Live: 50, Runs: 1 << 30, InputTokens: 1 << 40}
	tm.rules.Model.DisableLoopDetection = true
	tm.says = func(_ context.Context, agent string, n int, req *model.Request) model.Answer {
		tm.mu.Lock()
		tm.requests = map[string][]*model.Request{}
		tm.mu.Unlock()
		if agent == "helper" {
			time.Sleep(takes)
			return completes("done")
		}
		if (n-1)%(turns+1) == turns || children == 0 {
			return text("Done.")
		}
		var calls []string
		for i := range children {
			calls = append(calls, tool.Delegate, fmt.Sprintf(`{"agent_name":"helper","query":"part %d of turn %d"}`, i, n))
		}
		return several(calls...)
	}
	return tm
}

// whole runs the lead once, and forgets what it knows of it.
func (tm *crew) whole(s *Service) {
	live, err := s.Start(context.Background(), Start{
		Agent: "lead", Input: []activity.ContentBlock{{Type: "text", Text: "go"}}, Frontend: at{tm.site, tm}, Client: context.Background(),
	})
	if err != nil {
		tm.t.Fatal(err)
	}
	<-live.Done()
	if got := live.Result(); got.Reason != activity.Goal {
		tm.t.Fatalf("%+v", got)
	}
	if err := s.ClearContext(context.Background(), session.Default, "lead", false); err != nil {
		tm.t.Fatal(err)
	}
}

// BenchmarkDelegate is the daemon's own time for a run that delegates to as many others
// one after the other, with a model that answers at once.
func BenchmarkDelegate(b *testing.B) {
	for _, n := range []int{0, 1, 8} {
		b.Run(fmt.Sprintf("children=%d", n), func(b *testing.B) {
			tm := crowd(b, n, min(n, 1), 0)
			s := tm.service()
			for b.Loop() {
				tm.whole(s)
			}
		})
	}
}

// BenchmarkDelegateSideBySide has a model that takes 300 ms for each answer: ratio is how
// much longer eight children take than one.
func BenchmarkDelegateSideBySide(b *testing.B) {
	took := map[int]time.Duration{}
	for b.Loop() {
		for _, n := range []int{1, 8} {
			tm := crowd(b, 1, n, 300*time.Millisecond)
			s := tm.service()
			began := time.Now()
			tm.whole(s)
			took[n] += time.Since(began)
		}
	}
	b.ReportMetric(float64(took[8])/float64(took[1]), "ratio")
}

// TestChildrenLeaveNothingInMemory: what is kept of a delegated run that has ended is a
// line of the list of runs, and its result in its caller's context.
func TestChildrenLeaveNothingInMemory(t *testing.T) {
	tm := crowd(t, 20, 50, 0)
	s := tm.service()
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	tm.whole(s) // what is made once
	before := heap()
	tm.whole(s)
	after := heap()
	conv, err := s.openKept(session.Default)
	if err != nil {
		t.Fatal(err)
	}
	if runs := len(conv.Runs()); runs != 2002 {
		t.Fatalf("%d runs: this shows nothing", runs)
	}
	grown := (float64(after) - float64(before)) / 1000
	t.Logf("%.0f bytes for each child, %.1f MiB before", grown, float64(before)/(1<<20))
	if grown > 4096 {
		t.Errorf("the heap grew by %.0f bytes for each child", grown)
	}
}
