import * as vscode from "vscode";
import { type Parts, talk } from "./commands";
import type { AgentInfo, Problem } from "./protocol";
import { messageOf, rowsOf } from "./server";
import { fileName, plural } from "./words";

/** A row of the Agents view: a scope with its agents, or an agent. */
type Node = { scope: string; agents: AgentInfo[] } | AgentInfo;

/** The scheme of the texts that a review compares. */
const reviewed = "agents-reviewed";

const scopes: Record<string, string> = {
	project: "This Project",
	global: "All Projects",
	extension: "Extensions",
	system: "Built In",
};

const states: Record<string, [icon: string, colour: string, words: string]> = {
	ok: ["hubot", "", ""],
	invalid: ["error", "list.errorForeground", "does not run: see its problems"],
	shadowed: ["circle-slash", "disabledForeground", "hidden by an agent of the same name"],
	duplicate: ["warning", "list.warningForeground", "another file has the same name"],
	untrusted: ["lock", "list.warningForeground", "not trusted"],
	review: ["eye", "list.warningForeground", "waits for your review"],
};

const colours: Record<string, string> = {
	red: "charts.red",
	orange: "charts.orange",
	yellow: "charts.yellow",
	green: "charts.green",
	blue: "charts.blue",
	cyan: "terminal.ansiCyan",
	purple: "charts.purple",
	magenta: "terminal.ansiMagenta",
	pink: "terminal.ansiMagenta",
};

/** AgentsView is the tree of agents by scope. */
export class AgentsView implements vscode.TreeDataProvider<Node>, vscode.Disposable {
	private readonly changed = new vscode.EventEmitter<void>();
	private readonly subscriptions: vscode.Disposable[] = [];
	private readonly texts = new Map<string, string>(); // what reviews show, by URI
	private readonly reviewed = new vscode.EventEmitter<vscode.Uri>();
	readonly onDidChangeTreeData = this.changed.event;

	constructor(private readonly parts: Parts) {
		const { server } = parts;
		const view = vscode.window.createTreeView("agents.view", { treeDataProvider: this });
		const command = (id: string, run: (agent: AgentInfo) => unknown) =>
			vscode.commands.registerCommand(id, async (node?: AgentInfo) => {
				try {
					const agent = node?.name ? node : await this.pick();
					return agent ? await run(agent) : undefined;
				} catch (err) {
					return vscode.window.showErrorMessage(messageOf(err));
				}
			});
		this.subscriptions.push(
			view,
			this.reviewed,
			vscode.workspace.registerTextDocumentContentProvider(reviewed, {
				onDidChange: this.reviewed.event,
				provideTextDocumentContent: (uri) => this.texts.get(uri.toString()) ?? "",
			}),
			server.onStart(() => this.changed.fire()),
			server.onAgents(() => this.changed.fire()),
			server.onEnd(() => this.changed.fire()),
			vscode.commands.registerCommand("agents.refresh", () => this.changed.fire()),
			vscode.commands.registerCommand("agents.new", () => this.create().catch((err) => vscode.window.showErrorMessage(messageOf(err)))),
			command("agents.run", (a) => talk(parts, a.name, "")),
			command("agents.edit", (a) => (a.uri ? vscode.window.showTextDocument(vscode.Uri.parse(a.uri)) : undefined)),
			command("agents.validate", (a) => vscode.commands.executeCommand("agentls.validate", a.uri)),
			command("agents.approve", (a) => this.approve(a)),
			command("agents.delete", (a) => this.remove(a)),
		);
	}

	dispose(): void {
		vscode.Disposable.from(...this.subscriptions).dispose();
	}

	async getChildren(node?: Node): Promise<Node[]> {
		if (node) {
			return "agents" in node ? node.agents : [];
		}
		if (this.parts.server.health.kind !== "ready") {
			return [];
		}
		const agents = await rowsOf(this.parts.server.request("agents/list", {}).then((list) => list.agents));
		const groups = Object.keys(scopes).map((scope) => ({ scope, agents: agents.filter((a) => a.scope === scope) }));
		return groups.filter((g) => g.agents.length > 0);
	}

	getTreeItem(node: Node): vscode.TreeItem {
		if ("agents" in node) {
			const item = new vscode.TreeItem(scopes[node.scope] ?? node.scope, vscode.TreeItemCollapsibleState.Expanded);
			item.description = plural(node.agents.length, "agent");
			return item;
		}
		const [icon, colour, words] = states[node.state] ?? states.ok!;
		const own = colours[(node.color ?? "").toLowerCase()];
		const item = new vscode.TreeItem(node.name, vscode.TreeItemCollapsibleState.None);
		const errors = node.problems.filter((p) => p.severity === "error" || p.severity === "warning").length;
		const title = node.title === node.name ? "" : node.title;
		item.id = `${node.scope} ${node.folder ?? ""} ${node.uri ?? node.name}`;
		item.description = [words || title, errors > 0 ? plural(errors, "problem") : ""].filter((t) => t !== "").join(" · ");
		item.iconPath = new vscode.ThemeIcon(icon, colour || own ? new vscode.ThemeColor(colour || own!) : undefined);
		item.contextValue = ["agent", node.state, node.uri ? "file" : ""].join(" ");
		item.tooltip = tooltip(node, words);
		if (node.uri) {
			item.command = { command: "agents.edit", title: "Edit", arguments: [node] };
		}
		return item;
	}

