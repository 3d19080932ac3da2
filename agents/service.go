package agents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/credential"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/guardrail"
	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/prompt"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/snapshot"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/trace/export"
	"github.com/agentls/agentls/internal/dial"
	"github.com/agentls/agentls/internal/sandbox"
	"github.com/agentls/agentls/internal/settings"
)

// The parts of runs that a client's side has to know.
type (
	// Question asks a person about a call.
	Question = run.Question
	// Answer is what a person said.
	Answer = run.Answer
	// Outcome is a person's answer in one word.
	Outcome = guard.Outcome
	// Approval is a session's mode.
	Approval = guard.Approval
	// Extension is how much more a paused run may use.
	Extension = run.Extension
)

// Frontend is the client's side of a run. An LSP connection is one; another
// protocol's face implements the same two roles. It is used by many goroutines at once,
// for as long as its runs live; what it cannot do any more, since the client has gone,
// it refuses.
type Frontend interface {
	Approver
	Editor
}

// Approver asks the person.
type Approver interface {
	run.Person
	// Ask returns the way in which an agent asks the person, nil when nobody
	// can be asked.
	Ask(session, run, agent string) tool.Ask
}

// Editor reads and changes files as the person's editor has them.
type Editor interface {
	tool.Files
	// Edits returns the way in which a run changes files.
	Edits(run string) tool.Edits
	// Languages asks the editor's language servers; nil where it cannot.
	Languages() tool.Languages
	// Restore makes a file hold to, nil for no file, if it is still what has the
	// digest base ("" = there is none): through the editor where it is open there,
	// else on disk, byte for byte. The error is fault.Stale for another file, and
	// fault.Denied for one that is open and would have to go. It looks and writes
	// without anybody between where the disk allows that.
	Restore(ctx context.Context, path, base string, to *Content, label string) error
	// Look is Read of what lies at a path itself: of a symbolic link it returns the
	// link. A folder counts as nothing.
	Look(ctx context.Context, path string) (*tool.File, error)
	// Decode returns the text in the bytes of a file, as Read has it; false for
	// what is no text.
	Decode(data []byte) (text string, ok bool)
}

// Settings is what the person's settings say about runs (spec README): their values,
// and what those are in the words of agents. One reading of the files makes one. It is
// not changed; another reading makes another one, and who compares pointers sees that.
type Settings struct {
	settings.Values
	AdditionalFolders []string           // canonical
	Exclude           authority.Lists    // tools.exclude: names and globs
	Deny              []tool.Rule        // tools.exclude: some calls of a tool, as bash(git push)
	Allow             []tool.Rule        // tools.allowed, of the user's own settings
	Reveal            []string           // credential files that the user's own settings let agents read (SEC-20); absolute, canonical
	Sandbox           *sandbox.Sandbox   // what confines commands; nil = nothing does
	Hosts             dial.Hosts         // tools.sandbox.allowedHosts: what web_fetch and commands may reach
	Routes            []model.Route      // of the model "auto", the first that fits
	Servers           []authority.Server // of mcpServers
}

