package replay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
)

// Model answers as models did.
// One for all models. It asks nobody. An answer that the log does not have is an error of
// class model.Fatal, which ends the run; ctx's error comes where it has ended.
func (r *Recording) Model() model.Searcher { return recordedModel{r} }

// recordedModel is a Recording in the place of models.
type recordedModel struct{ *Recording }

// Searches implements [model.Searcher]. What a search gave is an answer in the log like
// others.
func (recordedModel) Searches(string) bool { return true }

// Generate implements [model.Model].
// It gives the recorded answer at once, in one chunk for each part. A request that the
// recording has no answer for is a fatal error: a replay asks no real model.
func (m recordedModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		got, words, err := m.answer(req)
		if err == nil {
			err = m.tell(req.Asker.Run, words)
		}
		if err != nil {
			yield(model.Chunk{}, &model.Error{Class: model.Fatal, Message: err.Error()})
			return
		}
		for _, p := range got.Message.Parts {
			if (p.Text != "" || p.Thought != "") && !yield(model.Chunk{Text: p.Text, Thought: p.Thought,
				Subject: p.Subject}, nil) {
				return
			}
		}
		yield(model.Chunk{Answer: got}, nil)
	}
}

// answer takes the next answer that fits a request, and what the person said while it came.
// An answer is given once.
func (m recordedModel) answer(req *model.Request) (*model.Answer, said, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if req.Asker.Purpose == "route" {
		answer, err := m.routerAnswer()
		return answer, nil, err
	}
	var run *recordedRun
	if req.Asker.Run != "" { // else it is asked by hand
		run = m.meet(req.Asker, req)
	}
	if req.Asker.Purpose != "" {
		from := &m.aside
		if run != nil {
			from = &run.asides
		}
		for i := range *from {
			if a := &(*from)[i]; !a.used && a.Purpose == req.Asker.Purpose {
				a.used = true
				return answerOf(a.Content, a.ModelFinished, nil), nil, nil
			}
		}
		return nil, nil, fmt.Errorf("the session has no more answers for %s", req.Asker.Purpose)
	}
	switch {
	case run == nil:
		return nil, nil, fmt.Errorf("the session has no run of %s that fits", req.Asker.Agent)
	case len(run.answers) == 0:
		return nil, nil, fmt.Errorf("%s", cmp.Or(run.failure, "the session has no more answers for "+run.agent))
	}
	a := run.answers[0]
	run.answers = run.answers[1:]
	return answerOf(a.content.Content, a.finished, a.content.Raw), a.said, nil
}

// tell tells a run what the person said to it.
// It must not hold the lock: the run may ask for its next answer meanwhile.
func (r *Recording) tell(run string, words said) error {
	for _, input := range words {
		if r.Say == nil {
			return errors.New("nobody can be told what the person said")
		}
		if err := r.Say(run, input); err != nil {
			return err
		}
	}
	return nil
}

// routerAnswer is the router's answer. It is made from the decision: the call of a
// transfer to the agent, or of no_suitable_agent. m.mu is held.
func (m recordedModel) routerAnswer() (*model.Answer, error) {
	if len(m.route) == 0 {
		return nil, fmt.Errorf("the session has no more answers for route")
	}
	d := m.route[0]
	m.route = m.route[1:]
	if d.Model.Error != "" {
		return nil, fmt.Errorf("%s", d.Model.Error)
	}
	args, err := json.Marshal(map[string]string{"reason": d.Reason, "context": d.Context})
	if err != nil {
		return nil, err
	}
	name := "no_suitable_agent"
	if d.Agent != "" && d.By == "llm" {
		name = "transfer_to_" + d.Agent
	}
	return answerOf([]model.Part{{Call: &model.Call{Name: name, Args: args}}},
		activity.ModelFinished{Finish: model.Stop, Usage: d.Model.Usage}, nil), nil
}

// answerOf returns an answer of the log as models give them.
func answerOf(content []model.Part, finished activity.ModelFinished, raw json.RawMessage) *model.Answer {
	parts := append([]model.Part{}, content...)
	return &model.Answer{
		Message: model.Message{Role: model.Reply, Parts: parts, Raw: raw}, Finish: cmp.Or(finished.Finish, model.Stop),
		Usage: finished.Usage, Counted: finished.Usage != (model.Usage{}),
	}
}

