package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/run"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/extensions/hook"
	"github.com/agentls/agentls/internal/process"
	"github.com/agentls/agentls/internal/sandbox"
)

// hooks returns those of a settings text and of Go code, in a folder of the test's.
func hooks(t testing.TB, settings string, project bool, compiled ...hook.Compiled) (*hook.Hooks, string) {
	t.Helper()
	folder := t.TempDir()
	list, off := hook.Parse([]byte(settings), project, func(name string) (string, bool) {
		value, ok := map[string]string{"HOME": "/home/ada", "KEY": "k3y"}[name]
		return value, ok && (name == "HOME" || !project)
	})
	all := hook.New(hook.Config{
		Described: func(_ context.Context, _, event string) []hook.Described {
			return slices.DeleteFunc(slices.Clone(list), func(d hook.Described) bool { return d.Event != event || slices.Contains(off, d.Name) })
		},
		Has:      func(_, event string) bool { return true },
		Compiled: compiled, Trusted: func(string) bool { return true },
		Environ: process.Environ([]string{"PATH=" + os.Getenv("PATH")}), Home: folder,
		Sandbox: func(string) *sandbox.Sandbox { return nil },
		Places:  func(context.Context, string) (tool.Places, error) { return tool.Places{}, nil },
		Mask:    func(data []byte) []byte { return data }, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	t.Cleanup(all.Close)
	return all, folder
}

func fire(t testing.TB, h *hook.Hooks, folder, event string, match []string, fields map[string]any) run.HookAnswer {
	return h.Fire(t.Context(), run.HookEvent{Name: event, Folder: folder, Session: "s", Agent: "a", Run: "r", Match: match, Fields: fields})
}

// one is settings with a single command at an event.
func one(event, command string) string {
	text, _ := json.Marshal(map[string]any{event: []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "name": "h", "command": command}}}}})
	return string(text)
}

// TestSEC94AndREL91HowACommandEnds: what each way to end means at an event that guards, and
// at one that observes.
func TestSEC94AndREL91HowACommandEnds(t *testing.T) {
	for _, c := range []struct{ command, guard, why, observer string }{
		{`true`, "allow", "", "allow"},
		{`echo hello`, "allow", "", "allow"},
		{`echo '{}'`, "allow", "", "allow"},
		{`echo '{"decision": "allow"}'`, "allow", "", "allow"},
		{`echo '{"decision": "block", "reason": "no"}'`, "deny", "no", "deny"},
		{`echo '{"proceed": false, "reason": "no"}'`, "deny", "no", "deny"},
		{`echo no >&2; exit 2`, "deny", "no", "deny"},
		{`echo '{"reason": "from here"}'; exit 2`, "deny", "from here", "deny"},
		{`echo '{broken'; exit 2`, "deny", "", "deny"},
		{`exit 1`, "deny", "exit code 1", "failed"},
		{`echo why >&2; exit 127`, "deny", "exit code 127: why", "failed"},
		{`kill -9 $$`, "deny", "exit code 137", "failed"},
		{`echo '{broken'`, "deny", "no JSON", "failed"},
		{`echo '{"decision": "perhaps"}'`, "deny", `"perhaps"`, "failed"},
		{`echo '{"decision": 7}'`, "deny", "no JSON", "failed"},
		{`printf '{"reason": "'; head -c 52428800 /dev/zero; printf '"}'`, "deny", "more than 64 KiB", "failed"},
	} {
		h, folder := hooks(t, one("BeforeTool", c.command), false)
		a := fire(t, h, folder, "BeforeTool", nil, map[string]any{"tool_name": "x"})
		if a.Decision != c.guard || !strings.Contains(a.Reason, c.why) {
			t.Errorf("BeforeTool %s: %s %q, want %s with %q", c.command, a.Decision, a.Reason, c.guard, c.why)
		}
		h, folder = hooks(t, one("AfterTool", c.command), false)
		a = fire(t, h, folder, "AfterTool", nil, map[string]any{"tool_name": "x"})
		if got := a.Ran[0].Decision; got != c.observer || (a.Decision == "deny") != (c.observer == "deny") {
			t.Errorf("AfterTool %s: %s, and %s together, want %s", c.command, got, a.Decision, c.observer)
		}
	}
}

