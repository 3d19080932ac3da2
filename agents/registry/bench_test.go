package registry

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

// words is what generated agents talk about.
var words = strings.Fields("read the code first then change as little as you can before tests are run again review security performance " +
	"deployment pipeline database schema migration interface contract error handling latency throughput observability logging metrics " +
	"tracing infrastructure container cluster network policy identity access token certificate dependency version release notes " +
	"documentation example tutorial reference guide customer payment invoice compliance audit evidence checklist quality coverage")

// prose writes about size bytes of Markdown.
func prose(r *rand.Rand, b *strings.Builder, size int) {
	for end := b.Len() + size; b.Len() < end; {
		if r.IntN(4) == 0 {
			fmt.Fprintf(b, "\n## %s %s\n\n", words[r.IntN(len(words))], words[r.IntN(len(words))])
		}
		b.WriteString("- ")
		for range 6 + r.IntN(12) {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteByte(' ')
		}
		b.WriteString("— so that it holds.\n")
	}
}

// agentText is an agent file of 1 to 4 KB in the shape of one of the formats that
// public collections have: ours, Claude Code's with and without tools, those with
// keys for show, and Copilot's.
func agentText(i int) string {
	r := rand.New(rand.NewPCG(uint64(i), 1))
	var b strings.Builder
	description := fmt.Sprintf("Use this agent for %s %s number %d, from %s to %s.", words[r.IntN(len(words))], words[r.IntN(len(words))], i, words[r.IntN(len(words))], words[r.IntN(len(words))])
	switch i % 5 {
	case 0:
		fmt.Fprintf(&b, "---\nkind: agent\nname: agent-%d\ntitle: Agent %d\ndescription: %q\nmodel: flash\ncolor: \"#3B82F6\"\ntools:\n  allow: [read_file, edit_file, bash, grep]\n  deny: [web_fetch]\n"+
			"triggers:\n  keywords:\n    - word%d\n    - other\n  examples:\n    - do the work of number %d\n    - go on with it\nhandoffs:\n  - to: agent-%d\n    when: manual\n    description: The next one.\nrun:\n  max_turns: 20\n---\n", i, i, description, i, i, i+1)
	case 1:
		fmt.Fprintf(&b, "---\nname: agent-%d\ndescription: %q\ntools: Read, Write, Edit, Glob, Grep, WebFetch\nmodel: haiku\n---\n\n", i, description)
	case 2:
		fmt.Fprintf(&b, "---\nname: agent-%d\ndescription: %s\nmodel: sonnet\n---\n\n", i, description)
	case 3:
		fmt.Fprintf(&b, "---\nname: Agent %d\ndescription: %s\ncolor: green\nemoji: 💸\nvibe: Works everywhere — crypto, fiat — so you need not.\n---\n\n", i, description)
	case 4:
		fmt.Fprintf(&b, "---\nname: agent-%d\ndescription: '%s'\nargument-hint: Say what it is about.\ntools: ['execute', 'read', 'search', 'search/codebase', 'editFiles']\nmodel: 'Claude Sonnet 4.5'\n---\n\n", i, description)
	}
	fmt.Fprintf(&b, "# Agent %d\n\nYou are number %d.\n", i, i)
	prose(r, &b, 600+r.IntN(3000))
	return b.String()
}

// generate writes n agent files of agentText.
func generate(b testing.TB, n int) Config {
	dir := filepath.Join(b.TempDir(), "w", ".gemini", "agents")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("agent-%d.md", i)), []byte(agentText(i)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return Config{Places: []Place{{Scope: definition.Project, Folder: filepath.Dir(filepath.Dir(dir)), Dir: dir}}}
}

// TestREL109TenThousandFiles: all are indexed and found.
func TestREL109TenThousandFiles(t *testing.T) {
	s, err := New(generate(t, 10000)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Entries()) != 10000+len(systemAgents()) {
		t.Fatalf("%d entries", len(s.Entries()))
	}
	for _, e := range s.Entries() {
		if e.State != OK {
			t.Fatalf("%s: %v", e.Definition.Name, e.Problems)
		}
	}
	for i := range 10000 {
		if e, err := s.Lookup("", fmt.Sprint("agent-", i)); err != nil || !strings.Contains(e.Definition.Prompt, fmt.Sprintf("You are number %d.", i)) {
			t.Fatal(i, err)
		}
	}
}

// BenchmarkLoad10k reads 10,000 files, each for the first time (spec 13:
// ≤ 0.6 s). live-MiB is what the registry keeps afterwards, file-MiB what the
// files hold; what an operation allocates beyond live-MiB is garbage. On two
// cores: 0.15–0.25 s, 49 MB and 240,000 allocations; before files were read into
// memory that is used again, 0.53 s, 142 MB and 718,000, with 49 live-MiB for 39.
func BenchmarkLoad10k(b *testing.B) {
	config := generate(b, 10000)
	var r *Registry
	before := live()
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		r = New(config)
		if _, err := r.Load(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(live()-before)/(1<<20), "live-MiB")
	size := 0
	for i := range 10000 {
		size += len(agentText(i))
	}
	b.ReportMetric(float64(size)/(1<<20), "file-MiB")
	runtime.KeepAlive(r)
}

// live returns the bytes that are in use.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkReload10k looks at 10,000 files of which none changed.
func BenchmarkReload10k(b *testing.B) {
	r := New(generate(b, 10000))
	if _, err := r.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.Load(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkApplyOneOf10k reads one changed file again and says what changed: some
// 1 ms, of which the file's own is the most. It was 27 ms when all was decided
// anew.
func BenchmarkApplyOneOf10k(b *testing.B) {
	config := generate(b, 10000)
	r := New(config)
	if _, err := r.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(config.Places[0].Dir, "agent-77.md")
	i := 0
	for b.Loop() {
		b.StopTimer()
		i++
		if err := os.WriteFile(path, fmt.Appendf(nil, "---\nkind: agent\nname: agent-77\ntitle: T\n---\nTurn %d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		before := r.Snapshot()
		after, err := r.Apply(b.Context(), []string{path}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if changed, _ := after.Diff(before); len(changed) != 1 {
			b.Fatal(changed)
		}
	}
}
