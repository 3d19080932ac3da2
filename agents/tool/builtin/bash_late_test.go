package builtin_test

// What changes between the decision about a command and its start.

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
)

// saves is an editor that does something while it saves.
type saves struct {
	tool.Edits
	meanwhile func()
}

// Save implements [tool.Edits].
func (s saves) Save(ctx context.Context, reason string) []string {
	s.meanwhile()
	return s.Edits.Save(ctx, reason)
}

// TestSEC55CommandsAreLookedAtAgainWhenTheyStart: a file that becomes a link
// while a command by itself waits for its place is not followed.
func TestSEC55CommandsAreLookedAtAgainWhenTheyStart(t *testing.T) {
	y := newYard(t, false)
	env := y.Env()
	env.Home, env.Trusted = y.home, true
	env.Environ = []string{"PATH=/usr/bin:/bin", "HOME=" + y.home}
	env.Slots = make(chan struct{}, 1)
	env.Slots <- struct{}{} // another command runs
	p, err := named(t, "bash").Plan(t.Context(), env, []byte(`{"command":"cat a.txt"}`))
	if err != nil {
		t.Fatal(err)
	}
	r := guard.Request{ID: tool.Identity{Session: env.Session, Run: env.Run, Call: env.Call, Agent: env.Agent}, Plan: p, Approval: guard.Asks, Trusted: true, Folder: env.Folder}
	g := guard.New()
	d := g.Authorize(r)
	token, err := g.Permit(t.Context(), r, d, guard.Reject)
	if d.Verdict != guard.Auto || err != nil {
		t.Fatalf("%+v, %v", d, err)
	}
	env.Edits = saves{env.Edits, func() { // the last thing before it waits
		if err := os.Remove(y.Path("a.txt")); err != nil {
			t.Error(err)
		}
		if err := os.Symlink(filepath.Join(y.home, ".ssh", "id_rsa"), y.Path("a.txt")); err != nil {
			t.Error(err)
		}
		<-env.Slots
	}}
	got := ""
	if res, err := p.Run(t.Context(), env, token); err != nil {
		got = err.Error()
	} else {
		got = res.Content
	}
	if strings.Contains(got, canaryText) || !strings.Contains(got, "not what they were") {
		t.Errorf("it said %q", got)
	}
	if data, err := os.ReadFile(y.Path("a.txt")); err != nil || !strings.Contains(string(data), canaryText) {
		t.Errorf("control: a plain read has %q, %v", data, err)
	} else {
		t.Log("control: a plain read has the key")
	}
}

// TestSEC48GitGoesToNoRepositoryAbove: a .git that is none does not make git go
// up to one whose configuration nobody trusts.
func TestSEC48GitGoesToNoRepositoryAbove(t *testing.T) {
	y := newYard(t, false)
	up := filepath.Dir(y.Folder)
	canary := filepath.Join(up, "CANARY")
	above := func(args ...string) { y.git(t, append([]string{"-C", up}, args...)...) }
	y.Put(t, ".gitattributes", "* filter=x\n")
	above("init", "-q", "-b", "main")
	above("add", filepath.Base(y.Folder)+"/a.txt")
	above("commit", "-qm", "x")
	above("config", "filter.x.clean", "touch "+canary+"; cat")
	if err := os.MkdirAll(y.Path(".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	y.Put(t, "a.txt", "one\ntw0\n")
	v := y.try(t, "git status")
	if _, err := os.Stat(canary); err == nil {
		t.Errorf("the filter of the repository above ran: %+v", v)
	}
	y.git(t, "status")
	if _, err := os.Stat(canary); err != nil {
		t.Errorf("control: git as it is did not run the filter: %v", err)
	} else {
		t.Log("control: git as it is runs the filter")
	}
}