// Tools puts the recorded results in the place of tools. What the policy says of a call is
// today's.
// The tools are still asked for their plans, which read files of today and change nothing.
// Their Do is never called. The caller owns the slice.
func (r *Recording) Tools(tools []tool.Tool) []tool.Tool {
	var all []tool.Tool
	for _, t := range tools {
		all = append(all, recordedTool{t, r})
	}
	return all
}

// recordedTool is a tool with a recorded result.
type recordedTool struct {
	tool.Tool
	*Recording
}

// Plan implements [tool.Tool].
// A call that was refused before it ran is refused in the same words. Where today's files do
// not let it be planned, it has the recorded risk, so that the policy asks as it did. Nothing
// is spawned, so no wall is needed.
func (t recordedTool) Plan(ctx context.Context, env *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	spec := t.Spec()
	was, shape, ok := t.endOf(env)
	if ok && was.Result == nil && was.Error != nil && planned(was.Error.Code) {
		return nil, tool.Errorf(was.Error.Code, "%s", was.Error.Message)
	}
	plan, err := t.Tool.Plan(ctx, env, args)
	if err != nil { // the files are others by now
		plan = &tool.Plan{Tool: spec.Name, Args: args, Risk: spec.Risk, Title: spec.Name}
		asked := was.Risk
		if _, ofServer := t.Tool.(serverTool); ofServer {
			asked = cmp.Or(t.riskOf(was.Call), asked)
		}
		for risk := plan.Risk; risk <= tool.Catastrophic; risk++ {
			if risk.String() == asked {
				plan.Risk = risk
			}
		}
	}
	plan.Spawns = false
	if plan.Access == "" { // of commands the words count
		plan.Shape, plan.Covers = shape, cmp.Or(plan.Covers, spec.Name)
	}
	plan.Do = func(context.Context, *tool.Env) (*tool.Result, error) {
		if err := t.tell(env.Run, t.takeWords(env)); err != nil {
			return nil, err
		}
		switch {
		case !ok:
			return nil, tool.Errorf(tool.CodeInternal, "the session has no result of %s", spec.Name)
		case was.Result != nil:
			return &tool.Result{Content: withoutNote(was.Result.Content), Display: was.Result.Display,
				Taint: tool.TaintOf(was.Taint)}, nil
		case was.Error != nil && was.State == activity.Failed:
			return &tool.Result{Content: withoutNote(was.Error.Message), Failed: true, Code: was.Error.Code,
				Taint: tool.TaintOf(was.Taint)}, nil
		}
		return nil, tool.Errorf(tool.CodeCancelled, "the call was cancelled")
	}
	return plan, nil
}

// riskOf is the risk that the person was told of a call; "" where they were not asked.
func (r *Recording) riskOf(call string) string {
	for _, e := range r.events {
		if b, ok := e.Body.(activity.ConfirmationAsked); ok && b.Call == call {
			return b.Risk
		}
	}
	return ""
}

// withoutNote is a result without the line that tells the model of arguments which the person
// or a hook changed: the run adds it.
func withoutNote(content string) string {
	line, rest, ok := strings.Cut(content, "\n")
	if ok && (strings.HasPrefix(line, "The person changed this call") ||
		strings.HasPrefix(line, "A hook changed this call")) {
		return rest
	}
	return content
}

// takeWords takes what the person said while a call was made.
func (t recordedTool) takeWords(env *tool.Env) said {
	t.mu.Lock()
	defer t.mu.Unlock()
	run := t.meet(model.Asker{Run: env.Run, Agent: env.Agent}, nil)
	if run == nil {
		return nil
	}
	call := run.id + "#" + place(env.Call)
	words := t.during[call]
	delete(t.during, call)
	return words
}

// planned reports whether a call with this error never ran.
func planned(code string) bool {
	switch code {
	case tool.CodeArgs, tool.CodeNotFound, tool.CodeStale, tool.CodeOutside, tool.CodeBinary, tool.CodeTooLarge:
		return true
	}
	return false
}

// endOf returns how a call ended, and the shape that its answer is remembered by.
func (t recordedTool) endOf(env *tool.Env) (was activity.ToolState, shape string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	run := t.meet(model.Asker{Run: env.Run, Agent: env.Agent}, nil)
	if run == nil {
		return was, "", false
	}
	call := run.id + "#" + place(env.Call)
	was, ok = t.calls[call]
	return was, t.shape[call], ok
}
