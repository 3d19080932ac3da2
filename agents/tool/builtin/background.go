package builtin

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"github.com/sourcegraph/conc"
)

// outlive starts cmd, tells started how that went, and returns when it has
// exited by itself or, after run has ended, all that it started is gone.
func (w *work) outlive(run context.Context, cmd *exec.Cmd, started chan<- error) {
	done := make(chan struct{})
	var both conc.WaitGroup
	both.Go(func() {
		defer close(done)
		runtime.LockOSThread() // as in finish
		defer runtime.UnlockOSThread()
		err := w.groups.start(cmd)
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // how it ended is seen in its output
		w.groups.ended(cmd.Process.Pid)
	})
	both.Go(func() {
		select {
		case <-done:
			if len(w.left()) == 0 {
				return
			}
			<-run.Done() // a daemon that put itself into the background
		case <-run.Done():
		}
		w.end(done)
	})
	both.Wait()
}

// capped writes to a file as much as fits, and drops the rest: a command does
// not end because nobody keeps its output.
type capped struct {
	mu   sync.Mutex
	file *os.File
	left int
}

// Write implements [io.Writer]; it never fails.
func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.file.Write(p[:min(len(p), c.left)])
	c.left -= n
	if err != nil {
		c.left = 0
	}
	return len(p), nil
}
