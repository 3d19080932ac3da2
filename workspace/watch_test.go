//go:build unix

package workspace

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/internal/fault"
)

func TestAgentFile(t *testing.T) {
	for name, want := range map[string]bool{
		"a.md": true, "code-fixer.md": true, "a b.md": true, "ü.md": true, "a.b.md": true, "4913.md": true,
		".md": false, ".a.md": false, "_a.md": false, "a.md~": false, "a.txt": false, "a.MD": false, "": false,
		".a.md.swp": false, "a.md.swp": false, "4913": false, "#a.md#": false, "#a.md": false, ".#a.md": false, "x/a.md": false,
	} {
		if AgentFile(name) != want {
			t.Errorf("AgentFile(%q) is not %v", name, want)
		}
	}
}

// fakeSource is a source whose events are sent by the test. It knows what is
// armed, and refuses what it is told to refuse.
type fakeSource struct {
	mu     sync.Mutex
	armed  map[string]bool
	added  int // how often
	refuse error
	onAdd  func(dir string) // called first; may be nil
	events chan fsnotify.Event
	errors chan error
	closed sync.Once
}

func newFakeSource() *fakeSource {
	return &fakeSource{armed: map[string]bool{}, events: make(chan fsnotify.Event), errors: make(chan error)}
}

func (s *fakeSource) Add(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.onAdd != nil {
		s.onAdd(dir)
	}
	if s.added++; s.refuse == nil {
		s.armed[dir] = true
	}
	return s.refuse
}

func (s *fakeSource) Remove(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.armed, dir)
	return nil
}

func (s *fakeSource) WatchList() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.armed))
}

func (s *fakeSource) Events() <-chan fsnotify.Event { return s.events }
func (s *fakeSource) Errors() <-chan error          { return s.errors }
func (s *fakeSource) Close() error                  { s.closed.Do(func() { close(s.events) }); return nil }

func (s *fakeSource) adds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.added
}

// hint says that a file was written.
func (s *fakeSource) hint(path string) { s.events <- fsnotify.Event{Name: path, Op: fsnotify.Write} }

// bubble is a watcher with a fake source in a synctest bubble, on agents folder
// dir.
type bubble struct {
	*testing.T
	dir     string
	source  *fakeSource
	watcher *Watcher

	looks   atomic.Int32 // at the disk
	distant atomic.Bool  // the folder lies where no event tells of others' changes

	mu      sync.Mutex
	notices []string
	refuse  error // of opening a source
}

// allow lets sources be opened from now on.
func (b *bubble) allow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = nil
}

// told returns the notices so far.
func (b *bubble) told() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.notices)
}

func inBubble(t *testing.T, test func(b *bubble)) { inBubbleRefusing(t, nil, test) }

// inBubbleRefusing begins without a source: opening one gives err.
func inBubbleRefusing(t *testing.T, refuse error, test func(b *bubble)) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	mkdir(t, dir, "agents")
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{T: t, dir: filepath.Join(dir, "agents"), source: newFakeSource(), refuse: refuse}
		config := WatchConfig{Dirs: []string{b.dir}, Now: time.Now, looked: func() { b.looks.Add(1) }}
		config.distant = func(string) bool { return b.distant.Load() }
		config.Notice = func(s string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.notices = append(b.notices, s)
		}
		config.open = func() (eventSource, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.refuse != nil {
				return nil, b.refuse
			}
			return b.source, nil
		}
		b.watcher, err = NewWatcher(config)
		must(t, err)
		defer func() {
			must(t, b.watcher.Close())
			must(t, b.watcher.Close())
			if _, open := <-b.watcher.Batches(); open {
				t.Error("a batch after Close")
			}
		}()
		test(b)
	})
}

func (b *bubble) put(name, content string) {
	b.Helper()
	must(b, os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o644))
}

