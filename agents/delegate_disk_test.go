package agents

import (
	"context"
	"io/fs"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// hung is a disk that syncs nothing from the call of hang to that of repair.
type hung struct {
	activity.Files
	mu   sync.Mutex
	till chan struct{} // nil = it works
}

func (h *hung) hang() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.till = make(chan struct{})
}

func (h *hung) repair() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.till)
	h.till = nil
}

// Open implements [activity.Files].
func (h *hung) Open(name string, flag int, perm fs.FileMode) (activity.File, error) {
	f, err := h.Files.Open(name, flag, perm)
	return &hungFile{f, h}, err
}

type hungFile struct {
	activity.File
	disk *hung
}

// Sync implements [activity.File].
func (f *hungFile) Sync() error {
	f.disk.mu.Lock()
	till := f.disk.till
	f.disk.mu.Unlock()
	if till != nil {
		<-till
	}
	return f.File.Sync()
}

// TestREL127CancelWhileTheDiskHangs: a run whose child begins while the disk hangs, so that
// the child's first event is not recorded, ends when it is cancelled.
func TestREL127CancelWhileTheDiskHangs(t *testing.T) {
	tm := newCrew(t, map[string]string{"lead": "subagents: [helper]", "helper": ""})
	disk := &hung{Files: activity.Disk()}
	tm.files = disk
	started, there := make(chan struct{}), make(chan struct{})
	tm.says = func(ctx context.Context, agent string, _ int, _ *model.Request) model.Answer {
		if agent == "lead" {
			<-started // the run's own first event is recorded
			disk.hang()
			return delegates("helper", "Look.")
		}
		close(there)
		<-ctx.Done()
		return model.Answer{}
	}
	s := tm.service()
	live := tm.start(s, "lead", "go")
	close(started)
	<-there
	s.Cancel("root", "")
	select {
	case <-live.Done():
		if got := live.Result().Reason; got != activity.Aborted || live.Written() {
			t.Errorf("it ended %s, written %t", got, live.Written())
		}
	case <-time.After(time.Minute):
		t.Error("who cancelled waits for the disk")
	}
	disk.repair()
	<-live.Done()
}
