package workspace

import (
	"context"
	"fmt"
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
// It waits until ctx ends. Two holders of one process exclude each other as well. unlock is called
// once.
func lockFolder(ctx context.Context, folder string) (unlock func(), err error) {
	// A folder can be opened for reading only, and flock(2) asks for no more.
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
