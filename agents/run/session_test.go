package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
)

// stored writes a run's events to a real session and to the journal. The model
// is sent what the session makes of them, and the journal's strict fold looks
// on.
type stored struct {
	*journal
	session *session.Session
	offset  uint64 // of the session's numbers
}

func (s stored) Append(o activity.Origin, b activity.Body, d time.Duration) uint64 {
	s.journal.both.Lock()
	defer s.journal.both.Unlock()
	seq := s.session.Log.Append(o, b, d)
	if own := s.journal.Append(o, b, d); seq != 0 && own+s.offset != seq {
		s.t.Errorf("event %d of the journal is event %d of the session", own, seq)
	}
	return seq
}

func (s stored) Commit(ctx context.Context, seq uint64) error {
	if err := s.session.Log.Commit(ctx, seq); err != nil {
		return err
	}
	return s.journal.Commit(ctx, seq-s.offset)
}

func (s stored) Context(agent string) []model.Message {
	s.journal.Context(agent)
	return s.session.Context(agent)
}

func (s stored) Tokens(agent string) (int, bool) { return s.session.Tokens(agent) }

func (s stored) Spill(r *activity.ToolResult) error { return s.session.Spill(r) }

func (s stored) CompressionFailed(agent string) bool { return s.session.CompressionFailed(agent) }

func (s stored) PutBlobFrom(r io.Reader) (string, int, error) { return s.session.PutBlobFrom(r) }

func (s stored) PutBlob(data []byte) (string, error) { return s.session.PutBlob(data) }

// kept has a session on disk across runs and daemons.
type kept struct {
	t       tb
	dir     string
	store   *session.Store
	session *session.Session
}

func keep(t tb, dir string) *kept {
	k := &kept{t: t, dir: dir}
	k.open()
	return k
}

func (k *kept) open() {
	k.store = session.New(session.Config{Dir: k.dir, Now: time.Now})
	s, err := k.store.Open(session.Default)
	if err != nil {
		k.t.Fatalf("the session cannot be opened: %v", err)
	}
	k.session = s
}

// reopen ends the daemon and begins another.
func (k *kept) reopen() {
	if err := k.store.Close(); err != nil {
		k.t.Fatalf("the store cannot be closed: %v", err)
	}
	k.open()
}

// run makes the world of another run in the session.
func (k *kept) run() *world {
	w := newWorld(k.t)
	w.log.offset = k.session.Log.Last()
	w.config.Session = stored{w.log, k.session, w.log.offset}
	return w
}

// same checks that the session that is loaded again is the one that was live,
// and that a provider takes its conversation once the next person speaks.
func (k *kept) same() {
	k.t.Helper()
	live := k.session.Context(agentName)
	k.reopen()
	again := k.session.Context(agentName)
	a, _ := json.Marshal(live)
	b, _ := json.Marshal(again)
	if string(a) != string(b) {
		k.t.Errorf("live, the conversation was\n%s\nand it is loaded as\n%s", a, b)
	}
}

// onDisk runs a test with a session in a folder of its own.
func onDisk(t *testing.T, test func(k *kept)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, dir)
		defer func() {
			if err := k.store.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(k)
	})
}

// TestSessionOnDisk: a run with tools and questions, its log loaded again, and
// another run that goes on from there.
func TestSessionOnDisk(t *testing.T) {
	onDisk(t, func(k *kept) {
		w := k.run()
		w.tool("look", tool.Safe, takes)
		w.tool("change", tool.Low, nil)
		w.tool("long", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
			return &tool.Result{Content: strings.Repeat("ä", tool.MaxResult+10)}, nil
		})
		w.says(
			asks(model.Part{Thought: "hm"}, text("I look."), calls("look", `{"ms":2000}`), calls("change", `{ "path" : "/a" }`), calls("none", `{}`)),
			fails(errCut, "par"), reply(model.Malformed, calls("x", `{}`)), asks(calls("long", `{}`)),
			reply(model.Length, text("Once ")), says("more."),
		)
		w.ended(w.do(), activity.Goal)
		k.same()
		if runs := k.session.Runs(); len(runs) != 1 || runs[0].State != activity.Finished {
			w.t.Errorf("the session has the runs %+v", runs)
		}
		var long *model.Result
		for _, m := range k.session.Context(agentName) {
			for _, p := range m.Parts {
				if p.Result != nil && p.Result.Name == "long" {
					long = p.Result
				}
			}
		}
		if whole, err := k.session.GetBlob(long.Blob); err != nil || string(whole) != strings.Repeat("ä", tool.MaxResult+10) {
			w.t.Errorf("the whole result has %d bytes: %v", len(whole), err)
		}

		before := w.model.requests[len(w.model.requests)-1].Messages
		w = k.run()
		w.config.ID = "run-2"
		w.says(says("again"))
		w.config.Tools = tool.NewSet(tool.SetConfig{})
		r := run.New(w.config)
		r.Begin([]activity.ContentBlock{{Type: "text", Text: "and now?"}})
		if got := r.Do(context.Background()); got.Text != "again" {
			w.t.Errorf("the second run: %+v", got)
		}
		// The provider's cache holds: what was sent is sent again as it was.
		after := w.model.requests[0].Messages
		a, _ := json.Marshal(before)
		b, _ := json.Marshal(after[:min(len(before), len(after))])
		if string(a) != string(b) {
			w.t.Errorf("the last request of the first run was\n%s\nand the second run begins\n%s", a, b)
		}
		if last := after[len(after)-1]; last.Parts[len(last.Parts)-1].Text != "and now?" {
			w.t.Errorf("the second request ends %+v", last)
		}
	})
}

