package agents

// The agent of a run that begins, and whether it may run.

import (
	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/registry"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// find returns the agent that a run is of, as the settings have it, and its
// folder. The checks go from what is true of the file to what is true of who asks. The
// error says why it does not run: unknownAgent, invalidAgent, untrusted, denied, or
// what a review says. It asks nobody.
func (s *Service) find(p Start) (*effective, string, error) {
	name := p.Agent
	if name == "" {
		name = mainAgent
	}
	folder := p.Folder
	if folders := s.Folders(); folder == "" && len(folders) > 0 {
		folder = folders[0]
	}
	def := p.Definition
	if def == nil {
		entry, err := s.Agents().Lookup(folder, name)
		if err != nil {
			return nil, "", err
		}
		def = entry.Definition
	} else if ok, why := def.Usable(); !ok {
		return nil, "", fault.New(fault.Invalid, "agents.start", "%s cannot run: %s", def.Name, why.Message).
			Because(fault.InvalidAgent, "problems", def.Problems)
	}
	// A file of an untrusted folder must not take the place of the person's own agent.
	def = s.unhide(def, name)
	if def.FromProject() {
		folder = def.Folder
	}
	if err := s.checkPermitted(def); err != nil {
		return nil, "", err
	}
	if len(def.Authority) > 0 {
		return nil, "", fault.New(fault.Denied, "agents.start",
			"%s does not run, since a restriction of its file cannot be kept here (%s); %s", def.Name, def.Authority[0],
			definition.AuthorityAdvice).
			Because(fault.InvalidAgent, "problems", def.Problems)
	}
	if p.from.parent != nil && !def.Delegable {
		return nil, "", fault.New(fault.Denied, "agents.start", "%s is run by a person, not by other agents (%s)",
			def.Name, "disable-model-invocation").Because(fault.Refused)
	}
	// Routing and a run that is taken up again count as a way of their own: nobody names the
	// agent there.
	if !def.UserInvocable && !p.from.byAgent() && p.decided == nil && p.from.past == nil {
		return nil, "", fault.New(fault.Denied, "agents.start",
			"%s is not meant to be run by a person (user_invocable: false)", def.Name).Because(fault.Refused)
	}
	// The settings of the agent's own folder, which may be another than the request's.
	agent := override(def, s.Settings(folder).Overrides[def.Name])
	if off := agent.Off; off != (authority.Origin{}) {
		return nil, "", fault.New(fault.Denied, "agents.start", "%s is switched off by the setting %s (%s:%d)",
			def.Name, off.What, off.File, off.Line).Because(fault.Refused)
	}
	return &agent, folder, nil
}

// checkPermitted returns why an agent does not run: it comes with a folder that is
// not trusted, or has to be looked at first (spec 4.4). It is asked again when a run
// that waited comes to its turn. Where it cannot be told whether a folder is trusted it
// is not.
func (s *Service) checkPermitted(def *definition.Definition) error {
	if folder := def.Folder; def.FromProject() && !s.Trusted(folder) {
		if err := s.trustError(folder); err != nil {
			return fault.New(fault.Unavailable, "agents.start",
				"%s comes with the folder %s, and it cannot be told whether that is trusted: %s", def.Name,
				folder, fault.Message(err))
		}
		return fault.New(fault.Denied, "agents.start",
			"%s comes with the folder %s, which is not trusted; look at its agents, then trust it with the command agentls.trustWorkspace of your editor (agents/trust) or `agentls trust %s`", def.Name, folder, folder).
			Because(fault.Untrusted, "folder", tool.URI(folder))
	}
	if s.Reviewed != nil {
		return s.Reviewed(def)
	}
	return nil
}

// trustError returns why it cannot be told whether a folder is trusted; nil where it can.
func (s *Service) trustError(folder string) error {
	if s.TrustError == nil {
		return nil
	}
	return s.TrustError(folder)
}

// locate sets the folders that a call may reach, and which of them are trusted,
// as they are now. It is called before each call, so what the person has changed since
// holds.
func (s *Service) locate(env *tool.Env, additional []string) {
	folders := s.Folders()
	env.Folders = append(folders, additional...)
	env.Trusted, env.Strange = s.Trusted(env.Folder), nil
	env.TrustError = s.trustError(env.Folder)
	env.Hosts, env.Proxy = s.Settings(env.Folder).Hosts, s.Proxy
	for _, folder := range folders {
		if !s.Trusted(folder) {
			env.Strange = append(env.Strange, folder)
		}
	}
}

// hiddenAgent returns the agent that a project's agent of the same name hides, nil
// for none.
func (s *Service) hiddenAgent(name string) *definition.Definition {
	for _, e := range s.Agents().Entries() { // by scope: the first is the one that would count
		if d := e.Definition; e.State == registry.Shadowed && d.Name == name && !d.FromProject() {
			if ok, _ := d.Usable(); ok {
				return d
			}
		}
	}
	return nil
}

// unhide returns the person's own agent of a name instead of one that comes with an
// untrusted folder: nothing of such a folder takes effect, so it hides nothing either.
func (s *Service) unhide(def *definition.Definition, name string) *definition.Definition {
	if def.FromProject() && !s.Trusted(def.Folder) {
		if own := s.hiddenAgent(name); own != nil {
			return own
		}
	}
	return def
}
