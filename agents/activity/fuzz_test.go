package activity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentls/agentls/internal/fault"
)

// FuzzOpen gives Open any bytes. It must not panic, and what it makes of them
// must be a log: valid JSON, numbers without a gap, whole when opened again.
func FuzzOpen(f *testing.F) {
	m, lines := saved(f, 9)
	f.Add(m.names["d/s.jsonl"].now, []byte{}, false)
	f.Add(bytes.Join(lines[:4], nil), bytes.Join(lines[3:], nil), false)
	f.Add([]byte(`{"format":1,"session":"s"}`+"\n\n\n"), []byte("\x00\x00"), false)
	f.Add([]byte(`{"seq":1,"time":"x","type":"note","data":{}`), []byte{}, true)
	f.Add([]byte(`{"seq":9007199254740990,"fromSeq":3,"a":"\ud800","type":"tool.state","data":{"state":"success","result":{"content":""}}`), []byte{}, true)
	f.Add([]byte(`{"seq":1,"time":"t","type":"error","data":{"message": "a,b"}`), []byte{}, true)
	f.Add([]byte(`{"seq":1,"time":"t","type":"tool.state","data":{"state":"success","result":{"content": [1,2]}}`), []byte{}, true)
	f.Add([]byte(`{"seq":4503599627370496,"time":"t","type":"note","data":{}`), []byte{}, true)
	f.Add(sealedLog(`{"seq":1,"type":"note","data":{}`, `{"seq":10,"fromSeq":2,"type":"note","data":{}`), sealedLog(`{"seq":4,"type":"note","data":{}`), false)
	f.Add(sealedLog(`{"seq":1,"type":"note","data":{}`), sealedLog(`{"seq":9007199254740990,"type":"note","data":{}`), false)
	f.Fuzz(func(t *testing.T, one, two []byte, sealed bool) {
		if sealed {
			// Past the checksum, so that what lies behind it is tried too.
			one = sealedLog(string(one))
		}
		m := newMemFS()
		m.names["d/s.jsonl"] = &memData{now: slices.Clone(one)}
		if len(two) > 0 {
			m.names["d/s.2.jsonl"] = &memData{now: slices.Clone(two)}
		}
		checkOpen(t, m)
	})
}

// checkOpen checks what FuzzOpen promises of the files of a log.
func checkOpen(t tester, m *memFS) {
	t.Helper()
	cfg := memConfig(m)
	cfg.Fold = func(Event) {}
	l, _, err := Open(cfg)
	if err != nil {
		if reason, _ := fault.ReasonOf(err); reason != fault.Config {
			t.Fatal(err)
		}
		return
	}
	l.Append(Origin{Run: "r"}, ContentDelta{Text: "on"}, 0)
	entries, err := l.Read(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	checkStream(t, entries, 0)
	var before []string
	for _, e := range entries {
		before = append(before, string(e.Wire("s", nil)))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, found, err := Open(memConfig(m))
	if err != nil || found.Damaged() || found.Cut > 0 {
		t.Fatalf("opened again: %+v, %v", found, err)
	}
	entries, err = l.Read(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var after []string
	for _, e := range entries {
		after = append(after, string(e.Wire("s", nil)))
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Fatal(diff)
	}
}

// What FuzzOpen promises holds of segments whose lines match their checksums and
// claim any numbers.
func TestSegmentsOfAnyNumbersMakeALog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMemFS()
		m.names["d/s.jsonl"] = &memData{now: anySegment(t)}
		for n := range rapid.IntRange(0, 2).Draw(t, "more segments") {
			m.names[segmentPath("d/s.jsonl", n+2)] = &memData{now: anySegment(t)}
		}
		checkOpen(t, m)
	})
}

// anySegment draws a segment: most lines go on where the one before it ended,
// the others stand for events before or after it, or are damaged.
func anySegment(t *rapid.T) []byte {
	var lines []string
	next := rapid.Uint64Range(1, 4).Draw(t, "first")
	for range rapid.IntRange(0, 5).Draw(t, "lines") {
		from := rapid.OneOf(rapid.Just(next), rapid.Just(next), rapid.Uint64Range(1, 8),
			rapid.SampledFrom([]uint64{maxFound, maxFound + 1, maxFound + maxLost + 1, maxSeq - 1})).Draw(t, "from")
		to := min(from+rapid.SampledFrom([]uint64{0, 0, 0, 1, 5, maxFound}).Draw(t, "and more"), maxSeq-1)
		line := fmt.Sprintf(`{"seq":%d`, to)
		if from < to {
			line += fmt.Sprintf(`,"fromSeq":%d`, from)
		}
		lines, next = append(lines, line+`,"time":"t","type":"note","data":{}`), min(to+1, maxSeq-1)
	}
	data := sealedLog(lines...)
	if len(lines) > 0 && rapid.IntRange(0, 3).Draw(t, "damage") == 0 {
		data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= 1
	}
	return data[:len(data)-rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(t, "torn")]
}

