// Written by internal/cmd/protocoldoc from the Go types. Do not edit.

/** Action is the last thing that an agent did. */
export interface Action {
	/** tool_call, handoff, llm_response */
	type: string;
	/** RFC 3339 with ms */
	timestamp: string;
	/** `details` name who and what: agent, and tool, call and status of a tool_call, to of a handoff, model of an llm_response. */
	details: Record<string, string>;
}

/** ActivityCapability says which events a client takes. */
export interface ActivityCapability {
	/** types of events that it does not want */
	optOut?: string[];
}

/** ActivityParams is one event. `data` depends on `type`. A message that stands for several, merged or left out, covers `fromSeq` to `seq`. */
export interface ActivityParams {
	/** The event's number in its session: from 1, without gaps. */
	seq: number;
	/** The first event that the message stands for; absent = seq alone. */
	fromSeq?: number;
	/** RFC 3339 with ms, in UTC. */
	time: string;
	/** The session that it happened in. */
	session: string;
	/** The run that it is about; absent for events of the session itself. */
	run?: string;
	/** The run that waits for this one, where it was delegated. */
	parentRun?: string;
	/** From 1; absent outside of turns. */
	turn?: number;
	/** The agent whose run it is. */
	agent?: string;
	/** The same along a chain of handoffs. */
	correlationId?: string;
	/** of a delegated run: its own */
	context?: string;
	/** The kind of event; says what data is. */
	type: string;
	/** The body; a client leaves out types and members that it does not know. */
	data: unknown;
	/** How long what ended took; absent where nothing ended. */
	durationMs?: number;
	/** gemini-cli's name, where it has one */
	activity?: string;
	/** with `activity` */
	isSubagentActivityEvent?: boolean;
	/** with `activity` */
	agentName?: string;
}

/** AgentInfo is an agent as lists show it. */
export interface AgentInfo {
	/** The name by which it is called; agents of several folders may share one. */
	name: string;
	/** What people are shown for the name. */
	title: string;
	/** What it is for, in a sentence; also what routing goes by. */
	description?: string;
	/** project, global, extension, system */
	scope: string;
	/** The file; absent for an agent of the daemon's own. */
	uri?: string;
	/** the workspace folder of a project agent, as a URI */
	folder?: string;
	/** agentls, gemini-cli, claude, copilot, opencode */
	dialect: string;
	/** as the file says */
	model: string;
	/** what would be asked */
	resolvedModel: string;
	/** As the file says, for what an editor shows of it. */
	color?: string;
	/** As the file says. */
	version?: string;
	/** chat, task */
	mode: string;
	/** The canonical names of the tools that it has. */
	tools: string[];
	/** The MCP servers whose tools it may call. */
	mcpServers: string[];
	/** The agents that it may delegate to. */
	subagents: string[];
	/** The agents that it may pass control to. */
	handoffs: string[];
	/** JSON Schema */
	inputs?: unknown;
	/** ok, invalid, shadowed, duplicate, untrusted, review */
	state: string;
	/** the URI of the winner */
	shadowedBy?: string;
	/** The findings in its file. */
	problems: Problem[];
	/** RFC 3339 with ms */
	createdAt?: string;
	/** When the file changed last; RFC 3339 with ms. */
	updatedAt?: string;
}

/** ApprovalChanged is the session's new mode. */
export interface ApprovalChanged {
	/** The mode before: plan, ask, edits or auto. */
	from: string;
	/** The mode now. */
	to: string;
}

/** AskParams is a question of an agent's to the person. */
export interface AskParams {
	/** Names the question, as in agents/confirm. */
	id: string;
	/** Agents/respond needs it besides the id. */
	nonce: string;
	/** The session whose run asks. */
	session: string;
	/** The run that asks. */
	run: string;
	/** The agent that asks. */
	agent: string;
	/** the agents that led here, the asking one last */
	agentPath?: string[];
	/** Who asks what, in a line. */
	title: string;
	/** The question, as plain text. */
	message: string;
	/** flat JSON `schema` of the content */
	schema?: unknown;
	/** Answers to choose from; absent = free text. */
	choices?: string[];
	/** What is typed is not to be shown. */
	secret?: boolean;
	/** RFC 3339; absent = it waits. */
	expiresAt?: string;
}

/** AskResult is the answer to agents/ask. */
export interface AskResult {
	/** accept, decline, cancel, or later */
	action: string;
	/** a string, or an object that fits the schema */
	content?: unknown;
}

/** Asks is what becomes of a tool's calls in each approval mode. */
export interface Asks {
	plan: Verdict;
	ask: Verdict;
	edits: Verdict;
	auto: Verdict;
	/** in the mode that holds */
	now: Verdict;
}

/** Call asks for a tool. */
export interface Call {
	/** ours, "<run>#<turn>-<index>", once the run has numbered it; the provider's stays in Raw */
	id: string;
	/** as the model wrote it */
	name: string;
	/** a JSON object */
	args: unknown;
}

/** CallState is where a tool call stands. A value that is none of these comes from a newer version; it is not Terminal. */
export type CallState = "validating" | "scheduled" | "awaiting_approval" | "executing" | "success" | "error" | "cancelled";

/** CancelParams names what is to end: a run, or all runs of a session, or one call of a run. */
export interface CancelParams {
	/** The run; required with call. */
	run?: string;
	/** All runs of this session, where no run is named. */
	session?: string;
	/** One call of the run, which goes on. */
	call?: string;
}

/** CancelResult says whether there was anything to cancel. */
export interface CancelResult {
	/** False where nothing of that goes on, which is no error. */
	cancelled: boolean;
}

/** Chain is the runs of a chain of handoffs, in order. */
export type Chain = Link[];

/** ChainParams asks for the chain of a run. */
export interface ChainParams {
	/** any of the chain, also one that has ended */
	run: string;
}

/** Change is what an agent did to one file. */
export interface Change {
	uri: string;
	/** create, edit, delete, move */
	kind: string;
	/** Where it was before a move. */
	oldUri?: string;
	/** The unified difference; "" where a side is no text or too large to compare. */
	patch: string;
	/** Its parts that can be kept or undone by themselves; never null. */
	hunks: Hunk[];
}

/** ChangeResolved is what a person decided about changes to a file. After keep, `baseline` is the content that counts as accepted; after undo, `kept` is what the file was and is. */
export interface ChangeResolved {
	/** The file. */
	uri: string;
	/** ids; none = all */
	hunks?: string[];
	/** keep, undo */
	action: string;
	baseline?: string;
	kept?: Kept;
}

/** ChangesParams asks what changed in files. */
export interface ChangesParams {
	/** absent = main */
	session?: string;
	/** what this run changed; absent = what any run did */
	run?: string;
}

/** ChangesResolveParams keeps or undoes changes. */
export interface ChangesResolveParams {
	/** absent = main */
	session?: string;
	/** only what this run changed; absent = what any run did */
	run?: string;
	/** of one file; absent = all */
	uri?: string;
	/** ids of agents/changes, with uri; absent = all of the file's */
	hunks?: string[];
	/** keep, undo */
	action: string;
}

/** ChangesResolveResult is what became of them. */
export interface ChangesResolveResult {
	/** that were asked about, with what became of their hunks */
	files: Change[];
	/** what could not be done */
	conflicts: Conflict[];
}

/** ChangesResult is what changed and is not wholly kept or undone. */
export interface ChangesResult {
	/** by URI; with the hunks that are pending, and those that were kept */
	files: Change[];
}

/** Check is one line of a validation. */
export interface Check {
	/** of the finding, or the first that is looked for */
	code: string;
	/** Whether nothing was found. */
	ok: boolean;
	/** what is checked */
	title: string;
	/** why it failed; "" where it did not */
	message: string;
	/** Where the finding stands; absent where the check passed. */
	range?: Range;
}

/** Checkpoint says that the content of files was kept, right before a call writes them: what a rewind to the boundary before it brings back. */
export interface Checkpoint {
	/** URIs */
	files: string[];
	/** the same files; After is not known yet */
	kept?: Kept[];
}

/** ClientCapabilities is what a client says it can do, in capabilities.experimental.agents or initializationOptions.agents. A client that says nothing is served by what LSP has. */
export interface ClientCapabilities {
	/** The version that the client knows, 1. */
	version: number;
	/** takes agents/activity */
	activity?: ActivityCapability;
	/** answers agents/confirm */
	confirm?: ConfirmCapability;
	/** answers agents/ask */
	ask?: boolean;
	/** takes agents/status */
	status?: boolean;
	/** answers agents/saveDocuments */
	saveDocuments?: boolean;
	/** takes agents/filesWritten */
	filesWritten?: boolean;
	/** answers agents/editorQuery */
	editorQueries?: boolean;
}

/** CommandCall is a custom command that a person typed. Its prompt goes before the input. */
export interface CommandCall {
	/** As agents/commands has it, without the slash. */
	name: string;
	/** what was typed behind the name */
	args?: string;
}

/** CommandsParams asks for the custom commands of a folder. */
export interface CommandsParams {
	/** URI of a workspace folder; absent = the first */
	folder?: string;
}

/** CommandsResult has the custom commands that a person can type there. */
export interface CommandsResult {
	/** by name */
	commands: CustomCommand[];
}

/** ConfigGetParams names a setting, or a section of settings. */
export interface ConfigGetParams {
	/** with dots; agents. may be left out. Absent = all */
	key?: string;
}

/** ConfigGetResult has the settings that hold, in alphabetical order. */
export interface ConfigGetResult {
	values: ConfigValue[];
	/** of these settings, a sentence each with its place: what does not count */
	problems: string[];
}

/** ConfigSetParams changes a setting in a file, in which the rest stays as it is, comments included. */
export interface ConfigSetParams {
	/** With dots; agents. may be left out. */
	key: string;
	/** a string stands for what a person types; null takes the key away */
	value: unknown;
	/** project (default), global */
	scope?: string;
}

/** ConfigSetResult says where it was written, and what holds now. */
export interface ConfigSetResult {
	/** The settings file. */
	uri: string;
	/** What holds now, which another file or a variable may decide. */
	value: ConfigValue;
}

/** ConfigValue is one setting. */
export interface ConfigValue {
	/** with dots */
	key: string;
	/** What holds, in the form of the settings file. */
	value: unknown;
	/** default, user, project, environment */
	scope: string;
	/** of the file that says so */
	uri?: string;
	/** there, from 1 */
	line?: number;
	/** of the environment, that says so */
	variable?: string;
	/** What it does, in a sentence. */
	doc: string;
}

/** ConfirmCapability says how a client answers agents/confirm. */
export interface ConfirmCapability {
	/** a refusal may carry a reason */
	feedback?: boolean;
	/** it offers to change the arguments */
	modify?: boolean;
	/** it answers "later" at once, and by agents/respond when the person has decided */
	respond?: boolean;
}

/** ConfirmParams asks whether one tool call may run. */
export interface ConfirmParams {
	/** 128 random bits, hex */
	id: string;
	/** the same; agents/respond needs both */
	nonce: string;
	/** The session whose run asks. */
	session: string;
	/** The run that asks. */
	run: string;
	/** The call that waits; its events name it. */
	call: string;
	/** The agent that asks. */
	agent: string;
	/** the agents that led here, the asking one last */
	agentPath: string[];
	/** The tool that would run, by its canonical name. */
	tool: string;
	/** The tier of the call: safe, low, medium, high, protected or catastrophic. */
	risk: string;
	/** why it asks */
	why: string;
	/** The call in a line. */
	title: string;
	/** plain text: the facts, then the agent's own words, marked as such */
	message: string;
	/** whole */
	args: unknown;
	/** What it would do; absent where the title and the arguments say all. */
	preview?: Preview;
	/** the refusing ones last but one and last; always only where it may be kept */
	options: Option[];
	/** what an answer that holds longer than once is kept for; to be shown before it is given */
	remembers?: string;
	/** the beginning of commands that such an answer may be for instead, as npm run * */
	prefix?: string;
	/** questions behind this one */
	queueLength: number;
	/** RFC 3339; then it is no */
	expiresAt?: string;
}

