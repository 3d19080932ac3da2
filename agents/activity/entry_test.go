package activity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lineJSON is what encoding/json writes for an event's line, without checksum.
func lineJSON(t tester, seq uint64, o Origin, b Body, ms int64) string {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(struct {
		Seq  uint64 `json:"seq"`
		Time string `json:"time"`
		Origin
		Type       string `json:"type"`
		Data       Body   `json:"data"`
		DurationMs int64  `json:"durationMs,omitempty"`
	}{seq, clock().Format(timeLayout), o, b.Type(), b, ms}); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

// The hand-written encoder writes what encoding/json writes, byte for byte, and
// the parser reads it back.
func TestEncoderEqualsEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a<>&\"\\\n\r\t\b\f\x00\x1f\x7f\u2028\u2029é😀\ufffd"))),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		o := Origin{Run: text.Draw(t, "run"), ParentRun: text.Draw(t, "parent"), Turn: rapid.IntRange(0, 9).Draw(t, "turn"),
			Agent: text.Draw(t, "agent"), CorrelationID: text.Draw(t, "correlation")}
		b := rapid.SampledFrom([]Body{
			ContentDelta{text.Draw(t, "text")}, ThoughtDelta{text.Draw(t, "subject"), text.Draw(t, "text")},
			ToolDelta{text.Draw(t, "call"), text.Draw(t, "text")}, Note{Level: "info", Message: text.Draw(t, "message")},
		}).Draw(t, "body")
		seq, ms := rapid.Uint64Range(1, maxFound).Draw(t, "seq"), rapid.Int64Range(0, math.MaxInt64).Draw(t, "ms")
		var data []byte
		if !isDelta(b) {
			var err error
			if data, err = encodeBody(b); err != nil {
				t.Fatal(err)
			}
		}
		var enc encoder
		line := enc.line(nil, seq, clock(), o, b, data, ms)
		body, ok := unseal(bytes.TrimSuffix(line, []byte("\n")))
		if !ok {
			t.Fatalf("the checksum of %s does not match", line)
		}
		if got, want := string(body)+"}", lineJSON(t, seq, o, b, ms); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		e, ok := parse(body, true)
		if !ok || e.Seq != seq || e.FromSeq != seq || e.Type != b.Type() {
			t.Fatalf("%s is read back as %+v, %v", body, e, ok)
		}
		if e.mergeable() != (isDelta(b) && ms == 0) {
			t.Fatalf("%s: mergeable %v", body, e.mergeable())
		}
		event, err := e.Event("s")
		if err != nil || event.DurationMs != ms || !event.Time.Equal(clock()) {
			t.Fatalf("%s is decoded as %+v, %v", body, event, err)
		}
	})
}

// tester is the part of testing.TB that helpers here use, which rapid's T has.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// Every body can be written and read back, and has a name on the wire for each
// of its fields.
func TestEveryBodyComesBack(t *testing.T) {
	for name, read := range bodies {
		got, err := read([]byte(`{}`))
		if err != nil || got.Type() != name {
			t.Errorf("%s reads back as %T, %v", name, got, err)
		}
		for f := range reflect.TypeOf(got).Fields() {
			if f.Tag.Get("json") == "" && !f.Anonymous {
				t.Errorf("%s.%s has no name on the wire", name, f.Name)
			}
		}
		if b, err := encodeBody(got); err != nil || b[0] != '{' {
			t.Errorf("%s is written as %s, %v", name, b, err)
		}
	}
}

// A body that cannot be encoded leaves an event that says so, and no gap.
func TestBodyThatCannotBeEncoded(t *testing.T) {
	l, _ := must(t, Config{Session: "s", Now: clock})
	defer l.Close()
	l.Append(Origin{Run: "r"}, ToolState{Call: "c", Args: json.RawMessage(`{"a":`)}, 0)
	l.Append(Origin{Run: "r"}, ModelContent{Raw: json.RawMessage("\"\xff\"")}, 0)
	got := wires(t, l)
	if len(got) != 2 || !strings.Contains(got[0], `"type":"error"`) || !strings.Contains(got[1], "\uFFFD") {
		t.Errorf("got %s", got)
	}
}

