import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { chatIsUsed } from "./chat";
import type { Panels } from "./panel";
import type { Range, ValidateResult } from "./protocol";
import { chooseAgent, type Runs } from "./runs";
import type { Server } from "./server";
import type { Tests } from "./tests";
import { fileName } from "./words";

/** Parts are what commands work with; they are there once the extension is active. */
export interface Parts {
	server: Server;
	runs: Runs;
	panels: Panels;
	tests: Tests;
}

/** talk begins to talk to an agent: in the Chat view, or in a panel of ours. */
export async function talk(parts: Parts, agent: string, text: string): Promise<void> {
	if (chatIsUsed()) {
		await vscode.commands.executeCommand("workbench.action.chat.open", {
			query: `@agents @${agent} ${text}`,
			isPartialQuery: text === "",
		});
		return;
	}
	const { session } = await parts.server.request("agents/session/new", {});
	await parts.panels.show(session, agent, text);
}

/** middleware has what the server's commands start shown here; all else goes its way. */
export function middleware(parts: () => Parts): Middleware {
	let asked = 0;
	// A question is a notification, which hides by itself; the list of them stays.
	const keepShown = () => setTimeout(() => void vscode.commands.executeCommand("notifications.showList"), 500);
	return {
		window: {
			showDocument: async (params, token, next) => {
				const shown = await next(params, token);
				if (asked > 0) {
					keepShown(); // it was shown to be asked about again
				}
				return shown;
			},
		},
		executeCommand: async (command, args, next) => {
			switch (command) {
				case "agentls.run":
					return run(parts(), args);
				case "agentls.runOnSelection":
					return runOnSelection(parts(), args);
				case "agentls.list":
					return vscode.commands.executeCommand("agents.view.focus");
				case "agentls.sessions":
					return vscode.commands.executeCommand("agents.sessions.focus");
				case "agentls.validate":
					return showChecks((await next(command, args)) as ValidateResult);
				case "agentls.runTests":
					return parts().tests.runFor(args[0], args[1]);
				case "agentls.trustWorkspace":
					asked++;
					keepShown();
					try {
						return await next(command, args);
					} finally {
						asked--;
						void vscode.commands.executeCommand("notifications.hideList");
					}
				case "agentls.runInline":
					return vscode.window.withProgress(
						{ location: vscode.ProgressLocation.Window, title: "An agent answers an inline command" },
						async () => next(command, args),
					);
			}
			return next(command, args);
		},
	};
}

async function run(parts: Parts, args: unknown[]): Promise<void> {
	const given = (typeof args[0] === "object" && args[0] !== null ? args[0] : { agent: args[0], input: args[1] }) as { agent?: string; input?: string };
	const agent = given.agent ?? (await chooseAgent(parts.server, "Which agent?"));
	if (!agent) {
		return;
	}
	let text = given.input ?? "";
	if (text === "") {
		const { frontMatter } = await parts.server.request("agents/get", { name: agent });
		text = typeof frontMatter.query === "string" ? frontMatter.query : "";
	}
	await talk(parts, agent, text);
}

async function runOnSelection(parts: Parts, args: unknown[]): Promise<void> {
	const given = (typeof args[0] === "object" && args[0] !== null ? args[0] : { uri: args[0], range: args[1], agent: args[2], input: args[3] }) as {
		uri?: string;
		range?: Range;
		agent?: string;
		input?: string;
	};
	const editor = vscode.window.activeTextEditor;
	const document = given.uri ? await vscode.workspace.openTextDocument(vscode.Uri.parse(given.uri)) : editor?.document;
	if (!document) {
		void vscode.window.showInformationMessage("Open a file and select what the agent is to look at.");
		return;
	}
	if (document.uri.scheme !== "file") {
		void vscode.window.showInformationMessage(`Agents work on files on disk: save ${fileName(document.uri.path)} first, then ask again.`);
		return;
	}
	const agent = given.agent ?? (await chooseAgent(parts.server, "Which agent?"));
	if (!agent) {
		return;
	}
	const text = given.input ?? (await vscode.window.showInputBox({ title: `What should ${agent} do with the selection?`, ignoreFocusOut: true }));
	if (!text) {
		return;
	}
	const shown = document === editor?.document ? editor : await vscode.window.showTextDocument(document);
	if (given.range) {
		const { start, end } = given.range;
		shown.selection = new vscode.Selection(start.line, start.character, end.line, end.character);
	}
	await talk(parts, agent, text); // the selection goes along with what is asked
}

/** showChecks says how the files of agents did. */
async function showChecks(result: ValidateResult | null): Promise<ValidateResult | null> {
	const all = result?.results ?? [];
	const bad = all.filter((r) => r.passed < r.total);
	if (bad.length === 0) {
		const checks = all.reduce((n, r) => n + r.total, 0);
		void vscode.window.showInformationMessage(
			all.length === 1 ? `${all[0]!.agent}: all ${checks} checks passed.` : `${all.length} agents: all ${checks} checks passed.`,
		);
		return result;
	}
	const lines = bad.map((r) => `${r.agent}: ${r.checks.find((c) => !c.ok)?.message ?? "a check failed"}`);
	void vscode.window.showWarningMessage(lines.slice(0, 3).join("\n"), "Show Problems").then((choice) => {
		return choice ? vscode.commands.executeCommand("workbench.actions.view.problems") : undefined;
	});
	return result;
}
