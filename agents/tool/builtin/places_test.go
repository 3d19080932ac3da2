package builtin_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// canary is what a call that gets through leaves behind, or shows.
const canary = "the canary sings\n"

// onDisk returns what the test's own eyes see of a file: "-" if there is none.
func onDisk(t testing.TB, path string) string {
	t.Helper()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// withoutPolicy is the positive control of a write: what was asked for, done at
// the joined path, leaves the canary.
func withoutPolicy(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(canary), 0o644); err != nil || onDisk(t, path) != canary {
		t.Fatalf("positive control: %v", err)
	}
}

// gated puts a call before a gate as a session of mode auto does, answers as the
// person would, and runs it if it may run.
func gated(t testing.TB, gate *guard.Gate, env *tool.Env, r guard.Request, answer guard.Outcome, name, args string) (guard.Decision, error) {
	t.Helper()
	plan, err := named(t, name).Plan(t.Context(), env, []byte(args))
	if err != nil {
		return guard.Decision{}, err
	}
	r.ID, r.Plan, r.Trusted, r.Folder = tool.Identity{Session: env.Session, Run: env.Run, Call: env.Call, Agent: env.Agent}, plan, env.Trusted, env.Folder
	if r.Approval == "" {
		r.Approval = guard.Free
	}
	d := gate.Authorize(r)
	token, err := gate.Permit(t.Context(), r, d, answer)
	if err != nil {
		return d, err
	}
	_, err = plan.Run(t.Context(), env, token)
	return d, err
}

// protectedPlaces are those of SEC-17 that are protected by their names.
var protectedPlaces = []string{
	".git/config", ".git/hooks/pre-commit", "sub/.git/config", ".gemini/settings.json", ".gemini/agents/a.md", ".vscode/tasks.json", ".idea/workspace.xml",
	"all.code-workspace", ".mcp.json", ".cursor/rules", ".claude/settings.json", ".codex/config.toml", ".envrc", ".husky/pre-commit",
	".github/workflows/ci.yml", ".devcontainer/devcontainer.json", "lefthook.yml", "deep/in/it/.gemini/settings.json", "GEMINI.md",
}

