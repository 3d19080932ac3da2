package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/guardrail"
	"github.com/agentls/agentls/agents/loop"
	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/snapshot"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/mask"
)

// The causes with which the context of a run is cancelled.
var (
	// ErrCancelled: a person ended the run. It finishes as ABORTED.
	ErrCancelled = errors.New("cancelled by user")
	// ErrInterrupted: the daemon ends, or the client that the run belongs to
	// has gone. The run is left interrupted and does not finish.
	ErrInterrupted = errors.New("interrupted: the daemon ended before this call finished")

	// ErrTimeout: the run has used its time.
	ErrTimeout = errors.New("the run's time is used up")
	// ErrSuspended: the graph of which the run is a node has used its time, and may be
	// resumed. It is an ErrInterrupted.
	ErrSuspended error = suspended{}
)

type suspended struct{}

func (suspended) Error() string {
	return "interrupted: the graph's time was used up before this call finished"
}

// Is implements the interface of [errors.Is].
func (suspended) Is(target error) bool { return target == ErrInterrupted }

// Session is what a run needs of the session that it is part of.
//
// *session.Session with its log is one. Its methods may be called from any goroutine;
// those that write do not wait for the disk unless they say so.
type Session interface {
	// Append adds an event to the log without waiting for the disk and returns
	// its number, 0 when it is not recorded since the log is closed.
	Append(o activity.Origin, b activity.Body, d time.Duration) uint64
	// Commit waits until the log is on stable storage up to seq.
	Commit(ctx context.Context, seq uint64) error
	// Err returns why the log cannot be written, nil while it can.
	// It is fault.Unavailable.
	Err() error
	// WaitWritable waits until the log can be written; the error is the context's cause,
	// or why the log is closed.
	WaitWritable(ctx context.Context) error
	// GoUnsaved has a log that cannot be written go on in memory until it can.
	GoUnsaved()
	// Context returns what was seen and said in a context ([activity.Origin.ContextID]),
	// as a model is sent it.
	Context(id string) []model.Message
	// Tokens returns how many tokens a context has, and whether that is not the
	// provider's own count.
	Tokens(id string) (n int, estimated bool)
	// CompressionFailed reports whether the newest attempt to make a context shorter
	// did.
	CompressionFailed(id string) bool
	// Spill keeps a long result apart, before the event with it is appended. On an
	// error the result is as it was, and can be appended.
	// It waits for the disk where the result is long.
	Spill(r *activity.ToolResult) error
	// PutBlob keeps data on stable storage and returns its name, the hex SHA-256.
	PutBlob(data []byte) (string, error)
	// PutBlobFrom is PutBlob for data that need not be in memory at once.
	PutBlobFrom(r io.Reader) (name string, size int, err error)
}

// Tools is what an agent may call.
//
// Immutable, and safe for concurrent use.
type Tools interface {
	// List returns the tools that the model is told of, always the same.
	List() []tool.Tool
	// Find returns the tool that a model calls name. The error is a
	// *tool.Error for the model.
	Find(name string) (tool.Tool, error)
}

// Mask takes out of what tools say what must not be recorded, sent or shown (spec
// 7.2); *mask.Masker is one.
//
// Safe for concurrent use; a Stream serves one text.
type Mask interface {
	// MaskKnown returns data without it, or data itself.
	MaskKnown(data []byte) []byte
	// Stream does the same for a text that comes in pieces.
	Stream() *mask.Stream
}

// Choice is a model that may answer.
//
// Model and Entry come from the provider's table; a Choice is a value and may be shared
// by runs.
type Choice struct {
	ID      string // as the provider knows it
	Model   model.Model
	Entry   model.Entry    // what is known of it
	Retries *model.Retries // of the key that it is asked with; nil = none are counted
}