// TestREL103SessionAfterACancellation: wherever a run ends, the session's next
// run is sent a whole conversation.
func TestREL103SessionAfterACancellation(t *testing.T) {
	for name, set := range moments {
		if name == "the disk" {
			continue // it is the journal's
		}
		for _, cause := range []error{run.ErrCancelled, run.ErrInterrupted} {
			t.Run(fmt.Sprintf("%s/%v", name, errors.Is(cause, run.ErrInterrupted)), func(t *testing.T) {
				onDisk(t, func(k *kept) {
					w := k.run()
					w.tool("look", tool.Safe, takes)
					w.tool("change", tool.Low, takes)
					w.tool("deaf", tool.Safe, func(context.Context, *tool.Env, map[string]any) (*tool.Result, error) {
						time.Sleep(10 * time.Second)
						return &tool.Result{}, nil
					})
					w.tool("inquire", tool.Safe, func(ctx context.Context, env *tool.Env, _ map[string]any) (*tool.Result, error) {
						_, err := env.Ask(ctx, tool.Question{})
						return &tool.Result{}, err
					})
					set(w)
					h := w.start()
					time.Sleep(1100 * time.Millisecond)
					h.end(cause)
					h.wait()
					want := activity.Finished
					if cause == run.ErrInterrupted {
						want = activity.Interrupted
					}
					k.same()
					if runs := k.session.Runs(); len(runs) != 1 || runs[0].State != want {
						w.t.Errorf("the session has the runs %+v", runs)
					}
					if n := k.session.CloseCalls(agentName); n != 0 && cause == run.ErrCancelled {
						w.t.Errorf("the run left calls open")
					}
					next := k.run()
					next.config.ID = "run-2"
					next.config.Tools = tool.NewSet(tool.SetConfig{})
					next.says(says("again")) // the fake checks the request
					r := run.New(next.config)
					r.Begin([]activity.ContentBlock{{Type: "text", Text: "and now?"}})
					if got := r.Do(context.Background()); got.Reason != activity.Goal {
						w.t.Errorf("the next run: %+v", got)
					}
				})
			})
		}
	}
}

// TestREL61AnyRunOnDisk is the property of any run, with a real session below.
func TestREL61AnyRunOnDisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "run")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		rapid.SyncTest(t, func(t *rapid.T) {
			k := keep(t, dir)
			anyRunIn(t, k.run())
			k.same()
			if err := k.store.Close(); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// TestREL96ClosedLog: with a log that takes nothing any more, nothing above
// safe executes.
func TestREL96ClosedLog(t *testing.T) {
	onDisk(t, func(k *kept) {
		w := k.run()
		w.approval = guard.Free
		w.tool("change", tool.Low, nil)
		w.tool("look", tool.Safe, nil)
		w.says(after(time.Second, asks(calls("change", `{}`), calls("look", `{}`))), says("done"))
		h := w.start()
		synctest.Wait()
		if err := k.session.Log.Close(); err != nil {
			w.t.Fatalf("the log cannot be closed: %v", err)
		}
		<-h.done
		if ran := w.executed(); len(ran) != 1 || ran[0] != id(1, 1) {
			w.t.Errorf("executed: %v", ran)
		}
		w.contains("the result", w.results(1)[0].Content, "nothing was done")
	})
}
