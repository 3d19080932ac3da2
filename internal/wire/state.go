package wire

import (
	"encoding/json"
	"fmt"

	"github.com/agentls/agentls/agents/activity"
)

type (
	// StateParams asks for a session's state (spec 6.2).
	StateParams struct {
		Session string  `json:"session,omitempty"` // absent = main
		AtSeq   *uint64 `json:"atSeq,omitempty"`   // the event after which; absent = now
	}

	// StateResult is a session's state. After an event of the past, user: and app: keys
	// are those that were set in this session.
	StateResult struct {
		Seq uint64 `json:"seq"` // the event after which it is so
		activity.SessionState
	}

	// SessionState is where a session's work stands, and what agents have noted for each
	// other.
	SessionState = activity.SessionState

	// Action is the last thing that an agent did.
	Action = activity.Action

	// StateSetParams gives a key a value.
	StateSetParams struct {
		Session string          `json:"session,omitempty"` // absent = main
		Key     string          `json:"key"`               // user: and app: before it: for all sessions of the person, of the workspace
		Value   json.RawMessage `json:"value"`             // null removes the key
	}

	// StateClearParams names a session.
	StateClearParams struct {
		Session string `json:"session,omitempty"` // absent = main
	}
)

// Check implements the server's check of parameters.
func (p *StateParams) Check() (string, error) {
	if p.AtSeq != nil && *p.AtSeq == 0 {
		return "atSeq", fmt.Errorf("is 0; events count from 1")
	}
	return checkSession(p.Session)
}

// Check implements the server's check of parameters.
func (p *StateSetParams) Check() (string, error) {
	if p.Value == nil {
		return "value", fmt.Errorf("is required; null removes the key")
	}
	if at, err := checkRequired("key", p.Key); err != nil {
		return at, err
	}
	return checkSession(p.Session)
}

// Check implements the server's check of parameters.
func (p *StateClearParams) Check() (string, error) { return checkSession(p.Session) }
