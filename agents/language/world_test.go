package language

import (
	"strings"
	"testing"
	"time"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/model"
	"github.com/agentls/agentls/agents/template"
)

// cursor is where a test's text has its cursor.
const cursor = "‸"

// known gives a world its tools, servers, templates and models; a year on, some
// models are retired.
func known(t testing.TB, w *World) *World {
	t.Helper()
	templates, err := template.List("")
	if err != nil {
		t.Fatal(err)
	}
	w.Templates = templates
	w.Models = model.NewTable(func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) })
	w.Model = "flash"
	for _, n := range definition.ToolNames() {
		risk := "medium"
		if n.Safe {
			risk = "safe"
		}
		if n.Name == "bash" {
			risk = ByCommand
		}
		w.Tools = append(w.Tools, Tool{Name: n.Name, Aliases: n.Aliases, Risk: risk, Summary: "Does " + n.Name + ".", Tokens: 100})
	}
	w.Tools = append(w.Tools, Tool{Name: "mcp.github.create_issue", Risk: "medium", Summary: "Opens an issue."})
	w.Servers = []Server{{Name: "github", Summary: "npx server", State: "connected"}, {Name: "db"}}
	return w
}

// team is a workspace of three agents beside the file at hand, and what is known
// in it.
func team(t testing.TB) *World {
	t.Helper()
	agent := func(name, more string) string {
		return "---\nkind: agent\nname: " + name + "\ntitle: T " + name + "\ndescription: Does [x](http://evil) for " + name + ".\n" + more + "---\nYou are.\n"
	}
	h := newFixture(t, map[string]string{
		"a/code-fixer.md": agent("code-fixer", ""), "a/reviewer.md": agent("reviewer", "model: pro\n"),
		"a/hidden.md": agent("hidden", "user_invocable: false\n"), "b/other.md": agent("other", ""), "a/broken.md": "---\nname: broken\n",
	})
	return known(t, h.world)
}

// marked opens a file whose text has a cursor; without one it is at the end.
func marked(t testing.TB, path, text string) (*File, definition.Position) {
	t.Helper()
	before, after, ok := strings.Cut(text, cursor)
	if !ok {
		t.Helper()
		t.Fatalf("no cursor in %q", text)
	}
	f := Open(definition.Source{Path: path, Folder: "/w", Scope: definition.Project, Data: []byte(before + after)})
	return f, f.Index.Position(len(before))
}

// mine is the path of the file at hand.
const mine = "/w/.gemini/agents/mine.md"

// front is the file at hand with more front-matter.
func front(yaml string) string {
	return "---\nkind: agent\nname: mine\n" + yaml + "\n---\nYou are mine.\n"
}

// accepted returns a text with an item put in.
func taken(f *File, i Item) string {
	return f.Text[:f.Index.Offset(i.Range.Start)] + i.Plain() + f.Text[f.Index.Offset(i.Range.End):]
}
