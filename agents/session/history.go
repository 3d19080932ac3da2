package session

import (
	"cmp"
	"maps"
	"slices"

	"github.com/agentls/agentls/agents/activity"
)

// FileHistory is what a session did to one file. Contents are named as in
// [activity.Kept].
//
// It is a copy: what happens later does not change it.
type FileHistory struct {
	// The file, as a URI.
	URI   string
	Steps []FileStep // in order
	// Baseline is the newest content that a person accepted
	// ([activity.ChangeResolved]), "" for that there is no file, and BaselineSeq the
	// event that says so. HasBaseline is whether there is one.
	// Changes up to the baseline are not offered for keeping or undoing any more.
	Baseline    string
	BaselineSeq uint64
	HasBaseline bool

	judged []judgement // the newest about each agent's changes, in order
}

// judgement is what a person accepted of an agent.
type judgement struct {
	agent, content string
	seq            uint64
}

// judge makes the newest judgement the baseline.
func (h *FileHistory) judge() {
	h.Baseline, h.BaselineSeq, h.HasBaseline = "", 0, len(h.judged) > 0
	if h.HasBaseline {
		j := h.judged[len(h.judged)-1]
		h.Baseline, h.BaselineSeq = j.content, j.seq
	}
}

// forget takes out what was said about an agent.
func (h *FileHistory) forget(agent string) {
	h.judged = slices.DeleteFunc(h.judged, func(j judgement) bool { return j.agent == agent })
}

// FileStep is one time that something wrote a file. A change whose content
// nobody kept, as of a file that is too large, is none.
//
// A step is Complete when both sides are known. One that is not was begun (its content
// was kept) and its end was never told: a daemon ended between keeping and telling, so
// the file may or may not have been written.
type FileStep struct {
	Seq   uint64 // of the first event about it, which comes before the write where what was there was kept first
	Run   string // "" for none
	Agent string // "" for none
	// Caller is, of a delegated run, the context of the run that a person started:
	// what knows of the step, and goes back with it. "" = the agent's own does.
	Caller string
	Call   string // "" for none, or where it is not known
	activity.Kept
	By       string // call, rewind, undo
	Complete bool   // After is known
}

// Rewinds reports whether the step is of a rewind, also as the keeping of what was there
// before one.
func (st FileStep) Rewinds() bool { return st.By == byRewind || (st.Run == "" && st.By == byCall) }

// The values of FileStep.By.
const (
	byCall   = "call"
	byRewind = "rewind"
	byUndo   = "undo"
)

// foldFiles folds what an event says about the content of files.
// s.mu is held.
func (s *Session) foldFiles(e activity.Event) {
	switch b := e.Body.(type) {
	case activity.Checkpoint:
		for _, k := range b.Kept {
			k.After = "" // not known yet
			s.step(FileStep{Seq: e.Seq, Run: e.Run, Agent: e.Agent, Caller: s.caller(e.Origin), Kept: k, By: byCall})
		}
	case activity.FileChanged:
		s.recordChange(e, b)
	case activity.Rewound:
		for _, k := range b.Kept {
			s.step(FileStep{Seq: e.Seq, Run: e.Run, Agent: e.Agent, Caller: s.caller(e.Origin), Kept: k,
				By: byRewind, Complete: true})
		}
	case activity.ChangeResolved:
		s.recordResolution(e, b)
	case activity.ContextCleared:
		if b.Purged {
			s.forgetFiles(valid(cmp.Or(b.Agent, e.Agent)))
		}
	}
}

// caller returns the context of the run that a person started, for an event of a run
// that one delegated to; "" for another.
func (s *Session) caller(o activity.Origin) string {
	if o.ParentRun == "" {
		return ""
	}
	for range s.total.runs { // a log that somebody wrote may have a circle
		r := s.total.run(o.ParentRun)
		if r == nil {
			break
		}
		o = r.about
	}
	return o.ContextID()
}

// step adds a step to its file's history.
func (s *Session) step(f FileStep) {
	f.URI, f.Before, f.After = valid(f.URI), valid(f.Before), valid(f.After)
	if f.URI == "" {
		return // was purged
	}
	h := s.history(f.URI)
	h.Steps = append(h.Steps, f)
}

