import * as vscode from "vscode";
import { textBefore } from "./before";
import type { Parts } from "./commands";
import type { Change, Hunk } from "./protocol";
import { messageOf, rowsOf } from "./server";
import { fileName, plural } from "./words";

/** The scheme of files as they were before agents changed them. */
const before = "agentls-before";

/** A row: a changed file, or one of its hunks. */
type Node = { session: string; file: Change; hunk?: Hunk };

/** How many of the newest sessions are asked for their changes. */
const sessionsAsked = 10;

/** ChangesView is what agents changed in files, by file and hunk, to be kept or undone. */
export class ChangesView implements vscode.TreeDataProvider<Node>, vscode.TextDocumentContentProvider, vscode.Disposable {
	private readonly changed = new vscode.EventEmitter<void>();
	private readonly subscriptions: vscode.Disposable[] = [];
	private readonly texts = new Map<string, string>();
	private readonly view: vscode.TreeView<Node>;
	private readonly mark = vscode.window.createTextEditorDecorationType({
		isWholeLine: true,
		overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.modifiedForeground"),
		overviewRulerLane: vscode.OverviewRulerLane.Left,
		backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
	});
	private files: Node[] = [];
	private timer: NodeJS.Timeout | undefined;
	readonly onDidChangeTreeData = this.changed.event;

	constructor(private readonly parts: Parts) {
		const { server, runs } = parts;
		this.view = vscode.window.createTreeView("agents.changes", { treeDataProvider: this, showCollapseAll: true });
		const command = (id: string, run: (node: Node | undefined) => Promise<unknown>) =>
			vscode.commands.registerCommand(id, async (node?: Node) => {
				try {
					await run(node);
				} catch (err) {
					void vscode.window.showErrorMessage(messageOf(err));
				}
			});
		this.subscriptions.push(
			this.view,
			this.mark,
			vscode.workspace.registerTextDocumentContentProvider(before, this),
			server.onStart(() => this.soon()),
			server.onEnd(() => this.soon()),
			runs.onNews(() => this.soon()),
			vscode.window.onDidChangeVisibleTextEditors(() => this.decorate()),
			command("agents.change.refresh", async () => this.soon()),
			command("agents.change.diff", (n) => (n ? this.diff(n) : Promise.resolve())),
			command("agents.change.keep", (n) => this.resolve("keep", n)),
			command("agents.change.undo", (n) => this.resolve("undo", n)),
			command("agents.change.keepAll", () => this.resolveAll("keep")),
			command("agents.change.undoAll", () => this.resolveAll("undo")),
		);
		server.onNotification("agents/filesWritten", () => this.soon());
	}

	dispose(): void {
		clearTimeout(this.timer);
		vscode.Disposable.from(...this.subscriptions).dispose();
	}

	async getChildren(node?: Node): Promise<Node[]> {
		if (node) {
			return node.hunk ? [] : node.file.hunks.filter((h) => h.status === "pending").map((hunk) => ({ ...node, hunk }));
		}
		this.files = this.parts.server.health.kind === "ready" ? await rowsOf(this.list()) : [];
		const n = this.files.length;
		this.view.badge = n > 0 ? { value: n, tooltip: `${plural(n, "file")} that agents changed` } : undefined;
		void vscode.commands.executeCommand("setContext", "agents.changed", n > 0);
		this.decorate();
		return this.files;
	}

	getTreeItem(node: Node): vscode.TreeItem {
		const { file, hunk } = node;
		const uri = vscode.Uri.parse(file.uri);
		if (hunk) {
			const [from, to] = [hunk.range.start.line + 1, Math.max(hunk.range.start.line + 1, hunk.range.end.line)];
			const item = new vscode.TreeItem(from === to ? `Line ${from}` : `Lines ${from} to ${to}`);
			item.id = `${node.session} ${file.uri} ${hunk.id}`;
			item.contextValue = "change hunk";
			item.command = { command: "vscode.open", title: "Open", arguments: [uri, { selection: rangeOf(hunk) }] };
			return item;
		}
		const item = new vscode.TreeItem(uri, vscode.TreeItemCollapsibleState.Collapsed);
		item.id = `${node.session} ${file.uri}`;
		item.label = fileName(file.uri);
		const folder = vscode.workspace.asRelativePath(uri).split("/").slice(0, -1).join("/");
		item.description = [{ create: "new", delete: "deleted", move: "moved" }[file.kind] ?? "", folder].join(" ").trim();
		item.contextValue = "change file";
		item.command = { command: "agents.change.diff", title: "Compare", arguments: [node] };
		return item;
	}