// TestHooksThatCannotBeRunBlock: what a guard's description says wrong blocks what it
// guards.
func TestHooksThatCannotBeRunBlock(t *testing.T) {
	for settings, want := range map[string]string{
		`{"BeforeTool": [{"hooks": [{"type": "plugin", "command": "x"}]}]}`:                                        "only command is supported",
		`{"BeforeTool": [{"hooks": [{"type": "command"}]}]}`:                                                       "no command",
		`{"BeforeTool": [{"hooks": [{"command": "true", "timeout": 600001}]}]}`:                                    "its timeout",
		`{"BeforeTool": [{"matcher": "(", "hooks": [{"command": "true"}]}]}`:                                       "no regular expression",
		`{"BeforeTool": [{"matcher": "` + strings.Repeat(`\\pL{500}`, 20) + `", "hooks": [{"command": "true"}]}]}`: "becomes too large",
		`{"BeforeTool": [{"matcher": "` + strings.Repeat("x", 2000) + `", "hooks": [{"command": "true"}]}]}`:       "longer than 1024 bytes",
		`{"BeforeTool": [{"hooks": [{"command": "true", "sandbox": "yes"}]}]}`:                                     "its sandbox",
		`{"BeforeTool": [{"hooks": [{"command": "true", "env": {"A": "$NOWHERE"}}]}]}`:                             "NOWHERE is not set",
		`{"BeforeTool": {"hooks": []}}`:                                                                            "cannot be read",
		`{"BeforeTool": [{"hooks": [{"command": "no-such-program-at-all", "args": []}]}]}`:                         "there is no program",
		`{"BeforeTool": [{"hooks": [{"command": "true", "timeout": "1"}]}]}`:                                       "cannot be read",
		`{"BeforeTool": [{"hooks": [{"command": "true"}, {"command": "exit 3", "name": "last"}]}]}`:                "the hook last failed",
	} {
		h, folder := hooks(t, settings, false)
		if a := fire(t, h, folder, "BeforeTool", []string{"any"}, nil); !a.Denied() || !strings.Contains(a.Reason, want) {
			t.Errorf("%s: %s %q, want a refusal with %q", settings, a.Decision, a.Reason, want)
		}
	}
}

// TestSEC114EnvOfAProject: only the person's own settings take variables from the
// environment.
func TestSEC114EnvOfAProject(t *testing.T) {
	const settings = `{"BeforeAgent": [{"hooks": [{"command": "echo \"{\\\"reason\\\": \\\"$X $Y $GEMINI_SESSION_ID\\\", \\\"decision\\\": \\\"deny\\\"}\"", "env": {"X": "$KEY", "Y": "${HOME}"}, "sandbox": "full"}]}]}`
	h, folder := hooks(t, settings, false)
	if a := fire(t, h, folder, "BeforeAgent", nil, nil); a.Reason != "k3y /home/ada s" {
		t.Errorf("the person's: %q", a.Reason)
	}
	h, folder = hooks(t, settings, true)
	if a := fire(t, h, folder, "BeforeAgent", nil, nil); !strings.Contains(a.Reason, "KEY is not set") {
		t.Errorf("the project's: %q", a.Reason)
	}
}

