package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/internal/client"
	"github.com/agentls/agentls/internal/wire"
)

// act is what a person does when something is shown.
type act struct {
	when string // is shown, after what the act before waited for
	do   func()
}

// actor sits at a terminal and acts on what is shown.
type actor struct {
	mu    sync.Mutex
	all   strings.Builder // what was shown
	fresh string          // since the last act
	acts  []act
}

// Write takes what the terminal shows.
func (a *actor) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Write(b)
	a.fresh += string(b)
	for len(a.acts) > 0 {
		_, rest, ok := strings.Cut(a.fresh, a.acts[0].when)
		if !ok {
			break
		}
		do := a.acts[0].do
		a.fresh, a.acts = rest, a.acts[1:]
		do()
	}
	return len(b), nil
}

// perform has a person act at the terminal of a command, and returns how it
// ended and what was shown. Acts that did not happen fail the test.
func perform(t *testing.T, dir string, play func(types func(string) func()) []act, args ...string) (code int, shown string) {
	t.Helper()
	t.Chdir(dir)
	keyboard, screen := seat(t)
	a := new(actor)
	a.acts = play(func(text string) func() {
		return func() {
			if _, err := io.WriteString(keyboard, text); err != nil {
				t.Error(err)
			}
		}
	})
	code = execute(args, streams{screen, a, a})
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, left := range a.acts {
		t.Errorf("%q was never shown", left.when)
	}
	return code, a.all.String()
}

// interrupt is Ctrl-C.
func interrupt() {
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		panic(err)
	}
}

func has(t *testing.T, shown string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(shown, w) {
			t.Errorf("%q is not shown:\n%s", w, shown)
		}
	}
}

// TestInteractiveOnATerminal: a banner, a prompt, commands with and without the
// slash, and another agent by its name.
func TestInteractiveOnATerminal(t *testing.T) {
	play(t, "> what is here\n<call ls {\"dir_path\": \".\"}\n\n>result ls\n< Nothing.\n\n> and you\n>system You write.\n>messages 1\n< I write.\n\n"+
		"> you again\n>system You write.\n>messages 3\n< Still.\n\n> anew\n>!system You write.\n>messages 1\n< Anew.\n")
	code, shown := perform(t, writer(t), func(types func(string) func()) []act {
		return []act{
			{"main> ", types("/help\n")}, {"main> ", types("what is here\n")}, {"main> ", types("context\n")}, {"main> ", types("@writer and you\n")},
			{"main> ", types("/agents run writer \"you again\"\n")}, {"main> ", types("/agents list\n")}, {"main> ", types("/agents trace x\n")},
			{"main> ", types("/nonsense\n")}, {"main> ", types("@nobody hello\n")}, {"main> ", types("clear\n")}, {"main> ", types("\n")}, {"main> ", types("anew\n")},
			{"main> ", types("/context\n")}, {"main> ", types("exit\n")},
		}
	}, "run", "--interactive", "--trust")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	has(t, shown, " · gemini-", " · session main · ", "/compress", "✓ ls .", "Nothing.", "main in session main: 4 messages", "you: what is here", "main: calls ls",
		"The Writer\n", "I write.", "Still.", "Agents of this folder", "/agents trace does not exist in this version", "There is no command /nonsense", "nobody",
		"The context of main is cleared", "Anew.", "main in session main: 2 messages")
	if strings.Contains(shown, "goes on in") {
		t.Errorf("a context of this dialogue is called an old one:\n%s", shown)
	}
}

// TestSteering: what is typed while a run goes on is told to it before its next
// turn, and a command waits for its end.
func TestSteering(t *testing.T) {
	_, model := stage(t, "> look at a.ts\n< I look.\n<gate first\n<call ls {\"dir_path\": \".\"}\n\n>result ls\n> and at b.ts\n< Both are fine.\n")
	code, shown := perform(t, t.TempDir(), func(types func(string) func()) []act {
		return []act{
			{"main> ", types("look at a.ts\n")}, {"I look.", types("and at b.ts\n")}, {"→ queued: the agent sees this at its next step", types("/context\n")},
			{"→ after this run: /context", func() { model.Open("first") }}, {"main in session main", types("\x04")},
		}
	}, "run", "-i", "--trust")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	has(t, shown, "Both are fine.")
}

