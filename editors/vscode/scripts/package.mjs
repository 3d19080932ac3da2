// Packs the extension for a platform, with the server in it:
//
//	npm run package -- --target linux-x64
//	npm run package -- --without-server      # finds agentls in PATH
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
	options: { target: { type: "string" }, "without-server": { type: "boolean" }, out: { type: "string" } },
});
const platforms = {
	"linux-x64": ["linux", "amd64"],
	"linux-arm64": ["linux", "arm64"],
	"darwin-x64": ["darwin", "amd64"],
	"darwin-arm64": ["darwin", "arm64"],
	"win32-x64": ["windows", "amd64"],
	"win32-arm64": ["windows", "arm64"],
};
const target = values.target;
if (!values["without-server"] && !(target in platforms)) {
	console.error(`--target has to be one of ${Object.keys(platforms).join(", ")}; or pass --without-server`);
	process.exit(2);
}

function run(program, args, env = {}) {
	const { status, error } = spawnSync(program, args, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } });
	if (status !== 0) {
		console.error(`failed: ${program} ${args.join(" ")}${error ? `: ${error.message}` : ""}`);
		process.exit(1);
	}
}

rmSync(`${root}bin`, { recursive: true, force: true });
if (!values["without-server"]) {
	const [goos, goarch] = platforms[target];
	mkdirSync(`${root}bin`);
	const program = `bin/agentls${goos === "windows" ? ".exe" : ""}`;
	const args = ["build", "-trimpath", "-ldflags=-s -w", "-o", program, "../../cmd/agentls"];
	run("go", args, { GOOS: goos, GOARCH: goarch, CGO_ENABLED: "0" });
}
copyFileSync(`${root}../../LICENSE`, `${root}LICENSE`);
run(process.execPath, ["scripts/build.mjs"]);
const vsce = ["node_modules/@vscode/vsce/vsce", "package", "--no-dependencies", "--allow-missing-repository"];
run(process.execPath, [
	...vsce,
	...(values["without-server"] ? [] : ["--target", target]),
	...(values.out ? ["--out", values.out] : []),
]);
