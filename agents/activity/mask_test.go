package activity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/agents/model"
)

// masking replaces a value, as a person's settings would have it.
func masking(value string) func([]byte) []byte {
	return func(data []byte) []byte {
		return bytes.ReplaceAll(data, []byte(value), []byte("[masked:KEY]"))
	}
}

// What must not be recorded is in no line and in nobody's hands, and the live
// event is the one that is read again; what a model said stays as it was (spec
// 7.2).
func TestMaskedBeforeAnybodyHears(t *testing.T) {
	const key = "12345678"
	raw := json.RawMessage(`{"signature":"` + key + `"}`)
	bodies := []Body{
		RunStarted{Input: []ContentBlock{{Type: "text", Text: "use " + key}}},
		ContentDelta{Text: "it is " + key},
		ThoughtDelta{Subject: key, Text: key},
		ToolDelta{Call: "c", Text: key + "\n"},
		ToolState{Call: "c", Name: "bash", Args: json.RawMessage(`{"command":"curl ` + key + `","pin":12345678}`), State: Executing},
		ModelFinished{Model: "m", Usage: model.Usage{InputTokens: 12345678}}, // a number is none
		ModelContent{Content: []model.Part{{Text: key}}, Raw: raw},
		Unknown{Name: "later", Data: json.RawMessage(`{"x":["` + key + `"]}`)},
		Note{Level: "info", Message: "nothing"},
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	var live, again []Event
	cfg := Config{Path: path, Session: "s", Now: clock, Mask: masking(key), Fold: func(e Event) { live = append(live, e) }}
	l, _ := must(t, cfg)
	for _, b := range bodies {
		l.Append(Origin{Run: "r"}, b, 0)
	}
	if err := l.Commit(t.Context(), l.Last()); err != nil {
		t.Fatal(err)
	}
	told := wires(t, l)
	if len(told) != len(bodies) {
		t.Fatalf("%d events", len(told))
	}
	for i, line := range told {
		quoted := strings.Count(line, key) - strings.Count(line, ":"+key)
		switch _, said := bodies[i].(ModelContent); {
		case said && quoted != 2:
			t.Errorf("what the model said is changed: %s", line)
		case !said && quoted != 0:
			t.Errorf("told: %s", line)
		}
	}
	if !strings.Contains(told[1], `"text":"it is [masked:KEY]"`) || !strings.Contains(told[5], `"inputTokens":12345678`) || !strings.Contains(told[4], `"pin":12345678`) {
		t.Errorf("told %s", told)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Fold = func(e Event) { again = append(again, e) }
	l, _ = must(t, cfg)
	if diff := cmp.Diff(again, live); diff != "" {
		t.Errorf("live is not what is read again: %s", diff)
	}
	if diff := cmp.Diff(told, wires(t, l)); diff != "" {
		t.Error(diff)
	}
	l.Close()
}

// A mask that breaks what it is given costs no event its end, and nothing gets
// past it.
func TestMaskThatBreaksItsData(t *testing.T) {
	var live []Event
	l, _ := must(t, Config{Session: "s", Now: clock, Fold: func(e Event) { live = append(live, e) }, Mask: func(data []byte) []byte {
		if bytes.Contains(data, []byte("secret")) {
			return []byte("{")
		}
		return data
	}})
	l.Append(Origin{Run: "r"}, Note{Level: "info", Message: "a secret"}, 0)
	l.Append(Origin{Run: "r"}, RunState{From: Running, To: Waiting, Why: "secret"}, 0)
	want := []Body{Note{Level: "info"}, RunState{From: Running, To: Waiting}}
	for i, e := range live {
		if diff := cmp.Diff(want[i], e.Body); diff != "" {
			t.Error(diff)
		}
	}
	if told := fmt.Sprint(wires(t, l)); strings.Contains(told, "secret") || len(live) != 2 {
		t.Errorf("%d events: %s", len(live), told)
	}
}

// BenchmarkMask is Append with a mask that looks for three values and finds none,
// and without one.
func BenchmarkMask(b *testing.B) {
	values := [][]byte{[]byte("AKIAIOSFODNN7EXAMPLE"), []byte("ghp_0123456789abcdefghij"), []byte("sk-0123456789abcdef")}
	mask := func(data []byte) []byte {
		for _, v := range values {
			if bytes.Contains(data, v) {
				return bytes.ReplaceAll(data, v, []byte("[masked]"))
			}
		}
		return data
	}
	for _, body := range []Body{
		ContentDelta{Text: "a dozen or so characters "},
		ToolState{Call: "r#1-0", Name: "read_file", Args: []byte(`{"file_path":"a.go"}`), State: Success, Risk: "safe", Result: &ToolResult{Content: strings.Repeat("package main\n", 100)}},
	} {
		for _, masked := range []bool{false, true} {
			b.Run(fmt.Sprint(body.Type(), "/", masked), func(b *testing.B) {
				cfg := Config{Session: "s", Now: time.Now}
				if masked {
					cfg.Mask = mask
				}
				l, _, err := Open(cfg)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					l.Append(Origin{Run: "r", Agent: "a"}, body, 0)
				}
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
