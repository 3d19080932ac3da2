package route_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/route"
)

// clinc is CLINC150: sentences that people say to an assistant, with what they mean,
// and sentences that are for nobody. Its ten domains are ten agents.
type clinc struct {
	agents []route.Agent
	domain map[string]string
	data   map[string][][2]string
}

func newClinc(t testing.TB) *clinc {
	t.Helper()
	c := &clinc{domain: make(map[string]string)}
	folder := filepath.Join("..", "..", "..", "shared", "data", "clinc150")
	read := func(name string, into any) {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if os.IsNotExist(err) {
			t.Skip("the data of CLINC150 is not beside this checkout")
		}
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var domains map[string][]string
	read("data_small.json", &c.data)
	read("domains.json", &domains)
	for name, intents := range domains {
		for _, intent := range intents {
			c.domain[intent] = name
		}
		c.agents = append(c.agents, route.Agent{Name: name, Priority: definition.DefaultPriority})
	}
	slices.SortFunc(c.agents, func(a, b route.Agent) int { return compare(a.Name, b.Name) })
	for _, pair := range c.data["train"] {
		i := slices.IndexFunc(c.agents, func(a route.Agent) bool { return a.Name == c.domain[pair[1]] })
		c.agents[i].Examples = append(c.agents[i].Examples, pair[0])
	}
	return c
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

// measured is what became of the sentences of a split.
type measured struct {
	inScope, right, answered, answeredRight int
	outOfScope, left                        int
}

func (m measured) String() string {
	share := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	return fmt.Sprintf("right when forced %.1f %%, answered %.1f %% of what has an agent, right %.1f %% of what was answered, left %.1f %% of what has none",
		share(m.right, m.inScope), share(m.answered, m.inScope), share(m.answeredRight, m.answered+m.outOfScope-m.left), share(m.left, m.outOfScope))
}

func (c *clinc) measure(t testing.TB, x *route.Index, split string) (m measured) {
	best := func(input string) route.Candidate {
		if a := x.Rank(t.Context(), input); len(a.Candidates) > 0 {
			return a.Candidates[0]
		}
		return route.Candidate{}
	}
	for _, pair := range c.data[split] {
		got := best(pair[0])
		m.inScope++
		right := got.Agent == c.domain[pair[1]]
		if right {
			m.right++
		}
		if got.Confidence >= 80 {
			m.answered++
			if right {
				m.answeredRight++
			}
		}
	}
	nobody := c.data["oos_"+split]
	if split == "val" { // so few that those of train, which nothing is made of, help
		nobody = append(nobody[:len(nobody):len(nobody)], c.data["oos_train"]...)
	}
	for _, pair := range nobody {
		m.outOfScope++
		if best(pair[0]).Confidence < 80 {
			m.left++
		}
	}
	return m
}

// TestExamplesOfCLINC150 holds what docs/routing.md says of the split val, by which
// the confidence was calibrated.
func TestExamplesOfCLINC150(t *testing.T) {
	c := newClinc(t)
	m := c.measure(t, route.NewIndex(c.agents), "val")
	t.Log(m)
	answered := m.answered + m.outOfScope - m.left
	if 100*m.right < 90*m.inScope || 100*m.answeredRight < 95*answered || 100*m.answered < 75*m.inScope || 100*m.left < 90*m.outOfScope {
		t.Error("it is worse than docs/routing.md says")
	}
}
