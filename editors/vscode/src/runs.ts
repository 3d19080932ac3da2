import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { ask } from "./ask";
import type { ActivityParams, AgentInfo, ContentBlock, EditorContext, HandoffStarted, Requests, Rewound, RunParams, RunResult } from "./protocol";
import { memberOf, type Server } from "./server";

/** What to run. */
export interface Task {
	agent: string;
	/** of routing, where the agent is auto */
	strategy?: string;
	input?: string | ContentBlock[];
	session: string;
	references?: string[];
}

/** Runs starts runs and tells what happens in them. */
export class Runs {
	/** the sessions of this window, the newest last */
	readonly sessions = new Set<string>();
	/** the runs that a chat shows now, each with those that it led to */
	private readonly families = new Set<Set<string>>();
	private readonly noticed = new vscode.EventEmitter<void>();
	/** something that views show has changed */
	readonly onNews = this.noticed.event;

	constructor(private readonly server: Server) {
		server.onActivity((e) => {
			this.remember(e.session);
			if (["run.started", "run.finished", "run.state", "file.changed", "change.resolved", "rewound"].includes(e.type)) {
				this.noticed.fire();
			}
		});
	}

	/** start runs an agent to its end, and hears the events of the run and of those that it leads to. */
	start(task: Task, hear: (event: ActivityParams) => void, token: vscode.CancellationToken): Promise<RunResult> {
		const run = randomUUID();
		const params: RunParams = { ...task, run, context: editorContext() };
		return this.follow(run, hear, token, () => startRun(this.server, params, token)) as Promise<RunResult>;
	}

	/** resume has a run go on to its end. */
	resume(session: string, run: string, hear: (event: ActivityParams) => void, token: vscode.CancellationToken): Promise<RunResult> {
		const go = () => this.server.request("agents/resume", { session, run });
		return this.follow(run, hear, token, go) as Promise<RunResult>;
	}

	/** isShown reports whether a chat shows a run as it goes on. */
	isShown(run: string): boolean {
		return [...this.families].some((family) => family.has(run));
	}

	private async follow<R>(
		run: string,
		hear: (event: ActivityParams) => void,
		token: vscode.CancellationToken,
		go: () => Promise<R>,
	): Promise<R> {
		const family = new Set([run]);
		this.families.add(family);
		const listening = this.server.onActivity((e) => {
			if (e.parentRun && e.run && family.has(e.parentRun)) {
				family.add(e.run);
			}
			if (e.run && family.has(e.run)) {
				const next = e.type === "handoff.started" ? (e.data as HandoffStarted).run : undefined;
				if (next) {
					family.add(next);
				}
				hear(e);
			}
		});
		const cancelling = token.onCancellationRequested(() => void this.server.request("agents/cancel", { run }));
		try {
			return await go();
		} finally {
			this.families.delete(family);
			listening.dispose();
			cancelling.dispose();
		}
	}

	private remember(session: string): void {
		if ([...this.sessions].at(-1) !== session) {
			this.sessions.delete(session);
			this.sessions.add(session);
		}
	}
}

/** rewoundTo returns the event to which a session last went back since an event; undefined where it did not. */
export async function rewoundTo(server: Server, session: string, since: number): Promise<number | undefined> {
	let to: number | undefined;
	for (let from = since + 1, more = true; more; ) {
		const page = await server.request("agents/subscribe", { session, fromSeq: from });
		for (const e of page.events) {
			to = e.type === "rewound" ? (e.data as Rewound).toSeq : to;
		}
		[from, more] = [page.nextSeq, page.more];
	}
	return to;
}

/** startRun starts a run; the person is asked for inputs that its agent needs. */
export async function startRun(server: Server, params: RunParams, token: vscode.CancellationToken): Promise<Requests["agents/run"]["result"]> {
	try {
		return await server.request("agents/run", params);
	} catch (err) {
		if (!memberOf(err).startsWith("inputs")) {
			throw err;
		}
		const { inputs } = await server.request("agents/get", { name: params.agent ?? "" });
		const { properties = {}, required = [] } = (inputs ?? {}) as { properties?: Record<string, object>; required?: string[] };
		const schema = { properties: Object.fromEntries(required.map((name) => [name, properties[name] ?? {}])) };
		const { action, content } = await ask({ title: `${params.agent} needs to know`, message: "", schema }, token);
		if (action !== "accept") {
			throw err;
		}
		return server.request("agents/run", { ...params, inputs: content });
	}
}

/** the editor of a file that was active last: while a panel of ours has the keyboard, none is active */
let lastEditor: vscode.TextEditor | undefined;

/** watchEditors has editorContext know the editor that was active last. */
export function watchEditors(): vscode.Disposable {
	const note = (editor: vscode.TextEditor | undefined) => {
		lastEditor = editor?.document.uri.scheme === "file" ? editor : lastEditor;
	};
	note(vscode.window.activeTextEditor);
	return vscode.window.onDidChangeActiveTextEditor(note);
}

/** editorContext is what the person has in the editor now. */
export function editorContext(): EditorContext {
	const open = vscode.workspace.textDocuments.filter((d) => d.uri.scheme === "file" && !d.isClosed).map((d) => d.uri.toString());
	const editor = vscode.window.visibleTextEditors.includes(lastEditor!) ? lastEditor : undefined;
	if (!editor) {
		return { open };
	}
	const { document, selection } = editor;
	return {
		uri: document.uri.toString(),
		cursor: selection.active,
		...(selection.isEmpty ? {} : { selection: { start: selection.start, end: selection.end }, text: document.getText(selection) }),
		diagnostics: vscode.languages
			.getDiagnostics(document.uri)
			.filter((d) => d.range.intersection(selection))
			.map((d) => ({ range: { start: d.range.start, end: d.range.end }, severity: d.severity + 1, message: d.message, source: d.source })),
		open,
	};
}

/** isSelected reports whether a place is what editorContext already tells as the selection. */
export function isSelected(place: vscode.Location): boolean {
	return lastEditor?.document.uri.toString() === place.uri.toString() && lastEditor.selection.isEqual(place.range);
}

/** chooseAgent asks for one of the agents that can run. */
export async function chooseAgent(server: Server, title: string): Promise<string | undefined> {
	const { agents } = await server.request("agents/list", {});
	const items = agents.filter((a) => a.state === "ok").map((a) => ({ label: a.name, description: a.title, detail: a.description ?? "" }));
	if (items.length === 0) {
		await offerFirstAgent(agents);
		return undefined;
	}
	return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true }))?.label;
}

/** offerFirstAgent says what to do where no agent can run. */
async function offerFirstAgent(agents: AgentInfo[]): Promise<void> {
	if (agents.some((a) => a.state === "untrusted" || a.state === "review")) {
		const choice = await vscode.window.showInformationMessage("The agents of this folder need your review before they run.", "Review");
		if (choice) {
			await vscode.commands.executeCommand("agentls.trustWorkspace");
		}
		return;
	}
	const choice = await vscode.window.showInformationMessage("There is no agent that can run here yet.", "New Agent");
	if (choice) {
		await vscode.commands.executeCommand("agents.new");
	}
}