	provideTextDocumentContent(uri: vscode.Uri): string {
		return this.texts.get(uri.toString()) ?? "";
	}

	private soon(): void {
		this.timer ??= setTimeout(() => {
			this.timer = undefined;
			if (this.view.visible) {
				this.changed.fire();
			} else {
				void this.getChildren(); // for the badge
				this.changed.fire();
			}
		}, 300);
	}

	private async list(): Promise<Node[]> {
		const { sessions } = await this.parts.server.request("agents/session/list", { limit: sessionsAsked });
		const nodes: Node[] = [];
		for (const { session, locked, problem } of sessions) {
			if (!locked && !problem) {
				const { files } = await this.parts.server.request("agents/changes", { session });
				const pending = files.filter((f) => f.hunks.length === 0 || f.hunks.some((h) => h.status === "pending"));
				nodes.push(...pending.map((file) => ({ session, file })));
			}
		}
		return nodes;
	}

	/** diff compares a file with what it was before the agents' changes. */
	private async diff(node: Node): Promise<void> {
		const uri = vscode.Uri.parse(node.file.uri);
		const now = node.file.kind === "delete" ? "" : await textNow(uri);
		const old = textBefore(now, node.file.patch);
		if (old === undefined) {
			const document = await vscode.workspace.openTextDocument({ language: "diff", content: node.file.patch });
			await vscode.window.showTextDocument(document, { preview: true });
			return;
		}
		const left = uri.with({ scheme: before, query: node.session });
		this.texts.set(left.toString(), old);
		const name = fileName(node.file.uri);
		await vscode.commands.executeCommand("vscode.diff", left, uri, `${name} (by agents)`, { preview: true });
	}

	private async resolve(action: "keep" | "undo", node: Node | undefined): Promise<void> {
		if (!node) {
			return this.resolveAll(action);
		}
		const { session, file, hunk } = node;
		const answer = await this.parts.server.request("agents/changes/resolve", {
			session,
			uri: file.uri,
			action,
			...(hunk ? { hunks: [hunk.id] } : {}),
		});
		this.report(answer.conflicts);
	}

	private async resolveAll(action: "keep" | "undo"): Promise<void> {
		const words = action === "keep" ? "Keep all changes that agents made?" : "Undo all changes that agents made?";
		const title = action === "keep" ? "Keep All" : "Undo All";
		if ((await vscode.window.showWarningMessage(words, { modal: true }, title)) !== title) {
			return;
		}
		for (const session of new Set(this.files.map((n) => n.session))) {
			this.report((await this.parts.server.request("agents/changes/resolve", { session, action })).conflicts);
		}
	}

	private report(conflicts: { uri: string; why: string }[]): void {
		const [first] = conflicts;
		if (first) {
			void vscode.window.showWarningMessage(`${fileName(first.uri)} is left as it is: ${first.why}`);
		}
		this.soon();
	}

	/** decorate marks the lines that agents changed and nobody has decided on. */
	private decorate(): void {
		for (const editor of vscode.window.visibleTextEditors) {
			if (editor.viewColumn === undefined) {
				continue; // a side of a comparison, which has colours of its own
			}
			const here = this.files.filter((n) => n.file.uri === editor.document.uri.toString());
			const ranges = here.flatMap((n) => n.file.hunks.filter((h) => h.status === "pending").map(rangeOf));
			editor.setDecorations(this.mark, ranges);
		}
	}
}

async function textNow(uri: vscode.Uri): Promise<string> {
	try {
		return (await vscode.workspace.openTextDocument(uri)).getText();
	} catch {
		throw new Error(`${fileName(uri.toString())} cannot be shown as text. Keep it or undo it as a whole.`);
	}
}

function rangeOf(hunk: Hunk): vscode.Range {
	const { start, end } = hunk.range;
	const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
	return new vscode.Range(start.line, 0, last, Number.MAX_SAFE_INTEGER);
}
