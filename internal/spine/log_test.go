package spine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/wire"
)

// line is one event as the log's file has it. It is read without the code that
// wrote it.
type line struct {
	Seq     uint64          `json:"seq"`
	FromSeq uint64          `json:"fromSeq"`
	Type    string          `json:"type"`
	Run     string          `json:"run"`
	Data    json.RawMessage `json:"data"`
}

// text returns the text of a delta.
func (l line) text() string { return textOf(l.Data) }

// textOf returns the member text of an event's data.
func textOf(data []byte) string {
	var d struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(data, &d) // without text: ""
	return d.Text
}

// logPath returns where the log of a session lies.
func logPath(home, dir, id string) string {
	return filepath.Join(home, "agentls", "sessions", session.Key(dir), id+".jsonl")
}

// reader reads a log's file by the rules of spec 3.1: a header, then events
// numbered from 1 without a gap, each with the checksum of its bytes.
type reader struct {
	path   string
	lines  int   // read, the header too
	off    int64 // of what is not read
	events []line
	torn   int // bytes after the last line feed
}

// more reads what was written since the last time.
func (r *reader) more() error {
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(r.off, io.SeekStart); err != nil {
		return err
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	whole := raw[:bytes.LastIndexByte(raw, '\n')+1]
	r.off += int64(len(whole))
	r.torn = len(raw) - len(whole)
	table := crc32.MakeTable(crc32.Castagnoli)
	for len(whole) > 0 {
		var text []byte
		text, whole, _ = bytes.Cut(whole, []byte("\n"))
		if r.lines++; r.lines == 1 {
			if !bytes.HasPrefix(text, []byte(`{"format":1,`)) {
				return fmt.Errorf("%s begins with %.80q", r.path, text)
			}
			continue
		}
		const tail = `,"crc":"00000000"}`
		at := len(text) - len(tail)
		if at < 0 {
			return fmt.Errorf("line %d: %q", r.lines, text)
		}
		sum, err := strconv.ParseUint(string(text[at+len(`,"crc":"`):len(text)-2]), 16, 32)
		if err != nil || uint32(sum) != crc32.Checksum(text[:at], table) {
			return fmt.Errorf("line %d does not match its checksum: %.200q", r.lines, text)
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("line %d: %w", r.lines, err)
		}
		if l.Seq != uint64(len(r.events))+1 {
			return fmt.Errorf("line %d has the number %d", r.lines, l.Seq)
		}
		r.events = append(r.events, l)
	}
	return nil
}

// readLog reads a log's file whole. torn is how many bytes follow the last line
// feed.
func readLog(path string) (events []line, torn int, err error) {
	r := reader{path: path}
	err = r.more()
	return r.events, r.torn, err
}

// mustLog reads a log that is whole.
func mustLog(t testing.TB, path string) []line {
	t.Helper()
	events, torn, err := readLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if torn > 0 {
		t.Fatalf("%d bytes follow the last line of %s", torn, path)
	}
	return events
}

// joined returns the text of all deltas of the answer in a log.
func joined(events []line) string {
	var b strings.Builder
	for _, l := range events {
		if l.Type == "content.delta" {
			b.WriteString(l.text())
		}
	}
	return b.String()
}

// heard returns the text of all deltas of the answer that a client has had, of
// one session, "" for all.
func heard(events []wire.ActivityParams, session string) string {
	var b strings.Builder
	for _, e := range events {
		if e.Type == "content.delta" && (session == "" || e.Session == session) {
			b.WriteString(textOf(e.Data))
		}
	}
	return b.String()
}

// states returns where the runs of a log went, "RUN:STATE" each.
func states(events []line) (list []string) {
	for _, l := range events {
		if l.Type == "run.state" {
			var d struct {
				To string `json:"to"`
			}
			_ = json.Unmarshal(l.Data, &d) // readLog has seen that it is JSON
			list = append(list, l.Run+":"+d.To)
		}
	}
	return list
}

// check holds what a client has been told to what the log has: each event in it
// once, in order, with the same content; a merged one, which has the text of
// several, with the same text. It returns what is wrong.
func check(told []wire.ActivityParams, log []line) error {
	last := uint64(0)
	for _, e := range told {
		from := e.FromSeq
		if from == 0 {
			from = e.Seq
		}
		if last != 0 && from != last+1 {
			return fmt.Errorf("the client had %d–%d after %d", from, e.Seq, last)
		}
		last = e.Seq
		if e.Seq > uint64(len(log)) {
			return fmt.Errorf("the client had event %d (%s) of a log that ends with %d", e.Seq, e.Type, len(log))
		}
		if strings.HasSuffix(e.Type, ".delta") {
			var b strings.Builder
			for _, l := range log[from-1 : e.Seq] {
				if l.Type != e.Type || l.Run != e.Run {
					return fmt.Errorf("event %d is %s in the log, %s at the client", l.Seq, l.Type, e.Type)
				}
				b.WriteString(l.text())
			}
			if b.String() != textOf(e.Data) {
				return fmt.Errorf("events %d–%d are %q in the log, %q at the client", from, e.Seq, b.String(), textOf(e.Data))
			}
			continue
		}
		l := log[e.Seq-1]
		if from != e.Seq || l.Type != e.Type || l.Run != e.Run {
			return fmt.Errorf("event %d is %s of %s in the log, %d–%d %s of %s at the client", l.Seq, l.Type, l.Run, from, e.Seq, e.Type, e.Run)
		}
		if err := covers(e.Data, l.Data); err != nil {
			return fmt.Errorf("event %d (%s): %w", e.Seq, e.Type, err)
		}
	}
	return nil
}

// covers reports whether a has all members of b with the same bytes: what a
// client gets may have more of them (spec 3.2).
func covers(a, b []byte) error {
	var whole, part map[string]json.RawMessage
	if err := json.Unmarshal(a, &whole); err != nil {
		return err
	}
	if err := json.Unmarshal(b, &part); err != nil {
		return err
	}
	for name, value := range part {
		if !bytes.Equal(whole[name], value) {
			return fmt.Errorf("%s is %s in the log, %s at the client", name, value, whole[name])
		}
	}
	return nil
}