// Nothing is written that would not be read back: a body that is nested too deep
// leaves an event that says so, and one that is not comes back.
func TestBodyThatIsNestedTooDeep(t *testing.T) {
	for _, c := range []struct {
		depth int
		want  string
	}{{maxDepth - 1, "tool.state"}, {maxDepth, "error"}, {10_000, "error"}} {
		m := newMemFS()
		l, _ := must(t, memConfig(m))
		l.Append(Origin{Run: "r"}, ToolState{Call: "c", Args: json.RawMessage(nested(c.depth))}, 0)
		want := wires(t, l)
		if len(want) != 1 || !strings.Contains(want[0], `"type":"`+c.want+`"`) {
			t.Errorf("%d levels: got %.200s", c.depth, want)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l, found := must(t, memConfig(m))
		if diff := cmp.Diff(want, wires(t, l)); diff != "" || found.Damaged() {
			t.Errorf("%d levels: %+v\n%.400s", c.depth, found, diff)
		}
		l.Close()
	}
}

// A line with blanks outside of its strings is none, wherever they are: what a
// line says is found without looking for them.
func TestLinesAreCompact(t *testing.T) {
	const line = `{"seq":1,"time":"t","agent":"a b","type":"error","data":{"message":"a, b","where":[1,{"c":null}]}`
	if _, ok := parse([]byte(line), true); !ok {
		t.Fatal("not taken without blanks")
	}
	quoted := false
	for i := range line {
		if line[i] == '"' {
			quoted = !quoted
		}
		if quoted {
			continue
		}
		for _, blank := range []string{" ", "\t", "\r", "\n"} {
			spaced := line[:i+1] + blank + line[i+1:]
			for _, strict := range []bool{true, false} {
				if e, ok := parse([]byte(spaced), strict); ok {
					t.Errorf("strict %v: taken: %q, sent as %s", strict, spaced, e.Wire("s", nil))
				}
			}
		}
	}
}

// What a client is sent: the session put in, and gemini-cli's members where it
// has a name for the event (spec 2.4, 3.2).
func TestWire(t *testing.T) {
	state := func(s CallState, result *ToolResult, failed *ToolError) ToolState {
		return ToolState{Call: "r#1-0", Name: "ls", Args: json.RawMessage(`{"p":"<a>"}`), State: s, Risk: "safe", Result: result, Error: failed}
	}
	const call = `"call":"r#1-0","name":"ls","args":{"p":"<a>"},`
	gem := func(name string) string {
		return `,"activity":"` + name + `","isSubagentActivityEvent":true,"agentName":"bug \"b\""`
	}
	for _, c := range []struct {
		body Body
		data string
		more string
	}{
		{Note{Level: "info", Message: "hi"}, `{"level":"info","message":"hi"}`, ""},
		{state(Scheduled, nil, nil), `{` + call + `"state":"scheduled","risk":"safe"}`, ""},
		{state(Executing, nil, nil), `{` + call + `"state":"executing","risk":"safe"}`, gem("TOOL_CALL_START")},
		{state(Success, &ToolResult{Content: "a\n", Bytes: 2}, nil), `{` + call + `"state":"success","risk":"safe","result":{"content":"a\n","bytes":2},"output":"a\n"}`, gem("TOOL_CALL_END")},
		{state(Failed, nil, &ToolError{"tool.stale", "read it again"}), `{` + call + `"state":"error","risk":"safe","error":{"code":"tool.stale","message":"read it again"},"output":"read it again"}`, gem("TOOL_CALL_END")},
		{ThoughtDelta{"S", "hm"}, `{"subject":"S","text":"hm"}`, gem("THOUGHT_CHUNK")},
		{ErrorSeen{"provider", "no", "model"}, `{"code":"provider","message":"no","where":"model","error":"no","context":"model"}`, gem("ERROR")},
	} {
		l, _ := must(t, Config{Session: "s", Now: clock})
		l.Append(Origin{Run: "r", ParentRun: "p", Turn: 2, Agent: `bug "b"`, CorrelationID: "c"}, c.body, 0)
		got := wires(t, l)[0]
		want := `{"session":"s","seq":1,"time":"2026-11-20T12:00:00.123Z","run":"r","parentRun":"p","turn":2,"agent":"bug \"b\"","correlationId":"c","type":"` +
			c.body.Type() + `","data":` + c.data + c.more + `}`
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		l.Close()
	}
}

// checkStream checks that entries join without a gap after a number, and that
// each can be sent.
func checkStream(t tester, entries []Entry, after uint64) uint64 {
	t.Helper()
	for _, e := range entries {
		if e.FromSeq != after+1 || e.Seq < e.FromSeq {
			t.Fatalf("%d–%d follows %d", e.FromSeq, e.Seq, after)
		}
		after = e.Seq
		if wire := e.Wire("s", nil); !json.Valid(wire) {
			t.Fatalf("not JSON: %s", wire)
		}
	}
	return after
}

// Merging and filtering leave the ranges without a gap and the texts whole,
// however a stream is cut into batches; nothing but deltas is merged.
func TestMergedAndFilteredRangesJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, _ := must(t, Config{Session: "s", Now: clock})
		defer l.Close()
		texts := map[string]string{}
		n := rapid.IntRange(1, 60).Draw(t, "events")
		optOut := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"thought.delta", "tool.delta", "note", "turn.started", "run.finished", "none"}), rapid.ID).Draw(t, "optOut")
		kept, others := 0, map[uint64]bool{}
		for i := range n {
			o := Origin{Run: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "run"), Turn: rapid.IntRange(1, 2).Draw(t, "turn")}
			text := rapid.SampledFrom([]string{"x", "\"", "\\", "\u2028", "é", ""}).Draw(t, "text")
			var b Body
			key := o.Run
			switch rapid.IntRange(0, 5).Draw(t, "type") {
			case 0, 1:
				b, key = ContentDelta{text}, fmt.Sprint(key, o.Turn, "content")
			case 2:
				subject := rapid.SampledFrom([]string{"", "S"}).Draw(t, "subject")
				b, key = ThoughtDelta{subject, text}, fmt.Sprint(key, o.Turn, "thought", subject)
			case 3:
				call := rapid.SampledFrom([]string{"1", "2"}).Draw(t, "call")
				b, key = ToolDelta{call, text}, fmt.Sprint(key, o.Turn, "tool", call)
			case 4:
				b = Note{Level: "info", Message: text}
			default:
				b = TurnStarted{o.Turn}
			}
			out := false
			for _, name := range optOut {
				out = out || name == b.Type()
			}
			if !isDelta(b) && !out {
				others[uint64(i+1)] = true
				kept++
			}
			if !out && isDelta(b) {
				texts[key] += text
			}
			l.Append(o, b, 0)
		}
		l.Append(Origin{Run: "a"}, RunFinished{Reason: Goal}, 0)
		all, err := l.Read(0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		filter := NewFilter(optOut)
		after := uint64(0)
		got := map[string]string{}
		for len(all) > 0 {
			size := rapid.IntRange(1, len(all)).Draw(t, "batch")
			batch := Merge(filter.Apply(append([]Entry(nil), all[:size]...)))
			all = all[size:]
			after = checkStream(t, batch, after)
			for _, e := range batch {
				event, err := e.Event("s")
				if err != nil {
					t.Fatal(err)
				}
				turn := event.Turn
				switch b := event.Body.(type) {
				case ContentDelta:
					got[fmt.Sprint(event.Run, turn, "content")] += b.Text
				case ThoughtDelta:
					got[fmt.Sprint(event.Run, turn, "thought", b.Subject)] += b.Text
				case ToolDelta:
					got[fmt.Sprint(event.Run, turn, "tool", b.Call)] += b.Text
				case RunFinished:
				default:
					if !others[e.Seq] {
						t.Fatalf("%s was opted out of, or is there twice", e.Type)
					}
					delete(others, e.Seq)
				}
			}
		}
		if after != uint64(n+1) || len(others) > 0 {
			t.Fatalf("covered up to %d of %d; missing %v of %d", after, n+1, others, kept)
		}
		if diff := cmp.Diff(texts, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A merged message is the last one's line with all the text, and fromSeq.
func TestMergedMessage(t *testing.T) {
	l, _ := must(t, Config{Session: "s", Now: clock})
	defer l.Close()
	for _, text := range []string{"a", "\"b\"", "c\n"} {
		l.Append(Origin{Run: "r"}, ContentDelta{text}, 0)
	}
	l.Append(Origin{Run: "r"}, ContentDelta{"other"}, time.Second)
	entries, _ := l.Read(0, 10)
	got := Merge(entries)
	want := `{"session":"s","seq":3,"fromSeq":1,"time":"2026-11-20T12:00:00.123Z","run":"r","type":"content.delta","data":{"text":"a\"b\"c\n"}}`
	if len(got) != 2 || string(got[0].Wire("s", nil)) != want {
		t.Errorf("got %d: %s", len(got), got[0].Wire("s", nil))
	}
	// A merged entry merges again.
	l.Append(Origin{Run: "r"}, ContentDelta{"d"}, 0)
	more, _ := l.Read(4, 10)
	got[0].Seq = 4
	if again := Merge([]Entry{got[0], more[0]}); len(again) != 1 || again[0].FromSeq != 1 || again[0].Seq != 5 {
		t.Errorf("merged again: %+v", again)
	}
}
