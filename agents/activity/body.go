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
		// What the person or the calling agent asked, as the request had it.
		Input []ContentBlock `json:"input"`
		// How it works, as chat or as task (spec 3.3).
		Mode string `json:"mode"`
		// The mode in which calls are decided about: plan, ask, edits or auto.
		Approval string `json:"approval"`
		// The id of the model that is asked first.
		Model string `json:"model"`
		// The names of the tools that the agent has.
		Tools []string `json:"tools"`
		// The agents that led here by delegation or handoff, this one last.
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
		// The state that the run leaves; empty for its first.
		From State `json:"from"`
		// The state that it is in now; after finished comes only run.finished.
		To State `json:"to"`
		// For a person, as a sentence.
		Why     string `json:"why,omitempty"`
		Resumes string `json:"resumes,omitempty"` // what makes it go on
		// Limit is the one that a paused run would cross: calls, input, tokens, cost.
		Limit string `json:"limit,omitempty"`
		// Extended is what a run that goes on may use besides.
		Extended *Extended `json:"extended,omitempty"`
	}

	// Extended is how much more a run may use than its agent and the settings say.
	Extended struct {
		// More of run.max_turns; like the others, 0 where it is not extended.
		Turns int `json:"turns,omitempty"`
		// More of run.max_time.
		Seconds     int `json:"seconds,omitempty"`
		ModelCalls  int `json:"modelCalls,omitempty"`
		InputTokens int `json:"inputTokens,omitempty"`
		Tokens      int `json:"tokens,omitempty"`
		// More of run.max_cost, in US dollars.
		USD float64 `json:"usd,omitempty"`
	}

	// RunFinished is the last event of a run: its result but for session, run
	// and agent, which the event has.
	RunFinished struct {
		// How it ended (spec 3.5).
		Reason Reason `json:"reason"`
		// The limit that was hit before the last turn of a task run ended it well;
		// absent otherwise.
		Recovered Reason `json:"recovered,omitempty"`
		// The answer; of a run that ended early what there was of it, or a sentence
		// that says why.
		Text string `json:"text"`
		// The structured result, where the agent's file has an output, and of a graph.
		Output json.RawMessage `json:"output,omitempty"`
		// What its calls of models used, and of those of runs that it waited for.
		Usage model.Usage `json:"usage"`
		// What these cost; absent where a price is not known.
		Cost  *Cost `json:"cost,omitempty"`
		Turns int   `json:"turns"`
		// The calls that models asked for, also those that were refused.
		ToolCalls int      `json:"toolCalls"`
		Fallbacks []string `json:"fallbacks,omitempty"` // models that answered in place of the chosen one
		// The runs of the chain of handoffs, this one last; never null.
		Chain []Link `json:"chain"`
		// The guardrails that were asked, in order; never null.
		Guardrails []Guard `json:"guardrails"`
		// What the run did to files, one entry for each; never null.
		Changes []Change `json:"changes"`
		// The findings in the agent's file; never null.
		Problems []definition.Problem `json:"problems"`
		// Why it could not go on; absent where the reason says enough.
		Error *Failure `json:"error,omitempty"`
	}

	// TurnStarted begins a turn.
	TurnStarted struct {
		// From 1, counted over the whole run, also after it was resumed.
		Turn int `json:"turn"`
	}

	// TurnFinished ends a turn.
	TurnFinished struct {
		Turn int `json:"turn"`
		// What the answer of this turn used, without attempts that failed.
		Usage model.Usage `json:"usage"`
		// How many calls the answer asked for.
		ToolCalls int `json:"toolCalls"`
	}

	// Input is a person's message, also one that arrives while a run goes on.
	Input struct {
		// What was said; never null.
		Input    []ContentBlock `json:"input"`
		Position int            `json:"position,omitempty"` // in the queue; 0 = taken at once
	}

	// ModelStarted says that a model is asked.
	ModelStarted struct {
		// The id that the provider is asked for.
		Model   string `json:"model"`
		Attempt int    `json:"attempt"`           // from 1
		Tokens  int    `json:"tokens"`            // estimated
		Purpose string `json:"purpose,omitempty"` // as in [ModelFinished]
		Call    string `json:"call,omitempty"`    // of the tool that asks
	}

	// ModelFinished says that a model has answered.
	ModelFinished struct {
		// The id that was asked for.
		Model string `json:"model"`
		// Why the answer ended.
		Finish model.Finish `json:"finish"`
		Usage  model.Usage  `json:"usage"`
		// Milliseconds from the request to the first piece of text, thought or call; 0
		// where none came.
		FirstTokenMs int64 `json:"firstTokenMs"`
		// Purpose and Content are of an answer that is no turn of the agent's, whose
		// content comes by itself: summary, correction, search, aside, embedding.
		Purpose string       `json:"purpose,omitempty"`
		Call    string       `json:"call,omitempty"` // of the tool that asked
		Content []model.Part `json:"content,omitempty"`
	}

	// ModelContent is an answer as received: what the model is sent again.
	ModelContent struct {
		// The answer's parts, in their order; nothing in them is masked, since
		// signatures cover them.
		Content []model.Part `json:"content"`
		// The provider's own parts, as they have to be sent back to it; no other
		// provider reads them.
		Raw     json.RawMessage `json:"raw"`
		Invalid bool            `json:"invalid,omitempty"` // kept, and left out of what is sent again
	}

	// ContentDelta is text for the user. Concatenate.
	ContentDelta struct {
		// A piece of the answer; it may begin or end anywhere but within a character.
		Text string `json:"text"`
	}

	// ThoughtDelta is a summary of what the model thinks. Concatenate.
	ThoughtDelta struct {
		// The heading of the thought; absent where the model gives none.
		Subject string `json:"subject,omitempty"`
		Text    string `json:"text"`
	}

	// ToolState says that a call moved. Args are in every one.
	ToolState struct {
		// The id of the call, unique in the session: RUN#TURN-INDEX.
		Call string `json:"call"`
		// The tool's name, as the model wrote it.
		Name string `json:"name"`
		// As the model wrote them, or as a hook or the person changed them.
		Args json.RawMessage `json:"args"`
		// Where the call stands now (spec 3.4).
		State CallState `json:"state"`
		// The tier of this call: safe, low, medium, high, protected or
		// catastrophic.
		Risk string `json:"risk"`
		// A line for people about a call that goes on.
		Progress string `json:"progress,omitempty"`
		// What came of it; there with success.
		Result *ToolResult `json:"result,omitempty"`
		// What went wrong; there with error and cancelled.
		Error *ToolError `json:"error,omitempty"`
		Path  string     `json:"path,omitempty"` // the file that it is about, as a URI
		// Taint says that others may have written what the model got: "foreign" or
		// "web" (spec 11.1 rule 6).
		Taint string `json:"taint,omitempty"`
	}

	// ToolDelta is output of a long tool as it comes.
	ToolDelta struct {
		// The id of the call.
		Call string `json:"call"`
		// A piece of what it writes; concatenate.
		Text string `json:"text"`
	}

	// ConfirmationAsked says that a person is asked about a call.
	ConfirmationAsked struct {
		// What an answer names; a question dies with its call.
		ID string `json:"id"`
		// The id of the call that waits.
		Call string `json:"call"`
		Tool string `json:"tool"`
		// The tier of the call, as of ToolState.
		Risk string `json:"risk"`
		// The reason for asking, in words for a person.
		Why string `json:"why"`
		// Hex SHA-256 of what would run; an answer is for exactly this.
		Digest    string `json:"digest"`
		ExpiresAt string `json:"expiresAt,omitempty"` // RFC 3339
		// AgentPath is the agents that led here, the asking one last, where one delegated
		// to the other.
		AgentPath []string `json:"agentPath,omitempty"`
	}

	// ConfirmationAnswered is what became of a question.
	ConfirmationAnswered struct {
		// The question's id.
		ID      string `json:"id"`
		Outcome string `json:"outcome"` // once, run, session, always, modify, reject, cancel
		By      string `json:"by"`      // user, policy, timeout, client
		// What the person said with a refusal; the model is told it.
		Feedback string `json:"feedback,omitempty"`
	}

	// ApprovalChanged is the session's new mode.
	ApprovalChanged struct {
		// The mode before: plan, ask, edits or auto.
		From string `json:"from"`
		// The mode now.
		To string `json:"to"`
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
		// The file.
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
		// The file.
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
		// The number of the event that the session went back to.
		ToSeq uint64   `json:"toSeq"`
		Files []string `json:"files"`          // URIs of files that were brought back
		Left  []string `json:"left,omitempty"` // of those that somebody else changed
		Kept  []Kept   `json:"kept,omitempty"` // of Files
	}

	// Forked says that another session began with this one's events up to AtSeq. In
	// the new session, From is set and Session is the one that it came from.
	Forked struct {
		Session string `json:"session"`
		// The number of the last event that both sessions have.
		AtSeq uint64 `json:"atSeq"`
		From  bool   `json:"from,omitempty"`
	}

	// Retry says that something is tried again.
	Retry struct {
		// What is tried again: model; guardrail; or node and the name of
		// a graph's step.
		Of string `json:"of"`
		// The number of the try that failed or that follows, from 1.
		Attempt int `json:"attempt"`
		// Milliseconds until the next try; 0 = at once.
		WaitMs int64 `json:"waitMs"`
		// What went wrong, for a person.
		Cause   string `json:"cause"`
		Discard bool   `json:"discard,omitempty"` // what the failed try showed is withdrawn
		// Repair is, of a guardrail (Of), what the model is asked to do.
		Repair *Repair `json:"repair,omitempty"`
	}

	// MCPState says what became of an MCP server whose tools the run has.
	MCPState struct {
		// Its name in the settings.
		Server string `json:"server"`
		State  string `json:"state"` // idle, starting, ready, failed, stopped, unusable
		// What went wrong, for a person.
		Why string `json:"why,omitempty"`
	}

	// HookRan says what a hook decided (spec 9.2). Hooks of a session's end have no run.
	HookRan struct {
		Event    string `json:"event"`    // as in the settings: BeforeTool
		Name     string `json:"name"`     // of the hook, its command where it has none
		Decision string `json:"decision"` // allow, ask, deny, stop; failed: it could not be run to its end
		// What the hook said; of a failed one, why.
		Reason string `json:"reason,omitempty"`
		Call   string `json:"call,omitempty"` // of the tool that it is about
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
		// What is repeated: call (the same one again), cycle (the same few in turn) or
		// text.
		Kind string `json:"kind"`
		// How often it was seen.
		Count  int    `json:"count"`
		Action string `json:"action"`         // told, ended, asked
		What   string `json:"what,omitempty"` // is repeated, in words
	}

	// HandoffStarted says that control passes to another agent for good (spec 5.2), or
	// to a person: To is user then.
	HandoffStarted struct {
		// The agent that passes control on.
		From string `json:"from"`
		To   string `json:"to"`
		// Why, in the agent's words.
		Reason string `json:"reason"`
		// What has been done so far, in the agent's words.
		Summary string `json:"summary,omitempty"`
		// What the successor should know besides, in the agent's words.
		Context string `json:"context,omitempty"`
		// Values that the entry in the agent's file asks for, checked against its
		// schema.
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
		From string `json:"from"`
		To   string `json:"to"`
		Code string `json:"code"`
		// What the agent's model was told.
		Message string `json:"message"`
	}

	// ContextCompressed is what became of an attempt to make an agent's context
	// shorter (spec 8.3). The view that a model is sent is folded from Cut,
	// Snapshot and Reduced; the history stays in the log.
	ContextCompressed struct {
		Agent  string `json:"agent"`
		Before int    `json:"before"` // tokens
		// Tokens; equal to before where nothing was taken out.
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
		// The whole plan, in order; empty = there is none.
		Todos []Todo `json:"todos"`
	}

	// ErrorSeen is an error that a person should know of.
	ErrorSeen struct {
		// Stable: a reason of spec 2.5, graph, or why a run was given up.
		Code string `json:"code"`
		// For a person.
		Message string `json:"message"`
		// What failed: a tool's name, model, run, compression, activity.append, a node.
		Where string `json:"where"`
	}

	// Note is what a person should see that is none of the others.
	Note struct {
		Level string `json:"level"` // info, warning
		// For a person; one or more sentences.
		Message string `json:"message"`
		// ToModel: the agent's model is told it too, as a message of the user's
		// before its next turn.
		ToModel bool `json:"toModel,omitempty"`
	}
)
