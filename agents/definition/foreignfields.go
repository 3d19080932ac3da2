package definition

// Keys of other tools' files that ours do not have (spec 1.7): what restricts
// power is honoured, or else stops a run; what is comfort is a hint.

import (
	"fmt"
)

// foreignField reads a key of another tool; it reports false for one that
// nobody knows.
// A key that takes power away, and that we cannot keep to, is noted as authority:
// the agent does not run then, rather than with more power than its file gives.
// Those that need the list of tools are read later (r.late).
func (r *reader) foreignField(k *key, v *node) bool {
	switch k.name {
	case "disallowedTools", "disallowed-tools", "disallowed_tools":
		r.late = append(r.late, func() { r.denyForeign(v, k.name) })
	case "permissionMode", "permission-mode":
		r.permissionMode(k, v)
	case "permission", "permissions":
		r.late = append(r.late, func() { r.permission(k, v) })
	case "mcpServers", "mcp_servers", "mcp-servers":
		r.foreignServers(k, v)
	case "agents":
		// Copilot: the agents that this one may call.
		r.subagentsField(v, k.name)
	// Neither routing nor another agent may start it then.
	case "disable-model-invocation", "disableModelInvocation":
		// Only a person may start it.
		off := false
		if r.boolField(v, k.name, &off); off {
			r.Routable, r.Delegable = false, false
		}
	case "infer":
		on := true
		if r.boolField(v, k.name, &on); !on {
			r.Routable, r.Delegable = false, false
		}
	case "disable", "disabled":
		off := false
		if r.boolField(v, k.name, &off); off {
			r.authority(k, "the agent is switched off by "+k.name)
		}
	case "enabled":
		on := true
		if r.boolField(v, k.name, &on); !on {
			r.authority(k, "the agent is switched off by enabled: false")
		}
	case "hooks":
		r.hooks(k, v)
	case "isolation":
		if v.kind != null && v.text != "none" {
			r.authority(k, fmt.Sprintf("isolation: %s keeps its changes apart from the workspace", v.text))
		}
	case "sandbox", "sandbox_mode", "sandboxMode":
		// false asks for no wall, which restricts nothing.
		if v.kind != null && !(v.kind == boolean && !v.truth) {
			r.authority(k, k.name+" limits what its commands can reach")
		}
	case "effort", "reasoningEffort", "reasoning_effort":
		r.effort(k, v)
	default:
		if r.Dialect == Agentls || !comfortKeys[k.name] {
			return false
		}
		r.comfort(k)
	}
	return true
}

// comfortKeys are keys of other tools that restrict nothing and have no effect.
var comfortKeys = map[string]bool{
	"mode": true, "handoffs": true, "memory": true, "skills": true, "background": true, "initialPrompt": true,
	"argument-hint": true, "argumentHint": true, "target": true, "hidden": true, "emoji": true,
	"vibe": true, "author": true,
	"license": true, "metadata": true, "tags": true, "category": true, "agent_card_url": true, "agent_card_json": true,
	"auth": true, "input_schema": true, "when_to_use": true,
}

// elsewhereKey reports whether a key that ours does not have is another tool's.
func elsewhereKey(name string) bool { return comfortKeys[name] || name == "prompt" }

// comfort says that a key has no effect here.
func (r *reader) comfort(k *key) {
	r.report("agent/unknown-field", Hint, k.start, k.end,
		fmt.Sprintf("The field %s has no counterpart here and has no effect.", k.name))
}

// AuthorityAdvice is what a person can do about a restriction that cannot be kept.
const AuthorityAdvice = "remove the field, and limit the agent with tools.allow and tools.deny"

// authority records a restriction that cannot be honoured (agent/authority): the
// file loads, a run is refused.
// The severity is a warning since the file itself is fine where it comes from.
func (r *reader) authority(k *key, reason string) {
	r.Authority = append(r.Authority, reason)
	r.report("agent/authority", Warning, k.start, k.end,
		fmt.Sprintf("This restriction cannot be kept here (%s), so the agent does not run; %s.",
			reason, AuthorityAdvice))
}

// permissionMode reads Claude Code's modes. Those that refuse what would ask
// leave the tools that never ask; those that ask less have no effect, since an
// agent file cannot lower what the person is asked (spec 1.3).
func (r *reader) permissionMode(k *key, v *node) {
	var mode string
	if !r.stringField(v, k.name, &mode) {
		return
	}
	switch mode {
	case "", "default":
	case "plan", "dontAsk":
		r.readOnly = true
		r.at(v, "agent/dialect", Hint, "%s is read as: only tools that read.", mode)
	case "acceptEdits", "bypassPermissions", "auto", "delegate":
		r.at(v, "agent/dialect", Hint, "%s has no effect: an agent file cannot lower what the person is asked.", mode)
	default:
		r.authority(k, fmt.Sprintf("permissionMode: %s is not known", mode))
	}
}

