package agents

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// counting is a disk that counts its syncs.
type counting struct {
	activity.Files
	syncs atomic.Int64
}

// Open implements [activity.Files].
func (c *counting) Open(name string, flag int, perm fs.FileMode) (activity.File, error) {
	f, err := c.Files.Open(name, flag, perm)
	return &countedFile{f, c}, err
}

type countedFile struct {
	activity.File
	disk *counting
}

// Sync implements [activity.File].
func (f *countedFile) Sync() error {
	f.disk.syncs.Add(1)
	return f.File.Sync()
}

const graphLoop = "graph:\n  entry: a\n  max_steps: 41\n  nodes: [{name: a, NODE}]\n  state: {a: {reducer: append}}\n  edges: [{from: a, to: a, condition: len(a) < 40}, {from: a, to: END, else: true}]\ntools: {allow: ['*']}"

// steps runs a graph of forty steps and returns how many syncs these took.
func (tm *crew) steps(s *Service, disk *counting, frontend Frontend) int64 {
	tm.t.Helper()
	before := disk.syncs.Load()
	live, err := s.Start(context.Background(), Start{
		Agent: "flow", Input: []activity.ContentBlock{{Type: "text", Text: "go"}}, Frontend: frontend, Client: context.Background(),
	})
	if err != nil {
		tm.t.Fatal(err)
	}
	<-live.Done()
	if got := live.Result(); got.Reason != activity.Goal {
		tm.t.Fatalf("%+v %+v", got, got.Error)
	}
	after := disk.syncs.Load()
	if err := s.ClearContext(context.Background(), session.Default, "flow", false); err != nil {
		tm.t.Fatal(err)
	}
	return after - before
}

func loopOf(t testing.TB, node string) (*crew, *counting) {
	tm := newCrew(t, map[string]string{"flow": strings.Replace(graphLoop, "NODE", node, 1), "x": ""})
	tm.limits = settings.Limits{ModelCalls: 1 << 30, Depth: 2, Live: 8, Runs: 1 << 30, InputTokens: 1 << 40}
	tm.tools = append(tm.tools, &peek{})
	tm.says = func(context.Context, string, int, *model.Request) model.Answer { return completes("done") }
	disk := &counting{Files: activity.Disk()}
	tm.files = disk
	return tm, disk
}

// TestGraphCheckpointIsOneSync: a step puts one checkpoint on stable storage, with one
// sync at most.
func TestGraphCheckpointIsOneSync(t *testing.T) {
	tm, disk := loopOf(t, "tool: peek")
	if n := tm.steps(tm.service(), disk, at{tm.site, tm}); n < 2 || n > 40+8 { // the run begins, ends and moves between states, too
		t.Errorf("%d syncs for 40 steps", n)
	}
}

// synced is a disk that knows what of the log is on stable storage.
type synced struct {
	activity.Files
	mu            sync.Mutex
	written, kept []byte
}

// Open implements [activity.Files].
func (d *synced) Open(name string, flag int, perm fs.FileMode) (activity.File, error) {
	f, err := d.Files.Open(name, flag, perm)
	return &syncedFile{f, d}, err
}

type syncedFile struct {
	activity.File
	disk *synced
}

// Write implements [activity.File].
func (f *syncedFile) Write(data []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.written = append(f.disk.written, data...)
	return f.File.Write(data)
}

// Sync implements [activity.File].
func (f *syncedFile) Sync() error {
	err := f.File.Sync()
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.kept = slices.Clone(f.disk.written)
	return err
}

// TestGraphStepIsKeptBeforeTheNext: no step begins before what the one before it gave is on
// stable storage, so that one that a person has answered is not asked again.
func TestGraphStepIsKeptBeforeTheNext(t *testing.T) {
	tm, _ := loopOf(t, "tool: hangs")
	disk := &synced{Files: activity.Disk()}
	tm.files = disk
	h := &hangs{risk: tool.Safe}
	h.hang = func(context.Context) {
		disk.mu.Lock()
		defer disk.mu.Unlock()
		if kept := bytes.Count(disk.kept, []byte(`"state":"finished","step"`)); kept != h.calls-1 {
			t.Errorf("step %d begins, and %d are kept", h.calls, kept)
		}
	}
	tm.tools = append(tm.tools, h)
	s := tm.service()
	live := tm.startGraph(s, "flow", at{tm.site, tm})
	<-live.Done()
	if got := live.Result(); got.Reason != activity.Goal || h.calls != 40 {
		t.Errorf("%+v %+v", got, got.Error)
	}
}

// BenchmarkGraphStep is the daemon's own time for a step of a graph, with a model and a
// tool that answer at once.
func BenchmarkGraphStep(b *testing.B) {
	for name, node := range map[string]string{"tool": "tool: peek", "agent": "agent: x"} {
		b.Run(name, func(b *testing.B) {
			tm, disk := loopOf(b, node)
			s := tm.service()
			var syncs int64
			for b.Loop() {
				syncs += tm.steps(s, disk, at{tm.site, tm})
				tm.requests = map[string][]*model.Request{}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/40/float64(b.N), "ms/step")
			b.ReportMetric(float64(syncs)/40/float64(b.N), "syncs/step")
		})
	}
}
