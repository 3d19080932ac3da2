package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
)

// CompleteTask is the tool with which a task run ends (spec 3.3).
const CompleteTask = "complete_task"

// completed is the text of a task that ends without one (spec 3.3).
const completed = "Task completed successfully."

// graceTime bounds the last turn of a task run that hit a limit (spec 3.3).
const graceTime = 60 * time.Second

// completion is complete_task of one run.
//
// It is a tool like others to the batch, except that it is run when all other calls
// of its batch have ended (task.completes).
type completion struct {
	r      *runner
	spec   tool.Spec
	schema *tool.Schema
	output *definition.Output // nil: a text, which may be absent
}

// newCompletion returns the tool. A schema that does not compile fails each
// call of it: definition has found it before (agent/schema).
func newCompletion(r *runner, output *definition.Output) *completion {
	c := &completion{r: r, output: output}
	name, about, value := "result", "What you found or did, for whoever asked.", json.RawMessage(`{"type":"string"}`)
	var needed []string
	if output != nil {
		name, about, value, needed = output.Name, output.Description, output.Schema, []string{output.Name}
	}
	if about != "" {
		value = addDescription(value, about)
	}
	schema := map[string]any{
		"type": "object", "properties": map[string]json.RawMessage{name: value}, "additionalProperties": false,
	}
	if needed != nil {
		schema["required"] = needed
	}
	if output != nil {
		rehouse(schema, name, value)
	}
	parameters, err := json.Marshal(schema)
	if err != nil {
		parameters = json.RawMessage("false") // nothing fits what cannot be said
	}
	c.schema = tool.NewSchema(parameters, nil)
	c.spec = tool.Spec{
		Name: CompleteTask, Risk: tool.Safe, Parameters: parameters,
		Description: "Ends the task. Call it once, when the task is done or cannot be done, with everything that whoever gave the task must know: nothing else that you write reaches them.",
	}
	return c
}

// addDescription returns a schema with a description where it has none; one that is
// no object comes back as it is.
func addDescription(schema json.RawMessage, text string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil || members == nil || members["description"] != nil {
		return schema
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return schema
	}
	members["description"] = quoted
	changed, err := json.Marshal(members)
	if err != nil {
		return schema
	}
	return changed
}

// rehouse makes a schema that was a root the property name of parameters: its
// definitions become those of the root, where providers look for them, and its
// references go where what they name has gone. One that has an id of its own
// stays as it is, since its references are to that.
func rehouse(parameters map[string]any, name string, schema json.RawMessage) {
	var root map[string]any
	numbers := json.NewDecoder(bytes.NewReader(schema))
	numbers.UseNumber()
	if numbers.Decode(&root) != nil || root == nil || root["$id"] != nil {
		return
	}
	home := "#/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for key, member := range v {
				switch ref, text := member.(string); {
				case text && (key == "$ref" || key == "$dynamicRef"):
					if rest, ok := strings.CutPrefix(ref, "#"); ok && (rest == "" || rest[0] == '/') &&
						!strings.HasPrefix(rest, "/$defs/") && !strings.HasPrefix(rest, "/definitions/") {
						v[key] = home + rest
					}
				case key != "const" && key != "enum" && key != "default" && key != "examples":
					walk(member)
				}
			}
		}
	}
	walk(root)
	for _, key := range []string{"$defs", "definitions"} {
		if defs, ok := root[key]; ok {
			parameters[key] = defs
			delete(root, key)
		}
	}
	if draft, ok := root["$schema"]; ok {
		parameters["$schema"] = draft
		delete(root, "$schema")
	}
	if changed, err := json.Marshal(root); err == nil {
		parameters["properties"] = map[string]json.RawMessage{name: changed}
	}
}

// Spec implements tool.Tool.
func (c *completion) Spec() tool.Spec { return c.spec }

// Plan implements tool.Tool. What does not fit the schema is an error that
// names each place as a JSON pointer, and the run goes on.
func (c *completion) Plan(_ context.Context, _ *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	canonical, err := c.schema.Check(args)
	if err != nil {
		return nil, err
	}
	return &tool.Plan{
		Tool: CompleteTask, Args: canonical, Risk: tool.Safe, Why: "it only ends the run", Title: CompleteTask,
		Do: func(context.Context, *tool.Env) (*tool.Result, error) { return c.complete(canonical) },
	}, nil
}