// Config is what a run needs. Everything without a remark is required.
//
// The run keeps it, and what it points to must not be changed while the run lives, unless
// it says otherwise. The functions are called from any goroutine, often, and must be
// quick: they are asked anew before each decision because what they say may change
// meanwhile.
type Config struct {
	// The run's id, unique in the session; the ids of its calls begin with it.
	ID        string
	Parent    string // "" for a run that a person started
	Call      string // of the run that waits for this one; "" for none
	Spent     Spent  // by the runs before it in its chain, of the limits of the tree
	Under     *Run   // the run that waits for this one: it uses of what that one may; nil for none
	ContextID string // of a context that is the run's own; "" = the agent's in the session
	// The same along a chain of handoffs.
	CorrelationID string
	Chain         []string // the agents that led here, this one last

	Require []string // tools that ask besides those of the agent's file (globs), as of those before it
	Project string   // the folder that an agent before it comes with; "" for none

	Definition *definition.Definition
	Mode       definition.Mode         // "" = chat
	System     string                  // the system prompt, whole
	Examples   []definition.Exchange   // the agent's initial messages, filled in
	Context    *activity.EditorContext // what the person has in the editor; may be nil
	Shell      []string                // commands whose output the input needs, run before the first turn (spec 9.3)
	Inputs     json.RawMessage         // as they were given, for a daemon that takes the run up again; may be nil
	Asked      string                  // the model that the request named; "" = none
	Models     []Choice                // the first answers; the others are tried in order when it fails
	// The mode as it is now; of a delegated run the stricter of its own and its callers'.
	Approval func() guard.Approval
	Session  Session
	Tools    Tools
	Gate     *guard.Gate
	Critical bool // the user's settings say security.critical: ask
	// Rules returns those of settings as they are now, as in guard.Request; nil =
	// none.
	Rules func() (deny, allow []tool.Rule)
	// Locate sets Folders, Trusted and Strange of a call's environment as they are
	// now: folders come, go and lose trust while a run goes on. nil = as Env says.
	Locate func(*tool.Env)
	Taint  tool.Taint // of what the person put to it (spec 11.1 rule 6)
	// Who is asked about calls. Where nobody can be asked, one whose CanConfirm is false.
	Person Person
	Env    tool.Env // for each call; Call and Progress are set by the run
	// How many turns it may take, at least 1; a last turn of a task run does not count.
	MaxTurns int
	MaxTime  time.Duration // without the time that a person takes; 0 = none
	// What it may use; those of a delegated run hold besides its callers'.
	Limits      Limits
	Compression Compression
	Repeats     Repeats       // nil = loops are not looked for
	Timeout     time.Duration // for a person's answer to a confirmation; 0 = none

	// State returns what conditions see of the session's state, besides agent and status;
	// nil = nothing.
	State func() map[string]any

	Guards []*guardrail.Guard // of the agent, in the order of its file (spec 6.1)

	Graph    *Graph          // what the run goes through instead of asking a model; nil = it asks
	Handoffs Handoffs        // what control may pass to; zero = nobody
	Link     activity.Link   // what of From and Reason the run's own link in its chain has
	Before   []activity.Link // of the runs that passed control on before

	// Memory is what the agent remembers across sessions, nil for nothing. Embedding returns
	// the model that makes vectors, of a name or with "" the default; nil is the local
	// embedder.
	Memory    *memory.Agent
	Embedding func(name string) (*Choice, error)

	Snapshots *snapshot.Store      // knows what commands change; nil = nobody does
	Problems  []definition.Problem // of parts of the agent that the run leaves out
	Mask      Mask                 // takes what the daemon holds out of what tools say; nil = nothing
	// Output returns what masks the output of a call's commands (SEC-38); nil = nothing
	// does. The error says, for the model, why that is not known.
	Output     func(ctx context.Context, env *tool.Env) (*mask.Masker, error)
	Hooks      Hooks  // of the settings; nil = none
	Transcript string // the session's log, for hooks; "" in memory
	// SessionStart is called once, and says why the session begins with this run:
	// startup, resume or clear; "" = it has begun. nil = it always has.
	SessionStart func() string
	Leftovers    *conc.WaitGroup // takes tools that outlive the run
	Now          func() time.Time
	Waits        func()       // told when the run begins to wait for a person, and when it goes on; may be nil
	Log          *slog.Logger // hears of defects, with their stacks; nil hears nothing
}

// Run is one run: make it with [New], begin it, then let it go on to its end.
//
// Its methods may be called from any goroutine, but for Begin, Continue, Charge and Do,
// which belong to the one that runs it.
type Run struct{ r *runner }

// New returns a run that has not begun.
// It writes nothing and starts no goroutine; a run that is not begun may be dropped.
func New(c Config) *Run {
	r := &runner{Config: c, cancels: make(map[string]context.CancelCauseFunc), maxTurns: c.MaxTurns, mark: rand.Text(),
		correcting: make(chan struct{}, 1)}
	var waits *account
	if c.Under != nil {
		waits = c.Under.r.account
	}
	r.account = newAccount(waits, c.Limits, c.Env.Ask != nil)
	if waits == nil { // else the account of who waits has it
		r.account.before = c.Spent
	}
	// A nil *Masker masks nothing, so that the rest of the package need not ask whether
	// there is a mask.
	if c.Mask == nil {
		r.Mask = (*mask.Masker)(nil)
	}
	// complete_task lies around the transfers: the last turn of a task run offers it alone.
	if c.Handoffs.Resolve != nil {
		r.Tools = &withTransfers{c.Tools, r}
	}
	if c.Mode == definition.Task {
		r.tools = &withCompletion{Tools: r.Tools, complete: newCompletion(r, c.Definition.Output)}
		r.Tools = r.tools
	}
	return &Run{r}
}

