import * as vscode from "vscode";
import { accepted, type Choice, choices, heading } from "./answers";
import { ask } from "./ask";
import type { ConfirmParams, ConfirmResult } from "./protocol";
import { messageOf, type Server } from "./server";
import { fileName } from "./words";

/** The type of the panels of sessions, by which their tabs are known. */
export const panelType = "agents.session";

/** The scheme of texts that can only be read: what a question is about, a file as it was. */
const readOnly = "agentls-question";
/** The scheme of texts that the person may change before they agree. */
const proposed = "agentls-proposal";

/** A question that waits for an answer. */
interface Question {
	params: ConfirmParams;
	answer: (result: ConfirmResult | null) => void;
	/** closes whatever is open for it */
	closing: vscode.CancellationTokenSource;
	/** what it is about was opened: before that nothing allows it */
	shown: boolean;
	/** a message about it is shown, or hidden in the list of messages */
	told: boolean;
	/** the text that the person may change, once it is shown */
	proposal?: vscode.Uri;
}

/**
 * Confirmations shows what agents ask permission for, one question at a time: the
 * change as a diff or the call as a text. The shortest answers are in its title and where
 * the person talks to the agent; where that is nowhere, in a message. All answers are a
 * list away (agents.answer). To close one of these answers nothing.
 */
export class Confirmations implements vscode.Disposable {
	private readonly queue: Question[] = [];
	private readonly counted = new vscode.EventEmitter<number>();
	private readonly files = new Proposals();
	private readonly subscriptions: vscode.Disposable[] = [];
	private picker: vscode.QuickPick<Choice & vscode.QuickPickItem> | undefined;
	readonly onCount = this.counted.event;

	/** hasButtons reports whether a conversation that is shown has the answers to a question. */
	constructor(
		server: Server,
		private readonly hasButtons: (params: ConfirmParams) => boolean,
	) {
		server.answers("agents/confirm", (params, token) => this.confirm(params, token));
		server.answers("agents/ask", (params, token) => ask(params, token));
		server.onNotification("agents/confirm/resolved", (p) => this.withdraw(p.id, p.reason));
		const command = (id: string, run: (q: Question) => void) =>
			vscode.commands.registerCommand(id, (asked: unknown) => this.withQuestion(asked, run));
		this.subscriptions.push(
			server.onEnd(() => this.withdrawAll()),
			vscode.workspace.registerTextDocumentContentProvider(readOnly, this.files),
			vscode.workspace.registerFileSystemProvider(proposed, this.files, { isCaseSensitive: true }),
			command("agents.answer", (q) => void this.show(q).then(() => this.offer(q))),
			command("agents.allowOnce", (q) => (q.shown ? this.allow(q) : void this.present(q))),
			command("agents.reject", (q) => this.settle(q, { outcome: "reject" })),
			command("agents.rejectWithReason", (q) => void this.rejectWithReason(q)),
		);
	}

	/** how many questions wait */
	get waiting(): number {
		return this.queue.length;
	}

	dispose(): void {
		this.withdrawAll();
		vscode.Disposable.from(...this.subscriptions).dispose();
	}

	private confirm(params: ConfirmParams, token: vscode.CancellationToken): Promise<ConfirmResult | null> {
		return new Promise((answer) => {
			this.queue.push({ params, answer, shown: false, told: false, closing: new vscode.CancellationTokenSource() });
			token.onCancellationRequested(() => this.withdraw(params.id, "cancelled"));
			this.changed();
			if (this.queue.length === 1) {
				void this.present(this.queue[0]!);
			}
		});
	}

	private changed(): void {
		this.counted.fire(this.queue.length);
		void vscode.commands.executeCommand("setContext", "agents.waiting", this.queue.length > 0);
	}

	/** withQuestion finds the question that a command is about: by its id, by a document of it, else the first. */
	private withQuestion(asked: unknown, run: (q: Question) => void): void {
		let id = typeof asked === "string" ? asked : "";
		if (asked instanceof vscode.Uri && (asked.scheme === proposed || asked.scheme === readOnly)) {
			id = asked.query;
		}
		const q = id === "" ? this.queue[0] : this.queue.find((one) => one.params.id === id);
		if (q) {
			run(q);
		} else {
			void vscode.window.showInformationMessage("No agent waits for an answer to this any more.");
		}
	}

	/** present opens what a question is about, and asks beside it where no conversation does: a message covers the input of the chat. */
	private async present(q: Question): Promise<void> {
		await this.show(q);
		const answered = !this.queue.includes(q);
		const inChat = q.shown && this.hasButtons(q.params);
		if (answered || q.told || inChat) {
			return;
		}
		const edit = q.params.preview?.kind === "diff";
		const [allow, more] = [edit ? "Accept" : "Allow Once", "More Answers…"];
		const key = process.platform === "darwin" ? "Cmd+Alt+A" : "Ctrl+Alt+A";
		q.told = true;
		const choice = await vscode.window.showWarningMessage(`${heading(q.params)}. ${key} lists all answers.`, "Reject", allow, more);
		q.told = false;
		if (choice === undefined || !this.queue.includes(q)) {
			return; // hidden or late: the status bar and the editor's title still have the answers
		}
		if (choice === more) {
			this.offer(q);
		} else {
			await this.choose(q, choice === allow ? "once" : "reject");
		}
	}

