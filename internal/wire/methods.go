package wire

// Requests from the client.
const (
	// MethodList lists the agents of the workspace, with the problems of their files.
	MethodList = "agents/list"
	// MethodGet returns one agent whole.
	MethodGet = "agents/get"
	// MethodCreate makes an agent's file from a template and answers; it never replaces one unless it is told to.
	MethodCreate = "agents/create"
	// MethodDelete removes an agent's file, and clears the contexts that the agent has.
	MethodDelete = "agents/delete"
	// MethodImport brings agent files of other tools into our format: each by itself, and none gains power.
	MethodImport = "agents/import"
	// MethodExport writes agents as files of another tool.
	MethodExport = "agents/export"
	// MethodExplain says what an agent really gets: each value that holds, where it comes from and what it overrode.
	MethodExplain = "agents/explain"
	// MethodValidate checks agents' files, a line a check.
	MethodValidate = "agents/validate"
	// MethodTestList lists the tests of agents.
	MethodTestList = "agents/test/list"
	// MethodTestRun runs tests of agents, without a model and in folders of their own. What fails is a finding too, until it passes or its file changes. $/cancelRequest ends it.
	MethodTestRun = "agents/test/run"
	// MethodRun runs an agent. A cancelled run answers with its result, not with an error.
	MethodRun = "agents/run"
	// MethodCancel ends a run, all runs of a session, or one call of a run. It is idempotent. Of a session that another window or terminal has, the error is busy.
	MethodCancel = "agents/cancel"
	// MethodChain tells the chain of handoffs that a run is in. It needs no lock.
	MethodChain = "agents/chain"
	// MethodSteer adds a person's words to a run that goes on: its model is told them before the next turn. Of a session that another window or terminal has, the error is busy.
	MethodSteer = "agents/steer"
	// MethodResume lets a run go on that is paused, interrupted or ended at its limit of turns or time, from its last checkpoint, with more of what was used up.
	MethodResume = "agents/resume"
	// MethodSubscribe has a session's events sent from a number on: what is past in the answer, also what this client was sent live before, then live.
	MethodSubscribe = "agents/subscribe"
	// MethodUnsubscribe ends a subscription. It is idempotent.
	MethodUnsubscribe = "agents/unsubscribe"
	// MethodParse takes apart what a person typed: whom it is for, and what they are to do.
	MethodParse = "agents/parse"
	// MethodCommands lists the custom commands that a person can type: those of the project, of theirs and of extensions.
	MethodCommands = "agents/commands"
	// MethodRoute says which agent an input is for that names none, and why. A model may be asked; nothing runs.
	MethodRoute = "agents/route"
	// MethodConfigGet returns settings that hold, each with where it comes from.
	MethodConfigGet = "agents/config/get"
	// MethodConfigSet changes a setting in a file, and keeps what else is there, comments included.
	MethodConfigSet = "agents/config/set"
	// MethodTemplates lists the templates that an agent's file can be made from.
	MethodTemplates = "agents/templates"
	// MethodSessionList lists the sessions of the workspace, newest first.
	MethodSessionList = "agents/session/list"
	// MethodSessionGet returns one session with its runs.
	MethodSessionGet = "agents/session/get"
	// MethodSessionNew begins a session.
	MethodSessionNew = "agents/session/new"
	// MethodSessionCompress makes the contexts of a session shorter.
	MethodSessionCompress = "agents/session/compress"
	// MethodSessionClose lets go of a session, which the next request that names it opens again.
	MethodSessionClose = "agents/session/close"
	// MethodSessionDelete erases a session from disk.
	MethodSessionDelete = "agents/session/delete"
	// MethodSessionFork begins a session with the events of another up to a number. The other one may be in use elsewhere.
	MethodSessionFork = "agents/session/fork"
	// MethodSessionRewind goes back in a session: contexts, and if asked files, become what they were. To rewind to before that undoes it, but for runs that it ended.
	MethodSessionRewind = "agents/session/rewind"
	// MethodSessionSetApproval sets how much the runs of a session do without asking, from now on and after a restart.
	MethodSessionSetApproval = "agents/session/setApproval"
	// MethodSessionReplay tells what happened in a session, step by step.
	MethodSessionReplay = "agents/session/replay"
	// MethodTraceGet returns what took time in a session, as files of traces have it.
	MethodTraceGet = "agents/trace/get"
	// MethodTraceExport returns a session's trace for another program, or as a page for a browser.
	MethodTraceExport = "agents/trace/export"
	// MethodChanges returns what agents changed in files and nobody has wholly kept or undone.
	MethodChanges = "agents/changes"
	// MethodChangesResolve keeps or undoes changes, also while a run goes on.
	MethodChangesResolve = "agents/changes/resolve"
	// MethodContextGet returns what an agent has seen and said in a session, as its model sees it.
	MethodContextGet = "agents/context/get"
	// MethodContextClear ends an agent's context: its next run begins a new one.
	MethodContextClear = "agents/context/clear"
	// MethodGraphGet returns the graph of an agent or a run, to be shown.
	MethodGraphGet = "agents/graph/get"
	// MethodGraphRun is agents/run of an agent that has a graph.
	MethodGraphRun = "agents/graph/run"
	// MethodGraphResume is agents/resume of such a run: it goes on after the steps that have finished.
	MethodGraphResume = "agents/graph/resume"
	// MethodStateGet returns a session's state, as it is or as it was after an event.
	MethodStateGet = "agents/state/get"
	// MethodStateSet gives a key of a session's state a value.
	MethodStateSet = "agents/state/set"
	// MethodStateClear removes the keys of a session's state that live for it.
	MethodStateClear = "agents/state/clear"
	// MethodMemoryList lists what agents remember across sessions.
	MethodMemoryList = "agents/memory/list"
	// MethodMemorySearch finds records of it by their words.
	MethodMemorySearch = "agents/memory/search"
	// MethodMemoryDelete erases records, or a whole store.
	MethodMemoryDelete = "agents/memory/delete"
	// MethodRespond answers a question that the client answered with "later".
	MethodRespond = "agents/respond"
	// MethodPending lists the questions that wait for the person.
	MethodPending = "agents/pending"
	// MethodMCPList lists the MCP servers of a folder.
	MethodMCPList = "agents/mcp/list"
	// MethodMCPRestart starts one of them anew.
	MethodMCPRestart = "agents/mcp/restart"
	// MethodMCPStop ends one of them until it is restarted.
	MethodMCPStop = "agents/mcp/stop"
	// MethodMCPLogin logs the person in at one over HTTP, in a browser.
	MethodMCPLogin = "agents/mcp/login"
	// MethodMCPLogout forgets that login.
	MethodMCPLogout = "agents/mcp/logout"
	// MethodPermissionsList lists the answers that stand for later questions.
	MethodPermissionsList = "agents/permissions/list"
	// MethodPermissionsForget drops one of them: what it was for is asked about again.
	MethodPermissionsForget = "agents/permissions/forget"
	// MethodTrust records that a folder is trusted, or that it is not; of an agent file
	// that waits for review it approves what the file holds.
	MethodTrust = "agents/trust"
	// MethodTrustGet says whether a folder is trusted, and what it brings that is new or changed since then.
	MethodTrustGet = "agents/trust/get"
)

