package server

import "sync/atomic"

// Pulse tells whether the read loop of a connection comes round (REL-32). The
// zero value is of no connection, and of none that has begun: it waits.
//
// The daemon's watchdog pings it every few seconds and takes one that does not
// return for a loop that hangs. The loop itself pays two stores and a load for
// a message, without a lock: it is the hottest path of a connection. One Pulse
// serves one connection; it must not be copied.
type Pulse struct {
	waiting atomic.Bool // the loop waits for the client, or has ended
	begun   atomic.Bool
	asked   atomic.Pointer[chan struct{}] // closed when the loop comes round; nil = nobody asks
}

// Ping returns when the read loop waits for the client, or has come round since
// the call; at once before it began and after it ended. It is for one goroutine
// at a time.
func (p *Pulse) Ping() {
	came := make(chan struct{})
	p.asked.Store(&came) // before the look: whoever comes round now sees it
	if p.waiting.Load() || !p.begun.Load() {
		return
	}
	<-came
}

// rest says that the loop waits for the client; it is for the loop.
func (p *Pulse) rest() {
	if p == nil {
		return
	}
	p.begun.Store(true)
	p.waiting.Store(true)
	if p.asked.Load() != nil {
		if came := p.asked.Swap(nil); came != nil {
			close(*came)
		}
	}
}

// work says that the loop has something to do; it is for the loop.
func (p *Pulse) work() {
	if p != nil {
		p.waiting.Store(false)
	}
}
