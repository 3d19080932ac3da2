import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { chatIsUsed } from "./chat";
import { type Confirmations, panelType } from "./confirm";
import type { FromPage, ToPage } from "./messages";
import { page } from "./page";
import type { ActivityParams, RunParams, RunState } from "./protocol";
import { editorContext, startRun } from "./runs";
import { messageOf, type Server } from "./server";
import { Timeline } from "./timeline";
import { clip } from "./words";

/** How long changes are gathered before the page is told. */
const gatherMs = 16;

/** What is said of a session that another window or a terminal has. */
const inUse =
	"Another window or terminal has this session: you can read along. Go on there; or to go on here, run Agents: Fork Session, and choose it.";

/** Panels are the sessions that are shown in panels of their own, where the Chat view is off or a past session is opened. */
export class Panels implements vscode.Disposable {
	private readonly open = new Map<string, Panel>();

	constructor(
		private readonly context: vscode.ExtensionContext,
		private readonly server: Server,
		private readonly confirmations: Confirmations,
	) {}

	/** isShown reports whether a session is in sight in a panel of its own. */
	isShown(session: string): boolean {
		return this.open.get(session)?.visible ?? false;
	}

	/** show shows a session; with a text it is put to the agent. */
	async show(session: string, agent?: string, text?: string): Promise<void> {
		let panel = this.open.get(session);
		if (!panel) {
			panel = new Panel(this.context, this.server, this.confirmations, session, agent ?? "");
			this.open.set(session, panel);
			panel.onClose(() => this.open.delete(session));
		}
		panel.reveal();
		await panel.ready;
		if (agent && text) {
			await panel.send(text, agent);
		}
	}

	dispose(): void {
		for (const panel of this.open.values()) {
			panel.dispose();
		}
	}
}

/** Panel is one session in a webview. */
class Panel {
	private readonly view: vscode.WebviewPanel;
	private readonly subscriptions: vscode.Disposable[] = [];
	private readonly changed = new Map<string, object>();
	private readonly running = new Set<string>();
	private timeline = new Timeline();
	private agents: string[] = [];
	private seen = 0;
	/** events that came while past ones are loaded, which they may overtake */
	private late: ActivityParams[] | undefined;
	private timer: NodeJS.Timeout | undefined;
	private loaded!: () => void;
	readonly ready = new Promise<void>((done) => {
		this.loaded = done;
	});

	constructor(
		context: vscode.ExtensionContext,
		private readonly server: Server,
		confirmations: Confirmations,
		private readonly session: string,
		private agent: string,
	) {
		const media = vscode.Uri.joinPath(context.extensionUri, "media");
		const out = vscode.Uri.joinPath(context.extensionUri, "out");
		const column = chatIsUsed() ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside; // beside a chat two columns are narrow
		this.view = vscode.window.createWebviewPanel(panelType, "Agents", column, {
			enableScripts: true,
			retainContextWhenHidden: true,
			localResourceRoots: [media, out],
			enableCommandUris: false,
		});
		const { webview } = this.view;
		this.view.iconPath = { light: vscode.Uri.joinPath(media, "agents.svg"), dark: vscode.Uri.joinPath(media, "agents-dark.svg") };
		this.subscriptions.push(
			webview.onDidReceiveMessage((m: FromPage) => void this.hear(m)),
			server.onActivity((e) => (this.late ? void this.late.push(e) : this.take(e))),
			server.onStart(() => void this.load()),
			server.onEnd(() => this.post({ type: "problem", message: "The server ended. What ran is in the Sessions view, to be resumed." })),
			confirmations.onCount(() => this.state(confirmations.waiting > 0)),
			this.view.onDidDispose(() => this.dispose()),
		);
		webview.html = page({
			title: "Agents",
			nonce: randomBytes(16).toString("base64url"),
			source: webview.cspSource,
			script: webview.asWebviewUri(vscode.Uri.joinPath(out, "panel.js")).toString(),
			style: webview.asWebviewUri(vscode.Uri.joinPath(media, "panel.css")).toString(),
		});
	}

	onClose(closed: () => void): void {
		this.view.onDidDispose(closed);
	}

	get visible(): boolean {
		return this.view.visible;
	}

	reveal(): void {
		this.view.reveal();
	}

	dispose(): void {
		clearTimeout(this.timer);
		vscode.Disposable.from(...this.subscriptions).dispose();
		this.view.dispose();
	}