/** ConfirmResolvedParams says that a question needs no answer any more. */
export interface ConfirmResolvedParams {
	/** Of the question, of agents/confirm or agents/ask. */
	id: string;
	/** answered, cancelled, expired, policy */
	reason: string;
}

/** ConfirmResult is the answer to agents/confirm. */
export interface ConfirmResult {
	/** a kind of an option offered, or later */
	outcome: string;
	/** with run, session and always: for all commands that begin as the question's prefix */
	prefix?: boolean;
	/** What the person says to a refusal; the agent's model is told it. */
	feedback?: string;
	/** with outcome modify */
	modified?: Modified;
}

/** ConfirmationAnswered is what became of a question. */
export interface ConfirmationAnswered {
	/** The question's id. */
	id: string;
	/** once, run, session, always, modify, reject, cancel */
	outcome: string;
	/** user, policy, timeout, client */
	by: string;
	/** What the person said with a refusal; the model is told it. */
	feedback?: string;
}

/** ConfirmationAsked says that a person is asked about a call. */
export interface ConfirmationAsked {
	/** What an answer names; a question dies with its call. */
	id: string;
	/** The id of the call that waits. */
	call: string;
	tool: string;
	/** The tier of the call, as of ToolState. */
	risk: string;
	/** The reason for asking, in words for a person. */
	why: string;
	/** Hex SHA-256 of what would run; an answer is for exactly this. */
	digest: string;
	/** RFC 3339 */
	expiresAt?: string;
	/** `agentPath` is the agents that led here, the asking one last, where one delegated to the other. */
	agentPath?: string[];
}

/** Conflict is a change that was left as it is. */
export interface Conflict {
	/** The file. */
	uri: string;
	/** absent = the whole file */
	hunk?: string;
	/** in a sentence */
	why: string;
}

/** ContentBlock is a piece of a person's input. `type` says which of the other fields count: text, image (`data`, `mimeType`), resource_link (URI, `name`), resource (`resource`), diagnostics (URI, `items`). */
export interface ContentBlock {
	type: string;
	/** The text, of type text. */
	text?: string;
	/** base64 */
	data?: string;
	mimeType?: string;
	/** Where it lies. */
	uri?: string;
	/** For people. */
	name?: string;
	/** The part that is meant; absent = the whole. */
	range?: Range;
	resource?: Resource;
	/** LSP diagnostics */
	items?: unknown;
}

/** ContentDelta is text for the user. Concatenate. */
export interface ContentDelta {
	/** A piece of the answer; it may begin or end anywhere but within a character. */
	text: string;
}

/** ContextClearParams ends an agent's context. */
export interface ContextClearParams {
	/** absent = main */
	session?: string;
	/** The agent's name. */
	agent: string;
	/** what it held is erased from disk as well */
	purge?: boolean;
}

/** ContextCleared is the end of an agent's context: the next run begins a new one. `purged`: what it held was erased from disk as well. */
export interface ContextCleared {
	agent: string;
	purged: boolean;
}

/** ContextCompressed is what became of an attempt to make an agent's context shorter. The view that a model is sent is folded from `cut`, `snapshot` and `reduced`; the history stays in the log. */
export interface ContextCompressed {
	agent: string;
	/** tokens */
	before: number;
	/** Tokens; equal to before where nothing was taken out. */
	after: number;
	/** COMPRESSED, NOOP, COMPRESSION_FAILED_… */
	status: string;
	/** what the model thought */
	scratchpad?: string;
	/** what stands for the first `cut` messages */
	snapshot?: string;
	/** messages of the context that `snapshot` replaces */
	cut?: number;
	/** calls whose results became one line */
	reduced?: string[];
}

/** ContextGetResult is a context as its model sees it. */
export interface ContextGetResult {
	/** They alternate, the first by the user. */
	messages: Message[];
	/** How many tokens they have, prompt and tools included where the provider counted. */
	tokens: number;
	/** of the agent's model, in tokens; 0 = not known */
	window: number;
	/** `tokens` are not the provider's count */
	estimated: boolean;
	/** RFC 3339 with ms; absent for an agent that has not run. */
	startedAt?: string;
	/** The same, of the last thing that happened in it. */
	lastActiveAt?: string;
	/** `memoryFiles` are the instructions that follow the prompt of the agent's next run, in their order, and those that are left out. */
	memoryFiles?: MemoryFile[];
}

/** ContextParams names an agent's context. */
export interface ContextParams {
	/** absent = main */
	session?: string;
	/** The agent's name. */
	agent: string;
}

/** Cost is money. It is absent where a price is unknown. */
export interface Cost {
	amount: number;
	/** ISO 4217, as USD */
	currency: string;
	/** run.max_cost is kept */
	enforced: boolean;
	/** A part of the usage was not told by the provider but estimated. */
	estimated?: boolean;
}

/** CreateParams say what a new agent's file is made of: a template and, beside the members that are named here, any field of the front-matter by its name (model, description, tools, …), which takes the place of the template's. null takes a field away. Title is a field, too, that people are asked for. */
export interface CreateParams {
	/** the agent's, and the file's stem */
	name: string;
	/** project or global; absent = the setting agents.defaultScope */
	scope?: string;
	/** URI of the workspace folder of a project agent; absent = the first */
	folder?: string;
	/** name or alias of agents/templates; absent = blank */
	template?: string;
	/** the body; absent = the template's */
	prompt?: string;
	/** nothing is written */
	dryRun?: boolean;
	/** a file that is there is replaced */
	force?: boolean;
}

/** CreateResult is the file that was made. */
export interface CreateResult {
	/** The file that was made, or that would be, with dryRun. */
	uri: string;
	/** What it holds. */
	text: string;
	/** warnings and hints about it */
	problems: Problem[];
	/** `notes` say what else to know, a sentence each: which agent of the same name it takes the place of, or that it does not run yet. */
	notes: string[];
	/** `unsaved` says that the file is made and its text stands in the editor alone: there is the agent once the person saves it. */
	unsaved?: boolean;
}

/** CustomCommand is a prompt that has a name. */
export interface CustomCommand {
	/** as it is typed behind the slash */
	name: string;
	/** What it does, in a line. */
	description?: string;
	/** project, global, extension, server: a prompt of an MCP server */
	scope: string;
	/** that it comes with */
	extension?: string;
	/** of its file; empty for a prompt of a server */
	uri: string;
	/** why it cannot be used */
	problem?: string;
}

/** DeleteParams name an agent whose file is to go. Without a scope it is the agent that the name means. */
export interface DeleteParams {
	/** "name" or "folder:name" */
	name: string;
	/** project or global */
	scope?: string;
	/** what it has seen and said stays */
	keepContext?: boolean;
	/** also when the editor has changes of it that are not saved */
	force?: boolean;
}

/** DeleteResult is the file that is gone. */
export interface DeleteResult {
	/** The file that is gone. */
	uri: string;
	/** the sessions in which its context was cleared */
	cleared: string[];
	/** `notes` say what else to know, a sentence each: why its contexts stay. */
	notes?: string[];
}

/** DidChangeParams says which agents are other than before. */
export interface DidChangeParams {
	/** As of agents/list. */
	revision: number;
	/** Names of agents that are new or other than before. */
	changed: string[];
	/** Names of agents that are gone. */
	removed: string[];
}

/** EditorContext is what the person has in the editor when they ask. Every field may be absent. */
export interface EditorContext {
	/** the document that is shown */
	uri?: string;
	/** in it */
	selection?: Range;
	/** what is selected */
	text?: string;
	/** in it */
	cursor?: Position;
	/** LSP diagnostics under cursor or selection */
	diagnostics?: unknown;
	/** URIs of the open documents */
	open?: string[];
}

/** EditorDiagnostic is a Diagnostic of LSP, as far as it is used. */
export interface EditorDiagnostic {
	/** In the negotiated encoding. */
	range: Range;
	/** 1 error, 2 warning, 3 information, 4 hint; absent = error */
	severity?: number;
	/** a number or a string */
	code?: unknown;
	/** Who says it, as eslint or rust-analyzer. */
	source?: string;
	/** As the person sees it. */
	message: string;
}

/** EditorDiagnostics is the answer about diagnostics. */
export interface EditorDiagnostics {
	/** One for each file. */
	items: EditorFileDiagnostics[];
}

/** EditorFileDiagnostics are those of one file. */
export interface EditorFileDiagnostics {
	/** The file. */
	uri: string;
	/** In any order. */
	diagnostics: EditorDiagnostic[];
}

/** EditorLocation is a Location of LSP. */
export interface EditorLocation {
	uri: string;
	range: Range;
}

/** EditorLocations is the answer about definitions and references: Location[] of LSP. */
export type EditorLocations = EditorLocation[];

/** EditorQueryParams is a question to the editor's language servers. The answer is about what the editor shows, saved or not. */
export interface EditorQueryParams {
	/** diagnostics, symbols, definition, references */
	kind: string;
	/** of the file; absent with diagnostics and symbols = the workspace */
	uri?: string;
	/** with definition and references */
	position?: Position;
	/** with symbols: a part of their names */
	query?: string;
	/** `fresh`: where the file was changed a moment ago, the answer waits for what the servers say of its latest text, three seconds at most. */
	fresh?: boolean;
}

/** EditorSymbol is a SymbolInformation of LSP, as far as it is used. */
export interface EditorSymbol {
	/** As it stands in the text. */
	name: string;
	/** a SymbolKind of LSP */
	kind: number;
	/** What holds it, as a class. */
	containerName?: string;
	/** Where it is declared. */
	location: EditorLocation;
}

/** EditorSymbols is the answer about symbols: SymbolInformation[] of LSP. */
export type EditorSymbols = EditorSymbol[];

/** Empty is the answer that says nothing but that it was done. */
export type Empty = Record<string, never>;

/** ErrorSeen is an error that a person should know of. */
export interface ErrorSeen {
	/** Stable: a reason, graph, or why a run was given up. */
	code: string;
	/** For a person. */
	message: string;
	/** What failed: a tool's name, model, run, compression, activity.append, a node. */
	where: string;
}

/** ExplainParams name an agent, or a file: the open document, or what is on disk. One of both is given. */
export interface ExplainParams {
	/** "name" or "folder:name" */
	name?: string;
	/** of an agent's file, also one that no folder of agents has */
	uri?: string;
	/** with uri: what the file has instead, as another version of it */
	text?: string;
	/** `asIfTrusted` explains it as if its folder were trusted and its file approved: what it would get. Nothing becomes trusted, and trusted says what is. */
	asIfTrusted?: boolean;
}

/** ExplainResult is what an agent really gets. Lines count from 1, and names of files are paths. */
export interface ExplainResult {
	name: string;
	title: string;
	file?: string;
	scope: Scope;
	/** the folder that it runs in is */
	trusted: boolean;
	/** why no run of it begins, in words; empty = it can run */
	refused?: string[];
	/** `restricted` is how its file restricts itself in a way that cannot be kept here, for which no run begins. */
	restricted?: string[];
	/** settings that do not count */
	ignored?: string[];
	/** entries of its lists of tools that name no tool, and what has no effect */
	lost?: string[];
	values: Value[];
	model: Model;
	/** all that are registered, by name */
	tools: Tool[];
	open: Open;
	mcpServers?: Reference[];
	subagents?: Reference[];
	handoffs?: Reference[];
	/** the agents that its nodes run */
	graph?: Reference[];
	/** checks of what goes in and out, in their order; Known: who judges is there, as far as that is known */
	guards?: Reference[];
	/** in the order in which they are run; Known: it can be */
	hooks?: Reference[];
	memoryFiles?: string[];
	/** the mode that holds */
	approval: string;
	tokens: Tokens;
	worst: WorstCase;
	/** `unreadable` is why its file cannot be read: what is said here of what the file sets is then what an agent gets by default. */
	unreadable?: Problem;
}

