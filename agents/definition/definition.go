// Package definition says what an agent is: one Markdown file with YAML
// front-matter, read into a [Definition].
//
// # The one idea
//
// [Parse] never fails. Whatever is wrong with a file is a [Problem] with the
// exact range of the YAML node concerned, and the rest of the file is still
// read; [Definition.Usable] says whether what was read may run. So a list can
// show a broken agent, an editor can point at the place, and no agent hides
// another by being broken.
//
// # Power
//
// Reading never adds power. Other tools' files (spec 1.7) are read through one
// table of tool names; what cannot be translated is left out with a hint, a list
// that translates to nothing is no tools, and what restricts and cannot be
// expressed is in [Definition.Authority], which stops a run. In a file of ours a
// misspelt key is an error, since it may have been meant to restrict.
//
// # Editing
//
// [ReadTree] gives the front-matter as it is written, with what a cursor is at
// ([Tree.At]); [Fields] is the table of what may be written there; [Fixes] and
// [FixAll] fix findings by edits of single places.
//
// # Cost
//
// Front-matter of the usual simple form is read by a line scanner (fast.go) that
// gives exactly what the YAML parser gives, which a fuzz target holds it to;
// everything else goes through github.com/goccy/go-yaml once, as a syntax tree.
// The caps of spec 1.5 are checked before either sees a byte.
//
// A definition keeps its file's text once: its strings are parts of it. What a
// caller seldom wants, [Definition.FrontMatter], is read again when it is asked
// for. Who reads many files gives [Parse] a [Scratch].
//
// Of what the module has it imports agents/graph, and packages that know nothing of
// agents. A Definition is immutable and may be shared.
//
// # How a file is read
//
// [Parse] splits the text into front-matter and body (reader.split), makes a tree of
// nodes of the front-matter (reader.readYAML: the quick reader, else the YAML parser,
// else the parser over a repaired text), decides the dialect, reads the keys in the order
// of the file (reader.fields), runs what must wait for other keys (reader.late), and
// checks what several fields say together (reader.finish). Nodes hold offsets of the
// file, whatever was repaired or which reader made them; only a finding has lines and
// columns.
//
// # Severities
//
// An error says that something of the file does not count; [Problem.Fatal] has the codes
// of those that keep the agent from running. What runs otherwise than the file reads is a
// warning; in another tool's file, which was not written for this program, what has no
// effect is a hint (reader.idleSeverity). Problems are in the order of the file, whatever
// found them.
//
// # Files of strangers
//
// Files are read of folders that nobody has trusted, and by editors again with each key.
// So what one file may cost is bounded before it is spent: [MaxFile] and [MaxFrontMatter]
// count bytes, burden.go and maxDepth what the YAML parser is given, reader.spent all
// patterns, conditions and schemas together, maxGuesses the names that are compared, and
// maxRepeats and maxFeatures the findings of one code. A check has to take time linear in
// the text, or to count what it spends in one of these.
//
// # Files
//
//   - parse.go, text.go, node.go: the way of a file; fast.go, yaml.go, place.go,
//     repair.go, burden.go, yamlwords.go: reading YAML, and saying what is wrong with it.
//   - fields.go, fields_run.go, structured.go, toolfields.go, values.go, schema.go,
//     graph.go, guards.go, memory.go, tracing.go, bytable.go: the fields; fieldtable.go
//     and fields_rows.go: the table of them.
//   - dialect.go, foreign.go, foreignfields.go, nativetools.go: other tools' files;
//     tools.go: names of tools.
//   - finish.go, doubts.go, scan.go, installed.go: findings about the whole; codes.go:
//     all their codes.
//   - tree.go, at.go, atline.go, fix.go, fixall.go, fixtype.go, fixrepair.go, splice.go:
//     editing.
//
// # To add
//
// A field: a field of [Definition], a case in the method of its family (reader.aboutField,
// partField, modelFields or limitField), and a row in fields_rows.go, from which editors
// and the reference get it. TestAllFields and TestFieldsAreThoseThatAreRead hold the
// reader and the table together; internal/cmd/referencedoc wants an example that shows
// the field, and agents/exchange says what becomes of it in other tools' files.
//
// A name of another tool: a row in foreign.go. What it allows may be less than what the
// other tool's does, and what it denies more; never the other way (TestTranslation). One
// that a person may want to type is in nativetools.go as well.
//
// A finding: a row in codes.go, a message that says what is wrong and what to do, and the
// smallest range that shows it. A code that keeps the agent from running is also in
// [Problem.Fatal]. What can be fixed by an edit has a case in fixer.find and a row of
// TestFixes; only an edit that says what the file says already is sure.
package definition

import (
	"encoding/json"
	"time"
)

// Scope is where an agent's file lies (spec 1.1).
type Scope string

// The scopes, in order of precedence.
const (
	// An agent of a workspace folder.
	Project Scope = "project"
	// One of the person's own.
	Global Scope = "global"
	// One that an extension bundle brings.
	Extension Scope = "extension"
	// One that is in the binary.
	System Scope = "system"
)

// Dialect is whose format a file is in (spec 1.7).
type Dialect string

// The dialects that load.
const (
	Agentls   Dialect = "agentls"
	GeminiCLI Dialect = "gemini-cli"
	Claude    Dialect = "claude"
	Copilot   Dialect = "copilot"
	OpenCode  Dialect = "opencode"
)

// Mode says how a run of an agent ends (spec 3.3).
type Mode string

// The modes.
const (
	// A run ends with an answer that calls no tool.
	Chat Mode = "chat"
	// A run ends with complete_task and a checked result.
	Task Mode = "task"
)