	/** send puts a text to an agent: a new run, or more words for the one that goes on. */
	async send(text: string, agent: string): Promise<void> {
		this.post({ type: "problem", message: "" });
		try {
			const run = [...this.running].at(-1);
			if (run) {
				await this.server.request("agents/steer", { run, input: text });
				return;
			}
			this.agent = agent;
			const params: RunParams = { agent, input: text, session: this.session, context: editorContext(), wait: "accept" };
			await startRun(this.server, params, new vscode.CancellationTokenSource().token);
		} catch (err) {
			this.post({ type: "problem", message: messageOf(err) });
		}
	}

	private async hear(m: FromPage): Promise<void> {
		switch (m.type) {
			case "ready":
				return this.load();
			case "send":
				return this.send(m.text, m.agent);
			case "stop":
				return this.stop();
			case "answer":
				await vscode.commands.executeCommand("agents.answer");
		}
	}

	private async stop(): Promise<void> {
		try {
			await this.server.request("agents/cancel", { session: this.session });
		} catch (err) { // as where another window has the session
			this.post({ type: "problem", message: messageOf(err) });
		}
	}

	/** load shows the session from its beginning, and what comes from then on. */
	private async load(): Promise<void> {
		this.late ??= [];
		try {
			const [{ agents }, page] = [
				await this.server.request("agents/list", {}),
				await this.server.request("agents/subscribe", { session: this.session, fromSeq: 1 }),
			];
			this.agents = agents.filter((a) => a.state === "ok").map((a) => a.name);
			this.timeline = new Timeline();
			this.running.clear();
			this.seen = 0;
			this.agent ||= page.events.findLast((e) => e.agent)?.agent ?? this.agents[0] ?? "";
			this.post({ type: "reset", title: "", agents: this.agents, agent: this.agent });
			this.post({ type: "problem", message: "" });
			for (let next = page; ; next = await this.server.request("agents/subscribe", { session: this.session, fromSeq: next.nextSeq })) {
				for (const e of next.events) {
					this.take(e);
				}
				if (!next.more) {
					break;
				}
			}
			this.takeLate();
			if (this.seen > 0) {
				await this.look();
			}
			this.state(false);
		} catch (err) {
			this.post({ type: "problem", message: messageOf(err) });
		}
		this.takeLate();
		this.loaded();
	}

	private takeLate(): void {
		const late = this.late ?? [];
		this.late = undefined;
		for (const e of late) {
			this.take(e);
		}
	}

	/** look asks who has the session, and which of its runs go on: one that a crash cut off never told its end. */
	private async look(): Promise<void> {
		const begun = [...this.running];
		const { locked, runs } = await this.server.request("agents/session/get", { session: this.session });
		const live = new Set(runs.filter((r) => r.state === "running" || r.state === "waiting").map((r) => r.run));
		for (const run of begun.filter((r) => !live.has(r))) {
			this.running.delete(run);
		}
		if (locked) {
			this.post({ type: "problem", message: inUse });
		}
	}

	private take(e: ActivityParams): void {
		if (e.session !== this.session || e.seq <= this.seen) {
			return;
		}
		this.seen = e.seq;
		const to = e.type === "run.state" ? (e.data as RunState).to : undefined;
		if (e.run && (e.type === "run.started" || to === "running")) {
			this.running.add(e.run);
			this.state(undefined);
		} else if (e.run && (e.type === "run.finished" || to === "paused" || to === "interrupted")) {
			this.running.delete(e.run);
			this.state(undefined);
		}
		for (const entry of this.timeline.apply(e)) {
			this.changed.set(entry.id, entry);
			if (entry.kind === "user" && this.view.title === "Agents") {
				this.view.title = clip(entry.text, 40);
			}
		}
		this.timer ??= setTimeout(() => this.tell(), gatherMs);
	}

	private tell(): void {
		this.timer = undefined;
		this.post({ type: "entries", entries: [...this.changed.values()] as never });
		this.changed.clear();
	}

	private waiting = false;

	private state(waiting: boolean | undefined): void {
		this.waiting = waiting ?? this.waiting;
		this.post({ type: "state", running: this.running.size > 0, waiting: this.waiting && this.running.size > 0 });
	}

	private post(m: ToPage): void {
		void this.view.webview.postMessage(m);
	}
}
