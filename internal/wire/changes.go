package wire

import (
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/activity"
)

type (
	// SessionDeleteParams names the session that is erased.
	SessionDeleteParams struct {
		// Required: what is erased has to be named.
		Session string `json:"session"`
	}

	// SessionForkParams says where another session begins.
	SessionForkParams struct {
		Session string `json:"session,omitempty"` // absent = main
		AtSeq   uint64 `json:"atSeq"`             // the last event that the new session has; from 1
	}

	// SessionRewindParams says where a session goes back to. The contexts become
	// what they were at the last boundary of a turn up to ToSeq.
	SessionRewindParams struct {
		Session string `json:"session,omitempty"` // absent = main
		ToSeq   uint64 `json:"toSeq"`             // an event of the session; from 1
		Files   bool   `json:"files,omitempty"`   // files become what they were, too
		Force   bool   `json:"force,omitempty"`   // also those that somebody else changed since; with files
	}

	// SessionRewindResult says what became of files.
	SessionRewindResult struct {
		Files []string   `json:"files"` // URIs of those that were brought back
		Left  []LeftFile `json:"left"`  // those that are as they are
	}

	// LeftFile is a file that was not brought back.
	LeftFile struct {
		// The file.
		URI string `json:"uri"`
		Why string `json:"why"` // in a sentence
	}

	// SessionApprovalParams sets a session's mode.
	SessionApprovalParams struct {
		Session  string `json:"session,omitempty"` // absent = main
		Approval string `json:"approval"`          // plan, ask, edits, auto
	}

	// SessionApprovalResult is the mode that the session has now.
	SessionApprovalResult struct {
		// One of plan, ask, edits and auto; it holds for calls that are decided about
		// from now on.
		Approval string `json:"approval"`
	}

	// ChangesParams asks what changed in files.
	ChangesParams struct {
		Session string `json:"session,omitempty"` // absent = main
		Run     string `json:"run,omitempty"`     // what this run changed; absent = what any run did
	}

	// ChangesResult is what changed and is not wholly kept or undone.
	ChangesResult struct {
		Files []activity.Change `json:"files"` // by URI; with the hunks that are pending, and those that were kept
	}

	// ChangesResolveParams keeps or undoes changes.
	ChangesResolveParams struct {
		Session string   `json:"session,omitempty"` // absent = main
		Run     string   `json:"run,omitempty"`     // only what this run changed; absent = what any run did
		URI     string   `json:"uri,omitempty"`     // of one file; absent = all
		Hunks   []string `json:"hunks,omitempty"`   // ids of agents/changes, with uri; absent = all of the file's
		Action  string   `json:"action"`            // keep, undo
	}

	// ChangesResolveResult is what became of them.
	ChangesResolveResult struct {
		Files     []activity.Change `json:"files"`     // that were asked about, with what became of their hunks
		Conflicts []Conflict        `json:"conflicts"` // what could not be done
	}

	// Conflict is a change that was left as it is.
	Conflict struct {
		// The file.
		URI  string `json:"uri"`
		Hunk string `json:"hunk,omitempty"` // absent = the whole file
		Why  string `json:"why"`            // in a sentence
	}
)

// Check implements the server's check of parameters.
func (p *SessionDeleteParams) Check() (string, error) {
	if at, err := checkRequired("session", p.Session); err != nil { // what is erased has to be named
		return at, err
	}
	return checkSession(p.Session)
}

// Check implements the server's check of parameters.
func (p *SessionForkParams) Check() (string, error) {
	if at, err := checkSession(p.Session); err != nil {
		return at, err
	}
	return checkSeq("atSeq", p.AtSeq)
}

// Check implements the server's check of parameters.
func (p *SessionRewindParams) Check() (string, error) {
	if at, err := checkSession(p.Session); err != nil {
		return at, err
	}
	return checkSeq("toSeq", p.ToSeq)
}

// checkSeq refuses what is the number of no event. Whether the session has an
// event of the number is for the handler to tell.
func checkSeq(path string, seq uint64) (string, error) {
	if seq == 0 {
		return path, fmt.Errorf("is required: the number of an event, from 1")
	}
	return "", nil
}

// Check implements the server's check of parameters.
func (p *SessionApprovalParams) Check() (string, error) {
	if at, err := checkSession(p.Session); err != nil {
		return at, err
	}
	return oneOf("approval", p.Approval, "plan", "ask", "edits", "auto")
}

// Check implements the server's check of parameters.
func (p *ChangesParams) Check() (string, error) { return checkSession(p.Session) }

// Check implements the server's check of parameters.
func (p *ChangesResolveParams) Check() (string, error) {
	if at, err := checkSession(p.Session); err != nil {
		return at, err
	}
	switch {
	case p.URI != "" && !strings.HasPrefix(p.URI, "file:"):
		return "uri", fmt.Errorf("is %q, which is no URI of a file", p.URI)
	case p.Hunks != nil && p.URI == "":
		return "uri", fmt.Errorf("is required with hunks")
	case p.Hunks != nil && len(p.Hunks) == 0:
		return "hunks", fmt.Errorf("is empty; leave it out to mean all")
	}
	for i, id := range p.Hunks {
		if id == "" {
			return fmt.Sprintf("hunks[%d]", i), fmt.Errorf("is empty")
		}
	}
	return oneOf("action", p.Action, "keep", "undo")
}
