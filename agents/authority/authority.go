// Package authority says what an agent really gets (spec 1.8): which model
// answers, within which limits, which tools it is offered and which of their
// calls a person is asked about, each with the place that it comes from.
//
// # The one idea
//
// An [Explanation] is computed by what a run is made with, not by a second set
// of rules: the lists of tools go through [tool.NewSet], what asks is what
// [guard.Gate.Authorize] answers about a plan of the tool's least tier, models
// come from [model.Table]. So a call that a run makes is in the explanation, and
// a rule that changes there changes here.
//
// [Compare] says how one explanation has more power than another, [Worst] what
// a run can use at most before anybody is asked.
//
// # What is not said
//
// Only what a run goes by is explained. Hooks, a sandbox's rules, the state of a
// server and memory are not there before they have an effect.
//
// Everything is a pure function of its input. The package imports definition,
// model, tool and guard; it reads no file.
package authority

import (
	"time"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// The defaults of an agent's run (spec 1.2).
const (
	ChatTurns = 100
	TaskTurns = 15
	TaskTime  = 300 * time.Second
)

// The most that a project's file gets which nobody has reviewed (spec 12.2).
const (
	UnreviewedChatTurns = 100
	UnreviewedTaskTurns = 30
	UnreviewedTaskTime  = 10 * time.Minute
)

// Origin is a place that a value comes from.
type Origin struct {
	File string `json:"file,omitempty"` // absolute; "" for what no file says
	Line int    `json:"line,omitempty"` // from 1; 0 where it is not known
	What string `json:"what"`           // a field, a setting, or in words what decides
}

// Setting is a value of the settings and where it is written; the zero Origin
// is a default.
type Setting[T any] struct {
	Value  T
	Origin Origin
}

// List is a list of names and globs of tools, and where it is written.
type List struct {
	Names  []string
	Origin Origin
}

// Rule is an entry of the settings about some calls of a tool, and where it is
// written.
type Rule struct {
	tool.Rule
	Origin Origin
}

// Override is a section agents.overrides.<agent> of a settings file (spec 8.2).
type Override struct {
	JSON []byte // the section, standard JSON
	File string
	Line int // from 1
}

// Server is an MCP server of the settings.
type Server struct {
	Name   string
	Origin Origin
}

// Limits are those of a tree of runs (spec 3.3).
type Limits struct {
	ModelCalls  Setting[int]
	Depth       Setting[int] // 0 = nobody delegates
	Live        Setting[int]
	Runs        Setting[int]
	InputTokens Setting[int]
}

// Input is what an explanation is made of. File is required; what is zero makes
// the explanation the stricter one, or leaves its part out.
type Input struct {
	File       *definition.Definition // as the agent's file says it
	Definition *definition.Definition // with the overrides of the settings merged over it; nil = File
	Text       string                 // of the file, for lines; "" = no lines are told
	Overrides  []Override             // as they were merged, in their order
	Ignored    []string               // what of them does not count, each beginning with file:line: and the key
	Only       []List                 // lists of a project's overrides: each takes away what it does not name
	Off        Origin                 // where the agent is switched off; zero = it is not

	Tools    []tool.Tool // that are registered
	Exclude  []List      // the session's exclusions (setting tools.exclude)
	Subagent bool        // without an allow-list it has the reading tools only
	Within   []string    // the parent's tools; nil = no parent

	Gate       *guard.Gate // the session's, which knows its taint; nil = of a new session
	Approval   guard.Approval
	Trusted    bool   // the folder that it runs in is
	CanAsk     bool   // there is a person to ask
	Confined   bool   // processes are
	Critical   bool   // security.critical: ask
	Deny       []Rule // of tools.exclude: these calls are refused
	Allow      []Rule // of tools.allowed: these calls need no question
	Timeout    Setting[time.Duration]
	Unreviewed bool // a run clamps the limits of a project's file that nobody reviewed

	Table          *model.Table // nil: nothing is known of models
	Model          Setting[string]
	Standard       string                 // the entry of the table that runs where nobody says another
	FallbackModels Setting[[]string]      // of agents that name none
	Configured     func(id string) bool   // whether a model can be asked; nil = every one
	Routes         []Setting[model.Route] // of the model auto
	Compression    Setting[string]        // the model that sums contexts up, "" = the agent's own
	Compresses     bool                   // contexts are summed up
	Limits         Limits

	Agents      []*definition.Definition // all that there are, overrides merged over them
	Servers     []Server
	MemoryFiles []string // the files that follow the prompt; nil where none do
}

// Explanation is what an agent really gets. It is a value: nothing of it leads
// back to the input.
type Explanation struct {
	Name    string           `json:"name"`
	Title   string           `json:"title"`
	File    string           `json:"file,omitempty"`
	Scope   definition.Scope `json:"scope"`
	Refused []string         `json:"refused,omitempty"` // why no run of it begins, in words; empty = it can run
	Ignored []string         `json:"ignored,omitempty"` // settings that do not count
	Values  []Value          `json:"values"`
	Model   Model            `json:"model"`
	Tools   []Tool           `json:"tools"` // all that are registered, by name
	Open    Open             `json:"open"`

	Servers   []Reference `json:"mcpServers,omitempty"`
	Subagents []Reference `json:"subagents,omitempty"`
	Handoffs  []Reference `json:"handoffs,omitempty"`
	Memory    []string    `json:"memoryFiles,omitempty"`

	Approval guard.Approval `json:"approval"`
	Tokens   Tokens         `json:"tokens"`
	Worst    WorstCase      `json:"worst"`
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
	Name      string        `json:"name"`              // as it was written; never inherit
	ID        string        `json:"id"`                // auto where each run has its own
	Retired   bool          `json:"retired,omitempty"` // the written one is; ID is its successor
	Known     bool          `json:"known"`             // the table names it
	Route     string        `json:"route,omitempty"`   // auto: the model of a run in a new context
	Fallbacks []string      `json:"fallbacks"`         // ids, tried in order
	Window    int           `json:"window,omitempty"`  // tokens of a request; 0 = not known
	Prices    []model.Price `json:"prices,omitempty"`  // none = not known
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
	Tier    string `json:"tier"`              // the least of its calls; arguments may raise it (spec 11.1)
	Command bool   `json:"command,omitempty"` // the tier is by command (spec 4.2): Tier and Asks are of an ordinary one
	Offered bool   `json:"offered"`
	Added   bool   `json:"added,omitempty"` // by the run itself: it is not among the registered
	Why     string `json:"why"`             // which list took it away or let it in
	Origin  Origin `json:"origin"`          // of that list's entry
	Asks    Asks   `json:"asks"`
	Reason  string `json:"reason,omitempty"`  // why it does not simply run in the mode that holds
	Require bool   `json:"require,omitempty"` // the agent's file says that it always asks, and no answer is remembered
}

// Open is what the lists say of tools that are not registered yet, as those of
// an MCP server that is not connected: entries that are globs or name none.
type Open struct {
	All     bool     `json:"all,omitempty"` // no list says what is allowed
	Allow   []string `json:"allow,omitempty"`
	Deny    []string `json:"deny,omitempty"`
	Require []string `json:"require,omitempty"` // of the tools that always ask
}

// Reference is a name of something outside of the file.
type Reference struct {
	Name   string `json:"name"` // "*" = all there are
	Known  bool   `json:"known"`
	Text   string `json:"text,omitempty"` // what a person should know of it
	Origin Origin `json:"origin"`
}

// Tokens are estimates of what each request has before anything is said.
type Tokens struct {
	Prompt int `json:"prompt"` // of the agent's own prompt, placeholders as they stand
	Tools  int `json:"tools"`  // of the offered tools' names, descriptions and schemas
}

// Offered returns the names of the tools that a run offers its model, sorted.
func (e *Explanation) Offered() []string {
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