// quiet checks that nothing is reported for so long.
func (b *bubble) quiet(d time.Duration) {
	b.Helper()
	select {
	case batch := <-b.watcher.Batches():
		b.Errorf("reported %+v", batch)
	case <-time.After(d):
	}
}

// next returns the next batch and how long it took.
func (b *bubble) next() (Batch, time.Duration) {
	b.Helper()
	begin := time.Now()
	select {
	case batch := <-b.watcher.Batches():
		return batch, time.Since(begin)
	case <-time.After(time.Minute):
		b.Fatal("nothing was reported within a minute")
		return Batch{}, 0
	}
}

func (b *bubble) want(batch Batch, lists ...[]string) {
	b.Helper()
	full := func(names []string) (list []string) {
		for _, n := range names {
			list = append(list, filepath.Join(b.dir, n))
		}
		return list
	}
	want := Batch{full(lists[0]), full(lists[1]), full(lists[2])}
	if d := cmp.Diff(want, batch); d != "" {
		b.Error(d)
	}
}

func TestDebounce80ms(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.put("b.md", "x")
		b.put("a.md", "x")
		for range 5 {
			b.source.hint(filepath.Join(b.dir, "a.md"))
			b.quiet(79 * time.Millisecond)
		}
		batch, took := b.next()
		if took != time.Millisecond {
			b.Errorf("reported after %s more", took)
		}
		b.want(batch, []string{"a.md", "b.md"}, nil, nil)
		b.quiet(time.Hour)
	})
}

// TestRecheck: what is read without a batch is in a batch to come, so that who reads
// has no file for good that the watcher never saw.
func TestRecheck(t *testing.T) {
	inBubble(t, func(b *bubble) {
		path := func(name string) string { return filepath.Join(b.dir, name) }
		b.put("gone.md", "x")
		must(b, os.Remove(path("gone.md")))
		b.watcher.Recheck(path("gone.md"))
		batch, _ := b.next()
		b.want(batch, nil, nil, []string{"gone.md"})

		// While nobody receives, batches are joined: this one was read in between.
		b.put("brief.md", "x")
		b.source.hint(path("brief.md"))
		time.Sleep(time.Second)
		b.watcher.Recheck(path("brief.md"))
		must(b, os.Remove(path("brief.md")))
		b.source.hint(path("brief.md"))
		time.Sleep(time.Second)
		batch, _ = b.next()
		b.want(batch, nil, nil, []string{"brief.md"})

		b.put("here.md", "x")
		b.source.hint(path("here.md"))
		batch, _ = b.next()
		b.want(batch, []string{"here.md"}, nil, nil)
		b.watcher.Recheck(path("here.md"), path("note.txt"), "/elsewhere/a.md")
		batch, _ = b.next()
		b.want(batch, nil, []string{"here.md"}, nil)
		b.quiet(time.Hour)
	})
}

func TestREL111StormIsReportedAfterTwoSeconds(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.put("a.md", "x")
		begin := time.Now()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
					b.source.hint(filepath.Join(b.dir, "a.md"))
				}
			}
		})
		batch, _ := b.next()
		if took := time.Since(begin); took != 2*time.Second+10*time.Millisecond {
			b.Errorf("after %s", took)
		}
		b.want(batch, []string{"a.md"}, nil, nil)
		close(stop)
		wg.Wait()
	})
}

func TestREL111OverflowLooksAtEverything(t *testing.T) {
	inBubble(t, func(b *bubble) {
		armed, added := b.source.WatchList(), b.source.adds()
		b.put("a.md", "x")
		b.source.errors <- fsnotify.ErrEventOverflow
		batch, _ := b.next()
		b.want(batch, []string{"a.md"}, nil, nil)
		// What is armed may be another folder by now, under the same inode: the
		// event that would tell may be one of those that were lost.
		if n := b.source.adds() - added; n != len(armed) || !slices.Equal(armed, b.source.WatchList()) {
			b.Errorf("%d of %d folders were armed anew", n, len(armed))
		}
	})
}

