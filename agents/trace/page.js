
"use strict";
const spans = JSON.parse(document.getElementById("data").textContent);
const timeline = document.getElementById("timeline"), conversation = document.getElementById("conversation");
const byId = new Map(spans.map((s) => [s.id, s]));
// One by one: a call takes no hundred thousand arguments.
const from = spans.reduce((t, s) => Math.min(t, s.start), Infinity), to = spans.reduce((t, s) => Math.max(t, s.start + s.ms), from + 1);
const kinds = new Set(["run", "turn", "llm", "tool", "handoff", "guardrail", "route", "hook", "confirmation"]);

// Texts of the session become text nodes, never markup.
function element(name, className, text) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}
const seconds = (ms) => Math.round(ms / 1000);
const took = (ms) => ms >= 60000 ? Math.floor(seconds(ms) / 60) + "m " + seconds(ms) % 60 + "s" : ms >= 1000 ? (ms / 1000).toFixed(1) + " s" : ms + " ms";
const detail = (s, name) => { const f = s.details.find((d) => d[0] === name); return f ? f[1] : ""; };
function depth(s) {
  let n = 0;
  for (let p = byId.get(s.parent); p && n < 40; p = byId.get(p.parent)) n++;
  return n;
}

// Each span follows what it is a part of, also where several went on at once.
const parts = new Map();
for (const s of spans) {
  const of = byId.has(s.parent) && s.parent < s.id ? s.parent : 0;
  parts.set(of, [...(parts.get(of) || []), s]);
}
const tree = [];
for (const rest = (parts.get(0) || []).slice().reverse(); rest.length;) {
  const s = rest.pop();
  tree.push(s);
  rest.push(...(parts.get(s.id) || []).slice().reverse());
}

const axis = element("div", "row axis"), ticks = element("span", "track");
for (const part of [0, 0.25, 0.5, 0.75]) {
  const tick = element("span", "tick", took(Math.round(part * (to - from))));
  tick.style.left = 100 * part + "%";
  ticks.append(tick);
}
axis.setAttribute("aria-hidden", "true");
axis.append(element("span"), ticks, element("span", "time", took(to - from)));
if (spans.length) timeline.append(axis);

for (const s of tree) {
  const kind = kinds.has(s.kind) ? s.kind : "run";
  const row = element("button", "row " + kind);
  row.type = "button";
  row.setAttribute("role", "treeitem");
  row.setAttribute("aria-expanded", "false");
  row.setAttribute("aria-level", depth(s) + 1);
  const name = element("span", "name");
  name.style.paddingLeft = depth(s) * 0.9 + "em";
  name.append(element("span", "kind", s.kind), " " + (s.kind === "turn" ? detail(s, "turn") : s.name) + (detail(s, "purpose") ? " for a " + detail(s, "purpose") : ""));
  if (s.error) name.append(element("span", "failure", " ✗ " + s.error));
  name.title = s.kind + " " + s.name + (s.error ? ": " + s.error : "");
  const track = element("span", "track"), bar = element("span", "bar" + (s.error ? " failed" : ""));
  bar.style.left = 100 * (s.start - from) / (to - from) + "%";
  bar.style.width = 100 * s.ms / (to - from) + "%";
  track.append(bar);
  row.append(name, track, element("span", "time", s.open ? "open" : took(s.ms)));
  const more = element("dl", kind);
  more.hidden = true;
  const list = [["agent", s.agent], ["begins", new Date(s.start).toISOString()], ...s.details];
  if (s.error) list.push(["error", s.error]);
  for (const [key, value] of list) if (value) more.append(element("dt", "", key), element("dd", "", value));
  row.addEventListener("click", () => {
    more.hidden = !more.hidden;
    row.setAttribute("aria-expanded", String(!more.hidden));
  });
  timeline.append(row, more);
  s.row = row;
  s.more = more;
  s.text = (s.kind + " " + s.name + " " + s.agent + " " + s.error + " " + s.details.map((d) => d[1]).join(" ")).toLowerCase();
}

// The conversation: what was said and done, in the order of time.
function say(s, kind, who, text) {
  if (!text) return;
  const box = element("div", "said " + kind);
  box.append(element("div", "who", who), element("p", "", text));
  box.addEventListener("click", () => {
    s.more.hidden = false;
    s.row.setAttribute("aria-expanded", "true");
    s.row.scrollIntoView({ block: "center" });
    s.row.focus();
  });
  conversation.append(box);
  (s.boxes = s.boxes || []).push(box);
}
const saidAt = (s) => s.kind === "llm" || s.kind === "tool" || s.kind === "confirmation" ? s.start + s.ms : s.start;
for (const s of spans.slice().sort((a, b) => saidAt(a) - saidAt(b) || a.id - b.id)) {
  switch (s.kind) {
    case "run": say(s, "user", "to " + s.agent, detail(s, "input")); break;
    case "llm": say(s, "llm", s.agent + (detail(s, "purpose") ? ", for a " + detail(s, "purpose") : ""), detail(s, "response")); break;
    case "tool": say(s, "tool", s.name, detail(s, "tool_error") || detail(s, "tool_result")); break;
    case "handoff": say(s, "handoff", "handoff", s.name + ": " + (s.error || detail(s, "handoff_reason"))); break;
    case "confirmation": say(s, "confirmation", "asked about " + s.name, detail(s, "outcome") || "no answer"); break;
    case "guardrail": say(s, "guardrail", "check " + s.name, detail(s, "guardrail_result")); break;
    case "route": say(s, "route", "route", detail(s, "text")); break;
  }
}

const count = (kind) => spans.filter((s) => s.kind === kind).length;
document.getElementById("totals").textContent =
  [["run", "run"], ["llm", "model call"], ["tool", "tool"], ["handoff", "handoff"]].map(([kind, name]) => count(kind) + " " + name + (count(kind) === 1 ? "" : "s")).join(", ") + ", " + took(spans.length ? to - from : 0);

document.getElementById("search").addEventListener("input", (event) => {
  const words = event.target.value.trim().toLowerCase();
  for (const s of spans) {
    const found = !words || s.text.includes(words);
    s.row.hidden = !found;
    if (!found) { s.more.hidden = true; s.row.setAttribute("aria-expanded", "false"); }
    s.row.classList.toggle("found", Boolean(words) && found);
    for (const box of s.boxes || []) box.hidden = !found;
  }
});
