package workspace

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/agentls/agentls/internal/filelock"
)

// lockRetry is how often a lock that somebody holds is tried again.
const lockRetry = 2 * time.Millisecond

// lockFolder takes the lock of a folder, under which files in it that several
// daemons share are read, changed and replaced (REL-102). It is the folder
// itself that is locked, so nothing is left behind in a repository; where that
// cannot be done, a hidden file in it. The kernel frees it when its holder dies.
func lockFolder(ctx context.Context, folder string) (unlock func(), err error) {
	lock := flock.New(folder, flock.SetFlag(os.O_RDONLY))
	if _, err = lock.TryLockContext(ctx, lockRetry); err == nil {
		return func() { _ = lock.Close() }, nil
	}
	_ = lock.Close()
	if ctx.Err() == nil && (cannotLock(err) || filelock.Unsupported(err)) {
		file := filelock.New(filepath.Join(folder, ".agentls.lock"))
		if _, err = file.TryLockContext(ctx, lockRetry); err == nil {
			return func() { _ = file.Unlock() }, nil
		}
		_ = file.Unlock() // it has no lock, but the file is open
	}
	return nil, fmt.Errorf("%q cannot be locked: %w", folder, err)
}

// ownFile returns a file of the person's own, of at most limit bytes, following
// links. What is no regular file is refused without waiting for it.
func ownFile(path string, limit int64) ([]byte, fs.FileInfo, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%q is not a regular file", path)
	}
	f, err := os.OpenFile(path, followFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%q is not a regular file", path)
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, err
	}
	if int64(len(content)) > limit {
		return nil, nil, fmt.Errorf("%q is larger than %d bytes", path, limit)
	}
	return content, info, nil
}
