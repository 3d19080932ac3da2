package session

import (
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/internal/fault"
)

// Session is one conversation, open for writing. Its methods may be called from
// any goroutine.
//
// It belongs to its store, which has one for each id; several callers share it, and
// it is closed once ([Session.Close], [Store.Close]). After that reading methods tell
// what was, and Append of its log returns 0. One that [Store.Watch] returned is
// read-only.
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

	rewinding sync.Mutex // held by Rewind, so that two do not share what they bring back

	mu       sync.Mutex                   // taken under the log's lock, so never held while it is called
	views    map[string]*view             // by [activity.Origin.ContextID]
	marks    map[string][]mark            // of each view, in order
	warm     bool                         // marks keep what they are of, whatever it costs
	brought  map[string]view              // what a rewind brings back that its marks do not keep
	texts    map[string]map[string]string // of results that lie in blobs, by context and blob, once they were read
	waiting  []activity.Event             // inputs of runs that wait for their turn
	purged   map[string]uint64            // the newest event that says so of an agent
	total    totals
	progress map[string]*progress // of the runs that have not finished
	files    map[string]*FileHistory
	nodes    map[string]map[string]string // by run of a graph, the states of its nodes
	taints   map[string]string            // by run, what the model read of others ([activity.ToolState])
	approval string

	setting   sync.Mutex // held while a value is set, so that what is checked of it holds; taken before mu
	state     state
	stateThen *state // what a rewind brings back, where the log was read for it
}

// blank returns a session that nothing has happened in.
func (s *Store) blank(id string) *Session {
	return &Session{
		ID: id, store: s, warm: true, views: make(map[string]*view), marks: make(map[string][]mark),
		purged:   make(map[string]uint64),
		progress: make(map[string]*progress), files: make(map[string]*FileHistory),
	}
}

// readHeader takes what the log's header says; zero where it is lost.
func (s *Session) readHeader() {
	at := s.Log.CreationTime()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total.title, s.total.info.Agent = s.Log.Title(), s.Log.Agent()
	if !at.IsZero() {
		s.total.info.CreatedAt = at
	}
	if s.total.info.UpdatedAt.IsZero() {
		s.total.info.UpdatedAt = at
	}
}

// Context returns the conversation of a context as a model is sent it (spec 3.6). The
// id is the agent's name for its own context, and another one for that of a delegated
// run ([activity.Origin.ContextID]). It has
// messages that alternate, the first by the user; while calls of the last reply
// go on, that reply is the last. Input that waits for the run's next turn is in
// it once that turn has started. The messages must not be modified. An agent
// that has not run has none.
//
// What lies in blobs is read: a long result, the data of images and documents.
// Where a blob is lost, the result says so.
//
// Reading blobs takes the disk's time; a result is read once and kept while the
// context is in use.
func (s *Session) Context(id string) []model.Message {
	s.mu.Lock()
	v := s.views[id]
	if v == nil {
		s.mu.Unlock()
		return nil
	}
	messages, apart := slices.Clone(v.messages), v.apart
	s.mu.Unlock()
	if apart {
		for i := range messages {
			s.gather(id, &messages[i])
		}
	}
	return messages
}

// gather reads the results that lie in blobs into a message.
// The message's parts are copied before they are changed, since views and marks share
// them. A blob that is lost is told to the model in its place.
func (s *Session) gather(id string, m *model.Message) {
	copied := false
	for i, p := range m.Parts {
		if !apart(p) {
			continue
		}
		if !copied {
			m.Parts, copied = slices.Clone(m.Parts), true
		}
		r := *p.Result
		if r.Content == "" && r.Blob != "" {
			if text, err := s.text(id, r.Blob); err == nil {
				r.Content = text
			} else {
				r.Content, r.Error = "[this result was lost: "+r.Blob+"]", true
			}
		}
		r.Media = nil
		for _, media := range p.Result.Media {
			data, err := s.GetBlob(media.Blob)
			if err != nil {
				r.Content += "\n[data of the type " + media.MimeType + " was lost: " + media.Blob + "]"
				continue
			}
			media.Data = data
			r.Media = append(r.Media, media)
		}
		m.Parts[i].Result = &r
	}
}

