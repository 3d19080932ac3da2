package builtin_test

// What the tests of the shell gate have in common: a yard of files in which
// each command is tried twice, by the gate and, as a positive control, by bash
// without it.

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/sandbox"
)

// canaryText is the text that must not come out.
const canaryText = "CANARY-TEXT"

type yard struct {
	*tooltest.Workspace
	base, home string
	extra      []string  // of the environment of the control
	wall       *tool.Env // has the sandbox behind which commands run, with what it needs; nil = none
	canary     string    // what the stand-ins make
}

// newYard makes files, and a home and another folder beside the workspace.
func newYard(t testing.TB, repository bool) *yard {
	t.Helper()
	shell(t)
	w := tooltest.New(t, map[string]string{
		"a.txt": "one\ntwo\n", "b.txt": "two\n", "src/main.go": "package main\n", "src/x.log": "x\n", "run.sh": "#!/bin/sh\ntouch P\n", "script": "touch P\n", "archive": "",
		"docs/x.md": "x\n", "../home/.ssh/id_rsa": canaryText + "\n", "../home/.aws/credentials": canaryText + "\n", "../proj-evil/secret": canaryText + "\n", ".env": "KEY=" + canaryText + "\n",
	})
	y := &yard{Workspace: w, base: filepath.Dir(w.Folder), home: filepath.Join(filepath.Dir(w.Folder), "home")}
	for _, name := range []string{"run.sh", "script"} {
		if err := os.Chmod(w.Path(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if repository {
		for _, a := range [][]string{{"init", "-q", "-b", "main"}, {"add", "a.txt", "b.txt", "src"}, {"commit", "-qm", "x"}} {
			y.git(t, a...)
		}
		y.Put(t, "a.txt", "one\nchanged\n")
	}
	return y
}

func (y *yard) git(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = y.Folder
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + y.home, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip("git is not installed: what is said of repositories is not tried")
		}
		t.Fatalf("git %v: %v %s", args, err, out)
	}
}

// tree is everything in the yard: what is there, how large, since when.
func (y *yard) tree(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(y.base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(y.base, path)
		b.WriteString(rel + " " + info.Mode().String())
		if d.Name() != ".git" { // git makes and removes its lock there
			b.WriteString(" " + info.ModTime().Format(time.RFC3339Nano))
		}
		b.WriteByte('\n')
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// verdict is what came of a command.
type verdict struct {
	is       guard.Verdict
	risk     tool.Risk
	why      string
	output   string // of what ran
	outcomes []guard.Outcome
	plan     *tool.Plan
}

// try puts a command before the gate, in mode auto and with somebody to ask who
// never answers, and runs it if the gate lets it. What asks or is refused must
// not run, by whatever token.
func (y *yard) try(t testing.TB, text string, change ...func(*guard.Request)) verdict {
	t.Helper()
	env := y.Env()
	env.Home = y.home
	env.Environ = append([]string{"PATH=/usr/bin:/bin", "HOME=" + y.home}, y.extra...)
	if y.wall != nil {
		env.Sandbox, env.Survey = y.wall.Sandbox, y.wall.Survey
	}
	p, err := named(t, "bash").Plan(t.Context(), env, []byte(args(t, "command", text)))
	if err != nil {
		return verdict{is: guard.Refuse, why: err.Error(), risk: tool.Catastrophic}
	}
	id := tool.Identity{Session: env.Session, Run: env.Run, Call: env.Call, Agent: env.Agent}
	r := guard.Request{ID: id, Plan: p, Approval: guard.Free, Trusted: true, CanAsk: true, Folder: y.Folder, Sandbox: guard.SandboxOf(env.Sandbox)}
	for _, c := range change {
		c(&r)
	}
	gate := guard.New()
	d := gate.Authorize(r)
	v := verdict{is: d.Verdict, risk: d.Risk, why: d.Why, outcomes: d.Outcomes, plan: p}
	token, err := gate.Permit(t.Context(), r, d, "")
	if (err == nil) != (d.Verdict == guard.Auto) {
		t.Errorf("%q: the verdict is %v, and without an answer a token is %v, %v", text, d.Verdict, token, err)
	}
	result, err := p.Run(t.Context(), env, token)
	if d.Verdict != guard.Auto {
		if err == nil {
			t.Errorf("%q ran though it was not permitted", text)
		}
		return v
	}
	if err != nil {
		t.Errorf("%q did not run: %v", text, err)
		return v
	}
	v.output = result.Content
	return v
}

// control runs a text in bash without the gate and returns what it printed.
func (y *yard) control(t testing.TB, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "--noprofile", "--norc", "-c", text)
	cmd.Dir = y.Folder
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + y.home, "P=touch P", "CMD=touch", "x=$(touch P)", "y=a[$(touch P)]", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}, y.extra...)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // that it fails says nothing: what it did is looked at
	return out.String()
}

// harmless holds texts to this: the gate lets none of them change anything or
// print the canary, without a wall and behind each that stands. must says what each
// is without one: asks, or is refused, or may run; what is refused then is refused
// behind a wall too. As a positive control bash alone runs them, and at least that
// many fire.
func harmless(t *testing.T, repository bool, fire int, must func(v verdict) bool, texts ...string) {
	t.Helper()
	y := newYard(t, repository)
	refused := make(map[string]bool)
	y.hold(t, texts, func(text string, v verdict) bool { refused[text] = isRefused(v); return must(v) })
	for _, wall := range []sandbox.Wall{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(string(wall), func(t *testing.T) {
			y := newYard(t, repository)
			y.wall = &tool.Env{Home: y.home, Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + y.home}}
			behind(t, y.wall, wall)
			ran := 0
			y.hold(t, texts, func(text string, v verdict) bool {
				if v.is == guard.Auto {
					ran++
				}
				return isRefused(v) || !refused[text]
			})
			t.Logf("%d of %d ran", ran, len(texts))
		})
	}
	var fired, silent []string
	var open *yard
	before := ""
	for _, text := range texts {
		if strings.ContainsRune(text, 0) {
			continue // no argument of a program
		}
		if open == nil {
			open = newYard(t, repository)
			before = open.tree(t)
		}
		out := open.control(t, text)
		if open.tree(t) != before || strings.Contains(out, canaryText) {
			fired, open = append(fired, text), nil
		} else {
			silent = append(silent, text)
		}
	}
	t.Logf("positive control: in bash without the gate the canary fires for %d of %d: %q", len(fired), len(texts), fired)
	if len(fired) < fire {
		t.Errorf("only %d of %d fire without the gate, want %d: the test shows too little; silent are %q", len(fired), len(texts), fire, silent)
	}
}

// hold tries texts, of which each must be what must says, change nothing and print no
// canary.
func (y *yard) hold(t *testing.T, texts []string, must func(text string, v verdict) bool) {
	t.Helper()
	before := y.tree(t)
	for _, text := range texts {
		v := y.try(t, text)
		if !must(text, v) {
			t.Errorf("%q is %v (%s)", text, v.risk, v.why)
		}
		if after := y.tree(t); after != before {
			t.Errorf("%q changed files:\n%s\nwere\n%s", text, after, before)
			before = after
		}
		if strings.Contains(v.output, canaryText) {
			t.Errorf("%q printed what is secret: %s", text, v.output)
		}
	}
}

func asks(v verdict) bool      { return v.is == guard.Ask }
func isRefused(v verdict) bool { return v.is == guard.Refuse }
