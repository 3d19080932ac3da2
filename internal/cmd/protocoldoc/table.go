package main

// row says of one method what its Go types do not: which types are its own, the
// capability that turns it on, and what a client that lacks it gets instead.
type row struct {
	constant string   // in internal/wire: MethodList
	params   string   // the type of its parameters, "" for none
	results  []string // the types of its result, one of them at a time; none of a notification
	when     []string // when each of several results comes
	needs    string   // the member of ClientCapabilities, as Markdown; "" for none
	without  string   // what a client that lacks it gets instead
}

// anyClient is said of what needs no capability.
const anyClient = "nothing; every client may send it"

// rows are the methods, in the order of the document. A test holds that each
// constant of internal/wire has one.
var rows = []row{
	{
		constant: "MethodList", params: "ListParams", results: []string{"ListResult"},
		without: "The command `agentls.list` answers the same, and shows it to the person where the client knows only LSP.",
	},
	{
		constant: "MethodGet", params: "GetParams", results: []string{"GetResult"},
		without: "The agent's file can be opened like any other; `agentls.list` says what is wrong with it.",
	},
	{
		constant: "MethodCreate", params: "CreateParams", results: []string{"CreateResult"},
		without: "`agentls create` on the command line does the same; an editor completes a whole file in an empty one below `.gemini/agents`.",
	},
	{
		constant: "MethodDelete", params: "DeleteParams", results: []string{"DeleteResult"},
		without: "`agentls delete` on the command line does the same. A file that is removed in any other way is an agent no more, and its contexts stay.",
	},
	{
		constant: "MethodTestList", params: "TestListParams", results: []string{"TestListResult"},
		without: "Lenses in files of tests and of agents run them.",
	},
	{
		constant: "MethodTestRun", params: "TestRunParams", results: []string{"TestRunResult"},
		without: "The command `agentls.runTests` answers the same, and tells the person where the client knows only LSP; so does `agentls test` on the command line.",
	},
	{
		constant: "MethodValidate", params: "ValidateParams", results: []string{"ValidateResult"},
		without: "The command `agentls.validate` answers the same, and shows it to the person where the client knows only LSP; so does `agentls validate` on the command line.",
	},
	{
		constant: "MethodImport", params: "ImportParams", results: []string{"ImportResult"},
		without: "`agentls import` on the command line does the same.",
	},
	{
		constant: "MethodExport", params: "ExportParams", results: []string{"ExportResult"},
		without: "`agentls export` on the command line does the same.",
	},
	{
		constant: "MethodExplain", params: "ExplainParams", results: []string{"ExplainResult"},
		without: "Hovering over the name of an agent in its file tells the same, shorter; `agentls explain` on the command line tells all of it.",
	},
	{
		constant: "MethodRun", params: "RunParams", results: []string{"RunResult", "RunAccepted"},
		when: []string{"with `wait: \"end\"`, after every event of the run has been sent",
			"with `wait: \"accept\"`, at once"},
		without: "The command `agentls.run` starts a run. A client that knows only LSP is shown the result: one line by `window/showMessage`, and the whole by `window/showDocument` where there is more; where that is not to be had, the message says in which file it is.",
	},
	{
		constant: "MethodCancel", params: "CancelParams", results: []string{"CancelResult"},
		without: "`$/cancelRequest` on the request that started the run, `window/workDoneProgress/cancel` on its progress, or the command `agentls.cancel`.",
	},
	{
		constant: "MethodChain", params: "ChainParams", results: []string{"Chain"},
		without: "`agentls chain` on the command line tells the same; the command `agentls.showTranscript` shows each handoff with its reason.",
	},
	{
		constant: "MethodSteer", params: "SteerParams", results: []string{"SteerResult"},
		without: "What is said to an agent that is busy has to wait for the end of its run.",
	},
	{
		constant: "MethodResume", params: "ResumeParams", results: []string{"RunResult", "RunAccepted"},
		when: []string{"with `wait: \"end\"`, after every event of the run has been sent",
			"with `wait: \"accept\"`, at once"},
		without: "A paused run asks by itself whether it may go on, in a dialog where need be. One that the end of a daemon interrupted can be cancelled, and the agent asked again: it remembers what was said. `agentls sessions resume` on the command line does the same.",
	},
	{
		constant: "MethodSubscribe", params: "SubscribeParams", results: []string{"SubscribeResult"},
		without: "The command `agentls.showTranscript` shows a session. A client that knows only LSP may subscribe too, and is then sent `agents/activity` for that session.",
	},
	{
		constant: "MethodUnsubscribe", params: "UnsubscribeParams", results: []string{"Empty"},
		without: "A subscription ends with the connection.",
	},
	{
		constant: "MethodParse", params: "ParseParams", results: []string{"ParseResult"},
		without: "The command `agentls.run` takes `@name text` where it takes an agent's name.",
	},
	{
		constant: "MethodRoute", params: "RouteParams", results: []string{"RouteResult"},
		without: "`agentls route` on the command line does the same. A run tells in its progress who took it, and why.",
	},
	{
		constant: "MethodConfigGet", params: "ConfigGetParams", results: []string{"ConfigGetResult"},
		without: "`agentls config` on the command line does the same.",
	},
	{
		constant: "MethodConfigSet", params: "ConfigSetParams", results: []string{"ConfigSetResult"},
		without: "The settings file can be edited: it is completed and checked like an agent file.",
	},
	{
		constant: "MethodTemplates", results: []string{"TemplatesResult"},
		without: "Nothing: templates are for clients that make agents' files.",
	},
	{
		constant: "MethodCommands", params: "CommandsParams", results: []string{"CommandsResult"},
		without: "`agentls run` and the command agentls.run take a text that begins with /name; `/help` of `agentls run --interactive` lists them.",
	},
	{
		constant: "MethodSessionList", params: "SessionListParams", results: []string{"SessionListResult"},
		without: "The command `agentls.sessions` answers the same, and shows it to the person where the client knows only LSP.",
	},
	{
		constant: "MethodSessionGet", params: "SessionParams", results: []string{"SessionGetResult"},
		without: "The command `agentls.showTranscript` shows a session with its runs.",
	},
	{
		constant: "MethodSessionNew", params: "SessionNewParams", results: []string{"SessionNewResult"},
		without: "A run that names a session which is not there begins it.",
	},
	{
		constant: "MethodSessionCompress", params: "SessionCompressParams", results: []string{"SessionCompressResult"},
		without: "A context is compressed by itself when it reaches the threshold of the settings.",
	},
	{
		constant: "MethodSessionClose", params: "SessionParams", results: []string{"Empty"},
		without: "A session that nobody uses costs a little memory, until the daemon ends.",
	},
	{
		constant: "MethodSessionDelete", params: "SessionDeleteParams", results: []string{"Empty"},
		without: "`agentls sessions delete` on the command line does the same; the setting `agents.retention` removes old sessions.",
	},
	{
		constant: "MethodSessionFork", params: "SessionForkParams", results: []string{"SessionNewResult"},
		without: "`agentls sessions fork` on the command line does the same.",
	},
	{
		constant: "MethodSessionRewind", params: "SessionRewindParams", results: []string{"SessionRewindResult"},
		without: "`agentls sessions rewind` on the command line does the same; the command `agentls.undoLast` takes back what the newest run changed in files.",
	},
	{
		constant: "MethodSessionSetApproval", params: "SessionApprovalParams",
		results: []string{"SessionApprovalResult"},
		without: "Sessions have the mode that the daemon was started with (`agentls serve --approve`).",
	},
	{
		constant: "MethodSessionReplay", params: "SessionParams", results: []string{"ReplayResult"},
		without: "`agentls sessions replay` on the command line shows the same; the command `agentls.showTranscript` shows what was said.",
	},
	{
		constant: "MethodTraceGet", params: "TraceGetParams", results: []string{"TraceGetResult"},
		without: "`agentls trace show` on the command line shows the same.",
	},
	{
		constant: "MethodTraceExport", params: "TraceExportParams", results: []string{"TraceExportResult"},
		without: "`agentls trace export` on the command line does the same.",
	},
	{
		constant: "MethodChanges", params: "ChangesParams", results: []string{"ChangesResult"},
		without: "`agentls changes` on the command line shows the same.",
	},
	{
		constant: "MethodChangesResolve", params: "ChangesResolveParams", results: []string{"ChangesResolveResult"},
		without: "The command `agentls.undoLast` undoes what the newest run changed; `agentls changes` on the command line keeps and undoes.",
	},
	{
		constant: "MethodContextGet", params: "ContextParams", results: []string{"ContextGetResult"},
		without: "`agentls context show` on the command line shows the same.",
	},
	{
		constant: "MethodContextClear", params: "ContextClearParams", results: []string{"Empty"},
		without: "`agentls context clear` on the command line does the same.",
	},
	{
		constant: "MethodGraphGet", params: "GraphParams", results: []string{"GraphResult"},
		without: "`agentls graph visualize` on the command line shows the same.",
	},
	{
		constant: "MethodGraphRun", params: "RunParams", results: []string{"RunResult", "RunAccepted"},
		when: []string{"with `wait: \"end\"`, after every event of the run has been sent",
			"with `wait: \"accept\"`, at once"},
		without: "`agents/run` runs an agent with a graph as it does any other, and so do the commands.",
	},
	{
		constant: "MethodGraphResume", params: "ResumeParams", results: []string{"RunResult", "RunAccepted"},
		when: []string{"with `wait: \"end\"`, after every event of the run has been sent",
			"with `wait: \"accept\"`, at once"},
		without: "`agents/resume` takes up any run; `agentls graph resume` on the command line does the same.",
	},
	{
		constant: "MethodStateGet", params: "StateParams", results: []string{"StateResult"},
		without: "`agentls context show NAME --state` on the command line shows the same.",
	},
	{
		constant: "MethodStateSet", params: "StateSetParams", results: []string{"Empty"},
		without: "Agents set values by the tool set_state.",
	},
	{
		constant: "MethodStateClear", params: "StateClearParams", results: []string{"Empty"},
		without: "`agentls context clear` removes the keys that an agent's file names (memory.session).",
	},
	{
		constant: "MethodMemoryList", params: "MemoryListParams", results: []string{"MemoryListResult"},
		without: "`agentls memory list` on the command line lists the same.",
	},
	{
		constant: "MethodMemorySearch", params: "MemorySearchParams", results: []string{"MemorySearchResult"},
		without: "`agentls memory search` on the command line does the same.",
	},
	{
		constant: "MethodMemoryDelete", params: "MemoryDeleteParams", results: []string{"MemoryDeleteResult"},
		without: "`agentls memory delete` on the command line does the same.",
	},
	{
		constant: "MethodRespond", params: "RespondParams", results: nil,
		needs:   "`confirm.respond`, for answers to `agents/confirm`",
		without: "A question is answered by the answer to the request itself.",
	},
	{
		constant: "MethodPending", params: "PendingParams", results: []string{"PendingResult"},
		without: "Questions come one after the other, as dialogs.",
	},
	{
		constant: "MethodMCPList", params: "MCPListParams", results: []string{"MCPListResult"},
		without: "`agentls mcp-servers list` on the command line lists those that are configured.",
	},
	{
		constant: "MethodMCPRestart", params: "MCPRestartParams", results: []string{"MCPServerResult"},
		without: "A server that failed is started again when it is needed, five times at most.",
	},
	{
		constant: "MethodMCPStop", params: "MCPStopParams", results: []string{"MCPServerResult"},
		without: "A server is ended ten minutes after its last use, and when the settings do not describe it any more.",
	},
	{
		constant: "MethodMCPLogin", params: "MCPLoginParams", results: []string{"MCPServerResult"},
		without: "`agentls mcp-servers login NAME` on the command line does the same.",
	},
	{
		constant: "MethodMCPLogout", params: "MCPLogoutParams", results: []string{"MCPServerResult"},
		without: "`agentls mcp-servers logout NAME` on the command line does the same.",
	},
	{
		constant: "MethodPermissionsList", params: "PermissionsListParams", results: []string{"PermissionsListResult"},
		without: "`agentls permissions` on the command line lists those for always.",
	},
	{
		constant: "MethodPermissionsForget", params: "PermissionsForgetParams",
		results: []string{"PermissionsForgetResult"},
		without: "`agentls permissions forget ID` on the command line forgets the same.",
	},
	{
		constant: "MethodTrust", params: "TrustParams", results: nil,
		without: "`agentls trust` on the command line records the same.",
	},
	{
		constant: "MethodTrustGet", params: "TrustGetParams", results: []string{"TrustGetResult"},
		without: "`agentls trust --list --patch` on the command line shows the same.",
	},

	{
		constant: "MethodFocus", params: "FocusParams",
		without: "A command that names no document asks which one it is about.",
	},

	{
		constant: "MethodConfirm", params: "ConfirmParams", results: []string{"ConfirmResult"}, needs: "`confirm`",
		without: "`window/showMessageRequest`, one question at a time: *Reject* first, *Show* for the whole, *Allow once*, *Allow for this session*. When the summary was cut, the call can be allowed only after *Show*. An error -32601 falls back to this too. Null, a time-out and anything else that is not a clear yes is no.",
	},
	{
		constant: "MethodAsk", params: "AskParams", results: []string{"AskResult"}, needs: "`ask`",
		without: "A question with choices comes by `window/showMessageRequest`, *Decline* first. One that wants free text comes as a file by `window/showDocument`: what stands in it when it is saved is the answer; saved or closed as it was, it declines, as does a client that shows no documents. An error -32601 falls back to this too.",
	},
	{
		constant: "MethodSaveDocuments", params: "SaveDocumentsParams", results: []string{"SaveDocumentsResult"},
		needs:   "`saveDocuments`",
		without: "Nothing is saved; the tool is told which documents have unsaved changes.",
	},
	{
		constant: "MethodEditorQuery", params: "EditorQueryParams",
		results: []string{"EditorDiagnostics", "EditorSymbols", "EditorLocations"},
		when: []string{"with `kind: \"diagnostics\"`", "with `kind: \"symbols\"`",
			"with `kind: \"definition\"` and `\"references\"`"},
		needs: "`editorQueries`", without: "The tools `diagnostics`, `symbols`, `definition` and `references` fail and say so to the agent, and it is told no new diagnostics after its edits.",
	},

	{
		constant: "MethodActivity", params: "ActivityParams", needs: "`activity`",
		without: "A run whose request carries a `workDoneToken` reports `$/progress` under it. A client that knows only LSP gets `$/progress` under a token that the daemon creates, or lines by `window/logMessage` where it does not serve `window/workDoneProgress/create`.",
	},
	{
		constant: "MethodConfirmResolved", params: "ConfirmResolvedParams", needs: "`confirm`",
		without: "A question that is withdrawn is cancelled by `$/cancelRequest`.",
	},
	{
		constant: "MethodDidChange", params: "DidChangeParams", needs: "any negotiation",
		without: "Nothing: the next `agentls.list` or `agents/list` has the change.",
	},
	{
		constant: "MethodStatus", params: "StatusParams", needs: "`status`",
		without: "What a person must know is said once by `window/showMessage`.",
	},
	{
		constant: "MethodTestResult", params: "TestResultParams",
		without: "A client that says nothing of agents is not sent it; the results are in the answer.",
	},
	{
		constant: "MethodFilesWritten", params: "FilesWrittenParams", needs: "`filesWritten`",
		without: "Nothing: the editor's own watching of files finds the change. Documents that are open are changed by `workspace/applyEdit`.",
	},
}

