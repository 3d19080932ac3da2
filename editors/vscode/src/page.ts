// The panel's page. No editor API here.
import { escapeHTML } from "./words";

/**
 * page returns the HTML of the panel: no script but ours, no style but ours, and
 * nothing from any network. What agents say is added by the script, as text.
 */
export function page(o: { title: string; nonce: string; source: string; script: string; style: string }): string {
	const policy = `default-src 'none'; style-src ${o.source}; font-src ${o.source}; script-src 'nonce-${o.nonce}'`;
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${o.style}">
<title>${escapeHTML(o.title)}</title>
</head>
<body>
<main id="timeline" role="log" aria-live="polite" aria-label="What was said and done" tabindex="0"></main>
<p id="problem" role="alert" hidden></p>
<form id="form">
<label for="agent">Agent</label> <select id="agent"></select>
<textarea id="input" rows="2" aria-label="Message" placeholder="What should the agent do? (Enter sends, Shift+Enter begins a line)"></textarea>
<div class="buttons"><button type="button" id="answer" hidden>Answer…</button><button type="button" id="stop" class="secondary" hidden>Stop</button><button type="submit" id="send">Send</button></div>
</form>
<script nonce="${o.nonce}" src="${o.script}"></script>
</body>
</html>`;
}
