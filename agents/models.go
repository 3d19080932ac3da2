package agents

import (
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// choose returns the models that may answer for an agent.
func (s *Service) choose(def *definition.Definition, override string, set Settings) ([]run.Choice, error) {
	fallbacks := def.FallbackModels
	if len(fallbacks) == 0 {
		fallbacks = set.FallbackModels
	}
	var choices []run.Choice
	for i, name := range append([]string{s.ModelOf(def, override, set)}, fallbacks...) {
		id, entry, _ := s.Table.Resolve(name, defaultModel)
		m, err := s.Provider(id)
		if err != nil {
			if i == 0 {
				return nil, err
			}
			continue // a fallback that is not configured cannot help
		}
		choices = append(choices, run.Choice{ID: id, Model: m, Window: entry.Window})
	}
	return choices, nil
}

// defaultModel is the entry of the table that agents run with when nobody says
// another.
const defaultModel = "flash"

// ModelOf returns the name of the model that an agent runs with: what the
// caller says, else the agent's file, else the settings, else the table's
// default. It may be an alias.
func (s *Service) ModelOf(def *definition.Definition, override string, set Settings) string {
	for _, name := range []string{override, def.Model, set.Model} {
		if name != "" && name != "inherit" {
			return name
		}
	}
	return defaultModel
}

// Resolve returns the id of the model that an agent would run with.
func (s *Service) Resolve(def *definition.Definition) string {
	id, _, _ := s.Table.Resolve(s.ModelOf(def, "", s.Settings(def.Folder)), defaultModel)
	return id
}

// ToolsOf returns the tools that an agent is offered, by name.
func (s *Service) ToolsOf(def *definition.Definition) []tool.Tool {
	return s.toolSet(def, s.Settings(def.Folder)).Offered()
}

func (s *Service) toolSet(def *definition.Definition, settings Settings) *tool.Set {
	return tool.NewSet(tool.SetConfig{
		Tools: s.Tools, Exclude: settings.Exclude, Deny: def.Tools.Deny,
		Allow: def.Tools.Allow, Restricted: def.Tools.Given, Canonical: definition.CanonicalTool,
	})
}
