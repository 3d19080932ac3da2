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

// Whatever is done to the tree, what was reported is in the end what is there.
func TestREL113FinalStateIsTrue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		must(t, err)
		agents := filepath.Join(dir, ".gemini", "agents")
		w, err := NewWatcher(WatchConfig{Dirs: []string{agents}, Now: time.Now, Debounce: 5 * time.Millisecond, MaxDelay: 50 * time.Millisecond, Safety: time.Hour, Poll: time.Hour})
		must(t, err)
		defer w.Close()
		known := map[string]bool{}
		settle := func() {
			var want []string
			entries, _ := os.ReadDir(agents)
			for _, e := range entries {
				if AgentFile(e.Name()) && e.Type().IsRegular() {
					want = append(want, filepath.Join(agents, e.Name()))
				}
			}
			limit := time.After(3 * time.Second)
			for !slices.Equal(slices.Sorted(maps.Keys(known)), want) {
				select {
				case b := <-w.Batches():
					for _, p := range b.Created {
						known[p] = true
					}
					for _, p := range b.Removed {
						delete(known, p)
					}
				case <-limit:
					rt.Fatalf("after 3 s %q is reported, %q is there", slices.Sorted(maps.Keys(known)), want)
				}
			}
		}
		names := []string{"a.md", "b.md", "A.md", ".hidden.md", "sub"}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			name := filepath.Join(agents, rapid.SampledFrom(names).Draw(rt, "name"))
			switch rapid.IntRange(0, 10).Draw(rt, "step") {
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
			default:
				settle()
			}
		}
		settle()
	})
}
