import assert from "node:assert/strict";
import { test } from "node:test";
import { locateBinary, tooOld, type Places } from "../src/binary";

const places: Places = { setting: "", bundled: "/ext/bin/agentls", path: "/usr/bin:/home/ann/go/bin/", windows: false };
const having =
	(...files: string[]) =>
	(file: string) =>
		files.includes(file);

test("the setting is taken before the bundled program, and that before PATH", () => {
	const all = having("/my/agentls", "/ext/bin/agentls", "/home/ann/go/bin/agentls");
	assert.deepEqual(locateBinary({ ...places, setting: "/my/agentls" }, all), { path: "/my/agentls" });
	assert.deepEqual(locateBinary(places, all), { path: "/ext/bin/agentls" });
	assert.deepEqual(locateBinary(places, having("/home/ann/go/bin/agentls")), { path: "/home/ann/go/bin/agentls" });
});

test("a setting that names no program is an error, also where there is another", () => {
	const found = locateBinary({ ...places, setting: "/typo" }, having("/ext/bin/agentls"));
	assert.match("missing" in found ? found.missing : "", /agentls\.path names "\/typo"/);
});

test("where there is none, the person is told what to do", () => {
	const found = locateBinary(places, having());
	assert.match("missing" in found ? found.missing : "", /Install it.*agentls\.path/);
});

test("Windows has other separators and an ending", () => {
	const windows = { ...places, path: "C:\\a;C:\\b\\", windows: true };
	assert.deepEqual(locateBinary(windows, having("C:\\b\\agentls.exe")), { path: "C:\\b\\agentls.exe" });
});

test("a program that is too old is named with what to do", () => {
	assert.match(tooOld("/x/agentls", "0.0.3"), /^The program \/x\/agentls \(version 0\.0\.3\) is too old .* Update agentls, or clear the setting/);
	assert.match(tooOld("/bin/cat", undefined), /^The program \/bin\/cat is too old/);
});
