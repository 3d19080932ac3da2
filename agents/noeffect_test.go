package agents

import (
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/internal/fault"
)

// TestNoGuardrailIsSkipped: an agent whose guardrails nothing would check does not run,
// and its explanation says why.
func TestNoGuardrailIsSkipped(t *testing.T) {
	for _, guard := range []string{"{output_schema: {type: object}}", "[{validator: 'builtin:no-secrets', policy: warn}]", "[{on: input, validator: no-secrets}]"} {
		text := "---\nkind: agent\nname: guarded\ntitle: G\nguardrails: " + guard + "\n---\nx\n"
		d := definition.Parse(definition.Source{Path: "/w/.gemini/agents/guarded.md", Scope: definition.Global, Data: []byte(text)})
		s := explaining(Settings{})
		s.Now = time.Now
		start := Start{Definition: d, Input: []activity.ContentBlock{{Type: "text", Text: "Go."}}}
		_, err := s.plan(start)
		if err == nil || fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), "guarded does not run") || !strings.Contains(err.Error(), "guardrails has no effect in this version") || !strings.Contains(err.Error(), "remove the field") {
			t.Errorf("%s: %v", guard, err)
		}
		if e := s.Explain(d, text); len(e.Refused) != 1 || !strings.Contains(e.Refused[0], "guardrails has no effect in this version") {
			t.Errorf("%s: %q", guard, e.Refused)
		}
		// With the row out of the table it runs.
		restore := definition.UseNoEffect(false)
		start.Definition = definition.Parse(definition.Source{Path: d.Path, Scope: definition.Global, Data: []byte(text)})
		if _, err := s.plan(start); err != nil {
			t.Errorf("%s: %v", guard, err)
		}
		restore()
	}
}

// TestToolsWithoutEffect: the tools of the table of names that have no effect are those
// that nothing provides.
func TestToolsWithoutEffect(t *testing.T) {
	there := map[string]bool{"complete_task": true, "delegate_to_agent": true, "activate_skill": true} // of runs themselves, and of folders with skills
	for _, b := range builtin.Tools() {
		there[b.Spec().Name] = true
	}
	for _, name := range definition.ToolNames() {
		if definition.ToolHasNoEffect(name.Name) == there[name.Name] {
			t.Errorf("%s: is there %t, has no effect %t", name.Name, there[name.Name], definition.ToolHasNoEffect(name.Name))
		}
	}
}
