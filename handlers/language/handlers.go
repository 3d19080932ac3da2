// Package language serves what editors ask about agent files, files of tests, settings,
// and the lines of other documents that call an agent: the rows of [Handlers.Routes], a
// file for each family of methods.
//
// A [Query] is one request's view of documents and the catalog of agents. The answers are
// computed by the pure functions of agents/language; a file here turns them into the words
// of LSP, and positions into those that the client counts.
//
// # Files
//
// query.go has a request's view: which file a URI names, its text, and the positions in
// it. kept.go, testfile.go and explain.go keep what was made of files, so that a key
// pressed does not read everything again; settingsfile.go does so for settings, whose
// checking takes longer. diagnostics.go finds what is wrong with files; the client asks
// for it, or publish.go tells it. refresh.go has the client ask again. The others are
// named after the method of LSP that they serve. workspaceedit.go, encode.go and
// markup.go turn edits, findings and texts into what this client takes.
//
// # What is kept
//
//   - An answer is about one version of a document. What is kept of it (latest) is
//     dropped when there is a newer one or it was closed, so that a request that comes
//     late cannot put an older one in its place.
//   - What depends on more than the text is kept with that: the catalog, which is another
//     one whenever an agent or trust changes, and a generation, which grows with the
//     settings, with the tests that were run, and with what routing found out.
//   - A document whose text got lost (workspace.Document.Lost) has no answers: they would
//     be about the wrong places.
//   - No mutex is held while something is computed. What costs most (the index of names,
//     the calls in a document, the reports of the disk, the check of settings) is
//     computed by one request for all who want it at that time; of the rest several may
//     compute the same.
//
// # Positions
//
// agents/language and the findings count lines from 0 and columns in UTF-16 units. Most
// clients do, too; of others [Columns] converts each position on its way in and out. That
// takes the text of the file, which is why the converter of an answer about many files
// (texts) reads them. Files and calls are kept in our columns; reports of findings are kept
// in the client's, which never change.
//
// # Waiting for the agents
//
// Editors ask with each key and each move of the cursor, about all files. A handler that
// may have nothing to say therefore begins with [Handlers.QueryFiles], which waits for
// nothing, and calls [Handlers.Query] once it knows that agents matter: Query waits until
// the catalog has read what was saved before.
//
// # To add a method
//
// Write a func of ctx, the snapshot and the params in the file of its family, and a row
// in one of the lists of routes; Granting tells the client of it at the start. A result
// that is nil is null for the client.
//
// # Order of calls
//
// [New], then [Handlers.SetClient] and [Handlers.SetDaemon] before the first request is
// served; what they set is not changed afterwards. [Handlers.Begin] follows when the
// client is ready. All others may come from any goroutine; what [Handlers.Refresh] and
// [Handlers.ScheduleCheck] ask for before Begin is done after it. Everything that goes on
// beside them is in [Config.Work] and ends with the context that New got.
package language

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/sourcegraph/conc"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/extensions/mcp"
	"github.com/agentls/agentls/internal/wire"
	"github.com/agentls/agentls/server"
	"github.com/agentls/agentls/workspace"
)

// Config is what the handlers need of the connection that they serve.
type Config struct {
	// The client.
	Peer server.Peer
	// What it has open; only read here.
	Workspace *workspace.Workspace
	// The clock; not nil.
	Now  func() time.Time
	Log  *slog.Logger
	Work *conc.WaitGroup // what goes on beside requests, until the connection ends
	// Catalog returns the agents once they have been read, as they are after all that was
	// saved before.
	// The error is ctx's.
	Catalog func(ctx context.Context) (*registry.Snapshot, error)
	// ApprovedText returns the text of a file below a folder that the person approved.
	// folder is canonical; false where none was approved, or its text was not kept. It
	// must not be nil.
	ApprovedText func(folder, rel string) ([]byte, bool)
	// ExpectText is told of a text that an agent file gets by a rename of an agent, which
	// the person asked for.
	ExpectText func(text string)
	// Tell shows the person one line.
	Tell func(level protocol.MessageType, text string)
}

