import * as vscode from "vscode";
import type { AskParams, AskResult } from "./protocol";
import { listOf } from "./words";

/** ask puts an agent's question to the person: a list, a line of text, or a line for each field. */
export async function ask(
	p: Pick<AskParams, "title" | "message" | "choices" | "schema" | "secret">,
	token: vscode.CancellationToken,
): Promise<AskResult> {
	const said = p.message === p.title ? "" : p.message;
	const common = { title: p.title || p.message, ignoreFocusOut: true };
	if (p.choices?.length) {
		const choice = await vscode.window.showQuickPick(p.choices, { ...common, placeHolder: said }, token);
		return choice === undefined ? { action: "decline" } : { action: "accept", content: choice };
	}
	const fields = Object.entries((p.schema as { properties?: Record<string, Field> } | undefined)?.properties ?? {});
	if (fields.length === 0) {
		const text = await vscode.window.showInputBox({ ...common, prompt: said, password: p.secret ?? false }, token);
		return text === undefined ? { action: "decline" } : { action: "accept", content: text };
	}
	const content: Record<string, unknown> = {};
	for (const [name, field] of fields) {
		const value = await askField(name, field, p.secret ?? false, { ...common, placeHolder: said }, token);
		if (value === undefined) {
			return { action: "decline" };
		}
		content[name] = value;
	}
	return { action: "accept", content };
}

/** A member of a flat JSON Schema. */
interface Field {
	type?: string;
	enum?: (string | number)[];
	items?: { type?: string };
	title?: string;
	description?: string;
}

async function askField(
	name: string,
	field: Field,
	password: boolean,
	options: { title: string; placeHolder: string },
	token: vscode.CancellationToken,
): Promise<unknown> {
	const several = field.type === "array" ? " (several with commas)" : "";
	const prompt = `${field.description ?? field.title ?? name}${several}`;
	if (field.enum || field.type === "boolean") {
		const values = field.enum ?? [true, false];
		const labels = field.enum?.map(String) ?? ["yes", "no"];
		const choice = await vscode.window.showQuickPick(labels, { ...options, placeHolder: prompt }, token);
		return choice === undefined ? undefined : values[labels.indexOf(choice)];
	}
	const numeric = field.type === "number" || field.type === "integer";
	const text = await vscode.window.showInputBox(
		{
			...options,
			prompt,
			password,
			ignoreFocusOut: true,
			validateInput: (t) => (numeric && (t.trim() === "" || Number.isNaN(Number(t))) ? `Enter a number: ${prompt}` : undefined),
		},
		token,
	);
	if (field.type === "array" && text !== undefined) {
		return listOf(text, field.items?.type);
	}
	return numeric && text !== undefined ? Number(text) : text;
}
