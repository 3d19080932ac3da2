package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
)

// TestREL90TenStartAtOnce: ten servers are started side by side, so that they are there
// as soon as the slowest of them is: here each waits until all ten have been started.
func TestREL90TenStartAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	dir := t.TempDir()
	for i := range maxStarting {
		w.described = append(w.described, w.faulty(fmt.Sprint("s", i), "waits for others", fmt.Sprintf(`"args": [%q, "%d"]`, dir, maxStarting)))
	}
	w.Offer(t.Context(), w.folder, []string{"*"})
	for i := range maxStarting {
		name := fmt.Sprint("s", i)
		until(t, name+" is there", func() bool { return w.state(name).State == Ready })
	}
}

// approve writes down that the tools of a server that works were approved for others.
func (w *world) approve(names ...string) {
	w.t.Helper()
	kept, err := os.ReadFile(filepath.Join(w.dir, fileName(w.folder, "works")))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		forged := strings.Replace(string(kept), `"server":"works"`, fmt.Sprintf(`"server":%q`, name), 1)
		if err := os.WriteFile(filepath.Join(w.dir, fileName(w.folder, name)), []byte(forged), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// BenchmarkREL90FirstOffer has thirty servers that were approved before, three of them
// dead, and reports how long the first prompt of a daemon waits for what it offers: at
// most 50 ms (issue 17).
func BenchmarkREL90FirstOffer(b *testing.B) {
	w := newWorld(b, nil, "works")
	w.Offer(b.Context(), w.folder, []string{"works"})
	for i := range 29 {
		fault, name := "works", fmt.Sprint("works", i)
		if i < 3 {
			fault, name = "never answers", fmt.Sprint("dead", i)
		}
		w.described = append(w.described, w.faulty(name, fault, ""))
		w.approve(name)
	}
	var waited time.Duration
	for b.Loop() {
		w.Close()
		w.open(nil)
		began := time.Now()
		o := w.Offer(b.Context(), w.folder, []string{"*"})
		waited += time.Since(began)
		if len(o.Tools) != 90 || len(o.Problems) != 0 {
			b.Fatalf("offered: %d tools, %q", len(o.Tools), o.Problems)
		}
	}
	b.ReportMetric(float64(waited.Microseconds())/1000/float64(b.N), "ms/first-offer")
}

// BenchmarkCall reports what a call over stdio costs, and how much of that is ours: the
// rest is what the server takes for a line in its pipes (issue 17: at most 1 ms).
func BenchmarkCall(b *testing.B) {
	w := newWorld(b, nil, "works")
	o := w.Offer(b.Context(), w.folder, []string{"works"})
	var echo tool.Tool
	for _, t := range o.Tools {
		if t.Spec().Name == "mcp.works.echo" {
			echo = t
		}
	}
	ask, stop := bare(b)
	defer stop()
	var ours, theirs time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if got, err := w.call(b.Context(), echo, `{"text": "hello"}`); err != nil || got != "hello" {
			b.Fatalf("%q, %v", got, err)
		}
		between := time.Now()
		ask(i)
		ours, theirs = ours+between.Sub(began), theirs+time.Since(between)
	}
	b.ReportMetric(float64((ours-theirs).Microseconds())/float64(b.N), "µs/own")
	b.ReportMetric(float64(theirs.Microseconds())/float64(b.N), "µs/server")
}

// bare starts a server that works, and returns what calls it without us.
func bare(b *testing.B) (ask func(id int), stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), faultyServer+"=works")
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(out)
	return func(id int) {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`+"\n", id)
			line, err := lines.ReadBytes('\n')
			var answer struct{ ID json.RawMessage }
			if err != nil || json.Unmarshal(line, &answer) != nil || string(answer.ID) != strconv.Itoa(id) {
				b.Fatalf("%q, %v", line, err)
			}
		}, func() {
			cancel()
			_ = c.Wait() // it was killed
		}
}
