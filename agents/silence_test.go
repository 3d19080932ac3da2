package agents

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/internal/settings"
)

// counted is a model that counts what it is asked, and says what say says.
type counted struct {
	asked atomic.Int64
	say   func(n int64) (model.Answer, error)
}

// Generate implements [model.Model].
func (c *counted) Generate(context.Context, *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		answer, err := c.say(c.asked.Add(1))
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		yield(model.Chunk{Answer: &answer}, nil)
	}
}

// away is a person who answers nothing, at an editor that has no files.
type away struct{ Frontend }

// CanConfirm implements [Frontend].
func (away) CanConfirm() bool { return true }

// Confirm implements [Frontend].
func (away) Confirm(ctx context.Context, q Question) Answer {
	q.Asked(time.Time{})
	<-ctx.Done()
	return Answer{Outcome: guard.Reject, By: "client"}
}

// Edits implements [Frontend].
func (away) Edits(string) tool.Edits { return nil }

// Languages implements [Frontend].
func (away) Languages() tool.Languages { return nil }

// Ask implements [Frontend].
func (away) Ask(string, string, string) tool.Ask {
	return func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
		<-ctx.Done()
		return tool.Answer{}, ctx.Err()
	}
}

// calls is an answer with a call, which the run's next request has the result of.
func calls(name, args string) model.Answer {
	call := &model.Call{Name: name, Args: json.RawMessage(args)}
	return model.Answer{Message: model.Message{Role: model.Reply, Parts: []model.Part{{Call: call}}}, Finish: model.Stop, Counted: true}
}

// TestREL124NobodyAsksTheModelInSecret: a run that stands still, since it is
// paused at a limit, or for its provider, since it waits for a person, or since
// its client has gone, makes no call of a model, however long; and neither does
// a daemon in which no run goes on.
func TestREL124NobodyAsksTheModelInSecret(t *testing.T) {
	for name, c := range map[string]struct {
		say    func(n int64) (model.Answer, error)
		limits settings.Limits
		state  activity.State // that the run comes to rest in
		leave  bool           // the client goes
	}{
		"at a limit": {
			say:    func(int64) (model.Answer, error) { return calls("write_todos", `{"todos": []}`), nil },
			limits: settings.Limits{ModelCalls: 2}, state: activity.Paused,
		},
		"without a provider": {
			say: func(int64) (model.Answer, error) {
				return model.Answer{}, &model.Error{Class: model.Busy, Status: 503, Message: "busy"}
			},
			state: activity.Paused,
		},
		"a question": {
			say:   func(int64) (model.Answer, error) { return calls("ask_user", `{"question": "Which?"}`), nil },
			state: activity.Waiting,
		},
		"a client that went": {
			say:   func(int64) (model.Answer, error) { return calls("ask_user", `{"question": "Which?"}`), nil },
			state: activity.Interrupted, leave: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &counted{say: c.say}
				retries := model.NewRetries(time.Now)
				s := NewService(t.Context(), Config{
					Agents: registry.New(registry.Config{}).Snapshot, Sessions: session.New(session.Config{Now: time.Now}),
					Table: model.NewTable(time.Now), Tools: builtin.Tools(), Folders: func() []string { return nil }, Trusted: func(string) bool { return true },
					Settings: func(string) *Settings {
						return &Settings{Values: settings.Values{Limits: c.limits, Model: settings.Model{DisableLoopDetection: true}}}
					},
					Provider: func(string) (model.Model, *model.Retries, error) { return m, retries, nil },
					Approval: "ask", Now: time.Now, Log: slog.New(slog.DiscardHandler),
				})
				client, leave := context.WithCancel(t.Context())
				live, err := s.Start(t.Context(), Start{Run: "r", Input: []activity.ContentBlock{{Type: "text", Text: "go"}}, Frontend: away{}, Client: client})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Minute) // it tries again, with breaks, and then stands still
				synctest.Wait()
				if c.leave {
					leave()
					<-live.Done()
				}
				conv, err := s.openKept(live.Session)
				if err != nil {
					t.Fatal(err)
				}
				if runs := conv.Runs(); len(runs) != 1 || runs[0].State != c.state {
					t.Fatalf("the run stands still as %+v, want %s", runs, c.state)
				}
				before := m.asked.Load()
				if before == 0 {
					t.Fatal("the model was never asked: this shows nothing")
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if now := m.asked.Load(); now != before {
					t.Errorf("in an hour in which nobody did anything the model was asked %d times", now-before)
				}
				s.Cancel("r", "")
				<-live.Done()
				before = m.asked.Load()
				time.Sleep(time.Hour)
				synctest.Wait()
				if now := m.asked.Load(); now != before {
					t.Errorf("without a run the model was asked %d times", now-before)
				}
				leave()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