	private async pick(): Promise<AgentInfo | undefined> {
		const { agents } = await this.parts.server.request("agents/list", {});
		const items = agents.map((a) => ({ label: a.name, description: a.title, detail: states[a.state]?.[2] ?? "", agent: a }));
		return (await vscode.window.showQuickPick(items, { title: "Which agent?" }))?.agent;
	}

	/** create makes an agent's file from a template and opens it. */
	private async create(): Promise<void> {
		const { server } = this.parts;
		const { templates } = await server.request("agents/templates", undefined);
		const items = templates.map((t) => ({ label: t.title, description: t.name, detail: t.description, name: t.name }));
		const template = await vscode.window.showQuickPick(items, { title: "New agent (1/3): from which template?", matchOnDetail: true });
		if (!template) {
			return;
		}
		const name = await vscode.window.showInputBox({
			title: "New agent (2/3): its name",
			value: template.name,
			validateInput: (t) => (/^[a-z0-9][a-z0-9_-]*$/.test(t) ? undefined : "Use lower-case letters, digits, dashes and underscores."),
		});
		if (!name) {
			return;
		}
		const where = await vscode.window.showQuickPick(
			[
				{ label: scopes.project!, detail: ".gemini/agents in this folder", scope: "project" },
				{ label: scopes.global!, detail: "~/.gemini/agents", scope: "global" },
			],
			{ title: "New agent (3/3): for what?" },
		);
		if (where) {
			const made = await server.request("agents/create", { name, template: template.name, scope: where.scope });
			await vscode.window.showTextDocument(vscode.Uri.parse(made.uri));
			this.changed.fire();
		}
	}

	private async approve(agent: AgentInfo): Promise<void> {
		if (agent.state !== "review" || !agent.uri) {
			await vscode.commands.executeCommand("agentls.trustWorkspace");
			return;
		}
		const { items } = await this.parts.server.request("agents/trust/get", { uri: agent.uri, items: true, texts: true });
		const item = items?.[0];
		const file = vscode.Uri.parse(agent.uri);
		if (item?.before) {
			// Both as the server has them: the file may be open with changes that are not saved.
			const [was, is] = [item.before, item.text ?? ""].map((text, i) => {
				const uri = file.with({ scheme: reviewed, query: String(i) });
				this.texts.set(uri.toString(), text);
				this.reviewed.fire(uri);
				return uri;
			});
			await vscode.commands.executeCommand("vscode.diff", was, is, `${fileName(agent.uri)} (since you approved it)`, { preview: true });
		} else {
			await vscode.window.showTextDocument(file);
		}
		const what = item?.state === "new" ? "was not there when you trusted its folder" : "changed since you approved it";
		if ((await vscode.window.showWarningMessage(`${agent.name} ${what}. Approve it as it is now?`, "Approve")) === "Approve") {
			await this.parts.server.request("agents/trust", { uri: agent.uri, trusted: true, ...(item?.digest ? { digest: item.digest } : {}) });
		}
	}

	private async remove(agent: AgentInfo): Promise<void> {
		const detail = "Its file is deleted, and what it remembers of its conversations is cleared.";
		if ((await vscode.window.showWarningMessage(`Delete the agent ${agent.name}?`, { modal: true, detail }, "Delete")) === "Delete") {
			const { notes } = await this.parts.server.request("agents/delete", { name: agent.name, scope: agent.scope });
			if (notes?.length) {
				void vscode.window.showInformationMessage(notes.join(" "));
			}
		}
	}
}

function tooltip(agent: AgentInfo, words: string): vscode.MarkdownString {
	const text = new vscode.MarkdownString();
	text.appendText(`${agent.title}\n${agent.description ?? ""}\n\n`);
	text.appendText(`Model: ${agent.resolvedModel || agent.model}\nTools: ${agent.tools.join(", ") || "all that the settings allow"}\n`);
	if (words !== "") {
		text.appendText(`\n${words}\n`);
	}
	for (const p of agent.problems.filter((one: Problem) => one.severity !== "hint").slice(0, 5)) {
		text.appendText(`\n${p.severity}: ${p.message}`);
	}
	return text;
}