	/** show opens what a question is about: a diff, or its facts as a text. */
	private async show(q: Question, preserveFocus = true): Promise<void> {
		const { id, preview, message, agent } = q.params;
		const options = { preview: true, preserveFocus, viewColumn: columnOfQuestions() };
		try {
			if (preview?.kind === "diff") {
				const name = fileName(preview.uri ?? "file");
				const path = preview.uri ? `/${vscode.workspace.asRelativePath(vscode.Uri.parse(preview.uri)).replace(/^\//, "")}` : "/file";
				const before = this.files.put(readOnly, id, path, preview.oldText ?? "");
				q.proposal ??= this.files.put(proposed, id, path, preview.newText ?? "");
				await vscode.commands.executeCommand("vscode.diff", before, q.proposal, `${name} (by ${agent})`, options);
				q.shown = true;
				return;
			}
			const text = await vscode.workspace.openTextDocument(this.files.put(readOnly, id, "/Question", message));
			const document = await vscode.languages.setTextDocumentLanguage(text, "agents-question"); // its lines wrap
			await vscode.window.showTextDocument(document, options);
			q.shown = true;
		} catch (err) {
			void vscode.window.showWarningMessage(`The question could not be shown: ${messageOf(err)}`);
		}
	}

	private offer(q: Question): void {
		this.picker?.dispose();
		const picker = vscode.window.createQuickPick<Choice & vscode.QuickPickItem>();
		this.picker = picker;
		picker.title = heading(q.params);
		picker.placeholder = `Escape leaves it open. ${q.params.why.charAt(0).toUpperCase()}${q.params.why.slice(1)}`;
		picker.ignoreFocusOut = true;
		picker.items = choices(q.params).map((c) => ({ ...c, label: `$(${c.icon}) ${c.label}` }));
		picker.onDidAccept(() => {
			const choice = picker.selectedItems[0];
			picker.hide();
			if (choice) {
				void this.choose(q, choice.answer);
			}
		});
		picker.onDidHide(() => picker.dispose());
		q.closing.token.onCancellationRequested(() => picker.dispose());
		picker.show();
	}

	private async choose(q: Question, kind: string): Promise<void> {
		switch (kind) {
			case "look":
				return this.look(q);
			case "once":
				return this.allow(q);
			case "modify":
				return this.edit(q);
			case "reason":
				return this.rejectWithReason(q);
			case "run":
			case "session":
			case "always":
				return this.allowLonger(q, kind);
		}
		this.settle(q, { outcome: kind });
	}

	/** look gives the keyboard to what the question is about. */
	private async look(q: Question): Promise<void> {
		await this.show(q, false);
	}

