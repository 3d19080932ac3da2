package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hinshun/vt10x"
)

// viewer is a person who looks at a screen: an act is done once its text stands
// there. What a program writes is changes of cells, so that a text on the screen
// need not be one in the stream.
type viewer struct {
	mu   sync.Mutex
	term vt10x.Terminal
	all  strings.Builder // what was written
	acts []act
}

// at begins the title of the field that a form asks for: it is in its colour.
const at = "\x1b[36m"

// Write takes what a program shows.
func (v *viewer) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all.Write(b)
	if _, err := v.term.Write(b); err != nil {
		return 0, err
	}
	for len(v.acts) > 0 && v.shows(v.acts[0].when) {
		do := v.acts[0].do
		v.acts = v.acts[1:]
		do()
	}
	return len(b), nil
}

// shows reports whether a text stands on the screen, in the colour of what is
// asked for where it begins with at.
func (v *viewer) shows(text string) bool {
	title, asked := strings.CutPrefix(text, at)
	v.term.Lock()
	defer v.term.Unlock()
	columns, rows := v.term.Size()
	for y := range rows {
		line := make([]rune, columns)
		for x := range columns {
			line[x] = v.term.Cell(x, y).Char
		}
		before, _, ok := strings.Cut(string(line), title)
		if ok && (!asked || v.term.Cell(len([]rune(before)), y).FG == vt10x.Cyan) {
			return true
		}
	}
	return false
}

// plain is the program, built without the race detector: the library that reads
// keys for forms has a race in its last moment, when nothing is read any more.
var plain = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "agentls")
	if err != nil {
		return "", err
	}
	leftovers = append(leftovers, func() { _ = os.RemoveAll(dir) })
	name := filepath.Join(dir, "agentls")
	out, err := exec.Command("go", "build", "-ldflags=-w", "-o", name, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return name, err
})

// fillIn has a person fill in the form that a command shows on a terminal, and
// returns how it ended and what was written. Acts that did not happen fail the
// test. The play may end the process by a signal.
func fillIn(t *testing.T, dir string, play func(types func(string) func(), ends func()) []act, args ...string) (code int, shown string) {
	t.Helper()
	program, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	keyboard, screen := seat(t)
	v := &viewer{term: vt10x.New(vt10x.WithSize(80, 40))}
	types := func(text string) func() {
		return func() {
			if _, err := io.WriteString(keyboard, text); err != nil {
				t.Error(err)
			}
		}
	}
	c := exec.Command(program, args...)
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, screen, screen, screen
	ready := make(chan struct{})
	v.acts = play(types, func() {
		<-ready
		if err := c.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	})
	over := make(chan struct{})
	end := &actor{acts: []act{{"<end>", func() { close(over) }}}}
	go func() { // ends with the terminal
		_, _ = io.Copy(io.MultiWriter(v, end), keyboard) // it fails when the terminal is gone
	}()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	close(ready)
	// A form that does not show what is awaited waits for ever.
	stuck := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	defer stuck.Stop()
	_ = c.Wait() // the code says it
	if _, err := io.WriteString(screen, "<end>"); err != nil {
		t.Fatal(err)
	}
	<-over
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, left := range v.acts {
		t.Errorf("%q was never shown; in the end:\n%s", left.when, v.term)
	}
	return c.ProcessState.ExitCode(), v.all.String()
}
