package export_test

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/trace/export"
)

var toFile = export.Options{Enabled: true, Backend: "file", Events: all, SampleRate: 1}

// TestForget: what a deleted session or a purged agent said goes from the files, also where it
// was not written yet; other folders' sessions of the same name stay, and later runs.
func TestForget(t *testing.T) {
	b := newBed(t, nil)
	b.run("a", toFile)
	b.run("b", toFile)
	b.close()
	chains := func(names ...string) map[string]bool {
		set := make(map[string]bool)
		for _, name := range names {
			set[name] = true
		}
		return set
	}
	forget := func(agent string, before uint64, of map[string]bool, want ...string) {
		t.Helper()
		if err := b.tracer.Forget("main", agent, before, of); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, e := range b.file() {
			left = append(left, e.CorrelationID)
		}
		if left = slices.Compact(left); !slices.Equal(left, want) {
			t.Errorf("left are %q, want %q", left, want)
		}
	}
	forget("", math.MaxUint64, chains("other"), "a", "b")
	forget("fixer", math.MaxUint64, chains("a", "b"), "a", "b")
	forget("debugger", 11, chains("a", "b"), "b") // b begins with the event 11
	if err := b.tracer.Forget("main", "", math.MaxUint64, chains("a", "b")); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(b.config.Dir, "*-*")); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
}

// TestForgetBeforeItIsWritten: a session that is deleted while its trace is still to be written
// leaves none.
func TestForgetBeforeItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil)
		b.tracer.Begin(b.log, b.id, "a", toFile)
		if err := b.tracer.Forget("main", "", math.MaxUint64, map[string]bool{"a": true}); err != nil {
			t.Fatal(err)
		}
		b.run("a", toFile)
		b.close()
		if files, err := filepath.Glob(filepath.Join(b.config.Dir, "*", "*")); err != nil || len(files) > 0 {
			t.Errorf("%q, %v", files, err)
		}
	})
}

// TestForgetDamaged: a file that another program cut is a JSON array again, without what cannot
// be read.
func TestForgetDamaged(t *testing.T) {
	b := newBed(t, nil)
	b.run("a", toFile)
	b.run("b", toFile)
	b.close()
	path := filepath.Join(b.config.Dir, time.Now().Format(time.DateOnly), "session-main.json")
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.TrimSuffix(string(data), "}\n]\n")), 0o600)
	}
	if err == nil {
		err = b.tracer.Forget("main", "", math.MaxUint64, map[string]bool{"a": true})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := kinds(b.file()); !slices.Equal(got, []string{"agent_start", "llm_call", "tool_call"}) {
		t.Errorf("%q", got)
	}
}

// TestDamagedFileIsGoneOnWith: after a crash or a full disk the file lacks its end; what is
// written next leaves the whole events as they are.
func TestDamagedFileIsGoneOnWith(t *testing.T) {
	b := newBed(t, nil)
	b.run("a", toFile)
	b.close()
	path := filepath.Join(b.config.Dir, time.Now().Format(time.DateOnly), "session-main.json")
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, data[:len(data)-len("\n]\n")], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	next := newBed(t, func(c *export.Config) { c.Dir = b.config.Dir })
	next.run("b", toFile)
	next.close()
	whole := []string{"agent_start", "llm_call", "tool_call", "agent_complete"}
	if got := kinds(next.file()); !slices.Equal(got, append(whole, whole...)) {
		t.Errorf("%q", got)
	}
}

// TestHandoffToAnUntracedAgent: where control passes to an agent that is not traced, nothing
// waits for it: when the session is closed, nobody holds its log.
func TestHandoffToAnUntracedAgent(t *testing.T) {
	b := newBed(t, nil)
	defer b.tracer.Close()
	func() {
		b.tracer.Begin(b.log, b.id, "a", toFile)
		for _, body := range []activity.Body{
			activity.RunStarted{Model: "flash"}, activity.TurnStarted{Turn: 1},
			activity.HandoffStarted{From: "debugger", To: "fixer", Run: "b"}, activity.RunFinished{Reason: activity.HandedOff},
		} {
			b.log.Append(activity.Origin{Run: "a", Agent: "debugger", CorrelationID: "a"}, body, 0)
		}
		for _, body := range []activity.Body{activity.RunStarted{Model: "flash"}, activity.RunFinished{Reason: activity.Goal}} {
			b.log.Append(activity.Origin{Run: "b", Agent: "fixer", CorrelationID: "a"}, body, 0)
		}
		if err := b.log.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	held := weak.Make(b.log)
	b.log = nil
	deadline := time.Now().Add(30 * time.Second)
	for runtime.GC(); held.Value() != nil; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("the tracer holds the log of a session that is closed")
		}
		runtime.Gosched()
	}
}
