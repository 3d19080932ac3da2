package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/panics"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
	"github.com/agentls/agentls/internal/sandbox"
)

// maxAtOnce is how many hooks run at the same time.
const maxAtOnce = 16

// Config is what Hooks need. All of it is required but where it says so.
// Its functions are called from many goroutines, and must be safe for that.
type Config struct {
	// Described returns the hooks of an event that hold in a folder, in their order,
	// without those that wait for the person's approval. It is asked before each use.
	// It returns early when ctx ends.
	Described func(ctx context.Context, folder, event string) []Described
	// Whether there may be any. It is asked often and must be fast: it reads no files.
	// Where it is wrong in saying yes, only some work is wasted.
	Has func(folder, event string) bool
	// Not changed after New.
	Compiled []Compiled // may be nil
	// Reports whether the person trusts a folder. Commands are started in no other.
	Trusted func(folder string) bool
	Environ []string // of the processes, as KEY=value
	Home    string   // the person's
	// Returns the sandbox for processes of a folder.
	Sandbox func(folder string) *sandbox.Sandbox
	// Places returns what the wall of a hook hides and protects.
	Places func(ctx context.Context, folder string) (tool.Places, error)
	// Returns an input without what the daemon keeps secret. It may change what it is
	// given.
	Mask func([]byte) []byte
	// The clock of timestamps and of how long hooks took. Timers are real ones.
	Now func() time.Time
	Log *slog.Logger
}

// Hooks are the hooks of one daemon. They are safe for concurrent use; make them with
// [New], and close them.
type Hooks struct {
	Config
	slots chan struct{}

	mu     sync.Mutex
	closed bool // guarded by mu
	work   conc.WaitGroup
}

var _ run.Hooks = (*Hooks)(nil)

// New returns hooks of which none runs.
// The caller closes them after the last run has ended.
func New(c Config) *Hooks { return &Hooks{Config: c, slots: make(chan struct{}, maxAtOnce)} }

// Close waits until nothing is left of hooks whose context has ended. No hook is run
// after it.
// Events after it have their guards fail, and so deny. It may be called several times.
func (h *Hooks) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.work.Wait()
}

// Has implements [run.Hooks].
// It may be true where [Hooks.Fire] then finds none; a caller that skips Fire where it
// is false misses nothing.
func (h *Hooks) Has(folder, event string) bool {
	return slices.ContainsFunc(h.Compiled, func(c Compiled) bool { return c.Event == event }) ||
		h.Config.Has(folder, event)
}

// due is a hook that is to be run at an event.
// It belongs to one event.
type due struct {
	Hook
	name       string
	subject    string // what its matcher took
	sequential bool
}

// due returns the hooks of an event that match.
func (h *Hooks) due(ctx context.Context, e run.HookEvent) (list []due) {
	for _, c := range h.Compiled {
		if subject, ok := matches(c.Matcher, e.Match); ok && c.Event == e.Name {
			list = append(list, due{Hook: c.Hook, name: c.Name, subject: subject})
		}
	}
	for _, d := range h.Described(ctx, e.Folder, e.Name) {
		if subject, ok := matches(d.Matcher, e.Match); ok {
			list = append(list, due{command{h, d, e.Folder, e.Session}, d.Name, subject, d.Sequential})
		}
	}
	return list
}

// Fire implements [run.Hooks]. The hooks run at the same time; where one is sequential
// they run one after another, and each sees what those before it changed.
// It returns when all of them have ended, or soon after ctx has: then those that still
// run count as failed, which for a guard is a denial. A sequence ends with the first
// hook that denies or stops. The answer is never in doubt: where no hook matches it is
// allow, and where the event itself cannot be written down it is what a failed hook
// would make it. The caller owns the answer.
func (h *Hooks) Fire(ctx context.Context, e run.HookEvent) run.HookAnswer {
	list := h.due(ctx, e)
	into := merging{event: e, answer: run.HookAnswer{Decision: "allow"}}
	fields, err := into.begin()
	if err != nil {
		into.add(due{name: "agentls"}, result{err: err})
		return into.answer
	}
	if !slices.ContainsFunc(list, func(d due) bool { return d.sequential }) {
		results := make([]<-chan result, len(list))
		for i, d := range list {
			results[i] = h.begin(ctx, e, d, fields)
		}
		for i, d := range list {
			into.add(d, await(ctx, results[i]))
		}
		return into.answer
	}
	for _, d := range list {
		into.add(d, await(ctx, h.begin(ctx, e, d, into.fields)))
		if into.answer.Denied() || into.answer.Stop || ctx.Err() != nil {
			break
		}
	}
	return into.answer
}

// result is what came of one hook.
type result struct {
	output Output
	err    error
	took   time.Duration
}

// await returns a hook's result, and at once where ctx ends.
func await(ctx context.Context, results <-chan result) result {
	select {
	case r := <-results:
		return r
	case <-ctx.Done():
		return result{err: context.Cause(ctx)}
	}
}

