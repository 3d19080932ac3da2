package language

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

// BenchmarkRename renames an agent that five of a thousand files name (spec 13:
// at most 100 ms), with the index made for the question, and with one at hand.
func BenchmarkRename(b *testing.B) {
	h := thousand(b, 1000)
	names := IndexNames(h.world.Agents)
	for _, c := range []struct {
		name  string
		names *Names
	}{{"cold", nil}, {"indexed", names}} {
		b.Run(c.name, func(b *testing.B) {
			h.sources.Names = c.names
			for b.Loop() {
				edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "mender")
				if err != nil || len(edit.Edits) != 6 {
					b.Fatal(len(edit.Edits), err)
				}
			}
		})
	}
}

// BenchmarkRenameEverywhere renames an agent that each of a thousand files names.
func BenchmarkRenameEverywhere(b *testing.B) {
	h := thousand(b, 1)
	h.sources.Names = IndexNames(h.world.Agents)
	for b.Loop() {
		if edit, err := RenameAgent(h.world, h.sources, h.cursor, h.at, "mender"); err != nil || len(edit.Edits) != 1001 {
			b.Fatal(len(edit.Edits), err)
		}
	}
}

// BenchmarkPlainWord looks for an agent at a word of a large file of another tool,
// among a thousand agents.
func BenchmarkPlainWord(b *testing.B) {
	h := thousand(b, 1000)
	text := "---\nname: claude\ndescription: d\ntools: Read, Write\n---\n" + strings.Repeat("Some text here, and more of it @foo, transfer\n", 5000)
	f := Open(definition.Source{Path: "/w/.claude/agents/claude.md", Folder: "/w", Scope: definition.Project, Data: []byte(text)})
	at := f.Index.Position(strings.Index(text, "text here"))
	for b.Loop() {
		if _, ok := NameRange(h.world, f, at); ok {
			b.Fatal("an agent is named")
		}
	}
}

// thousand is a folder of a thousand agents, of which every nth, at most five
// where n is large, names code-fixer.
func thousand(t testing.TB, n int) *fixture {
	files := map[string]string{"a/code-fixer.md": fixer[:strings.Index(fixer, "You are")]}
	for i := range 1000 {
		to := fmt.Sprintf("agent-%d", (i+1)%1000)
		if n == 1 || i%200 == 0 {
			to = "code-fixer"
		}
		files[fmt.Sprintf("a/agent-%d.md", i)] = fmt.Sprintf("---\nkind: agent\nname: agent-%d\ntitle: Agent %d\ndescription: Does its part of the work, number %d.\ntools:\n  allow: [read_file, grep, glob]\nhandoffs:\n  - to: %s\n    when: auto\n---\n%s", i, i, i, to, strings.Repeat("You do your part, and write to a@b.org when it is done.\n", 20))
	}
	return newFixture(t, files)
}

// BenchmarkKeystroke reads an open agent file anew and finds what is wrong with
// it, among a thousand agents (spec 13: at most 5 ms).
func BenchmarkKeystroke(b *testing.B) {
	h := thousand(b, 1000)
	f := h.file("a/agent-7.md")
	text := strings.Replace(f.Text, "handoffs:", "handoffs:\n  - to: agent-77x", 1)
	for b.Loop() {
		f := Open(definition.Source{Path: f.Path, Folder: f.Folder, Scope: f.Scope, Data: []byte(text)})
		if len(Diagnose(h.world, f)) != 1 {
			b.Fatal(Diagnose(h.world, f))
		}
	}
}

// BenchmarkFormat formats a file whose keys are out of order.
func BenchmarkFormat(b *testing.B) {
	text := "---\nmodel:  pro\nname: x\ntools:\n  deny: [bash]\n  allow: [ls]\nkind: agent\n---\n" + strings.Repeat("You do your part.\n", 200)
	f := openText("/w/.gemini/agents/x.md", text)
	for b.Loop() {
		if len(Format(f)) == 0 {
			b.Fatal("nothing to format")
		}
	}
}
