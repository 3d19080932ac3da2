package mcp

import (
	"reflect"
	"slices"
	"testing"

	"github.com/agentls/agentls/workspace"
)

// TestRowsOfDescriptions: what a description may have is in the reference of settings,
// from which editors tell what is not known.
func TestRowsOfDescriptions(t *testing.T) {
	var keys []string
	for _, row := range workspace.SettingsReference() {
		keys = append(keys, row.Key)
	}
	for _, c := range []struct {
		below string
		of    reflect.Type
		left  []string // refused
	}{
		{"mcpServers.*.", reflect.TypeFor[described](), nil},
		{"mcpServers.*.oauth.", reflect.TypeFor[oauth](), []string{"audiences", "tokenParamName"}},
	} {
		for i := range c.of.NumField() {
			name := c.of.Field(i).Tag.Get("json")
			if slices.Contains(keys, c.below+name) == slices.Contains(c.left, name) {
				t.Errorf("%s%s: in the reference it is %v", c.below, name, slices.Contains(keys, c.below+name))
			}
		}
	}
}
