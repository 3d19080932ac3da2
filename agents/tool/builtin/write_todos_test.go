package builtin_test

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

type todo = map[string]any

func TestWriteTodos(t *testing.T) {
	env := tooltest.New(t, nil).Env()
	r := call(t, env, "write_todos", "todos", []todo{{"description": "Look *around*.", "status": "completed"}, {"description": "Change it.", "status": "in_progress"}, {"description": "Try\nit.", "status": "pending"}, {"description": "Ask.", "status": "cancelled"}})
	if r.Content != "The list has 4 steps: 1 completed, 1 in progress, 1 pending, 1 cancelled." {
		t.Errorf("the model gets %q", r.Content)
	}
	if r.Display != "- [x] Look *around*.\n- [ ] **Change it.**\n- [ ] Try\\nit.\n- [x] ~~Ask.~~\n" {
		t.Errorf("people get %q", r.Display)
	}
	want := []activity.Todo{{Description: "Look *around*.", Status: "completed"}, {Description: "Change it.", Status: "in_progress"}, {Description: "Try\nit.", Status: "pending"}, {Description: "Ask.", Status: "cancelled"}}
	if len(r.Todos) != len(want) {
		t.Fatalf("got %+v", r.Todos)
	}
	for i := range want {
		if r.Todos[i] != want[i] {
			t.Errorf("got %+v, want %+v", r.Todos[i], want[i])
		}
	}
	if r := call(t, env, "write_todos", "todos", []todo{}); r.Todos == nil || len(r.Todos) != 0 {
		t.Errorf("an empty list clears: %+v", r)
	}
	if p, err := named(t, "write_todos").Plan(t.Context(), env, []byte(`{"todos":[]}`)); err != nil || p.Risk != tool.Safe {
		t.Errorf("%+v, %v", p, err)
	}
	many := make([]todo, 101)
	for i := range many {
		many[i] = todo{"description": "x", "status": "pending"}
	}
	for what, c := range map[string]struct {
		todos []todo
		says  string
	}{
		"two at once":     {[]todo{{"description": "a", "status": "in_progress"}, {"description": "b", "status": "in_progress"}}, "2 steps are in_progress"},
		"another status":  {[]todo{{"description": "a", "status": "done"}}, "/todos/0/status"},
		"no status":       {[]todo{{"description": "a"}}, "/todos/0"},
		"no description":  {[]todo{{"status": "pending"}}, "/todos/0"},
		"a blank one":     {[]todo{{"description": " \n", "status": "pending"}}, "/todos/0/description"},
		"something else":  {[]todo{{"description": "a", "status": "pending", "priority": 1}}, "/todos/0"},
		"more than there": {many, "/todos"},
	} {
		if err := refused(t, env, tool.CodeArgs, "write_todos", "todos", c.todos); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused(t, env, tool.CodeArgs, "write_todos")
}

func TestWriteTodosSaysWhenToUseIt(t *testing.T) {
	text := named(t, "write_todos").Spec().Description
	for _, want := range []string{"three steps or more", "at once", "never for a loop of running tests and fixing"} {
		if !strings.Contains(text, want) {
			t.Errorf("the description does not say %q", want)
		}
	}
}
