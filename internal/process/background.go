package process

import (
	"context"
	"os"
	"sync"

	"github.com/sourcegraph/conc"
)

// RunBackground starts a command by start, tells started how that went, and
// returns when the command has exited by itself with all that it started or,
// after run has ended, all of that is gone. It releases the job.
//
// started must have room for one value or a reader; exactly one is sent. It
// blocks as long as the command runs and belongs on a goroutine of its own.
func (j *Job) RunBackground(run context.Context, start func() (*Child, error), started chan<- Started) {
	c, err := start()
	if err != nil {
		j.Release()
		started <- Started{Err: err}
		return
	}
	started <- Started{PID: c.PID}
	select {
	case <-c.ended:
		if len(j.Remaining()) == 0 {
			j.Release()
			return
		}
		<-run.Done() // it made itself a daemon, and there is no reaper
	case <-run.Done():
	}
	j.terminate(c.ended)
	j.Release()
}

// Started is how the start of a process went.
type Started struct {
	// Of the command; 0 where it did not start.
	PID int
	// Why it did not start; nil where it did.
	Err error
}

// Linger keeps what the job's commands left behind until it ends by itself or
// ctx does; then it ends it and releases the job.
//
// It is called instead of Release when the call itself is over.
func (j *Job) Linger(ctx context.Context) {
	over := make(chan struct{})
	var waiting conc.WaitGroup
	waiting.Go(func() {
		j.children.Wait() // with a reaper, until nothing is left
		close(over)
	})
	select {
	case <-over:
		if len(j.Remaining()) > 0 { // there is no reaper
			<-ctx.Done()
		}
	case <-ctx.Done():
	}
	j.terminate(over)
	j.Release()
	waiting.Wait()
}

// LimitedFile writes to a file up to [MaxSpool] bytes and drops the rest: a
// command does not end because nobody keeps its output. It is safe for
// concurrent use.
type LimitedFile struct {
	mu      sync.Mutex
	file    *os.File
	written int
}

// NewLimitedFile returns a writer to file, which the caller closes.
func NewLimitedFile(file *os.File) *LimitedFile { return &LimitedFile{file: file} }

// Write implements [io.Writer]; it never fails.
func (l *LimitedFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.file.Write(p[:min(len(p), MaxSpool-l.written)])
	l.written += n
	if err != nil {
		l.written = MaxSpool
	}
	return len(p), nil
}
