package faults_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/faults"
)

// both runs a test over memory and over a folder.
func both(t *testing.T, test func(t *testing.T, d *faults.Disk, dir string)) {
	t.Run("memory", func(t *testing.T) { test(t, faults.Memory(t), "d") })
	t.Run("folder", func(t *testing.T) { test(t, faults.Folder(t), t.TempDir()) })
}

const appending = os.O_RDWR | os.O_APPEND | os.O_CREATE

// does calls f and fails the test for its error.
func does(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, d *faults.Disk, name string, flag int) activity.File {
	t.Helper()
	f, err := d.Open(name, flag, 0o600)
	does(t, err)
	t.Cleanup(func() { _ = f.Close() }) // a test may have closed it
	return f
}

func write(t *testing.T, f activity.File, text string) {
	t.Helper()
	if n, err := f.Write([]byte(text)); err != nil || n != len(text) {
		t.Fatalf("%d, %v", n, err)
	}
}

// holds checks what files there are, and what is in them: "name=text".
func holds(t *testing.T, d *faults.Disk, want ...string) {
	t.Helper()
	var got []string
	for _, name := range d.Names() {
		f := open(t, d, name, os.O_RDONLY)
		size, err := f.Size()
		does(t, err)
		text := make([]byte, size)
		if size > 0 {
			_, err = f.ReadAt(text, 0)
			does(t, err)
		}
		if now, ok := d.Now(name); !ok || string(now) != string(text) {
			t.Errorf("%s: reads %q, holds %q", name, text, now)
		}
		got = append(got, filepath.Base(name)+"="+string(text))
	}
	if !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}

func TestWhatIsWrittenIsThereAfterAKillAndWhatIsSyncedAfterACut(t *testing.T) {
	both(t, func(t *testing.T, d *faults.Disk, dir string) {
		a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
		f := open(t, d, a, appending)
		write(t, f, "one")
		does(t, f.Sync(), d.SyncDir(dir))
		write(t, f, "two")
		g := open(t, d, b, appending)
		write(t, g, "whole")
		does(t, g.Sync()) // its name is not synced
		d = d.Kill()
		holds(t, d, "a=onetwo", "b=whole")
		if safe, ok := d.Safe(a); !ok || string(safe) != "one" {
			t.Errorf("of a %q is safe", safe)
		}
		if _, ok := d.Safe(b); ok {
			t.Error("b has a safe name")
		}

		does(t, d.SyncDir(dir), d.Rename(b, c))
		holds(t, d.Cut(nil), "a=one", "b=whole")
	})
}

func TestARenameComesWithTheContentThatWasSynced(t *testing.T) {
	both(t, func(t *testing.T, d *faults.Disk, dir string) {
		old, next := filepath.Join(dir, "old"), filepath.Join(dir, "old.tmp")
		d.Put(old, []byte("before"))
		f := open(t, d, next, appending)
		write(t, f, "after") // no sync: the mistake
		does(t, d.Rename(next, old), d.SyncDir(dir))
		holds(t, d.Cut(nil), "old=")
	})
}

func TestChanceLeavesABeginningAndZerosBehindIt(t *testing.T) {
	both(t, func(t *testing.T, _ *faults.Disk, dir string) {
		kinds := make(map[string]bool)
		for seed := range uint64(200) {
			d := faults.Memory(t)
			name := filepath.Join(dir, "log")
			d.Put(name, []byte("safe."))
			write(t, open(t, d, name, appending), "risk")
			after := d.Cut(rand.New(rand.NewPCG(seed, 0)))
			data, _ := after.Now(name)
			rest, ok := strings.CutPrefix(string(data), "safe.")
			kept := strings.TrimRight(rest, "\x00")
			if !ok || !strings.HasPrefix("risk", kept) || len(rest) > len("risk") {
				t.Fatalf("seed %d: %q", seed, data)
			}
			kinds[fmt.Sprint(len(kept), len(rest) > len(kept))] = true
		}
		if len(kinds) < 9 { // 0 to 4 bytes, and zeros behind 0 to 3
			t.Errorf("chance has only %v", kinds)
		}
	})
}

func TestNamesChangeInOrder(t *testing.T) {
	seen := make(map[string]bool)
	for seed := range uint64(100) {
		d := faults.Memory(t)
		d.Put("d/a", nil)
		does(t, d.Rename("d/a", "d/b"), d.Rename("d/b", "d/c"), d.Remove("d/c"))
		seen[strings.Join(d.Cut(rand.New(rand.NewPCG(seed, 0))).Names(), " ")] = true
	}
	if len(seen) != 4 || !seen["d/a"] || !seen["d/b"] || !seen["d/c"] || !seen[""] {
		t.Errorf("found %v", seen)
	}
}

func TestCallsAreCountedAndFail(t *testing.T) {
	both(t, func(t *testing.T, d *faults.Disk, dir string) {
		name := filepath.Join(dir, "log")
		play := func(d *faults.Disk) error {
			f, err := d.Open(name, appending, 0o600)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.Write([]byte("12345678"))
			return errors.Join(err, f.Truncate(4), f.Sync(), d.Rename(name, name+"2"), d.Remove(name+"2"), d.SyncDir(dir))
		}
		does(t, play(d))
		var ops []faults.Op
		for i, c := range d.Calls() {
			if c.N != i+1 {
				t.Errorf("%s is the %d-th", c, i+1)
			}
			ops = append(ops, c.Op)
		}
		want := []faults.Op{faults.Create, faults.Write, faults.Truncate, faults.Sync, faults.Rename, faults.Remove, faults.SyncDir}
		if !slices.Equal(ops, want) {
			t.Errorf("the calls were %v", ops)
		}
		for k, op := range want {
			d := d.Kill()
			d.Fail(faults.At(k+1, faults.ErrSpace))
			if err := play(d); !errors.Is(err, faults.ErrSpace) {
				t.Errorf("%s at call %d: %v", op, k+1, err)
			}
			if d.Ended() {
				t.Error("an error has ended the machine")
			}
			_ = d.Remove(name) // one of the two is left
			_ = d.Remove(name + "2")
		}
	})
}

