package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/fault"
)

// keeping returns a service with sessions in a folder and no agents but main.
func keeping(t *testing.T, dir string) *Service {
	t.Helper()
	s := NewService(t.Context(), Config{
		Agents: registry.New(registry.Config{}).Snapshot, Sessions: session.New(session.Config{Dir: dir, Folder: "/w", Now: time.Now}),
		Table: model.NewTable(time.Now), Settings: func(string) *Settings { return &Settings{} }, Folders: func() []string { return nil },
		Trusted: func(string) bool { return true }, Now: time.Now,
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestListSessions: pages of any size have each session once, in the order of
// the list, also where many have one time, and open none.
func TestListSessions(t *testing.T) {
	dir := t.TempDir()
	at := time.Now().UTC().Truncate(time.Hour)
	header := `{"format":1,"session":"%s","workspace":"w","created":"%s","agentls":"test"}` + "\n"
	for i := range 25 {
		id := fmt.Sprintf("s%02d", i)
		created := at.Add(time.Duration(i/4) * time.Minute).Format(time.RFC3339)
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), fmt.Appendf(nil, header, id, created), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := keeping(t, dir)
	all, next, err := s.ListSessions("", 1000)
	if err != nil || next != "" || len(all) != 25 {
		t.Fatalf("%d sessions, %q, %v", len(all), next, err)
	}
	for limit := 1; limit <= 26; limit++ {
		var got []string
		for cursor, n := "", 0; ; n++ {
			page, next, err := s.ListSessions(cursor, limit)
			if err != nil || n > 25 || len(page) > limit || len(page) == 0 {
				t.Fatalf("limit %d, page %d: %d sessions, %v", limit, n, len(page), err)
			}
			for _, info := range page {
				got = append(got, info.Session)
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		if !slices.EqualFunc(got, all, func(id string, info session.Info) bool { return id == info.Session }) {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
	if live := s.Sessions.Live(); len(live) != 0 {
		t.Errorf("opened: %v", live)
	}
	for _, cursor := range []string{"x", "!", "MTI", "MSAuLi94", "IGE"} {
		if _, _, err := s.ListSessions(cursor, 1); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", cursor, err)
		}
	}
}

// TestClearContext: an agent's context is cleared while it has no run, and what
// it has read is forgotten with it.
func TestClearContext(t *testing.T) {
	s := keeping(t, t.TempDir())
	id, err := s.NewSession("A title", "")
	if err != nil {
		t.Fatal(err)
	}
	if info, runs, err := s.Session(id); err != nil || info.Title != "A title" || len(runs) != 0 {
		t.Errorf("a new one: %+v %v %v", info, runs, err)
	}
	conv, _, err := s.open(id)
	if err != nil {
		t.Fatal(err)
	}
	o := activity.Origin{Run: "r", Agent: "main"}
	conv.Log.Append(o, activity.RunStarted{Input: []activity.ContentBlock{{Type: "text", Text: "hello"}}}, 0)
	conv.Log.Append(o, activity.RunFinished{Reason: activity.Goal}, 0)
	seen := conv.lookupSeen("main")
	c, err := s.Context(id, "main")
	if err != nil || len(c.Messages) != 1 || c.Started.IsZero() || c.Window == 0 || !c.Estimated {
		t.Errorf("before: %+v, %v", c, err)
	}

	// While a run goes on, or another clears, it is not touched.
	live := &Live{ID: "r2", Session: conv.ID, Agent: "main", cancel: func(error) {}}
	s.mu.Lock()
	s.runs["r2"] = live
	s.mu.Unlock()
	if reason, data := fault.ReasonOf(s.ClearContext(t.Context(), id, "main", false)); reason != fault.Busy || data["run"] != "r2" {
		t.Errorf("during a run: %s %v", reason, data)
	}
	s.mu.Lock()
	delete(s.runs, "r2")
	s.mu.Unlock()
	release, err := s.exclude(conv.ID, "main")
	if err != nil {
		t.Fatal(err)
	}
	if reason, _ := fault.ReasonOf(s.ClearContext(t.Context(), id, "main", false)); reason != fault.Busy {
		t.Errorf("twice at once: %s", reason)
	}
	release()
	if conv.lookupSeen("main") != seen {
		t.Error("what was read is forgotten although nothing was cleared")
	}

	if err := s.ClearContext(t.Context(), id, "main", true); err != nil {
		t.Fatal(err)
	}
	if conv.lookupSeen("main") == seen {
		t.Error("what was read is not forgotten")
	}
	if c, err := s.Context(id, "main"); err != nil || len(c.Messages) != 0 {
		t.Errorf("after: %+v, %v", c, err)
	}
	if err := s.ClearContext(t.Context(), id, "main", true); err != nil {
		t.Errorf("nothing to clear: %v", err)
	}
	for _, c := range []struct {
		id, agent string
		want      fault.Reason
	}{{"nobody", "main", fault.UnknownSession}, {id, "nobody", fault.UnknownAgent}} {
		if reason, _ := fault.ReasonOf(s.ClearContext(t.Context(), c.id, c.agent, false)); reason != c.want {
			t.Errorf("%s in %s: %s", c.agent, c.id, reason)
		}
		if _, err := s.Context(c.id, c.agent); err == nil {
			t.Errorf("%s in %s has a context", c.agent, c.id)
		}
	}
}
