//go:build unix

package builtin_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sourcegraph/conc"

	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/agents/tool/tooltest"
)

// TestSEC17ScriptsOfPackagesAsk: what a package manager runs is changed with a
// yes only, the rest of the file as any other.
func TestSEC17ScriptsOfPackagesAsk(t *testing.T) {
	w := tooltest.New(t, map[string]string{"package.json": `{"name":"x","scripts":{"test":"t"}}`})
	env := w.Env()
	call(t, env, "read_file", "file_path", "package.json")
	was := w.Text("package.json")
	evil := args(t, "file_path", "package.json", "content", `{"name":"x","scripts":{"test":"t","postinstall":"touch canary"}}`)
	if d, err := gated(t, guard.New(), env, guard.Request{}, guard.Once, "write_file", evil); err == nil || d.Risk != tool.High || w.Text("package.json") != was {
		t.Errorf("%+v, %v, %s", d, err, w.Text("package.json"))
	}
	if _, err := gated(t, guard.New(), env, guard.Request{}, guard.Once, "write_file", args(t, "file_path", "package.json", "content", `{"name":"y","scripts":{"test":"t"}}`)); err != nil || !strings.Contains(w.Text("package.json"), `"y"`) {
		t.Errorf("another name: %v, %s", err, w.Text("package.json"))
	}
	withoutPolicy(t, w.Path("package.json"))
	t.Log("positive control: os.WriteFile at the joined path changed it")
}

// TestSEC21NoSafetySwitchIsAnArgument of any tool: a call with one does nothing.
func TestSEC21NoSafetySwitchIsAnArgument(t *testing.T) {
	for _, extra := range []string{"disableSandbox", "trust", "autoApprove", "sandbox", "yolo", "approved", "permission_mode", "nonsense"} {
		w := tooltest.New(t, map[string]string{"a.txt": canary})
		env := w.Env()
		call(t, env, "read_file", "file_path", "a.txt")
		calls := map[string]map[string]any{
			"read_file": {"file_path": "a.txt"}, "read_many_files": {"include": []string{"*"}}, "ls": {}, "glob": {"pattern": "*"}, "grep": {"pattern": "canary"},
			"write_file": {"file_path": "made", "content": canary}, "edit_file": {"file_path": "a.txt", "old_string": "sings", "new_string": "sang"},
			"bash": {"command": "touch touched"}, "write_todos": {"todos": []any{}}, "ask_user": {"question": "trust?"},
		}
		env.Ask = nil
		for _, made := range tools(t) {
			name := made.Spec().Name
			a, ok := calls[name]
			if !ok {
				t.Fatalf("no call of %s", name)
			}
			a[extra] = true
			raw, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			r, err := tooltest.Run(t.Context(), made, env, string(raw))
			if tooltest.Code(err) != tool.CodeArgs || r != nil {
				t.Errorf("%s with %s: %v, %v", name, extra, r, err)
			}
			delete(a, extra)
		}
		if onDisk(t, w.Path("made")) != "-" || onDisk(t, w.Path("touched")) != "-" || onDisk(t, w.Path("a.txt")) != canary {
			t.Errorf("%s: a call was made all the same", extra)
		}
		for _, name := range []string{"write_file", "edit_file", "bash"} { // the same calls without it
			raw, err := json.Marshal(calls[name])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tooltest.Run(t.Context(), named(t, name), env, string(raw)); err != nil {
				t.Error(err)
			}
		}
		if onDisk(t, w.Path("made")) != canary || onDisk(t, w.Path("touched")) != "" || onDisk(t, w.Path("a.txt")) == canary {
			t.Error("positive control: the calls without it leave nothing")
		}
	}
	t.Log("positive control: the same calls without the argument made, touched and changed their files")
}

// tools returns all tools.
func tools(t *testing.T) (all []tool.Tool) {
	for _, name := range []string{"read_file", "read_many_files", "ls", "glob", "grep", "write_file", "edit_file", "bash", "write_todos", "ask_user"} {
		all = append(all, named(t, name))
	}
	return all
}

