package builtin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/agents/tool/command"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// shell skips where there is no bash or no /proc to look into.
func shell(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs bash on Linux")
	}
}

// nap returns the argument of a sleep that no other process has.
func nap(n int) string { return fmt.Sprintf("%d.0%d", n, os.Getpid()) }

// alive returns the processes whose arguments hold the tag.
func alive(t testing.TB, tag string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil || !bytes.Contains(line, []byte(tag)) || e.Name() == strconv.Itoa(os.Getpid()) {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil || strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " Z") {
			continue
		}
		out = append(out, e.Name()+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
	}
	return out
}

// when runs a call, and calls do as soon as its output holds text.
func when(t *testing.T, w *tooltest.Workspace, text string, do func(), pairs ...any) *tool.Result {
	t.Helper()
	env := w.Env()
	var mu sync.Mutex
	var seen strings.Builder
	var once sync.Once
	env.Progress = func(s string) {
		mu.Lock()
		defer mu.Unlock()
		seen.WriteString(s)
		if strings.Contains(seen.String(), text) {
			once.Do(do)
		}
	}
	return call2(t, env, pairs...)
}

func call2(t *testing.T, env *tool.Env, pairs ...any) *tool.Result {
	return call(t, env, "bash", pairs...)
}

func TestBashTellsExitCodeAndBothOutputs(t *testing.T) {
	shell(t)
	w := tooltest.New(t, map[string]string{"a.txt": "x\n", "sub/b": ""})
	env := w.Env()
	for text, want := range map[string]string{
		"echo out; echo err >&2; exit 3": "Exit code: 3\nStdout:\nout\nStderr:\nerr\n", "kill -9 $$": "Ended by signal: killed\nStdout: (empty)\nStderr: (empty)\n", "true": "Exit code: 0\nStdout: (empty)\nStderr: (empty)\n",
		"pwd": "Exit code: 0\nStdout:\n" + w.Folder + "\nStderr: (empty)\n", "printf '\\033[31mred\\033[0m\\r\\nx\\xff'": "Exit code: 0\nStdout:\nred\nx\ufffd\nStderr: (empty)\n", "cat a.txt | tr x y": "Exit code: 0\nStdout:\ny\nStderr: (empty)\n",
		"echo $0 $-": "Exit code: 0\nStdout:\nbash hBc\nStderr: (empty)\n",
	} {
		r := call(t, env, "bash", "command", text)
		if r.Content != want || r.Failed != !strings.HasPrefix(want, "Exit code: 0") {
			t.Errorf("%q: %q (failed %v), want %q", text, r.Content, r.Failed, want)
		}
	}
	if r := call(t, env, "bash", "command", "pwd -P", "directory", "sub"); !strings.Contains(r.Content, w.Path("sub")+"\n") {
		t.Errorf("in a folder: %q", r.Content)
	}
	w.Unsaved = []string{w.Path("a.txt"), w.Path("sub/b")}
	if r := call(t, env, "bash", "command", "pwd"); !strings.HasPrefix(r.Content, "unsaved in the editor: a.txt, sub/b\nExit code: 0\n") {
		t.Errorf("unsaved: %q", r.Content)
	}
	refused(t, env, tool.CodeArgs, "bash", "command", "ls\x00")
	refused(t, env, tool.CodeArgs, "bash", "command", "ls", "timeout", 601)
	refused(t, env, tool.CodeArgs, "bash", "command", " ")
	refused(t, env, tool.CodeArgs, "bash", "command", "ls", "directory", "a.txt")
}

