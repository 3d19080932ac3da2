package tooltest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/fault"
)

// Conform holds a tool to what the doc of [tool.Tool] promises. args are
// arguments of calls that can be planned in the workspace; there must be one at
// least.
func Conform(t *testing.T, made tool.Tool, w *Workspace, env func() *tool.Env, args ...string) {
	t.Helper()
	spec := made.Spec()
	t.Run(spec.Name, func(t *testing.T) {
		if len(args) == 0 {
			t.Fatal("no call to plan")
		}
		checkSpec(t, made)
		checkArguments(t, made, env, args[0])
		for _, a := range args {
			checkPlan(t, made, w, env, a)
		}
	})
}

func checkSpec(t *testing.T, made tool.Tool) {
	spec := made.Spec()
	if spec.Name == "" || strings.TrimSpace(spec.Description) == "" || len(spec.Description) > 4096 {
		t.Errorf("name %q, description of %d bytes", spec.Name, len(spec.Description))
	}
	if spec.Risk == tool.Unclassified {
		t.Error("no tier")
	}
	var schema struct {
		Type       string          `json:"type"`
		Properties map[string]any  `json:"properties"`
		Additional json.RawMessage `json:"additionalProperties"`
	}
	if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
		t.Fatalf("parameters: %v", err)
	}
	if schema.Type != "object" || string(schema.Additional) != "false" {
		t.Error("the parameters are no object that refuses unknown properties (SEC-21)")
	}
	for name := range schema.Properties {
		lower := strings.ToLower(name)
		for _, unsafe := range []string{"sandbox", "trust", "approve", "permission", "bypass"} {
			if strings.Contains(lower, unsafe) {
				t.Errorf("%s is a safety switch as an argument (SEC-21)", name)
			}
		}
	}
	if again := made.Spec(); again.Name != spec.Name || string(again.Parameters) != string(spec.Parameters) ||
		again.Description != spec.Description {
		t.Error("the specification changes")
	}
}

// checkArguments holds that what does not fit is refused with a code, and
// nothing else happens (SEC-125).
func checkArguments(t *testing.T, made tool.Tool, env func() *tool.Env, good string) {
	for _, extra := range []string{`"disableSandbox":true`, `"trust":true`, `"autoApprove":true`, `"nonsense":1`} {
		bad := strings.TrimSuffix(strings.TrimSpace(good), "}")
		if strings.HasSuffix(bad, "{") {
			bad += extra + "}"
		} else {
			bad += "," + extra + "}"
		}
		if _, err := made.Plan(t.Context(), env(), json.RawMessage(bad)); Code(err) != tool.CodeArgs {
			t.Errorf("SEC-21: %s gave %v", bad, err)
		}
	}
	for _, bad := range []string{"[]", `"x"`, "{", `{"a":1,"a":1}`, good + "{}", strings.Repeat("[", 100_000)} {
		if _, err := made.Plan(t.Context(), env(), json.RawMessage(bad)); Code(err) != tool.CodeArgs {
			t.Errorf("%.40s gave %v", bad, err)
		}
	}
}

// checkPlan holds that a plan changes nothing, says what a person needs, and
// runs only with its own token, once.
func checkPlan(t *testing.T, made tool.Tool, w *Workspace, env func() *tool.Env, args string) {
	before := w.Tree(t)
	e := env()
	p, err := made.Plan(t.Context(), e, json.RawMessage(args))
	if err != nil {
		t.Errorf("%s: %v", args, err)
		return
	}
	if after := w.Tree(t); after != before {
		t.Errorf("%s: planning changed files", args)
	}
	spec := made.Spec()
	if p.Tool != spec.Name || p.Title == "" || p.Why == "" || p.Do == nil || !json.Valid(p.Args) {
		t.Errorf("%s: tool %q, title %q, why %q, args %s", args, p.Tool, p.Title, p.Why, p.Args)
	}
	if p.Risk == tool.Unclassified || p.Risk < spec.Risk {
		t.Errorf("%s: tier %v, of a tool of tier %v", args, p.Risk, spec.Risk)
	}
	if tool.Escape(p.Title) != p.Title {
		t.Errorf("%s: the title %q is not escaped", args, p.Title)
	}
	if (p.Shape == "") != (p.Covers == "") || (p.Shape != "" && p.Risk > tool.Medium) {
		t.Errorf("%s: remembered as %q, told as %q, at tier %v", args, p.Shape, p.Covers, p.Risk)
	}
	again, err := made.Plan(t.Context(), env(), json.RawMessage(args))
	id := tool.Identity{Session: e.Session, Run: e.Run, Call: e.Call, Agent: e.Agent}
	if err != nil || again.Digest(id) != p.Digest(id) {
		t.Errorf("%s: planned again it is another call (%v)", args, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	other := id
	other.Agent = "another"
	for what, token := range map[string]*tool.Token{
		"no token": nil, "the zero token": {}, "another call's": tool.Mint(t.Context(), "0"),
		"another agent's":              tool.Mint(t.Context(), p.Digest(other)),
		"that of a run that has ended": tool.Mint(ended, p.Digest(id)),
	} {
		if _, err := p.Run(t.Context(), e, token); fault.KindOf(err) != fault.Denied {
			t.Errorf("%s: with %s it gave %v", args, what, err)
		}
	}
	if after := w.Tree(t); after != before {
		t.Errorf("%s: it ran without its token", args)
	}
}
