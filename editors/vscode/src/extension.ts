import * as vscode from "vscode";
import { AgentsView } from "./agentsView";
import { ChangesView } from "./changesView";
import { chatIsOn, Participant } from "./chat";
import { middleware, type Parts, talk } from "./commands";
import { Confirmations } from "./confirm";
import { tellFocus } from "./focus";
import { GraphViews } from "./graphView";
import { Languages } from "./languages";
import { registerModel } from "./model";
import { Panels } from "./panel";
import type { SaveDocumentsParams, SaveDocumentsResult } from "./protocol";
import { chooseAgent, Runs, watchEditors } from "./runs";
import { messageOf, Server } from "./server";
import { SessionsView } from "./sessionsView";
import { Status } from "./status";
import { Tests } from "./tests";

/** activate puts the extension together; it does not wait for the server. */
export function activate(context: vscode.ExtensionContext): void {
	const log = vscode.window.createOutputChannel("Agents", { log: true });
	let parts: Parts;
	const server = new Server(
		context,
		log,
		middleware(() => parts),
	);
	const runs = new Runs(server);
	const confirmations = new Confirmations(server, (asked) => runs.isShown(asked.run) || parts.panels.isShown(asked.session));
	const panels = new Panels(context, server, confirmations);
	const tests = new Tests(server);
	parts = { server, runs, panels, tests };
	const languages = new Languages();
	server.answers("agents/saveDocuments", saveDocuments);
	server.answers("agents/editorQuery", (p) => languages.answer(p));
	context.subscriptions.push(
		log,
		watchEditors(),
		tellFocus(server),
		confirmations,
		panels,
		languages,
		tests,
		new Status(server, confirmations),
		new AgentsView(parts),
		new SessionsView(parts),
		new ChangesView(parts),
		new GraphViews(server),
		...commands(parts, confirmations, log),
		vscode.workspace.onDidChangeConfiguration((e) => {
			if (e.affectsConfiguration("agentls.path") || e.affectsConfiguration("agentls.approval")) {
				void server.restart();
			}
		}),
	);
	if (chatIsOn()) {
		context.subscriptions.push(new Participant(server, runs), registerModel());
	}
	context.subscriptions.push(server); // last: disposed of while the others still listen
	void server.start();
}

function commands(parts: Parts, confirmations: Confirmations, log: vscode.LogOutputChannel): vscode.Disposable[] {
	const { server } = parts;
	const command = (id: string, run: () => unknown) =>
		vscode.commands.registerCommand(id, async () => {
			try {
				await run();
			} catch (err) {
				void vscode.window.showErrorMessage(messageOf(err));
			}
		});
	return [
		command("agents.ask", async () => {
			const agent = await chooseAgent(server, "Which agent?");
			return agent && talk(parts, agent, "");
		}),
		command("agents.panel", async () => {
			const agent = await chooseAgent(server, "Which agent?");
			return agent && parts.panels.show((await server.request("agents/session/new", {})).session, agent);
		}),
		command("agents.askSelection", () => vscode.commands.executeCommand("agentls.runOnSelection")),
		command("agents.trust", () => vscode.commands.executeCommand("agentls.trustWorkspace")),
		command("agents.restart", () => server.restart()),
		command("agents.showLog", () => log.show()),
		command("agents.setKey", () => setKey(server)),
		command("agents.demo", () => demo(server)),
		command("agents.menu", () => menu(server, confirmations)),
		command("agents.walkthrough", () =>
			vscode.commands.executeCommand("workbench.action.openWalkthrough", "agentls.agentls#agents.start"),
		),
	];
}

/** saveDocuments saves what a process is about to read. */
async function saveDocuments(p: SaveDocumentsParams): Promise<SaveDocumentsResult> {
	const result: SaveDocumentsResult = { saved: [], failed: [] };
	for (const uri of p.uris) {
		const key = vscode.Uri.parse(uri).toString();
		const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === key);
		const saved = document !== undefined && (!document.isDirty || (await document.save()));
		result[saved ? "saved" : "failed"].push(uri);
	}
	return result;
}

async function setKey(server: Server): Promise<void> {
	const key = await vscode.window.showInputBox({
		title: "Gemini API key",
		prompt: "From https://aistudio.google.com/apikey. It is kept in the secret storage of VS Code. Empty: forget the one that is kept.",
		password: true,
		ignoreFocusOut: true,
	});
	if (key !== undefined) {
		await server.setKey(key.trim());
		void vscode.window.showInformationMessage(key.trim() === "" ? "The API key is forgotten." : "The API key is kept.");
	}
}

/**
 * demo runs the demo of the program: a scripted model, no key. It is a task, because the
 * terminal of one stays open when it ends; and in the editor area, which has room for it.
 */
async function demo(server: Server): Promise<void> {
	const program = server.program();
	if ("missing" in program) {
		throw new Error(program.missing);
	}
	if (!server.finds("go")) {
		const words = "The demo fixes a program in Go and needs the go command, which is not in your PATH. Install Go from https://go.dev/dl, or write an agent for your own code now.";
		if (await vscode.window.showWarningMessage(words, "New Agent")) {
			await vscode.commands.executeCommand("agents.new");
		}
		return;
	}
	const run = new vscode.ProcessExecution(program.path, ["demo"]);
	const task = new vscode.Task({ type: "process" }, vscode.TaskScope.Workspace, "Agents Demo", "agentls", run, []);
	task.presentationOptions = { focus: true, reveal: vscode.TaskRevealKind.Always, panel: vscode.TaskPanelKind.Dedicated, clear: true };
	const started = new Promise<void>((done) => {
		const listening = vscode.tasks.onDidStartTaskProcess((e) => {
			if (e.execution.task.name === task.name) {
				listening.dispose();
				done();
			}
		});
	});
	await vscode.tasks.executeTask(task);
	await started; // before that another terminal may be the active one
	await vscode.commands.executeCommand("workbench.action.terminal.moveToEditor");
	await vscode.commands.executeCommand("workbench.action.closePanel");
}

/** menu is what a click on the status bar leads to: the question that waits, else a list. */
async function menu(server: Server, confirmations: Confirmations): Promise<void> {
	if (confirmations.waiting > 0) {
		await vscode.commands.executeCommand("agents.answer");
		return;
	}
	const rows: [label: string, command: string][] = [
		["$(comment-discussion) Ask an agent", "agents.ask"],
		["$(add) New agent", "agents.new"],
		["$(history) Show sessions", "agents.sessions.focus"],
		["$(diff) Show changes", "agents.changes.focus"],
		["$(debug-stop) Cancel all runs", "agentls.cancel"],
		["$(key) Set API key", "agents.setKey"],
		["$(output) Show log", "agents.showLog"],
		["$(refresh) Restart the server", "agents.restart"],
	];
	const items = rows.map(([label, command]) => ({ label, command }));
	const placeHolder = server.health.kind === "ready" ? (server.health.status.message ?? "") : server.health.message;
	const choice = await vscode.window.showQuickPick(items, { title: "Agents", placeHolder });
	if (choice) {
		await vscode.commands.executeCommand(choice.command);
	}
}
