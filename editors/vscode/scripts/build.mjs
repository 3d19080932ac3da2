// Bundles the extension, its language client and the script of its panel into out/.
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

const common = {
	absWorkingDir: fileURLToPath(new URL("..", import.meta.url)),
	bundle: true,
	minify: true,
	legalComments: "none",
	logLevel: "warning",
};
const node = { ...common, platform: "node", format: "cjs", target: "node20", external: ["vscode"], supported: { "dynamic-import": false } };
// The language client is most of the code, and is loaded after the extension is active.
await esbuild.build({ ...node, entryPoints: ["vscode-languageclient/node"], outfile: "out/client.js" });
await esbuild.build({
	...node,
	entryPoints: ["src/extension.ts"],
	outfile: "out/extension.js",
	plugins: [
		{
			name: "client",
			setup: ({ onResolve }) => onResolve({ filter: /^vscode-languageclient\/node$/ }, () => ({ path: "./client.js", external: true })),
		},
	],
});
await esbuild.build({
	...common,
	entryPoints: ["src/webview/main.ts"],
	outfile: "out/panel.js",
	platform: "browser",
	format: "iife",
	target: "chrome120",
});
