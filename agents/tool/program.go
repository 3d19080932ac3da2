package tool

import (
	"bytes"
	"context"
	"os"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/internal/process"
)

// Program is a program that settings or an agent's file describe: a hook, a guard's
// validator. [Program.Run] runs it to its end.
//
// It is used once. Run starts the program itself, without a shell.
type Program struct {
	// Of the executable, absolute: it is not looked for in PATH.
	Path string
	Args []string // the name first
	// Where it runs, absolute.
	Dir     string
	Environ []string // of the daemon's child processes
	Extra   []string // what it gets besides
	Input   []byte   // on its standard input; it need not read it
	Max     int      // how much is kept of each stream of its output, in bytes
	Now     func() time.Time
	Enclosure
}

// Ended is how a program ended, and what it printed.
//
// It is set as far as things came, also where Run returns an error.
type Ended struct {
	// The exit code; 0 where the program was not started.
	Code           int
	Stdout, Stderr *Capped
	Changed        []string // protected places that are new or changed since it was started
	Uncleared      error    // why its wall could not be cleaned up
}

// Run runs the program, and ends what it leaves behind. The error says, after "it", why it
// did not come to its end.
//
// It returns when the program and what it started have ended, its pipes are closed and its
// wall is cleaned up. When ctx ends the program is ended: TERM, then KILL to its group.
// That is no error by itself, as an exit code other than 0 is none: the caller looks at
// ctx.
func (p *Program) Run(ctx context.Context) (e Ended, err error) {
	job := process.NewJob(process.Options{Dir: p.Dir, Environ: p.Environ, Now: p.Now})
	defer job.Output.Close()
	cmd := job.Command(p.Path, p.Args, p.Extra)
	e.Stdout, e.Stderr = NewCapped(p.Max), NewCapped(p.Max)
	cmd.Stdout, cmd.Stderr = e.Stdout, e.Stderr
	theirs, ours, err := os.Pipe()
	if err != nil {
		return e, err
	}
	cmd.Stdin = theirs
	begin, release, err := Confine(ctx, job, cmd, p.Enclosure)
	if err != nil {
		_ = theirs.Close() // nobody has them
		_ = ours.Close()
		return e, err
	}
	var feed conc.WaitGroup
	err = job.Run(ctx, func(string) {}, func() error {
		child, err := begin()
		_ = theirs.Close() // the program has its own
		if err != nil {
			return err
		}
		feed.Go(func() {
			_, _ = ours.Write(p.Input)
			_ = ours.Close()
		})
		status, err := job.Wait(child)
		e.Code = status.Code
		return err
	})
	_ = ours.Close() // also where something that it left still holds the other end
	feed.Wait()
	job.Release()
	e.Changed, e.Uncleared = release()
	return e, err
}

// Capped keeps the beginning of what is written to it.
//
// Safe for concurrent use, as the two streams of a process may be one writer.
type Capped struct {
	max  int
	mu   sync.Mutex
	kept bytes.Buffer
	over bool
}

// NewCapped returns one that keeps so many bytes.
func NewCapped(most int) *Capped { return &Capped{max: most} }

// Write implements [io.Writer]. It never fails: a program is not ended for what it prints.
func (c *Capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := c.max - c.kept.Len()
	if len(p) > room {
		c.over = true
	}
	c.kept.Write(p[:min(room, len(p))])
	return len(p), nil
}

// Bytes returns what was kept.
// The slice is shared: it is good until the next Write.
func (c *Capped) Bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Bytes()
}

// Over reports whether more was written than is kept.
func (c *Capped) Over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// Text returns what was kept as text for people.
func (c *Capped) Text() string {
	var p process.Plain
	return string(bytes.TrimSpace([]byte(p.Convert(c.Bytes()) + p.Flush())))
}
