package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// childDir makes a process of this test a daemon that holds a session there, or
// lists those that there are, as childTask says.
const (
	childDir  = "AGENTLS_TEST_SESSIONS"
	childTask = "AGENTLS_TEST_TASK"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if os.Getenv(childTask) == "list" {
			list(dir)
		} else {
			hold(dir)
		}
		return
	}
	os.Exit(m.Run())
}

// hold opens main and records events until it is killed, printing the number of
// each one that was acknowledged.
func hold(dir string) {
	store := New(Config{Dir: dir, Owner: "the child", Now: time.Now})
	s, err := store.Open("main")
	if err != nil {
		fmt.Println(err)
		return
	}
	o := activity.Origin{Run: "r" + strconv.Itoa(os.Getpid()), Agent: "a"}
	s.Log.Append(o, activity.RunStarted{Input: text("go")}, 0)
	for i := 0; ; i++ {
		s.Log.Append(o, activity.ContentDelta{Text: "x"}, 0)
		seq := s.Log.Append(o, activity.ConfirmationAnswered{ID: strconv.Itoa(i)}, 0)
		if err := s.Log.Commit(context.Background(), seq); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(seq)
	}
}

// list lists the sessions again and again, each time with nothing kept beside
// them.
func list(dir string) {
	store := New(Config{Dir: dir, Now: time.Now})
	for range lists {
		all, err := filepath.Glob(filepath.Join(dir, "*"+infoSuffix))
		for _, path := range all {
			_ = os.Remove(path) // another one may have been quicker
		}
		infos, listErr := store.List()
		if err != nil || listErr != nil {
			fmt.Println(err, listErr)
			return
		}
		for _, info := range infos {
			if info.Title != "title of "+info.Session || info.Problem != "" {
				fmt.Printf("listed as %+v\n", info)
				return
			}
		}
	}
}

// lists is how often list does so.
const lists = 50

// child starts a daemon that holds main, and returns once it does.
func child(t *testing.T, dir string) (cmd *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out = bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); err != nil || strings.Trim(line, "0123456789\n") != "" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return cmd, out
}

