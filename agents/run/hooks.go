package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
)

// Hooks are what the person's settings have done at points of runs (spec 9.2). They
// are safe for concurrent use.
//
// A run asks Has before it collects what an event tells, so that a session without
// hooks pays nothing.
type Hooks interface {
	// Has reports whether a folder has hooks of an event.
	Has(folder, event string) bool
	// Fire runs the hooks of an event that match, and returns what they decide
	// together when all have ended. When ctx ends it returns at once.
	// A hook that cannot be run to its end denies where the event can be denied; there
	// is no error.
	Fire(ctx context.Context, e HookEvent) HookAnswer
}

// HookEvent is a point of a run, or of a session, at which hooks are run.
//
// Fields hold JSON values, and must not be modified by hooks' implementation: the
// caller goes on with them.
type HookEvent struct {
	Name       string // as in the settings: BeforeTool
	Folder     string // whose settings count
	Session    string
	Transcript string // the session's log; "" in memory
	// The agent's name; "" for an event of the session.
	Agent     string
	Run       string
	ParentRun string
	Turn      int
	Call      string // of the tool that it is about; "" = of none
	// Match are the names that a matcher is held against: those of the tool, the one
	// of gemini-cli first, or the trigger. Where there are none, every hook matches.
	Match  []string
	Fields map[string]any // of a hook's input, besides those of every event
}

// HookAnswer is what the hooks of an event decide together. Whoever makes one sets
// Decision; only deny refuses ([HookAnswer.Denied]).
type HookAnswer struct {
	Decision string // allow, ask or deny
	Reason   string // of what is not allowed, and of Stop
	Stop     bool   // the run is to end
	// What the person is told, each a note in the log.
	Messages []string
	Context  []string // what the model is told besides
	// Edited are the members of Fields as they are to be, where a hook changed them,
	// and what hooks add to them: tool_output and toolConfig.
	Edited map[string]json.RawMessage
	// Every hook that was run, in the order of the settings, for the log.
	Ran []HookRan
}

// HookRan is one hook that was run.
type HookRan struct {
	activity.HookRan
	// From its start to its end.
	Took time.Duration
}

// Denied reports whether what the event is about must not happen.
func (a *HookAnswer) Denied() bool { return a.Decision == "deny" }

// errHook is why a model was not asked, or its answer is not used.
type errHook struct{ reason string }

// Error returns the reason, for the person.
func (e *errHook) Error() string { return e.reason }

// hooked reports whether there are hooks of an event.
// It is asked each time anew: settings and approvals may change while the run goes on.
func (r *runner) hooked(event string) bool { return r.Hooks != nil && r.Hooks.Has(r.Env.Folder, event) }

// fire runs the hooks of an event, and tells the session and the person what they say.
func (r *runner) fire(ctx context.Context, event string, match []string, fields map[string]any) HookAnswer {
	return r.fireFor(ctx, "", event, match, fields)
}

// fireFor is fire for a call of a tool.
func (r *runner) fireFor(ctx context.Context, call, event string, match []string, fields map[string]any) HookAnswer {
	if !r.hooked(event) {
		return HookAnswer{Decision: "allow"}
	}
	a := r.Hooks.Fire(ctx, HookEvent{
		Name: event, Folder: r.Env.Folder, Session: r.Env.Session, Transcript: r.Transcript,
		Agent: r.Definition.Name, Run: r.ID, ParentRun: r.Parent, Turn: int(r.turn.Load()), Call: call,
		Match: match, Fields: fields,
	})
	for i := range a.Ran {
		a.Ran[i].Call = call
	}
	TellHooks(a, r.sayFor)
	return a
}

// TellHooks writes to a session's log what hooks decided and say.
// say appends an event with a duration, and returns its number. What the hooks decided
// together is in the last event only.
func TellHooks(a HookAnswer, say func(activity.Body, time.Duration) uint64) {
	for i, ran := range a.Ran {
		if i == len(a.Ran)-1 {
			ran.Together = a.together()
		}
		say(ran.HookRan, ran.Took)
	}
	for _, message := range a.Messages {
		say(activity.Note{Level: "info", Message: message}, 0)
	}
}

// together is the answer as the log keeps it. A request to a model is as long as its
// conversation, and what the hooks made of it is not asked for again.
func (a *HookAnswer) together() *activity.HookDecision {
	edited := maps.Clone(a.Edited)
	delete(edited, "llm_request")
	return &activity.HookDecision{Decision: a.Decision, Reason: a.Reason, Stop: a.Stop,
		Context: a.Context, Edited: edited}
}

