package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/template"
)

// suite makes a workspace with agents and a file of tests.
func suite(t *testing.T, tests string) (dir string) {
	t.Helper()
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("AGENTLS_TRUST", "1")
	dir = t.TempDir()
	agent(t, dir, "writer", "description: Writes.\ntools: {allow: [ls, read_file, write_file]}\nhandoffs: [{to: reviewer}]")
	agent(t, dir, "reviewer", "description: Reviews.\ntriggers: {keywords: [review], priority: 90}\ntools: {allow: [read_file]}\n"+
		"output: {name: report, description: R, schema: {type: object, required: [confidence], properties: {confidence: {type: number}}}}")
	writeFile(t, filepath.Join(dir, ".gemini", "agents", "all.agent-test.yaml"), tests)
	return dir
}

const goodTests = `agent: writer
files: {src/a.txt: "hello\n"}
tests:
  - name: reads, asks, writes and hands over
    input: write it down
    answers: [once]
    model:
      - {sees: write it down, call: {read_file: {file_path: src/a.txt}}}
      - {sees: hello, call: {write_file: {file_path: b.txt, content: there}}}
      - text: Written.
        call: {transfer_to_reviewer: {reason: look at it}}
      - {agent: reviewer, call: {complete_task: {report: {confidence: 0.9}}}}
    expect:
      tools:
        - {name: read_file, args: {file_path: src/a.txt}, result: hello}
        - {name: write_file, args: {content: there}}
      handoffs: [reviewer]
      confirmations: [{tool: write_file, outcome: once}]
      output:
        schema: {type: object, required: [confidence]}
        expr: output.confidence > 0.5 and len(tools) == 2 and agents[1] == 'reviewer'
      files: {b.txt: there, c.txt: null}
  - name: a refusal
    input: write it down
    answers: [reject]
    model:
      - call: {write_file: {file_path: b.txt, content: there}}
      - text: You did not want it.
    expect:
      tools: [{name: write_file, state: error}]
      output: {contains: [did not], matches: "^You .*\\.$"}
      files: {b.txt: null}
  - name: is picked
    agent: auto
    strategy: rule
    input: review this
    model: [{call: {complete_task: {report: {confidence: 1}}}}]
    expect: {route: reviewer}
  - name: a tool is not run
    input: list
    results: [{tool: ls, result: nothing here}]
    model: [{call: {ls: {dir_path: .}}}, {sees: nothing here, text: Nothing.}]
    expect: {output: {equals: Nothing.}, no_tools: [write_file]}
`

