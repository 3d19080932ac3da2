package language

import (
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
)

// installed is what the files of TestPreferredNeverHurts are checked against.
var installed = definition.Installed{
	Models:  func() []string { return []string{"flash", "pro"} },
	Retired: func(name string) (string, bool) { return "flash", name == "old-1" },
	Servers: func(string) []string { return []string{"github"} },
	Expression: func(text string, _ ...string) (int, error) {
		_, err := filepath.Match(text, "")
		return 0, err
	},
}

// TestPreferredNeverHurts: what is marked as certainly meant, and all that is
// certain together, lies inside the file and adds no error to it.
func TestPreferredNeverHurts(t *testing.T) {
	line := rapid.SampledFrom([]string{
		"kind: agent", "kind:", "name: x", "name: other", "'name': x", "name: Not Good", "nmae: x", "name: \"x\"", "title: T", "titel: 5", "titel: T", "title: 12", "displayName: D", "displayname: [D]",
		"description: a: b", "descripton: c", "description: “smart”", "model: flahs", "model: [flahs]", "model: old-1", "modle: gpt", "fallback_models: [old-1, prp, 'old-1']",
		"tools:\n  allow: [ls, bsh, read_file, raed_file]\n  deny: [ls]", "tools:\n  allow:\n    - teleport\n  deni: []", "tools: {allow: [teleport], allwo: [ls]}", "tools: [ls]", "tools: ls, bash",
		"handoffs:\n  - to: nobody\n  - to: usr", "handoffs: [{to: z}, {too: y}]", "handoffs: [{to: x, when: 'a['}]", "version: 1.0", "version: 1", "inputs: {a: {type: string}}\nquery: ${b}", "query: ${a} 😀",
		"inputs: {a: {type: strng, tpye: number}}", "color: #aabbcc", "color: teal", "color: red # é", "\ttabs: 1", "systemPrompt: p", "system_prompt: |\n  p\n  q", "temperature: 1\ntemp: 3", "tmep: 9", "run: {mode: taks, max_turn: 0}",
		"run: {max_turn: 1, max_turns: 2}", "memory: &m {enabled: false}", "run: &r\n  mode: chat", "query: &q hi\nscope: *q", "x: &a y", "guardrails: [{validator: 'builtin:no-secret'}]", "thinking_level: hgih", "mcp: {servers: [gihub, none]}",
		"scope: projct", "imported: x", "kind: local", "permissionMode: plan", "disallowedTools: Bash", "\x00", "]", "{", "  deeper: 1", "- a", "\u200b", "# only a comment", "",
	})
	h := newFixture(t, map[string]string{"a/y.md": "---\nkind: agent\nname: y\ntitle: Y\n---\nx\n"})
	path := filepath.Join(h.dir, "a/.gemini/agents/x.md")
	source := func(text string) definition.Source {
		return definition.Source{Path: path, Folder: filepath.Join(h.dir, "a"), Scope: definition.Project, Data: []byte(text), Installed: installed,
			Model: func(name string) (string, bool) { return name, name == "flash" || name == "pro" || name == "old-1" }}
	}
	errorsOf := func(f *File) map[string]int {
		count := make(map[string]int)
		for _, p := range Diagnose(h.world, f) {
			if p.Severity == definition.Error {
				count[p.Code]++
			}
		}
		return count
	}
	rapid.Check(t, func(rt *rapid.T) {
		ending := rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\r"}).Draw(rt, "ending")
		text := rapid.SampledFrom([]string{"", "", "\ufeff", "\n"}).Draw(rt, "begin") + "---\n" + strings.Join(rapid.SliceOfN(line, 0, 6).Draw(rt, "lines"), "\n") + rapid.SampledFrom([]string{"\n---\nbody", "\n---\nbody ${c} \u202e", "\nbody", "\n---\n"}).Draw(rt, "end")
		text = strings.ReplaceAll(text, "\n", ending)
		f := Open(source(text))
		before := errorsOf(f)
		for _, a := range Actions(h.world, h.sources, f, everything, nil) {
			if !a.Preferred && a.Kind != FixAll {
				continue
			}
			var own []Edit
			for _, e := range a.Edit.Edits {
				if e.URI != f.URI {
					continue
				}
				start, end := f.Index.Offset(e.Range.Start), f.Index.Offset(e.Range.End)
				if end < start || f.Index.Position(start) != e.Range.Start || f.Index.Position(end) != e.Range.End {
					rt.Fatalf("%q: %s is at %v, which is no place of the file", text, a.Title, e.Range)
				}
				own = append(own, e)
			}
			next := applyEdits(rt, text, own)
			for code, n := range errorsOf(Open(source(next))) {
				if n > before[code] {
					rt.Fatalf("%s adds %s to\n%s\nand makes of it\n%s", a.Title, code, text, next)
				}
			}
		}
	})
}

// TestPreferred: a name that was meant is preferred, unless its value is then an
// error.
func TestPreferred(t *testing.T) {
	for text, want := range map[string]bool{"titel: T": true, "titel: 5": false} {
		f := openText("/w/.gemini/agents/x.md", "---\nkind: agent\nname: x\n"+text+"\n---\nx\n")
		actions := Actions(&World{}, Sources{}, f, definition.Range{Start: definition.Position{Line: 3}, End: definition.Position{Line: 3}}, []string{QuickFix})
		if titles(actions) != "Replace with title" || actions[0].Preferred != want {
			t.Errorf("%s: %s, preferred is not %v", text, titles(actions), want)
		}
	}
}
