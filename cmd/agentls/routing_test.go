package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentls/agentls/internal/wire"
)

// routable makes a workspace with the agents of the acceptance scenarios of routing.
func routable(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("AGENTLS_TRUST", "1")
	agent(t, dir, "debugger", "description: Finds out why a program fails.\ntriggers:\n  keywords: [debug, error, bug, exception, crash, \"stack trace\"]\n"+
		"  patterns: ['\\berr(or)?\\b', '\\bTypeError\\b', 'cannot read property']\n  priority: 90")
	agent(t, dir, "code-fixer", "description: Changes code so that it works.")
	agent(t, dir, "reviewer", "description: Reads changes and says what is wrong with them.")
	agent(t, dir, "performance-optimizer", "description: Makes code faster.\ntriggers: {keywords: [性能], priority: 60}")
	return dir
}

func agent(t *testing.T, dir, name, fields string) {
	t.Helper()
	writeFile(t, filepath.Join(dir, ".gemini", "agents", name+".md"), "---\nkind: agent\nname: "+name+"\ntitle: The "+name+"\nmodel: flash\n"+fields+"\n---\nYou are the "+name+".\n")
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tells fails the test for what a command did not print.
func tells(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !regexp.MustCompile("(?m)" + w).MatchString(text) {
			t.Errorf("%s does not tell %s:\n%s", what, w, text)
		}
	}
}

const (
	typeError = "这个 TypeError 怎么解决？"
	weather   = "今天天气怎么样？"
)

// TestRouting1: scenario routing-1.
func TestRouting1(t *testing.T) {
	play(t, "> TypeError\n>system You are the debugger.\n< x may be undefined.\n")
	code, out, errs := command(t, routable(t), "run", "@auto", typeError)
	if code != 0 || out != "x may be undefined.\n" {
		t.Errorf("exit %d, stdout %q", code, out)
	}
	tells(t, "stderr", errs, `^→ debugger · rule · 90 % · error, \\bTypeError\\b$`)
}

// TestRouting2: scenario routing-2.
func TestRouting2(t *testing.T) {
	play(t, "> 性能\n>tool no_suitable_agent\n<call transfer_to_performance-optimizer {\"reason\": \"speed\"}\n\n> 性能\n>system You are the performance-optimizer.\n< Cache it.\n")
	code, out, errs := command(t, routable(t), "run", `@auto "帮我优化一下代码性能"`)
	if code != 0 || out != "Cache it.\n" {
		t.Errorf("exit %d, stdout %q", code, out)
	}
	tells(t, "stderr", errs, `^rule 67 % is too low, asking flash-lite → performance-optimizer · llm · 95 %$`)
}

// TestRouting3: scenario routing-3.
func TestRouting3(t *testing.T) {
	play(t, "")
	dir := routable(t)
	writeFile(t, filepath.Join(dir, ".gemini", "settings.json"), `{"agents": {"routing": {"enabled": false}}}`)
	code, _, errs := command(t, dir, "run", `@auto "这个错误怎么解决？"`)
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	tells(t, "stderr", errs, `Routing is disabled in config\. Name an agent: @<name> "<prompt>"`)
}

// TestRouting4: scenario routing-4.
func TestRouting4(t *testing.T) {
	play(t, "> 性能\n>system You are the performance-optimizer.\n< Cache it.\n\n> TypeError\n>tool no_suitable_agent\n<call transfer_to_code_fixer {\"reason\": \"fix\"}\n\n> TypeError\n>system You are the code-fixer.\n< Fixed.\n")
	dir := routable(t)
	_, _, errs := command(t, dir, "run", `@auto --strategy=rule "帮我优化一下代码性能"`)
	tells(t, "stderr", errs, `^→ performance-optimizer · rule · 67 % · 性能$`)
	_, _, errs = command(t, dir, "run", "@auto", typeError, "--strategy", "llm")
	tells(t, "stderr", errs, `^asking flash-lite → code-fixer · llm · 95 %$`)
	if code, _, errs := command(t, dir, "run", "@auto", "x", "--strategy", "best"); code != 2 || !strings.Contains(errs, "invalid --strategy \"best\"\n  Use rule, llm or hybrid") {
		t.Errorf("exit %d\n%s", code, errs)
	}
}

// TestRouting5: scenario routing-5.
func TestRouting5(t *testing.T) {
	nobody := "> 天气\n>tool no_suitable_agent\n<call no_suitable_agent {\"reason\": \"It is about the weather.\"}\n\n"
	play(t, nobody+nobody+nobody+"> 天气\n>!tool no_suitable_agent\n< I do not know.\n")
	dir := routable(t)
	code, _, errs := command(t, dir, "run", "@auto", weather)
	if code != 1 {
		t.Errorf("exit %d", code)
	}
	tells(t, "stderr", errs, `No agent fits this request: It is about the weather\. Name one: @<name> "<prompt>"$`, `^1\. code-fixer – Changes code so that it works\.$`, `^4\. reviewer – `)
	// A project raises its own limit again, up to the person's.
	for value, fits := range map[string]bool{"2": true, "7": true, "9": false} {
		command(t, dir, "config", "limits.live", "1")
		code, out, errs := command(t, dir, "config", "limits.live", value)
		if (code == 0) != fits || (fits && !strings.Contains(out, "agents.limits.live = "+value)) {
			t.Errorf("limits.live %s: exit %d, %s%s", value, code, out, errs)
		}
	}
	command(t, dir, "config", "limits.live", "null")
	command(t, dir, "config", "routing.fallback", "none")
	code, out, errs := command(t, dir, "run", "@auto", weather, "--format", "json")
	if code != 1 || strings.Contains(errs, "1. code-fixer") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	tells(t, "stdout", out, `"kind":"noAgent"`)
	command(t, dir, "config", "routing.fallback", "default_agent")
	code, out, errs = command(t, dir, "run", "@auto", weather)
	if code != 0 || !strings.Contains(out, "I do not know.") {
		t.Errorf("exit %d, %q", code, out)
	}
	tells(t, "stderr", errs, `→ main · default · It is about the weather\.$`)
}

// TestRouting6: scenario routing-6.
func TestRouting6(t *testing.T) {
	home := play(t, "")
	dir := routable(t)
	writeFile(t, filepath.Join(home, "settings.json"), `{"agents": {"routing": {"llm": {"model": "flash"}}}}`)
	project := filepath.Join(dir, ".gemini", "settings.json")
	writeFile(t, project, "{\n  // ours\n  \"agents\": {\"routing\": {\"strategy\": \"rule\" /* for now */}}\n}\n")
	_, out, _ := command(t, dir, "config", "routing")
	if lines := strings.Count(out, "\n"); lines != 6 {
		t.Errorf("%d lines:\n%s", lines, out)
	}
	tells(t, "config", out, `^agents\.routing\.enabled +true +default$`, `^agents\.routing\.strategy +rule +project \(.*settings\.json:3\)$`, `^agents\.routing\.rule\.confidence_threshold +80 +default$`,
		`^agents\.routing\.llm\.model +flash +global \(.*settings\.json:1\)$`, `^agents\.routing\.llm\.timeout +5000 +default$`, `^agents\.routing\.fallback +prompt_user +default$`)
	_, out, errs := command(t, dir, "config", "routing.strategy", "llm")
	if out != "Updated project config: agents.routing.strategy = llm\n" {
		t.Errorf("%q\n%s", out, errs)
	}
	if text, _ := os.ReadFile(project); string(text) != "{\n  // ours\n  \"agents\": {\"routing\": {\"strategy\": \"llm\" /* for now */}}\n}\n" {
		t.Errorf("the file is\n%s", text)
	}
	t.Setenv("GEMINI_ROUTING_STRATEGY", "rule")
	t.Setenv("GEMINI_ROUTING_THRESHOLD", "high")
	_, out, errs = command(t, dir, "config", "routing")
	tells(t, "config", out, `^agents\.routing\.strategy +rule +GEMINI_ROUTING_STRATEGY$`, `confidence_threshold +80 +default$`)
	tells(t, "stderr", errs, `^GEMINI_ROUTING_THRESHOLD: "high" does not count: agents\.routing\.rule\.confidence_threshold must be a whole number`)
	_, out, _ = command(t, dir, "route", typeError)
	tells(t, "route", out, `^strategy +rule +GEMINI_ROUTING_STRATEGY$`, "^The strategy rule asks no model")
	_, out, _ = command(t, dir, "config", "routing.strategy", "hybrid")
	tells(t, "config", out, "It does not count here: rule, from GEMINI_ROUTING_STRATEGY, wins")
	if code, _, errs := command(t, dir, "config", "routing.llm.model", "pro"); code != 1 || !strings.Contains(errs, "a project cannot set agents.routing.llm.model") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if code, _, errs := command(t, dir, "config", "routing.strategy", "best"); code != 1 || !strings.Contains(errs, "must be one of rule, llm, hybrid") {
		t.Errorf("exit %d\n%s", code, errs)
	}
	if _, out, _ = command(t, dir, "config", "--global", "autoRoute", "true"); out != "Updated global config: agents.autoRoute = true\n" {
		t.Error(out)
	}
}

