package daemon

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/agentls/agentls/internal/collector"
	"github.com/agentls/agentls/internal/fault"
)

// MemoryLimit is how much memory the process is to use, in bytes, unless
// $GOMEMLIMIT says otherwise (spec 12.2). It is for [debug.SetMemoryLimit], which
// only makes the collector work harder; see [Config.Memory] for what else.
const MemoryLimit = 768 << 20

const (
	fullPercent = 80              // from here on runs are refused
	lookEvery   = 5 * time.Second // how often memory is looked at while nobody asks
	shedEvery   = time.Second     // to give everything back takes the processor for a while
)

// memory watches how much of a limit the process uses (REL-42). Limit 0 is none.
// It is about the process, so several daemons in one share what they measure.
// mu is held while memory is given back, so that one goroutine does it for all that ask at
// the time.
type memory struct {
	limit int64
	now   func() time.Time
	shed  func() // lets go of what can be read again

	mu   sync.Mutex
	last time.Time // when memory was given back
}

// MemoryLimitOf returns the limit that the process has, for [Config.Memory].
func MemoryLimitOf() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return 0
}

// memoryInUse returns what the limit is about: all memory that the runtime has from the
// system, and has not given back.
func memoryInUse() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// full reports whether the process uses too much even after it gave back what it
// can, and how much.
// Giving back takes time, so it is done once in shedEvery at most; in between the answer
// is what is used now. A clock that was set back counts as time that has passed.
func (m *memory) full() (now int64, full bool) {
	if now = memoryInUse(); m.limit == 0 || now < m.limit/100*fullPercent {
		return now, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := m.now(); at.Sub(m.last) >= shedEvery || at.Before(m.last) {
		m.shed()
		debug.FreeOSMemory()
		m.last = m.now()
	}
	now = memoryInUse()
	return now, now >= m.limit/100*fullPercent
}

// admit refuses a new run while memory is short.
// The error is of kind fault.Unavailable with the reason fault.Overloaded: it is worth
// another try.
func (m *memory) admit() error {
	now, full := m.full()
	if !full {
		return nil
	}
	const mib = 1 << 20
	return fault.New(fault.Unavailable, "daemon.admit",
		"the daemon uses %d of %d MiB of memory, so no new run is begun; wait until others have ended, close sessions that you do not need, or start it with a larger GOMEMLIMIT",
		now/mib, m.limit/mib).Because(fault.Overloaded)
}

// watch gives memory back in time, until ctx ends.
func (m *memory) watch(ctx context.Context) {
	if m.limit == 0 {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.full()
			collector.Fit()
		}
	}
}
