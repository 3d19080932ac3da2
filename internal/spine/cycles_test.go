package spine_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/wire"
)

// TestREL45StartAndCancel starts runs and cancels them a thousand times, at any
// moment. Each is answered with its result, and no goroutine stays.
func TestREL45StartAndCancel(t *testing.T) {
	leaks(t)
	cycles := 1000
	if testing.Short() {
		cycles = 100
	}
	w := newWorld(t, strings.Repeat("<repeat 5 w{} \n<hang\n\n", cycles+20))
	near, far := net.Pipe()
	h := w.serve(far)
	c := h.bare(near)
	seen := 0
	rng := rand.New(rand.NewPCG(45, 1))
	cycle := func(i int) {
		c.request(fmt.Sprint(i), wire.MethodRun, fmt.Sprintf(`{"agent":"worker","session":"s%d","run":"r%d","input":"go"}`, i%10, i))
		after := rng.IntN(12) // messages
		for cancelled := false; ; seen++ {
			if !cancelled && after <= 0 {
				cancelled = true
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, i))
			}
			after--
			m, err := c.Next()
			if err != nil {
				t.Fatalf("cycle %d: %v\n%s", i, err, h.said.String())
			}
			if m.Method == wire.MethodActivity && strings.Contains(m.Raw, `"content.delta"`) {
				after = 0 // it hangs from here on, and says nothing more
			}
			if m.Method != "" {
				continue
			}
			var r struct{ Run, Reason string }
			if err := json.Unmarshal(m.Result, &r); (m.Error != nil && m.Code() != -32800) || (m.Error == nil && (err != nil || r.Run != fmt.Sprintf("r%d", i) || r.Reason != "ABORTED")) {
				t.Fatalf("cycle %d is answered %s", i, m.Raw)
			}
			return
		}
	}
	for i := range 20 {
		cycle(i)
	}
	goroutines := settled(0)
	for i := range cycles {
		cycle(20 + i)
	}
	if now := settled(goroutines + 5); now > goroutines+5 {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines were %d\n%s", now, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	h.wait()
	if strings.Contains(h.said.String(), "panic") {
		t.Error(h.said.String())
	}
}

// settled returns how many goroutines there are when they are at most as many as
// wanted, or do not get fewer any more.
func settled(want int) int {
	least := runtime.NumGoroutine()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for same := 0; same < 50 && (least > want || want == 0); {
		<-tick.C
		if now := runtime.NumGoroutine(); now < least {
			least, same = now, 0
		} else {
			same++
		}
		if want == 0 && same > 20 {
			break
		}
	}
	return least
}

// TestREL38SlowReader: a client takes a kilobyte at a time, a thousand times
// slower than the model speaks. It gets all that the model says, merged, and the
// last state; what waits for it costs the daemon next to nothing.
func TestREL38SlowReader(t *testing.T) {
	leaks(t)
	const n = 100
	w := newWorld(t, fmt.Sprintf("< Ready.\n\n<repeat %d %s\n<gate measured\n<repeat 3 w{} \n", n, page))
	near, far := net.Pipe()
	slow := &trickle{Conn: near}
	h := w.serve(far)
	e := h.connect(slow)
	e.finish(e.start("", "warm up"))
	before := heap()
	slow.slow.Store(true)
	end := e.start("", "go")
	w.reached("measured")
	if grown := heap() - before; grown > 16<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	w.model.Open("measured")
	r := e.finish(end)
	if want := pages(n) + words(3, "w%d "); r.Text != want {
		t.Errorf("the result has %d bytes, want %d", len(r.Text), len(want))
	}
	told := e.Seen().Events
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	h.wait()
	log := mustLog(t, w.log("main"))
	if err := check(told, log); err != nil {
		t.Error(err)
	}
	if last := told[len(told)-1]; last.Seq != uint64(len(log)) || last.Type != "run.finished" {
		t.Errorf("the last message is %s, event %d of %d", last.Type, last.Seq, len(log))
	}
	t.Logf("%d events were %d messages", len(log), len(told))
}

// trickle is a connection that is read a kilobyte at a time, with a millisecond
// between, once it is slow.
type trickle struct {
	net.Conn
	slow atomic.Bool
}

func (c *trickle) Read(p []byte) (int, error) {
	if c.slow.Load() {
		p = p[:min(len(p), 1024)]
		time.Sleep(time.Millisecond) // the client's slowness is what is tested
	}
	return c.Conn.Read(p)
}
