package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// told is a screen that says when it has more.
type told struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

// Write implements [io.Writer].
func (s *told) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

// await waits until the screen has a text, and returns and clears what is on it.
func (s *told) await(t *testing.T, text string) string {
	t.Helper()
	late := time.After(time.Minute)
	for {
		s.mu.Lock()
		all := s.text.String()
		if strings.Contains(all, text) {
			s.text.Reset()
			s.mu.Unlock()
			return all
		}
		s.mu.Unlock()
		select {
		case <-s.more:
		case <-late:
			t.Fatalf("no %q:\n%s", text, all)
		}
	}
}

// TestAgentTestsWatch: a change of tests runs them again, one of an agent all of its
// project, and the end is no failure.
func TestAgentTestsWatch(t *testing.T) {
	dir := suite(t, "agent: writer\ntests:\n  - name: one\n    input: go\n    model: [{text: Done.}]\n    expect: {output: {equals: Done.}}\n")
	agents := filepath.Join(dir, ".gemini", "agents")
	second := filepath.Join(agents, "reviewer.agent-test.yaml")
	tests := "agent: reviewer\ntests:\n  - name: two\n    input: go\n    model: [{call: {complete_task: {report: {confidence: 1}}}}]\n    expect: {reason: REASON}\n"
	t.Chdir(dir)
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	screen := &told{more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runTests(ctx, streams{in, screen, screen}, &testOptions{watch: true, parallel: 2}, nil)
	}()
	if out := screen.await(t, "Watching 1 file; Ctrl-C ends."); !strings.Contains(out, "1 passed, 0 failed") {
		t.Errorf("at first:\n%s", out)
	}
	writeFile(t, second, strings.Replace(tests, "REASON", "ERROR", 1))
	if out := screen.await(t, "Watching 2 files"); !strings.Contains(out, "changed: .gemini/agents/reviewer.agent-test.yaml") || !strings.Contains(out, "0 passed, 1 failed") {
		t.Errorf("a new file:\n%s", out)
	}
	writeFile(t, second, strings.Replace(tests, "REASON", "GOAL", 1))
	if out := screen.await(t, "Watching"); !strings.Contains(out, "1 passed, 0 failed") || strings.Contains(out, "✓ one") {
		t.Errorf("fixed:\n%s", out)
	}
	writeFile(t, second, "tests: [\n")
	if out := screen.await(t, "Watching"); !strings.Contains(out, "cannot be read") {
		t.Errorf("half typed:\n%s", out)
	}
	writeFile(t, second, strings.Replace(tests, "REASON", "GOAL", 1))
	screen.await(t, "Watching")
	agent(t, dir, "writer", "description: Writes more.")
	if out := screen.await(t, "Watching"); !strings.Contains(out, "changed: .gemini/agents/writer.md") || !strings.Contains(out, "2 passed, 0 failed") {
		t.Errorf("an agent:\n%s", out)
	}
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	screen.await(t, "changed: .gemini/agents/reviewer.agent-test.yaml")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}
	if code, _, errs := command(t, dir, "test", "--watch", "--record", "main"); code != 2 || !strings.Contains(errs, "exclude each other") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// TestAgentTestsJudge: an agent that judges is asked with --judge alone, by the person's
// model, and its no is a failure with its reason.
func TestAgentTestsJudge(t *testing.T) {
	home := play(t, `> What must hold: it is polite
>system You judge.
<call complete_task {"verdict": {"pass": true, "reason": "fine"}}

> It answered:\nGo away.
<call complete_task {"verdict": {"pass": false, "reason": "it is rude"}}
`)
	test := func(name, text string) string {
		return "  - name: " + name + "\n    input: hello\n    model: [{text: " + text + "}]\n    expect: {judge: {agent: critic, asks: it is polite}}\n"
	}
	dir := suite(t, "agent: writer\ntests:\n"+test("kind", "Welcome.")+test("rude", "Go away."))
	t.Setenv("GEMINI_HOME", home)
	agent(t, dir, "critic", "description: Judges.\noutput: {name: verdict, description: V, schema: {type: object, required: [pass, reason], properties: {pass: {type: boolean}, reason: {type: string}}}}")
	critic := filepath.Join(dir, ".gemini", "agents", "critic.md")
	text, err := os.ReadFile(critic)
	if err != nil {
		t.Fatal(err)
	}
	_, front, _ := strings.Cut(string(text), "---\n")
	front, _, _ = strings.Cut(front, "---\n")
	writeFile(t, critic, "---\n"+front+"---\nYou judge.\n")
	if code, out, errs := command(t, dir, "test"); code != 0 || !strings.Contains(out, "2 passed, 0 failed") || !strings.Contains(out, "2 tests were not judged; --judge asks") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	code, out, errs := command(t, dir, "test", "--judge", "--parallel", "1")
	if code != 1 || !strings.Contains(out, "1 passed, 1 failed") || !strings.Contains(out, "judge: expected critic to pass it, came: it is rude") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}
