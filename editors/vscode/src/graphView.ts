import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { graphPage } from "./graph";
import { chooseAgent } from "./runs";
import { messageOf, type Server } from "./server";

/** How long changes are gathered before the picture is drawn again. */
const gatherMs = 100;

/** GraphViews show the graphs of agents, each in a tab, with what their newest run does. */
export class GraphViews implements vscode.Disposable {
	private readonly open = new Map<string, { view: vscode.WebviewPanel; timer?: NodeJS.Timeout }>();
	private readonly newest = new Map<string, string>(); // runs, by agent
	private readonly subscriptions: vscode.Disposable[] = [];

	constructor(private readonly server: Server) {
		this.subscriptions.push(
			vscode.commands.registerCommand("agents.graph", async (agent?: { name: string }) => {
				try {
					const name = agent?.name ?? (await chooseAgent(server, "The graph of which agent?"));
					return name ? await this.show(name) : undefined;
				} catch (err) {
					return vscode.window.showErrorMessage(messageOf(err));
				}
			}),
			server.onActivity((e) => {
				if (e.type === "graph.node" && e.agent && e.run) {
					this.newest.set(e.agent, e.run);
					this.soon(e.agent);
				}
			}),
			server.onAgents(() => {
				for (const name of this.open.keys()) {
					this.soon(name);
				}
			}),
		);
	}

	dispose(): void {
		vscode.Disposable.from(...this.subscriptions, ...[...this.open.values()].map((o) => o.view)).dispose();
	}

	private async show(name: string): Promise<void> {
		const before = this.open.get(name);
		if (before) {
			before.view.reveal();
			return;
		}
		const view = vscode.window.createWebviewPanel("agents.graph", `Graph: ${name}`, vscode.ViewColumn.Beside, {
			enableScripts: false,
			enableCommandUris: false,
			localResourceRoots: [],
		});
		this.open.set(name, { view });
		view.onDidDispose(() => {
			clearTimeout(this.open.get(name)?.timer);
			this.open.delete(name);
		});
		await this.draw(name);
	}

	private soon(name: string): void {
		const shown = this.open.get(name);
		if (!shown) {
			return;
		}
		shown.timer ??= setTimeout(() => {
			shown.timer = undefined;
			this.draw(name).catch((err) => vscode.window.showErrorMessage(messageOf(err)));
		}, gatherMs);
	}

	private async draw(name: string): Promise<void> {
		const result = await this.server.request("agents/graph/get", { name, run: this.newest.get(name) });
		const shown = this.open.get(name);
		if (shown) {
			shown.view.webview.html = graphPage(result, { nonce: randomBytes(16).toString("base64url") });
		}
	}
}
