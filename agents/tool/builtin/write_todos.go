package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
)

// maxTodos is how many steps a list has at most.
const maxTodos = 100

// todosArgs are the arguments of write_todos.
type todosArgs struct {
	Todos []activity.Todo `json:"todos"`
}

// writeTodos returns the tool that keeps the agent's plan.
func writeTodos() tool.Tool {
	return define("write_todos", tool.Safe, fmt.Sprintf(`{
	"type": "object",
	"properties": {
		"todos": {"type": "array", "maxItems": %d, "description": "The whole list, in the order of the work.", "items": {
			"type": "object",
			"properties": {
				"description": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "What is to be done."},
				"status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled"]}
			},
			"required": ["description", "status"],
			"additionalProperties": false
		}}
	},
	"required": ["todos"],
	"additionalProperties": false
}`, maxTodos), nil, planTodos)
}

// todoMarks shows each status in Markdown, in the order in which they are
// counted.
var todoMarks = []struct{ status, words, mark string }{
	{"completed", "completed", "- [x] %s\n"}, {"in_progress", "in progress", "- [ ] **%s**\n"},
	{"pending", "pending", "- [ ] %s\n"}, {"cancelled", "cancelled", "- [x] ~~%s~~\n"},
}

// planTodos checks a plan: no blank step, and one at most in progress.
func planTodos(_ context.Context, _ *tool.Env, args todosArgs) (*tool.Plan, error) {
	count := make(map[string]int)
	for i, todo := range args.Todos {
		if strings.TrimSpace(todo.Description) == "" {
			return nil, tool.Errorf(tool.CodeArgs, "/todos/%d/description: it is blank.", i)
		}
		count[todo.Status]++
	}
	if n := count["in_progress"]; n > 1 {
		return nil, tool.Errorf(tool.CodeArgs,
			"/todos: %d steps are in_progress, and one at most can be. Give the whole list again.", n)
	}
	return &tool.Plan{
		Risk: tool.Safe, Why: "keeps a list of steps", Title: fmt.Sprintf("write_todos (%d steps)", len(args.Todos)),
		Do: func(context.Context, *tool.Env) (*tool.Result, error) { return doTodos(args.Todos, count), nil },
	}, nil
}

// doTodos returns the plan as a result, which the run tells as an event.
//
// The model gets counts, since it has just written the steps; the person gets the list.
func doTodos(list []activity.Todo, count map[string]int) *tool.Result {
	todos := append([]activity.Todo{}, list...) // never nil: an empty list removes the old one
	if len(todos) == 0 {
		return &tool.Result{Content: "The list is empty now.", Display: "Removed the list of steps", Todos: todos}
	}
	var counted []string
	for _, m := range todoMarks {
		if n := count[m.status]; n > 0 {
			counted = append(counted, fmt.Sprintf("%d %s", n, m.words))
		}
	}
	var b strings.Builder
	for _, todo := range todos {
		for _, m := range todoMarks {
			if m.status == todo.Status {
				fmt.Fprintf(&b, m.mark, tool.Escape(todo.Description))
			}
		}
	}
	return &tool.Result{Content: fmt.Sprintf("The list has %d steps: %s.", len(todos), strings.Join(counted, ", ")),
		Display: b.String(), Todos: todos}
}
