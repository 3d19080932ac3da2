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
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/agenttest"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/extensions/command"
	"github.com/agentls/agentls/extensions/mcp"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// Config is what a connection needs from who puts the daemon together.
type Config struct {
	// Build makes the parts of the daemon for a workspace. It is called once, by
	// initialize, and must not wait for the catalog of agents.
	Build   func(ctx context.Context, site Site) (*Daemon, error)
	Version string // of the daemon
	Now     func() time.Time
	Log     *slog.Logger
}

// Site is the workspace that a client opened.
type Site struct {
	Folders   []workspace.Folder // the first one first; may be empty
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
type Daemon struct {
	Agents *agents.Service
	// Catalog returns the agents once they have been read, or ctx's error.
	Catalog func(ctx context.Context) (*registry.Snapshot, error)
	// Trusted says whether a folder is (spec 4.4); SetTrust records it.
	Trusted  func(folder string) bool
	SetTrust func(folder string, trusted bool) error
	// Reviews is asked what folders bring; nil reviews nothing.
	Reviews Reviews
	// MCP are the MCP servers of the settings; nil = there are none.
	MCP *mcp.Servers
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
	// Settings returns what the person's settings say about runs in a folder, ""
	// for none; nil says nothing.
	Settings func(folder string) agents.Settings
	// Values returns all settings that hold in a folder, "" for none, and SetValue
	// changes one of them in a file of a scope, whose path it returns. raw is JSON, as
	// [workspace.Settings.Check] takes it.
	Values   func(folder string) *workspace.Settings
	SetValue func(ctx context.Context, folder string, scope workspace.Scope, key string,
		raw []byte) (file string, err error)
	// Mask takes out of JSON or a text that is shown what looks like a credential,
	// and Known only the secrets that the daemon itself holds (spec 7.2); nil takes
	// nothing.
	Mask  func([]byte) []byte
	Known func([]byte) []byte
	// RunTest runs a test of agents, whose texts are by the names of their files, and
	// returns what did not come as it was expected; nil runs none.
	RunTest func(ctx context.Context, agents map[string]string, c *agenttest.Case) []agenttest.Failure
	// Memory is the person's own GEMINI.md, which runs may change though it lies in no
	// folder of theirs (save_memory alone does); "" = none.
	Memory string
	// Shown is a folder for texts that a person is shown as files. MakeShown makes
	// it, if it is not there; nil = it is.
	Shown     string
	MakeShown func() error
	// Knowledge is what agent files are checked against.
	Knowledge Knowledge
	// Renew reads agent files again, by their paths, so that the catalog has them
	// as they are now, or no more; nil waits for whoever watches.
	Renew func(ctx context.Context, paths ...string)
	// Templates is the folder of the person's own templates; it need not exist.
	Templates string
	// Locale is the person's, as LANG has it.
	Locale string
	// Notes are told to the person at the start: what is wrong with settings or
	// trust, until [Site.Problems] says otherwise.
	Notes []string
	Close func() error
}

// Handlers serves one connection. Make it with [New].
type Handlers struct {
	Config
	Peer      server.Peer
	Workspace *workspace.Workspace

	ctx       context.Context // ends with the connection
	frontend  *frontend
	daemon    *Daemon                     // set by initialize
	caps      wire.ClientCapabilities     // of the client; set by initialize
	client    protocol.ClientCapabilities // what LSP defines of them; set by initialize
	plain     bool                        // it knows only LSP; set by initialize
	neovim    bool                        // it is Neovim; set by initialize
	oldNeovim bool                        // Neovim before 0.11; set by initialize
	shows     bool                        // it can show a document; set by initialize
	edits     editing                     // how it takes edits; set by initialize
	ready     sync.Once                   // done by initialized
	left      atomic.Bool                 // shutdown was asked for

	focused atomic.Pointer[wire.FocusParams] // where the person was last; nil = the client does not say

	work conc.WaitGroup // followers, reporters

	written      written         // agent files as they were read last
	explanations explanations    // of the agent files that were asked about last
	checks       checks          // what was found in files last
	tests        testsKept       // files of tests as they were read last, and what their runs found
	publisher    publisher       // what the client was told of it
	routing      chan struct{}   // capacity 1: what inputs are routed by may be other than before
	consents     consents        // dialogs about folders
	texts        agentTexts      // where the texts of agent files come from
	saves        sequence        // what documents that were saved are still to bring about
	disks        workspace.Disks // folders that were read a moment ago

	live       liveRuns    // that were told of last
	refreshers []refresher // what the client is told to ask for again; set by initialize

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
func New(ctx context.Context, peer server.Peer, config Config) *Handlers {
	h := &Handlers{
		Config: config, Peer: peer, Workspace: new(workspace.Workspace), ctx: ctx,
		followers: make(map[stream]*follower), past: make(map[stream]*follower), progress: make(map[string]string),
		testing:  make(map[string]context.CancelFunc),
		starting: make(map[[2]string]chan struct{}), unhealthy: make(map[string]string), status: make(chan struct{}, 1),
	}
	h.texts = newAgentTexts(&h.work)
	h.checks.making = make(chan struct{}, 1)
	h.routing = make(chan struct{}, 1)
	h.publisher = publisher{due: make(chan struct{}, 1), told: make(map[uri.URI]finding)}
	h.frontend = newFrontend(h)
	return h
}

// Close ends the daemon's parts and waits for what the connection started. It
// is called when the connection has ended.
func (h *Handlers) Close() error {
	var err error
	if h.daemon != nil {
		err = h.daemon.Close()
	}
	h.work.Wait()
	h.forgetShown()
	return err
}

// Routes is the whole surface of the daemon: what has no row here does not
// exist, and what has one is documented and tested because of it.
func (h *Handlers) Routes() []server.Route {
	return slices.Concat(h.documentRoutes(), h.agentRoutes(), h.runRoutes(), h.sessionRoutes(), h.languageRoutes())
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
		server.Query(wire.MethodTrust, nothing[wire.TrustParams], h.trust),

		// input.go
		server.Query(wire.MethodParse, nothing[wire.ParseParams], h.parse),
		server.Query(wire.MethodCommands, nothing[wire.CommandsParams], h.listCommands),
		server.Query(wire.MethodTemplates, nothing[struct{}], h.templates),

		// routing.go
		server.Query(wire.MethodRoute, captureSnapshot[wire.RouteParams](h), h.route),
		server.Query(wire.MethodConfigGet, nothing[wire.ConfigGetParams], h.getConfig),
		server.Query(wire.MethodConfigSet, nothing[wire.ConfigSetParams], h.setConfig),

		// create.go
		server.Query(wire.MethodCreate, captureSnapshot[wire.CreateParams](h), h.create),

		// delete.go
		server.Query(wire.MethodDelete, captureSnapshot[wire.DeleteParams](h), h.delete),

		// explain.go
		server.Query(wire.MethodExplain, captureSnapshot[wire.ExplainParams](h), h.explain),

		// tests.go
		server.Query(wire.MethodTestList, captureSnapshot[wire.TestListParams](h), h.listTests),
		server.Query(wire.MethodTestRun, captureSnapshot[wire.TestRunParams](h), h.runTests).InStream(),

		// validate.go
		server.Query(wire.MethodValidate, captureSnapshot[wire.ValidateParams](h), h.validate),
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

		// state.go
		server.Query(wire.MethodGraphGet, captureSnapshot[wire.GraphParams](h), h.getGraph),
		server.Query(wire.MethodGraphRun, h.reserve, h.runGraph).InStream(),
		server.Query(wire.MethodGraphResume, captureSnapshot[wire.ResumeParams](h), h.resumeGraph).InStream(),
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

// languageRoutes are what LSP asks about files.
func (h *Handlers) languageRoutes() []server.Route {
	return []server.Route{
		// diagnostics.go
		server.Query(protocol.MethodTextDocumentDiagnostic, captureSnapshot[protocol.DocumentDiagnosticParams](h),
			h.diagnostic).Granting(h.advertiseDiagnostics),
		server.Query(protocol.MethodWorkspaceDiagnostic, captureSnapshot[protocol.WorkspaceDiagnosticParams](h),
			h.workspaceDiagnostic),

		// completion.go
		server.Query(protocol.MethodTextDocumentCompletion, captureSnapshot[protocol.CompletionParams](h),
			h.completion).Granting(completes),
		server.Query(protocol.MethodCompletionItemResolve, captureSnapshot[protocol.CompletionItem](h),
			h.resolveCompletion),

		// hover.go
		server.Query(protocol.MethodTextDocumentHover, captureSnapshot[protocol.HoverParams](h),
			h.hover).Granting(hovers),

		// lens.go
		server.Query(protocol.MethodTextDocumentCodeLens, captureSnapshot[protocol.CodeLensParams](h),
			h.codeLens).Granting(advertiseLenses),

		// hint.go
		server.Query(protocol.MethodTextDocumentInlayHint, captureSnapshot[protocol.InlayHintParams](h),
			h.inlayHint).Granting(advertiseHints),

		// symbols.go
		server.Query(protocol.MethodTextDocumentDocumentSymbol, captureSnapshot[protocol.DocumentSymbolParams](h),
			h.documentSymbol).Granting(advertiseSymbols),
		server.Query(protocol.MethodTextDocumentFoldingRange, captureSnapshot[protocol.FoldingRangeParams](h),
			h.foldingRange).Granting(folds),
		server.Query(protocol.MethodTextDocumentDocumentLink, captureSnapshot[protocol.DocumentLinkParams](h),
			h.documentLink).Granting(advertiseLinks),
		server.Query(protocol.MethodTextDocumentDocumentColor, captureSnapshot[protocol.DocumentColorParams](h),
			h.documentColor).Granting(advertiseColors),
		server.Query(protocol.MethodTextDocumentColorPresentation,
			captureSnapshot[protocol.ColorPresentationParams](h), h.colorPresentation),

		// tokens.go
		server.Query(protocol.MethodTextDocumentSemanticTokensFull, captureSnapshot[protocol.SemanticTokensParams](h),
			h.semanticTokens).Granting(advertiseTokens),
		server.Query(protocol.MethodTextDocumentSemanticTokensRange,
			captureSnapshot[protocol.SemanticTokensRangeParams](h), h.semanticTokensRange),

		// navigation.go
		server.Query(protocol.MethodTextDocumentDefinition, captureSnapshot[protocol.DefinitionParams](h),
			h.goToDefinition).Granting(navigates),
		server.Query(protocol.MethodTextDocumentReferences, captureSnapshot[protocol.ReferenceParams](h),
			h.findReferences),
		server.Query(protocol.MethodTextDocumentDocumentHighlight,
			captureSnapshot[protocol.DocumentHighlightParams](h), h.highlight),
		server.Query(protocol.MethodWorkspaceSymbol, captureSnapshot[protocol.WorkspaceSymbolParams](h), h.findSymbols),

		// rename.go
		server.Query(protocol.MethodTextDocumentPrepareRename,
			captureSnapshot[protocol.PrepareRenameParams](h), h.prepareRename),
		server.Query(protocol.MethodTextDocumentRename, captureSnapshot[protocol.RenameParams](h),
			h.rename).Granting(h.renames),
		server.Query(protocol.MethodWorkspaceWillRenameFiles, captureSnapshot[protocol.RenameFilesParams](h),
			h.willRenameFiles).Granting(willRename),

		// action.go
		server.Query(protocol.MethodTextDocumentCodeAction, captureSnapshot[protocol.CodeActionParams](h),
			h.codeAction).Granting(h.acts),

		// format.go
		server.Query(protocol.MethodTextDocumentFormatting, captureSnapshot[protocol.DocumentFormattingParams](h),
			h.format).Granting(h.formats),
	}
}

// captureSnapshot captures the workspace as the client knew it when it sent its request.
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
