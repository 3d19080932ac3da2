package snapshot_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/snapshot"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// world is a workspace folder and the store that looks at it.
type world struct {
	t      testing.TB
	store  *snapshot.Store
	config snapshot.Config
	folder string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	tooltest.Program(t, "git")
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, folder: filepath.Join(top, "a folder\twith blanks")}
	w.config = snapshot.Config{Dir: filepath.Join(top, "state", "snapshots"), Home: filepath.Join(top, "home"), Environ: os.Environ(), Now: time.Now}
	w.store = snapshot.New(w.config)
	w.must(errors.Join(os.MkdirAll(w.folder, 0o755), os.MkdirAll(w.config.Home, 0o755)))
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) path(rel string) string { return filepath.Join(w.folder, filepath.FromSlash(rel)) }

func (w *world) write(rel, text string, mode ...fs.FileMode) {
	w.t.Helper()
	path := w.path(rel)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	_ = os.Remove(path)
	w.must(os.WriteFile(path, []byte(text), append(mode, 0o644)[0]))
}

// sh runs a command in the folder.
func (w *world) sh(text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir = w.folder
	cmd.Env = append(os.Environ(), "HOME="+w.config.Home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v\n%s", text, err, out)
	}
}

func (w *world) begin(id string) *snapshot.Window {
	w.t.Helper()
	window, err := w.store.Begin(w.t.Context(), []string{w.folder}, id)
	w.must(err)
	return window
}

// end ends a window and returns what it told, "path: before → after" each.
func (w *world) end(window *snapshot.Window) (told, notes []string) {
	w.t.Helper()
	notes, err := window.End(w.t.Context(), func(c snapshot.Change) { told = append(told, w.line(c)) })
	w.must(err)
	return told, notes
}

func (w *world) line(c snapshot.Change) string {
	rel, _ := filepath.Rel(w.folder, c.Path)
	side := func(s snapshot.Side) string {
		text := string(s.Data)
		if s.Digest != "" {
			text = "#" + s.Digest[:4]
		}
		return strings.TrimSpace(fmt.Sprintf("%s %q", s.Mode, text))
	}
	line := fmt.Sprintf("%s: %s → %s", filepath.ToSlash(rel), side(c.Before), side(c.After))
	if c.Lost != "" {
		line += " (" + c.Lost + ")"
	}
	return line
}

func (w *world) same(told []string, want ...string) {
	w.t.Helper()
	if d := cmp.Diff(want, told); d != "" && len(want)+len(told) > 0 {
		w.t.Error(d)
	}
}

