package clienttest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentls/agentls/internal/editortest"
	"github.com/agentls/agentls/internal/wire"
)

const withServers = `---
kind: agent
name: worker
title: Worker
model: flash
mcp:
  servers: [everything, filesystem, memory]
---
You work.
`

// TestREL84MCPServersFromNPM has the binary use the servers everything, filesystem
// and memory from npm, as they are: their tools are listed and called, one tells its
// progress, one asks the model through the person, a file outside of the workspace is refused, a server that is killed in
// the middle of a call is an error at once and is there in the next run, and nothing
// is left of them.
func TestREL84MCPServersFromNPM(t *testing.T) {
	node := needPackages(t, ".", "@modelcontextprotocol/server-everything")
	modules, err := filepath.Abs("node_modules/@modelcontextprotocol")
	if err != nil {
		t.Fatal(err)
	}
	dir := unfold(t, map[string]string{"note.txt": "milk\n", ".gemini/agents/worker.md": withServers})
	outside := filepath.Join(outliving(t), "secret.txt")
	if err := os.WriteFile(outside, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := func(name string, args ...string) string {
		all, _ := json.Marshal(append([]string{filepath.Join(modules, "server-"+name, "dist/index.js")}, args...))
		return fmt.Sprintf(`%q: {"command": %q, "args": %s, "sampling": true, "env": {"MEMORY_FILE_PATH": %q}}`, name, node, all, filepath.Join(dir, "memory.jsonl"))
	}
	script, err := os.ReadFile("testdata/mcp.model")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("%NOTE", filepath.Join(dir, "note.txt"), "%OUTSIDE", outside).Replace(string(script))
	_, env := perform(t, text, `{"mcpServers": {`+strings.Join([]string{server("everything"), server("filesystem", dir), server("memory")}, ",")+`}}`)

	tryServers(t, dir, env, "everything: ready after", "filesystem: ready after", "memory: ready after", "mcp.everything.echo  Echoes", "mcp.memory.read_graph", "mcp.filesystem.read_text_file")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd, said, editor := serveWorker(ctx, t, dir, env)
	run := func(input string) *wire.RunResult {
		t.Helper()
		return runWorker(ctx, t, editor, input)
	}
	editor.Answer(editortest.Reply{Choice: "once"})
	editor.Answer(editortest.Reply{Choice: "Let the model answer"}) // which the server asks
	editor.Answer(editortest.Reply{Choice: "once"})
	editor.Answer(editortest.Reply{Choice: "I opened it"}) // the page that the server wants opened
	for range 7 {                                          // each call after the first result, which others wrote
		editor.Answer(editortest.Reply{Choice: "once"})
	}
	if r := run("use them"); r.Text != "All were used." {
		t.Errorf("the first run: %+v", r)
	}
	if !slices.ContainsFunc(editor.Seen().Questions, func(q wire.ConfirmParams) bool {
		return strings.Contains(q.Why, outside+" is outside of the workspace") && q.Preview.Kind == "mcp" && q.Preview.Server == "filesystem"
	}) {
		t.Error("the person is not told that a file lies outside of the workspace")
	}
	steps, asked := 0, 0
	for _, e := range editor.Seen().Events {
		if e.Type == "note" && strings.Contains(string(e.Data), "one and one?") && strings.Contains(string(e.Data), "They are two.") {
			asked++
		}
		if e.Type == "tool.delta" {
			steps += strings.Count(string(e.Data), " of 3")
		}
	}
	if steps != 3 {
		t.Errorf("%d steps of progress were told, want 3", steps)
	}

	if asked != 1 {
		t.Errorf("the log has %d times what the server asked the model", asked)
	}

	// The server is killed while it works.
	done := make(chan *wire.RunResult, 1)
	go func() { done <- run("take long") }()
	if err := editor.Await(ctx, func(s editortest.Seen) bool {
		return slices.ContainsFunc(s.Events, func(e wire.ActivityParams) bool {
			return e.Type == "tool.delta" && strings.Contains(string(e.Data), "1 of 50")
		})
	}); err != nil {
		for _, e := range editor.Seen().Events {
			t.Logf("%s %.300s", e.Type, e.Data)
		}
		t.Fatal(err)
	}
	killed := below(t, cmd.Process.Pid, "server-everything")
	for _, pid := range killed {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	if len(killed) == 0 {
		t.Error("the server is not found")
	}
	if r := <-done; r.Text != "It failed." {
		t.Errorf("the second run: %+v", r)
	}
	if r := run("again"); r.Text != "It is back." {
		t.Errorf("the third run: %+v", r)
	}

	var all wire.MCPListResult
	if err := editor.Call(ctx, wire.MethodMCPList, &wire.MCPListParams{}, &all); err != nil || len(all.Servers) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	left := below(t, cmd.Process.Pid, "server-")
	if err := editor.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	_ = editor.Close() // the daemon has gone
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	for _, pid := range left {
		if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(raw), "server-") {
			t.Errorf("process %d outlives the daemon: %q", pid, raw)
		}
	}
	if len(left) < 3 {
		t.Errorf("only %d servers ran", len(left))
	}
}

// tryServers has the binary try the servers of the settings.
func tryServers(t *testing.T, dir string, env []string, has ...string) {
	t.Helper()
	tried := exec.Command(build(t), "mcp-servers", "test")
	tried.Dir, tried.Env = dir, append(env, "AGENTLS_TRUST=1")
	out, err := tried.CombinedOutput()
	for _, want := range has {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("mcp-servers test: %v, %q is missing in\n%s", err, want, out)
		}
	}
}

// serveWorker starts the binary for an editor; said is what it writes on its standard
// error.
func serveWorker(ctx context.Context, t *testing.T, dir string, env []string) (cmd *exec.Cmd, said *bytes.Buffer, editor *editortest.Editor) {
	t.Helper()
	cmd, said = exec.Command(build(t), "serve", "--trust"), new(bytes.Buffer)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	editor, err = editortest.Connect(ctx, pipes{stdout, in}, editortest.Config{Dir: dir, Agents: editortest.Native()})
	if err != nil {
		t.Fatal(err)
	}
	return cmd, said, editor
}

// runWorker runs the agent that has the servers.
func runWorker(ctx context.Context, t *testing.T, editor *editortest.Editor, input string) *wire.RunResult {
	t.Helper()
	r, err := editor.Run(ctx, &wire.RunParams{Agent: "worker", Input: wire.InputBlocks{{Type: "text", Text: input}}, Approval: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pipes are the two ends of a process's standard streams.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// below returns the processes below another one whose command line holds a text.
func below(t *testing.T, of int, text string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	parents := make(map[int]int)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		var state string
		var parent int
		_, _ = fmt.Sscan(string(raw[bytes.LastIndexByte(raw, ')')+1:]), &state, &parent) // 0 where it cannot be read
		parents[pid] = parent
	}
	for pid := range parents {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !strings.Contains(string(raw), text) || strings.Contains(string(raw), "__helper") {
			continue
		}
		for up := parents[pid]; up > 0; up = parents[up] {
			if up == of {
				pids = append(pids, pid)
				break
			}
		}
	}
	slices.SortFunc(pids, cmp.Compare)
	return pids
}