// TestRouting7: scenario routing-7.
func TestRouting7(t *testing.T) {
	home := play(t, "")
	dir := routable(t)
	code, out, errs := command(t, dir, "route", typeError)
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	tells(t, "route", out, `^→ debugger · rule · 90 % · error`, `^No model was needed: 90 % is at or over the threshold of 80 %\.$`, `^strategy +hybrid +default$`,
		`^llm\.model +flash-lite +default$`, `^debugger +27 +90 % +keyword "error" \+9\.0, pattern "\\\\bTypeError\\\\b" \+18\.0$`, `^4 agents looked at, something speaks for 1$`)
	_, out, _ = command(t, dir, "route", "--json", typeError)
	var r wire.RouteResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Agent != "debugger" || r.Confidence != 90 || len(r.Settings) != 7 {
		t.Errorf("%v: %s", err, out)
	}
	if names := sessions(t, home); len(names) > 0 {
		t.Errorf("something ran: %v", names)
	}
}

// TestAgents6: scenario agents-6.
func TestAgents6(t *testing.T) {
	home := play(t, "> bug\n>system You are the debug-analyzer.\n< Found it.\n")
	dir := t.TempDir()
	t.Setenv("AGENTLS_TRUST", "1")
	agent(t, dir, "debug-analyzer", "description: Analyses bugs.\ntriggers: {keywords: [bug], patterns: ['\\bbugs?\\b']}")
	writeFile(t, filepath.Join(home, "settings.json"), `{"agents": {"autoRoute": true}}`)
	code, out, errs := command(t, dir, "run", "There's a bug in the login flow")
	if code != 0 || out != "Found it.\n" {
		t.Errorf("exit %d, stdout %q", code, out)
	}
	tells(t, "stderr", errs, `^→ debug-analyzer · rule · \d\d % · bug, `)
}

// TestHandoff1: scenario handoff-1.
func TestHandoff1(t *testing.T) {
	play(t, "> TypeError\n>system You are the switchboard.\n<call transfer_to_debugger {\"reason\": \"It fails.\"}\n\n> Cannot read\n>system You are the debugger.\n< x may be undefined.\n")
	dir := routable(t)
	writeFile(t, filepath.Join(dir, ".gemini", "agents", "router-agent.md"), "---\nkind: agent\nname: router-agent\ntitle: Router\nscope: system\n---\nYou are the switchboard.\n")
	code, out, errs := command(t, dir, "run", "@auto", typeError+"Cannot read property 'x'", "--strategy", "llm")
	if code != 0 || out != "x may be undefined.\n" {
		t.Errorf("exit %d, stdout %q\n%s", code, out, errs)
	}
	tells(t, "stderr", errs, `→ debugger · llm · 95 %$`)
}
