package tool_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/sandbox"
)

// TestSEC100And140RulesOfHosts: what a rule of web_fetch allows, and what it denies.
func TestSEC100And140RulesOfHosts(t *testing.T) {
	for _, bad := range []string{"web_fetch()", "web_fetch(https://a.example)", "web_fetch(a.example/x)", "web_fetch(127.1)", "web_fetch(a b)"} {
		if r, err := tool.ParseRule(bad, nil); err == nil {
			t.Errorf("%q is %+v", bad, r)
		}
	}
	for _, c := range []struct {
		rule, host     string
		denies, allows bool
	}{
		{"web_fetch(a.example)", "a.example", true, true},
		{"web_fetch(A.Example)", "a.example", true, true},
		{"web_fetch(a.example)", "a.example:8080", true, false},
		{"web_fetch(a.example:8080)", "a.example:8080", true, true},
		{"web_fetch(a.example:8080)", "a.example", false, false},
		{"web_fetch(a.example)", "b.a.example", true, false},
		{"web_fetch(*.example)", "b.a.example", true, true},
		{"web_fetch(*.example)", "example", false, false},
		{"web_fetch(a.example)", "aa.example", false, false},
		{"web_fetch(*)", "a.example", true, true},
		{"web_fetch(::1)", "[::1]", false, false}, // no rule at all
		{"web_fetch([::1])", "[::1]", true, true},
		{"web_fetch", "a.example", true, true},
		{"web_*", "a.example", true, true},
		{"web_search", "a.example", false, false},
	} {
		r, err := tool.ParseRule(c.rule, nil)
		if err != nil {
			if c.denies || c.allows {
				t.Errorf("%s: %v", c.rule, err)
			}
			continue
		}
		p := &tool.Plan{Tool: "web_fetch", Host: c.host, Risk: tool.Medium}
		if denies, allows := r.Denies(p, "/w"), r.Allows(p, nil, "/w"); denies != c.denies || allows != c.allows {
			t.Errorf("%s of %s: denies %v, allows %v", c.rule, c.host, denies, allows)
		}
		if covers := r.Covers("web_fetch", c.host, "/w"); covers != c.denies && r.Limited() {
			t.Errorf("%s covers %s: %v", c.rule, c.host, covers)
		}
	}
}

// TestSEC33And140RulesOfSettings: what entries of lists mean; deny takes the strict
// side, and so does allow.
func TestSEC33And140RulesOfSettings(t *testing.T) {
	canonical := func(name string) (string, bool) {
		if name == "run_shell_command" {
			return "bash", true
		}
		return name, false
	}
	for _, bad := range []string{"", "(x)", "bash(", "bash()", "bash( * )", "bash(git", "[", "read_file([)", "read_file({a)", "read_file({a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b})"} {
		if r, err := tool.ParseRule(bad, canonical); err == nil {
			t.Errorf("%q is %+v", bad, r)
		}
	}
	bash := func(words ...[]string) *tool.Plan {
		p := &tool.Plan{Tool: "bash", Commands: words, Access: sandbox.Write, Preview: tool.Preview{Kind: "command"}, Reads: []string{"/w"}}
		for _, w := range words {
			p.Names = append(p.Names, w[0])
			p.Keep = append(p.Keep, tool.Words{Argv: w, Folder: "/w"})
		}
		return p
	}
	file := func(paths ...string) *tool.Plan { return &tool.Plan{Tool: "write_file", Writes: paths} }
	for _, c := range []struct {
		rule           string
		plan           *tool.Plan
		denies, allows bool
	}{
		{"run_shell_command(git push)", bash([]string{"git", "push", "-f"}), true, false},
		{"run_shell_command(git push)", bash([]string{"git", "push"}), true, true},
		{"bash(git push *)", bash([]string{"git", "push", "-f"}), true, true},
		{"bash(git push *)", bash([]string{"git", "pull"}), false, false},
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
		{"write_file(docs/*.md)", file("/w/docs/b/a.txt"), false, false},
		{"write_file(/etc/**)", file("/etc/passwd"), true, true},
		{"write_file(**/secret)", file("/w/a/b/secret"), true, true},
		{"write_file(docs/../x)", file("/w/x"), true, true},
		{"write_file(x)", file(), false, false},
		{"write_file(docs)", file("/w/docs/a/b.md"), true, false},
		{"write_file(docs/)", file("/w/docs/a/b.md"), true, false},
		{"write_file(doc)", file("/w/docs/a"), false, false},
		{"write_file(docs/*)", file("/w/docs/a/b.md"), true, false},
		{"write_file(**/*.{txt,md})", file("/w/a/b.md"), true, true},
		{"write_file({a,b/c}/d)", file("/w/b/c/d"), true, true},
		{"write_file(**/*.{txt,md})", file("/w/a/b.go"), false, false},
		{"write_file(**/x[!a-z])", file("/w/a/x1"), true, true},
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
			allows = allows && r.Allows(c.plan, words.Argv, "/w")
		}
		if len(c.plan.Keep) == 0 {
			allows = r.Allows(c.plan, nil, "/w")
		}
		if allows != c.allows {
			t.Errorf("%s allows %v%v: %v", c.rule, c.plan.Commands, c.plan.Writes, allows)
		}
	}
}

// TestSEC140SearchesDoNotGetRoundRulesForPaths: a search names the folder that
// it looks through; a rule for a place in there denies it, unless the search
// leaves out what is denied.
func TestSEC140SearchesDoNotGetRoundRulesForPaths(t *testing.T) {
	search := func(name string, skips bool, in string) *tool.Plan {
		return &tool.Plan{Tool: name, Path: in, Reads: []string{in}, Skips: skips}
	}
	cat := &tool.Plan{Tool: "bash", Commands: [][]string{{"cat", "--from=private/x", "b"}}, Reads: []string{"/w"}, Preview: tool.Preview{Cwd: "/w"}}
	for _, c := range []struct {
		rule string
		plan *tool.Plan
		want bool
	}{
		{"grep(private/**)", search("grep", false, "/w"), true},
		{"grep(private)", search("grep", false, "/w"), true},
		{"*(private/**)", search("glob", false, "/w"), true},
		{"read_many_files(**/*.key)", search("read_many_files", false, "/w/src"), true},
		{"ls(private/*/keys)", search("ls", false, "/w/private/a"), true},
		{"grep(private/**)", search("grep", false, "/w/src"), false},
		{"grep(private/**)", search("ls", false, "/w"), false},
		{"read_*(private/**)", search("read_file", false, "/w"), false},
		{"grep(private/**)", search("grep", true, "/w"), false},
		{"grep(private/**)", search("grep", true, "/w/private/a"), true},
		{"*(private/**)", cat, true},
		{"*(public/**)", cat, false},
	} {
		r, err := tool.ParseRule(c.rule, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Denies(c.plan, "/w"); got != c.want {
			t.Errorf("%s denies %s of %v: %v", c.rule, c.plan.Tool, c.plan.Reads, got)
		}
	}
	r, err := tool.ParseRule("*(pub/**)", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Also = []string{"/w/private/**"} // where pub leads
	for path, want := range map[string]bool{"/w/private/a/b": true, "/w/private": true, "/w/pub/x": true, "/w/public/x": false, "/w": false} {
		if r.Covers("grep", path, "/w") != want || r.Denies(&tool.Plan{Tool: "read_file", Reads: []string{path}}, "/w") != want {
			t.Errorf("%s is covered: %v", path, !want)
		}
	}
	if r.Allows(&tool.Plan{Tool: "read_file", Reads: []string{"/w/private/a"}}, nil, "/w") {
		t.Error("another spelling allows")
	}
	bash, _ := tool.ParseRule("bash(git push)", nil)
	whole, _ := tool.ParseRule("grep", nil)
	if bash.Covers("bash", "/w/a", "/w") || !whole.Covers("grep", "/w/a", "/w") || whole.Covers("ls", "/w/a", "/w") {
		t.Error("rules without paths cover the wrong tools")
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

// TestARuleOfManyWildcardsIsNoSlower: the time does not double with each ** of a
// pattern, however deep the path is that a model names.
func TestARuleOfManyWildcardsIsNoSlower(t *testing.T) {
	pattern, path := strings.Repeat("**/a/", 12), "/w"+strings.Repeat("/a", 60)
	for _, c := range []struct {
		rule, path     string
		denies, allows bool
	}{
		{pattern + "b", path, false, false},
		{pattern + "b", path + "/b", true, true},
		{pattern + "b", path + "/b/c", true, false},
		{pattern + "**", path, true, true},
		{"**/a/b/**/c", "/w/a/x/a/b/a/b/c", true, true},
	} {
		r, err := tool.ParseRule("write_file("+c.rule+")", nil)
		if err != nil {
			t.Fatal(err)
		}
		p := &tool.Plan{Tool: "write_file", Writes: []string{c.path}}
		if denies, allows := r.Denies(p, "/w"), r.Allows(p, nil, "/w"); denies != c.denies || allows != c.allows {
			t.Errorf("%s of %s: denies %v, allows %v", c.rule, c.path, denies, allows)
		}
	}
}

// TestWordsBehindWrappersAreLookedAtOnce: a long command of wrappers has each word in
// hundreds of commands, and a rule for paths took seconds for it.
func TestWordsBehindWrappersAreLookedAtOnce(t *testing.T) {
	words := append(slices.Repeat([]string{"a"}, 200), "--in=b")
	p := &tool.Plan{Tool: "bash", Preview: tool.Preview{Cwd: "/w"}}
	for i := range words { // as package command has them of a wrapper
		p.Commands = append(p.Commands, words[i:])
	}
	if got := strings.Join(tool.WordsOf(p), " "); got != "/w/a /w/b" {
		t.Errorf("%d commands: %.200s", len(p.Commands), got)
	}
}