// sealedLog returns a segment of the lines, each with its checksum.
func sealedLog(lines ...string) []byte {
	out := []byte(`{"format":1,"session":"s"}` + "\n")
	for _, line := range lines {
		out = append(out, seal([]byte(line), 0)...)
	}
	return out
}

// nested returns arrays in arrays.
func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// FuzzParse: what parse takes strictly is JSON, and can be sent.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"seq":1,"time":"2026-01-01T00:00:00.000Z","run":"r","type":"content.delta","data":{"text":"a"}`))
	f.Add([]byte(`{"seq":12,"fromSeq":3,"time":"t","type":"error","data":{"message":"m","where":1},"x":[{}]`))
	f.Add([]byte(`{"seq":1,"type":"tool.state","data":{"state":"success","result":{"content":"c"}},"agent":"a"`))
	for _, data := range []string{`{"message": "a,b"}`, `{"message": {"a":1}}`, `{"message" :"m"}`, `{"message":"m" }`, `{"message":1 ,"where":2}`, "{\t\"message\":\"m\"}"} {
		f.Add([]byte(`{"seq":1,"time":"t","type":"error","data":` + data))
	}
	f.Add([]byte(`{"seq":1,"time":"t","type":"tool.state","data":{"state":"success","result":{"content": [1,2]}}`))
	f.Add([]byte(`{"seq":1,"time":"t","agent": "a","type":"note","data":{}`))
	f.Fuzz(func(t *testing.T, body []byte) { checkParse(t, body) })
}

// checkParse checks what FuzzParse promises of one line, and reports whether
// parse takes it.
func checkParse(t tester, body []byte) bool {
	t.Helper()
	e, ok := parse(body, true)
	if !ok {
		return false
	}
	if whole := append(bytes.Clone(body), '}'); !json.Valid(whole) {
		t.Fatalf("taken, and not JSON: %s", whole)
	}
	if wire := e.Wire("s", nil); !json.Valid(wire) {
		t.Fatalf("sent, and not JSON: %s", wire)
	}
	if e.mergeable() {
		want := 1
		if e.textEnd-e.text >= maxMerged {
			want = 2
		}
		got := Merge([]Entry{e, {Seq: e.Seq + 1, FromSeq: e.Seq + 1, Type: e.Type, rest: e.rest, meta: e.meta, data: e.data, dataEnd: e.dataEnd, text: e.text, textEnd: e.textEnd}})
		if len(got) != want {
			t.Fatalf("merged into %d, want %d: %s", len(got), want, body)
		}
		for _, e := range got {
			if wire := e.Wire("s", nil); !json.Valid(wire) {
				t.Fatalf("merged, and not JSON: %s", wire)
			}
		}
	}
	return true
}

// What FuzzParse promises holds of lines that are too long to be its seeds: long
// texts, and values that are nested deep, wherever they are.
func TestParseOfLongLines(t *testing.T) {
	for _, n := range []int{maxMerged - 1, maxMerged, maxMerged + 1} {
		if !checkParse(t, []byte(`{"seq":1,"time":"t","type":"content.delta","data":{"text":"`+strings.Repeat("a", n)+`"}`)) {
			t.Errorf("a text of %d bytes is not taken", n)
		}
	}
	for depth := maxDepth - 2; depth < 10_002; depth++ {
		for _, c := range []struct {
			line string
			own  int // levels of the value that is around what is nested
		}{
			{`{"seq":1,"time":"t","type":"note","data":{},"x":` + nested(depth), 0},
			{`{"seq":1,"time":"t","type":"error","data":{"message":` + nested(depth) + `}`, 1},
			{`{"seq":1,"time":"t","type":"tool.state","data":{"state":"success","result":{"content":` + nested(depth) + `}}`, 2},
		} {
			if got, want := checkParse(t, []byte(c.line)), depth+c.own <= maxDepth; got != want {
				t.Errorf("%d and %d levels: taken %v, want %v", depth, c.own, got, want)
			}
		}
	}
}
