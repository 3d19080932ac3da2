package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
)

// TestFailuresWithoutContent: without content no failure tells what was said, and each
// still has a code.
func TestFailuresWithoutContent(t *testing.T) {
	const secret = "MARKER"
	var events []activity.Event
	for _, body := range []activity.Body{
		activity.RunStarted{},
		activity.HandoffRejected{From: "a", To: "b", Code: "handoff.cycle", Message: secret},
		activity.HookRan{Event: "BeforeTool", Name: "h", Decision: "failed", Reason: secret},
		activity.ModelStarted{Model: "m"},
		activity.Retry{Of: "model", Cause: secret},
		activity.ToolState{Call: "c", Name: "bash", State: activity.Failed, Error: &activity.ToolError{Code: "tool.failed", Message: secret}},
		activity.RunFinished{Reason: "ERROR", Text: secret, Error: &activity.Failure{Message: secret}},
	} {
		n := len(events) + 1
		events = append(events, activity.Event{Seq: uint64(n), Time: time.Unix(int64(n), 0), Origin: activity.Origin{Run: "r", Agent: "a"}, Body: body})
	}
	spans := Build(events)
	sent, err := OTLP("s", "1", spans, false)
	if err != nil || strings.Contains(string(sent), secret) || !strings.Contains(string(sent), "handoff.cycle") {
		t.Errorf("%v\n%s", err, sent)
	}
	failed := 0
	for _, e := range Events("s", spans, false) {
		if strings.Contains(e.Error+string(e.Details), secret) {
			t.Errorf("%+v", e)
		}
		if e.Error != "" {
			failed++
		}
	}
	if failed != 4 { // files have no hooks
		t.Errorf("%d failures", failed)
	}
}

// TestAQuestionWithoutAnAnswer: it is told as that.
func TestAQuestionWithoutAnAnswer(t *testing.T) {
	if got := (Moment{Span: &Span{Kind: Confirmation, Name: "bash"}}).step(); got != "? bash: no answer" {
		t.Errorf("%q", got)
	}
}