func TestAfterTheEndNothingChanges(t *testing.T) {
	both(t, func(t *testing.T, d *faults.Disk, dir string) {
		name := filepath.Join(dir, "log")
		f := open(t, d, name, appending)
		write(t, f, "12345678")
		d.Fail(faults.Tearing(faults.EndAt(3)))
		if n, err := f.Write([]byte("abcd")); n != 2 || !errors.Is(err, faults.ErrEnded) {
			t.Errorf("%d, %v", n, err)
		}
		_, err := d.Open(filepath.Join(dir, "more"), appending, 0o600)
		for what, err := range map[string]error{
			"sync": f.Sync(), "truncate": f.Truncate(0), "rename": d.Rename(name, name+"2"), "remove": d.Remove(name), "syncdir": d.SyncDir(dir), "create": err,
		} {
			if !errors.Is(err, faults.ErrEnded) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if !d.Ended() {
			t.Error("it has not ended")
		}
		holds(t, d.Kill(), "log=12345678ab")
	})
}

func TestAFailedSyncIsTheLastOfItsFile(t *testing.T) {
	heard := &hearer{}
	d := faults.Memory(heard)
	f := open(t, d, "d/log", appending)
	does(t, d.SyncDir("d"))
	write(t, f, "one ")
	does(t, f.Sync())
	write(t, f, "two ")
	d.Fail(faults.Each(faults.Sync, 1, 1, faults.ErrIO))
	if err := f.Sync(); !errors.Is(err, faults.ErrIO) {
		t.Errorf("%v", err)
	}
	if len(heard.said) > 0 {
		t.Errorf("%q", heard.said)
	}
	does(t, f.Sync())
	if len(heard.said) != 1 || !strings.Contains(heard.said[0], "d/log") {
		t.Errorf("a second sync is no fault: %q", heard.said)
	}
	// Another descriptor is told that all is well, and it is not.
	does(t, open(t, d, "d/log", appending).Sync())
	holds(t, d.Cut(nil), "log=one ")
}

type hearer struct{ said []string }

func (h *hearer) Helper() {}
func (h *hearer) Errorf(format string, args ...any) {
	h.said = append(h.said, fmt.Sprintf(format, args...))
}

func TestFaultsAreChosenByKindAndNumber(t *testing.T) {
	ask := func(f faults.Fault, ops ...faults.Op) string {
		var b strings.Builder
		for i, op := range ops {
			if f(faults.Call{N: i + 1, Op: op, Size: 10}) != nil {
				b.WriteByte('x')
			} else {
				b.WriteByte('.')
			}
		}
		return b.String()
	}
	s, w := faults.Sync, faults.Write
	for _, c := range []struct {
		fault faults.Fault
		want  string
	}{
		{faults.At(3, faults.ErrIO), "..x..."},
		{faults.Each(s, 2, 2, faults.ErrIO), "...x.."},
		{faults.Each(s, 2, 0, faults.ErrIO), "...x.x"},
		{faults.Each(w, 1, 2, faults.ErrIO), "x.x..."},
		{faults.Either(nil, faults.At(1, faults.ErrIO), faults.Each(s, 3, 3, faults.ErrSpace)), "x....x"},
	} {
		if got := ask(c.fault, w, s, w, s, w, s); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestOpenIsThatOfOs(t *testing.T) {
	both(t, func(t *testing.T, d *faults.Disk, dir string) {
		name := filepath.Join(dir, "f")
		if _, err := d.Open(name, os.O_RDWR, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
		f := open(t, d, name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
		write(t, f, "abcdef")
		if _, err := d.Open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%v", err)
		}
		g := open(t, d, name, os.O_RDWR)
		write(t, g, "XY") // where its own last write ended: at the beginning
		write(t, g, "Z")
		holds(t, d, "f=XYZdef")
		write(t, open(t, d, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC), "new")
		holds(t, d, "f=new")
		if err := errors.Join(d.Remove(filepath.Join(dir, "no"))); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
		if err := d.Rename(filepath.Join(dir, "no"), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	})
}

// TestALogOverAFolder drives what the kit is for.
func TestALogOverAFolder(t *testing.T) {
	both(t, func(t *testing.T, d *faults.Disk, dir string) {
		path := filepath.Join(dir, "s.jsonl")
		cfg := activity.Config{Path: path, Session: "s", Now: clock, Files: d}
		l, _, err := activity.Open(cfg)
		does(t, err)
		seq := l.Append(activity.Origin{Run: "r"}, activity.RunStarted{Mode: "chat"}, 0)
		does(t, l.Commit(t.Context(), seq))
		l.Append(activity.Origin{Run: "r"}, activity.ContentDelta{Text: "not synced"}, 0)
		next := d.Cut(nil)
		_ = l.Close() // its disk has ended
		cfg.Files = next
		again, found, err := activity.Open(cfg)
		does(t, err)
		if again.Last() != seq || found.Damaged() {
			t.Errorf("%d events, %+v", again.Last(), found)
		}
		does(t, again.Close())
	})
}
