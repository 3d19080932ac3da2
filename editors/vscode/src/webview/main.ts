// The script of the panel's page: shows the entries of a timeline as they change.
import type { FromPage, ToPage } from "../messages";
import type { Entry } from "../timeline";
import { render } from "./markdown";

declare function acquireVsCodeApi(): { postMessage(message: FromPage): void };

const host = acquireVsCodeApi();
const find = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;
const timeline = find("timeline");
const agent = find<HTMLSelectElement>("agent");
const input = find<HTMLTextAreaElement>("input");
const problem = find("problem");
const rows = new Map<string, HTMLElement>();
/** texts that have grown and are not shown yet */
const stale = new Map<string, Entry & { kind: "text" }>();

window.addEventListener("message", (event: MessageEvent<ToPage>) => {
	const m = event.data;
	switch (m.type) {
		case "reset":
			timeline.replaceChildren();
			rows.clear();
			agent.replaceChildren(...m.agents.map((name) => new Option(name, name, false, name === m.agent)));
			input.focus();
			break;
		case "entries":
			follow(() => {
				for (const entry of m.entries) {
					show(entry);
				}
			});
			break;
		case "state":
			find("stop").hidden = !m.running;
			find("answer").hidden = !m.waiting;
			find("send").textContent = m.running ? "Tell it" : "Send";
			agent.disabled = m.running;
			break;
		case "problem":
			problem.textContent = m.message;
			problem.hidden = m.message === "";
	}
});

/** follow keeps the end in view where it is in view. */
function follow(change: () => void): void {
	const atEnd = timeline.scrollHeight - timeline.scrollTop - timeline.clientHeight < 40;
	change();
	if (atEnd) {
		timeline.scrollTop = timeline.scrollHeight;
	}
}

function show(entry: Entry): void {
	let row = rows.get(entry.id);
	if (!row) {
		row = entry.kind === "thought" ? document.createElement("details") : document.createElement("div");
		row.className = `entry ${entry.kind}`;
		rows.set(entry.id, row);
		timeline.append(row);
	}
	switch (entry.kind) {
		case "text":
			stale.set(entry.id, entry);
			schedule();
			return;
		case "thought":
			row.replaceChildren(text("summary", entry.subject ? `Thought: ${entry.subject}` : "Thought"), text("p", entry.text.trim()));
			return;
		case "user":
		case "agent":
			row.textContent = entry.kind === "user" ? entry.text : entry.name;
			return;
		case "tool":
			row.dataset.state = entry.state;
			row.replaceChildren(text("code", entry.title), text("span", entry.outcome));
			return;
		case "line":
			row.dataset.icon = entry.icon;
			row.textContent = entry.text;
			return;
		case "todos":
			row.replaceChildren(...entry.todos.map((t) => Object.assign(text("div", t.description), { className: `todo ${t.status}` })));
			return;
		case "end":
			row.replaceChildren(...(entry.text ? [text("strong", entry.text)] : []), text("span", entry.spent));
			row.dataset.reason = entry.result.reason;
	}
}

function text(tag: string, content: string): HTMLElement {
	const element = document.createElement(tag);
	element.textContent = content;
	return element;
}

let scheduled = false;
let took = 0;

/** schedule renders what has grown, more seldom the longer that takes. */
function schedule(): void {
	if (scheduled) {
		return;
	}
	scheduled = true;
	setTimeout(() => {
		scheduled = false;
		const began = performance.now();
		follow(() => {
			for (const [id, entry] of stale) {
				const row = rows.get(id);
				if (row) {
					row.innerHTML = render(entry.text);
				}
			}
			stale.clear();
		});
		took = performance.now() - began;
	}, took * 4);
}

find<HTMLFormElement>("form").addEventListener("submit", (event) => {
	event.preventDefault();
	if (input.value.trim() !== "" && agent.value !== "") { // before the agents are known nothing can be sent
		host.postMessage({ type: "send", text: input.value, agent: agent.value });
		input.value = "";
	}
});
input.addEventListener("keydown", (event) => {
	if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
		event.preventDefault();
		find<HTMLFormElement>("form").requestSubmit();
	}
});
find("stop").addEventListener("click", () => host.postMessage({ type: "stop" }));
find("answer").addEventListener("click", () => host.postMessage({ type: "answer" }));
host.postMessage({ type: "ready" });
