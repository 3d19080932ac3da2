package route_test

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/route"
)

// TestDevelopers: prompts of developers, English and Chinese, for eight agents, a
// quarter of them for nobody. Of the half by whose hash rules were made, at or over the
// threshold of 80 95 in 100 are right, and half of what has an agent needs no model. The
// other half is for a measurement at the end.
func TestDevelopers(t *testing.T) {
	var agents []route.Agent
	files, _ := filepath.Glob("testdata/developers/*.md")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := definition.Parse(definition.Source{Path: file, Data: text})
		if len(d.Problems) > 0 {
			t.Fatal(d.Problems)
		}
		agents = append(agents, route.Agent{Name: d.Name, Description: d.Description, Triggers: d.Triggers, Examples: d.Examples, Priority: d.Priority})
	}
	prompts, err := os.ReadFile("testdata/developers/prompts.tsv")
	if err != nil || len(agents) != 8 {
		t.Fatal(len(agents), err)
	}
	x := route.NewIndex(agents)
	var all, answered, right int
	for line := range strings.Lines(string(prompts)) {
		want, prompt, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if sha256.Sum256([]byte(prompt))[0]%2 == 1 {
			continue // the half that is looked at at the end
		}
		if want != "-" {
			all++
		}
		a := x.Rank(t.Context(), prompt)
		if len(a.Candidates) == 0 || a.Candidates[0].Confidence < 80 {
			continue
		}
		answered++
		if got := a.Candidates[0].Agent; got == want {
			right++
		} else {
			t.Logf("%q is for %s, taken by %s (%d %%)", prompt, want, got, a.Candidates[0].Confidence)
		}
	}
	t.Logf("%d of %d with an agent answered right, %d answered", right, all, answered)
	if 100*right < 95*answered || 2*right < all {
		t.Error("too few are right, or too few are answered")
	}
}
