package daemon

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/workspace"
)

// TestREL107RetentionByTheDaemon: sessions that the person does not want to be
// kept are removed a while after the start and then daily, by the settings that
// hold then; the log says what goes; without a rule, or with one that cannot be
// read, all are kept.
func TestREL107RetentionByTheDaemon(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		settings string
		left     []string // after a while
		later    []string // after ten more days
	}{
		"none":         {`{}`, []string{"new", "old", "pinned"}, []string{"new", "old", "pinned"}},
		"by days":      {`{"agents": {"retention": {"days": 30, "pinned": ["pinned"]}}}`, []string{"new", "pinned"}, []string{"new", "pinned"}},
		"days, later":  {`{"agents": {"retention": {"days": 5, "pinned": ["pinned"]}}}`, []string{"new", "pinned"}, []string{"pinned"}},
		"by number":    {`{"agents": {"retention": {"maxSessions": 1}}}`, []string{"new"}, []string{"new"}},
		"bad pins":     {`{"agents": {"retention": {"days": 30, "pinned": "pinned"}}}`, []string{"new", "old", "pinned"}, []string{"new", "old", "pinned"}},
		"no such rule": {`{"agents": {"retention": 30}}`, []string{"new", "old", "pinned"}, []string{"new", "old", "pinned"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				home := t.TempDir()
				write(t, filepath.Join(home, "settings.json"), c.settings)
				logged := new(strings.Builder)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b := &daemon{Config: Config{Home: home, Now: time.Now, Log: slog.New(slog.NewTextHandler(logged, nil))}, ctx: ctx, trust: workspace.NewTrust(filepath.Join(home, "trust.json"), time.Now)}
				store := session.New(session.Config{Dir: filepath.Join(home, "sessions"), Now: time.Now})
				begin := func(id string) {
					s, err := store.Open(id)
					if err != nil {
						t.Fatal(err)
					}
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				}
				begin("old")
				begin("pinned")
				time.Sleep(60 * day)
				begin("new")
				done := make(chan struct{})
				go func() {
					defer close(done)
					b.retain(ctx, store)
				}()
				there := func() (ids []string) {
					all, err := store.List()
					if err != nil {
						t.Fatal(err)
					}
					for _, info := range all {
						ids = append(ids, info.Session)
					}
					slices.Sort(ids)
					return ids
				}
				time.Sleep(firstRetain / 2)
				synctest.Wait()
				if n := len(there()); n != 3 {
					t.Errorf("while the daemon starts %d are there", n)
				}
				time.Sleep(firstRetain)
				synctest.Wait()
				if got := there(); !slices.Equal(got, c.left) {
					t.Errorf("left are %q, want %q", got, c.left)
				}
				time.Sleep(10 * day)
				synctest.Wait()
				if got := there(); !slices.Equal(got, c.later) {
					t.Errorf("later left are %q, want %q", got, c.later)
				}
				cancel()
				<-done
				if gone := len(c.later) < 3; gone != strings.Contains(logged.String(), "old") {
					t.Errorf("the log says %q", logged)
				}
				if _, err := store.Get("old"); len(c.left) < 3 && fault.KindOf(err) != fault.NotFound {
					t.Errorf("what was removed: %v", err)
				}
			})
		})
	}
}
