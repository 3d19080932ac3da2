import * as vscode from "vscode";

/** What newer versions of VS Code have of language models, as far as it is used here. */
interface Providers {
	registerLanguageModelChatProvider?(vendor: string, provider: object): vscode.Disposable;
}

/**
 * registerModel gives the Chat view a model where it would have none: without one
 * it does not pass a message on to any participant. Agents have models of their
 * own, so this one only says how to address them.
 */
export function registerModel(): vscode.Disposable {
	const about = {
		id: "agents",
		name: "Agents (each has its own model)",
		family: "agents",
		version: "1",
		maxInputTokens: 1_000_000,
		maxOutputTokens: 64_000,
		capabilities: { toolCalling: true },
		isUserSelectable: true,
	};
	const text = "Agents have models of their own. Address one: `@agents @reviewer look at this file`; `@agents /list` shows yours.";
	const parts = vscode as unknown as { LanguageModelTextPart: new (text: string) => object };
	const provider = {
		provideLanguageModelChatInformation: () => [about],
		provideLanguageModelChatResponse: (_model: object, _messages: object[], _options: object, progress: vscode.Progress<object>) => {
			progress.report(new parts.LanguageModelTextPart(text));
			return Promise.resolve();
		},
		provideTokenCount: () => Promise.resolve(1),
	};
	const lm = vscode.lm as unknown as Providers | undefined;
	const registered = lm?.registerLanguageModelChatProvider?.("agentls", provider);
	if (!registered) {
		return new vscode.Disposable(() => undefined);
	}
	vscode.lm.selectChatModels({ vendor: "agentls" }).then(undefined, () => undefined); // else it is not known to the first message
	return registered;
}
