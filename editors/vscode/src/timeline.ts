// What a person sees of a session: its events, folded into entries. No editor API here.
import type { ActivityParams, Events, RunFinished, Todo } from "./protocol";
import { callEnded, clip, ending, guardLine, inputText, spent, toolOutcome, toolTitle, wentBack } from "./words";

/** An event whose data this version knows. */
export type Known = { [K in keyof Events]: Omit<ActivityParams, "type" | "data"> & { type: K; data: Events[K] } }[keyof Events];

/** One row of a timeline. `id` stays the same while the row changes. */
export type Entry = { id: string; run: string } & (
	| { kind: "user"; text: string }
	| { kind: "agent"; name: string }
	| { kind: "text"; text: string }
	| { kind: "thought"; subject: string; text: string }
	| { kind: "tool"; call: string; title: string; state: string; outcome: string; by: string; path?: string }
	| { kind: "line"; icon: "handoff" | "info" | "warning" | "error" | "question" | "retry"; text: string }
	| { kind: "todos"; todos: Todo[] }
	| { kind: "end"; result: RunFinished; text: string; spent: string }
);

/** isMessage reports whether a run began with a message of the person's, and not with what another run asked. */
export function isMessage(e: ActivityParams): boolean {
	return e.type === "run.started" && !e.parentRun;
}

/** Timeline folds events into entries. */
export class Timeline {
	readonly entries: Entry[] = [];
	private readonly byId = new Map<string, Entry>();
	private readonly asked: { seq: number; text: string }[] = [];
	private readonly titles = new Map<string, string>();
	private changed: Entry[] = [];
	private agent = "";
	private next = 0;

	/** apply returns the entries that an event made or changed. */
	apply(event: ActivityParams): Entry[] {
		this.changed = [];
		this.fold(event);
		return this.changed;
	}

	private fold(event: ActivityParams): Entry | undefined {
		const run = event.run ?? "";
		const e = event as Known;
		switch (e.type) {
			case "run.started":
				return isMessage(event) ? this.ask(run, e.seq, inputText(e.data.input)) : undefined;
			case "input":
				return this.add({ id: this.id(), run, kind: "user", text: inputText(e.data.input) });
			case "content.delta":
				this.introduce(run, e.agent ?? "");
				return this.grow("text", run, e.data.text, "");
			case "thought.delta":
				this.introduce(run, e.agent ?? "");
				return this.grow("thought", run, e.data.text, e.data.subject ?? "");
			case "tool.state":
				return this.tool(run, e.agent ?? "", e.data);
			case "confirmation.asked":
				return this.question(run, e.data.id, `Waiting for you: ${this.titles.get(e.data.call) ?? e.data.tool}`);
			case "confirmation.answered":
				return this.question(run, e.data.id, answered(e.data));
			case "route.decided":
				return this.line(run, "handoff", e.data.text);
			case "handoff.started":
				return this.line(run, "handoff", `${e.data.from} → ${e.data.to}: ${clip(e.data.reason, 200)}`);
			case "handoff.rejected":
				return this.line(run, "warning", `${e.data.from} → ${e.data.to} refused: ${e.data.message}`);
			case "todos.changed":
				return this.put({ id: `todos ${run}`, run, kind: "todos", todos: e.data.todos });
			case "retry":
				return this.line(run, "retry", e.data.repair ? `Repairing the result: ${clip(e.data.cause, 160)}` : `Trying again: ${clip(e.data.cause, 160)}`);
			case "guardrail.checked":
				return this.line(run, e.data.outcome === "failed" || e.data.outcome === "warned" ? "warning" : "info", guardLine(e.data));
			case "error":
				return this.line(run, "error", e.data.message);
			case "note":
				if (e.data.message.startsWith("Operation cancelled by user")) {
					return undefined; // the answer to the question says so, and why
				}
				return this.line(run, e.data.level === "warning" ? "warning" : "info", e.data.message);
			case "loop.detected":
				return this.line(run, "warning", `The agent repeats itself${e.data.what ? `: ${clip(e.data.what, 120)}` : ""}`);
			case "context.compressed":
				return e.data.status === "COMPRESSED" ? this.line(run, "info", "The conversation was summed up to make room.") : undefined;
			case "rewound": {
				const gone = this.asked.find((one) => one.seq > e.data.toSeq);
				return gone && this.line(run, "info", wentBack(gone.text));
			}
			case "forked":
				return e.data.from ? this.line(run, "info", "Forked: what you say here goes on from this point. The Chat view stays with the session that it had.") : undefined;
			case "run.state":
				return e.data.to === "paused" ? this.line(run, "warning", `Paused: ${e.data.why ?? "it can be resumed"}`) : undefined;
			case "run.finished":
				return this.add({ id: this.id(), run, kind: "end", result: e.data, text: this.ending(e.data), spent: spent(e.data) });
		}
		return undefined;
	}

