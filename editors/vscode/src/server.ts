import * as fs from "node:fs";
import * as path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import * as vscode from "vscode";
import type { CloseAction, ErrorHandler, LanguageClient, LanguageClientOptions, Middleware } from "vscode-languageclient/node";
import { inPath, locateBinary, tooOld } from "./binary";
import type { ActivityParams, ClientCapabilities, ClientNotifications, Notifications, Questions, Requests, StatusParams } from "./protocol";
import { clip } from "./words";

/** What this extension can do, in the protocol's words. */
const capabilities: ClientCapabilities = {
	version: 1,
	activity: { optOut: ["model.content", "checkpoint"] },
	confirm: { feedback: true, modify: true },
	ask: true,
	status: true,
	saveDocuments: true,
	filesWritten: true,
	editorQueries: true,
};

/** How the server is: not there, on its way, or what it says of itself. */
export type Health = { kind: "missing" | "stopped" | "starting"; message: string } | { kind: "ready"; status: StatusParams };

/** How many times within three minutes a server that ends is started again. */
const maxRestarts = 4;

/** How long a server may take to answer before the person is asked what to do, in milliseconds. */
const slowAfter = 20_000;

const secretName = "GEMINI_API_KEY";

/** Server is the language server as a process, and the connection to it. */
export class Server implements vscode.Disposable {
	private client: LanguageClient | undefined;
	private running: Promise<void> = Promise.resolve();
	/** what the server's process printed last, which says why where it does not start */
	private lastPrinted = "";
	private allPrinted: Promise<void> = Promise.resolve();
	private readonly healthChanged = new vscode.EventEmitter<Health>();
	private readonly activityCame = new vscode.EventEmitter<ActivityParams>();
	private readonly agentsChanged = new vscode.EventEmitter<void>();
	private readonly started = new vscode.EventEmitter<void>();
	private readonly ended = new vscode.EventEmitter<void>();
	private readonly handlers: ((client: LanguageClient) => void)[] = [];
	/** how the server is now */
	health: Health = { kind: "stopped", message: "Not started" };
	readonly onHealth = this.healthChanged.event;
	readonly onActivity = this.activityCame.event;
	readonly onAgents = this.agentsChanged.event;
	readonly onStart = this.started.event;
	/** the process is gone, or its connection: whatever it asked is void */
	readonly onEnd = this.ended.event;

	constructor(
		private readonly context: vscode.ExtensionContext,
		private readonly log: vscode.LogOutputChannel,
		private readonly middleware: Middleware,
	) {
		this.onNotification("agents/activity", (e) => this.activityCame.fire(e));
		this.onNotification("agents/didChange", () => this.agentsChanged.fire());
		this.onNotification("agents/status", (status) => this.setHealth({ kind: "ready", status }));
	}

	/** program finds the server's program. */
	program(): ReturnType<typeof locateBinary> {
		const windows = process.platform === "win32";
		return locateBinary(
			{
				setting: vscode.workspace.getConfiguration("agentls").get<string>("path", "").trim(),
				bundled: path.join(this.context.extensionPath, "bin", windows ? "agentls.exe" : "agentls"),
				path: process.env.PATH ?? "",
				windows,
			},
			isProgram,
		);
	}

	/** finds reports whether a program is in PATH. */
	finds(name: string): boolean {
		return inPath(name, { path: process.env.PATH ?? "", windows: process.platform === "win32" }, isProgram) !== undefined;
	}

	/** start starts the server, and tells the person what to do where that fails. */
	start(): Promise<void> {
		this.running = this.running.then(() => this.launch()).catch((err) => this.stopped(`agentls does not start: ${messageOf(err)}`));
		return this.running;
	}

	/** restart ends the server and starts it again, with the settings of now. */
	restart(): Promise<void> {
		this.abandonStart();
		this.running = this.running.then(() => this.halt());
		return this.start();
	}

	/** request sends a request, once the server has started; the token cancels it. */
	async request<M extends keyof Requests>(
		method: M,
		params: Requests[M]["params"],
		token?: vscode.CancellationToken,
	): Promise<Requests[M]["result"]> {
		await this.running;
		if (!this.client?.isRunning()) {
			throw new Error(this.health.kind === "ready" ? "agentls is not running" : this.health.message);
		}
		if (token) { // an undefined one would be sent as a parameter
			return this.client.sendRequest(method, params, token);
		}
		return params === undefined ? this.client.sendRequest(method) : this.client.sendRequest(method, params);
	}

