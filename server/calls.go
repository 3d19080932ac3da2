package server

import (
	"context"
	"strconv"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

// ledger holds the client's calls that have not been answered, by the number
// under which the transport knows them.
//
// The life of a call: line.admit adds it on the read loop, begin gives it the
// context that its handler runs under, mark and then note how its answer is to
// be sent, and line.Write takes it out when the answer is queued. Between add
// and take its id is in use, and a second request with that id is refused.
//
// What is under way is counted twice because the two ends differ: the end of
// input waits for answers that are owed (drain), the end of a connection for
// handlers that still run (Serve).
//
// Safe for concurrent use.
type ledger struct {
	owed    gauge // answers that have not been queued
	running gauge // handlers that have not returned

	mu    sync.Mutex
	last  int64
	calls map[int64]*call
	byID  map[string]int64 // by what makes two ids the same, see sameID
}

// call is one request of the client's. Guarded by the ledger's mutex.
type call struct {
	raw    []byte // the id as the client wrote it
	same   string
	cancel context.CancelCauseFunc // nil before begin and after end
	stream bool                    // answered in the stream lane
	opens  bool                    // the answer to initialize: what is held back may follow
	then   func()                  // runs when the answer is queued; nil for none
}

func newLedger() *ledger {
	return &ledger{calls: make(map[int64]*call), byID: make(map[string]int64)}
}

// sameID returns what makes two ids the same: 1 and "1" are not, "a" and
// "\u0061" are. ok is false for an id that is neither a string nor an integer.
func sameID(id jsonrpc2.IDView) (same string, ok bool) {
	if n, ok := id.Number(); ok {
		return strconv.FormatInt(n, 10), true
	}
	s, ok := id.StringValue()
	return `"` + s, ok
}

// add enters a call and returns its number; ok is false if a call with this id
// has not been answered yet. raw is copied.
func (l *ledger) add(raw []byte, same string) (n int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, taken := l.byID[same]; taken {
		return 0, false
	}
	l.last++
	l.calls[l.last] = &call{raw: append([]byte(nil), raw...), same: same}
	l.byID[same] = l.last
	l.owed.add()
	return l.last, true
}

// open reports whether a call with this id waits for its answer.
func (l *ledger) open(same string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.byID[same]
	return ok
}

// begin returns the context that call n runs under, which comes from the
// connection's (see the package doc), and what ends it.
// The caller must call end once, on every path: until then the connection's end
// waits for it, up to linger.
func (l *ledger) begin(connection context.Context, n int64) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(connection)
	l.mu.Lock()
	if c := l.calls[n]; c != nil {
		c.cancel = cancel
	}
	l.mu.Unlock()
	l.running.add()
	return ctx, func() {
		l.mu.Lock()
		if c := l.calls[n]; c != nil {
			c.cancel = nil
		}
		l.mu.Unlock()
		cancel(nil)
		l.running.release()
	}
}

// mark says how call n is to be answered.
// Only before the answer is written; line.Write looks at it there.
func (l *ledger) mark(n int64, stream, opens bool) {
	l.mu.Lock()
	if c := l.calls[n]; c != nil {
		c.stream, c.opens = stream, opens
	}
	l.mu.Unlock()
}

// then says what follows the answer of call n.
// nil is no function.
func (l *ledger) then(n int64, do func()) {
	if do == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.calls[n]; c != nil {
		c.then = do
	}
}

// cancel ends the context of a call that is being served; an id that is not
// is ignored, as is one that is cancelled twice.
// The function is called without the lock: it wakes handlers, which may come
// back here at once.
func (l *ledger) cancel(same string) {
	l.mu.Lock()
	var cancel context.CancelCauseFunc
	if c := l.calls[l.byID[same]]; c != nil {
		cancel = c.cancel
	}
	l.mu.Unlock()
	if cancel != nil {
		cancel(errAskedFor)
	}
}

// take strikes call n out, since its answer is about to be queued.
// ok is false where it was taken before, which would be a second answer to one
// request.
func (l *ledger) take(n int64) (call, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[n]
	if c == nil {
		return call{}, false
	}
	delete(l.calls, n)
	delete(l.byID, c.same)
	return *c, true
}

// gauge counts what is under way, for who waits until nothing is.
type gauge struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed at zero; nil while nobody waits
}

// add counts one more that is under way; release must follow.
func (g *gauge) add() {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
}

// release counts one less, and wakes who waits for none at zero.
func (g *gauge) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n--
	if g.n == 0 && g.zero != nil {
		close(g.zero)
		g.zero = nil
	}
}

// none returns a channel that is closed once the count is zero.
// The channel belongs to this fall to zero only: what is added afterwards does
// not open it again, so a caller that has to know the state later asks anew.
func (g *gauge) none() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n == 0 {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	if g.zero == nil {
		g.zero = make(chan struct{})
	}
	return g.zero
}
