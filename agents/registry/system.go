package registry

// The agents that are in the binary.

import (
	_ "embed"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// mainFile is the agent file of main.
//
//go:embed main.md
var mainFile []byte

// mainAgent returns main, with another prompt if one is given.
func mainAgent(prompt string) *definition.Definition {
	d := definition.Parse(definition.Source{Scope: definition.System, Data: mainFile})
	switch {
	case prompt != "":
		d.Prompt = prompt
	case definition.HasNoEffect("subagents"):
		d.Prompt = strings.Replace(d.Prompt, handOver, "", 1)
		d.Description = strings.Replace(d.Description, ", and passes work to other agents", "", 1)
	}
	return d
}

// handOver is the line of main's prompt that has it delegate.
const handOver = "- Hand a part to another agent when its description fits better than yours, and tell it all that it needs to know: it does not see this conversation.\n"
