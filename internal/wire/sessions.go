package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

type (
	// SubscribeParams asks for a session's events from a number on.
	SubscribeParams struct {
		Session string `json:"session,omitempty"` // absent = main, which is begun where it is not there
		FromSeq uint64 `json:"fromSeq,omitempty"` // the first event that is wanted; absent = 1; at most one more than the last event
	}

	// SubscribeResult is a page of past events, 500 at most. While More is set,
	// ask again from NextSeq; after the last page events come live by
	// agents/activity. A page covers all events from FromSeq of the request to
	// NextSeq-1, also those of types that the client opted out of, and the next
	// page or message goes on from NextSeq. A client that is sent the session's
	// events live already, since it subscribed before or started a run there, gets
	// on pages what it asks for of what it was sent, under the same numbers; that
	// changes nothing about what it is sent live. Who wants no event twice asks
	// from the first one that it has not had.
	SubscribeResult struct {
		Events []ActivityParams `json:"events"` // as agents/activity tells them; deltas may be merged
		// What to ask for, or what comes live, next.
		NextSeq uint64 `json:"nextSeq"`
		// There are further events; nothing comes live yet.
		More bool `json:"more"`
	}

	// UnsubscribeParams names a session.
	UnsubscribeParams struct {
		Session string `json:"session,omitempty"` // absent = main
	}

	// Empty is the answer that says nothing but that it was done.
	Empty struct{}

	// ParseParams is what a person typed.
	ParseParams struct {
		Text *string `json:"text"` // may be empty; never null
	}

	// ParseResult is what it means (spec 5.1, input syntax): "@name text" is for
	// that agent, "@auto text" is to be routed, all else names nobody. Who sends it
	// on gives Agent and Prompt to agents/run, which takes its input word for word.
	ParseResult struct {
		Agent      string       `json:"agent,omitempty"`      // whom it is for, as "name" or "folder:name"; absent = nobody is named
		Auto       bool         `json:"auto,omitzero"`        // it is to be routed
		Strategy   string       `json:"strategy,omitempty"`   // rule, llm or hybrid, where it says one
		Prompt     string       `json:"prompt"`               // without the name, the quotes around it, and what escaped an @
		Command    *CommandCall `json:"command,omitempty"`    // the custom command that the prompt calls: agents/run takes it instead of the prompt
		Mentions   []Mention    `json:"mentions"`             // of known agents in the prompt, in order
		References []string     `json:"references,omitempty"` // resources of MCP servers in it, as @server:uri: agents/run takes them as references
	}

	// Mention is an agent's name in a text. Start and End count in the negotiated
	// encoding, from the beginning of the text that was parsed.
	Mention struct {
		Name  string `json:"name"`
		Start int    `json:"start"` // of its @
		End   int    `json:"end"`   // after its name
	}

	// TemplatesResult lists what an agent's file can be made from.
	TemplatesResult struct {
		Templates []Template `json:"templates"`
	}

	// Template is one of them. Where the person's own cannot be used, Description
	// says why.
	Template struct {
		// What agents/create takes.
		Name string `json:"name"`
		// What people are shown.
		Title string `json:"title"`
		// What it is for, in a sentence.
		Description string `json:"description"`
	}

	// SessionListParams asks for a page of sessions.
	SessionListParams struct {
		Cursor string `json:"cursor,omitempty"` // of the page before
		Limit  int    `json:"limit,omitempty"`  // 1 to 1000; absent or 0 = 100
	}

	// SessionListResult is a page of sessions, newest first.
	SessionListResult struct {
		// Also those that another daemon has, and those that cannot be read.
		Sessions []Session `json:"sessions"`
		Cursor   string    `json:"cursor,omitempty"` // of the next page; absent = this is the last
	}

	// Session is one conversation.
	Session struct {
		// The id, which requests name.
		Session   string `json:"session"`
		Title     string `json:"title"`               // as it was begun with, else the first line of the first request
		Agent     string `json:"agent,omitempty"`     // who answers where a request names nobody; absent = main
		Folder    string `json:"folder"`              // URI of the workspace's first folder; "" without one
		CreatedAt string `json:"createdAt,omitempty"` // RFC 3339 with ms
		// RFC 3339 with ms; of the newest event.
		UpdatedAt  string   `json:"updatedAt,omitempty"`
		Agents     []string `json:"agents"`     // that have run, in the order of their first run
		AgentChain []string `json:"agentChain"` // of the newest run that no other run started
		// Runs that passed control on.
		HandoffCount int `json:"handoffCount"`
		// How many runs it has.
		Runs  int    `json:"runs"`
		State string `json:"state"` // idle, running, waiting, paused, interrupted
		// Of all answers of models in it.
		Usage model.Usage `json:"usage"`
		// Of its runs; absent where a price is not known.
		Cost    *activity.Cost `json:"cost,omitempty"`
		Locked  bool           `json:"locked,omitzero"`   // another daemon has it
		Problem string         `json:"problem,omitempty"` // why it cannot be read
	}

	// SessionParams names a session.
	SessionParams struct {
		Session string `json:"session,omitempty"` // absent = main
	}

	// SessionGetResult is a session with its runs instead of their number, in the
	// order of their start.
	SessionGetResult struct {
		Session
		// In the order of their start, delegated ones too.
		Runs []SessionRun `json:"runs"`
	}

	// SessionRun is one run of a session.
	SessionRun struct {
		// Its id.
		Run string `json:"run"`
		// The agent that ran.
		Agent  string `json:"agent"`
		State  string `json:"state"`            // running, waiting, paused, interrupted, finished
		Reason string `json:"reason,omitempty"` // of a finished one
	}

	// SessionNewParams begins a session.
	SessionNewParams struct {
		Agent string `json:"agent,omitempty"` // who answers in it where a request names nobody; must exist; absent = main
		Title string `json:"title,omitempty"` // one line, 200 characters at most; absent = the first line of the first request
	}

	// SessionNewResult names it.
	SessionNewResult struct {
		// Its id, chosen by the daemon.
		Session string `json:"session"`
	}

	// SessionCompressParams asks for shorter contexts (spec 8.3).
	SessionCompressParams struct {
		Session string `json:"session,omitempty"` // absent = main
		Agent   string `json:"agent,omitempty"`   // absent = main
		Force   bool   `json:"force,omitempty"`   // also below the threshold, and after a failure
	}

	// SessionCompressResult says what became of it.
	SessionCompressResult struct {
		Status string `json:"status"` // COMPRESSED, NOOP, COMPRESSION_FAILED_…
		Before int    `json:"before"` // tokens
		// Tokens; the same as before where nothing was made shorter.
		After int `json:"after"`
	}

	// ContextParams names an agent's context.
	ContextParams struct {
		Session string `json:"session,omitempty"` // absent = main
		// The agent's name.
		Agent string `json:"agent"`
	}

	// ContextGetResult is a context as its model sees it.
	ContextGetResult struct {
		// They alternate, the first by the user.
		Messages []Message `json:"messages"`
		// How many tokens they have, prompt and tools included where the provider
		// counted.
		Tokens    int  `json:"tokens"`
		Window    int  `json:"window"`    // of the agent's model, in tokens; 0 = not known
		Estimated bool `json:"estimated"` // Tokens are not the provider's count
		// RFC 3339 with ms; absent for an agent that has not run.
		StartedAt string `json:"startedAt,omitempty"`
		// The same, of the last thing that happened in it.
		LastActiveAt string `json:"lastActiveAt,omitempty"`
		// MemoryFiles are the instructions that follow the prompt of the agent's next
		// run, in their order, and those that are left out.
		MemoryFiles []MemoryFile `json:"memoryFiles,omitempty"`
	}

	// MemoryFile is a file of instructions for every agent: GEMINI.md, AGENTS.md or
	// CLAUDE.md.
	MemoryFile struct {
		// The file.
		URI     string   `json:"uri"`
		Scope   string   `json:"scope,omitempty"`   // global, project, extension
		Tokens  int      `json:"tokens,omitempty"`  // estimated, with its imports
		Imports []string `json:"imports,omitempty"` // URIs
		LeftOut string   `json:"leftOut,omitempty"` // why agents are not told it
	}

	// Message is one message of a context. Raw is the provider's own form of what
	// a model said.
	Message struct {
		Role string `json:"role"` // user, model
		// What was said, called and answered, in order.
		Parts []model.Part `json:"parts"`
		// Opaque; only the provider that wrote it reads it.
		Raw json.RawMessage `json:"raw,omitempty"`
	}

	// ContextClearParams ends an agent's context.
	ContextClearParams struct {
		Session string `json:"session,omitempty"` // absent = main
		// The agent's name.
		Agent string `json:"agent"`
		Purge bool   `json:"purge,omitempty"` // what it held is erased from disk as well
	}
)

