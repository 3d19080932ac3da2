package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

// listening starts a daemon that connects to a listener of ours, as
// vscode-languageclient does it, and returns both ends.
func listening(t *testing.T, network string) (net.Conn, *exec.Cmd, *bytes.Buffer) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	flag := "--pipe=" + address
	if network == "tcp" {
		flag = "--socket=" + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	}
	var printed bytes.Buffer
	daemon := exec.Command(os.Args[0], "serve", flag, "--clientProcessId="+strconv.Itoa(os.Getpid()))
	daemon.Env, daemon.Dir, daemon.Stdout, daemon.Stderr = append(os.Environ(), asCommand+"=1", "AGENTLS_DUMPABLE=1"), t.TempDir(), &printed, t.Output()
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		_ = daemon.Process.Kill() // where it has not ended by now
	})
	return conn, daemon, &printed
}

// frame reads one message and returns its id. io.EOF is the end where a frame
// could begin; anything that is no frame is another error.
func frame(in *bufio.Reader) (id string, err error) {
	header, err := in.ReadString('\n')
	if err != nil && header != "" {
		return "", fmt.Errorf("no header: %q", header)
	} else if err != nil {
		return "", err
	}
	var length int
	blank := make([]byte, 2)
	if _, err := fmt.Sscanf(header, "Content-Length: %d\r\n", &length); err != nil {
		return "", fmt.Errorf("no header: %q", header)
	}
	if _, err := io.ReadFull(in, blank); err != nil || string(blank) != "\r\n" {
		return "", fmt.Errorf("the header does not end: %q, %v", blank, err)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(in, body); err != nil {
		return "", fmt.Errorf("the message is cut: %w", err)
	}
	var m struct{ ID json.Number }
	if err := json.Unmarshal(body, &m); err != nil {
		return "", fmt.Errorf("no message: %q", body)
	}
	return m.ID.String(), nil
}

// TestServeConnectsToItsClient: on a socket that the client listens on there are
// frames and nothing else, standard output stays empty, and the end is as on
// stdio.
func TestServeConnectsToItsClient(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			conn, daemon, printed := listening(t, network)
			var err error
			in := bufio.NewReader(conn)
			for _, c := range []struct{ message, id string }{
				{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}`, "1"},
				{`{"jsonrpc":"2.0","method":"initialized","params":{}}`, ""},
				{`{"jsonrpc":"2.0","id":2,"method":"agents/list","params":{}}`, "2"},
				{`{"jsonrpc":"2.0","id":3,"method":"shutdown"}`, "3"},
				{`{"jsonrpc":"2.0","method":"exit"}`, ""},
			} {
				if _, err := fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n%s", len(c.message), c.message); err != nil {
					t.Fatal(err)
				}
				for id := ""; id != c.id; {
					if id, err = frame(in); err != nil {
						t.Fatalf("waiting for the answer to %s: %v", c.message, err)
					}
				}
			}
			for err == nil {
				_, err = frame(in)
			}
			if err != io.EOF {
				t.Errorf("after the last answer: %v", err)
			}
			if err := daemon.Wait(); err != nil {
				t.Errorf("the daemon: %v", err)
			}
			if printed.Len() > 0 {
				t.Errorf("standard output: %q", printed)
			}
		})
	}
}

// TestSEC97NothingListens: neither way of serving opens a socket that others
// could connect to; --pipe and --socket connect to the client's.
func TestSEC97NothingListens(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	for _, network := range []string{"unix", "tcp"} {
		conn, daemon, _ := listening(t, network)
		c := client.New(t.Context(), conn, client.Config{})
		if _, err := c.Initialize(t.Context(), &protocol.InitializeParams{}); err != nil {
			t.Fatal(err)
		}
		sockets := 0
		ours := map[string]bool{}
		fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", daemon.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if link, err := os.Readlink(fd); err == nil && strings.HasPrefix(link, "socket:[") {
				ours[strings.Trim(link, "socket:[]")] = true
				sockets++
			}
		}
		if sockets == 0 {
			t.Fatal("the connection to the client is not seen: the test would prove nothing")
		}
		for _, table := range []struct {
			file         string
			state, inode int
			listens      string
		}{{"tcp", 3, 9, "0A"}, {"tcp6", 3, 9, "0A"}, {"unix", 3, 6, "00010000"}} {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", daemon.Process.Pid, table.file))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(data)) {
				if f := strings.Fields(line); len(f) > table.inode && ours[f[table.inode]] && f[table.state] == table.listens {
					t.Errorf("with %s the daemon listens: %s", network, line)
				}
			}
		}
		if err := c.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		_ = c.Close() // the daemon may have hung up already
		if err := daemon.Wait(); err != nil {
			t.Errorf("the daemon: %v", err)
		}
	}
}

// TestREL25HangUpOfASocket: a client that goes in the middle of a run leaves it
// interrupted, and the daemon exits 1.
func TestREL25HangUpOfASocket(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			home := play(t, "> go on\n< Hello.\n<hang\n")
			conn, daemon, _ := listening(t, network)
			said := make(chan struct{})
			c := client.New(t.Context(), conn, client.Config{Notified: func(method string, params []byte) {
				if method == wire.MethodActivity && bytes.Contains(params, []byte(`"content.delta"`)) {
					close(said)
				}
			}})
			root := uri.File(t.TempDir())
			p := &protocol.InitializeParams{RootURI: &root}
			p.Capabilities.Experimental = protocol.LSPAny(`{"agents":{"version":1,"activity":{}}}`)
			if _, err := c.Initialize(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			run := &wire.RunParams{Input: wire.InputBlocks{{Type: "text", Text: "go on"}}, Wait: "accept"}
			if err := c.Call(t.Context(), wire.MethodRun, run, nil); err != nil {
				t.Fatal(err)
			}
			<-said
			_ = c.Close() // hanging up is the point
			if err := daemon.Wait(); err == nil || daemon.ProcessState.ExitCode() != 1 {
				t.Errorf("the daemon: %v", err)
			}
			logs, err := filepath.Glob(filepath.Join(home, "agentls", "sessions", "*", "main.jsonl"))
			if err != nil || len(logs) != 1 {
				t.Fatalf("logs: %q, %v", logs, err)
			}
			data, err := os.ReadFile(logs[0])
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(data), `"to":"interrupted"`) || strings.Contains(string(data), "run.finished") {
				t.Errorf("the run is not left interrupted:\n%s", data)
			}
		})
	}
}

// TestServeWithoutAClient: who does not listen is told what to do.
func TestServeWithoutAClient(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	code, out, errs := command(t, t.TempDir(), "serve", "--pipe", filepath.Join(t.TempDir(), "nobody"))
	if code != 1 || out != "" || !strings.Contains(errs, "listen on it before") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out, errs)
	}
}

// TestCloseEndsARead: the process does not outlast its client's exit for a read
// of standard input that waits; what was there before is read first.
func TestCloseEndsARead(t *testing.T) {
	in, editor, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer editor.Close()
	rwc := interruptible(pipes{in, discard{}}, in)
	if _, err := editor.WriteString("frame"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	if n, err := rwc.Read(buf); err != nil || string(buf[:n]) != "frame" {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	ended := make(chan error, 1)
	go func() { // ends with Close
		_, err := rwc.Read(buf)
		ended <- err
	}()
	if err := rwc.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("a read after Close brought something")
	}
	_ = rwc.Close() // harmless
}

// discard is a writer that can be closed.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }
