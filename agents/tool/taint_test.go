package tool_test

import (
	"path/filepath"
	"testing"

	"github.com/agentls/agentls/agents/tool"
)

// TestSEC16TrustIsByPlace: what a call writes, names or runs in decides, and the
// run's folder only where a call names no place.
func TestSEC16TrustIsByPlace(t *testing.T) {
	work, strange := filepath.FromSlash("/w/a"), filepath.FromSlash("/w/b")
	inner := filepath.Join(strange, "inner")
	env := &tool.Env{Folder: work, Folders: []string{work, strange, inner}, Trusted: true, Strange: []string{strange}}
	at := func(folder string) string { return filepath.Join(folder, "x") }
	for name, c := range map[string]struct {
		plan    tool.Plan
		trusted bool
		folder  string
	}{
		"no place":                        {tool.Plan{}, true, work},
		"reads in the run's":              {tool.Plan{Path: at(work), Reads: []string{at(work)}}, true, work},
		"reads in a strange one":          {tool.Plan{Path: at(strange), Reads: []string{at(strange)}}, false, strange},
		"writes in a strange one":         {tool.Plan{Path: at(work), Writes: []string{at(work), at(strange)}}, false, strange},
		"a trusted one inside":            {tool.Plan{Writes: []string{at(inner)}}, true, inner},
		"a command there":                 {tool.Plan{Preview: tool.Preview{Cwd: strange}}, false, strange},
		"a command here that reads there": {tool.Plan{Preview: tool.Preview{Cwd: work}, Reads: []string{work, at(strange)}}, true, work},
		"outside of all":                  {tool.Plan{Reads: []string{filepath.FromSlash("/elsewhere/x")}}, true, work},
	} {
		if trusted, folder := env.Trusts(&c.plan); trusted != c.trusted || folder != c.folder {
			t.Errorf("%s: %t, %s; want %t, %s", name, trusted, folder, c.trusted, c.folder)
		}
	}
	env.Trusted, env.Strange = false, []string{work}
	for name, c := range map[string]struct {
		plan    tool.Plan
		trusted bool
	}{
		"no place":                {tool.Plan{}, false},
		"outside of all":          {tool.Plan{Reads: []string{filepath.FromSlash("/elsewhere/x")}}, false},
		"writes in the run's":     {tool.Plan{Writes: []string{at(work)}}, false},
		"writes in a trusted one": {tool.Plan{Writes: []string{at(strange)}}, true},
	} {
		if trusted, _ := env.Trusts(&c.plan); trusted != c.trusted {
			t.Errorf("in a run of a strange folder: %s: %t", name, trusted)
		}
	}
}
