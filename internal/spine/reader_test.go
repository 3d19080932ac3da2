package spine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server/servertest"
)

// page is the text of a chunk of eight kilobytes, as a script says it and as it
// is then. Its number shows what is lost or doubled.
var page = "{} " + eight + `\n`

// eight has no word twice, since a model that repeats itself is stopped.
var eight = words(480, "%03d-456789abcdef ")

func pages(n int) string { return words(n, "%d "+eight+"\n") }

// TestREL37StoppedReader: a client stops reading while the model streams 24 MB
// (12 with -short), in two tries that break. The run goes on to its end, and what the client leaves
// costs the daemon next to nothing. When it reads again it has all, in order.
func TestREL37StoppedReader(t *testing.T) {
	leaks(t)
	n, most := 1500, 16<<20
	if testing.Short() {
		n, most = n/2, most/2
	}
	try := fmt.Sprintf("<repeat %d %s\n<cut\n\n", n, page)
	w := newWorld(t, "< Ready.\n\n"+try+try+"<gate measured\n<call read_file {\"path\":\"notes.txt\"}\n\n< Done.\n")
	near, far := net.Pipe()
	v := &valve{Conn: near}
	h := w.serve(far)
	e := h.connect(v)
	e.finish(e.start("", "warm up"))

	before := heap()
	v.Stop()
	end := e.start("", "go")
	w.reached("measured")
	if grown := heap() - before; grown > most {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	} else {
		t.Logf("the heap grew by %d KiB while %d MiB waited for the client", grown>>10, 2*len(pages(n))>>20)
	}
	w.model.Open("measured")
	log := awaitLog(t, w.log("main"), func(events []line) bool { // the client still reads nothing
		return len(events) > 0 && events[len(events)-1].Type == "run.finished" && len(states(events)) == 4
	})
	if seen := e.Seen().Events; seen[len(seen)-1].Seq == uint64(len(log)) {
		t.Fatal("the client was not stopped")
	}
	v.Go()
	if r := e.finish(end); r.Text != "Done." {
		t.Errorf("the result is %q", r.Text)
	}
	told := e.Seen().Events
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	h.wait()
	log = mustLog(t, w.log("main"))
	if err := check(told, log); err != nil {
		t.Error(err)
	}
	want := "Ready." + pages(n) + pages(n) + "Done."
	if got := heard(told, ""); got != want {
		t.Errorf("the client had %d bytes of text, want %d", len(got), len(want))
	}
	if merged := len(log) - len(told); merged <= 0 {
		t.Errorf("%d events were %d messages: nothing was merged", len(log), len(told))
	}
	t.Logf("%d events were %d messages", len(log), len(told))
}

// heap returns how much is in use after a collection, in bytes.
func heap() int {
	runtime.GC()
	runtime.GC() // what pools hold goes with the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse)
}

// TestREL37LargeAnswer: an answer of 9 MB makes events and an answer to the
// request that are each larger than the outbox. To a client that takes its time
// but reads, and asks for something at every message, that is no reason to hang
// up.
func TestREL37LargeAnswer(t *testing.T) {
	leaks(t)
	const n = 1200
	w := newWorld(t, fmt.Sprintf("<repeat %d %s\n", n, page))
	near, far := net.Pipe()
	h := w.serve(far)
	c := h.bare(near)
	c.request("0", wire.MethodRun, `{"agent":"worker","input":"go"}`)
	for asked := 1; ; asked++ {
		m, err := c.Next()
		if err != nil {
			t.Fatalf("after %d messages: %v\n%s", asked-1, err, h.said.String())
		}
		if m.Method == "" && string(m.ID) == "0" {
			var r wire.RunResult
			if err := json.Unmarshal(m.Result, &r); err != nil {
				t.Fatal(err)
			}
			if want := pages(n); r.Text != want {
				t.Errorf("the result has %d bytes, want %d", len(r.Text), len(want))
			}
			break
		}
		if m.Method == wire.MethodActivity {
			c.request(fmt.Sprint(asked), "nobody/knows", "{}")
		}
	}
}

