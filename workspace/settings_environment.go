package workspace

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agentls/agentls/internal/fault"
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
		k, _ := settingKeyOf(e.key)
		v := valueOfText(k, text)
		if err := k.set(s, &v, Origin{Scope: EnvironmentScope, File: e.variable}); err != nil {
			s.Problems = append(s.Problems, SettingsProblem{File: e.variable, Key: e.key,
				Message: fmt.Sprintf("%q does not count: %s %s", text, e.key, err)})
		}
	}
}

// settingKeyOf returns the row of a typed key.
func settingKeyOf(key string) (settingKey, bool) {
	for _, k := range settingKeys() {
		if k.key == key {
			return k, true
		}
	}
	return settingKey{}, false
}

// valueOfText returns what a person means by a text in the place of a key's value:
// true and false may be 1 and 0, and what is no JSON is a string.
func valueOfText(k settingKey, text string) hujson.Value {
	switch standard, _ := k.get(defaultSettings()); standard.(type) {
	case bool:
		switch text {
		case "1":
			text = "true"
		case "0":
			text = "false"
		}
	case string:
		return quote(text)
	}
	if v, err := parseJSON([]byte(text)); err == nil {
		return v
	}
	return quote(text)
}

func quote(text string) hujson.Value {
	raw, _ := json.Marshal(text)
	return hujson.Value{Value: hujson.Literal(raw)}
}

// Check returns the value that a typed key would get in a file of a scope, as JSON has
// it: raw is JSON, and a string stands for what a person types for the key. nil is for
// null, which takes the key away. The errors are for a person: [fault.NotFound] for a key
// that has no type here, [fault.Denied] for one that a project may not set so, and
// [fault.Invalid] for a value that the key does not take.
func (s *Settings) Check(key string, raw []byte, scope Scope) (any, error) {
	const op = "workspace.checkSetting"
	k, ok := settingKeyOf(key)
	if !ok {
		meant := ""
		if near := nearestKey(key, keysWithType()); near != "" {
			meant = "; did you mean " + near + "?"
		}
		return nil, fault.New(fault.NotFound, op, "there is no setting %s that can be changed here%s", key, meant)
	}
	if why := whyNotProject(strings.Split(key, ".")); why != "" && scope == ProjectScope {
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
		v = valueOfText(k, lit.String())
	}
	tried := *s
	if err := k.set(&tried, &v, Origin{Scope: scope}); err != nil {
		return nil, fault.New(fault.Invalid, op, "%s %w", key, err)
	}
	value, _ := k.get(&tried)
	if _, list := value.([]string); !list {
		return value, nil
	}
	v.Standardize() // as it is given: the value has other files' besides
	return json.RawMessage(v.Pack()), nil
}

// keysWithType returns the keys that have a type here.
func keysWithType() []string {
	var keys []string
	for _, k := range settingKeys() {
		keys = append(keys, k.key)
	}
	return keys
}
