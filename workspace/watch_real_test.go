//go:build unix

package workspace

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// real is a watcher on a real disk.
type real struct {
	testing.TB
	watcher *Watcher
	known   map[string]bool // as the batches say
}

func watchReal(t testing.TB, dirs, files []string) *real {
	t.Helper()
	w, err := NewWatcher(WatchConfig{Dirs: dirs, Files: files, Now: time.Now, Notice: func(s string) { t.Log(s) }, Safety: time.Hour, Poll: time.Hour})
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	return &real{t, w, map[string]bool{}}
}

// receive takes one batch.
func (r *real) receive() Batch {
	r.Helper()
	select {
	case b := <-r.watcher.Batches():
		for _, p := range b.Created {
			if r.known[p] {
				r.Errorf("%s was created twice", p)
			}
			r.known[p] = true
		}
		for _, p := range b.Removed {
			if !r.known[p] {
				r.Errorf("%s was removed, but never there", p)
			}
			delete(r.known, p)
		}
		return b
	case <-time.After(30 * time.Second):
		r.Fatal("nothing was reported within 30 s")
		return Batch{}
	}
}

// until receives batches until the known files are want.
func (r *real) until(want ...string) (batches int) {
	r.Helper()
	slices.Sort(want)
	for ; ; batches++ {
		if got := slices.Sorted(maps.Keys(r.known)); slices.Equal(got, want) {
			return batches
		}
		r.receive()
	}
}

func TestRealFoldersThatAppear(t *testing.T) {
	dir := t.TempDir()
	agents := filepath.Join(dir, "proj", ".gemini", "agents")
	settings := filepath.Join(dir, "proj", ".gemini", "settings.json")
	r := watchReal(t, []string{agents}, []string{settings})
	a := filepath.Join(agents, "a.md")

	// The parents and the file at once.
	mkdir(t, agents)
	must(t, os.WriteFile(a, []byte("x"), 0o644))
	r.until(a)
	must(t, os.WriteFile(settings, []byte("{}"), 0o644))
	r.until(a, settings)

	// rm -rf, and again, and one level at a time.
	must(t, os.RemoveAll(filepath.Join(dir, "proj", ".gemini")))
	r.until()
	mkdir(t, agents)
	must(t, os.WriteFile(a, []byte("y"), 0o644))
	r.until(a)

	// A folder above is renamed away, and back.
	must(t, os.Rename(filepath.Join(dir, "proj", ".gemini"), filepath.Join(dir, "proj", "x")))
	r.until()
	must(t, os.Rename(filepath.Join(dir, "proj", "x"), filepath.Join(dir, "proj", ".gemini")))
	r.until(a)
	must(t, os.Rename(agents, agents+"2"))
	r.until()
	mkdir(t, agents)
	b := filepath.Join(agents, "b.md")
	must(t, os.WriteFile(b, []byte("z"), 0o644))
	r.until(b)
}

func TestREL113RealReplacements(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.md"), filepath.Join(dir, "b.md")
	must(t, os.WriteFile(a, []byte("one"), 0o644))
	r := watchReal(t, []string{dir}, nil)
	r.known[a] = true

	// An editor's atomic save.
	must(t, os.WriteFile(filepath.Join(dir, ".a.md.tmp"), []byte("two"), 0o644))
	must(t, os.Rename(filepath.Join(dir, ".a.md.tmp"), a))
	if got := r.receive(); !cmp.Equal(got, Batch{Changed: []string{a}}) {
		t.Errorf("%+v", got)
	}
	// And again: the watch is on the folder, not on the file.
	must(t, os.WriteFile(filepath.Join(dir, "a.md~"), []byte("thr"), 0o644))
	must(t, os.Rename(filepath.Join(dir, "a.md~"), a))
	if got := r.receive(); !cmp.Equal(got, Batch{Changed: []string{a}}) {
		t.Errorf("%+v", got)
	}
	// Deleted and made again at once.
	must(t, os.Remove(a))
	must(t, os.WriteFile(a, []byte("four!"), 0o644))
	if got := r.receive(); !cmp.Equal(got, Batch{Changed: []string{a}}) {
		t.Errorf("%+v", got)
	}
	must(t, os.Rename(a, b))
	if got := r.receive(); !cmp.Equal(got, Batch{Created: []string{b}, Removed: []string{a}}) {
		t.Errorf("%+v", got)
	}
}

