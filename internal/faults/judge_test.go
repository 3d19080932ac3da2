package faults_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/faults"
)

// recorded returns the file of a log with four events of one run.
func recorded(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	l, _, err := activity.Open(activity.Config{Path: path, Session: "s", Now: clock})
	does(t, err)
	o := activity.Origin{Run: "r"}
	l.Append(o, activity.RunStarted{Mode: "chat"}, 0)
	l.Append(o, activity.ContentDelta{Text: "one "}, 0)
	l.Append(o, activity.ContentDelta{Text: "two"}, 0)
	l.Append(o, activity.RunFinished{Reason: activity.Goal, Text: "one two"}, 0)
	does(t, l.Close())
	return path
}

func TestALogIsReadAsItGrows(t *testing.T) {
	whole, err := os.ReadFile(recorded(t))
	does(t, err)
	path := filepath.Join(t.TempDir(), "grows.jsonl")
	r := faults.LogReader{Path: path}
	does(t, r.More()) // it is not there yet
	for at := range len(whole) {
		does(t, os.WriteFile(path, whole[:at+1], 0o600), r.More())
		lines := strings.Count(string(whole[:at+1]), "\n")
		if want := max(lines-1, 0); len(r.Events) != want || r.Torn != at+1-strings.LastIndexByte(string(whole[:at+1]), '\n')-1 {
			t.Fatalf("of %d bytes: %d events and %d torn", at+1, len(r.Events), r.Torn)
		}
	}
}

func TestADamagedLogIsNoLog(t *testing.T) {
	whole, err := os.ReadFile(recorded(t))
	does(t, err)
	lines := strings.SplitAfter(string(whole), "\n")
	for name, text := range map[string]string{
		"a flipped bit":    strings.Replace(string(whole), "two", "twp", 1),
		"a line is lost":   lines[0] + lines[1] + lines[3] + lines[4],
		"a line is double": lines[0] + lines[1] + lines[1] + lines[2],
		"no header":        lines[1] + lines[2],
		"a short line":     lines[0] + "{}\n",
	} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		does(t, os.WriteFile(path, []byte(text), 0o600))
		if _, _, err := faults.ReadLog(path); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

func TestWhatAClientWasToldMustBeInTheLog(t *testing.T) {
	log, torn, err := faults.ReadLog(recorded(t))
	does(t, err)
	if len(log) != 4 || torn != 0 {
		t.Fatalf("%d events, %d torn", len(log), torn)
	}
	merged := faults.Line{FromSeq: 2, Seq: 3, Type: "content.delta", Run: "r", Data: json.RawMessage(`{"text":"one two"}`)}
	with := func(l faults.Line, change func(*faults.Line)) faults.Line {
		change(&l)
		return l
	}
	for name, c := range map[string]struct {
		told []faults.Line
		ok   bool
	}{
		"all":                   {log, true},
		"nothing":               {nil, true},
		"the beginning":         {log[:2], true},
		"the end":               {log[2:], true},
		"merged":                {[]faults.Line{log[0], merged, log[3]}, true},
		"more members":          {[]faults.Line{with(log[0], func(l *faults.Line) { l.Data = append(l.Data[:len(l.Data)-1:len(l.Data)-1], `,"more":1}`...) })}, true},
		"an event too many":     {append(log[:4:4], faults.Line{Seq: 5, Type: "note", Data: json.RawMessage("{}")}), false},
		"twice":                 {[]faults.Line{log[0], log[0]}, false},
		"a gap":                 {[]faults.Line{log[0], log[2]}, false},
		"another type":          {[]faults.Line{with(log[0], func(l *faults.Line) { l.Type = "run.state" })}, false},
		"another run":           {[]faults.Line{with(log[1], func(l *faults.Line) { l.Run = "q" })}, false},
		"another text":          {[]faults.Line{with(log[1], func(l *faults.Line) { l.Data = json.RawMessage(`{"text":"uno "}`) })}, false},
		"merged with too much":  {[]faults.Line{with(merged, func(l *faults.Line) { l.FromSeq = 1 })}, false},
		"merged with less text": {[]faults.Line{with(merged, func(l *faults.Line) { l.Data = json.RawMessage(`{"text":"one"}`) })}, false},
		"other bytes":           {[]faults.Line{with(log[3], func(l *faults.Line) { l.Data = json.RawMessage(`{"reason":"ABORTED"}`) })}, false},
	} {
		if err := faults.Missing(c.told, log); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAResultInABlobIsKnownByItsDigest(t *testing.T) {
	line := func(data string) []faults.Line {
		return []faults.Line{{Seq: 1, Type: "tool.state", Data: json.RawMessage(data)}}
	}
	log := line(fmt.Sprintf(`{"result":{"content":"","blob":"%x","bytes":4}}`, sha256.Sum256([]byte("long"))))
	for told, ok := range map[string]bool{
		`{"result":{"content":"long","blob":"%x","bytes":4}}`: true,
		`{"result":{"content":"lost","blob":"%x","bytes":4}}`: false,
		`{"result":{"content":"","blob":"%x","bytes":5}}`:     false,
		`{"result":{"content":"","blob":"%x","bytes":4}}`:     true, // told as the log has it
	} {
		told = fmt.Sprintf(told, sha256.Sum256([]byte("long")))
		if err := faults.Missing(line(told), log); (err == nil) != ok {
			t.Errorf("%s: %v", told, err)
		}
	}
}