// TestSEC92NothingIsPutIntoACommand: values reach a command by its input only.
func TestSEC92NothingIsPutIntoACommand(t *testing.T) {
	h, folder := hooks(t, `{"BeforeTool": [{"matcher": ".*", "hooks": [
		{"command": "echo ${tool_name} $(cat | grep -c canary) > line"},
		{"command": "bash", "args": ["-c", "echo $0 > args", "$(touch canary) ${user_config.x}"]}]}]}`, false)
	fire(t, h, folder, "BeforeTool", []string{"$(touch canary)"}, map[string]any{"tool_name": "", "tool_input": map[string]any{"file_path": "$(touch canary)"}})
	if _, err := os.Stat(filepath.Join(folder, "canary")); err == nil {
		t.Error("a value was run")
	}
	for file, want := range map[string]string{"line": "1\n", "args": "$(touch canary) ${user_config.x}\n"} {
		if got, err := os.ReadFile(filepath.Join(folder, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", file, got, err, want)
		}
	}
}

// answers are hooks of Go code that say these outputs.
func answers(event string, outputs ...string) (all []hook.Compiled) {
	for i, text := range outputs {
		all = append(all, hook.Compiled{Event: event, Name: string(rune('a' + i)), Hook: hookFunc(func(context.Context, []byte) (out hook.Output, err error) {
			return out, json.Unmarshal([]byte(text), &out)
		})})
	}
	return all
}

// TestTogether: deny beats ask beats allow; edits add up in their order.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		event   string
		outputs []string
		want    string // decision, reason and what is edited
	}{
		{"BeforeTool", []string{`{"decision": "allow"}`, `{"decision": "ask", "reason": "x"}`, `{}`}, `ask "x"`},
		{"BeforeTool", []string{`{"decision": "ask", "reason": "x"}`, `{"decision": "deny", "reason": "y"}`, `{"decision": "deny", "reason": "z"}`}, `deny "y; z"`},
		{"BeforeTool", []string{`{"hookSpecificOutput": {"tool_input": {"b": 2}}}`, `{"hookSpecificOutput": {"tool_input": {"c": 3, "a": 9}}}`}, `allow "" tool_input={"a":9,"b":2,"c":3}`},
		{"BeforeTool", []string{`{"hookSpecificOutput": {"tool_input": [1]}}`}, `deny "the hook a failed: its tool_input is no object: json: cannot unmarshal array into Go value of type map[string]json.RawMessage"`},
		{"BeforeModel", []string{`{"hookSpecificOutput": {"llm_request": {"config": {"temperature": 1}}}}`}, `allow "" llm_request={"config":{"temperature":1,"topP":0.5},"model":"m"}`},
		{"BeforeToolSelection", []string{`{"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["x"]}}}`, `{"hookSpecificOutput": {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["y"]}}}}`},
			`allow "" toolConfig={"allowedFunctionNames":["x","y"],"mode":"AUTO"}`},
		{"BeforeToolSelection", []string{`{"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}`, `{"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["y"]}}}`},
			`allow "" toolConfig={"allowedFunctionNames":[],"mode":"NONE"}`},
		{"BeforeAgent", []string{`{"decision": "ask"}`}, `deny "the hook a failed: it wants the person to be asked, which only a BeforeTool hook can"`},
		{"Notification", []string{`{"decision": "deny", "continue": false}`}, `allow ""`},
		{"AfterTool", []string{`{"decision": "allow", "hookSpecificOutput": {"tool_input": {"b": 2}}}`}, `allow ""`},
	} {
		h, folder := hooks(t, `{}`, false, answers(c.event, c.outputs...)...)
		a := fire(t, h, folder, c.event, nil, map[string]any{
			"tool_input": map[string]any{"a": 1}, "llm_request": map[string]any{"model": "m", "config": map[string]any{"topP": 0.5}},
		})
		reason, _ := json.Marshal(a.Reason)
		got := a.Decision + " " + string(reason)
		for name, value := range a.Edited {
			got += " " + name + "=" + string(value)
		}
		if got != c.want {
			t.Errorf("%s %v:\n%s\nwant\n%s", c.event, c.outputs, got, c.want)
		}
	}
}

// TestSequential: each hook sees what those before it changed; without it none does.
func TestSequential(t *testing.T) {
	const add = `{"matcher": "", "sequential": true, "hooks": [` +
		`{"command": "echo '{\"hookSpecificOutput\": {\"tool_input\": {\"first\": 1}}}'"},` +
		`{"command": "if grep -q '\"first\":1'; then echo '{\"hookSpecificOutput\": {\"tool_input\": {\"second\": 2}}}'; fi"}]}`
	for settings, want := range map[string]string{
		`{"BeforeTool": [` + add + `]}`: `{"first":1,"second":2}`,
		`{"BeforeTool": [` + strings.Replace(add, `"sequential": true, `, "", 1) + `]}`: `{"first":1}`,
	} {
		h, folder := hooks(t, settings, false)
		a := fire(t, h, folder, "BeforeTool", []string{"x"}, map[string]any{"tool_name": "x", "tool_input": map[string]any{}})
		if got := string(a.Edited["tool_input"]); got != want {
			t.Errorf("%s: %s, want %s", settings, got, want)
		}
	}
}

