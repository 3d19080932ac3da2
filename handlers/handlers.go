package handlers

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/protocol"

	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/extensions/command"
	"github.com/agentls/agentls/handlers/language"
	"github.com/agentls/agentls/internal/settings"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// Config is what a connection needs from who puts the daemon together.
type Config struct {
	// Build makes the parts of the daemon for a workspace. It is called once, by
	// initialize, and must not wait for the catalog of agents.
	// An error of its is the answer to initialize. ctx ends with the connection.
	Build   func(ctx context.Context, site Site) (*Daemon, error)
	Version string // of the daemon
	// The clock, which tests replace; not nil.
	Now func() time.Time
	// Of the daemon; not nil.
	Log *slog.Logger
}

// Site is the workspace that a client opened.
// All of its functions may be called from any goroutine, until the daemon's Close has
// returned.
type Site struct {
	Folders []workspace.Folder // the first one first; may be empty
	// What the client has open; the handlers change it, others only read.
	Workspace *workspace.Workspace
	// Changed is told, from any goroutine, that the catalog of agents is another.
	Changed func(before, after *registry.Snapshot)
	// Trusted is told, from any goroutine, that the records of trust changed.
	Trusted func(*registry.Snapshot)
	// Notice is told, from any goroutine, what a person should know and nobody
	// asked for, in a sentence. It does not wait; it may be nil.
	Notice func(text string)
	// Problems is told all that is wrong with settings and trust now, a sentence
	// each, whenever that may be other than before: [Daemon.Notes] at first. It
	// does not wait; it may be nil.
	Problems func(all []string)
	// Health is told when a session can no longer be written, and with nil when
	// it can again. It does not wait.
	Health func(session string, err error)
}

// Daemon is a daemon's parts, made for one workspace. Close ends them.
// Its functions are safe for concurrent use. Each must be set unless its comment says
// what nil means.
type Daemon struct {
	language.Daemon
	// Catalog returns the agents once they have been read, or ctx's error.
	Catalog func(ctx context.Context) (*registry.Snapshot, error)
	// SetTrust records whether a folder is trusted.
	// It is written when SetTrust returns; folder is canonical.
	SetTrust func(folder string, trusted bool) error
	// Reviews is asked what folders bring; nil reviews nothing.
	Reviews Reviews
	// Commands returns the custom commands of a folder, "" for none; nil = there are
	// none.
	Commands func(folder string) []command.Command
	// SetFolders takes over the client's workspace folders, the first one first.
	// It does not wait; Catalog then waits for their agents. Sessions stay with
	// the first folder of the start.
	SetFolders func(ctx context.Context, folders []workspace.Folder) error
	// Reach returns the folders in which runs may read and write files,
	// canonical: the workspace's and the user's additional ones.
	Reach func() []string
	// Values returns all settings that hold in a folder, "" for none, and SetValue
	// changes one of them in a file of a scope, whose path it returns. raw is JSON, as
	// [workspace.Settings.Check] takes it.
	Values   func(folder string) *workspace.Settings
	SetValue func(ctx context.Context, folder string, scope settings.Scope, key string,
		raw []byte) (file string, err error)
	// Known takes out of JSON or a text the secrets that the daemon itself holds (spec
	// 7.2); nil takes nothing.
	// What a run answers goes through it.
	Known func([]byte) []byte
	// RunTest runs a test of agents, whose texts are by the names of their files, and
	// returns what did not come as it was expected; nil runs none.
	// It blocks until the test has ended, or ctx.
	RunTest func(ctx context.Context, agents map[string]string, c *agenttest.Case) []agenttest.Failure
	// Home is the person's home folder, in which other tools keep agents; "" = unknown.
	Home string
	// Memory is the person's own GEMINI.md, which runs may change though it lies in no
	// folder of theirs (save_memory alone does); "" = none.
	Memory string
	// MakeShown makes the folder of shown files, if it is not there; nil = it is.
	MakeShown func() error
	// Renew reads agent files again, by their paths, so that the catalog has them
	// as they are now, or no more; nil waits for whoever watches.
	Renew func(ctx context.Context, paths ...string)
	// Notes are told to the person at the start: what is wrong with settings or
	// trust, until [Site.Problems] says otherwise.
	Notes []string
	// Close ends the runs, what they started and what the daemon watches.
	// [Handlers.Close] calls it once; goroutines of the connection may still call the
	// other functions until they have ended.
	Close func() error
}

