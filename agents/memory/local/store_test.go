package local_test

import (
	"testing"
	"time"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/memory/local"
	"github.com/agentls/agentls/agents/memory/memorytest"
)

func now() time.Time { return time.Date(2026, 11, 24, 2, 30, 0, 0, time.UTC) }

// TestStore holds the backend to what every one must do.
func TestStore(t *testing.T) {
	dirs := map[string]string{}
	memorytest.Test(t, "local", func(t *testing.T) memory.Backend {
		if dirs[t.Name()] == "" {
			dirs[t.Name()] = t.TempDir()
		}
		return local.New(local.Config{Dir: dirs[t.Name()], Now: now})
	})
}

func BenchmarkLocal(b *testing.B) {
	backend := local.New(local.Config{Dir: b.TempDir(), Now: now})
	defer backend.Close()
	s, err := backend.Open(b.Context(), memorytest.Place("local", "bench"), &memory.Shape{Kind: memory.Vector, Embedder: "e", Dimension: memorytest.Dimension})
	if err != nil {
		b.Fatal(err)
	}
	memorytest.Bench(b, s)
}