// TestSEC80AQuestionTakesTheNextLine, and what was typed before it is no answer: it
// was told to the run. What is said with a no is told to the agent.
func TestSEC80AQuestionTakesTheNextLine(t *testing.T) {
	_, model := stage(t, "> note it\n< Yes.\n<gate first\n<call write_file {\"file_path\": \"a.txt\", \"content\": \"a\"}\n\n>result-error write_file contains The person says: use b.txt\n> y\n"+
		"<gate second\n<call write_file {\"file_path\": \"b.txt\", \"content\": \"b\"}\n\n>result write_file\n< Noted.\n")
	dir := writer(t)
	code, shown := perform(t, dir, func(types func(string) func()) []act {
		return []act{
			{"writer> ", types("note it\n")}, {"Yes.", types("y\n")}, {"→ queued: the agent sees this at its next step", func() { model.Open("first") }},
			{"or say why not: ", types("no, use b.txt\n")}, {"✗ write_file", func() { model.Open("second") }}, {"or say why not: ", types("y\n")},
			{"writer> ", types("exit\n")},
		}
	}, "run", "writer", "-i", "--trust")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	has(t, shown, "Noted.")
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
		t.Error("what was refused was written")
	}
	if _, err := os.Stat(filepath.Join(dir, "b.txt")); err != nil {
		t.Errorf("what was allowed was not written: %v\n%s", err, shown)
	}
}

// TestCtrlC: once cancels the run, and the dialogue goes on; twice leaves.
func TestCtrlC(t *testing.T) {
	for _, c := range []struct {
		name, script string
		acts         func(types func(string) func()) []act
		want         string
	}{
		{"twice at the prompt", "", func(func(string) func()) []act {
			return []act{{"main> ", interrupt}, {"Ctrl-C again leaves)\nmain> ", interrupt}}
		}, ""},
		{"once in a run", "> go on\n< Hello.\n<hang\n\n> and now\n< Well.\n", func(types func(string) func()) []act {
			return []act{{"main> ", types("go on\n")}, {"Hello.", interrupt}, {"Cancelled.", func() {}}, {"main> ", types("and now\n")}, {"Well.", func() {}}, {"main> ", interrupt}, {"main> ", interrupt}}
		}, "\ncancelling; Ctrl-C again leaves\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, c.script)
			code, shown := perform(t, t.TempDir(), c.acts, "run", "-i", "--trust")
			if code != exitInterrupted {
				t.Errorf("exit %d\n%s", code, shown)
			}
			has(t, shown, c.want)
		})
	}
}

// TestWhichCtrlCLeaves: the second for one run or at one prompt, however late,
// and any within two seconds of another.
func TestWhichCtrlCLeaves(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := new(dialogue)
	for _, c := range []struct {
		after  string
		second bool
		want   bool
	}{{"0s", false, false}, {"1.9s", false, true}, {"3.8s", false, true}, {"5.9s", false, false}, {"99s", true, true}} {
		if got := d.leaves(begin.Add(duration(t, c.after)), c.second); got != c.want {
			t.Errorf("at %s: %v, want %v", c.after, got, c.want)
		}
	}
}

// TestPastedLinesAreOneRequest.
func TestPastedLinesAreOneRequest(t *testing.T) {
	play(t, "> one\\ntwo\\nthree\n>messages 1\n< All.\n")
	code, shown := perform(t, t.TempDir(), func(types func(string) func()) []act {
		return []act{{"main> ", types("one\ntwo\nthree\n")}, {"All.", func() {}}, {"main> ", types("exit\n")}}
	}, "run", "-i", "--trust")
	if code != 0 {
		t.Errorf("exit %d\n%s", code, shown)
	}
}

// TestCommandsThatWereTypedAheadAreTakenInTurn: the rest of what came together
// waits, also while a run goes on.
func TestCommandsThatWereTypedAheadAreTakenInTurn(t *testing.T) {
	play(t, "> what is here\n>messages 1\n< Nothing.\n\n> and there\n>messages 1\n< Little.\n")
	code, shown := perform(t, t.TempDir(), func(types func(string) func()) []act {
		return []act{{"main> ", types("/help\nwhat is here\nclear\nand there\ncontext\nexit\nnever said\n")}}
	}, "run", "-i", "--trust")
	if code != 0 {
		t.Errorf("exit %d", code)
	}
	rest := shown
	for _, next := range []string{"/compress", "main> what is here\n", "Nothing.", "main> clear\n", "The context of main is cleared", "main> and there\n", "Little.", "2 messages", "main> exit\n"} {
		_, after, ok := strings.Cut(rest, next)
		if !ok {
			t.Fatalf("%q is not shown, or not in its turn:\n%s", next, shown)
		}
		rest = after
	}
	if n := strings.Count(shown, "is cleared"); n != 1 {
		t.Errorf("it is said %d times that the context is cleared:\n%s", n, shown)
	}
}

