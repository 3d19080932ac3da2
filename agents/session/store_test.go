package session

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

func open(t *testing.T, store *Store, id string) *Session {
	t.Helper()
	s, err := store.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// debugLog returns a log that is written to w.
func debugLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// read returns what follows an event, once it is announced.
func read(t *testing.T, s *Session, after uint64) ([]activity.Entry, error) {
	t.Helper()
	if err := s.Log.Commit(t.Context(), s.Log.Last()); err != nil {
		t.Fatal(err)
	}
	return s.Log.Read(after, 100)
}

// REL-104: opened by many at once, a session is opened once.
func TestREL104OpenedAtOnce(t *testing.T) {
	store := New(Config{Dir: t.TempDir(), Now: clock})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			s, err := store.Open([]string{"a", "b", ""}[i%3])
			if err != nil {
				t.Error(err)
				return
			}
			if i%5 == 0 {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			s.Log.Append(activity.Origin{}, activity.Note{Message: "x"}, 0)
			store.Live()
			if _, err := store.List(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	if len(store.Live()) != 0 {
		t.Error("sessions are left")
	}
}

// REL-103: a session that ended in open calls and an open question goes on: the
// run is interrupted, nothing waits, and mending ends what was open.
func TestREL103OpenCallsAreMended(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	s := open(t, store, "x")
	o := activity.Origin{Run: "r", Agent: "a", Turn: 3}
	s.Log.Append(o, activity.RunStarted{Input: text("hi")}, 0)
	s.Log.Append(o, calls("r#3-0", "r#3-1"), 0)
	s.Log.Append(o, ended("r#3-1", "b"), 0)
	s.Log.Append(o, activity.ToolState{Call: "r#3-0", Name: "ls", State: activity.AwaitingApproval, Risk: "high"}, 0)
	s.Log.Append(o, activity.ConfirmationAsked{ID: "q", Call: "r#3-0"}, 0)
	s.Log.Append(o, activity.RunState{From: activity.Running, To: activity.Waiting}, 0)
	s.Log.Append(activity.Origin{Run: "p", Agent: "b"}, activity.RunStarted{}, 0)
	s.Log.Append(activity.Origin{Run: "p", Agent: "b"}, activity.RunState{From: activity.Running, To: activity.Paused}, 0)
	if s.Info().State != Waiting || s.CloseCalls("a") != 0 {
		t.Error("a call of a live run was ended")
	}
	store.Close()

	store = New(Config{Dir: dir, Now: clock})
	s = open(t, store, "x")
	if runs := s.Runs(); runs[0].State != activity.Interrupted || runs[1].State != activity.Paused {
		t.Errorf("runs %+v", runs)
	}
	last := s.CloseCalls("a")
	entries, err := read(t, s, last-1)
	if err != nil || len(entries) != 1 {
		t.Fatal(err)
	}
	e, err := entries[0].Event("x")
	got, ok := e.Body.(activity.ToolState)
	if err != nil || !ok || got.State != activity.Cancelled || got.Call != "r#3-0" || got.Risk != "high" || e.Origin != o || got.Error.Message != interrupted {
		t.Errorf("mended by %+v, %v", e, err)
	}
	if err := Check(s.Context("a")); err != nil {
		t.Error(err)
	}
	store.Close()
}

// Ids cannot leave the folder or stand for another session's files.
func TestIDs(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: filepath.Join(dir, "w"), Now: clock})
	defer store.Close()
	for _, id := range []string{"..", ".", "a/b", "../x", `a\b`, "a b", ".hidden", "main.2", "a\x00", strings.Repeat("x", 65), "é", "a\n"} {
		if _, err := store.Open(id); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := store.Get(id); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"main", "v1.2-rc_3", store.NewID(), strings.Repeat("x", 64)} {
		open(t, store, id)
	}
	if a, b := store.NewID(), store.NewID(); a == b || len(a) != 8 {
		t.Errorf("ids %s %s", a, b)
	}
	if key := Key("/w/proj"); key != "783cc1983e91460e" { // printf %s /w/proj | sha256sum
		t.Errorf("key %s", key)
	}
	_, err := store.Get("never")
	if reason, _ := fault.ReasonOf(err); fault.KindOf(err) != fault.NotFound || reason != fault.UnknownSession {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("files outside: %v", entries)
	}
	filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[info.IsDir()]; path != dir && info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
}

// Blobs are kept once, under their content's name, and damage is noticed.
func TestBlobs(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		store := New(Config{Dir: dir, Now: clock})
		s := open(t, store, "x")
		data := bytes.Repeat([]byte("data"), 10_000)
		sha, err := s.PutBlob(data)
		if again, err2 := s.PutBlob(data); err != nil || err2 != nil || again != sha || len(sha) != 64 {
			t.Errorf("%s, %s, %v, %v", sha, again, err, err2)
		}
		if got, err := s.GetBlob(sha); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := s.GetBlob(strings.Repeat("0", 64)); fault.KindOf(err) != fault.NotFound {
			t.Errorf("got %v", err)
		}
		for _, sha := range []string{"", "../main.lock", strings.ToUpper(sha), sha + "0"} {
			if _, err := s.GetBlob(sha); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%q: %v", sha, err)
			}
		}
		if dir != "" {
			path := filepath.Join(dir, "blobs", sha)
			if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
				t.Errorf("files %v", entries)
			}
			if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v", info.Mode())
			}
			os.WriteFile(path, data[1:], 0o600)
			if _, err := s.GetBlob(sha); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("damaged: %v", err)
			}
			if _, err := s.PutBlob(data); err != nil {
				t.Error(err)
			}
			if got, err := s.GetBlob(sha); err != nil || !bytes.Equal(got, data) {
				t.Errorf("not mended: %v", err)
			}
		}
		store.Close()
	}
}