// A folder that an event names may be another one under the same inode, and a
// watch may have ended without a word.
func TestFoldersAreArmedAnew(t *testing.T) {
	inBubble(t, func(b *bubble) {
		added := b.source.adds()
		b.source.hint(b.dir)
		time.Sleep(time.Second)
		if n := b.source.adds() - added; n != 1 {
			b.Errorf("%d folders were armed anew", n)
		}
		armed := b.source.WatchList()
		must(b, b.source.Remove(b.dir))
		b.source.hint(filepath.Join(b.dir, "a.md"))
		time.Sleep(time.Second)
		if d := cmp.Diff(armed, b.source.WatchList()); d != "" {
			b.Error(d)
		}
	})
}

// What appears beneath a folder just before it is armed gives no event.
func TestFoldersThatAppearWhileTheirParentIsArmed(t *testing.T) {
	proj := t.TempDir()
	agents := filepath.Join(proj, ".gemini", "agents")
	source := newFakeSource()
	source.onAdd = func(dir string) { mkdir(t, agents) }
	w, err := NewWatcher(WatchConfig{Dirs: []string{agents}, Now: time.Now, open: func() (eventSource, error) { return source, nil }})
	must(t, err)
	defer w.Close()
	if armed := source.WatchList(); !slices.Contains(armed, agents) {
		t.Errorf("armed %q", armed)
	}
}

func TestNoiseIsNotLookedAt(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.put("a.md", "x")
		for _, name := range []string{"a.md~", ".a.md.swp", "4913", "_off.md", "sub/b.md", "../.bash_history"} {
			b.source.hint(filepath.Join(b.dir, name))
		}
		b.source.hint("/somewhere/else.md")
		b.quiet(29 * time.Second)
		// Nobody told; the look at everything finds it.
		batch, took := b.next()
		if took > time.Second {
			b.Errorf("after %s more", took)
		}
		b.want(batch, []string{"a.md"}, nil, nil)
	})
}

func TestBatchesAreJoinedWhileNobodyReceives(t *testing.T) {
	inBubble(t, func(b *bubble) {
		step := func(change func()) {
			change()
			b.source.hint(filepath.Join(b.dir, "x.md"))
			time.Sleep(time.Second)
		}
		step(func() { b.put("kept.md", "1"); b.put("gone.md", "1"); b.put("c.md", "1") })
		batch, _ := b.next()
		b.want(batch, []string{"c.md", "gone.md", "kept.md"}, nil, nil)
		step(func() { b.put("kept.md", "22") })
		step(func() { must(b, os.Remove(filepath.Join(b.dir, "gone.md"))) })
		step(func() { b.put("brief.md", "1") })
		step(func() { must(b, os.Remove(filepath.Join(b.dir, "brief.md"))) })
		step(func() { b.put("new.md", "1") })
		step(func() { must(b, os.Remove(filepath.Join(b.dir, "c.md"))) })
		step(func() { b.put("c.md", "another") })
		batch, _ = b.next()
		b.want(batch, []string{"new.md"}, []string{"c.md", "kept.md"}, []string{"gone.md"})
		b.quiet(time.Hour)
	})
}

func TestSymbolicLinksArePolled(t *testing.T) {
	inBubble(t, func(b *bubble) {
		target := filepath.Join(b.dir, "..", "target.txt")
		must(b, os.WriteFile(target, []byte("x"), 0o644))
		must(b, os.Symlink(target, filepath.Join(b.dir, "link.md")))
		must(b, os.Symlink("nowhere", filepath.Join(b.dir, "dangling.md")))
		must(b, syscall.Mkfifo(filepath.Join(b.dir, "fifo.md"), 0o644))
		mkdir(b, b.dir, "folder.md")
		b.source.hint(filepath.Join(b.dir, "link.md"))
		batch, _ := b.next()
		b.want(batch, []string{"link.md"}, nil, nil)
		must(b, os.WriteFile(target, []byte("longer"), 0o644))
		batch, took := b.next()
		b.want(batch, nil, []string{"link.md"}, nil)
		if took > 2*time.Second {
			b.Errorf("after %s", took)
		}
		must(b, os.Remove(target))
		batch, _ = b.next()
		b.want(batch, nil, nil, []string{"link.md"})
	})
}

