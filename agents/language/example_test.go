package language

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
)

// TestAddExample puts a sentence where an author would, whatever is written there.
func TestAddExample(t *testing.T) {
	const path = "/w/.gemini/agents/fixer.md"
	for name, c := range map[string]struct{ fields, want string }{
		"no triggers":          {"", "triggers:\n  examples: [fix it]\n"},
		"keywords alone":       {"triggers:\n  keywords: [bug] # mine\n", "triggers:\n  keywords: [bug] # mine\n  examples: [fix it]\n"},
		"keywords in braces":   {"triggers: {keywords: [bug]}\n", "triggers: {keywords: [bug], examples: [fix it]}\n"},
		"a list in brackets":   {"triggers:\n  examples: [find it]\n  priority: 90\n", "triggers:\n  examples: [find it, fix it]\n  priority: 90\n"},
		"an empty list":        {"triggers: {examples: [], priority: 90}\n", "triggers: {examples: [fix it], priority: 90}\n"},
		"a list of lines":      {"triggers:\n  examples:\n    - find it # often\n  priority: 90\n", "triggers:\n  examples:\n    - find it # often\n    - fix it\n  priority: 90\n"},
		"it is there":          {"triggers:\n  examples: [fix it]\n", ""},
		"a list of triggers":   {"triggers: [{keywords: [bug]}]\n", ""},
		"what cannot be read":  {"triggers: {examples: [\n", ""},
		"examples are no list": {"triggers:\n  examples: find it\n", ""},
	} {
		for _, eol := range []string{"\n", "\r\n"} {
			text := strings.ReplaceAll("---\nkind: agent\nname: fixer\ntitle: Fixer\n"+c.fields+"---\nYou fix.\n", "\n", eol)
			edit, ok := AddExample(openText(path, text), "fix it")
			if ok != (c.want != "") {
				t.Errorf("%s: it is offered: %t", name, ok)
				continue
			}
			want := strings.ReplaceAll("---\nkind: agent\nname: fixer\ntitle: Fixer\n"+c.want+"---\nYou fix.\n", "\n", eol)
			if got := definition.Apply(text, []definition.Edit{{Range: edit.Range, Text: edit.Text}}); ok && got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
			}
		}
	}
	if _, ok := AddExample(openText("/w/.claude/agents/fixer.md", "---\nname: fixer\ndescription: d\n---\nx\n"), "fix it"); ok {
		t.Error("another tool's file has no examples")
	}
}

// TestAddExampleKeepsWords reads any sentence back as it was.
func TestAddExampleKeepsWords(t *testing.T) {
	text := "---\nkind: agent\nname: fixer\ntitle: Fixer\ntriggers:\n  examples:\n    - find it\n---\nYou fix.\n"
	rapid.Check(t, func(t *rapid.T) {
		sentence := strings.TrimSpace(rapid.OneOf(rapid.StringMatching(`[-a-z:#'"\[\]{},&*!|>%@ 修？\\]{1,30}`), rapid.String()).Draw(t, "sentence"))
		f := openText("/w/.gemini/agents/fixer.md", text)
		edit, ok := AddExample(f, sentence)
		if !ok {
			return // characters that no file may have
		}
		after := openText(f.Path, definition.Apply(text, []definition.Edit{{Range: edit.Range, Text: edit.Text}}))
		if got := after.Definition.Examples; !slices.Equal(got, []string{"find it", sentence}) {
			t.Fatalf("%q became %q", sentence, got)
		}
	})
	if _, ok := AddExample(openText("/w/.gemini/agents/fixer.md", text), `don't: "say" #no [at all]`); !ok {
		t.Error("a sentence with YAML's signs is not offered")
	}
}
