package authority

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
)

type nothing string

func (n nothing) Spec() tool.Spec { return tool.Spec{Name: string(n), Risk: tool.Safe} }

func (n nothing) Plan(context.Context, *tool.Env, json.RawMessage) (*tool.Plan, error) {
	return nil, nil
}

// BenchmarkFilter is which of a hundred tools an agent is offered, and why (spec
// 13: at most 0.1 ms).
func BenchmarkFilter(b *testing.B) {
	d := &definition.Definition{Name: "a", Tools: definition.Tools{
		Given: true, Allow: []string{"mcp.server1.*", "mcp.server2.*", "read_file", "bash", "mcp.server3.tool13"}, Deny: []string{"mcp.*.tool2?"},
	}}
	in := &Input{File: d, Exclude: []List{{Names: []string{"bash", "mcp.server9.*"}}}}
	for i := range 100 {
		in.Tools = append(in.Tools, nothing(fmt.Sprintf("mcp.server%d.tool%d", i%10, i)))
	}
	p := newPlaces(in)
	b.Run("set", func(b *testing.B) { // what a run does
		for b.Loop() {
			tool.NewSet(tool.SetConfig{
				Tools: in.Tools, Exclude: in.Exclude[0].Names, Deny: d.Tools.Deny, Allow: d.Tools.Allow, Restricted: true, Canonical: definition.CanonicalTool,
			})
		}
	})
	b.Run("explained", func(b *testing.B) {
		for b.Loop() {
			set := newToolset(p, d)
			for _, t := range set.all {
				set.offers(t.Spec().Name)
			}
		}
	})
}
