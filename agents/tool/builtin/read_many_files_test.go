package builtin_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// shown returns the names of the files that a result shows, in their order.
func shown(content string) string {
	var names []string
	for line := range strings.Lines(content) {
		if name, ok := strings.CutPrefix(line, "--- "); ok {
			names = append(names, strings.TrimSuffix(name, " ---\n"))
		}
	}
	return strings.Join(names, " ")
}

func TestReadManyFilesShowsEachBelowItsName(t *testing.T) {
	w := tooltest.New(t, map[string]string{"b.txt": "b\n", "a.txt": "one\r\ntwo", "empty": "", "src/c.go": "package c\n"})
	r := call(t, w.Env(), "read_many_files", "include", []string{"*", "src"})
	want := "--- a.txt ---\none\ntwo\n\n--- b.txt ---\nb\n\n--- empty ---\nThe file is empty.\n\n--- src/c.go ---\npackage c\n\n"
	if r.Content != want || r.Display != "Read 4 files" {
		t.Errorf("got %q, %q", r.Content, r.Display)
	}
}

func TestReadManyFilesSelects(t *testing.T) {
	w := tooltest.New(t, map[string]string{
		"a.go": "x", "a_test.go": "x", "README.md": "x", "docs/one.md": "x", "docs/deep/two.md": "x", "docs/deep/data.txt": "x", "gen/g.go": "x", "keep.log": "x", "x.log": "x", ".gitignore": "gen/\n*.log\n", ".geminiignore": "docs/deep/two.md\n",
		".git/config": "x", "[id].ts": "x", "i.ts": "x", "new\nline.ts": "x",
	})
	if err := os.Symlink("a.go", w.Path("linked.go")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		include, exclude []string
		want             string
	}{
		{[]string{"**/*.go"}, nil, "a.go a_test.go"},
		{[]string{"**/*.go"}, []string{"*_test.go"}, "a.go"},
		{[]string{"**/*.go"}, []string{"**/*_test.*"}, "a.go"},
		{[]string{"./*.{go,md}"}, []string{"a*"}, "README.md"},
		{[]string{"docs"}, nil, "docs/deep/data.txt docs/one.md"},
		{[]string{"docs/"}, []string{"deep"}, "docs/one.md"},
		{[]string{"docs/**"}, []string{"docs/deep/"}, "docs/one.md"},
		{[]string{"docs/**"}, []string{w.Path("docs/deep")}, "docs/one.md"},
		{[]string{"docs/*", "docs/one.md", "**/one.md"}, nil, "docs/one.md"},
		{[]string{w.Folder + "/docs/*.md", "a.go"}, nil, "a.go docs/one.md"},
		// What is named is read, hidden or not, as a link is followed that is named.
		{[]string{"docs/deep/two.md", "x.log", "linked.go"}, nil, "a.go docs/deep/two.md x.log"},
		{[]string{"gen"}, nil, "gen/g.go"},
		{[]string{"gen/*.go"}, nil, "gen/g.go"},
		{[]string{"*.log", "g*n/*.go", "l*.go"}, nil, ""},
		{[]string{"[id].ts"}, nil, "[id].ts"},
		{[]string{"[i].ts"}, nil, "i.ts"},
		{[]string{"*line.ts"}, nil, `"new\nline.ts"`},
		{[]string{"none/**"}, nil, ""},
	} {
		pairs := []any{"include", c.include}
		if c.exclude != nil {
			pairs = append(pairs, "exclude", c.exclude)
		}
		r := call(t, w.Env(), "read_many_files", pairs...)
		if got := shown(r.Content); got != c.want || (c.want == "" && r.Content != "No file matches.\n") {
			t.Errorf("%q without %q: %s, want %s\n%s", c.include, c.exclude, got, c.want, r.Content)
		}
	}
	refused(t, w.Env(), tool.CodeArgs, "read_many_files", "include", []string{"{a"})
	refused(t, w.Env(), tool.CodeArgs, "read_many_files", "include", []string{"a"}, "exclude", []string{"[a"})
	refused(t, w.Env(), tool.CodeArgs, "read_many_files", "include", []string{})
	if r := call(t, w.Env(), "read_many_files", "include", []string{"gone.txt", "a.go"}); shown(r.Content) != "a.go" || !strings.Contains(r.Content, "\n- gone.txt does not exist.\n") {
		t.Errorf("a name of nothing: %s", r.Content)
	}
}

