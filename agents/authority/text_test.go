package authority_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentls/agentls/agents/authority"
	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/guard"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/tool"
	"github.com/agentls/agentls/internal/settings"
)

var update = flag.Bool("update", false, "write the golden files")

// goldens are the explanations of which the texts are kept.
func goldens(t testing.TB) map[string]authority.Input {
	task := installation(t, strings.Replace(fixer, "run:\n", "output: {name: report, schema: {type: object}}\nuser_invocable: false\nrun:\n", 1))
	task.Trusted, task.MemoryFiles = false, []string{"/w/GEMINI.md"}
	all := installation(t, "---\nkind: agent\nname: all\ntitle: 全部 Alles\nmodel: auto\nsubagents: \"*\"\n---\nDo it.\n")
	all.Routes = []model.Route{
		{Model: "pro", When: model.When{Mode: "task"}, Origin: settings.Origin{Scope: settings.UserScope, File: "/home/p/.gemini/settings.json", Line: 30}},
		{Model: "flash-lite", Origin: settings.Origin{Scope: settings.UserScope, File: "/home/p/.gemini/settings.json", Line: 31}},
	}
	all.Agents, all.Approval = overridden(t).Agents, guard.Edits
	return map[string]authority.Input{"overridden": overridden(t), "task": task, "all": all, "hostile": hostile(t)}
}

// hostile is an agent whose every text wants to be more than text.
func hostile(t testing.TB) authority.Input {
	const bad = "[x](https://evil.example/a) ![i](http://evil.example/i.png) <img src=x> `` www.evil.example a@evil.example # h * _e_ \x1b[31m \u202e"
	in := installation(t, "---\nkind: agent\nname: fixer\ntitle: F\n---\nDo it.\n")
	d := *in.File
	d.Title, d.Name, d.Model, d.FallbackModels = bad, bad, bad, []string{bad}
	d.Tools = definition.Tools{Given: true, Allow: []string{bad, "ls"}, Deny: []string{bad}}
	d.Confirmation.Require, d.MCPServers, d.Subagents = []string{bad}, []string{bad}, []string{bad}
	d.Handoffs = []definition.Handoff{{To: bad, When: bad}}
	d.Authority = []string{bad}
	d.Path = "/w/" + bad + ".md"
	in.File, in.Text = &d, ""
	in.Tools = append([]tool.Tool{fake{bad, tool.High}}, in.Tools...)
	in.Ignored = []string{bad}
	in.MemoryFiles = []string{bad, "\x1b[2J\u202e.md"}
	return in
}

func TestGolden(t *testing.T) {
	for name, in := range goldens(t) {
		e := authority.Explain(in)
		for ext, got := range map[string]string{".txt": authority.Text(e, 100), ".narrow.txt": authority.Text(e, 80), ".md": authority.Markdown(e, 18) + "\n"} {
			file := filepath.Join("testdata", name+ext)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s is now:\n%s\nwas:\n%s", file, got, want)
			}
		}
		checkExplanation(t, e)
		for most := range 60 {
			if n := strings.Count(authority.Markdown(e, most), "\n") + 1; n > max(most, 1) {
				t.Errorf("%s: %d lines of %d", name, n, most)
			}
		}
	}
}

// TestHoverIsSafe: outside of code spans nothing is left of a file's text that
// Markdown could make a link, an image, HTML or an address of.
func TestHoverIsSafe(t *testing.T) {
	if text := authority.Text(authority.Explain(hostile(t)), 100); strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("controls on the terminal: %q", text)
	}
	text := authority.Markdown(authority.Explain(hostile(t)), 1000)
	if strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, "evil") {
		t.Errorf("controls, or not what was meant: %q", text)
	}
	bare := outside(t, text)
	for i, r := range bare {
		if strings.ContainsRune("[]<@`\\", r) {
			t.Fatalf("%q stands for itself in %q", r, bare[max(0, i-20):])
		}
	}
	for _, address := range []string{"https:", "http:", "www.", "://"} {
		if strings.Contains(bare, address) {
			t.Errorf("%s is an address in %q", address, bare)
		}
	}
}