/** ExportParams say which agents to write as files of another tool. */
export interface ExportParams {
	/** of the agents */
	names?: string[];
	/** all of the scope instead */
	all?: boolean;
	/** project or global; absent = project, and by name the person's own too */
	scope?: string;
	/** claude, copilot, opencode or gemini-cli */
	to: string;
	/** Where to write, as a URI; absent = where the other tool looks in the first workspace folder, which is no place of its own for gemini-cli. */
	folder?: string;
	/** only return the texts */
	text?: boolean;
	/** replace files that are there */
	force?: boolean;
	/** Leave out restrictions that the other tool cannot express; else they refuse. */
	dropRestrictions?: boolean;
}

/** ExportResult is what became of each agent. */
export interface ExportResult {
	files: ExportedFile[];
}

/** ExportedFile is what became of one agent. */
export interface ExportedFile {
	name: string;
	/** ok or refused */
	status: string;
	/** the URI of the agent's file */
	source: string;
	/** of the new file */
	uri?: string;
	/** false where the very same file is there already */
	written: boolean;
	/** why it was refused */
	reason?: string;
	/** in the order of the file */
	losses?: Loss[];
	/** With text, of one that is not refused. */
	text?: string;
}

/** Extend is how much more a run may use. */
export interface Extend {
	/** More turns; like the others, absent or 0 = none, and never negative. */
	turns?: number;
	/** More of run.max_time. */
	seconds?: number;
	/** More of run.max_tokens, and of the limit of input tokens. */
	tokens?: number;
	/** More of run.max_cost, in US dollars. */
	usd?: number;
}

/** Extended is how much more a run may use than its agent and the settings say. */
export interface Extended {
	/** More of run.max_turns; like the others, 0 where it is not extended. */
	turns?: number;
	/** More of run.max_time. */
	seconds?: number;
	modelCalls?: number;
	inputTokens?: number;
	tokens?: number;
	/** More of run.max_cost, in US dollars. */
	usd?: number;
}

/** Failure is why a run ended as an error. */
export interface Failure {
	/** a reason, or truncated, blocked, hook, script */
	kind: string;
	/** For a person. */
	message: string;
}

/** FileChanged is what a call did to a file. */
export interface FileChanged {
	uri: string;
	/** create, edit, delete, move */
	kind: string;
	/** Where it was before a move. */
	oldUri?: string;
	/** The unified difference; "" where a side is no text or too large to compare. */
	patch: string;
	/** Its parts that can be kept or undone by themselves; never null. */
	hunks: Hunk[];
	call?: string;
	/** command; unknown: a command whose end no daemon saw, or somebody else meanwhile; "" = a tool that writes files */
	by?: string;
	/** as in Kept */
	before?: string;
	after?: string;
	buffer?: boolean;
	/** permissions before; 0 = not known */
	mode?: number;
	/** permissions after */
	afterMode?: number;
	/** it was a symbolic link, and before is where that led */
	wasLink?: boolean;
	/** the same, after */
	isLink?: boolean;
}

/** FileEvent is a span, or the beginning or the end of a run, as files of traces have it. Others read these files, so members are added and not renamed. */
export interface FileEvent {
	/** Of a span: session and number; of the beginning of a run with -start behind. */
	event_id: string;
	/** llm_call, tool_call, handoff, guardrail, route, tool_confirmation, agent_start, agent_complete, agent_error */
	event_type: string;
	/** of the beginning, ms since 1970 */
	timestamp: number;
	session_id: string;
	agent_name: string;
	correlation_id: string;
	/** An object; its members depend on `event_type`. */
	details: unknown;
	/** Milliseconds; 0 at a beginning. */
	duration_ms?: number;
	/** Why it failed; "" = it did not. */
	error?: string;
}

/** FilesWrittenParams names files that a run wrote to disk. */
export interface FilesWrittenParams {
	/** The run that wrote. */
	run: string;
	/** The files; some may be gone. */
	uris: string[];
}

/** Finish says why an answer ended. */
export type Finish = "stop" | "length" | "blocked" | "malformed" | "empty" | "other";

/** FocusDocument names the document. */
export interface FocusDocument {
	/** Of any scheme; a document that is not open is accepted, too. */
	uri: string;
}

/** FocusParams say where the person is in the editor: the document that is shown, and what is selected in it. A client sends them at most every 50 ms. */
export interface FocusParams {
	/** The document that is shown. */
	textDocument: FocusDocument;
	/** empty where nothing is selected: the cursor */
	selection?: Range;
	/** What of the document is on the screen. It is checked, and has no effect in this version. */
	visibleRanges?: Range[];
}

/** Forked says that another session began with this one's events up to `atSeq`. In the new session, `from` is set and `session` is the one that it came from. */
export interface Forked {
	session: string;
	/** The number of the last event that both sessions have. */
	atSeq: number;
	from?: boolean;
}

/** GetParams names an agent, as "name" or "folder:name". */
export interface GetParams {
	/** The agent's; with the name of a workspace folder before it where several have one of the name. */
	name: string;
}

/** GetResult is an agent whole. */
export interface GetResult {
	/** The name by which it is called; agents of several folders may share one. */
	name: string;
	/** What people are shown for the name. */
	title: string;
	/** What it is for, in a sentence; also what routing goes by. */
	description?: string;
	/** project, global, extension, system */
	scope: string;
	/** The file; absent for an agent of the daemon's own. */
	uri?: string;
	/** the workspace folder of a project agent, as a URI */
	folder?: string;
	/** agentls, gemini-cli, claude, copilot, opencode */
	dialect: string;
	/** as the file says */
	model: string;
	/** what would be asked */
	resolvedModel: string;
	/** As the file says, for what an editor shows of it. */
	color?: string;
	/** As the file says. */
	version?: string;
	/** chat, task */
	mode: string;
	/** The canonical names of the tools that it has. */
	tools: string[];
	/** The MCP servers whose tools it may call. */
	mcpServers: string[];
	/** The agents that it may delegate to. */
	subagents: string[];
	/** The agents that it may pass control to. */
	handoffs: string[];
	/** JSON Schema */
	inputs?: unknown;
	/** ok, invalid, shadowed, duplicate, untrusted, review */
	state: string;
	/** the URI of the winner */
	shadowedBy?: string;
	/** The findings in its file. */
	problems: Problem[];
	/** RFC 3339 with ms */
	createdAt?: string;
	/** When the file changed last; RFC 3339 with ms. */
	updatedAt?: string;
	/** as in the file */
	frontMatter: Record<string, unknown>;
	/** The body of the file, placeholders as they are written. */
	systemPrompt: string;
	/** The tools that it is offered in its folder as things are now. */
	resolvedTools: ResolvedTool[];
}

/** GraphEdge is an edge of a graph. */
export interface GraphEdge {
	/** A node. */
	from: string;
	/** a node, or END */
	to: string;
	/** when it is taken: if: …, else, and of handoffs manual or auto; absent = always */
	label?: string;
}

/** GraphNode says that a step of a graph moved. What it gave is in the event that says that it has finished, so that the graph goes on from there. */
export interface GraphNode {
	node: string;
	/** running, waiting (for a person), finished, failed, cancelled */
	state: string;
	/** the node and which of its visits: fixer#2 */
	step: string;
	/** from 1 */
	attempt?: number;
	/** with finished */
	output?: unknown;
	/** with failed */
	error?: string;
	/** of `output`, as of ToolState */
	taint?: string;
}

/** GraphParams names a graph: that of an agent, by its name or its file, or that of a run, with the states of its nodes. */
export interface GraphParams {
	/** "name" or "folder:name"; absent with uri or run */
	name?: string;
	/** of an agent's file, as the editor has it */
	uri?: string;
	/** whose nodes' states are told; absent = none are */
	run?: string;
	/** of drawing: text, mermaid, dot or json; absent = text */
	format?: string;
}

/** GraphResult is a graph as it is shown. Of an agent without one it is who hands over to whom. */
export interface GraphResult {
	/** Whose graph it is. */
	agent: string;
	/** The node that is first. */
	entry: string;
	/** the agent has no graph */
	handoffs?: boolean;
	/** In the order of the file. */
	nodes: GraphStep[];
	/** In the order of the file. */
	edges: GraphEdge[];
	/** in the format that was asked for */
	drawing: string;
}

/** GraphStep is a node of a graph. */
export interface GraphStep {
	/** Unique in the graph. */
	name: string;
	/** debug-analyzer, human, tool bash, graph review */
	does: string;
	/** in the run: running, waiting, finished, failed, cancelled; absent = it has not begun */
	state?: string;
}

/** Guard is the outcome of one guardrail. */
export interface Guard {
	name: string;
	/** reject, repair, warn */
	policy: string;
	/** passed, failed, repaired, warned */
	outcome: string;
	errors?: GuardError[];
}

/** GuardError is what a guardrail found. Of a repaired result it is what was wrong first. */
export interface GuardError {
	/** JSON pointer into the result; "" = the whole */
	pointer: string;
	/** What is wrong there, in words for the model that repairs it. */
	message: string;
}

/** GuardrailChecked is the outcome of one guardrail. */
export interface GuardrailChecked {
	name: string;
	/** reject, repair, warn */
	policy: string;
	/** passed, failed, repaired, warned */
	outcome: string;
	errors?: GuardError[];
	/** `outputs` are the results that it judged, where the model was asked to repair one: the first is the one that failed first. */
	outputs?: string[];
}

/** HandoffRejected says that an agent wanted to pass control on and may not. `code` is PERMISSION_DENIED, AGENT_NOT_FOUND, CONDITION_NOT_MET, INVALID_PAYLOAD, MAX_DEPTH_EXCEEDED or CIRCULAR_HANDOFF. */
export interface HandoffRejected {
	from: string;
	to: string;
	code: string;
	/** What the agent's model was told. */
	message: string;
}

/** HandoffStarted says that control passes to another agent for good, or to a person: `to` is user then. */
export interface HandoffStarted {
	/** The agent that passes control on. */
	from: string;
	to: string;
	/** Why, in the agent's words. */
	reason: string;
	/** What has been done so far, in the agent's words. */
	summary?: string;
	/** What the successor should know besides, in the agent's words. */
	context?: string;
	/** Values that the entry in the agent's file asks for, checked against its schema. */
	payload?: unknown;
	/** of agents, with `to` where it is one */
	chain: string[];
	/** handoffs before and with this one */
	depth: number;
	/** of `to`; absent for a person */
	run?: string;
	/** `history` is the blob of what `to` is told of the conversation so far, and `taint` says, as of ToolState, that others may have written what it is told. */
	history?: string;
	taint?: string;
	/** `project` is the folder that `from`, or an agent before it, comes with: `to` may do no more in it than that one. */
	project?: string;
}

/** HookDecision is what hooks decide together. */
export interface HookDecision {
	/** allow, ask or deny */
	decision: string;
	reason?: string;
	/** the run ends */
	stop?: boolean;
	/** what the model is told besides */
	context?: string[];
	/** `edited` is what they make of what they were given; not of requests to models. */
	edited?: Record<string, unknown>;
}

/** HookRan says what a hook decided. Hooks of a session's end have no run. */
export interface HookRan {
	/** as in the settings: BeforeTool */
	event: string;
	/** of the hook, its command where it has none */
	name: string;
	/** allow, ask, deny, stop; failed: it could not be run to its end */
	decision: string;
	/** What the hook said; of a failed one, why. */
	reason?: string;
	/** of the tool that it is about */
	call?: string;
	/** `together` is what the hooks of a point decide together; the last one has it. */
	together?: HookDecision;
}

/** Hunk is a part of a change that a person can keep or undo by itself. */
export interface Hunk {
	/** Names the hunk by its lines and those beside it; it changes when these do. */
	id: string;
	/** in the new text */
	range: Range;
	/** pending, kept, undone */
	status: string;
}

/** ImportParams say which agent files of other tools to bring into our format. */
export interface ImportParams {
	/** URIs of files, of folders of them, or of projects that have them; absent = where the other tools look: in the first workspace folder, or with the scope global in the person's home folder. */
	paths?: string[];
	/** Whose format it is, where neither place nor keys tell: claude, copilot, opencode or gemini-cli. */
	from?: string;
	/** project or global: who has the agents from then on; absent = project */
	scope?: string;
	/** what the agent is to be called, of one file */
	name?: string;
	/** only say what would be done */
	dryRun?: boolean;
	/** replace files of ours that are there */
	force?: boolean;
}

