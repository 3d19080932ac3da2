// Bundles the extension and the script of its panel into out/.
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

const common = {
	absWorkingDir: fileURLToPath(new URL("..", import.meta.url)),
	bundle: true,
	minify: true,
	legalComments: "none",
	logLevel: "warning",
};
await esbuild.build({
	...common,
	entryPoints: ["src/extension.ts"],
	outfile: "out/extension.js",
	platform: "node",
	format: "cjs",
	target: "node20",
	external: ["vscode"],
});
await esbuild.build({
	...common,
	entryPoints: ["src/webview/main.ts"],
	outfile: "out/panel.js",
	platform: "browser",
	format: "iife",
	target: "chrome120",
});
