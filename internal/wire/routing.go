package wire

import (
	"encoding/json"
	"fmt"

	"github.com/agentls/agentls/agents/activity"
)

type (
	// RouteParams asks which agent an input is for that names none.
	RouteParams struct {
		// What the person typed, without an agent's name.
		Input    string `json:"input"`
		Strategy string `json:"strategy,omitempty"` // rule, llm, hybrid; absent = the settings'
		URI      string `json:"uri,omitempty"`      // of the document that it is about; absent = the first folder
	}

	// RouteResult says which, and why (spec 5.1). Nothing has run.
	RouteResult struct {
		activity.RouteDecided
	}

	// ConfigGetParams names a setting, or a section of settings.
	ConfigGetParams struct {
		Key string `json:"key,omitempty"` // with dots; agents. may be left out. Absent = all
	}

	// ConfigGetResult has the settings that hold, in alphabetical order.
	ConfigGetResult struct {
		Values   []ConfigValue `json:"values"`
		Problems []string      `json:"problems"` // of these settings, a sentence each with its place: what does not count
	}

	// ConfigValue is one setting.
	ConfigValue struct {
		Key string `json:"key"` // with dots
		// What holds, in the form of the settings file.
		Value    json.RawMessage `json:"value"`
		Scope    string          `json:"scope"`              // default, user, project, environment
		URI      string          `json:"uri,omitempty"`      // of the file that says so
		Line     int             `json:"line,omitzero"`      // there, from 1
		Variable string          `json:"variable,omitempty"` // of the environment, that says so
		// What it does, in a sentence.
		Doc string `json:"doc"`
	}

	// ConfigSetParams changes a setting in a file, in which the rest stays as it is,
	// comments included.
	ConfigSetParams struct {
		// With dots; agents. may be left out.
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`           // a string stands for what a person types; null takes the key away
		Scope string          `json:"scope,omitempty"` // project (default), global
	}

	// ConfigSetResult says where it was written, and what holds now.
	ConfigSetResult struct {
		// The settings file.
		URI string `json:"uri"`
		// What holds now, which another file or a variable may decide.
		Value ConfigValue `json:"value"`
	}
)

// Check implements the server's check of parameters.
func (p *RouteParams) Check() (string, error) {
	if at, err := checkRequired("input", p.Input); err != nil {
		return at, err
	}
	return oneOf("strategy", p.Strategy, "", "rule", "llm", "hybrid")
}

// Check implements the server's check of parameters.
func (p *ConfigSetParams) Check() (string, error) {
	if at, err := checkRequired("key", p.Key); err != nil {
		return at, err
	}
	if len(p.Value) == 0 {
		return "value", fmt.Errorf("is required; null takes the setting away")
	}
	return oneOf("scope", p.Scope, "", "project", "global")
}
