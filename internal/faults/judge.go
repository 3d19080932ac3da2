package faults

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strconv"
	"strings"
)

// Line is one event, as a log's file has it or a client was told it.
type Line struct {
	Seq     uint64          `json:"seq"`
	FromSeq uint64          `json:"fromSeq"` // of a merged one; 0 = Seq
	Type    string          `json:"type"`
	Run     string          `json:"run"`
	Data    json.RawMessage `json:"data"`
}

// Text returns the member text of the data; "" where there is none.
func (l Line) Text() string {
	var d struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(l.Data, &d) // without text: ""
	return d.Text
}

// LogReader reads a log's file by the rules of spec 3.1, and without the code
// that wrote it: a header, then events numbered from 1 without a gap, each with
// the checksum of its bytes. It knows one segment.
type LogReader struct {
	Path   string
	Events []Line // read so far
	Torn   int    // bytes after the last line feed

	lines int   // read, the header too
	off   int64 // of what is not read
}

// More reads what was written since the last time; a file that is not there yet
// is empty. The error says what is wrong with the log.
func (r *LogReader) More() error {
	f, err := os.Open(r.Path)
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
	r.Torn = len(raw) - len(whole)
	for len(whole) > 0 {
		var text []byte
		text, whole, _ = bytes.Cut(whole, []byte("\n"))
		if r.lines++; r.lines == 1 {
			if !bytes.HasPrefix(text, []byte(`{"format":1,`)) {
				return fmt.Errorf("%s begins with %.80q", r.Path, text)
			}
			continue
		}
		l, err := readLine(text)
		if err != nil {
			return fmt.Errorf("line %d %w", r.lines, err)
		}
		from := l.FromSeq
		if from == 0 {
			from = l.Seq
		}
		if from != uint64(len(r.Events))+1 || l.Seq < from {
			return fmt.Errorf("line %d has the number %d", r.lines, from)
		}
		for range l.Seq - from + 1 {
			r.Events = append(r.Events, l) // one that stands for several has the places of all
		}
	}
	return nil
}

// readLine reads one line of a log and holds it to its checksum.
func readLine(text []byte) (Line, error) {
	const tail = `,"crc":"00000000"}`
	at := len(text) - len(tail)
	if at < 0 {
		return Line{}, fmt.Errorf("is %q", text)
	}
	sum, err := strconv.ParseUint(string(text[at+len(`,"crc":"`):len(text)-2]), 16, 32)
	if err != nil || uint32(sum) != crc32.Checksum(text[:at], crc32.MakeTable(crc32.Castagnoli)) {
		return Line{}, fmt.Errorf("does not match its checksum: %.200q", text)
	}
	var l Line
	if err := json.Unmarshal(text, &l); err != nil {
		return Line{}, fmt.Errorf("is no event: %w", err)
	}
	return l, nil
}

// ReadLog reads a log's file whole. torn is how many bytes follow the last line
// feed.
func ReadLog(path string) (events []Line, torn int, err error) {
	r := LogReader{Path: path}
	err = r.More()
	return r.Events, r.Torn, err
}

// Missing holds what a client was told of one session, in the order in which it
// was, to what the log has: each event in it once, in order, with the same
// content; a merged one, which has the text of several, with the same text; a
// result that lies in a blob with the text whose digest the log has. The
// error is the first that is wrong. What the client was told may begin anywhere,
// and the log may have more.
func Missing(told, log []Line) error {
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
				b.WriteString(l.Text())
			}
			if b.String() != e.Text() {
				return fmt.Errorf("events %d–%d are %q in the log, %q at the client", from, e.Seq, b.String(), e.Text())
			}
			continue
		}
		l := log[e.Seq-1]
		if from != e.Seq || l.Type != e.Type || l.Run != e.Run {
			return fmt.Errorf("event %d is %s of %s in the log, %d–%d %s of %s at the client", l.Seq, l.Type, l.Run,
				from, e.Seq, e.Type, e.Run)
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
		if bytes.Equal(whole[name], value) {
			continue
		}
		if name == "result" && kept(whole[name], value) {
			continue
		}
		return fmt.Errorf("%s is %s in the log, %s at the client", name, value, whole[name])
	}
	return nil
}

// kept reports whether a result that lies in a blob of the log's is the one that
// the client was told whole.
func kept(told, log []byte) bool {
	var whole, part map[string]any
	if json.Unmarshal(told, &whole) != nil || json.Unmarshal(log, &part) != nil {
		return false
	}
	content, _ := whole["content"].(string)
	sum := sha256.Sum256([]byte(content))
	if part["blob"] != hex.EncodeToString(sum[:]) {
		return false
	}
	delete(whole, "content")
	delete(part, "content")
	return reflect.DeepEqual(whole, part)
}
