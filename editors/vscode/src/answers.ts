// How a question about a tool call can be answered, in words. No editor API here.
import type { ConfirmParams, ConfirmResult } from "./protocol";
import { clip } from "./words";

/** A row of the list of answers. */
export interface Choice {
	/** look, reason, or a kind of the question's options */
	answer: string;
	icon: string;
	label: string;
	/** what it is about, or covers */
	description: string;
}

const icons: Record<string, string> = {
	once: "check",
	run: "check-all",
	session: "check-all",
	always: "check-all",
	modify: "edit",
	reject: "close",
	cancel: "debug-stop",
};

/**
 * choices are the rows for a question. The first one answers nothing, so that a
 * key that was meant for the editor agrees to nothing.
 */
export function choices(q: ConfirmParams): Choice[] {
	const edit = q.preview?.kind === "diff";
	const rows: Choice[] = [
		{ answer: "look", icon: "eye", label: edit ? "Look at the change first" : "Look at all of it first", description: subject(q) },
	];
	for (const option of q.options) {
		const kind = option.kind;
		let [label, description] = [option.label, ""];
		if (kind === "run" || kind === "session" || kind === "always") {
			description = q.remembers ?? "";
		} else if (kind === "modify") {
			label = edit ? "Edit it before accepting" : "Change the arguments…";
		} else if (kind === "once" && edit) {
			label = "Accept this change";
		}
		rows.push({ answer: kind, icon: icons[kind] ?? "question", label, description });
		if (kind === "reject") {
			rows.push({ answer: "reason", icon: "comment", label: "Reject, and say why…", description: "" });
		}
	}
	return rows;
}

/** subject is what a question is about in one line. */
export function subject(q: ConfirmParams): string {
	const text = q.preview?.kind === "command" ? (q.preview.command ?? "") : pathOf(q.preview?.uri) || JSON.stringify(q.args);
	const one = clip(text, 200);
	return one === text.trim() ? one : `${one} (${text.length} characters: look at all of it)`;
}

/** pathOf is the path that a file's URI names, for people. */
export function pathOf(uri: string | undefined): string {
	try {
		return uri ? decodeURIComponent(new URL(uri).pathname) : "";
	} catch {
		return uri ?? "";
	}
}

/** heading is a question's title with its risk and what waits behind it. */
export function heading(q: ConfirmParams): string {
	const behind = q.queueLength > 0 ? ` · ${q.queueLength} more waiting` : "";
	return `${clip(q.title, 120)} · ${q.risk} risk${behind}`;
}

/** accepted is the answer to a question whose proposal the person may have changed. */
export function accepted(q: ConfirmParams, proposal: string | undefined): ConfirmResult {
	if (proposal === undefined) {
		return { outcome: "once" };
	}
	if (q.preview?.kind === "diff") {
		return proposal === q.preview.newText ? { outcome: "once" } : { outcome: "modify", modified: { newText: proposal } };
	}
	const args: unknown = JSON.parse(proposal);
	if (typeof args !== "object" || args === null || Array.isArray(args)) {
		throw new Error("the arguments have to be one JSON object");
	}
	return JSON.stringify(args) === JSON.stringify(q.args) ? { outcome: "once" } : { outcome: "modify", modified: { args } };
}
