package run_test

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/compression"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// compressing gives the world a summarizer and a context that is over the
// threshold of the model's window (1,000 tokens).
func (w *world) compressing(steps ...step) *script {
	s := &script{t: w.t, steps: steps}
	w.config.Compression = run.Compression{Compression: settings.Compression{Enabled: true, Threshold: 0.5, Preserve: 0.3}, By: run.Choice{ID: "small", Model: s, Entry: model.Entry{ID: "small", Window: 100_000}}}
	w.log.tokens = 600
	w.log.before = []model.Message{
		{Role: model.User, Parts: []model.Part{text("an old request " + strings.Repeat("and more of it ", 200))}},
		{Role: model.Reply, Parts: []model.Part{text("an old answer " + strings.Repeat("and more of it ", 200))}},
	}
	return s
}

var snapshot = says("<scratchpad>hm</scratchpad>\n<state_snapshot><overall_goal>old things</overall_goal><key_knowledge>k</key_knowledge><file_system_state>none</file_system_state><recent_actions>none</recent_actions><current_plan>none</current_plan></state_snapshot>")

// TestCompressBeforeTheRequest: over the threshold the context is summed up
// first; the call is counted and told like each.
func TestCompressBeforeTheRequest(t *testing.T) {
	in(t, func(w *world) {
		summarizer := w.compressing(snapshot)
		w.says(says("done"))
		got := w.do()
		w.ended(got, activity.Goal)
		events := of[activity.ContextCompressed](w)
		if len(events) != 1 || events[0].Status != compression.Compressed || events[0].Cut != 2 || !strings.Contains(events[0].Snapshot, "old things") || events[0].Scratchpad != "hm" {
			t.Errorf("compressed %+v", events)
		}
		if len(summarizer.requests) != 1 || got.Usage != oneAnswer.Add(oneAnswer) || len(of[activity.ModelStarted](w)) != 2 {
			t.Errorf("%d requests, usage %+v", len(summarizer.requests), got.Usage)
		}
	})
}

// TestCompressByHandWithoutAThreshold: of a model whose window nobody knows no context is
// over the threshold, so that it is only compressed where that is forced.
func TestCompressByHandWithoutAThreshold(t *testing.T) {
	in(t, func(w *world) {
		summarizer := w.compressing()
		got, err := run.Compress(t.Context(), run.Outside{Session: w.config.Session, Definition: w.config.Definition,
			Compression: w.config.Compression, Now: w.config.Now})
		if err != nil || got.Status != compression.NoOp || len(summarizer.requests) != 0 {
			t.Errorf("%+v, %v, %d requests", got, err, len(summarizer.requests))
		}
	})
}

// TestREL62CompressionThatFails: the history stays, and the run goes on; this run
// does not try again. What does not fit any more loses its oldest results.
func TestREL62CompressionThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		steps  []step
		tokens int
		want   []string
	}{
		"a provider that refuses":      {[]step{fails(errFatal)}, 600, []string{compression.NoAnswer}},
		"no snapshot, twice":           {[]step{says("no"), says("no")}, 600, []string{compression.Unreadable}},
		"a snapshot that is longer":    {[]step{says(strings.Replace("<scratchpad>x</scratchpad><state_snapshot><overall_goal>LONG</overall_goal><key_knowledge>k</key_knowledge><file_system_state>none</file_system_state><recent_actions>none</recent_actions><current_plan>none</current_plan></state_snapshot>", "LONG", strings.Repeat("very long ", 5000), 1))}, 600, []string{compression.Inflated}},
		"nothing fits, nothing to cut": {[]step{fails(errFatal)}, 1200, []string{compression.NoAnswer}},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				summarizer := w.compressing(c.steps...)
				w.log.tokens = c.tokens
				w.tool("look", tool.Safe, nil)
				w.says(asks(calls("look", `{}`)), says("done"))
				if name != "a provider that refuses" && name != "nothing fits, nothing to cut" {
					w.log.failedAfter = true // as the session's view has it
				}
				w.ended(w.do(), activity.Goal)
				var got []string
				for _, e := range of[activity.ContextCompressed](w) {
					got = append(got, e.Status)
				}
				if strings.Join(got, " ") != strings.Join(c.want, " ") || len(summarizer.requests) != len(c.steps) {
					t.Errorf("compressed %q with %d requests", got, len(summarizer.requests))
				}
			})
		})
	}
}

// TestREL123CompressorKeepsTheLimits: its calls count, each attempt of them, and
// the person decides at a limit as for any other call.
func TestREL123CompressorKeepsTheLimits(t *testing.T) {
	in(t, func(w *world) {
		summarizer := w.compressing(fails(errBusy), fails(errBusy))
		w.config.Limits.ModelCalls = 2
		got := w.do()
		w.ended(got, activity.Budget)
		if len(summarizer.requests) != 2 || len(w.model.requests) != 0 || len(of[activity.ContextCompressed](w)) != 0 {
			t.Errorf("%d and %d requests, %+v", len(summarizer.requests), len(w.model.requests), of[activity.ContextCompressed](w))
		}
		w.contains("the end", got.Text, "2 times")
	})
	in(t, func(w *world) {
		var messages []string
		summarizer := w.compressing(fails(errBusy), fails(errBusy), snapshot)
		w.config.Env.Ask = asked(0, &messages)
		w.config.Limits.ModelCalls = 2
		w.says(says("done"))
		w.ended(w.do(), activity.Goal)
		if len(summarizer.requests) != 3 || len(messages) != 1 {
			t.Errorf("%d requests, asked %q", len(summarizer.requests), messages)
		}
	})
}
