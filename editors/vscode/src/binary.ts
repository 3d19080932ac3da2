/** Where a server program may be, in the order in which it is looked for. */
export interface Places {
	/** the setting agentls.path */
	setting: string;
	/** the file that a platform's package brings */
	bundled: string;
	/** the environment variable PATH */
	path: string;
	windows: boolean;
}

/** What was found, or what to tell the person. */
export type Binary = { path: string } | { missing: string };

/** locateBinary finds the server program: the setting, else the bundled one, else the one in PATH. */
export function locateBinary(places: Places, isProgram: (file: string) => boolean): Binary {
	if (places.setting !== "") {
		return isProgram(places.setting)
			? { path: places.setting }
			: { missing: `The setting agentls.path names "${places.setting}", which is not a program. Correct or clear the setting.` };
	}
	if (isProgram(places.bundled)) {
		return { path: places.bundled };
	}
	const path = inPath("agentls", places, isProgram);
	if (path) {
		return { path };
	}
	return {
		missing:
			"The program agentls was not found. Install it (`go install ./cmd/agentls` in its source) so that it is in your PATH, " +
			"or name its file in the setting agentls.path.",
	};
}

/** inPath finds a program in PATH. */
export function inPath(name: string, places: Pick<Places, "path" | "windows">, isProgram: (file: string) => boolean): string | undefined {
	const [separator, slash, end] = places.windows ? [";", "\\", ".exe"] : [":", "/", ""];
	return places.path
		.split(separator)
		.filter((folder) => folder !== "")
		.map((folder) => `${folder.replace(/[\\/]$/, "")}${slash}${name}${end}`)
		.find(isProgram);
}

/** tooOld says what to do about a program that does not know this extension's protocol. */
export function tooOld(path: string, version: string | undefined): string {
	return (
		`The program ${path}${version ? ` (version ${version})` : ""} is too old for this extension, or is not agentls. ` +
		"Update agentls, or clear the setting agentls.path to use the one that comes with the extension."
	);
}