func TestFiftyWritesAreOneChange(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a.md")
	must(t, os.WriteFile(a, nil, 0o644))
	r := watchReal(t, []string{dir}, nil)
	for i := range 50 {
		must(t, os.WriteFile(a, []byte(strings.Repeat("x", i+1)), 0o644))
	}
	marker := filepath.Join(dir, "z.md")
	for changes := 0; ; {
		batch := r.receive()
		if changes += len(batch.Changed); changes == 1 && len(batch.Changed) == 1 {
			must(t, os.WriteFile(marker, nil, 0o644))
		}
		if slices.Contains(batch.Created, marker) {
			// A machine that stalls for 80 ms in the middle makes it two.
			if changes > 3 {
				t.Errorf("%d changes", changes)
			}
			return
		}
	}
}

// One folder under two names: the system has one watch for it.
func TestFolderUnderTwoNames(t *testing.T) {
	dir := t.TempDir()
	one := mkdir(t, dir, "one", "agents")
	must(t, os.Symlink(filepath.Join(dir, "one"), filepath.Join(dir, "two")))
	two := filepath.Join(dir, "two", "agents")
	r := watchReal(t, []string{one, two}, nil)
	a := func(d string) string { return filepath.Join(d, "a.md") }
	must(t, os.WriteFile(a(one), []byte("x"), 0o644))
	r.until(a(one), a(two))
	// The name that has the watch goes; the other one gets it.
	must(t, r.watcher.Set([]string{two}, nil))
	delete(r.known, a(one))
	must(t, os.WriteFile(filepath.Join(one, "b.md"), []byte("x"), 0o644))
	r.until(a(two), filepath.Join(two, "b.md"))
}

// The name under which a folder is watched is not one that files are wanted of.
func TestFolderUnderTheNameOfAnAncestor(t *testing.T) {
	dir := t.TempDir()
	a := mkdir(t, dir, "a")
	b := filepath.Join(dir, "b")
	must(t, os.Symlink(a, b))
	r := watchReal(t, []string{filepath.Join(a, "x", "agents"), b}, nil)
	must(t, os.WriteFile(filepath.Join(a, "f.md"), nil, 0o644))
	r.until(filepath.Join(b, "f.md"))
}

func TestREL111RealStorm(t *testing.T) {
	n := 40_000
	if testing.Short() {
		n = 2000
	}
	dir := t.TempDir()
	agents := mkdir(t, dir, "agents")
	r := watchReal(t, []string{agents}, nil)
	var want []string
	for i := range n {
		path := filepath.Join(agents, fmt.Sprintf("%05d.md", i))
		must(t, os.WriteFile(path, nil, 0o644))
		want = append(want, path)
	}
	t.Logf("%d files in %d batches", n, r.until(want...))
	must(t, os.RemoveAll(agents))
	r.until()
}

