package wire

import "fmt"

type (
	// PermissionsListParams asks which answers are remembered (spec 4.3).
	PermissionsListParams struct {
		Session string `json:"session,omitempty"` // of those for runs and sessions, only this one's; without it every open session's
	}

	// PermissionsListResult is what is remembered, by agent and tool. An answer for
	// a run or a session goes with it; one for always stays until it is forgotten.
	PermissionsListResult struct {
		Permissions []Permission `json:"permissions"`
	}

	// Permission is an answer that stands for later questions of the same kind.
	Permission struct {
		ID string `json:"id"` // for agents/permissions/forget
		// Whose calls it covers.
		Agent string `json:"agent"`
		// The tool whose calls it covers.
		Tool     string `json:"tool"`
		Pattern  string `json:"pattern"`           // what it covers, as the person was shown it
		Scope    string `json:"scope"`             // run, session, always
		Decision string `json:"decision"`          // allow
		Session  string `json:"session,omitempty"` // of scope run and session
		Run      string `json:"run,omitempty"`     // of scope run
		Since    string `json:"since,omitempty"`   // RFC 3339; of scope always
	}

	// PermissionsForgetParams names an answer that is not to stand any more.
	PermissionsForgetParams struct {
		// One of agents/permissions/list.
		ID string `json:"id"`
	}

	// PermissionsForgetResult says what came of it. Calls that were permitted before
	// are not taken back.
	PermissionsForgetResult struct {
		Forgotten bool `json:"forgotten"` // false: there is no such answer (any more)
	}
)

// Check implements the server's check of parameters.
func (p *PermissionsListParams) Check() (string, error) { return checkSession(p.Session) }

// Check implements the server's check of parameters.
func (p *PermissionsForgetParams) Check() (string, error) {
	if p.ID == "" {
		return "id", fmt.Errorf("is required: one of agents/permissions/list")
	}
	return "", nil
}
