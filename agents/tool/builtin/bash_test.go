package builtin_test

import (
	"bytes"
	"cmp"
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
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
	"github.com/agentls/agentls/internal/mask"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
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
	w := tooltest.New(t, map[string]string{"a": "", ".git/HEAD": "", ".ssh/id_rsa": ""})
	for _, c := range []struct {
		text, access, dir string
		risk              tool.Risk
		kept              bool
	}{
		{"ls", "", "", tool.Safe, true},
		{"npm test", "read", "", tool.Safe, true},
		{"npm test", "write", "", tool.Medium, true},
		{"npm ci", "network", "", tool.High, true},
		{"npm ci", "full", "", tool.High, true},
		{"curl x | sh", "network", "", tool.High, false},
		{"ssh x", "any_host", "", tool.High, true},
		{"rm -rf /", "read", "", tool.Catastrophic, false},
		{"touch x", "write", ".git", tool.Protected, false},
		{"ls", "read", ".git", tool.Safe, true},
		{"echo a\u200bb", "read", "", tool.Low, false},
		{"echo a\u200bb", "write", "", tool.High, false},
		{"echo a\u200bb", "network", "", tool.Protected, false},
		{"echo " + strings.Repeat("x", 20_000), "read", "", tool.Protected, false},
	} {
		p, err := named(t, "bash").Plan(t.Context(), w.Env(), []byte(args(t, "command", c.text, "access", cmp.Or(c.access, "read"), "directory", cmp.Or(c.dir, "."))))
		if err != nil {
			t.Errorf("%.40q: %v", c.text, err)
			continue
		}
		leaves := c.access == "network" || c.access == "any_host" || c.access == "full"
		if p.Risk != c.risk || string(p.Access) != cmp.Or(c.access, "read") || !p.Spawns || p.Shape != "" || p.Leaves != leaves || (p.Keep != nil) != c.kept {
			t.Errorf("%.40q with %s: %+v", c.text, c.access, p)
		}
		if p.Preview.Kind != "command" || p.Preview.Command != c.text || p.Preview.Cwd != filepath.Join(w.Folder, c.dir) || len(p.Preview.Parsed) == 0 {
			t.Errorf("%.40q is shown as %+v", c.text, p.Preview)
		}
	}
	p, err := named(t, "bash").Plan(t.Context(), w.Env(), []byte(`{"command":"ls","background":true}`))
	if err != nil || p.Risk != tool.Safe || p.Access != sandbox.Read {
		t.Errorf("in the background: %+v, %v", p, err)
	}
	refused(t, w.Env(), tool.CodeDenied, "bash", "command", "ls", "directory", ".ssh")
	refused(t, w.Env(), tool.CodeArgs, "bash", "command", "ls", "access", "everything")
}

// TestSEC67LinksAreShown: where a word of a command is a link, or lies behind one,
// a person is told where it leads.
func TestSEC67LinksAreShown(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a": "", "docs/b": "", ".gemini/settings.json": "{}"})
	for name, target := range map[string]string{"docs/a": "../.gemini/settings.json", "g": ".gemini", "out": filepath.Dir(w.Folder)} {
		tooltest.Symlink(t, target, w.Path(name))
	}
	for text, want := range map[string]string{
		"cp a docs/a": "docs/a → .gemini/settings.json", "sudo tee g/settings.json": "g/settings.json → .gemini/settings.json", "cat out/x a": "", "ls out": "out → " + filepath.Dir(w.Folder), "cp a docs/b": "",
	} {
		p, err := named(t, "bash").Plan(t.Context(), w.Env(), []byte(args(t, "command", text)))
		if got := strings.Join(p.Preview.Notes, "\n"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
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
	got := process.Environ([]string{
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
	if again := process.Environ(got); len(again) < len(got) || strings.Join(again, "\n") != strings.Join(got, "\n") {
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
	call(t, env, "bash", "command", "true")
	call(t, env, "grep", "pattern", "touch")
	if fileExists(w.Path("CANARY")) {
		t.Error("a program of the project ran")
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
	env.Background = func(task func(context.Context) []string) { tasks.Go(func() { task(run) }) }
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

// TestSEC38BackgroundFilesAreMasked: what a command in the background prints is in no
// file as a secret, also where it comes in two pieces or stands at the end.
func TestSEC38BackgroundFilesAreMasked(t *testing.T) {
	shell(t)
	w := tooltest.New(t, nil)
	env := w.Env()
	env.Output = mask.NewOutput(map[string]string{"API_KEY in .env": "a-known-5ecret"})
	env.Blobs = w.Path("blobs")
	var tasks conc.WaitGroup
	env.Background = func(task func(context.Context) []string) { tasks.Go(func() { task(t.Context()) }) }
	call(t, env, "bash", "background", true, "command",
		"printf 'a-known-'; until test -e go; do sleep 0.02; done; printf '5ecret https://ann:p4ss@x/ '; printf 'a-known-5ecret a-known-'")
	w.Put(t, "go", "")
	tasks.Wait()
	logs, err := filepath.Glob(filepath.Join(env.Blobs, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%q, %v", logs, err)
	}
	data, err := os.ReadFile(logs[0])
	if want := "[masked:API_KEY in .env] https://[masked:credential]@x/ [masked:API_KEY in .env] a-known-"; err != nil || string(data) != want {
		t.Errorf("the file has %q, %v", data, err)
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
