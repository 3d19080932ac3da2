package wire

import (
	"encoding/json"
	"fmt"
)

type (
	// ConfirmParams asks whether one tool call may run (spec 4.3).
	ConfirmParams struct {
		ID    string `json:"id"`    // 128 random bits, hex
		Nonce string `json:"nonce"` // the same; agents/respond needs both
		// The session whose run asks.
		Session string `json:"session"`
		// The run that asks.
		Run string `json:"run"`
		// The call that waits; its events name it.
		Call string `json:"call"`
		// The agent that asks.
		Agent     string   `json:"agent"`
		AgentPath []string `json:"agentPath"` // the agents that led here, the asking one last
		// The tool that would run, by its canonical name.
		Tool string `json:"tool"`
		// The tier of the call: safe, low, medium, high, protected or catastrophic.
		Risk string `json:"risk"`
		Why  string `json:"why"` // why it asks
		// The call in a line.
		Title   string          `json:"title"`
		Message string          `json:"message"` // plain text: the facts, then the agent's own words, marked as such
		Args    json.RawMessage `json:"args"`    // whole
		// What it would do; absent where the title and the arguments say all.
		Preview     *Preview `json:"preview,omitempty"`
		Options     []Option `json:"options"`             // the refusing ones last but one and last; always only where it may be kept
		Remembers   string   `json:"remembers,omitempty"` // what an answer that holds longer than once is kept for; to be shown before it is given
		Prefix      string   `json:"prefix,omitempty"`    // the beginning of commands that such an answer may be for instead, as npm run *
		QueueLength int      `json:"queueLength"`         // questions behind this one
		ExpiresAt   string   `json:"expiresAt,omitempty"` // RFC 3339; then it is no
	}

	// Preview is what a call would do. Kind says which of the other fields count:
	// diff (URI, OldText, NewText, Patch), patch (Patch, a diff of several files),
	// command (Command, Parsed, Cwd, Access), mcp (Server). Notes may come with each.
	Preview struct {
		Kind string `json:"kind"`
		// The file, with kind diff.
		URI string `json:"uri,omitempty"`
		// The whole text before, with kind diff; absent for a new file.
		OldText string `json:"oldText,omitempty"`
		// The whole text after, with kind diff.
		NewText string `json:"newText,omitempty"`
		// Unified, with kinds diff and patch.
		Patch string `json:"patch,omitempty"`
		// The exact text that runs, with kind command.
		Command string `json:"command,omitempty"`
		// The simple commands in it, each quoted, with kind command.
		Parsed []string `json:"parsed,omitempty"`
		// The folder that it runs in, with kind command.
		Cwd    string   `json:"cwd,omitempty"`
		Server string   `json:"server,omitempty"` // the MCP server that is called
		Access string   `json:"access,omitempty"` // what the command is let do: read, write, network, any_host, full
		Notes  []string `json:"notes,omitempty"`  // what a person should look at, a plain line each: where a link leads, what looks like something else
	}

	// Option is one answer that a person can give. Each kind occurs once at most.
	Option struct {
		// What names it among the options of the question.
		ID   string `json:"id"`
		Kind string `json:"kind"` // once, run, session, always, modify, reject, cancel
		// What the person is shown.
		Label string `json:"label"`
	}

	// ConfirmResult is the answer to agents/confirm.
	ConfirmResult struct {
		Outcome string `json:"outcome"`          // a kind of an option offered, or later
		Prefix  bool   `json:"prefix,omitempty"` // with run, session and always: for all commands that begin as the question's prefix
		// What the person says to a refusal; the agent's model is told it.
		Feedback string    `json:"feedback,omitempty"`
		Modified *Modified `json:"modified,omitempty"` // with outcome modify
	}

	// Modified is a call as the person changed it: other arguments, or another
	// text for the file that it writes.
	Modified struct {
		// All arguments as they are to be.
		Args json.RawMessage `json:"args,omitempty"`
		// The whole text that the file is to have; then args does not count.
		NewText *string `json:"newText,omitempty"`
	}

	// ConfirmResolvedParams says that a question needs no answer any more.
	ConfirmResolvedParams struct {
		// Of the question, of agents/confirm or agents/ask.
		ID     string `json:"id"`
		Reason string `json:"reason"` // answered, cancelled, expired, policy
	}

	// AskParams is a question of an agent's to the person.
	AskParams struct {
		// Names the question, as in agents/confirm.
		ID string `json:"id"`
		// Agents/respond needs it besides the id.
		Nonce string `json:"nonce"`
		// The session whose run asks.
		Session string `json:"session"`
		// The run that asks.
		Run string `json:"run"`
		// The agent that asks.
		Agent     string   `json:"agent"`
		AgentPath []string `json:"agentPath,omitempty"` // the agents that led here, the asking one last
		// Who asks what, in a line.
		Title string `json:"title"`
		// The question, as plain text.
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"schema,omitempty"` // flat JSON Schema of the content
		// Answers to choose from; absent = free text.
		Choices []string `json:"choices,omitempty"`
		// What is typed is not to be shown.
		Secret bool `json:"secret,omitempty"`
		// RFC 3339; absent = it waits.
		ExpiresAt string `json:"expiresAt,omitempty"`
	}

	// PendingParams asks which questions wait for the person.
	PendingParams struct {
		Session string `json:"session,omitempty"` // absent = all sessions
	}

	// PendingResult are those that were asked and those that wait for their turn, the
	// oldest first. One that was not asked yet cannot be answered: it has no nonce.
	PendingResult struct {
		// Those of agents/confirm.
		Confirmations []ConfirmParams `json:"confirmations"`
		// Those of agents/ask.
		Questions []AskParams `json:"questions"`
	}

	// AskResult is the answer to agents/ask.
	AskResult struct {
		Action  string          `json:"action"`            // accept, decline, cancel, or later
		Content json.RawMessage `json:"content,omitempty"` // a string, or an object that fits the schema
	}

	// RespondParams is a late answer: the result of agents/confirm or agents/ask.
	RespondParams struct {
		// Of the question.
		ID string `json:"id"`
		// Of the question: only who was shown it can answer.
		Nonce string `json:"nonce"`
		// An object: a ConfirmResult or an AskResult.
		Answer json.RawMessage `json:"answer"`
	}

	// SaveDocumentsParams asks for documents to be saved.
	SaveDocumentsParams struct {
		// Documents with changes that are not saved.
		URIs []string `json:"uris"`
		// Why, in a few words for the person.
		Reason string `json:"reason"`
	}

	// SaveDocumentsResult says which were.
	SaveDocumentsResult struct {
		// URIs of those that are on disk as they are shown.
		Saved []string `json:"saved"`
		// URIs of those that are not.
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
