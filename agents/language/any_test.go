package language

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
)

// hostile are texts that cost the most for their size, of as many bytes as a file
// may have.
func hostile() map[string]string {
	const size = definition.MaxFile - 1024
	front := func(head, entry, tail string) string {
		n := (definition.MaxFrontMatter - 256) / len(entry)
		return "---\nkind: agent\nname: code-fixer\n" + head + strings.Repeat(entry, n) + tail + "\n---\nx\n"
	}
	body := func(s string) string {
		return "---\nkind: agent\nname: code-fixer\ntitle: T\n---\n" + strings.Repeat(s, size/len(s))
	}
	return map[string]string{
		"mentions on a line":  body("@code-fixer "),
		"mentions in lines":   body("@code-fixer\n"),
		"transfers":           body("transfer_to_code-fixer "),
		"at signs":            body("@"),
		"backticks":           body("` @code-fixer "),
		"handoffs":            front("handoffs:\n", "  - to: nobody\n", ""),
		"handoffs in a line":  front("handoffs: [", "{to: nobody}, ", "{to: user}]"),
		"subagents in a line": front("subagents: [", "code-fixer,", "b]"),
		"unknown keys":        front("", "\n", "z: 1"),
		"conflicts":           front("tools:\n  deny: [ls]\n  allow: [", "ls, ", "ls]"),
		"comments":            front("", "# c\n", "title: T"),
		"not closed":          "---\nname: code-fixer\n" + strings.Repeat("handoffs: [{to: code-fixer\n", size/28),
		"no text":             strings.Repeat("\x00\xff", size/2),
	}
}

// askAll asks everything of a file at a place, and holds that each range of an
// answer is inside the file.
func askAll(t interface {
	Fatalf(string, ...any)
	Helper()
}, h *fixture, f *File, at definition.Position) {
	t.Helper()
	inside := func(r definition.Range) {
		start, end := f.Index.Offset(r.Start), f.Index.Offset(r.End)
		if f.Index.Position(start) != r.Start || f.Index.Position(end) != r.End || end < start {
			t.Fatalf("%v is not a range of %.200q", r, f.Text)
		}
	}
	edits := func(list []Edit) {
		for _, e := range list {
			if e.URI == f.URI {
				inside(e.Range)
			}
		}
	}
	edits(Format(f))
	for _, p := range Diagnose(h.world, f) {
		inside(p.Range)
	}
	for _, a := range Actions(h.world, h.sources, f, everything, nil) {
		edits(a.Edit.Edits)
	}
	for _, l := range References(h.world, h.sources, f, at, true) {
		if l.URI == f.URI {
			inside(l.Range)
		}
	}
	if r, _, err := PrepareRename(h.world, h.sources, f, at); err == nil {
		inside(r)
		if edit, err := RenameAgent(h.world, h.sources, f, at, "another-name"); err == nil {
			edits(edit.Edits)
			applyEdits(t, f.Text, editsIn(edit.Edits, f.URI))
		}
	}
	Definition(h.world, h.sources, f, at)
	if r := Validate(h.world, f); r.Total < 6 || r.Text() == "" || r.Line() == "" {
		t.Fatalf("%+v", r)
	}
}

func editsIn(edits []Edit, uri string) []Edit {
	var own []Edit
	for _, e := range edits {
		if e.URI == uri {
			own = append(own, e)
		}
	}
	return own
}

func TestAnyText(t *testing.T) {
	h := newFixture(t, map[string]string{"a/code-fixer.md": strings.Replace(fixer, "‸", "", 1), "a/b.md": "---\nkind: agent\nname: b\ntitle: B\nhandoffs: [{to: code-fixer}]\n---\nx\n"})
	base := h.file("a/code-fixer.md")
	part := rapid.SampledFrom([]string{
		"---\n", "---", "\n", "\r\n", "\r", "kind: agent\n", "name: code-fixer\n", "name: 'b'\n", "name: \"co\\u0064e\"\n", "name: |\n  b\n", "handoffs:\n  - to: b\n", "handoffs: [{to: \"b\"}, {to: >-\n  b}]\n", "subagents: [b, code-fixer]\n",
		"tools: Read, Task(b, c)\n", "tools:\n  allow: [transfer_to_b]\n", "graph: {nodes: [{agent: b}]}\n", "@b ", "@a:b", "transfer_to_b", "`", "é😀", "\ufeff", "\x00", "\xff", "  ", "# c\n", "agents: 'b,\n  c'\n", "description: |+\n  x\n\n", "query: @b\n", "guardrails: {custom_validator: agent:b}\n",
		"{", "]", ": ", "- ", "\t", "initial_messages: [{role: user, text: see @b}]\n", "---\nbody @b\n",
	})
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 14).Draw(rt, "parts"), "")
		if rapid.Bool().Draw(rt, "front") {
			text = "---\nkind: agent\n" + text + "\n---\n@b\n"
		}
		path := rapid.SampledFrom([]string{base.Path, "/w/.claude/agents/b.md", "/w/.github/agents/b.agent.md"}).Draw(rt, "path")
		f := Open(definition.Source{Path: path, Folder: base.Folder, Scope: definition.Project, Data: []byte(text)})
		askAll(rt, h, f, f.Index.Position(rapid.IntRange(0, len(text)).Draw(rt, "at")))
	})
}

// eachQuestion is what is asked of a file, by name.
func eachQuestion(h *fixture, f *File, at definition.Position) map[string]func() {
	return map[string]func(){
		"format":     func() { Format(f) },
		"diagnose":   func() { Diagnose(h.world, f) },
		"actions":    func() { Actions(h.world, h.sources, f, everything, nil) },
		"references": func() { References(h.world, h.sources, f, at, true) },
		"rename":     func() { _, _ = RenameAgent(h.world, h.sources, f, at, "another-name") },
		"validate":   func() { Validate(h.world, f) },
	}
}

// BenchmarkHostile asks each question of the texts that cost the most (spec,
// issue 6: at most 50 ms for 256 KiB).
func BenchmarkHostile(b *testing.B) {
	h := newFixture(b, map[string]string{"a/code-fixer.md": strings.Replace(fixer, "‸", "", 1)})
	base := h.file("a/code-fixer.md")
	at := definition.Position{Line: 2, Character: 8}
	for name, text := range hostile() {
		f := Open(definition.Source{Path: base.Path, Folder: base.Folder, Scope: definition.Project, Data: []byte(text)})
		for question, ask := range eachQuestion(h, f, at) {
			b.Run(question+"/"+strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
				for b.Loop() {
					ask()
				}
			})
		}
	}
}