// Check implements the server's check of parameters.
func (p *SubscribeParams) Check() (string, error) { return checkSession(p.Session) }

// Check implements the server's check of parameters.
func (p *UnsubscribeParams) Check() (string, error) { return checkSession(p.Session) }

// Check implements the server's check of parameters.
func (p *ParseParams) Check() (string, error) {
	if p.Text == nil {
		return checkRequired("text", "")
	}
	return "", nil
}

// Check implements the server's check of parameters.
func (p *SessionListParams) Check() (string, error) {
	if p.Limit < 0 || p.Limit > maxSessions {
		return "limit", fmt.Errorf("is %d, want 1 to %d", p.Limit, maxSessions)
	}
	return "", nil
}

// maxSessions bounds a page of sessions.
const maxSessions = 1000

// Check implements the server's check of parameters.
func (p *SessionParams) Check() (string, error) { return checkSession(p.Session) }

// Check implements the server's check of parameters.
func (p *SessionNewParams) Check() (string, error) {
	switch {
	case utf8.RuneCountInString(p.Title) > maxTitle:
		return "title", fmt.Errorf("is longer than %d characters", maxTitle)
	case strings.ContainsFunc(p.Title, unicode.IsControl):
		return "title", fmt.Errorf("has control characters; use one line of text")
	}
	return "", nil
}

// maxTitle bounds a title, in characters.
const maxTitle = 200

// Check implements the server's check of parameters.
func (p *SessionCompressParams) Check() (string, error) { return checkSession(p.Session) }

// Check implements the server's check of parameters.
func (p *ContextParams) Check() (string, error) {
	if at, err := checkRequired("agent", p.Agent); err != nil {
		return at, err
	}
	return checkSession(p.Session)
}

// Check implements the server's check of parameters.
func (p *ContextClearParams) Check() (string, error) {
	if at, err := checkRequired("agent", p.Agent); err != nil {
		return at, err
	}
	return checkSession(p.Session)
}

// checkSession refuses what cannot name a session.
func checkSession(id string) (string, error) {
	if id != "" && (!sessionForm.MatchString(id) || id[0] == '.' || sessionPart.MatchString(id)) {
		return "session", fmt.Errorf("is %q, which cannot name a session; use 1 to 64 letters, digits, dots, dashes and underscores, no dot at the start and no .NUMBER at the end", id)
	}
	return "", nil
}
