package spine_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/internal/faults"
	"github.com/agentls/agentls/internal/wire"
)

// line is one event as the log's file has it. It is read without the code that
// wrote it.
type line = faults.Line

// logPath returns where the log of a session lies.
func logPath(home, dir, id string) string {
	return filepath.Join(home, "agentls", "sessions", session.Key(dir), id+".jsonl")
}

// mustLog reads a log that is whole.
func mustLog(t testing.TB, path string) []line {
	t.Helper()
	events, torn, err := faults.ReadLog(path)
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
			b.WriteString(l.Text())
		}
	}
	return b.String()
}

// lineOf is an event as a client was told it.
func lineOf(a wire.ActivityParams) line {
	return line{Seq: a.Seq, FromSeq: a.FromSeq, Type: a.Type, Run: a.Run, Data: a.Data}
}

// heard returns the text of all deltas of the answer that a client has had, of
// one session, "" for all.
func heard(events []wire.ActivityParams, session string) string {
	var of []line
	for _, e := range events {
		if session == "" || e.Session == session {
			of = append(of, lineOf(e))
		}
	}
	return joined(of)
}

// states returns where the runs of a log went, "RUN:STATE" each.
func states(events []line) (list []string) {
	for _, l := range events {
		if l.Type == "run.state" {
			var d struct {
				To string `json:"to"`
			}
			_ = json.Unmarshal(l.Data, &d) // it was read as JSON
			list = append(list, l.Run+":"+d.To)
		}
	}
	return list
}

// check holds what a client has been told of a session to what the log has; see
// [faults.Missing].
func check(told []wire.ActivityParams, log []line) error {
	var lines []line
	for _, e := range told {
		lines = append(lines, lineOf(e))
	}
	return faults.Missing(lines, log)
}