/** ImportResult is what became of each file. */
export interface ImportResult {
	/** of the new files, as a URI */
	folder: string;
	files: ImportedFile[];
}

/** ImportedFile is what became of one file. */
export interface ImportedFile {
	/** its URI */
	source: string;
	/** ok, repaired or refused */
	status: string;
	/** whose format it has */
	from?: string;
	/** of the agent */
	name?: string;
	/** of the new file */
	uri?: string;
	/** now; not in a dry run */
	written: boolean;
	/** the very same file is there already */
	there: boolean;
	/** A restriction that cannot be kept here stops its runs. */
	stopped: boolean;
	/** there is no such file, or it may not be read */
	missing?: boolean;
	/** why it was refused */
	reason?: string;
	/** What was repaired in its YAML, a sentence each. */
	repaired?: string[];
	/** in the order of the file */
	losses?: Loss[];
	/** What becomes of other agents of the name. */
	notes?: string[];
}

/** `input` is a person's message, also one that arrives while a run goes on. */
export interface Input {
	/** What was said; never null. */
	input: ContentBlock[];
	/** in the queue; 0 = taken at once */
	position?: number;
}

/** InputBlocks is a run's input: on the wire a string, or a list of content blocks. */
export type InputBlocks = string | ContentBlock[];

/** Kept is what a file was before and after something wrote it. Contents are blobs of the session, named by their SHA-256; "" = there is no file. They are the bytes on disk or, of a document that is open in the editor, its text. */
export interface Kept {
	/** The file. */
	uri: string;
	before?: string;
	after?: string;
	/** written through the editor */
	buffer?: boolean;
	/** permissions before; 0 = not known */
	mode?: number;
	/** permissions after */
	afterMode?: number;
	/** it was a symbolic link, and before is where that led */
	wasLink?: boolean;
	/** the same, after */
	isLink?: boolean;
}

/** LeftFile is a file that was not brought back. */
export interface LeftFile {
	/** The file. */
	uri: string;
	/** in a sentence */
	why: string;
}

/** Link is one run of a chain of handoffs. */
export interface Link {
	run: string;
	agent: string;
	/** The agent that passed control to this one; absent for the first. */
	from?: string;
	/** Why it did, in its words. */
	reason?: string;
	/** Milliseconds from the run's start to its end. */
	durationMs: number;
	usage: Usage;
}

/** ListParams asks for the agents. */
export interface ListParams {
	/** project, global, extension or system; absent = all */
	scope?: string;
}

/** ListResult is the agents, by scope and name. */
export interface ListResult {
	/** grows with each change */
	revision: number;
	/** also those that do not run */
	agents: AgentInfo[];
	/** of all files, also of those that are no agent */
	problems: Problem[];
}

/** LoopDetected says that a run repeats itself. */
export interface LoopDetected {
	/** `what` is repeated: call (the same one again), cycle (the same few in turn) or text. */
	kind: string;
	/** How often it was seen. */
	count: number;
	/** told, ended, asked */
	action: string;
	/** is repeated, in words */
	what?: string;
}

/** Loss is something that does not translate. */
export interface Loss {
	/** the top-level key of the file that was read; "" = none */
	key: string;
	message: string;
	/** error stops its runs, hint is comfort */
	severity: Severity;
}

/** MCPListParams asks for the MCP servers of a workspace folder. */
export interface MCPListParams {
	/** a workspace folder, as a URI; absent = the first */
	folder?: string;
}

/** MCPListResult is the servers that the settings describe, by name, also those that cannot be started. */
export interface MCPListResult {
	servers: MCPServer[];
}

/** MCPLoginParams names a server that the person logs in at. They are shown the page for that: by window/showMessageRequest and window/showDocument (external), or by window/showMessage where the client shows no documents. The answer comes when they have logged in, or after five minutes; cancelling the request cancels the login. */
export interface MCPLoginParams {
	/** One of agents/mcp/list. */
	name: string;
	/** as in agents/mcp/list */
	folder?: string;
}

/** MCPLogoutParams names a server at which the person's login is forgotten. */
export interface MCPLogoutParams {
	/** One of agents/mcp/list. */
	name: string;
	/** as in agents/mcp/list */
	folder?: string;
}

/** MCPRestartParams names a server that is to be started anew. */
export interface MCPRestartParams {
	/** One of agents/mcp/list. */
	name: string;
	/** as in agents/mcp/list */
	folder?: string;
	/** the person approves the tools as they were listed before */
	approve?: boolean;
}

/** MCPServer is an MCP server and what is known of it. What the server says itself (title, version, tools, stderr) is text of a stranger's. */
export interface MCPServer {
	/** The key in the settings. */
	name: string;
	/** project, global: whose settings describe it */
	scope: string;
	/** without its arguments */
	command?: string;
	/** of a server over HTTP, as the settings write it */
	url?: string;
	/** As the settings have it. */
	description?: string;
	/** idle, starting, ready, failed, stopped, unusable */
	state: string;
	/** for the person */
	why?: string;
	/** What the server calls itself. */
	title?: string;
	/** The server's own. */
	version?: string;
	/** Since it was started; absent while it does not run. */
	uptimeMs?: number;
	/** that agents are offered, or were when it ran last */
	tools: MCPTool[];
	/** that are new or changed, and are not offered until the person approves them */
	pending?: MCPTool[];
	/** tools that cannot be offered, with the reasons */
	leftOut?: string[];
	/** `calls` of its tools since the daemon began. */
	calls: number;
	/** Those of them that failed. */
	errors: number;
	/** of the calls that were answered */
	p50Ms?: number;
	/** Of the same calls. */
	p95Ms?: number;
	/** its last lines */
	stderr?: string[];
}

/** MCPServerResult is the server as it is then. One that could not be started has the state failed, and why. */
export interface MCPServerResult {
	/** As agents/mcp/list would tell it now. */
	server: MCPServer;
}

/** MCPState says what became of an MCP server whose tools the run has. */
export interface MCPState {
	/** Its name in the settings. */
	server: string;
	/** idle, starting, ready, failed, stopped, unusable */
	state: string;
	/** What went wrong, for a person. */
	why?: string;
}

/** MCPStopParams names a server that is to end and not to be started again. */
export interface MCPStopParams {
	/** One of agents/mcp/list. */
	name: string;
	/** as in agents/mcp/list */
	folder?: string;
}

/** MCPTool is a tool of an MCP server. */
export interface MCPTool {
	/** mcp.<server>.<tool> */
	name: string;
	/** As the server describes it, cut. */
	description?: string;
}

/** Media is data that is not text. */
export interface Media {
	/** As image/png or application/pdf. */
	mimeType: string;
	/** SHA-256 of the data in the session's blobs */
	blob?: string;
}

/** MemoryChanged says that an agent stored a record in long-term memory. */
export interface MemoryChanged {
	/** as agents/memory/list names it */
	store: string;
	key: string;
	/** its content; absent: the record was deleted */
	value?: string;
}

/** MemoryDeleteParams names records of a store, or all of it. */
export interface MemoryDeleteParams {
	/** As in agents/memory/list. */
	store: string;
	/** `keys` of its records; without all. */
	keys?: string[];
	/** the whole store; without keys */
	all?: boolean;
}

/** MemoryDeleteResult says what is gone. */
export interface MemoryDeleteResult {
	/** How many records were erased. */
	deleted: number;
	/** where else it may be known, for people */
	note?: string;
}

/** MemoryFile is a file of instructions for every agent: GEMINI.md, AGENTS.md or CLAUDE.md. */
export interface MemoryFile {
	/** The file. */
	uri: string;
	/** global, project, extension */
	scope?: string;
	/** estimated, with its imports */
	tokens?: number;
	/** URIs */
	imports?: string[];
	/** why agents are not told it */
	leftOut?: string;
}

/** MemoryListParams asks what agents remember across sessions. */
export interface MemoryListParams {
	/** only of this one */
	store?: string;
	/** of other workspaces too */
	all?: boolean;
	/** of the page before */
	cursor?: string;
	/** records, 100 at most; absent = 50 */
	limit?: number;
}

/** MemoryListResult is what is remembered, the newest records first. */
export interface MemoryListResult {
	stores: MemoryStore[];
	records: MemoryRecord[];
	/** of the next page; absent = this is the last */
	cursor?: string;
	/** why not all stores could be read */
	problems: string[];
}

/** MemoryRecord is one thing that is remembered. */
export interface MemoryRecord {
	/** The id of the store that has it. */
	store: string;
	/** Its id in the store. */
	id: string;
	/** The name under which the agent keeps it; storing under the key again replaces it. */
	key: string;
	/** The text that agents are told. */
	content: string;
	/** that stored it */
	agent: string;
	/** in which it did */
	session: string;
	/** RFC 3339 */
	time: string;
	/** foreign, web: the agent had read what others wrote, and the person agreed */
	taint?: string;
	/** an object */
	metadata?: unknown;
	/** of a search, to 1: which part of the words it has */
	score?: number;
}

/** MemorySearchParams looks for records by their words. */
export interface MemorySearchParams {
	/** Words; a record that has more of them comes first. */
	query: string;
	/** only in this one */
	store?: string;
	/** in those of other workspaces too */
	all?: boolean;
	/** 100 at most; absent = 10 */
	limit?: number;
}

/** MemorySearchResult is what was found, the best first. */
export interface MemorySearchResult {
	records: MemoryRecord[];
	/** why not all stores could be searched */
	problems: string[];
}

/** MemoryStore is one store of records. */
export interface MemoryStore {
	/** What other requests name it by. */
	id: string;
	/** local, redis */
	backend: string;
	/** agent, workspace, user */
	scope?: string;
	/** of scope agent */
	agent?: string;
	/** of the workspace folder that it belongs to */
	uri?: string;
	/** index_name */
	index?: string;
	/** all of that in words */
	whose?: string;
	/** vector, key_value */
	type?: string;
	/** what made the vectors */
	embedder?: string;
	/** of the vectors */
	dimension?: number;
	/** How many records it has. */
	records: number;
	/** why it cannot be read */
	problem?: string;
}

/** Mention is an agent's name in a text. `start` and `end` count in the negotiated encoding, from the beginning of the text that was parsed. */
export interface Mention {
	name: string;
	/** of its @ */
	start: number;
	/** after its name */
	end: number;
}

/** Message is one message of a context. `raw` is the provider's own form of what a model said. */
export interface Message {
	/** user, model */
	role: string;
	/** What was said, called and answered, in order. */
	parts: Part[];
	/** Opaque; only the provider that wrote it reads it. */
	raw?: unknown;
}

/** Model is who answers. */
export interface Model {
	/** as it was written; never inherit */
	name: string;
	/** auto where each run has its own */
	id: string;
	/** the written one is; ID is its successor */
	retired?: boolean;
	/** the table names it */
	known: boolean;
	/** auto: the model of a run in a new context */
	route?: string;
	/** ids, tried in order */
	fallbacks: string[];
	/** of these, by id; none = not known */
	fallbackPrices?: Record<string, Price[]>;
	/** tokens of a request; 0 = not known */
	window?: number;
	/** none = not known */
	prices?: Price[];
}

/** ModelContent is an answer as received: what the model is sent again. */
export interface ModelContent {
	/** The answer's parts, in their order; nothing in them is masked, since signatures cover them. */
	content: Part[];
	/** The provider's own parts, as they have to be sent back to it; no other provider reads them. */
	raw: unknown;
	/** kept, and left out of what is sent again */
	invalid?: boolean;
}

/** ModelFinished says that a model has answered. */
export interface ModelFinished {
	/** The id that was asked for. */
	model: string;
	/** Why the answer ended. */
	finish: Finish;
	usage: Usage;
	/** Milliseconds from the request to the first piece of text, thought or call; 0 where none came. */
	firstTokenMs: number;
	/** `purpose` and `content` are of an answer that is no turn of the agent's, whose content comes by itself: summary, correction, search, aside, embedding. */
	purpose?: string;
	/** of the tool that asked */
	call?: string;
	content?: Part[];
}

