package language

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/template"
)

// TestNoEffect: what is made of a template has nothing that has no effect in this version.
func TestNoEffect(t *testing.T) {
	defer definition.UseNoEffect(true)()
	list, err := template.List("")
	if err != nil {
		t.Fatal(err)
	}
	for _, tpl := range list {
		made, err := New(&World{}, Answers{Name: "x", Template: &tpl, Dir: "/w/.gemini/agents", Folder: "/w", Scope: definition.Project})
		if err != nil || len(made.Problems) > 0 || (tpl.Name != "blank" && strings.Contains(made.Text, "triggers:") == definition.HasNoEffect("triggers")) {
			t.Errorf("%s: %v %+v\n%s", tpl.Name, err, made.Problems, made.Text)
		}
	}
}
