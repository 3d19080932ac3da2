package builtin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// ripgrep skips where it is not installed.
func ripgrep(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("no rg here: the engines are not compared")
	}
}

// both searches with each engine: ripgrep is used in trusted folders only.
func both(t testing.TB, w *tooltest.Workspace, pairs ...any) (with, without string) {
	t.Helper()
	trusted, untrusted := w.Env(), w.Env()
	untrusted.Trusted = false
	return call(t, trusted, "grep", pairs...).Content, call(t, untrusted, "grep", pairs...).Content
}

// corpus is files with all that the engines could see differently.
var corpus = map[string]string{
	"a.go": "package a\n\nfunc Alpha() {}\n\t// alpha again\nlast line", "b/b.go": "package b\r\nfunc Beta() {}\r\n", "b/c/deep.txt": "alpha\nbeta\ngamma\n\ndelta\nalpha beta\n",
	"utf8.txt": "ünïcödé wörd\nαλφα 1\n", "utf16.txt": "\xff\xfea\x00l\x00p\x00h\x00a\x00\n\x00x\x00", "bom.txt": "\xef\xbb\xbfalpha\n", "latin.txt": "caf\xe9x alpha\n", "bin.dat": "alpha\x00alpha\n", "late.dat": "alpha\n" + strings.Repeat(strings.Repeat("z", 999)+"\n", 200) + "\x00",
	".hidden/x.txt": "alpha hidden\n", ".gitignore": "ignored/\n*.log\n!keep.log\n/rooted.txt\n", "ignored/x.txt": "alpha\n", "x.log": "alpha\n", "keep.log": "alpha\n", "rooted.txt": "alpha\n", "b/rooted.txt": "alpha\n",
	"b/.gitignore": "local.txt\n!x.log\n", "b/local.txt": "alpha\n", "b/x.log": "alpha\n", ".geminiignore": "secretdir/\n", "secretdir/x": "alpha\n", "b/.geminiignore": "nested.txt\n", "b/nested.txt": "alpha\n", ".ignore": "a.go\n",
	".git/config": "alpha\n", "sub/.git/x": "alpha\n", ".env": "alpha\n", "empty": "", "blank": "\n\n\n", "-rf": "alpha\n", "sp ace/f ile": "alpha\n", "tab.txt": "\talpha\tx\n", "turkish": "\u0130abc\n", "kelvin": "\u212aelvin laſt line\n", "nonl": "alpha",
}

func TestGrepEnginesAgree(t *testing.T) {
	ripgrep(t)
	w := tooltest.New(t, corpus)
	if err := os.Symlink("b", w.Path("linked")); err != nil {
		t.Fatal(err)
	}
	patterns := []string{
		"alpha", "(?i)ALPHA", "(?i)deLTa|x", "(?i)(alpha) beta", "(?i)kelvin", "(?i)\u0130abc", "(?i)last line", "(?:alpha)+", "(?:zeta)*alpha", "(?:Beta){1,2}", "^alpha$", "alpha$", "^", "$", "^$", `\bbeta\b`, `\w+ö`, `\d`, `\s`, `a.c`, "[[:alpha:]]+", "(a|b)l", `\.`, "x{2}", "gamma|delta", `\Balpha`, "é", `α`, "{}", `\{`, "nothing at all", "[^a-z]$", `(?s)a.b`, `\x61`, `p{2}`, `(?i)É`, `\S+\s+\S+`, "a*", `\Aalpha`, `alpha\z`, "\talpha", "e\r$",
	}
	for i, p := range patterns {
		for j, extra := range [][]any{{}, {"context", 1}, {"include", "*.{go,txt}"}, {"include", "b/**/*.txt"}, {"dir_path", "b"}, {"dir_path", "b/c/deep.txt"}, {"dir_path", "ignored"}, {"limit", 2}, {"limit", 2000, "context", 3}} {
			if testing.Short() && (i+j)%3 > 0 {
				continue // each pattern and each option still occurs, not all pairs
			}
			with, without := both(t, w, append([]any{"pattern", p}, extra...)...)
			if with != without {
				t.Errorf("%q %v\nripgrep:\n%s\nbuilt in:\n%s", p, extra, with, without)
			}
		}
	}
	with, _ := both(t, w, "pattern", "alpha", "limit", 2000)
	for _, wrong := range []string{"ignored/", "File: x.log", "secretdir", "nested.txt", "local.txt", ".git/", ".env", "linked/", "bin.dat", "late.dat", "File: rooted.txt"} {
		if strings.Contains(with, wrong) {
			t.Errorf("%s was searched:\n%s", wrong, with)
		}
	}
	for _, right := range []string{"keep.log", "b/rooted.txt", ".hidden/x.txt", "utf16.txt", "b/x.log", "a.go", "sp ace/f ile"} {
		if !strings.Contains(with, "File: "+right+"\n") {
			t.Errorf("%s was not searched:\n%s", right, with)
		}
	}
}

