package builtin

import (
	"context"
	"os"
	"os/exec"
	"sync"
)

// outlive starts cmd, tells started how that went, and returns when it has
// exited by itself with all that it started or, after run has ended, all of
// that is gone.
func (w *work) outlive(run context.Context, cmd *exec.Cmd, started chan<- begun) {
	v, err := w.shelter(cmd)
	if err != nil {
		w.dismiss()
		started <- begun{err: err}
		return
	}
	started <- begun{pid: v.pid}
	select {
	case <-v.ended:
		if len(w.left()) == 0 {
			w.dismiss()
			return
		}
		<-run.Done() // a daemon that put itself into the background, and there is no reaper
	case <-run.Done():
	}
	w.end(v.ended)
	w.dismiss()
}

// begun is how the start of a process went.
type begun struct {
	pid int
	err error
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