// Begin writes the first event of the run and returns its number in the log. It is called
// once, before Do. It does not wait for the disk: the caller commits the event before it
// says that the run has begun. 0 says that the log is closed, and the run is not in it.
func (run *Run) Begin(input []activity.ContentBlock) uint64 {
	r := run.r
	r.began, r.asked, r.input = r.Now(), textOfBlocks(input), inputText(input)
	var names []string
	for _, t := range r.Tools.List() {
		names = append(names, t.Spec().Name)
	}
	// The event is appended under the lock that Steer takes: words of the person are in the
	// log after the run's first event or are not taken.
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = true
	r.Gate.Taint(r.ID, r.Taint)
	return r.say(activity.RunStarted{
		Input: input, Context: r.Context, Mode: cmp.Or(string(r.Mode), string(definition.Chat)),
		Approval: string(r.Approval()), Model: r.Models[0].ID,
		Tools: list(names), Chain: r.Chain, Definition: r.Definition.Digest, Inputs: r.Inputs,
		Folder: folderURI(r.Env.Folder), Asked: r.Asked, Taint: r.Taint.String(), Call: r.Call, Shell: r.Shell,
	})
}

// CancelCall ends one call, in whatever state it is, and reports whether there was
// one that had not ended. The run goes on.
// It does not wait: the call's result comes when its tool has ended, within half a second
// or without it.
func (run *Run) CancelCall(id string) bool {
	r := run.r
	r.mu.Lock()
	cancel := r.cancels[id]
	r.mu.Unlock()
	if cancel != nil {
		cancel(ErrCancelled)
	}
	return cancel != nil
}

// Ended reports whether the run has its last event.
func (run *Run) Ended() bool {
	run.r.mu.Lock()
	defer run.r.mu.Unlock()
	return run.r.ended()
}

// Waiting reports whether the run waits for a person, also one that is paused.
func (run *Run) Waiting() bool {
	run.r.mu.Lock()
	defer run.r.mu.Unlock()
	return run.r.state == activity.Waiting || run.r.state == activity.Paused
}

// Do takes the run to its end and returns how it ended. The log has it all,
// run.finished last; an interrupted run's log ends with its state.
//
// It is called once, after Begin or Continue. ctx ends the run: its cause says how, one
// of the Err values above, and any other counts as ErrCancelled. A panic of the run's own
// ends it with an error that names the bug. It returns when the last event is appended,
// with no goroutine of the run left but those in Leftovers.
func (run *Run) Do(ctx context.Context) activity.RunFinished {
	r := run.r
	// What outlives a call ends with the run, however the run ends.
	lasting, over := context.WithCancel(context.WithoutCancel(ctx))
	defer over()
	r.Env.Background = func(task func(context.Context) []string) { r.startBackground(lasting, task) }
	// A run that is taken up again is running already: Continue has said so.
	if r.past == nil {
		r.move(activity.Running, "", "")
	}
	var end ending
	var caught panics.Catcher
	caught.Try(func() { end = r.loop(ctx) })
	if p := caught.Recovered(); p != nil {
		end = endFailed(string(fault.Bug), "a defect of agentls ended the run"+bug(p))
		end.told = true
		r.say(r.defect(p, "run"))
	}
	// when: auto is about work that is done. An interrupted run hands over when another
	// daemon has taken it to its end.
	if end.reason == activity.Goal && !end.interrupted {
		end = r.passOn(end)
	}
	if !end.interrupted {
		over()
		r.awaitBackground() // what it still writes counts
		r.closeWindows(ctx)
		r.notifyEnd(ctx, end)
	}
	r.beside.Wait()
	// The run's last event comes next: nothing may stand behind it.
	r.silenceBackground()
	return r.finish(end)
}