// Tokens returns how many tokens a context has: what the provider
// counted with the agent's last answer, prompt and tools included, and an
// estimate of what came since. estimated is whether that is not the provider's
// own count: something came since, there is no count, or the context was made
// shorter (then it goes on from what was estimated for that).
func (s *Session) Tokens(id string) (n int, estimated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.views[id]; v != nil {
		return v.tokens()
	}
	return 0, true
}

// CompressionFailed reports whether an attempt to make a context
// shorter failed: then it is not tried again unless somebody asks for it (spec
// 8.3). A snapshot later, or clearing the context, ends it; taking results out
// does not ([compression.Drop]).
func (s *Session) CompressionFailed(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[id]
	return v != nil && v.failed
}

// Clear ends an agent's context: its next run begins a new one (spec 3.7). With
// purge what the context held is erased as well, from the log's files, from
// blobs that nothing else in the workspace refers to, and from the session's
// title; numbers, states and what was used stay ([activity.Purged]). It returns
// the number of the event that says so; 0 when there was nothing to clear.
//
// The error is fault.Unavailable: with the reason busy while the agent has a run
// that goes on or waits for a person; else the log is closed, or not all could
// be erased, which the next Clear, or the next time the session is opened, goes
// on with.
//
// A purge waits for the disk. Clearing a context that is empty already is no event.
func (s *Session) Clear(agent string, purge bool) (seq uint64, err error) {
	s.mu.Lock()
	v := s.views[agent]
	var live string
	for _, r := range s.total.runs {
		if r.Agent == agent && r.live() {
			live = r.Run
		}
	}
	empty := v == nil || (!purge && v.empty())
	s.mu.Unlock()
	switch {
	case live != "":
		return 0, fault.New(fault.Unavailable, "session.clear",
			"%s has a run in the session %s (%s): wait for it or cancel it.", agent, s.ID, live).
			Because(fault.Busy, "run", live)
	case empty:
		return 0, nil
	}
	seq = s.Log.Append(activity.Origin{Agent: agent}, activity.ContextCleared{Agent: agent, Purged: purge}, 0)
	if seq == 0 {
		return 0, fault.New(fault.Unavailable, "session.clear", "The session %s is closed: nothing was cleared.", s.ID)
	}
	if !purge {
		return seq, nil
	}
	err = s.purge(agent, seq)
	return seq, err
}

// purge erases what an agent's events before seq hold.
func (s *Session) purge(agent string, seq uint64) error {
	blobs, err := s.Log.Purge(agent, seq-1)
	if err != nil {
		return err
	}
	if err := s.forget(agent, seq); err != nil {
		return err
	}
	if s.store.cfg.Dir == "" {
		s.store.blobs.forget(blobs)
		return nil
	}
	// What tells of the session beside the log may hold a title that is gone.
	s.keepInfo()
	s.store.tidyInfo()
	return s.store.sweep(blobs)
}

// resumePurge goes on with purges that a crash or a failure of the disk ended.
// What was purged already is only read.
func (s *Session) resumePurge() {
	s.mu.Lock()
	purged := maps.Clone(s.purged)
	s.mu.Unlock()
	for agent, seq := range purged {
		if err := s.purge(agent, seq); err != nil && s.store.cfg.Log != nil {
			s.store.cfg.Log.Warn("purge not complete", "session", s.ID, "agent", agent, "err", err)
		}
	}
}

// maxInline is how long a result may be that the log itself holds, in bytes
// (spec 3.1).
const maxInline = 16 << 10

// Spill puts a long result into a blob, which the log then refers to; call it
// before the event with the result is appended. Who follows the log, and the
// model, get the result whole. A result that was cut stays as it is: its Blob
// is the whole already. Sessions in memory keep all results in the log.
//
// The error is that of [Session.PutText]; the result is then as it was, and can
// be appended.
//
// r is changed only where the blob was kept.
func (s *Session) Spill(r *activity.ToolResult) error {
	if s.store.cfg.Dir == "" || r == nil || r.Blob != "" || len(r.Content) <= maxInline {
		return nil
	}
	sha, err := s.PutText([]byte(valid(r.Content)))
	if err != nil {
		return err
	}
	r.Content, r.Blob = "", sha
	return nil
}

