package workspace

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/settings"
)

// environmentKeys are the keys that a variable sets (spec 5.1).
var environmentKeys = []struct{ variable, key string }{
	{"GEMINI_ROUTING_ENABLED", "agents.routing.enabled"},
	{"GEMINI_ROUTING_STRATEGY", "agents.routing.strategy"},
	{"GEMINI_ROUTING_THRESHOLD", "agents.routing.rule.confidence_threshold"},
}

// readEnvironment takes the values of variables, which win over those of files. One
// that is bad is a problem, and the files count.
func (s *Settings) readEnvironment(env func(string) string) {
	for _, e := range environmentKeys {
		text := strings.TrimSpace(env(e.variable))
		if text == "" {
			continue
		}
		k := keyOf(&s.Values, e.key)
		v := k.valueOf(text)
		origin := settings.Origin{Scope: settings.EnvironmentScope, File: e.variable}
		if err := k.set(&v, origin, s.Origins); err != nil {
			s.Problems = append(s.Problems, SettingsProblem{File: e.variable, Key: e.key,
				Message: fmt.Sprintf("%q does not count: %s %s", text, e.key, err)})
		}
	}
}

// valueOf returns what a person means by a text in the place of the key's value:
// true and false may be 1 and 0, and what is no JSON is a string.
func (k *settingKey) valueOf(text string) hujson.Value {
	kind := k.kind()
	switch {
	case kind == boolKind && text == "1":
		text = "true"
	case kind == boolKind && text == "0":
		text = "false"
	}
	// true and 1 stay text for a key that takes a string.
	if v, err := parseJSON([]byte(text)); err == nil && kind != textKind {
		return v
	}
	return hujson.Value{Value: hujson.String(text)}
}

// Check returns the value that a typed key would get in a file of a scope, as JSON has
// it: raw is JSON, and a string stands for what a person types for the key. nil is for
// null, which takes the key away. The errors are for a person: [fault.NotFound] for a key
// that has no type here, [fault.Denied] for one that a project may not set so, and
// [fault.Invalid] for a value that the key does not take.
func (s *Settings) Check(key string, raw []byte, scope settings.Scope) (any, error) {
	const op = "workspace.checkSetting"
	// set writes through the row, so try the value on a copy.
	tried := s.Values
	k := keyOf(&tried, key)
	if k == nil {
		var known []string
		for _, k := range settingKeys(&tried) {
			known = append(known, k.key)
		}
		meant := ""
		if near := nearestKey(key, known); near != "" {
			meant = "; did you mean " + near + "?"
		}
		return nil, fault.New(fault.NotFound, op, "there is no setting %s that can be changed here%s", key, meant)
	}
	if why := whyNotProject(strings.Split(key, ".")); why != "" && scope == settings.ProjectScope {
		return nil, fault.New(fault.Denied, op, "a project cannot set %s: %s", key, why)
	}
	v, err := parseJSON(raw)
	if err != nil {
		return nil, fault.New(fault.Invalid, op, "%s: the value is no JSON", key)
	}
	if v.Value.Kind() == 'n' {
		return nil, nil
	}
	if lit, ok := v.Value.(hujson.Literal); ok && lit.Kind() == '"' {
		v = k.valueOf(lit.String())
	}
	if err := k.set(&v, settings.Origin{Scope: scope}, make(map[string]settings.Origin)); err != nil {
		return nil, fault.New(fault.Invalid, op, "%s %w", key, err)
	}
	if k.kind() != textsKind {
		return k.value(), nil
	}
	v.Standardize() // as it is given: the value has other files' besides
	return json.RawMessage(v.Pack()), nil
}