func TestGrepEnginesAgreeOnRandomTexts(t *testing.T) {
	ripgrep(t)
	r := rand.New(rand.NewPCG(7, 7))
	alphabet := []string{"a", "b", "ab", " ", "\n", "\n", "é", "1", "_", "\t", "\r\n", "x"}
	pieces := []string{"a", "b", ".", "[ab]", "\\b", "\\w", "\\s", "^", "$", "a*", "b?", "(a|b)", "é", "1+", "\\S", "[^a]", "x"}
	files := make(map[string]string)
	for i := range 30 {
		var b strings.Builder
		for range r.IntN(40) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		files[fmt.Sprintf("f%02d", i)] = b.String()
	}
	w := tooltest.New(t, files)
	for range 60 {
		var p strings.Builder
		for range 1 + r.IntN(4) {
			p.WriteString(pieces[r.IntN(len(pieces))])
		}
		if strings.Contains(p.String(), "**") || strings.Contains(p.String(), "+*") {
			continue
		}
		env := w.Env()
		if _, err := named(t, "grep").Plan(t.Context(), env, []byte(args(t, "pattern", p.String()))); err != nil {
			continue
		}
		with, without := both(t, w, "pattern", p.String(), "context", r.IntN(3), "limit", 2000)
		if with != without {
			t.Errorf("%q\nripgrep:\n%s\nbuilt in:\n%s", p.String(), with, without)
		}
	}
}

func TestGrepSeesUnsavedBuffers(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "disk needle\n", "b.txt": "disk\n", "c/d.txt": "x\n", ".gitignore": "ignored.txt\n"})
	w.Edit("a.txt", "buffer\n")
	w.Edit("b.txt", "\nbuffer needle\n")
	w.Edit("new.txt", "needle in a new file\n")
	w.Edit("ignored.txt", "needle\n")
	w.Edit(".env", "needle\n")
	for _, trusted := range []bool{true, false} {
		env := w.Env()
		env.Trusted = trusted
		r := call(t, env, "grep", "pattern", "needle")
		if want := "2 matches for needle in 2 files of .:\n---\nFile: b.txt\nL2: buffer needle\n---\nFile: new.txt\nL1: needle in a new file\n---\n"; r.Content != want {
			t.Errorf("trusted %v: %s", trusted, r.Content)
		}
		if r := call(t, env, "grep", "pattern", "needle", "dir_path", "c"); !strings.HasPrefix(r.Content, "No match") {
			t.Errorf("elsewhere: %s", r.Content)
		}
		if r := call(t, env, "grep", "pattern", "needle", "dir_path", "b.txt"); !strings.Contains(r.Content, "1 matches") {
			t.Errorf("the file itself: %s", r.Content)
		}
	}
}