// TestREL37Stalled: a client asks for more than the outbox holds and reads none
// of it. It counts as gone; its run is interrupted, and the log is whole.
func TestREL37Stalled(t *testing.T) {
	leaks(t)
	w := newWorld(t, "<repeat 100 w{} \n<gate never\n")
	big := strings.Replace(worker, "name: worker", "name: big", 1) + strings.Repeat("You write at length.\n", 10_000)
	if err := os.WriteFile(filepath.Join(w.dir, ".gemini", "agents", "big.md"), []byte(big), 0o600); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	h := w.serve(far)
	c := h.bare(near)
	c.request("1", wire.MethodRun, `{"agent":"worker","input":"go"}`)
	w.reached("never")
	for i := range 100 {
		if err := c.Send(servertest.Frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"big"}}`, i+2, wire.MethodGet))); err != nil {
			break // it has hung up
		}
	}
	h.wait()
	if h.ending != "stalled" {
		t.Errorf("the connection ended as %s", h.ending)
	}
	log := mustLog(t, w.log("main"))
	if got := states(log); len(got) != 2 || !strings.HasSuffix(got[1], ":interrupted") {
		t.Errorf("the run went %v", got)
	}
	if got, want := joined(log), words(100, "w%d "); got != want {
		t.Errorf("the log has %q", got)
	}
}

// TestREL25HangUp: a client that goes has its runs interrupted, never aborted,
// each time: what the end of a connection ends first is a matter of luck.
func TestREL25HangUp(t *testing.T) {
	leaks(t)
	const n = 20
	var script strings.Builder
	for i := range n {
		fmt.Fprintf(&script, "<repeat 10 w{} \n<gate g%d\n\n", i)
	}
	w := newWorld(t, script.String())
	for i := range n {
		near, far := net.Pipe()
		h := w.serve(far)
		c := h.bare(near)
		var reading sync.WaitGroup
		reading.Go(func() {
			for {
				if _, err := c.Next(); err != nil {
					return // it is hung up
				}
			}
		})
		c.request("1", wire.MethodRun, `{"agent":"worker","input":"go"}`)
		w.reached(fmt.Sprintf("g%d", i))
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		reading.Wait()
		h.wait()
	}
	got := states(mustLog(t, w.log("main")))
	for i, s := range got {
		if want := []string{":running", ":interrupted"}[i%2]; !strings.HasSuffix(s, want) {
			t.Fatalf("state %d is %s, want %s", i, s, want)
		}
	}
	if len(got) != 2*n {
		t.Errorf("%d runs went %v", n, got)
	}
}

// TestREL39QuestionOvertakes: 10 MB of events wait for a client that does not
// read when a run has to ask. The question is behind one of them at most.
func TestREL39QuestionOvertakes(t *testing.T) {
	leaks(t)
	const n = 470
	w := newWorld(t, fmt.Sprintf("<repeat %d %s\n<call bash {\"command\":\"touch made\"}\n\n< Done.\n", n, page))
	near, far := net.Pipe()
	h := w.serve(far)
	c := h.bare(near)
	c.request("1", wire.MethodRun, `{"agent":"worker","input":"go"}`)
	awaitLog(t, w.log("main"), func(events []line) bool {
		return slices.ContainsFunc(events, func(l line) bool { return l.Type == "confirmation.asked" })
	})
	waits(t, "server.(*connection).call(", "handlers.put[")

	var told []wire.ActivityParams
	behind, after, asked := 0, 0, false
	for {
		m, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case m.Method == wire.MethodActivity:
			var a wire.ActivityParams
			if err := json.Unmarshal(m.Params, &a); err != nil {
				t.Fatal(err)
			}
			told = append(told, a)
			if asked {
				after += len(m.Raw)
			} else {
				behind++
			}
			continue
		case m.Method == wire.MethodConfirm:
			asked = true
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":"once"}}`, m.ID))
			continue
		case m.Method != "" || string(m.ID) != "1":
			continue
		}
		break
	}
	if !asked || behind > 1 || after < 10_000_000 {
		t.Errorf("asked: %v, behind %d events, ahead of %d bytes of them", asked, behind, after)
	}
	t.Logf("the question was behind %d messages and ahead of %d MB", behind, after/1_000_000)
	if err := check(told, mustLog(t, w.log("main"))); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "made")); err != nil {
		t.Error("what was permitted was not done:", err)
	}
}

// waits waits until a goroutine is in all of the functions: nothing that the
// daemon does for the outside says that a question lies in its outbox.
func waits(t testing.TB, functions ...string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	look := time.NewTicker(20 * time.Millisecond) // a look stops the world: one after the other would starve it
	defer look.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-look.C {
		for stack := range bytes.SplitSeq(buf[:runtime.Stack(buf, true)], []byte("\n\n")) {
			if bytes.Contains(stack, []byte("[select")) &&
				!slices.ContainsFunc(functions, func(f string) bool { return !bytes.Contains(stack, []byte(f)) }) {
				return
			}
		}
	}
	t.Fatalf("no goroutine waits in %v", functions)
}

// bare is a client that reads a message when the test asks for one.
type bare struct {
	*servertest.Client
	t testing.TB
}

// bare shakes hands as an editor with all of agentls' own capabilities.
func (h *served) bare(near net.Conn) *bare {
	h.t.Helper()
	c := &bare{servertest.NewClient(near, patience), h.t}
	h.t.Cleanup(func() { _ = c.Close() }) // the daemon may have hung up
	c.hello(h.dir)
	return c
}

func (c *bare) hello(dir string) {
	c.t.Helper()
	caps, err := json.Marshal(editortest.Native())
	if err != nil {
		c.t.Fatal(err)
	}
	c.request(`"hello"`, "initialize", fmt.Sprintf(`{"processId":null,"rootUri":%q,"capabilities":{"experimental":{"agents":%s}}}`, "file://"+dir, caps))
	if m, err := c.Answer(`"hello"`); err != nil || m.Error != nil {
		c.t.Fatal(m, err)
	}
	c.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
}

func (c *bare) request(id, method, params string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
}

func (c *bare) send(body string) {
	c.t.Helper()
	if err := c.Send(servertest.Frame(body)); err != nil {
		c.t.Fatal(err)
	}
}