// Daemon is what is known beside documents. All of it may be called from any goroutine.
type Daemon struct {
	// The agents' service: what an agent would get, and how its last run went.
	Agents *agents.Service
	// Trusted says whether a folder is (spec 4.4).
	Trusted func(folder string) bool
	// MCP are the MCP servers of the settings; nil = there are none.
	MCP *mcp.Servers
	// Settings returns what the person's settings say about runs in a folder, ""
	// for none; nil says nothing.
	Settings func(folder string) *agents.Settings
	// Mask takes out of JSON or a text that is shown what looks like a credential
	// (spec 7.2); nil takes nothing.
	Mask func([]byte) []byte
	// Shown is a folder for texts that a person is shown as files.
	Shown string
	// Templates is the folder of the person's own templates; it need not exist.
	Templates string
	// Locale is the person's, as LANG has it.
	Locale string
	// Knowledge is what agent files are checked against.
	Knowledge Knowledge
}

// SettingsOf returns [Daemon.Settings], empty ones where it is nil.
func (d *Daemon) SettingsOf(folder string) *agents.Settings {
	if d.Settings == nil {
		return new(agents.Settings)
	}
	return d.Settings(folder)
}

// MaskText returns what may be shown of a text.
func (d *Daemon) MaskText(text []byte) []byte {
	if d.Mask == nil {
		return text
	}
	return d.Mask(text)
}

// IsShown reports whether a path is that of a file that the daemon shows.
func (d *Daemon) IsShown(path string) bool {
	return d.Shown != "" && workspace.CanonicalPath(filepath.Dir(path)) == workspace.CanonicalPath(d.Shown)
}

// Handlers serves one connection. Make it with [New].
type Handlers struct {
	Config

	ctx       context.Context             // ends with the connection
	daemon    *Daemon                     // set by SetDaemon
	client    protocol.ClientCapabilities // set by SetClient
	neovim    bool                        // the client is Neovim; set by SetClient
	oldNeovim bool                        // Neovim before 0.11; set by SetClient

	written      written      // agent files as they were read last
	explanations explanations // of the agent files that were asked about last
	checks       checks       // what was found in files last
	tests        testsKept    // files of tests as they were read last, and what their runs found
	publisher    publisher    // what the client was told of it

	live       liveRuns    // that were told of last
	refreshers []refresher // what the client is told to ask for again; set by SetClient
}

// New returns the handlers of one connection. ctx ends with the connection.
// Nothing is started, and nothing has to be closed.
func New(ctx context.Context, config Config) *Handlers {
	h := &Handlers{Config: config, ctx: ctx}
	h.checks.making = make(chan struct{}, 1)
	h.publisher = publisher{due: make(chan struct{}, 1), told: make(map[uri.URI]finding)}
	return h
}

// SetClient says what the client is and can do, before anything is asked.
func (h *Handlers) SetClient(info protocol.ClientInfo, client protocol.ClientCapabilities) {
	h.client = client
	h.neovim, h.oldNeovim = info.Name == "Neovim", oldNeovim(info)
	h.setRefreshers()
}

// SetDaemon says what is known beside documents, before anything is asked.
func (h *Handlers) SetDaemon(d *Daemon) { h.daemon = d }

// Begin begins to tell the client what it does not ask for, once it is ready.
// It starts goroutines of [Config.Work].
func (h *Handlers) Begin() {
	h.startRefreshing()
	h.Work.Go(h.registerFormatter)
	if h.published() {
		h.scheduleChecks()
		h.Work.Go(h.publish)
	}
}

// Routes is what is served here.
// Each of them waits for the agents where it needs them, and gives up with its request.
func (h *Handlers) Routes() []server.Route {
	return slices.Concat(h.readingRoutes(), h.editingRoutes(), h.agentRoutes())
}

// readingRoutes are what editors show of files.
func (h *Handlers) readingRoutes() []server.Route {
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
	}
}

// editingRoutes are what changes files.
// None of them writes a file: the client makes the edits that they return.
func (h *Handlers) editingRoutes() []server.Route {
	return []server.Route{
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

// agentRoutes are the daemon's own questions about agent files.
func (h *Handlers) agentRoutes() []server.Route {
	return []server.Route{
		// explain.go
		server.Query(wire.MethodExplain, captureSnapshot[wire.ExplainParams](h), h.explain),

		// validate.go
		server.Query(wire.MethodValidate, captureSnapshot[wire.ValidateParams](h), h.validate),

		// tests.go
		server.Query(wire.MethodTestList, captureSnapshot[wire.TestListParams](h), h.listTests),
	}
}

// captureSnapshot captures the workspace as the client knew it when it sent its request.
func captureSnapshot[P any](h *Handlers) func(*P) *workspace.Snapshot {
	return func(*P) *workspace.Snapshot { return h.Workspace.Snapshot() }
}