// TestSEC53ANeighbourWithTheSameBeginningIsOutside for every tool.
func TestSEC53ANeighbourWithTheSameBeginningIsOutside(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a": "x"})
	evil := w.Folder + "-evil"
	if err := os.Mkdir(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(evil, "x"), []byte(canary), 0o644); err != nil {
		t.Fatal(err)
	}
	env := w.Env()
	for _, folder := range []string{evil, w.Folder + "/../proj-evil", "../proj-evil", "sub/../../proj-evil"} {
		file := folder + "/x"
		refused(t, env, tool.CodeOutside, "read_file", "file_path", file)
		refused(t, env, tool.CodeOutside, "read_many_files", "include", []string{file})
		refused(t, env, tool.CodeOutside, "read_many_files", "include", []string{folder + "/*"})
		refused(t, env, tool.CodeOutside, "write_file", "file_path", file, "content", "mine")
		refused(t, env, tool.CodeOutside, "write_file", "file_path", folder+"/new", "content", "mine")
		refused(t, env, tool.CodeOutside, "edit_file", "file_path", folder+"/new", "old_string", "", "new_string", "mine")
		refused(t, env, tool.CodeOutside, "ls", "dir_path", folder)
		refused(t, env, tool.CodeOutside, "glob", "pattern", "*", "dir_path", folder)
		refused(t, env, tool.CodeOutside, "grep", "pattern", "canary", "dir_path", folder)
		refused(t, env, tool.CodeOutside, "bash", "command", "ls", "directory", folder)
		if got := onDisk(t, filepath.Join(w.Folder, "../proj-evil/x")); got != canary {
			t.Fatalf("positive control, and what was not to be written: %q", got)
		}
	}
	if all, err := os.ReadDir(evil); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	t.Log("positive control: os.ReadFile at the joined path reads the canary")
}

