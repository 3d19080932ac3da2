package agents

import (
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool/builtin"
)

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
