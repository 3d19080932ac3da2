package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/modelserver"
	"github.com/agentls/agentls/internal/wire"
)

// asCommand makes the test binary be agentls.
const asCommand = "AGENTLS_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	code := m.Run()
	for _, remove := range leftovers {
		remove()
	}
	os.Exit(code)
}

// leftovers remove what tests share, once all have ended.
var leftovers []func()

// play serves a script on loopback, points the environment of the test at it,
// and returns the home of the daemon. The test fails when the script is not
// played to its end.
func play(t *testing.T, text string) (home string) {
	t.Helper()
	home, _ = stage(t, text)
	return home
}

// stage is play for who opens the gates of the script.
func stage(t *testing.T, text string) (home string, model *modelserver.Server) {
	t.Helper()
	script, err := modelserver.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	model = modelserver.New(modelserver.Config{Script: script})
	listener := httptest.NewServer(model)
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
		if failures := model.Failures(); len(failures) > 0 {
			t.Errorf("the model was not asked what its script says: %s", strings.Join(failures, "\n"))
		}
		if err := model.Done(); err != nil {
			t.Error(err)
		}
	})
	home = filepath.Join(t.TempDir(), "home")
	t.Setenv("GEMINI_HOME", home)
	t.Setenv("GEMINI_API_KEY", "test")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", listener.URL)
	return home, model
}

