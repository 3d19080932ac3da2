package session

import (
	"slices"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
)

// Session is one conversation, open for writing. Its methods may be called from
// any goroutine.
type Session struct {
	// ID is the session's name.
	ID string
	// Log is its timeline. Every event goes through it.
	Log *activity.Log
	// Note says why the session is another one than was asked for; "" when it
	// is not. The log has it as a note too.
	Note string

	store *Store
	lock  *lock // nil in memory

	mu    sync.Mutex // taken under the log's lock, so never held while it is called
	views map[string]*view
	total totals
}

// fold is told every event but deltas, by the log, in order.
func (s *Session) fold(e activity.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Input that waits for a run of its own is said by that run's start.
	if _, ok := e.Body.(activity.Input); ok {
		if r := s.total.run(e.Run); r == nil || r.State == activity.Finished {
			s.total.apply(e)
			return
		}
	}
	s.total.apply(e)
	if e.Agent == "" {
		return
	}
	v := s.views[e.Agent]
	if v == nil {
		v = &view{}
		s.views[e.Agent] = v
	}
	v.apply(e)
}

// begun takes what the log's header says; zero where it is lost.
func (s *Session) begun(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !at.IsZero() {
		s.total.info.CreatedAt = at
	}
	if s.total.info.UpdatedAt.IsZero() {
		s.total.info.UpdatedAt = at
	}
}

// Context returns an agent's conversation as a model is sent it (spec 3.6):
// messages that alternate, the first by the user; while calls of the last reply
// go on, that reply is the last. Input that waits for the run's next turn is in
// it once that turn has started. The messages must not be modified. An agent
// that has not run has none.
//
// A result that lies in a blob is read; where the blob is lost, the result says
// so.
func (s *Session) Context(agent string) []model.Message {
	s.mu.Lock()
	v := s.views[agent]
	if v == nil {
		s.mu.Unlock()
		return nil
	}
	messages, apart := slices.Clone(v.messages), v.apart
	s.mu.Unlock()
	if apart {
		for i := range messages {
			s.gather(&messages[i])
		}
	}
	return messages
}

// gather reads the results that lie in blobs into a message.
func (s *Session) gather(m *model.Message) {
	copied := false
	for i, p := range m.Parts {
		if p.Result == nil || p.Result.Content != "" || p.Result.Blob == "" {
			continue
		}
		if !copied {
			m.Parts, copied = slices.Clone(m.Parts), true
		}
		r := *p.Result
		if data, err := s.GetBlob(r.Blob); err == nil {
			r.Content = valid(string(data))
		} else {
			r.Content, r.Error = "[this result was lost: "+r.Blob+"]", true
		}
		m.Parts[i].Result = &r
	}
}

// ActiveAt returns when an agent's context began and when something last
// happened in it; zero times for an agent that has not run.
func (s *Session) ActiveAt(agent string) (started, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.views[agent]; v != nil {
		return v.started, v.active
	}
	return time.Time{}, time.Time{}
}

// Mend ends the calls of an agent's context that nobody will end any more,
// since the run that made them was interrupted, paused or is over: each gets a
// tool.state cancelled that says so. Call it before a run of the agent begins
// or goes on. It returns the number of the last event, 0 when there was nothing
// to mend.
func (s *Session) Mend(agent string) uint64 {
	s.mu.Lock()
	var open []openCall
	if v := s.views[agent]; v != nil {
		for _, c := range v.open() {
			if r := s.total.run(c.about.Run); r == nil || r.State != activity.Running && r.State != activity.Waiting {
				open = append(open, c)
			}
		}
	}
	s.mu.Unlock()
	var last uint64
	for _, c := range open {
		last = s.Log.Append(c.about, activity.ToolState{
			Call: c.call.ID, Name: c.call.Name, Args: c.call.Args, State: activity.Cancelled, Risk: c.risk,
			Error: &activity.ToolError{Code: "tool.interrupted", Message: interrupted},
		}, 0)
	}
	return last
}

// interrupt records that the runs that went on when the last daemon ended do so
// no more. A run that waited for a person is one of them: its question is void
// (REL-103). A paused one stays paused (spec 3.5).
func (s *Session) interrupt() {
	s.mu.Lock()
	var live []Run
	for _, r := range s.total.runs {
		if r.State == activity.Running || r.State == activity.Waiting {
			live = append(live, r)
		}
	}
	s.mu.Unlock()
	for _, r := range live {
		s.Log.Append(r.about, activity.RunState{From: r.State, To: activity.Interrupted, Why: "the daemon ended", Resumes: "agents/resume"}, 0)
	}
}

// HasRun reports whether a run of the session has the id.
func (s *Session) HasRun(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total.run(id) != nil
}

// Info returns what the session's events add up to.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := s.total.info
	info.Session, info.Folder = s.ID, s.store.cfg.Folder
	info.Agents = append([]string{}, info.Agents...)
	info.AgentChain = append([]string{}, info.AgentChain...)
	info.State = s.total.state()
	if info.Cost != nil {
		info.Cost = new(*info.Cost)
	}
	return info
}

// Runs returns the session's runs, in the order in which they started.
func (s *Session) Runs() []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Run{}, s.total.runs...)
}

// PutBlob keeps data beside the sessions of the workspace, once, and returns its
// name: the hex SHA-256. It is on stable storage when PutBlob returns. The error
// is fault.Unavailable.
func (s *Session) PutBlob(data []byte) (sha string, err error) { return s.store.blobs.put(data) }

// GetBlob returns what PutBlob kept. A name that is none gives fault.Invalid,
// one that is not there fault.NotFound, and data that does not match its name
// any more fault.Unavailable.
func (s *Session) GetBlob(sha string) ([]byte, error) { return s.store.blobs.get(sha) }

// Close writes and syncs the log and lets others have the session. The error is
// the log's. Closing twice does nothing.
func (s *Session) Close() error { return s.store.close(s) }
