package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
)

// added are the tools that are made for a run, so that there is none to read.
var added = map[string]string{
	"delegate_to_agent": "Gives a part of the work to one of the agents under `subagents`, which works in a context of its own, and returns its result. What that agent does asks by itself.",
	"complete_task":     "Ends a run of mode `task` with its result, which is checked against `output`. Such runs have it whatever `tools` says.",
	"activate_skill":    "Reads the instructions of a skill into the conversation.",
}

// more is what a person should know of a tool beside what models are told.
var more = map[string]string{
	"bash":      " The risk is that of `access`: `read` (the default) safe, `write` medium, `network` and `full` high. Without a sandbox every command asks.",
	"web_fetch": " Addresses of this machine and of private networks are refused.",
}

// risks are the tiers that the table of modes shows, in words.
var risks = []struct {
	risk tool.Risk
	what string
}{
	{tool.Safe, "reads"},
	{tool.Low, "changes a file of the workspace"},
	{tool.Medium, "may change more: a command that writes, another program's tool, a page of the web"},
	{tool.High, "reaches the network or leaves the sandbox, or cannot be undone"},
	{tool.Protected, "changes `.git`, `.gemini`, CI files and the like"},
	{tool.Catastrophic, "would destroy the system or your home, as `rm -rf /`"},
}

// verdicts are what is done with a call.
var verdicts = map[guard.Verdict]string{guard.Auto: "runs", guard.Ask: "asks", guard.Refuse: "refused"}

// modesTable writes who decides about a call: the table that the program goes by.
func (p *page) modesTable() {
	modes := []guard.Approval{guard.Plan, guard.Asks, guard.Edits, guard.Free}
	head := []string{"risk", "what it is"}
	for _, m := range modes {
		head = append(head, code("--approve "+string(m)))
	}
	var rows [][]string
	for _, r := range risks {
		row := []string{r.risk.String(), r.what}
		for _, m := range modes {
			row = append(row, verdicts[m.Verdict(r.risk)])
		}
		rows = append(rows, row)
	}
	p.table(head, rows)
}

// toolsPage is the page of the tools that agents have.
func toolsPage() ([]byte, error) {
	p := newPage("Tools")
	p.say("What an agent may use says `tools` in its file ([agent files](agent-files.md#tools)); without it, all of these. Each call has a risk, which decides whether you are asked; the mode `ask` is the default. In a folder that you do not trust only what reads runs, and no command.")
	p.modesTable()
	p.say("The risk of a tool below is its least: arguments may raise it. What you allow by a rule of your own (`tools.allowed`) or by an answer that holds for longer runs without asking, what you exclude (`tools.exclude`) never runs. [Safety](../safety.md) has the whole on one page.")
	specs := make(map[string]tool.Spec)
	for _, t := range builtin.Tools() {
		specs[t.Spec().Name] = t.Spec()
	}
	var rows [][]string
	for _, t := range definition.ToolNames() {
		does, risk := added[t.Name], tool.Safe
		spec, ok := specs[t.Name]
		if ok {
			does, _, _ = strings.Cut(spec.Description, "\n")
			risk = spec.Risk
		} else if does == "" {
			return nil, fmt.Errorf("the tool %s has neither a description nor a row in tools.go", t.Name)
		}
		name := code(t.Name)
		if len(t.Aliases) > 0 {
			name += ", also " + codes(t.Aliases)
		}
		arguments, err := argumentsOf(spec)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []string{name, does + more[t.Name], risk.String(), arguments})
	}
	p.table([]string{"tool", "what it does", "risk", "arguments (**needed**)"}, rows)
	p.say("Besides these an agent has `transfer_to_AGENT` for each of its `handoffs`, `mcp.SERVER.TOOL` for the tools of the MCP servers under `mcp.servers`, and nothing else. In lists of tools `*` stands for anything: `mcp.github.*`.")
	return p.text(), nil
}

// argumentsOf lists the arguments of a tool.
func argumentsOf(spec tool.Spec) (string, error) {
	if len(spec.Parameters) == 0 {
		return "", nil
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
		return "", fmt.Errorf("%s: %w", spec.Name, err)
	}
	names := slices.Clone(schema.Required)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = code(name)
		if slices.Contains(schema.Required, name) {
			names[i] = "**" + code(name) + "**"
		}
	}
	return strings.Join(names, ", "), nil
}