	/** notify tells the server something, if it runs; nobody waits for that. */
	notify<M extends keyof ClientNotifications>(method: M, params: ClientNotifications[M]): void {
		if (this.client?.isRunning()) {
			void this.client.sendNotification(method, params).catch((err) => this.log.debug(messageOf(err)));
		}
	}

	/** answers has requests of the server's answered. */
	answers<M extends keyof Questions>(
		method: M,
		answer: (params: Questions[M]["params"], token: vscode.CancellationToken) => Promise<Questions[M]["result"] | null>,
	): void {
		this.handlers.push((client) => client.onRequest<unknown, unknown>(method, answer));
	}

	/** onNotification calls back for each notification of the server. */
	onNotification<M extends keyof Notifications>(method: M, onParams: (params: Notifications[M]) => void): void {
		this.handlers.push((client) => client.onNotification(method, onParams));
	}

	/** setKey keeps the API key in the secret storage of VS Code; without a key it forgets it. */
	async setKey(key: string | undefined): Promise<void> {
		if (key) {
			await this.context.secrets.store(secretName, key);
		} else {
			await this.context.secrets.delete(secretName);
		}
		await this.restart();
	}

	dispose(): Promise<void> {
		this.abandonStart();
		this.running = this.running.then(() => this.halt());
		return this.running;
	}

	private setHealth(health: Health): void {
		this.health = health;
		this.healthChanged.fire(health);
	}

	private async launch(): Promise<void> {
		if (this.client) {
			return;
		}
		const program = this.program();
		if ("missing" in program) {
			this.setHealth({ kind: "missing", message: program.missing });
			void this.tellMissing(program.missing);
			return;
		}
		this.setHealth({ kind: "starting", message: "Starting" });
		await new Promise((resolve) => setImmediate(resolve)); // the client takes longer to load than all of ours: after the activation
		const { LanguageClient, State, CloseAction } = await import("vscode-languageclient/node");
		const state = { client: undefined as LanguageClient | undefined, ran: false };
		const options = this.clientOptions(this.errorHandler(state, CloseAction.Restart, CloseAction.DoNotRestart));
		const client = new LanguageClient("agentls", "Agents", await this.serverOptions(program.path), options);
		state.client = client;
		const writeError = client.error.bind(client);
		client.error = (message, data) => writeError(message, data, false); // messages to the person come from this class
		for (const handle of this.handlers) {
			handle(client);
		}
		client.onDidChangeState((change) => {
			if (client !== this.client) {
				return;
			}
			if (change.newState === State.Running) {
				state.ran = true;
				this.greet(client, program.path);
			} else if (change.newState === State.Starting && state.ran) {
				this.setHealth({ kind: "starting", message: "Starting again" });
				this.running = this.running.then(() => client.start()).catch(() => undefined); // requests wait for it
			}
			if (change.oldState === State.Running) {
				this.ended.fire();
			}
		});
		this.client = client;
		this.lastPrinted = "";
		const slow = setTimeout(() => this.offerRestart(`${program.path} has not answered for ${slowAfter / 1000} seconds.`), slowAfter);
		try {
			await client.start();
		} catch (err) {
			await Promise.race([this.allPrinted, new Promise((late) => setTimeout(late, 2000))]); // its last words may come after its end
			if (client === this.client) {
				this.stopped(`agentls does not start: ${this.lastPrinted || messageOf(err)}`);
			}
		} finally {
			clearTimeout(slow);
		}
	}

	/** stopped says that there is no server any more, and offers to start one. */
	private stopped(message: string): void {
		this.client = undefined;
		this.setHealth({ kind: "stopped", message });
		this.offerRestart(message);
	}

	/** abandonStart ends a process that has not answered yet: nothing else would end the wait for it. */
	private abandonStart(): void {
		if (this.health.kind === "starting") {
			const client = this.client;
			this.client = undefined;
			client?.serverProcess?.kill();
		}
	}

	private async serverOptions(command: string): Promise<{ command: string; args: string[]; options: { env: NodeJS.ProcessEnv } }> {
		const settings = vscode.workspace.getConfiguration("agentls");
		const key = await this.context.secrets.get(secretName);
		const approval = settings.get<string>("approval", "ask");
		return {
			command,
			args: ["serve", "--approve", approval],
			options: { env: { ...process.env, ...(key ? { [secretName]: key } : {}) } },
		};
	}

	private clientOptions(errorHandler: ErrorHandler): LanguageClientOptions {
		return {
			documentSelector: [{ scheme: "file" }],
			initializationOptions: { agents: capabilities },
			outputChannel: this.log,
			revealOutputChannelOn: 4, // never
			stdioOptions: {
				stdout: () => undefined,
				stderr: (input) => this.readPrinted(input),
			},
			initializationFailedHandler: () => false,
			errorHandler,
			middleware: this.middleware,
			markdown: { isTrusted: false, supportHtml: false },
			diagnosticPullOptions: { onChange: true, onSave: true },
		};
	}

