package session

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/fault"
)

// Limits of the state, in bytes.
const (
	maxStateKey   = 128
	maxStateValue = 64 << 10
	maxStateSize  = 1 << 20 // of the session's keys and values together; the same of the person's, and of the workspace's
)

// The prefixes of keys that do not live for the session.
const (
	ofRun       = "temp:"
	ofUser      = "user:"
	ofWorkspace = "app:"
)

// currentTask is the key of SessionState.CurrentTask, which agents set.
const currentTask = "current_task"

// folded are the keys that follow from other events, so that nobody sets them.
var folded = []string{"task_status", "current_agent", "last_action"}

// Value is a value of the state.
//
// A Value without JSON is none: setting it removes the key.
type Value struct {
	JSON  json.RawMessage // must not be modified
	Taint string          // of who set it, as of [activity.ToolState]; "" = none
}

// stateKey is a key with the run that it lives for; "" for all but temp: keys.
type stateKey struct{ run, key string }

// variable is a value with who set it.
type variable struct {
	Value
	agent string // "" = a person
	node  bool   // a node of the agent's graph gave it
	seq   uint64
}

// state folds the state of a session.
type state struct {
	vars   map[stateKey]variable
	status string // of the newest run that no other waits for; "" = none has begun
	agent  string // of that run
	last   action
	undone []unset // what each change replaced, newest last; kept while marks are warm
}

// action is an [activity.Action] before it is told.
type action struct {
	kind    string
	at      time.Time
	agent   string
	details [6]string // names and values in turn
}

// unset is what an event replaced.
type unset struct {
	seq    uint64
	key    stateKey // "" = what follows from other events
	had    *variable
	status string
	agent  string
	last   action
}

// foldState folds an event into the state. s.mu is held.
// Only runs that a person started make the task; those that an agent delegates to are
// seen as actions alone. The variables of a run end with it.
func (s *Session) foldState(e activity.Event) {
	st := &s.state
	switch b := e.Body.(type) {
	case activity.StateChanged:
		key := stateKey{valid(b.Run), valid(b.Key)}
		var to *variable
		if value := compact(b.Value); value != nil {
			to = &variable{Value{value, valid(b.Taint)}, e.Agent, b.Node != "", e.Seq}
		}
		if key.key != "" {
			s.setVariable(e.Seq, key, to)
		}
	case activity.RunStarted:
		if e.ParentRun == "" {
			s.setTask(e.Seq, "in_progress", e.Agent, st.last)
		}
	case activity.RunState:
		// A run that is taken up again works at the task once more. One that waits for its turn
		// has not begun, and does not.
		if e.ParentRun == "" && b.To == activity.Running && st.status != "in_progress" && s.total.run(e.Run) != nil {
			s.setTask(e.Seq, "in_progress", e.Agent, st.last)
		}
	case activity.RunFinished:
		if e.ParentRun == "" && e.Agent == st.agent {
			s.setTask(e.Seq, statusOf(b.Reason, s.passes(e.Run)), st.agent, st.last)
		}
		for key := range st.vars {
			if key.run == e.Run && key.run != "" {
				s.setVariable(e.Seq, key, nil)
			}
		}
	case activity.ToolState:
		if b.State.Terminal() {
			s.setTask(e.Seq, st.status, st.agent, action{"tool_call", e.Time, e.Agent,
				[6]string{"tool", b.Name, "call", b.Call, "status", string(b.State)}})
		}
	case activity.ModelFinished:
		if e.Run != "" {
			s.setTask(e.Seq, st.status, st.agent, action{"llm_response", e.Time, e.Agent, [6]string{"model", b.Model}})
		}
	case activity.HandoffStarted:
		s.setTask(e.Seq, st.status, st.agent, action{"handoff", e.Time, e.Agent, [6]string{"to", b.To}})
	case activity.ContextCleared:
		if b.Purged {
			s.purgeState(e.Seq, valid(cmp.Or(b.Agent, e.Agent)))
		}
	}
}

// statusOf returns the task's status at the end of a run. goesOn is of one that passed
// control to an agent.
func statusOf(reason activity.Reason, goesOn bool) string {
	switch {
	case goesOn:
		return "in_progress"
	case reason == activity.Goal || reason == activity.HandedOff:
		return "completed"
	}
	return "failed"
}