// outside returns a Markdown text without its code spans.
func outside(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		for {
			at := strings.IndexByte(line, '`')
			for at > 0 && line[at-1] == '\\' {
				next := strings.IndexByte(line[at+1:], '`')
				if next < 0 {
					at = -1
					break
				}
				at += 1 + next
			}
			if at < 0 {
				break
			}
			n := len(line[at:]) - len(strings.TrimLeft(line[at:], "`"))
			fence := line[at : at+n]
			b.WriteString(line[:at])
			rest := line[at+n:]
			end := -1
			for from := 0; from < len(rest); {
				i := strings.IndexByte(rest[from:], '`')
				if i < 0 {
					break
				}
				i += from
				run := len(rest[i:]) - len(strings.TrimLeft(rest[i:], "`"))
				if run == n {
					end = i
					break
				}
				from = i + run
			}
			if end < 0 {
				t.Fatalf("a code span %s does not end in %q", fence, line)
			}
			line = rest[end+n:]
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// TestSubagent: what a subagent has by default, and no more than its parent.
func TestSubagent(t *testing.T) {
	in := installation(t, "---\nkind: agent\nname: fixer\ntitle: F\n---\nDo it.\n")
	in.Subagent, in.Within = true, []string{"read_file", "bash"}
	e := authority.Explain(in)
	if got := strings.Join(e.ToolNames(), " "); got != "read_file" {
		t.Errorf("offered %s", got)
	}
	for _, one := range e.Tools {
		switch one.Name {
		case "ls":
			if one.Why != "the agent that calls it does not have it" {
				t.Errorf("%+v", one)
			}
		case "bash":
			if !strings.HasPrefix(one.Why, "a subagent") {
				t.Errorf("%+v", one)
			}
		}
	}
}

// TestModels: who answers when nobody says, the settings say, the file says; and
// who is tried when it fails.
func TestModels(t *testing.T) {
	for _, c := range []struct {
		file, settings string
		fallbacks      []string // of the settings
		configured     func(string) bool
		id, text       string
		tried          string
	}{
		{"", "", nil, nil, "gemini-3.8-flash", "flash → gemini-3.8-flash", ""},
		{"model: inherit", "pro", []string{"flash"}, nil, "gemini-3.1-pro-preview", "pro → gemini-3.1-pro-preview", "gemini-3.8-flash"},
		{"model: gemini-3.8-flash", "pro", nil, nil, "gemini-3.8-flash", "gemini-3.8-flash", ""},
		{"model: openai/gpt-9", "", nil, nil, "openai/gpt-9", "openai/gpt-9 (not in the table of models)", ""},
		{"fallback_models: [pro, flash-lite]", "", []string{"flash"}, func(id string) bool { return id != "gemini-3.1-pro-preview" },
			"gemini-3.8-flash", "flash → gemini-3.8-flash", "gemini-3.5-flash-lite"},
		{"model: gone", "", nil, nil, "gone", "gone (retired)", ""},
		{"model: auto", "", nil, nil, "auto", "auto → gemini-3.8-flash in a new context (no rule of model.routes fits)", ""},
	} {
		in := installation(t, "---\nkind: agent\nname: fixer\ntitle: F\n"+c.file+"\n---\nDo it.\n")
		in.Table = model.NewTable(day, model.Entry{ID: "gone", Retired: "2026-01-01"})
		in.Settings.Model.Name, in.Settings.FallbackModels, in.Configured = c.settings, c.fallbacks, c.configured
		e := authority.Explain(in)
		if v, _ := e.Value("model"); e.Model.ID != c.id || v.Text != c.text || strings.Join(e.Model.Fallbacks, " ") != c.tried {
			t.Errorf("%s, settings %q: %q %+v", c.file, c.settings, v.Text, e.Model)
		}
	}
}

// TestSEC129AProjectsLimitsAreClamped: without a review a project's file gets no
// more than spec 12.2 says.
func TestSEC129AProjectsLimitsAreClamped(t *testing.T) {
	for _, c := range []struct {
		run, turns, time string
		clamped          bool
	}{
		{"{mode: task}", "15", "5m", false},
		{"{mode: task, max_turns: 10000, max_time: 9h}", "30", "10m", true},
		{"{mode: task, max_turns: 30, max_time: 10m}", "30", "10m", false},
		{"{max_turns: 10000}", "100", "none", true},
		{"{}", "100", "none", false},
	} {
		in := installation(t, "---\nkind: agent\nname: fixer\ntitle: F\nrun: "+c.run+"\n---\nDo it.\n")
		in.Unreviewed = true
		e := authority.Explain(in)
		turns, _ := e.Value("run.max_turns")
		span, _ := e.Value("run.max_time")
		if turns.Text != c.turns || span.Text != c.time || (turns.Origin.What == "the most of a project's file that nobody has reviewed") != c.clamped {
			t.Errorf("%s: %+v %+v", c.run, turns, span)
		}
		own := *in.File
		own.Scope = definition.Global
		in.File = &own
		if turns, _ := authority.Explain(in).Value("run.max_turns"); c.clamped && turns.Text != "10000" {
			t.Errorf("%s of the person's own: %+v", c.run, turns)
		}
	}
	if n, d := authority.Clamp(definition.Task, 5, 0); n != 5 || d != 10*time.Minute {
		t.Errorf("%d %s", n, d)
	}
}

// FuzzExplain: any file is explained, and shown safely.
func FuzzExplain(f *testing.F) {
	f.Add(fixer)
	f.Add("---\nname: [\n---\n")
	f.Add("---\nname: a\ntools: Read, Bash(git:*)\ndisallowedTools: Edit\npermissionMode: plan\n---\nx")
	f.Add("---\nname: a\nhandoffs: [{to: a}, 1, {}]\nsubagents: \"*\"\nmcp: {servers: [\"\"]}\n---\n`[x](y)`")
	f.Add("\ufeff---\r\nname: \xff\r\n---\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		in := installation(t, fixer)
		in.File = definition.Parse(definition.Source{Path: "/w/a.md", Scope: definition.Project, Data: []byte(text)})
		in.Text = text
		e := authority.Explain(in)
		checkExplanation(t, e)
		lines := strings.Count(text, "\n") + 1
		for _, v := range e.Values {
			if v.Origin.File == "/w/a.md" && v.Origin.Line > lines {
				t.Errorf("%s at line %d of %d", v.Key, v.Origin.Line, lines)
			}
		}
		if !utf8.ValidString(authority.Text(e, 80)) || !utf8.ValidString(authority.Markdown(e, 20)) {
			t.Error("what is shown is no text")
		}
		outside(t, authority.Markdown(e, 1000))
	})
}

// hundred is an agent with a hundred tools.
func hundred(b *testing.B) authority.Input {
	in := installation(b, fixer)
	in.Tools = nil
	for i := range 100 {
		in.Tools = append(in.Tools, fake{fmt.Sprintf("mcp.server%d.tool%d", i%10, i), tool.Medium})
	}
	d := *in.File
	d.Tools = definition.Tools{Given: true, Allow: []string{"mcp.server1.*", "mcp.server2.*", "read_file", "bash", "mcp.server3.tool13"}, Deny: []string{"mcp.*.tool2?"}}
	in.File = &d
	in.Exclude = []authority.List{{Names: []string{"bash", "mcp.server9.*"}}}
	return in
}

// BenchmarkExplain is an explanation of an agent with a hundred tools;
// BenchmarkHover, with its text.
func BenchmarkExplain(b *testing.B) {
	in := hundred(b)
	for b.Loop() {
		authority.Explain(in)
	}
}

func BenchmarkHover(b *testing.B) {
	in := hundred(b)
	for b.Loop() {
		_ = authority.Markdown(authority.Explain(in), 30)
	}
}

// BenchmarkHuge is a file that is as large as one may be, with as many names.
func BenchmarkHuge(b *testing.B) {
	names := func(what string) string {
		var list strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&list, "%s%d,", what, i)
		}
		return "[" + strings.TrimSuffix(list.String(), ",") + "]"
	}
	text := "---\nkind: agent\nname: fixer\ntitle: F\ntools: {allow: " + names("a") + ", deny: " + names("b*") + "}\nsubagents: " + names("c") + "\nmcp: {servers: " + names("d") +
		"}\ntool_confirmation: {require_confirmation: " + names("e") + "}\n---\n" + strings.Repeat("Do it. ", 25_000)
	in := installation(b, text)
	for b.Loop() {
		e := authority.Explain(in)
		_ = authority.Markdown(e, 30) + authority.Text(e, 80)
		authority.Compare(e, e)
	}
}
