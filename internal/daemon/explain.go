package daemon

import (
	"maps"
	"slices"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/explanation"
	"github.com/agentls/agentls/workspace"
)

// origin is a place of the settings as explanations have it; zero for a default.
func origin(o workspace.Origin, key string) explanation.Origin {
	if o.File == "" {
		return explanation.Origin{}
	}
	return explanation.Origin{File: o.File, Line: o.Line, What: key}
}

// readOrigins notes where the values are written that runs go by. What the lists
// of tools say is noted where they are read.
func (s *folderSettings) readOrigins(all *workspace.Settings) {
	a, limits := all.Agents, all.Agents.Limits
	of := s.runs.Origins
	of.Of = make(map[string]explanation.Origin)
	for key, o := range map[string]workspace.Origin{
		"model.name": all.Model.Name.Origin, "agents.fallbackModels": a.FallbackModels.Origin,
		"agents.confirmationTimeout": a.ConfirmationTimeout.Origin,
		"agents.compression.model":   a.Compression.Model.Origin,
		"agents.limits.modelCalls":   limits.ModelCalls.Origin, "agents.limits.depth": limits.Depth.Origin,
		"agents.limits.live": limits.Live.Origin,
		"agents.limits.runs": limits.Runs.Origin, "agents.limits.inputTokens": limits.InputTokens.Origin,
	} {
		if o.File != "" {
			of.Of[key] = origin(o, key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all.MCPServers)) {
		of.Servers = append(of.Servers, authority.Server{Name: name,
			Origin: origin(all.MCPServers[name].Origin, "mcpServers."+name)})
	}
}

// noting reads what is written at a place, and notes that what it adds to the
// lists of tools comes from there.
func (s *folderSettings) noting(at explanation.Origin, read func()) {
	exclude, deny, allow := len(s.runs.Exclude), len(s.runs.Deny), len(s.runs.Allow)
	read()
	of := s.runs.Origins
	if names := s.runs.Exclude[exclude:]; len(names) > 0 {
		of.Exclude = append(of.Exclude, authority.List{Names: slices.Clone(names), Origin: at})
	}
	of.Deny = append(of.Deny, slices.Repeat([]explanation.Origin{at}, len(s.runs.Deny)-deny)...)
	of.Allow = append(of.Allow, slices.Repeat([]explanation.Origin{at}, len(s.runs.Allow)-allow)...)
}

// listOrigin is where a list is written: its first entry, else the file that says
// it last.
func listOrigin(list []workspace.Raw, last workspace.Origin, key string) explanation.Origin {
	if len(list) > 0 {
		last = list[0].Origin
	}
	return origin(last, key)
}

// unreviewed reports whether a project's agent runs though the person has not
// looked at it: its folder is trusted for this process only, and no record
// approves the file as it is.
func (b *daemon) unreviewed(d *definition.Definition) bool {
	if d.Scope != definition.Project || !b.trusted(d.Folder) {
		return false
	}
	of := b.recordedBasis(d.Folder)
	if of.reviewed && !b.Trust {
		return false // what no record approves does not run there
	}
	return !of.reviewed || !of.approves(d)
}
