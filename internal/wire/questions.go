package wire

import (
	"encoding/json"
	"fmt"
)

type (
	// ConfirmParams asks whether one tool call may run (spec 4.3).
	ConfirmParams struct {
		ID          string          `json:"id"`    // 128 random bits, hex
		Nonce       string          `json:"nonce"` // the same; agents/respond needs both
		Session     string          `json:"session"`
		Run         string          `json:"run"`
		Call        string          `json:"call"`
		Agent       string          `json:"agent"`
		AgentPath   []string        `json:"agentPath"` // the agents that led here, the asking one last
		Tool        string          `json:"tool"`
		Risk        string          `json:"risk"`
		Why         string          `json:"why"` // why it asks
		Title       string          `json:"title"`
		Message     string          `json:"message"` // plain text: the facts, then the agent's own words, marked as such
		Args        json.RawMessage `json:"args"`    // whole
		Preview     *Preview        `json:"preview,omitempty"`
		Options     []Option        `json:"options"`             // the refusing ones last but one and last; always only where it may be kept
		Remembers   string          `json:"remembers,omitempty"` // what an answer that holds longer than once is kept for; to be shown before it is given
		Prefix      string          `json:"prefix,omitempty"`    // the beginning of commands that such an answer may be for instead, as npm run *
		QueueLength int             `json:"queueLength"`         // questions behind this one
		ExpiresAt   string          `json:"expiresAt,omitempty"` // RFC 3339; then it is no
	}

	// Preview is what a call would do. Kind says which of the other fields count:
	// diff (URI, OldText, NewText, Patch), patch (Patch, a diff of several files),
	// command (Command, Parsed, Cwd, Access), mcp (Server). Notes may come with each.
	Preview struct {
		Kind    string   `json:"kind"`
		URI     string   `json:"uri,omitempty"`
		OldText string   `json:"oldText,omitempty"`
		NewText string   `json:"newText,omitempty"`
		Patch   string   `json:"patch,omitempty"`
		Command string   `json:"command,omitempty"`
		Parsed  []string `json:"parsed,omitempty"`
		Cwd     string   `json:"cwd,omitempty"`
		Server  string   `json:"server,omitempty"` // the MCP server that is called
		Access  string   `json:"access,omitempty"` // what the command is let do: read, write, network, any_host, full
		Notes   []string `json:"notes,omitempty"`  // what a person should look at, a plain line each: where a link leads, what looks like something else
	}

	// Option is one answer that a person can give. Each kind occurs once at most.
	Option struct {
		ID    string `json:"id"`
		Kind  string `json:"kind"` // once, run, session, always, modify, reject, cancel
		Label string `json:"label"`
	}

	// ConfirmResult is the answer to agents/confirm.
	ConfirmResult struct {
		Outcome  string    `json:"outcome"`          // a kind of an option offered, or later
		Prefix   bool      `json:"prefix,omitempty"` // with run, session and always: for all commands that begin as the question's prefix
		Feedback string    `json:"feedback,omitempty"`
		Modified *Modified `json:"modified,omitempty"` // with outcome modify
	}

	// Modified is a call as the person changed it: other arguments, or another
	// text for the file that it writes.
	Modified struct {
		Args    json.RawMessage `json:"args,omitempty"`
		NewText *string         `json:"newText,omitempty"`
	}

	// ConfirmResolvedParams says that a question needs no answer any more.
	ConfirmResolvedParams struct {
		ID     string `json:"id"`
		Reason string `json:"reason"` // answered, cancelled, expired, policy
	}

	// AskParams is a question of an agent's to the person.
	AskParams struct {
		ID        string          `json:"id"`
		Nonce     string          `json:"nonce"`
		Session   string          `json:"session"`
		Run       string          `json:"run"`
		Agent     string          `json:"agent"`
		AgentPath []string        `json:"agentPath,omitempty"` // the agents that led here, the asking one last
		Title     string          `json:"title"`
		Message   string          `json:"message"`
		Schema    json.RawMessage `json:"schema,omitempty"` // flat JSON Schema of the content
		Choices   []string        `json:"choices,omitempty"`
		Secret    bool            `json:"secret,omitempty"`
		ExpiresAt string          `json:"expiresAt,omitempty"`
	}

	// PendingParams asks which questions wait for the person.
	PendingParams struct {
		Session string `json:"session,omitempty"` // absent = all sessions
	}

	// PendingResult are those that were asked and those that wait for their turn, the
	// oldest first. One that was not asked yet cannot be answered: it has no nonce.
	PendingResult struct {
		Confirmations []ConfirmParams `json:"confirmations"`
		Questions     []AskParams     `json:"questions"`
	}

	// AskResult is the answer to agents/ask.
	AskResult struct {
		Action  string          `json:"action"`            // accept, decline, cancel, or later
		Content json.RawMessage `json:"content,omitempty"` // a string, or an object that fits the schema
	}

	// RespondParams is a late answer: the result of agents/confirm or agents/ask.
	RespondParams struct {
		ID     string          `json:"id"`
		Nonce  string          `json:"nonce"`
		Answer json.RawMessage `json:"answer"`
	}

	// SaveDocumentsParams asks for documents to be saved.
	SaveDocumentsParams struct {
		URIs   []string `json:"uris"`
		Reason string   `json:"reason"`
	}

	// SaveDocumentsResult says which were.
	SaveDocumentsResult struct {
		Saved  []string `json:"saved"`
		Failed []string `json:"failed"`
	}
)

// Check implements the server's check of parameters.
func (p *RespondParams) Check() (string, error) {
	if at, err := checkRequired("id", p.ID); err != nil {
		return at, err
	}
	if at, err := checkRequired("nonce", p.Nonce); err != nil {
		return at, err
	}
	if len(p.Answer) == 0 {
		return "answer", fmt.Errorf("is required: the result of agents/confirm or agents/ask")
	}
	return "", nil
}

// Check implements the server's check of parameters.
func (p *PendingParams) Check() (string, error) {
	if p.Session == "" {
		return "", nil
	}
	return checkSession(p.Session)
}