func TestSEC126LongLinesAndLargeFiles(t *testing.T) {
	w := tooltest.New(t, map[string]string{
		"long.txt": strings.Repeat("é", 500_000) + "needle\nneedle two\n", "longer.txt": strings.Repeat("x", 6<<20) + "needle\nneedle three\n", "large.txt": strings.Repeat("needle\n", 3<<20), "a.txt": "needle\n",
	})
	for _, trusted := range []bool{true, false} {
		env := w.Env()
		env.Trusted = trusted
		r := call(t, env, "grep", "pattern", "needle")
		if strings.Contains(r.Content, "large.txt") || !strings.HasPrefix(r.Content, "5 matches") || len(r.Content) > 5000 || strings.Contains(r.Content, "\ufffd") || !strings.Contains(r.Content, "L1: ééé") || !strings.Contains(r.Content, "é…\n") {
			t.Errorf("trusted %v: %d bytes: %.400s", trusted, len(r.Content), r.Content)
		}
	}
	refused(t, w.Env(), tool.CodeArgs, "grep", "pattern", "(")
	refused(t, w.Env(), tool.CodeArgs, "grep", "pattern", "(?=x)")
	refused(t, w.Env(), tool.CodeArgs, "grep", "pattern", strings.Repeat("x", 2000))
	refused(t, w.Env(), tool.CodeArgs, "grep", "pattern", "x", "include", "[")
}

// TestGlobsOfTooManyAlternatives are refused: the time to match one grows with their number.
func TestGlobsOfTooManyAlternatives(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "x\n"})
	many := strings.Repeat("{*,*?}", 30) + "!"
	refused(t, w.Env(), tool.CodeArgs, "glob", "pattern", many)
	refused(t, w.Env(), tool.CodeArgs, "grep", "pattern", "x", "include", many)
	refused(t, w.Env(), tool.CodeArgs, "ls", "ignore", []string{many})
	refused(t, w.Env(), tool.CodeArgs, "ls", "ignore", []string{strings.Repeat("{a}", 1000)})
	refused(t, w.Env(), tool.CodeArgs, "read_many_files", "include", []string{many})
	refused(t, w.Env(), tool.CodeArgs, "read_many_files", "include", []string{"*"}, "exclude", []string{many})
	if r := call(t, w.Env(), "glob", "pattern", "**/*.{ts,tsx,{t,m}{xt,d}}"); r.Content != "a.txt\n" {
		t.Error(r.Content)
	}
}

func TestGrepCountsWhatIsLeftOut(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a": strings.Repeat("x\n", 150), "b": strings.Repeat("x\n", 150)})
	with, without := both(t, w, "pattern", "x")
	for _, got := range []string{with, without} {
		if !strings.HasPrefix(got, "300 matches for x in 2 files of .:\n") || !strings.HasSuffix(got, "[100 more matches are left out: narrow the search or raise limit]\n") {
			t.Errorf("got %.60q … %q", got, got[len(got)-100:])
		}
	}
}

