import * as vscode from "vscode";
import type { Parts } from "./commands";
import type { ActivityParams, Session } from "./protocol";
import { messageOf, rowsOf } from "./server";
import { isMessage } from "./timeline";
import { ago, clip, inputText, plural } from "./words";

const icons: Record<string, string> = {
	idle: "comment-discussion",
	running: "loading~spin",
	waiting: "bell-dot",
	paused: "debug-pause",
	interrupted: "debug-disconnect",
};

/** SessionsView is the list of sessions, newest first. */
export class SessionsView implements vscode.TreeDataProvider<Session>, vscode.Disposable {
	private readonly changed = new vscode.EventEmitter<void>();
	private readonly subscriptions: vscode.Disposable[] = [];
	private timer: NodeJS.Timeout | undefined;
	readonly onDidChangeTreeData = this.changed.event;

	constructor(private readonly parts: Parts) {
		const { server, runs } = parts;
		const command = (id: string, run: (session: Session) => Promise<void>) =>
			vscode.commands.registerCommand(id, async (node?: Session) => {
				try {
					const session = node?.session ? node : await this.pick();
					if (session) {
						await run(session);
						this.changed.fire();
					}
				} catch (err) {
					void vscode.window.showErrorMessage(messageOf(err));
				}
			});
		this.subscriptions.push(
			vscode.window.createTreeView("agents.sessions", { treeDataProvider: this }),
			server.onStart(() => this.changed.fire()),
			server.onEnd(() => this.changed.fire()),
			runs.onNews(() => this.soon()),
			vscode.commands.registerCommand("agents.session.refresh", () => this.changed.fire()),
			command("agents.session.open", (s) => parts.panels.show(s.session)),
			command("agents.session.resume", (s) => this.resume(s)),
			command("agents.session.fork", (s) => this.fork(s)),
			command("agents.session.rewind", (s) => this.rewind(s)),
			command("agents.session.export", async (s) => void (await vscode.commands.executeCommand("agentls.showTranscript", s.session))),
			command("agents.session.delete", (s) => this.remove(s)),
		);
	}

	dispose(): void {
		clearTimeout(this.timer);
		vscode.Disposable.from(...this.subscriptions).dispose();
	}

	getChildren(node?: Session): Promise<Session[]> {
		return node || this.parts.server.health.kind !== "ready" ? Promise.resolve([]) : rowsOf(this.list());
	}

	getTreeItem(s: Session): vscode.TreeItem {
		const item = new vscode.TreeItem(clip(s.title, 60) || s.session);
		item.id = s.session;
		const state = [s.state === "idle" ? "" : s.state, s.locked ? "in another window" : ""].filter((t) => t).join(" ");
		item.description = [state, s.agentChain.join(" → "), ago(s.updatedAt, Date.now())].filter((t) => t !== "").join(" · ");
		item.iconPath = new vscode.ThemeIcon(s.problem ? "warning" : s.locked ? "lock" : (icons[s.state] ?? "comment-discussion"));
		item.tooltip = [s.title, plural(s.runs, "run"), s.locked ? "Another window or terminal has it: go on there, or fork it." : "", s.problem ?? ""].filter((t) => t).join("\n");
		item.contextValue = `session ${s.state}`;
		item.command = { command: "agents.session.open", title: "Open", arguments: [s] };
		return item;
	}

	/** soon asks for the sessions again, not for each event of a run. */
	private soon(): void {
		this.timer ??= setTimeout(() => {
			this.timer = undefined;
			this.changed.fire();
		}, 300);
	}

	private async list(): Promise<Session[]> {
		return (await this.parts.server.request("agents/session/list", { limit: 1000 })).sessions; // without it the newest 100
	}

	private async pick(): Promise<Session | undefined> {
		const items = (await this.list()).map((s) => ({ label: clip(s.title, 80) || s.session, description: s.state, session: s }));
		return (await vscode.window.showQuickPick(items, { title: "Which session?" }))?.session;
	}

	private async resume(s: Session): Promise<void> {
		const { server, panels } = this.parts;
		const { runs } = await server.request("agents/session/get", { session: s.session });
		const run = runs.findLast((r) => r.state === "interrupted" || r.state === "paused") ?? runs.findLast((r) => r.reason !== "GOAL");
		if (!run) {
			void vscode.window.showInformationMessage("Nothing in this session waits to be resumed.");
			return;
		}
		await panels.show(s.session, run.agent);
		await server.request("agents/resume", { session: s.session, run: run.run, wait: "accept" });
	}

	private async fork(s: Session): Promise<void> {
		const at = await this.place(s, "Fork: go on beside it, from before which message?");
		if (at) {
			const made = await this.parts.server.request("agents/session/fork", { session: s.session, atSeq: at });
			await this.parts.panels.show(made.session);
		}
	}

	private async rewind(s: Session): Promise<void> {
		const at = await this.place(s, "Rewind: go back to before which message?");
		if (!at) {
			return;
		}
		const what = await vscode.window.showQuickPick(
			[
				{ label: "The conversation and the files", files: true },
				{ label: "The conversation only", files: false },
			],
			{ title: "What goes back?" },
		);
		if (what) {
			const { files, left } = await this.parts.server.request("agents/session/rewind", { session: s.session, toSeq: at, files: what.files });
			const kept = left.length > 0 ? ` ${plural(left.length, "file")} stayed: ${left[0]!.why}` : "";
			const words = "What came later still stands in the chat, but is no longer part of the conversation.";
			void vscode.window.showInformationMessage(`The session went back. ${plural(files.length, "file")} restored.${kept} ${words}`);
		}
	}

	/** place asks for one of the person's messages; it returns the event before it. */
	private async place(s: Session, title: string): Promise<number | undefined> {
		const items: { label: string; description: string; at: number }[] = [];
		for (let from = 1, more = true; more; ) {
			const page = await this.parts.server.request("agents/subscribe", { session: s.session, fromSeq: from });
			for (const e of page.events as ActivityParams[]) {
				if (isMessage(e) && e.seq > 1) {
					const { input } = e.data as { input: Parameters<typeof inputText>[0] };
					items.unshift({ label: clip(inputText(input), 80), description: e.agent ?? "", at: e.seq - 1 });
				}
			}
			[from, more] = [page.nextSeq, page.more];
		}
		return (await vscode.window.showQuickPick(items, { title, placeHolder: "The newest is first" }))?.at;
	}

	private async remove(s: Session): Promise<void> {
		const detail = "What was said and done in it is erased from disk. Files stay as they are.";
		if ((await vscode.window.showWarningMessage(`Delete the session "${clip(s.title, 60)}"?`, { modal: true, detail }, "Delete")) === "Delete") {
			await this.parts.server.request("agents/session/delete", { session: s.session });
		}
	}
}