// TestStatusOnATerminal: a run in a terminal shows what goes on, and leaves
// nothing of it in what it wrote.
func TestStatusOnATerminal(t *testing.T) {
	_, model := stage(t, "> look\n<gate first\n< Done.\n")
	keyboard, screen := seat(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	t.Chdir(t.TempDir())
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	thinking := regexp.MustCompile(`main · thinking · \d+:\d\d`) // a second has passed, or more
	ended := make(chan string)
	go func() { // ends when the screen is closed
		var shown strings.Builder
		buf := make([]byte, 4096)
		for opened := false; ; {
			n, err := keyboard.Read(buf)
			shown.Write(buf[:n])
			if !opened && thinking.MatchString(shown.String()) {
				opened = true
				model.Open("first")
			}
			if err != nil {
				ended <- shown.String()
				return
			}
		}
	}()
	var out strings.Builder
	code := execute([]string{"run", "look here"}, streams{null, &out, screen})
	screen.Close()
	shown := <-ended
	if code != 0 || out.String() != "Done.\n" {
		t.Errorf("exit %d, %q", code, out.String())
	}
	at := thinking.FindStringIndex(shown)
	if at == nil || !strings.Contains(shown[at[1]:], "\r\x1b[2K") || !strings.HasSuffix(strings.TrimSpace(shown), "tokens in, 10 out") {
		t.Errorf("shown: %q", shown)
	}
}

// piped runs a command with an input that is no terminal.
func piped(t *testing.T, dir, input string, args ...string) (code int, out, errs string) {
	t.Helper()
	t.Chdir(dir)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	written := make(chan struct{})
	go func() { // ends when all is read, or with r
		_, _ = io.WriteString(w, input)
		w.Close()
		close(written)
	}()
	var stdout, stderr strings.Builder
	code = execute(args, streams{r, &stdout, &stderr})
	r.Close()
	<-written
	return code, stdout.String(), stderr.String()
}

// TestInteractiveOverAPipe: each line is a request, one after the other; there
// is no prompt, and the end of the input leaves.
func TestInteractiveOverAPipe(t *testing.T) {
	play(t, "> one\n>messages 1\n< One.\n\n> two\n>messages 3\n< Two.\n")
	code, out, errs := piped(t, t.TempDir(), "one\n\ntwo\n", "run", "-i")
	lines := strings.Split(out, "\n")
	if code != 0 || len(lines) != 5 || lines[1] != "One." || lines[3] != "Two." {
		t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
	}
	if strings.Contains(errs, "> ") {
		t.Errorf("there is a prompt:\n%s", errs)
	}
	if code, _, errs := piped(t, t.TempDir(), "@nobody hello\n/help\n", "run", "-i"); code != 1 || !strings.Contains(errs, "/compress") {
		t.Errorf("a request that failed: exit %d\n%s", code, errs)
	}
	if code, out, errs := piped(t, t.TempDir(), strings.Repeat("x", maxPrompt+1), "run"); code != 2 || out != "" || !strings.Contains(errs, "longer than 1048576 bytes") {
		t.Errorf("a prompt that is too long: exit %d, %q\n%s", code, out, errs)
	}
	if code, out, errs := piped(t, t.TempDir(), strings.Repeat("x", maxPrompt+1), "run", "-i"); code != 1 || out != "" || !strings.Contains(errs, "at most") {
		t.Errorf("a line that is too long: exit %d, %q\n%s", code, out, errs)
	}
}

// TestContinues: a run in an old context says so, one in a new session or after
// a clear does not.
func TestContinues(t *testing.T) {
	play(t, "> one\n< One.\n\n> two\n>messages 3\n< Two.\n\n> three\n>messages 1\n< Three.\n\n> four\n>messages 5\n< Four.\n\n> five\n>messages 1\n< Five.\n")
	dir := t.TempDir()
	for i, c := range []struct {
		args []string
		told string
	}{
		{[]string{"run", "number one"}, ""}, {[]string{"run", "number two"}, "goes on in the session main: 2 messages, just now"},
		{[]string{"run", "number three", "--session", "new"}, ""}, {[]string{"run", "number four", "--session", "main"}, "goes on in the session main: 4 messages, just now"},
		{[]string{"context", "clear", "main"}, ""}, {[]string{"run", "number five"}, ""},
	} {
		code, out, errs := command(t, dir, c.args...)
		if code != 0 || strings.Contains(errs, "goes on in") != (c.told != "") || !strings.Contains(errs, c.told) {
			t.Errorf("%d %q: exit %d, want %q\n%s%s", i, c.args, code, c.told, out, errs)
		}
	}
}

// TestSessionsAndContext: what the commands show of a run that is over.
func TestSessionsAndContext(t *testing.T) {
	play(t, "> look\n< I look.\n<call ls {\"dir_path\": \".\"}\n\n>result ls\n< There is nothing.\n")
	dir := writer(t)
	if code, _, errs := command(t, dir, "run", "writer", "look around", "--trust"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	ok := func(args ...string) string {
		t.Helper()
		code, out, errs := command(t, dir, args...)
		if code != 0 {
			t.Errorf("%q: exit %d\n%s", args, code, errs)
		}
		return out
	}
	has(t, ok("sessions", "list"), "SESSION", "main ", "look around", "writer", "idle", "just now")
	if got := objects(t, strings.ReplaceAll(ok("sessions", "list", "--json"), "\n", "")); len(got) != 1 || len(got[0]["sessions"].([]any)) != 1 {
		t.Errorf("as JSON: %v", got)
	}
	has(t, ok("sessions", "show"), "> look around\nThe Writer\n", "I look.\n  ✓ ls .", "There is nothing.\n2 turns, 1 tool call,")
	events := objects(t, ok("sessions", "show", "main", "--json"))
	for i, e := range events {
		if e["seq"] != float64(i+1) {
			t.Fatalf("event %d has the number %v", i+1, e["seq"])
		}
	}
	if last := events[len(events)-1]; last["type"] != (activity.RunFinished{}).Type() {
		t.Errorf("the last event: %v", last)
	}
	has(t, ok("context", "show", "writer"), "writer in session main: 4 messages", "you: look around", "writer: I look.", "writer: calls ls", "tool: ls returned", "writer: There is nothing.")
	c := objects(t, strings.ReplaceAll(ok("context", "show", "writer", "--json"), "\n", ""))[0]
	if history, _ := c["conversationHistory"].([]any); c["agentName"] != "writer" || len(history) != 4 || c["metadata"] == nil || c["startedAt"] == nil || c["lastActiveAt"] == nil {
		t.Errorf("as JSON: %v", c)
	}
	has(t, ok("context", "clear", "writer", "--purge"), "writer", "main", "erased")
	has(t, ok("context", "show", "writer"), "writer in session main: 0 messages")
	for _, args := range [][]string{{"sessions", "show", "nothing"}, {"sessions", "show", "a/b"}} {
		if code, out, errs := command(t, dir, args...); code != 1 || out != "" || !strings.HasPrefix(errs, "agentls: ") {
			t.Errorf("%q: exit %d, %q, %q", args, code, out, errs)
		}
	}
}

// TestCompletions: names are offered without a daemon, which would leave files.
func TestCompletions(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("GEMINI_HOME", home)
	dir := writer(t)
	for _, c := range []struct{ args, want string }{
		{"run ", "main\nwriter\tThe Writer\ncodebase_investigator\tCodebase Investigator\n:4"}, {"run writer ", ":4"}, {"context show ", "main\nwriter\tThe Writer\ncodebase_investigator\tCodebase Investigator\n:4"},
		{"run --approve ", "plan\nask\nedits\nauto\n:4"}, {"run --format ", "text\njson\nstream-json\n:4"}, {"run --session ", "new\n:4"}, {"sessions show ", ":4"},
	} {
		fields := strings.Split(c.args, " ")
		code, out, errs := command(t, dir, append([]string{"__complete"}, fields...)...)
		if code != 0 || strings.TrimSpace(out) != c.want {
			t.Errorf("%q: exit %d, %q, want %q\n%s", c.args, code, out, c.want, errs)
		}
	}
	if _, err := os.Stat(home); err == nil {
		t.Error("completing made the person's folder")
	}
}

// TestDoctor: each line says what is wrong and where, and a key is never shown.
func TestDoctor(t *testing.T) {
	const key = "sk-very-secret"
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, home, dir string)
		code    int
		want    []string
	}{
		{"as it should be", func(t *testing.T, _, _ string) {}, 0, []string{"✓ models: key in GEMINI_API_KEY", "✓ base URL", "✓ settings", "is not trusted", "✓ sessions: ", "✓ agents: 1 in .gemini/agents", "✓ locks: ", "watches: "}},
		{"no key", func(t *testing.T, _, _ string) { t.Setenv("GEMINI_API_KEY", "") }, 1, []string{"✗ models: no key", "export GEMINI_API_KEY"}},
		{"a key with a line end", func(t *testing.T, _, _ string) { t.Setenv("GEMINI_API_KEY", key+"\n") }, 0, []string{"✓ models: key in GEMINI_API_KEY"}},
		{"a key with a space", func(t *testing.T, _, _ string) { t.Setenv("GEMINI_API_KEY", key+" x") }, 1, []string{"✗ models: the API key has characters"}},
		{"a key in the settings", func(t *testing.T, home, _ string) {
			t.Setenv("GEMINI_API_KEY", "")
			put(t, filepath.Join(home, "settings.json"), `{"env": {"GOOGLE_API_KEY": "`+key+`"}}`)
		}, 0, []string{"✓ models: key in GOOGLE_API_KEY"}},
		{"Vertex without a project", func(t *testing.T, _, _ string) {
			t.Setenv("GEMINI_API_KEY", "")
			t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
		}, 1, []string{"✗ models: Vertex AI needs a project", "export GOOGLE_CLOUD_PROJECT"}},
		{"Vertex with credentials", func(t *testing.T, home, _ string) {
			vertex(t, home, "my-project", `{"type": "authorized_user", "client_id": "id", "client_secret": "`+key+`", "refresh_token": "r"}`)
		}, 0, []string{"✓ models: Vertex AI, project my-project, the global location, credentials of "}},
		{"Vertex with a key", func(t *testing.T, _, _ string) { t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true") }, 0, []string{"✓ models: Vertex AI, key in GEMINI_API_KEY"}},
		{"Vertex with bad credentials", func(t *testing.T, home, _ string) { vertex(t, home, "my-project", key) }, 1, []string{"✗ models: the credentials for Vertex AI cannot be used"}},
		{"Vertex with a bad project", func(t *testing.T, home, _ string) {
			vertex(t, home, "My Project", `{"type": "authorized_user", "client_id": "id", "client_secret": "s", "refresh_token": "r"}`)
		}, 1, []string{"✗ models: ", "correct GOOGLE_CLOUD_PROJECT"}},
		{"Vertex without credentials", func(t *testing.T, home, _ string) {
			vertex(t, home, "my-project", "")
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(home, "nothing.json"))
		}, 1, []string{"✗ models: GOOGLE_APPLICATION_CREDENTIALS names a file that cannot be read", "gcloud auth application-default login"}},
		{"a base URL with secrets", func(t *testing.T, _, _ string) {
			t.Setenv("GOOGLE_GEMINI_BASE_URL", "https://"+key+":p@example.com/"+key+"?k="+key)
		}, 0, []string{"✓ base URL: https://example.com, with credentials, with a query\n"}},
		{"settings that are ignored", func(t *testing.T, home, _ string) {
			put(t, filepath.Join(home, "settings.json"), `{"model": {"routes": [{"nonsense": 1}], "table": [{"nonsense": 1}]}, "env": {"GOOGLE_API_KEY": 7}}`)
		}, 1, []string{"✗ settings: ", "model.routes: ", "model.table: ", "env.GOOGLE_API_KEY must be a string; it is ignored"}},
		{"a base URL that is none", func(t *testing.T, _, _ string) { t.Setenv("GOOGLE_GEMINI_BASE_URL", "example.com") }, 1, []string{"✗ base URL"}},
		{"settings that do not parse", func(t *testing.T, home, _ string) {
			put(t, filepath.Join(home, "settings.json"), "{\n\"agents\": {\n")
		}, 1, []string{"✗ settings: ", "settings.json:"}},
		{"an agent that is none", func(t *testing.T, _, dir string) {
			put(t, filepath.Join(dir, ".gemini", "agents", "bad.md"), "---\nkind: agent\nname: [\n---\n")
		}, 0, []string{"! agents: .gemini/agents/bad.md:3:"}},
		{"a home that cannot be written", func(t *testing.T, home, _ string) {
			put(t, filepath.Join(home, "agentls"), "a file")
		}, 1, []string{"✗ sessions"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "home")
			for _, name := range []string{"GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION",
				"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"} {
				t.Setenv(name, "")
			}
			t.Setenv("GEMINI_HOME", home)
			t.Setenv("GEMINI_API_KEY", key)
			dir := writer(t)
			c.prepare(t, home, dir)
			code, out, errs := command(t, dir, "doctor")
			if code != c.code {
				t.Errorf("exit %d, want %d\n%s%s", code, c.code, out, errs)
			}
			has(t, out, c.want...)
			code, raw, _ := command(t, dir, "doctor", "--json")
			got := objects(t, strings.ReplaceAll(raw, "\n", ""))
			if checks, _ := got[0]["checks"].([]any); code != c.code || len(checks) != strings.Count("\n"+out, "\n✓ ")+strings.Count("\n"+out, "\n! ")+strings.Count("\n"+out, "\n✗ ") {
				t.Errorf("as JSON: exit %d, %s", code, raw)
			}
			if strings.Contains(out+errs+raw, key) {
				t.Error("the key is shown")
			}
			if _, err := os.Stat(home); err == nil && c.name == "as it should be" {
				t.Error("looking left files")
			}
		})
	}
}

