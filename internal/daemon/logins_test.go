package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/agentls/agentls/workspace"
)

// TestLoginsAreInTheKeyring: a login is in the keyring, and in a file that only the
// person can read where there is none, where the bus is not there, or where the keyring
// does not take it. Forgotten, it is in neither.
func TestLoginsAreInTheKeyring(t *testing.T) {
	const at, value = "https://mcp.example.com/mcp", `{"token":"a-token-of-a-login"}`
	for name, c := range map[string]struct {
		bus    bool
		broken error
		inFile bool
	}{"keyring": {bus: true}, "no bus": {inFile: true}, "broken": {true, errors.New("locked"), true}} {
		t.Run(name, func(t *testing.T) {
			if keyring.MockInit(); c.broken != nil {
				keyring.MockInitWithError(c.broken)
			}
			file := filepath.Join(t.TempDir(), "agentls", "logins.json")
			l := logins{workspace.NewLogins(file, time.Now), c.bus, slog.New(slog.DiscardHandler)}
			if err := l.Put(t.Context(), at, []byte(value)); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			info, _ := os.Stat(file)
			if err != nil || info.Mode().Perm() != 0o600 || c.inFile != containsToken(text) {
				t.Errorf("%v %s, %v", info.Mode(), text, err)
			}
			if c.broken == nil {
				kept, err := keyring.Get(keyringService, at)
				if (err == nil) != c.bus || (c.bus && kept != value) {
					t.Errorf("in the keyring: %q, %v", kept, err)
				}
			}
			next := logins{workspace.NewLogins(file, time.Now), c.bus, l.log} // of another daemon
			if got, err := next.Get(t.Context(), at); err != nil || !containsToken(got) {
				t.Errorf("got %s, %v", got, err)
			}
			if err := next.Put(t.Context(), at, nil); err != nil {
				t.Fatal(err)
			}
			if got, err := l.Get(t.Context(), at); err != nil || got != nil {
				t.Errorf("after the logout: %s, %v", got, err)
			}
			if _, err := keyring.Get(keyringService, at); err == nil {
				t.Error("it is still in the keyring")
			}
		})
	}
	t.Run("elsewhere", func(t *testing.T) {
		keyring.MockInit()
		file := workspace.NewLogins(filepath.Join(t.TempDir(), "agentls", "logins.json"), time.Now)
		if err := (logins{file, true, nil}).Put(t.Context(), at, []byte(value)); err != nil {
			t.Fatal(err)
		}
		if got, err := (logins{file, false, nil}).Get(t.Context(), at); err == nil || got != nil {
			t.Errorf("without the bus: %s, %v", got, err)
		}
	})
}

// TestLoginsAreLocked: of all daemons one has the lock of a login; other logins are free.
func TestLoginsAreLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agentls", "logins.json")
	one, two := logins{file: workspace.NewLogins(file, time.Now)}, logins{file: workspace.NewLogins(file, time.Now)}
	unlock, err := one.Lock(t.Context(), "https://a.example")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond) // it ends without the lock, however long it takes
	defer cancel()
	if _, err := two.Lock(ctx, "https://a.example"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("held by the other: %v", err)
	}
	other, err := two.Lock(t.Context(), "https://b.example")
	if err != nil {
		t.Fatal(err)
	}
	other()
	unlock()
	if unlock, err = two.Lock(t.Context(), "https://a.example"); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func containsToken(text []byte) bool { return bytes.Contains(text, []byte("a-token-of-a-login")) }
