//go:build linux

package spine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/internal/editortest"
)

// workshop is the folder in which the binary is made.
var workshop = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "spine") })

// built is the binary; it is made when the first test wants it.
var built = sync.OnceValues(func() (string, error) {
	dir, err := workshop()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "agentls")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", binary, "../../cmd/agentls").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := workshop(); err == nil {
		_ = os.RemoveAll(dir) // a temporary folder
	}
	os.Exit(code)
}

// process is the binary, serving on its standard streams.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     *os.File // its standard input
	out    *os.File // its standard output
	frames sheet    // all that came out of it
	said   sheet    // its standard error
	ended  chan struct{}
	gone   bool // killed, or not read to its end: the last frame may be cut
}

// spawn starts the binary, with more in its environment than the person's. It is
// killed when the test ends before it has.
func (w *world) spawn(environ ...string) *process {
	t := w.t
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	r1, w1, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, in: w1, out: r2, ended: make(chan struct{})}
	p.cmd = exec.Command(binary, "serve", "--trust")
	p.cmd.Dir, p.cmd.Env = w.dir, append(w.environ(), environ...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = r1, w2, &p.said
	p.cmd.WaitDelay = time.Second // for who holds its standard error
	err = p.cmd.Start()
	_ = r1.Close() // it has its own
	_ = w2.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process, which the test waits for
		defer close(p.ended)
		_ = p.cmd.Wait() // ProcessState has it
	}()
	t.Cleanup(func() {
		p.kill()
		_ = p.in.Close() // closed already, mostly
		_ = p.out.Close()
		if err := frames(p.frames.String(), p.gone); err != nil {
			t.Errorf("standard output: %v", err)
		}
	})
	return p
}

// Read, Write and Close make it a connection. Hanging up is for the test: Close
// does nothing.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	_, _ = p.frames.Write(b[:n]) // never fails
	return n, err
}

func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

func (p *process) Close() error { return nil }

// connect connects an editor.
func (p *process) connect(w *world) *editor {
	p.t.Helper()
	e, err := editortest.Connect(context.Background(), p, editortest.Config{Dir: w.dir, Agents: editortest.Native()})
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.said.String())
	}
	return &editor{e, p.t}
}

// kill ends the process with SIGKILL and waits until it is gone.
func (p *process) kill() {
	select {
	case <-p.ended:
		return
	default:
	}
	p.gone = true
	_ = p.cmd.Process.Kill() // it may have ended just now
	<-p.ended
}

// exits waits until the process ends by itself and returns its exit code, -1 for a
// signal. A client gives it two seconds (spec 12.2), a busy machine needs more.
func (p *process) exits() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.kill()
		p.t.Fatalf("the process does not end\n%s", p.said.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// frames checks that an output is frames with one JSON value each, and nothing
// else; cut lets it end within one.
func frames(out string, cut bool) error {
	for at := 0; at < len(out); {
		rest := out[at:]
		head, body, ok := strings.Cut(rest, "\r\n\r\n")
		length, is := strings.CutPrefix(head, "Content-Length: ")
		size, err := strconv.Atoi(length)
		switch {
		case cut && !ok && (strings.HasPrefix(rest, "Content-Length: ") || strings.HasPrefix("Content-Length: ", rest)):
			return nil
		case !ok || !is || err != nil:
			return fmt.Errorf("byte %d: %.100q is no frame", at, rest)
		case cut && len(body) < size:
			return nil
		case len(body) < size || !json.Valid([]byte(body[:size])):
			return fmt.Errorf("byte %d: the frame has %.100q", at, body)
		}
		at += len(head) + len("\r\n\r\n") + size
	}
	return nil
}

// children waits until no process is left whose command line has the text, and
// returns those that do not end within the three seconds of spec 12.2.
func children(t testing.TB, text string) (left []string) {
	t.Helper()
	for pid, line := range having(t, text) {
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 3000)
		for errors.Is(err, unix.EINTR) {
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 3000)
		}
		_ = unix.Close(fd)
		if n == 0 || err != nil {
			left = append(left, fmt.Sprintf("%d %s", pid, line))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return left
}

// having returns the processes whose command line has the text.
func having(t testing.TB, text string) map[int]string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[int]string)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && bytes.Contains(line, []byte(text)) {
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}