// command says of a command what its constant does not.
type command struct {
	constant string // in internal/wire: CommandRun
	result   string
}

// commands are the commands of workspace/executeCommand.
var commands = []command{
	{"CommandRun", "[RunResult](#runresult), as `agents/run` with `wait: \"end\"`; null when the person chose no agent"},
	{"CommandRunOnSelection", "as `agentls.run`"},
	{"CommandList", "[ListResult](#listresult), as `agents/list`"},
	{"CommandCancel", "[CancelResult](#cancelresult), as `agents/cancel`"},
	{"CommandSessions", "[SessionListResult](#sessionlistresult), as `agents/session/list`"},
	{"CommandUndoLast", "[ChangesResolveResult](#changesresolveresult), as `agents/changes/resolve`; a client that knows only LSP is told in one line by `window/showMessage`"},
	{"CommandShowTranscript", "`{\"uri\": string}`: where the text is"},
	{"CommandRunTests", "[TestRunResult](#testrunresult), as `agents/test/run`"},
	{"CommandValidate", "[ValidateResult](#validateresult), as `agents/validate`"},
	{"CommandRunInline", "[RunResult](#runresult), as `agents/run` with `wait: \"end\"`; null when the person chose no command"},
	{"CommandTrustWorkspace", "`{\"trusted\": string[]}`: the URIs of the folders that are trusted now"},
}

