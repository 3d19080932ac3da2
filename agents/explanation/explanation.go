// Package explanation says what an agent really gets (spec 1.8), as it travels:
// which model answers, within which limits, which tools it is offered and which of
// their calls a person is asked about, each with the place that it comes from.
//
// It has values only, made by package authority; nothing of them leads back to
// what they were made of.
package explanation

import (
	"fmt"
	"math"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/settings"
)

// Origin is a place that a value comes from.
type Origin struct {
	File string `json:"file,omitempty"` // absolute; "" for what no file says
	Line int    `json:"line,omitzero"`  // from 1; 0 where it is not known
	What string `json:"what"`           // a field, a setting, or in words what decides
}

// OriginOf returns the place of a setting; the zero Origin for a default.
func OriginOf(key string, o settings.Origin) Origin {
	if o.File == "" {
		return Origin{}
	}
	return Origin{File: o.File, Line: o.Line, What: key}
}

// Explanation is what an agent really gets.
type Explanation struct {
	Name    string           `json:"name"`
	Title   string           `json:"title"`
	File    string           `json:"file,omitempty"`
	Scope   definition.Scope `json:"scope"`
	Trusted bool             `json:"trusted"`           // the folder that it runs in is
	Refused []string         `json:"refused,omitempty"` // why no run of it begins, in words; empty = it can run
	// Restricted is how its file restricts itself in a way that cannot be kept here,
	// for which no run begins.
	Restricted []string `json:"restricted,omitempty"`
	Ignored    []string `json:"ignored,omitempty"` // settings that do not count
	Lost       []string `json:"lost,omitempty"`    // entries of its lists of tools that name no tool, and what has no effect
	Values     []Value  `json:"values"`
	Model      Model    `json:"model"`
	Tools      []Tool   `json:"tools"` // all that are registered, by name
	Open       Open     `json:"open"`

	Servers   []Reference `json:"mcpServers,omitempty"`
	Subagents []Reference `json:"subagents,omitempty"`
	Handoffs  []Reference `json:"handoffs,omitempty"`
	Graph     []Reference `json:"graph,omitempty"`  // the agents that its nodes run
	Guards    []Reference `json:"guards,omitempty"` // checks of what goes in and out, in their order; Known: who judges is there, as far as that is known
	Hooks     []Reference `json:"hooks,omitempty"`  // in the order in which they are run; Known: it can be
	Memory    []string    `json:"memoryFiles,omitempty"`

	Approval string    `json:"approval"` // the mode that holds
	Tokens   Tokens    `json:"tokens"`
	Worst    WorstCase `json:"worst"`
}

// Value is one value that holds for a run.
type Value struct {
	Key      string   `json:"key"`  // as the file would have it; limits.modelCalls for a setting
	Text     string   `json:"text"` // for people, one line
	Value    any      `json:"value"`
	Origin   Origin   `json:"origin"`
	Overrode []Origin `json:"overrode,omitempty"` // what also says it, and does not count: the nearest first
}

// Model is who answers.
type Model struct {
	Name           string                   `json:"name"`                     // as it was written; never inherit
	ID             string                   `json:"id"`                       // auto where each run has its own
	Retired        bool                     `json:"retired,omitzero"`         // the written one is; ID is its successor
	Known          bool                     `json:"known"`                    // the table names it
	Route          string                   `json:"route,omitempty"`          // auto: the model of a run in a new context
	Fallbacks      []string                 `json:"fallbacks"`                // ids, tried in order
	FallbackPrices map[string][]model.Price `json:"fallbackPrices,omitempty"` // of these, by id; none = not known
	Window         int                      `json:"window,omitzero"`          // tokens of a request; 0 = not known
	Prices         []model.Price            `json:"prices,omitempty"`         // none = not known
}

// Verdict is what becomes of a call: auto, ask or refuse.
type Verdict string

// The verdicts, strictest first.
const (
	Refuse Verdict = "refuse"
	Ask    Verdict = "ask"
	Auto   Verdict = "auto"
)

// Asks is what becomes of a tool's calls in each approval mode.
type Asks struct {
	Plan  Verdict `json:"plan"`
	Ask   Verdict `json:"ask"`
	Edits Verdict `json:"edits"`
	Auto  Verdict `json:"auto"`
	Now   Verdict `json:"now"` // in the mode that holds
}

// Tool is one tool, offered or not.
type Tool struct {
	Name    string `json:"name"`
	Tier    string `json:"tier"`             // the least of its calls; arguments may raise it (spec 11.1)
	Command bool   `json:"command,omitzero"` // the tier is by command (spec 4.2): Tier and Asks are of an ordinary one
	Offered bool   `json:"offered"`
	Added   bool   `json:"added,omitzero"` // by the run itself: it is not among the registered
	Why     string `json:"why"`            // which list took it away or let it in
	Origin  Origin `json:"origin"`         // of that list's entry
	Asks    Asks   `json:"asks"`
	Reason  string `json:"reason,omitempty"` // why it does not simply run in the mode that holds
	Require bool   `json:"require,omitzero"` // the agent's file says that it always asks, and no answer is remembered
}

// Open is what the lists say of tools that are not registered yet, as those of
// an MCP server that is not connected: entries that are globs or name none.
type Open struct {
	All     bool     `json:"all,omitzero"` // no list says what is allowed
	Allow   []string `json:"allow,omitempty"`
	Deny    []string `json:"deny,omitempty"`
	Require []string `json:"require,omitempty"` // of the tools that always ask
}

// Reference is a name of something outside of the file.
type Reference struct {
	Name      string `json:"name"` // "*" = all there are
	Known     bool   `json:"known"`
	Text      string `json:"text,omitempty"`      // what a person should know of it
	When      string `json:"when,omitempty"`      // of a handoff: manual, auto, conditional
	Condition string `json:"condition,omitempty"` // of a handoff
	Origin    Origin `json:"origin"`
}

// Tokens are estimates of what each request has before anything is said.
type Tokens struct {
	Prompt int `json:"prompt"` // of the agent's own prompt, placeholders as they stand
	Tools  int `json:"tools"`  // of the offered tools' names, descriptions and schemas
}

// ToolNames returns the names of the tools that a run offers its model, sorted.
func (e *Explanation) ToolNames() []string {
	var names []string
	for _, t := range e.Tools {
		if t.Offered {
			names = append(names, t.Name)
		}
	}
	return names
}

// Value returns the value of a key.
func (e *Explanation) Value(key string) (Value, bool) {
	for _, v := range e.Values {
		if v.Key == key {
			return v, true
		}
	}
	return Value{}, false
}

// WorstCase is what a run uses at most before a person gives it more. The
// amount is absent where a price, or how long an answer may be, is not known. Tokens and
// amount are what a run counts (RunResult of spec 2.2): a provider may ask for an
// attempt that broke off, too.
type WorstCase struct {
	Calls        int      `json:"calls"`                 // of models, in all runs together, failed ones too
	Runs         int      `json:"runs"`                  // with those that it delegates to
	InputTokens  int      `json:"inputTokens,omitzero"`  // 0 = not known
	OutputTokens int      `json:"outputTokens,omitzero"` // 0 = not known
	USD          *float64 `json:"usd,omitempty"`
}

// Text is the worst case in a few words, as an inlay hint has it.
func (w WorstCase) Text() string {
	text := fmt.Sprintf("≤ %d model calls", w.Calls)
	if w.Calls == 1 {
		text = "≤ 1 model call"
	}
	if w.USD != nil {
		text += fmt.Sprintf(", ≤ $%.2f", max(math.Ceil(*w.USD*100-1e-6), 0)/100)
	}
	return text
}