// startSession runs the hooks of the session's start, where the run begins it.
func (r *runner) startSession(ctx context.Context) {
	if r.Hooks == nil || r.SessionStart == nil {
		return
	}
	if source := r.SessionStart(); source != "" {
		r.inform(r.fire(ctx, "SessionStart", []string{source}, map[string]any{"source": source}).Context)
	}
}

// admit runs the hooks before the agent. The run ends where one refuses it.
func (r *runner) admit(ctx context.Context) (ending, bool) {
	a := r.fire(ctx, "BeforeAgent", nil, map[string]any{"prompt": r.asked})
	if end, over := r.over(ctx); over {
		return end, true
	}
	if a.Denied() || a.Stop {
		return r.endRefused("a hook refused the request", a), true
	}
	r.inform(a.Context)
	return ending{}, false
}

// inform tells the model what hooks add, before its next turn.
func (r *runner) inform(texts []string) {
	for _, text := range texts {
		r.say(activity.Note{Level: "info", ToModel: true, Message: "[context from a hook]\n" +
			tool.Fence(text, r.mark)})
	}
}

// endRefused is how a run ends that a hook does not let go on.
// The reason may be empty, and is left out then.
func (r *runner) endRefused(what string, a HookAnswer) ending {
	return endFailed("hook", strings.TrimSuffix(what+": "+a.Reason, ": "))
}

// halt has the run end at its next step, since a hook says so.
func (r *runner) halt(a HookAnswer) {
	end := r.endRefused("a hook stopped the run", a)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.halted == nil {
		r.halted = &end
	}
}

// rejected runs the hooks after the agent, and reports whether one wants another
// answer: the model is told why, and takes further turns.
// before says whether it has rejected an answer of this run already. Hooks are told that
// (stop_hook_active), so that one of them can let the second answer pass.
func (r *runner) rejected(ctx context.Context, end *ending, before bool) bool {
	if end.reason != activity.Goal || ctx.Err() != nil {
		return false
	}
	text := end.text
	if end.output != nil {
		text = string(end.output)
	}
	a := r.fire(ctx, "AfterAgent", nil, map[string]any{"prompt": r.asked, "prompt_response": text,
		"stop_hook_active": before})
	if !a.Denied() || a.Stop || ctx.Err() != nil {
		return false
	}
	// Without a turn left nobody can correct it. The rejected text stays in the result.
	if int(r.turn.Load()) >= r.maxTurns {
		*end = endFailed("hook", "a hook rejected the answer, and the run has no turn left: "+a.Reason)
		end.text = text
		return false
	}
	r.say(activity.Note{Level: "info", ToModel: true, Message: "Your answer was rejected, correct it: " + a.Reason})
	r.mu.Lock()
	r.done, r.closing = nil, false
	r.mu.Unlock()
	return true
}

// notify runs the hooks that only take note of something.
func (r *runner) notify(ctx context.Context, kind, message string, details map[string]any) {
	match := []string{kind}
	if kind == "ToolPermission" {
		match = append(match, "ToolNotification") // an older name
	}
	r.fire(ctx, "Notification", match, map[string]any{"notification_type": kind,
		"message": message, "details": details})
}

// notifyAsked tells hooks that the person is asked about a call. Nobody waits for them.
func (b *batch) notifyAsked(t *task, d guard.Decision) {
	if !b.hooked("Notification") {
		return
	}
	message := fmt.Sprintf("%s asks for permission: %s", t.name, t.plan.Title)
	details := map[string]any{"tool_name": t.name, "tool_input": t.call.Args, "risk": d.Risk.String(), "why": d.Why}
	b.beside.Go(func() { b.notify(b.run, "ToolPermission", message, details) })
}

// notifyEnd tells hooks that the run has ended.
func (r *runner) notifyEnd(ctx context.Context, end ending) {
	if end.interrupted || ctx.Err() != nil || !r.hooked("Notification") {
		return // nobody who cancels waits for a hook
	}
	details := map[string]any{"reason": end.reason, "agent": r.Definition.Name}
	if end.failure != nil {
		details["kind"] = end.failure.Kind
		r.notify(ctx, "Error", end.failure.Message, details)
		return
	}
	r.notify(ctx, "RunFinished", fmt.Sprintf("%s has finished (%s)", r.Definition.Name, end.reason), details)
}

// foreign are gemini-cli's names of tools that we call otherwise.
var foreign = map[string]string{
	"ls": "list_directory", "grep": "search_file_content", "edit_file": "replace", "bash": "run_shell_command",
	"web_search": "google_web_search",
}

