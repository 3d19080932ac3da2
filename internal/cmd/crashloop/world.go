package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
)

// patience bounds each wait; a run that needs it is stuck.
const patience = 2 * time.Minute

// worker is the agent that works.
const worker = `---
kind: agent
name: worker
title: Worker
model: flash
run:
  max_turns: 100
tools:
  allow: [read_file, write_file, bash]
---
You work.
`

// world is a workspace and the person's folder, which outlive a daemon.
type world struct {
	base, dir, home string
	binary          string
}

func newWorld(base, binary string) (*world, error) {
	w := &world{base: base, dir: filepath.Join(base, "work"), home: filepath.Join(base, "home"), binary: binary}
	agents := filepath.Join(w.dir, ".gemini", "agents")
	for _, dir := range []string{agents, w.home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	var long strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&long, "line %d of a result that lies in a file of its own\n", i)
	}
	for name, text := range map[string]string{
		filepath.Join(agents, "worker.md"): worker, filepath.Join(w.dir, "long.txt"): long.String(),
		// Each command asks, on every machine.
		filepath.Join(w.home, "settings.json"): `{"tools":{"sandbox":{"mode":"off"}}}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// sessions is the folder of the workspace's sessions.
func (w *world) sessions() string {
	return filepath.Join(w.home, "agentls", "sessions", session.Key(w.dir))
}

func (w *world) log(session string) string { return filepath.Join(w.sessions(), session+".jsonl") }

// halfway reports whether a file was being put in its place.
func (w *world) halfway() bool {
	found := false
	_ = filepath.WalkDir(w.sessions(), func(name string, _ os.DirEntry, err error) error {
		base := filepath.Base(name)
		found = found || (err == nil && (strings.HasPrefix(base, ".new-") || strings.HasSuffix(base, ".tmp")))
		return nil // what cannot be read is not there
	})
	return found
}

// model is the scripted model, on loopback.
type model struct {
	*modelserver.Server
	server   *http.Server
	listener net.Listener
	work     conc.WaitGroup
}

func startModel(script string) (*model, error) {
	s, err := modelserver.Parse(script)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{Server: modelserver.New(modelserver.Config{Script: s, Now: time.Now}), listener: l}
	m.server = &http.Server{Handler: m.Server}
	m.work.Go(func() { _ = m.server.Serve(l) }) // until stop closes it
	return m, nil
}

func (m *model) stop() {
	_ = m.server.Close() // whoever still asks is dead
	m.work.Wait()
}

// process is a daemon that serves on its standard streams. It is a connection.
type process struct {
	cmd     *exec.Cmd
	in, out *os.File
	said    sheet
	ended   chan struct{}
	work    conc.WaitGroup
	once    sync.Once
}

// sheet is what a process says on standard error.
type sheet struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *sheet) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *sheet) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// spawn starts a daemon that asks the given model.
func (w *world) spawn(ctx context.Context, m *model) (*process, error) {
	r1, w1, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, r1.Close(), w1.Close())
	}
	p := &process{in: w1, out: r2, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, w.binary, "serve", "--trust")
	p.cmd.Dir = w.dir
	p.cmd.Env = []string{
		"GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL=http://" + m.listener.Addr().String(), "GEMINI_HOME=" + w.home,
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.base,
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = r1, w2, &p.said
	p.cmd.WaitDelay = time.Second // for who holds its standard error
	err = p.cmd.Start()
	_ = r1.Close() // it has its own
	_ = w2.Close()
	if err != nil {
		return nil, errors.Join(err, w1.Close(), r2.Close())
	}
	p.work.Go(func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended does not matter
	})
	return p, nil
}

func (p *process) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close hangs up.
func (p *process) Close() error { return errors.Join(p.in.Close(), p.out.Close()) }

// kill ends the process with SIGKILL and waits until it is gone. What it had
// written can still be read.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// free kills the process if it lives and lets go of its streams.
func (p *process) free() {
	p.once.Do(func() {
		p.kill()
		p.work.Wait()
		_ = p.Close() // done already, mostly
	})
}

// connect shakes hands as an editor.
func (w *world) connect(ctx context.Context, p *process) (*editortest.Editor, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	e, err := editortest.Connect(context.WithoutCancel(ctx), p,
		editortest.Config{Dir: w.dir, Agents: editortest.Native()})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, p.said.String())
	}
	return e, nil
}

// orphans returns the processes that belong to the world: by what they were
// called with, by their environment, or by the folder that they are in. Those
// that do not end are killed and returned: spec 12.2 gives them three seconds, a
// busy machine needs more.
func (w *world) orphans(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	for {
		found := w.processes()
		if len(found) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			var left []string
			for pid, line := range found {
				left = append(left, fmt.Sprintf("%d %s", pid, line))
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill() // it may have ended now
				}
			}
			return left
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (w *world) processes() map[int]string {
	found := make(map[int]string)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return found
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || len(line) == 0 {
			continue // gone, or a zombie that its parent has not read
		}
		env, _ := os.ReadFile(filepath.Join(dir, "environ")) // another person's: not ours
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if bytes.Contains(line, []byte(w.base)) || bytes.Contains(env, []byte(w.base)) ||
			strings.HasPrefix(cwd, w.base) {
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}
