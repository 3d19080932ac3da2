// Words that people read: tool calls, endings of runs, counts. No editor API here.
import type { ContentBlock, GuardrailChecked, RunFinished, ToolState } from "./protocol";

/** clip cuts a text to one line of at most so many characters. */
export function clip(text: string, width: number): string {
	const line = text.trim().replace(/\s+/g, " ");
	return line.length > width ? `${line.slice(0, width - 1).replace(/[\ud800-\udbff]$/, "")}…` : line;
}

/** listOf is what was typed with commas, as values of a type of JSON Schema. */
export function listOf(text: string, type = "string"): (string | number)[] {
	const values = text.split(",").map((one) => one.trim()).filter((one) => one !== "");
	return type === "number" || type === "integer" ? values.map(Number) : values;
}

/** fileName returns the last part of a URI, decoded. */
export function fileName(uri: string): string {
	const last = uri.replace(/\/$/, "").split("/").pop() ?? uri;
	try {
		return decodeURIComponent(last);
	} catch {
		return last;
	}
}

/** toolTitle says in a few words what a call is about. */
export function toolTitle(call: Pick<ToolState, "name" | "args" | "path">): string {
	const args = typeof call.args === "object" && call.args !== null ? (call.args as Record<string, unknown>) : {};
	let about = call.path ? fileName(call.path) : "";
	for (const key of ["command", "pattern", "query", "url", "file_path", "path", "agent", "name"]) {
		if (about === "" && typeof args[key] === "string") {
			about = args[key];
		}
	}
	return about === "" ? call.name : `${call.name} ${clip(about, 80)}`;
}

/** callEnded reports whether a call will not move any more. */
export function callEnded(state: ToolState["state"]): boolean {
	return state === "success" || state === "error" || state === "cancelled";
}

/** toolOutcome says in one line what came of a call that ended. */
export function toolOutcome(call: ToolState): string {
	if (call.state === "error" && call.error?.code.endsWith("denied")) {
		return "not run"; // why is in the answer to the question
	}
	if (call.state === "error") {
		return clip(call.error?.message ?? "failed", 120);
	}
	if (call.state === "cancelled") {
		return clip(call.error?.message ?? "cancelled", 120);
	}
	const display = call.result?.display ?? "";
	return clip(display.split("\n").find((line) => line.trim() !== "" && !line.startsWith("```")) ?? "", 120);
}

const endings: Record<string, string> = {
	TIMEOUT: "The run reached its time limit. Resume it to go on with as much time again.",
	MAX_TURNS: "The run reached its limit of turns. Resume it to go on with as many again.",
	ABORTED: "Cancelled.",
	ERROR_NO_COMPLETE_TASK_CALL: "The agent stopped without handing in its result.",
	LOOP: "Stopped: the agent repeated itself.",
	BUDGET: "The run reached its budget.",
	GUARDRAIL: "A guardrail stopped the run.",
	ERROR: "The run failed.",
};

/** guardLine is the outcome of a guardrail: "✗ valid-json-output: /confidence required · repairing · ✓". */
export function guardLine(guard: Pick<GuardrailChecked, "name" | "policy" | "outcome" | "errors">): string {
	const found = (guard.errors ?? []).map((e) => `${e.pointer} ${e.message}`.trim()).join("; ");
	switch (guard.outcome) {
		case "passed":
			return `✓ ${guard.name}`;
		case "warned":
			return `! ${guard.name}: ${found}`;
		case "repaired":
			return `✗ ${guard.name}: ${found} · repairing · ✓`;
	}
	return `✗ ${guard.name}: ${found}${guard.policy === "repair" ? " · repairing · ✗" : ""}`;
}

/** ending says how a run ended; "" for one that reached its goal. */
export function ending(result: Pick<RunFinished, "reason" | "error">): string {
	const said = endings[result.reason] ?? "";
	return said !== "" && result.error ? `${said.replace(/\.$/, "")}: ${result.error.message}` : said;
}

/** wentBack says what a rewind took out of a conversation that still shows it; text is the first message of it. */
export function wentBack(text: string): string {
	return `The session went back to before “${clip(text, 80)}”. What stands above from there on is no longer part of the conversation.`;
}

/** mayResume reports whether a run that ended so can go on. */
export function mayResume(reason: RunFinished["reason"]): boolean {
	return reason === "TIMEOUT" || reason === "MAX_TURNS";
}

/** plural returns "1 file", "2 files". */
export function plural(n: number, noun: string): string {
	return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** count shortens a number of tokens: 7600 is 7.6k. */
export function count(n: number): string {
	return n < 1000 ? String(n) : `${(n / 1000).toFixed(n < 10_000 ? 1 : 0)}k`;
}

/** spent is what a run used, in one line. */
export function spent(result: Pick<RunFinished, "turns" | "usage" | "cost">): string {
	const { inputTokens, outputTokens, thoughtTokens } = result.usage;
	const parts = [plural(result.turns, "turn"), `${count(inputTokens + outputTokens + thoughtTokens)} tokens`];
	if (result.cost) {
		parts.push(`${result.cost.estimated ? "about " : ""}${result.cost.amount.toFixed(4)} ${result.cost.currency}`);
	}
	return parts.join(" · ");
}

/** inputText is the text of what a person said. */
export function inputText(blocks: ContentBlock[]): string {
	return blocks
		.map((b) => (b.type === "text" ? (b.text ?? "") : `[${b.name ?? fileName(b.uri ?? b.resource?.uri ?? b.type)}]`))
		.join("\n");
}

/** ago says how long ago a time was. */
export function ago(time: string | undefined, now: number): string {
	const seconds = time ? Math.max(0, Math.round((now - Date.parse(time)) / 1000)) : Number.NaN;
	if (Number.isNaN(seconds)) {
		return "";
	}
	const units: [number, string][] = [
		[86_400, "d"],
		[3600, "h"],
		[60, "min"],
	];
	for (const [size, unit] of units) {
		if (seconds >= size) {
			return `${Math.floor(seconds / size)} ${unit} ago`;
		}
	}
	return "just now";
}

/** namedAgent is whom a prompt names: an agent, or auto where agentls is to pick one. */
export function namedAgent(parsed: { agent?: string; auto?: boolean }): string | undefined {
	return parsed.auto ? "auto" : parsed.agent;
}

/** asCode shows a text as it is within a line of Markdown. */
export function asCode(text: string): string {
	const fence = "`".repeat(Math.max(0, ...[...text.matchAll(/`+/g)].map((m) => m[0].length)) + 1);
	return fence === "`" ? `\`${text}\`` : `${fence} ${text} ${fence}`;
}

/** escapeMarkdown shows a text as it is, without code's font. */
export function escapeMarkdown(text: string): string {
	return text.replace(/[\\`*_{}[\]()#+\-.!|~<>$&]/g, "\\$&");
}

/** escapeHTML shows a text as it is within HTML. */
export function escapeHTML(text: string): string {
	return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}
