package agenttest

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
)

// TestWhatRanAndWhere: a call that began to run did, also where it failed, one that was
// refused did not, and of several handoffs the first that differs is told.
func TestWhatRanAndWhere(t *testing.T) {
	var events []activity.Event
	for i, body := range []activity.Body{
		activity.ToolState{Call: "1", Name: "bash", State: activity.Executing},
		activity.ToolState{Call: "1", Name: "bash", State: activity.Failed},
		activity.ToolState{Call: "2", Name: "write_file", State: activity.Failed},
		activity.HandoffStarted{To: "first"},
		activity.HandoffStarted{To: "second"},
	} {
		events = append(events, activity.Event{Seq: uint64(i + 1), Body: body})
	}
	c := Case{Expect: Expect{NoTools: []string{"bash", "write_file"}, Handoffs: &[]string{"a", "b"}}}
	var got []string
	for _, f := range c.Check(Came{Events: events, Result: activity.RunFinished{Reason: activity.Goal}}) {
		got = append(got, f.Text)
	}
	if len(got) != 2 || !strings.Contains(got[0], "expected bash not to run") || !strings.Contains(got[1], "at event 4 ") {
		t.Errorf("failures:\n%s", strings.Join(got, "\n"))
	}
}
