import * as vscode from "vscode";
import type { Confirmations } from "./confirm";
import type { Server } from "./server";

/** Status is the item in the status bar: idle, running n, waiting for you, or what is wrong. */
export class Status implements vscode.Disposable {
	private readonly item = vscode.window.createStatusBarItem("agents.status", vscode.StatusBarAlignment.Left, 10);

	constructor(
		private readonly server: Server,
		private readonly confirmations: Confirmations,
	) {
		this.item.name = "Agents";
		this.item.command = "agents.menu";
		server.onHealth(() => this.show());
		confirmations.onCount(() => this.show());
		this.show();
		this.item.show();
	}

	dispose(): void {
		this.item.dispose();
	}

	private show(): void {
		const { health } = this.server;
		let [text, tooltip, colour] = ["$(hubot) Agents", "Agents: idle", ""];
		if (health.kind === "starting") {
			[text, tooltip] = ["$(loading~spin) Agents", "agentls is starting"];
		} else if (health.kind !== "ready") {
			[text, tooltip, colour] = ["$(error) Agents", health.message, "statusBarItem.errorBackground"];
		} else if (this.confirmations.waiting > 0) {
			const n = this.confirmations.waiting;
			text = `$(bell-dot) Agents: waiting for you${n > 1 ? ` (${n})` : ""}`;
			[tooltip, colour] = ["An agent asks for your permission. Click to see all answers.", "statusBarItem.warningBackground"];
		} else if (health.status.activeRuns > 0) {
			text = `$(loading~spin) Agents: ${health.status.activeRuns} running`;
			tooltip = "Click to cancel, or to see the sessions";
		}
		if (health.kind === "ready" && health.status.health !== "ok") {
			const { message, command } = health.status;
			tooltip = `${message ?? ""}${command ? `\nRun: ${command}` : ""}`;
			if (colour === "") {
				text = text.replace("$(hubot)", health.status.health === "error" ? "$(error)" : "$(warning)");
				colour = health.status.health === "error" ? "statusBarItem.errorBackground" : "";
			}
		}
		this.item.text = text;
		this.item.tooltip = tooltip;
		this.item.backgroundColor = colour === "" ? undefined : new vscode.ThemeColor(colour);
		this.item.accessibilityInformation = { label: text.replace(/\$\([^)]*\) ?/g, "") };
	}
}
