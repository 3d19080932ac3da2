package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// patience is how long a run may take.
const patience = 60 * time.Second

// model is the scripted one, with another script for each run.
type model struct {
	current atomic.Pointer[modelserver.Server]
}

// ServeHTTP implements [http.Handler].
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.current.Load().ServeHTTP(w, r) }

// say makes the script of the next run: one command.
func (m *model) say(text, access string) error {
	args, err := json.Marshal(map[string]string{"command": text, "access": access})
	if err != nil {
		return err
	}
	script, err := modelserver.Parse(fmt.Sprintf("<call bash %s\n\n>result bash\n< Done.\n", args))
	if err != nil {
		return err
	}
	m.current.Store(modelserver.New(modelserver.Config{Script: script}))
	return nil
}

// told returns the result that the model got.
func (m *model) told() string {
	requests := m.current.Load().Requests()
	for _, r := range slices.Backward(requests) {
		for _, message := range slices.Backward(r.Messages) {
			for _, p := range message.Parts {
				if p.Result != nil {
					return p.Result.Text
				}
			}
		}
	}
	return ""
}

// streams are those of a process.
type streams struct {
	io.ReadCloser
	io.WriteCloser
}

// Close closes both.
func (s streams) Close() error { return errors.Join(s.ReadCloser.Close(), s.WriteCloser.Close()) }

// ask has a model run the commands, each with just the access that it needs, and
// returns how that went.
func (w *world) ask(ctx context.Context, binary, wall, mode string, commands []command) ([]result, error) {
	var m model
	listener := httptest.NewServer(&m)
	defer listener.Close()
	defer listener.CloseClientConnections()
	environ, err := w.choose(wall)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := exec.CommandContext(ctx, binary, "serve", "--trust")
	c.Dir = w.work
	c.Env = append(environ, "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+listener.URL,
		"GEMINI_HOME="+filepath.Join(w.home, ".gemini"))
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var said strings.Builder
	c.Stderr = &said
	if err := c.Start(); err != nil {
		return nil, err
	}
	defer func() {
		cancel()
		_ = c.Wait() // it was ended
	}()
	e, err := editortest.Connect(ctx, streams{out, in}, editortest.Config{Dir: w.work, Agents: editortest.Native()})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said.String())
	}
	defer e.Close()
	all := make([]result, len(commands))
	for i, command := range commands {
		r, err := w.askOne(ctx, e, &m, command, mode, fmt.Sprint("s", i))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", command.text, err)
		}
		r.wall, r.mode = wall, mode
		all[i] = r
	}
	return all, nil
}

var exitCode = regexp.MustCompile(`(?m)^Exit code: (\d+)`)

// askOne has a model run one command.
func (w *world) askOne(ctx context.Context, e *editortest.Editor, m *model, c command, mode,
	session string) (result, error) {
	r := result{need: c.effect.need(), text: c.text, outcome: "silent"}
	if err := m.say(c.text, r.need); err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	before := len(e.Seen().Questions)
	got, err := w.watch(func() error {
		e.Answer(editortest.Reply{Choice: "once"})
		_, err := e.Run(ctx, &wire.RunParams{
			Input: wire.InputBlocks{{Type: "text", Text: "Run it."}}, Approval: mode, Session: session,
		})
		return err
	})
	if err != nil {
		return r, err
	}
	told := m.told()
	if len(e.Seen().Questions) > before {
		r.outcome = "asked"
	}
	code := exitCode.FindStringSubmatch(told)
	if code == nil {
		r.outcome = "refused"
		return r, nil
	}
	got.output = told
	if got.code, err = strconv.Atoi(code[1]); err != nil {
		return r, err
	}
	r.differs = got.differs(c.effect, c.prints)
	return r, nil
}

// choose writes the person's settings and returns the environment that choose a
// wall.
func (w *world) choose(wall string) ([]string, error) {
	sandbox := map[string]any{"read": []string{filepath.Join(w.base, "bin")},
		"allowedHosts": []string{w.network.Listener.Addr().String()}}
	environ := w.environ()
	switch wall {
	case "bubblewrap":
		sandbox["mode"] = "require"
	case "landlock": // where the bubblewrap that is found first does not work
		sandbox["mode"] = "require"
		broken := filepath.Join(w.base, "broken")
		err := errors.Join(os.MkdirAll(broken, 0o755), os.WriteFile(filepath.Join(broken, "bwrap"),
			[]byte("#!/bin/sh\nexit 1\n"), 0o755))
		if err != nil {
			return nil, err
		}
		environ[0] = "PATH=" + broken + string(filepath.ListSeparator) + strings.TrimPrefix(environ[0], "PATH=")
	case "none":
		sandbox["mode"] = "off"
	default:
		return nil, fmt.Errorf("there is no wall %q", wall)
	}
	text, err := json.Marshal(map[string]any{"tools": map[string]any{"sandbox": sandbox}})
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(w.home, ".gemini")
	return environ, errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder,
		"settings.json"), text, 0o600))
}
