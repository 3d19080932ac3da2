// Routing measures agents/route on CLINC150 (clinc/oos-eval): ten domains are ten
// agents, the sentences of train are their examples, and each sentence of a split is
// routed by a daemon with default settings and no key, so that nothing but the rules
// decides. It prints what docs/routing.md says, as Markdown.
//
//	go run ./internal/cmd/routing -split val
//
// The split test is for a measurement at the end, not for making rules.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/daemon"
	"github.com/agentls/agentls/internal/wire"
)

func main() {
	data := flag.String("data", "../shared/data/clinc150", "the folder of data_small.json and domains.json")
	split := flag.String("split", "val", "val or test")
	flag.Parse()
	if err := measure(*data, *split, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "routing:", err)
		os.Exit(1)
	}
}

// corpus is CLINC150 as its files have it: sentences with their intents.
type corpus struct {
	splits  map[string][][2]string
	domains map[string][]string // the intents of each
	of      map[string]string   // the domain of an intent
}

func load(folder string) (*corpus, error) {
	c := &corpus{of: make(map[string]string)}
	for name, into := range map[string]any{"data_small.json": &c.splits, "domains.json": &c.domains} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return nil, err
		}
	}
	for domain, intents := range c.domains {
		for _, intent := range intents {
			c.of[intent] = domain
		}
	}
	return c, nil
}

// write makes an agent file of each domain.
func (c *corpus) write(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for domain := range c.domains {
		var b strings.Builder
		fmt.Fprintf(&b, "---\nkind: agent\nname: %s\ntitle: %s\ntriggers:\n  examples:\n", nameOf(domain), domain)
		for _, pair := range c.splits["train"] {
			if c.of[pair[1]] == domain {
				quoted, _ := json.Marshal(pair[0])
				fmt.Fprintf(&b, "    - %s\n", quoted)
			}
		}
		b.WriteString("---\nYou help.\n")
		if err := os.WriteFile(filepath.Join(folder, nameOf(domain)+".md"), []byte(b.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func nameOf(domain string) string { return strings.NewReplacer("_", "-", " ", "-").Replace(domain) }

// connect starts a daemon for a folder, without a key.
func connect(ctx context.Context, home, folder string) (*client.Client, error) {
	near, far := net.Pipe()
	config := daemon.Config{
		Home: home, Environ: []string{"HOME=" + home}, Trust: true, Version: "routing", Now: time.Now, Brief: true,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	var served conc.WaitGroup // ends with the process, and is not waited for
	served.Go(func() { _, _ = daemon.Serve(ctx, far, config) })
	c := client.New(ctx, near, client.Config{})
	root := uri.File(folder)
	p := &protocol.InitializeParams{RootURI: &root}
	p.Capabilities.Experimental = []byte(`{"agents": {"version": 1}}`)
	_, err := c.Initialize(ctx, p)
	return c, err
}

// outcome is what became of the sentences of a split.
type outcome struct {
	inScope, forced, answered, right, outOfScope, left int
	confusion                                          map[string]map[string]int // by what it is for, then who took it
}

// take notes an answer: want is "" for what is for nobody.
func (o *outcome) take(want string, r *wire.RouteResult) {
	taken := ""
	if r.Model == nil {
		taken = r.Agent
	}
	leader := ""
	if len(r.Candidates) > 0 {
		leader = r.Candidates[0].Agent
	}
	if want == "" {
		o.outOfScope++
		if taken == "" {
			o.left++
		}
	} else {
		o.inScope++
		if leader == want {
			o.forced++
		}
		if taken != "" {
			o.answered++
		}
		if taken == want {
			o.right++
		}
	}
	if o.confusion[want] == nil {
		o.confusion[want] = make(map[string]int)
	}
	o.confusion[want][taken]++
}

func measure(data, split string, out io.Writer) error {
	c, err := load(data)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "routing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	work := filepath.Join(dir, "work")
	if err := c.write(filepath.Join(work, ".gemini", "agents")); err != nil {
		return err
	}
	ctx := context.Background()
	conn, err := connect(ctx, filepath.Join(dir, "home"), work)
	if err != nil {
		return err
	}
	o := &outcome{confusion: make(map[string]map[string]int)}
	for _, name := range []string{split, "oos_" + split} {
		for _, pair := range c.splits[name] {
			r := new(wire.RouteResult)
			if err := conn.Call(ctx, wire.MethodRoute, &wire.RouteParams{Input: pair[0]}, r); err != nil {
				return fmt.Errorf("%q: %w", pair[0], err)
			}
			want := ""
			if domain := c.of[pair[1]]; domain != "" {
				want = nameOf(domain)
			}
			o.take(want, r)
		}
	}
	o.print(out, split)
	return nil
}

// print writes the figures and the confusion table.
func (o *outcome) print(out io.Writer, split string) {
	row := func(what string, n, of int, wanted string) {
		fmt.Fprintf(out, "| %s | %.1f %% | %s |\n", what, 100*float64(n)/float64(max(of, 1)), wanted)
	}
	wrong := o.outOfScope - o.left
	fmt.Fprintf(out, "Of `%s`: %d sentences that have an agent, %d that have none.\n\n| what | | wanted |\n|---|--:|--:|\n", split, o.inScope, o.outOfScope)
	row("right when one has to be named", o.forced, o.inScope, "90 %")
	row("answered, of what has an agent", o.answered, o.inScope, "75 %")
	row("right, of what was answered (what is for nobody counts as wrong)", o.right, o.answered+wrong, "95 %")
	row("left, of what is for nobody", o.left, o.outOfScope, "90 %")
	names := slices.Sorted(maps.Keys(o.confusion))
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == "" }), "")
	shown := func(name string) string {
		if name == "" {
			return "nobody"
		}
		return name
	}
	fmt.Fprint(out, "\n| is for ↓, taken by →")
	for _, n := range names {
		fmt.Fprintf(out, " | %s", shown(n))
	}
	fmt.Fprint(out, " |\n|---"+strings.Repeat("|--:", len(names))+"|\n")
	for _, want := range names {
		fmt.Fprintf(out, "| %s", shown(want))
		for _, took := range names {
			fmt.Fprintf(out, " | %d", o.confusion[want][took])
		}
		fmt.Fprintln(out, " |")
	}
}
