package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/daemon"
)

// asDaemon makes the test binary a daemon of its own on standard input and
// output: one that can be killed. Its value is what it is made of.
const asDaemon = "AGENTLS_TEST_AS_DAEMON"

// made is what a daemon of another process is made of.
type made struct {
	Home, Approval string
	Trust          bool
	Environ        []string
}

func TestMain(m *testing.M) {
	if text := os.Getenv(asDaemon); text != "" {
		os.Exit(beDaemon(text))
	}
	os.Exit(m.Run())
}

// streams are standard input and output as one connection.
type streams struct {
	io.Reader
	io.WriteCloser
}

func beDaemon(text string) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // as the binary does: the story may stop reading first
	var c made
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	_, err := daemon.Serve(context.Background(), streams{os.Stdin, os.Stdout}, daemon.Config{
		Home: c.Home, Trust: c.Trust, Approval: approvals[c.Approval], Environ: c.Environ, Version: "test", Now: time.Now,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is the far end of a process's standard streams.
type child struct {
	io.WriteCloser
	out io.ReadCloser
}

// Read reads what the process wrote.
func (c child) Read(p []byte) (int, error) { return c.out.Read(p) }

// Close closes both.
func (c child) Close() error { return errors.Join(c.WriteCloser.Close(), c.out.Close()) }

// spawn starts a daemon in a process of its own. Its model is on loopback.
func (s *story) spawn(d daemon.Config) (io.ReadWriteCloser, error) {
	listener := httptest.NewServer(s.model)
	for i, kv := range d.Environ {
		if strings.HasPrefix(kv, "GOOGLE_GEMINI_BASE_URL=") {
			d.Environ[i] = "GOOGLE_GEMINI_BASE_URL=" + listener.URL
		}
	}
	text, err := json.Marshal(made{d.Home, string(d.Approval), d.Trust, d.Environ})
	if err != nil {
		return nil, err
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), asDaemon+"="+string(text))
	if s.proxied {
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
			c.Env = append(c.Env, name+"=http://"+s.web.host, strings.ToLower(name)+"=http://"+s.web.host)
		}
		c.Env = append(c.Env, "NO_PROXY=", "no_proxy=")
	}
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	s.done, s.killed = done, c.Process.Kill
	go func() { // ends with the process
		state, err := c.Process.Wait()
		listener.CloseClientConnections()
		listener.Close()
		if err == nil && !state.Success() && state.String() != "signal: killed" {
			err = fmt.Errorf("the daemon ended: %s", state)
		}
		done <- err
	}()
	return child{in, out}, nil
}

// kill ends the daemon's process as nothing but the system can, and waits for
// its end.
func (s *story) kill() error {
	if s.killed == nil {
		return errors.New("the daemon has no process of its own: use editor -process")
	}
	if err := s.killed(); err != nil {
		return err
	}
	return s.hangUp()
}