func TestREL80BudgetsEndASearch(t *testing.T) {
	files := make(map[string]string)
	for i := range 40 {
		files[fmt.Sprintf("d%d/f", i)] = strings.Repeat("x\n", 500)
	}
	w := tooltest.New(t, files)
	with, without := both(t, w, "pattern", "x", "limit", 1)
	for _, got := range []string{with, without} {
		if !strings.Contains(got, "[partial: ") {
			t.Errorf("20,000 matches are not partial: %s", got)
		}
	}
	// Lines of context are no matches, and one file may have more matches than are taken.
	w.Put(t, "one", strings.Repeat("y\n"+strings.Repeat("\n", 49), 900))
	w.Put(t, "many", strings.Repeat("z\n", 40_000))
	with, without = both(t, w, "pattern", "y", "context", 20)
	for _, got := range []string{with, without} {
		if !strings.HasPrefix(got, "900 matches") || strings.Contains(got, "[partial: ") {
			t.Errorf("900 matches with their context: %.40s", got)
		}
	}
	with, without = both(t, w, "pattern", "z", "dir_path", "many")
	for _, got := range []string{with, without} {
		if !strings.Contains(got, "[partial: ") {
			t.Errorf("40,000 matches of one file are not partial: %.40s", got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"grep", "glob"} {
		if _, err := tooltest.Run(ctx, named(t, name), w.Env(), `{"pattern":"x"}`); err == nil {
			t.Errorf("%s goes on after its run", name)
		}
	}
	if err := os.Chmod(w.Path("d3"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(w.Path("d3"), 0o755)
	if with, without := both(t, w, "pattern", "x", "dir_path", "."); with == "" || without == "" {
		t.Error("a hole in the permissions ends the search")
	}
}

// TestREL80ALongLineEndsWithTheSearch: what takes long for one line of megabytes, as those of
// bundled scripts, is over when the call is.
func TestREL80ALongLineEndsWithTheSearch(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.js": strings.Repeat("var a=b(c);", 500_000) + "needle\n", "b.js": strings.Repeat("x\n", 1<<20) + "needle\n"})
	env := w.Env()
	env.Trusted = false // the built-in engine
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := tooltest.Spent()
	r, err := tooltest.Run(ctx, named(t, "grep"), env, args(t, "pattern", ".{0,200}needle"))
	if took := tooltest.Spent() - began; err == nil || took > 5*time.Second {
		t.Errorf("%v, %v after %v", r, err, took)
	}
	if r := call(t, env, "grep", "pattern", "v{0,2}ar a.b", "context", 1); !strings.HasPrefix(r.Content, "1 matches") || strings.Contains(r.Content, "[partial") {
		t.Errorf("a long line: %.200s", r.Content)
	}
	if r := call(t, env, "grep", "pattern", "^x?needle$", "context", 1); !strings.Contains(r.Content, "L1048576- x\nL1048577: needle\n") {
		t.Errorf("many lines: %.200s", r.Content)
	}
}

// TestGrepWhereRipgrepDies: what it came to is not told as all there is.
func TestGrepWhereRipgrepDies(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "needle\n", "b.txt": "needle\n"})
	for _, end := range []string{"kill -9 $$", "exit 134"} {
		path := t.TempDir()
		script := `#!/bin/sh
printf '%s\n' '{"type":"begin","data":{"path":{"text":"./a.txt"}}}'
printf '%s\n' '{"type":"match","data":{"path":{"text":"./a.txt"},"lines":{"text":"needle\n"},"line_number":1}}'
` + end + "\n"
		if err := os.WriteFile(filepath.Join(path, "rg"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		env := w.Env()
		env.Environ = []string{"PATH=" + path}
		if r := call(t, env, "grep", "pattern", "needle"); !strings.HasPrefix(r.Content, "2 matches") {
			t.Errorf("%s: %s", end, r.Content)
		}
	}
}

func TestSEC62LoopsOfLinks(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a/b/c.txt": "needle\n"})
	for name, target := range map[string]string{"a/loop": "..", "a/b/self": ".", "root": "/", "x": "y", "y": "x"} {
		if err := os.Symlink(target, w.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	with, without := both(t, w, "pattern", "needle")
	if with != without || !strings.HasPrefix(with, "1 matches") {
		t.Errorf("%s%s", with, without)
	}
	if r := call(t, w.Env(), "glob", "pattern", "**/*"); r.Content != "a/b/c.txt\n" {
		t.Errorf("glob: %q", r.Content)
	}
}

func TestGlobOrder(t *testing.T) {
	w := tooltest.New(t, map[string]string{"old_b.go": "", "old_a.go": "", "new_1.go": "", "new_2.go": "", "x.txt": "", "src/deep/z.go": "", ".gitignore": "gen/\n", "gen/g.go": "", ".geminiignore": "skip.go", "skip.go": "", ".git/x.go": "", ".hid/h.go": ""})
	now := time.Now()
	for name, age := range map[string]time.Duration{"old_b.go": 48 * time.Hour, "old_a.go": 72 * time.Hour, "new_1.go": 2 * time.Hour, "new_2.go": time.Hour, "src/deep/z.go": 100 * time.Hour, ".hid/h.go": 30 * time.Hour} {
		if err := os.Chtimes(w.Path(name), now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	env := w.Env()
	env.Now = func() time.Time { return now }
	for pattern, want := range map[string]string{
		"**/*.go": "new_2.go new_1.go .hid/h.go old_a.go old_b.go src/deep/z.go", "*.{go,txt}": "x.txt new_2.go new_1.go old_a.go old_b.go", "src/**": "src/deep/z.go", "./src/*/*.go": "src/deep/z.go", w.Folder + "/src/**/*.go": "src/deep/z.go",
	} {
		r := call(t, env, "glob", "pattern", pattern)
		if got := strings.Join(strings.Fields(r.Content), " "); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
	if r := call(t, env, "glob", "pattern", "*.go", "dir_path", "src/deep"); r.Content != "src/deep/z.go\n" {
		t.Errorf("below a folder: %q", r.Content)
	}
	if r := call(t, env, "glob", "pattern", "*.go", "dir_path", "gen"); r.Content != "gen/g.go\n" {
		t.Errorf("in a folder that is hidden: %q", r.Content)
	}
	if r := call(t, env, "glob", "pattern", "*.rs"); !strings.HasPrefix(r.Content, "No file matches") {
		t.Errorf("none: %q", r.Content)
	}
	refused(t, env, tool.CodeArgs, "glob", "pattern", "[")
	refused(t, env, tool.CodeOutside, "glob", "pattern", "/etc/*")
}

// TestIgnoreFilesAgreeWithGit compares with what git itself would list.
func TestIgnoreFilesAgreeWithGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git here")
	}
	w := tooltest.New(t, map[string]string{
		".gitignore": "*.o\nbuild/\n/top\n!important.o\nfoo/*\n!foo/bar\n**/deep/x\ndoc/*.txt\n# comment\n\\#hash\nsp\\ ace\n", "a.o": "", "important.o": "", "build/x": "", "src/build/x": "", "top": "", "src/top": "", "foo/a": "", "foo/bar": "", "q/deep/x": "", "deep/x": "",
		"doc/a.txt": "", "doc/sub/a.txt": "", "#hash": "", "sp ace": "", "src/.gitignore": "*.c\n!keep.c\n", "src/a.c": "", "src/keep.c": "", "src/in/b.c": "", "other.c": "",
	})
	for _, a := range [][]string{{"init", "-q"}, {"add", "."}} {
		cmd := exec.Command(git, a...)
		cmd.Dir = w.Folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", a, out)
		}
	}
	cmd := exec.Command(git, "ls-files", "-z")
	cmd.Dir = w.Folder
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]bool)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		want[name] = true
	}
	got := strings.Split(strings.TrimSuffix(call(t, w.Env(), "glob", "pattern", "**/*").Content, "\n"), "\n")
	for _, name := range got {
		if !want[name] {
			t.Errorf("%s is listed, and git ignores it", name)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is not listed, and git knows it", name)
	}
}

// tree makes a generated tree of source files.
func tree(b testing.TB, n int) *tooltest.Workspace {
	w := tooltest.New(b, map[string]string{".gitignore": "out/\n"})
	r := rand.New(rand.NewPCG(1, 1))
	words := strings.Fields("func return package import context error string needle value result file handler for range if else nil struct interface type var const")
	for i := range n {
		var text strings.Builder
		for range 120 {
			for range 6 {
				word := words[r.IntN(len(words))]
				if word == "needle" && i%100 != 0 {
					word = "thread"
				}
				text.WriteString(word + " ")
			}
			text.WriteByte('\n')
		}
		w.Put(b, filepath.ToSlash(fmt.Sprintf("d%d/e%d/f%d.go", i%40, i%7, i)), text.String())
	}
	return w
}

func BenchmarkGrep(b *testing.B) {
	w := tree(b, 10_000)
	program, _ := exec.LookPath("rg")
	for _, pattern := range []string{"needle value", `(?i)Needle\s+val`} {
		if program != "" {
			b.Run("rg/"+pattern, func(b *testing.B) {
				for b.Loop() {
					cmd := exec.Command(program, "--no-config", "-n", pattern, ".")
					cmd.Dir = w.Folder
					if out, err := cmd.Output(); err != nil || len(out) == 0 {
						b.Fatal(err)
					}
				}
			})
		}
		for name, trusted := range map[string]bool{"tool-with-rg": true, "tool-without": false} {
			b.Run(name+"/"+pattern, func(b *testing.B) {
				env := w.Env()
				env.Trusted = trusted
				for b.Loop() {
					if r := call(b, env, "grep", "pattern", pattern); !strings.Contains(r.Content, "matches for") {
						b.Fatal(r.Content)
					}
				}
			})
		}
	}
}
