package definition

import (
	"fmt"
	"strings"
	"testing"
)

// TestGuards: both spellings are read alike, what checks nothing or can never pass is a
// finding, and a name stands for one guard.
func TestGuards(t *testing.T) {
	for _, c := range []struct{ fields, guards, told string }{
		{"guardrails: {output_schema: {type: object}, on_failure: repair}", "output false repair {\"type\":\"object\"} ", ""},
		{"guardrails: [{name: a, validator: custom}, {validator: no-secrets, policy: warn, on: input, mode: parallel}]", "a false reject  a|guard-2 true warn  no-secrets", ""},
		{"guardrails: [{name: a, validator: no-secrets}, {name: a, validator: no-harmful-code}]", "a false reject  no-secrets|a-2 false reject  no-harmful-code", ""},
		{"guardrails: [{name: a, policy: warn}]", "", "The guard a checks nothing"},
		{"guardrails: [{on: input, policy: repair, validator: no-secrets}]", "guard-1 true reject  no-secrets", "cannot be repaired, so the guard guard-1 rejects"},
		{"guardrails: [{mode: parallel, validator: no-secrets}]", "guard-1 false reject  no-secrets", "has no effect on the guard guard-1"},
		{"guardrails: {output_schema: false}", "output false reject false ", "No result meets guardrails.output_schema: false lets nothing pass"},
		{"guardrails: {output_schema: " + strings.Repeat("{required: ["+strings.Repeat("a, ", 60)+"], properties: {a: ", 12) + "{}" + strings.Repeat("}}", 12) + "}", "", "guardrails.output_schema"},
		{"guardrails: {output_schema: {enum: []}}", "", "guardrails.output_schema"},
		{"guardrails: {output_schema: {type: string, minLength: 5, maxLength: 3}}", "output false reject {\"type\":\"string\",\"minLength\":5,\"maxLength\":3} ", "No result meets guardrails.output_schema: minLength 5 is more than maxLength 3"},
		{"guardrails: {output_schema: {type: string, minLength: 3, maxLength: 3}}", "output false reject {\"type\":\"string\",\"minLength\":3,\"maxLength\":3} ", ""},
		{"guardrails: {output_schema: {not: {}}}", "output false reject {\"not\":{}} ", "not: {} lets nothing pass"},
		{"guardrails: {output_schema: {properties: {a: false}, required: [a]}}", "output false reject {\"properties\":{\"a\":false},\"required\":[\"a\"]} ", "a is required, and false lets nothing pass"},
		{"guardrails: {output_schema: {properties: {a: {}}, required: [b], additionalProperties: false}}", "output false reject {\"properties\":{\"a\":{}},\"required\":[\"b\"],\"additionalProperties\":false} ", "b is required and not among its properties"},
		{"guardrails: {output_schema: {properties: {a: {}}, required: [b], patternProperties: {x: {}}, additionalProperties: false}}", "*", ""},
	} {
		d := parse(ownPath, own(c.fields+"\n"))
		var guards, told []string
		for _, g := range d.Guards {
			guards = append(guards, fmt.Sprintf("%s %t %s %s %s", g.Name, g.Input, g.Policy, g.Schema, g.Validator))
		}
		for _, p := range d.Problems {
			told = append(told, p.Message)
		}
		if got := strings.Join(guards, "|"); c.guards != "*" && c.guards != "" && got != c.guards {
			t.Errorf("%s:\ngot  %q\nwant %q", c.fields, got, c.guards)
		}
		if got := strings.Join(told, "|"); (got == "") != (c.told == "") || !strings.Contains(got, c.told) {
			t.Errorf("%s: told %q, want %q", c.fields, got, c.told)
		}
	}
}