func TestREL112WithoutInstancesItPolls(t *testing.T) {
	inBubbleRefusing(t, syscall.EMFILE, func(b *bubble) {
		b.put("a.md", "x")
		batch, took := b.next()
		b.want(batch, []string{"a.md"}, nil, nil)
		if told := b.told(); took > 2*time.Second || len(told) != 1 || !strings.Contains(told[0], "max_user_instances") {
			b.Errorf("after %s, %q", took, told)
		}
		// They are free again: events are used.
		b.allow()
		time.Sleep(3 * time.Second)
		if told := b.told(); len(told) != 2 || len(b.source.WatchList()) == 0 {
			b.Errorf("%q, armed %q", told, b.source.WatchList())
		}
		b.put("b.md", "x")
		b.source.hint(filepath.Join(b.dir, "b.md"))
		if _, took := b.next(); took != 80*time.Millisecond {
			b.Errorf("after %s", took)
		}
	})
}

func TestREL112WithoutWatchesItPolls(t *testing.T) {
	inBubble(t, func(b *bubble) {
		b.source.mu.Lock()
		b.source.refuse = fmt.Errorf("add: %w", syscall.ENOSPC)
		b.source.mu.Unlock()
		other := mkdir(b, b.dir, "..", "other")
		must(b, b.watcher.Set([]string{b.dir, other}, nil))
		must(b, os.WriteFile(filepath.Join(other, "o.md"), []byte("x"), 0o644))
		batch, took := b.next()
		if told := b.told(); len(batch.Created) != 1 || took > 2*time.Second || len(told) != 1 || !strings.Contains(told[0], "max_user_watches") {
			b.Errorf("%+v after %s, %q", batch, took, told)
		}
	})
}

// What the person is told says what to do, and comes once.
func TestREL112NoticeSaysWhatToDo(t *testing.T) {
	for refuse, want := range map[error][]string{
		syscall.ENOSPC:        {"max_user_watches", "every 2s", "sudo sysctl fs.inotify.max_user_watches="},
		syscall.EMFILE:        {"max_user_instances", "every 2s", "sudo sysctl fs.inotify.max_user_instances="},
		errors.New("no idea"): {"no idea", "every 2s", "a little later"},
	} {
		inBubbleRefusing(t, refuse, func(b *bubble) {
			time.Sleep(time.Hour)
			told := b.told()
			if len(told) != 1 {
				b.Fatalf("%q", told)
			}
			for _, part := range want {
				if !strings.Contains(told[0], part) {
					b.Errorf("%q is not in %q", part, told[0])
				}
			}
		})
	}
}

// Watches are used up for a while and free again: changes of that time are
// found, and events are used.
func TestREL112WatchesComeBack(t *testing.T) {
	inBubble(t, func(b *bubble) {
		other := mkdir(b, b.dir, "..", "other")
		b.source.mu.Lock()
		b.source.refuse = syscall.ENOSPC
		b.source.mu.Unlock()
		must(b, b.watcher.Set([]string{b.dir, other}, nil))
		b.put("a.md", "x")
		batch, took := b.next()
		if b.want(batch, []string{"a.md"}, nil, nil); took > 2*time.Second {
			b.Errorf("after %s", took)
		}
		time.Sleep(time.Hour) // looks are rare by now
		b.source.mu.Lock()
		b.source.refuse = nil
		b.source.mu.Unlock()
		b.put("b.md", "x")
		batch, took = b.next()
		if b.want(batch, []string{"b.md"}, nil, nil); took > 16*time.Second {
			b.Errorf("after %s", took)
		}
		if told := b.told(); len(told) != 2 || !strings.Contains(told[1], "again") || !slices.Contains(b.source.WatchList(), other) {
			b.Errorf("%q, armed %q", told, b.source.WatchList())
		}
		must(b, os.WriteFile(filepath.Join(other, "c.md"), nil, 0o644))
		b.source.hint(filepath.Join(other, "c.md"))
		if _, took := b.next(); took != 80*time.Millisecond {
			b.Errorf("after %s", took)
		}
	})
}

