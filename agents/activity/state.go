package activity

import "encoding/json"

type (
	// StateChanged says that a key of the session's state has another value (spec 6.2).
	StateChanged struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value,omitempty"` // absent: the key is removed
		Run   string          `json:"run,omitempty"`   // of a key that begins with temp: the run that it lives for
		Taint string          `json:"taint,omitempty"` // of who set it, as of ToolState
		Node  string          `json:"node,omitempty"`  // of a graph, that gave the value; absent: an agent or a person set it
		Cut   int             `json:"cut,omitempty"`   // the value's size in bytes, where it is too large for the state: then Value is the beginning of its text
	}

	// SessionState is the state of a session (spec 6.2): where its work stands, and what agents
	// have noted for each other. It is folded from the session's events.
	SessionState struct {
		CurrentTask  string  `json:"current_task,omitempty"`
		TaskStatus   string  `json:"task_status"`             // pending, in_progress, completed, failed
		CurrentAgent string  `json:"current_agent,omitempty"` // of the newest run that a person started or control passed to
		LastAction   *Action `json:"last_action,omitempty"`
		// Variables are the values that were set. Keys without a prefix live for the
		// session, temp: for a run, user: for the person on this machine, app: for the
		// workspace.
		Variables map[string]json.RawMessage `json:"variables"`
	}

	// Action is the last thing that an agent did.
	Action struct {
		Type      string `json:"type"`      // tool_call, handoff, llm_response
		Timestamp string `json:"timestamp"` // RFC 3339 with ms
		// Details name who and what: agent, and tool, call and status of a tool_call, to
		// of a handoff, model of an llm_response.
		Details map[string]string `json:"details"`
	}
)
