package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
)

// Step is one thing that happened in a session (spec 7.3).
// Texts may be what somebody said, so they are as confidential as the log.
type Step struct {
	Seq   uint64        // the event that tells of it
	After time.Duration // since the session's first event
	// "" for what belongs to no run.
	Run   string
	Agent string
	Kind  string // run, llm, tool, handoff, guardrail, route, confirmation, hook, node
	Text  string // of one line: [agent] …, → Tool: name(argument), [a → b] Handoff: …
	Error string // why it failed; "" = it did not
	// How long it took; 0 for what only begins.
	Took time.Duration
}

// Totals are what a session adds up to.
// Agents counts each agent that ran once; handoffs that were refused are not
// counted.
type Totals struct {
	Agents, Tools, Handoffs, Guardrails int
	Duration                            time.Duration // from the first event to the last
}

// String returns the closing lines.
// There are two lines, without a line end behind.
func (t Totals) String() string {
	count := func(n int, what string) string {
		if n != 1 {
			what += "s"
		}
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("Total: %s, %s, %s, %s\nDuration: %.1fs", count(t.Agents, "agent"), count(t.Tools, "tool"),
		count(t.Handoffs, "handoff"), count(t.Guardrails, "guardrail"), t.Duration.Seconds())
}

// Replay returns what happened in a session, step by step.
// events are those of the whole session, in order, as [Read] returns them.
// Steps are in the order of the events that tell of them.
func Replay(events []activity.Event) (steps []Step, totals Totals) {
	if len(events) == 0 {
		return nil, totals
	}
	var b Builder
	agents := make(map[string]bool)
	first := events[0].Time
	for _, e := range events {
		totals.Duration = e.Time.Sub(first)
		step := Step{Seq: e.Seq, After: e.Time.Sub(first), Run: e.Run, Agent: e.Agent}
		// The nodes of a graph are no spans.
		if node, ok := e.Body.(activity.GraphNode); ok {
			step.Kind, step.Text, step.Error = "node", fmt.Sprintf("[%s] %s", node.Node, node.State), node.Error
			steps = append(steps, step)
		}
		for _, m := range b.Add(e) {
			if m.Begins && m.Kind == Run {
				agents[m.Agent] = true
			}
			text := m.step()
			if text == "" {
				continue
			}
			switch m.Kind {
			case Tool:
				totals.Tools++
			case Handoff:
				if m.Error == "" {
					totals.Handoffs++
				}
			case Guardrail:
				totals.Guardrails++
			}
			one := step
			one.Kind, one.Text = string(m.Kind), text
			if !m.Begins {
				one.Error, one.Took = m.Error, m.Duration()
			}
			steps = append(steps, one)
		}
	}
	totals.Agents = len(agents)
	return steps, totals
}

// step is a moment in a line; "" for one that is no step. The forms are those of spec
// 7.3. Of texts it has the first line.
func (m Moment) step() string {
	said := func(name string) string {
		text, _ := m.Details.Get(name).(string)
		line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
		if more {
			line += " …"
		}
		return line
	}
	switch {
	case m.Kind == Run && m.Begins:
		return fmt.Sprintf("[%s] %s", m.Agent, cmp.Or(said("input"), "begins"))
	case m.Begins:
		return ""
	}
	switch m.Kind {
	case Run:
		return fmt.Sprintf("[%s] %s", m.Agent, m.Finish)
	case Model:
		return fmt.Sprintf("[%s] %s", m.Agent, cmp.Or(said("response"), m.Name))
	case Tool:
		if strings.HasPrefix(m.Name, "transfer_to_") {
			return "" // the handoff is told
		}
		return fmt.Sprintf("→ Tool: %s(%s)", m.Name, m.argument())
	case Handoff:
		return fmt.Sprintf("[%s] Handoff: %s", m.Name, cmp.Or(said("handoff_reason"), m.Error))
	case Guardrail:
		return fmt.Sprintf("[%s] Guardrail: %s %v", m.Agent, m.Name, m.Details.Get("guardrail_result"))
	case Route:
		return "[route] " + cmp.Or(said("text"), m.Name)
	case Confirmation:
		return fmt.Sprintf("? %s: %s", m.Name, cmp.Or(said("outcome"), "no answer"))
	case Hook:
		return fmt.Sprintf("[%s] Hook: %s %v", m.Agent, m.Name, m.Details.Get("decision"))
	}
	return ""
}

// argument is what tells most of a tool's arguments. It is the first line of the path,
// the command or whatever else the tool is about; else the JSON, cut to 80 characters.
func (s *Span) argument() string {
	text := Field{Value: s.Details.Get("tool_args")}.Text()
	args := argumentsOf(text)
	for _, name := range []string{"file_path", "command", "pattern", "dir_path", "path", "url", "query",
		"agent_name", "question"} {
		if value, ok := args[name].(string); ok {
			line, _, more := strings.Cut(value, "\n")
			if more {
				line += " …"
			}
			return line
		}
	}
	if len(args) == 0 || text == "null" {
		return ""
	}
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}

// argumentsOf returns a tool's arguments.
func argumentsOf(text string) (args map[string]any) {
	_ = json.Unmarshal([]byte(text), &args) // what is no object has none
	return args
}
