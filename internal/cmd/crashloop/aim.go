package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/agentls/agentls/internal/editortest"
)

// plan is what happens in a round, and when it ends.
type plan struct {
	sessions []string // a run in each, all at once
	script   string   // of the model
	replies  int      // questions that the person says yes to
	contend  bool     // another daemon asks for a session meanwhile
	// moment returns when the daemon is to be killed, or when nothing more is
	// going to happen.
	moment func(ctx context.Context, w *world, e *editortest.Editor) error
}

// aimed makes the plan of a round. All chance is by's.
func aimed(aim phase, by *rand.Rand) plan {
	switch aim {
	case executing:
		return aimAtExecuting(by)
	case waiting:
		return aimAtWaiting(by)
	case committing:
		return aimAtCommitting(by)
	}
	n, late := 1+by.IntN(40), upTo(by, 3*time.Millisecond)
	return plan{
		sessions: []string{"main"},
		script:   strings.Repeat("<repeat 100 w{} and more\\n\n<pause 1ms\n", 40),
		moment: func(ctx context.Context, _ *world, e *editortest.Editor) error {
			return after(ctx, e, late, 1, func(s editortest.Seen) bool { return len(s.Events) > n })
		},
	}
}

// effect is a command that leaves a line for each time that it runs.
const effect = "echo ran >> effects.txt"

// effects is the file with the lines; over is there when no command needs to go
// on any more.
const (
	effects = "effects.txt"
	over    = "over"
)

// write is a call that writes a file.
func write(n int) string {
	return fmt.Sprintf("<call write_file {\"path\":\"file%d.txt\",\"content\":%q}\n", n,
		strings.Repeat(fmt.Sprintf("text of file %d\n", n), 20))
}

// aimAtExecuting has a shell command that does not end beside files that are
// written, and kills while the one or the others go on.
func aimAtExecuting(by *rand.Rand) plan {
	script := "<call bash {\"command\":\"" + effect + "; test -e " + over + " || sleep 1000\"}\n"
	const files = 6
	for i := range files {
		script += write(i)
	}
	p := plan{sessions: []string{"main"}, script: script, replies: 1}
	late := upTo(by, 5*time.Millisecond)
	if by.IntN(3) > 0 {
		p.moment = func(ctx context.Context, w *world, e *editortest.Editor) error {
			return w.sleeps(ctx, late)
		}
		return p
	}
	// The writing of a file takes a moment only.
	n, late := 1+by.IntN(files), upTo(by, 500*time.Microsecond)
	p.moment = func(ctx context.Context, _ *world, e *editortest.Editor) error {
		return after(ctx, e, late, 1, func(s editortest.Seen) bool {
			began := 0
			for _, a := range s.Events {
				if a.Type == "tool.state" && strings.Contains(string(a.Data), `"state":"executing"`) {
					began++
				}
			}
			return began >= n
		})
	}
	return p
}

// sleeps waits until the command of aimAtExecuting sleeps, and a while longer.
func (w *world) sleeps(ctx context.Context, late time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		for _, line := range w.processes() {
			if strings.HasPrefix(line, "sleep 1000") {
				return pause(ctx, late)
			}
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("the command does not run: %w", err)
		}
	}
}

// aimAtWaiting has a question that nobody answers.
func aimAtWaiting(by *rand.Rand) plan {
	late := upTo(by, 3*time.Millisecond)
	return plan{
		sessions: []string{"main"},
		script:   "< I will look.\n<call bash {\"command\":\"" + effect + "\"}\n",
		contend:  by.IntN(4) == 0,
		moment: func(ctx context.Context, _ *world, e *editortest.Editor) error {
			return after(ctx, e, late, 1, func(s editortest.Seen) bool { return len(s.Questions) > 0 })
		},
	}
}

// aimAtCommitting has three runs that do little but what must be on stable
// storage: files that are written, results in files of their own, and ends.
func aimAtCommitting(by *rand.Rand) plan {
	p := plan{sessions: []string{"main", "second", "third"}}
	for _, s := range p.sessions {
		p.script += "\n# when input contains " + s + "\n"
		for turn := range 3 {
			p.script += write(turn) + "<call read_file {\"path\":\"long.txt\"}\n\n"
		}
		p.script += "< Done.\n\n"
	}
	// A run has some sixty events. The last of them are its end.
	n, late := by.IntN(170), upTo(by, 600*time.Microsecond)
	p.moment = func(ctx context.Context, _ *world, e *editortest.Editor) error {
		return after(ctx, e, late, len(p.sessions), func(s editortest.Seen) bool { return len(s.Events) > n })
	}
	return p
}

// after waits until the editor has seen something, or so many runs have ended,
// and a while longer.
func after(ctx context.Context, e *editortest.Editor, late time.Duration, runs int,
	seen func(editortest.Seen) bool) error {
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := e.Await(waited, func(s editortest.Seen) bool {
		if seen(s) {
			return true
		}
		ended := 0
		for _, a := range s.Events {
			if a.Type == "run.finished" {
				ended++
			}
		}
		return ended >= runs
	})
	if err != nil {
		return err
	}
	return pause(ctx, late)
}

// pause waits for a time.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// upTo returns a duration by chance, shorter than d.
func upTo(by *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(by.Int64N(int64(d)))
}
