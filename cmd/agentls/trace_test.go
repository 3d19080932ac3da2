package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/activity"
	"github.com/agentls/agentls/agents/trace"
	"github.com/agentls/agentls/internal/wire"
)

// chained makes a workspace in which a run was routed to the debugger, which called a
// tool and handed over.
func chained(t *testing.T, args ...string) (dir, errs string) {
	t.Helper()
	play(t, `> TypeError
>system You are debugger.
<call ls {"dir_path": "."}

>result ls
< It is undefined.
<call transfer_to_fixer {"reason": "needs a fix"}
<usage in=1200 out=30 cached=1000 thoughts=12

> TypeError
>system You are fixer.
< Fixed.
`)
	t.Setenv("AGENTLS_TRUST", "1")
	dir = handovers(t, map[string]string{"debugger": "triggers: {keywords: [TypeError], priority: 90}\nhandoffs: [{to: fixer}]\ntools: {allow: [ls]}\n", "fixer": ""})
	code, _, errs := command(t, dir, append([]string{"run", "@auto", "--strategy", "rule", "-p", "TypeError: fix this bug"}, args...)...)
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	return dir, errs
}

// TestScenarioAgents9: --trace tells models, tools and handoffs as they end, with their
// times and tokens; the export writes them all.
func TestScenarioAgents9(t *testing.T) {
	dir, errs := chained(t, "--trace")
	tells(t, "--trace", errs,
		`^\[Trace\] route \(debugger\) \d+ms\n  routing_method: rule\n  routing_confidence: \d+\n  agent: debugger`,
		`^\[Trace\] llm \(debugger\) \d+ms\n  model: gemini-\S+\n  prompt: user: TypeError: fix this bug\n  response: ls\(`,
		`^\[Trace\] tool \(debugger\) \d+ms\n  tool_name: ls\n  tool_args: \{"dir_path":"\."\}`,
		`tokens: \{"input":1200,"output":30,"cached":1000,"thoughts":12\}`,
		`^\[Trace\] handoff \(debugger\) 0ms\n  from_agent: debugger\n  to_agent: fixer\n  handoff_reason: needs a fix`,
		`^\[Trace\] run \(fixer\) `)
	code, out, errs := command(t, dir, "trace", "export", "--session", "main", "--format", "json")
	var events []trace.FileEvent
	if err := json.Unmarshal([]byte(out), &events); code != 0 || err != nil {
		t.Fatalf("exit %d, %v\n%s", code, err, errs)
	}
	seen := map[string]int{}
	for _, e := range events {
		seen[e.EventType]++
		if e.EventID == "" || e.SessionID != "main" || e.CorrelationID == "" || e.Timestamp == 0 || !json.Valid(e.Details) {
			t.Errorf("an event lacks something: %+v", e)
		}
	}
	for kind, want := range map[string]int{"route": 1, "llm_call": 3, "tool_call": 2, "handoff": 1, "agent_start": 2, "agent_complete": 2} {
		if seen[kind] != want {
			t.Errorf("%d %s, want %d", seen[kind], kind, want)
		}
	}
}

