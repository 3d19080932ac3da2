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

	"github.com/agentls/agentls/internal/editortest"
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

// TestREL40LongOutput: an output of 50 MB is kept whole, and passes through
// memory in pieces (REL-40); what is left out for the model is counted of all
// that came.
func TestREL40LongOutput(t *testing.T) {
	w := newWorld(t, `<call bash {"command":"echo hello"}`+"\n\n>result bash contains hello\n"+
		`<call bash {"command":"yes 0123456789012345678901234567890123456789012345678 | head -c 50000000"}`+"\n\n"+
		`>result bash contains of 50000000 bytes are left out here`+"\n< Done.\n")
	p := w.spawn()
	e := p.connect(w)
	e.Answer(editortest.Reply{Choice: "once"})
	e.Answer(editortest.Reply{Choice: "once"})
	end := e.start("main", "print")
	e.await("the first command", saw("tool.state", "hello"))
	before := p.memory("VmHWM")
	e.finish(end)
	t.Log(before, "MiB, then", p.memory("VmHWM"))
	if grown := p.memory("VmHWM") - before; grown > 40 {
		t.Errorf("%d MiB for an output of 50 MB", grown)
	}
	blobs, err := filepath.Glob(filepath.Join(filepath.Dir(w.log("main")), "blobs", "*"))
	if err != nil || len(blobs) != 1 {
		t.Fatalf("kept: %q, %v", blobs, err)
	}
	if info, err := os.Stat(blobs[0]); err != nil || info.Size() != 50_000_000 {
		t.Errorf("kept: %v, %v", info, err)
	}
}
