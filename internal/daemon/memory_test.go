package daemon

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/fault"
)

// TestREL42FullMemoryRefusesRuns: at 80 % caches are let go of and new runs are
// refused with a reason; garbage does not count, and what was given back does
// not either.
func TestREL42FullMemoryRefusesRuns(t *testing.T) {
	const mib = 1 << 20
	shed := 0
	now := time.Now()
	m := &memory{now: func() time.Time { return now }, shed: func() { shed++ }}
	runtime.GC()
	m.limit = memoryInUse()*5/4 + 64*mib // 80 % of it are some 50 MiB from here
	if err := m.admit(); err != nil || shed > 0 {
		t.Fatalf("%v, shed %d times", err, shed)
	}
	fill(128 * mib) // garbage
	if err := m.admit(); err != nil {
		t.Errorf("garbage counts: %v", err)
	}
	ballast := fill(128 * mib)
	now = now.Add(time.Minute)
	before := shed
	err := m.admit()
	reason, _ := fault.ReasonOf(err)
	if fault.KindOf(err) != fault.Unavailable || reason != fault.Overloaded || !strings.Contains(fault.Message(err), "MiB") {
		t.Errorf("with a full memory: %v", err)
	}
	if shed != before+1 {
		t.Errorf("caches were shed %d times", shed-before)
	}
	if m.admit() == nil || shed != before+1 {
		t.Error("everything is given back again at once")
	}
	runtime.KeepAlive(ballast)
	ballast = nil
	now = now.Add(time.Minute)
	if err := m.admit(); err != nil {
		t.Errorf("when it is free again: %v", err)
	}
	if m.limit = 0; m.admit() != nil {
		t.Error("without a limit runs are refused")
	}
}

// fill returns so much memory, all of it written to.
func fill(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	return b
}
