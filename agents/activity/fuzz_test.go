package activity

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	f.Fuzz(func(t *testing.T, one, two []byte, sealed bool) {
		if sealed {
			// Past the checksum, so that what lies behind it is tried too.
			head := []byte(`{"format":1,"session":"s"}` + "\n")
			one = append(head, seal(slices.Clone(one), 0)...)
		}
		m := newMemFS()
		m.names["d/s.jsonl"] = &memData{now: slices.Clone(one)}
		if len(two) > 0 {
			m.names["d/s.2.jsonl"] = &memData{now: slices.Clone(two)}
		}
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
	})
}

// FuzzParse: what parse takes strictly is JSON, and can be sent.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"seq":1,"time":"2026-01-01T00:00:00.000Z","run":"r","type":"content.delta","data":{"text":"a"}`))
	f.Add([]byte(`{"seq":12,"fromSeq":3,"time":"t","type":"error","data":{"message":"m","where":1},"x":[{}]`))
	f.Add([]byte(`{"seq":1,"type":"tool.state","data":{"state":"success","result":{"content":"c"}},"agent":"a"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if e, ok := parse(body, true); ok {
			if whole := append(bytes.Clone(body), '}'); !json.Valid(whole) {
				t.Fatalf("taken, and not JSON: %s", whole)
			}
			if wire := e.Wire("s", nil); !json.Valid(wire) {
				t.Fatalf("sent, and not JSON: %s", wire)
			}
			if e.mergeable() {
				if got := Merge([]Entry{e, {Seq: e.Seq + 1, FromSeq: e.Seq + 1, Type: e.Type, rest: e.rest, meta: e.meta, data: e.data, dataEnd: e.dataEnd, text: e.text, textEnd: e.textEnd}}); len(got) != 1 || !json.Valid(got[0].Wire("s", nil)) {
					t.Fatalf("merged, and not JSON: %s", got[0].Wire("s", nil))
				}
			}
		}
	})
}