// Handlers serves one connection. Make it with [New].
// The server calls its handlers from many goroutines; Close comes last. Peer and
// Workspace are set by New and not changed.
type Handlers struct {
	Config
	Peer      server.Peer
	Workspace *workspace.Workspace

	ctx context.Context // ends with the connection
	// Asks the person; made by New.
	frontend *frontend
	language *language.Handlers      // of what is asked about agent files
	daemon   *Daemon                 // set by initialize
	caps     wire.ClientCapabilities // of the client; set by initialize
	plain    bool                    // it knows only LSP; set by initialize
	writes   bool                    // it has documents; set by initialize
	shows    bool                    // it can show a document; set by initialize
	edits    editing                 // how it takes edits; set by initialize
	ready    sync.Once               // done by initialized
	left     atomic.Bool             // shutdown was asked for

	focused atomic.Pointer[wire.FocusParams] // where the person was last; nil = the client does not say

	work conc.WaitGroup // followers, reporters

	routing  chan struct{}   // capacity 1: what inputs are routed by may be other than before
	consents consents        // dialogs about folders
	texts    agentTexts      // where the texts of agent files come from
	saves    sequence        // what documents that were saved are still to bring about
	disks    workspace.Disks // folders that were read a moment ago

	telling  sync.Mutex // held while agents/didChange is sent
	revision uint64     // of the last one

	mu        sync.Mutex
	followers map[stream]*follower
	past      map[stream]*follower          // the last one of each that has ended, or is ending
	starting  map[[2]string]chan struct{}   // requests that are being started, by session and agent
	progress  map[string]string             // the run of a work-done token, by the token's JSON
	testing   map[string]context.CancelFunc // ends the tests of a work-done token, by the token's JSON
	unhealthy map[string]string             // why sessions cannot be written
	notices   []string                      // that the person was told, each once, and that still hold
	problems  []string                      // of settings and trust, that the person was told and that still hold
	status    chan struct{}                 // capacity 1: something to report
}

// New returns the handlers of one connection. ctx ends with the connection.
// Nothing is started. The caller calls Close when the connection has ended, whether or
// not initialize was served.
func New(ctx context.Context, peer server.Peer, config Config) *Handlers {
	h := &Handlers{
		Config: config, Peer: peer, Workspace: new(workspace.Workspace), ctx: ctx,
		followers: make(map[stream]*follower), past: make(map[stream]*follower), progress: make(map[string]string),
		testing:  make(map[string]context.CancelFunc),
		starting: make(map[[2]string]chan struct{}), unhealthy: make(map[string]string), status: make(chan struct{}, 1),
	}
	h.texts = newAgentTexts(&h.work)
	h.routing = make(chan struct{}, 1)
	h.frontend = newFrontend(h)
	h.language = language.New(ctx, language.Config{
		Peer: peer, Workspace: h.Workspace, Now: config.Now, Log: config.Log, Work: &h.work, Catalog: h.catalog,
		ApprovedText: h.approvedText, ExpectText: h.texts.noteRename, Tell: h.tell,
	})
	return h
}

// setDaemon takes the daemon's parts over.
func (h *Handlers) setDaemon(d *Daemon) {
	h.daemon = d
	h.language.SetDaemon(&d.Daemon)
}

// approvedText returns the text of a file below a folder that the person approved.
func (h *Handlers) approvedText(folder, rel string) ([]byte, bool) {
	if h.daemon.Reviews == nil {
		return nil, false
	}
	return h.daemon.Reviews.ApprovedText(folder, rel)
}

// Close ends the daemon's parts and waits for what the connection started. It
// is called when the connection has ended.
// It must come after the end of the context that New got: the followers and reporters
// end with that. The error is the daemon's.
func (h *Handlers) Close() error {
	var err error
	if h.daemon != nil {
		err = h.daemon.Close()
	}
	h.work.Wait()
	// All goroutines have ended, so nothing more is shown.
	h.forgetShown()
	return err
}

// Routes is the whole surface of the daemon: what has no row here does not
// exist, and what has one is documented and tested because of it.
// Each call returns new rows. A row says how its method is scheduled: see
// [server.Route].
func (h *Handlers) Routes() []server.Route {
	return slices.Concat(h.documentRoutes(), h.agentRoutes(), h.runRoutes(), h.sessionRoutes(), h.language.Routes())
}

