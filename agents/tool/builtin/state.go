package builtin

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/agentls/agentls/agents/tool"
)

// getStateArgs are the arguments of get_state; no key means all.
type getStateArgs struct {
	Key string `json:"key"`
}

// getState returns the tool that reads the session's state.
func getState() tool.Tool {
	return define("get_state", tool.Safe, `{
	"type": "object",
	"properties": {"key": {"type": "string", "minLength": 1, "description": "The key; left out: the whole state."}},
	"additionalProperties": false
}`, map[string]string{"name": "key"}, planGetState)
}

// planGetState plans to read the state. Which keys the agent may see Env.Variables decides.
func planGetState(_ context.Context, env *tool.Env, args getStateArgs) (*tool.Plan, error) {
	if env.Variables == nil {
		return nil, noVariables
	}
	return &tool.Plan{
		Risk: tool.Safe, Why: "reads the session's state", Title: strings.TrimSpace("get_state " + tool.Name(args.Key)),
		Do: func(context.Context, *tool.Env) (*tool.Result, error) {
			value, taint, err := env.Variables.Get(args.Key)
			switch {
			case err != nil:
				return nil, err
			case value == nil:
				return &tool.Result{Content: "Nothing is set for " + args.Key + "."}, nil
			}
			// What another agent set may be another's words: it taints as what that agent had read.
			return &tool.Result{Content: string(value), Taint: taint}, nil
		},
	}, nil
}

// noVariables is what an agent is told where there is no state. It is shared and must not be
// modified.
var noVariables = tool.Errorf(tool.CodeFailed, "There is no state here.")

// setStateArgs are the arguments of set_state.
type setStateArgs struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// setState returns the tool that sets a key of the session's state.
func setState() tool.Tool {
	return define("set_state", tool.Safe, `{
	"type": "object",
	"properties": {
		"key": {"type": "string", "minLength": 1, "description": "The key, with its prefix if it has one."},
		"value": {"description": "Any JSON value; null removes the key."}
	},
	"required": ["key", "value"],
	"additionalProperties": false
}`, map[string]string{"name": "key"}, planSetState)
}

// planSetState plans to set a key. A key that later sessions see Lasts. Secrets of the daemon's are
// refused.
func planSetState(_ context.Context, env *tool.Env, args setStateArgs) (*tool.Plan, error) {
	switch {
	case env.Variables == nil:
		return nil, noVariables
	case env.Secret != nil && env.Secret(string(args.Value)):
		return nil, tool.Errorf(tool.CodeDenied, "The value holds a secret. Secrets are not kept.")
	}
	// Refused in the plan already, so that nobody is asked about a call that cannot be done.
	lasts, err := env.Variables.Check(args.Key, args.Value)
	if err != nil {
		return nil, err
	}
	why := "notes a value in the session's state"
	if lasts {
		why = "notes a value that later sessions see"
	}
	return &tool.Plan{
		Risk: tool.Safe, Why: why, Title: "set_state " + tool.Name(args.Key), Lasts: lasts,
		Do: func(ctx context.Context, _ *tool.Env) (*tool.Result, error) {
			if err := env.Variables.Set(ctx, args.Key, args.Value); err != nil {
				return nil, err
			}
			done := "Set "
			if string(args.Value) == "null" {
				done = "Removed "
			}
			return &tool.Result{Content: done + args.Key + "."}, nil
		},
	}, nil
}
