package agents

import (
	"context"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
)

// leftBehind leaves a run that a daemon was asking a model for, and returns what
// makes the next daemons.
func leftBehind(t *testing.T) (next func(m model.Model, slow func()) *Service) {
	t.Helper()
	dir := t.TempDir()
	next = func(m model.Model, slow func()) *Service {
		s := NewService(t.Context(), Config{
			Agents: registry.New(registry.Config{}).Snapshot, Sessions: session.New(session.Config{Dir: dir, Now: time.Now}),
			Table: model.NewTable(time.Now), Tools: builtin.Tools(), Folders: func() []string { return nil }, Trusted: func(string) bool { return true },
			Settings: func(string) *Settings {
				slow()
				return &Settings{Values: settings.Values{Model: settings.Model{DisableLoopDetection: true}}}
			},
			Provider: func(string) (model.Model, *model.Retries, error) { return m, nil, nil },
			Approval: "ask", Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	asked := make(stalls)
	s := next(asked, func() {})
	client, leave := context.WithCancel(t.Context())
	live, err := s.Start(t.Context(), Start{Run: "r", Input: []activity.ContentBlock{{Type: "text", Text: "go"}}, Frontend: away{}, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	leave()
	<-live.Done()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return next
}

// stalls is a model that says nothing; it is closed when it is asked.
type stalls chan struct{}

// Generate implements [model.Model].
func (s stalls) Generate(ctx context.Context, _ *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		close(s)
		<-ctx.Done()
		yield(model.Chunk{}, ctx.Err())
	}
}

// done is a model that has come to its end.
func done() *counted {
	return &counted{say: func(int64) (model.Answer, error) {
		return model.Answer{Message: model.Message{Role: model.Reply, Parts: []model.Part{{Text: "done"}}}, Finish: model.Stop, Counted: true}, nil
	}}
}

// TestUnknownRunsOpenNoSession: who stops or resumes a run that is none waits for
// no session to be opened, which may take as long as the disk; one that was left
// is found all the same.
func TestUnknownRunsOpenNoSession(t *testing.T) {
	s := leftBehind(t)(done(), func() {})
	if s.Cancel("nobody", "") {
		t.Error("a run that is none was cancelled")
	}
	if _, err := s.Resume(t.Context(), Resume{Run: "nobody", Frontend: away{}, Client: t.Context()}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a run that is none: %v", err)
	}
	if open := s.Sessions.Live(); len(open) != 0 {
		t.Errorf("opened: %d sessions", len(open))
	}
	if !s.Cancel("r", "") {
		t.Error("the run that was left is not found")
	}
}

// TestREL104ResumedTwiceAtOnce: of two requests to take a run up again one does,
// also where the other looked at the run before; and so it is with one to end it.
func TestREL104ResumedTwiceAtOnce(t *testing.T) {
	for _, what := range []string{"resumed", "cancelled"} {
		t.Run(what, func(t *testing.T) {
			next := leftBehind(t)
			m, first := done(), true
			var s *Service
			var other error
			s = next(m, func() {
				if !first {
					return
				}
				first = false // what follows happens between a look at the run and its taking up
				if what == "cancelled" {
					if !s.Cancel("r", "") {
						t.Error("nothing was cancelled")
					}
					return
				}
				live, err := s.Resume(t.Context(), Resume{Run: "r", Frontend: away{}, Client: t.Context()})
				if err != nil {
					t.Errorf("the other: %v", err)
					return
				}
				<-live.Done()
			})
			_, other = s.Resume(t.Context(), Resume{Run: "r", Frontend: away{}, Client: t.Context()})
			if first {
				t.Fatalf("nothing happened in between (%v): this shows nothing", other)
			}
			if fault.KindOf(other) != fault.Invalid {
				t.Errorf("the run is taken up once more: %v", other)
			}
			conv, err := s.openKept(session.Default)
			if err != nil {
				t.Fatal(err)
			}
			if err := conv.Commit(t.Context(), conv.Log.Last()); err != nil {
				t.Fatal(err)
			}
			entries, err := conv.Log.Read(0, 100_000)
			if err != nil {
				t.Fatal(err)
			}
			ends := 0
			for _, entry := range entries {
				if entry.Type == (activity.RunFinished{}).Type() {
					ends++
				}
			}
			if ends != 1 {
				t.Errorf("the run ends %d times", ends)
			}
		})
	}
}

// TestResumeKeepsToTheStricterMode: what a session allows now holds for a run that
// began when it allowed more, and the other way round.
func TestResumeKeepsToTheStricterMode(t *testing.T) {
	for _, c := range []struct{ began, now, want guard.Approval }{
		{guard.Free, guard.Plan, guard.Plan}, {guard.Plan, guard.Free, guard.Plan}, {guard.Asks, guard.Asks, guard.Asks}, {guard.Edits, guard.Free, guard.Edits}, {"", guard.Free, guard.Free},
	} {
		if got := stricter(c.began, c.now); got != c.want {
			t.Errorf("began in %q, now %q: %q, want %q", c.began, c.now, got, c.want)
		}
	}
}