// TestSEC57NeitherPipesNorDevicesAreOpened: what waits, never ends or does
// something when it is opened is refused by what it is. A call that waited for
// the other end of a pipe would not come back.
func TestSEC57NeitherPipesNorDevicesAreOpened(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a.txt": "needle\n"})
	if err := syscall.Mkfifo(w.Path("fifo"), 0o644); err != nil {
		t.Skip("no pipes among files here:", err)
	}
	special := []string{"fifo", "socket"}
	socket, err := net.Listen("unix", w.Path("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := syscall.Mknod(w.Path("zero"), syscall.S_IFCHR|0o666, 1<<8|5); err == nil { // root may
		special = append(special, "zero")
	}
	env := w.Env()
	for _, name := range special {
		env.Seen.Note(w.Path(name), "seen")
		for _, c := range [][]any{
			{"read_file", "file_path", name}, {"write_file", "file_path", name, "content", canary}, {"edit_file", "file_path", name, "old_string", "a", "new_string", "b"},
		} {
			if r, err := tooltest.Run(t.Context(), named(t, c[0].(string)), env, args(t, c[1:]...)); err == nil {
				t.Errorf("%v: %v", c, r)
			}
		}
		for _, trusted := range []bool{true, false} {
			env.Trusted = trusted
			if r, err := tooltest.Run(t.Context(), named(t, "grep"), env, args(t, "pattern", "x", "dir_path", name)); tooltest.Code(err) != tool.CodeFailed {
				t.Errorf("grep of %s: %v, %v", name, r, err)
			}
		}
		env.Trusted = true
		if r := call(t, env, "read_many_files", "include", []string{"*", name}); !strings.HasPrefix(r.Content, "--- a.txt ---\nneedle\n\n[1 files are left out") {
			t.Errorf("read_many_files: %s", r.Content)
		}
		if info, err := os.Lstat(w.Path(name)); err != nil || info.Mode().IsRegular() {
			t.Errorf("%s was replaced: %v, %v", name, info, err)
		}
	}
	for _, trusted := range []bool{true, false} {
		env.Trusted = trusted
		if r := call(t, env, "grep", "pattern", "needle"); !strings.Contains(r.Content, "1 matches") {
			t.Errorf("trusted %v: %s", trusted, r.Content)
		}
	}
	if r := call(t, env, "glob", "pattern", "*"); r.Content != "a.txt\n" {
		t.Errorf("glob: %q", r.Content)
	}
	// A pipe in the place of an ignore file, for which ripgrep would wait.
	env.Trusted = true
	if err := syscall.Mkfifo(w.Path(".gitignore"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := call(t, env, "grep", "pattern", "needle"); !strings.Contains(r.Content, "1 matches") || strings.Contains(r.Content, "partial") {
		t.Errorf("with a pipe as .gitignore: %s", r.Content)
	}
	// Positive control: a plain open waits until somebody writes, and reads that.
	var plain conc.WaitGroup
	var got []byte
	plain.Go(func() { got, _ = os.ReadFile(w.Path("fifo")) })
	end, err := os.OpenFile(w.Path("fifo"), os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	if _, err := end.WriteString(canary); err != nil {
		t.Error(err)
	}
	end.Close()
	plain.Wait()
	if string(got) != canary {
		t.Errorf("positive control: %q", got)
	}
	t.Log("positive control: os.ReadFile waited for the other end of the pipe, and read the canary from it")
}

// odd are names that are hard to show and to pass on (SEC-61).
var odd = []string{"new\nline", "esc\x1b[2J", "bidi\u202egpj.exe", "-rf", "--help", "--include=x", "bad\xff\xfe", strings.Repeat("n", 255), " ", "tab\there", "'quote\"", "$(touch P)", "`P`", "a;b", "---", "c1\u009b"}

// TestSEC61OddNamesInEveryFileTool: a name is what a file is called, and no more
// lines, options or marks come of it.
func TestSEC61OddNamesInEveryFileTool(t *testing.T) {
	w := tooltest.New(t, map[string]string{"plain": "needle plain\n"})
	for i, name := range odd {
		w.Put(t, name, fmt.Sprintf("needle %d\n", i))
	}
	env := w.Env()
	shown := func(what, content string, want int) {
		t.Helper()
		if tool.Suspicious(content) || tool.Escape(strings.ReplaceAll(content, "\n", "")) != strings.ReplaceAll(content, "\n", "") {
			t.Errorf("%s shows what is not to be seen: %q", what, content)
		}
		if got := strings.Count(content, "\n"); want > 0 && got != want {
			t.Errorf("%s has %d lines, want %d: %q", what, got, want, content)
		}
	}
	shown("ls", call(t, env, "ls").Content, len(odd)+1)
	shown("glob", call(t, env, "glob", "pattern", "*").Content, len(odd)+1)
	for _, trusted := range []bool{true, false} {
		env.Trusted = trusted
		r := call(t, env, "grep", "pattern", "needle")
		shown("grep", r.Content, 2+3*(len(odd)+1))
		if !strings.Contains(r.Content, fmt.Sprintf("%d matches", len(odd)+1)) {
			t.Errorf("trusted %v: %s", trusted, r.Content)
		}
	}
	env.Trusted = true
	r := call(t, env, "read_many_files", "include", []string{"*"})
	shown("read_many_files", r.Content, 3*(len(odd)+1))
	for i, name := range odd {
		if !utf8Name(name) { // cannot be an argument
			continue
		}
		want := fmt.Sprintf("needle %d\n", i)
		if r := call(t, env, "read_file", "file_path", name); r.Content != want {
			t.Errorf("%q: %q", name, r.Content)
		}
		if r := call(t, env, "grep", "pattern", "needle", "dir_path", name); !strings.Contains(r.Content, "1 matches") {
			t.Errorf("%q: %q", name, r.Content)
		}
		if r := call(t, env, "read_many_files", "include", []string{name}); !strings.Contains(r.Content, strings.TrimSuffix(want, "\n")) {
			t.Errorf("%q: %q", name, r.Content)
		}
		r := call(t, env, "edit_file", "file_path", name, "old_string", "needle", "new_string", "thread")
		if onDisk(t, w.Path(name)) != fmt.Sprintf("thread %d\n", i) {
			t.Errorf("%q is %q", name, onDisk(t, w.Path(name)))
		}
		shown("edit_file", r.Display, 0)
		if lines := strings.Split(r.Content, "\n"); tool.Suspicious(r.Content) || len(lines) > 8 {
			t.Errorf("edit_file of %q says %q", name, r.Content)
		}
		if at := tool.PathOf(r.Changes[0].URI); at != w.Path(name) {
			t.Errorf("%q is told as %s, which is %q", name, r.Changes[0].URI, at)
		}
	}
	if all, err := os.ReadDir(w.Folder); err != nil || len(all) != len(odd)+1 {
		t.Errorf("there are other files now: %v, %v", all, err)
	}
	raw := strings.Join(odd, "\n")
	if !tool.Suspicious(raw) || strings.Count(raw, "\n") == len(odd)-1 {
		t.Error("positive control: the names alone are one line each, and nothing in them is hidden")
	}
	t.Log("positive control: the names as they are make more lines, and hide some of themselves")
}

func utf8Name(name string) bool { return strings.ToValidUTF8(name, "") == name }

// TestSEC62LoopsAndLinksToTheRootAreNotFollowed by what searches and lists.
func TestSEC62LoopsAndLinksToTheRootAreNotFollowed(t *testing.T) {
	w := tooltest.New(t, map[string]string{"a/b/needle.txt": "needle\n", "real.txt": "needle\n"})
	out := filepath.Join(filepath.Dir(w.Folder), "outside")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, "needle.txt"), []byte("needle "+canary), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"root": "/", "out": out, "a/up": "..", "a/b/loop": "loop", "a/b/self": ".", "again": "a", "l1": "l2", "l2": "l1", "link.txt": "real.txt"} {
		if err := os.Symlink(target, w.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	env := w.Env()
	for _, trusted := range []bool{true, false} {
		env.Trusted = trusted
		if r := call(t, env, "grep", "pattern", "needle"); !strings.HasPrefix(r.Content, "2 matches for needle in 2 files") || strings.Contains(r.Content, "sings") || strings.Contains(r.Content, "partial") {
			t.Errorf("trusted %v: %s", trusted, r.Content)
		}
	}
	for _, pattern := range []string{"**/*.txt", "**", "*/**", "**/needle*"} {
		r := call(t, env, "glob", "pattern", pattern)
		for line := range strings.Lines(r.Content) {
			if !slices.Contains([]string{"a/b/needle.txt\n", "real.txt\n"}, line) {
				t.Errorf("glob %s: %q", pattern, line)
			}
		}
	}
	if r := call(t, env, "read_many_files", "include", []string{"**"}); strings.Contains(r.Content, "sings") || strings.Count(r.Content, "needle\n") != 2 {
		t.Errorf("read_many_files: %s", r.Content)
	}
	if r := call(t, env, "ls"); !strings.Contains(r.Content, "root -> /\n") || strings.Contains(r.Content, "etc") {
		t.Errorf("ls: %s", r.Content)
	}
	for _, name := range []string{"root", "out", "l1"} {
		if r, err := tooltest.Run(t.Context(), named(t, "ls"), env, args(t, "dir_path", name)); err == nil {
			t.Errorf("ls %s: %v", name, r)
		}
	}
	if got := onDisk(t, w.Path("out/needle.txt")); !strings.Contains(got, canary) {
		t.Errorf("positive control: %q", got)
	}
	t.Log("positive control: os.ReadFile through the link reads the canary outside")
}