func TestReadManyFilesSeesTheBuffers(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "disk\n", "sub/b.txt": "disk\n", ".gitignore": "hidden.txt\n"})
	w.Edit("a.txt", "buffer\n")
	w.Edit("sub/new.txt", "only in the editor\n")
	w.Edit("hidden.txt", "hidden\n")
	w.Edit(".env", "KEY=1\n")
	env := w.Env()
	r := call(t, env, "read_many_files", "include", []string{"**/*.txt", "**/.e*"})
	if want := "--- a.txt ---\nbuffer\n\n--- sub/b.txt ---\ndisk\n\n--- sub/new.txt ---\nonly in the editor\n\n[1 files are left out"; !strings.HasPrefix(r.Content, want) {
		t.Errorf("got %q", r.Content)
	}
	// Each was seen as it is, so each may be changed.
	for _, name := range []string{"a.txt", "sub/b.txt", "sub/new.txt"} {
		call(t, env, "write_file", "file_path", name, "content", "written\n")
	}
	w.Edit("a.txt", "typed meanwhile\n")
	refused(t, env, tool.CodeStale, "write_file", "file_path", "a.txt", "content", "x")
}

func TestReadManyFilesSaysWhatIsLeftOut(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 600) // 60,000 characters
	w := tooltest.New(t, map[string]string{
		"a.txt": "small\n", "long.txt": long, "z.txt": "small, too\n", "huge.txt": strings.Repeat("y", 2<<20), "data.bin": "\x00\x01", "logo.png": pngFile(t), "paper.pdf": pdf, "wide.txt": strings.Repeat("w", 5000), "bad.png": "\x89PNG\r\n\x1a\n\x00",
	})
	env := w.Env()
	r := call(t, env, "read_many_files", "include", []string{"*"})
	if got := shown(r.Content); got != "a.txt long.txt wide.txt z.txt" || len(r.Media) != 0 {
		t.Errorf("shows %s, %d media", got, len(r.Media))
	}
	for _, want := range []string{
		"[lines 1 to 80 of 600; read on with offset 80]\n", "\n[7 files are left out, or not whole. Read them with read_file, or narrow include and exclude:]\n",
		"\n- long.txt: 80 lines of it are above, and not the whole of it\n", "\n- huge.txt: it is long (2097152 bytes)\n", "\n- data.bin is not text: it is ", "\n- logo.png: image/png, ", "give its name, or a pattern with its extension",
		"\n- paper.pdf: application/pdf, ", "\n- bad.png begins like image/png, but is damaged", "\n- wide.txt: 1 lines of it are above, and not the whole of it\n",
	} {
		if !strings.Contains(r.Content, want) {
			t.Errorf("no %q in\n%.300s…\n%s", want, r.Content, r.Content[strings.LastIndex(r.Content, "\n["):])
		}
	}
	for name, want := range map[string]bool{"a.txt": true, "z.txt": true, "long.txt": false, "wide.txt": false, "huge.txt": false, "logo.png": false} {
		if (env.Seen.Digest(w.Path(name)) != "") != want {
			t.Errorf("%s counts as seen: %v", name, !want)
		}
	}
	if !strings.HasPrefix(r.Display, "Read 4 files, 7 more not or not whole") {
		t.Errorf("people see %q", r.Display)
	}
	// Images are looked at by their names and extensions.
	for _, include := range []string{"logo.png", "*.png", "l*.{gif,png}", "**/*.PNG", "**/logo.PN[G]"} {
		r := call(t, env, "read_many_files", "include", []string{"*", include}, "exclude", []string{"bad.png"})
		if got := len(r.Media) == 1; got != !strings.Contains(include, "PN") {
			t.Errorf("%s: %d media: %s", include, len(r.Media), r.Content)
		}
	}
	if r := call(t, env, "read_many_files", "include", []string{"*.p*"}); r.Media != nil {
		t.Errorf("%d media by half an extension", len(r.Media))
	}
	r = call(t, env, "read_many_files", "include", []string{"logo.png", "paper.pdf"})
	if len(r.Media) != 2 || r.Media[0].MimeType != "image/png" || r.Media[1].MimeType != "application/pdf" || !strings.Contains(r.Content, "--- logo.png ---\n[attached: image/png, ") {
		t.Errorf("%d media: %s", len(r.Media), r.Content)
	}
	if env.Seen.Digest(w.Path("logo.png")) == "" {
		t.Error("an image that was attached does not count as seen")
	}
}

