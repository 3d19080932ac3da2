package activity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// maxSeq bounds what is believed of a sequence number: integers that every
// client can hold.
const maxSeq = 1 << 53

// maxFound is the largest number that a line in a file may claim by itself:
// whatever a damaged log claims, there is room for the events that follow it.
// Beyond it a line is believed that is at most maxLost after the one before it,
// as those are that follow, and the notes that take the place of lost ones.
const (
	maxFound = maxSeq / 2
	maxLost  = 1 << 32
)

// maxDepth bounds how deep a value of a line is nested. encoding/json reads
// 10,000 levels; what is left is for the line and the messages that it is sent
// in.
const maxDepth = 9_990

// Entry is an event as its line holds it: encoded once, when it was appended,
// and passed on as bytes. Entries are values; their bytes are shared and never
// change.
//
// The zero Entry is of no use. An Entry of a follower's batch shares the
// batch's bytes, which stay good for as long as somebody holds them; only the
// slice itself is reused.
type Entry struct {
	Seq     uint64 // of the event; the last one that it stands for
	FromSeq uint64 // the first one that it stands for: Seq unless it is merged, or covers others
	Type    string // as in [Body]
	Run     string // "" for the session's own

	rest []byte // the line's members from "time" on, without the checksum and the braces

	// Offsets in rest.
	meta           int // after the time and its comma; 0 where the time is not first
	data, dataEnd  int // the value of data
	text, textEnd  int // what is between the quotes of a delta's text, where mergeable
	agent, agentTo int // the value of agent, quotes included; equal where absent
}

// mergeable reports whether e is a delta in the form that this package writes:
// the text last in data, and data last in the line.
func (e *Entry) mergeable() bool { return e.text != 0 }

// parse reads the part of a line that its checksum covers. The result shares
// its bytes. A line is compact JSON (spec 3.1): one with blanks outside of its
// strings is none. strict asks for proof that the bytes are JSON, which a line
// that was checked once does not need again.
func parse(body []byte, strict bool) (Entry, bool) {
	const head = `{"seq":`
	var e Entry
	if len(body) < len(head) || string(body[:len(head)]) != head || (strict && !utf8.Valid(body)) {
		return e, false
	}
	var i int
	if e.Seq, i = number(body, len(head)); i == 0 {
		return e, false
	}
	e.FromSeq = e.Seq
	const from = `,"fromSeq":`
	if len(body) > i+len(from) && string(body[i:i+len(from)]) == from {
		if e.FromSeq, i = number(body, i+len(from)); i == 0 || e.FromSeq > e.Seq {
			return e, false
		}
	}
	if i+1 >= len(body) || body[i] != ',' {
		return e, false
	}
	e.rest = body[i+1:]
	return e, e.index(strict)
}

// number reads a sequence number; end is 0 where there is none.
func number(b []byte, i int) (n uint64, end int) {
	start := i
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		if n = n*10 + uint64(b[i]-'0'); n >= maxSeq {
			return 0, 0
		}
	}
	if i == start || b[start] == '0' {
		return 0, 0
	}
	return n, i
}

// index finds the members that others ask for.
// It reports false for a line that is not one of a log. strict is for lines
// that come from a file for the first time.
func (e *Entry) index(strict bool) bool {
	var seen [][]byte
	b := e.rest
	for i := 0; ; i++ {
		key, from, to, ok := member(b, i)
		if !ok || (strict && !validValue(b[from:to])) {
			return false
		}
		if strict {
			// A repeated member would be refused by who reads it (spec 2.2).
			if slices.ContainsFunc(seen, func(k []byte) bool { return string(k) == string(key) }) {
				return false
			}
			if seen = append(seen, key); len(seen) > 64 {
				return false
			}
		}
		switch string(key) {
		case "seq", "fromSeq", "session", "crc", "activity", "agentName", "isSubagentActivityEvent":
			if strict {
				return false // would be there twice on the wire
			}
		case "time":
			if i == 0 {
				e.meta = to + 1
			}
		case "run":
			e.Run = unquote(b[from:to])
		case "agent":
			e.agent, e.agentTo = from, to
		case "type":
			e.Type = typeName(b[from:to])
		case "data":
			if b[from] != '{' {
				return false
			}
			e.data, e.dataEnd = from, to
		}
		if to == len(b) {
			break
		}
		if b[to] != ',' {
			return false
		}
		i = to
	}
	if e.Type == "" || e.data == 0 {
		return false
	}
	if e.dataEnd == len(b) && e.meta != 0 {
		e.indexText()
	}
	return true
}

// indexText finds the text of a delta.
// It is found only as the last member of the event's data, where the encoder
// puts it.
func (e *Entry) indexText() {
	switch e.Type {
	case "content.delta", "thought.delta", "tool.delta":
	default:
		return
	}
	for i := e.data + 1; ; i++ {
		key, from, to, ok := member(e.rest, i)
		if !ok {
			return
		}
		if to == e.dataEnd-1 {
			if string(key) == "text" && e.rest[from] == '"' {
				e.text, e.textEnd = from+1, to-1
			}
			return
		}
		i = to
	}
}