// hooks reads Claude Code's hooks. Those before a tool may refuse it.
//
// All other hooks are a hint.
func (r *reader) hooks(k *key, v *node) {
	if v.kind != mapping {
		if v.kind != null {
			r.authority(k, "its hooks may refuse tool calls")
		}
		return
	}
	for i := range v.keys {
		event := &v.keys[i]
		switch event.name {
		case "PreToolUse", "PermissionRequest", "UserPromptSubmit", "BeforeTool", "BeforeAgent", "BeforeModel":
			r.authority(event, fmt.Sprintf("its %s hook may refuse what it does", event.name))
		default:
			r.report("agent/dialect", Hint, event.start, event.end,
				fmt.Sprintf("The hook %s does not run from an agent file; move it to the settings.", event.name))
		}
	}
}

// permission reads opencode's permissions: allow has no effect, ask adds to what
// is always asked, deny denies. A rule by argument counts for the whole tool,
// the strictest first.
//
// What is not understood is authority, so that the agent does not run with more than its
// author meant.
func (r *reader) permission(k *key, v *node) {
	switch v.kind {
	case null:
	case str:
		r.rule(listed{"*", k.start, k.end}, v, v.text)
	case mapping:
		for i := range v.keys {
			name, n := &v.keys[i], &v.items[i]
			entry := listed{name.name, name.start, name.end}
			switch n.kind {
			case str:
				r.rule(entry, n, n.text)
			case mapping:
				r.rules(entry, n)
			default:
				r.authority(name, fmt.Sprintf("permission.%s is not understood", name.name))
			}
		}
	default:
		r.authority(k, "permission is not understood")
	}
}

// rules reads the rules by argument of one tool.
//
// Any word but allow and ask counts as deny.
func (r *reader) rules(name listed, v *node) {
	strictest := "allow"
	for i := range v.items {
		switch n := &v.items[i]; n.text {
		case "allow":
		case "ask":
			if strictest == "allow" {
				strictest = "ask"
			}
		default:
			strictest = "deny"
		}
	}
	if strictest != "allow" && len(v.items) > 1 {
		r.report("agent/dialect", Hint, name.start, name.end,
			fmt.Sprintf("%s cannot be limited by its arguments here: %s counts for all of it.", name.name, strictest))
	}
	r.rule(name, v, strictest)
}

// rule applies one permission.
//
// An unknown tool with ask or deny is authority too: nothing here could ask about it.
func (r *reader) rule(name listed, v *node, verdict string) {
	if verdict == "allow" {
		return
	}
	if verdict != "ask" && verdict != "deny" {
		r.authority(&key{name.name, v.start, v.end}, fmt.Sprintf("permission.%s is not allow, ask or deny", name.name))
		return
	}
	switch name.name {
	case "doom_loop":
		// Loops are always stopped (spec 8.4).
		return
	case "external_directory":
		// File tools refuse it, and commands and MCP calls ask (spec 4.2).
		if verdict == "ask" {
			return
		}
	case "edit":
		// All that changes files.
		name.name = "editFiles"
	}
	t := translate(name.name, r.Dialect, r.declared)
	if !t.known {
		r.authority(&key{name.name, name.start, name.end}, fmt.Sprintf("permission.%s: %s", name.name, verdict))
		return
	}
	if verdict == "deny" {
		r.deny(name)
		return
	}
	// As for deny, all that can do what the tool does: none of it may get by without a question.
	for _, canonical := range t.foreign.deny {
		r.Confirmation.Require = add(r.Confirmation.Require, canonical)
	}
}

// effort reads how hard a model of another tool is to think.
// A level that stands in the file as thinking_level counts before it.
func (r *reader) effort(k *key, v *node) {
	level := ""
	switch v.text {
	case "none", "minimal":
		level = "minimal"
	case "low", "medium", "high":
		level = v.text
	case "xhigh", "max":
		level = "high"
	default:
		r.comfort(k)
		return
	}
	if r.ThinkingLevel == "" {
		r.ThinkingLevel = level
	}
	r.at(v, "agent/dialect", Hint, "%s is read as thinking_level: %s.", k.name, level)
}