/** ModelStarted says that a model is asked. */
export interface ModelStarted {
	/** The id that the provider is asked for. */
	model: string;
	/** from 1 */
	attempt: number;
	/** estimated */
	tokens: number;
	/** as in `ModelFinished` */
	purpose?: string;
	/** of the tool that asks */
	call?: string;
}

/** Modified is a call as the person changed it: other arguments, or another text for the file that it writes. */
export interface Modified {
	/** All arguments as they are to be. */
	args?: unknown;
	/** The whole text that the file is to have; then args does not count. */
	newText?: string;
}

/** Note is what a person should see that is none of the others. */
export interface Note {
	/** info, warning */
	level: string;
	/** For a person; one or more sentences. */
	message: string;
	/** `toModel`: the agent's model is told it too, as a message of the user's before its next turn. */
	toModel?: boolean;
}

/** Open is what the lists say of tools that are not registered yet, as those of an MCP server that is not connected: entries that are globs or name none. */
export interface Open {
	/** no list says what is allowed */
	all?: boolean;
	allow?: string[];
	deny?: string[];
	/** of the tools that always ask */
	require?: string[];
}

/** Option is one answer that a person can give. Each kind occurs once at most. */
export interface Option {
	/** What names it among the options of the question. */
	id: string;
	/** once, run, session, always, modify, reject, cancel */
	kind: string;
	/** What the person is shown. */
	label: string;
}

/** Origin is a place that a value comes from. */
export interface Origin {
	/** absolute; "" for what no file says */
	file?: string;
	/** from 1; 0 where it is not known */
	line?: number;
	/** a field, a setting, or in words what decides */
	what: string;
}

/** ParseParams is what a person typed. */
export interface ParseParams {
	/** may be empty; never null */
	text: string | null;
}

/** ParseResult is what it means: "@name text" is for that agent, "@auto text" is to be routed, all else names nobody. Who sends it on gives `agent` and `prompt` to agents/run, which takes its input word for word. */
export interface ParseResult {
	/** whom it is for, as "name" or "folder:name"; absent = nobody is named */
	agent?: string;
	/** it is to be routed */
	auto?: boolean;
	/** rule, llm or hybrid, where it says one */
	strategy?: string;
	/** without the name, the quotes around it, and what escaped an @ */
	prompt: string;
	/** the custom command that the prompt calls: agents/run takes it instead of the prompt */
	command?: CommandCall;
	/** of known agents in the prompt, in order */
	mentions: Mention[];
	/** resources of MCP servers in it, as @server:uri: agents/run takes them as references */
	references?: string[];
}

/** Part is a piece of a message: exactly one of `text`, `thought`, `call`, `result` and `media` is set. */
export interface Part {
	text?: string;
	thought?: string;
	/** of a thought */
	subject?: string;
	call?: Call;
	result?: Result;
	media?: Media;
}

/** PendingParams asks which questions wait for the person. */
export interface PendingParams {
	/** absent = all sessions */
	session?: string;
}

/** PendingResult are those that were asked and those that wait for their turn, the oldest first. One that was not asked yet cannot be answered: it has no nonce. */
export interface PendingResult {
	/** Those of agents/confirm. */
	confirmations: ConfirmParams[];
	/** Those of agents/ask. */
	questions: AskParams[];
}

/** Permission is an answer that stands for later questions of the same kind. */
export interface Permission {
	/** for agents/permissions/forget */
	id: string;
	/** Whose calls it covers. */
	agent: string;
	/** The tool whose calls it covers. */
	tool: string;
	/** what it covers, as the person was shown it */
	pattern: string;
	/** run, session, always */
	scope: string;
	/** allow */
	decision: string;
	/** of scope run and session */
	session?: string;
	/** of scope run */
	run?: string;
	/** RFC 3339; of scope always */
	since?: string;
}

/** PermissionsForgetParams names an answer that is not to stand any more. */
export interface PermissionsForgetParams {
	/** One of agents/permissions/list. */
	id: string;
}

/** PermissionsForgetResult says what came of it. Calls that were permitted before are not taken back. */
export interface PermissionsForgetResult {
	/** false: there is no such answer (any more) */
	forgotten: boolean;
}

/** PermissionsListParams asks which answers are remembered. */
export interface PermissionsListParams {
	/** of those for runs and sessions, only this one's; without it every open session's */
	session?: string;
}

/** PermissionsListResult is what is remembered, by agent and tool. An answer for a run or a session goes with it; one for always stays until it is forgotten. */
export interface PermissionsListResult {
	permissions: Permission[];
}

/** Position is a place in a text: both count from 0. `character` counts UTF-16 code units, the encoding that LSP falls back to; a surface that negotiated another converts with the file's text at hand. */
export interface Position {
	line: number;
	character: number;
}

/** Preview is what a call would do. `kind` says which of the other fields count: diff (URI, `oldText`, `newText`, `patch`), patch (`patch`, a diff of several files), command (`command`, `parsed`, `cwd`, `access`), mcp (`server`). `notes` may come with each. */
export interface Preview {
	kind: string;
	/** The file, with kind diff. */
	uri?: string;
	/** The whole text before, with kind diff; absent for a new file. */
	oldText?: string;
	/** The whole text after, with kind diff. */
	newText?: string;
	/** Unified, with kinds diff and patch. */
	patch?: string;
	/** The exact text that runs, with kind command. */
	command?: string;
	/** The simple commands in it, each quoted, with kind command. */
	parsed?: string[];
	/** The folder that it runs in, with kind command. */
	cwd?: string;
	/** the MCP server that is called */
	server?: string;
	/** what the command is let do: read, write, network, any_host, full */
	access?: string;
	/** what a person should look at, a plain line each: where a link leads, what looks like something else */
	notes?: string[];
}

/** Price is what tokens cost, in USD for a million of them. */
export interface Price {
	/** for requests of at most so many input tokens; 0 = any */
	upTo?: number;
	/** Of what was sent and was not cached. */
	input: number;
	/** thoughts too */
	output: number;
	/** 0 = as `input` */
	cached?: number;
}

/** Problem is one finding about an agent file or about a part that a run left out. */
export interface Problem {
	uri: string;
	range: Range;
	/** as agent/yaml, never renamed; docs/reference/codes.md has them all */
	code: string;
	severity: Severity;
	/** one sentence: what, and what to do */
	message: string;
}

/** Range is the text from `start` up to, not including, `end`. */
export interface Range {
	start: Position;
	end: Position;
}

/** Reason says how a run ended. */
export type Reason = "GOAL" | "TIMEOUT" | "MAX_TURNS" | "ERROR" | "ABORTED" | "ERROR_NO_COMPLETE_TASK_CALL" | "LOOP" | "BUDGET" | "HANDOFF" | "GUARDRAIL";

/** Reference is a name of something outside of the file. */
export interface Reference {
	/** "*" = all there are */
	name: string;
	known: boolean;
	/** what a person should know of it */
	text?: string;
	/** of a handoff: manual, auto, conditional */
	when?: string;
	/** of a handoff */
	condition?: string;
	origin: Origin;
}

/** Repair is what a model is asked to do again since a guardrail refused it. */
export interface Repair {
	guard: string;
	errors: GuardError[];
	/** that was refused */
	output: string;
	/** what the model is told */
	ask: string;
}

/** ReplayResult is what happened in a session, step by step, and what it adds up to. */
export interface ReplayResult {
	/** In the order of events. */
	steps: ReplayStep[];
	/** Runs of agents. */
	agents: number;
	/** Calls of tools. */
	tools: number;
	/** Times that control passed on. */
	handoffs: number;
	/** Judgements of guardrails. */
	guardrails: number;
	/** from the first event to the last */
	durationMs: number;
	/** all of it for people, a line a step */
	text: string;
}

/** ReplayStep is one thing that happened. */
export interface ReplayStep {
	/** of the event that tells of it */
	seq: number;
	/** since the session's first event */
	afterMs: number;
	/** The run that it is about. */
	run?: string;
	/** The agent whose run it is. */
	agent?: string;
	/** run, llm, tool, handoff, guardrail, route, confirmation, hook, node */
	kind: string;
	/** The step in a line, for people. */
	text: string;
	/** why it failed */
	error?: string;
	/** How long it took, where that is known. */
	durationMs?: number;
}

/** ResolvedTool is a tool that an agent is offered. */
export interface ResolvedTool {
	/** The canonical name. */
	name: string;
	/** the least that a call of it has */
	risk: string;
	/** As the model is told it. */
	description: string;
}

/** Resource is a file or a part of one, with its content. */
export interface Resource {
	uri: string;
	/** The part that `text` is; absent = the whole. */
	range?: Range;
	mimeType?: string;
	/** Its content as text; a resource has this or blob. */
	text?: string;
	/** Its content in base64. */
	blob?: string;
}

/** RespondParams is a late answer: the result of agents/confirm or agents/ask. */
export interface RespondParams {
	/** Of the question. */
	id: string;
	/** Of the question: only who was shown it can answer. */
	nonce: string;
	/** An object: a ConfirmResult or an AskResult. */
	answer: unknown;
}

/** Result is what came of a call, as a model is told. */
export interface Result {
	/** of the call */
	id: string;
	/** The tool that was called, as in the call. */
	name: string;
	/** What the model reads, also of a failure. */
	content: string;
	/** `content` tells a failure. */
	error?: boolean;
	/** SHA-256 of the whole, where `content` is cut or kept apart */
	blob?: string;
	/** `media` are images and documents that came of the call besides. A provider sends them with the result, or after the results of the message. */
	media?: Media[];
}

/** ResumeParams lets a run go on that is paused or interrupted, or that ended TIMEOUT or MAX_TURNS and is its agent's newest in the session. */
export interface ResumeParams {
	/** The id that it had. */
	run: string;
	/** where the run is; absent = it is looked for: in the sessions that are open, in main, then in those that a list shows as interrupted or paused */
	session?: string;
	/** without it, as much again of the limit that it came to */
	extend?: Extend;
	/** end (default), accept */
	wait?: string;
	/** progress is reported under it */
	workDoneToken?: unknown;
}

/** Retry says that something is tried again. */
export interface Retry {
	/** What is tried again: model; guardrail; or node and the name of a graph's step. */
	of: string;
	/** The number of the try that failed or that follows, from 1. */
	attempt: number;
	/** Milliseconds until the next try; 0 = at once. */
	waitMs: number;
	/** What went wrong, for a person. */
	cause: string;
	/** what the failed try showed is withdrawn */
	discard?: boolean;
	/** `repair` is, of a guardrail (`of`), what the model is asked to do. */
	repair?: Repair;
}

/** Rewound says that the session went back: each agent's context is what it was at the last boundary of a turn up to `toSeq`, and `files` what they were then. What happened since stays in the log, and a rewind to before this event brings it back, but for unfinished runs that this one ended. */
export interface Rewound {
	/** The number of the event that the session went back to. */
	toSeq: number;
	/** URIs of files that were brought back */
	files: string[];
	/** of those that somebody else changed */
	left?: string[];
	/** of `files` */
	kept?: Kept[];
}

/** RouteCandidate is an agent that something in an input speaks for. */
export interface RouteCandidate {
	agent: string;
	/** who has the most leads */
	score: number;
	/** 0 to 100 */
	confidence: number;
	/** 16 at most */
	matches: RouteMatch[];
}

