import * as vscode from "vscode";
import type { ActivityParams, ContentBlock, RunResult } from "./protocol";
import { chooseAgent, isSelected, rewoundTo, type Runs } from "./runs";
import { kindOf, messageOf, type Server } from "./server";
import { type Entry, Timeline } from "./timeline";
import { asCode, callEnded, escapeMarkdown, fileName, mayResume, namedAgent, wentBack } from "./words";

/** What a turn of a chat remembers for the next one. */
interface Memory {
	session: string;
	agent: string;
	run?: string;
	/** the first and the last event of it, and of those that it led to */
	began?: number;
	ended?: number;
	reason?: RunResult["reason"];
	handoffs?: string[];
}

/** chatIsOn reports whether this VS Code has a Chat view that is in use. */
export function chatIsOn(): boolean {
	const off = vscode.workspace.getConfiguration("chat").get<boolean>("disableAIFeatures", false);
	return !off && typeof vscode.chat?.createChatParticipant === "function";
}

/** chatIsUsed reports whether the person talks to agents in the Chat view. */
export function chatIsUsed(): boolean {
	return chatIsOn() && vscode.workspace.getConfiguration("agentls").get<string>("conversation", "chat") === "chat";
}

/** Participant is @agents in the Chat view. */
export class Participant implements vscode.Disposable {
	private readonly participant: vscode.ChatParticipant;

	constructor(
		private readonly server: Server,
		private readonly runs: Runs,
	) {
		this.participant = vscode.chat.createChatParticipant("agentls.agents", (request, chat, stream, token) =>
			this.answer(request, chat, stream, token),
		);
		this.participant.iconPath = new vscode.ThemeIcon("hubot");
		this.participant.followupProvider = { provideFollowups: (result) => followups(result.metadata as Memory | undefined) };
	}

	dispose(): void {
		this.participant.dispose();
	}

	private async answer(
		request: vscode.ChatRequest,
		chat: vscode.ChatContext,
		stream: vscode.ChatResponseStream,
		token: vscode.CancellationToken,
	): Promise<vscode.ChatResult> {
		const before = memoryOf(chat);
		try {
			if (request.command === "list") {
				await this.list(stream);
				return before ? { metadata: before } : {};
			}
			if (request.command === "resume") {
				if (!before?.run) {
					stream.markdown("There is no run in this chat that could be resumed.");
					return {};
				}
				const { session, run } = before;
				return await this.perform(stream, new ChatView(stream, before.agent), before, (hear) => this.runs.resume(session, run, hear, token));
			}
			const [parsed, gone] = await Promise.all([this.server.request("agents/parse", { text: request.prompt }), this.taken(chat, before)]);
			const agent = namedAgent(parsed) ?? before?.agent ?? (await chooseAgent(this.server, "Which agent is this for?"));
			if (!agent) {
				stream.markdown("No agent was chosen. Name one, as in `@agents @reviewer look at this file`, or have one picked with `@auto`.");
				return {};
			}
			const session = before?.session ?? (await this.server.request("agents/session/new", {})).session;
			const [blocks, references] = attachments(request.references);
			const prompt = parsed.prompt.trim();
			const input = prompt === "" || parsed.command ? [] : [{ type: "text", text: parsed.prompt }];
			const task = {
				agent,
				session,
				references: [...references, ...(parsed.references ?? [])],
				...(parsed.strategy ? { strategy: parsed.strategy } : {}),
				...(parsed.command ? { command: parsed.command } : {}),
				...(input.length + blocks.length > 0 ? { input: [...input, ...blocks] } : {}),
			};
			if (gone) {
				stream.markdown(`*${escapeMarkdown(wentBack(gone))}*\n\n`);
			}
			const view = new ChatView(stream, parsed.agent ?? ""); // an agent that the person named needs no introduction
			return await this.perform(stream, view, { session, agent }, (hear) => this.runs.start(task, hear, token));
		} catch (err) {
			return { errorDetails: { message: this.explain(err, stream) }, ...(before ? { metadata: before } : {}) };
		}
	}

	/** taken returns the first message of a chat that the session went back to before, since its last answer. */
	private async taken(chat: vscode.ChatContext, before: Memory | undefined): Promise<string | undefined> {
		const to = before?.ended ? await rewoundTo(this.server, before.session, before.ended).catch(() => undefined) : undefined; // what is wrong the run tells
		let asked = "";
		for (const turn of to === undefined ? [] : chat.history) {
			if (turn instanceof vscode.ChatRequestTurn) {
				asked = turn.prompt;
				continue;
			}
			const memory = turn.result.metadata as Memory | undefined;
			if (memory?.session === before?.session && (memory?.began ?? 0) > to!) {
				return asked;
			}
		}
		return undefined;
	}

