package authority

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/handoff"
	"github.com/agentls/agentls/agents/model"
)

// Transfers reports whether an agent has the tool of one of its handoffs. An entry of
// handoffs brings the tool with it, also where the file has a list of tools; what the
// settings exclude and the file denies it has not. Runs ask the same function.
func Transfers(def *definition.Definition, exclude []string, to string) bool {
	name := handoff.FullName(to)
	for _, list := range [][]string{exclude, def.Tools.Deny} {
		if _, away := newPatterns(list).find(name, true); away {
			return false
		}
	}
	return true
}

// transfers returns the tools of the agent's handoffs, and the tokens of those that are
// offered. One whose agent is not there has none.
// A handoff that is there twice has one tool. Rules match its full name, and the model is
// offered the short one.
func (s *toolset) transfers(judge *judge) (tools []Tool, tokens int) {
	var exclude []string
	for _, list := range s.in.Exclude {
		exclude = append(exclude, list.Names...)
	}
	for _, h := range s.def.Handoffs {
		var target handoff.Target
		if h.To != handoff.User {
			// An entry may say in which folder the target is: folder:name.
			found := s.in.ByName[h.To[strings.LastIndexByte(h.To, ':')+1:]]
			if found == nil {
				continue
			}
			target = handoff.Target{Title: found.Title, Description: found.Description}
		}
		spec := handoff.New(h, target).Spec()
		if slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == spec.Name }) {
			continue
		}
		t := Tool{Name: spec.Name, Added: true, Why: "its handoffs name it", Origin: s.entry(h.To, "handoffs")}
		if h.Condition != "" {
			t.Why += ", while " + h.Condition
		}
		if t.Offered = Transfers(s.def, exclude, h.To); !t.Offered {
			t.Why = cmp.Or(s.denyingList(handoff.FullName(h.To)), "its lists do not allow it")
		} else {
			tokens += model.EstimateTokens(spec.Name) + model.EstimateTokens(spec.Description) +
				model.EstimateTokens(string(spec.Parameters))
		}
		spec.Name = handoff.FullName(h.To) // which rules match
		judge.decide(&t, spec)
		tools = append(tools, t)
	}
	return tools, tokens
}

// denyingList says which list takes a tool away, "" for none.
func (s *toolset) denyingList(name string) string {
	for _, list := range s.in.Exclude {
		if entry, away := newPatterns(list.Names).find(name, true); away {
			return "excluded by " + quote(entry)
		}
	}
	if entry, away := newPatterns(s.def.Tools.Deny).find(name, true); away {
		return "denied by " + quote(entry)
	}
	return ""
}
