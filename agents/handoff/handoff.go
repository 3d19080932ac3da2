// Package handoff passes control from one agent to another (spec 5.2): the tools
// that offer it, the checks before it happens, and what the successor is told.
//
// # Use
//
// A run makes a [List] of [New] entries from its agent's file and offers their tools
// beside the agent's own. When the model calls one, and the batch's other calls have
// ended, [Transfer.Check] says who the successor is and what goes with it, or why not.
// [Tell] and [Quote] write what the successor reads. The package starts no run and
// writes no event: package agents does, by what is returned here.
//
// Everything is a function of values, safe for concurrent use once it was made.
package handoff

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/condition"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// User is the target that stands for a person. It has no run: a transfer to it ends the
// chain, and the person goes on.
const User = "user"

// prefix begins the name of each tool that hands over.
const prefix = "transfer_to_"

// Code says why a transfer was refused. It is part of the protocol (handoff.rejected)
// and of what the model reads.
type Code string

// The codes, in the order of their checks.
const (
	// the agent's file does not list the target
	PermissionDenied Code = "PERMISSION_DENIED"
	// the target is not there, or may not be handed over to
	AgentNotFound Code = "AGENT_NOT_FOUND"
	// the entry's condition is false, or cannot be judged
	ConditionNotMet Code = "CONDITION_NOT_MET"
	// the arguments do not fit the entry's schema
	InvalidPayload Code = "INVALID_PAYLOAD"
	// the chain has as many agents as are allowed
	MaxDepthExceeded Code = "MAX_DEPTH_EXCEEDED"
	// the target had control before in this chain
	CircularHandoff Code = "CIRCULAR_HANDOFF"
)

// Refusal is why a transfer does not happen. Its message is for the model.
type Refusal struct {
	Code Code
	// The target: its full name where it was found, else as it was asked for.
	To      string
	Message string
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }

// refuse returns a refusal whose message is a sentence for the model.
func refuse(code Code, to, format string, args ...any) *Refusal {
	return &Refusal{code, to, fmt.Sprintf(format, args...)}
}

// Target is what is known of an agent that control may pass to. Title is for people,
// Description for models; both may be "".
type Target struct{ Title, Description string }

// Entry is one entry of an agent's handoffs. It never changes after New.
type Entry struct {
	definition.Handoff

	spec      tool.Spec
	schema    *tool.Schema
	condition *condition.Condition // nil = it always holds
	broken    error                // the condition does not compile
}

// New returns an entry. A target that nobody knows is zero: the entry is there all
// the same, so that a transfer to it says why it is refused. A condition that does not
// compile makes an entry whose condition never holds: the finding about it is of the
// file.
func New(h definition.Handoff, target Target) *Entry {
	e := &Entry{Handoff: h}
	if h.Condition != "" {
		e.condition, e.broken = condition.Compile(h.Condition, definition.ConditionNames...)
	}
	parameters := e.parameters()
	e.schema = tool.NewSchema(parameters, nil)
	e.spec = tool.Spec{Name: ToolName(h.To), Risk: tool.Safe, Description: e.describe(target), Parameters: parameters}
	return e
}

// ToolName returns the name of the tool that hands over to an agent, which an entry
// names as name or folder:name.
//
// Providers take names of up to 64 bytes: the end of a longer one is a digest of it.
// Two names that begin alike stay apart by that digest.
func ToolName(to string) string {
	name := FullName(to)
	if len(name) <= maxToolName {
		return name
	}
	return fmt.Sprintf("%s_%.4x", name[:maxToolName-9], sha256.Sum256([]byte(name)))
}

// FullName is ToolName in full, as lists of tools and rules write it.
func FullName(to string) string { return prefix + to[strings.LastIndexByte(to, ':')+1:] }

// maxToolName is the longest name of a tool that providers take.
const maxToolName = 64 // bytes

// Spec says how the tool of the entry is offered.
func (e *Entry) Spec() tool.Spec { return e.spec }

