package guard

import "github.com/agentls/agentls/agents/tool"

// Verdict is what is to happen with a call. The zero Verdict refuses.
//
// Who may act on it: Auto runs without a question, Ask needs a person's yes, Refuse
// is told to the model with the reason.
type Verdict uint8

// The verdicts, strictest first.
const (
	// The call does not run.
	Refuse Verdict = iota
	// A person is asked first.
	Ask
	// The call runs.
	Auto
)

// Approval is a session's mode (spec 4.2): how much runs without asking.
//
// A delegated run has the stricter of its own and its caller's. The values are those
// of the wire and of the settings.
type Approval string

// The modes, strictest first. ByDefault is what a session has when nobody chose.
const (
	// Reads only: to look and to plan.
	Plan Approval = "plan"
	// Whatever changes something is asked about.
	Asks Approval = "ask"
	// Edits of files that can be undone run without a question.
	Edits Approval = "edits"
	// All up to medium runs without a question; high and protected calls are still
	// asked about.
	Free Approval = "auto"

	ByDefault = Asks
)

// Valid reports whether a is one of the modes.
// "" is none of them.
func (a Approval) Valid() bool { _, ok := policy[a]; return ok }

// Verdict returns what the mode says of calls of a risk in a trusted folder. A mode
// that is none refuses all.
func (a Approval) Verdict(risk tool.Risk) Verdict { return policy[a][risk] }

// policy is the table of spec 4.2 for a trusted folder; command.verdict has what
// differs for commands. A risk that has no
// entry, Unclassified first of all, is refused.
var policy = map[Approval][tool.Risks]Verdict{
	Plan:  {tool.Safe: Auto},
	Asks:  {tool.Safe: Auto, tool.Low: Ask, tool.Medium: Ask, tool.High: Ask, tool.Protected: Ask},
	Edits: {tool.Safe: Auto, tool.Low: Auto, tool.Medium: Ask, tool.High: Ask, tool.Protected: Ask},
	Free:  {tool.Safe: Auto, tool.Low: Auto, tool.Medium: Auto, tool.High: Ask, tool.Protected: Ask},
}

// untrusted is the last row of the table: any mode, in a folder that is not
// trusted. Safe calls that start a process are refused as well.
var untrusted = [tool.Risks]Verdict{tool.Safe: Auto}

// Outcome is a person's answer to a question (spec 4.3).
//
// The values are those of the wire (agents/confirm).
type Outcome string

// The outcomes. Anything else is Reject.
const (
	// For this call only.
	Once Outcome = "once"
	// For the same shape of call to the end of this run.
	Run Outcome = "run"
	// The same, for this session.
	Session Outcome = "session"
	Always  Outcome = "always" // in this workspace; kept on disk
	// The person changed the arguments; the call is planned and decided about anew.
	Modify Outcome = "modify"
	// No; the model is told, with what the person said.
	Reject Outcome = "reject"
	Cancel Outcome = "cancel" // ends the run
)

// Yes reports whether o lets the call run as it was shown.
func (o Outcome) Yes() bool { return o == Once || o == Run || o == Session || o == Always }

// outcomesFor returns the outcomes that a person may choose for a call: answers that
// hold longer than once only where they can be remembered, for low and medium
// calls and for commands up to high; always also needs a store.
func outcomesFor(p *tool.Plan, risk tool.Risk, longer, stored bool) []Outcome {
	list := []Outcome{Once}
	if longer && memorable(p, risk) {
		list = append(list, Run, Session)
		if stored {
			list = append(list, Always)
		}
	}
	return append(list, Modify, Reject, Cancel)
}

// memorable reports whether an answer for a call may hold longer than once.
func memorable(p *tool.Plan, risk tool.Risk) bool {
	if p.Shape != "" {
		ofHost := p.Host != "" && risk == tool.High // a command's: what a command may reach is remembered with its hosts
		return risk == tool.Low || risk == tool.Medium || ofHost
	}
	return len(p.Keep) > 0 && risk != tool.Unclassified && risk <= tool.High
}
