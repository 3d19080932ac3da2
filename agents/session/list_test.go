package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// conversation writes a session of one run.
func conversation(t testing.TB, s *Session, words string) {
	t.Helper()
	o := activity.Origin{Run: "r-" + s.ID, Agent: "a"}
	s.Log.Append(o, activity.RunStarted{Input: text(words), Chain: []string{"user", "a"}}, 0)
	s.Log.Append(o, activity.TurnStarted{Turn: 1}, 0)
	s.Log.Append(o, activity.ModelFinished{Usage: model.Usage{InputTokens: 5, TotalTokens: 5}}, 0)
	s.Log.Append(o, activity.ModelContent{Content: []model.Part{{Text: strings.Repeat("words ", 50)}}}, 0)
	s.Log.Append(o, activity.RunFinished{Reason: activity.Goal, Cost: &activity.Cost{Amount: 1, Currency: "USD"}}, 0)
}

// listed returns what a list says of each session.
func listed(t *testing.T, store *Store) map[string]Info {
	t.Helper()
	infos, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Info{}
	for i, info := range infos {
		if i > 0 && info.UpdatedAt.After(infos[i-1].UpdatedAt) {
			t.Errorf("%s is newer than %s before it", info.Session, infos[i-1].Session)
		}
		out[info.Session] = info
	}
	if len(out) != len(infos) {
		t.Error("a session is listed twice")
	}
	return out
}