func TestBashPlansSayWhatRuns(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a": "", ".git/HEAD": ""})
	for text, risk := range map[string]tool.Risk{"ls": tool.Safe, "npm test": tool.Medium, "curl x | sh": tool.High, "git reset --hard": tool.Protected, "rm -rf /": tool.Catastrophic, "cat .env": tool.Catastrophic} {
		p, err := named(t, "bash").Plan(t.Context(), w.Env(), []byte(args(t, "command", text)))
		if err != nil || p.Risk != risk || !p.Spawns || p.Shape != "" || p.Preview.Kind != "command" || p.Preview.Command != text || p.Preview.Cwd != w.Folder || len(p.Preview.Parsed) == 0 || p.Leaves != (risk > tool.Safe) {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
	p, err := named(t, "bash").Plan(t.Context(), w.Env(), []byte(`{"command":"ls","background":true}`))
	if err != nil || p.Risk != tool.High {
		t.Errorf("in the background: %v, %v", p.Risk, err)
	}
	p, err = named(t, "bash").Plan(t.Context(), w.Env(), []byte(`{"command":"touch x","directory":".git"}`))
	if err != nil || p.Risk != tool.Protected {
		t.Errorf("in .git: %v, %v", p.Risk, err)
	}
}

// TestAutoCommandsDoWhatBashDoes compares how commands run without a shell with
// bash.
func TestAutoCommandsDoWhatBashDoes(t *testing.T) {
	shell(t)
	w := tooltest.New(t, map[string]string{"a.txt": "b\na\nc\na\n", "b.txt": "x\n", "src/m.go": "package m\n", "sp ace": "s\n"})
	for _, text := range []string{
		"ls", "ls -a src", "cat a.txt | sort | uniq -c", "ls gone || echo none", "ls gone 2>/dev/null || echo none", "ls gone 2>&1 | wc -l", "true && false || echo x", "false && echo no; echo yes", "echo a b 'c  d' \"e\"", "echo hi >/dev/null; echo there",
		"cat 'sp ace'", "grep -n a a.txt", "grep -c zzz a.txt", "head -1 a.txt; tail -n 1 a.txt", "find . -name '*.txt' | sort", "ls gone a.txt 2>&1 >/dev/null | head -1", "sed -n '2,3p' a.txt", "tr a-z A-Z", "cat", "cat a.txt | head -1 | tr b X", "sort -r a.txt | head -2 && pwd", "echo one\necho two",
		"cat a.txt | cat | cat | wc -l", "cut -c 1 b.txt", "false", "true | false", "false | true", "echo a\\ b", "basename src/m.go .go",
	} {
		a, err := command.Analyze(text, command.Config{Env: w.Env(), Dir: w.Folder})
		if err != nil || a.Steps == nil {
			t.Errorf("%q does not run by itself: %s", text, a.Why)
			continue
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-c", text)
		cmd.Dir, cmd.Env = w.Folder, builtin.Environ(os.Environ())
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		r := call(t, w.Env(), "bash", "command", text)
		want := fmt.Sprintf("Exit code: %d\n", cmd.ProcessState.ExitCode())
		for _, s := range []struct{ name, text string }{{"Stdout", stdout.String()}, {"Stderr", stderr.String()}} {
			if s.text = strings.TrimRight(s.text, "\n"); s.text == "" {
				want += s.name + ": (empty)\n"
			} else {
				want += s.name + ":\n" + s.text + "\n"
			}
		}
		if r.Content != want {
			t.Errorf("%q:\n%s\nbash:\n%s", text, r.Content, want)
		}
	}
}

func TestSEC113ChildrenSeeNoSecrets(t *testing.T) {
	shell(t)
	for name, value := range map[string]string{"GEMINI_API_KEY": "canary1", "GITHUB_TOKEN": "canary2", "AWS_SECRET_ACCESS_KEY": "canary3", "SSH_AUTH_SOCK": "canary4", "HTTPS_PROXY": "canary5", "GOPROXY": "https://u:canary6@x/", "MY_VAR": "canary7"} {
		t.Setenv(name, value)
	}
	w := tooltest.New(t, nil)
	env := w.Env()
	env.Environ = os.Environ() // as if a caller forgot: the list is applied again
	for _, text := range []string{"env", "cat /proc/self/environ"} {
		if r := call(t, env, "bash", "command", text); strings.Contains(r.Content, "canary") || !strings.Contains(r.Content, "PATH=") {
			t.Errorf("%s: %s", text, r.Content)
		}
	}
}

func TestSEC40And45EnvironIsAnAllowList(t *testing.T) {
	got := builtin.Environ([]string{
		"PATH=.:/usr/bin::bin:/bin", "HOME=/h", "LC_ALL=C", "LANG=x", "BASH_ENV=/x", "ENV=/x", "BASH_FUNC_ls%%=() { touch P; }", "PS4=$(touch P)", "PROMPT_COMMAND=touch P", "SHELLOPTS=xtrace", "BASHOPTS=x", "IFS=x", "CDPATH=/", "LD_PRELOAD=x", "LD_LIBRARY_PATH=x", "NODE_OPTIONS=x",
		"PYTHONSTARTUP=x", "GIT_DIR=x", "GIT_EXTERNAL_DIFF=x", "EDITOR=vi", "PAGER=less", "GIT_EDITOR=vi", "LC_X=() { touch P; }", "GEMINI_API_KEY=k", "broken",
	})
	for _, want := range []string{"PATH=/usr/bin:/bin", "HOME=/h", "LC_ALL=C", "LANG=x", "GIT_EDITOR=false", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "EDITOR=false"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	names := make(map[string]int)
	for _, e := range got {
		name, _, _ := strings.Cut(e, "=")
		names[name]++
		if names[name] > 1 || slices.Contains([]string{"BASH_ENV", "ENV", "BASH_FUNC_ls%%", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "IFS", "CDPATH", "LD_PRELOAD", "NODE_OPTIONS", "GIT_DIR", "LC_X", "GEMINI_API_KEY"}, name) {
			t.Errorf("%s is passed on, %d times", name, names[name])
		}
	}
	if again := builtin.Environ(got); len(again) < len(got) || strings.Join(again, "\n") != strings.Join(got, "\n") {
		t.Errorf("twice is not once: %q, %q", got, again)
	}
}

func TestSEC40AliasesOfTheEnvironmentHaveNoEffect(t *testing.T) {
	shell(t)
	w := tooltest.New(t, map[string]string{"rc": "touch CANARY\nls() { touch CANARY; }\n"})
	t.Setenv("BASH_ENV", w.Path("rc"))
	t.Setenv("ENV", w.Path("rc"))
	t.Setenv("BASH_FUNC_ls%%", "() { touch CANARY; }")
	env := w.Env()
	env.Environ = os.Environ()
	for _, text := range []string{"ls", "ls; type -t ls"} {
		if r := call(t, env, "bash", "command", text); !strings.Contains(r.Content, "rc") || strings.Contains(r.Content, "function") {
			t.Errorf("%s: %s", text, r.Content)
		}
	}
	if w.Text("CANARY") != "" || fileExists(w.Path("CANARY")) {
		t.Error("the canary was made")
	}
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestSEC06ProgramsOfTheProjectAreNotPickedUp(t *testing.T) {
	shell(t)
	w := tooltest.New(t, map[string]string{"a": ""})
	for _, name := range []string{"ls", "rg", "git", "bash"} {
		w.Put(t, "bin/"+name, "#!/bin/sh\ntouch "+w.Path("CANARY")+"\n")
		if err := os.Chmod(w.Path("bin/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(filepath.Dir(w.Folder), "linked")
	if err := os.Symlink(w.Path("bin"), linked); err != nil {
		t.Fatal(err)
	}
	env := w.Env()
	env.Environ = []string{"PATH=" + w.Path("bin") + ":" + linked + ":.:bin:" + os.Getenv("PATH")}
	call(t, env, "bash", "command", "ls")
	call(t, env, "grep", "pattern", "touch")
	if fileExists(w.Path("CANARY")) {
		t.Error("a program of the project ran")
	}
}

func TestSEC117ChildrenGetNothingButTheirOutput(t *testing.T) {
	shell(t)
	w := tooltest.New(t, nil)
	// What the daemon's own parent may have left open.
	fd, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	r := call(t, w.Env(), "bash", "command", "for f in /proc/$$/fd/*; do echo ${f##*/} $(readlink $f); done; cat; tty")
	var got []string
	for l := range strings.SplitSeq(r.Content, "\n") {
		if fd, rest, ok := strings.Cut(l, " "); ok && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "pipe:")) {
			got = append(got, fd)
		}
	}
	// 3 is the pipe of the substitution by which they are listed.
	if strings.Join(got, " ") != "0 1 2 3" || !strings.Contains(r.Content, "\n0 /dev/null\n") || !strings.Contains(r.Content, "not a tty") {
		t.Errorf("descriptors %q in %s", got, r.Content)
	}
}

func TestBashTimeOut(t *testing.T) {
	shell(t)
	w := tooltest.New(t, map[string]string{"a": "x\n"})
	r := call(t, w.Env(), "bash", "command", "echo before; sleep "+nap(73), "timeout", 1)
	if !r.Failed || r.Code != tool.CodeTimeout || !strings.Contains(r.Content, "ended after 1s") || !strings.Contains(r.Content, "before") || len(alive(t, nap(73))) > 0 {
		t.Errorf("%+v, alive %q", r, alive(t, nap(73)))
	}
}

func TestProgressComesWhileItRuns(t *testing.T) {
	shell(t)
	w := tooltest.New(t, nil)
	// The command ends only after its first line has been told.
	r := when(t, w, "first", func() { w.Put(t, "go", "") }, "command", "echo first; until test -e go; do sleep 0.02; done; echo second", "timeout", 30)
	if !strings.Contains(r.Content, "first\nsecond") || r.Failed {
		t.Errorf("got %s", r.Content)
	}
}

func TestBackgroundCommands(t *testing.T) {
	shell(t)
	w := tooltest.New(t, nil)
	env := w.Env()
	refused(t, env, tool.CodeFailed, "bash", "command", "sleep 1", "background", true)
	env.Blobs = filepath.Join(filepath.Dir(w.Folder), "blobs") // made when it is needed
	run, end := context.WithCancel(t.Context())
	var tasks conc.WaitGroup
	env.Background = func(task func(context.Context)) { tasks.Go(func() { task(run) }) }
	r := call(t, env, "bash", "command", "echo $$; touch up; setsid sleep "+nap(79)+" & sleep "+nap(79), "background", true)
	var pid int
	if _, err := fmt.Sscanf(r.Content, "Started in the background as process %d.", &pid); err != nil {
		t.Fatalf("got %s", r.Content)
	}
	for !fileExists(w.Path("up")) {
		runtime.Gosched()
	}
	logs, err := filepath.Glob(filepath.Join(env.Blobs, "*.log"))
	if err != nil || len(logs) != 1 || !strings.Contains(r.Content, logs[0]) {
		t.Fatalf("%q, %v in %s", logs, err, r.Content)
	}
	for { // what it wrote arrives by a pipe
		if info, err := os.Stat(logs[0]); err != nil || info.Size() > 0 {
			break
		}
		runtime.Gosched()
	}
	if out := call(t, env, "read_file", "file_path", logs[0]); out.Content != fmt.Sprintf("%d\n", pid) {
		t.Errorf("its output is %q", out.Content)
	}
	end()
	tasks.Wait()
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() { // who has ended them ends a moment later
		left := alive(t, nap(79))
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %q", left)
		}
	}
}

func TestPlannedAutoCommandsAreJudgedAgain(t *testing.T) {
	shell(t)
	w := tooltest.New(t, map[string]string{"a.txt": "inside\n"})
	outside := filepath.Join(filepath.Dir(w.Folder), "secret")
	if err := os.WriteFile(outside, []byte("canary"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := w.Env()
	p, err := named(t, "bash").Plan(t.Context(), env, []byte(`{"command":"cat a.txt"}`))
	if err != nil || p.Risk != tool.Safe {
		t.Fatal(p, err)
	}
	if err := errors.Join(os.Remove(w.Path("a.txt")), os.Symlink(outside, w.Path("a.txt"))); err != nil {
		t.Fatal(err)
	}
	id := tool.Identity{Session: env.Session, Run: env.Run, Call: env.Call, Agent: env.Agent}
	if r, err := p.Run(t.Context(), env, tool.Mint(t.Context(), p.Digest(id))); tooltest.Code(err) != tool.CodeStale {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAskUser(t *testing.T) {
	w := tooltest.New(t, nil)
	env := w.Env()
	refused(t, env, tool.CodeNoPerson, "ask_user", "question", "why?")
	for action, want := range map[string]string{"accept": "blue", "decline": "declined", "cancel": "dismissed", "": "dismissed"} {
		env.Ask = func(_ context.Context, q tool.Question) (tool.Answer, error) {
			if q.Message != "which?" || len(q.Choices) != 2 || q.Title == "" {
				t.Errorf("asked %+v", q)
			}
			return tool.Answer{Action: action, Text: "blue"}, nil
		}
		if r := call(t, env, "ask_user", "question", "which?", "choices", []string{"red", "blue"}); !strings.Contains(r.Content, want) || r.Failed {
			t.Errorf("%s: %+v", action, r)
		}
	}
	env.Ask = func(context.Context, tool.Question) (tool.Answer, error) { return tool.Answer{}, context.Canceled }
	if _, err := tooltest.Run(t.Context(), named(t, "ask_user"), env, `{"question":"x"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
