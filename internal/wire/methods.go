package wire

// Requests from the client.
const (
	// MethodList lists the agents of the workspace, with the problems of their files.
	MethodList = "agents/list"
	// MethodGet returns one agent whole.
	MethodGet = "agents/get"
	// MethodRun runs an agent. A cancelled run answers with its result, not with an error.
	MethodRun = "agents/run"
	// MethodCancel ends a run, all runs of a session, or one call of a run. It is idempotent.
	MethodCancel = "agents/cancel"
	// MethodRespond answers a question that the client answered with "later".
	MethodRespond = "agents/respond"
	// MethodTrust records that a folder is trusted, or that it is not.
	MethodTrust = "agents/trust"
)

// Requests to the client.
const (
	// MethodConfirm asks whether a tool call may run. Anything but a clear yes is no.
	MethodConfirm = "agents/confirm"
	// MethodAsk asks the person a question of an agent's.
	MethodAsk = "agents/ask"
	// MethodSaveDocuments asks the client to save documents before a process reads them.
	MethodSaveDocuments = "agents/saveDocuments"
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
	// MethodFilesWritten names files that were written to disk: reload them.
	MethodFilesWritten = "agents/filesWritten"
)

// The commands of workspace/executeCommand (spec 2.6). Each works without
// arguments too.
const (
	// CommandRun runs an agent: [agent?, prompt?] or one object {agent, input}. Without an agent it asks which one.
	CommandRun = "agentls.run"
	// CommandList returns what agents/list does, and shows it where nobody takes a result.
	CommandList = "agentls.list"
	// CommandCancel cancels a run: [run?]. Without one it cancels all runs of this client.
	CommandCancel = "agentls.cancel"
	// CommandShowTranscript shows a session as a document: [session?]. Without one it shows the default session, main.
	CommandShowTranscript = "agentls.showTranscript"
)
