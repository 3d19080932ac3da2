// Checks the types, lints, and runs the unit tests: all that needs no editor.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = (program, ...args) => {
	const { status } = spawnSync(program, args, { cwd: root, stdio: "inherit" });
	if (status !== 0) {
		process.exit(1);
	}
};

run("node_modules/.bin/tsc", "--noEmit");
run("node_modules/.bin/biome", "lint", "--error-on-warnings");
await esbuild.build({
	absWorkingDir: root,
	entryPoints: readdirSync(`${root}/test`).map((name) => `test/${name}`),
	outdir: "out/test",
	outExtension: { ".js": ".cjs" },
	bundle: true,
	platform: "node",
	format: "cjs",
	logLevel: "warning",
});
run(process.execPath, "--test", ...readdirSync(`${root}/out/test`).map((name) => `out/test/${name}`));
