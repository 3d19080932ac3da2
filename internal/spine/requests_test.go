package spine_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server/servertest"
)

// TestREL17And21TenThousandRequests: a client sends 10,000 quick requests without
// waiting, and cancels a third of them. Each is answered once, with what its
// method may be answered with; a run that has begun is answered with its result,
// also when it was cancelled (REL-17).
func TestREL17And21TenThousandRequests(t *testing.T) {
	leaks(t)
	const n, sessions = 10_000, 16
	w := newWorld(t, strings.Repeat("< Hello.\n\n", n/20))
	near, far := net.Pipe()
	h := w.serve(far)
	c := h.bare(near)
	// What request i asks, and the codes that it may be answered with: 0 is a
	// result, -32800 cancelled, -32803 too many at once or a session that is busy.
	const result, unknown, cancelled, failed = 0, -32601, -32800, -32803
	runs := func(i int) bool { return i%20 == 0 }
	ask := func(i int) (method, params string, codes []int) {
		switch {
		case runs(i):
			return wire.MethodRun, fmt.Sprintf(`{"agent":"worker","session":"q%d","run":"r%d","input":"hi"}`, i/20%sessions, i), []int{result, cancelled, failed}
		case i%4 == 1:
			return wire.MethodGet, `{"name":"worker"}`, []int{result, cancelled, failed}
		case i%4 == 2:
			return "nobody/knows", `{"a":1}`, []int{unknown}
		default:
			return wire.MethodList, `{}`, []int{result, cancelled, failed}
		}
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() {
		for i := range n {
			method, params, _ := ask(i)
			frames := servertest.Frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params))
			if i%3 == 0 || runs(i) {
				frames += servertest.Frame(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, i))
			}
			if err := c.Send(frames); err != nil {
				t.Error(err)
				return
			}
		}
	})
	answers := make(map[int]int)
	counts := make(map[string]int)
	results := make(map[string]string) // of runs that have one: their reason
	for len(answers) < n {
		m, err := c.Next()
		if err != nil {
			t.Fatalf("after %d answers: %v\n%s", len(answers), err, h.said.String())
		}
		if m.Method != "" {
			continue
		}
		id, err := strconv.Atoi(string(m.ID))
		if err != nil {
			t.Fatal(m.Raw)
		}
		if _, twice := answers[id]; twice {
			t.Fatalf("answered twice: %s", m.Raw)
		}
		answers[id] = m.Code()
		method, _, codes := ask(id)
		counts[fmt.Sprintf("%s %d", method, m.Code())]++
		fits := false
		for _, code := range codes {
			fits = fits || code == m.Code()
		}
		if !fits {
			t.Errorf("%s was answered %.300s", method, m.Raw)
		}
		if runs(id) && m.Error == nil {
			var r struct {
				Run, Reason string
			}
			if err := json.Unmarshal(m.Result, &r); err != nil {
				t.Fatal(err)
			}
			results[r.Run] = r.Reason
			counts["run "+r.Reason]++
		}
	}
	t.Log(counts)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	h.wait()
	begun := 0
	for i := range sessions {
		for _, l := range mustLog(t, w.log(fmt.Sprintf("q%d", i))) {
			if l.Type != "run.started" {
				continue
			}
			begun++
			if reason := results[l.Run]; reason != "ABORTED" && reason != "GOAL" {
				t.Errorf("%s began and was answered with the result %q", l.Run, reason)
			}
		}
	}
	if begun == 0 {
		t.Error("no run began")
	}
	if strings.Contains(h.said.String(), "panic") {
		t.Error(h.said.String())
	}
}
