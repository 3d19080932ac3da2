package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/agentls/agentls/extensions/mcp"
	"github.com/agentls/agentls/workspace"
)

// logins keeps logins at MCP servers: in the person's keyring, and where there is none
// in a file that only they can read.
// keyring is false without a session bus on Linux. The methods may be called by several
// goroutines; file has its own lock.
type logins struct {
	// Says of each login whether the keyring has it, and has the others.
	file    *workspace.Logins
	keyring bool // there may be one
	log     *slog.Logger
}

var _ mcp.Logins = logins{}

// newLogins says where logins are kept. It reads nothing yet.
func (b *daemon) newLogins() logins {
	// Without the address of a bus the library would start a bus of its own.
	system := runtime.GOOS == "darwin" || runtime.GOOS == "windows"
	return logins{workspace.NewLogins(b.loginsFile(), b.Now), system || b.env("DBUS_SESSION_BUS_ADDRESS") != "", b.Log}
}

// keyringService is what logins are called in a keyring.
const keyringService = "agentls MCP login"

// keyringWait is how long a keyring may take: it may ask the person to unlock it.
const keyringWait = 30 * time.Second

// Get implements [mcp.Logins]. nil without an error is no login.
func (l logins) Get(ctx context.Context, at string) ([]byte, error) {
	login, err := l.file.Of(at)
	if err != nil || !login.Keyring {
		return login.Value, err
	}
	if !l.keyring {
		return nil, errors.New("the login is in a keyring, and there is none here; log in again")
	}
	text, err := inKeyring(ctx, func() (string, error) { return keyring.Get(keyringService, at) })
	// The person has removed the login from the keyring.
	if errors.Is(err, keyring.ErrNotFound) {
		return nil, nil
	}
	return []byte(text), err
}

// Put implements [mcp.Logins].
// nil removes the login. A keyring that does not take it is no error: a file that only
// the person can read has it then.
func (l logins) Put(ctx context.Context, at string, value []byte) error {
	before, err := l.file.Of(at)
	if err != nil {
		return err
	}
	login := workspace.Login{Value: value}
	switch {
	case l.keyring && value != nil:
		_, err := inKeyring(ctx, func() (string, error) { return "", keyring.Set(keyringService, at, string(value)) })
		if err == nil {
			login = workspace.Login{Keyring: true}
		} else {
			l.log.Warn("the keyring does not take a login, so a file of yours has it", "server", at, "err", err)
		}
	// The keyring forgets the login before the file does: afterwards nobody would look
	// for it there.
	case before.Keyring && l.keyring:
		_, err := inKeyring(ctx, func() (string, error) { return "", keyring.Delete(keyringService, at) })
		if err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return err
		}
	}
	return l.file.Set(ctx, at, login)
}

// Lock implements [mcp.Logins].
func (l logins) Lock(ctx context.Context, at string) (unlock func(), err error) {
	return l.file.Lock(ctx, at)
}

// inKeyring runs do, and waits for it until ctx ends: what a keyring was asked for
// cannot be taken back.
// Whatever the keyring does later is lost, so a login that it takes too late is in
// both places: the file says which of them counts.
// It waits for keyringWait at most. The goroutine goes on until the keyring has answered.
func inKeyring(ctx context.Context, do func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, keyringWait, fmt.Errorf("it did not answer for %v", keyringWait))
	defer cancel()
	done := make(chan answer, 1)
	go func() {
		text, err := do()
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		if a.err != nil {
			a.err = fmt.Errorf("the keyring: %w", a.err)
		}
		return a.text, a.err
	case <-ctx.Done():
		return "", fmt.Errorf("the keyring: %w", context.Cause(ctx))
	}
}