// example is what a client says that can do everything.
const example = `{"capabilities": {"experimental": {"agents": {
  "version": 1,
  "activity": {"optOut": ["thought.delta"]},
  "confirm": {"feedback": true, "modify": true},
  "ask": true,
  "status": true,
  "saveDocuments": true,
  "filesWritten": true,
  "editorQueries": true
}}}}`

// offered are the roots of the negotiation, by which side says them.
var offered = []struct{ title, name string }{
	{"The client says", "ClientCapabilities"},
	{"The daemon answers", "ServerCapabilities"},
}

// standard are the methods of LSP that the daemon serves, by the name of their
// constant in go.lsp.dev/protocol, with what they are for here.
var standard = map[string]struct{ method, kind, purpose string }{
	"MethodInitialize": {"initialize", "request",
		"negotiates the position encoding and the capabilities below; it does not wait for the catalog of agents"},
	"MethodInitialized": {"initialized", "notification",
		"from here on the daemon may ask and tell"},
	"MethodShutdown": {"shutdown", "request",
		"runs that go on are left interrupted, and what is written stays"},
	"MethodExit": {"exit", "notification",
		"ends the daemon: code 0 after `shutdown`, else 1"},
	"MethodCancelRequest": {"$/cancelRequest", "notification",
		"works on every request; answered -32800, but by its result where the request is a run"},
	"MethodTextDocumentDidOpen": {"textDocument/didOpen", "notification",
		"agents see the editor's text instead of the file's"},
	"MethodTextDocumentDidChange": {"textDocument/didChange", "notification",
		"incremental; all changes of one message are one change, or none"},
	"MethodTextDocumentDidSave": {"textDocument/didSave", "notification",
		"the document has no unsaved changes"},
	"MethodTextDocumentDidClose": {"textDocument/didClose", "notification", "the file counts again"},
	"MethodWorkspaceDidChangeWorkspaceFolders": {"workspace/didChangeWorkspaceFolders", "notification",
		"agents of the folders that are there now count; sessions stay where they are"},
	"MethodWorkspaceExecuteCommand": {"workspace/executeCommand", "request",
		"[commands](#commands) for a client that knows only LSP"},

	"MethodTextDocumentDiagnostic": {"textDocument/diagnostic", "request",
		"findings of an agent file or a settings file; only for a client that can ask, and be told to ask again (and is not Neovim, which then does not ask about the files that are open): others are told by `textDocument/publishDiagnostics`, never both"},
	"MethodWorkspaceDiagnostic": {"workspace/diagnostic", "request",
		"the same for all of these files, also those that are not open"},
	"MethodTextDocumentCompletion": {"textDocument/completion", "request",
		"keys, values, models, tools, servers, agents and placeholders of agent files; keys and values of settings; agents after `@` where an inline command begins"},
	"MethodCompletionItemResolve": {"completionItem/resolve", "request", "what an agent is for"},
	"MethodTextDocumentHover": {"textDocument/hover", "request",
		"what a field, a tool, a model or a setting means; on an agent's own name what it really gets"},
	"MethodTextDocumentCodeLens": {"textDocument/codeLens", "request",
		"Run, Validate and the last run above an agent file; Run above an inline command"},
	"MethodTextDocumentInlayHint": {"textDocument/inlayHint", "request",
		"the model after inheritance, the tools after every filter, tokens, the worst case of a run"},
	"MethodTextDocumentDocumentSymbol": {"textDocument/documentSymbol", "request",
		"the fields of an agent file and the headings of its prompt"},
	"MethodTextDocumentFoldingRange": {"textDocument/foldingRange", "request",
		"front-matter, fields, sections, blocks of code"},
	"MethodTextDocumentDocumentLink": {"textDocument/documentLink", "request",
		"addresses, and files that a prompt mentions"},
	"MethodTextDocumentDocumentColor":     {"textDocument/documentColor", "request", "the agent's colour"},
	"MethodTextDocumentColorPresentation": {"textDocument/colorPresentation", "request", "a colour as `#RRGGBB`"},
	"MethodTextDocumentSemanticTokensFull": {"textDocument/semanticTokens/full", "request",
		"what the parts of an agent file are"},
	"MethodTextDocumentSemanticTokensRange": {"textDocument/semanticTokens/range", "request", "the same for a range"},
	"MethodTextDocumentDefinition": {"textDocument/definition", "request",
		"the file of the agent that is named, in agent files, inline commands and settings"},
	"MethodTextDocumentReferences":        {"textDocument/references", "request", "all places that name an agent"},
	"MethodTextDocumentDocumentHighlight": {"textDocument/documentHighlight", "request", "those of this document"},
	"MethodWorkspaceSymbol": {"workspace/symbol", "request",
		"agents by name and title, the best 1,000"},
	"MethodTextDocumentPrepareRename": {"textDocument/prepareRename", "request", "the agent's name at a place"},
	"MethodTextDocumentRename": {"textDocument/rename", "request",
		"one edit of all places that name the agent, and of its file's name; refused with -32803 and the reason for a name that is taken or cannot be one"},
	"MethodWorkspaceWillRenameFiles": {"workspace/willRenameFiles", "request",
		"the same when an agent's file gets another name"},
	"MethodTextDocumentCodeAction": {"textDocument/codeAction", "request",
		"fixes of findings (`quickfix`), of all that are certain (`source.fixAll.agentls`), and what an agent can be asked (`agentls.run`, `agentls.ask`)"},
	"MethodTextDocumentFormatting": {"textDocument/formatting", "request",
		"the order of keys and blanks of an agent file; comments stay"},

	"MethodWindowWorkDoneProgressCancel": {"window/workDoneProgress/cancel", "notification",
		"cancels the run whose progress it is"},
}

// transport are the methods that the connection serves itself, without a row in
// handlers.
var transport = []string{"MethodExit", "MethodCancelRequest"}