// setVariable gives a key a value; nil removes it.
// s.mu is held. While marks are warm it is noted what the key had, so that a rewind can
// bring it back.
func (s *Session) setVariable(seq uint64, key stateKey, to *variable) {
	st := &s.state
	var had *variable
	if v, is := st.vars[key]; is {
		had = &v
	}
	if to == nil && had == nil {
		return
	}
	if s.warm {
		st.undone = append(st.undone, unset{seq: seq, key: key, had: had})
	}
	if to == nil {
		delete(st.vars, key)
		return
	}
	if st.vars == nil {
		st.vars = make(map[stateKey]variable)
	}
	st.vars[key] = *to
}

// setTask says where the task stands.
func (s *Session) setTask(seq uint64, status, agent string, last action) {
	st := &s.state
	if s.warm {
		st.undone = append(st.undone, unset{seq: seq, status: st.status, agent: st.agent, last: st.last})
	}
	st.status, st.agent, st.last = status, agent, last
}

// purgeState removes what an agent set, which the log does not say any more.
func (s *Session) purgeState(seq uint64, agent string) {
	for key, v := range s.state.vars {
		if v.agent == agent {
			s.setVariable(seq, key, nil)
		}
	}
	for i := range s.state.undone {
		if u := &s.state.undone[i]; u.had != nil && u.had.agent == agent {
			u.had = nil
		}
	}
}

// backState makes the state what it was after the event toSeq.
//
// What was erased since does not come back.
func (s *Session) backState(seq, toSeq uint64) {
	past := s.stateThen
	if past == nil {
		past = s.stateAfter(toSeq)
	}
	maps.DeleteFunc(past.vars, func(_ stateKey,
		v variable) bool {
		return s.purged[v.agent] > v.seq
	}) // was erased since
	for key := range s.state.vars {
		if _, stays := past.vars[key]; !stays {
			s.setVariable(seq, key, nil)
		}
	}
	for key, v := range past.vars {
		s.setVariable(seq, key, &v)
	}
	s.setTask(seq, past.status, past.agent, past.last)
	s.stateThen = nil
}

// stateAfter returns the state after an event, as far as what was replaced since is
// kept.
func (s *Session) stateAfter(seq uint64) *state {
	past := state{vars: maps.Clone(s.state.vars), status: s.state.status, agent: s.state.agent, last: s.state.last}
	for _, u := range slices.Backward(s.state.undone) {
		switch {
		case u.seq <= seq:
			return &past
		case u.key.key == "":
			past.status, past.agent, past.last = u.status, u.agent, u.last
		case u.had != nil:
			past.vars[u.key] = *u.had
		default:
			delete(past.vars, u.key)
		}
	}
	return &past
}

// tellState returns the state with the given values. s.mu is held.
func (s *Session) tellState(set map[string]Value) activity.SessionState {
	st := &s.state
	out := activity.SessionState{TaskStatus: cmp.Or(st.status, "pending"), CurrentAgent: st.agent,
		Variables: make(map[string]json.RawMessage)}
	for key, v := range set {
		if key == currentTask {
			_ = json.Unmarshal(v.JSON, &out.CurrentTask) // SetState took a text
			continue
		}
		out.Variables[key] = v.JSON
	}
	if st.status == "in_progress" && !slices.ContainsFunc(s.total.runs,
		func(r Run) bool { return r.State != activity.Finished }) {
		out.TaskStatus = "pending" // a rewind left a task that nobody works at any more
	}
	if a := st.last; a.kind != "" {
		out.LastAction = &activity.Action{Type: a.kind, Timestamp: a.at.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
			Details: map[string]string{"agent": a.agent}}
		for i := 0; i < len(a.details) && a.details[i] != ""; i += 2 {
			out.LastAction.Details[a.details[i]] = valid(a.details[i+1])
		}
	}
	return out
}