// Notifications from the client.
const (
	// MethodFocus says where the person is in the editor: what a command is about that names no document.
	MethodFocus = "agents/focus"
)

// Requests to the client.
const (
	// MethodConfirm asks whether a tool call may run. Anything but a clear yes is no.
	MethodConfirm = "agents/confirm"
	// MethodAsk asks the person a question of an agent's.
	MethodAsk = "agents/ask"
	// MethodSaveDocuments asks the client to save documents before a process reads them.
	MethodSaveDocuments = "agents/saveDocuments"
	// MethodEditorQuery asks the editor's own language servers, for the tools diagnostics, symbols, definition and references.
	MethodEditorQuery = "agents/editorQuery"
)

// Notifications to the client.
const (
	// MethodActivity is one event of a session.
	MethodActivity = "agents/activity"
	// MethodConfirmResolved takes a question away.
	MethodConfirmResolved = "agents/confirm/resolved"
	// MethodDidChange says that agents changed: ask agents/list again.
	MethodDidChange = "agents/didChange"
	// MethodStatus says how the daemon is.
	MethodStatus = "agents/status"
	// MethodTestResult is the result of one of the tests that a client has run, as soon as it is known.
	MethodTestResult = "agents/test/result"
	// MethodFilesWritten names files that were written to disk: reload them.
	MethodFilesWritten = "agents/filesWritten"
)

// The commands of workspace/executeCommand (spec 2.6). Each works without
// arguments too.
const (
	// CommandRun runs an agent: [agent?, prompt?] or one object {agent, input}. Without an agent it asks which one.
	CommandRun = "agentls.run"
	// CommandRunOnSelection runs an agent on a part of an open document: [uri?, range?, agent?, prompt?] or one object {uri, range, agent, input}. Without a document it is about what agents/focus named last. Without that, an agent or a prompt it asks for it; without a range it is all of the document.
	CommandRunOnSelection = "agentls.runOnSelection"
	// CommandList returns what agents/list does, and shows it where nobody takes a result.
	CommandList = "agentls.list"
	// CommandCancel cancels a run: [run?]. Without one it cancels all runs of this client.
	CommandCancel = "agentls.cancel"
	// CommandSessions returns what agents/session/list does, and shows it where nobody takes a result.
	CommandSessions = "agentls.sessions"
	// CommandUndoLast undoes what the newest run changed in files, of those whose changes nobody has kept or undone: [session?]. Without one it is the default session, main. What somebody changed since is left, and told.
	CommandUndoLast = "agentls.undoLast"
	// CommandShowTranscript shows a session as a document: [session?]. Without one it shows the default session, main.
	CommandShowTranscript = "agentls.showTranscript"
	// CommandValidate checks an agent's file: [uri?], and shows the checks where nobody takes a result. Without one it checks all agents.
	CommandValidate = "agentls.validate"
	// CommandRunTests runs tests of agents: [uri?, name?], the URI of a file of tests or of an agent, and the name of one test. Without a URI it runs all of the workspace. What came of it is shown where nobody takes a result.
	CommandRunTests = "agentls.runTests"
	// CommandRunInline runs an inline command of an open document: [uri?, line?, typed?, options?] or one object of these. What runs is the command that was typed so, nearest to the line, as the document is now. The options are {answer, selection, diagnostics}: answer is document, comment or edit, the setting agents.inline.answer if absent; the others are what is selected and what was found there. Without a document or a command it asks which one.
	CommandRunInline = "agentls.runInline"
	// CommandTrustWorkspace trusts a workspace folder: [uri?]. Without one it asks about each folder that is not trusted.
	CommandTrustWorkspace = "agentls.trustWorkspace"
)
