package clienttest

import (
	"strings"
	"testing"
)

// TestNeovimPluginShowsGraphs: :AgentsGraph shows the graph of an agent, and follows what
// its nodes do when it runs.
func TestNeovimPluginShowsGraphs(t *testing.T) {
	inPlugin(t, func(t *testing.T, n neovimOf) {
		dir := notes(t)
		unfoldIn(t, dir, map[string]string{".gemini/agents/flow.md": `---
kind: agent
name: flow
title: Flow
model: flash
graph:
  entry: repair
  nodes: [{name: repair, agent: fixer}, {name: look, agent: fixer, input: look again}]
  edges: [{from: repair, to: look}, {from: look, to: END}]
---
`})
		_, env := perform(t, `# when system contains You edit notes

> the list is wrong
<call complete_task {"result": "I fixed it."}

> look again
<call complete_task {"result": "It is right."}
`, patience)
		s := n.plugged(t, append(env, "AGENTLS_TRUST=1"), dir, "note.txt", "")
		s.await("eggs")
		s.command("AgentsGraph flow")
		now := s.await("repair → look")
		if !strings.Contains(now, "• repair (fixer)") || strings.Contains(now, "[finished]") {
			t.Errorf("%s", now)
		}
		s.command("wincmd p")
		s.command("AgentsRun flow the list is wrong")
		s.await("It is right.")
		s.command("AgentsGraph flow")
		now = s.await("• look (fixer) [finished]")
		if !strings.Contains(now, "• repair (fixer) [finished]") {
			t.Errorf("%s", now)
		}
		s.command("qall!")
	})
}