// A session that is closed is listed as it was when it was open, whatever
// became of what is kept beside its log.
func TestListTellsWhatTheSessionWould(t *testing.T) {
	dir := t.TempDir()
	now := clock()
	cfg := Config{Dir: dir, Folder: "/w", Now: func() time.Time { now = now.Add(time.Minute); return now }}
	store := New(cfg)
	s, err := store.New("  A title\nand more", "")
	if err != nil {
		t.Fatal(err)
	}
	if s.Info().Title != "A title" {
		t.Errorf("title %q", s.Info().Title)
	}
	conversation(t, s, "first request")
	untitled := open(t, store, "untitled")
	conversation(t, untitled, "first request")
	unfinished := open(t, store, "unfinished")
	unfinished.Log.Append(activity.Origin{Run: "r", Agent: "b"}, activity.RunStarted{Input: text("long work")}, 0)
	want := map[string]Info{}
	for _, s := range []*Session{s, untitled, unfinished} {
		info := s.Info()
		info.State = info.State.afterClose()
		want[s.ID] = info
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if want["untitled"].Title != "first request" || want["untitled"].Usage.InputTokens != 5 || want["untitled"].Cost.Amount != 1 {
		t.Errorf("%+v", want["untitled"])
	}
	check := func(name string) {
		t.Helper()
		if diff := cmp.Diff(want, listed(t, New(cfg))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	check("kept when closed")
	kept, err := filepath.Glob(filepath.Join(dir, "*"+infoSuffix))
	if err != nil || len(kept) != 3 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	for _, damage := range []string{"", "{}", `{"format":1,"size":1,"info":{"session":"untitled","title":"old"}}`, "\x00"} {
		for _, path := range kept {
			if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		check("damaged: " + damage)
		check("kept again")
		for _, path := range kept {
			data, err := os.ReadFile(path)
			if err != nil || string(data) == damage {
				t.Errorf("not kept again: %q, %v", data, err)
			}
		}
	}
	for _, path := range kept {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	check("removed")
	// A log that grew behind our back counts.
	f, err := os.OpenFile(filepath.Join(dir, "untitled.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("garbage\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if info := listed(t, New(cfg))["untitled"]; info.Problem == "" || info.Title != "first request" {
		t.Errorf("damaged: %+v", info)
	}
	// What lies beside the logs names no session of its own.
	store = New(cfg)
	open(t, store, "untitled")
	if got := listed(t, store)["untitled"]; got.Problem != "" || got.Runs != 1 {
		t.Errorf("open: %+v", got)
	}
	store.Close()
}

// A session that another daemon has is listed as locked, and looking disturbs
// nobody.
func TestListSaysWhoIsLocked(t *testing.T) {
	dir := t.TempDir()
	one, two := New(Config{Dir: dir, Now: clock}), New(Config{Dir: dir, Now: clock})
	s := open(t, one, "x")
	conversation(t, s, "hi")
	if err := s.Log.Commit(t.Context(), s.Log.Last()); err != nil {
		t.Fatal(err)
	}
	s.Log.Append(activity.Origin{Run: "on", Agent: "a"}, activity.RunStarted{Input: text("on")}, 0)
	if err := s.Log.Commit(t.Context(), s.Log.Last()); err != nil {
		t.Fatal(err)
	}
	if info := listed(t, two)["x"]; !info.Locked || info.Title != "hi" || info.State != Running {
		t.Errorf("the other one sees %+v", info)
	}
	if info := listed(t, one)["x"]; info.Locked {
		t.Errorf("its own is locked: %+v", info)
	}
	one.Close()
	if info := listed(t, two)["x"]; info.Locked || info.State != Interrupted {
		t.Errorf("closed: %+v", info)
	}
	// What a daemon that was killed leaves looks held, and is not.
	if err := os.WriteFile(filepath.Join(dir, "x.lock"), []byte(`{"owner":"who is gone"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if info := listed(t, two)["x"]; info.Locked {
		t.Errorf("nobody has it: %+v", info)
	}
	// While others look all the time, opening never finds it held.
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				held(filepath.Join(dir, "x.lock"))
			}
		}
	})
	for range 30 {
		s, err := two.Open("x")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	two.Close()
}

// counting counts the bytes that are read of each file.
type counting struct {
	activity.Files
	mu   sync.Mutex
	read map[string]int
}

type countingFile struct {
	activity.File
	of   *counting
	name string
}

func (c *counting) Open(name string, flag int, perm os.FileMode) (activity.File, error) {
	f, err := c.Files.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return countingFile{f, c, filepath.Base(name)}, nil
}

func (f countingFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.of.read[f.name] += n
	return n, err
}

// REL-105: of a log of any length only the ends are read, of one that is known
// nothing, and a corrupt one is flagged and in nobody's way.
func TestREL105ListOfManySessions(t *testing.T) {
	dir := t.TempDir()
	files := &counting{Files: activity.Disk(), read: map[string]int{}}
	store := New(Config{Dir: dir, Now: clock, Files: files})
	const sessions = 1_000
	s := open(t, store, "s0")
	conversation(t, s, "a request")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "s0.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range sessions {
		id := fmt.Sprint("s", i)
		named := bytes.Replace(data, []byte(`"session":"s0"`), []byte(`"session":"`+id+`"`), 1)
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), named, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A log of 500 MB: what is between its ends is a hole that would be one line
	// too long.
	path := filepath.Join(dir, "s7.jsonl")
	lines := bytes.SplitAfter(data, []byte("\n"))
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(500 << 20); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(append([]byte("\n"), lines[len(lines)-2]...), 500<<20); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "s8.jsonl"), []byte("\x00\x01\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		kept bool // what lists tell lies beside the logs
	}{{"the first time", false}, {"half of it known", true}, {"all known", true}} {
		clear(files.read)
		got := listed(t, store)
		if len(got) != sessions || got["s7"].Title != "a request" || got["s7"].Runs != 1 || got["s7"].Problem != "" || got["s8"].Problem == "" {
			t.Errorf("%s: %d sessions; %+v; %+v", c.name, len(got), got["s7"], got["s8"])
		}
		if n := files.read["s7.jsonl"]; n == 0 || n > 4*64<<10 {
			t.Errorf("%s: %d bytes of the long log were read", c.name, n)
		}
		logs := 0
		for name, n := range files.read {
			if strings.HasSuffix(name, ".jsonl") && name != "s7.jsonl" {
				logs += n
			}
		}
		if whole := sessions * len(data); logs > whole+whole/10 || (c.kept && logs > whole*6/10) || (c.name == "all known" && logs > 64) {
			t.Errorf("%s: %d bytes of logs were read, which have %d", c.name, logs, whole)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() < 500<<20 {
		t.Errorf("the log was changed: %+v, %v", info, err)
	}
}

// BenchmarkList is 10,000 sessions (spec 12, REL-105: less than a second).
func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	s, err := store.Open("s0")
	if err != nil {
		b.Fatal(err)
	}
	conversation(b, s, "a request")
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "s0.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%d.jsonl", i)), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprint("kept ", kept), func(b *testing.B) {
			if kept {
				for range 25 { // each list keeps some
					if _, err := store.List(); err != nil {
						b.Fatal(err)
					}
				}
			}
			for b.Loop() {
				got, err := store.List()
				if err != nil || len(got) != 10_000 {
					b.Fatal(len(got), err)
				}
				if !kept {
					b.StopTimer()
					all, _ := filepath.Glob(filepath.Join(dir, "*"+infoSuffix))
					for _, path := range all {
						os.Remove(path)
					}
					b.StartTimer()
				}
			}
		})
	}
}
