//go:build unix

package session

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSessionThatWasNotBegun: a daemon that was killed while it made a session
// leaves nothing that a list shows as damaged, and its id can be used.
func TestSessionThatWasNotBegun(t *testing.T) {
	for name, left := range map[string]string{"nothing": "", "a torn header": `{"format":1,"sess`} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store := New(Config{Dir: dir, Now: clock})
			if err := os.WriteFile(filepath.Join(dir, "x.jsonl"), []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
			if list, err := store.List(); len(list) != 0 || err != nil {
				t.Errorf("listed: %+v, %v", list, err)
			}
			s := open(t, store, "x")
			conversation(t, s, "a request")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if list, err := store.List(); len(list) != 1 || list[0].Problem != "" || err != nil {
				t.Errorf("listed: %+v, %v", list, err)
			}
		})
	}
}

// TestLogThatIsNoFile: a named pipe in a log's place is refused, and not waited
// for.
func TestLogThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	store := New(Config{Dir: dir, Now: clock})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.jsonl"), 0o600); err != nil {
		t.Skip(err)
	}
	refused := make(chan error, 1)
	go func() {
		_, err := store.Open("pipe")
		refused <- err
	}()
	select {
	case err := <-refused:
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("opened: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}
