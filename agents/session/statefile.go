package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/filelock"
	"github.com/agentls/agentls/internal/folder"
)

// values are the values of the state that outlive a session: the person's on this
// machine, or a workspace's. All daemons of the person share the file.
//
// A change reads the file, changes one key and replaces the file, under a lock
// beside it, so daemons do not undo each other's. Reading needs no lock: the file
// is replaced in one step. Session.setting keeps changes of one daemon apart.
type values struct {
	file  string // "" = in memory
	whose string // in words

	mu     sync.Mutex
	memory map[string]Value
}

// valueFile is the content of a file of values.
type valueFile struct {
	Version int                  `json:"version"`
	Values  map[string]keptValue `json:"values"`
}

// keptValue is a [Value] in a file.
type keptValue struct {
	Value json.RawMessage `json:"value"`
	Taint string          `json:"taint,omitempty"`
}

const valuesVersion = 1

// lockPause is how often a lock that another daemon has is tried.
const lockPause = 10 * time.Millisecond

// lockPatience is how long such a lock is waited for.
const lockPatience = 5 * time.Second

// valuesOf returns where the value of a key is kept; nil for the session's log.
func (s *Store) valuesOf(key string) *values {
	switch {
	case strings.HasPrefix(key, ofUser):
		return &s.user
	case strings.HasPrefix(key, ofWorkspace):
		return &s.workspace
	}
	return nil
}

// load returns the values in a map of the caller's own. A file that is not there
// has none; one that is not understood is fault.Unavailable, so that nobody
// writes over it.
func (v *values) load() (map[string]Value, error) {
	if v.file == "" {
		v.mu.Lock()
		defer v.mu.Unlock()
		return maps.Clone(v.memory), nil
	}
	data, _, err := folder.ReadPlain(v.file, 2*maxStateSize)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Value{}, nil
	}
	var read valueFile
	if err == nil && (json.Unmarshal(data, &read) != nil || read.Version != valuesVersion) {
		err = errors.New("it is not understood")
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "session.state",
			"the values of %s cannot be read from %s: %w; fix or remove the file", v.whose, v.file, err)
	}
	all := make(map[string]Value, len(read.Values))
	for key, kept := range read.Values {
		all[key] = Value{compact(kept.Value), kept.Taint}
	}
	return all, nil
}

// set gives a key a value, and reports whether it had another one.
// The file is locked, read anew and replaced as a whole, so that several daemons
// can change other keys of it; it waits lockPatience at most for the lock. Values
// in memory (v.file is "") need no lock file. A value that is already there
// writes nothing. On an error the file is as it was.
func (v *values) set(ctx context.Context, key string, to Value) (changed bool, err error) {
	if v.file != "" {
		if err := os.MkdirAll(filepath.Dir(v.file), 0o700); err != nil {
			return false, v.unkept(key, err)
		}
		ctx, done := context.WithTimeout(ctx, lockPatience)
		defer done()
		lock := filelock.New(v.file + ".lock")
		if ok, err := lock.TryLockContext(ctx, lockPause); err != nil || !ok {
			return false, v.unkept(key, cmp.Or(err, ctx.Err()))
		}
		defer func() { _ = lock.Unlock() }()
	}
	all, err := v.load()
	if err != nil {
		return false, err
	}
	had, is := all[key]
	if (is && bytes.Equal(had.JSON, to.JSON) && had.Taint == to.Taint) || (!is && to.JSON == nil) {
		return false, nil
	}
	// What the key had makes room for what it gets.
	size := 0
	for other, v := range all {
		if other != key {
			size += len(other) + len(v.JSON)
		}
	}
	if err := room(v.whose, size, key, to.JSON); err != nil {
		return false, err
	}
	if all == nil {
		all = make(map[string]Value)
	}
	if all[key] = to; to.JSON == nil {
		delete(all, key)
	}
	if v.file == "" {
		v.mu.Lock()
		v.memory = all
		v.mu.Unlock()
		return true, nil
	}
	file := valueFile{Version: valuesVersion, Values: make(map[string]keptValue, len(all))}
	for key, value := range all {
		file.Values[key] = keptValue{value.JSON, value.Taint}
	}
	data, err := json.MarshalIndent(file, "", "  ")
	if err == nil {
		err = replace(v.file, append(data, '\n'))
	}
	if err != nil {
		return false, v.unkept(key, err)
	}
	return true, nil
}

// unkept is the error of a value that could not be written.
func (v *values) unkept(key string, err error) error {
	return fault.New(fault.Unavailable, "session.state", "%s could not be kept in %s: %w", key, v.file, err)
}

// replace writes a file of the person's own, whole or not at all.
func replace(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), newPrefix+"*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
