package definition

// What an installation has, which a file alone does not say: findings that need
// the settings.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/pattern"
)

// Installed answers what findings of spec 1.5 need to know of the settings. A
// func that is nil does not know, and nothing is said then. They are called on
// the goroutine of Parse; folder is the agent's workspace folder, "" for one that
// has none. Slices are not changed.
type Installed struct {
	// Models are the names that a misspelt model may have meant.
	Models func() []string
	// Retired reports whether a model is retired, and the id or alias that runs in
	// its place; "" where none is known.
	Retired func(model string) (successor string, retired bool)
	// Sampling reports whether a model takes a temperature and a top_p; true for one
	// that is not known.
	Sampling func(model string) bool
	// Servers are the names of the configured MCP servers.
	Servers func(folder string) []string
	// ServerTools are the tools of a configured server, by the server's own names,
	// and false while it is not connected.
	ServerTools func(folder, server string) (tools []string, connected bool)
	// Validator reports whether a guard's validator exists (spec 6.1): command:…
	// or a bare name, which is none of the built-in ones.
	Validator func(folder, validator string) bool
	// Expression says why a condition does not compile, nil for one that does, and
	// about how many microseconds it took to tell, as pattern.Cost has it.
	Expression func(condition string) (cost int, err error)
}

// retired reports a model that does not answer any more.
func (r *reader) retired(id, name string, start, end int) {
	if r.source.Installed.Retired == nil {
		return
	}
	successor, retired := r.source.Installed.Retired(id)
	switch {
	case !retired:
	case successor == "":
		r.report("agent/model-retired", Warning, start, end, fmt.Sprintf("The model %s is retired, and what follows it is not known; choose another.", name))
	default:
		r.suggest("agent/model-retired", Warning, start, end, successor, fmt.Sprintf("The model %s is retired and runs as %s; write that.", name, successor))
	}
}

// modelUnknown reports a model that nobody has.
func (r *reader) modelUnknown(name string, start, end int) {
	meant := ""
	if r.source.Installed.Models != nil {
		meant = r.nearest(name, r.source.Installed.Models())
	}
	message := fmt.Sprintf("The model %s is not known and no configured provider has it; ", name)
	if meant != "" {
		message += "did you mean " + meant + "?"
	} else {
		message += "correct it, or configure its provider."
	}
	r.suggest("agent/model-unknown", Warning, start, end, meant, message)
}

// serversKnown returns the configured servers, and whether they are known.
func (r *reader) serversKnown() ([]string, bool) {
	if r.source.Installed.Servers == nil {
		return nil, false
	}
	return r.source.Installed.Servers(r.Folder), true
}

// checkServer reports a server of mcp.servers that is not configured.
func (r *reader) checkServer(name listed) {
	servers, known := r.serversKnown()
	if !known || name.name == "*" || slices.Contains(servers, name.name) {
		return
	}
	severity := Error
	if r.Dialect != Agentls {
		severity = Hint
	}
	meant := r.nearest(name.name, servers)
	message := fmt.Sprintf("The MCP server %s is not configured and is left out; ", name.name)
	if meant != "" {
		message += "did you mean " + meant + "?"
	} else {
		message += "describe it in the settings under mcpServers."
	}
	r.suggest("agent/mcp-unknown", severity, name.start, name.end, meant, message)
}

// checkServerTool reports a tool mcp.<server>.<tool> that no configured server
// has, or whose server is not connected, so that nobody knows.
func (r *reader) checkServerTool(canonical string, name listed) {
	rest, ok := strings.CutPrefix(canonical, "mcp.")
	servers, known := r.serversKnown()
	if !ok || !known {
		return
	}
	severity := Error
	if r.Dialect != Agentls {
		severity = Hint
	}
	server, tool, _ := strings.Cut(rest, ".")
	if strings.ContainsAny(server, "*?") {
		return
	}
	if !slices.Contains(servers, server) {
		message := fmt.Sprintf("The MCP server %s of this tool is not configured, so the tool is left out; ", server)
		meant := respelled(name.name, server, r.nearest(server, servers), false)
		if meant != "" {
			message += "did you mean " + meant + "?"
		} else {
			message += "describe it in the settings under mcpServers."
		}
		r.suggest("agent/tool-unknown", severity, name.start, name.end, meant, message)
		return
	}
	var tools []string
	connected := false
	if r.source.Installed.ServerTools != nil {
		tools, connected = r.source.Installed.ServerTools(r.Folder, server)
	}
	if !connected {
		r.report("agent/tool-unverified", Hint, name.start, name.end, fmt.Sprintf("The MCP server %s is not connected, so whether it has this tool is not known yet.", server))
		return
	}
	if slices.ContainsFunc(tools, func(have string) bool { return MatchTool(tool, have) }) {
		return
	}
	message := fmt.Sprintf("The MCP server %s has no such tool, and it is left out", server)
	meant := respelled(name.name, tool, r.nearest(tool, tools), true)
	if meant != "" {
		message += "; did you mean " + meant + "?"
	} else {
		message += "; correct it."
	}
	r.suggest("agent/tool-unknown", severity, name.start, name.end, meant, message)
}

