package agents

import (
	"context"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/run"
)

// Compress makes an agent's context in a session shorter (spec 8.3), and says
// what became of it; "" stands for main and for the default session. force does
// it below the threshold too, and after a failure. The error has the reason
// unknownAgent, unknownSession, authRequired, or busy while the agent has a run
// there. What a model answers is counted by no run. It blocks for that, and heeds ctx.
// The event is on stable storage when it returns without an error; a failure of the
// compression itself is in the event's status and no error.
func (s *Service) Compress(ctx context.Context, id, agent string, force bool) (activity.ContextCompressed, error) {
	none := activity.ContextCompressed{}
	found, folder, err := s.find(Start{Agent: agent})
	if err != nil {
		return none, err
	}
	def, settings := found.Definition, s.Settings(folder)
	name := s.ModelOf(def, "", settings)
	if name == model.Auto {
		name = defaultModel
	}
	choices, err := s.choose(def, name, settings)
	if err != nil {
		return none, err
	}
	conv, err := s.openKept(id)
	if err != nil {
		return none, err
	}
	release, err := s.exclude(conv.ID, def.Name)
	if err != nil {
		return none, err
	}
	defer release()
	conv.CloseCalls(def.Name)
	event, err := run.Compress(ctx, run.Outside{
		Session: conv, Definition: def, Window: choices[0].Entry.Window,
		Compression: s.summarizer(settings, choices[0]),
		Force:       force, Folder: folder, Now: s.Now, Hooks: s.Hooks, ID: conv.ID, Transcript: conv.File(),
	})
	if err != nil {
		return none, err
	}
	return event, conv.Commit(ctx, conv.Log.Last())
}

// openKept returns a session that is open or lies on disk; "" is the default one. The
// error has the reason unknownSession for one that is not there.
func (s *Service) openKept(id string) (*conversation, error) {
	if id != "" {
		if _, err := s.Sessions.Get(id); err != nil {
			return nil, err
		}
	}
	conv, _, err := s.open(id)
	return conv, err
}
