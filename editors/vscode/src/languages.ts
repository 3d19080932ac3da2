import * as vscode from "vscode";
import type { EditorDiagnostics, EditorLocation, EditorLocations, EditorQueryParams, EditorSymbol, EditorSymbols } from "./protocol";

/** How long diagnostics of the latest text are waited for, in milliseconds. */
const settling = 2500;

/** How long they are waited for where they did not come the last time: many servers tell nothing where nothing changes. */
const settlingSilent = 1000;

/** How long they have to stand: TypeScript brings those of the syntax first, and leaves the others as they were. */
const quiet = 500;

/** Languages answers what agents ask of the language servers of VS Code. */
export class Languages implements vscode.Disposable {
	/** the version of each document that its diagnostics came for last, and when, by URI */
	private readonly seen = new Map<string, { version: number; at: number }>();
	/** documents whose diagnostics were waited for in vain, by URI */
	private readonly silent = new Set<string>();
	private readonly listener = vscode.languages.onDidChangeDiagnostics((e) => {
		for (const uri of e.uris) {
			this.silent.delete(uri.toString());
			const document = documentOf(uri);
			if (document) {
				this.seen.set(uri.toString(), { version: document.version, at: Date.now() });
			} else {
				this.seen.delete(uri.toString());
			}
		}
	});

	dispose(): void {
		this.listener.dispose();
	}

	/** answer is the result of agents/editorQuery. */
	async answer(p: EditorQueryParams): Promise<EditorDiagnostics | EditorSymbols | EditorLocations> {
		const uri = p.uri ? vscode.Uri.parse(p.uri) : undefined;
		switch (p.kind) {
			case "diagnostics":
				if (uri && p.fresh) {
					await this.settled(uri);
				}
				return diagnostics(uri);
			case "symbols":
				return uri ? symbolsOf(uri) : workspaceSymbols(p.query ?? "");
			case "definition":
				return places("vscode.executeDefinitionProvider", uri, p);
			case "references":
				return places("vscode.executeReferenceProvider", uri, p);
		}
		throw new Error(`the kind ${p.kind} is not known`);
	}

	/** settled waits until the diagnostics of an open document are of its text as it is now. */
	private async settled(uri: vscode.Uri): Promise<void> {
		const document = documentOf(uri);
		const key = uri.toString();
		const end = Date.now() + (this.silent.has(key) ? settlingSilent : settling);
		while (document && !document.isClosed) {
			const seen = this.seen.get(key);
			if (seen?.version === document.version && Date.now() - seen.at >= quiet) {
				return;
			}
			if (Date.now() >= end) {
				this.silent.add(key);
				return;
			}
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	}
}

function documentOf(uri: vscode.Uri): vscode.TextDocument | undefined {
	const key = uri.toString();
	return vscode.workspace.textDocuments.find((d) => d.uri.toString() === key);
}

function diagnostics(uri: vscode.Uri | undefined): EditorDiagnostics {
	const all: [vscode.Uri, vscode.Diagnostic[]][] = uri ? [[uri, vscode.languages.getDiagnostics(uri)]] : vscode.languages.getDiagnostics();
	return {
		items: all.map(([of, list]) => ({
			uri: of.toString(),
			diagnostics: list.map((d) => {
				const code = typeof d.code === "object" ? d.code.value : d.code;
				return {
					range: { start: d.range.start, end: d.range.end },
					severity: d.severity + 1,
					message: d.message,
					...(d.source === undefined ? {} : { source: d.source }),
					...(code === undefined ? {} : { code }),
				};
			}),
		})),
	};
}

/** symbolsOf has the symbols of a file, also those inside of others. */
async function symbolsOf(uri: vscode.Uri): Promise<EditorSymbols> {
	const list: EditorSymbols = [];
	const add = (symbols: (vscode.DocumentSymbol | vscode.SymbolInformation)[], container?: string) => {
		for (const s of symbols) {
			list.push("location" in s ? symbol(s) : { ...symbolAt(uri, s.selectionRange, s.name, s.kind), ...(container ? { containerName: container } : {}) });
			if ("children" in s) {
				add(s.children, s.name);
			}
		}
	};
	add((await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[]>("vscode.executeDocumentSymbolProvider", uri)) ?? []);
	return list;
}

async function workspaceSymbols(query: string): Promise<EditorSymbols> {
	return ((await vscode.commands.executeCommand<vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", query)) ?? []).map(symbol);
}

function symbol(s: vscode.SymbolInformation): EditorSymbol {
	return { ...symbolAt(s.location.uri, s.location.range, s.name, s.kind), ...(s.containerName ? { containerName: s.containerName } : {}) };
}

function symbolAt(uri: vscode.Uri, range: vscode.Range, name: string, kind: vscode.SymbolKind): EditorSymbol {
	return { name, kind: kind + 1, location: { uri: uri.toString(), range: { start: range.start, end: range.end } } };
}

async function places(command: string, uri: vscode.Uri | undefined, p: EditorQueryParams): Promise<EditorLocations> {
	if (!uri || !p.position) {
		throw new Error(`${p.kind} needs a document and a position`);
	}
	const at = new vscode.Position(p.position.line, p.position.character);
	const found = (await vscode.commands.executeCommand<(vscode.Location | vscode.LocationLink)[]>(command, uri, at)) ?? [];
	return found.map((l): EditorLocation => {
		const [of, range] = "targetUri" in l ? [l.targetUri, l.targetSelectionRange ?? l.targetRange] : [l.uri, l.range];
		return { uri: of.toString(), range: { start: range.start, end: range.end } };
	});
}
