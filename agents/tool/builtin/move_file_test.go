package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// link makes a symbolic link, or skips the test where there are none.
func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	tooltest.Symlink(t, target, path)
}

// TestSEC53And54DotsBehindALinkAreWalked: d/ln/../x is beside what ln leads to, and
// not d/x.
func TestSEC53And54DotsBehindALinkAreWalked(t *testing.T) {
	w := tooltest.New(t, map[string]string{"d/secret": "mine\n", "far/away/in/a": "a\n", "far/away/secret": "the inner one\n"})
	outside := filepath.Dir(w.Folder)
	if err := os.MkdirAll(filepath.Join(outside, "home", ".ssh"), 0o755); err != nil {
		t.Fatal(err)
	}
	withoutPolicy(t, filepath.Join(outside, "home", "secret"))
	link(t, filepath.Join(outside, "home", ".ssh"), w.Path("d/ln"))
	link(t, "../far/away/in", w.Path("d/within"))
	if onDisk(t, w.Path("d/ln")+"/../secret") != canary {
		t.Fatal("positive control: the kernel reads another file")
	}
	env := w.Env()
	refused(t, env, tool.CodeOutside, "read_file", "file_path", "d/ln/../secret")
	refused(t, env, tool.CodeOutside, "read_file", "file_path", w.Path("d/ln")+"/../secret")
	refused(t, env, tool.CodeOutside, "write_file", "file_path", "d/ln/../new", "content", "x")
	refused(t, env, tool.CodeOutside, "ls", "dir_path", "d/ln/..")
	refused(t, env, tool.CodeOutside, "grep", "pattern", "canary", "dir_path", "d/ln/..")
	refused(t, env, tool.CodeOutside, "glob", "pattern", "*", "dir_path", "d/ln/..")
	refused(t, env, tool.CodeOutside, "glob", "pattern", w.Path("d/ln")+"/../*")
	refused(t, env, tool.CodeOutside, "delete_file", "file_path", "d/ln/../secret")
	refused(t, env, tool.CodeOutside, "move_file", "file_path", "d/ln/../secret", "new_path", "secret")
	refused(t, env, tool.CodeOutside, "move_file", "file_path", "d/secret", "new_path", "d/ln/../new")
	refused(t, env, tool.CodeOutside, "read_many_files", "include", []string{"d/ln/../*"})
	refused(t, env, tool.CodeOutside, "bash", "command", "ls", "directory", "d/ln/..")
	if got := call(t, env, "read_file", "file_path", "d/within/../secret").Content; !strings.Contains(got, "the inner one") {
		t.Errorf("it read %q", got)
	}
	if onDisk(t, filepath.Join(outside, "home", "secret")) != canary || onDisk(t, filepath.Join(outside, "home", "new")) != "-" {
		t.Error("something outside changed")
	}
}

// TestSEC60WhatRulesDenyIsNeitherReadNorBroughtAway: with one rule for read_file.
func TestSEC60WhatRulesDenyIsNeitherReadNorBroughtAway(t *testing.T) {
	for _, text := range []string{"read_file(secrets)", "read_file(secrets/)", "read_file(secrets/*)", "read_file(Secrets/**)", "read_file(**/secrets/**)"} {
		rule, err := tool.ParseRule(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range []string{"secrets/a", "Secrets/a", "./secrets//a", "other/ln/a"} {
			for name, arguments := range map[string]string{
				"read_file":       args(t, "file_path", place),
				"read_many_files": args(t, "include", []string{place}),
				"move_file":       args(t, "file_path", place, "new_path", "free"),
			} {
				w := tooltest.New(t, map[string]string{"secrets/a": canary, "Secrets/a": canary})
				link(t, "../secrets", w.Path("other/ln"))
				d, err := gated(t, guard.New(), w.Env(), guard.Request{Deny: []tool.Rule{rule}, CanAsk: true}, guard.Once, name, arguments)
				if err == nil || d.Verdict != guard.Refuse {
					t.Errorf("%s: %s of %s: %v, %v", text, name, place, d.Verdict, err)
				}
				if _, err := gated(t, guard.New(), w.Env(), guard.Request{CanAsk: true}, guard.Once, name, arguments); err != nil {
					t.Errorf("positive control: %s of %s: %v", name, place, err)
				}
			}
		}
	}
	w := tooltest.New(t, map[string]string{"fixed/a": "a\n", "b": "b\n"})
	rule, err := tool.ParseRule("write_file(fixed)", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string]string{
		"delete_file": args(t, "file_path", "fixed/a"), "move_file": args(t, "file_path", "b", "new_path", "fixed/b"),
	} {
		if d, err := gated(t, guard.New(), w.Env(), guard.Request{Deny: []tool.Rule{rule}, CanAsk: true}, guard.Once, name, arguments); err == nil {
			t.Errorf("%s: %v", name, d.Verdict)
		}
	}
	if onDisk(t, w.Path("fixed/a")) != "a\n" || onDisk(t, w.Path("fixed/b")) != "-" {
		t.Error("what is not to be written changed")
	}
}

func TestSEC17And20WhatIsNotWrittenIsNeitherDeletedNorMoved(t *testing.T) {
	w := tooltest.New(t, map[string]string{".git/config": "x\n", ".env": "KEY=1\n", "a.txt": "a\n", "package.json": `{"scripts": {}}`, "x.json": `{"scripts": {"test": "evil"}}`})
	link(t, "a.txt", w.Path("ln"))
	for _, tt := range []struct {
		name, arguments string
		risk            tool.Risk // Unclassified: refused
	}{
		{"delete_file", args(t, "file_path", "a.txt"), tool.High},
		{"delete_file", args(t, "file_path", ".git/config"), tool.Protected},
		{"delete_file", args(t, "file_path", ".env"), tool.Unclassified},
		{"delete_file", args(t, "file_path", "ln"), tool.Unclassified},
		{"delete_file", args(t, "file_path", ".git"), tool.Unclassified},
		{"delete_file", args(t, "file_path", "gone"), tool.Unclassified},
		{"move_file", args(t, "file_path", "a.txt", "new_path", "b.txt"), tool.Low},
		{"move_file", args(t, "file_path", "a.txt", "new_path", ".git/hooks/pre-commit"), tool.Protected},
		{"move_file", args(t, "file_path", ".git/config", "new_path", "b.txt"), tool.Protected},
		{"move_file", args(t, "file_path", "a.txt", "new_path", "b.env"), tool.Unclassified},
		{"move_file", args(t, "file_path", ".env", "new_path", "b.txt"), tool.Unclassified},
		{"move_file", args(t, "file_path", "a.txt", "new_path", "ln"), tool.Unclassified},
		{"move_file", args(t, "file_path", "a.txt", "new_path", "package.json"), tool.Unclassified},
		{"move_file", args(t, "file_path", "a.txt", "new_path", "deep/"), tool.Unclassified},
		{"move_file", args(t, "file_path", "x.json", "new_path", "deep/package.json"), tool.High},
		{"move_file", args(t, "file_path", "a.txt", "new_path", "../a.txt"), tool.Unclassified},
	} {
		p, err := named(t, tt.name).Plan(t.Context(), w.Env(), []byte(tt.arguments))
		switch {
		case tt.risk == tool.Unclassified && tooltest.Code(err) == "":
			t.Errorf("%s %s: %+v, %v", tt.name, tt.arguments, p, err)
		case tt.risk != tool.Unclassified && (err != nil || p.Risk != tt.risk):
			t.Errorf("%s %s: %+v, %v", tt.name, tt.arguments, p, err)
		}
	}
}
