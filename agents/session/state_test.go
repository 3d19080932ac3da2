package session

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/filelock"
)

// set gives a key a value and fails the test if that is refused.
func set(t *testing.T, s *Session, run, key, value string) uint64 {
	t.Helper()
	seq, err := s.SetState(t.Context(), activity.Origin{Run: run, Agent: "a"}, run, key, Value{JSON: json.RawMessage(value)})
	if err != nil {
		t.Fatalf("%s = %s: %v", key, value, err)
	}
	return seq
}

// seen is the values that a run sees, as text.
func seen(t *testing.T, s *Session, run string) string {
	t.Helper()
	all, err := s.Values(run)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(texts(all))
}

func texts(all map[string]Value) map[string]string {
	out := make(map[string]string)
	for key, v := range all {
		out[key] = string(v.JSON) + v.Taint
	}
	return out
}

// Each scope ends where it should, and the state after any event is what it was then.
func TestStateScopes(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		cfg := Config{Now: clock, Mask: func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2", "[masked]")) }}
		if dir != "" {
			cfg.Dir, cfg.UserState, cfg.WorkspaceState = filepath.Join(dir, "s"), filepath.Join(dir, "state", "user.json"), filepath.Join(dir, "state", "w.json")
		}
		store := New(cfg)
		s := open(t, store, "x")
		start := func(run string) { s.Log.Append(activity.Origin{Run: run, Agent: "a"}, activity.RunStarted{}, 0) }
		start("1")
		set(t, s, "1", "x", `1`)
		set(t, s, "1", "temp:y", ` "hunter2" `)
		set(t, s, "graph", "temp:y", `2`)
		set(t, s, "1", "user:n", `{"b": 1}`)
		at := set(t, s, "1", "app:n", `[]`)
		if n := set(t, s, "1", "x", ` 1 `); n != 0 {
			t.Errorf("the same value is event %d", n)
		}
		if got := seen(t, s, "1"); got != `map[app:n:[] temp:y:"[masked]" user:n:{"b":1} x:1]` {
			t.Errorf("run 1 sees %s", got)
		}
		if got := seen(t, s, "graph"); !strings.Contains(got, "temp:y:2") {
			t.Errorf("another scope sees %s", got)
		}
		then, err := s.StateAt(at)
		if err != nil {
			t.Fatal(err)
		}
		s.Log.Append(activity.Origin{Run: "1", Agent: "a"}, activity.RunFinished{Reason: activity.Goal}, 0)
		set(t, s, "2", "x", `null`)
		set(t, s, "2", "app:n", `null`)
		if got := seen(t, s, "1"); got != `map[user:n:{"b":1}]` {
			t.Errorf("after the run there is %s", got)
		}
		if again, err := s.StateAt(at); err != nil || cmp.Diff(then, again) != "" || string(again.Variables["x"]) != "1" || again.TaskStatus != "in_progress" || string(again.Variables["app:n"]) != "[]" {
			t.Errorf("event %d: %+v, %v, was %+v", at, again, err, then)
		}
		other := open(t, store, "y")
		if got := seen(t, other, "3"); got != `map[user:n:{"b":1}]` {
			t.Errorf("another session sees %s", got)
		}
		if _, err := s.StateAt(s.Log.Last() + 1); fault.KindOf(err) != fault.Invalid {
			t.Errorf("an event that is not there: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if dir == "" {
			continue
		}
		for _, name := range []string{"s/x.jsonl", "state/user.json"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || strings.Contains(string(data), "hunter2") {
				t.Errorf("%s: %s, %v", name, data, err)
			}
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
	}
}

// What cannot be set is refused with the reason, and nothing has changed.
func TestStateRefuses(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, UserState: filepath.Join(dir, "user.json"), WorkspaceState: filepath.Join(dir, "app.json"), Now: clock})
	s := open(t, store, "x")
	for _, bad := range []struct{ run, key, value, want string }{
		{"1", "", "1", "cannot be a key"},
		{"1", "temp:", "1", "cannot be a key"},
		{"1", "a b", "1", "cannot be a key"},
		{"1", "a\n", "1", "cannot be a key"},
		{"1", strings.Repeat("k", maxStateKey+1), "1", "cannot be a key"},
		{"1", "task_status", `"completed"`, "cannot be set"},
		{"1", "last_action", "null", "cannot be set"},
		{"1", "current_task", "1", "must be a text"},
		{"1", "x", "{", "no JSON"},
		{"1", "x", `"` + strings.Repeat("x", maxStateValue) + `"`, "65536 are allowed"},
		{"", "temp:x", "1", "lives for a run"},
	} {
		_, err := s.SetState(t.Context(), activity.Origin{}, bad.run, bad.key, Value{JSON: json.RawMessage(bad.value)})
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%.40q = %.40s: %v, want %s", bad.key, bad.value, err, bad.want)
		}
	}
	if s.Log.Last() != 0 {
		t.Errorf("there are %d events", s.Log.Last())
	}
	big := `"` + strings.Repeat("x", maxStateValue-2) + `"`
	for _, prefix := range []string{"", "user:"} {
		var err error
		for i := 0; err == nil && i < 20; i++ {
			_, err = s.SetState(t.Context(), activity.Origin{}, "", fmt.Sprint(prefix, "k", i), Value{JSON: json.RawMessage(big)})
		}
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "remove some") {
			t.Errorf("%s: %v", prefix, err)
		}
		set(t, s, "", prefix+"k1", "null")
		set(t, s, "", prefix+"new", "1")
	}
	// A file that somebody broke is said, and kept as it is.
	if err := os.WriteFile(filepath.Join(dir, "app.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.SetState(t.Context(), activity.Origin{}, "", "app:x", Value{JSON: json.RawMessage("1")})
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "app.json") {
		t.Errorf("a broken file: %v", err)
	}
	if all, err := s.Values(""); err == nil || string(all["new"].JSON) != "1" {
		t.Errorf("a broken file: %d values, %v", len(all), err)
	}
	// Another daemon that has the file is waited for, until who asks gives up.
	lock := filelock.New(filepath.Join(dir, "user.json.lock"))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.SetState(ctx, activity.Origin{}, "", "user:z", Value{JSON: json.RawMessage("1")}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("while another has it: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
}

// Writers of one file do not lose each other's values.
func TestStateTogether(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{UserState: filepath.Join(dir, "user.json"), Now: time.Now}
	stores := []*Store{New(cfg), New(cfg)}
	var wg sync.WaitGroup
	for i, store := range stores {
		for j := range 4 {
			s := open(t, store, fmt.Sprint("s", j))
			wg.Go(func() {
				for k := range 5 {
					_, err := s.SetState(t.Context(), activity.Origin{}, "", fmt.Sprintf("user:k%d-%d-%d", i, j, k), Value{JSON: json.RawMessage("1")})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if all, err := stores[0].user.load(); len(all) != 40 || err != nil {
		t.Errorf("%d values, %v", len(all), err)
	}
}

// What an agent set is erased with what it said.
func TestStatePurged(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	s := open(t, store, "x")
	s.Log.Append(activity.Origin{Run: "1", Agent: "a"}, activity.RunStarted{}, 0)
	set(t, s, "1", "word", `"heliotrope"`)
	if _, err := s.SetState(t.Context(), activity.Origin{Agent: "b"}, "", "other", Value{JSON: json.RawMessage(`1`)}); err != nil {
		t.Fatal(err)
	}
	s.Log.Append(activity.Origin{Run: "1", Agent: "a"}, activity.RunFinished{Reason: activity.Goal}, 0)
	if _, err := s.Clear("a", true); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := seen(t, s, ""); got != "map[other:1]" {
			t.Errorf("there is %s", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "x.jsonl"))
		if err != nil || strings.Contains(string(data), "heliotrope") {
			t.Errorf("%s, %v", data, err)
		}
		s = open(t, store, "x")
	}
}
