package bundle

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentls/agentls/extensions/command"
	"github.com/agentls/agentls/extensions/skill"
)

// Commands is where the bundle's custom commands are.
func (b *Bundle) Commands() command.Place {
	return command.Place{Dir: filepath.Join(b.Dir, "commands"), Within: b.Dir, Scope: "extension", Extension: b.Name}
}

// Skills is where the bundle's skills are.
func (b *Bundle) Skills() skill.Place {
	return skill.Place{Dir: filepath.Join(b.Dir, "skills"), Within: b.Dir, Scope: "extension", Extension: b.Name}
}

// Agents is the folder of the bundle's agents; "" where it has none.
func (b *Bundle) Agents() string {
	if !slices.ContainsFunc(b.Items, func(i Item) bool { return i.Kind == AgentItem }) {
		return ""
	}
	return filepath.Join(b.Dir, "agents")
}

// ContextFiles are the names of the bundle's instructions, relative to its Dir.
func (b *Bundle) ContextFiles() []string { return b.contextFiles }

// ExcludeTools are the tools that the bundle wants no agent to have, as entries of the
// setting tools.exclude.
func (b *Bundle) ExcludeTools() []string { return b.exclude }

// Servers returns the descriptions of the bundle's MCP servers for a workspace folder,
// by name, as settings have them. A bundle does not say how far a server is to be
// trusted, and one of a project stays behind a wall. lookup returns a variable of the
// person's. The values that it puts in are not part of any digest.
func (b *Bundle) Servers(workspace string, lookup func(string) (string, bool)) map[string][]byte {
	all := make(map[string][]byte, len(b.servers))
	for name, raw := range b.servers {
		var d map[string]any
		if json.Unmarshal(raw, &d) != nil || d == nil {
			continue
		}
		each(d, func(text string) string { return b.expand(text, workspace) })
		delete(d, "trust")
		delete(d, "safeTools")
		delete(d, "sampling")
		if _, given := d["sandbox"]; b.Project != "" && !given {
			d["sandbox"] = "write"
		}
		env, _ := d["env"].(map[string]any)
		for _, s := range b.settings {
			// What the description says itself counts before the person's variable.
			if value, ok := lookup(s.EnvVar); ok && s.EnvVar != "" && env[s.EnvVar] == nil {
				if env == nil {
					env = map[string]any{}
				}
				env[s.EnvVar] = value
			}
		}
		if len(env) > 0 {
			d["env"] = env
		}
		if data, err := json.Marshal(d); err == nil {
			all[name] = data
		}
	}
	return all
}

// Hooks returns the bundle's hooks as the section hooks of settings has them; nil for
// none. Nothing is put into a line for the shell (SEC-92): it has [Bundle.Variables].
// It is made of what was read when the bundle was, and so of what was approved.
func (b *Bundle) Hooks(workspace string) []byte {
	var events map[string]any
	if len(b.hooks) == 0 || json.Unmarshal(b.hooks, &events) != nil {
		return nil
	}
	b.expandHooks(events, workspace)
	data, err := json.Marshal(events)
	if err != nil {
		return nil
	}
	return data
}

// expandHooks puts variables into the words of each hook that starts a program without
// a shell.
//
// Without args the command is a line for the shell, and only the separator is put in.
func (b *Bundle) expandHooks(value any, workspace string) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			b.expandHooks(one, workspace)
		}
	case map[string]any:
		command, isHook := v["command"].(string)
		if !isHook {
			for _, one := range v {
				b.expandHooks(one, workspace)
			}
			return
		}
		separate := func(text string) string { return strings.ReplaceAll(text, "${/}", string(os.PathSeparator)) }
		if args, ok := v["args"].([]any); ok {
			v["command"] = b.expand(command, workspace)
			each(args, func(text string) string { return b.expand(text, workspace) })
		} else {
			v["command"] = separate(command)
		}
		each(v["env"], separate)
	}
}

// Variables are what a hook of the bundle gets besides its own variables, NAME=value,
// sorted. They may stand in its env, too.
func (b *Bundle) Variables(workspace string) (all []string) {
	variables := b.variables(workspace)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		all = append(all, name+"="+variables[name])
	}
	return all
}

// variables are the variables that bundles may use, by name.
func (b *Bundle) variables(workspace string) map[string]string {
	return map[string]string{"extensionPath": b.Dir, "workspacePath": workspace,
		"pathSeparator": string(os.PathSeparator)}
}

// expand puts the variables of bundles into a text. It has the form of gemini-cli; a
// name that is not known stays.
func (b *Bundle) expand(text, workspace string) string {
	pairs := []string{"${/}", string(os.PathSeparator)}
	for name, value := range b.variables(workspace) {
		pairs = append(pairs, "${"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// each replaces every text of a JSON value that is no name of a member, in place, and
// returns the value.
func each(value any, by func(string) string) any {
	switch v := value.(type) {
	case string:
		return by(v)
	case []any:
		for i := range v {
			v[i] = each(v[i], by)
		}
	case map[string]any:
		for name := range v {
			v[name] = each(v[name], by)
		}
	}
	return value
}