// history returns the history of a file, which it begins.
func (s *Session) history(uri string) *FileHistory {
	h := s.files[uri]
	if h == nil {
		h = &FileHistory{URI: uri}
		s.files[uri] = h
	}
	return h
}

// recordChange completes the step that a checkpoint began, or is one.
func (s *Session) recordChange(e activity.Event, b activity.FileChanged) {
	if b.Before == "" && b.After == "" {
		return // nobody kept what it was and is
	}
	done := FileStep{
		Seq: e.Seq, Run: e.Run, Agent: e.Agent, Caller: s.caller(e.Origin), Call: valid(b.Call), By: byCall,
		Kept:     activity.Kept{URI: b.URI, Before: b.Before, After: b.After, Buffer: b.Buffer, Modes: b.Modes},
		Complete: b.After != "" || b.Kind == "delete",
	}
	if h := s.files[valid(b.URI)]; h != nil && b.By == "" { // a command began no step
		for i := range slices.Backward(h.Steps) {
			if f := &h.Steps[i]; f.By == byCall && f.Run == e.Run && f.Call == "" && !f.Complete {
				f.Call, f.After, f.Buffer, f.Complete = done.Call, valid(b.After), b.Buffer, done.Complete
				return
			}
		}
	}
	s.step(done)
}

// recordResolution takes a person's decision: a keep is a new baseline, an undo is one
// more step, which wrote the file.
func (s *Session) recordResolution(e activity.Event, b activity.ChangeResolved) {
	uri := valid(b.URI)
	switch {
	case uri == "": // was purged
	case b.Action == "keep":
		h := s.history(uri)
		h.forget(e.Agent)
		h.judged = append(h.judged, judgement{e.Agent, valid(b.Baseline), e.Seq})
		h.judge()
	case b.Kept != nil:
		s.step(FileStep{Seq: e.Seq, Run: e.Run, Agent: e.Agent, Caller: s.caller(e.Origin), Kept: *b.Kept,
			By: byUndo, Complete: true})
	}
}

// forgetFiles takes out what an agent's events said, which the log does not say
// any more.
func (s *Session) forgetFiles(agent string) {
	for uri, h := range s.files {
		h.Steps = slices.DeleteFunc(h.Steps, func(f FileStep) bool { return f.Agent == agent })
		h.forget(agent)
		h.judge()
		if len(h.Steps) == 0 && !h.HasBaseline {
			delete(s.files, uri)
		}
	}
}

// Files returns what the session did to files, by URI.
// Sorted by URI; the caller's to keep. It has also files whose changes were all undone
// or kept.
func (s *Session) Files() []FileHistory {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []FileHistory
	for _, uri := range slices.Sorted(maps.Keys(s.files)) {
		out = append(out, s.files[uri].clone())
	}
	return out
}

// FileHistory returns what the session did to one file, as [Session.Files] has it; false
// for nothing.
func (s *Session) FileHistory(uri string) (FileHistory, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.files[uri]
	if h == nil {
		return FileHistory{}, false
	}
	return h.clone(), true
}

// clone returns a copy for others.
func (h *FileHistory) clone() FileHistory {
	out := *h
	out.Steps, out.judged = slices.Clone(h.Steps), nil
	return out
}

// Approval returns the mode that the session was last given
// ([activity.ApprovalChanged]); "" for none.
// "" is the default of the settings. It is as the event had it: whoever reads it checks
// that it is a mode.
func (s *Session) Approval() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.approval
}

// foldTaint keeps the worst taint of a run: any but "foreign" is worse than it.
// s.mu is held.
func (s *Session) foldTaint(run, taint string) {
	if s.taints == nil {
		s.taints = make(map[string]string)
	}
	if had := s.taints[run]; had == "" || had == "foreign" {
		s.taints[run] = valid(taint)
	}
}

// Taint returns what a run read of others, as [Session.Taints].
// "" where it read nothing of others, and for a run that is not of this session.
func (s *Session) Taint(run string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taints[run]
}

// Taints returns what was read of others, by run, as [activity.ToolState] names
// it; the worst of a run. It stays what it was when the session is rewound.
func (s *Session) Taints() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.taints)
}
