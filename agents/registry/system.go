package registry

// The agents that are in the binary.

import (
	_ "embed"

	"github.com/agentls/agentls/agents/definition"
)

// mainFile is the agent file of main.
//
//go:embed main.md
var mainFile []byte

// mainAgent returns main, with another prompt if one is given.
func mainAgent(prompt string) *definition.Definition {
	d := definition.Parse(definition.Source{Scope: definition.System, Data: mainFile})
	if prompt != "" {
		d.Prompt = prompt
	}
	return d
}
