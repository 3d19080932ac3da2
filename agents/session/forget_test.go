package session

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
)

// TestForget: what is kept of a session elsewhere goes with it, whether a person deletes it,
// the retention removes it or a context of it is purged; where that fails it is tried again.
func TestForget(t *testing.T) {
	day := time.Now()
	var told []string
	var fails error
	cfg := Config{Dir: t.TempDir(), Now: func() time.Time { return day }}
	cfg.Forget = func(session, agent string, before uint64, chains map[string]bool) error {
		all := "all"
		if before != math.MaxUint64 {
			all = fmt.Sprint("before ", before)
		}
		told = append(told, fmt.Sprintf("%s of %q: %s, %q", session, agent, all, slices.Sorted(maps.Keys(chains))))
		return fails
	}
	store := New(cfg)
	begin := func(id string) *Session {
		s := open(t, store, id)
		for _, run := range []string{"one", "two"} {
			speaker{s, activity.Origin{Run: id + "-" + run, Agent: "a", CorrelationID: id + "-" + run}}.say(
				activity.RunStarted{Input: text(`"correlationId":"none"`)}, activity.RunFinished{Reason: activity.Goal})
		}
		return s
	}
	expect := func(want ...string) {
		t.Helper()
		if !slices.Equal(told, want) {
			t.Errorf("%q, want %q", told, want)
		}
		told = nil
	}
	if err := begin("purged").Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, store, "purged")
	seq, err := s.Clear("a", true)
	if err != nil {
		t.Fatal(err)
	}
	expect(fmt.Sprintf(`purged of "a": before %d, ["purged-one" "purged-two"]`, seq))
	begin("open")
	if err := store.Delete("open"); err != nil {
		t.Fatal(err)
	}
	expect(`open of "": all, ["open-one" "open-two"]`)
	if err := begin("old").Close(); err != nil {
		t.Fatal(err)
	}
	fails = errors.New("the disk is full")
	if err := store.Delete("old"); !errors.Is(err, fails) {
		t.Errorf("deleted, but not everywhere: %v", err)
	}
	told, fails = nil, nil
	day = day.Add(48 * time.Hour)
	if _, err := store.Retain(Retention{}); err != nil { // goes on with what was left
		t.Fatal(err)
	}
	expect(`old of "": all, ["old-one" "old-two"]`)
	if err := begin("older").Close(); err != nil {
		t.Fatal(err)
	}
	day = day.Add(48 * time.Hour)
	if gone, err := store.Retain(Retention{Days: 1}); err != nil || !slices.Equal(gone, []string{"older"}) {
		t.Errorf("%q, %v", gone, err)
	}
	expect(`older of "": all, ["older-one" "older-two"]`)
	store.Close()
}