// TestReadManyFilesStaysWithinTheResult holds that the run has nothing to cut,
// and that what counts as seen was shown, whatever the files are.
func TestReadManyFilesStaysWithinTheResult(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for round := range 12 {
		files := make(map[string]string)
		for i := range []int{5, 60, 400}[round%3] {
			size := []int{0, 40, 700, 9000, 100_000}[r.IntN(5)]
			line := strings.Repeat([]string{"x", "é", "界", "\xf0\x9f\x98\x80"}[r.IntN(4)], 1+r.IntN(3000)) + "\n"
			if r.IntN(2) == 0 {
				line = line[:0] + "ordinary line of text\n"
			}
			files[fmt.Sprintf("%s/f%d", strings.Repeat("d", r.IntN(200)+1), i)] = strings.Repeat(line, size/len(line)+min(size, 1))
		}
		w := tooltest.New(t, files)
		env := w.Env()
		got := call(t, env, "read_many_files", "include", []string{"**"})
		if _, cut := tool.Cut(got.Content); cut {
			t.Fatalf("round %d: %d bytes are cut", round, len(got.Content))
		}
		names := strings.Fields(shown(got.Content))
		if len(names) == 0 || len(names) > 200 {
			t.Errorf("round %d: %d files", round, len(names))
		}
		for name, text := range files {
			whole := strings.Contains(got.Content, "--- "+name+" ---\n"+text)
			if seen := env.Seen.Digest(w.Path(name)) != ""; seen && text != "" && !whole {
				t.Errorf("round %d: %s counts as seen and was not shown", round, name)
			}
		}
	}
}

func TestSEC126ReadManyFilesReadsNoMoreThanItMay(t *testing.T) {
	files := make(map[string]string)
	for i := range 90 {
		files[fmt.Sprintf("f%02d.bin", i)] = strings.Repeat("\x00", 1<<20)
	}
	w := tooltest.New(t, files)
	r := call(t, w.Env(), "read_many_files", "include", []string{"*.bin"})
	if !strings.Contains(r.Content, "f63.bin is not text") || !strings.Contains(r.Content, "f64.bin: enough was read in one call (67108864 bytes)") {
		t.Errorf("%.3000s", r.Content)
	}
}

func TestSEC74ReadManyFilesWithNamesThatAreNotSeen(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "x"})
	p, err := named(t, "read_many_files").Plan(t.Context(), w.Env(), []byte(args(t, "include", []string{"a.txt", "b\u202etxt*"})))
	if err != nil || p.Risk != tool.Low || tool.Suspicious(p.Title) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestReadManyFilesReadsBlobsThatAreNamed(t *testing.T) {
	w := tooltest.New(t, nil)
	env := w.Env()
	env.Blobs = filepath.Join(filepath.Dir(w.Folder), "blobs")
	if err := os.Mkdir(env.Blobs, 0o700); err != nil {
		t.Fatal(err)
	}
	blob := filepath.Join(env.Blobs, "abc")
	if err := os.WriteFile(blob, []byte("whole\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := call(t, env, "read_many_files", "include", []string{blob}); !strings.Contains(r.Content, "whole\n") {
		t.Errorf("got %q", r.Content)
	}
	refused(t, env, tool.CodeOutside, "read_many_files", "include", []string{env.Blobs})
	refused(t, env, tool.CodeOutside, "read_many_files", "include", []string{env.Blobs + "/*"})
}

func BenchmarkReadManyFiles(b *testing.B) {
	w := tree(b, 2_000)
	env := w.Env()
	for b.Loop() {
		if r := call(b, env, "read_many_files", "include", []string{"**/*.go"}, "exclude", []string{"d1*"}); !strings.Contains(r.Content, "files are left out") {
			b.Fatal(r.Content)
		}
	}
}
