package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// callable returns the agents that an agent may delegate to, by name: those of its
// subagents that other agents may run here. Agents whose inputs have agent_name, which
// the tool itself needs, are left out, and so is the agent itself.
func (s *Service) callable(def *definition.Definition, folder string, set *Settings) []*definition.Definition {
	if len(def.Subagents) == 0 {
		return nil
	}
	all, byName := s.others(folder, set)
	var found []*definition.Definition
	if slices.Contains(def.Subagents, "*") {
		for _, d := range all {
			if d.Name != mainAgent {
				found = append(found, d)
			}
		}
	}
	for _, name := range def.Subagents {
		if d := byName[name]; d != nil && !slices.Contains(found, d) {
			found = append(found, d)
		}
	}
	// What is left can run now: a model is not offered an agent that would refuse it.
	found = slices.DeleteFunc(found, func(d *definition.Definition) bool {
		usable, _ := d.Usable()
		off := override(d, set.Overrides[d.Name]).Off != (authority.Origin{})
		return d.Name == def.Name || !usable || off || !d.Delegable || len(d.Authority) > 0 ||
			inputs(d)[agentName] != nil || s.checkPermitted(d) != nil
	})
	slices.SortFunc(found, func(a, b *definition.Definition) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// agentName is the argument of delegate_to_agent that no input of an agent may be named
// like.
const agentName = "agent_name"

// inputs returns the properties of an agent's inputs. nil where it has none, or they
// are no object.
func inputs(d *definition.Definition) map[string]json.RawMessage {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(d.Inputs, &schema) != nil {
		return nil
	}
	return schema.Properties
}

// delegation is delegate_to_agent of one agent (spec 4.1). It is made for each run, and
// its spec at most once: there may be thousands of agents.
type delegation struct {
	service *Service
	agents  []*definition.Definition // that may be called, by name
	spec    func() tool.Spec
	caller  *Live // set before a model is asked; nil where the tool is only explained
}

// delegation returns the tool, nil for an agent that has nobody to delegate to.
func (s *Service) delegation(def *definition.Definition, folder string, set *Settings) *delegation {
	agents := s.callable(def, folder, set)
	if len(agents) == 0 {
		return nil
	}
	d := &delegation{service: s, agents: agents}
	d.spec = sync.OnceValue(d.describe)
	return d
}

// Spec implements tool.Tool.
func (d *delegation) Spec() tool.Spec { return d.spec() }

// What the model is told of agents.
const (
	maxDescribed   = 64  // agents; the names of the others are told
	maxDescription = 200 // characters of one
)

// describe makes what the model is told: who there is, and what each takes. Providers
// want one schema for all agents: a property that agents mean differently is left open
// there.
func (d *delegation) describe() tool.Spec {
	var about strings.Builder
	about.WriteString("Gives a part of the work to another agent and returns its result. The agent does not see this conversation: " +
		"tell it everything that it needs. Calls in one reply run side by side.\n\nThe agents:")
	var names []string
	properties := map[string]json.RawMessage{}
	takers := map[string][]string{} // by property: who takes it
	differs := map[string]bool{}
	for i, a := range d.agents {
		names = append(names, a.Name)
		takes := "query"
		own := map[string]json.RawMessage{"query": json.RawMessage(`{"type":"string","description":"What the agent is to do, whole and understandable by itself."}`)}
		if a.Inputs != nil {
			own = inputs(a)
			takes = "nothing else"
		}
		for _, name := range keysOf(own) {
			if before, known := properties[name]; known && !bytes.Equal(before, own[name]) {
				differs[name] = true
			}
			properties[name] = own[name]
			takers[name] = append(takers[name], a.Name)
		}
		if len(own) > 0 {
			takes = strings.Join(keysOf(own), ", ")
		}
		// Its name and what it takes are in the schema all the same, so it can be called.
		if i >= maxDescribed {
			continue
		}
		does := []rune(cmp.Or(oneLine(a.Description), a.Title, a.Name))
		if len(does) > maxDescription {
			does = append(does[:maxDescription-1], '…')
		}
		fmt.Fprintf(&about, "\n- %s: %s (takes %s)", a.Name, string(does), takes)
	}
	if more := len(d.agents) - maxDescribed; more > 0 {
		fmt.Fprintf(&about, "\n%d more are named in the schema of %s.", more, agentName)
	}
	for name := range properties {
		// What has another meaning for each agent, or refers to its agent's schema, is
		// checked when it is called.
		if differs[name] || bytes.Contains(properties[name], []byte(`"$`)) {
			properties[name] = encode(map[string]string{"description": "As " +
				strings.Join(takers[name], ", ") + " take it."})
		}
	}
	properties[agentName] = encode(map[string]any{"type": "string", "enum": names, "description": "The agent."})
	return tool.Spec{
		Name: tool.Delegate, Risk: tool.Safe, Description: about.String(),
		Parameters: encode(map[string]any{"type": "object", "properties": properties, "required": []string{agentName},
			"additionalProperties": false}),
	}
}

// Plan implements tool.Tool. Delegating is safe by itself: what the other agent does is
// asked about when it does it.
func (d *delegation) Plan(_ context.Context, _ *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(args, &given); err != nil || given == nil {
		return nil, tool.Errorf(tool.CodeArgs, "The arguments of %s must be an object.", tool.Delegate)
	}
	var name string
	if err := json.Unmarshal(given[agentName], &name); err != nil {
		return nil, tool.Errorf(tool.CodeArgs, "%s must name an agent: %s.", agentName, d.names())
	}
	def := d.find(name)
	if def == nil {
		shown, _ := tool.CutTo(tool.Escape(name), 200)
		return nil, tool.Errorf(tool.CodeNotAllowed, "This agent may not call %q. Agents that it may call: %s.", shown,
			d.names())
	}
	delete(given, agentName)
	asked := Start{Agent: def.Name, Mode: definition.Task}
	if d.caller != nil && (def.Model == "" || def.Model == "inherit") {
		asked.Model = d.caller.start.Model // what the person asked for
	}
	about := ""
	if def.Inputs == nil {
		var query string
		if err := json.Unmarshal(given["query"], &query); err != nil ||
			strings.TrimSpace(query) == "" || len(given) > 1 {
			return nil, tool.Errorf(tool.CodeArgs,
				"%s takes query, a text that says what it is to do, and nothing else.", def.Name)
		}
		asked.Input, about = []activity.ContentBlock{{Type: "text", Text: query}}, query
	} else {
		asked.Inputs = encode(given)
		if _, err := inputsOf(def, asked.Inputs); err != nil {
			return nil, tool.Errorf(tool.CodeArgs, "The arguments do not fit %s: %s", def.Name, fault.Message(err))
		}
		about = string(asked.Inputs)
	}
	// Rules and people see the agent's own name, however the model wrote it.
	given[agentName] = encode(def.Name)
	title, _ := tool.CutTo(tool.Escape(oneLine(about)), 100)
	return &tool.Plan{
		Tool: tool.Delegate, Args: encode(given), Risk: tool.Safe, Why: "the agent is asked about what it does itself",
		Title: fmt.Sprintf("%s %s: %s", tool.Delegate, def.Name, title),
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) {
			return d.service.delegate(ctx, d.caller, env.Call, asked)
		},
	}, nil
}

// find returns the agent that a model means; nil for none. Dashes and underscores are
// one, since names of tools have no dashes for some models.
func (d *delegation) find(name string) *definition.Definition {
	for _, a := range d.agents {
		if a.Name == name || strings.ReplaceAll(a.Name, "-", "_") == strings.ReplaceAll(name, "-", "_") {
			return a
		}
	}
	return nil
}

// names lists the agents for an error.
// They are those that may be called now, in the order of their names.
func (d *delegation) names() string {
	var names []string
	for _, a := range d.agents {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}

// delegating are the tools of an agent that may delegate: a model that calls another
// agent by its name means delegate_to_agent.
type delegating struct {
	*tool.Set
	delegation *delegation
}

// Find implements run.Tools.
func (t *delegating) Find(name string) (tool.Tool, error) {
	found, err := t.Set.Find(name)
	if err == nil {
		return found, nil
	}
	// Only what is no tool of the agent's: a tool that is called as an agent stays the tool.
	if a := t.delegation.find(name); a != nil {
		return &byName{t.delegation, a.Name}, nil
	}
	return nil, err
}

// byName is a call of another agent by its name.
type byName struct {
	*delegation
	agent string
}

// Plan implements tool.Tool. It becomes a call of delegate_to_agent with that name.
func (n *byName) Plan(ctx context.Context, env *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	given := map[string]json.RawMessage{}
	if len(args) > 0 && json.Unmarshal(args, &given) != nil {
		return nil, tool.Errorf(tool.CodeArgs, "The arguments of %s must be an object.", n.agent)
	}
	if given == nil {
		given = map[string]json.RawMessage{}
	}
	given[agentName] = encode(n.agent)
	return n.delegation.Plan(ctx, env, encode(given))
}

// delegate runs another agent for a call of a run, and waits for its end. The error is
// for the model. It blocks for as long as that run takes; when ctx ends the run is
// ended, and waited for.
func (s *Service) delegate(ctx context.Context, caller *Live, call string, asked Start) (*tool.Result, error) {
	ended, err := s.await(ctx, caller, call, asked, caller.tree.enter)
	if err != nil {
		return nil, err
	}
	result := delegationResult(asked.Agent, ended.result, ended.taint)
	result.Changes = ended.changes
	if ctx.Err() != nil {
		result.Failed, result.Code = true, tool.CodeCancelled
	}
	return result, nil
}

// awaited is how a run ended that another one waited for.
type awaited struct {
	result  activity.RunFinished
	taint   tool.Taint // of it, and of who took over from it
	changes []activity.Change
	left    bool // it was interrupted
}

// await runs another agent for a call of a run, and waits for its end. A call that an
// earlier daemon made is gone on with: its run is taken up again, or has its result in
// the log. enter takes it into the tree. The error is for the model.
//
// The id of the call is what ties the two runs together in the log (run.started has
// it), so that after a restart the same call finds its run and none is made twice. It
// counts in the tree between enter and leave.
func (s *Service) await(ctx context.Context, caller *Live, call string, asked Start,
	enter func() (leave func(), err error)) (*awaited, error) {
	earlier, again := caller.conv.RunOfCall(caller.ID, call)
	pending := false
	first := earlier.Run
	if again { // control may have passed on, also to a run that never began
		earlier, pending = holds(caller.conv.Runs(), earlier)
	}
	taint := func(runs ...string) (worst tool.Taint) {
		for _, id := range runs {
			worst = worst.Max(tool.TaintOf(caller.conv.Taint(id)))
		}
		return worst
	}
	if again && !pending && earlier.State == activity.Finished {
		finished, err := s.resultOf(caller.conv, earlier.Run)
		if err != nil {
			return nil, err
		}
		return &awaited{result: finished, taint: taint(first, earlier.Run)}, nil
	}
	leave, err := enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	asked.Run = earlier.Run
	if !again {
		asked.Run = uuid.Must(uuid.NewV7()).String()
	}
	// The runs below are begun with the service's context: ctx, which would bound only their
	// start, ends them through from.within, with its cause.
	asked = below(ctx, caller, call, asked)
	var live *Live
	switch {
	case pending:
		if live, err = s.resumeHandoff(caller.conv, earlier, asked); err != nil {
			caller.conv.Abandon(earlier.Run) // its caller does not try again
		}
	case again:
		live, err = s.takeUp(s.ctx, caller.conv, asked, run.Extension{})
	default:
		live, err = s.Start(s.ctx, asked)
	}
	if err != nil {
		return nil, tool.Errorf(tool.CodeFailed, "%s does not run: %s", asked.Agent, fault.Message(err))
	}
	<-live.Done() // it ends with ctx
	ended, _ := caller.conv.Run(live.by.Run)
	return &awaited{
		result: live.Result(), taint: taint(live.ID, live.by.Run), changes: live.Result().Changes,
		left: ended.State == activity.Interrupted,
	}, nil
}

// below returns what asks for a run that another one waits for, until ctx ends. It has
// what the caller has: session, folder, client, frontend, mode; what the caller has
// read taints it from the start; and what agents on the way ask to be confirmed is
// asked here too (SEC-130).
func below(ctx context.Context, caller *Live, call string, asked Start) Start {
	from := caller.start
	asked.Session, asked.Folder, asked.Frontend, asked.Client, asked.Approval = caller.Session, caller.folder,
		from.Frontend, from.Client, from.Approval
	asked.Taint = from.Taint.Max(tool.TaintOf(caller.conv.Taint(caller.ID)))
	// The context belongs to the run's id: an agent that works twice at once has two.
	asked.from = origin{
		parent: caller, call: call, within: ctx, tree: caller.tree, contextID: asked.Run, depth: from.from.depth + 1,
		stateRun: asked.from.stateRun,
		chain:    caller.chain(), correlationID: caller.about.CorrelationID,
		require: append(slices.Clip(from.from.require), caller.def.Confirmation.Require...),
		project: cmp.Or(projectOf(caller.def), from.from.project),
	}
	return asked
}

// chain is the agents that led to a run, its own last.
func (l *Live) chain() []string { return append(slices.Clone(l.start.from.chain), l.Agent) }

// delegationResult is what the caller's model gets of a run (spec 4.1). What the other agent
// says is data, and as trustworthy as what it has read. Any end but GOAL is a failure of the
// call.
func delegationResult(agent string, r activity.RunFinished, taint tool.Taint) *tool.Result {
	text := fmt.Sprintf("Subagent '%s' finished (%s, %s, %s).", agent, r.Reason,
		tool.Count(r.Turns, "turn", "turns"), tool.Count(r.Usage.TotalTokens, "token", "tokens"))
	display := text
	if r.Error != nil {
		text += "\n" + r.Error.Message
	}
	if r.Text != "" {
		text += "\n" + r.Text
	}
	return &tool.Result{Content: text, Display: display, Taint: taint, Failed: r.Reason != activity.Goal}
}

// resultOf returns how a run of a session ended. It reads the whole log. The error is
// Unavailable where it is not there, as after a purge.
func (s *Service) resultOf(conv *conversation, id string) (result activity.RunFinished, err error) {
	found := false
	err = conv.Log.Replay(conv.Log.Last(), func(e activity.Event) {
		if b, over := e.Body.(activity.RunFinished); over && e.Run == id {
			result, found = b, true
		}
	})
	if err == nil && !found {
		err = fault.New(fault.Unavailable, "agents.delegate", "the result of the run %s is not in the log any more", id)
	}
	return result, err
}

// keysOf returns the names of members in order.
func keysOf(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// oneLine returns the first line of a text.
func oneLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// encode is the JSON of a value that has one. null for any other.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}
