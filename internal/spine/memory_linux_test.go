package spine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/server/servertest"
)

// TestREL05LargeDocument: a document of nearly as much as a message may have
// costs about four times its size while it is opened, and nothing when it was
// closed.
func TestREL05LargeDocument(t *testing.T) {
	w := newWorld(t, "< Hello.\n")
	p := w.spawn()
	c := servertest.NewClient(hanging{p}, patience)
	if err := c.Handshake(); err != nil {
		t.Fatalf("%v\n%s", err, p.said.String())
	}
	text := strings.Repeat(`a line of a text that is long, and so on\n`, 61<<20/42)
	name := "file://" + filepath.Join(w.dir, "large.txt")
	for _, body := range []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":%q,"languageId":"text","version":1,"text":"%s"}}}`, name, text),
		`{"jsonrpc":"2.0","id":1,"method":"agents/session/list","params":{}}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didClose","params":{"textDocument":{"uri":%q}}}`, name),
		`{"jsonrpc":"2.0","id":2,"method":"agents/session/list","params":{}}`,
	} {
		if err := c.Send(servertest.Frame(body)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"1", "2"} {
		if m, err := c.Answer(id); err != nil || m.Error != nil {
			t.Fatalf("%v, %v\n%s", m, err, p.said.String())
		}
	}
	if peak := p.memory("VmHWM"); peak > 330 {
		t.Errorf("%d MiB at most", peak)
	}
	for deadline := time.Now().Add(patience); p.memory("VmRSS") > 150; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d MiB are kept", p.memory("VmRSS"))
		}
	}
	t.Log("at most", p.memory("VmHWM"), "MiB, then", p.memory("VmRSS"))
}

// memory returns a line of the process's status, in MiB.
func (p *process) memory(line string) int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), line+":")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return kib >> 10
}