// TestMatchers: a hook is told the name that its matcher took.
func TestMatchers(t *testing.T) {
	names := []string{"run_shell_command", "bash", "shell"}
	for matcher, want := range map[string]string{
		"": "run_shell_command", "*": "run_shell_command", ".*": "run_shell_command", "^bash$": "bash", "write_file|replace": "", "run_shell_command": "run_shell_command", "edit": "",
	} {
		got := ""
		h, folder := hooks(t, `{}`, false, hook.Compiled{Event: "BeforeTool", Matcher: matcher, Hook: hookFunc(func(_ context.Context, input []byte) (hook.Output, error) {
			var in struct {
				Tool  string `json:"tool_name"`
				Agent string
				Run   string
			}
			if err := json.Unmarshal(input, &in); err != nil || in.Agent != "a" || in.Run != "r" {
				t.Errorf("input %s: %v", input, err)
			}
			got = in.Tool
			return hook.Output{}, nil
		})})
		if fire(t, h, folder, "BeforeTool", names, map[string]any{"tool_name": "bash"}); got != want {
			t.Errorf("matcher %q: told %q, want %q", matcher, got, want)
		}
	}
}

// TestCompiled: Go code that fails or panics blocks as a command does.
func TestCompiled(t *testing.T) {
	for name, f := range map[string]hookFunc{
		"it does not work": func(context.Context, []byte) (hook.Output, error) {
			return hook.Output{}, errors.New("it does not work")
		},
		"it crashed": func(context.Context, []byte) (hook.Output, error) { panic("x") },
	} {
		h, folder := hooks(t, `{}`, false, hook.Compiled{Event: "BeforeModel", Name: "c", Hook: f})
		if a := fire(t, h, folder, "BeforeModel", nil, nil); !a.Denied() || !strings.Contains(a.Reason, "the hook c failed: "+name) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestSwitchedOff: hooks are switched off by name, or all.
func TestSwitchedOff(t *testing.T) {
	hooksOf := `"BeforeTool": [{"hooks": [{"name": "n", "command": "exit 1"}]}]`
	for settings, want := range map[string]int{`{` + hooksOf + `}`: 1, `{"disabled": ["n"], ` + hooksOf + `}`: 0, `{"enabled": false, ` + hooksOf + `}`: 0, `{"enabled": "no", ` + hooksOf + `}`: 1} {
		h, folder := hooks(t, settings, false)
		if a := fire(t, h, folder, "BeforeTool", nil, nil); len(a.Ran) != want {
			t.Errorf("%s: %d ran, want %d", settings, len(a.Ran), want)
		}
	}
}

// TestREL127CancelledHook: nobody waits for a hook whose run was cancelled, and nothing is
// left of it.
func TestREL127CancelledHook(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	h, folder := hooks(t, `{}`, false, hook.Compiled{Event: "BeforeTool", Hook: hookFunc(func(context.Context, []byte) (hook.Output, error) {
		close(began)
		<-end // as a process that takes its time to end
		return hook.Output{}, nil
	})})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	a := h.Fire(ctx, run.HookEvent{Name: "BeforeTool", Folder: folder}) // where it waits the test does not end
	close(end)
	if !a.Denied() {
		t.Errorf("a hook that was cancelled: %+v", a)
	}

	h, folder = hooks(t, one("BeforeTool", `echo $$ > pid; trap '' TERM; sleep 1000 & sleep 1000`), false)
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		for { // until it runs
			if data, err := os.ReadFile(filepath.Join(folder, "pid")); err == nil && len(data) > 0 {
				cancel()
				return
			}
		}
	}()
	if a := h.Fire(ctx, run.HookEvent{Name: "BeforeTool", Folder: folder}); !a.Denied() {
		t.Errorf("a command that was cancelled: %+v", a)
	}
	h.Close()
	pid, _ := os.ReadFile(filepath.Join(folder, "pid"))
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Errorf("process %s is left", pid)
	}
	if a := fire(t, h, folder, "BeforeTool", nil, nil); !a.Denied() {
		t.Errorf("after the end: %+v", a)
	}
}

