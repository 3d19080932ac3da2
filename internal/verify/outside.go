package verify

import (
	"context"
	"time"

	"github.com/agentls/agentls/agents"
	"github.com/agentls/agentls/agents/replay"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
)

// hooks decide what they decided.
type hooks struct{ recording *replay.Recording }

var _ run.Hooks = hooks{}

// Has implements [run.Hooks].
func (h hooks) Has(_, event string) bool { return h.recording.HasHooks(event) }

// Fire implements [run.Hooks]. A point at which no hook was recorded gets "allow", as
// if there were none.
func (h hooks) Fire(_ context.Context, e run.HookEvent) run.HookAnswer {
	was, ok := h.recording.Hook(replay.Point{Run: e.Run, Agent: e.Agent, Turn: e.Turn, Event: e.Name, Call: e.Call})
	if !ok {
		return run.HookAnswer{Decision: "allow"}
	}
	answer := run.HookAnswer{Decision: was.Decision, Reason: was.Reason, Stop: was.Stop,
		Context: was.Context, Edited: was.Edited}
	for _, ran := range was.Ran {
		answer.Ran = append(answer.Ran, run.HookRan{HookRan: ran.HookRan,
			Took: time.Duration(ran.Ms) * time.Millisecond})
	}
	return answer
}

// servers offer what they offered.
type servers struct{ recording *replay.Recording }

var _ agents.Servers = servers{}

// Offer implements [agents.Servers]. Nothing is started.
func (s servers) Offer(_ context.Context, _ string, names []string) agents.ServerTools {
	tools, left := s.recording.ServerTools(names)
	return agents.ServerTools{Tools: tools, Problems: left}
}

// States implements [agents.Servers].
func (s servers) States(string) map[string]string { return nil }

// LastTools implements [agents.Servers].
func (s servers) LastTools(string, []string) []tool.Tool { return nil }