// What was kept is listed, newest first, from the logs' ends; what cannot be
// read says so; later segments and other files are none.
func TestList(t *testing.T) {
	dir := t.TempDir()
	now := clock()
	store := New(Config{Dir: dir, Folder: "/w", Now: func() time.Time { now = now.Add(time.Minute); return now }})
	for _, id := range []string{"old", "mid", "new"} {
		s := open(t, store, id)
		s.Log.Append(activity.Origin{Run: "r" + id, Agent: "a"}, activity.RunStarted{Input: text("  first\nsecond")}, 0)
		s.Log.Append(activity.Origin{Run: "r" + id, Agent: "a"}, activity.RunFinished{Reason: activity.Goal}, 0)
	}
	live := open(t, store, "new")
	open(t, store, "old").Close()
	open(t, store, "mid").Close()
	os.WriteFile(filepath.Join(dir, "mid.2.jsonl"), []byte("x"), 0o600)
	os.WriteFile(filepath.Join(dir, "bad.jsonl"), []byte("\x00\x01"), 0o600)
	os.Mkdir(filepath.Join(dir, "dir.jsonl"), 0o700)
	got, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, info := range got {
		ids = append(ids, info.Session)
		if (info.Problem != "") != (info.Session == "bad") {
			t.Errorf("%s: problem %q", info.Session, info.Problem)
		}
		if info.Session != "bad" && !info.UpdatedAt.After(info.CreatedAt) {
			t.Errorf("%s: %v to %v", info.Session, info.CreatedAt, info.UpdatedAt)
		}
	}
	if strings.Join(ids, " ") != "new mid old bad" {
		t.Errorf("listed %v", ids)
	}
	if info := live.Info(); info.Title != "first" || info.Runs != 1 || info.State != Idle || info.Folder != "/w" || len(info.Agents) != 1 {
		t.Errorf("info %+v", info)
	}
	store.Close()
}

// REL-98: where nothing can be written, Open says so, and a store in memory
// works: nothing is kept.
func TestREL98MemoryOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	if _, err := New(Config{Dir: filepath.Join(file, "w"), Now: clock}).Open("main"); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
	store := New(Config{Now: clock})
	s := open(t, store, "")
	s.Log.Append(activity.Origin{Run: "r", Agent: "a"}, activity.RunStarted{Input: text("hi")}, 0)
	if err := s.Log.Commit(t.Context(), 1); err != nil || open(t, store, "main") != s || len(s.Context("a")) != 1 {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := store.Get("main"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("got %v", err)
	}
	store.Close()
}

// A session whose log is damaged opens, and says what is lost.
func TestREL95DamagedSessionSaysWhatIsLost(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	s := open(t, store, "x")
	o := activity.Origin{Run: "r", Agent: "a"}
	s.Log.Append(o, activity.RunStarted{Input: text("hi")}, 0)
	s.Log.Append(o, calls("1"), 0)
	s.Log.Append(o, ended("1", "a"), 0)
	s.Log.Append(o, activity.RunFinished{}, 0)
	store.Close()
	path := filepath.Join(dir, "x.jsonl")
	data, _ := os.ReadFile(path)
	at := bytes.Index(data, []byte(`"run.started"`))
	data[at+3] ^= 1
	os.WriteFile(path, append(data, `{"seq":5,"ti`...), 0o600)
	s = open(t, store, "x")
	var notes []string
	entries, _ := read(t, s, 0)
	for _, e := range entries {
		if e.Type == "note" {
			notes = append(notes, string(e.Wire("x", nil)))
		}
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "Event 1 of this session") || !strings.Contains(notes[1], "12 bytes") {
		t.Errorf("notes %s", notes)
	}
	if got := says(s.Context("a")); len(got) != 3 || got[0] != "user: "+lostStart {
		t.Errorf("context %q", got)
	}
	store.Close()
}