// TestSEC78AStopOverrulesNoRefusal: a hook that hides a result hides it also where it, or
// another one, ends the run.
func TestSEC78AStopOverrulesNoRefusal(t *testing.T) {
	const stop, deny = `{"hooks": [{"command": "echo '{\"continue\": false}'"}]}`, `{"hooks": [{"command": "echo '{\"decision\": \"deny\"}'"}]}`
	const both = `{"hooks": [{"command": "echo '{\"continue\": false, \"decision\": \"deny\"}'"}]}`
	for _, list := range []string{both, stop + "," + deny, deny + "," + stop} {
		h, folder := hooks(t, `{"AfterTool": [`+list+`]}`, false)
		if a := fire(t, h, folder, "AfterTool", []string{"x"}, nil); !a.Stop || !a.Denied() {
			t.Errorf("%s: %+v", list, a)
		}
	}
}

// TestSEC92AWalledHookInAFolderThatIsNotTrusted has a folder of its own, and not the whole
// home, which its wall would open.
func TestSEC92AWalledHookInAFolderThatIsNotTrusted(t *testing.T) {
	for sandbox, walled := range map[string]bool{"full": false, "write": true} {
		h, folder := hooks(t, `{"BeforeAgent": [{"hooks": [{"command": "pwd >&2; ls >&2; exit 2", "sandbox": "`+sandbox+`"}]}]}`, false)
		h.Trusted = func(string) bool { return false }
		if err := os.WriteFile(filepath.Join(h.Home, "of-the-home"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		a := fire(t, h, folder, "BeforeAgent", nil, nil)
		dir, files, _ := strings.Cut(a.Reason, "\n")
		if !filepath.IsAbs(dir) || (files == "") != walled {
			t.Errorf("sandbox %s: it ran in %s", sandbox, a.Reason)
		}
		if _, err := os.Stat(dir); (err != nil) != walled {
			t.Errorf("sandbox %s: %s: %v", sandbox, dir, err)
		}
	}
}

// BenchmarkNoOp is a hook that does nothing, without a sandbox. It reports the medians of
// what is ours (all but the process itself) and of what the reaper takes of that: the
// start of this program a second time.
func BenchmarkNoOp(b *testing.B) {
	h, folder := hooks(b, `{"BeforeTool": [{"hooks": [{"command": "true", "args": []}]}]}`, false)
	var whole, bare, reaped []time.Duration
	timed := func(all *[]time.Duration, do func() error) {
		began := time.Now()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		*all = append(*all, time.Since(began))
	}
	for b.Loop() {
		timed(&whole, func() error {
			a := fire(b, h, folder, "BeforeTool", []string{"x"}, map[string]any{"tool_name": "x", "tool_input": map[string]any{}})
			if a.Denied() {
				return errors.New(a.Reason)
			}
			return nil
		})
		timed(&bare, func() error { return exec.Command("true").Run() })
		timed(&reaped, func() error {
			job := process.NewJob(process.Options{Dir: folder, Environ: os.Environ(), Now: time.Now})
			defer job.Output.Close()
			defer job.Release()
			child, err := job.StartReaped(job.Command("/bin/true", []string{"true"}, nil))
			if err == nil {
				_, err = job.Wait(child)
			}
			return err
		})
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	b.ReportMetric(median(whole)-median(bare), "ms-own")
	b.ReportMetric(median(reaped)-median(bare), "ms-reaper")
}

// hookFunc is a function that is a hook.
type hookFunc func(ctx context.Context, input []byte) (hook.Output, error)

func (f hookFunc) Run(ctx context.Context, input []byte) (hook.Output, error) { return f(ctx, input) }
