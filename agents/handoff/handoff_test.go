package handoff

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
)

var payload = json.RawMessage(`{"type":"object","properties":{"file":{"type":"string"},"line":{"type":"integer","minimum":1}},"required":["file"]}`)

func list() List {
	fixer := Target{Title: "Code Fixer", Description: "Fixes bugs."}
	return List{
		New(definition.Handoff{To: "code-fixer", When: "manual"}, fixer),
		New(definition.Handoff{To: "tester", When: "manual", Payload: payload, Description: "Runs tests."}, Target{Title: "Tester"}),
		New(definition.Handoff{To: "reviewer", When: "conditional", Condition: "last_tool == 'edit_file'"}, Target{}),
		New(definition.Handoff{To: "broken", When: "conditional", Condition: "state.deep.deeper == 1"}, Target{}),
		New(definition.Handoff{To: "gone", When: "manual"}, Target{}),
		New(definition.Handoff{To: User, When: "manual"}, Target{}),
	}
}

func TestChecks(t *testing.T) {
	reason := `{"reason":"It needs a fix."}`
	for _, test := range []struct {
		name, to, args string
		chain          []string
		last           string
		want           Code
		says           string
	}{
		{name: "permitted", to: "code-fixer", args: reason},
		{name: "underscores", to: "code_fixer", args: reason},
		{name: "a person", to: "user", args: reason},
		{name: "payload", to: "tester", args: `{"reason":"r","file":"a.go","line":3,"summary":"s"}`},
		{name: "condition", to: "reviewer", args: reason, last: "edit_file"},
		{name: "not in the list", to: "admin", args: reason, want: PermissionDenied, says: "does not list it"},
		{name: "deleted", to: "gone", args: `{}`, want: AgentNotFound, says: "it is not there"},
		{name: "condition not met", to: "reviewer", args: `{}`, want: ConditionNotMet, says: "last_tool == 'edit_file'"},
		{name: "condition that cannot be judged", to: "broken", args: reason, want: ConditionNotMet, says: "cannot be judged"},
		{name: "no reason", to: "code-fixer", args: `{}`, want: InvalidPayload, says: "reason"},
		{name: "empty reason", to: "code-fixer", args: `{"reason":" "}`, want: InvalidPayload, says: "reason"},
		{name: "payload is missing", to: "tester", args: reason, want: InvalidPayload, says: "file"},
		{name: "payload does not fit", to: "tester", args: `{"reason":"r","file":"a.go","line":0}`, want: InvalidPayload, says: "/line"},
		{name: "more than the payload", to: "tester", args: `{"reason":"r","file":"a.go","x":0}`, want: InvalidPayload, says: "x"},
		{name: "too deep", to: "code-fixer", args: reason, chain: []string{"a", "b", "c", "d", "debugger"}, want: MaxDepthExceeded, says: "5"},
		{name: "too deep comes before circular", to: "code-fixer", args: reason, chain: []string{"code-fixer", "b", "c", "d", "debugger"}, want: MaxDepthExceeded, says: "5"},
		{name: "the fifth", to: "code-fixer", args: reason, chain: []string{"a", "b", "c", "debugger"}},
		{name: "circular", to: "code-fixer", args: reason, chain: []string{"code-fixer", "debugger"}, want: CircularHandoff, says: "user → code-fixer → debugger"},
		{name: "a person ends any chain", to: "user", args: reason, chain: []string{"a", "b", "c", "d", "debugger"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := list()
			if test.chain == nil {
				test.chain = []string{"debugger"}
			}
			transfer := Transfer{
				Entry: l.Find(test.to), To: test.to, Args: json.RawMessage(test.args), Chain: test.chain, Max: 5,
				Values: map[string]any{"last_tool": test.last, "state": map[string]any{}},
				Resolve: func(to string) (string, error) {
					if to == "gone" {
						return "", errors.New("it is not there")
					}
					return to, nil
				},
			}
			name, m, refused := transfer.Check()
			switch {
			case test.want == "" && refused != nil:
				t.Errorf("refused: %s %s", refused.Code, refused.Message)
			case test.want == "" && (name != strings.ReplaceAll(test.to, "_", "-") || m.Reason == ""):
				t.Errorf("%s %+v", name, m)
			case test.want != "" && (refused == nil || refused.Code != test.want || !strings.Contains(refused.Message, test.says)):
				t.Errorf("%+v, want %s %q", refused, test.want, test.says)
			}
			if test.name == "payload" && string(m.Payload) != `{"file":"a.go","line":3}` {
				t.Errorf("payload %s", m.Payload)
			}
		})
	}
}

func TestSpec(t *testing.T) {
	l := list()
	fixer, tester, user := l[0].Spec(), l[1].Spec(), l[5].Spec()
	if fixer.Name != "transfer_to_code-fixer" || fixer.Description != "Fixes bugs.\nTarget agent: Code Fixer" {
		t.Errorf("%s: %q", fixer.Name, fixer.Description)
	}
	if tester.Description != "Runs tests.\nTarget agent: Tester" {
		t.Errorf("%q", tester.Description)
	}
	var schema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(tester.Parameters, &schema); err != nil || len(schema.Properties) != 5 || strings.Join(schema.Required, " ") != "reason file" {
		t.Errorf("%s: %v", tester.Parameters, err)
	}
	if strings.Contains(string(user.Parameters), "context") || user.Name != "transfer_to_user" {
		t.Errorf("%s: %s", user.Name, user.Parameters)
	}
	if name := New(definition.Handoff{To: "web:fixer"}, Target{}).Spec().Name; name != "transfer_to_fixer" {
		t.Errorf("%s", name)
	}
}

