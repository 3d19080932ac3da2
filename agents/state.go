package agents

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/session"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// SessionState returns a session's state after the event atSeq, 0 for now, with that event's
// number; "" is the default session. A session that another daemon has is read as well.
// The error has the reason unknownSession, or is that of [session.Session.StateAt]. Values
// that only one run has are not in it.
func (s *Service) SessionState(id string, atSeq uint64) (state activity.SessionState, seq uint64, err error) {
	conv, err := s.read(id)
	if err != nil {
		return state, 0, err
	}
	if atSeq > 0 {
		state, err = conv.StateAt(atSeq)
		return state, atSeq, err
	}
	seq = conv.Log.Last()
	state, err = conv.State()
	return state, seq, err
}

// SetState gives a key of a session's state a value, as a person does; null removes it.
// The errors are those of [session.Session.SetState], and unknownSession, or busy where
// another daemon has the session. It is on stable storage when it returns.
func (s *Service) SetState(ctx context.Context, id, key string, value json.RawMessage) error {
	conv, err := s.openKept(id)
	if err != nil {
		return err
	}
	if strings.HasPrefix(key, "temp:") {
		return fault.New(fault.Invalid, "agents.state",
			"%s lives for a run, so that only agents set it; use a key without temp:", key)
	}
	seq, err := conv.SetState(ctx, activity.Origin{}, "", key, session.Value{JSON: value})
	if err != nil || seq == 0 {
		return err
	}
	return conv.Commit(ctx, seq)
}

// ClearState removes all keys of a session's state that live for it or for a run. The
// errors are those of SetState.
func (s *Service) ClearState(ctx context.Context, id string) error {
	conv, err := s.openKept(id)
	if err != nil {
		return err
	}
	seq, err := conv.ClearState(activity.Origin{}, nil)
	if err != nil || seq == 0 {
		return err
	}
	return conv.Commit(ctx, seq)
}

// variables are the values of the state that a run sees and sets: [tool.Variables]. It
// is made for a run, and safe for concurrent use.
type variables struct {
	conv  *conversation
	about activity.Origin
	run   string    // whose temp: keys they are
	keys  []string  // that it may see and set; nil = all
	once  sync.Once // for the note that not all can be read
}

// may reports whether the agent's file lets it see and set a key.
func (v *variables) may(key string) bool { return v.keys == nil || slices.Contains(v.keys, key) }

// Get implements tool.Variables. The taint is that of the runs that set what is
// returned: what they had read.
func (v *variables) Get(key string) (json.RawMessage, tool.Taint, error) {
	follows := session.Follows(key)
	if key != "" && !follows && !v.may(key) {
		return nil, tool.Clean, v.refuse(key)
	}
	all, err := v.conv.Values(v.run)
	if err != nil {
		return nil, tool.Clean, forModel(err)
	}
	if key != "" && !follows {
		return all[key].JSON, tool.TaintOf(all[key].Taint), nil
	}
	taint := tool.Clean
	for name, value := range all {
		if !v.may(name) {
			delete(all, name)
			continue
		}
		taint = taint.Max(tool.TaintOf(value.Taint))
	}
	told := v.conv.StateOf(all)
	if !follows {
		return encode(told), taint, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(encode(told), &fields); err != nil {
		return nil, tool.Clean, err
	}
	// What follows from events was set by no run, so no run's taint is on it.
	return fields[key], tool.Clean, nil
}

// Check implements tool.Variables.
func (v *variables) Check(key string, value json.RawMessage) (lasts bool, err error) {
	if lasts, err = v.conv.CheckState(key, value); err != nil {
		return false, forModel(err)
	}
	if !v.may(key) {
		return false, v.refuse(key)
	}
	return lasts, nil
}

// Set implements tool.Variables. It is in the log when it returns.
func (v *variables) Set(ctx context.Context, key string, value json.RawMessage) error {
	to := session.Value{JSON: value}
	if taint := v.conv.gate.TaintOf(v.about.Run); taint > tool.Clean {
		to.Taint = taint.String()
	}
	if _, err := v.conv.SetState(ctx, v.about, v.run, key, to); err != nil {
		return forModel(err)
	}
	return nil
}

// refuse is the error of a key that the agent's file does not list.
func (v *variables) refuse(key string) error {
	keys := strings.Join(v.keys, ", ")
	if keys == "" {
		keys = "none"
	}
	return tool.Errorf(tool.CodeNotAllowed,
		"The agent's file (memory.session) does not let it use %q. Keys that it may use: %s.", key, keys)
}

// forModel is an error of the state for a model, which can act on what is wrong with a
// key or a value.
func forModel(err error) error {
	if fault.KindOf(err) == fault.Invalid {
		return tool.Errorf(tool.CodeArgs, "%s", fault.Message(err))
	}
	return tool.Errorf(tool.CodeFailed, "%s", fault.Message(err))
}

// forConditions returns what conditions see of the state (spec 5.2): the values by their
// keys. Texts are cut to what a condition may look at. Where the files of user: and app:
// keys cannot be read the others are seen, and the person is told once.
func (v *variables) forConditions() map[string]any {
	all, err := v.conv.Values(v.run)
	if err != nil {
		v.once.Do(func() { v.conv.Append(v.about, activity.Note{Level: "warning", Message: fault.Message(err)}, 0) })
	}
	state := make(map[string]any, len(all))
	for key, value := range all {
		state[key] = run.ConditionValue(value.JSON)
	}
	return state
}
