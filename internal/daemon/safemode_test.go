package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/agentls/agentls/agents/session"
)

// gone is the id of a process that is not there.
func gone(t *testing.T) int {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^$")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	return c.Process.Pid
}

// crashes records starts that have crashed.
func (s *starts) crashes(t *testing.T, all ...start) {
	t.Helper()
	s.save(all)
	for _, o := range all {
		write(t, s.crash(o), "panic: a bad file")
	}
}

// TestREL33WhatCountsAsACrash: a start that never got ready, less than a minute
// ago, whose process is not there any more and was not killed.
func TestREL33WhatCountsAsACrash(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	dead, at := gone(t), func(ago time.Duration) int64 { return now.Add(-ago).UnixMilli() }
	for _, c := range []struct {
		name   string
		record []start
		loop   bool
	}{
		{"none", nil, false},
		{"one", []start{{at(time.Second), dead}}, false},
		{"two", []start{{at(2 * time.Second), dead}, {at(time.Second), dead}}, true},
		{"two under our id", []start{{at(2 * time.Second), os.Getpid()}, {at(time.Second), os.Getpid()}}, true},
		{"two, long apart", []start{{at(time.Minute), dead}, {at(time.Second), dead}}, false},
		{"one that still starts", []start{{at(2 * time.Second), os.Getppid()}, {at(time.Second), dead}}, false},
		{"two to come", []start{{at(-time.Hour), dead}, {at(-2 * time.Hour), dead}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &starts{file: filepath.Join(t.TempDir(), "starts", "x.json"), now: func() time.Time { return now }}
			s.save(c.record)
			if s.begin() {
				t.Error("a crash loop of starts that were killed")
			}
			s.crashes(t, c.record...)
			if s.begin() != c.loop {
				t.Errorf("a crash loop: %t", !c.loop)
			}
			if all, _ := s.load(); len(all) == 0 || all[len(all)-1] != (start{now.UnixMilli(), os.Getpid()}) {
				t.Errorf("recorded: %v", all)
			}
			s.ready()
			if all, ok := s.load(); len(all) > 0 || !ok {
				t.Errorf("after it got ready: %v", all)
			}
		})
	}
}

// TestREL33BadRecordIsNone: whatever lies in the record's place, the daemon
// starts, and not in safe mode.
func TestREL33BadRecordIsNone(t *testing.T) {
	dead := gone(t)
	two := fmt.Sprintf(`{"version":1,"starts":[{"at":%d,"pid":%[2]d},{"at":%[1]d,"pid":%[2]d}]}`, time.Now().UnixMilli(), dead)
	for name, put := range map[string]func(file string) error{
		"garbage":      func(file string) error { return os.WriteFile(file, []byte("}{"), 0o600) },
		"empty":        func(file string) error { return os.WriteFile(file, nil, 0o600) },
		"another type": func(file string) error { return os.WriteFile(file, []byte(`{"version":1,"starts":7}`), 0o600) },
		"large numbers": func(file string) error {
			return os.WriteFile(file, []byte(strings.ReplaceAll(two, `"at":`, `"at":99999999999999999999`)), 0o600)
		},
		"too long": func(file string) error { return os.WriteFile(file, []byte(strings.Repeat(" ", maxStarts)+two), 0o600) },
		"a folder": func(file string) error { return os.MkdirAll(filepath.Join(file, "x"), 0o700) },
		"a pipe":   func(file string) error { return exec.Command("mkfifo", file).Run() },
		"a loop":   func(file string) error { return os.Symlink(file, file) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.config.Exit = func(int) { t.Error("it ends") }
			work := folder(t, "", "one")
			file := filepath.Join(b.config.Home, "agentls", "starts", session.Key(work.Canonical)+".json")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(file); err != nil {
				t.Skip(err)
			}
			h := b.build(work)
			b.answer()
			if got := b.projects(); len(got) != 1 || len(h.Notes) > 0 {
				t.Errorf("agents %q, notes %q", got, h.Notes)
			}
		})
	}
}

