package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentls/agentls/extensions/command"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func text(s string) command.Part { return command.Part{Kind: command.Text, Text: s} }

// TestExpand: what stands for arguments, files and commands is replaced once, and
// nothing that was typed is read as such (SEC-92).
func TestExpand(t *testing.T) {
	shell := func(s string) command.Part { return command.Part{Kind: command.Shell, Text: s} }
	file := func(s string) command.Part { return command.Part{Kind: command.File, Text: s} }
	for _, tt := range []struct {
		name, prompt, args string
		want               []command.Part
	}{
		{"arguments", "Fix {{args}} now.", "the test", []command.Part{text("Fix the test now.")}},
		{"none given", "Fix {{args}}.", "", []command.Part{text("Fix .")}},
		{"appended", "Review.", "a.go", []command.Part{text("Review.\n\n/x a.go")}},
		{"nothing to append", "Review.", " ", []command.Part{text("Review.")}},
		{"shell", "See !{git diff {{args}}} end", "it's; rm -rf /", []command.Part{text("See "), shell(`git diff 'it'\''s; rm -rf /'`), text(" end")}},
		{"braces", "!{awk '{print $1}' f}", "", []command.Part{shell("awk '{print $1}' f")}},
		{"file", "By @{docs/style.md}:\n", "", []command.Part{text("By "), file("docs/style.md"), text(":\n")}},
		{"typed marks are text", "Do {{args}}", "!{id} @{/etc/passwd} {{args}}", []command.Part{text("Do !{id} @{/etc/passwd} {{args}}")}},
		{"other braces", "{{SEVERITY}} {x} a@b {{ args }}", "", []command.Part{text("{{SEVERITY}} {x} a@b {{ args }}")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "x.toml", "prompt = '''"+tt.prompt+"'''\n")
			if strings.Contains(tt.prompt, "'") {
				write(t, dir, "x.toml", `prompt = """`+tt.prompt+`"""`)
			}
			all := command.Read([]command.Place{{Dir: dir, Scope: "global"}})
			got, err := all[0].Expand(tt.args)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// TestQuotedArguments: {{args}} inside quotes of a command would let what is typed run.
func TestQuotedArguments(t *testing.T) {
	for prompt, bad := range map[string]bool{
		`!{grep "{{args}}" f}`: true, `!{grep '{{args}}' f}`: true, `!{echo a"b {{args}}"}`: true, "!{echo `x {{args}}`}": true,
		`!{echo \{{args}}}`: true, `!{echo "\""{{args}}}`: false, "!{cat <<E\n{{args}}\nE\n}": true,
		`!{echo ${{args}}}`: true, `!{echo $ {{args}}}`: false,
		`!{grep {{args}} "f"}`: false, `!{grep "x" {{args}} 'y'}`: false, `!{echo '\'{{args}}}`: false, `say "{{args}}"`: false,
	} {
		dir := t.TempDir()
		write(t, dir, "x.toml", fmt.Sprintf("prompt = %q\n", prompt))
		_, err := command.Read([]command.Place{{Dir: dir, Scope: "global"}})[0].Expand("x")
		if got := err != nil && strings.Contains(err.Error(), "leave out the quotes"); got != bad {
			t.Errorf("%s: %v, want a problem: %v", prompt, err, bad)
		}
	}
}

// TestRead: names come from paths, the narrower place wins, an extension's command
// that is hidden has another name, and what is wrong is said where it is used.
func TestRead(t *testing.T) {
	project, global, ext := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, project, "git/commit.toml", `prompt = "project"`)
	write(t, global, "git/commit.toml", `prompt = "global"`)
	write(t, global, "broken.toml", "description = \"d\"\nprompt = \"\"\"\nx")
	write(t, global, "open.toml", `prompt = "!{ls"`)
	write(t, global, "empty.toml", `description = "no prompt"`)
	write(t, global, "large.toml", `prompt = "`+strings.Repeat("x", 300<<10)+`"`)
	write(t, global, "bad name.toml", `prompt = "x"`)
	write(t, global, ".hidden/x.toml", `prompt = "x"`)
	write(t, ext, "git/commit.toml", `prompt = "extension"`)
	outside := filepath.Join(t.TempDir(), "out.toml")
	if err := os.WriteFile(outside, []byte(`prompt = "secret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(project, "link.toml")); err != nil {
		t.Fatal(err)
	}
	all := command.Read([]command.Place{{Dir: project, Scope: "project"}, {Dir: global, Scope: "global"}, {Dir: ext, Scope: "extension", Extension: "e"}})
	got := map[string]string{}
	for _, c := range all {
		parts, err := c.Expand("")
		switch {
		case err != nil:
			got[c.Name] = "error: " + c.Problem
		default:
			got[c.Name] = parts[0].Text
		}
	}
	for name, want := range map[string]string{
		"git:commit": "project", "e.git:commit": "extension", "broken": "not TOML", "open": "no closing brace", "empty": "no prompt",
		"large": "larger than", "link": "escapes",
	} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s: %q, want %q in it", name, got[name], want)
		}
	}
	if len(got) != 7 {
		t.Errorf("commands %v", got)
	}
	if _, err := command.Find(all, "git:comit"); err == nil || !strings.Contains(err.Error(), "/git:commit") {
		t.Error(err)
	}
}

// TestNames: what no command can be called calls none, whatever there is.
func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"git:commit": true, "a_b.c-1": true, "übersetze": true, "翻译²": true, strings.Repeat("é", 128): true,
		strings.Repeat("é", 129): false, "a\x80": false, "a\u200bb": false, "a/b": false, "": false, "a$": false,
	} {
		if _, _, ok := command.Parse("/"+name, func(string) bool { return true }); ok != want {
			t.Errorf("%q: %v, want %v", name, ok, want)
		}
	}
}

// TestTyped: a text calls a command only where there is one of that name.
func TestTyped(t *testing.T) {
	has := func(name string) bool { return name == "git:commit" }
	for text, want := range map[string][2]string{
		"/git:commit":             {"git:commit", ""},
		" /git:commit  all\nnow ": {"git:commit", "all\nnow"},
		"/git:commit/x":           {},
		"/usr/bin/env is a path":  {},
		"git:commit":              {},
		"please /git:commit":      {},
		"/other words":            {},
		"/":                       {},
		"/git:commit, then":       {},
	} {
		name, args, ok := command.Parse(text, has)
		if [2]string{name, args} != want || ok != (want[0] != "") {
			t.Errorf("%q: %q %q %v", text, name, args, ok)
		}
	}
}
