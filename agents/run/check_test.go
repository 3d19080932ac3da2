package run_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
)

// The machines as spec 3.4 and 3.5 draw them, with what may be cancelled.
var (
	callMoves = map[activity.CallState][]activity.CallState{
		"":                        {activity.Validating},
		activity.Validating:       {activity.Scheduled, activity.Failed, activity.Cancelled},
		activity.Scheduled:        {activity.AwaitingApproval, activity.Executing, activity.Failed, activity.Cancelled},
		activity.AwaitingApproval: {activity.Executing, activity.Failed, activity.Cancelled},
		activity.Executing:        {activity.Success, activity.Failed, activity.Cancelled},
	}
	runMoves = map[activity.State][]activity.State{
		"":               {activity.Running},
		activity.Running: {activity.Waiting, activity.Paused, activity.Interrupted, activity.Finished},
		activity.Waiting: {activity.Running, activity.Interrupted, activity.Finished},
		activity.Paused:  {activity.Running, activity.Interrupted, activity.Finished},
	}
)

// check checks what holds for the log of every run, whatever happened.
func (w *world) check(result activity.RunFinished) {
	w.t.Helper()
	events := w.log.all()
	var asked []string // calls of answers that count
	state := make(map[string]activity.CallState)
	questions := make(map[string]bool) // id → answered
	now, turn, finished := activity.State(""), 0, 0
	for i, e := range events {
		if e.Run != runID || e.Agent != agentName || e.CorrelationID != "chain-1" {
			w.t.Errorf("event %d (%s) is about %+v", e.Seq, e.Body.Type(), e.Origin)
		}
		if _, first := e.Body.(activity.RunStarted); first != (i == 0) {
			w.t.Errorf("event %d is %s", e.Seq, e.Body.Type())
		}
		switch b := e.Body.(type) {
		case activity.RunFinished:
			if finished++; i != len(events)-1 {
				w.t.Errorf("run.finished is event %d of %d: then comes %s", i, len(events), events[i+1].Body.Type())
			}
		case activity.RunState:
			if b.From != now || !slices.Contains(runMoves[now], b.To) {
				w.t.Errorf("the run is %q and moves from %q to %q", now, b.From, b.To)
			}
			now = b.To
		case activity.TurnStarted:
			if turn++; b.Turn != turn {
				w.t.Errorf("turn %d comes after turn %d", b.Turn, turn-1)
			}
		case activity.ModelContent:
			if b.Invalid {
				break
			}
			for _, p := range b.Content {
				if p.Call != nil {
					asked = append(asked, p.Call.ID)
				}
			}
		case activity.ToolState:
			if !slices.Contains(callMoves[state[b.Call]], b.State) {
				w.t.Errorf("%s is %q and becomes %q", b.Call, state[b.Call], b.State)
			}
			if state[b.Call] = b.State; (b.Result != nil) != (b.State == activity.Success) ||
				(b.Error != nil) != (b.State == activity.Failed || b.State == activity.Cancelled) || b.Risk == "" || b.Name == "" || len(b.Args) == 0 {
				w.t.Errorf("the event of %s: %+v", b.Call, b)
			}
			if b.Error != nil && (b.Error.Code == "" || b.Error.Message == "") {
				w.t.Errorf("the error of %s: %+v", b.Call, b.Error)
			}
		case activity.ToolDelta:
			if state[b.Call] != activity.Executing {
				w.t.Errorf("%s is %q and tells %q", b.Call, state[b.Call], b.Text)
			}
		case activity.ConfirmationAsked:
			// A command that runs asks about the hosts that it connects to.
			waits := state[b.Call] == activity.AwaitingApproval || (b.Tool == "bash" && state[b.Call] == activity.Executing)
			if _, twice := questions[b.ID]; twice || len(b.ID) != 32 || !waits || b.Digest == "" {
				w.t.Errorf("the question %+v, of a call that is %q", b, state[b.Call])
			}
			questions[b.ID] = false
		case activity.ConfirmationAnswered:
			if done, known := questions[b.ID]; done || !known {
				w.t.Errorf("an answer to no open question: %+v", b)
			}
			questions[b.ID] = true
		case activity.ErrorSeen:
			if strings.Contains(b.Message, "cannot become") {
				w.t.Errorf("a move that the machine does not have: %s", b.Message)
			}
		}
		if e.Turn != turn {
			w.t.Errorf("event %d (%s) is of turn %d in turn %d", e.Seq, e.Body.Type(), e.Turn, turn)
		}
	}
	for _, call := range asked {
		// What an interruption kept from executing is made when the run is resumed.
		if left := now == activity.Interrupted && state[call] != activity.Executing; !state[call].Terminal() && !left {
			w.t.Errorf("REL-61: %s was asked for and is %q at the end", call, state[call])
		}
	}
	for _, call := range slices.Sorted(maps.Keys(state)) {
		if !slices.Contains(asked, call) {
			w.t.Errorf("%s moves and is in no answer that counts", call)
		}
	}
	w.mu.Lock()
	ran := slices.Clone(w.ran)
	w.mu.Unlock()
	for _, call := range ran {
		if !slices.Contains(asked, call) {
			w.t.Errorf("%s executed and is in no answer that counts", call)
		}
	}
	if now == activity.Interrupted {
		last, ok := events[len(events)-1].Body.(activity.RunState)
		if finished != 0 || !ok || last.Resumes == "" {
			w.t.Errorf("an interrupted run ends with %s %+v", events[len(events)-1].Body.Type(), last)
		}
		return
	}
	if finished != 1 || now != activity.Finished {
		w.t.Errorf("the run is %q with %d run.finished", now, finished)
		return
	}
	last, ok := events[len(events)-1].Body.(activity.RunFinished)
	if !ok {
		return // told above
	}
	a, _ := json.Marshal(last)
	b, _ := json.Marshal(result)
	if string(a) != string(b) {
		w.t.Errorf("Do returns\n%s\nand the log has\n%s", b, a)
	}
	if result.Turns != turn || result.ToolCalls < len(ran) || result.Changes == nil || result.Guardrails == nil || result.Problems == nil {
		w.t.Errorf("the result %+v after %d turns", result, turn)
	}
	if (result.Error != nil) != (result.Reason == activity.Errored || result.Reason == activity.Guardrail) {
		w.t.Errorf("%s with the error %+v", result.Reason, result.Error)
	}
}