	/** errorHandler starts a server again that ended by itself, but not for ever. */
	private errorHandler(state: { client?: LanguageClient; ran: boolean }, again: CloseAction, never: CloseAction): ErrorHandler {
		let ends: number[] = [];
		return {
			error: () => ({ action: 1, handled: true }), // go on: one frame that failed is no reason to end
			closed: () => {
				if (!state.ran || state.client !== this.client) {
					return { action: never, handled: true }; // who waits for the start tells why it failed
				}
				const now = Date.now();
				ends = [...ends.filter((at) => now - at < 180_000), now];
				if (ends.length <= maxRestarts) {
					this.log.warn("agentls ended; it is started again");
					return { action: again, handled: true };
				}
				const last = this.lastPrinted === "" ? "" : ` It printed last: ${this.lastPrinted}`;
				this.stopped(`agentls ended ${ends.length} times within three minutes and is not started again.${last}`);
				return { action: never, handled: true };
			},
		};
	}

	/** greet looks at who answered. */
	private greet(client: LanguageClient, path: string): void {
		const theirs = client.initializeResult?.capabilities.experimental as { agents?: { version?: number } } | undefined;
		if (theirs?.agents?.version !== capabilities.version) {
			const message = tooOld(path, client.initializeResult?.serverInfo?.version);
			this.client = undefined;
			this.setHealth({ kind: "missing", message });
			void this.tellMissing(message);
			void client.start().then(() => client.dispose()).catch((err) => this.log.debug(messageOf(err)));
			return;
		}
		this.setHealth({ kind: "ready", status: { health: "ok", activeRuns: 0, waiting: 0 } });
		this.started.fire();
	}

	private readPrinted(input: Readable): void {
		const lines = createInterface({ input });
		lines.on("line", (line) => {
			this.log.error(line);
			this.lastPrinted = clip(line, 300) || this.lastPrinted;
		});
		this.allPrinted = new Promise((done) => lines.once("close", done));
	}

	private async halt(): Promise<void> {
		const client = this.client;
		this.client = undefined;
		this.setHealth({ kind: "stopped", message: "agentls is stopped." });
		this.ended.fire();
		await client?.dispose().catch((err) => this.log.warn(`agentls did not stop in good order: ${messageOf(err)}`));
	}

	private async tellMissing(message: string): Promise<void> {
		const choice = await vscode.window.showErrorMessage(message, "Open Setting", "Try Again");
		if (choice === "Open Setting") {
			await vscode.commands.executeCommand("workbench.action.openSettings", "agentls.path");
		} else if (choice === "Try Again") {
			await this.restart();
		}
	}

	private offerRestart(message: string): void {
		void vscode.window.showErrorMessage(message, "Start Again", "Show Log").then((choice) => {
			if (choice === "Start Again") {
				return this.restart();
			}
			if (choice === "Show Log") {
				this.log.show();
			}
			return undefined;
		});
	}
}

function isProgram(file: string): boolean {
	try {
		fs.accessSync(file, fs.constants.X_OK);
		return fs.statSync(file).isFile();
	} catch {
		return false;
	}
}

/** What to do without a key: what the server says of it is for a shell. */
const needsKey =
	"No key for the Gemini API is set. Run the command Agents: Set API Key, then ask again. You get a key at https://aistudio.google.com/apikey.";

/** messageOf is what to tell a person of an error. */
export function messageOf(err: unknown): string {
	const { kind, command } = dataOf(err);
	if (kind === "authRequired" && command?.includes(secretName)) {
		return needsKey;
	}
	return err instanceof Error ? err.message : String(err);
}

/** kindOf is the kind of an error that the server answered with. */
export function kindOf(err: unknown): string {
	return dataOf(err).kind ?? "";
}

/** rowsOf returns a view's rows; none where the connection ended meanwhile: with the next one the view is drawn again. */
export async function rowsOf<T>(rows: Promise<T[]>): Promise<T[]> {
	try {
		return await rows;
	} catch (err) {
		if (kindOf(err) === "") {
			return [];
		}
		throw err;
	}
}

/** memberOf is the member of the parameters that an error of the server's is about. */
export function memberOf(err: unknown): string {
	return dataOf(err).path ?? "";
}

function dataOf(err: unknown): { kind?: string; path?: string; command?: string } {
	return (err instanceof Error && "data" in err ? (err.data as object | undefined) : undefined) ?? {};
}