// TestSEC17ProtectedPlacesAreWrittenOnlyWithAYes: each place, made and changed by
// each tool that writes, in the mode that asks least.
func TestSEC17ProtectedPlacesAreWrittenOnlyWithAYes(t *testing.T) {
	for _, place := range protectedPlaces {
		for _, made := range []bool{true, false} { // a new file, and one that is there
			w, was := tooltest.New(t, nil), "-"
			if !made {
				was = "as it was\n"
				w.Put(t, place, was)
			}
			env := w.Env()
			calls := map[string]string{
				"write_file": args(t, "file_path", place, "content", canary),
				"edit_file":  args(t, "file_path", place, "old_string", strings.TrimPrefix(was, "-"), "new_string", canary),
			}
			for name, a := range calls {
				if !made {
					call(t, env, "read_file", "file_path", place)
				}
				gate := guard.New()
				if d, err := gated(t, gate, env, guard.Request{}, guard.Once, name, a); err == nil || d.Verdict != guard.Refuse || d.Risk != tool.Protected {
					t.Errorf("%s %s with nobody to ask: %+v, %v", name, place, d, err)
				}
				// Not even who has answered for it before, or the rules of a user's list.
				all, err := tool.ParseRule(name, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, answer := range []guard.Outcome{guard.Run, guard.Session, guard.Always, guard.Reject, ""} {
					d, err := gated(t, gate, env, guard.Request{CanAsk: true, Allow: []tool.Rule{all}}, answer, name, a)
					if err == nil || d.Verdict != guard.Ask || slices.Contains(d.Outcomes, guard.Run) || slices.Contains(d.Outcomes, guard.Session) || slices.Contains(d.Outcomes, guard.Always) {
						t.Errorf("%s %s answered %q: %+v, %v", name, place, answer, d, err)
					}
				}
				if got := onDisk(t, w.Path(place)); got != was {
					t.Fatalf("%s wrote %s without a yes: %q", name, place, got)
				}
				// An agent of the project's is refused, whoever could be asked.
				if d, err := gated(t, gate, env, guard.Request{CanAsk: true, Project: "/w"}, guard.Once, name, a); err == nil || d.Verdict != guard.Refuse || onDisk(t, w.Path(place)) != was {
					t.Errorf("%s %s by the project's agent: %+v, %v", name, place, d, err)
				}
			}
			// A yes is for this call: the next one asks again.
			gate, name := guard.New(), "write_file"
			if _, err := gated(t, gate, env, guard.Request{CanAsk: true}, guard.Once, name, calls[name]); err != nil || onDisk(t, w.Path(place)) != canary {
				t.Errorf("%s with a yes: %v, %q", place, err, onDisk(t, w.Path(place)))
			}
			if d, err := gated(t, gate, env, guard.Request{}, guard.Once, name, args(t, "file_path", place, "content", "again")); err == nil || d.Verdict != guard.Refuse || onDisk(t, w.Path(place)) != canary {
				t.Errorf("%s after a yes: %+v, %v", place, d, err)
			}
			withoutPolicy(t, tooltest.New(t, nil).Path(place))
		}
	}
	t.Log("positive control: os.WriteFile at the joined path made each of them")
}

// TestSEC18OtherSpellingsAreDecidedAlike: whatever some file system takes for a
// protected name is refused where the name itself is.
func TestSEC18OtherSpellingsAreDecidedAlike(t *testing.T) {
	w := tooltest.New(t, nil)
	env := w.Env()
	for _, place := range []string{
		".GIT/config", ".Git", ".git.", ".git ", ".git::$DATA", "./x/../.git/config", ".gi\u0307t/config", "\uff0egit/config", "\uff0e\uff47\uff49\uff54/config",
		".Ge\u0301mini/settings.json", ".GEMINI/settings.json", ".gemini./settings.json", ".vscode /tasks.json", "GIT~1/config", ".git\\config", ".g\u200cit/config",
		".husKy/x", ".hus\u212ay/x", ".v\u017fcode/x", ".Mcp.Json", "a.CODE-WORKSPACE", ".GitHub/Workflows/ci.yml", "LEFTHOOK.yml",
	} {
		for name, a := range map[string]string{
			"write_file": args(t, "file_path", place, "content", canary), "edit_file": args(t, "file_path", place, "old_string", "", "new_string", canary),
		} {
			if d, err := gated(t, guard.New(), env, guard.Request{}, guard.Once, name, a); err == nil || d.Verdict != guard.Refuse || d.Risk < tool.Protected {
				t.Errorf("%s %q: %+v, %v", name, place, d, err)
			}
			if got := onDisk(t, w.Path(place)); got != "-" {
				t.Errorf("%s wrote %q: %q", name, place, got)
			}
		}
		withoutPolicy(t, tooltest.New(t, nil).Path(place))
	}
	if _, err := gated(t, guard.New(), env, guard.Request{}, guard.Once, "write_file", args(t, "file_path", "git/config", "content", canary)); err != nil || onDisk(t, w.Path("git/config")) != canary {
		t.Errorf("a name that is none of them: %v", err)
	}
	t.Log("positive control: os.WriteFile at the joined path made each of them")
}

// homeTargets are files of home that are never written; those that are true are
// not read either.
var homeTargets = map[string]bool{
	".bashrc": false, ".profile": false, ".zshenv": false, ".ssh/id_ed25519": true, ".ssh/authorized_keys": true, ".gitconfig": false, ".config/git/config": false,
	".config/git/credentials": true, ".npmrc": true, ".netrc": true, ".aws/credentials": true, ".config/gcloud/credentials.db": true, ".gnupg/secring.gpg": true,
	".config/systemd/user/x.service": false, ".config/autostart/x.desktop": false, ".gemini/agentls/permissions.json": true, ".gemini/agentls/trust.json": true,
	".gemini/settings.json": false, ".kube/config": true, ".docker/config.json": true, ".git-credentials": true, ".pypirc": true, ".cargo/credentials.toml": true,
}

// TestSEC20HomeIsNotWrittenAndItsCredentialsAreNotRead in a workspace that is the
// home folder, where nothing else keeps a tool from it.
func TestSEC20HomeIsNotWrittenAndItsCredentialsAreNotRead(t *testing.T) {
	w := tooltest.New(t, nil)
	env := w.Env()
	env.Home = w.Folder
	for place, credential := range homeTargets {
		for name, a := range map[string]string{
			"write_file": args(t, "file_path", place, "content", "mine"), "edit_file": args(t, "file_path", place, "old_string", "", "new_string", "mine"),
		} {
			if _, err := gated(t, guard.New(), env, guard.Request{CanAsk: true}, guard.Once, name, a); err == nil || onDisk(t, w.Path(place)) != "-" {
				t.Errorf("%s ~/%s was made: %v", name, place, err)
			}
			w.Put(t, place, canary)
			if d, err := gated(t, guard.New(), env, guard.Request{CanAsk: true}, guard.Once, name, a); tooltest.Code(err) != tool.CodeDenied || onDisk(t, w.Path(place)) != canary {
				t.Errorf("%s ~/%s: %+v, %v", name, place, d, err)
			}
			if err := os.Remove(w.Path(place)); err != nil {
				t.Fatal(err)
			}
		}
		w.Put(t, place, canary)
		if !credential {
			if r := call(t, env, "read_file", "file_path", place); r.Content != canary {
				t.Errorf("~/%s holds no credentials: %q", place, r.Content)
			}
			if err := os.Remove(w.Path(place)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// What is left holds credentials. No tool shows any of it, by its name, by a
	// pattern, by a folder or by a search with either engine.
	silent(t, env, homeTargets)
	count := 0
	for place, credential := range homeTargets {
		if !credential {
			continue
		}
		count++
		env := w.Env()
		env.Home = w.Folder
		env.Reveal = []string{w.Path(place)}
		if r := call(t, env, "read_file", "file_path", place); r.Content != canary {
			t.Errorf("~/%s, which the user's rule names: %q", place, r.Content)
		}
		refused(t, env, tool.CodeDenied, "write_file", "file_path", place, "content", "mine")
		others := make(map[string]bool)
		for other, credential := range homeTargets {
			others[other] = credential && other != place
		}
		for other, yes := range others {
			if yes {
				refused(t, env, tool.CodeDenied, "read_file", "file_path", other)
			}
		}
		if onDisk(t, w.Path(place)) != canary {
			t.Errorf("~/%s was written", place)
		}
	}
	t.Logf("positive control: os.ReadFile and, with the user's rule, read_file showed each of %d files", count)
}

// silent holds that no tool shows a canary that lies in the places which are
// true, while the test's own eyes do see it there.
func silent(t *testing.T, env *tool.Env, places map[string]bool) {
	t.Helper()
	quiet := func(name string, pairs ...any) {
		t.Helper()
		r, err := tooltest.Run(t.Context(), named(t, name), env, args(t, pairs...))
		if (r != nil && strings.Contains(r.Content, strings.TrimSpace(canary))) || (err != nil && strings.Contains(err.Error(), "sings")) {
			t.Errorf("%s %v shows it: %v, %v", name, pairs, r, err)
		}
	}
	for place, secret := range places {
		if !secret {
			continue
		}
		if got := onDisk(t, filepath.Join(env.Folder, place)); got != canary {
			t.Fatalf("positive control: %s is %q", place, got)
		}
		for _, trusted := range []bool{true, false} { // with ripgrep, where there is one, and without
			env.Trusted = trusted
			refused(t, env, tool.CodeDenied, "read_file", "file_path", place)
			quiet("read_many_files", "include", []string{place})
			quiet("read_many_files", "include", []string{filepath.Dir(place) + "/*"})
			quiet("grep", "pattern", "canary", "dir_path", place)
			quiet("grep", "pattern", "canary", "dir_path", filepath.Dir(place))
			quiet("grep", "pattern", "canary", "include", filepath.Base(place))
		}
		env.Trusted = true
	}
	for _, trusted := range []bool{true, false} {
		env.Trusted = trusted
		quiet("grep", "pattern", "c.nary")
		quiet("read_many_files", "include", []string{"**", ".*", ".*/**"})
	}
	env.Trusted = true
}

// TestSEC17And20HardLinks: another name of a file changes nothing about what it
// is. A store of many such files is read as quickly as any.
func TestSEC17And20HardLinks(t *testing.T) {
	w := tooltest.New(t, map[string]string{
		".git/config": "[core]\n", ".gemini/settings.json": "{}\n", ".env": canary, "sub/.env.local": canary, "plain": "plain\n", "sub/x": "",
	})
	env := w.Env()
	for name, text := range map[string]string{".ssh/id_ed25519": canary, ".aws/credentials": canary, ".bashrc": "alias\n", ".gemini/agentls/trust.json": canary} {
		path := filepath.Join(env.Home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		if !filepath.IsAbs(target) {
			target = w.Path(target)
		}
		if err := os.Link(target, w.Path(name)); err != nil {
			t.Skip("no hard links here: ", err)
		}
	}
	link(filepath.Join(env.Home, ".ssh/id_ed25519"), "key.txt")
	link(filepath.Join(env.Home, ".aws/credentials"), "sub/aws.txt")
	link(filepath.Join(env.Home, ".gemini/agentls/trust.json"), "t.txt")
	link(".env", "sub/env.txt")
	link("sub/.env.local", "sub/local.txt")
	link(filepath.Join(env.Home, ".bashrc"), "rc")
	link(".git/config", "sub/c")
	link(".gemini/settings.json", "s")
	link("plain", "also-plain")
	secrets := map[string]bool{"key.txt": true, "sub/aws.txt": true, "sub/env.txt": true, "sub/local.txt": true, "t.txt": true}
	silent(t, env, secrets)
	for name := range secrets {
		refused(t, env, tool.CodeDenied, "write_file", "file_path", name, "content", "mine")
		if onDisk(t, w.Path(name)) != canary {
			t.Errorf("%s was written", name)
		}
	}
	call(t, env, "read_file", "file_path", "rc")
	refused(t, env, tool.CodeDenied, "edit_file", "file_path", "rc", "old_string", "alias", "new_string", "mine")
	for name, was := range map[string]string{"sub/c": "[core]\n", "s": "{}\n"} {
		if r := call(t, env, "read_file", "file_path", name); r.Content != was {
			t.Errorf("%s: %q", name, r.Content)
		}
		if d, err := gated(t, guard.New(), env, guard.Request{}, guard.Once, "write_file", args(t, "file_path", name, "content", canary)); err == nil || d.Risk != tool.Protected || onDisk(t, w.Path(name)) != was {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	call(t, env, "read_file", "file_path", "also-plain")
	if _, err := gated(t, guard.New(), env, guard.Request{}, guard.Once, "write_file", args(t, "file_path", "also-plain", "content", "written\n")); err != nil || onDisk(t, w.Path("also-plain")) != "written\n" {
		t.Errorf("an ordinary file of two names: %v", err)
	}
	// The editor writes in place: then both names are another.
	withoutPolicy(t, w.Path("sub/c"))
	if onDisk(t, w.Path(".git/config")) != canary {
		t.Error("positive control: .git/config is not what was written under its other name")
	}
	t.Log("positive control: os.ReadFile of each name shows the canary, and os.WriteFile of sub/c changed .git/config")
}

// TestSEC23WhatWouldLoadIsProtected: an agent's file that a call writes would be
// an agent at the next start.
func TestSEC23WhatWouldLoadIsProtected(t *testing.T) {
	w := tooltest.New(t, nil)
	env := w.Env()
	for _, place := range []string{".gemini/agents/evil.md", "packages/a/.gemini/agents/evil.md", "GEMINI.md", "docs/GEMINI.md", ".claude/agents/evil.md"} {
		if d, err := gated(t, guard.New(), env, guard.Request{}, guard.Once, "write_file", args(t, "file_path", place, "content", canary)); err == nil || d.Risk != tool.Protected || onDisk(t, w.Path(place)) != "-" {
			t.Errorf("%s: %+v, %v", place, d, err)
		}
		withoutPolicy(t, tooltest.New(t, nil).Path(place))
	}
	env.Home = w.Folder // the person's own agents and memory
	for _, place := range []string{".gemini/agents/evil.md", ".gemini/GEMINI.md", ".gemini/agentls/memory/x"} {
		if d, err := gated(t, guard.New(), env, guard.Request{CanAsk: true}, guard.Once, "write_file", args(t, "file_path", place, "content", canary)); tooltest.Code(err) != tool.CodeDenied || onDisk(t, w.Path(place)) != "-" {
			t.Errorf("~/%s: %+v, %v", place, d, err)
		}
	}
	t.Log("positive control: os.WriteFile at the joined path made each of them")
}

// BenchmarkHardLinks reads files of a store in which each has two names.
func BenchmarkHardLinks(b *testing.B) {
	w := tooltest.New(b, map[string]string{".git/config": "", ".env": "", "store/x": ""})
	for i := range 500 {
		name := filepath.Join("store", strings.Repeat("d/", i%5)+"f"+string(rune('a'+i%26))+strings.Repeat("x", i/26)+".js")
		w.Put(b, name, "needle\n")
		if err := os.Link(w.Path(name), w.Path(name+".2")); err != nil {
			b.Skip(err)
		}
	}
	env := w.Env()
	env.Trusted = false
	b.Run("grep", func(b *testing.B) {
		for b.Loop() {
			call(b, env, "grep", "pattern", "needle")
		}
	})
	b.Run("read_many_files", func(b *testing.B) {
		for b.Loop() {
			call(b, env, "read_many_files", "include", []string{"store/**"})
		}
	})
}
