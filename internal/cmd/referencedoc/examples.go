package main

// firstExample is a whole file.
const firstExample = `---
kind: agent
name: reviewer
title: Reviewer
description: Reads a change and says what is wrong with it.
model: flash
tools:
  allow: [read_file, grep, glob, ls]
---
You review changes. Say what is wrong, where, and why; praise nothing.
`

// examples has an example of each field of the top, which also shows each field
// in it. A test reads them as agent files, without a finding.
var examples = map[string]string{
	"kind":            "kind: agent",
	"name":            "name: code-reviewer",
	"title":           "title: Code Reviewer",
	"description":     "description: Reads a change and says what is wrong with it.",
	"systemPrompt":    "systemPrompt: You review changes.   # or as text below the second ---",
	"model":           "model: pro",
	"fallback_models": "fallback_models: [flash, flash-lite]",
	"color":           `color: "#3B82F6"`,
	"scope":           "scope: project",
	"version":         "version: 1.0.0",
	"tools": `
tools:
  allow: [read_file, grep, glob, edit_file, bash]
  deny: [web_fetch]
  confirmation:
    require_confirmation: [read_file]        # asks even where reading does not
    prompt_template: "{agent} wants {tool_name} with {tool_args}, risk {risk}"
    timeout: 5m`,
	"mcp": `
mcp:
  servers: [github]            # as the settings call it, under mcpServers`,
	"triggers": `
triggers:
  keywords: [review, code review]
  patterns: ['\breview (this|my)\b']
  examples: [Review my last commit., Is this change right?]
  priority: 60
---or---
triggers:
  - intent: review of code
    keywords: [review]
    regex: '\breview\b'
    priority: 7`,
	"handoffs": `
handoffs:
  - to: fixer
    when: conditional
    condition: 'task.status == "done"'
    description: Hand over once the cause is known.
    include_context: true
    payload:
      schema: {type: object, properties: {file: {type: string}}, required: [file]}`,
	"guardrails": `
guardrails:
  output_schema: {type: object}
  on_failure: repair
  custom_validator: builtin:no-secrets
---or---
guardrails:
  - name: short
    validator: builtin:max-length(2000)
    policy: warn
    on: output
  - name: shape
    schema: {type: object, required: [findings]}
    policy: repair
  - name: polite
    validator: expr:len(input) > 0
    on: input
    mode: parallel`,
	"memory": `
memory:
  enabled: true
  type: key_value              # found by words
  backend: local
  scope: workspace             # shared by all agents of the folder
  top_k: 8
  session: [current_task]
---or---
memory:
  enabled: true
  type: vector                 # found by meaning
  embedding_model: local
  dimension: 512
  index_name: decisions
  similarity_threshold: 0.4
---or---
memory:
  long_term:
    backend: filesystem
    config: {top_k: 3}`,
	"memory_files": "memory_files: false",
	"graph": `
graph:
  entry: analyze
  max_steps: 30
  state:
    findings: {reducer: append}
  nodes:
    - {name: analyze, agent: reviewer, input: 'Look at ${input}', retries: 1, timeout: 5m}
    - {name: ask, human: 'Fix these? ${analyze}'}
    - {name: tests, tool: bash, input: {command: go test ./...}}
    - {name: release, graph: releaser}
  edges:
    - {from: analyze, to: ask, condition: len(findings) > 0, priority: 2}
    - {from: analyze, to: tests, else: true}
    - {from: ask, to: tests}
    - {from: tests, to: release}
    - {from: release, to: END}`,
	"tracing": `
tracing:
  enabled: true
  events: [llm, tool]
  backend: file
  sample_rate: 0.5
  captureContent: false`,
	"inputs": `
inputs:
  topic: {type: string, description: What to look for., required: true}
  depth: {type: integer, default: 2, enum: [1, 2, 3]}`,
	"output": `
output:
  name: report
  description: What was found.
  schema: {type: object, properties: {summary: {type: string}}, required: [summary]}
  text: "${summary}"`,
	"query": "query: Review the last commit.",
	"initial_messages": `
initial_messages:
  - {role: user, text: Is this right?}
  - {role: model, text: "No: the loop runs one step too far."}`,
	"temperature":     "temperature: 0.2",
	"top_p":           "top_p: 0.9",
	"thinking_budget": "thinking_budget: 8192",
	"thinking_level":  "thinking_level: high",
	"run": `
run:
  mode: task
  max_turns: 30
  max_time: 10m
  max_tokens: 200000
  max_cost: 0.50`,
	"subagents":      "subagents: [tester, documenter]",
	"user_invocable": "user_invocable: false   # other agents may run it",
	"routable":       "routable: false         # @auto does not pick it",
}
