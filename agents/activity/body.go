package activity

import (
	"encoding/json"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
)

// The bodies, as spec 2.11 lists them.
type (
	// RunStarted is the first event of a run.
	RunStarted struct {
		Input      []ContentBlock `json:"input"`
		Mode       string         `json:"mode"`
		Approval   string         `json:"approval"`
		Model      string         `json:"model"`
		Tools      []string       `json:"tools"`
		Chain      []string       `json:"chain"`
		Definition string         `json:"definition"` // hex SHA-256 of the agent's file
		Context    *EditorContext `json:"context,omitempty"`
		// Inputs are the values of the agent's inputs as they were given, Folder is the
		// URI of the run's workspace folder, and Asked the model that the request named:
		// what a later daemon needs to take the run up again.
		Inputs json.RawMessage `json:"inputs,omitempty"`
		Folder string          `json:"folder,omitempty"`
		Asked  string          `json:"asked,omitempty"` // the model that the request named
		Taint  string          `json:"taint,omitempty"` // of what the person put to it, as of ToolState
		Shell  []string        `json:"shell,omitempty"` // commands whose output the input needs, run before the first turn
		Call   string          `json:"call,omitempty"`  // of the run that waits for this one: the call that delegated to it
	}

	// EditorContext is what the person has in the editor when they ask (spec
	// 3.6). Every field may be absent.
	EditorContext struct {
		URI         string               `json:"uri,omitempty"`         // the document that is shown
		Selection   *definition.Range    `json:"selection,omitempty"`   // in it
		Text        string               `json:"text,omitempty"`        // what is selected
		Cursor      *definition.Position `json:"cursor,omitempty"`      // in it
		Diagnostics json.RawMessage      `json:"diagnostics,omitempty"` // LSP diagnostics under cursor or selection
		Open        []string             `json:"open,omitempty"`        // URIs of the open documents
	}

	// RunState says that a run moved.
	RunState struct {
		From    State  `json:"from"`
		To      State  `json:"to"`
		Why     string `json:"why,omitempty"`
		Resumes string `json:"resumes,omitempty"` // what makes it go on
		// Limit is the one that a paused run would cross: calls, input, tokens, cost.
		Limit string `json:"limit,omitempty"`
		// Extended is what a run that goes on may use besides.
		Extended *Extended `json:"extended,omitempty"`
	}

	// Extended is how much more a run may use than its agent and the settings say.
	Extended struct {
		Turns       int     `json:"turns,omitempty"`
		Seconds     int     `json:"seconds,omitempty"`
		ModelCalls  int     `json:"modelCalls,omitempty"`
		InputTokens int     `json:"inputTokens,omitempty"`
		Tokens      int     `json:"tokens,omitempty"`
		USD         float64 `json:"usd,omitempty"`
	}

	// RunFinished is the last event of a run: its result but for session, run
	// and agent, which the event has.
	RunFinished struct {
		Reason     Reason               `json:"reason"`
		Recovered  Reason               `json:"recovered,omitempty"`
		Text       string               `json:"text"`
		Output     json.RawMessage      `json:"output,omitempty"`
		Usage      model.Usage          `json:"usage"`
		Cost       *Cost                `json:"cost,omitempty"`
		Turns      int                  `json:"turns"`
		ToolCalls  int                  `json:"toolCalls"`
		Fallbacks  []string             `json:"fallbacks,omitempty"` // models that answered in place of the chosen one
		Chain      []Link               `json:"chain"`
		Guardrails []Guard              `json:"guardrails"`
		Changes    []Change             `json:"changes"`
		Problems   []definition.Problem `json:"problems"`
		Error      *Failure             `json:"error,omitempty"`
	}

	// TurnStarted begins a turn.
	TurnStarted struct {
		Turn int `json:"turn"`
	}

	// TurnFinished ends a turn.
	TurnFinished struct {
		Turn      int         `json:"turn"`
		Usage     model.Usage `json:"usage"`
		ToolCalls int         `json:"toolCalls"`
	}

	// Input is a person's message, also one that arrives while a run goes on.
	Input struct {
		Input    []ContentBlock `json:"input"`
		Position int            `json:"position,omitempty"` // in the queue; 0 = taken at once
	}

	// RouteDecided says which agent an input is for that named none, and why (spec
	// 5.1). It is the result of agents/route too.
	RouteDecided struct {
		Strategy   string           `json:"strategy"`            // rule, llm, hybrid
		Agent      string           `json:"agent,omitempty"`     // absent = none fits
		By         string           `json:"by,omitempty"`        // rule, llm, user, default
		Confidence int              `json:"confidence,omitzero"` // 0 to 100; of rule and llm
		Reason     string           `json:"reason,omitempty"`    // the model's
		Context    string           `json:"context,omitempty"`   // the model's: what the agent should know
		Candidates []RouteCandidate `json:"candidates"`          // those that something speaks for, the best first, 32 at most
		Considered int              `json:"considered"`          // how many agents were looked at
		Margin     int              `json:"margin"`              // points between the first two candidates
		Threshold  int              `json:"threshold"`           // confidence from which hybrid asks no model
		Model      *RouteModel      `json:"model,omitempty"`     // absent = none was asked
		Why        string           `json:"why"`                 // why a model was asked, or was not
		Fallback   string           `json:"fallback,omitempty"`  // what counts since no agent was picked: none, prompt_user, default_agent
		Settings   []RouteSetting   `json:"settings"`
		Partial    bool             `json:"partial,omitzero"` // not all patterns were tried: it took too long
		Text       string           `json:"text"`             // the decision in one line, for people
	}

	// RouteCandidate is an agent that something in an input speaks for.
	RouteCandidate struct {
		Agent      string       `json:"agent"`
		Score      int          `json:"score"` // who has the most leads
		Confidence int          `json:"confidence"`
		Matches    []RouteMatch `json:"matches"` // 16 at most
	}

	// RouteMatch is one thing that speaks for an agent.
	RouteMatch struct {
		Kind   string  `json:"kind"` // keyword, pattern, example, description
		Text   string  `json:"text"`
		Intent string  `json:"intent,omitempty"` // of the trigger
		Points float64 `json:"points"`
	}

	// RouteModel is the model that was asked.
	RouteModel struct {
		ID         string      `json:"id"`
		DurationMs int64       `json:"durationMs"`
		Usage      model.Usage `json:"usage"`           // counts as the run's own
		Cost       *Cost       `json:"cost,omitempty"`  // absent where its price is not known
		Error      string      `json:"error,omitempty"` // why it did not decide
	}

	// RouteSetting is a setting that counted, by its key below agents.routing.
	RouteSetting struct {
		Key    string          `json:"key"`
		Value  json.RawMessage `json:"value"`
		Origin string          `json:"origin"` // request, default, a variable, or file:line
	}

	// ModelStarted says that a model is asked.
	ModelStarted struct {
		Model   string `json:"model"`
		Attempt int    `json:"attempt"`           // from 1
		Tokens  int    `json:"tokens"`            // estimated
		Purpose string `json:"purpose,omitempty"` // as in [ModelFinished]
		Call    string `json:"call,omitempty"`    // of the tool that asks
	}

	// ModelFinished says that a model has answered.
	ModelFinished struct {
		Model        string       `json:"model"`
		Finish       model.Finish `json:"finish"`
		Usage        model.Usage  `json:"usage"`
		FirstTokenMs int64        `json:"firstTokenMs"`
		// Purpose and Content are of an answer that is no turn of the agent's, whose
		// content comes by itself: summary, correction, search, aside, embedding.
		Purpose string       `json:"purpose,omitempty"`
		Call    string       `json:"call,omitempty"` // of the tool that asked
		Content []model.Part `json:"content,omitempty"`
	}

	// ModelContent is an answer as received: what the model is sent again.
	ModelContent struct {
		Content []model.Part    `json:"content"`
		Raw     json.RawMessage `json:"raw"`
		Invalid bool            `json:"invalid,omitempty"` // kept, and left out of what is sent again
	}

	// ContentDelta is text for the user. Concatenate.
	ContentDelta struct {
		Text string `json:"text"`
	}

	// ThoughtDelta is a summary of what the model thinks. Concatenate.
	ThoughtDelta struct {
		Subject string `json:"subject,omitempty"`
		Text    string `json:"text"`
	}

	// ToolState says that a call moved. Args are in every one.
	ToolState struct {
		Call     string          `json:"call"`
		Name     string          `json:"name"`
		Args     json.RawMessage `json:"args"`
		State    CallState       `json:"state"`
		Risk     string          `json:"risk"`
		Progress string          `json:"progress,omitempty"`
		Result   *ToolResult     `json:"result,omitempty"`
		Error    *ToolError      `json:"error,omitempty"`
		Path     string          `json:"path,omitempty"` // the file that it is about, as a URI
		// Taint says that others may have written what the model got: "foreign" or
		// "web" (spec 11.1 rule 6).
		Taint string `json:"taint,omitempty"`
	}

	// ToolDelta is output of a long tool as it comes.
	ToolDelta struct {
		Call string `json:"call"`
		Text string `json:"text"`
	}

	// ConfirmationAsked says that a person is asked about a call.
	ConfirmationAsked struct {
		ID        string `json:"id"`
		Call      string `json:"call"`
		Tool      string `json:"tool"`
		Risk      string `json:"risk"`
		Why       string `json:"why"`
		Digest    string `json:"digest"`
		ExpiresAt string `json:"expiresAt,omitempty"` // RFC 3339
		// AgentPath is the agents that led here, the asking one last, where one delegated
		// to the other.
		AgentPath []string `json:"agentPath,omitempty"`
	}

	// ConfirmationAnswered is what became of a question.
	ConfirmationAnswered struct {
		ID       string `json:"id"`
		Outcome  string `json:"outcome"` // once, run, session, always, modify, reject, cancel
		By       string `json:"by"`      // user, policy, timeout, client
		Feedback string `json:"feedback,omitempty"`
	}

	// ApprovalChanged is the session's new mode.
	ApprovalChanged struct {
		From string `json:"from"`
		To   string `json:"to"`
	}

	// Checkpoint says that the content of files was kept, right before a call
	// writes them (spec 3.7): what a rewind to the boundary before it brings back.
	Checkpoint struct {
		Files []string `json:"files"`          // URIs
		Kept  []Kept   `json:"kept,omitempty"` // the same files; After is not known yet
	}

	// Kept is what a file was before and after something wrote it. Contents are
	// blobs of the session, named by their SHA-256; "" = there is no file. They are
	// the bytes on disk or, of a document that is open in the editor, its text.
	Kept struct {
		URI    string `json:"uri"`
		Before string `json:"before,omitempty"`
		After  string `json:"after,omitempty"`
		Buffer bool   `json:"buffer,omitempty"` // written through the editor
		Modes
	}

	// Modes is what a file is besides its content, as far as it is known.
	Modes struct {
		Mode      uint32 `json:"mode,omitempty"`      // permissions before; 0 = not known
		AfterMode uint32 `json:"afterMode,omitempty"` // permissions after
		WasLink   bool   `json:"wasLink,omitempty"`   // it was a symbolic link, and before is where that led
		IsLink    bool   `json:"isLink,omitempty"`    // the same, after
	}

	// FileChanged is what a call did to a file.
	FileChanged struct {
		Change
		Call   string `json:"call,omitempty"`
		By     string `json:"by,omitempty"`     // command; unknown: a command whose end no daemon saw, or somebody else meanwhile; "" = a tool that writes files
		Before string `json:"before,omitempty"` // as in Kept
		After  string `json:"after,omitempty"`
		Buffer bool   `json:"buffer,omitempty"`
		Modes
	}

	// ChangeResolved is what a person decided about changes to a file. After keep,
	// Baseline is the content that counts as accepted; after undo, Kept is what the
	// file was and is.
	ChangeResolved struct {
		URI      string   `json:"uri"`
		Hunks    []string `json:"hunks,omitempty"` // ids; none = all
		Action   string   `json:"action"`          // keep, undo
		Baseline string   `json:"baseline,omitempty"`
		Kept     *Kept    `json:"kept,omitempty"`
	}

	// Rewound says that the session went back: each agent's context is what it was
	// at the last boundary of a turn up to ToSeq, and Files what they were then.
	// What happened since stays in the log, and a rewind to before this event
	// brings it back, but for unfinished runs that this one ended.
	Rewound struct {
		ToSeq uint64   `json:"toSeq"`
		Files []string `json:"files"`          // URIs of files that were brought back
		Left  []string `json:"left,omitempty"` // of those that somebody else changed
		Kept  []Kept   `json:"kept,omitempty"` // of Files
	}

	// Forked says that another session began with this one's events up to AtSeq. In
	// the new session, From is set and Session is the one that it came from.
	Forked struct {
		Session string `json:"session"`
		AtSeq   uint64 `json:"atSeq"`
		From    bool   `json:"from,omitempty"`
	}

	// Retry says that something is tried again.
	Retry struct {
		Of      string `json:"of"`
		Attempt int    `json:"attempt"`
		WaitMs  int64  `json:"waitMs"`
		Cause   string `json:"cause"`
		Discard bool   `json:"discard,omitempty"` // what the failed try showed is withdrawn
		// Repair is, of a guardrail (Of), what the model is asked to do.
		Repair *Repair `json:"repair,omitempty"`
	}

	// MCPState says what became of an MCP server whose tools the run has.
	MCPState struct {
		Server string `json:"server"`
		State  string `json:"state"` // idle, starting, ready, failed, stopped, unusable
		Why    string `json:"why,omitempty"`
	}

	// HookRan says what a hook decided (spec 9.2). Hooks of a session's end have no run.
	HookRan struct {
		Event    string `json:"event"`    // as in the settings: BeforeTool
		Name     string `json:"name"`     // of the hook, its command where it has none
		Decision string `json:"decision"` // allow, ask, deny, stop; failed: it could not be run to its end
		Reason   string `json:"reason,omitempty"`
		Call     string `json:"call,omitempty"` // of the tool that it is about
		// Together is what the hooks of a point decide together; the last one has it.
		Together *HookDecision `json:"together,omitempty"`
	}

	// HookDecision is what hooks decide together.
	HookDecision struct {
		Decision string   `json:"decision"` // allow, ask or deny
		Reason   string   `json:"reason,omitempty"`
		Stop     bool     `json:"stop,omitempty"`    // the run ends
		Context  []string `json:"context,omitempty"` // what the model is told besides
		// Edited is what they make of what they were given; not of requests to models.
		Edited map[string]json.RawMessage `json:"edited,omitempty"`
	}

	// LoopDetected says that a run repeats itself.
	LoopDetected struct {
		Kind   string `json:"kind"`
		Count  int    `json:"count"`
		Action string `json:"action"`         // told, ended, asked
		What   string `json:"what,omitempty"` // is repeated, in words
	}

	// HandoffStarted says that control passes to another agent for good (spec 5.2), or
	// to a person: To is user then.
	HandoffStarted struct {
		From    string          `json:"from"`
		To      string          `json:"to"`
		Reason  string          `json:"reason"`
		Summary string          `json:"summary,omitempty"`
		Context string          `json:"context,omitempty"`
		Payload json.RawMessage `json:"payload,omitempty"`
		Chain   []string        `json:"chain"`         // of agents, with To where it is one
		Depth   int             `json:"depth"`         // handoffs before and with this one
		Run     string          `json:"run,omitempty"` // of To; absent for a person
		// History is the blob of what To is told of the conversation so far, and Taint
		// says, as of ToolState, that others may have written what it is told.
		History string `json:"history,omitempty"`
		Taint   string `json:"taint,omitempty"`
		// Project is the folder that From, or an agent before it, comes with: To may do
		// no more in it than that one.
		Project string `json:"project,omitempty"`
	}

	// HandoffRejected says that an agent wanted to pass control on and may not. Code is
	// PERMISSION_DENIED, AGENT_NOT_FOUND, CONDITION_NOT_MET, INVALID_PAYLOAD,
	// MAX_DEPTH_EXCEEDED or CIRCULAR_HANDOFF.
	HandoffRejected struct {
		From    string `json:"from"`
		To      string `json:"to"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}

	// ContextCompressed is what became of an attempt to make an agent's context
	// shorter (spec 8.3). The view that a model is sent is folded from Cut,
	// Snapshot and Reduced; the history stays in the log.
	ContextCompressed struct {
		Agent      string   `json:"agent"`
		Before     int      `json:"before"` // tokens
		After      int      `json:"after"`
		Status     string   `json:"status"`               // COMPRESSED, NOOP, COMPRESSION_FAILED_…
		Scratchpad string   `json:"scratchpad,omitempty"` // what the model thought
		Snapshot   string   `json:"snapshot,omitempty"`   // what stands for the first Cut messages
		Cut        int      `json:"cut,omitempty"`        // messages of the context that Snapshot replaces
		Reduced    []string `json:"reduced,omitempty"`    // calls whose results became one line
	}

	// ContextCleared is the end of an agent's context: the next run begins a new
	// one. Purged: what it held was erased from disk as well.
	ContextCleared struct {
		Agent  string `json:"agent"`
		Purged bool   `json:"purged"`
	}

	// Todo is one step of an agent's plan.
	Todo struct {
		Description string `json:"description"`
		Status      string `json:"status"` // pending, in_progress, completed, cancelled
	}

	// TodosChanged is an agent's plan, whole.
	TodosChanged struct {
		Todos []Todo `json:"todos"`
	}

	// ErrorSeen is an error that a person should know of.
	ErrorSeen struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Where   string `json:"where"`
	}

	// Note is what a person should see that is none of the others.
	Note struct {
		Level   string `json:"level"` // info, warning
		Message string `json:"message"`
		// ToModel: the agent's model is told it too, as a message of the user's
		// before its next turn.
		ToModel bool `json:"toModel,omitempty"`
	}
)

// Answered reports whether the model answered, so that something was used.
func (m *RouteModel) Answered() bool { return m.Usage != (model.Usage{}) }
