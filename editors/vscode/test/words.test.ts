import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, asCode, clip, count, ending, escapeMarkdown, listOf, namedAgent, spent, toolOutcome, toolTitle } from "../src/words";

test("a call is named by its file, else by what it is about", () => {
	assert.equal(toolTitle({ name: "read_file", args: { file_path: "x/a.ts" }, path: "file:///w/x/a%20b.ts" }), "read_file a b.ts");
	assert.equal(toolTitle({ name: "bash", args: { command: "npm  test\nls" } }), "bash npm test ls");
	assert.equal(toolTitle({ name: "todo", args: { items: [1] } }), "todo");
	assert.equal(toolTitle({ name: "odd", args: null }), "odd");
});

test("an outcome is one line", () => {
	const call = { call: "1", name: "bash", args: {}, risk: "low", state: "success" as const };
	assert.equal(toolOutcome({ ...call, result: { content: "", bytes: 0, display: "\nok  x\nmore" } }), "ok x");
	assert.equal(toolOutcome({ ...call, result: { content: "", bytes: 0, display: "```\nok\n```" } }), "ok");
	assert.equal(toolOutcome({ ...call, result: { content: "", bytes: 0, display: "```\n```" } }), "");
	assert.equal(toolOutcome({ ...call, state: "error", error: { code: "failed", message: "no\nreally" } }), "no really");
	assert.equal(toolOutcome({ ...call, state: "error", error: { code: "denied", message: "no" } }), "not run");
});

test("an ending says what to do, a goal needs no words", () => {
	assert.equal(ending({ reason: "GOAL" }), "");
	assert.match(ending({ reason: "MAX_TURNS" }), /Resume it/);
	assert.equal(ending({ reason: "ERROR", error: { kind: "provider", message: "no key" } }), "The run failed: no key");
});

test("texts of others cannot be read as Markdown", () => {
	assert.equal(asCode("a`b``c"), "``` a`b``c ```");
	assert.equal(escapeMarkdown("[x](command:y) <b> $(bug)"), "\\[x\\]\\(command:y\\) \\<b\\> \\$\\(bug\\)");
});

test("numbers and times are short", () => {
	const usage = { inputTokens: 100, outputTokens: 10, thoughtTokens: 5, cachedTokens: 0, totalTokens: 115 };
	assert.equal(spent({ turns: 2, usage, cost: { amount: 0.0002, currency: "USD", estimated: true, enforced: false } }), "2 turns · 115 tokens · about 0.0002 USD");
	assert.equal(count(999), "999");
	assert.equal(count(7600), "7.6k");
	assert.equal(count(76_000), "76k");
	assert.equal(clip("a  b", 10), "a b");
	assert.equal(clip("abcdef", 4), "abc…");
	assert.equal(clip("ab😀cdef", 4), "ab…"); // no half of a character
	assert.deepEqual(listOf("1, 2,", "integer"), [1, 2]);
	assert.deepEqual(listOf("0.5", "number"), [0.5]);
	assert.deepEqual(listOf("a, 2", "string"), ["a", "2"]);
	assert.equal(ago("2026-01-01T00:00:00Z", Date.parse("2026-01-01T03:00:01Z")), "3 h ago");
	assert.equal(ago(undefined, 0), "");
});

test("@auto has an agent picked, whoever answered before", () => {
	assert.equal(namedAgent({ auto: true }), "auto");
	assert.equal(namedAgent({ agent: "fixer" }), "fixer");
	assert.equal(namedAgent({}), undefined);
});
