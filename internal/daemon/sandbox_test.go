package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/workspace"
)

// TestCachesAreCleanedDaily: a daemon that lives long keeps the caches of commands
// small, as one that starts does.
func TestCachesAreCleanedDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := &daemon{Config: Config{Home: home, Now: time.Now, Log: slog.New(slog.DiscardHandler)}, ctx: ctx, trust: workspace.NewTrust(filepath.Join(home, "trust.json"), time.Now)}
		large := filepath.Join(b.state(), "cache", "npm", "large")
		fill := func() {
			if err := os.MkdirAll(filepath.Dir(large), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(large, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(large, sandbox.MaxCache+1); err != nil { // it takes no room
				t.Fatal(err)
			}
		}
		gone := func(when string, want bool) {
			synctest.Wait()
			if _, err := os.Stat(large); errors.Is(err, fs.ErrNotExist) != want {
				t.Errorf("%s: %v, want that it is gone: %v", when, err, want)
			}
		}
		fill()
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.cleanCaches(ctx)
		}()
		gone("at the start", true)
		fill()
		time.Sleep(cleanEvery - time.Minute)
		gone("within the day", false)
		time.Sleep(2 * time.Minute)
		gone("after a day", true)
		cancel()
		<-done
	})
}
