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
type Person interface {
	// CanConfirm reports whether anybody can be asked about a call now.
	CanConfirm() bool
	// Confirm puts a call before the person. What is not a clear yes is
	// guard.Reject.
	Confirm(ctx context.Context, q Question) Answer
}

// Question asks whether a call may run (spec 4.3).
type Question struct {
	ID        string // 128 random bits, hex
	Session   string
	Run       string
	Call      string
	Agent     string
	AgentPath []string // the agents that led here, the asking one last
	Plan      *tool.Plan
	Risk      tool.Risk
	Why       string
	Covers    string   // what an answer that holds longer than once is kept for; "" = none may be
	Prefix    []string // the words that such an answer may be for instead, with all that begins so; nil = none
	Outcomes  []guard.Outcome
	Prompt    string        // the agent's own words, to stand below the facts; "" = none
	Timeout   time.Duration // from when the person sees it; 0 = none

	// Asked is called once, when the question is put to the client; expires is
	// zero without a time-out.
	Asked func(expires time.Time)
}

// Answer is what a person, or a rule in its place, said.
type Answer struct {
	Outcome  guard.Outcome
	Prefix   bool   // an answer for longer is for the question's Prefix
	By       string // user, timeout, client
	Feedback string
	Args     json.RawMessage // with guard.Modify: other arguments
	NewText  *string         // with guard.Modify: another text for the file
}

func newQuestionID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
