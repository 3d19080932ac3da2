package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// blobs keeps data by its content.
//
// A name is the hex SHA-256 of the content, so data is kept once, whoever keeps
// it, and a name can be checked. Nothing counts who refers to a blob: what no
// log names any more is swept when a session is deleted or purged
// ([Store.sweep]). Safe for concurrent use, also by several daemons on one
// folder.
type blobs struct {
	dir   string // "" = in memory
	files activity.Files

	mu     sync.Mutex
	memory map[string][]byte
}

// put keeps data. Two of the same at once are no harm: both write the same file.
// On disk it is synced when put returns; the error is fault.Unavailable.
func (b *blobs) put(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	if b.dir == "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, ok := b.memory[sha]; !ok {
			if b.memory == nil {
				b.memory = make(map[string][]byte)
			}
			b.memory[sha] = bytes.Clone(data)
		}
		return sha, nil
	}
	path := filepath.Join(b.dir, sha)
	// Files come by rename when they are whole and synced, so one that is there
	// is the data.
	if size, err := sizeOf(b.files, path); err == nil && size == int64(len(data)) {
		return sha, nil
	}
	named := func() string { return sha }
	if err := b.write(bytes.NewReader(data), named); err != nil {
		return "", notKept(len(data), err)
	}
	return sha, nil
}

// notKept is the error of data that could not be written.
func notKept(size int, err error) error {
	return fault.New(fault.Unavailable, "session.blob",
		"Data of %d bytes could not be kept: %w. Make room or repair the disk.", size, err)
}

// putFrom keeps what a reader has.
// The name is known only when all was read, so it is written under another one
// first. The error may be the reader's.
func (b *blobs) putFrom(r io.Reader) (sha string, size int, err error) {
	if b.dir == "" {
		data, err := io.ReadAll(r)
		if err == nil {
			sha, err = b.put(data)
		}
		return sha, len(data), err
	}
	hash, count := sha256.New(), new(counter)
	named := func() string {
		sha = hex.EncodeToString(hash.Sum(nil))
		return sha
	}
	if err := b.write(io.TeeReader(r, io.MultiWriter(hash, count)), named); err != nil {
		return "", int(*count), notKept(int(*count), err)
	}
	return sha, int(*count), nil
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// forget lets go of data that is in memory.
// On disk it does nothing that is seen; sweep removes files.
func (b *blobs) forget(names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, sha := range names {
		delete(b.memory, sha)
	}
}

// write keeps what a reader has under the name that named returns once all of it
// was read.
func (b *blobs) write(from io.Reader, named func() string) (err error) {
	if err := makeDir(b.dir); err != nil {
		return err
	}
	f, temp, err := tempFile(b.files, filepath.Join(b.dir, newPrefix+"data"))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = b.files.Remove(temp) // the first error counts
		}
	}()
	_, err = io.Copy(f, from)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = b.files.Rename(temp, filepath.Join(b.dir, named()))
	}
	if err == nil {
		err = b.files.SyncDir(b.dir)
	}
	return err
}

// newPrefix begins the names of data that is not whole yet.
const newPrefix = ".new-"

// get returns data by its name; the caller may change it. A name that is none
// gives fault.Invalid, data that is not there fault.NotFound, and data that does
// not match its name, or cannot be read, fault.Unavailable. The name is checked
// first, since it becomes a part of a path.
func (b *blobs) get(sha string) ([]byte, error) {
	if raw, err := hex.DecodeString(sha); err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != sha {
		return nil, fault.New(fault.Invalid, "session.blob", "%q is not the name of kept data", sha)
	}
	if b.dir == "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		if data, ok := b.memory[sha]; ok {
			return bytes.Clone(data), nil
		}
		return nil, fault.New(fault.NotFound, "session.blob", "The data %s is not kept.", sha)
	}
	data, err := readFile(b.files, filepath.Join(b.dir, sha))
	switch sum := sha256.Sum256(data); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "session.blob", "The data %s is not kept.", sha)
	case err != nil:
		return nil, fault.New(fault.Unavailable, "session.blob", "The data %s cannot be read: %w.", sha, err)
	case hex.EncodeToString(sum[:]) != sha:
		return nil, fault.New(fault.Unavailable, "session.blob", "The data %s is damaged.", sha)
	}
	return data, nil
}
