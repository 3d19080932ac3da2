// The picture of a graph. No editor API here.
import type { GraphResult } from "./protocol";
import { clip, escapeHTML } from "./words";

const box = { width: 150, height: 44, across: 50, down: 56 };
const end = "END";

/** ranks returns in which row each node stands: below those that lead to it, but for edges that lead back. */
export function ranks(g: Pick<GraphResult, "entry" | "nodes" | "edges">): Map<string, number> {
	const state = new Map<string, "open" | "done">();
	const ahead: { from: string; to: string }[] = [];
	const visit = (name: string): void => {
		state.set(name, "open");
		for (const e of g.edges) {
			if (e.from === name && state.get(e.to) !== "open") {
				ahead.push(e);
				if (!state.has(e.to)) {
					visit(e.to);
				}
			}
		}
		state.set(name, "done");
	};
	for (const name of [g.entry, ...g.nodes.map((n) => n.name)]) {
		if (!state.has(name)) {
			visit(name);
		}
	}
	const rows = new Map([...state.keys()].map((name) => [name, 0]));
	for (let more = true; more; ) {
		more = false;
		for (const e of ahead) {
			if (rows.get(e.to)! <= rows.get(e.from)!) {
				rows.set(e.to, rows.get(e.from)! + 1);
				more = true;
			}
		}
	}
	return rows;
}

/** picture returns a graph as SVG, with the state of each node as its class. */
export function picture(g: GraphResult): string {
	const rows = ranks(g);
	const lines: string[][] = [];
	for (const [name, row] of rows) {
		lines[row] ??= [];
		lines[row].push(name);
	}
	const widest = Math.max(...lines.map((l) => l?.length ?? 0), 1);
	const step = { x: box.width + box.across, y: box.height + box.down };
	const size = { x: widest * step.x, y: lines.length * step.y };
	const places = new Map<string, { x: number; y: number }>();
	lines.forEach((line, row) => {
		line.forEach((name, i) => {
			places.set(name, { x: (size.x - line.length * step.x) / 2 + (i + 0.5) * step.x, y: row * step.y + step.y / 2 });
		});
	});
	const parts: string[] = [];
	g.edges.forEach((e, i) => {
		const [a, b] = [places.get(e.from)!, places.get(e.to)!];
		const back = (rows.get(e.to) ?? 0) <= (rows.get(e.from) ?? 0);
		const bend = back ? a.x + box.width : (a.x + b.x) / 2;
		const [from, to] = back ? [a.y, b.y] : [a.y + box.height / 2, b.y - box.height / 2 - 6];
		const [start, stop] = back ? [a.x + box.width / 2, b.x + box.width / 2 + 6] : [a.x, b.x];
		const way = back ? `C${bend} ${from} ${bend} ${to} ${stop} ${to}` : `C${a.x} ${from + 24} ${b.x} ${to - 24} ${stop} ${to}`;
		parts.push(`<path class="${e.label ? "sometimes" : "always"}" d="M${start} ${from}${way}" marker-end="url(#tip)"/>`);
		if (e.label) {
			parts.push(`<text class="label" x="${back ? bend : (a.x + b.x) / 2}" y="${(a.y + b.y) / 2 + (i % 2) * 14 - 4}">${escapeHTML(clip(e.label, 34))}<title>${escapeHTML(e.label)}</title></text>`);
		}
	});
	for (const [name, at] of places) {
		const node = g.nodes.find((n) => n.name === name);
		const [x, y] = [at.x - box.width / 2, at.y - box.height / 2];
		const round = name === end ? box.height / 2 : 6;
		parts.push(
			`<g class="node ${node?.state ?? ""}"><rect x="${x}" y="${y}" width="${box.width}" height="${box.height}" rx="${round}"/>` +
				`<text x="${at.x}" y="${node ? at.y - 4 : at.y + 4}">${escapeHTML(clip(name, 22))}</text>` +
				(node ? `<text class="does" x="${at.x}" y="${at.y + 13}">${escapeHTML(clip(node.does, 24))}</text>` : "") +
				`<title>${escapeHTML([name, node?.does ?? "", node?.state ?? ""].filter((t) => t).join(" · "))}</title></g>`,
		);
	}
	return `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${size.x} ${size.y}" width="${size.x}" height="${size.y}"><defs><marker id="tip" markerWidth="8" markerHeight="8" refX="1" refY="4" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>${parts.join("")}</svg>`;
}

/** graphPage is the whole page: no script, no style but ours, nothing from any network. */
export function graphPage(g: GraphResult, o: { nonce: string }): string {
	const what = g.handoffs ? "has no graph: who hands over to whom" : g.nodes.some((n) => n.state) ? "its newest run" : "its graph";
	const style = `svg{max-width:100%;height:auto;font:12px var(--vscode-font-family)}
text{text-anchor:middle;fill:var(--vscode-editor-foreground)}.does,.label{font-size:10px;opacity:.8}
rect{fill:var(--vscode-editorWidget-background);stroke:var(--vscode-editorWidget-border,#888)}
path{fill:none;stroke:var(--vscode-editorWidget-border,#888)}.sometimes{stroke-dasharray:5 4}.tip{fill:#888;stroke:none}
.running rect,.waiting rect{stroke:var(--vscode-charts-yellow);stroke-width:3}.waiting rect{stroke-dasharray:6 3}
.finished rect{stroke:var(--vscode-charts-green);stroke-width:2}.failed rect{stroke:var(--vscode-charts-red);stroke-width:3}.cancelled{opacity:.5}`;
	return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'nonce-${o.nonce}'">
<title>${escapeHTML(g.agent)}</title><style nonce="${o.nonce}">${style}</style></head>
<body><h3>${escapeHTML(g.agent)} · ${what}</h3>${picture(g)}</body></html>`;
}