// On a file system that tells nothing of others' changes they are looked for.
func TestNetworkFoldersArePolled(t *testing.T) {
	inBubble(t, func(b *bubble) {
		other := mkdir(b, b.dir, "..", "other")
		b.distant.Store(true)
		must(b, b.watcher.Set([]string{b.dir, other}, nil))
		b.put("a.md", "x")
		batch, took := b.next()
		if b.want(batch, []string{"a.md"}, nil, nil); took > 2*time.Second {
			b.Errorf("after %s", took)
		}
		if told := b.told(); len(told) != 0 {
			b.Errorf("%q", told) // there is nothing to mend
		}
	})
}

// A daemon at rest is at rest: looks become rare, and soon again after a change.
func TestNothingIsDoneAtRest(t *testing.T) {
	rest := func(b *bubble, most int32) {
		b.Helper()
		before := b.looks.Load()
		b.quiet(time.Hour)
		if n := b.looks.Load() - before; n > most {
			b.Errorf("%d looks in an hour", n)
		}
	}
	inBubble(t, func(b *bubble) { rest(b, 32) })
	polled := func(b *bubble) {
		rest(b, 300)
		b.put("a.md", "x")
		if _, took := b.next(); took > 16*time.Second {
			b.Errorf("after %s", took)
		}
		b.put("b.md", "x")
		if _, took := b.next(); took > 2*time.Second {
			b.Errorf("after %s, though something just happened", took)
		}
	}
	inBubbleRefusing(t, syscall.EMFILE, polled)
	inBubble(t, func(b *bubble) {
		b.distant.Store(true)
		must(b, b.watcher.Set([]string{b.dir}, nil))
		polled(b)
	})
}

// The source's own goroutine ended: another one is opened.
func TestSourceThatEndsIsReplaced(t *testing.T) {
	inBubble(t, func(b *bubble) {
		old := b.source
		b.mu.Lock()
		b.source = newFakeSource()
		b.mu.Unlock()
		must(b, old.Close())
		time.Sleep(time.Second)
		if len(b.source.WatchList()) == 0 {
			b.Fatal("nothing is armed")
		}
		b.put("a.md", "x")
		b.source.hint(filepath.Join(b.dir, "a.md"))
		if _, took := b.next(); took != 80*time.Millisecond {
			b.Errorf("after %s", took)
		}
	})
}

func TestSetReportsOnlyWhatChangesAfterwards(t *testing.T) {
	inBubble(t, func(b *bubble) {
		other := mkdir(b, b.dir, "..", "other")
		settings := filepath.Join(other, "settings.json")
		must(b, os.WriteFile(filepath.Join(other, "old.md"), []byte("x"), 0o644))
		must(b, os.WriteFile(settings, []byte("{}"), 0o644))
		b.put("a.md", "x") // of a folder that stays: not lost
		must(b, b.watcher.Set([]string{other, b.dir, other + "/"}, []string{settings}))
		batch, _ := b.next()
		b.want(batch, []string{"a.md"}, nil, nil)
		must(b, os.WriteFile(filepath.Join(other, "old.md"), []byte("longer"), 0o644))
		must(b, os.WriteFile(settings, []byte("{ }"), 0o644))
		must(b, os.WriteFile(filepath.Join(other, "other.json"), []byte("{}"), 0o644))
		b.source.hint(settings)
		batch, _ = b.next()
		if d := cmp.Diff(Batch{Changed: []string{filepath.Join(other, "old.md"), settings}}, batch); d != "" {
			b.Error(d)
		}
		must(b, b.watcher.Set([]string{other}, nil))
		must(b, os.Remove(filepath.Join(b.dir, "a.md")))
		must(b, os.Remove(settings))
		b.quiet(time.Minute)
		if armed := b.source.WatchList(); slices.Contains(armed, b.dir) || !slices.Contains(armed, other) {
			b.Errorf("armed %q", armed)
		}
		if err := b.watcher.Set([]string{"relative"}, nil); fault.KindOf(err) != fault.Invalid {
			b.Error(err)
		}
	})
}