func TestNamed(t *testing.T) {
	for name, want := range map[string]string{
		"transfer_to_code-fixer": "code-fixer", "transfer_to_code_fixer": "code_fixer", "handoff_to_x": "x", "transfer-to-x": "x", "transfer_to_": "", "read_file": "",
	} {
		if to, ok := TargetOf(name); to != want || ok != (want != "") {
			t.Errorf("%s: %q %t", name, to, ok)
		}
	}
}

func TestAutomatic(t *testing.T) {
	l := List{
		New(definition.Handoff{To: "a", When: "auto", Condition: "missing.x.y"}, Target{}),
		New(definition.Handoff{To: "b", When: "manual"}, Target{}),
		New(definition.Handoff{To: "c", When: "auto", Condition: "task.status == 'completed'"}, Target{}),
		New(definition.Handoff{To: "d", When: "auto"}, Target{}),
	}
	var bad []string
	next := func(status string) string {
		e := l.Automatic(map[string]any{"task": map[string]any{"status": status}}, func(e *Entry, why error) { bad = append(bad, e.To) })
		return e.To
	}
	if a, b := next("completed"), next("failed"); a != "c" || b != "d" || strings.Join(bad, "") != "aa" {
		t.Errorf("%s %s, %v", a, b, bad)
	}
	transfer := Transfer{Entry: l[2], Values: map[string]any{"task": map[string]any{"status": "completed"}}, Max: 5, Resolve: func(to string) (string, error) { return to, nil }}
	if _, m, refused := transfer.Check(); refused != nil || m.Reason != "its work is done (task.status == 'completed')" {
		t.Errorf("%+v %+v", m, refused)
	}
	transfer.Entry = New(definition.Handoff{To: "tester", When: "auto", Payload: payload}, Target{})
	if _, _, refused := transfer.Check(); refused == nil || refused.Code != InvalidPayload {
		t.Errorf("%+v", refused)
	}
}

func TestTell(t *testing.T) {
	text := Tell(Story{
		From: "debugger", Chain: []string{"debugger", "code-fixer"},
		Message: Message{Reason: "It needs a fix.", Summary: "Two lines\n# Environment", Context: "main.go:3\r# Orders", Payload: json.RawMessage(`{"file":"a.go"}`)},
		History: Quote("debugger", conversation("x"), 100),
	})
	for _, want := range []string{
		"- Chain: user → debugger → code-fixer\n", "- Reason: It needs a fix.\n", "- Summary:\n> Two lines\n> # Environment\n", "- Context:\n> main.go:3\n> # Orders\n", `- Payload: {"file":"a.go"}`,
		"> user: x", "> debugger: I look.", `> debugger called read_file with {"path":"a"}`, "> read_file answered: one\n> two",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func conversation(first string) []model.Message {
	return []model.Message{
		{Role: model.User, Parts: []model.Part{{Text: first}}},
		{Role: model.Reply, Parts: []model.Part{{Thought: "hidden"}, {Text: "I look."}, {Call: &model.Call{ID: "1", Name: "read_file", Args: json.RawMessage(`{"path":"a"}`)}}}},
		{Role: model.User, Parts: []model.Part{{Result: &model.Result{ID: "1", Name: "read_file", Content: "one\ntwo\n"}}}},
	}
}

// TestQuoteIsTrimmed: the oldest goes first, and what is left is as long as allowed.
func TestQuoteIsTrimmed(t *testing.T) {
	whole := Quote("debugger", conversation(strings.Repeat("old ", 1000)), 5000)
	if strings.Contains(whole, left) || strings.Contains(whole, "hidden") {
		t.Errorf("%.200s", whole)
	}
	short := Quote("debugger", conversation(strings.Repeat("old ", 1000)), 60)
	if strings.Contains(short, "old") || !strings.HasPrefix(short, left) || !strings.HasSuffix(short, "> two") || model.EstimateTokens(short) > 60 {
		t.Errorf("%s", short)
	}
	if Quote("debugger", nil, 100) != "" {
		t.Error("a conversation out of nothing")
	}
}

// TestLongNames: a provider takes names of 64 bytes; two that begin alike stay apart.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("a", 63)
	l := List{New(definition.Handoff{To: long + "x"}, Target{}), New(definition.Handoff{To: "web:" + long + "y"}, Target{})}
	for i, e := range l {
		name := e.Spec().Name
		if len(name) != 64 || name == l[1-i].Spec().Name {
			t.Errorf("%s", name)
		}
		for _, written := range []string{name, FullName(e.To)} {
			if to, ok := TargetOf(written); !ok || l.Find(to) != e {
				t.Errorf("%s means another", written)
			}
		}
	}
	if name := ToolName(strings.Repeat("b", 52)); name != FullName(strings.Repeat("b", 52)) {
		t.Errorf("%s", name)
	}
}
