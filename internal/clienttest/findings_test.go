package clienttest

import (
	"strings"
	"testing"
)

// TestNeovimFindingsOfOpenFiles: a finding goes when its cause is fixed in another
// file, also while nothing is typed in the one that shows it.
func TestNeovimFindingsOfOpenFiles(t *testing.T) {
	inNeovims(t, func(t *testing.T, n neovimOf) {
		env, dir := desk(t)
		unfoldIn(t, dir, map[string]string{
			".gemini/agents/caller.md": "---\nkind: agent\nname: caller\ntitle: Caller\nhandoffs:\n  - to: helper\n---\nYou call.\n",
			".gemini/agents/helper.md": "---\nkind: agent\nname: help\ntitle: Helper\n---\nYou help.\n",
		})
		s := n.start(t, env, dir)
		s.send(":edit .gemini/agents/caller.md", "Enter")
		t.Logf("what is wrong:\n%s", s.await("There is no agent helper"))
		s.send(":split .gemini/agents/helper.md", "Enter")
		s.await("You help.")
		s.send("/name: help", "Enter", "A", "er", "Escape", ":write", "Enter")
		now := s.until("that nothing is wrong any more", func(now string) bool {
			return strings.Contains(now, "name: helper") && !strings.Contains(now, "There is no agent helper")
		})
		t.Logf("fixed:\n%s", now)
		s.send(":qall!", "Enter")
	})
}