// Values returns the values that were set, as they are now for a run: of the temp: keys
// those that live for it. With "" it has those of all runs, the newest of a key. The error says that the
// person's or the workspace's values cannot be read; the others are returned with it.
// Values of the person and the workspace are read from their files at each call, since
// other daemons write them too.
func (s *Session) Values(run string) (map[string]Value, error) {
	s.mu.Lock()
	all := s.state.values(run)
	s.mu.Unlock()
	maps.DeleteFunc(all, func(key string, _ Value) bool { return lasts(key) }) // others set them too
	var failed error
	for _, f := range []*values{&s.store.user, &s.store.workspace} {
		kept, err := f.load()
		failed = cmp.Or(failed, err)
		maps.Copy(all, kept)
	}
	return all, failed
}

// Follows reports whether a key is one whose value follows from what happens.
func Follows(key string) bool { return slices.Contains(folded, key) }

// StateOf returns the state of the session as it is now, with the given values.
func (s *Session) StateOf(set map[string]Value) activity.SessionState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tellState(set)
}

// State returns the state of the session as it is now, with all values. The error is
// that of Values.
func (s *Session) State() (activity.SessionState, error) {
	all, err := s.Values("")
	return s.StateOf(all), err
}

// StateAt returns the state after an event, as the session's log tells it: of user: and
// app: keys it has what was set in this session. The error is fault.Invalid for an event
// that there is not, else that of reading the log.
func (s *Session) StateAt(seq uint64) (activity.SessionState, error) {
	if last := s.Log.Last(); seq == 0 || seq > last {
		return activity.SessionState{}, fault.New(fault.Invalid, "session.state",
			"there is no event %d in the session %s, which has events 1 to %d", seq, s.ID, last)
	}
	past := s.store.blank(s.ID)
	if err := s.Log.Replay(seq, past.fold); err != nil {
		return activity.SessionState{}, err
	}
	return past.tellState(past.state.values("")), nil
}

// values returns the values that the log tells, as [Session.Values] has them.
func (st *state) values(run string) map[string]Value {
	all, newest := make(map[string]Value), make(map[string]uint64)
	for key, v := range st.vars {
		if (run == "" || key.run == "" || key.run == run) && v.seq >= newest[key.key] {
			all[key.key], newest[key.key] = v.Value, v.seq
		}
	}
	return all
}

// CheckState returns why a key cannot be given a value, as SetState would; nil where it
// can, but for the room that there is. lasting is whether later sessions would see the
// value: the key begins with user: or app:.
func (s *Session) CheckState(key string, value json.RawMessage) (lasting bool, err error) {
	_, err = s.checkState(key, value)
	return lasts(key), err
}

// SetState gives a key a value; null, or none, removes it. run is whom a temp: key lives
// for. What must not be recorded is masked first ([Config.Mask]). It returns the number
// of the event that says so; 0 where the key had the value already.
//
// The error is fault.Invalid for a key that cannot be one, or that follows from what
// happens, and for a value that is no JSON or too large; fault.Unavailable where the
// value cannot be kept.
//
// It waits for the disk, and up to five seconds for another daemon, with user: and app:
// keys only; ctx ends that. The event is appended and not waited for.
func (s *Session) SetState(ctx context.Context, o activity.Origin, run, key string, to Value) (seq uint64, err error) {
	if to.JSON, err = s.checkState(key, to.JSON); err != nil {
		return 0, err
	}
	b := activity.StateChanged{Key: key, Value: to.JSON, Taint: to.Taint}
	if strings.HasPrefix(key, ofRun) {
		if run == "" {
			return 0, fault.New(fault.Invalid, "session.state",
				"the key %s lives for a run, and there is none here; use a key without temp:", key)
		}
		b.Run = run
	}
	s.setting.Lock()
	defer s.setting.Unlock()
	if f := s.store.valuesOf(key); f != nil {
		changed, err := f.set(ctx, key, to)
		if err != nil || !changed {
			return 0, err
		}
	} else if same, err := s.fits(stateKey{b.Run, key}, to); err != nil || same {
		return 0, err
	}
	if seq = s.Log.Append(o, b, 0); seq == 0 {
		return 0, fault.New(fault.Unavailable, "session.state", "The session %s is closed: %s was not set.", s.ID, key)
	}
	return seq, nil
}