// How editors save. However they do, the file has changed in the end, and what
// they leave beside it is nobody's agent.
func TestREL113EditorsSave(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a.md")
	beside := func(name string) string { return filepath.Join(dir, name) }
	put := func(path, content string) { must(t, os.WriteFile(path, []byte(content), 0o644)) }
	move := func(from, to string) { must(t, os.Rename(from, to)) }
	put(a, "0")
	r := watchReal(t, []string{dir}, nil)
	r.known[a] = true
	for i, editor := range []struct {
		name string
		save func(content string)
	}{
		{"in place, as VS Code and nano", func(content string) { put(a, content) }},
		{"truncated, then written, as Notepad++", func(content string) {
			must(t, os.Truncate(a, 0))
			f, err := os.OpenFile(a, os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = f.WriteString(content)
			must(t, err)
			must(t, f.Close())
		}},
		{"Vim: a probe, a backup by renaming, a new file", func(content string) {
			put(beside(".a.md.swp"), "swap")
			put(beside("4913"), "")
			must(t, os.Remove(beside("4913")))
			move(a, beside("a.md~"))
			put(a, content)
			must(t, os.Remove(beside("a.md~")))
			must(t, os.Remove(beside(".a.md.swp")))
		}},
		{"Emacs: a lock, an automatic save, a backup that stays", func(content string) {
			must(t, os.Symlink("me@here.1", beside(".#a.md")))
			put(beside("#a.md#"), content)
			move(a, beside("a.md~"))
			put(a, content)
			must(t, os.Remove(beside("#a.md#")))
			must(t, os.Remove(beside(".#a.md")))
		}},
		{"JetBrains: a safe write", func(content string) {
			put(beside("a.md___jb_tmp___"), content)
			move(a, beside("a.md___jb_old___"))
			move(beside("a.md___jb_tmp___"), a)
			must(t, os.Remove(beside("a.md___jb_old___")))
		}},
		{"Sublime Text and sed: a file renamed over it", func(content string) {
			put(beside(".subl6f0.tmp"), content)
			move(beside(".subl6f0.tmp"), a)
		}},
		{"gedit and Kate: a file linked and renamed over it", func(content string) {
			put(beside(".goutputstream-AB12CD"), content)
			must(t, os.Remove(beside("a.md~")))
			must(t, os.Link(a, beside("a.md~")))
			move(beside(".goutputstream-AB12CD"), a)
		}},
	} {
		editor.save(strings.Repeat("x", i+2))
		for changed := false; !changed; {
			batch := r.receive()
			// A machine that stalls between two of the steps sees them both.
			changed = slices.Equal(batch.Changed, []string{a}) || slices.Equal(batch.Created, []string{a})
			for _, path := range slices.Concat(batch.Created, batch.Changed, batch.Removed) {
				if path != a {
					t.Errorf("%s: %s is reported", editor.name, path)
				}
			}
		}
		if !r.known[a] {
			t.Errorf("%s: the file is gone", editor.name)
		}
	}
}

// The folders above come and go: the workspace's own, too.
func TestREL113WorkspaceFolderComesAndGoes(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "w")
	agents := filepath.Join(root, ".gemini", "agents")
	settings := filepath.Join(root, ".gemini", "settings.json")
	a := filepath.Join(agents, "a.md")
	r := watchReal(t, []string{agents}, []string{settings})
	build := func() {
		mkdir(t, agents)
		must(t, os.WriteFile(a, []byte("x"), 0o644))
		must(t, os.WriteFile(settings, []byte("{}"), 0o644))
	}
	for range 3 {
		build()
		r.until(a, settings)
		must(t, os.RemoveAll(root))
		r.until()
	}
	build()
	r.until(a, settings)
	must(t, os.Rename(root, root+"2"))
	r.until()
	must(t, os.Rename(root+"2", root))
	r.until(a, settings)
	// Another folder takes its place.
	must(t, os.Rename(root, root+"2"))
	mkdir(t, root, ".gemini", "agents")
	r.until()
	must(t, os.WriteFile(a, []byte("y"), 0o644))
	r.until(a)
}

// The agents folder is a link, which is set to another folder.
func TestLinkedAgentsFolder(t *testing.T) {
	dir := t.TempDir()
	one, two := mkdir(t, dir, "one"), mkdir(t, dir, "two")
	agents := filepath.Join(mkdir(t, dir, "w", ".gemini"), "agents")
	must(t, os.Symlink(one, agents))
	r := watchReal(t, []string{agents}, nil)
	must(t, os.WriteFile(filepath.Join(one, "a.md"), []byte("x"), 0o644))
	r.until(filepath.Join(agents, "a.md"))
	must(t, os.WriteFile(filepath.Join(two, "b.md"), []byte("x"), 0o644))
	must(t, os.Symlink(two, agents+".new"))
	must(t, os.Rename(agents+".new", agents))
	r.until(filepath.Join(agents, "b.md"))
	must(t, os.WriteFile(filepath.Join(two, "c.md"), []byte("x"), 0o644))
	r.until(filepath.Join(agents, "b.md"), filepath.Join(agents, "c.md"))
	must(t, os.Remove(agents))
	r.until()
}