// Definition is one agent as its file says it. It is immutable once parsed; a
// run keeps the one that it started with.
//
// A definition with an error of the list that ends spec 1.5 is not usable: see
// [Definition.Usable]. Its other fields hold what could be read.
type Definition struct {
	Path             string    // absolute; "" for a system agent
	Folder           string    // the workspace folder of a project agent, absolute; else ""
	Scope            Scope     // from the place
	Dialect          Dialect   // by place, else by keys
	Digest           string    // hex SHA-256 of the file's bytes
	Created, Updated time.Time // of the file; Created is Updated where the file system does not tell

	Name      string // usable as spec 1.2 has it; a slug where Dialect's own name is not (agent/dialect)
	NameRange Range  // of the name's value; of the opening line where there is none
	Title     string // never ""
	// For routers, other agents and lists; "" = not given.
	Description string
	// The body, else systemPrompt. Never "" of a usable definition, unless it has a
	// graph; placeholders are not filled in ([Definition.Expand]).
	Prompt string
	Model  string // "inherit" when not given
	Color  string // "#RRGGBB" or ""
	// A semantic version in a usable file of ours; "" = not given.
	Version string

	Tools        Tools
	Confirmation Confirmation
	MCPServers   []string // "*" = all
	Subagents    []string // "*" = all
	// Without those that cannot be offered; in the order of the file.
	Handoffs []Handoff

	Triggers []Trigger // in the order of the file; without those that nothing can match
	Examples []string  // sentences that the agent is for
	Priority int       // 0 to 100: of Examples and Description

	DescriptionRange, TriggersRange, ExamplesRange Range // of the values; zero = not given

	SubagentRanges []Range // of the first Subagents, as many as the file lists in a field of their own

	Inputs json.RawMessage // JSON Schema of the inputs (spec 1.4), nil without
	Output *Output         // nil without
	Graph  *Graph          // nil without; whole only where the definition is usable
	Query  string          // "" = the default of spec 1.2
	// What is said before the query, in order.
	InitialMessages []Exchange

	// From 0 to 2; nil = the model's.
	Temperature *float64
	// From 0 to 1; nil = the model's.
	TopP           *float64
	ThinkingBudget *int   // -1 = unlimited
	ThinkingLevel  string // "" = the model's

	Mode      Mode
	MaxTurns  int           // 0 = the mode's default
	MaxTime   time.Duration // 0 = the mode's default
	MaxTokens int           // 0 = none
	MaxCost   float64       // USD; 0 = none
	// Tried in this order when the model fails; nil = as the settings say.
	FallbackModels []string

	Memory *Memory // what it remembers across sessions; nil = nothing
	Guards []Guard // checks of what goes in and out, in file order

	// StateKeys are the keys of the state that the agent may see and set (memory.session);
	// nil = all.
	StateKeys []string

	Tracing *Tracing // nil = as the settings say

	// Whether a person may run it by its name; default true.
	UserInvocable bool
	// Whether routing may pick it; default true.
	Routable  bool
	Delegable bool // default true; false: only a person may start it (Copilot's disable-model-invocation)
	// Whether memory files follow the prompt; default true.
	MemoryFiles bool
	Router      bool // scope: system, and a name by which a file replaces the router
	Guessed     bool // Name comes from the file's stem, since the file's own could not be read

	// Authority names what restricts power in the file and cannot be honoured
	// here (agent/authority): a run is refused with these reasons.
	Authority []string

	Problems []Problem // in the order of the file

	front string // the front-matter as it is in the file; "" where none could be read
}

// Tracing is what an agent says of its traces (spec 7.2). What is zero is as the settings
// say.
// It is not nil where the file has the field, even if all of it was refused.
type Tracing struct {
	Enabled        *bool
	Events         []string // llm, tool, handoff, guardrail, route
	Backend        string   // file, console, otlp, langsmith
	SampleRate     *float64 // 0 to 1
	CaptureContent *bool
	Project        bool // a project's file, which makes nothing leave the machine
}

// Tools says which tools an agent may use (spec 1.2, 4.2). Names are canonical,
// or globs.
type Tools struct {
	Allow []string // counts only if Given
	Deny  []string // beats Allow
	Given bool     // false = all; true with an empty Allow = none
}

// Confirmation is what an agent adds to what the person is asked (spec 1.3).
type Confirmation struct {
	Require []string      // tools (globs) that always ask
	Prompt  string        // template, shown below the facts
	Timeout time.Duration // counts only if Given; 0 = none
	Given   bool          // Timeout was given
}

// ConditionNames are what the conditions of handoffs and guards may ask for (spec 5.2).
var ConditionNames = []string{"state", "task", "output", "input", "last_tool"}

// Handoff is one agent that control may pass to.
type Handoff struct {
	// A name, folder:name, or user.
	To    string
	Range Range // of To's value
	// One of manual, auto and conditional.
	When string
	// An expression; "" = always. Of manual it is not looked at.
	Condition string
	// What the model is told of it; "" = the target's.
	Description string

	IncludeContext bool            // default true
	Payload        json.RawMessage // JSON Schema of the payload; nil without
}

// Trigger is what in an input speaks for an agent (spec 5.1). A list of triggers in a
// file is one each; the other form is one trigger.
type Trigger struct {
	Intent string // what it recognises; "" = not said
	// Words of an input; how they are matched is the router's business.
	Keywords []string
	Patterns []string // RE2, each compiles with (?i) before it
	Priority int      // 0 to 100
}

// DefaultPriority is the priority of triggers that give none.
const DefaultPriority = 50

// Output is the structured result that an agent must end with (spec 1.4).
type Output struct {
	// What the model calls the result: letters, digits and _; result where it is not
	// given.
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema 2020-12
	Text        string          // template for people; "" = JSON
}

// Exchange is one of an agent's initial messages.
type Exchange struct {
	Role string `json:"role"` // user or model
	Text string `json:"text"`
}
