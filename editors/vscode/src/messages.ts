// What the panel and its page tell each other. No editor API here.
import type { Entry } from "./timeline";

/** From the extension to the page. */
export type ToPage =
	| { type: "reset"; title: string; agents: string[]; agent: string }
	| { type: "entries"; entries: Entry[] }
	| { type: "state"; running: boolean; waiting: boolean }
	| { type: "problem"; message: string };

/** From the page to the extension. */
export type FromPage =
	| { type: "ready" }
	| { type: "send"; text: string; agent: string }
	| { type: "stop" }
	| { type: "answer" };
