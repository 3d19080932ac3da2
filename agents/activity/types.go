package activity

// The names of the bodies, and how each is read.

import "encoding/json"

// Type implements [Body].
func (RunStarted) Type() string           { return "run.started" }
func (RunState) Type() string             { return "run.state" }             // Type implements [Body].
func (RunFinished) Type() string          { return "run.finished" }          // Type implements [Body].
func (TurnStarted) Type() string          { return "turn.started" }          // Type implements [Body].
func (TurnFinished) Type() string         { return "turn.finished" }         // Type implements [Body].
func (Input) Type() string                { return "input" }                 // Type implements [Body].
func (RouteDecided) Type() string         { return "route.decided" }         // Type implements [Body].
func (ModelStarted) Type() string         { return "model.started" }         // Type implements [Body].
func (ModelFinished) Type() string        { return "model.finished" }        // Type implements [Body].
func (ModelContent) Type() string         { return "model.content" }         // Type implements [Body].
func (ContentDelta) Type() string         { return "content.delta" }         // Type implements [Body].
func (ThoughtDelta) Type() string         { return "thought.delta" }         // Type implements [Body].
func (ToolState) Type() string            { return "tool.state" }            // Type implements [Body].
func (ToolDelta) Type() string            { return "tool.delta" }            // Type implements [Body].
func (ConfirmationAsked) Type() string    { return "confirmation.asked" }    // Type implements [Body].
func (ConfirmationAnswered) Type() string { return "confirmation.answered" } // Type implements [Body].
func (ApprovalChanged) Type() string      { return "approval.changed" }      // Type implements [Body].
func (Checkpoint) Type() string           { return "checkpoint" }            // Type implements [Body].
func (FileChanged) Type() string          { return "file.changed" }          // Type implements [Body].
func (ChangeResolved) Type() string       { return "change.resolved" }       // Type implements [Body].
func (Rewound) Type() string              { return "rewound" }               // Type implements [Body].
func (Forked) Type() string               { return "forked" }                // Type implements [Body].
func (Retry) Type() string                { return "retry" }                 // Type implements [Body].
func (LoopDetected) Type() string         { return "loop.detected" }         // Type implements [Body].
func (HandoffStarted) Type() string       { return "handoff.started" }       // Type implements [Body].
func (HandoffRejected) Type() string      { return "handoff.rejected" }      // Type implements [Body].
func (ContextCompressed) Type() string    { return "context.compressed" }    // Type implements [Body].
func (ContextCleared) Type() string       { return "context.cleared" }       // Type implements [Body].
func (MCPState) Type() string             { return "mcp.state" }             // Type implements [Body].
func (HookRan) Type() string              { return "hook.ran" }              // Type implements [Body].
func (TodosChanged) Type() string         { return "todos.changed" }         // Type implements [Body].
func (StateChanged) Type() string         { return "state.changed" }         // Type implements [Body].
func (MemoryChanged) Type() string        { return "memory.changed" }        // Type implements [Body].
func (ErrorSeen) Type() string            { return "error" }                 // Type implements [Body].
func (Note) Type() string                 { return "note" }                  // Type implements [Body].

// bodies has a row for every body, so that a log can be read back.
var bodies = map[string]func([]byte) (Body, error){
	RunStarted{}.Type():           read[RunStarted],
	RunState{}.Type():             read[RunState],
	RunFinished{}.Type():          read[RunFinished],
	TurnStarted{}.Type():          read[TurnStarted],
	TurnFinished{}.Type():         read[TurnFinished],
	Input{}.Type():                read[Input],
	RouteDecided{}.Type():         read[RouteDecided],
	ModelStarted{}.Type():         read[ModelStarted],
	ModelFinished{}.Type():        read[ModelFinished],
	ModelContent{}.Type():         read[ModelContent],
	ContentDelta{}.Type():         read[ContentDelta],
	ThoughtDelta{}.Type():         read[ThoughtDelta],
	ToolState{}.Type():            read[ToolState],
	ToolDelta{}.Type():            read[ToolDelta],
	ConfirmationAsked{}.Type():    read[ConfirmationAsked],
	ConfirmationAnswered{}.Type(): read[ConfirmationAnswered],
	ApprovalChanged{}.Type():      read[ApprovalChanged],
	Checkpoint{}.Type():           read[Checkpoint],
	FileChanged{}.Type():          read[FileChanged],
	ChangeResolved{}.Type():       read[ChangeResolved],
	Rewound{}.Type():              read[Rewound],
	Forked{}.Type():               read[Forked],
	Retry{}.Type():                read[Retry],
	LoopDetected{}.Type():         read[LoopDetected],
	HandoffStarted{}.Type():       read[HandoffStarted],
	HandoffRejected{}.Type():      read[HandoffRejected],
	MCPState{}.Type():             read[MCPState],
	HookRan{}.Type():              read[HookRan],
	ContextCompressed{}.Type():    read[ContextCompressed],
	ContextCleared{}.Type():       read[ContextCleared],
	TodosChanged{}.Type():         read[TodosChanged],
	StateChanged{}.Type():         read[StateChanged],
	MemoryChanged{}.Type():        read[MemoryChanged],
	GuardrailChecked{}.Type():     read[GuardrailChecked],
	ErrorSeen{}.Type():            read[ErrorSeen],
	Note{}.Type():                 read[Note],
	GraphNode{}.Type():            read[GraphNode],
}

// read decodes data as a body of one type. Members that the type does not have are ignored.
func read[B Body](data []byte) (Body, error) {
	var b B
	err := json.Unmarshal(data, &b)
	return b, err
}
