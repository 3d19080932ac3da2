package builtin

import (
	"context"

	"github.com/agentls/agentls/agents/tool"
)

// askArgs are the arguments of ask_user.
type askArgs struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices"`
}

// askUser returns the tool that puts a question of the agent's before the person.
func askUser() tool.Tool {
	return define("ask_user", tool.Safe, `{
	"type": "object",
	"properties": {
		"question": {"type": "string", "minLength": 1, "maxLength": 4000, "description": "The question, whole and understandable by itself."},
		"choices": {"type": "array", "maxItems": 20, "items": {"type": "string", "minLength": 1, "maxLength": 200}, "description": "Answers to choose from."}
	},
	"required": ["question"],
	"additionalProperties": false
}`, map[string]string{"options": "choices"}, planAsk)
}

// planAsk plans a question. It is safe: the person sees what is asked, and an answer does nothing
// by itself.
func planAsk(_ context.Context, _ *tool.Env, args askArgs) (*tool.Plan, error) {
	return &tool.Plan{
		Risk: tool.Safe, Why: "asks the person", Title: "ask_user " + title(args.Question),
		Do: func(ctx context.Context, env *tool.Env) (*tool.Result, error) { return doAsk(ctx, env, args) },
	}, nil
}

// doAsk asks and waits, without a bound of its own: the run's clock stands still meanwhile. A
// person who declines or dismisses it is a result, and no error.
func doAsk(ctx context.Context, env *tool.Env, args askArgs) (*tool.Result, error) {
	// Not a refusal when it is planned: whether somebody can be asked may change until then.
	if env.Ask == nil {
		return nil, tool.Errorf(tool.CodeNoPerson,
			"Nobody can be asked here. Go on with what you know, and say what you assumed.")
	}
	answer, err := env.Ask(ctx, tool.Question{Title: env.Agent + " asks", Message: args.Question,
		Choices: args.Choices})
	if err != nil {
		return nil, err
	}
	switch answer.Action {
	case "accept":
		return &tool.Result{Content: answer.Text, Display: "The person answered: " + tool.Escape(answer.Text)}, nil
	case "decline":
		return &tool.Result{Content: "The person declined to answer.", Display: "The person declined to answer."}, nil
	}
	return &tool.Result{Content: "The person dismissed the question without an answer.",
		Display: "The question was dismissed."}, nil
}