// Config is what a Service needs. All of it is required but where it says so. Functions
// are called from many goroutines, some of them with no lock held and some on a
// request's way: they must return soon, but for those that say that they read.
type Config struct {
	// The newest catalog.
	Agents   func() *registry.Snapshot
	Sessions *session.Store
	Table    *model.Table
	// Provider returns who answers for a model id, and the retries of the key that
	// it is asked with. The error is for the person (authRequired without a key).
	Provider func(id string) (model.Model, *model.Retries, error)
	Tools    []tool.Tool
	Servers  Servers   // nil = there are none
	Hooks    run.Hooks // nil = there are none
	// Validators are those of guards that are registered in Go, by name; may be nil.
	Validators map[string]guardrail.Validator
	// ExplainHooks returns the hooks of a folder's runs, for explanations; nil = none.
	ExplainHooks func(folder string) []explanation.Reference
	// Skills returns the tool that loads the skills of a folder, in a list that is empty
	// where it has none; nil = no folder has any. It reads them.
	Skills  func(folder string) []tool.Tool
	Folders func() []string          // workspace folders, canonical, the first one first
	Trusted func(folder string) bool // spec 4.4
	// TrustError returns why it cannot be told whether a folder is trusted, which
	// then counts as not trusted; nil = it can always be told.
	TrustError func(folder string) error
	// Reviewed returns why an agent's file must be looked at by the person before
	// its next run (fault.Denied with reason untrusted), nil where it may run; nil
	// for none that has to be (spec 4.4).
	Reviewed func(*definition.Definition) error
	// Unreviewed reports whether a project's agent that may run has not been looked
	// at by the person: its limits are then those of spec 12.2 at most; nil = each
	// has been.
	Unreviewed func(*definition.Definition) bool
	Grants     guard.Store                   // keeps answers for always; nil = nowhere
	Settings   func(folder string) *Settings // the same until a file changes
	Admit      func() error                  // may refuse a new run (overloaded); nil = none is refused
	Approval   Approval                      // the mode of sessions that have none of their own
	// Memory returns what memory files say in a folder for a file in it, "" for none
	// in particular; nil = there are none. It reads them.
	Memory    func(folder, file string) prompt.Memory
	Memories  memory.Keeper                         // backends of long-term memory; the service closes them
	Prompt    prompt.Config                         // of main
	Headless  bool                                  // nobody is there to answer what the client is asked
	Environ   []string                              // of child processes
	Home      string                                // the person's home folder
	State     string                                // the daemon's own folder, which no tool writes
	Snapshots *snapshot.Store                       // knows what commands change; nil = nobody does
	Traces    *export.Tracer                        // passes the spans of runs on; nil = nobody does
	Proxy     func(*http.Request) (*url.URL, error) // the person's, for the web and commands; nil = none
	Mask      run.Mask                              // of what the daemon holds; nil = nothing
	Now       func() time.Time
	Log       *slog.Logger
}

// Service keeps the runs and sessions of one daemon. It is safe for concurrent
// use. Make it with [NewService] and end it with Close.
type Service struct {
	Config
	ctx   context.Context // ends when the service closes; every run is under it
	end   context.CancelCauseFunc
	slots chan struct{} // for child processes, of all runs together

	survey      *tool.Survey       // of the workspace folders, for what confines commands
	credentials *credential.Reader // masks the output of commands
	routing     routing            // which agents inputs may be routed to
	overlaps    overlaps           // which of them routing cannot tell apart

	mu sync.Mutex
	// Those that are in use, by id.
	sessions map[string]*conversation
	standard string           // the session that is meant when none is named; "" until one was
	runs     map[string]*Live // that have not ended, by id
	reserved map[string]*reservation
	last     map[string]Last             // by agent, as [placeOf] has it: its run that ended last
	known    *othersOf                   // see [Service.others]
	excluded map[[2]string]chan struct{} // session and agent whose context is being changed; closed when it is
	leaving  map[string]chan struct{}    // sessions that are being closed or deleted; closed when they are
	resolves map[string]int              // by session, how many requests keep or undo changes there
	listed   *listing                    // of the newest page of sessions; nil = of none
	watched  map[string]*session.Session // that other daemons have, and somebody here reads
	closed   bool
	work     conc.WaitGroup // runs
	tools    conc.WaitGroup // tools that outlive their run
	observer func()         // told when a run begins, waits or ends; may be nil
}

// reservation is an id under which runs are being started: a person can cancel
// what has not begun yet. The service's mu guards it.
type reservation struct {
	starts    int // how many
	cancelled bool
	over      context.Context // ends when it is cancelled
	end       context.CancelFunc
}

