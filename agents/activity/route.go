package activity

import (
	"encoding/json"

	"github.com/agentls/agentls/agents/model"
)

// What the router decided, and by what.
type (
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
		Agent string `json:"agent"`
		Score int    `json:"score"` // who has the most leads
		// 0 to 100
		Confidence int          `json:"confidence"`
		Matches    []RouteMatch `json:"matches"` // 16 at most
	}

	// RouteMatch is one thing that speaks for an agent.
	RouteMatch struct {
		Kind string `json:"kind"` // keyword, pattern, example, description
		// What the agent's file has: the keyword, the pattern or the example.
		Text   string `json:"text"`
		Intent string `json:"intent,omitempty"` // of the trigger
		// What it adds to the score.
		Points float64 `json:"points"`
	}

	// RouteModel is the model that was asked.
	RouteModel struct {
		ID string `json:"id"`
		// Milliseconds from the request to the whole answer.
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
)

// Answered reports whether the model answered, so that something was used. m must not be
// nil; a RouteDecided without a Model asked none.
func (m *RouteModel) Answered() bool { return m.Usage != (model.Usage{}) }
