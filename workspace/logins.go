package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/filelock"
)

// A Login is what is kept of a person's login at an MCP server.
type Login struct {
	Keyring bool            `json:"keyring,omitempty"` // the login itself is in the person's keyring
	Value   json.RawMessage `json:"login,omitempty"`   // it, where there is no keyring
}

// Logins are the logins of one person, by the address of the server: a file that all
// daemons of theirs share, and that only they can read. Everything fails closed as in
// [Trust]. It is safe for concurrent use.
type Logins struct{ recordFile[loginsFile] }

// loginsFile is the file's JSON.
type loginsFile struct {
	Version int              `json:"version"`
	Servers map[string]Login `json:"servers"` // by address
}

// NewLogins returns the logins in file, an absolute path, which need not exist.
func NewLogins(file string, now func() time.Time) *Logins {
	return &Logins{newRecordFile[loginsFile](file, "workspace.logins", "no login at an MCP server counts", now)}
}

// Of returns the login at an address; the zero Login = there is none.
// The caller must not change its Value. The error says that the file cannot be read
// or trusted, and is of kind [fault.Unavailable] or [fault.Denied]; it is told to the
// person.
func (l *Logins) Of(at string) (Login, error) {
	data, err := l.load()
	if err != nil {
		return Login{}, err
	}
	return data.Servers[at], nil
}

// Lock waits until ctx ends for the lock of the login at an address, which one of all
// daemons holds at a time, in a file beside.
// The error is of kind [fault.Unavailable]. unlock is called exactly once.
func (l *Logins) Lock(ctx context.Context, at string) (unlock func(), err error) {
	failed := func(err error) (func(), error) {
		return nil, fault.New(fault.Unavailable, "workspace.logins", "the login cannot be locked: %w", err)
	}
	if err := privateFolder(filepath.Dir(l.file)); err != nil {
		return failed(err)
	}
	// One file for each address: a login at one server does not wait for one at another.
	lock := filelock.New(fmt.Sprintf("%s.%.8x.lock", l.file, sha256.Sum256([]byte(at))))
	if _, err := lock.TryLockContext(ctx, 10*lockRetry); err != nil {
		_ = lock.Unlock() // it has no lock, but the file is open
		return failed(err)
	}
	return func() { _ = lock.Unlock() }, nil
}

// Set records a login at an address; the zero Login forgets it.
// It does not take the lock of the login, which is longer than one write. The error
// says that nothing was recorded, and is as of [Trust.Set].
func (l *Logins) Set(ctx context.Context, at string, login Login) error {
	return l.change(ctx, func(data *loginsFile) error {
		if data.Servers = maps.Clone(data.Servers); data.Servers == nil {
			data.Servers = make(map[string]Login)
		}
		if data.Servers[at] = login; !login.Keyring && login.Value == nil {
			delete(data.Servers, at)
		}
		return nil
	})
}
