package replay

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
)

// Difference is where a session came otherwise.
// Was and Now are the values as JSON, or types of events where Field is "".
type Difference struct {
	// The number of the recorded event; 0 where there is none.
	Seq   uint64
	Agent string
	// Its type, with the name of the tool, node or hook that it is about.
	Event string
	// The field that differs; "" where the event is missing, is one more, or is of another type.
	Field string
	Was   string
	Now   string
}

// String says it in a line.
func (d *Difference) String() string {
	where := d.Event + " of " + d.Agent
	if d.Seq > 0 {
		where = fmt.Sprintf("event %d, %s", d.Seq, where)
	}
	if d.Field != "" {
		where += ": " + d.Field
	}
	return fmt.Sprintf("%s: was %s, is now %s", where, clip(d.Was), clip(d.Now))
}

// clip cuts a value that people are shown.
func clip(text string) string {
	const most = 400
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// Compare holds what came to what was recorded, run by run: each event by the digest of
// what it says but times, ids and what was used. It returns how many were compared, and
// the first difference; nil for none.
// now are the events of the new session. Runs are held against each other in the order in
// which they were recorded; runs that only the new session has are not looked at. Whether
// texts were streamed makes no difference, and neither does the order in which calls of
// one answer ended. It may be called once the replay is over.
func (r *Recording) Compare(now []activity.Event) (compared int, first *Difference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, is := comparable(r.events), comparable(now)
	session := &recordedRun{agent: "the session"} // of no run
	for _, run := range append(slices.Clip(r.runs), session) {
		old, fresh := was[run.id], is[cmp.Or(run.now, run.id)]
		for i := range max(len(old), len(fresh)) {
			switch {
			case i >= len(old):
				return compared, &Difference{Agent: run.agent, Event: fresh[i].name,
					Was: "no more events", Now: fresh[i].name}
			case i >= len(fresh):
				return compared, &Difference{Seq: old[i].seq, Agent: run.agent, Event: old[i].name, Was: old[i].name,
					Now: "no more events"}
			case old[i].digest() != fresh[i].digest():
				return compared, old[i].against(fresh[i], run.agent)
			}
			compared++
		}
	}
	return compared, nil
}

// fact is what counts of an event.
// A fact is of one event; some events are none.
type fact struct {
	// The number of its event, for the report; not compared.
	seq    uint64
	name   string
	order  string // of facts that may come in any order: the call; "" = it has its place
	fields []field
}

// field is a member of an event that counts, its value as JSON.
type field struct{ name, value string }

// digest stands for all that counts of the event.
func (f fact) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q", f.name, f.fields))
	return hex.EncodeToString(sum[:])
}

// against finds the first field in which two facts differ. It is asked where their
// digests differ.
func (f fact) against(now fact, agent string) *Difference {
	d := &Difference{Seq: f.seq, Agent: agent, Event: f.name}
	if f.name != now.name {
		d.Was, d.Now = f.name, now.name
		return d
	}
	for i := range f.fields {
		if i < len(now.fields) && f.fields[i] != now.fields[i] {
			d.Field, d.Was, d.Now = f.fields[i].name, f.fields[i].value, now.fields[i].value
			return d
		}
	}
	return d
}

// comparable returns the facts of events by run. Calls of one answer end in any order, so
// theirs are put in the order of the calls. Events of no run have the key "". Numbers of
// calls are compared as texts, which is the same order in both.
func comparable(events []activity.Event) map[string][]fact {
	all := make(map[string][]fact)
	calls := make(map[string]string) // by question
	for _, e := range events {
		if q, ok := e.Body.(activity.ConfirmationAsked); ok {
			calls[q.ID] = place(q.Call)
		}
		if f, ok := factOf(e, calls); ok {
			all[e.Run] = append(all[e.Run], f)
		}
	}
	for _, facts := range all {
		for from := 0; from < len(facts); {
			to := from
			for to < len(facts) && facts[to].order != "" {
				to++
			}
			slices.SortStableFunc(facts[from:to], func(a, b fact) int { return cmp.Compare(a.order, b.order) })
			from = to + 1
		}
	}
	return all
}

// place is what of a call's id is the same in any run: what stands after the # that ends the run's
// id; "" for no call.
func place(call string) string {
	_, at, _ := strings.Cut(call, "#")
	return at
}