// complete takes the first valid call; a later one of the same batch is an
// error (spec 3.3).
// A result that came while the person was saying something has to be given again,
// since it may be wrong by now.
func (c *completion) complete(args json.RawMessage) (*tool.Result, error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	switch {
	case c.r.done != nil:
		return nil, tool.Errorf(tool.CodeFailed, "The task is completed already; the first call counts.")
	case c.r.steered > 0 && !c.r.tools.only: // after the last turn nobody reads it
		return nil, tool.Errorf(tool.CodeFailed,
			"The person has said something meanwhile. Read it, then complete the task once more.")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(args, &members); err != nil {
		return nil, fmt.Errorf("the result of the task: %w", err)
	}
	if c.output == nil {
		text := ""
		if raw := members["result"]; raw != nil {
			if err := json.Unmarshal(raw, &text); err != nil {
				return nil, fmt.Errorf("the result of the task: %w", err)
			}
		}
		if strings.TrimSpace(text) == "" {
			text = completed
		}
		c.r.done = &outcome{text: text}
	} else {
		value := members[c.output.Name]
		c.r.done = &outcome{text: c.render(value), output: value}
	}
	return &tool.Result{Content: completed}, nil
}

// outcome is what a task came to.
type outcome struct {
	text   string
	output json.RawMessage // nil without a schema
	passes *passing        // control, instead of completing the task
}

// render writes an output for people: by the agent's template, else as JSON.
func (c *completion) render(value json.RawMessage) string {
	if c.output.Text != "" {
		return fill(c.output.Text, value)
	}
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// fill replaces each ${field} of a template by what the output has there:
// strings as they are, the rest as JSON, nothing for what is not there; $${field}
// stands for itself (spec 1.4). An output that is no object has the one field
// value.
func fill(template string, output json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(output, &fields) != nil {
		fields = map[string]json.RawMessage{"value": output}
	}
	return placeholder.ReplaceAllStringFunc(template, func(found string) string {
		if literal, ok := strings.CutPrefix(found, "$$"); ok {
			return "$" + literal
		}
		raw, given := fields[found[2:len(found)-1]]
		var text string
		switch {
		case !given:
			return ""
		case json.Unmarshal(raw, &text) == nil:
			return text
		}
		return string(raw)
	})
}

// placeholder is ${name}, or $${name} for itself.
var placeholder = regexp.MustCompile(`\$?\$\{\w+\}`)

// withCompletion is an agent's tools with complete_task among them; only it,
// when only is set.
//
// only is set under the runner's mu before the last turn, when no call goes on.
type withCompletion struct {
	Tools
	complete *completion
	only     bool
}

// List implements Tools.
func (t *withCompletion) List() []tool.Tool {
	if t.only {
		return []tool.Tool{t.complete}
	}
	return append(t.Tools.List(), t.complete)
}

// Find implements Tools.
func (t *withCompletion) Find(name string) (tool.Tool, error) {
	// Dashes and underscores are one, as in names of agents.
	if name == CompleteTask || strings.ReplaceAll(name, "-", "_") == CompleteTask {
		return t.complete, nil
	}
	if t.only {
		return nil, tool.Errorf(tool.CodeNotAllowed, "Tool not allowed for this agent: %s\nTools of this agent: %s",
			tool.Escape(name), CompleteTask)
	}
	return t.Tools.Find(name)
}

// grace gives a task run that hit a limit one last turn in which it can only
// complete the task. It returns how the run ends.
//
// Its own time runs under parent, since the run's may be used up. A run that is
// cancelled in it ends as cancelled; whatever else goes wrong, the end is the limit
// that was hit.
func (r *runner) grace(parent context.Context, hit ending) ending {
	ctx, cancel := context.WithTimeoutCause(parent, graceTime, ErrTimeout)
	defer cancel()
	r.say(activity.Note{Level: "warning", ToModel: true, Message: fmt.Sprintf(
		"%s This is your last turn: call %s now with what you have. No other tool can be called.",
		hit.text, CompleteTask)})
	r.mu.Lock()
	r.tools.only, r.closing = true, false
	r.mu.Unlock()
	turn := r.beginTurn()
	began := r.Now()
	answer, _, err := r.think(ctx)
	if err != nil {
		r.sayFor(activity.TurnFinished{Turn: turn}, r.Now().Sub(began))
		if end, over := r.over(ctx); over && end.reason != activity.Timeout {
			return end
		}
		return hit
	}
	calls := callsOf(answer)
	if len(calls) > 0 {
		r.toolCalls += len(calls)
		r.act(ctx, calls)
	}
	r.sayFor(activity.TurnFinished{Turn: turn, Usage: answer.Usage, ToolCalls: len(calls)}, r.Now().Sub(began))
	if end, ok := r.completion(); ok {
		end.recovered = hit.reason
		return end
	}
	if end, over := r.over(ctx); over && end.reason != activity.Timeout {
		return end
	}
	return hit
}

// completion reports whether the task has been completed, and the run's end.
func (r *runner) completion() (ending, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done == nil {
		return ending{}, false
	}
	if r.done.passes != nil {
		return ending{reason: activity.HandedOff, text: r.done.text, passes: r.done.passes}, true
	}
	return ending{reason: activity.Goal, text: r.done.text, output: r.done.output}, true
}
