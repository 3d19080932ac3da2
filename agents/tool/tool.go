package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/sandbox"
)

// A Tool is something that a model can ask for. It is safe for concurrent use.
//
// Nothing of a call may be kept in the Tool itself: a run makes several calls of
// one at the same time, and several runs share it.
type Tool interface {
	// Spec says how the tool is offered. It is always the same.
	Spec() Spec

	// Plan makes a call exact without changing anything. args is a JSON object
	// as the model wrote it. An *Error says what the model did wrong.
	// It may read, also the network where the tool has to know what it asks
	// about, and heeds ctx. Planning a call twice gives the same plan as long as
	// the world is the same: a plan is made again when a person has changed the
	// arguments, and when the call had to wait for others of its batch.
	Plan(ctx context.Context, env *Env, args json.RawMessage) (*Plan, error)
}

// Spec is how a tool is offered.
type Spec struct {
	Name        string          // canonical (spec 4.1)
	Model       string          // the name that models are told; "" = Name
	Risk        Risk            // the least that a call of it has
	Description string          // for the model
	Parameters  json.RawMessage // JSON Schema of the arguments: an object without unknown properties
}

// ModelName returns the name that models are told and call.
func (s Spec) ModelName() string {
	if s.Model != "" {
		return s.Model
	}
	return s.Name
}

// Error is a failure that the model can fix: it becomes the call's result.
//
// It is an ordinary answer of a tool and ends nothing: the model sees Message,
// the log has Code.
type Error struct {
	Code    string // stable, as tool.stale or tool.args
	Message string // for the model: what was wrong, and what to do
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an *Error.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// The codes of errors that more than one tool gives.
const (
	CodeArgs       = "tool.args"       // the arguments do not fit the schema
	CodeNotAllowed = "tool.notAllowed" // not a tool of this agent
	CodeNotFound   = "tool.notFound"   // no such file or folder
	CodeStale      = "tool.stale"      // not read, or changed since it was read
	CodeOutside    = "tool.outside"    // a path that leaves the workspace
	CodeBinary     = "tool.binary"     // not text
	CodeDenied     = "tool.denied"     // a policy or a person refused
	CodeCancelled  = "tool.cancelled"  // by the person, or because the run ended
	CodeTimeout    = "tool.timeout"
	CodeFailed     = "tool.failed"   // it ran and did not succeed
	CodeTooLarge   = "tool.tooLarge" // more than the tool takes
	CodeNoPerson   = "tool.noPerson" // there is nobody to ask
	CodeInternal   = "tool.internal"
)

// Plan is a call made exact: what would happen if it ran. Its fields are set by
// the tool and not changed after; the digest of a [Token] covers them.
//
// A tool fills in everything that the decision goes by, honestly and strictly:
// what it does not say in Reads, Writes, Host, Spawns or Leaves nobody is asked
// about. A plan is of one moment; [Plan.Digest] says which.
type Plan struct {
	Tool  string          // canonical name
	Args  json.RawMessage // canonical: known names, keys sorted
	Risk  Risk            // of this call, at least the tool's
	Why   string          // why that risk, for people: "writes a file"
	Title string          // one line for people: "edit_file app.ts"

	Path   string   // the file that it is about, absolute; "" for none
	Host   string   // web_fetch: the host that it asks, with a port that is not its scheme's
	Reads  []string // files and folders, absolute, links resolved
	Writes []string // the same; calls that share one run in call order

	Preview Preview
	Access  sandbox.Access // what the command that it runs is let do; "" = it runs none
	Spawns  bool           // starts a process of the system's: never in an untrusted folder
	Leaves  bool           // sends something off this machine
	Lasts   bool           // every later run is told what it keeps

	// Shape is what an answer that holds longer than once is remembered for,
	// besides agent and tool (spec 4.3); "" = each call is asked anew.
	Shape  string
	Covers string // Shape in words, as a person is shown before it is kept

	// What rules of settings go by (see [Rule]), and what a kept answer may say.
	Commands [][]string // bash: the words of each command, also of those behind wrappers
	Names    []string   // bash: what it may run, also of a text that cannot be parsed
	Unclear  string     // bash: why Names may lack a program; "" = it is complete
	Keep     []Words    // bash: each simple command, where answers for them would permit the whole; nil = none could
	Prefix   []string   // bash: an answer may be for all commands that begin with these words; nil = none
	Skips    bool       // a search: Do leaves out each path that a rule denies ([Rule.Covers]), so that these do not deny the whole

	// Do makes it happen. It is called by Run only, at most once.
	Do func(ctx context.Context, env *Env) (*Result, error)
}

// Words is one simple command.
type Words struct {
	Argv   []string // with the assignments before it
	Folder string   // where it runs, absolute
}

// Preview is what a person is shown to decide on.
//
// It is the call itself and not a summary of it: what runs is what is shown,
// byte for byte, which is why the digest covers it. Whoever shows it escapes it.
type Preview struct {
	Kind string // diff, patch (a diff of several files), command, mcp, or "" where title and arguments say all

	Server string `json:",omitempty"` // mcp: the server that is called

	OldText string // diff: the whole file before; "" for a new one
	NewText string // diff: and after
	Patch   string // diff, patch: unified, with paths relative to the folder

	Command string   // command: the exact text that runs
	Parsed  []string // command: each simple command in it, quoted
	Notes   []string // command: what a person should know besides, as where links lead; escaped
	Cwd     string   // command: the folder that it runs in, absolute
}

// Result is what came of a call that ran.
//
// The run takes it over: it closes Whole, keeps it as a blob, and puts Media
// into blobs. Where there is an error
// besides, the model is told the error, and of the Result the Taint counts.
type Result struct {
	Content string            // to the model; the run cuts what is longer than [MaxResult]
	Whole   io.ReadCloser     // what Content is an extract of, at most 64 MiB; nil where Content is all
	Display string            // to people, Markdown; "" = one line is made of the title
	Media   []model.Media     // images and documents for the model, with Data
	Changes []activity.Change // what it did to files
	Todos   []activity.Todo   // the agent's plan, whole; nil = as it was
	// Remembered is the record that it stored in long-term memory; nil = none.
	Remembered *activity.MemoryChanged
	Taint      Taint  // what of Content others may have written; the path of a plan adds to it
	Failed     bool   // it ran, and Content tells how it failed (an exit code, say)
	Code       string // of the failure; "" = CodeFailed
}
