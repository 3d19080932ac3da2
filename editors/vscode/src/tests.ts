import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Range, TestFile, TestResult } from "./protocol";
import { messageOf, type Server } from "./server";

/** Tests shows the tests of agents in the Testing view, and runs them. */
export class Tests implements vscode.Disposable {
	private readonly controller = vscode.tests.createTestController("agentls.tests", "Agent Tests");
	private readonly profile: vscode.TestRunProfile;
	private readonly running = new Map<string, vscode.TestRun>();
	private readonly subscriptions: vscode.Disposable[] = [];

	constructor(private readonly server: Server) {
		this.controller.resolveHandler = (item) => (item ? undefined : this.refresh());
		this.controller.refreshHandler = () => this.refresh();
		this.profile = this.controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, (request, token) => this.run(request, token), true);
		server.onNotification("agents/test/result", (p) => {
			const run = this.running.get(p.run ?? "");
			if (run) {
				this.show(run, p.result);
			}
		});
		const files = vscode.workspace.createFileSystemWatcher("**/*.agent-test.yaml");
		const changed = () => void this.refresh();
		this.subscriptions.push(
			this.controller,
			files,
			files.onDidCreate(changed),
			files.onDidChange(changed),
			files.onDidDelete(changed),
			server.onStart(changed),
			server.onEnd(() => this.controller.items.replace([])),
		);
	}

	dispose(): void {
		vscode.Disposable.from(...this.subscriptions).dispose();
	}

	/** runFor runs what a lens is about: a test of a file, a whole file, or the tests of an agent; without a URI all. */
	async runFor(uri?: string, name?: string): Promise<void> {
		await this.refresh();
		let items = all(this.controller.items);
		if (uri) {
			const { files } = await this.server.request("agents/test/list", { uri });
			const wanted = files.flatMap((f) => f.tests.filter((t) => !name || t.name === name).map((t) => idOf(f.uri, t.name)));
			items = items.flatMap((file) => all(file.children)).filter((test) => wanted.includes(test.id));
		}
		const cancel = new vscode.CancellationTokenSource();
		await this.run(new vscode.TestRunRequest(items, [], this.profile), cancel.token);
	}

	/** refresh asks for the tests that there are. */
	private async refresh(): Promise<void> {
		if (this.server.health.kind !== "ready") {
			return;
		}
		try {
			const { files } = await this.server.request("agents/test/list", {});
			this.controller.items.replace(files.map((file) => this.item(file)));
		} catch (err) {
			void vscode.window.showErrorMessage(messageOf(err));
		}
	}

	private item(file: TestFile): vscode.TestItem {
		const uri = vscode.Uri.parse(file.uri);
		const item = this.controller.createTestItem(file.uri, vscode.workspace.asRelativePath(uri), uri);
		item.error = file.problem;
		item.children.replace(
			file.tests.map((test) => {
				const child = this.controller.createTestItem(idOf(file.uri, test.name), test.name, uri);
				child.description = test.agent;
				child.range = rangeOf(test.range);
				return child;
			}),
		);
		return item;
	}

	/** run runs what was chosen: whole files where nothing of them is left out, else test by test. */
	private async run(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
		const run = this.controller.createTestRun(request);
		const id = randomUUID();
		this.running.set(id, run);
		const left = new Set(request.exclude ?? []);
		const chosen = (request.include ?? all(this.controller.items)).filter((item) => !left.has(item));
		const parts = chosen.flatMap((item) => (all(item.children).some((test) => left.has(test)) ? all(item.children).filter((test) => !left.has(test)) : [item]));
		for (const item of parts.flatMap(leaves)) {
			run.enqueued(item);
		}
		for (const item of parts) {
			if (token.isCancellationRequested) {
				break;
			}
			for (const test of leaves(item)) {
				run.started(test);
			}
			const uri = item.parent?.id ?? item.id;
			try {
				await this.server.request("agents/test/run", { uri, run: id, ...(item.parent ? { name: item.label } : {}) }, token);
			} catch (err) {
				for (const test of token.isCancellationRequested ? [] : leaves(item)) {
					run.errored(test, new vscode.TestMessage(messageOf(err)));
				}
			}
		}
		this.running.delete(id);
		run.end();
	}

	private show(run: vscode.TestRun, result: TestResult): void {
		const item = this.controller.items.get(result.uri)?.children.get(idOf(result.uri, result.name));
		if (!item) {
			return; // it is gone from the list
		}
		const lines = [`${result.passed ? "passed" : "FAILED"}  ${result.name}`, ...result.failures.map((f) => `        ${f.message}`)];
		run.appendOutput(lines.map((line) => `${line.replaceAll("\n", "\r\n")}\r\n`).join(""), undefined, item);
		if (result.passed) {
			run.passed(item, result.durationMs);
			return;
		}
		const messages = result.failures.map((failure) => {
			const message = new vscode.TestMessage(failure.message);
			message.location = new vscode.Location(vscode.Uri.parse(result.uri), rangeOf(failure.range));
			return message;
		});
		run.failed(item, messages, result.durationMs);
	}
}

function idOf(uri: string, name: string): string {
	return `${uri}\n${name}`;
}

function all(items: vscode.TestItemCollection): vscode.TestItem[] {
	return [...items].map(([, item]) => item);
}

/** leaves returns the tests of a file, or a test itself. */
function leaves(item: vscode.TestItem): vscode.TestItem[] {
	return item.parent ? [item] : all(item.children);
}

function rangeOf(r: Range): vscode.Range {
	return new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
}