// BenchmarkNewSession is a session from nothing to its first event committed
// (spec 13: at most a millisecond, of which the sync is the disk's).
func BenchmarkNewSession(b *testing.B) {
	store := New(Config{Dir: b.TempDir(), Now: time.Now})
	for b.Loop() {
		if _, err := store.Open(store.NewID()); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	store.Close()
}

// BenchmarkRecovery is the restart of a daemon that was killed with 100 sessions of
// 1 MB each (spec 12.2: ready in at most two seconds; ten in half of one): opening
// them all, and listing them, which is what it waits for.
func BenchmarkRecovery(b *testing.B) {
	dir := b.TempDir()
	cfg := Config{Dir: dir, Now: clock}
	store := New(cfg)
	s, err := store.Open("s0")
	if err != nil {
		b.Fatal(err)
	}
	a := speaker{s, activity.Origin{Run: "r", Agent: "a"}}
	a.say(activity.RunStarted{Input: text("hi")})
	for n := 1; ; n++ {
		for range 20 {
			a.say(activity.ContentDelta{Text: "a dozen or so characters "})
		}
		a.turn(n, strings.Repeat("line of a result\n", 100))
		if err := s.Log.Commit(b.Context(), s.Log.Last()); err != nil {
			b.Fatal(err)
		}
		if size, err := sizeOf(activity.Disk(), filepath.Join(dir, "s0.jsonl")); err != nil || size >= 1<<20 {
			break
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "s0.jsonl")) // as a kill leaves it
	if err != nil {
		b.Fatal(err)
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	reset := func(n int) {
		all, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, path := range all {
			os.Remove(path)
		}
		for i := range n {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%d.jsonl", i)), data, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, n := range []int{10, 100} {
		for _, what := range []string{"list", "open"} {
			b.Run(fmt.Sprint(what, "/", n), func(b *testing.B) {
				b.SetBytes(int64(n * len(data)))
				for b.Loop() {
					b.StopTimer()
					reset(n)
					store := New(cfg)
					b.StartTimer()
					if infos, err := store.List(); err != nil || len(infos) != n {
						b.Fatal(len(infos), err)
					}
					for i := range n {
						if what == "list" {
							break
						}
						if _, err := store.Open(fmt.Sprint("s", i)); err != nil {
							b.Fatal(err)
						}
					}
					b.StopTimer()
					store.Close()
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkContext is the view of a long conversation.
func BenchmarkContext(b *testing.B) {
	store := New(Config{Now: time.Now})
	s, err := store.Open("x")
	if err != nil {
		b.Fatal(err)
	}
	for i := range 500 {
		o := activity.Origin{Run: strconv.Itoa(i), Agent: "a"}
		s.Log.Append(o, activity.RunStarted{Input: text("hi")}, 0)
		s.Log.Append(o, calls(fmt.Sprint(i, "#1")), 0)
		s.Log.Append(o, ended(fmt.Sprint(i, "#1"), "a"), 0)
		s.Log.Append(o, activity.RunFinished{}, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Context("a")
	}
	store.Close()
}

// BenchmarkIdleSession is what a session at rest keeps in memory: B/session, of
// one that has had twenty turns.
func BenchmarkIdleSession(b *testing.B) {
	const sessions = 200
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		store := New(Config{Dir: b.TempDir(), Now: clock})
		for i := range sessions {
			s, err := store.Open(fmt.Sprint("s", i))
			if err != nil {
				b.Fatal(err)
			}
			for n := range 20 {
				o := activity.Origin{Run: strconv.Itoa(n), Agent: "a"}
				s.Log.Append(o, activity.RunStarted{Input: text("hi")}, 0)
				s.Log.Append(o, calls(fmt.Sprint(n, "#1")), 0)
				s.Log.Append(o, ended(fmt.Sprint(n, "#1"), "a"), 0)
				s.Log.Append(o, activity.RunFinished{}, 0)
			}
		}
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
		before := heap()
		store = New(Config{Dir: store.cfg.Dir, Now: clock})
		for i := range sessions {
			if _, err := store.Open(fmt.Sprint("s", i)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heap()-before)/sessions, "B/session")
		store.Close()
	}
}

// BenchmarkLongResults is a context of 200 turns of which every fifth has a
// result that lies beside the log.
func BenchmarkLongResults(b *testing.B) {
	store := New(Config{Dir: b.TempDir(), Now: clock})
	s, err := store.Open("x")
	if err != nil {
		b.Fatal(err)
	}
	o := activity.Origin{Run: "r", Agent: "a"}
	s.Log.Append(o, activity.RunStarted{Input: text("hi")}, 0)
	for i := range 200 {
		id := fmt.Sprint("r#", i)
		r := &activity.ToolResult{Content: strings.Repeat(fmt.Sprint("line ", i, "\n"), 10+3_000*(1-min(i%5, 1)))}
		if err := s.Spill(r); err != nil {
			b.Fatal(err)
		}
		s.Log.Append(o, calls(id), 0)
		s.Log.Append(o, activity.ToolState{Call: id, State: activity.Success, Result: r}, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Context("a")
	}
	store.Close()
}