	/** perform shows a run as it goes on. */
	private async perform(
		stream: vscode.ChatResponseStream,
		view: ChatView,
		memory: Memory,
		go: (hear: (event: ActivityParams) => void) => Promise<RunResult>,
	): Promise<vscode.ChatResult> {
		let { run } = memory;
		let [began, ended]: [number | undefined, number | undefined] = [undefined, undefined];
		try {
			const result = await go((event) => {
				run ??= event.run;
				[began, ended] = [began ?? event.seq, event.seq];
				view.hear(event);
			});
			view.finish(result.error?.message);
			if (view.long) { // buttons come last: what is before one is folded away
				stream.button({ command: "agents.session.open", title: "Show All of It", arguments: [memory] });
			}
			if (result.changes.length > 0) {
				stream.button({ command: "agents.changes.focus", title: "Review Changes" });
			}
			const last = result.chain.at(-1)?.agent ?? result.agent;
			const info = (await this.server.request("agents/list", {})).agents.find((a) => a.name === last);
			const metadata: Memory = { ...memory, agent: last, run: result.run, began, ended, reason: result.reason, handoffs: info?.handoffs ?? [] };
			return { metadata, ...(result.error ? { errorDetails: { message: result.error.message } } : {}) };
		} catch (err) {
			view.finish(messageOf(err));
			const lost = kindOf(err) === "" && run !== undefined;
			const message = lost ? "The server ended during this run. Press Resume the run to go on." : this.explain(err, stream);
			return { metadata: { ...memory, began, ended, ...(run ? { run } : {}), ...(lost ? { reason: "TIMEOUT" } : {}) }, errorDetails: { message } };
		}
	}

	private explain(err: unknown, stream: vscode.ChatResponseStream): string {
		const kind = kindOf(err);
		if (kind === "authRequired") {
			stream.button({ command: "agents.setKey", title: "Set API Key" });
			stream.button({ command: "agents.demo", title: "Run the Demo, Which Needs No Key" });
		} else if (kind === "untrusted") {
			stream.button({ command: "agentls.trustWorkspace", title: "Review and Trust" });
		} else if (kind === "unknownAgent") {
			stream.button({ command: "agents.view.focus", title: "Show Agents" });
		}
		return messageOf(err);
	}

	private async list(stream: vscode.ChatResponseStream): Promise<void> {
		const { agents } = await this.server.request("agents/list", {});
		const usable = agents.filter((a) => a.state === "ok");
		if (usable.length === 0) {
			stream.markdown("There is no agent that can run here yet.");
			stream.button({ command: "agents.new", title: "New Agent" });
			return;
		}
		for (const a of usable) {
			stream.markdown(`- **@${escapeMarkdown(a.name)}** ${escapeMarkdown(a.description ?? a.title)}\n`);
		}
		stream.markdown("\nBegin with a name, as in `@agents @reviewer look at this file`.");
	}
}

/** How many characters of text a response shows: the Chat view draws all of them again for each piece. */
const longestText = 20_000;

/** ChatView shows the events of a run in a response. */
class ChatView {
	private readonly timeline = new Timeline();
	private readonly progress = new Map<string, string>();
	private thought: (Entry & { kind: "thought" }) | undefined;
	/** an error that is shown unless the turn ends with it, which the Chat view shows by itself */
	private failure = "";
	private shown = 0;

	constructor(
		private readonly stream: vscode.ChatResponseStream,
		private agent: string,
	) {}

	hear(event: ActivityParams): void {
		for (const entry of this.timeline.apply(event)) {
			this.show(entry, event);
		}
	}

	/** whether there is more text than is shown */
	get long(): boolean {
		return this.shown >= longestText;
	}

	/** finish shows what is left at the end of a turn; error is what the Chat view shows by itself. */
	finish(error?: string): void {
		this.flushThought();
		this.flushFailure(error);
	}

	private flushFailure(shown?: string): void {
		if (this.failure !== "" && this.failure !== shown) {
			this.row("error", escapeMarkdown(this.failure));
		}
		this.failure = "";
	}

	/** flushThought shows a thought that is complete, as a step: the Chat view folds steps. */
	private flushThought(): void {
		if (this.thought) {
			const { subject, text } = this.thought;
			this.thought = undefined;
			const words = text.replace(/[*\s]+/g, " ").trim();
			this.stream.progress(subject === "" ? words : `${subject}: ${words}`);
		}
	}

