package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// memoryWorld makes files below a folder; a text "-> x" is a link.
func memoryWorld(t *testing.T, files map[string]string) string {
	t.Helper()
	base, err := Canonical(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return base
}

// told says in lines what a memory holds, with paths below base.
func told(base string, m Memory) string {
	var b strings.Builder
	rel := func(path string) string { return strings.TrimPrefix(path, base+"/") }
	for _, f := range m.Files {
		fmt.Fprintf(&b, "%s: %s", rel(f.Path), strings.Join(strings.Fields(f.Text), " "))
		for _, i := range f.Imports {
			fmt.Fprintf(&b, " +%s", rel(i))
		}
		b.WriteByte('\n')
	}
	for _, l := range m.LeftOut {
		fmt.Fprintf(&b, "not %s: %s\n", rel(l.Path), strings.ReplaceAll(l.Why, base+"/", ""))
	}
	return b.String()
}

// TestMemoryFiles: which files are taken, in which order, and what is said of those
// that are not (spec 6.2).
func TestMemoryFiles(t *testing.T) {
	for _, test := range []struct {
		name      string
		files     map[string]string
		file      string // at hand
		untrusted []string
		want      string
	}{
		{name: "outermost first", files: map[string]string{
			"h/.gemini/GEMINI.md": "mine", "h/GEMINI.md": "home", "h/w/AGENTS.md": "b", "h/w/GEMINI.md": "a", "h/w/CLAUDE.md": "never", "h/w/p/CLAUDE.md": "sub", "h/w/q/GEMINI.md": "aside", "GEMINI.md": "above",
		}, file: "h/w/p/x.go", want: "h/.gemini/GEMINI.md: mine\nh/GEMINI.md: home\nh/w/GEMINI.md: a\nh/w/AGENTS.md: b\nh/w/p/CLAUDE.md: sub\n"},
		{name: "an untrusted folder's are not taken", files: map[string]string{"h/.gemini/GEMINI.md": "mine", "h/GEMINI.md": "home", "h/w/GEMINI.md": "a"}, untrusted: []string{"h", "h/w"},
			want: "h/.gemini/GEMINI.md: mine\nnot h/GEMINI.md: its folder is not trusted\nnot h/w/GEMINI.md: its folder is not trusted\n"},
		{name: "nor a repository's inside a trusted one", files: map[string]string{"h/w/GEMINI.md": "a @p/x.md", "h/w/p/GEMINI.md": "strange", "h/w/p/x.md": "x"}, file: "h/w/p/y", untrusted: []string{"h/w/p"},
			want: "h/w/GEMINI.md: a @p/x.md\nnot h/w/p/x.md: its folder is not trusted\nnot h/w/p/GEMINI.md: its folder is not trusted\n"},
		{name: "a file is taken once", files: map[string]string{"h/w/GEMINI.md": "a\n@AGENTS.md\n", "h/w/AGENTS.md": "b\n@./GEMINI.md\n", "h/w/p/AGENTS.md": "-> ../AGENTS.md", "h/w/p/GEMINI.md": "c\n@../c.md", "h/w/c.md": "d"}, file: "h/w/p/y",
			want: "h/w/GEMINI.md: a @AGENTS.md [AGENTS.md] b @./GEMINI.md [end of AGENTS.md] +h/w/AGENTS.md\nh/w/p/GEMINI.md: c @../c.md [c.md] d [end of c.md] +h/w/c.md\n"},
		{name: "imports", files: map[string]string{
			"h/w/GEMINI.md": "See @docs/a.md, and (@docs/b.txt). @param @reviewer me@x.md `@docs/c.md`\n```\n@docs/c.md\n```\n@gone.md @types/none @docs",
			"h/w/docs/a.md": "A @b.txt", "h/w/docs/b.txt": "B", "h/w/docs/c.md": "C",
		}, want: "h/w/GEMINI.md: See @docs/a.md, and (@docs/b.txt). @param @reviewer me@x.md `@docs/c.md` [docs/a.md] A @b.txt [docs/b.txt] B [end of docs/b.txt] [end of docs/a.md] ``` @docs/c.md ``` @gone.md @types/none @docs +h/w/docs/b.txt +h/w/docs/a.md\n" +
			"not h/w/gone.md: h/w/GEMINI.md imports it, and it does not exist\n"},
		{name: "SEC-54 nothing leads out", files: map[string]string{"h/w/GEMINI.md": "@../out.md @l.md @../../h/out.md", "h/w/AGENTS.md": "-> ../out.md", "h/w/l.md": "-> ../out.md", "h/out.md": "OUT"},
			want: "h/w/GEMINI.md: @../out.md @l.md @../../h/out.md\n" +
				"not h/out.md: h/w/GEMINI.md imports it, and it lies outside of h/w\nnot h/w/l.md: h/w/GEMINI.md imports it, and it lies outside of h/w\nnot h/out.md: h/w/GEMINI.md imports it, and it lies outside of h/w\n" +
				"not h/w/AGENTS.md: \"AGENTS.md\" leaves the workspace: it leads to \"h/out.md\"\n"},
		{name: "credentials are not imported", files: map[string]string{"h/w/GEMINI.md": "@.env", "h/w/.env": "KEY=1"}, want: "h/w/GEMINI.md: @.env\nnot h/w/.env: it holds credentials\n"},
		{name: "nor by a link", files: map[string]string{"h/w/GEMINI.md": "-> .env", "h/w/.env": "KEY=1", "h/w/AGENTS.md": "-> p/x.md", "h/w/p/x.md": "x"}, untrusted: []string{"h/w/p"},
			want: "not h/w/GEMINI.md: it holds credentials\nnot h/w/AGENTS.md: its folder is not trusted\n"},
		{name: "five deep", files: map[string]string{"h/w/GEMINI.md": "@1.md", "h/w/1.md": "1 @2.md", "h/w/2.md": "2 @3.md", "h/w/3.md": "3 @4.md", "h/w/4.md": "4 @5.md", "h/w/5.md": "5 @6.md", "h/w/6.md": "6"},
			want: "h/w/GEMINI.md: @1.md [1.md] 1 @2.md [2.md] 2 @3.md [3.md] 3 @4.md [4.md] 4 @5.md [5.md] 5 @6.md [end of 5.md] [end of 4.md] [end of 3.md] [end of 2.md] [end of 1.md] +h/w/5.md +h/w/4.md +h/w/3.md +h/w/2.md +h/w/1.md\n" +
				"not h/w/6.md: imports lead 5 files deep at most\n"},
		{name: "too large, or no text", files: map[string]string{"h/w/GEMINI.md": strings.Repeat("x", maxMemoryFile+1), "h/w/AGENTS.md": "\x00\x01"},
			want: "not h/w/GEMINI.md: it is larger than 64 KiB; move parts of it to files that agents read when they need them\nnot h/w/AGENTS.md: it is not text\n"},
		{name: "what agents noted imports nothing", files: map[string]string{"h/w/GEMINI.md": "## Noted\n- @a.md\n# Own\n@b.md\n", "h/w/a.md": "A", "h/w/b.md": "B"},
			want: "h/w/GEMINI.md: ## Noted - @a.md # Own @b.md [b.md] B [end of b.md] +h/w/b.md\n"},
		{name: "a file is refused by what it says", files: map[string]string{"h/w/GEMINI.md": "@a.md\n", "h/w/a.md": "password"},
			want: "h/w/GEMINI.md: @a.md\nnot h/w/a.md: it holds credentials\n"},
		{name: "the person's own may be a link", files: map[string]string{"h/.gemini/GEMINI.md": "-> ../dot/g.md", "h/dot/g.md": "mine @x.md", "h/dot/x.md": "X"},
			want: "h/.gemini/GEMINI.md: mine @x.md [x.md] X [end of x.md] +h/dot/x.md\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			base := memoryWorld(t, test.files)
			_ = os.MkdirAll(filepath.Join(base, "h", "w"), 0o755)
			q := MemoryQuery{
				Home: filepath.Join(base, "h", ".gemini"), Person: filepath.Join(base, "h"), Folder: filepath.Join(base, "h", "w"),
				Trusted: func(folder string) bool {
					rel, ok := Below(base, folder)
					return ok && !slices.Contains(test.untrusted, filepath.ToSlash(rel))
				},
				Data: "## Noted",
				Refused: func(path, text string) string {
					if filepath.Base(path) == ".env" || strings.Contains(text, "password") {
						return "it holds credentials"
					}
					return ""
				},
			}
			if test.file != "" {
				q.File = filepath.Join(base, filepath.FromSlash(test.file))
			}
			if got := strings.ReplaceAll(told(base, ReadMemory(t.Context(), q)), base, "BASE"); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}
