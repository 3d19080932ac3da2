package activity

import (
	"encoding/json"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
)

// Purge returns what is left of a body when what was said is erased (spec 3.7):
// numbers, states, names of tools, agents and models, and ids stay, so that a
// session's runs and what they used are still known; texts, arguments, results,
// files and data of the provider go.
//
// b is not changed. A body whose type is not known here keeps its name and
// nothing else. Whoever adds a body adds its case: without one its data would
// be dropped altogether, which is safe and loses the numbers that a session's
// totals are made of.
func Purge(b Body) Body {
	switch b := b.(type) {
	case RunStarted:
		return RunStarted{Input: []ContentBlock{}, Mode: b.Mode, Approval: b.Approval, Model: b.Model, Tools: b.Tools,
			Chain: b.Chain, Definition: b.Definition, Taint: b.Taint, Call: b.Call}
	case RunState:
		return RunState{From: b.From, To: b.To, Limit: b.Limit, Extended: b.Extended}
	case RunFinished:
		return purgeResult(b)
	case ModelFinished:
		b.Content = nil
		return b
	case TurnStarted, TurnFinished, ModelStarted, ApprovalChanged, ContextCleared, Forked:
		return b
	case RouteDecided:
		return purgeRoute(b)
	case Input:
		return Input{Input: []ContentBlock{}, Position: b.Position}
	case ModelContent:
		return ModelContent{Content: []model.Part{}, Invalid: b.Invalid}
	case ContentDelta:
		return ContentDelta{}
	case ThoughtDelta:
		return ThoughtDelta{}
	case ToolState:
		return purgeCall(b)
	case ToolDelta:
		return ToolDelta{Call: b.Call}
	case ConfirmationAsked:
		return ConfirmationAsked{ID: b.ID, Call: b.Call, Tool: b.Tool, Risk: b.Risk, ExpiresAt: b.ExpiresAt}
	case ConfirmationAnswered:
		return ConfirmationAnswered{ID: b.ID, Outcome: b.Outcome, By: b.By}
	case Checkpoint:
		return Checkpoint{Files: []string{}}
	case FileChanged:
		return FileChanged{Change: Change{Kind: b.Kind, Hunks: []Hunk{}}}
	case ChangeResolved:
		return ChangeResolved{Action: b.Action}
	case Rewound:
		return Rewound{ToSeq: b.ToSeq, Files: []string{}}
	case Retry:
		return Retry{Of: b.Of, Attempt: b.Attempt, WaitMs: b.WaitMs, Discard: b.Discard}
	case GraphNode:
		return GraphNode{Node: b.Node, State: b.State, Step: b.Step, Attempt: b.Attempt, Taint: b.Taint}
	case MCPState:
		return MCPState{Server: b.Server, State: b.State}
	case HookRan:
		return HookRan{Event: b.Event, Name: b.Name, Decision: b.Decision, Call: b.Call}
	case LoopDetected:
		return LoopDetected{Kind: b.Kind, Count: b.Count, Action: b.Action}
	case HandoffStarted:
		return HandoffStarted{From: b.From, To: b.To, Chain: b.Chain, Depth: b.Depth, Run: b.Run, Taint: b.Taint}
	case HandoffRejected:
		return HandoffRejected{From: b.From, To: b.To, Code: b.Code}
	case ContextCompressed:
		return ContextCompressed{Agent: b.Agent, Before: b.Before, After: b.After, Status: b.Status}
	case TodosChanged:
		return TodosChanged{Todos: []Todo{}}
	case GuardrailChecked:
		b.Errors, b.Outputs = nil, nil
		return b
	case StateChanged: // what was set is gone, as if it had been removed
		return StateChanged{Key: b.Key, Run: b.Run}
	case MemoryChanged:
		return MemoryChanged{Store: b.Store, Key: b.Key}
	case ErrorSeen:
		return ErrorSeen{Code: b.Code}
	case Note:
		return Note{Level: b.Level}
	}
	return Unknown{Name: b.Type()}
}

// purgeResult is [Purge] of how a run ended.
// Numbers, names, and kinds stay; whatever somebody said or wrote goes. The
// lists are empty and not nil, since a client has been promised lists.
func purgeResult(b RunFinished) RunFinished {
	left := RunFinished{
		Reason: b.Reason, Recovered: b.Recovered, Usage: b.Usage, Cost: b.Cost, Turns: b.Turns, ToolCalls: b.ToolCalls,
		Chain: []Link{}, Guardrails: []Guard{}, Changes: []Change{}, Problems: []definition.Problem{},
	}
	for _, g := range b.Guardrails {
		g.Errors = nil
		left.Guardrails = append(left.Guardrails, g)
	}
	for _, l := range b.Chain {
		l.Reason = ""
		left.Chain = append(left.Chain, l)
	}
	if b.Error != nil {
		left.Error = &Failure{Kind: b.Error.Kind}
	}
	return left
}

// purgeRoute is [Purge] of why an agent was picked. What the router's model used counts
// as the run's.
func purgeRoute(b RouteDecided) RouteDecided {
	left := RouteDecided{
		Strategy: b.Strategy, Agent: b.Agent, By: b.By, Confidence: b.Confidence, Candidates: []RouteCandidate{},
		Considered: b.Considered, Margin: b.Margin, Threshold: b.Threshold, Fallback: b.Fallback,
		Settings: []RouteSetting{}, Partial: b.Partial,
	}
	if m := b.Model; m != nil {
		left.Model = &RouteModel{ID: m.ID, DurationMs: m.DurationMs, Usage: m.Usage, Cost: m.Cost}
	}
	return left
}

// purgeCall is [Purge] of a tool call.
func purgeCall(b ToolState) ToolState {
	left := ToolState{Call: b.Call, Name: b.Name, Args: json.RawMessage("{}"), State: b.State,
		Risk: b.Risk, Taint: b.Taint}
	if b.Result != nil {
		left.Result = &ToolResult{Bytes: b.Result.Bytes}
	}
	if b.Error != nil {
		left.Error = &ToolError{Code: b.Error.Code}
	}
	return left
}
