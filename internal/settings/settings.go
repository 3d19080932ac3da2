// Package settings has the values of settings files, as one type that is passed from
// the files to the runs that go by them: package workspace reads it, package agents
// runs by it, package authority explains it.
package settings

import (
	"fmt"
	"time"
)

// Scope is where a setting comes from. A later one wins over an earlier one.
type Scope uint8

// The scopes of settings.
const (
	DefaultScope     Scope = iota // nobody set it
	UserScope                     // the person's own file
	ProjectScope                  // <folder>/.gemini/settings.json, when the folder is trusted
	EnvironmentScope              // a variable of the person's environment
)

// String returns the scope's name: "default", "user", "project" or "environment".
func (s Scope) String() string { return [...]string{"default", "user", "project", "environment"}[s] }

// Origin is where a value comes from. The zero Origin is a default.
type Origin struct {
	Scope  Scope
	File   string // "" for a default; of the environment the variable
	Line   int    // from 1; 0 where it is no file
	Column int    // in bytes, from 1; 0 where it is no file
}

// String says it for a person: default, the place in a file, or the variable.
func (o Origin) String() string {
	switch o.Scope {
	case DefaultScope:
		return "default"
	case EnvironmentScope:
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Raw is a value as it is written in a settings file.
type Raw struct {
	JSON   []byte // standard JSON: without comments and trailing commas
	Origin Origin
}

// Entry is a string of a list in a settings file.
type Entry struct {
	Text   string
	Origin Origin
}

// Values are the settings that hold in a folder, of all scopes together. They are
// read-only.
type Values struct {
	DefaultScope        string // where a new agent is written: "project" or "global"
	InlineAnswer        string // where the answer to an inline command goes: one of [InlineAnswers]
	ContextPersistence  bool
	ConfirmationTimeout time.Duration // 0 = none
	FallbackModels      []string      // tried in order when a model fails
	MaxContextTokens    int           // caps the window that thresholds use; 0 = none; a project can lower it only
	MaxHandoffDepth     int           // agents in a chain of handoffs; a project can lower it only
	AutoRoute           bool          // input that names no agent is routed; only the person's own file can set it
	ShortOutput         bool          // agents.prompt.shellOutputEfficiency
	Redis               string        // agents.memory.redis; only the person's own file can set it
	Compression         Compression
	Limits              Limits
	Routing             Routing
	Retention           Retention
	Tracing             Tracing
	Model               Model
	Security            Security
	Tools               Tools

	// Overrides are the sections agents.overrides.<agent>, the person's before
	// the project's; they are merged key by key over the definition (spec 8.2).
	Overrides map[string][]Raw

	// Origins says where values come from, by key with dots; those that are not
	// there have the zero Origin, and are defaults.
	Origins map[string]Origin
}

// Compression is the section agents.compression (spec 8.3). Which model sums up is
// the person's to say: it is paid for with their key.
type Compression struct {
	Enabled   bool    // without it contexts are compressed only when a person asks
	Threshold float64 // part of the window from which a context is compressed, above 0 to 1
	Preserve  float64 // part of the context, its newest, that stays as it is, 0 to below 1
	Model     string  // who sums up: an entry of the table, an alias or an id
}

// Limits are the limits of a tree of runs (spec 3.3). All of them are above 0, but
// for Depth, which may be 0: nobody delegates. A project can lower them only.
type Limits struct {
	ModelCalls  int // calls of models, of all runs together
	Depth       int // how deep a delegated run may lie below the first
	Live        int // runs at the same time
	Runs        int // runs in all
	InputTokens int // tokens that models are sent before the person is asked
}

// Routing is the section agents.routing (spec 5.1). Which model is asked is the
// person's to say: it is paid for with their key.
type Routing struct {
	Enabled      bool
	Strategy     string // one of [Strategies]
	Threshold    int    // confidence from which hybrid asks no model, 0 to 100
	Model        string // an entry of the table, an alias or an id
	Timeout      time.Duration
	Fallback     string // one of [Fallbacks]
	DefaultAgent string
}

// Retention is the section agents.retention, which only the person's own file can
// set: a project must not erase what is theirs.
type Retention struct {
	Days        int      // since the last event of a session; 0 = any
	MaxSessions int      // of a workspace, the newest; 0 = any number
	Pinned      []string // ids of sessions that are kept
}

// Tracing is the section agents.tracing (spec 7.2), which only the person's own file
// can set: traces may be sent elsewhere.
type Tracing struct {
	Enabled bool
	Backend string   // one of [TraceBackends]
	Events  []string // some of [TraceEvents]
	// SampleRate is the share of sessions, 0 to 1. It is drawn once for each session,
	// so that one is traced whole or not at all.
	SampleRate float64
	// CaptureContent is whether prompts, arguments and results are in it; nil = files
	// and the console have them, what is sent has not.
	CaptureContent *bool
}

// Model is the section model.
type Model struct {
	Name                 string  // of agents that inherit; "" = the table's default
	CompressionThreshold float64 // gemini-cli's; it is Compression.Threshold where nobody sets that
	DisableLoopDetection bool    // a project can set it to false only

	// Routes are the rules of the model "auto", Table the rows that are added to
	// the table of models: the elements of the lists, which only the person's own
	// file can set.
	Routes []Raw
	Table  []Raw
}

// Security is the section security, which only the person's own file can set.
type Security struct {
	Critical          string   // what happens to a catastrophic call: "refuse" or [AskCritical] (spec 4.2)
	AdditionalFolders []string // as written: "~" is not expanded (spec 4.1)
}

// AskCritical is the [Security.Critical] by which the person is asked.
const AskCritical = "ask"

// Tools is the section tools.
type Tools struct {
	Allowed []string // only the person's own file can set it
	Core    []string // the last file's, though each file's narrows
	Exclude []string // both files' together: what one takes away the other cannot give back
	Sandbox Sandbox
}

// Sandbox is about what confines commands (spec 4.5); only the person's own file can
// set it.
type Sandbox struct {
	Mode         string
	Read         []string // nil = the usual toolchains
	Write        []string
	AllowedHosts []string
}

// InlineAnswers are the places where the answer to an inline command can go, the
// default first. The caller owns the slice.
func InlineAnswers() []string { return []string{"document", "comment", "edit"} }

// Strategies are the ways to pick an agent. The caller owns the slice.
func Strategies() []string { return []string{"rule", "llm", "hybrid"} }

// Fallbacks are what happens when no agent is picked. The caller owns the slice.
func Fallbacks() []string { return []string{"none", "prompt_user", "default_agent"} }

// TraceBackends are where traces can go, the default first. The caller owns the slice.
func TraceBackends() []string { return []string{"file", "console", "otlp", "langsmith"} }

// TraceEvents are what can be in a trace. The caller owns the slice.
func TraceEvents() []string { return []string{"llm", "tool", "handoff", "guardrail", "route"} }

// HookEvents are the keys of the section hooks: the events at which hooks are run
// (spec 9.2). The caller owns the slice.
func HookEvents() []string {
	return []string{
		"SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel",
		"BeforeToolSelection", "BeforeTool", "AfterTool", "PreCompress", "Notification",
	}
}

// Defaults returns what holds where nobody says anything.
func Defaults() Values {
	return Values{
		DefaultScope: "project", InlineAnswer: InlineAnswers()[0],
		ContextPersistence: true, ConfirmationTimeout: 300 * time.Second, MaxHandoffDepth: 5,
		Compression: Compression{Enabled: true, Threshold: 0.5, Preserve: 0.3, Model: "flash"},
		Limits:      Limits{ModelCalls: 200, Depth: 2, Live: 8, Runs: 32, InputTokens: 1_000_000},
		Routing: Routing{
			Enabled: true, Strategy: "hybrid", Threshold: 80, Model: "flash-lite", Timeout: 5 * time.Second,
			Fallback: "prompt_user", DefaultAgent: "main",
		},
		Tracing:   Tracing{Backend: TraceBackends()[0], Events: TraceEvents(), SampleRate: 1},
		Model:     Model{CompressionThreshold: 0.5},
		Security:  Security{Critical: "refuse"},
		Tools:     Tools{Sandbox: Sandbox{Mode: "auto"}},
		Overrides: make(map[string][]Raw),
		Origins:   make(map[string]Origin),
	}
}
