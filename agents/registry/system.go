package registry

// The agents that are in the binary.

import (
	_ "embed"
	"slices"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/prompt"
)

// mainFile is the front-matter of main. Its prompt is that of a run with all tools
// and a person; each run has its own (package prompt).
//
//go:embed main.md
var mainFile []byte

//go:embed codebase_investigator.md
var investigatorFile []byte

// systemAgents returns the agents that are in the binary.
// They are parsed anew for each registry.
func systemAgents() []*definition.Definition {
	return []*definition.Definition{mainAgent(), definition.Parse(definition.Source{Scope: definition.System,
		Data: investigatorFile})}
}

// mainAgent returns main, which may use every tool that there is.
func mainAgent() *definition.Definition {
	var tools []string
	for _, t := range definition.ToolNames() {
		tools = append(tools, t.Name)
	}
	text, _ := prompt.Config{}.Main(prompt.Facts{Interactive: true, Repository: true,
		Tools: tools}) // it reads and writes no file
	d := definition.Parse(definition.Source{Scope: definition.System, Data: slices.Concat(mainFile, []byte(text))})
	return d
}
