package definition

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// publicFiles returns the public agent files beside the checkout, by collection.
func publicFiles(t testing.TB) map[string][]string {
	root := filepath.Join("..", "..", "..", "shared", "data", "agents")
	dirs, _ := filepath.Glob(filepath.Join(root, "*"))
	if len(dirs) == 0 {
		t.Skip("the public agent files are not there")
	}
	files := make(map[string][]string)
	for _, dir := range dirs {
		found, _ := filepath.Glob(filepath.Join(dir, "*.md"))
		files[filepath.Base(dir)] = found
	}
	return files
}

// TestPublicCollections: every public file loads, in its own dialect, with
// findings that lie in the file.
func TestPublicCollections(t *testing.T) {
	want := map[string]Dialect{"copilot": Copilot, "claude-voltagent": Claude, "claude-wshobson": Claude, "agency": Claude}
	for collection, files := range publicFiles(t) {
		t.Run(collection, func(t *testing.T) {
			codes := make(map[string]int)
			usable := 0
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				d := Parse(Source{Path: file, Scope: Project, Data: data})
				ok, reason := d.Usable()
				if ok {
					usable++
				} else {
					t.Errorf("%s:%d:%d: %s: %s", filepath.Base(file), reason.Range.Start.Line+1, reason.Range.Start.Character+1, reason.Code, reason.Message)
				}
				if d.Dialect != want[collection] {
					t.Errorf("%s: dialect %s", filepath.Base(file), d.Dialect)
				}
				if !validName(d.Name) || d.Title == "" || d.Description == "" || d.Prompt == "" || len(d.Authority) > 0 {
					t.Errorf("%s: name %q title %q authority %v", filepath.Base(file), d.Name, d.Title, d.Authority)
				}
				if _, restricted := d.FrontMatter()["tools"]; restricted && !d.Tools.Given {
					t.Errorf("%s: the list of tools is lost", filepath.Base(file))
				}
				checkProblems(t, string(data), d)
				for _, p := range d.Problems {
					codes[fmt.Sprintf("%s (%s)", p.Code, p.Severity)]++
				}
			}
			t.Logf("%d files, %d usable, findings %v", len(files), usable, codes)
		})
	}
}

// checkProblems: findings are complete, ordered, and their ranges are places of
// the text.
func checkProblems(t testing.TB, src string, d *Definition) {
	t.Helper()
	starts := lineStarts(src)
	inside := func(p Position) bool {
		if int(p.Line) >= len(starts) {
			return false
		}
		units := uint32(0)
		for _, r := range src[starts[p.Line]:lineEnd(src, starts[p.Line])] {
			units++
			if r > 0xFFFF {
				units++
			}
		}
		return p.Character <= units+2
	}
	var last Position
	for _, p := range d.Problems {
		if !inside(p.Range.Start) || !inside(p.Range.End) {
			t.Fatalf("%s: range %v is outside the text", p.Code, p.Range)
		}
		if less(p.Range.End, p.Range.Start) || less(p.Range.Start, last) {
			t.Fatalf("%s: range %v is out of order (before: %v)", p.Code, p.Range, last)
		}
		if p.Message == "" || p.Code == "" || p.Severity == "" {
			t.Fatalf("incomplete problem %+v", p)
		}
		last = p.Range.Start
	}
}

func less(a, b Position) bool {
	return a.Line < b.Line || (a.Line == b.Line && a.Character < b.Character)
}

// BenchmarkParsePublic reads every public file once an operation's share.
func BenchmarkParsePublic(b *testing.B) {
	var sources []Source
	scratch := new(Scratch)
	size := 0
	for _, files := range publicFiles(b) {
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			size += len(data)
			sources = append(sources, Source{Path: file, Scope: Project, Data: data, Scratch: scratch})
		}
	}
	b.SetBytes(int64(size / len(sources)))
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		Parse(sources[i%len(sources)])
		i++
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
