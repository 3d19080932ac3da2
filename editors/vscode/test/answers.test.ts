import assert from "node:assert/strict";
import { test } from "node:test";
import { accepted, choices, heading, subject } from "../src/answers";
import type { ConfirmParams } from "../src/protocol";

const option = (kind: string, label: string) => ({ id: kind, kind, label });
const question: ConfirmParams = {
	id: "1",
	nonce: "2",
	session: "main",
	run: "r",
	call: "c",
	agent: "fixer",
	agentPath: ["fixer"],
	tool: "bash",
	risk: "medium",
	why: "",
	title: "fixer wants to run bash npm test",
	message: "",
	args: { command: "npm test" },
	preview: { kind: "command", command: "npm test" },
	options: [option("once", "Allow once"), option("session", "Allow for this session"), option("modify", "Change it"), option("reject", "Reject")],
	remembers: "npm test in /w, for fixer",
	queueLength: 2,
};
const edit: ConfirmParams = { ...question, preview: { kind: "diff", uri: "file:///w/a.ts", oldText: "a", newText: "b" } };

test("the first row agrees to nothing, and an answer for longer says what it covers", () => {
	const rows = choices(question);
	assert.deepEqual(
		rows.map((r) => r.answer),
		["look", "once", "session", "modify", "reject", "reason"],
	);
	assert.equal(rows[2]?.description, "npm test in /w, for fixer");
	assert.equal(heading(question), "fixer wants to run bash npm test · medium risk · 2 more waiting");
});

test("what does not fit is said to be longer", () => {
	const long = { ...question, preview: { kind: "command", command: `echo ${"a".repeat(300)}` } };
	assert.match(subject(long), /…\s\(305 characters: look at all of it\)$/);
	assert.equal(subject(question), "npm test");
});

test("a proposal that the person changed is a modification", () => {
	assert.deepEqual(accepted(edit, "b"), { outcome: "once" });
	assert.deepEqual(accepted(edit, "b2"), { outcome: "modify", modified: { newText: "b2" } });
	assert.deepEqual(accepted(question, undefined), { outcome: "once" });
	assert.deepEqual(accepted(question, '{"command": "npm test"}'), { outcome: "once" });
	assert.deepEqual(accepted(question, '{"command": "ls"}'), { outcome: "modify", modified: { args: { command: "ls" } } });
	assert.throws(() => accepted(question, "[]"), /one JSON object/);
	assert.throws(() => accepted(question, "{"));
});
