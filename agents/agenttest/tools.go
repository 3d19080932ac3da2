package agenttest

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/agentls/agentls/agents/tool"
)

// Stub puts the results of a case in the place of tools: a call of one does what the
// policy says of it, as ever, and then has the result that the case gives for it instead
// of running. Calls that no result is for run.
func (c *Case) Stub(tools []tool.Tool) []tool.Tool {
	if len(c.Results) == 0 {
		return tools
	}
	s := &stubs{results: c.Results, used: make([]bool, len(c.Results)), calls: make(map[string]*Result)}
	var all []tool.Tool
	for _, t := range tools {
		all = append(all, &stubbed{t, s})
	}
	return all
}

type stubs struct {
	mu      sync.Mutex
	results []Result
	used    []bool
	calls   map[string]*Result // by call: one may be planned more than once
}

// of returns the result of a call.
func (s *stubs) of(call, name string, args json.RawMessage) *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, known := s.calls[call]
	if !known {
		r = s.next(name, args)
		s.calls[call] = r
	}
	return r
}

// next returns the result of a call: the first that fits and was not used, else the last
// one that fits.
func (s *stubs) next(name string, args json.RawMessage) *Result {
	var given map[string]any
	_ = json.Unmarshal(args, &given) // no object fits results without arguments
	var found *Result
	for i := range s.results {
		r := &s.results[i]
		fit := r.Tool == name
		for key, value := range r.Args {
			fit = fit && equal(value, given[key])
		}
		if fit && !s.used[i] {
			s.used[i] = true
			return r
		}
		if fit {
			found = r
		}
	}
	return found
}

// stubbed is a tool that may not run.
type stubbed struct {
	tool.Tool
	stubs *stubs
}

// Plan implements [tool.Tool].
func (t *stubbed) Plan(ctx context.Context, env *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	spec := t.Spec()
	r := t.stubs.of(env.Call, spec.Name, args)
	if r == nil {
		return t.Tool.Plan(ctx, env, args)
	}
	plan, err := t.Tool.Plan(ctx, env, args)
	if err != nil { // as of a file that is not there: what is known without it
		plan = &tool.Plan{Tool: spec.Name, Args: args, Risk: spec.Risk, Title: spec.Name}
	}
	plan.Spawns, plan.Leaves = false, false
	plan.Do = func(context.Context, *tool.Env) (*tool.Result, error) {
		if r.Error != "" {
			return nil, tool.Errorf(tool.CodeFailed, "%s", r.Error)
		}
		return &tool.Result{Content: r.Result}, nil
	}
	return plan, nil
}
