package builtin_test

// SEC-07, SEC-48 and SEC-52: git and the programs that its
// configuration names.

import (
	"os"
	"slices"
	"testing"

	"github.com/agentls/agentls/agents/guard"
)

// evil makes a repository whose configuration runs a program that leaves a
// canary, wherever git lets it.
func evil(t testing.TB) *yard {
	t.Helper()
	y := newYard(t, true)
	y.standIns(t, "evil")
	run := y.base + "/stand/evil"
	y.extra = nil
	y.Put(t, ".gitattributes", "*.txt diff=evil\n")
	y.Put(t, ".git/hooks/post-index-change", "#!/bin/sh\n"+run+"\n")
	y.Put(t, ".git/hooks/post-checkout", "#!/bin/sh\n"+run+"\n")
	for _, hook := range []string{"post-index-change", "post-checkout"} {
		if err := os.Chmod(y.Path(".git/hooks/"+hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][2]string{
		{"core.fsmonitor", run}, {"diff.external", run}, {"diff.evil.textconv", run}, {"diff.evil.command", run}, {"core.pager", run}, {"pager.log", run}, {"log.showSignature", "true"}, {"gpg.program", run}, {"format.pretty", "%H %G?"},
		{"alias.status", "!" + run}, {"core.sshCommand", run}, {"core.askPass", run}, {"core.editor", run}, {"credential.helper", "!" + run}, {"protocol.ext.allow", "always"}, {"remote.origin.url", "ext::" + run}, {"remote.origin.promisor", "true"},
	} {
		y.git(t, "config", c[0], c[1])
	}
	y.fired()
	return y
}

// reading are commands of git that read.
var reading = []string{
	"git status", "git status -s", "git diff", "git diff --stat", "git diff HEAD", "git log -p -1", "git log --oneline", "git show", "git show HEAD:a.txt", "git blame a.txt", "git ls-files", "git branch -a", "git describe --always", "git shortlog -sn HEAD", "git remote -v", "git tag -l", "git --no-pager log -p",
}

func TestSEC48GitDoesNotRunInAnUntrustedFolder(t *testing.T) {
	y := evil(t)
	y.git(t, "config", "filter.evil.clean", y.base+"/stand/evil")
	y.Put(t, ".gitattributes", "*.txt diff=evil filter=evil\n")
	y.fired()
	for _, text := range append(slices.Clone(reading), "git add a.txt", "git fetch", "git -c a=b status", "ls", "cat a.txt") {
		for _, mode := range []guard.Approval{guard.Plan, guard.Asks, guard.Edits, guard.Free} {
			if v := y.try(t, text, func(r *guard.Request) { r.Approval, r.Trusted = mode, false }); v.is != guard.Refuse {
				t.Errorf("%q in mode %s is %v", text, mode, v.is)
			}
			if y.fired() {
				t.Errorf("%q fired", text)
			}
		}
	}
	fired := 0
	for _, text := range []string{"git status", "git diff", "git add a.txt", "git log -p", "git fetch"} {
		if y.control(t, text); y.fired() {
			fired++
		}
	}
	t.Logf("positive control: in bash %d of 5 fire", fired)
	if fired < 4 {
		t.Errorf("only %d of 5 fire", fired)
	}
}

func TestSEC52GlobalOptionsOfGitAsk(t *testing.T) {
	y := evil(t)
	y.git(t, "config", "--unset", "core.fsmonitor")
	run := y.base + "/stand/evil"
	y.Put(t, "git-foo", "#!/bin/sh\n"+run+"\n")
	if err := os.Chmod(y.Path("git-foo"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(y.Path("evil/.git"), os.DirFS(y.Path(".git"))); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(y.Path("evil/.git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("[core]\n\tfsmonitor = " + run + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	y.fired()
	texts := []string{
		"git -c core.fsmonitor=" + run + " status", "git -c alias.x='!" + run + "' x", "git -c core.pager=" + run + " -p log", "git -c diff.external=" + run + " diff", "git --config-env=core.fsmonitor=EVIL status", "git --config-env core.fsmonitor=EVIL status", "git --exec-path=. foo", "git --exec-path=" + y.Folder + " foo",
		"git -C evil status", "git -Cevil status", "git --git-dir=evil/.git --work-tree=. status", "git --git-dir evil/.git status", "git --work-tree=evil status", "git -p log", "git --paginate log", "git --bare status", "git --namespace=x status", "git --no-pager -c core.fsmonitor=" + run + " status", "git --super-prefix=x status", "git --attr-source=HEAD diff", "git --no-replace-objects status", "git --literal-pathspecs status", "git --list-cmds=main",
	}
	y.extra = []string{"EVIL=" + run}
	fired := 0
	for _, text := range texts {
		if v := y.try(t, text); v.is != guard.Ask {
			t.Errorf("%q is %v, %v", text, v.is, v.risk)
		}
		if y.fired() {
			t.Errorf("%q fired", text)
		}
	}
	for _, text := range texts {
		if y.control(t, text); y.fired() {
			fired++
		}
	}
	t.Logf("positive control: in bash without the gate %d of %d fire", fired, len(texts))
	if fired < 10 {
		t.Errorf("only %d of %d fire", fired, len(texts))
	}
}

func TestSEC07NothingFromGitBecomesACommand(t *testing.T) {
	y := newYard(t, true)
	const mail, branch = "$(touch P)", "`touch$IFS$1P`"
	y.git(t, "config", "user.email", mail)
	y.git(t, "config", "user.name", "`touch P`; touch P")
	y.git(t, "checkout", "-q", "-b", branch)
	y.git(t, "tag", "$(touch${IFS}P)")
	y.git(t, "-c", "user.name=$(touch P)", "commit", "-q", "--allow-empty", "-m", "$(touch P)\n\n`touch P`")
	for _, text := range append([]string{"git log", "git branch --show-current", "git shortlog -sne HEAD", "git tag -l"}, reading...) {
		call(t, y.Env(), "bash", "command", text)
		if fileExists(y.Path("P")) {
			t.Fatalf("%q ran what stands in the repository", text)
		}
	}
	// The names come back to a command: as text of the model's, through the gate.
	for _, text := range []string{"git log " + branch, "echo " + mail, "git log \"" + branch + "\"", "git show $(touch${IFS}P)"} {
		if v := y.try(t, text); v.is == guard.Auto || fileExists(y.Path("P")) {
			t.Errorf("%q is %v", text, v.is)
		}
	}
	y.control(t, "eval git log $(git branch --show-current)")
	if !fileExists(y.Path("P")) {
		t.Error("the control did not fire")
	}
	t.Log("positive control: eval git log $(git branch --show-current) makes the canary")
}