// typeName returns the type that a quoted name stands for, without a copy where
// it is known.
func typeName(quoted []byte) string {
	if len(quoted) < 2 || quoted[0] != '"' {
		return ""
	}
	if name, ok := names[string(quoted[1:len(quoted)-1])]; ok {
		return name
	}
	return unquote(quoted)
}

// unquote returns the value of a JSON string; "" for anything else.
func unquote(quoted []byte) string {
	if len(quoted) < 2 || quoted[0] != '"' {
		return ""
	}
	if !slices.Contains(quoted, '\\') {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // not a string: ""
	return s
}

// time returns when the event happened; zero where the line does not say.
func (e Entry) time() time.Time {
	for i := 0; ; {
		key, from, to, ok := member(e.rest, i)
		if !ok {
			return time.Time{}
		}
		if string(key) == "time" {
			t, _ := time.Parse(time.RFC3339, unquote(e.rest[from:to])) // not a time: zero
			return t
		}
		i = to + 1
	}
}

// names has every known type's name under itself.
var names = func() map[string]string {
	m := make(map[string]string, len(bodies))
	for name := range bodies {
		m[name] = name
	}
	return m
}()

// Event decodes the entry. The error says which type's data does not fit.
// session is what the event says of itself, since lines do not have it. A type
// that this version does not know gives an [Unknown], which is no error.
func (e Entry) Event(session string) (Event, error) { return e.EventWith(session, nil) }

// EventWith is Event with data that mask has changed; nil changes nothing.
// mask gets a copy of the data, and must return JSON.
func (e Entry) EventWith(session string, mask func([]byte) []byte) (Event, error) {
	data := e.rest[e.data:e.dataEnd] // it is read once, by who knows its type
	line := make([]byte, 0, len(e.rest)-len(data)+len("{0}"))
	line = append(line, '{')
	line = append(line, e.rest[:e.data]...)
	line = append(line, '0')
	line = append(line, e.rest[e.dataEnd:]...)
	line = append(line, '}')
	var in struct {
		Time time.Time `json:"time"`
		Origin
		DurationMs int64 `json:"durationMs"`
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return Event{}, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	if mask != nil {
		data = mask(bytes.Clone(data))
	}
	body, err := Decode(e.Type, data)
	if err != nil {
		return Event{}, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return Event{Seq: e.Seq, Time: in.Time, Session: session, Origin: in.Origin, Body: body,
		DurationMs: in.DurationMs}, nil
}

// Wire appends the params of the agents/activity notification that tells of e
// (spec 2.4): the line with the session put in, fromSeq where e stands for more
// than one event, and the members that tools made for gemini-cli look for where
// it has a name for what happened (spec 3.2). A finished call's data gains
// output, an error's error and context.
//
// It appends to dst and returns it, and copies everything that it needs.
func (e Entry) Wire(session string, dst []byte) []byte {
	dst = append(dst, `{"session":`...)
	dst = appendString(dst, session)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, e.Seq, 10)
	if e.FromSeq < e.Seq {
		dst = append(dst, `,"fromSeq":`...)
		dst = strconv.AppendUint(dst, e.FromSeq, 10)
	}
	dst = append(dst, ',')
	name, extra := e.gemini()
	if extra == nil {
		dst = append(dst, e.rest...)
	} else {
		dst = append(dst, e.rest[:e.dataEnd-1]...)
		dst = append(dst, extra...)
		dst = append(dst, e.rest[e.dataEnd-1:]...)
	}
	if name != "" {
		dst = append(dst, `,"activity":"`...)
		dst = append(dst, name...)
		dst = append(dst, `","isSubagentActivityEvent":true`...)
		if e.agent < e.agentTo {
			dst = append(dst, `,"agentName":`...)
			dst = append(dst, e.rest[e.agent:e.agentTo]...)
		}
	}
	return append(dst, '}')
}

// gemini returns gemini-cli's name for what happened, "" where it has none, and
// the members that data gains, each after a comma.
func (e Entry) gemini() (name string, extra []byte) {
	data := e.rest[e.data:e.dataEnd]
	switch e.Type {
	case "thought.delta":
		return "THOUGHT_CHUNK", nil
	case "error":
		name = "ERROR"
		extra = gain(extra, data, "error", find(data, "message"))
		extra = gain(extra, data, "context", find(data, "where"))
	case "tool.state":
		switch state := CallState(unquote(find(data, "state"))); {
		case state == Executing:
			return "TOOL_CALL_START", nil
		case state.Terminal():
			name = "TOOL_CALL_END"
			output := find(find(data, "result"), "content")
			if output == nil {
				output = find(find(data, "error"), "message")
			}
			extra = gain(extra, data, "output", output)
		}
	}
	return name, extra
}

// gain appends a member that data does not have.
func gain(dst, data []byte, name string, value []byte) []byte {
	if value == nil || find(data, name) != nil {
		return dst
	}
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	return append(dst, value...)
}

// find returns the value of an object's member; nil where there is none. The
// object is written compactly.
func find(object []byte, name string) []byte {
	if len(object) < 2 || object[0] != '{' {
		return nil
	}
	for i := 1; ; i++ {
		key, from, to, ok := member(object, i)
		if !ok {
			return nil
		}
		if string(key) == name {
			return object[from:to]
		}
		i = to
	}
}
