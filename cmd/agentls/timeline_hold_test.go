package main

import (
	"encoding/json"
	"strings"
	"testing"

	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/internal/wire"
)

// TestNothingIsShownOverAQuestion: what other runs do while one asks is shown after the
// last question that is open, in the order in which it came.
func TestNothingIsShownOverAQuestion(t *testing.T) {
	var out strings.Builder
	line := newTimeline(streams{out: &out, err: &out}, nil)
	line.introduce("main", "Main", continuation{})
	notified := line.handlers().Notified
	for _, e := range story()[:2] {
		tell(t, notified, e)
	}
	before := out.String()
	first, second := line.hold(), line.hold()
	for _, e := range story()[2:8] {
		tell(t, notified, e)
	}
	notified(protocol.MethodWindowShowMessage, []byte(`{"type": 3, "message": "paused: look"}`))
	first()
	if out.String() != before {
		t.Fatalf("shown over a question: %q", strings.TrimPrefix(out.String(), before))
	}
	second()
	later := strings.TrimPrefix(out.String(), before)
	notified(protocol.MethodWindowShowMessage, []byte(`{"type": 3, "message": "at once"}`))
	if !strings.Contains(later, "\npaused: look\n") || !strings.HasSuffix(out.String(), later+"at once\n") {
		t.Errorf("shown afterwards: %q, and then %q", later, out.String())
	}
}

func tell(t *testing.T, notified func(string, []byte), e wire.ActivityParams) {
	t.Helper()
	params, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	notified(wire.MethodActivity, params)
}