// TestREL35RecordsOfALaterVersion: the record of starts of a newer binary is left
// as it is, and so is its file of trust: nothing is trusted by it, and the person
// is told.
func TestREL35RecordsOfALaterVersion(t *testing.T) {
	b := newBed(t)
	b.config.Exit, b.config.Trust = func(int) {}, false
	work := folder(t, "", "one")
	later := fmt.Sprintf(`{"version":2,"starts":[{"at":%d,"pid":%[2]d},{"at":%[1]d,"pid":%[2]d}],"more":true}`, time.Now().UnixMilli(), gone(t))
	record := filepath.Join(b.config.Home, "agentls", "starts", session.Key(work.Canonical)+".json")
	write(t, record, later)
	trust := fmt.Sprintf(`{"version": 99, "folders": {%q: {"trusted": true}}}`, work.Canonical)
	write(t, b.config.trustFile(), trust)
	if err := os.Chmod(filepath.Dir(b.config.trustFile()), 0o700); err != nil {
		t.Fatal(err)
	}
	h := b.build(work)
	b.answer()
	if len(b.projects()) != 1 {
		t.Error("it runs in safe mode by the record of another version")
	}
	if err := h.Agents.TrustError(work.Canonical); err == nil || !strings.Contains(err.Error(), "trust.json") {
		t.Errorf("why it is not trusted: %v", err)
	}
	if h.Trusted(work.Canonical) || len(h.Notes) != 1 || !strings.Contains(h.Notes[0], "trust.json") {
		t.Errorf("trusted %t, told %q", h.Trusted(work.Canonical), h.Notes)
	}
	if err := h.SetTrust(work.Canonical, true); err == nil {
		t.Error("the file of a later version is written")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if read(t, record) != later || read(t, b.config.trustFile()) != trust {
		t.Error("what a newer binary wrote was changed")
	}
}

// TestREL33SessionsInUseStay: what another daemon has is not moved from under it;
// this one keeps its sessions in memory.
func TestREL33SessionsInUseStay(t *testing.T) {
	b := newBed(t)
	b.config.Exit = func(int) { t.Error("it ends") }
	work := folder(t, "", "one")
	sessions := filepath.Join(b.config.Home, "agentls", "sessions", session.Key(work.Canonical))
	write(t, filepath.Join(sessions, "main.jsonl"), "")
	lock := flock.New(filepath.Join(sessions, "main.lock"))
	if ok, err := lock.TryLock(); !ok {
		t.Fatal(err)
	}
	defer lock.Close()
	s := &starts{file: filepath.Join(b.config.Home, "agentls", "starts", session.Key(work.Canonical)+".json")}
	dead := gone(t)
	s.crashes(t, start{time.Now().UnixMilli(), dead}, start{time.Now().UnixMilli(), dead})
	h := b.build(work)
	b.answer()
	if len(b.projects()) != 0 || len(h.Notes) != 1 || !strings.Contains(h.Notes[0], "another agentls has the session main") {
		t.Errorf("agents %q, notes %q", b.projects(), h.Notes)
	}
	if _, err := h.Agents.NewSession("mine", ""); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(sessions); len(left) != 2 {
		t.Errorf("left there: %v", left)
	}
}

// TestREL33SessionsComeBack: the next start brings back what safe mode has set
// aside; if that crashes as well, they stay where they are put.
func TestREL33SessionsComeBack(t *testing.T) {
	work := folder(t, "", "one")
	b := newBed(t)
	b.config.Exit = func(int) { t.Error("it ends") }
	state, key := filepath.Join(b.config.Home, "agentls"), session.Key(work.Canonical)
	log, blob := filepath.Join(state, "sessions", key, "old.jsonl"), filepath.Join(state, "sessions", key, "blobs", "x")
	write(t, log, "")
	write(t, blob, "x")
	dead := gone(t)
	begin := func(crashed bool) (notes []string) {
		s := &starts{file: filepath.Join(state, "starts", key+".json")}
		if crashed {
			s.crashes(t, start{time.Now().UnixMilli() - 1, dead}, start{time.Now().UnixMilli(), dead})
		}
		next := newBed(t)
		next.config = b.config
		h := next.build(work)
		next.answer()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		return h.Notes
	}
	there := func() bool {
		_, one := os.Stat(log)
		_, other := os.Stat(blob)
		return one == nil && other == nil
	}
	if notes := begin(true); there() || len(notes) != 1 || !strings.Contains(notes[0], "brought back then") {
		t.Errorf("in safe mode: %t, told %q", there(), notes)
	}
	if notes := begin(false); !there() || len(notes) > 0 {
		t.Errorf("after safe mode: %t, told %q", there(), notes)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "aside", "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "starts", "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	begin(true)
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(filepath.Dir(log), "new.jsonl"), "")
	if notes := begin(false); there() || len(notes) != 1 || !strings.Contains(notes[0], "there are new ones") {
		t.Errorf("with new sessions: %t, told %q", there(), notes)
	}
	if notes := begin(false); there() || len(notes) > 0 {
		t.Errorf("the next time: %t, told %q", there(), notes)
	}
}

// TestREL33WorkIsNoCrash: a daemon that recorded an event works, and an editor
// may kill it at any time after that.
func TestREL33WorkIsNoCrash(t *testing.T) {
	b := newBed(t)
	b.config.Exit = func(int) { t.Error("it ends") }
	work := folder(t, "", "one")
	record := filepath.Join(b.config.Home, "agentls", "starts", session.Key(work.Canonical)+".json")
	d := b.serve(work, "> say it\n< Said.\n")
	if _, err := os.Stat(record); err != nil {
		t.Errorf("its start is not recorded: %v", err)
	}
	d.says("say it", "Said.")
	if _, err := os.Stat(record); !os.IsNotExist(err) {
		t.Errorf("it works, and its start is still recorded: %v", err)
	}
}
