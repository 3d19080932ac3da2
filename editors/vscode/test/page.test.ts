import assert from "node:assert/strict";
import { test } from "node:test";
import { textBefore } from "../src/before";
import { page } from "../src/page";
import { render } from "../src/webview/markdown";

test("the page lets nothing but our script and style in", () => {
	const html = page({ title: "<x>", nonce: "n0", source: "vscode-resource:", script: "s.js", style: "s.css" });
	assert.match(html, /default-src 'none'; style-src vscode-resource:; font-src vscode-resource:; script-src 'nonce-n0'"/);
	assert.match(html, /<title>&lt;x&gt;<\/title>/);
	assert.doesNotMatch(html, /unsafe|img-src|connect-src|http:/);
});

test("an answer has no raw HTML, no image and no link that runs a command", () => {
	const html = render("<img src=x> <script>x</script> ![p](http://h/x.png) [c](command:x) [j](javascript:x) [f](file:///etc) [ok](https://h/)");
	assert.doesNotMatch(html, /<img|<script|href="(?!https?:)/);
	assert.match(html, /<a href="https:\/\/h\/">ok<\/a>/);
});

test("10,000 lines are rendered", () => {
	assert.ok(render("- a line\n".repeat(10_000)).length > 100_000);
});

test("a patch is taken back, or said not to fit", () => {
	const patch = "--- a/n\n+++ b/n\n@@ -1,2 +1,2 @@\n-milk\n+oats\n eggs\n";
	assert.equal(textBefore("oats\neggs\n", patch), "milk\neggs\n");
	assert.equal(textBefore("rice\neggs\n", patch), undefined);
	assert.equal(textBefore("x", ""), undefined);
});
