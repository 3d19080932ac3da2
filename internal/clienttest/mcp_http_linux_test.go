package clienttest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentls/agentls/internal/editortest"
)

// namespace is the variable by which this test's binary knows that it runs in a network
// namespace of its own.
const namespace = "AGENTLS_TEST_NAMESPACE"

// TestMCPServerFromNPMOverHTTP has the binary use the server everything from npm over
// streamable HTTP and over SSE: tools are listed and called, one tells its progress,
// and a server that is gone is an error at once. The server listens on all addresses,
// so all of it runs in a network namespace of its own.
func TestMCPServerFromNPMOverHTTP(t *testing.T) {
	node := needPackages(t, ".", "@modelcontextprotocol/server-everything")
	if os.Getenv(namespace) == "" {
		build(t) // not in the namespace: it may need modules
		inside := exec.Command(os.Args[0], "-test.run=^TestMCPServerFromNPMOverHTTP$", "-test.v")
		inside.Env = append(os.Environ(), namespace+"=1")
		inside.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
		if os.Getuid() != 0 {
			inside.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			inside.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
			inside.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
		}
		var out bytes.Buffer
		inside.Stdout, inside.Stderr = &out, &out
		if err := inside.Start(); err != nil {
			t.Skipf("no network namespace can be made here: %v", err)
		}
		if err := inside.Wait(); err != nil || !strings.Contains(out.String(), "--- PASS: TestMCPServerFromNPMOverHTTP") {
			t.Errorf("in the namespace: %v\n%s", err, &out)
		}
		return
	}
	raiseLoopback(t)

	modules, err := filepath.Abs("node_modules/@modelcontextprotocol")
	if err != nil {
		t.Fatal(err)
	}
	serve := func(mode, port string) *exec.Cmd {
		t.Helper()
		c := exec.Command(node, filepath.Join(modules, "server-everything/dist/index.js"), mode)
		c.Env = append(os.Environ(), "PORT="+port)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Process.Kill() // it may have ended
			_ = c.Wait()
		})
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			conn, err := net.Dial("tcp", "127.0.0.1:"+port)
			if err == nil {
				_ = conn.Close()
				return c
			}
			if time.Now().After(end) {
				t.Fatalf("the server does not listen: %v", err)
			}
		}
	}
	everything := serve("streamableHttp", "3001")
	serve("sse", "3002")

	script, err := os.ReadFile("testdata/mcp-http.model")
	if err != nil {
		t.Fatal(err)
	}
	dir := unfold(t, map[string]string{".gemini/agents/worker.md": strings.Replace(withServers, "[everything, filesystem, memory]", "[everything, older]", 1)})
	_, env := perform(t, string(script), `{"mcpServers": {"everything": {"httpUrl": "http://127.0.0.1:3001/mcp"}, "older": {"url": "http://localhost:3002/sse"}}}`)

	tryServers(t, dir, env, "everything: ready after", "older: ready after", "mcp.everything.echo  Echoes", "mcp.older.echo  Echoes")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd, said, editor := serveWorker(ctx, t, dir, env)
	run := func(input string) string {
		t.Helper()
		return runWorker(ctx, t, editor, input).Text
	}
	// Each call is asked about after the first result, which others wrote; one asks the
	// person thirteen questions.
	for _, choice := range []string{"once", "once", "once", "Ada", "2000-01-02", "true", "ada@example.com", "Call me Ada.", "https://example.com", "7", "Dogs", "3.5", "1, 3", "Green Lantern", "Piano", "Ross", "once", "once"} {
		editor.Answer(editortest.Reply{Choice: choice})
	}
	if text := run("use them"); text != "All were used." {
		t.Errorf("the first run: %q", text)
	}
	steps := 0
	for _, e := range editor.Seen().Events {
		if e.Type == "tool.delta" {
			steps += strings.Count(string(e.Data), " of 3")
		}
	}
	if steps != 3 {
		t.Errorf("%d steps of progress were told, want 3", steps)
	}
	done := make(chan string, 1)
	go func() { done <- run("take long") }()
	if err := editor.Await(ctx, func(s editortest.Seen) bool {
		for _, e := range s.Events {
			if e.Type == "tool.delta" && strings.Contains(string(e.Data), "1 of 50") {
				return true
			}
		}
		return false
	}); err != nil {
		t.Fatal(err)
	}
	if err := everything.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if text := <-done; text != "It failed." {
		t.Errorf("the second run: %q", text)
	}
	serve("streamableHttp", "3001")
	if text := run("again"); text != "It is back." {
		t.Errorf("the third run: %q", text)
	}
	if err := editor.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	_ = editor.Close() // the daemon has gone
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// raiseLoopback brings the loopback of a new network namespace up.
func raiseLoopback(t *testing.T) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(socket)
		var lo *unix.Ifreq
		if lo, err = unix.NewIfreq("lo"); err == nil {
			lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
			err = unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
		}
	}
	if err != nil {
		t.Fatal(fmt.Errorf("the loopback of the namespace: %w", err))
	}
}
