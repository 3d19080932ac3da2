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
	"github.com/agentls/agentls/internal/sandbox"
)

// everyday are 200 commands as developers and models give them, each with the
// access that it needs.
const everyday = "testdata/everyday.txt"

// TestSEC47EverydayCommandsAskRarely: with a sandbox, by the access that each of
// them needs.
func TestSEC47EverydayCommandsAskRarely(t *testing.T) {
	y := newYard(t, true)
	data, err := os.ReadFile(everyday)
	if err != nil {
		t.Fatal(err)
	}
	all, counts := 0, make(map[guard.Approval]int)
	for line := range strings.Lines(string(data)) {
		access, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || !sandbox.Access(access).Valid() {
			t.Fatalf("%q is no line of the list", line)
		}
		p, err := named(t, "bash").Plan(t.Context(), y.Env(), []byte(args(t, "command", text, "access", access)))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		all++
		for _, mode := range []guard.Approval{guard.Asks, guard.Edits, guard.Free} {
			r := guard.Request{ID: tool.Identity{Agent: "a"}, Plan: p, Approval: mode, Trusted: true, CanAsk: true, Folder: y.Folder}
			if d := guard.New().Authorize(r); d.Verdict == guard.Auto {
				t.Errorf("%q runs by itself where nothing confines it", text)
			}
			r.Sandbox.Wall = sandbox.Bubblewrap
			d := guard.New().Authorize(r)
			if d.Verdict == guard.Auto {
				counts[mode]++
			}
			reads, writes := access == "read", access == "write" && mode != guard.Asks
			if (d.Verdict == guard.Auto) != (reads || writes) {
				t.Errorf("%q with access %s in mode %s: %v (%s)", text, access, mode, d.Verdict, d.Why)
			}
		}
	}
	t.Logf("of %d everyday commands run without asking, with a sandbox: %v", all, counts)
	if all != 200 || 100*counts[guard.Free] < 60*all {
		t.Errorf("of %d commands %v run without asking, want 60 %% of 200 in mode auto", all, counts)
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
