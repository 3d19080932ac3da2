package builtin_test

// SEC-45 and SEC-47: what people do all day goes on without a person.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
)

// everyday are 200 commands as developers and models give them, with the tier
// that each has; UPDATE=1 writes it anew. Look at the difference: a command that
// begins to ask is one more question a day for everybody.
const everyday = "testdata/everyday.txt"

func TestSEC47EverydayCommandsAskRarely(t *testing.T) {
	y := newYard(t, true)
	for _, name := range []string{"package.json", "go.mod", "README.md", "build.log", "names.txt", "src/server.ts", "src/a.test.ts", "src/a.ts", "src/old.go", "src/copy.go", "build.sh", "gradlew", "script.js", "main.py", "requirements.txt", "tests/test_a.py", "build/x"} {
		y.Put(t, name, "x\n")
	}
	if err := os.Remove(y.Path(".env")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(everyday)
	if err != nil {
		t.Fatal(err)
	}
	before := y.tree(t)
	var now strings.Builder
	all, confined, bare := 0, 0, 0
	for line := range strings.Lines(string(data)) {
		tier, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			t.Fatalf("%q is no line of the list", line)
		}
		env := y.Env()
		env.Home = y.home
		p, err := named(t, "bash").Plan(t.Context(), env, []byte(args(t, "command", text)))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		all++
		r := guard.Request{ID: tool.Identity{Session: "s", Run: "r", Call: "c", Agent: "a"}, Plan: p, Approval: guard.Free, Trusted: true, CanAsk: true, Sandbox: true, Folder: y.Folder}
		if guard.New().Authorize(r).Verdict == guard.Auto {
			confined++
		}
		r.Sandbox = false
		if guard.New().Authorize(r).Verdict == guard.Auto {
			bare++
		}
		if p.Risk.String() != tier && os.Getenv("UPDATE") == "" {
			t.Errorf("%q is %v (%s), and was %s", text, p.Risk, p.Why, tier)
		}
		now.WriteString(p.Risk.String() + "\t" + text + "\n")
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(everyday, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if y.tree(t) != before {
		t.Error("planning changed files")
	}
	t.Logf("of %d everyday commands %d %% run without asking in mode auto with a sandbox, %d %% without one", all, 100*confined/max(all, 1), 100*bare/max(all, 1))
	if all != 200 || 100*confined < 60*all {
		t.Errorf("%d of %d commands run without asking, want 60 %% of 200", confined, all)
	}
}

func TestSEC45NothingWaitsForAPerson(t *testing.T) {
	y := newYard(t, true)
	y.standIns(t, "editor")
	editor := filepath.Join(y.base, "stand", "editor")
	y.git(t, "commit", "-qam", "second")
	y.Put(t, "b.txt", "changed\n")
	y.extra = nil
	names := []string{"GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "EDITOR", "VISUAL", "PAGER", "GIT_PAGER", "MANPAGER", "GIT_ASKPASS", "SSH_ASKPASS", "LESSOPEN"}
	for _, name := range names {
		y.extra = append(y.extra, name+"="+editor)
	}
	env := y.Env()
	env.Environ = append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + y.home}, y.extra...)
	program := func(text string) string { name, _, _ := strings.Cut(text, " "); return name }
	fired := 0
	for _, text := range []string{
		"git commit -a", "git commit --amend", "git rebase -i HEAD~1", "git -c core.editor=" + editor + " commit -a", "git tag -a v1", "git log", "git -p log", "less a.txt", "more a.txt", "man ls", "git add -i", "git add -p", "cat", "read line", "bash", "python3", "sudo -k -S true", "cat /dev/tty", "ssh -o BatchMode=no x@127.0.0.1 -p 9 true", "git credential fill",
	} {
		if _, err := exec.LookPath(program(text)); err != nil && text != "read line" {
			t.Logf("%s is not installed: not tried", program(text))
			continue
		}
		r := call(t, env, "bash", "command", text, "timeout", 20)
		if r.Code == tool.CodeTimeout {
			t.Errorf("%q waits for a person: %s", text, r.Content)
		}
		if y.fired() {
			t.Errorf("%q started the person's editor or pager", text)
		}
		if !strings.HasPrefix(text, "git") || strings.Contains(text, " add -") {
			continue // without a terminal and without us it would wait, or ask nobody
		}
		if y.control(t, text); y.fired() {
			fired++
		}
	}
	t.Logf("positive control: with the person's own environment %d of git's commands start the editor or ask", fired)
	if fired < 4 {
		t.Errorf("only %d of git's commands start an editor without us", fired)
	}
}

// BenchmarkShellGate is the whole decision about a command of 200 bytes: what it
// would do, and whether it may. The goal is 100 µs.
func BenchmarkShellGate(b *testing.B) {
	y := newYard(b, false)
	env := y.Env()
	text := "git diff HEAD~1 -- src/main.go | head -20 && go test -run 'TestParse|TestPrint' ./src/... 2>&1 | tail -40 && npm run build -- --mode production --outdir docs/out && git commit -m 'Parse and print what was said'"
	bash, raw, gate := named(b, "bash"), []byte(args(b, "command", text)), guard.New()
	id := tool.Identity{Session: env.Session, Run: env.Run, Call: env.Call, Agent: env.Agent}
	for b.Loop() {
		p, err := bash.Plan(b.Context(), env, raw)
		if err != nil {
			b.Fatal(err)
		}
		if d := gate.Authorize(guard.Request{ID: id, Plan: p, Approval: guard.Free, Trusted: true, CanAsk: true, Folder: y.Folder}); d.Verdict != guard.Ask {
			b.Fatal(d)
		}
	}
}
