package agents

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// TestCloseAndDeleteSession: what is used is not taken away; what is closed is
// opened again by the next request, and what is deleted is another session then.
func TestCloseAndDeleteSession(t *testing.T) {
	s := keeping(t, t.TempDir())
	conv, _, err := s.open("a")
	if err != nil {
		t.Fatal(err)
	}
	conv.Log.Append(activity.Origin{}, activity.Note{Message: "kept"}, 0)
	refused := func(what string, want fault.Reason) {
		t.Helper()
		for name, do := range map[string]func(string, func()) error{"close": s.CloseSession, "delete": s.DeleteSession} {
			err := do("a", func() { t.Errorf("%s while %s: it was closed", name, what) })
			if reason, _ := fault.ReasonOf(err); reason != want {
				t.Errorf("%s while %s: %v", name, what, err)
			}
		}
	}
	live := &Live{ID: "r", Session: "a", Agent: "main", cancel: func(error) {}}
	s.mu.Lock()
	s.runs["r"] = live
	s.mu.Unlock()
	refused("a run goes on", fault.Busy)
	s.mu.Lock()
	delete(s.runs, "r")
	s.mu.Unlock()
	release, err := s.exclude("a", "main")
	if err != nil {
		t.Fatal(err)
	}
	refused("a context is changed", fault.Busy)
	release()

	closed := false
	if err := s.CloseSession("a", func() {
		closed = true
		refused("it is closed", fault.Busy)
		if _, err := s.exclude("a", "main"); err == nil {
			t.Error("a context can be changed of what is being closed")
		}
	}); err != nil || !closed {
		t.Fatalf("closed %v, %v", closed, err)
	}
	if err := s.CloseSession("a", func() { t.Error("closed twice") }); err != nil {
		t.Errorf("again: %v", err)
	}
	if reason, _ := fault.ReasonOf(s.CloseSession("nobody", nil)); reason != fault.UnknownSession {
		t.Errorf("one that there is not: %s", reason)
	}
	// Who has it from before does not begin a run in it any more.
	if _, err := s.enlist(&Live{ID: "late", Session: "a", Agent: "main", log: conv.Log}, false); err == nil {
		t.Error("a run begins in a session that is closed")
	}
	again, err := s.openKept("a")
	if err != nil || again.Log.Last() != 1 || again.Session == conv.Session {
		t.Fatalf("opened again: %v, %v", again, err)
	}
	if err := s.DeleteSession("a", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.openKept("a"); err == nil {
		t.Error("what was deleted is there")
	}
	if reason, _ := fault.ReasonOf(s.DeleteSession("a", nil)); reason != fault.UnknownSession {
		t.Errorf("deleted twice: %s", reason)
	}
	next, _, err := s.open("a")
	if err != nil || next.Log.Last() != 0 {
		t.Errorf("begun anew: %v, %v", next, err)
	}
}

// TestCloseWhileOthersOpen: whoever opens a session while it is closed again and
// again gets one that can be written.
func TestCloseWhileOthersOpen(t *testing.T) {
	s := keeping(t, t.TempDir())
	if _, _, err := s.open("a"); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	over := make(chan struct{})
	for range 4 {
		work.Go(func() {
			for range 50 {
				conv, _, err := s.open("a")
				if err != nil {
					t.Error(err)
					return
				}
				s.mu.Lock()
				usable := s.present("a", conv.Log) != nil || conv.Log.Append(activity.Origin{}, activity.Note{Message: "x"}, 0) > 0
				s.mu.Unlock()
				if !usable {
					t.Error("a session that is in use is closed")
				}
			}
		})
	}
	var closer sync.WaitGroup
	closer.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				_ = s.CloseSession("a", nil) // busy is fine
			}
		}
	})
	work.Wait()
	close(over)
	closer.Wait()
}

// TestDeleteInMemory: a session that is not kept goes when it is deleted.
func TestDeleteInMemory(t *testing.T) {
	s := keeping(t, "")
	if _, _, err := s.open("a"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSession("a", nil); err != nil {
		t.Error(err)
	}
	if reason, _ := fault.ReasonOf(s.DeleteSession("a", nil)); reason != fault.UnknownSession {
		t.Errorf("again: %s", reason)
	}
}

// TestSetApproval: a mode is recorded once, counts for the session alone, and is
// there for the next daemon.
func TestSetApproval(t *testing.T) {
	dir := t.TempDir()
	s := keeping(t, dir)
	s.Config.Approval = "ask"
	conv, _, err := s.open("a")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if now, err := s.SetApproval(t.Context(), "a", "edits"); err != nil || now != "edits" {
			t.Fatalf("%s, %v", now, err)
		}
	}
	if n := conv.Log.Last(); n != 1 {
		t.Errorf("%d events say so", n)
	}
	other, _, err := s.open("b")
	if err != nil || s.approval(other, "") != "ask" || s.approval(conv, "") != "edits" || s.approval(conv, "plan") != "plan" {
		t.Errorf("%s, %s, %v", s.approval(other, ""), s.approval(conv, ""), err)
	}
	if _, err := s.SetApproval(t.Context(), "a", "yolo"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("no mode: %v", err)
	}
	if _, err := s.SetApproval(t.Context(), "nobody", "ask"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no session: %v", err)
	}
	if err := s.CloseSession("a", nil); err != nil {
		t.Fatal(err)
	}
	later := keeping(t, dir)
	later.Config.Approval = "ask"
	conv, err = later.openKept("a")
	if err != nil || later.approval(conv, "") != "edits" {
		t.Errorf("later: %v", err)
	}
}

// TestFork: a fork is open for use, and is another session.
func TestFork(t *testing.T) {
	dir := t.TempDir()
	s := keeping(t, dir)
	conv, _, err := s.open("a")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		conv.Log.Append(activity.Origin{}, activity.Note{Message: "x"}, 0)
	}
	id, err := s.Fork(t.Context(), "a", 2)
	if err != nil || id == "a" {
		t.Fatalf("%q, %v", id, err)
	}
	if _, err := os.Stat(filepath.Join(dir, id+".jsonl")); err != nil {
		t.Error(err)
	}
	forked, err := s.openKept(id)
	if err != nil || forked.Log == conv.Log || s.inUse(id) != nil {
		t.Errorf("%v, %v", forked, err)
	}
	for _, at := range []uint64{0, 1000} {
		if _, err := s.Fork(t.Context(), "a", at); fault.KindOf(err) != fault.Invalid {
			t.Errorf("at %d: %v", at, err)
		}
	}
	if reason, _ := fault.ReasonOf(second(s.Fork(t.Context(), "nobody", 1))); reason != fault.UnknownSession {
		t.Errorf("of none: %s", reason)
	}
}

func second(_ string, err error) error { return err }

// TestSetApprovalOfWhatIsClosedMeanwhile is no success: the mode is as it was.
func TestSetApprovalOfWhatIsClosedMeanwhile(t *testing.T) {
	s := keeping(t, t.TempDir())
	s.Config.Approval = "ask"
	conv, _, err := s.open("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := conv.Log.Close(); err != nil {
		t.Fatal(err)
	}
	if now, err := s.SetApproval(t.Context(), "a", "edits"); fault.KindOf(err) != fault.Unavailable || now != "" || s.approval(conv, "") != "ask" {
		t.Errorf("%q, %v", now, err)
	}
}
