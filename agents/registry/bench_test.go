package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

// generate writes n agent files of about 3 KB.
func generate(b testing.TB, n int) Config {
	dir := filepath.Join(b.TempDir(), "w", ".gemini", "agents")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	body := strings.Repeat("Read the code first, then change as little as you can.\n", 48)
	for i := range n {
		text := fmt.Sprintf("---\nkind: agent\nname: agent-%d\ntitle: Agent %d\ndescription: \"Agent number %d, for what it is for: work.\"\nmodel: flash\ntools:\n  allow: [read_file, edit_file, bash, grep]\ntriggers:\n  keywords:\n    - word%d\n    - other\nrun:\n  max_turns: 20\n---\n%s", i, i, i, i, body)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("agent-%d.md", i)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return Config{Places: []Place{{Scope: definition.Project, Folder: filepath.Dir(filepath.Dir(dir)), Dir: dir}}}
}

// TestREL109TenThousandFiles: all are indexed and found.
func TestREL109TenThousandFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 10,000 files")
	}
	s, err := New(generate(t, 10000)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Entries()) != 10001 {
		t.Fatalf("%d entries", len(s.Entries()))
	}
	for _, e := range s.Entries() {
		if e.State != OK || len(e.Problems) > 0 {
			t.Fatalf("%s: %v", e.Definition.Name, e.Problems)
		}
	}
}

// BenchmarkLoad10k reads 10,000 files, each for the first time.
func BenchmarkLoad10k(b *testing.B) {
	config := generate(b, 10000)
	b.ResetTimer()
	for b.Loop() {
		if _, err := New(config).Load(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
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

// BenchmarkApplyOneOf10k reads one changed file again.
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
		if _, err := r.Apply(b.Context(), []string{path}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