// documentRoutes are what an editor tells of itself and its documents.
func (h *Handlers) documentRoutes() []server.Route {
	return []server.Route{
		// lifecycle.go
		server.Now(protocol.MethodInitialize, h.initialize),
		server.Notify(protocol.MethodInitialized, h.onInitialized),
		server.Now(protocol.MethodShutdown, h.shutdown).InStream(),

		// documents.go
		server.Notify(protocol.MethodTextDocumentDidOpen, h.didOpen).Granting(syncs),
		server.Notify(protocol.MethodTextDocumentDidChange, h.didChange),
		server.Notify(protocol.MethodTextDocumentDidSave, h.didSave),
		server.Notify(protocol.MethodTextDocumentDidClose, h.didClose),

		// folders.go
		server.Notify(protocol.MethodWorkspaceDidChangeWorkspaceFolders, h.didChangeFolders).Granting(advertiseFolders),

		// focus.go
		server.Notify(wire.MethodFocus, h.focus),
	}
}

// agentRoutes are what there is to know of agents, and what changes them.
func (h *Handlers) agentRoutes() []server.Route {
	return []server.Route{
		// catalog.go
		server.Query(wire.MethodList, nothing[wire.ListParams], h.list),
		server.Query(wire.MethodGet, nothing[wire.GetParams], h.get),
		// trust.go
		server.Query(wire.MethodTrust, nothing[wire.TrustParams], h.trust),
		server.Query(wire.MethodTrustGet, nothing[wire.TrustGetParams], h.getTrust),

		// input.go
		server.Query(wire.MethodParse, nothing[wire.ParseParams], h.parse),
		// customcommands.go
		server.Query(wire.MethodCommands, nothing[wire.CommandsParams], h.listCommands),
		// input.go
		server.Query(wire.MethodTemplates, nothing[struct{}], h.templates),

		// routing.go
		server.Query(wire.MethodRoute, captureSnapshot[wire.RouteParams](h), h.route),
		server.Query(wire.MethodConfigGet, nothing[wire.ConfigGetParams], h.getConfig),
		server.Query(wire.MethodConfigSet, nothing[wire.ConfigSetParams], h.setConfig),

		// create.go
		server.Query(wire.MethodCreate, captureSnapshot[wire.CreateParams](h), h.create),

		// import.go, export.go
		server.Query(wire.MethodImport, captureSnapshot[wire.ImportParams](h), h.importAgents),
		server.Query(wire.MethodExport, captureSnapshot[wire.ExportParams](h), h.exportAgents),

		// delete.go
		server.Query(wire.MethodDelete, captureSnapshot[wire.DeleteParams](h), h.delete),

		// tests.go
		server.Query(wire.MethodTestRun, captureSnapshot[wire.TestRunParams](h), h.runTests).InStream(),
	}
}

// runRoutes are runs, and what they ask a person.
func (h *Handlers) runRoutes() []server.Route {
	return []server.Route{
		// runs.go
		server.Query(wire.MethodRun, h.reserve, h.run).InStream(),
		server.Query(wire.MethodCancel, nothing[wire.CancelParams], h.cancel).Urgent(),
		server.Query(wire.MethodChain, nothing[wire.ChainParams], h.chain),
		server.Query(wire.MethodSteer, h.say, h.steer).Urgent(),
		server.Query(wire.MethodResume, captureSnapshot[wire.ResumeParams](h), h.resume).InStream(),

		// subscribe.go
		server.Query(wire.MethodSubscribe, nothing[wire.SubscribeParams], h.subscribe).InStream(),
		server.Query(wire.MethodUnsubscribe, nothing[wire.UnsubscribeParams], h.unsubscribe).InStream(),

		// approvals.go
		server.Query(wire.MethodRespond, nothing[wire.RespondParams], h.respond).Urgent(),

		// permissions.go
		server.Query(wire.MethodPending, nothing[wire.PendingParams], h.pending),
		server.Query(wire.MethodPermissionsList, nothing[wire.PermissionsListParams], h.listPermissions),
		server.Query(wire.MethodPermissionsForget, nothing[wire.PermissionsForgetParams], h.forgetPermission),

		// servers.go
		server.Query(wire.MethodMCPList, nothing[wire.MCPListParams], h.listServers),
		server.Query(wire.MethodMCPRestart, nothing[wire.MCPRestartParams], h.restartServer),
		server.Query(wire.MethodMCPStop, nothing[wire.MCPStopParams], h.stopServer),
		server.Query(wire.MethodMCPLogin, nothing[wire.MCPLoginParams], h.loginServer),
		server.Query(wire.MethodMCPLogout, nothing[wire.MCPLogoutParams], h.logoutServer),

		// commands.go
		server.Query(protocol.MethodWorkspaceExecuteCommand, captureSnapshot[protocol.ExecuteCommandParams](h),
			h.executeCommand).InStream().Granting(commands),

		// progress.go
		server.Notify(protocol.MethodWindowWorkDoneProgressCancel, h.cancelProgress),
	}
}

