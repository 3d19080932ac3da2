package editortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/agentls/agentls/internal/wire"
)

// Fault is what an editor does wrong with its answer to a question. Where a
// protocol is not kept, the daemon has to live with it.
type Fault string

// The faults.
const (
	Lost  Fault = "lost"  // the answer is never sent
	Twice Fault = "twice" // it is sent, and then Reply.Then under the same id
	Other Fault = "other" // it is sent under an id that nobody asked
	Dies  Fault = "dies"  // the connection is cut instead
)

// Stall has the editor stop reading: what the daemon sends waits in the pipe, and
// what the editor has asked stays unanswered. It goes on writing.
func (e *Editor) Stall() { e.line.stall() }

// Read has an editor that stalled read again.
func (e *Editor) Read() { e.line.read() }

// Die cuts the connection, as an editor does that is killed.
func (e *Editor) Die() { _ = e.line.Close() } // the daemon may have gone first

// faulty returns what stands for a result in the frame that answers a question;
// the line makes of it what the fault says.
func (e *Editor) faulty(r Reply, result, then any) (any, error) {
	text, err := wire.Codec{}.Marshal(result)
	if err != nil {
		return nil, err
	}
	again, err := wire.Codec{}.Marshal(then)
	if err != nil {
		return nil, err
	}
	if r.Fault == Dies {
		e.Die()
	}
	return jsonrpc2.RawMessage(e.line.mark(answer{r.Fault, text, again})), nil
}

// line is the editor's end of the connection: one that can stop reading, and that
// sends answers which break the protocol.
type line struct {
	io.ReadWriteCloser

	mu      sync.Mutex
	going   chan struct{} // closed while it reads
	marked  int
	answers map[string]answer // by mark
}

// answer is what is sent where a mark stands.
type answer struct {
	fault        Fault
	result, then []byte
}

func newLine(rwc io.ReadWriteCloser) *line {
	l := &line{ReadWriteCloser: rwc, going: make(chan struct{}), answers: make(map[string]answer)}
	close(l.going)
	return l
}

func (l *line) stall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.going:
		l.going = make(chan struct{})
	default: // it has stalled already
	}
}

func (l *line) read() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.going:
	default:
		close(l.going)
	}
}

// Close has a reader that stalled find that the connection is closed.
func (l *line) Close() error {
	l.read()
	return l.ReadWriteCloser.Close()
}

// Read waits while the line has stalled; what a read that had begun brings is
// held back as well.
func (l *line) Read(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(p)
	l.mu.Lock()
	going := l.going
	l.mu.Unlock()
	<-going
	return n, err
}

// mark returns a result that Write replaces.
func (l *line) mark(a answer) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marked++
	mark := fmt.Sprintf(`{"faultyAnswer":%d}`, l.marked)
	l.answers[mark] = a
	return []byte(mark)
}

// Write writes a frame: the connection writes each with one call.
func (l *line) Write(frame []byte) (int, error) {
	const begins = `{"faultyAnswer":`
	if !bytes.Contains(frame, []byte(begins)) {
		return l.ReadWriteCloser.Write(frame)
	}
	l.mu.Lock()
	all := maps.Clone(l.answers)
	l.mu.Unlock()
	_, body, _ := strings.Cut(string(frame), "\r\n\r\n")
	for mark, a := range all {
		if !strings.Contains(body, mark) {
			continue
		}
		bodies := []string{strings.Replace(body, mark, string(a.result), 1)}
		switch a.fault {
		case Lost, Dies:
			bodies = nil
		case Twice:
			bodies = append(bodies, strings.Replace(body, mark, string(a.then), 1))
		case Other:
			var err error
			if bodies[0], err = elsewhere(bodies[0]); err != nil {
				return 0, err
			}
		}
		for _, b := range bodies {
			if _, err := io.WriteString(l.ReadWriteCloser,
				"Content-Length: "+strconv.Itoa(len(b))+"\r\n\r\n"+b); err != nil {
				return 0, err
			}
		}
		return len(frame), nil
	}
	return 0, fmt.Errorf("a frame has a mark that is none: %s", body)
}

// elsewhere returns an answer under another id.
func elsewhere(body string) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		return "", err
	}
	members["id"] = json.RawMessage("987654321")
	text, err := json.Marshal(members)
	return string(text), err
}