// describe is what the model is told of the tool: what the entry says, else what the
// target says of itself, then who that is.
func (e *Entry) describe(target Target) string {
	about := e.Description
	if about == "" {
		about = target.Description
	}
	if e.To == User {
		if about == "" {
			about = "Ends your work and says that a person has to go on."
		}
		return about
	}
	title := target.Title
	if title == "" {
		title = e.To
	}
	return strings.TrimSpace(about + "\nTarget agent: " + title)
}

// parameters is the schema of the tool's arguments. The properties of the payload
// stand beside reason, context and summary; what else its schema says holds too.
// additionalProperties is false where the schema of the payload does not say, so that a
// model which invents a member is told.
func (e *Entry) parameters() json.RawMessage {
	text := func(about string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"type":"string","description":%q}`, about))
	}
	schema := make(map[string]json.RawMessage)
	var payload map[string]json.RawMessage
	if json.Unmarshal(e.Payload, &payload) == nil {
		maps.Copy(schema, payload)
	}
	properties := make(map[string]json.RawMessage)
	_ = json.Unmarshal(payload["properties"], &properties)
	var required []string
	_ = json.Unmarshal(payload["required"], &required)
	properties["reason"] = text("Why you hand over, in one sentence.")
	properties["summary"] = text("What was found or done so far.")
	if e.To != User {
		properties["context"] = text("What whoever goes on must know besides.")
	}
	required = append([]string{"reason"}, slices.DeleteFunc(required,
		func(name string) bool { return name == "reason" })...)
	schema["type"] = json.RawMessage(`"object"`)
	schema["properties"], _ = json.Marshal(properties)
	schema["required"], _ = json.Marshal(required)
	if schema["additionalProperties"] == nil {
		schema["additionalProperties"] = json.RawMessage("false")
	}
	parameters, err := json.Marshal(schema)
	if err != nil {
		return json.RawMessage("false") // nothing fits what cannot be said
	}
	return parameters
}

// Holds reports whether the entry's condition holds; one without a condition always
// does. The error, a clause, is why it cannot be judged; it does not hold then. values
// are those of the conversation, by the names that conditions use (spec 5.2); they are
// only read.
func (e *Entry) Holds(values map[string]any) (bool, error) {
	switch {
	case e.broken != nil:
		return false, errors.New(fault.Message(e.broken))
	case e.condition == nil:
		return true, nil
	}
	return e.condition.Holds(values)
}

// List is an agent's handoffs, in the order of its file.
type List []*Entry

// TargetOf returns the name of the agent that a tool hands over to, as it is written
// there; false for another tool. The model may write handoff_to_ for transfer_to_,
// and dashes for underscores. It does not say whether the agent may: Find does.
func TargetOf(name string) (to string, ok bool) {
	for _, p := range [...]string{prefix, "handoff_to_", "transfer-to-", "handoff-to-"} {
		if to, ok := strings.CutPrefix(name, p); ok && to != "" {
			return to, true
		}
	}
	return "", false
}

// Find returns the entry that a model means by the name of an agent, also where it
// has underscores for dashes; nil for none. The exact name goes before the one with
// underscores.
func (l List) Find(to string) *Entry {
	plain := func(name string) string { return strings.ReplaceAll(name, "-", "_") }
	for _, same := range []func(e *Entry) bool{
		func(e *Entry) bool { return e.spec.Name == prefix+to || FullName(e.To) == prefix+to },
		func(e *Entry) bool {
			return plain(e.spec.Name) == prefix+plain(to) || plain(FullName(e.To)) == prefix+plain(to)
		},
	} {
		if i := slices.IndexFunc(l, same); i >= 0 {
			return l[i]
		}
	}
	return nil
}

// Automatic returns the first entry that passes control on by itself when the
// agent's work is done, nil for none. bad is told of each condition that cannot be
// judged. bad must not be nil; one that cannot be judged does not hold.
func (l List) Automatic(values map[string]any, bad func(e *Entry, why error)) *Entry {
	for _, e := range l {
		if e.When != "auto" {
			continue
		}
		holds, err := e.Holds(values)
		if err != nil {
			bad(e, err)
		}
		if holds {
			return e
		}
	}
	return nil
}

// Message is what goes with a transfer. It is what a model wrote, and is quoted to the
// successor as information.
type Message struct {
	Reason  string          `json:"reason"`
	Context string          `json:"context,omitempty"`
	Summary string          `json:"summary,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"` // nil for none
}

// Transfer is one that was asked for. Its values are only read.
type Transfer struct {
	Entry  *Entry          // nil for one that the agent's list does not have
	To     string          // as the model wrote it
	Args   json.RawMessage // of the tool; nil for one that happens by itself
	Values map[string]any  // for conditions
	Chain  []string        // the agents up to now, this one last
	Max    int             // agents in a chain
	// Resolve returns the name of the agent that a target means, or why it cannot be
	// handed over to.
	Resolve func(to string) (name string, err error)
}

// Check returns what goes with a transfer and the name of the successor; or why the
// transfer is refused, by the first check that fails.
//
// The order is that of the codes, so what an agent may not do at all is said before
// what it did wrong. Resolve may look agents up and is called once, for an entry whose
// target is no person; everything else is computed. With a refusal name and m are what
// is known so far and mean nothing.
func (t *Transfer) Check() (name string, m Message, refused *Refusal) {
	e := t.Entry
	if e == nil {
		return "", m, refuse(PermissionDenied, t.To, "You may not hand over to %s: your file does not list it.",
			tool.Escape(t.To))
	}
	if name = e.To; name != User {
		var err error
		if name, err = t.Resolve(e.To); err != nil {
			return "", m, refuse(AgentNotFound, e.To, "%s cannot be handed over to: %s", e.To, fault.Message(err))
		}
	}
	switch holds, err := e.Holds(t.Values); {
	case err != nil:
		return "", m, refuse(ConditionNotMet, name,
			"The condition of the handoff to %s (%s) cannot be judged, so it does not hold: %v.",
			name, e.Condition, err)
	case !holds:
		return "", m, refuse(ConditionNotMet, name, "The handoff to %s is only for when %s.", name, e.Condition)
	}
	m, err := e.read(t.Args)
	if err != nil {
		return "", m, refuse(InvalidPayload, name, "%s", err)
	}
	if name == User {
		return name, m, nil
	}
	if len(t.Chain)+1 > t.Max {
		return "", m, refuse(MaxDepthExceeded, name,
			"The chain %s has %d agents already, and %d are allowed (agents.maxHandoffDepth). Finish the work yourself.", Chain(t.Chain), len(t.Chain), t.Max)
	}
	if slices.Contains(t.Chain, name) {
		return "", m, refuse(CircularHandoff, name,
			"%s had control before (%s), and no agent has it twice. Finish the work yourself.", name, Chain(t.Chain))
	}
	return name, m, nil
}

// read takes the arguments of the tool apart. Without any, for a transfer that
// happens by itself, an entry must not need a payload. The payload is what the tool's
// own three arguments leave.
func (e *Entry) read(args json.RawMessage) (m Message, err error) {
	if args == nil {
		m.Reason = "its work is done"
		if e.Condition != "" {
			m.Reason += " (" + e.Condition + ")"
		}
		if args, err = json.Marshal(m); err != nil {
			return m, err
		}
	}
	canonical, err := e.schema.Check(args)
	if err != nil {
		return m, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &members); err != nil {
		return m, err
	}
	if err := json.Unmarshal(canonical, &m); err != nil {
		return m, err
	}
	m.Payload = nil
	for _, own := range []string{"reason", "context", "summary"} {
		delete(members, own)
	}
	if len(members) > 0 {
		m.Payload, err = json.Marshal(members)
	}
	m.Reason = strings.TrimSpace(m.Reason)
	if m.Reason == "" {
		return m, tool.Errorf(tool.CodeArgs, "/reason: it is empty; say why you hand over.")
	}
	return m, err
}

// Chain is a chain of agents as people and models read it. It begins with the person.
func Chain(agents []string) string { return strings.Join(append([]string{User}, agents...), " → ") }