/** RouteDecided says which agent an input is for that named none, and why. It is the result of agents/route too. */
export interface RouteDecided {
	/** rule, llm, hybrid */
	strategy: string;
	/** absent = none fits */
	agent?: string;
	/** rule, llm, user, default */
	by?: string;
	/** 0 to 100; of rule and llm */
	confidence?: number;
	/** the model's */
	reason?: string;
	/** the model's: what the agent should know */
	context?: string;
	/** those that something speaks for, the best first, 32 at most */
	candidates: RouteCandidate[];
	/** how many agents were looked at */
	considered: number;
	/** points between the first two candidates */
	margin: number;
	/** confidence from which hybrid asks no model */
	threshold: number;
	/** absent = none was asked */
	model?: RouteModel;
	/** why a model was asked, or was not */
	why: string;
	/** what counts since no agent was picked: none, prompt_user, default_agent */
	fallback?: string;
	settings: RouteSetting[];
	/** not all patterns were tried: it took too long */
	partial?: boolean;
	/** the decision in one line, for people */
	text: string;
}

/** RouteMatch is one thing that speaks for an agent. */
export interface RouteMatch {
	/** keyword, pattern, example, description */
	kind: string;
	/** What the agent's file has: the keyword, the pattern or the example. */
	text: string;
	/** of the trigger */
	intent?: string;
	/** What it adds to the score. */
	points: number;
}

/** RouteModel is the model that was asked. */
export interface RouteModel {
	id: string;
	/** Milliseconds from the request to the whole answer. */
	durationMs: number;
	/** counts as the run's own */
	usage: Usage;
	/** absent where its price is not known */
	cost?: Cost;
	/** why it did not decide */
	error?: string;
}

/** RouteParams asks which agent an input is for that names none. */
export interface RouteParams {
	/** What the person typed, without an agent's name. */
	input: string;
	/** rule, llm, hybrid; absent = the settings' */
	strategy?: string;
	/** of the document that it is about; absent = the first folder */
	uri?: string;
}

/** RouteResult says which, and why. Nothing has run. */
export interface RouteResult {
	/** rule, llm, hybrid */
	strategy: string;
	/** absent = none fits */
	agent?: string;
	/** rule, llm, user, default */
	by?: string;
	/** 0 to 100; of rule and llm */
	confidence?: number;
	/** the model's */
	reason?: string;
	/** the model's: what the agent should know */
	context?: string;
	/** those that something speaks for, the best first, 32 at most */
	candidates: RouteCandidate[];
	/** how many agents were looked at */
	considered: number;
	/** points between the first two candidates */
	margin: number;
	/** confidence from which hybrid asks no model */
	threshold: number;
	/** absent = none was asked */
	model?: RouteModel;
	/** why a model was asked, or was not */
	why: string;
	/** what counts since no agent was picked: none, prompt_user, default_agent */
	fallback?: string;
	settings: RouteSetting[];
	/** not all patterns were tried: it took too long */
	partial?: boolean;
	/** the decision in one line, for people */
	text: string;
}

/** RouteSetting is a setting that counted, by its key below agents.routing. */
export interface RouteSetting {
	key: string;
	value: unknown;
	/** request, default, a variable, or file:line */
	origin: string;
}

/** RunAccepted answers a run with wait: accept. */
export interface RunAccepted {
	/** Where it runs; it may be main-2, where another window has main. */
	session: string;
	/** The id that events and agents/cancel name. */
	run: string;
}

/** RunFinished is the last event of a run: its result but for session, run and agent, which the event has. */
export interface RunFinished {
	/** How it ended. */
	reason: Reason;
	/** The limit that was hit before the last turn of a task run ended it well; absent otherwise. */
	recovered?: Reason;
	/** The answer; of a run that ended early what there was of it, or a sentence that says why. */
	text: string;
	/** The structured result, where the agent's file has an output, and of a graph. */
	output?: unknown;
	/** What its calls of models used, and of those of runs that it waited for. */
	usage: Usage;
	/** What these cost; absent where a price is not known. */
	cost?: Cost;
	turns: number;
	/** The calls that models asked for, also those that were refused. */
	toolCalls: number;
	/** models that answered in place of the chosen one */
	fallbacks?: string[];
	/** The runs of the chain of handoffs, this one last; never null. */
	chain: Link[];
	/** The guardrails that were asked, in order; never null. */
	guardrails: Guard[];
	/** What the run did to files, one entry for each; never null. */
	changes: Change[];
	/** The findings in the agent's file; never null. */
	problems: Problem[];
	/** Why it could not go on; absent where the reason says enough. */
	error?: Failure;
}

/** RunParams starts a run. */
export interface RunParams {
	/** absent = the session's, else main, or who it is routed to where agents.autoRoute is on; auto = it is routed */
	agent?: string;
	/** of routing: rule, llm, hybrid; absent = the settings' */
	strategy?: string;
	/** a string, or content blocks; absent only where the agent has a query or runs a task */
	input?: InputBlocks;
	/** a custom command, as agents/parse found it */
	command?: CommandCall;
	/** absent = main */
	session?: string;
	/** an id of the client's, so that it can cancel before any answer */
	run?: string;
	/** chat, task; absent = the agent's */
	mode?: string;
	/** plan, ask, edits, auto; absent = the session's */
	approval?: string;
	/** instead of the agent's */
	model?: string;
	/** URIs of files that ride along, and resources of MCP servers as @server:uri */
	references?: string[];
	/** an object: values of the agent's inputs */
	inputs?: unknown;
	/** what the person has in the editor */
	context?: EditorContext;
	/** wait in order where the agent is busy in this session */
	queue?: boolean;
	/** the agent file's unsaved buffer counts */
	useBuffers?: boolean;
	/** whether it is traced, and the runs that it leads to; absent = as settings and agents say */
	trace?: boolean;
	/** end (default): answered with the result; accept: at once */
	wait?: string;
	/** progress is reported under it */
	workDoneToken?: unknown;
}

/** RunResult is how a run ended. */
export interface RunResult {
	/** Where it ran. */
	session: string;
	/** The run whose result it is: the last one of a chain of handoffs. */
	run: string;
	/** The agent of that run. */
	agent: string;
	/** How it ended. */
	reason: Reason;
	/** The limit that was hit before the last turn of a task run ended it well; absent otherwise. */
	recovered?: Reason;
	/** The answer; of a run that ended early what there was of it, or a sentence that says why. */
	text: string;
	/** The structured result, where the agent's file has an output, and of a graph. */
	output?: unknown;
	/** What its calls of models used, and of those of runs that it waited for. */
	usage: Usage;
	/** What these cost; absent where a price is not known. */
	cost?: Cost;
	turns: number;
	/** The calls that models asked for, also those that were refused. */
	toolCalls: number;
	/** models that answered in place of the chosen one */
	fallbacks?: string[];
	/** The runs of the chain of handoffs, this one last; never null. */
	chain: Link[];
	/** The guardrails that were asked, in order; never null. */
	guardrails: Guard[];
	/** What the run did to files, one entry for each; never null. */
	changes: Change[];
	/** The findings in the agent's file; never null. */
	problems: Problem[];
	/** Why it could not go on; absent where the reason says enough. */
	error?: Failure;
}

/** RunStarted is the first event of a run. */
export interface RunStarted {
	/** What the person or the calling agent asked, as the request had it. */
	input: ContentBlock[];
	/** How it works, as chat or as task. */
	mode: string;
	/** The mode in which calls are decided about: plan, ask, edits or auto. */
	approval: string;
	/** The id of the model that is asked first. */
	model: string;
	/** The names of the tools that the agent has. */
	tools: string[];
	/** The agents that led here by delegation or handoff, this one last. */
	chain: string[];
	/** hex SHA-256 of the agent's file */
	definition: string;
	context?: EditorContext;
	/** `inputs` are the values of the agent's inputs as they were given, `folder` is the URI of the run's workspace folder, and `asked` the model that the request named: what a later daemon needs to take the run up again. */
	inputs?: unknown;
	folder?: string;
	/** the model that the request named */
	asked?: string;
	/** of what the person put to it, as of ToolState */
	taint?: string;
	/** commands whose output the input needs, run before the first turn */
	shell?: string[];
	/** of the run that waits for this one: the call that delegated to it */
	call?: string;
}

/** RunState says that a run moved. */
export interface RunState {
	/** The state that the run leaves; empty for its first. */
	from: State;
	/** The state that it is in now; after finished comes only run.finished. */
	to: State;
	/** For a person, as a sentence. */
	why?: string;
	/** what makes it go on */
	resumes?: string;
	/** `limit` is the one that a paused run would cross: calls, input, tokens, cost. */
	limit?: string;
	/** `extended` is what a run that goes on may use besides. */
	extended?: Extended;
}

/** SaveDocumentsParams asks for documents to be saved. */
export interface SaveDocumentsParams {
	/** Documents with changes that are not saved. */
	uris: string[];
	/** Why, in a few words for the person. */
	reason: string;
}

/** SaveDocumentsResult says which were. */
export interface SaveDocumentsResult {
	/** URIs of those that are on disk as they are shown. */
	saved: string[];
	/** URIs of those that are not. */
	failed: string[];
}

/** Scope is where an agent's file lies. */
export type Scope = "project" | "global" | "extension" | "system";

/** ServerCapabilities is what the daemon can do, in capabilities.experimental.agents of its answer. What is not built is not advertised. */
export interface ServerCapabilities {
	/** The version of this part of the protocol. Additions keep it. */
	version: number;
	/** of approval */
	modes: string[];
	/** agents/session/…, agents/context/…, agents/subscribe */
	sessions?: boolean;
	/** agents/steer, agents/resume */
	steer?: boolean;
	/** agents/changes, agents/changes/resolve */
	changes?: boolean;
	/** agents/session/rewind, agents/session/fork */
	checkpoints?: boolean;
	/** agents/memory/… */
	memory?: boolean;
	/** agents/graph/get, run, resume */
	graph?: boolean;
	/** agents/test/list, run */
	tests?: boolean;
}

/** `session` is one conversation. */
export interface Session {
	/** The id, which requests name. */
	session: string;
	/** as it was begun with, else the first line of the first request */
	title: string;
	/** who answers where a request names nobody; absent = main */
	agent?: string;
	/** URI of the workspace's first folder; "" without one */
	folder: string;
	/** RFC 3339 with ms */
	createdAt?: string;
	/** RFC 3339 with ms; of the newest event. */
	updatedAt?: string;
	/** that have run, in the order of their first run */
	agents: string[];
	/** of the newest run that no other run started */
	agentChain: string[];
	/** `runs` that passed control on. */
	handoffCount: number;
	/** How many runs it has. */
	runs: number;
	/** idle, running, waiting, paused, interrupted */
	state: string;
	/** Of all answers of models in it. */
	usage: Usage;
	/** Of its runs; absent where a price is not known. */
	cost?: Cost;
	/** another daemon has it */
	locked?: boolean;
	/** why it cannot be read */
	problem?: string;
}

/** SessionApprovalParams sets a session's mode. */
export interface SessionApprovalParams {
	/** absent = main */
	session?: string;
	/** plan, ask, edits, auto */
	approval: string;
}

/** SessionApprovalResult is the mode that the session has now. */
export interface SessionApprovalResult {
	/** One of plan, ask, edits and auto; it holds for calls that are decided about from now on. */
	approval: string;
}

/** SessionCompressParams asks for shorter contexts. */
export interface SessionCompressParams {
	/** absent = main */
	session?: string;
	/** absent = main */
	agent?: string;
	/** also below the threshold, and after a failure */
	force?: boolean;
}

/** SessionCompressResult says what became of it. */
export interface SessionCompressResult {
	/** COMPRESSED, NOOP, COMPRESSION_FAILED_… */
	status: string;
	/** tokens */
	before: number;
	/** Tokens; the same as before where nothing was made shorter. */
	after: number;
}

/** SessionDeleteParams names the session that is erased. */
export interface SessionDeleteParams {
	/** Required: what is erased has to be named. */
	session: string;
}

/** SessionForkParams says where another session begins. */
export interface SessionForkParams {
	/** absent = main */
	session?: string;
	/** the last event that the new session has; from 1 */
	atSeq: number;
}