// checkState returns a value as it is kept.
// It is compact and masked, nil for one that is to be dropped. The errors are all
// fault.Invalid: no key, no JSON, too large, or a current_task that is no text.
func (s *Session) checkState(key string, value json.RawMessage) (json.RawMessage, error) {
	const op = "session.state"
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	if len(value) > 0 && !json.Valid(value) {
		return nil, fault.New(fault.Invalid, op, "the value of %s is no JSON", key)
	}
	if s.store.cfg.Mask != nil {
		value = s.store.cfg.Mask(value)
	}
	value = compact(value)
	if len(value) > maxStateValue {
		return nil, fault.New(fault.Invalid, op,
			"the value of %s has %d bytes, and %d are allowed; put it in a file and its path here", key,
			len(value), maxStateValue)
	}
	var text string
	if key == currentTask && value != nil && json.Unmarshal(value, &text) != nil {
		return nil, fault.New(fault.Invalid, op, "current_task must be a text")
	}
	return value, nil
}

// CheckKey refuses what nobody can set as a key of the state. The error is fault.Invalid.
// Prefixes may stand before each other; the rest has letters, digits, dots, dashes and
// underscores.
func CheckKey(key string) error {
	const op = "session.state"
	if slices.Contains(folded, key) {
		return fault.New(fault.Invalid, op, "%s follows from what the agents do and cannot be set", key)
	}
	name := key
	for _, prefix := range []string{ofRun, ofUser, ofWorkspace} {
		name = strings.TrimPrefix(name, prefix)
	}
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}
	if name == "" || len(key) > maxStateKey || strings.ContainsFunc(name, odd) {
		return fault.New(fault.Invalid, op,
			"%q cannot be a key; use 1 to %d letters, digits, dots, dashes and underscores, after temp:, user: or app: where it is not for the session", key, maxStateKey)
	}
	return nil
}

// fits reports whether a key has a value already; the error says that there is no room
// for it. What nodes of graphs gave takes none: agents could not make room there.
func (s *Session) fits(key stateKey, to Value) (same bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	for other, v := range s.state.vars {
		if other != key && !lasts(other.key) && !v.node {
			size += len(other.key) + len(v.JSON)
		}
	}
	had, is := s.state.vars[key]
	if (is && string(had.JSON) == string(to.JSON) && had.Taint == to.Taint) || (!is && to.JSON == nil) {
		return true, nil
	}
	return false, room("the session", size, key.key, to.JSON)
}

// room refuses a value for which there is none.
func room(whose string, size int, key string, value json.RawMessage) error {
	if value != nil && size+len(key)+len(value) > maxStateSize {
		return fault.New(fault.Invalid, "session.state",
			"the values of %s have %d bytes, and %s would be more than the %d that are allowed; remove some (set them to null)", whose, size, key, maxStateSize)
	}
	return nil
}

// ClearState removes keys of the session: those of only, or all that do not lie elsewhere
// (user: and app: keys) where only is nil. Keys that are not set are passed over. It
// returns the number of the last event; 0 where there was nothing to remove. The error is
// fault.Unavailable for a session that is closed.
func (s *Session) ClearState(o activity.Origin, only []string) (seq uint64, err error) {
	s.setting.Lock()
	defer s.setting.Unlock()
	s.mu.Lock()
	var gone []stateKey
	for key := range s.state.vars {
		if !lasts(key.key) && (only == nil || slices.Contains(only, key.key)) {
			gone = append(gone, key)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(gone, func(a, b stateKey) int {
		return cmp.Or(strings.Compare(a.key, b.key),
			strings.Compare(a.run, b.run))
	})
	for _, key := range gone {
		if seq = s.Log.Append(o, activity.StateChanged{Key: key.key, Run: key.run}, 0); seq == 0 {
			return 0, fault.New(fault.Unavailable, "session.state",
				"The session %s is closed: its state was not cleared.", s.ID)
		}
	}
	return seq, nil
}

// lasts reports whether a key's value outlives the session.
func lasts(key string) bool {
	return strings.HasPrefix(key, ofUser) || strings.HasPrefix(key, ofWorkspace)
}
