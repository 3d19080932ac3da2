import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActivityParams } from "../src/protocol";
import { type Entry, isMessage, Timeline } from "../src/timeline";

let seq = 0;
const event = (type: string, data: unknown, more: Partial<ActivityParams> = {}): ActivityParams => ({
	seq: ++seq,
	time: "",
	session: "main",
	run: "r1",
	agent: "fixer",
	type,
	data,
	...more,
});
const call = (state: string, more: object = {}) => event("tool.state", { call: "c1", name: "bash", args: { command: "ls" }, risk: "low", state, ...more });
const kinds = (entries: Entry[]) => entries.map((e) => e.kind);

test("deltas grow one text until something else comes", () => {
	const t = new Timeline();
	assert.deepEqual(kinds(t.apply(event("content.delta", { text: "a" }))), ["agent", "text"]);
	const [grown] = t.apply(event("content.delta", { text: "b" }));
	assert.equal(grown?.kind === "text" && grown.text, "ab");
	t.apply(event("note", { level: "info", message: "n" }));
	const [next] = t.apply(event("content.delta", { text: "c" }));
	assert.equal(next?.kind === "text" && next.text, "c");
});

test("thoughts of another subject are another entry", () => {
	const t = new Timeline();
	t.apply(event("thought.delta", { subject: "One", text: "a" }));
	t.apply(event("thought.delta", { subject: "One", text: "b" }));
	t.apply(event("thought.delta", { subject: "Two", text: "c" }));
	assert.deepEqual(
		t.entries.filter((e) => e.kind === "thought").map((e) => e.kind === "thought" && e.text),
		["ab", "c"],
	);
});

test("a call is one entry that moves", () => {
	const t = new Timeline();
	assert.deepEqual(t.apply(call("validating")), []);
	t.apply(call("executing"));
	const [done] = t.apply(call("success", { result: { content: "", bytes: 0, display: "2 files" } }));
	assert.equal(done?.kind === "tool" && `${done.title}: ${done.outcome}`, "bash ls: 2 files");
	assert.equal(t.entries.filter((e) => e.kind === "tool").length, 1);
});

test("a question and its answer are one entry", () => {
	const t = new Timeline();
	t.apply(call("awaiting_approval"));
	const [asked] = t.apply(event("confirmation.asked", { id: "q", call: "c1", tool: "bash", risk: "low", why: "", digest: "" }));
	assert.equal(asked?.kind === "line" && asked.text, "Waiting for you: bash ls");
	const [answered] = t.apply(event("confirmation.answered", { id: "q", outcome: "reject", by: "user", feedback: "not now" }));
	assert.equal(answered?.kind === "line" && answered.text, "Rejected: not now");
});

test("who an input was routed to is a line", () => {
	const t = new Timeline();
	const text = "→ debugger · rule · 90 % · error";
	const [line] = t.apply(event("route.decided", { strategy: "hybrid", agent: "debugger", text })).filter((e) => e.kind === "line");
	assert.equal(line?.kind === "line" && line.text, text);
});

test("a handoff is a line, and then another agent speaks", () => {
	const t = new Timeline();
	t.apply(event("content.delta", { text: "a" }));
	const [line] = t.apply(event("handoff.started", { from: "fixer", to: "tester", reason: "needs tests", chain: [], depth: 1 }));
	assert.equal(line?.kind === "line" && line.text, "fixer → tester: needs tests");
	const changed = t.apply(event("content.delta", { text: "b" }, { run: "r2", agent: "tester", parentRun: "r1" }));
	assert.deepEqual(kinds(changed), ["agent", "text"]);
});

test("what a delegated run is told is no word of the person's, and an event of a newer server is left out", () => {
	const t = new Timeline();
	assert.deepEqual(t.apply(event("run.started", { input: [{ type: "text", text: "x" }] }, { parentRun: "r0" })), []);
	assert.deepEqual(t.apply(event("brand.new", {})), []);
});

test("an error that a run ends with is shown once", () => {
	const failed = { reason: "ERROR", error: { message: "no such luck" }, turns: 1, toolCalls: 0, usage: {}, chain: [], changes: [] };
	const end = (...before: ActivityParams[]) => {
		const t = new Timeline();
		for (const e of before) {
			t.apply(e);
		}
		const [last] = t.apply(event("run.finished", failed));
		return last?.kind === "end" && last.text;
	};
	assert.equal(end(event("error", { message: "no such luck" })), "The run failed.");
	assert.equal(end(event("error", { message: "another" })), "The run failed: no such luck");
	assert.equal(end(), "The run failed: no such luck");
});

test("a rewind names the first message that it took back, and a fork says where it goes on", () => {
	const t = new Timeline();
	const said = (text: string) => event("run.started", { input: [{ type: "text", text }] });
	t.apply(said("first"));
	const second = said("second");
	t.apply(second);
	t.apply(said("third"));
	const task = event("run.started", { input: [{ type: "text", text: "look" }] }, { run: "r2", parentRun: "r1" });
	assert.deepEqual([isMessage(second), isMessage(task)], [true, false]); // what an agent asked of another is no message of the person's
	const [line] = t.apply(event("rewound", { toSeq: second.seq - 1, files: [] }));
	assert.match(line?.kind === "line" ? line.text : "", /went back to before “second”/);
	assert.equal(t.apply(event("rewound", { toSeq: 1000, files: [] })).length, 0);
	assert.equal(t.apply(event("forked", { session: "other", atSeq: 3 })).length, 0);
	const [fork] = t.apply(event("forked", { session: "other", atSeq: 3, from: true }));
	assert.match(fork?.kind === "line" ? fork.text : "", /goes on from this point/);
});
