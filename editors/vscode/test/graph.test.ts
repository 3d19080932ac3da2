import assert from "node:assert/strict";
import { test } from "node:test";
import { graphPage, picture, ranks } from "../src/graph";
import type { GraphResult } from "../src/protocol";

const flow: GraphResult = {
	agent: "flow",
	entry: "look",
	nodes: [
		{ name: "look", does: "analyzer", state: "finished" },
		{ name: "fix", does: "fixer", state: "running" },
		{ name: "ask", does: "human" },
		{ name: "review", does: "reviewer" },
	],
	edges: [
		{ from: "look", to: "fix", label: "if: look.n < 3 && look.ok" },
		{ from: "look", to: "ask", label: "else" },
		{ from: "ask", to: "fix" },
		{ from: "fix", to: "review" },
		{ from: "review", to: "look", label: "if: again" },
		{ from: "review", to: "END" },
	],
	drawing: "",
};

test("a node stands below those that lead to it, whatever leads back", () => {
	assert.deepEqual(Object.fromEntries(ranks(flow)), { look: 0, ask: 1, fix: 2, review: 3, END: 4 });
	assert.deepEqual(Object.fromEntries(ranks({ entry: "a", nodes: [{ name: "b", does: "" }], edges: [{ from: "a", to: "a" }] })), { a: 0, b: 0 });
});

test("the picture has each node with its state, and each edge", () => {
	const svg = picture(flow);
	assert.equal(svg.match(/class="node /g)?.length, 5);
	assert.match(svg, /class="node running"><rect[^>]*\/><text[^>]*>fix</);
	assert.equal(svg.match(/class="sometimes"/g)?.length, 3);
	assert.equal(svg.match(/class="always"/g)?.length, 3);
	assert.match(svg, /if: look\.n &lt; 3 &amp;&amp; look\.ok/);
});

test("the page runs nothing and loads nothing", () => {
	const html = graphPage({ ...flow, agent: "<script>x</script>" }, { nonce: "n" });
	assert.ok(!html.includes("<script"));
	assert.match(html, /default-src 'none'; style-src 'nonce-n'/);
});