// begin runs a hook. It goes on ending where nobody waits for it any more.
// The result is put into the channel, which has room for it. The lock is held while
// the work is counted, so that Close cannot miss it.
func (h *Hooks) begin(ctx context.Context, e run.HookEvent, d due, fields map[string]json.RawMessage) <-chan result {
	done := make(chan result, 1)
	input, err := h.input(e, d, fields)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		err = errors.New("the daemon is ending")
	}
	if err != nil {
		done <- result{err: err}
		return done
	}
	h.work.Go(func() {
		began := h.Now()
		var r result
		select {
		case h.slots <- struct{}{}:
			defer func() { <-h.slots }()
		case <-ctx.Done():
			done <- result{err: context.Cause(ctx)}
			return
		}
		var caught panics.Catcher
		caught.Try(func() { r.output, r.err = d.Run(ctx, input) })
		if p := caught.Recovered(); p != nil {
			h.Log.Error("panic in a hook", "hook", d.name, "bug", fault.BugID(p.Callers), "stack",
				fault.PanicText(p.Value, p.Stack))
			r = result{err: fmt.Errorf("it crashed (bug %s, under which the log has the details)",
				fault.BugID(p.Callers))}
		}
		r.took = h.Now().Sub(began)
		done <- r
	})
	return done
}

// input is the JSON object that a hook is given.
// fields are those of the event, as the hooks before changed them; those that every
// event has go over them, so that no hook can say it is another event's. Secrets are
// masked in the text, wherever they are.
func (h *Hooks) input(e run.HookEvent, d due, fields map[string]json.RawMessage) ([]byte, error) {
	all := map[string]any{}
	for name, value := range fields {
		all[name] = value
	}
	if _, of := fields["tool_name"]; of && d.subject != "" {
		all["tool_name"] = d.subject
	}
	all["session_id"], all["transcript_path"], all["cwd"], all["hook_event_name"] = e.Session,
		e.Transcript, e.Folder, e.Name
	all["timestamp"] = h.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00")
	all["agent"], all["run"], all["parent_run"] = e.Agent, e.Run, e.ParentRun
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // a script may look for the text as it is
	if err := enc.Encode(all); err != nil {
		return nil, err
	}
	return h.Mask(out.Bytes()), nil
}

// merging puts together what the hooks of an event say, in their order.
// It is used by one goroutine.
type merging struct {
	event   run.HookEvent
	fields  map[string]json.RawMessage // of the input, as it is by now
	answer  run.HookAnswer
	mode    string   // of the tools that hooks select; "" = none did
	allowed []string // names of these
}

// begin writes the fields of the event down, and returns a copy for hooks that run at
// the same time. The error is a bug: an event has a value that is no JSON.
func (m *merging) begin() (map[string]json.RawMessage, error) {
	m.fields = make(map[string]json.RawMessage, len(m.event.Fields))
	for name, value := range m.event.Fields {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		m.fields[name] = raw
	}
	return maps.Clone(m.fields), nil
}

// The decisions, from the most lenient.
var decisions = []string{"allow", "ask", "deny"}

// add takes over what a hook says.
// A hook that failed or cannot be understood counts as a denial at an event that it
// guards, and for nothing elsewhere. Edits of a hook that denies are not taken over.
// Each hook is in Ran, with what it decided, in the order of the hooks.
func (m *merging) add(d due, r result) {
	event, out := m.event.Name, r.output
	ran := run.HookRan{HookRan: activity.HookRan{Event: event, Name: d.name}, Took: r.took}
	defer func() { m.answer.Ran = append(m.answer.Ran, ran) }()
	decision, reason, err := out.decision(event)
	if r.err != nil {
		err = r.err
	}
	if err == nil && decision != "deny" {
		err = m.edit(out.Specific)
	}
	if err != nil {
		ran.Decision, ran.Reason = "failed", err.Error()
		if gates(event) {
			ran.Decision = "deny"
			m.decide("deny", fmt.Sprintf("the hook %s failed: %v", d.name, err))
		}
		return
	}
	ran.Decision, ran.Reason = decision, reason
	m.decide(decision, reason)
	if out.Continue != nil && !*out.Continue && flows(event) {
		ran.Decision = "stop"
		if !m.answer.Stop {
			m.answer.Stop = true
			m.answer.Reason = reason
		}
	}
	if out.SystemMessage != "" && !out.SuppressOutput {
		m.answer.Messages = append(m.answer.Messages, fmt.Sprintf("hook %s: %s", d.name, out.SystemMessage))
	}
	if out.Specific.AdditionalContext != "" {
		m.answer.Context = append(m.answer.Context, out.Specific.AdditionalContext)
	}
}

// decide takes over a decision: the strictest counts, with the reasons of all that made
// it. The reason of a stop stays.
func (m *merging) decide(decision, reason string) {
	now, next := slices.Index(decisions, m.answer.Decision), slices.Index(decisions, decision)
	switch {
	case next < now || decision == "allow":
	case next > now:
		m.answer.Decision = decision
		if !m.answer.Stop {
			m.answer.Reason = reason
		}
	case m.answer.Stop:
	case reason != "" && !strings.Contains(m.answer.Reason, reason):
		m.answer.Reason = strings.TrimPrefix(m.answer.Reason+"; "+reason, "; ")
	}
}