// Live is a run that was started. Its exported fields, but Note and Routed, which Start
// sets before it returns, do not change once others see it. Methods may be called from
// any goroutine.
type Live struct {
	Session string
	ID      string
	Agent   string
	First   uint64 // the number of its first event
	Note    string // for the person: the session is another than was asked for
	Routed  string // why the agent is this one, in a line; "" = it was named

	MaxTurns int // after which it ends

	conv     *conversation
	def      *definition.Definition
	tree     *tree           // that it is part of
	tools    []string        // the names of those that it is offered
	about    activity.Origin // of its events, but for the turn
	start    Start           // what asked for it
	folder   string          // that it runs in
	approval func() Approval // its mode now
	servers  map[string]bool // the MCP servers whose tools it has

	next *Live                   // has control now, or has passed it on; guarded by the service's mu
	asks []activity.ContentBlock // the request, as the agent is told it

	log    *activity.Log
	run    *run.Run
	cancel context.CancelCauseFunc // ends it, with the reason why
	begun  chan func()             // what the run's goroutine does; closed when it is not to run
	done   chan struct{}
	ended  chan struct{}        // closed when those behind it may begin
	behind []<-chan struct{}    // it begins when all are closed
	result activity.RunFinished // set before done is closed

	by        activity.Origin // of whose result it is; set before done is closed
	unwritten bool            // its last events are not on disk, so nobody is told of them; set before done is closed
}

// Done is closed when the run has ended and its last event is written. Where control
// has passed on it is closed when the last run of the chain has ended.
func (l *Live) Done() <-chan struct{} { return l.done }

// Last is the number of the newest event of the run's session.
func (l *Live) Last() uint64 { return l.log.Last() }

// Written reports whether the run's last event is in the log, and so will be
// told; it is valid once Done is closed.
func (l *Live) Written() bool { return !l.unwritten }

// Result is how the run ended: of a run that passed control on, how the last one of
// its chain did. It is valid once Done is closed. It must not be modified.
func (l *Live) Result() activity.RunFinished { return l.result }

// By returns the run and the agent whose the result is; it is valid once Done is
// closed.
func (l *Live) By() (run, agent string) { return l.by.Run, l.by.Agent }

// NewService returns a service with no runs. ctx is the daemon's: when it ends,
// runs are interrupted. Close the service. It reads and starts nothing.
func NewService(ctx context.Context, c Config) *Service {
	// Not derived from ctx: its end would be a cause of its own, and a run must
	// know that nobody cancelled it.
	own, end := context.WithCancelCause(context.WithoutCancel(ctx))
	// The cause tells runs that the daemon ends: they are left interrupted, not cancelled.
	context.AfterFunc(ctx, func() { end(run.ErrInterrupted) })
	return &Service{
		Config: c, ctx: own, end: end, slots: make(chan struct{}, 2*runtime.NumCPU()), survey: tool.NewSurvey(c.Now),
		credentials: credential.NewReader(c.Environ, c.Now),
		sessions:    make(map[string]*conversation), runs: make(map[string]*Live), last: make(map[string]Last),
		reserved: make(map[string]*reservation), excluded: make(map[[2]string]chan struct{}),
	}
}

// Observe has told called whenever the number of runs, or of those that wait,
// may have changed. It is called once, before the first run. told is called on the
// goroutines of runs and must not block.
func (s *Service) Observe(told func()) { s.observer = told }

// Close interrupts every run, waits until the last one has written its last
// event and until no tool is left, and closes the sessions. It has no time limit
// of its own. It may be called once; requests that come later are refused.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(run.ErrInterrupted)
	s.work.Wait()
	s.tools.Wait()
	// When no run is left and before the logs are closed: what these hooks say is told in the
	// log of their session.
	s.endAllHooks()
	s.closeWatched()
	return errors.Join(s.Memories.Close(), s.Sessions.Close())
}

// settle ends a run's being known, after its last event is on stable storage. Of runs
// that another one waits for, that one's end is the end. Who waits for the run is told
// then.
func (s *Service) settle(live *Live) {
	// Whoever waits for it reads its result from memory, and commits the same log at its own
	// end.
	if live.start.from.within != nil {
		s.forget(live)
		return
	}
	// The run's own context may have ended; its last event is written all the same.
	patience := settleIn
	if live.result.Reason != activity.Aborted && s.ctx.Err() == nil {
		patience = busyDisk // nobody who cancelled waits
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), patience)
	defer cancel()
	if err := live.log.Commit(ctx, live.log.Last()); err != nil {
		live.unwritten = true
		s.Log.Error("the end of a run could not be written", "run", live.ID, "err", err)
	}
	s.forget(live)
}

// forget ends a run's being known. It closes done.
func (s *Service) forget(live *Live) {
	s.mu.Lock()
	delete(s.runs, live.ID)
	s.mu.Unlock()
	close(live.done)
	s.observe()
}

