package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

// Tools puts the results of a case in the place of tools. It is safe for concurrent use.
// It serves one run of one case.
type Tools struct{ stubs *stubs }

// NewTools returns the tools of a case.
func NewTools(c *Case) *Tools {
	return &Tools{&stubs{results: c.Results, used: make([]bool, len(c.Results)), calls: make(map[string]*Result)}}
}

// Stub returns tools whose calls do what the policy says of them, as ever, and then have
// the result that the case gives for them instead of running. Calls that no result is for
// run, but those that leave the machine or that no sandbox confines: these are refused.
func (t *Tools) Stub(tools []tool.Tool) []tool.Tool {
	var all []tool.Tool
	for _, one := range tools {
		all = append(all, &stubbed{one, t.stubs})
	}
	return all
}

// Failures returns the calls that were refused since the case gives no result for them.
func (t *Tools) Failures() []Failure {
	t.stubs.mu.Lock()
	defer t.stubs.mu.Unlock()
	return slices.Clone(t.stubs.wrong)
}

// stubs are the results of a case, and which were used; mu guards all but results.
type stubs struct {
	mu      sync.Mutex
	results []Result
	// As long as results.
	used  []bool
	calls map[string]*Result // by call: one may be planned more than once
	wrong []Failure
}

// refuse returns the error of a call that does not run in a test, and notes it as a
// failure.
func (s *stubs) refuse(name, why string) error {
	line := fmt.Sprintf("results: %s was not run, since %s; give its result, as in {tool: %s, result: …}", name, why,
		name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.wrong, func(f Failure) bool { return f.Text == line }) {
		s.wrong = append(s.wrong, Failure{[]string{"results"}, line})
	}
	return tool.Errorf(tool.CodeDenied, "%s was not run, since %s, and the test gives no result for it.", name, why)
}

// reaches says what a call reaches that a test keeps away from; "" for nothing. The model
// of the test answers a web search, so that one stays here.
// The plan says what a call would do, so nothing has run when it is refused.
func reaches(plan *tool.Plan, env *tool.Env, name string) string {
	if plan.Leaves && name != "web_search" {
		return "it leaves this machine"
	}
	if !plan.Spawns && plan.Access == "" {
		return ""
	}
	confined := (plan.Access == sandbox.Read || plan.Access == sandbox.Write) && env.Sandbox != nil
	if confined {
		wall, _ := env.Sandbox.Wall()
		confined = wall != sandbox.None
	}
	if !confined {
		return "no sandbox confines it"
	}
	return ""
}

// of returns the result of a call. The same call has the same result however often it
// is planned; nil for none.
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
// mu is held. A result without arguments fits every call of its tool.
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

// stubbed is a tool that may not run. The policy judges the plan of the real tool, so
// that what would be asked is asked in a test too.
type stubbed struct {
	tool.Tool
	stubs *stubs
}

// Plan implements [tool.Tool].
//
// With a result the plan of the real tool is kept for the policy, without what would start
// a process or leave the machine, and its Do gives the result.
func (t *stubbed) Plan(ctx context.Context, env *tool.Env, args json.RawMessage) (*tool.Plan, error) {
	spec := t.Spec()
	r := t.stubs.of(env.Call, spec.Name, args)
	if r == nil {
		plan, err := t.Tool.Plan(ctx, env, args)
		if err == nil {
			if why := reaches(plan, env, spec.Name); why != "" {
				return nil, t.stubs.refuse(spec.Name, why)
			}
		}
		return plan, err
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