// Folders are given and taken while files change.
func TestREL118SetOfHundredFolders(t *testing.T) {
	dir := t.TempDir()
	var dirs, files []string
	for i := range 100 {
		agents := mkdir(t, dir, fmt.Sprint(i), ".gemini", "agents")
		dirs = append(dirs, agents)
		files = append(files, filepath.Join(agents, "a.md"))
		must(t, os.WriteFile(files[i], []byte("x"), 0o644))
	}
	r := watchReal(t, dirs[:1], nil)
	for i := range 100 {
		must(t, r.watcher.Set(dirs[i:], nil))
	}
	must(t, r.watcher.Set(dirs, nil))
	for _, path := range files {
		must(t, os.WriteFile(path, []byte("longer"), 0o644))
	}
	for left := slices.Clone(files); len(left) > 0; {
		batch := r.receive()
		left = slices.DeleteFunc(left, func(path string) bool { return slices.Contains(batch.Changed, path) })
		if len(batch.Created)+len(batch.Removed) > 0 {
			t.Fatalf("%+v", batch)
		}
	}
	must(t, os.RemoveAll(filepath.Join(dir, "99")))
	if batch := r.removed(files[99]); len(batch) != 1 {
		t.Errorf("%q", batch)
	}
}

// removed returns what the next batch says is removed, which is known now.
func (r *real) removed(known ...string) []string {
	for _, path := range known {
		r.known[path] = true
	}
	return r.receive().Removed
}

// Whatever is done to the tree, what was reported is in the end what is there.
func TestREL113FinalStateIsTrue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		root := filepath.Join(dir, "w")
		agents := filepath.Join(root, ".gemini", "agents")
		if rapid.Bool().Draw(rt, "there at the start") {
			mkdir(t, agents)
		}
		w, err := NewWatcher(WatchConfig{Dirs: []string{agents}, Now: time.Now, Debounce: 5 * time.Millisecond, MaxDelay: 50 * time.Millisecond, Safety: time.Hour, Poll: time.Hour})
		must(t, err)
		defer w.Close()
		known := map[string]string{} // the contents, as read when they were reported
		read := func(path string) string {
			content, _ := os.ReadFile(path) // "" while it is gone again
			return string(content)
		}
		settle := func() {
			want := map[string]string{}
			entries, _ := os.ReadDir(agents)
			for _, e := range entries {
				if AgentFile(e.Name()) && e.Type().IsRegular() {
					path := filepath.Join(agents, e.Name())
					want[path] = read(path)
				}
			}
			limit := time.After(30 * time.Second)
			for !maps.Equal(known, want) {
				select {
				case b := <-w.Batches():
					for _, p := range slices.Concat(b.Created, b.Changed) {
						known[p] = read(p)
					}
					for _, p := range b.Removed {
						delete(known, p)
					}
				case <-limit:
					rt.Fatalf("after 30 s %q is reported, %q is there", known, want)
				}
			}
		}
		names := []string{"a.md", "b.md", "A.md", ".hidden.md", "sub"}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			name := filepath.Join(agents, rapid.SampledFrom(names).Draw(rt, "name"))
			switch rapid.IntRange(0, 15).Draw(rt, "step") {
			case 0:
				_ = os.MkdirAll(agents, 0o755)
			case 1, 2:
				_ = os.WriteFile(name, []byte(rapid.StringN(0, 4, 8).Draw(rt, "content")), 0o644)
			case 3:
				_ = os.Remove(name)
			case 4:
				_ = os.Rename(name, filepath.Join(agents, rapid.SampledFrom(names).Draw(rt, "to")))
			case 5:
				_ = os.RemoveAll(filepath.Dir(agents))
			case 6:
				_ = os.Rename(filepath.Dir(agents), filepath.Join(dir, "away"))
			case 7:
				_ = os.Rename(filepath.Join(dir, "away"), filepath.Dir(agents))
			case 8:
				_ = os.Rename(agents, agents+".old")
				_ = os.Rename(agents+".old", agents)
			case 9:
				_ = os.RemoveAll(root)
			case 10:
				_ = os.Rename(root, filepath.Join(dir, "w away"))
			case 11:
				_ = os.Rename(filepath.Join(dir, "w away"), root)
			case 12:
				_ = os.Remove(name)
				_ = os.WriteFile(name, []byte("again"), 0o644)
			case 13:
				_ = os.Rename(agents, filepath.Join(dir, "linked"))
				_ = os.Symlink(filepath.Join(dir, "linked"), agents)
			default:
				settle()
			}
		}
		settle()
	})
}