	private ask(run: string, seq: number, text: string): Entry {
		this.asked.push({ seq, text });
		return this.add({ id: this.id(), run, kind: "user", text });
	}

	/** ending is how a run ended, without an error that the row above has. */
	private ending(result: RunFinished): string {
		const last = this.entries.at(-1);
		const shown = last?.kind === "line" && last.icon === "error" && last.text === result.error?.message;
		return ending(shown ? { reason: result.reason } : result);
	}

	/** introduce names the agent where another one begins to speak. */
	private introduce(run: string, agent: string): void {
		if (agent !== this.agent) {
			this.agent = agent;
			this.add({ id: this.id(), run, kind: "agent", name: agent });
		}
	}

	private tool(run: string, agent: string, call: Events["tool.state"]): Entry | undefined {
		this.titles.set(call.call, toolTitle(call));
		if (call.state === "validating" && !this.byId.has(`call ${call.call}`)) {
			return undefined; // it may be refused at once: shown with its next state
		}
		this.introduce(run, agent);
		return this.put({
			id: `call ${call.call}`,
			run,
			kind: "tool",
			call: call.call,
			title: toolTitle(call),
			state: call.state,
			outcome: callEnded(call.state) ? toolOutcome(call) : (call.progress ?? ""),
			by: agent,
			...(call.path ? { path: call.path } : {}),
		});
	}

	private grow(kind: "text" | "thought", run: string, text: string, subject: string): Entry {
		const last = this.entries.at(-1);
		if (last?.kind === kind && last.run === run && (kind === "text" || subject === "" || (last as { subject?: string }).subject === subject)) {
			last.text += text;
			this.changed.push(last);
			return last;
		}
		return this.add(kind === "text" ? { id: this.id(), run, kind, text } : { id: this.id(), run, kind, subject, text });
	}

	private question(run: string, id: string, text: string): Entry {
		return this.put({ id: `question ${id}`, run, kind: "line", icon: "question", text });
	}

	private line(run: string, icon: (Entry & { kind: "line" })["icon"], text: string): Entry {
		return this.add({ id: this.id(), run, kind: "line", icon, text });
	}

	private put(entry: Entry): Entry {
		const known = this.byId.get(entry.id);
		if (!known) {
			return this.add(entry);
		}
		this.changed.push(Object.assign(known, entry));
		return known;
	}

	private add(entry: Entry): Entry {
		this.entries.push(entry);
		this.changed.push(entry);
		this.byId.set(entry.id, entry);
		return entry;
	}

	private id(): string {
		return `e${this.next++}`;
	}
}

const outcomes: Record<string, string> = {
	once: "Allowed once",
	run: "Allowed for this run",
	session: "Allowed for this session",
	always: "Allowed always in this folder",
	modify: "Changed and allowed",
	reject: "Rejected",
	cancel: "Rejected, and the run ended",
};

function answered(a: Events["confirmation.answered"]): string {
	const said = a.by === "timeout" ? "Nobody answered in time: rejected" : (outcomes[a.outcome] ?? a.outcome);
	return a.feedback ? `${said}: ${clip(a.feedback, 160)}` : said;
}