// Written twice within one tick of the file system's clock, with the same size:
// the stamps are the same, the event is not.
func TestREL113SecondWriteWithinATick(t *testing.T) {
	inBubble(t, func(b *bubble) {
		path := filepath.Join(b.dir, "a.md")
		write := func(content string, at time.Time) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
			must(b, err)
			_, err = f.WriteString(content)
			must(b, err)
			must(b, f.Close())
			must(b, os.Chtimes(path, at, at))
		}
		tick := time.Now().Add(80 * time.Millisecond)
		write("one", tick)
		b.source.hint(path)
		batch, _ := b.next()
		b.want(batch, []string{"a.md"}, nil, nil)
		write("two", tick)
		b.source.hint(path)
		batch, _ = b.next()
		b.want(batch, nil, []string{"a.md"}, nil)
		// An event long after that without a change is none.
		write("two", tick.Add(-time.Hour))
		b.source.hint(path)
		b.next()
		b.source.hint(path)
		b.quiet(time.Hour)
	})
}

func TestREL118HundredFolders(t *testing.T) {
	dir := t.TempDir()
	var dirs []string
	for i := range 100 {
		dirs = append(dirs, filepath.Join(mkdir(t, dir, fmt.Sprint(i), "src", "deep"), "..", "..", ".gemini", "agents"))
	}
	source := newFakeSource()
	var opened atomic.Int32
	w, err := NewWatcher(WatchConfig{Dirs: dirs, Now: time.Now, open: func() (eventSource, error) { opened.Add(1); return source, nil }})
	must(t, err)
	// One source, one watch for each folder: nothing beneath, nothing beside.
	if armed := source.WatchList(); opened.Load() != 1 || len(armed) != 100 {
		t.Errorf("%d sources, %d watches", opened.Load(), len(armed))
	}
	must(t, w.Close())
	if err := w.Set(dirs, nil); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}

func TestWatcherNeedsAClockAndAbsolutePaths(t *testing.T) {
	if _, err := NewWatcher(WatchConfig{}); err == nil {
		t.Error("no clock")
	}
	if _, err := NewWatcher(WatchConfig{Now: time.Now, Files: []string{"x"}}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

// A source that panics takes neither the process nor the files with it.
func TestPanicIsToldAndEndsTheWatcher(t *testing.T) {
	told := make(chan string, 1)
	var calls atomic.Int32
	w, err := NewWatcher(WatchConfig{Dirs: []string{t.TempDir()}, Now: time.Now, Safety: time.Millisecond, Notice: func(s string) {
		if strings.Contains(s, "no longer") {
			told <- s
		}
	}, open: func() (eventSource, error) {
		if calls.Add(1) > 1 {
			panic("source")
		}
		return nil, errors.New("not yet")
	}})
	must(t, err)
	<-told
	for range w.Batches() {
		continue
	}
	if err := w.Set(nil, nil); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	must(t, w.Close())
}

func BenchmarkScan10000(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		must(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.md", i)), nil, 0o644))
	}
	s := &watchState{}
	s.retarget(newTargets([]string{dir}, nil))
	b.ReportAllocs()
	for b.Loop() {
		if s.scan(time.Now()); len(s.seen[dir]) != 10_000 {
			b.Fatal(len(s.seen[dir]))
		}
		s.pending = s.difference()
		s.acknowledge()
	}
}
