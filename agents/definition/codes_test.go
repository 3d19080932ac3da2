package definition

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// marked takes the marks ‹ and › out of a text and returns what is between them.
func marked(src string) (string, Span) {
	start := strings.Index(src, "‹")
	src = strings.Replace(src, "‹", "", 1)
	end := strings.Index(src, "›")
	return strings.Replace(src, "›", "", 1), Span{start, end}
}

// TestEveryCode: a file for each code of spec 1.5 that one file can have, with the
// exact place of the finding between ‹ and ›: with line feeds, with CR LF, and
// after a byte order mark. agent/duplicate-name, handoff-cycle and dead need other
// files (package registry).
func TestEveryCode(t *testing.T) {
	head := "---\nkind: agent\nname: code-fixer\ntitle: Code Fixer\n"
	ours := func(fields string) string { return head + fields + "---\nYou fix code.\n" }
	claude := "/w/.claude/agents/code-fixer.md"
	rows := []struct{ code, path, src string }{
		{"yaml", ownPath, ours("x: ‹[a›\n")},
		{"yaml", ownPath, "‹---›\nname: code-fixer\n"},
		{"yaml", ownPath, "‹You fix code.›\n"},
		{"yaml", ownPath, "---\n‹- a\n- b›\n---\nx\n"},
		{"missing-field", ownPath, "‹---›\nkind: agent\ntitle: T\n---\nx\n"},
		{"missing-field", ownPath, "‹---›\nname: code-fixer\ntitle: T\n---\nx\n"},
		{"missing-field", ownPath, "---\nname: ‹code-fixer›\nkind: agent\n---\nx\n"},
		{"type", ownPath, ours("description: '😀' # 😀\nrun: {mode: chat, max_turns: ‹0›}\n")},
		{"type", ownPath, ours("initial_messages: [{text: 😀, role: ‹'me'›}]\n")},
		{"name", ownPath, "---\nkind: agent\ntitle: T\nname: ‹Code Fixer›\n---\nx\n"},
		{"file-name", "/w/.gemini/agents/other.md", "---\nkind: agent\nname: ‹'code-fixer'› # 😀\ntitle: T\n---\nx\n"},
		{"model-unknown", ownPath, ours("model: ‹gpt-9›\n")},
		{"model-retired", ownPath, ours("fallback_models: ['😀', ‹old-1›]\n")},
		{"tool-unknown", ownPath, ours("tools:\n  allow: [ls, ‹telepörter😀›, grep]\n")},
		{"tool-unknown", ownPath, ours("tools: {confirmation: {require_confirmation: [😀-, ‹none›]}}\n")},
		{"tool-unverified", ownPath, ours("tools:\n  allow:\n    - ‹mcp.jira.search›\n")},
		{"tool-conflict", ownPath, ours("tools:\n  allow:\n    - ls\n    - ‹bash›\n  deny: [shell]\n")},
		{"mcp-unknown", ownPath, ours("mcp: {servers: [github, ‹nöne›]}\n")},
		{"prompt-empty", ownPath, head + "‹---›\n \n"},
		{"prompt-twice", ownPath, ours("systemPrompt: ‹|\n  Fix 😀\n  it.›\n")},
		{"placeholder", ownPath, ours("inputs: {a: {type: string}}\nquery: 😀 ${a} ‹${b}›\n")},
		{"placeholder", ownPath, ours("") + "😀 ‹${b}› $${c}\n"},
		{"regex", ownPath, ours("triggers: {keywords: [😀], patterns: [‹'('›]}\n")},
		{"handoff-target", ownPath, ours("handoffs: [{description: 😀, to: ‹code-fixer›}]\n")},
		{"schema", ownPath, ours("output: {description: 😀, schema: ‹{type: strin}›}\n")},
		{"schema", ownPath, ours("handoffs: [{to: b, payload: {schema: {properties: {‹reason›: {}}}}}]\n")},
		{"validator", ownPath, ours("guardrails:\n  - name: 😀\n    validator: ‹nöpe›\n")},
		{"expression", ownPath, ours("handoffs:\n  - {description: 😀, to: b, when: ‹'f('›}\n")},
		{"secret", ownPath, ours("description: 😀 ‹AKIAIOSFODNN7EXAMPL3›\n")},
		{"hidden-text", ownPath, ours("") + "😀 a‹\u202e\u202e›b\n"},
		{"too-large", ownPath, "‹---›\nname: code-fixer\ndescription: " + strings.Repeat("x", MaxFrontMatter) + "\n---\nx\n"},
		{"too-large", ownPath, "‹›" + ours("") + strings.Repeat("x", MaxFile)},
		{"yaml-feature", ownPath, ours("description: é\nmodel: ‹&a flash›\n")},
		{"yaml-feature", ownPath, ours("‹title›: Again\n")},
		{"yaml-repaired", ownPath, ours("description: ‹Use it 😀: well›\n")},
		{"yaml-repaired", ownPath, ours("run:\n‹\t›mode: chat\n")},
		{"yaml-repaired", ownPath, ours("description: ‹“Use 😀”›\n")},
		{"unknown-field", ownPath, ours("run: {mode: chat, ‹maxturns›: 3}\n")},
		{"dialect", claude, "---\nname: ‹Code Fixer 😀›\ndescription: x\n---\nx\n"},
		{"authority", claude, "---\nname: code-fixer\ndescription: x\n‹isolation›: worktree\n---\nx\n"},
	}
	seen := make(map[string]bool)
	for _, row := range rows {
		seen[row.code] = true
		for _, form := range []string{"lf", "crlf", "bom"} {
			src, span := marked(row.src)
			switch form {
			case "crlf":
				src, span = marked(strings.ReplaceAll(row.src, "\n", "\r\n"))
			case "bom":
				if row.code == "too-large" && span.End == 0 {
					continue // what is refused unread has no other place
				}
				src, span = marked("\ufeff" + row.src)
			}
			d := Parse(furnished(row.path, src))
			want := NewIndex(src).Range(span)
			var got []string
			if !slices.ContainsFunc(d.Problems, func(p Problem) bool {
				got = append(got, fmt.Sprintf("%s %v", p.Code, p.Range))
				return p.Code == "agent/"+row.code && p.Range == want
			}) {
				t.Errorf("%s, %s: want %v in %.80q, got %q", row.code, form, want, src, got)
			}
			checkProblems(t, src, d)
		}
	}
	for _, code := range strings.Fields("yaml missing-field type name file-name model-unknown model-retired tool-unknown tool-unverified tool-conflict mcp-unknown prompt-empty " +
		"prompt-twice placeholder regex handoff-target schema validator expression secret hidden-text too-large yaml-feature yaml-repaired unknown-field dialect authority") {
		if !seen[code] {
			t.Errorf("agent/%s has no row", code)
		}
	}
}