/** SessionGetResult is a session with its runs instead of their number, in the order of their start. */
export interface SessionGetResult {
	/** The id, which requests name. */
	session: string;
	/** as it was begun with, else the first line of the first request */
	title: string;
	/** who answers where a request names nobody; absent = main */
	agent?: string;
	/** URI of the workspace's first folder; "" without one */
	folder: string;
	/** RFC 3339 with ms */
	createdAt?: string;
	/** RFC 3339 with ms; of the newest event. */
	updatedAt?: string;
	/** that have run, in the order of their first run */
	agents: string[];
	/** of the newest run that no other run started */
	agentChain: string[];
	/** `runs` that passed control on. */
	handoffCount: number;
	/** idle, running, waiting, paused, interrupted */
	state: string;
	/** Of all answers of models in it. */
	usage: Usage;
	/** Of its runs; absent where a price is not known. */
	cost?: Cost;
	/** another daemon has it */
	locked?: boolean;
	/** why it cannot be read */
	problem?: string;
	/** In the order of their start, delegated ones too. */
	runs: SessionRun[];
}

/** SessionListParams asks for a page of sessions. */
export interface SessionListParams {
	/** of the page before */
	cursor?: string;
	/** 1 to 1000; absent or 0 = 100 */
	limit?: number;
}

/** SessionListResult is a page of sessions, newest first. */
export interface SessionListResult {
	/** Also those that another daemon has, and those that cannot be read. */
	sessions: Session[];
	/** of the next page; absent = this is the last */
	cursor?: string;
}

/** SessionNewParams begins a session. */
export interface SessionNewParams {
	/** who answers in it where a request names nobody; must exist; absent = main */
	agent?: string;
	/** one line, 200 characters at most; absent = the first line of the first request */
	title?: string;
}

/** SessionNewResult names it. */
export interface SessionNewResult {
	/** Its id, chosen by the daemon. */
	session: string;
}

/** SessionParams names a session. */
export interface SessionParams {
	/** absent = main */
	session?: string;
}

/** SessionRewindParams says where a session goes back to. The contexts become what they were at the last boundary of a turn up to `toSeq`. */
export interface SessionRewindParams {
	/** absent = main */
	session?: string;
	/** an event of the session; from 1 */
	toSeq: number;
	/** files become what they were, too */
	files?: boolean;
	/** also those that somebody else changed since; with files */
	force?: boolean;
}

/** SessionRewindResult says what became of files. */
export interface SessionRewindResult {
	/** URIs of those that were brought back */
	files: string[];
	/** those that are as they are */
	left: LeftFile[];
}

/** SessionRun is one run of a session. */
export interface SessionRun {
	/** Its id. */
	run: string;
	/** The agent that ran. */
	agent: string;
	/** running, waiting, paused, interrupted, finished */
	state: string;
	/** of a finished one */
	reason?: string;
}

/** Severity says how bad a `Problem` is. */
export type Severity = "error" | "warning" | "info" | "hint";

/** State is where a run stands. */
export type State = "running" | "waiting" | "paused" | "interrupted" | "finished";

/** StateChanged says that a key of the session's state has another value. */
export interface StateChanged {
	key: string;
	/** absent: the key is removed */
	value?: unknown;
	/** of a key that begins with temp: the run that it lives for */
	run?: string;
	/** of who set it, as of ToolState */
	taint?: string;
	/** of a graph, that gave the value; absent: an agent or a person set it */
	node?: string;
	/** the value's size in bytes, where it is too large for the state: then `value` is the beginning of its text */
	cut?: number;
}

/** StateClearParams names a session. */
export interface StateClearParams {
	/** absent = main */
	session?: string;
}

/** StateParams asks for a session's state. */
export interface StateParams {
	/** absent = main */
	session?: string;
	/** the event after which; absent = now */
	atSeq?: number;
}

/** StateResult is a session's state. After an event of the past, user: and app: keys are those that were set in this session. */
export interface StateResult {
	/** the event after which it is so */
	seq: number;
	current_task?: string;
	/** pending, in_progress, completed, failed */
	task_status: string;
	/** of the newest run that a person started or control passed to */
	current_agent?: string;
	last_action?: Action;
	/** `variables` are the values that were set. Keys without a prefix live for the session, temp: for a run, user: for the person on this machine, app: for the workspace. */
	variables: Record<string, unknown>;
}

/** StateSetParams gives a key a value. */
export interface StateSetParams {
	/** absent = main */
	session?: string;
	/** user: and app: before it: for all sessions of the person, of the workspace */
	key: string;
	/** null removes the key */
	value: unknown;
}

/** StatusParams says how the daemon is. */
export interface StatusParams {
	/** ok, warning, error */
	health: string;
	/** What is wrong, in a sentence. */
	message?: string;
	/** Runs that go on in this daemon. */
	activeRuns: number;
	/** questions that wait for a person */
	waiting: number;
	/** What fixes it. It is absent in this version: the message says what to do. */
	command?: string;
}

/** SteerParams adds a person's words to a run. */
export interface SteerParams {
	/** A run that goes on or waits. */
	run: string;
	/** a string, or content blocks */
	input: InputBlocks;
}

/** SteerResult says that the words will be told, and how many wait before them. */
export interface SteerResult {
	/** Always true: what cannot be taken is an error. */
	accepted: boolean;
	/** 0 = the next that is told */
	position: number;
}

/** SubscribeParams asks for a session's events from a number on. */
export interface SubscribeParams {
	/** absent = main, which is begun where it is not there */
	session?: string;
	/** the first event that is wanted; absent = 1; at most one more than the last event */
	fromSeq?: number;
}

/** SubscribeResult is a page of past events, 500 at most. While `more` is set, ask again from `nextSeq`; after the last page events come live by agents/activity. A page covers all events from FromSeq of the request to `nextSeq`-1, also those of types that the client opted out of, and the next page or message goes on from `nextSeq`. A client that is sent the session's events live already, since it subscribed before or started a run there, gets on pages what it asks for of what it was sent, under the same numbers; that changes nothing about what it is sent live. Who wants no event twice asks from the first one that it has not had. */
export interface SubscribeResult {
	/** as agents/activity tells them; deltas may be merged */
	events: ActivityParams[];
	/** What to ask for, or what comes live, next. */
	nextSeq: number;
	/** There are further events; nothing comes live yet. */
	more: boolean;
}

/** Template is one of them. Where the person's own cannot be used, `description` says why. */
export interface Template {
	/** What agents/create takes. */
	name: string;
	/** What people are shown. */
	title: string;
	/** What it is for, in a sentence. */
	description: string;
}

/** TemplatesResult lists what an agent's file can be made from. */
export interface TemplatesResult {
	templates: Template[];
}

/** TestCase is a test. */
export interface TestCase {
	/** Unique in its file. */
	name: string;
	/** auto where the test is about who is picked */
	agent: string;
	/** of its name in the file */
	range: Range;
}

/** TestFailure is what did not come as a test expects it. */
export interface TestFailure {
	/** what was expected, what came, and where in the session */
	message: string;
	/** of what the test says of it */
	range: Range;
}

/** TestFile is a file of tests, *.agent-test.yaml, as it is in the editor, else on the disk. */
export interface TestFile {
	/** The file. */
	uri: string;
	/** In the order of the file. */
	tests: TestCase[];
	/** why its tests cannot run */
	problem?: string;
}

/** TestListParams asks for the tests of agents. */
export interface TestListParams {
	/** of a file of tests, or of an agent, whose tests are meant; absent = all of the workspace folders */
	uri?: string;
}

/** TestListResult is the tests, by file. */
export interface TestListResult {
	files: TestFile[];
}

/** TestResult is what came of one test. */
export interface TestResult {
	/** Unique in its file. */
	name: string;
	/** auto where the test is about who is picked */
	agent: string;
	/** of its name in the file */
	range: Range;
	/** The file that the test is in. */
	uri: string;
	/** Whether everything came as the test expects it. */
	passed: boolean;
	/** What did not; empty where it passed. */
	failures: TestFailure[];
	/** Of this test. */
	durationMs: number;
}

/** TestResultParams is one test's result as soon as it is known. */
export interface TestResultParams {
	/** of the request */
	run?: string;
	/** how many have ended, with this one */
	done: number;
	/** How many there are. */
	total: number;
	/** The test that has ended. */
	result: TestResult;
}

/** TestRunParams says which tests to run. */
export interface TestRunParams {
	/** as of agents/test/list */
	uri?: string;
	/** of the one test; absent = all */
	name?: string;
	/** sent back in agents/test/result, so that a client can tell its requests apart */
	run?: string;
	/** progress is reported under it */
	workDoneToken?: unknown;
}

/** TestRunResult is what came of tests. */
export interface TestRunResult {
	/** How many tests passed. */
	passed: number;
	/** How many did not. */
	failed: number;
	/** Of all of them together. */
	durationMs: number;
	/** in the order of the files */
	results: TestResult[];
}

/** ThoughtDelta is a summary of what the model thinks. Concatenate. */
export interface ThoughtDelta {
	/** The heading of the thought; absent where the model gives none. */
	subject?: string;
	text: string;
}

/** Todo is one step of an agent's plan. */
export interface Todo {
	description: string;
	/** pending, in_progress, completed, cancelled */
	status: string;
}

/** TodosChanged is an agent's plan, whole. */
export interface TodosChanged {
	/** The whole plan, in order; empty = there is none. */
	todos: Todo[];
}

/** Tokens are estimates of what each request has before anything is said. */
export interface Tokens {
	/** of the agent's own prompt, placeholders as they stand */
	prompt: number;
	/** of the offered tools' names, descriptions and schemas */
	tools: number;
}

/** Tool is one tool, offered or not. */
export interface Tool {
	name: string;
	/** the least of its calls; arguments may raise it */
	tier: string;
	/** the tier is by command: `tier` and `asks` are of an ordinary one */
	command?: boolean;
	offered: boolean;
	/** by the run itself: it is not among the registered */
	added?: boolean;
	/** which list took it away or let it in */
	why: string;
	/** of that list's entry */
	origin: Origin;
	asks: Asks;
	/** why it does not simply run in the mode that holds */
	reason?: string;
	/** the agent's file says that it always asks, and no answer is remembered */
	require?: boolean;
}

/** ToolDelta is output of a long tool as it comes. */
export interface ToolDelta {
	/** The id of the call. */
	call: string;
	/** A piece of what it writes; concatenate. */
	text: string;
}

/** ToolError is what came of a tool call that failed; the model got `message`. */
export interface ToolError {
	/** stable, as tool.stale */
	code: string;
	/** As the model got it. */
	message: string;
}

/** ToolResult is what came of a tool call that succeeded. */
export interface ToolResult {
	/** as the model got it */
	content: string;
	/** For people, Markdown, where it differs from content. */
	display?: string;
	/** SHA-256 of the whole, where `content` is cut */
	blob?: string;
	/** of the whole */
	bytes: number;
	/** `media` are images and documents that the model got besides, each in a blob of the session. */
	media?: Media[];
}

/** ToolState says that a call moved. `args` are in every one. */
export interface ToolState {
	/** The id of the call, unique in the session: RUN#TURN-INDEX. */
	call: string;
	/** The tool's name, as the model wrote it. */
	name: string;
	/** As the model wrote them, or as a hook or the person changed them. */
	args: unknown;
	/** Where the call stands now. */
	state: CallState;
	/** The tier of this call: safe, low, medium, high, protected or catastrophic. */
	risk: string;
	/** A line for people about a call that goes on. */
	progress?: string;
	/** What came of it; there with success. */
	result?: ToolResult;
	/** What went wrong; there with error and cancelled. */
	error?: ToolError;
	/** the file that it is about, as a URI */
	path?: string;
	/** `taint` says that others may have written what the model got: "foreign" or "web". */
	taint?: string;
}

/** TraceExportParams asks for a session's trace in a format. */
export interface TraceExportParams {
	/** absent = main */
	session?: string;
	/** json, otlp, html */
	format: string;
	/** prompts and results also with otlp, which is for sending */
	content?: boolean;
}

/** TraceExportResult is the trace: `text` for json and otlp, and for html a file, which is there as long as the connection. */
export interface TraceExportResult {
	/** The trace itself, with json and otlp. */
	text?: string;
	/** The page, with html. */
	uri?: string;
}