// hookNames returns the names of a tool that matchers know, gemini-cli's first: a hook
// that was written for it is to match as it did there, and to be told that name.
func hookNames(spec tool.Spec) []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if parts := strings.SplitN(spec.Name, ".", 3); len(parts) == 3 && parts[0] == "mcp" {
		add("mcp__" + parts[1] + "__" + parts[2])
	}
	add(foreign[spec.Name])
	add(spec.Name)
	add(spec.ModelName())
	for _, t := range definition.ToolNames() {
		if t.Name == spec.Name {
			for _, alias := range t.Aliases {
				add(alias)
			}
		}
	}
	return names
}

// askHooks runs the hooks before a tool: they may change the arguments, refuse the
// call, or have the person asked. What they change passes the whole policy.
// It runs on a goroutine of its own, beside those for the other calls, before any plan is
// made. A call that it refuses gets bad, and fails like one that cannot be planned.
func (b *batch) askHooks(t *task) {
	if t.bad != nil || !b.hooked("BeforeTool") {
		return
	}
	a := b.fireFor(t.ctx, t.call.ID, "BeforeTool", hookNames(t.tool.Spec()),
		map[string]any{"tool": t.name, "tool_name": t.name, "tool_input": t.call.Args})
	if t.ctx.Err() != nil {
		return
	}
	if a.Stop {
		b.halt(a)
	}
	if a.Denied() || a.Stop {
		t.bad = tool.Errorf(tool.CodeDenied, "%s was not run: a hook refused it: %s", t.name, a.Reason)
		return
	}
	if a.Decision == "ask" {
		t.hookAsks = a.Reason
		if t.hookAsks == "" {
			t.hookAsks = "it gives no reason"
		}
	}
	if args := a.Edited["tool_input"]; args != nil {
		t.call.Args, t.modified = args, "A hook"
	}
	t.hookContext = a.Context
}

// afterTool runs the hooks after a tool, which may hide or replace what the model gets
// of its result, or add to it.
// A result that hooks could not see before the call was cancelled is not shown: they
// might have hidden it.
func (b *batch) afterTool(t *task, result *tool.Result, err error) (*tool.Result, error) {
	result, err = addContext(result, err, t.hookContext)
	if !b.hooked("AfterTool") {
		return result, err
	}
	if t.ctx.Err() != nil {
		return replaceContent(result, err, "The result is not shown: the call was cancelled before the hooks saw it")
	}
	response := map[string]any{}
	if result != nil {
		content, _ := tool.Cut(result.Content)
		response["llmContent"], response["returnDisplay"] = content, result.Display
		if result.Failed {
			response["error"] = map[string]any{"message": content, "type": result.Code}
		}
	} else {
		response["llmContent"], response["returnDisplay"] = err.Error(), err.Error()
		response["error"] = map[string]any{"message": err.Error()}
	}
	a := b.fireFor(t.ctx, t.call.ID, "AfterTool", hookNames(t.tool.Spec()), map[string]any{
		"tool": t.name, "tool_name": t.name, "tool_input": t.call.Args, "tool_response": response,
	})
	if a.Stop {
		b.halt(a)
	}
	if t.ctx.Err() != nil && !a.Denied() {
		return replaceContent(result, err,
			"The result is not shown: the call was cancelled before the hooks had decided")
	}
	var instead *string
	if raw := a.Edited["tool_output"]; raw != nil {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		instead = &text
	}
	if a.Denied() {
		text := "The result is hidden by a hook: " + a.Reason
		instead = &text
	}
	if instead != nil {
		result, err = replaceContent(result, err, *instead)
	}
	return addContext(result, err, a.Context)
}

// replaceContent gives the model a text instead of what a call came to.
// Where the call failed before there was a result, the text becomes its error. result is
// not changed.
func replaceContent(result *tool.Result, err error, text string) (*tool.Result, error) {
	if result == nil {
		return nil, tool.Errorf(tool.CodeFailed, "%s", text)
	}
	if result.Whole != nil {
		_ = result.Whole.Close() // nobody is to read it
	}
	hidden := *result
	hidden.Content, hidden.Whole, hidden.Media = text, nil, nil
	return &hidden, err
}

// addContext adds what hooks say to what the model gets of a call.
// An error keeps its code. result is not changed.
func addContext(result *tool.Result, err error, context []string) (*tool.Result, error) {
	if len(context) == 0 {
		return result, err
	}
	text := "\n[context from a hook]\n" + strings.Join(context, "\n")
	if result == nil {
		code := tool.CodeFailed
		if e, ok := errors.AsType[*tool.Error](err); ok {
			code = e.Code
		}
		return nil, tool.Errorf(code, "%s", err.Error()+text)
	}
	more := *result
	more.Content += text
	return &more, err
}