// runner is a run at work. Fields are written by the goroutine of Do unless they say
// otherwise; the batch's goroutines read them while that one waits for the batch. What is
// guarded by mu may be touched by [Run]'s other methods, by calls, by tasks in the
// background and by delegated runs at any time.
type runner struct {
	Config
	began     time.Time
	mark      string       // around what a tool says in the words of a conversation; random
	turn      atomic.Int32 // from 1; written by the loop, read by whoever tells something
	clock     *stopwatch
	account   *account
	reminded  map[string]bool
	maxTurns  int
	toolCalls int
	fallbacks []string        // models that answered in place of the chosen one
	tools     *withCompletion // nil in chat mode
	detector  loop.Detector
	failures  failures
	unsummed  bool            // no model could be asked to sum the context up
	unknown   bool            // a person was told that a price is not known
	unsaved   bool            // the person lets the run go on without the disk
	adjusted  map[string]bool // models of which a person was told what they do not take
	exampled  sync.Once
	begins    []model.Message              // the examples; set by exampled
	corrected map[correction]tool.Snippets // what models made of snippets that did not match; guarded by correcting
	past      *Past                        // of a run that is taken up again, until it goes on
	asked     string                       // what the person asked, as text
	input     string                       // that with what came along
	repairs   map[string][]activity.Repair // that were asked of the model, by guard, until it has judged; written under mu
	guarding  conc.WaitGroup               // guards that judge the input beside the model
	successor *activity.HandoffStarted     // the end of the run; nil for another
	spent     time.Duration                // of MaxTime, before it was taken up

	diagnosed diagnosed      // what the editor's language servers say about files that the run wrote
	edit      *edit          // what hooks make of the requests of this answer; nil = nothing
	prefer    string         // the model that a hook wants to be asked first
	beside    conc.WaitGroup // hooks that only take note of something

	correcting chan struct{} // has a value while a model is asked for a correction; room for one

	mu      sync.Mutex
	cancels map[string]context.CancelCauseFunc // of calls that have not ended; guarded by mu
	state   activity.State                     // guarded by mu
	open    int                                // questions that wait for a person; guarded by mu
	changes []activity.Change                  // guarded by mu
	stop    bool                               // a person answered cancel; guarded by mu
	done    *outcome                           // what the task came to, or whom control passes to; guarded by mu
	last    string                             // tool that ran; guarded by mu
	steered int                                // what a person said that no turn has taken; guarded by mu
	begun   bool                               // the run's first event is written; guarded by mu
	closing bool                               // nothing more is taken; guarded by mu
	resumed chan<- Extension                   // while the run is paused; guarded by mu
	flood   flood                              // guarded by mu
	windows []openWindow                       // of commands that go on; guarded by mu
	lasting []<-chan struct{}                  // closed when a task in the background has ended; guarded by mu
	quiet   bool                               // tasks in the background say nothing any more; guarded by mu
	halted  *ending                            // a hook or a guard ended the run; guarded by mu
	judged  []activity.Guard                   // what guards found, for the result; written under mu
	noted   map[string]bool                    // what a person was told about commands; guarded by mu

	nodeClocks map[*stopwatch]bool // of a graph's nodes; guarded by mu
	nodeHolds  int                 // how many want them to stand still; guarded by mu
}

// loop takes turns until the run ends. A task run that hit a limit gets one more
// (spec 3.3).
//
// The order of its parts: hooks of the session's start, hooks before the agent, guards of
// the input, what an earlier daemon left open, commands of the prompt, turns, guards of
// the result, hooks after the agent. Each may end the run, and those after the result may
// send it back into turns.
func (r *runner) loop(parent context.Context) ending {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	r.clock = startStopwatch(r.remaining(), func() { cancel(ErrTimeout) })
	r.warnUnpriced()
	past := r.past
	// Before the first turn nobody knows whether the request was admitted.
	fresh := past == nil || (past.Turn == 0 && past.ModelCalls == 0 && !r.Graph.begun())
	r.startSession(ctx)
	var end ending
	var over bool
	if fresh { // before takeUp, which may tell the model the request
		end, over = r.admit(ctx)
	}
	if !over {
		end, over = r.guardInput(ctx, cancel)
	}
	// The graph stands in the place of turns. Its nodes are runs and calls, which have
	// hooks and guards of their own; those of this run judge its input and its result.
	if !over && r.Graph != nil {
		end = r.walk(ctx)
		r.beside.Wait()
		if !r.awaitInput(&end) {
			r.guard(ctx, &end, true) // no model is there to repair it
		}
		r.clock.stop()
		return end
	}
	if !over {
		end, over = r.takeUp(ctx)
	}
	if !over && fresh && len(r.Shell) > 0 {
		end, over = r.runShell(ctx, past != nil && past.Executed)
	}
	if !over {
		end = r.turns(ctx)
	}
	for before := false; !r.awaitInput(&end); {
		if !r.guard(ctx, &end, false) {
			if !r.rejected(ctx, &end, before) {
				break
			}
			before = true
		}
		end = r.turns(ctx)
	}
	r.beside.Wait()
	r.clock.stop()
	if r.tools != nil && (end.reason == activity.Timeout || end.reason == activity.MaxTurns ||
		end.reason == activity.NoCompleteTask) {
		end = r.grace(parent, end)
		r.guard(parent, &end, true)
	}
	return end
}