// TestASessionThatAnotherHas: doctor names who, the list says so, and what goes
// on elsewhere can be looked at.
func TestASessionThatAnotherHas(t *testing.T) {
	home := play(t, "> one\n< One.\n\n> two\n>messages 1\n< Two.\n\n> three\n>messages 3\n< Three.\n")
	dir := t.TempDir()
	t.Chdir(dir)
	config, err := base(streams{os.Stdin, io.Discard, t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	other, err := connect(t.Context(), config, dir, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Call(t.Context(), wire.MethodRun, &wire.RunParams{Input: wire.InputBlocks{{Type: "text", Text: "one"}}}, nil); err != nil {
		t.Fatal(err)
	}
	_, out, _ := command(t, dir, "doctor")
	has(t, out, "! locks: session main is in use by agentls ", "agentls run --session new")
	_, out, _ = command(t, dir, "sessions", "list")
	has(t, out, "another agentls has it")
	// It is read without its lock.
	_, out, _ = command(t, dir, "sessions", "show", "main")
	has(t, out, "One.")
	_, out, _ = command(t, dir, "context", "show", "main")
	has(t, out, "main in session main: 2 messages", "main: One.")
	_, out, _ = command(t, dir, "chain")
	has(t, out, "main")
	code, out, errs := command(t, dir, "run", "number two")
	if code != 0 || !strings.Contains(out, "Two.") || strings.Contains(errs, "goes on in") || strings.Count(errs, "so this is main-2") != 1 || !strings.Contains(errs, "The session main is in use by agentls ") {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	code, out, errs = command(t, dir, "run", "number three")
	if code != 0 || !strings.Contains(out, "Three.") || !strings.Contains(errs, "goes on in the session main-2: 2 messages, just now") {
		t.Errorf("exit %d, %q\n%s", code, out, errs)
	}
	if ids := sessions(t, home); len(ids) != 2 {
		t.Errorf("sessions: %q", ids)
	}
}

// vertex asks for Vertex AI, with what a file of credentials holds.
func vertex(t *testing.T, home, project, credentials string) {
	t.Helper()
	file := filepath.Join(home, "credentials.json")
	put(t, file, credentials)
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	t.Setenv("GOOGLE_CLOUD_PROJECT", project)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
}

// TestDoctorAsksTheModel once, and leaves no session.
func TestDoctorAsksTheModel(t *testing.T) {
	home := play(t, "> say ok\n>messages 1\n< ok\n")
	code, out, errs := command(t, t.TempDir(), "doctor", "--live")
	if code != 0 || !strings.Contains(out, `✓ model: answered "ok" in `) {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if ids := sessions(t, home); len(ids) > 0 {
		t.Errorf("sessions are left: %q", ids)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
