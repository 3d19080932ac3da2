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
// Only what a run goes by is explained. Hooks and servers are named, with what is
// known of their state; what a hook answers, which tools a server will bring and what
// a sandbox's rules forbid is not known before it happens.
//
// Everything is a pure function of its input, and reads no file.
//
// TestEveryCallIsExplained and TestRunsGoByTheirExplanation of package agents hold that
// a run and its explanation agree.
package authority

import (
	"time"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

// The most that a project's file gets which nobody has reviewed (spec 12.2).
const (
	UnreviewedChatTurns = 100
	UnreviewedTaskTurns = 30
	UnreviewedTaskTime  = 10 * time.Minute
)

// List is a list of names and globs of tools, and where it is written. Names are as
// written there: names of other tools are read in their canonical form too.
type List struct {
	Names  []string
	Origin Origin
}

// Lists are several of them, each of which counts.
type Lists []List

// Names returns the names and globs of all.
func (l Lists) Names() []string {
	var names []string
	for _, list := range l {
		names = append(names, list.Names...)
	}
	return names
}

// Server is an MCP server of the settings.
type Server struct {
	Name   string
	Origin Origin
	State  string // what it does now; "" where that is not known
}

// Input is what an explanation is made of. File is required; what is zero makes
// the explanation the stricter one, or leaves its part out. It is not changed, and what
// it points to is only read.
type Input struct {
	File       *definition.Definition // as the agent's file says it
	Definition *definition.Definition // with the overrides of the settings merged over it; nil = File
	Text       string                 // of the file, for lines; "" = no lines are told
	Settings   settings.Values        // with the overrides as they were merged, in their order
	Ignored    []string               // what of the overrides does not count, each beginning with file:line: and the key
	Only       []List                 // lists of a project's overrides: each takes away what it does not name
	Off        Origin                 // where the agent is switched off; zero = it is not

	Tools    []tool.Tool // that are registered
	Exclude  Lists       // the session's exclusions (setting tools.exclude)
	Subagent bool        // without an allow-list it has the reading tools only
	Within   []string    // the parent's tools; nil = no parent

	Gate       *guard.Gate // the session's, which knows its taint; nil = of a new session
	Approval   guard.Approval
	Trusted    bool          // the folder that it runs in is
	CanAsk     bool          // there is a person to ask
	Sandbox    guard.Sandbox // what confines commands
	Deny       []tool.Rule   // of tools.exclude: these calls are refused
	Allow      []tool.Rule   // of tools.allowed: these calls need no question
	Unreviewed bool          // a run clamps the limits of a project's file that nobody reviewed

	Table      *model.Table         // nil: nothing is known of models
	Standard   string               // the entry of the table that runs where nobody says another
	Configured func(id string) bool // whether a model can be asked; nil = every one
	Routes     []model.Route        // of the model auto

	Agents      []*definition.Definition          // all that there are, overrides merged over them
	ByName      map[string]*definition.Definition // of Agents; nil = they are looked through
	Callable    []string                          // the names of Agents that a run may delegate to; nil = it is not known
	Servers     []Server
	Hooks       []Reference // of the settings: of runs of every agent
	Memory      string      // what the agent may remember across sessions, in a line; "" where it cannot
	MemoryFiles []string    // the files that follow the prompt; nil where none do
}

// origin returns where a setting is written; the zero Origin is a default.
func (in *Input) origin(key string) Origin {
	return explanation.OriginOf(key, in.Settings.Origins[key])
}

// What an explanation is made of.
type (
	// Explanation is what an agent really gets.
	Explanation = explanation.Explanation
	// Value is one value that holds for a run.
	Value = explanation.Value
	// Model is who answers.
	Model = explanation.Model
	// Tool is one tool, offered or not.
	Tool = explanation.Tool
	// Asks is what becomes of a tool's calls in each approval mode.
	Asks = explanation.Asks
	// Verdict is what becomes of a call.
	Verdict = explanation.Verdict
	// Open is what the lists say of tools that are not registered yet.
	Open = explanation.Open
	// Reference is a name of something outside of the file.
	Reference = explanation.Reference
	// Tokens are what each request has before anything is said.
	Tokens = explanation.Tokens
	// WorstCase is what a run uses at most.
	WorstCase = explanation.WorstCase
	// Origin is a place that a value comes from.
	Origin = explanation.Origin
)

// The verdicts, strictest first.
const (
	Refuse = explanation.Refuse
	Ask    = explanation.Ask
	Auto   = explanation.Auto
)
