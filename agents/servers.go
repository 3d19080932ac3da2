package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
)

// Servers are the MCP servers of the settings (spec 9.1). They are safe for
// concurrent use.
type Servers interface {
	// Offer returns the tools of servers in a folder, by their names in the settings;
	// "*" is all. Those that do not run are started. It waits, for a moment, only for
	// servers that were never seen.
	Offer(ctx context.Context, folder string, servers []string) ServerTools
	// States returns what each server does now, in a word. By name in the settings. It
	// does not wait.
	States(folder string) map[string]string
	// LastTools returns the tools as they were offered last. It starts nothing.
	LastTools(folder string, servers []string) []tool.Tool
}

// ServerTools are the tools of servers that a run gets.
type ServerTools struct {
	Tools    []tool.Tool
	Problems []string       // why others are left out, for the person and the model
	Changes  []ServerChange // that the person has not been asked about
}

// ServerChange is tools of a server that are new or changed since the person
// approved it, and are not offered until they do.
type ServerChange struct {
	Server  string
	Tools   []string // with their descriptions, a line each
	Approve func() error
	// The person could not be asked: the next run is told of it as well. It is called at most once,
	// and neither after Approve.
	Again func()
}

// serversOf returns the tools of the servers that an agent may use, for a run. It may
// wait for servers that start, with ctx.
func (s *Service) serversOf(ctx context.Context, r *planned) ServerTools {
	if s.Servers == nil || len(r.def.MCPServers) == 0 {
		return ServerTools{}
	}
	return s.Servers.Offer(ctx, r.folder, r.def.MCPServers)
}

// toolsOf returns the tools of the servers that an agent may use, as far as they
// are known.
func (s *Service) toolsOf(def *definition.Definition, folder string) []tool.Tool {
	if s.Servers == nil || len(def.MCPServers) == 0 {
		return nil
	}
	return s.Servers.LastTools(folder, def.MCPServers)
}

// problems are those of the tools that are left out, for the run's result.
func (t ServerTools) problems() []definition.Problem {
	var list []definition.Problem
	for _, message := range t.Problems {
		list = append(list, definition.Problem{Code: "mcp/left-out", Severity: definition.Warning, Message: message})
	}
	return list
}

// beginWith returns first, which also tells what servers do not offer: to the
// person once in a session, and to the model with it.
func (c *conversation) beginWith(offered ServerTools, first func(*Live) (uint64, error)) func(*Live) (uint64, error) {
	if len(offered.Problems) == 0 {
		return first
	}
	return func(live *Live) (uint64, error) {
		// First the run's beginning, which the note belongs to.
		seq, err := first(live)
		if err != nil {
			return seq, err
		}
		c.mu.Lock()
		var news []string
		for _, problem := range offered.Problems {
			if !c.toldOfServers[problem] {
				news = append(news, problem)
			}
			if c.toldOfServers == nil {
				c.toldOfServers = make(map[string]bool)
			}
			c.toldOfServers[problem] = true
		}
		c.mu.Unlock()
		if len(news) > 0 {
			c.Append(live.about, activity.Note{Level: "warning", Message: strings.Join(news, "\n"), ToModel: true}, 0)
		}
		return seq, nil
	}
}

// askAboutServers asks the person about tools that changed, beside the run: their
// answer holds from the next run on. It returns at once; the questions go on in s.work,
// so the service waits for them when it closes.
func (s *Service) askAboutServers(ctx context.Context, ask tool.Ask, changes []ServerChange) {
	for _, change := range changes {
		// Nobody can be asked: the question is left to the next run.
		if ask == nil {
			change.Again()
			continue
		}
		s.work.Go(func() {
			const no, yes = "Leave them out", "Approve"
			answer, err := ask(ctx, tool.Question{
				Title: "MCP server " + change.Server,
				Message: fmt.Sprintf("The MCP server %s has tools that are new or changed since you approved it. The server describes them so:\n\n%s\n\nShall agents have them from the next run on?",
					change.Server, strings.Join(change.Tools, "\n")),
				Choices: []string{no, yes}, Aside: true,
			})
			if err != nil {
				change.Again()
				return
			}
			if answer.Action != "accept" || answer.Text != yes {
				return
			}
			if err := change.Approve(); err != nil {
				s.Log.Warn("the tools of an MCP server were approved, and that could not be kept", "server",
					change.Server, "err", err)
			}
		})
	}
}

// ServerChanged tells the runs that go on in a folder what became of a server. It is
// told in the log of their sessions.
func (s *Service) ServerChanged(folder, server, state, why string) {
	for _, live := range s.Live() {
		if live.folder == folder && live.servers[server] && live.run.Begun() && !live.run.Ended() {
			live.log.Append(live.about, activity.MCPState{Server: server, State: state, Why: why}, 0)
		}
	}
}

// serversIn returns the servers that tools are of.
func serversIn(tools *tool.Set) map[string]bool {
	names := make(map[string]bool)
	for _, t := range tools.List() {
		if of, ok := t.(interface{ Server() string }); ok {
			names[of.Server()] = true
		}
	}
	return names
}

// withStates returns the servers of the settings with what they do now.
func (s *Service) withStates(servers []authority.Server, folder string) []authority.Server {
	if s.Servers == nil || len(servers) == 0 {
		return servers
	}
	states := s.Servers.States(folder)
	servers = slices.Clone(servers)
	for i := range servers {
		servers[i].State = states[servers[i].Name]
	}
	return servers
}