// TestAgentTests: tests that hold pass, side by side, without a key and without a trace in
// the person's home or folder.
func TestAgentTests(t *testing.T) {
	dir := suite(t, goodTests)
	t.Setenv("GEMINI_API_KEY", "")
	code, out, errs := command(t, dir, "test")
	if code != 0 || !strings.Contains(out, "4 passed, 0 failed") || !strings.Contains(out, "✓ reads, asks, writes and hands over") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	if code, out, errs := command(t, dir, "test", "--run", "raeds"); code != 1 || !strings.Contains(errs, `no test has "raeds" in its name`) {
		t.Errorf("a check that checked nothing: exit %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat(os.Getenv("GEMINI_HOME")); err == nil {
		t.Error("something is kept in the home")
	}
	if _, err := os.Stat(filepath.Join(dir, "b.txt")); err == nil {
		t.Error("a test wrote into the project")
	}
}

// TestAgentTestsFail: each failure says what was expected, what came, and where in the
// session.
func TestAgentTestsFail(t *testing.T) {
	for name, c := range map[string][3]string{
		"tool":         {"expect: {tools: [{name: ls}]}", "", `tools\[0\]: expected ls, came write_file\(\{.*\}\), at event \d+ \(tool.state of writer\)`},
		"argument":     {"expect: {tools: [{name: write_file, args: {content: x}}]}", "", `tools\[0\].args.content: expected "x", came "there", at event \d+`},
		"state":        {"expect: {tools: [{name: write_file, state: error}]}", "", `tools\[0\].state: expected error, came success`},
		"too many":     {"expect: {tools: []}", "", `tools\[0\]: expected no more calls, came write_file`},
		"no tool":      {"expect: {no_tools: [write_file]}", "", `no_tools: expected write_file not to run, came write_file`},
		"handoff":      {"expect: {handoffs: [reviewer]}", "", `handoffs: expected reviewer, came none`},
		"question":     {"expect: {confirmations: []}", "", `confirmations\[0\]: expected no more questions, came one about write_file, at event \d+`},
		"outcome":      {"expect: {confirmations: [{tool: write_file, outcome: reject}]}", "", `confirmations\[0\].outcome: expected reject, came once`},
		"output":       {"expect: {output: {contains: [nope]}}", "", `output.contains: expected a text with "nope", came "Done\."`},
		"expression":   {"expect: {output: {expr: turns == 7}}", "", `output.expr: expected turns == 7, came false`},
		"schema":       {"expect: {output: {schema: {type: object}}}", "", `output.schema: expected an output that fits, came Done\. \(it is no JSON\)`},
		"file":         {"expect: {files: {b.txt: other}}", "", `files.b.txt: expected a text with "other", came "there"`},
		"reason":       {"expect: {reason: MAX_TURNS}", "", `reason: expected MAX_TURNS, came GOAL, at event \d+ \(run.finished of writer\)`},
		"route":        {"expect: {route: reviewer}", "", `route: expected reviewer, came no routing`},
		"unasked":      {"expect: {}", "      - text: More.\n", `model: expected to be asked for answer 3 \(More\.\), came no request`},
		"unseen":       {"expect: {}", "      - {sees: moon, text: x}\n", `model: expected to be asked for answer 3`},
		"no answer":    {"answers: []\n    expect: {}", "", `answers: expected no more questions, came one about write_file`},
		"no question":  {"answers: [once, reject]\n    expect: {}", "", `answers: expected a question to answer "reject", came: none`},
		"outside":      {"expect: {files: {../../../../../../etc/hostname: x}}", "", `files\.\.\./.*: expected a text with "x", came no file`},
		"no such name": {"agent: nobody\n    expect: {}", "", `run: expected to begin, came: .*nobody`},
	} {
		t.Run(name, func(t *testing.T) {
			answers := "    answers: [once]\n"
			if strings.HasPrefix(c[0], "answers") {
				answers = ""
			}
			dir := suite(t, "agent: writer\ntests:\n  - name: one\n    input: go\n"+answers+"    model:\n      - call: {write_file: {file_path: b.txt, content: there}}\n      - text: Done.\n"+c[1]+"    "+c[0]+"\n")
			if strings.HasPrefix(c[0], "agent") {
				dir = suite(t, "tests:\n  - name: one\n    input: go\n    model: [{text: x}]\n    "+c[0]+"\n")
			}
			code, out, errs := command(t, dir, "test")
			if code != 1 || !strings.Contains(out, "0 passed, 1 failed") {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
			tells(t, "the table", out, `^      \.gemini/agents/all\.agent-test\.yaml:\d+: `+c[2])
			if name == "argument" && !strings.Contains(out, ".yaml:9: tools[0].args.content") {
				t.Errorf("the line of the expectation:\n%s", out)
			}
		})
	}
}

// TestAgentTestsReport: JUnit has each test, and a file that cannot be read fails with its
// place.
func TestAgentTestsReport(t *testing.T) {
	dir := suite(t, goodTests+"  - name: fails\n    input: x\n    model: [{text: no}]\n    expect: {output: {equals: \"yes\"}}\n")
	writeFile(t, filepath.Join(dir, "bad.agent-test.yaml"), "agent: writer\ntests:\n  - name: a\n    inputt: b\n    model: []\n    expect: {}\n")
	report := filepath.Join(t.TempDir(), "report.xml")
	code, out, errs := command(t, dir, "test", "--junit", report)
	if code != 1 || !strings.Contains(out, "4 passed, 2 failed") || !strings.Contains(out, `bad.agent-test.yaml:4: unknown key "inputt"`) {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
	var suites junitSuites
	data, err := os.ReadFile(report)
	if err != nil || xml.Unmarshal(data, &suites) != nil || len(suites.Suites) != 2 {
		t.Fatalf("%v\n%s", err, data)
	}
	if s := suites.Suites[0]; s.Tests != 5 || s.Failures != 1 || s.Cases[4].Failure == nil || !strings.Contains(s.Cases[4].Failure.Text, `expected "yes", came "no"`) || s.Cases[0].Line == 0 {
		t.Errorf("%+v", s)
	}
	if code, _, errs := command(t, t.TempDir(), "test"); code != 1 || !strings.Contains(errs, "no tests found") {
		t.Errorf("no tests: exit %d, %s", code, errs)
	}
	if code, out, _ := command(t, dir, "test", ".gemini", "--run", "refusal"); code != 0 || !strings.Contains(out, "1 passed, 0 failed") {
		t.Errorf("--run: exit %d, %s", code, out)
	}
}

// TestAgentTestIsRecorded: a session of which a test is made passes it, without the files
// and the model that it had.
func TestAgentTestIsRecorded(t *testing.T) {
	dir, _ := chained(t)
	file := filepath.Join(dir, ".gemini", "agents", "recorded.agent-test.yaml")
	if code, _, errs := command(t, dir, "test", "--record", "latest", "--output", file); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"route: debugger", "handoffs:\n", "equals: Fixed.", "tool: ls"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if code, out, errs := command(t, dir, "test"); code != 0 {
		t.Errorf("exit %d\n%s%s\n%s", code, out, errs, text)
	}
	writeFile(t, filepath.Join(dir, ".gemini", "agents", "debugger.md"), "---\nkind: agent\nname: debugger\ntitle: D\ndescription: Works.\nmodel: flash\ntriggers: {keywords: [TypeError], priority: 90}\ntools: {allow: [ls]}\n---\nYou.\n")
	if code, out, _ := command(t, dir, "test"); code != 1 || !strings.Contains(out, "handoffs: expected fixer, came none") {
		t.Errorf("without its handoff: exit %d\n%s", code, out)
	}
}

// TestManyAgentTests runs two hundred.
func TestManyAgentTests(t *testing.T) {
	var b strings.Builder
	b.WriteString("agent: writer\nfiles: {src/a.txt: hello}\ntests:\n")
	for i := range 200 {
		fmt.Fprintf(&b, "  - name: test %d\n    input: go\n    model: [{call: {read_file: {file_path: src/a.txt}}}, {sees: hello, text: Done.}]\n    expect: {tools: [{name: read_file}], output: {equals: Done.}}\n", i)
	}
	code, out, errs := command(t, suite(t, b.String()), "test")
	if code != 0 || !strings.Contains(out, "200 passed, 0 failed") {
		t.Errorf("exit %d\n%s%s", code, out[max(0, len(out)-2000):], errs)
	}
	t.Log(out[strings.LastIndex(out, "200 passed"):])
}

// TestCreateWithTest: each template makes an agent with tests that pass, and a model that
// says something else fails them.
func TestCreateWithTest(t *testing.T) {
	t.Setenv("GEMINI_HOME", filepath.Join(t.TempDir(), "home"))
	t.Setenv("AGENTLS_TRUST", "1")
	dir := t.TempDir()
	for _, name := range append(template.Builtin(), "docs") {
		code, out, errs := command(t, dir, "create", "my-"+name, "--template", name, "--with-test")
		if code != 0 || !strings.Contains(out, "agentls test .gemini/agents/my-"+name+".agent-test.yaml") {
			t.Fatalf("%s: exit %d\n%s%s", name, code, out, errs)
		}
	}
	code, out, errs := command(t, dir, "test")
	if code != 0 || !strings.Contains(out, ", 0 failed") || strings.Count(out, "✓") != 4*2+3 {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	file := filepath.Join(dir, ".gemini", "agents", "my-debugging.agent-test.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, strings.Replace(string(text), "pass 0.", "maybe", 1)+"      output: {contains: [initial, zero]}\n")
	if code, out, _ := command(t, dir, "test", file); code != 1 || !strings.Contains(out, `output.contains: expected a text with "zero"`) {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestAgentTestsNeedTrust: the tests of a folder that is not trusted do not run, and say
// what to do.
func TestAgentTestsNeedTrust(t *testing.T) {
	dir := suite(t, goodTests)
	t.Setenv("AGENTLS_TRUST", "")
	if code, out, errs := command(t, dir, "test"); code != 1 || strings.Contains(out, "passed") || !strings.Contains(errs, "is not trusted, so its tests do not run") || !strings.Contains(errs, "agentls test --trust") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	if code, out, errs := command(t, dir, "test", "--trust"); code != 0 || !strings.Contains(out, "4 passed") {
		t.Errorf("--trust: exit %d\n%s%s", code, out, errs)
	}
	if code, out, _ := command(t, dir, "test"); code != 1 {
		t.Errorf("--trust was kept: exit %d\n%s", code, out)
	}
	if code, _, errs := command(t, dir, "trust"); code != 0 {
		t.Fatal(errs)
	}
	if code, out, errs := command(t, dir, "test"); code != 0 || !strings.Contains(out, "4 passed") {
		t.Errorf("trusted: exit %d\n%s%s", code, out, errs)
	}
}

// TestAgentTestsStayInside: a call that leaves the machine or the sandbox does not run,
// whatever the test answers, and fails it unless the test gives its result.
func TestAgentTestsStayInside(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for name, c := range map[string]struct{ call, why string }{
		"full":    {"bash: {command: 'touch " + outside + "', access: full}", "bash was not run, since it leaves this machine; give its result"},
		"network": {"bash: {command: 'touch " + outside + "', access: network}", "bash was not run, since it leaves this machine; give its result"},
		"fetch":   {"web_fetch: {url: 'https://example.invalid/'}", "web_fetch was not run, since it leaves this machine; give its result"},
	} {
		t.Run(name, func(t *testing.T) {
			tests := func(results string) string {
				return "agent: runner\ntests:\n  - name: one\n    input: go\n    answers: [once]\n" + results + "    model:\n      - call: {" + c.call + "}\n      - text: Done.\n    expect: {}\n"
			}
			dir := suite(t, tests(""))
			agent(t, dir, "runner", "description: Runs.\ntools: {allow: [bash, web_fetch]}")
			code, out, errs := command(t, dir, "test")
			if code != 1 || !strings.Contains(out, c.why) {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
			if _, err := os.Stat(outside); err == nil {
				t.Error("the command ran")
			}
			tool, _, _ := strings.Cut(c.call, ":")
			writeFile(t, filepath.Join(dir, ".gemini", "agents", "all.agent-test.yaml"), tests("    results: [{tool: "+tool+", result: ok}]\n"))
			if code, out, errs := command(t, dir, "test"); strings.Contains(out, "was not run") {
				t.Errorf("with a result: exit %d\n%s%s", code, out, errs)
			}
		})
	}
}
