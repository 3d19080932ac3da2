package agents

import "time"

// Compression is what settings say about the compression of contexts (spec
// 8.3).
type Compression struct {
	Enabled   bool    // without it contexts are compressed only when a person asks
	Threshold float64 // part of the window from which a context is compressed, above 0 to 1
	Preserve  float64 // part of the context, its newest, that stays as it is, 0 to below 1
	Model     string  // who sums up: an entry of the table, an alias or an id
}

// defaultHandoffDepth is how many agents a chain has at most (spec 5.2).
const defaultHandoffDepth = 5

// Limits are the limits of a tree of runs (spec 3.3). All of them are above 0,
// but for Depth, which may be 0: nobody delegates.
type Limits struct {
	ModelCalls  int // calls of models, of all runs together
	Depth       int // how deep a delegated run may lie below the first
	Live        int // runs at the same time
	Runs        int // runs in all
	InputTokens int // tokens that models are sent before the person is asked
}

// Routing is what settings say about picking an agent (spec 5.1).
type Routing struct {
	Enabled      bool
	Strategy     string // rule, llm or hybrid
	Threshold    int    // confidence from which hybrid asks no model, 0 to 100
	Model        string // an entry of the table, an alias or an id
	Timeout      time.Duration
	Fallback     string // none, prompt_user or default_agent
	DefaultAgent string
	Auto         bool // input that names no agent is routed

	Origins map[string]string // of the first seven by their keys below agents.routing; absent = the default
}

// Override is a section agents.overrides.<agent> of a settings file (spec 8.2).
type Override struct {
	JSON    []byte // the section, standard JSON
	Project bool   // of a project's settings: it can take power away only
	File    string // where it is written, for problems
	Line    int    // from 1
}
