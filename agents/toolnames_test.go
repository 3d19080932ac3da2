package agents

import (
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool/builtin"
)

// TestToolNamesAreProvided: of each name of the table there is a tool.
func TestToolNamesAreProvided(t *testing.T) {
	there := map[string]bool{"complete_task": true, "delegate_to_agent": true, "activate_skill": true} // of runs themselves, and of folders with skills
	for _, b := range builtin.Tools() {
		there[b.Spec().Name] = true
	}
	for _, name := range definition.ToolNames() {
		if !there[name.Name] {
			t.Errorf("nothing provides %s", name.Name)
		}
	}
}