	private async edit(q: Question): Promise<void> {
		if (q.params.preview?.kind === "diff") {
			await this.look(q);
		} else {
			q.proposal ??= this.files.put(proposed, q.params.id, "/arguments.json", `${JSON.stringify(q.params.args, null, 2)}\n`);
			await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(q.proposal));
		}
		const hint = vscode.window.setStatusBarMessage("Edit, then choose Allow in the editor's title, or run Agents: Allow Once");
		q.closing.token.onCancellationRequested(() => hint.dispose());
	}

	private allow(q: Question): void {
		try {
			this.settle(q, accepted(q.params, q.proposal && this.files.textOf(q.proposal)));
		} catch (err) {
			void vscode.window.showErrorMessage(`These arguments cannot be used: ${messageOf(err)}`);
		}
	}

	/** allowLonger says in full what the answer covers before it is given. */
	private async allowLonger(q: Question, outcome: "run" | "session" | "always"): Promise<void> {
		const until = { run: "until this run ends", session: "until this session ends", always: "always, in this folder" }[outcome];
		const { prefix, remembers, agent } = q.params;
		const items = [
			{ label: "Go back", description: "allow nothing yet", prefix: undefined },
			{ label: remembers || "Calls like this one", description: "exactly this", prefix: false },
			...(prefix ? [{ label: prefix, description: "every command that begins like this", prefix: true }] : []),
		];
		const chosen = await vscode.window.showQuickPick(
			items,
			{ title: `Allow ${agent} without asking, ${until}:`, ignoreFocusOut: true },
			q.closing.token,
		);
		if (chosen?.prefix === undefined) {
			return this.queue.includes(q) ? this.offer(q) : undefined;
		}
		this.settle(q, { outcome, ...(chosen.prefix ? { prefix: true } : {}) });
	}

	private async rejectWithReason(q: Question): Promise<void> {
		const feedback = await vscode.window.showInputBox(
			{ title: heading(q.params), prompt: "What should the agent know, or do instead? It is told this.", ignoreFocusOut: true },
			q.closing.token,
		);
		if (feedback !== undefined) {
			this.settle(q, { outcome: "reject", ...(feedback === "" ? {} : { feedback }) });
		}
	}

	private settle(q: Question, result: ConfirmResult | null): void {
		const at = this.queue.indexOf(q);
		if (at < 0) {
			return;
		}
		this.queue.splice(at, 1);
		q.answer(result);
		q.closing.cancel();
		if (q.told) {
			void vscode.commands.executeCommand("notifications.hideToasts"); // one message cannot be taken away by itself
		}
		this.changed();
		void this.close(q).then(() => {
			if (this.queue[0] && at === 0) {
				return this.present(this.queue[0]);
			}
			return undefined;
		});
	}

	private withdraw(id: string, reason: string): void {
		const q = this.queue.find((one) => one.params.id === id);
		if (!q) {
			return;
		}
		this.settle(q, null);
		if (reason === "expired") {
			void vscode.window.showInformationMessage(`Nobody answered in time, so it was rejected: ${q.params.title}`);
		}
	}

	private withdrawAll(): void {
		for (const q of [...this.queue].reverse()) {
			this.settle(q, null);
		}
	}

	/** close closes the documents of a question. */
	private async close(q: Question): Promise<void> {
		const ours = (uri: vscode.Uri | undefined) =>
			(uri?.scheme === proposed || uri?.scheme === readOnly) && uri.query === q.params.id;
		for (const document of vscode.workspace.textDocuments) {
			if (ours(document.uri) && document.isDirty) {
				await document.save(); // so that closing it asks nothing
			}
		}
		for (const tab of vscode.window.tabGroups.all.flatMap((group) => group.tabs)) {
			const input = tab.input;
			const uri =
				input instanceof vscode.TabInputTextDiff ? input.modified : input instanceof vscode.TabInputText ? input.uri : undefined;
			if (ours(uri)) {
				await vscode.window.tabGroups.close(tab, true);
			}
		}
		this.files.drop(q.params.id);
	}
}

/** columnOfQuestions is where questions open: not over a conversation that is beside the files. */
function columnOfQuestions(): vscode.ViewColumn {
	const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
	return input instanceof vscode.TabInputWebview && input.viewType.endsWith(panelType) ? vscode.ViewColumn.One : vscode.ViewColumn.Active;
}

/** Proposals holds the texts of questions in memory. */
class Proposals implements vscode.FileSystemProvider, vscode.TextDocumentContentProvider {
	private readonly texts = new Map<string, { text: string; at: number }>();
	private readonly fileChanged = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
	readonly onDidChangeFile = this.fileChanged.event;

	/** put keeps a text for a question, under the path of the file that it is of. */
	put(scheme: string, id: string, path: string, text: string): vscode.Uri {
		const uri = vscode.Uri.from({ scheme, path, query: id });
		this.texts.set(uri.toString(), { text, at: Date.now() });
		return uri;
	}

	/** textOf is the text as the person has it, saved or not. One that nobody touched is as it was, line ends and all. */
	textOf(uri: vscode.Uri): string | undefined {
		const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
		return open && !open.isClosed && open.version > 1 ? open.getText() : this.texts.get(uri.toString())?.text;
	}

	drop(id: string): void {
		for (const uri of this.texts.keys()) {
			if (uri.endsWith(`?${id}`)) {
				this.texts.delete(uri);
			}
		}
	}

	provideTextDocumentContent(uri: vscode.Uri): string {
		return this.texts.get(uri.toString())?.text ?? "This question was answered.";
	}

	stat(uri: vscode.Uri): vscode.FileStat {
		const { text, at } = this.find(uri);
		return { type: vscode.FileType.File, ctime: at, mtime: at, size: Buffer.byteLength(text) };
	}

	readFile(uri: vscode.Uri): Uint8Array {
		return Buffer.from(this.find(uri).text);
	}

	writeFile(uri: vscode.Uri, content: Uint8Array): void {
		this.find(uri);
		this.texts.set(uri.toString(), { text: Buffer.from(content).toString(), at: Date.now() });
		this.fileChanged.fire([{ type: vscode.FileChangeType.Changed, uri }]);
	}

	watch(): vscode.Disposable {
		return new vscode.Disposable(() => undefined);
	}

	readDirectory(uri: vscode.Uri): never {
		throw vscode.FileSystemError.NoPermissions(uri);
	}

	createDirectory(uri: vscode.Uri): never {
		throw vscode.FileSystemError.NoPermissions(uri);
	}

	delete(uri: vscode.Uri): never {
		throw vscode.FileSystemError.NoPermissions(uri);
	}

	rename(uri: vscode.Uri): never {
		throw vscode.FileSystemError.NoPermissions(uri);
	}

	private find(uri: vscode.Uri): { text: string; at: number } {
		const found = this.texts.get(uri.toString());
		if (!found) {
			throw vscode.FileSystemError.FileNotFound(uri);
		}
		return found;
	}
}
