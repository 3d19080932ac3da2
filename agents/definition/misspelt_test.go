package definition

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// knownAnywhere are the keys that may stand at the top of some dialect's file.
func knownAnywhere() []string {
	known := append(slices.Clone(KeysUnder("")), "prompt", "disable", "disabled", "enabled", "infer", "sandbox", "sandbox_mode", "sandboxMode")
	for name := range comfortKeys {
		known = append(known, name)
	}
	slices.Sort(known)
	return known
}

func fieldError(d *Definition) bool {
	ok, why := d.Usable()
	return !ok && why.Code == "agent/unknown-field"
}

// TestAKnownKeyIsNeverMisspelt: what any dialect knows is no error for its name.
func TestAKnownKeyIsNeverMisspelt(t *testing.T) {
	for _, key := range knownAnywhere() {
		if fieldError(parse(ownPath, own(key+": {}\n"))) {
			t.Errorf("%s is an error in a file of ours", key)
		}
	}
}

// TestASlipInAKeyIsAnError: a letter too few, one twice, two exchanged, and in
// words of more than four letters another one. In another tool's file it is none.
func TestASlipInAKeyIsAnError(t *testing.T) {
	known := knownAnywhere()
	for _, key := range KeysUnder("") {
		var slips []string
		for i := range key {
			slips = append(slips, key[:i]+key[i+1:], key[:i+1]+key[i:])
			if i > 0 {
				slips = append(slips, key[:i-1]+key[i:i+1]+key[i-1:i]+key[i+1:])
			}
			if len(strings.ReplaceAll(key, "_", "")) > 4 && i > 0 {
				slips = append(slips, key[:i]+"x"+key[i+1:])
			}
		}
		for _, slip := range slips {
			if slices.Contains(known, slip) || len(slip) < 3 || strings.HasPrefix(slip, "-") {
				continue
			}
			if !fieldError(parse(ownPath, own(slip+": {}\n"))) {
				t.Errorf("%s for %s is no error", slip, key)
			}
			if d := parse("/w/.claude/agents/code-fixer.md", "---\nname: code-fixer\ndescription: x\n"+slip+": {}\n---\nBody\n"); fieldError(d) {
				t.Errorf("%s for %s is an error in a file of Claude Code's", slip, key)
			}
		}
	}
}

// TestOtherWordsAreNotMisspelt: what people put in their own files, and looks a
// little like a key of ours, has no effect and is no error.
func TestOtherWordsAreNotMisspelt(t *testing.T) {
	for _, word := range []string{
		"topic", "topics", "goals", "role", "roles", "rules", "type", "types", "test", "tests", "text", "task", "tasks", "note", "notes", "node", "nodes",
		"icon", "date", "lang", "language", "team", "home", "time", "tone", "user", "users", "owner", "status", "state", "level", "labels", "docs",
		"examples", "context", "priority", "created", "updated", "id", "uid", "url", "acp", "lsp", "env", "cwd", "goal", "tip", "tag", "x", "a", "capabilities",
		"max_retries", "timeout", "summary", "group", "stage", "reviewers", "experts", "limits", "style", "format", "locale", "category", "find", "mind", "game",
	} {
		if d := parse(ownPath, own(word+": x\n")); fieldError(d) {
			t.Errorf("%s: %v", word, d.Problems)
		}
	}
}

// TestAnAgentThatMeantToRestrictItsTools never gets all of them: it does not run,
// or has what is left of its list, and a finding says so.
func TestAnAgentThatMeantToRestrictItsTools(t *testing.T) {
	for front, want := range map[string]string{
		"tols: [Read]":                                 "unusable",
		"tool: [read_file]":                            "unusable",
		"Tools: [read_file]":                           "unusable",
		"tooolss: [read_file]":                         "unusable",
		"allowed_tols: [x]\ntolls: {allow: [ls]}":      "unusable",
		"tools: {alow: [read_file]}":                   "unusable",
		"tools: {only: [read_file]}":                   "unusable",
		"tools: {read: true, bash: false}":             "unusable",
		"tools: {allow:}":                              "unusable",
		"tools: 5":                                     "unusable",
		"disalowedTools: [Bash]":                       "unusable",
		"permision: {bash: deny}":                      "unusable",
		"tool_confirmtion: {x: 1}":                     "unusable",
		"tool_confirmation: {require_confirmaton: []}": "unusable",
		"run: {maxturns: 3}":                           "unusable",
		"user_invokable: false":                        "unusable",
		"tools: [read_fil]":                            "[] The tool read_fil is not known here; did you mean read_file? It is left out, so the agent has no tools.",
		"tools: {allow: [read_fil]}":                   "[] The tool read_fil is not known; did you mean read_file? It is left out, so the agent has no tools.",
		"tools: [read_fil, nothing-like-it]":           "[] The tool read_fil is not known here; did you mean read_file? It is left out, so the agent has no tools.",
		"tools: [read_fil, ls]":                        "[ls] The tool read_fil is not known here; did you mean read_file? It is left out.",
		"tools: {allow: [read_fil, ls]}":               "[ls] The tool read_fil is not known; did you mean read_file? It is left out.",
	} {
		d := parse(ownPath, own(front+"\n"))
		got := "unusable"
		if ok, _ := d.Usable(); ok {
			got = fmt.Sprintf("all %v", d.Problems)
			if d.Tools.Given {
				got = fmt.Sprint(d.Tools.Allow)
			}
			for _, p := range d.Problems {
				if p.Code == "agent/tool-unknown" && p.Severity == Error {
					got += " " + p.Message
					break
				}
			}
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", front, got, want)
		}
	}
}
