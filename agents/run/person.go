package run

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
)

// Person is whom a run asks. Its methods wait as long as the person takes, and
// return at once when ctx ends.
//
// Safe for concurrent use; the run puts one question at a time, but those of
// other runs may be open.
type Person interface {
	// CanConfirm reports whether anybody can be asked about a call now.
	CanConfirm() bool
	// Confirm puts a call before the person. What is not a clear yes is
	// guard.Reject.
	// It calls q.Asked when the question is shown, before it returns, unless it
	// could not be shown.
	Confirm(ctx context.Context, q Question) Answer
}

// Question asks whether a call may run (spec 4.3).
type Question struct {
	ID string // 128 random bits, hex
	// Whose question it is: session, run, call and agent.
	Session   string
	Run       string
	Call      string
	Agent     string
	AgentPath []string // the agents that led here, the asking one last
	// What would run; must not be modified.
	Plan *tool.Plan
	// The tier as the gate decided it, which may be above the plan's.
	Risk tool.Risk
	// Why the person is asked, in words.
	Why    string
	Covers string   // what an answer that holds longer than once is kept for; "" = none may be
	Prefix []string // the words that such an answer may be for instead, with all that begins so; nil = none
	// The answers that may be given; another one counts as a refusal.
	Outcomes []guard.Outcome
	Prompt   string        // the agent's own words, to stand below the facts; "" = none
	Timeout  time.Duration // from when the person sees it; 0 = none

	// Asked is called once, when the question is put to the client; expires is
	// zero without a time-out.
	Asked func(expires time.Time)
}

// Answer is what a person, or a rule in its place, said.
//
// The zero Answer is a refusal.
type Answer struct {
	// What was chosen among the question's Outcomes.
	Outcome guard.Outcome
	Prefix  bool   // an answer for longer is for the question's Prefix
	By      string // user, timeout, client
	// What the person said besides, told to the model; "" for nothing.
	Feedback string
	Args     json.RawMessage // with guard.Modify: other arguments
	NewText  *string         // with guard.Modify: another text for the file
}

// newQuestionID returns the id of a question: 128 random bits, so that nobody
// can answer what they were not shown.
func newQuestionID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
