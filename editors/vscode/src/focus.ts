import * as vscode from "vscode";
import type { Server } from "./server";

/** How long the person has to rest before the server is told where, in milliseconds. */
const rest = 50;

/** tellFocus tells the server which document the person looks at, and what is selected there. */
export function tellFocus(server: Server): vscode.Disposable {
	let timer: NodeJS.Timeout | undefined;
	const tell = () => {
		const editor = vscode.window.activeTextEditor;
		if (editor?.document.uri.scheme === "file") {
			server.notify("agents/focus", {
				textDocument: { uri: editor.document.uri.toString() },
				selection: { start: editor.selection.start, end: editor.selection.end },
			});
		}
	};
	const later = () => {
		clearTimeout(timer);
		timer = setTimeout(tell, rest);
	};
	return vscode.Disposable.from(
		vscode.window.onDidChangeActiveTextEditor(later),
		vscode.window.onDidChangeTextEditorSelection(later),
		server.onStart(later),
		{ dispose: () => clearTimeout(timer) },
	);
}