// factOf returns what counts of an event; false for nothing. Of events of no run only a
// compression counts, which the person asked for. calls has the place of the call that
// each question is about.
func factOf(e activity.Event, calls map[string]string) (fact, bool) {
	f := fact{seq: e.Seq, name: e.Body.Type()}
	if _, compressed := e.Body.(activity.ContextCompressed); e.Run == "" && !compressed {
		return f, false
	}
	counts := f.readRun(e) || f.readCall(e, calls)
	return f, counts
}

// add adds a field of the event. JSON is compact, so that white space of recorded
// arguments makes no difference.
func (f *fact) add(name string, value any) {
	data, err := json.Marshal(value)
	if err == nil {
		var flat bytes.Buffer
		if json.Compact(&flat, data) == nil {
			data = flat.Bytes()
		}
	}
	f.fields = append(f.fields, field{name, string(data)})
}

// readRun takes what counts of an event of a run; false for nothing. Notes for people,
// deltas and states are left out: they follow from the rest, or from the clock.
func (f *fact) readRun(e activity.Event) bool {
	switch b := e.Body.(type) {
	case activity.RunStarted:
		f.add("agent", e.Agent)
		f.add("definition", b.Definition)
		f.add("model", b.Model)
		f.add("mode", b.Mode)
		f.add("approval", b.Approval)
		f.add("tools", b.Tools)
		f.add("chain", b.Chain)
	case activity.RouteDecided:
		f.add("agent", b.Agent)
		f.add("by", b.By)
		f.add("strategy", b.Strategy)
	case activity.ModelContent:
		f.name = "model.content"
		for _, p := range b.Content {
			f.add("text", p.Text)
			if p.Call != nil {
				f.add("call", p.Call.Name)
				f.add("arguments", p.Call.Args)
			}
		}
		f.add("invalid", b.Invalid)
	case activity.HandoffStarted:
		f.add("to", b.To)
		f.add("reason", b.Reason)
		f.add("payload", b.Payload)
	case activity.HandoffRejected:
		f.add("to", b.To)
		f.add("code", b.Code)
	case activity.ContextCompressed:
		f.add("status", b.Status)
		f.add("cut", b.Cut)
		f.add("snapshot", b.Snapshot)
	case activity.LoopDetected:
		f.add("kind", b.Kind)
		f.add("action", b.Action)
	case activity.Note:
		if !b.ToModel {
			return false
		}
		f.add("message", b.Message)
	case activity.RunFinished:
		f.add("reason", b.Reason)
		f.add("text", b.Text)
		f.add("output", b.Output)
		f.add("turns", b.Turns)
		f.add("toolCalls", b.ToolCalls)
	case activity.GuardrailChecked:
		f.add("name", b.Name)
		f.add("policy", b.Policy)
		f.add("outcome", b.Outcome)
	default:
		return false
	}
	return true
}

// readCall takes what counts of a step that may go on beside others; false for nothing.
// Only how a call, a node or a hook ended counts; what it went through on the way
// depends on who else ran.
func (f *fact) readCall(e activity.Event, calls map[string]string) bool {
	switch b := e.Body.(type) {
	case activity.ToolState:
		if !b.State.Terminal() {
			return false
		}
		f.name, f.order = "tool.state "+b.Name, place(b.Call)
		f.add("state", b.State)
		f.add("arguments", b.Args)
		if b.Result != nil {
			f.add("result", b.Result.Content)
		}
		if b.Error != nil {
			f.add("error", b.Error.Code+": "+b.Error.Message)
		}
	case activity.ConfirmationAsked:
		f.name, f.order = "confirmation.asked "+b.Tool, place(b.Call)
		f.add("risk", b.Risk)
	case activity.ConfirmationAnswered:
		f.order = calls[b.ID]
		f.add("outcome", b.Outcome)
	case activity.GraphNode:
		if b.State == activity.NodeRunning {
			return false
		}
		f.name, f.order = "graph.node "+b.Node, strings.ReplaceAll(b.Step, "#", "-")
		f.add("state", b.State)
		f.add("output", b.Output)
		f.add("error", b.Error)
	case activity.HookRan:
		if b.Event == "Notification" || b.Event == "SessionEnd" {
			return false
		}
		f.name, f.order = "hook.ran "+b.Event, place(b.Call)
		f.add("name", b.Name)
		f.add("decision", b.Decision)
		f.add("reason", b.Reason)
	default:
		return false
	}
	return true
}