// writer makes a workspace with an agent that may write.
func writer(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	agents := filepath.Join(dir, ".gemini", "agents")
	if err := os.MkdirAll(agents, 0o755); err != nil {
		t.Fatal(err)
	}
	file := "---\nkind: agent\nname: writer\ntitle: The Writer\ndescription: Writes.\nmodel: flash\ntools:\n  allow: [ls, write_file]\n---\nYou write.\n"
	if err := os.WriteFile(filepath.Join(agents, "writer.md"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sessions returns the names of the logs in a home.
func sessions(t *testing.T, home string) (names []string) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(home, "agentls", "sessions", "*", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		names = append(names, strings.TrimSuffix(filepath.Base(log), ".jsonl"))
	}
	return names
}

// TestRunPrintsItsText: standard output, where it is no terminal, is the final text
// and nothing else; what the agent says and does before is told on standard error.
func TestRunPrintsItsText(t *testing.T) {
	play(t, "> look\n< I look.\n<call ls {\"dir_path\": \".\"}\n\n>result ls\n< There is nothing.\n")
	code, out, errs := command(t, writer(t), "run", "writer", "look around", "--trust")
	if code != 0 || out != "There is nothing.\n" {
		t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
	}
	for _, want := range []string{"The Writer\n", "I look.\n", "model gemini-", "✓ ls .", "2 turns, 1 tool call,"} {
		if !strings.Contains(errs, want) {
			t.Errorf("stderr does not tell %q:\n%s", want, errs)
		}
	}
}

// TestRunOfMainPrintsItsTitle: main has a title although it has no file.
func TestRunOfMainPrintsItsTitle(t *testing.T) {
	play(t, "> say hello\n< Hello.\n")
	_, list, _ := command(t, t.TempDir(), "list")
	title := regexp.MustCompile(`(?m)^  main  +(\S.*?)  `).FindStringSubmatch(list)
	if title == nil {
		t.Fatalf("main is not listed:\n%s", list)
	}
	if code, out, errs := command(t, t.TempDir(), "run", "say hello"); code != 0 || out != "Hello.\n" || !strings.HasPrefix(errs, strings.Split(title[1], ":")[0]+"\n") {
		t.Errorf("exit %d, stdout %q, title %q\n%s", code, out, title[1], errs)
	}
}

// TestRunInANewSession: --session new begins one, whose id can be given again.
func TestRunInANewSession(t *testing.T) {
	home := play(t, "> first\n>messages 1\n< One.\n\n> second\n>messages 3\n< Two.\n\n> third\n>messages 1\n< Three.\n")
	dir := t.TempDir()
	if code, _, errs := command(t, dir, "run", "the first", "--session", "new"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	ids := sessions(t, home)
	if len(ids) != 1 || !regexp.MustCompile(`^[a-z2-7]{8}$`).MatchString(ids[0]) {
		t.Fatalf("sessions: %q", ids)
	}
	for _, args := range [][]string{{"the second", "--session", ids[0]}, {"the third", "--session", "new"}} {
		if code, _, errs := command(t, dir, append([]string{"run"}, args...)...); code != 0 {
			t.Fatalf("run %q: exit %d\n%s", args, code, errs)
		}
	}
	if ids := sessions(t, home); len(ids) != 2 {
		t.Errorf("sessions: %q", ids)
	}
}

// TestMainIsToldThatNobodyAnswers: without a terminal nobody can be asked, and main's
// prompt says so; a conversation has a reader, also over a pipe.
func TestMainIsToldThatNobodyAnswers(t *testing.T) {
	play(t, "> first\n>system nobody reads along\n< One.\n\n> second\n>!system nobody reads along\n< Two.\n")
	dir := t.TempDir()
	if code, _, errs := command(t, dir, "run", "-p", "the first"); code != 0 {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := command(t, dir, "run", "-i", "-p", "the second"); code != 0 {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestRunInAnAgentsSession: a session that was begun with an agent is that agent's, which
// answers in it where nobody is named, also in a dialogue; who is named still answers.
func TestRunInAnAgentsSession(t *testing.T) {
	home := play(t, "> first\n>system You write.\n< One.\n\n> second\n>system You write.\n>messages 3\n< Two.\n\n"+
		"> third\n>system You write.\n>messages 5\n< Three.\n\n> fourth\n>!system You write.\n>messages 1\n< Four.\n")
	dir := writer(t)
	if code, _, errs := command(t, dir, "run", "--trust", "--session", "new", "writer", "the first"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	ids := sessions(t, home)
	if len(ids) != 1 {
		t.Fatalf("sessions: %q", ids)
	}
	if code, _, errs := command(t, dir, "run", "--trust", "--session", ids[0], "the second"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	typed := filepath.Join(t.TempDir(), "typed")
	if err := os.WriteFile(typed, []byte("the third\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(typed)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var stdout, stderr bytes.Buffer
	code := execute([]string{"run", "--trust", "-i", "--session", ids[0]}, streams{in, &stdout, &stderr})
	out, errs := stdout.String(), stderr.String()
	if code != 0 || !strings.Contains(out, "Three.") || !strings.Contains(errs, "The Writer · ") {
		t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
	}
	if code, _, errs := command(t, dir, "run", "--trust", "--session", ids[0], "main", "the fourth"); code != 0 {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := command(t, dir, "run", "--trust", "--session", "new", "wirter", "the fifth"); code != 1 || !strings.Contains(errs, "writer") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if ids := sessions(t, home); len(ids) != 1 {
		t.Errorf("sessions: %q", ids)
	}
}

// pipes are the standard streams of a child as one connection.
type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipes) Close() error {
	_ = p.WriteCloser.Close()
	return p.ReadCloser.Close()
}

// TestServeApprove: an editor that shows no dialogs has no other way to allow
// edits than the mode that its daemon was started with.
func TestServeApprove(t *testing.T) {
	for _, c := range []struct {
		flags   []string
		asks    bool
		written bool
	}{
		{nil, true, false}, {[]string{"--approve", "ask"}, true, false}, {[]string{"--approve", "edits"}, false, true},
	} {
		t.Run(strings.Join(append([]string{"serve"}, c.flags...), " "), func(t *testing.T) {
			end := ">result write_file\n"
			if !c.written {
				end = ">result-error write_file contains denied\n"
			}
			play(t, "> note it\n<call write_file {\"file_path\": \"note.txt\", \"content\": \"milk\\n\"}\n\n"+end+"< I see.\n")
			dir := writer(t)
			daemon := exec.Command(os.Args[0], append([]string{"serve", "--trust"}, c.flags...)...)
			daemon.Env, daemon.Dir, daemon.Stderr = append(os.Environ(), asCommand+"=1"), dir, t.Output()
			in, err := daemon.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := daemon.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := daemon.Start(); err != nil {
				t.Fatal(err)
			}
			var asked atomic.Bool
			conn := client.New(t.Context(), pipes{out, in}, client.Config{
				Asked: func(_ context.Context, method string, _ []byte) (any, error) {
					switch method {
					case protocol.MethodWindowShowMessageRequest:
						asked.Store(true)
						return nil, nil
					case protocol.MethodWorkspaceApplyEdit:
						t.Errorf("the daemon asks for edits of a client that cannot do them")
					}
					return nil, nil
				},
			})
			root := uri.File(dir)
			if _, err := conn.Initialize(t.Context(), &protocol.InitializeParams{RootURI: &root}); err != nil {
				t.Fatal(err)
			}
			var result wire.RunResult
			err = conn.Call(t.Context(), protocol.MethodWorkspaceExecuteCommand, json.RawMessage(`{"command":"agentls.run","arguments":["writer","note it"]}`), &result)
			if err != nil || result.Reason != "GOAL" {
				t.Errorf("the run: %+v, %v", result, err)
			}
			if err := conn.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			_ = conn.Close() // the daemon may have hung up already
			if err := daemon.Wait(); err != nil {
				t.Errorf("the daemon: %v", err)
			}
			if asked.Load() != c.asks {
				t.Errorf("asked: %v, want %v", asked.Load(), c.asks)
			}
			if _, err := os.Stat(filepath.Join(dir, "note.txt")); (err == nil) != c.written {
				t.Errorf("the file: %v, want it written: %v", err, c.written)
			}
		})
	}
}