// condition reports a condition that does not compile, and whether it does.
func (r *reader) condition(v *node, text string) bool {
	if r.source.Installed.Expression == nil || v == nil {
		return true
	}
	if r.spent > pattern.PerFile {
		if !r.crowded {
			r.at(v, "agent/expression", Error, "The file has more patterns and conditions than can be judged quickly, so this condition and those after it are left out; write fewer.")
		}
		r.crowded = true
		return false
	}
	cost, err := r.source.Installed.Expression(text)
	r.spent += cost
	if err != nil {
		r.at(v, "agent/expression", Error, "The condition does not compile: %s.", strings.TrimSuffix(strings.ReplaceAll(fault.Message(err), "\n", " "), "."))
		return false
	}
	return true
}

// guardrailsField checks guardrails in both spellings (spec 1.2, 6.1).
func (r *reader) guardrailsField(v *node) {
	if !r.shape(v, "guardrails", mapping, list) {
		return
	}
	if v.kind == mapping {
		r.guard(v, "guardrails", "output_schema", "on_failure", "custom_validator")
		return
	}
	for i := range v.items {
		if v.items[i].kind != mapping {
			r.mistyped(&v.items[i], "An entry of guardrails", "an object")
			continue
		}
		r.guard(&v.items[i], "guardrails[]", "schema", "policy", "validator")
	}
}

// guard checks one guard, by the names that its keys have under a path.
func (r *reader) guard(v *node, under, schema, policy, validator string) {
	name := ""
	if n := v.get("name"); n != nil && n.kind == str {
		name = n.text
	}
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		r.smart(n)
		var text string
		switch {
		case !slices.Contains(KeysUnder(under), k.name):
			r.unknown(k, "guardrails.", under)
		case k.name == schema:
			if n.kind != null {
				r.schema(n, "guardrails."+schema)
			}
		case k.name == policy:
			if r.stringField(n, "guardrails."+policy, &text) && text != "reject" && text != "repair" && text != "warn" {
				r.oneOf(n, "guardrails[].policy", "guardrails.%s must be reject, repair or warn.", policy)
			}
		case k.name == validator:
			if r.stringField(n, "guardrails."+validator, &text) {
				r.validator(n, text, name)
			}
		case k.name == "on" && n.kind == str && n.text != "input" && n.text != "output":
			r.oneOf(n, "guardrails[].on", "guardrails.on must be input or output.")
		default:
			r.stringField(n, "guardrails."+k.name, &text)
		}
	}
}

// validator reports a guard's validator that does not exist. guard is the
// guard's name, by which custom is looked up.
func (r *reader) validator(v *node, text, guard string) {
	wanted := text
	if text == "custom" {
		wanted = guard
	}
	kindOf, rest, prefixed := strings.Cut(wanted, ":")
	switch {
	case prefixed && kindOf == "builtin":
		if !builtinValidator(rest) {
			meant := r.nearest(rest, builtinValidators)
			if meant != "" {
				meant = "builtin:" + meant
			}
			r.suggest("agent/validator", Error, v.start, v.end, meant, fmt.Sprintf("There is no built-in validator %s; there are no-secrets, no-harmful-code and max-length(n).", rest))
		}
		return
	case prefixed && kindOf == "expr":
		r.condition(v, rest)
		return
	case prefixed && kindOf == "agent":
		if !validName(rest) {
			r.at(v, "agent/validator", Error, "%q is no agent's name, so nothing is checked by it.", rest)
		}
		return
	case wanted == "":
		r.at(v, "agent/validator", Error, "The validator custom is looked up by the guard's name, which is missing.")
		return
	case !prefixed && builtinValidator(wanted), r.source.Installed.Validator == nil, r.source.Installed.Validator(r.Folder, wanted):
		return
	}
	r.at(v, "agent/validator", Error, "There is no validator %s; correct it, or put an executable of that name into .gemini/validators.", wanted)
}

// builtinValidators are the validators in the program that have no parameter.
var builtinValidators = []string{"no-secrets", "no-harmful-code"}

// builtinValidator reports whether a validator is in the program.
func builtinValidator(name string) bool {
	if n, ok := strings.CutPrefix(name, "max-length("); ok {
		n, ok = strings.CutSuffix(n, ")")
		return ok && n != "" && strings.Trim(n, "0123456789") == ""
	}
	return slices.Contains(builtinValidators, name)
}