// TestScenarioHandoff4: trace show is the session as a tree, of the newest session where
// none is named, also in 40 columns.
func TestScenarioHandoff4(t *testing.T) {
	dir, _ := chained(t)
	code, out, errs := command(t, dir, "trace", "show")
	if code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	at := 0
	for _, want := range []string{"▶ run debugger", "├ ↳ route debugger (debugger)", "├ · turn 1", "◆ llm gemini-", "⚙ tool ls", "· turn 2", "◆ llm gemini-", "⇄ handoff debugger → fixer", "handoff_reason: needs a fix", "▶ run fixer", "· turn 1", "◆ llm", "tokens: {"} {
		i := strings.Index(out[at:], want)
		if i < 0 {
			t.Fatalf("%q does not follow in\n%s", want, out)
		}
		at += i
	}
	tells(t, "trace show", out, `^▶ run debugger +\d+(ms|\.\ds) █+`, `tool_result: `)
	spans := spansOf(t, dir)
	var narrow strings.Builder
	if err := printTrace(&narrow, spans, 40); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(narrow.String()) {
		if n := columnsOf(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if code, _, errs := command(t, t.TempDir(), "trace", "show"); code != 1 || !strings.Contains(errs, "there are no sessions in this folder yet") {
		t.Errorf("without a session: exit %d, %s", code, errs)
	}
	if code, _, errs := command(t, dir, "trace", "export", "--format", "xml"); code != 2 || !strings.Contains(errs, "Use json, otlp or html") {
		t.Errorf("another format: exit %d, %s", code, errs)
	}
}

// spansOf returns the spans of the session main.
func spansOf(t *testing.T, dir string) (spans []*trace.Span) {
	t.Helper()
	code, out, errs := command(t, dir, "sessions", "show", "main", "--json")
	if code != 0 {
		t.Fatal(errs)
	}
	return trace.Build(eventsOf(t, out))
}

// TestTraceExportMasks: what looks like a credential is in no export, and html is one
// file.
func TestTraceExportMasks(t *testing.T) {
	const key = "sk-live-51H8xkfQ2mN7vR9tYpL3wZ6c"
	play(t, "> the key\n< I will not tell API_KEY="+key+"\n")
	t.Setenv("AGENTLS_TRUST", "1")
	dir := writer(t)
	if code, _, errs := command(t, dir, "run", "writer", "the key is API_KEY="+key+" </script>"); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	for _, format := range []string{"json", "otlp", "html"} {
		file := filepath.Join(t.TempDir(), "trace")
		args := []string{"trace", "export", "--format", format, "--output", file}
		if format == "otlp" {
			if code, out, errs := command(t, dir, args[:4]...); code != 0 || strings.Contains(out, "[masked:") || strings.Contains(out, "I will not tell") {
				t.Errorf("otlp without --content: exit %d, %s\n%s", code, errs, out)
			}
			args = append(args, "--content")
		}
		code, _, errs := command(t, dir, args...)
		data, err := os.ReadFile(file)
		if code != 0 || err != nil || strings.Contains(string(data), key) || !strings.Contains(string(data), "[masked:") {
			t.Errorf("%s: exit %d, %v, %s\n%s", format, code, err, errs, data)
		}
	}
	_, shown, _ := command(t, dir, "trace", "show")
	if strings.Contains(shown, key) || !strings.Contains(shown, "[masked:") {
		t.Errorf("trace show tells the key:\n%s", shown)
	}
}

// eventsOf reads what sessions show --json prints.
func eventsOf(t *testing.T, out string) (events []activity.Event) {
	t.Helper()
	for line := range strings.Lines(out) {
		var p wire.ActivityParams
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		body, err := activity.Decode(p.Type, p.Data)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, eventOf(p, body))
	}
	return events
}

// TestTracing: settings and agents choose what is traced and where to; a collector that
// is not there is told of once, and the run ends as it would.
func TestTracing(t *testing.T) {
	home := play(t, "> first\n<call ls {\"dir_path\": \".\"}\n\n>result ls\n< One.\n\n> second\n< Two.\n")
	t.Setenv("AGENTLS_TRUST", "1")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	dir := writer(t)
	settings := filepath.Join(home, "settings.json")
	for _, c := range []struct{ settings, prompt, told string }{
		{`{"agents": {"tracing": {"enabled": true, "events": ["tool"]}}}`, "the first", ""},
		{`{"agents": {"tracing": {"enabled": true, "backend": "otlp"}}}`, "the second", "traces are lost"},
	} {
		writeFile(t, settings, c.settings)
		code, out, errs := command(t, dir, "run", "writer", c.prompt)
		if code != 0 || out == "" || strings.Count(errs, "traces are lost") != strings.Count(c.told, "traces") {
			t.Errorf("%s: exit %d, %q\n%s", c.settings, code, out, errs)
		}
	}
	files, err := filepath.Glob(filepath.Join(home, "traces", "*", "session-main.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	var events []trace.FileEvent
	if err != nil || json.Unmarshal(data, &events) != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.EventType)
	}
	if got := strings.Join(kinds, " "); got != "agent_start tool_call agent_complete" {
		t.Errorf("%s", got)
	}
}

// TestTracesGoWithTheirSession: what files of traces have of a session goes when its context is
// purged or it is deleted; another folder's session of the same name keeps its own.
func TestTracesGoWithTheirSession(t *testing.T) {
	home := play(t, "> first\n< One.\n\n> second\n< Two.\n\n> third\n< Three.\n")
	t.Setenv("AGENTLS_TRUST", "1")
	writeFile(t, filepath.Join(home, "settings.json"), `{"agents": {"tracing": {"enabled": true}}}`)
	ours, other := writer(t), writer(t)
	ok := func(dir string, args ...string) {
		t.Helper()
		if code, _, errs := command(t, dir, args...); code != 0 {
			t.Fatalf("%q: exit %d\n%s", args, code, errs)
		}
	}
	said := func(want ...string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(home, "traces", "*", "*"))
		if err != nil || len(files) != min(len(want), 1) {
			t.Fatalf("%q, %v", files, err)
		}
		var text strings.Builder
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil || !json.Valid(data) {
				t.Fatalf("%v\n%s", err, data)
			}
			text.Write(data)
		}
		for _, word := range []string{"One.", "Two.", "Three."} {
			if strings.Contains(text.String(), word) != slices.Contains(want, word) {
				t.Errorf("%s: want %q in\n%s", word, want, &text)
			}
		}
	}
	ok(ours, "run", "writer", "the first")
	ok(other, "run", "writer", "the second")
	said("One.", "Two.")
	ok(ours, "context", "clear", "writer", "--purge")
	said("Two.")
	ok(ours, "run", "writer", "the third")
	said("Two.", "Three.")
	ok(ours, "sessions", "delete", "main", "--yes")
	said("Two.")
	ok(other, "sessions", "delete", "main", "--yes")
	said()
}

// TestSessionsReplay: a session is shown step by step, and adds up (spec 7.3).
func TestSessionsReplay(t *testing.T) {
	dir, _ := chained(t)
	for _, args := range [][]string{{"sessions", "replay"}, {"sessions", "replay", "main"}, {"sessions", "replay", "--session", "main"}, {"graph", "replay", "--session", "main"}} {
		code, out, errs := command(t, dir, args...)
		if code != 0 {
			t.Fatalf("exit %d\n%s", code, errs)
		}
		tells(t, "replay", out, `^ +\+0ms  \[debugger\] TypeError: fix this bug\n`, `^ +\+\d+ms  \[route\] → debugger`, `^ +\+\d+ms  → Tool: ls\(\.\)\n`,
			`^ +\+\d+ms  \[debugger → fixer\] Handoff: needs a fix\n +\+\d+ms  \[debugger\] HANDOFF\n +\+\d+ms  \[fixer\] TypeError: fix this bug`,
			`\[fixer\] GOAL\n\nTotal: 2 agents, 1 tool, 1 handoff, 0 guardrails\nDuration: \d+\.\ds\n$`)
	}
}
