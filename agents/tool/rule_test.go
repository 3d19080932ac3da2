package tool_test

import (
	"context"
	"testing"

	"github.com/agentls/agentls/agents/tool"
)

// TestSEC33RulesOfSettings: what entries of lists mean; deny takes the strict
// side, and so does allow.
func TestSEC33RulesOfSettings(t *testing.T) {
	canonical := func(name string) (string, bool) {
		if name == "run_shell_command" {
			return "bash", true
		}
		return name, false
	}
	for _, bad := range []string{"", "(x)", "bash(", "bash()", "bash( * )", "bash(git", "[", "read_file([)"} {
		if r, err := tool.ParseRule(bad, canonical); err == nil {
			t.Errorf("%q is %+v", bad, r)
		}
	}
	bash := func(words ...[]string) *tool.Plan {
		p := &tool.Plan{Tool: "bash", Commands: words, Keep: words, Preview: tool.Preview{Kind: "command"}, Reads: []string{"/w"}}
		for _, w := range words {
			p.Names = append(p.Names, w[0])
		}
		return p
	}
	file := func(paths ...string) *tool.Plan { return &tool.Plan{Tool: "write_file", Writes: paths} }
	for _, c := range []struct {
		rule           string
		plan           *tool.Plan
		denies, allows bool
	}{
		{"run_shell_command(git push)", bash([]string{"git", "push", "-f"}), true, true},
		{"bash(git push:*)", bash([]string{"git", "push"}), true, true},
		{"bash(git push)", bash([]string{"git", "-C", "x", "push"}), true, false},
		{"bash(git push)", bash([]string{"/usr/bin/git", "push"}), true, false},
		{"bash(git push)", bash([]string{"ls"}, []string{"git", "push"}), true, false},
		{"bash(git push)", bash([]string{"git", "pull"}), false, false},
		{"bash(git)", bash([]string{"gitk"}), false, false},
		{"bash", bash([]string{"x"}), true, true},
		{"ba*", bash([]string{"x"}), true, true},
		{"bash(git)", file("/w/git"), false, false},
		{"write_file(docs/**)", file("/w/docs/a/b.md"), true, true},
		{"write_file(docs/**)", file("/w/docs"), true, true},
		{"write_file(docs/**)", file("/w/docs-evil/a"), false, false},
		{"write_file(docs/**)", file("/w/docs/a", "/w/b"), true, false},
		{"write_file(docs/*.md)", file("/w/docs/a.md"), true, true},
		{"write_file(docs/*.md)", file("/w/docs/a/b.md"), false, false},
		{"write_file(/etc/**)", file("/etc/passwd"), true, true},
		{"write_file(**/secret)", file("/w/a/b/secret"), true, true},
		{"write_file(docs/../x)", file("/w/x"), true, true},
		{"write_file(x)", file(), false, false},
		{"write_file", file(), true, true},
	} {
		r, err := tool.ParseRule(c.rule, canonical)
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		if got := r.Denies(c.plan, "/w"); got != c.denies {
			t.Errorf("%s denies %v%v: %v", c.rule, c.plan.Commands, c.plan.Writes, got)
		}
		allows := len(c.plan.Keep) > 0
		for _, words := range c.plan.Keep {
			allows = allows && r.Allows(c.plan, words, "/w")
		}
		if len(c.plan.Keep) == 0 {
			allows = r.Allows(c.plan, nil, "/w")
		}
		if allows != c.allows {
			t.Errorf("%s allows %v%v: %v", c.rule, c.plan.Commands, c.plan.Writes, allows)
		}
	}
}

// TestSEC107WhatIsReadInStrangeFoldersTaints: the innermost folder counts.
func TestSEC107WhatIsReadInStrangeFoldersTaints(t *testing.T) {
	for path, want := range map[string]tool.Taint{
		"/w/a": tool.Clean, "/s/a": tool.Foreign, "/s/mine/a": tool.Clean, "/w/vendor/a": tool.Foreign, "/else/a": tool.Clean,
	} {
		p := &tool.Plan{Tool: "read_file", Reads: []string{path}, Do: func(context.Context, *tool.Env) (*tool.Result, error) { return &tool.Result{}, nil }}
		env := &tool.Env{Folder: "/w", Folders: []string{"/w", "/s", "/s/mine", "/w/vendor"}, Strange: []string{"/s", "/w/vendor"}, Trusted: true}
		r, err := p.Run(t.Context(), env, tool.Mint(t.Context(), p.Digest(tool.Identity{})))
		if err != nil || r.Taint != want {
			t.Errorf("%s: %v, %v", path, r, err)
		}
	}
}
