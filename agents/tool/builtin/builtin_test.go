package builtin_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentls/agentls/agents/memory"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/builtin"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// named returns one of the tools.
func named(t testing.TB, name string) tool.Tool {
	t.Helper()
	return namedOf(t, builtin.Config{Reaper: true}, name)
}

func namedOf(t testing.TB, c builtin.Config, name string) tool.Tool {
	t.Helper()
	for _, b := range c.Tools() {
		if b.Spec().Name == name {
			return b
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

// args returns arguments as JSON.
func args(t testing.TB, pairs ...any) string {
	t.Helper()
	m := make(map[string]any)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// call plans and runs a call, which must work.
func call(t testing.TB, env *tool.Env, name string, pairs ...any) *tool.Result {
	t.Helper()
	r, err := tooltest.Run(t.Context(), named(t, name), env, args(t, pairs...))
	if err != nil {
		t.Fatalf("%s %v: %v", name, pairs, err)
	}
	return r
}

// refused plans and runs a call, which must be refused with the code.
func refused(t testing.TB, env *tool.Env, code, name string, pairs ...any) error {
	t.Helper()
	r, err := tooltest.Run(t.Context(), named(t, name), env, args(t, pairs...))
	if tooltest.Code(err) != code {
		t.Errorf("%s %v: %v, %v; want %s", name, pairs, r, err, code)
	}
	return err
}

func TestToolsAreInTheOrderOfTheirDocumentation(t *testing.T) {
	var names []string
	for _, b := range builtin.Tools() {
		names = append(names, b.Spec().Name)
	}
	if got, want := strings.Join(names, " "), "read_file read_many_files ls glob grep diagnostics symbols definition references write_file edit_file apply_patch delete_file move_file bash git_commit web_fetch web_search save_memory store_memory recall_memory write_todos get_state set_state ask_user"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestConformance(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "one\ntwo\n", "src/b.go": "package b\n"})
	noGit := exec.Command("git", "init", "-q", w.Folder).Run() != nil
	w.Put(t, ".git/HEAD", "ref: refs/heads/main\n")
	env := func() *tool.Env {
		e := w.Env()
		for _, name := range []string{"a.txt"} {
			f, err := w.Read(t.Context(), w.Path(name))
			if err != nil {
				t.Fatal(err)
			}
			e.Seen.Note(w.Path(name), f.Digest)
		}
		e.Ask = func(context.Context, tool.Question) (tool.Answer, error) { return tool.Answer{Action: "accept"}, nil }
		e.Variables = notes{"x": json.RawMessage(`1`)}
		e.Memory = remembers(t, memory.Shape{Kind: memory.KeyValue}, offline)
		return e
	}
	calls := map[string][]string{
		"read_file":       {`{"file_path":"a.txt"}`, `{"path":"a.txt","offset":1.0}`, `{"file_path":"gone"}`},
		"read_many_files": {`{"include":["**/*"]}`, `{"paths":["a.txt","src"],"exclude":["*.go"]}`, `{"include":["gone.txt","a\u202e*"]}`},
		"save_memory":     {`{"fact":"Likes tea.","scope":"project"}`, `{"fact":"x","scope":"project"}`},
		"write_todos":     {`{"todos":[]}`, `{"todos":[{"description":"look","status":"in_progress"},{"description":"do","status":"pending"}]}`},
		"ls":              {`{}`, `{"path":"src"}`},
		"glob":            {`{"pattern":"**/*.go"}`},
		"grep":            {`{"pattern":"one"}`, `{"pattern":"one","dir_path":"a.txt"}`},
		"diagnostics":     {`{}`, `{"path":"a.txt"}`, `{"file_path":"gone"}`},
		"symbols":         {`{"file_path":"src/b.go"}`, `{"query":"b"}`},
		"definition":      {`{"file_path":"a.txt","symbol":"two"}`, `{"path":"a.txt","symbol":"two","line":2}`},
		"references":      {`{"file_path":"a.txt","symbol":"two"}`, `{"file_path":"gone","symbol":"two"}`},
		"write_file":      {`{"file_path":"new.txt","content":"x"}`, `{"absolute_path":"a.txt","content":"x"}`, `{"file_path":".git/hooks/new","content":"x"}`},
		"edit_file":       {`{"file_path":"a.txt","old_string":"one","new_string":"1"}`},
		"apply_patch":     {`{"patch":"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n"}`, `{"diff":"--- /dev/null\n+++ b/.git/x\n@@ -0,0 +1 @@\n+1\n"}`},
		"delete_file":     {`{"file_path":"a.txt"}`, `{"path":".git/HEAD"}`},
		"move_file":       {`{"file_path":"a.txt","new_path":"src/c.txt"}`, `{"from":"a.txt","to":".git/x"}`},
		"bash":            {`{"command":"ls"}`, `{"command":"touch x"}`, `{"command":"rm -rf /"}`, `{"cmd":"ls","background":true}`},
		"git_commit":      {`{"message":"m","paths":["a.txt","src"]}`, `{"commit_message":"m","files":["src/b.go"]}`},
		"web_fetch":       {`{"url":"https://127.0.0.1/"}`, `{"uri":"http://localhost:1/a"}`},
		"web_search":      {`{"query":"what?"}`},
		"store_memory":    {`{"key":"k","content":"c"}`, `{"name":"k","value":"c","metadata":{"a":[1]}}`},
		"recall_memory":   {`{"query":"what?"}`, `{"q":"what?","limit":3}`},
		"get_state":       {`{}`, `{"key":"x"}`, `{"name":"gone"}`},
		"set_state":       {`{"key":"x","value":{"b":1,"a":[null]}}`, `{"key":"x","value":null}`, `{"name":"user:y","value":"z"}`},
		"ask_user":        {`{"question":"why?"}`},
	}
	for _, b := range builtin.Tools() {
		if b.Spec().Name == "git_commit" && noGit {
			continue
		}
		tooltest.Conform(t, b, w, env, calls[b.Spec().Name]...)
	}
}

// notes are values of a state, in memory.
type notes map[string]json.RawMessage

func (n notes) Get(key string) (json.RawMessage, tool.Taint, error) {
	if key != "" {
		return n[key], tool.Clean, nil
	}
	all, err := json.Marshal(n)
	return all, tool.Clean, err
}

func (n notes) Check(key string, _ json.RawMessage) (bool, error) {
	if strings.Contains(key, " ") {
		return false, tool.Errorf(tool.CodeArgs, "no key")
	}
	return strings.HasPrefix(key, "user:"), nil
}

func (n notes) Set(_ context.Context, key string, value json.RawMessage) error {
	n[key] = value
	return nil
}