func TestSEC41WhatACommandDidIsTold(t *testing.T) {
	for _, c := range []struct {
		name, before, command string
		want                  []string
		notes                 string
	}{
		{name: "nothing", before: "echo a > a", command: "cat a"},
		{name: "touched only", before: "echo a > a", command: "touch a; cp a b; mv b a"},
		{name: "changed, made and gone", before: "echo a > a; echo b > b", command: "echo A > a; rm b; mkdir d; echo c > d/c",
			want: []string{`a: file "a\n" → file "A\n"`, `b: file "b\n" → ""`, `d/c: "" → file "c\n"`}},
		{name: "modes", before: "echo a > a; echo b > b; chmod +x b", command: "chmod +x a; rm b",
			want: []string{`a: file "a\n" → executable "a\n"`, `b: executable "b\n" → ""`}},
		{name: "links", before: "mkdir d; echo a > d/a; ln -s d/a l; ln -s nowhere m", command: "rm l; echo x > l; ln -sf ../../etc/passwd m; ln -s /etc n",
			want: []string{`l: link "d/a" → file "x\n"`, `m: link "nowhere" → link "../../etc/passwd"`, `n: "" → link "/etc"`}},
		{name: "a folder becomes a link", before: "mkdir d; echo a > d/a; echo b > d/b", command: "mv d ../elsewhere; ln -s ../elsewhere d; echo x > d/b",
			want: []string{`d: "" → link "../elsewhere"`, `d/a: file "a\n" → ""`, `d/b: file "b\n" → ""`}},
		{name: "a folder becomes a file, a file a folder", before: "mkdir d; echo a > d/a; echo b > b", command: "rm -r d b; echo d > d; mkdir b; echo x > b/x",
			want: []string{`b: file "b\n" → ""`, `b/x: "" → file "x\n"`, `d: "" → file "d\n"`, `d/a: file "a\n" → ""`}},
		{name: "bytes are bytes", before: `printf '* text=auto eol=crlf ident\n*.u working-tree-encoding=UTF-16\n' > .gitattributes; printf 'a\r\n$Id: x $\n\0' > a; echo u > b.u`,
			command: `printf 'a\n$Id$\r\n' > a; rm b.u`, want: []string{`a: file "a\r\n$Id: x $\n\x00" → file "a\n$Id$\r\n"`, `b.u: file "u\n" → ""`}},
		{name: "names", before: `echo 1 > $'new\nline'; echo 2 > ' :(glob)*'; echo 3 > '"q"'; echo 4 > -x`, command: "rm -- *",
			want: []string{`" :(glob)*`, `"q"`, "-x", "new\nline"}},
		{name: "ignored", before: "printf 'out\\n*.log\\n' > .gitignore; echo secret > .geminiignore; mkdir out; echo a > out/a; echo s > secret", command: "rm -r out; echo x > y.log; rm secret; mkdir n; printf '!y.log' > n/.gitignore; echo n > n/y.log",
			want: []string{`n/.gitignore: "" → file "!y.log"`, `n/y.log: "" → file "n\n"`}},
		{name: "ignored and tracked", before: "git init -q; echo out > .gitignore; mkdir out; echo a > out/a; echo b > out/b; git add -f out/a; git commit -qm x; echo A > out/a", command: "rm -r out",
			want: []string{`out/a: file "A\n" → ""`}},
		{name: "what git does", before: "git init -q; mkdir src; echo a > src/a; echo b > src/b; git add -A; git commit -qm x; echo A > src/a; echo new > src/new", command: "git reset -q --hard; rm -rf src",
			want: []string{`src/a: file "A\n" → ""`, `src/b: file "b\n" → ""`, `src/new: file "new\n" → ""`}},
		{name: "a commit", before: "git init -q; echo a > a; git add -A; git commit -qm x", command: "echo b > b; git add b; git commit -qm y", want: []string{`b: "" → file "b\n"`}, notes: "undoing brings files back, not commits"},
		{name: "the repository goes", before: "git init -q; echo a > a; git add -A; git commit -qm x", command: "rm -rf .git a", want: []string{`a: file "a\n" → ""`}},
		{name: "repositories inside", before: "git init -q sub; echo a > sub/a; echo a > a", command: "rm -r sub/a a; mkdir d; echo d > d/d; git init -q d", want: []string{`a: file "a\n" → ""`}, notes: "repositories of their own is not kept: d, sub"},
		{name: "a repository where files were", before: "mkdir d; echo d > d/d", command: "cd d; git init -q; rm d", want: []string{`d/d: file "d\n" → ""`}},
		{name: "no files at all", before: "mkfifo pipe; mkdir d", command: "rm pipe; mkfifo other; rmdir d"},
		{name: "a pipe for a file", before: "echo a > a", command: "rm a; mkfifo a", want: []string{`a: file "a\n" → ""`}},
		{name: "too large", before: "head -c 11000000 /dev/zero > a; head -c 11000000 /dev/zero > b; echo c > c", command: "echo small > a; rm b; head -c 11000000 /dev/zero > c",
			want: []string{`a: file "" → file "" (it had more than 10 MiB before)`, `c: file "" → file "" (it has more than 10 MiB now)`}, notes: "b changed; it has more than 10 MiB"},
		{name: "no filters", before: `echo '* filter=x' > .gitattributes; git init -q; git config filter.x.clean 'touch "$HOME/ran"; cat'; echo a > a`, command: "echo b > a", want: []string{`a: file "a\n" → file "b\n"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("needs bash")
			}
			w := newWorld(t)
			w.sh(c.before)
			window := w.begin("1")
			w.sh(c.command)
			told, notes := w.end(window)
			if c.name == "names" {
				if len(told) != 4 {
					t.Error(told)
				}
				return
			}
			w.same(told, c.want...)
			if all := strings.Join(notes, "; "); !strings.Contains(all, c.notes) || (c.notes == "" && all != "") {
				t.Errorf("notes: %s", all)
			}
			if _, err := os.Stat(filepath.Join(w.config.Home, "ran")); err == nil {
				t.Error("a program of the project's configuration ran")
			}
			if told, _ := w.end(w.begin("2")); len(told) > 0 {
				t.Errorf("told again: %q", told)
			}
		})
	}
}

// TestCommandsAtOnce: a change is told once, and never lost; what a tool wrote
// meanwhile is the tool's.
func TestCommandsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.write("a", "a")
	a := w.begin("a")
	w.write("b", "b")
	b := w.begin("b")
	w.write("c", "c")
	told, _ := w.end(b)
	w.same(told, `b: "" → file "b"`, `c: "" → file "c"`)
	w.write("d", "d")
	told, _ = w.end(a)
	w.same(told, `d: "" → file "d"`)

	w.write("by hand", "x")
	a = w.begin("a")
	w.write("tool", "tool")
	w.store.Wrote(w.path("tool"), digest("tool"))
	w.write("both", "tool")
	w.store.Wrote(w.path("both"), digest("tool"))
	w.write("both", "and command")
	w.write("a", "command")
	w.must(os.Remove(w.path("b")))
	w.store.Wrote(w.path("b"), "")
	told, _ = w.end(a)
	w.same(told, `a: file "a" → file "command"`, `both: file "#`+digest("tool")[:4]+`" → file "and command"`)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestADaemonThatDied: the next one tells what changed since its command began.
func TestADaemonThatDied(t *testing.T) {
	w := newWorld(t)
	w.write("a", "a")
	w.begin("call")
	w.write("a", "b")
	w.store = snapshot.New(w.config)
	w.must(os.WriteFile(filepath.Join(repositoryOf(t, w), "index.lock"), nil, 0o600)) // its git died too
	told, _ := w.end(w.begin("another"))
	w.same(told)
	w.write("c", "c")
	for _, want := range [][]string{{`a: file "a" → file "b"`, `c: "" → file "c"`}, nil} {
		told = nil
		w.must(w.store.Recover(t.Context(), []string{w.folder}, "call", func(c snapshot.Change) { told = append(told, w.line(c)) }))
		w.same(told, want...)
	}
}

func repositoryOf(t *testing.T, w *world) string {
	entries, err := os.ReadDir(w.config.Dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	return filepath.Join(w.config.Dir, entries[0].Name())
}

func TestWhereThereIsNoSnapshot(t *testing.T) {
	w := newWorld(t)
	w.write("a", "a")
	w.write("b", "b")
	ok, why := w.store.Available(t.Context(), w.folder)
	if !ok {
		t.Errorf("an ordinary folder: %s", why)
	}
	refused := func(name, folder, want string) {
		t.Helper()
		if ok, why := w.store.Available(t.Context(), folder); ok || !strings.Contains(why, want) {
			t.Errorf("%s: %v, %q", name, ok, why)
		}
		if _, err := w.store.Begin(t.Context(), []string{folder}, "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s begins: %v", name, err)
		}
	}
	refused("home", w.config.Home, "home folder")
	refused("above home", filepath.Dir(w.config.Home), "home folder")
	w.config.Limits.Files = 1
	w.store = snapshot.New(w.config)
	refused("too many files", w.folder, "more than 1 files")
	w.config.Limits = snapshot.Limits{Folder: 1}
	w.config.Dir += "2"
	w.store = snapshot.New(w.config)
	refused("too much", w.folder, "MiB that git does not ignore")
	w.config.Limits, w.config.Environ = snapshot.Limits{}, nil
	w.store = snapshot.New(w.config)
	refused("no git", w.folder, "git is not installed")

	// What a command changes beyond the limit is told, and not kept.
	w.config.Limits, w.config.Environ = snapshot.Limits{Command: 3}, os.Environ()
	w.store = snapshot.New(w.config)
	window := w.begin("1")
	w.write("a", "A")
	w.write("b", "bbb")
	told, _ := w.end(window)
	w.same(told, `a: file "a" → file "A"`, `b: file "" → file "" (the command changed more than 0 MiB)`)
}

// TestAFolderInARepository: what the repository's top ignores counts, what lies
// beside the folder does not.
func TestAFolderInARepository(t *testing.T) {
	w := newWorld(t)
	top := w.folder
	w.sh("git init -q; echo node_modules > .gitignore; mkdir -p sub/node_modules other; echo a > sub/a; echo m > sub/node_modules/m")
	w.folder = filepath.Join(top, "sub")
	window := w.begin("1")
	w.sh("echo b > a; echo n > node_modules/n; echo o > ../other/o")
	told, _ := w.end(window)
	w.same(told, `a: file "a\n" → file "b\n"`)
}

// TestSEC41UndoIsExact: after random commands in random trees, to write what was before
// makes the tree what it was.
func TestSEC41UndoIsExact(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs links and modes")
	}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w, r := newWorld(t), rand.New(rand.NewPCG(seed, 41))
			w.random(r, 40)
			for range 3 {
				want := w.tree()
				window := w.begin("x")
				w.random(r, 1+r.IntN(40))
				var changes []snapshot.Change
				_, err := window.End(t.Context(), func(c snapshot.Change) { changes = append(changes, c) })
				w.must(err)
				slices.SortFunc(changes, func(a, b snapshot.Change) int { return -strings.Compare(a.Path, b.Path) })
				for _, c := range changes { // first what is in the way, the deepest first
					if c.After.Mode != snapshot.None {
						w.must(os.Remove(c.Path))
						for dir := filepath.Dir(c.Path); dir != w.folder && os.Remove(dir) == nil; dir = filepath.Dir(dir) {
						}
					}
				}
				for _, c := range changes {
					if c.Before.Mode != snapshot.None {
						w.must(os.MkdirAll(filepath.Dir(c.Path), 0o755))
						emptyFolders(c.Path)
					}
					switch c.Before.Mode {
					case snapshot.File:
						w.must(os.WriteFile(c.Path, c.Before.Data, 0o644))
					case snapshot.Executable:
						w.must(os.WriteFile(c.Path, c.Before.Data, 0o755))
					case snapshot.Link:
						w.must(os.Symlink(string(c.Before.Data), c.Path))
					}
				}
				if d := cmp.Diff(want, w.tree()); d != "" {
					t.Fatal(d)
				}
			}
		})
	}
}

// emptyFolders takes folders away that hold nothing but folders: they are not seen.
func emptyFolders(path string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() {
			emptyFolders(filepath.Join(path, entry.Name()))
		}
	}
	_ = os.Remove(path)
}

// random does something to files.
func (w *world) random(r *rand.Rand, times int) {
	name := func() string {
		parts := []string{"a", "b", "c d", "é", "x.log"}
		path := parts[r.IntN(len(parts))]
		for range r.IntN(3) {
			path += "/" + parts[r.IntN(len(parts))]
		}
		return w.path(path)
	}
	content := func() []byte {
		data := make([]byte, r.IntN(200))
		for i := range data {
			data[i] = "ab\r\n\x00\xff$Id$"[r.IntN(10)]
		}
		return data
	}
	for range times {
		path := name()
		switch r.IntN(10) {
		case 0, 1, 2, 3, 4:
			if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
				_ = os.WriteFile(path, content(), []fs.FileMode{0o644, 0o755}[r.IntN(2)])
			}
		case 5:
			_ = os.RemoveAll(path)
		case 6:
			_ = os.Rename(path, name())
		case 7:
			_ = os.Chmod(path, []fs.FileMode{0o644, 0o755}[r.IntN(2)])
		case 8:
			_ = os.Symlink([]string{"a", "b", "nowhere", "."}[r.IntN(4)], path)
		case 9:
			_ = os.Remove(path)
		}
	}
}

// tree is all files, as git sees them.
func (w *world) tree() map[string]string {
	all := make(map[string]string)
	w.must(filepath.WalkDir(w.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			all[path], err = os.Readlink(path)
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = fmt.Sprintf("%t %q", info.Mode()&0o100 != 0, data)
		return err
	}))
	return all
}

// BenchmarkLook is one look at a folder of 10,000 files in which nothing changed,
// or one file (spec 3.7: 50 ms).
func BenchmarkLook(b *testing.B) {
	for _, changed := range []bool{false, true} {
		b.Run(fmt.Sprintf("changed=%t", changed), func(b *testing.B) {
			w := newWorld(b)
			for d := range 200 {
				for f := range 50 {
					w.write(fmt.Sprintf("d%d/s/f%d", d, f), fmt.Sprintf("file %d in %d\n", f, d))
				}
			}
			b.ReportMetric(0, "ns/op")
			w.end(w.begin("first"))
			n := 0
			for b.Loop() {
				window := w.begin("x")
				if n++; changed {
					w.write("d7/s/f7", fmt.Sprint(n))
				}
				w.end(window)
			}
		})
	}
}