// REL-100, REL-30: while a daemon lives its session is refused with who has it;
// when it is killed the lock is free at once, all that it had acknowledged is
// there, and its run is interrupted.
func TestREL100LockGoesWithItsHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "w")
	rounds := 10
	if testing.Short() {
		rounds = 2
	}
	rng := rand.New(rand.NewPCG(100, 1))
	for round := range rounds {
		cmd, out := child(t, dir)
		store := New(Config{Dir: dir, Now: time.Now})
		if _, err := store.Open("main"); !busy(err) || !strings.Contains(fault.Message(err), "the child") {
			t.Errorf("got %v", err)
		}
		acked := uint64(0)
		for range 1 + rng.IntN(40) {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			acked, _ = strconv.ParseUint(strings.TrimSpace(line), 10, 64)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(out)
		if lines := bytes.Split(rest, []byte("\n")); len(lines) > 1 {
			acked, _ = strconv.ParseUint(string(lines[len(lines)-2]), 10, 64)
		}
		_ = cmd.Wait() // killed
		s := open(t, store, "main")
		if s.Log.Last() < acked || acked == 0 {
			t.Errorf("%d of %d acknowledged events are there", s.Log.Last(), acked)
		}
		runs := s.Runs()
		if len(runs) != round+1 || runs[round].State != activity.Interrupted || s.Info().State != Interrupted {
			t.Errorf("runs %+v, state %s", runs, s.Info().State)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// REL-100: the lock is the system's; what its file says only informs.
func TestREL100LockContentOnlyInforms(t *testing.T) {
	dir := t.TempDir()
	for _, content := range []string{`{"owner":"process 1 on another host","since":"2020-01-01T00:00:00Z"}`, "\x00garbage", ""} {
		if err := os.WriteFile(filepath.Join(dir, "main.lock"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		store := New(Config{Dir: dir, Now: clock, Owner: "me"})
		if s := open(t, store, ""); s.ID != "main" || s.Note != "" {
			t.Errorf("got %s, %q", s.ID, s.Note)
		}
		if err := os.WriteFile(filepath.Join(dir, "main.lock"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		other := New(Config{Dir: dir, Now: clock})
		if _, err := other.Open("main"); !busy(err) {
			t.Errorf("with %q: %v", content, err)
		}
		store.Close()
	}
}

// REL-99: two daemons on one workspace both run: a named session is refused to
// the second, the default one is another, which a note says.
func TestREL99TwoDaemons(t *testing.T) {
	dir := t.TempDir()
	one := New(Config{Dir: dir, Now: clock, Owner: "agentls 1, process 11 on here"})
	two := New(Config{Dir: dir, Now: clock, Owner: "agentls 1, process 12 on here"})
	three := New(Config{Dir: dir, Now: clock})
	if s := open(t, one, ""); s.ID != "main" || s.Note != "" {
		t.Errorf("the first got %s, %q", s.ID, s.Note)
	}
	s := open(t, two, "")
	if s.ID != "main-2" || !strings.Contains(s.Note, "process 11 on here") {
		t.Errorf("the second got %s, %q", s.ID, s.Note)
	}
	entries, err := read(t, s, 0)
	if err != nil || len(entries) != 1 || entries[0].Type != "note" || !strings.Contains(string(entries[0].Wire("x", nil)), "main-2") {
		t.Errorf("its log has %v, %v", entries, err)
	}
	if again := open(t, two, ""); again != s {
		t.Error("the default changed while it was open")
	}
	if s := open(t, three, ""); s.ID != "main-3" {
		t.Errorf("the third got %s", s.ID)
	}
	for _, id := range []string{"main", "main-2"} {
		_, err := three.Open(id)
		if reason, data := fault.ReasonOf(err); reason != fault.Busy || fault.KindOf(err) != fault.Unavailable || data["holder"] == "" {
			t.Errorf("%s: %v", id, err)
		}
	}
	one.Close()
	if s := open(t, three, "main"); s.ID != "main" {
		t.Errorf("got %s", s.ID)
	}
	two.Close()
	three.Close()
}

// REL-100: a lock whose file was taken away with its session keeps nobody from the
// next one, and is none.
func TestREL100LockOfADeletedSessionIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	l, err := acquire(path, "x", "me", clock())
	if err != nil || !current(l.flock, path) {
		t.Fatal(err)
	}
	if err := l.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its file is there: %v", err)
	}
	if l, err = acquire(path, "x", "me", clock()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if current(l.flock, path) {
		t.Error("the lock of a file that is away counts")
	}
	again, err := acquire(path, "x", "me", clock())
	if err != nil || current(l.flock, path) || !current(again.flock, path) {
		t.Errorf("the next one: %v", err)
	}
	for _, l := range []*lock{l, again} {
		if err := l.flock.Unlock(); err != nil {
			t.Error(err)
		}
	}
}

// REL-100: a daemon that was killed while it started a program has left its lock to that
// one for a moment; who comes then waits for it.
func TestREL100LockThatTheDeadHaveLeftIsWaitedFor(t *testing.T) {
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]bool{gone.Process.Pid: true, os.Getpid(): false} {
		path := filepath.Join(t.TempDir(), "x.lock")
		first, err := acquire(path, "x", "me", clock())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, `{"owner":"me","pid":%d}`, pid), 0o600); err != nil {
			t.Fatal(err)
		}
		if want {
			time.AfterFunc(20*time.Millisecond, func() { _ = first.flock.Unlock() })
		}
		second, err := acquire(path, "x", "me", clock())
		if (err == nil) != want || (err != nil && !busy(err)) {
			t.Errorf("the holder has ended %t: %v", want, err)
		}
		if !want {
			second = first
		}
		if err := second.release(); err != nil {
			t.Error(err)
		}
	}
}

// REL-100: of many who take a lock away with what it was of, one has it at a time.
func TestREL100OneHasALockThatComesAndGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	var holders, had atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 2_000 {
				l, err := acquire(path, "x", "me", clock())
				if busy(err) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d have it", n)
				}
				had.Add(1)
				runtime.Gosched()
				holders.Add(-1)
				if err := l.remove(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if had.Load() == 0 {
		t.Error("nobody had it")
	}
}

// REL-99: while another process has main, a named session is refused and the
// default one is main-2, which goes on when the other has ended.
func TestREL99TwoProcesses(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := child(t, dir)
	store := New(Config{Dir: dir, Now: time.Now, Owner: "this one"})
	s := open(t, store, "")
	if s.ID != "main-2" || !strings.Contains(s.Note, "the child") {
		t.Errorf("got %s, %q", s.ID, s.Note)
	}
	for what, err := range map[string]error{
		"open":   func() error { _, err := store.Open("main"); return err }(),
		"delete": store.Delete("main"),
	} {
		if reason, data := fault.ReasonOf(err); reason != fault.Busy || !strings.Contains(fmt.Sprint(data["holder"]), "the child") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if gone, err := store.Retain(Retention{MaxSessions: 1}); err != nil || len(gone) != 0 {
		t.Errorf("removed %v, %v", gone, err)
	}
	if info := listed(t, store)["main"]; !info.Locked || info.State != Running {
		t.Errorf("listed as %+v", info)
	}
	conversation(t, s, "hi")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if main := open(t, store, "main"); main.Info().State != Interrupted || open(t, store, "") != s {
		t.Errorf("main is %s", main.Info().State)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// REL-102: processes that keep what lists tell, all at once, leave whole files:
// nobody reads half of one, and nothing is left over.
func TestREL102WhatListsKeepIsWhole(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	for i := range 20 {
		s := open(t, store, fmt.Sprint("s", i))
		conversation(t, s, fmt.Sprint("title of s", i))
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	outputs := make([]bytes.Buffer, 8)
	var children []*exec.Cmd
	for i := range outputs {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir, childTask+"=list")
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, cmd)
	}
	ended := make(chan error, len(children))
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, cmd := range children {
		wg.Go(func() { ended <- cmd.Wait() })
	}
	read := 0
	for left := len(children); left > 0; {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			left--
		default:
		}
		all, err := filepath.Glob(filepath.Join(dir, "*"+infoSuffix))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range all {
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			var kept keptInfo
			if err != nil || json.Unmarshal(data, &kept) != nil || kept.Info.Title != "title of "+kept.Info.Session {
				t.Fatalf("%s holds %q, %v", path, data, err)
			}
			read++
		}
	}
	for i := range outputs {
		if outputs[i].Len() > 0 {
			t.Errorf("a process says %s", &outputs[i])
		}
	}
	if rests, _ := filepath.Glob(filepath.Join(dir, "*"+tempMark+"*")); len(rests) > 0 || read == 0 {
		t.Errorf("%d files were read; rests: %v", read, rests)
	}
}