// How long a run's end waits for the disk: one that was cancelled is to be over
// within a second (REL-127), another may wait for a disk that is busy.
const (
	settleIn = time.Second
	busyDisk = 10 * time.Second
)

// observe tells the observer that the number of runs may have changed.
// s.mu must not be held: the observer asks Live and Waiting, which take it.
func (s *Service) observe() {
	if s.observer != nil {
		s.observer()
	}
}

// Reserve says that a run will be started under an id of the client's: from now
// on it can be cancelled. Who reserves starts the run or calls release. The same id may
// be reserved several times. release may be called more than once.
func (s *Service) Reserve(id string) (release func()) {
	if id == "" {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.reserved[id]
	if r == nil {
		r = &reservation{}
		r.over, r.end = context.WithCancel(s.ctx)
		s.reserved[id] = r
	}
	r.starts++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.starts--; r.starts == 0 {
			r.end()
			delete(s.reserved, id)
		}
	})
}

// Cancel ends a run, or one call of it, and reports whether there was one that
// goes on or is about to. It does not wait. A run that an earlier daemon left is ended
// in its log, for which the disk is waited for. A run that passed control on is
// cancelled with the one that has it.
func (s *Service) Cancel(id, call string) bool {
	s.mu.Lock()
	live, r := s.runs[id], s.reserved[id]
	// A run that is being started: enlist cancels it when it makes it known, and what routes
	// the request stops now.
	if live == nil && r != nil && call == "" {
		r.cancelled = true
		r.end()
		s.mu.Unlock()
		return true
	}
	s.mu.Unlock()
	switch {
	case live == nil && call == "":
		return s.abandon(id)
	case live == nil:
		return false
	case call != "":
		return s.holder(live).run.CancelCall(call)
	}
	live.cancel(run.ErrCancelled)
	return true
}

// CancelSession ends all runs of a session and reports whether there were any. It does
// not wait.
func (s *Service) CancelSession(id string) bool {
	any := false
	s.mu.Lock()
	// The default session of this window may have another name, where another window has
	// the one that is called main.
	if id == session.Default && s.standard != "" {
		id = s.standard
	}
	s.mu.Unlock()
	for _, live := range s.Live() {
		if live.Session == id {
			any = s.Cancel(live.ID, "") || any
		}
	}
	return any
}

// Interrupt leaves every run interrupted; it does not wait.
func (s *Service) Interrupt() {
	all := s.Live()
	for _, waits := range []bool{true, false} { // else one that waits would begin when the one before it ends
		for _, live := range all {
			if live.run.Begun() != waits {
				live.cancel(run.ErrInterrupted)
			}
		}
	}
}

// Live returns the runs that go on and have not passed control on, in no particular
// order.
func (s *Service) Live() []*Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Live, 0, len(s.runs))
	for _, live := range s.runs {
		if live.next == nil {
			list = append(list, live)
		}
	}
	return list
}

// Path returns the names of the agents that led to a run which goes on, its own last;
// nil for any other run.
func (s *Service) Path(run string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	// s.runs has a run until its last event is written, so the path is known for all that
	// it asks the person.
	if live := s.runs[run]; live != nil {
		return append(slices.Clone(live.start.from.chain), live.Agent)
	}
	return nil
}

// Waiting returns how many runs wait for a person.
func (s *Service) Waiting() int {
	n := 0
	for _, live := range s.Live() {
		if live.run.Waiting() {
			n++
		}
	}
	return n
}

// Timeline returns the log of a session, open, kept or another daemon's, which can be
// followed as well; "" is the default one.
// The error has reason unknownSession. It must not be closed by the caller.
func (s *Service) Timeline(id string) (*activity.Log, error) {
	s.mu.Lock()
	conv := s.sessions[id]
	s.mu.Unlock()
	if conv != nil {
		return conv.Log, nil
	}
	read, err := s.read(id)
	if err != nil {
		return nil, err
	}
	return read.Log, nil
}

// String names the run for logs.
func (l *Live) String() string { return fmt.Sprintf("%s/%s", l.Session, l.ID) }