// sessionRoutes are what is kept of runs.
func (h *Handlers) sessionRoutes() []server.Route {
	return []server.Route{
		// sessions.go
		server.Query(wire.MethodSessionList, nothing[wire.SessionListParams], h.listSessions),
		server.Query(wire.MethodSessionGet, nothing[wire.SessionParams], h.getSession),
		server.Query(wire.MethodSessionNew, nothing[wire.SessionNewParams], h.newSession),
		server.Query(wire.MethodSessionCompress, nothing[wire.SessionCompressParams], h.compress),
		server.Query(wire.MethodSessionClose, nothing[wire.SessionParams], h.closeSession).InStream(),
		server.Query(wire.MethodSessionDelete, nothing[wire.SessionDeleteParams], h.deleteSession).InStream(),
		server.Query(wire.MethodSessionFork, nothing[wire.SessionForkParams], h.forkSession),
		server.Query(wire.MethodSessionSetApproval, nothing[wire.SessionApprovalParams], h.setApproval),
		server.Query(wire.MethodContextGet, nothing[wire.ContextParams], h.getContext),
		server.Query(wire.MethodContextClear, nothing[wire.ContextClearParams], h.clearContext),

		// traces.go
		server.Query(wire.MethodSessionReplay, nothing[wire.SessionParams], h.replaySession),
		server.Query(wire.MethodTraceGet, nothing[wire.TraceGetParams], h.getTrace),
		server.Query(wire.MethodTraceExport, nothing[wire.TraceExportParams], h.exportTrace),

		// graph.go
		server.Query(wire.MethodGraphGet, captureSnapshot[wire.GraphParams](h), h.getGraph),
		server.Query(wire.MethodGraphRun, h.reserve, h.runGraph).InStream(),
		server.Query(wire.MethodGraphResume, captureSnapshot[wire.ResumeParams](h), h.resumeGraph).InStream(),
		// state.go
		server.Query(wire.MethodStateGet, nothing[wire.StateParams], h.getState),
		server.Query(wire.MethodStateSet, nothing[wire.StateSetParams], h.setState),
		server.Query(wire.MethodStateClear, nothing[wire.StateClearParams], h.clearState),

		// memory.go
		server.Query(wire.MethodMemoryList, nothing[wire.MemoryListParams], h.listMemory),
		server.Query(wire.MethodMemorySearch, nothing[wire.MemorySearchParams], h.searchMemory),
		server.Query(wire.MethodMemoryDelete, nothing[wire.MemoryDeleteParams], h.deleteMemory),

		// changes.go
		server.Query(wire.MethodSessionRewind, captureSnapshot[wire.SessionRewindParams](h), h.rewind),
		server.Query(wire.MethodChanges, captureSnapshot[wire.ChangesParams](h), h.changes),
		server.Query(wire.MethodChangesResolve, captureSnapshot[wire.ChangesResolveParams](h), h.resolveChanges),
	}
}

// captureSnapshot captures the workspace as the client knew it when it sent its request.
//
// It runs in the goroutine that reads messages, so later changes of documents do not count
// for the request.
func captureSnapshot[P any](h *Handlers) func(*P) *workspace.Snapshot {
	return func(*P) *workspace.Snapshot { return h.Workspace.Snapshot() }
}

// nothing is the capture of a request that does not look at the workspace.
func nothing[P any](*P) struct{} { return struct{}{} }

// notify sends a notification of the daemon's own. A client that has gone is no
// error of the sender's.
func (h *Handlers) notify(method string, params any) {
	if err := h.Peer.Notify(h.ctx, method, params); err != nil {
		h.Log.Debug("a notification was not sent", "method", method, "err", err)
	}
}
