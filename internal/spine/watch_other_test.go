//go:build !linux

package spine_test

import (
	"testing"
	"time"

	"github.com/agentls/agentls/internal/faults"
)

// awaitLog waits until a log's file is as wanted, and returns its events. Where
// nothing tells of a write it looks again and again.
func awaitLog(t testing.TB, path string, want func([]line) bool) []line {
	t.Helper()
	log := faults.LogReader{Path: path}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-look.C {
		if err := log.More(); err != nil {
			t.Fatal(err)
		}
		if want(log.Events) {
			return log.Events
		}
	}
	t.Fatalf("%s, of %d events, is not what is waited for", path, len(log.Events))
	return nil
}