/** TraceGetParams asks for a session's trace. */
export interface TraceGetParams {
	/** absent = main */
	session?: string;
	/** without what began before this event of the session */
	fromSeq?: number;
	/** of events: llm_call, tool_call, …; absent = all */
	types?: string[];
}

/** TraceGetResult is a trace: what took time in a session, and what came of it. */
export interface TraceGetResult {
	/** in the order of time; what goes on still has no end */
	events: FileEvent[];
}

/** TrustGetParams names a folder, or an agent file of one. */
export interface TrustGetParams {
	/** with the scheme file */
	uri: string;
	/** List what takes effect when the folder is trusted; of an agent file that alone. */
	items?: boolean;
	/** with items: each with its text */
	texts?: boolean;
}

/** TrustGetResult is what a person decided about a folder, and what it brings. */
export interface TrustGetResult {
	/** as a URI */
	folder: string;
	/** by that decision, or for this daemon only */
	trusted: boolean;
	/** trusted for this daemon only */
	process?: boolean;
	/** The folder that was decided about, as a URI: this one, or one above it. Absent where nobody has decided. */
	decided?: string;
	/** when it was decided, RFC 3339 */
	since?: string;
	/** Another folder has taken the place of the one that was trusted. */
	replaced?: boolean;
	/** Agents, hooks and MCP servers, then the files with instructions. */
	items?: TrustItem[];
	/** the keys that the folder's settings set */
	settings?: string[];
}

/** TrustItem is something that a folder brings. */
export interface TrustItem {
	/** agent, hook, mcp or instructions */
	kind: string;
	/** what it runs, or is called */
	label: string;
	/** Its place in the folder, as .gemini/settings.json#hooks.BeforeTool. */
	name: string;
	/** of its text; instructions have none */
	digest?: string;
	/** What it is since the folder was trusted: new or changed. Absent where it is approved as it is, or nothing is reviewed. */
	state?: string;
	/** with texts */
	text?: string;
	/** With texts, of what changed: the text that was approved, if that was kept. */
	before?: string;
}

/** TrustParams says whether a folder is trusted, or approves an agent file. */
export interface TrustParams {
	/** With the scheme file: a folder, which is there if it is to be trusted; or with trusted: true an agent file that waits for review, which is approved as it is. */
	uri: string;
	/** False takes trust back; absent with forget only, and never null. */
	trusted: boolean | null;
	/** Of an agent file: what the person looked at, as agents/trust/get has it. A file that is another by now is not approved. */
	digest?: string;
	/** What was decided about the folder: it is asked about again. */
	forget?: boolean;
}

/** TurnFinished ends a turn. */
export interface TurnFinished {
	turn: number;
	/** What the answer of this turn used, without attempts that failed. */
	usage: Usage;
	/** How many calls the answer asked for. */
	toolCalls: number;
}

/** TurnStarted begins a turn. */
export interface TurnStarted {
	/** From 1, counted over the whole run, also after it was resumed. */
	turn: number;
}

/** UnsubscribeParams names a session. */
export interface UnsubscribeParams {
	/** absent = main */
	session?: string;
}

/** Usage counts the tokens of an answer, or of several. Thought tokens are not part of `outputTokens`; cached ones are part of `inputTokens`. All are counts of tokens and never negative in an answer that is believed; whoever reads a provider's numbers checks that. */
export interface Usage {
	/** What was sent: prompt, tools and conversation; cached ones too. */
	inputTokens: number;
	/** What came as text and calls. */
	outputTokens: number;
	/** Those of the input that the provider had cached. */
	cachedTokens: number;
	/** What the model thought; priced as output. */
	thoughtTokens: number;
	/** The provider's own sum. */
	totalTokens: number;
}

/** ValidateParams name an agent, or a file; absent = all agents that have a file. */
export interface ValidateParams {
	/** "name" or "folder:name" */
	name?: string;
	/** of an agent's file, also one that no folder of agents has */
	uri?: string;
}

/** ValidateResult has a result for each file, by scope and name. */
export interface ValidateResult {
	/** One for each file. */
	results: Validation[];
}

/** Validation is how one file did. */
export interface Validation {
	/** The agent's name; of a file that has none, the file's stem. */
	agent: string;
	/** The file. */
	uri: string;
	/** Project, global or extension. */
	scope: string;
	/** How many checks are ok. */
	passed: number;
	/** How many checks there are. */
	total: number;
	/** In the order in which they are made. */
	checks: Check[];
	/** `warnings` are what is odd in the file and no check says. */
	warnings: Problem[];
}

/** `value` is one value that holds for a run. */
export interface Value {
	/** as the file would have it; limits.modelCalls for a setting */
	key: string;
	/** for people, one line */
	text: string;
	value: unknown;
	origin: Origin;
	/** what also says it, and does not count: the nearest first */
	overrode?: Origin[];
}

/** Verdict is what becomes of a call: auto, ask or refuse. */
export type Verdict = "refuse" | "ask" | "auto";

/** WorstCase is what a run uses at most before a person gives it more. The amount is absent where a price, or how long an answer may be, is not known. Tokens and amount are what a run counts (RunResult): a provider may ask for an attempt that broke off, too. */
export interface WorstCase {
	/** of models, in all runs together, failed ones too */
	calls: number;
	/** with those that it delegates to */
	runs: number;
	/** 0 = not known */
	inputTokens?: number;
	/** 0 = not known */
	outputTokens?: number;
	usd?: number;
}

/** Data of an event by its type. */
export interface Events {
	"graph.node": GraphNode;
	"guardrail.checked": GuardrailChecked;
	"run.started": RunStarted;
	"run.state": RunState;
	"run.finished": RunFinished;
	"turn.started": TurnStarted;
	"turn.finished": TurnFinished;
	"input": Input;
	"route.decided": RouteDecided;
	"model.started": ModelStarted;
	"model.finished": ModelFinished;
	"model.content": ModelContent;
	"content.delta": ContentDelta;
	"thought.delta": ThoughtDelta;
	"tool.state": ToolState;
	"tool.delta": ToolDelta;
	"confirmation.asked": ConfirmationAsked;
	"confirmation.answered": ConfirmationAnswered;
	"approval.changed": ApprovalChanged;
	"checkpoint": Checkpoint;
	"file.changed": FileChanged;
	"change.resolved": ChangeResolved;
	"rewound": Rewound;
	"forked": Forked;
	"retry": Retry;
	"loop.detected": LoopDetected;
	"handoff.started": HandoffStarted;
	"handoff.rejected": HandoffRejected;
	"context.compressed": ContextCompressed;
	"context.cleared": ContextCleared;
	"mcp.state": MCPState;
	"hook.ran": HookRan;
	"todos.changed": TodosChanged;
	"state.changed": StateChanged;
	"memory.changed": MemoryChanged;
	"error": ErrorSeen;
	"note": Note;
}

/** Requests from the client. */
export interface Requests {
	"agents/list": { params: ListParams; result: ListResult };
	"agents/get": { params: GetParams; result: GetResult };
	"agents/create": { params: CreateParams; result: CreateResult };
	"agents/delete": { params: DeleteParams; result: DeleteResult };
	"agents/import": { params: ImportParams; result: ImportResult };
	"agents/export": { params: ExportParams; result: ExportResult };
	"agents/explain": { params: ExplainParams; result: ExplainResult };
	"agents/validate": { params: ValidateParams; result: ValidateResult };
	"agents/test/list": { params: TestListParams; result: TestListResult };
	"agents/test/run": { params: TestRunParams; result: TestRunResult };
	"agents/run": { params: RunParams; result: RunResult | RunAccepted };
	"agents/cancel": { params: CancelParams; result: CancelResult };
	"agents/chain": { params: ChainParams; result: Chain };
	"agents/steer": { params: SteerParams; result: SteerResult };
	"agents/resume": { params: ResumeParams; result: RunResult | RunAccepted };
	"agents/subscribe": { params: SubscribeParams; result: SubscribeResult };
	"agents/unsubscribe": { params: UnsubscribeParams; result: Empty };
	"agents/parse": { params: ParseParams; result: ParseResult };
	"agents/commands": { params: CommandsParams; result: CommandsResult };
	"agents/route": { params: RouteParams; result: RouteResult };
	"agents/config/get": { params: ConfigGetParams; result: ConfigGetResult };
	"agents/config/set": { params: ConfigSetParams; result: ConfigSetResult };
	"agents/templates": { params: undefined; result: TemplatesResult };
	"agents/session/list": { params: SessionListParams; result: SessionListResult };
	"agents/session/get": { params: SessionParams; result: SessionGetResult };
	"agents/session/new": { params: SessionNewParams; result: SessionNewResult };
	"agents/session/compress": { params: SessionCompressParams; result: SessionCompressResult };
	"agents/session/close": { params: SessionParams; result: Empty };
	"agents/session/delete": { params: SessionDeleteParams; result: Empty };
	"agents/session/fork": { params: SessionForkParams; result: SessionNewResult };
	"agents/session/rewind": { params: SessionRewindParams; result: SessionRewindResult };
	"agents/session/setApproval": { params: SessionApprovalParams; result: SessionApprovalResult };
	"agents/session/replay": { params: SessionParams; result: ReplayResult };
	"agents/trace/get": { params: TraceGetParams; result: TraceGetResult };
	"agents/trace/export": { params: TraceExportParams; result: TraceExportResult };
	"agents/changes": { params: ChangesParams; result: ChangesResult };
	"agents/changes/resolve": { params: ChangesResolveParams; result: ChangesResolveResult };
	"agents/context/get": { params: ContextParams; result: ContextGetResult };
	"agents/context/clear": { params: ContextClearParams; result: Empty };
	"agents/graph/get": { params: GraphParams; result: GraphResult };
	"agents/graph/run": { params: RunParams; result: RunResult | RunAccepted };
	"agents/graph/resume": { params: ResumeParams; result: RunResult | RunAccepted };
	"agents/state/get": { params: StateParams; result: StateResult };
	"agents/state/set": { params: StateSetParams; result: Empty };
	"agents/state/clear": { params: StateClearParams; result: Empty };
	"agents/memory/list": { params: MemoryListParams; result: MemoryListResult };
	"agents/memory/search": { params: MemorySearchParams; result: MemorySearchResult };
	"agents/memory/delete": { params: MemoryDeleteParams; result: MemoryDeleteResult };
	"agents/respond": { params: RespondParams; result: unknown };
	"agents/pending": { params: PendingParams; result: PendingResult };
	"agents/mcp/list": { params: MCPListParams; result: MCPListResult };
	"agents/mcp/restart": { params: MCPRestartParams; result: MCPServerResult };
	"agents/mcp/stop": { params: MCPStopParams; result: MCPServerResult };
	"agents/mcp/login": { params: MCPLoginParams; result: MCPServerResult };
	"agents/mcp/logout": { params: MCPLogoutParams; result: MCPServerResult };
	"agents/permissions/list": { params: PermissionsListParams; result: PermissionsListResult };
	"agents/permissions/forget": { params: PermissionsForgetParams; result: PermissionsForgetResult };
	"agents/trust": { params: TrustParams; result: unknown };
	"agents/trust/get": { params: TrustGetParams; result: TrustGetResult };
}

/** Notifications from the client. */
export interface ClientNotifications {
	"agents/focus": FocusParams;
}

/** Requests to the client. */
export interface Questions {
	"agents/confirm": { params: ConfirmParams; result: ConfirmResult };
	"agents/ask": { params: AskParams; result: AskResult };
	"agents/saveDocuments": { params: SaveDocumentsParams; result: SaveDocumentsResult };
	"agents/editorQuery": { params: EditorQueryParams; result: EditorDiagnostics | EditorSymbols | EditorLocations };
}

/** Notifications to the client. */
export interface Notifications {
	"agents/activity": ActivityParams;
	"agents/confirm/resolved": ConfirmResolvedParams;
	"agents/didChange": DidChangeParams;
	"agents/status": StatusParams;
	"agents/test/result": TestResultParams;
	"agents/filesWritten": FilesWrittenParams;
}