	private show(entry: Entry, event: ActivityParams): void {
		if (entry.kind === "thought") {
			if (this.thought !== entry) {
				this.flushThought();
			}
			this.thought = entry;
			this.say("thinking", "Thinking");
			return;
		}
		this.flushThought();
		if (entry.kind !== "end") {
			this.flushFailure();
		}
		switch (entry.kind) {
			case "agent":
				if (entry.name !== this.agent) {
					this.agent = entry.name;
					this.stream.markdown(`\n\n**${escapeMarkdown(entry.name)}**\n\n`);
				}
				break;
			case "text":
				this.text((event.data as { text: string }).text);
				break;
			case "tool":
				this.tool(entry);
				break;
			case "line":
				this.line(entry, event);
				break;
			case "todos":
				this.say(entry.id, `Plan: ${entry.todos.filter((t) => t.status === "completed").length} of ${entry.todos.length} steps done`);
				break;
			case "end":
				if (entry.text !== "" && !entry.result.error) {
					this.row("warning", escapeMarkdown(entry.text));
				}
				this.row("pulse", escapeMarkdown(entry.spent));
		}
	}

	/** text shows a piece of the answer; of a long one only the beginning. */
	private text(text: string): void {
		if (this.long) {
			return;
		}
		this.shown += text.length;
		this.stream.markdown(text);
		if (this.long) {
			this.row("ellipsis", "The answer is long: this is its beginning\\.");
		}
	}

	private tool(entry: Entry & { kind: "tool" }): void {
		if (!callEnded(entry.state as never)) {
			this.say(entry.id, entry.title);
			return;
		}
		const icon = { success: "check", error: "error" }[entry.state] ?? "circle-slash";
		const outcome = entry.outcome === "" || entry.outcome === entry.title ? "" : ` — ${escapeMarkdown(entry.outcome)}`;
		this.row(icon, `${asCode(entry.title)}${outcome}`);
		if (entry.path && entry.state === "success") {
			this.stream.reference(vscode.Uri.parse(entry.path));
		}
	}

	private line(entry: Entry & { kind: "line" }, event: ActivityParams): void {
		if (entry.icon === "question" && event.type === "confirmation.asked") {
			const { id, risk } = event.data as { id: string; risk: string };
			this.row("question", escapeMarkdown(`${entry.text} · ${risk} risk`));
			for (const [command, title] of [["agents.reject", "Reject"], ["agents.allowOnce", "Allow Once"], ["agents.answer", "All Answers…"]] as const) {
				this.stream.button({ command, title, arguments: [id] });
			}
			return;
		}
		if (entry.icon === "error") {
			this.failure = entry.text;
			return;
		}
		const icon = { handoff: "arrow-right", question: "person", retry: "refresh" }[entry.icon as string] ?? entry.icon;
		this.row(icon, escapeMarkdown(entry.text));
	}

	/** say shows what goes on now, once. */
	private say(id: string, text: string): void {
		if (this.progress.get(id) !== text) {
			this.progress.set(id, text);
			this.stream.progress(text);
		}
	}

	private row(icon: string, markdown: string): void {
		this.stream.markdown(new vscode.MarkdownString(`\n\n$(${icon}) ${markdown}\n\n`, true));
	}
}

/** memoryOf is what the newest turn of a chat with us remembers. */
function memoryOf(chat: vscode.ChatContext): Memory | undefined {
	for (const turn of [...chat.history].reverse()) {
		if (turn instanceof vscode.ChatResponseTurn && turn.result.metadata?.session) {
			return turn.result.metadata as Memory;
		}
	}
	return undefined;
}

function followups(memory: Memory | undefined): vscode.ChatFollowup[] {
	if (!memory) {
		return [];
	}
	const list: vscode.ChatFollowup[] = [];
	if (memory.run && memory.reason && mayResume(memory.reason)) {
		list.push({ prompt: "", command: "resume", label: "Resume the run" });
	}
	for (const name of (memory.handoffs ?? []).slice(0, 3)) {
		list.push({ prompt: `@${name} Take over from here.`, label: `Hand over to ${name}` });
	}
	return list;
}

/** attachments are the references of a request: parts of files as blocks, and files as URIs. */
function attachments(references: readonly vscode.ChatPromptReference[]): [ContentBlock[], string[]] {
	const blocks: ContentBlock[] = [];
	const files: string[] = [];
	for (const { value, id } of references) {
		if (value instanceof vscode.Uri) {
			files.push(value.toString());
		} else if (value instanceof vscode.Location && !isSelected(value)) {
			const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === value.uri.toString());
			const uri = value.uri.toString();
			const range = { start: value.range.start, end: value.range.end };
			blocks.push(
				open
					? { type: "resource", resource: { uri, range, mimeType: "text/plain", text: open.getText(value.range) } }
					: { type: "resource_link", uri, name: fileName(uri), range },
			);
		} else if (typeof value === "string") {
			blocks.push({ type: "text", text: `${id}:\n${value}` });
		}
	}
	return [blocks, files];
}