// text returns the text of a blob that is part of a context. It is read
// once: a context is in memory while it is in use (spec 3.1).
func (s *Session) text(id, blob string) (string, error) {
	s.mu.Lock()
	text, known := s.texts[id][blob]
	s.mu.Unlock()
	if known {
		return text, nil
	}
	data, err := s.GetBlob(blob)
	if err != nil {
		return "", err
	}
	// Without the lock two may read the blob at once, and both note the same text.
	text = valid(string(data))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts[id] == nil {
		if s.texts == nil {
			s.texts = make(map[string]map[string]string)
		}
		s.texts[id] = make(map[string]string)
	}
	s.texts[id][blob] = text
	return text, nil
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

// waitingRuns returns the first input of each run that waits for its turn.
func (s *Session) waitingRuns() []activity.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []activity.Event
	for _, e := range s.waiting {
		if !slices.ContainsFunc(out, func(before activity.Event) bool { return before.Run == e.Run }) {
			out = append(out, e)
		}
	}
	return out
}

// interrupt records that the runs that went on when the last daemon ended do so
// no more. A run that waited for a person is one of them: its question is void
// (REL-103). A paused one stays paused (spec 3.5).
func (s *Session) interrupt() {
	for _, e := range s.waitingRuns() {
		s.Log.Append(e.Origin, activity.RunState{To: activity.Interrupted,
			Why: "the daemon ended while the run waited for its turn"}, 0)
	}
	for _, r := range s.Runs() {
		if r.live() {
			s.Log.Append(r.about, activity.RunState{From: r.State, To: activity.Interrupted, Why: "the daemon ended",
				Resumes: "agents/resume"}, 0)
		}
	}
}

// HasRun reports whether a run of the session has the id.
// An inherited one counts: its id is taken.
func (s *Session) HasRun(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total.run(id) != nil
}

// Info returns what the session's events add up to.
// It costs a few copies and no disk.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total.toInfo(s.ID, s.store.cfg.Folder)
}

// Runs returns the session's runs, in the order in which they started.
// Delegated and inherited runs are among them.
func (s *Session) Runs() []Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Run{}, s.total.runs...)
}

// Run returns a run of the session itself, which no fork brought along; ok says whether
// there is one.
func (s *Session) Run(id string) (r Run, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.total.run(id); found != nil && !found.Inherited {
		return *found, true
	}
	return Run{}, false
}

// PutBlob keeps data beside the sessions of the workspace, once, and returns its
// name: the hex SHA-256. It is on stable storage when PutBlob returns. The error
// is fault.Unavailable.
// Nothing is masked: it is for content of files, which has to come back byte for
// byte. A blob that no event names may be removed at any time, so the event is to be
// appended soon after.
func (s *Session) PutBlob(data []byte) (sha string, err error) { return s.store.blobs.put(data) }

// PutBlobFrom is PutBlob for data that need not be in memory at once.
// size is what was read, also on an error.
func (s *Session) PutBlobFrom(r io.Reader) (sha string, size int, err error) {
	return s.store.blobs.putFrom(r)
}

// PutText is PutBlob for the text of a result, in which what must not be recorded
// is masked first ([Config.Mask]); its name is then that of what is kept.
func (s *Session) PutText(text []byte) (sha string, err error) {
	if mask := s.store.cfg.Mask; mask != nil {
		text = mask(text)
	}
	return s.PutBlob(text)
}

// GetBlob returns what PutBlob kept. A name that is none gives fault.Invalid,
// one that is not there fault.NotFound, and data that does not match its name
// any more fault.Unavailable.
// The data is the caller's.
func (s *Session) GetBlob(sha string) ([]byte, error) { return s.store.blobs.get(sha) }

// Close writes and syncs the log and lets others have the session. The error is
// the log's. Closing twice does nothing.
// A run that still appends gets 0 from the log; so runs are ended first.
func (s *Session) Close() error { return s.store.close(s) }