// flows reports whether hooks of an event decide about how things go on.
// At the others hooks only look on: what they decide is ignored.
func flows(event string) bool {
	switch event {
	case SessionStart, SessionEnd, PreCompress, Notification:
		return false
	}
	return true
}

// decision returns what an output decides at an event. What cannot be understood is an
// error.
// The decision is one of [decisions].
func (o Output) decision(event string) (decision, reason string, err error) {
	if !flows(event) {
		return "allow", "", nil
	}
	reason = o.Reason
	switch o.Decision {
	case "", "allow", "approve":
		decision = "allow"
	case "deny", "block":
		decision = "deny"
	case "ask":
		decision = "ask"
		if event != BeforeTool {
			return "", "", errors.New("it wants the person to be asked, which only a BeforeTool hook can")
		}
	default:
		return "", "", fmt.Errorf("its decision is %q; use allow, ask or deny", o.Decision)
	}
	if o.Proceed != nil && !*o.Proceed {
		decision = "deny"
	}
	if o.Continue != nil && !*o.Continue {
		if o.StopReason != "" {
			reason = o.StopReason
		}
	}
	return decision, reason, nil
}

// edit takes over what a hook wants to be otherwise.
// An edit whose form is wrong is an error, after which the hook counts as failed;
// earlier edits of it may have been taken over.
func (m *merging) edit(s Specific) error {
	switch m.event.Name {
	case BeforeTool:
		for _, raw := range []json.RawMessage{s.UpdatedInput, s.ToolInput} {
			if err := m.merge("tool_input", raw); err != nil {
				return err
			}
		}
	case AfterTool:
		m.replace("tool_output", s.ToolOutput)
	case BeforeModel:
		m.replace("llm_response", s.LLMResponse)
		return m.merge("llm_request", s.LLMRequest)
	case AfterModel:
		m.replace("llm_response", s.LLMResponse)
	case BeforeToolSelection:
		return m.choose(s.ToolConfig)
	}
	return nil
}

// none reports whether a value is absent.
func none(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// replace puts a value in place of a member.
func (m *merging) replace(name string, raw json.RawMessage) {
	if none(raw) {
		return
	}
	m.fields[name] = raw
	m.recordEdit(name)
}

// recordEdit puts a member as it is now among those that the answer changes.
func (m *merging) recordEdit(name string) {
	if m.answer.Edited == nil {
		m.answer.Edited = make(map[string]json.RawMessage)
	}
	m.answer.Edited[name] = m.fields[name]
}

// merge puts the members of an object over those of a member, and of its config.
func (m *merging) merge(name string, raw json.RawMessage) error {
	if none(raw) {
		return nil
	}
	merged, err := over(m.fields[name], raw, name == "llm_request")
	if err != nil {
		return fmt.Errorf("its %s is no object: %w", name, err)
	}
	m.fields[name] = merged
	m.recordEdit(name)
	return nil
}

// over returns the object below with the members of above over its own; where deep is
// set the members of config are laid over each other in the same way. An error says
// that above is no object. A below that is none counts as empty.
func over(below, above json.RawMessage, deep bool) (json.RawMessage, error) {
	var under, upper map[string]json.RawMessage
	if err := json.Unmarshal(above, &upper); err != nil {
		return nil, err
	}
	if json.Unmarshal(below, &under) != nil || under == nil {
		under = make(map[string]json.RawMessage)
	}
	for name, value := range upper {
		if deep && name == "config" && !none(under[name]) {
			merged, err := over(under[name], value, false)
			if err != nil {
				return nil, err
			}
			value = merged
		}
		under[name] = value
	}
	return json.Marshal(under)
}

// choose takes over a selection of tools: those of all hooks together, and none where
// one of them says so.
// AUTO and ANY without names change nothing. toolConfig may be wrapped in
// functionCallingConfig, as older hooks of gemini-cli write it.
func (m *merging) choose(raw json.RawMessage) error {
	if none(raw) {
		return nil
	}
	type config struct {
		Mode    string    `json:"mode"`
		Allowed *[]string `json:"allowedFunctionNames"`
		Older   *config   `json:"functionCallingConfig"`
	}
	var c config
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("its toolConfig cannot be read: %w", err)
	}
	if c.Older != nil {
		c = *c.Older
	}
	switch mode := strings.ToUpper(c.Mode); {
	case mode == "NONE" || m.mode == "NONE":
		m.mode, m.allowed = "NONE", nil
	case mode != "" && mode != "AUTO" && mode != "ANY":
		return fmt.Errorf("the mode of its toolConfig is %q; use AUTO, ANY or NONE", c.Mode)
	case c.Allowed != nil:
		m.mode = "AUTO"
		m.allowed = append(m.allowed, *c.Allowed...)
	}
	if m.mode == "" {
		return nil
	}
	chosen, err := json.Marshal(map[string]any{"mode": m.mode,
		"allowedFunctionNames": append([]string{}, m.allowed...)})
	if err != nil {
		return err
	}
	m.fields["toolConfig"] = chosen
	m.recordEdit("toolConfig")
	return nil
}
