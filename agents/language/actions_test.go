package language

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/template"
)

// everything is a range over a whole file.
var everything = definition.Range{End: definition.Position{Line: 1 << 20}}

func titles(actions []Action) string {
	var list []string
	for _, a := range actions {
		list = append(list, a.Title)
	}
	return strings.Join(list, " | ")
}

// builtin returns the templates of the binary.
func builtin(t testing.TB) []template.Template {
	t.Helper()
	list, err := template.List("")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestActions(t *testing.T) {
	fixable := "---\nkind: agent\nname: ‸caller\ntitle: C\nhandoffs:\n  - to: code-fixr\n    when: auto\n  # of the user\n  - to: user\n---\nx\n"
	for _, c := range []struct{ name, caller, title, want string }{
		{"did you mean", fixable, "Replace with code-fixer", "---\nkind: agent\nname: caller\ntitle: C\nhandoffs:\n  - to: code-fixer\n    when: auto\n  # of the user\n  - to: user\n---\nx\n"},
		{"remove", fixable, "Remove the handoff to code-fixr", "---\nkind: agent\nname: caller\ntitle: C\nhandoffs:\n  # of the user\n  - to: user\n---\nx\n"},
		{"remove the only", "---\nkind: agent\nname: ‸caller\ntitle: C\nhandoffs:\n  - to: nobody\n    when: auto\n---\nx\n", "Remove the handoff to nobody", "---\nkind: agent\nname: caller\ntitle: C\n---\nx\n"},
		{"remove in brackets", "---\nkind: agent\nname: ‸caller\ntitle: C\nhandoffs: [{to: user}, {to: nobody}]\n---\nx\n", "Remove the handoff to nobody", "---\nkind: agent\nname: caller\ntitle: C\nhandoffs: [{to: user}]\n---\nx\n"},
		{"remove the first in brackets", "---\nkind: agent\nname: ‸caller\ntitle: C\nhandoffs: [{to: nobody}, {to: user}]\n---\nx\n", "Remove the handoff to nobody", "---\nkind: agent\nname: caller\ntitle: C\nhandoffs: [{to: user}]\n---\nx\n"},
		{"all that is certain", "---\nname: ‸caller\ntools:\n  allow: [ls]\n  deny: [ls]\n---\nx\n", "Fix all that is certain", "---\nkind: agent\nname: caller\ntitle: Caller\ntools:\n  allow: []\n  deny: [ls]\n---\nx\n"},
	} {
		h := newFixture(t, map[string]string{"a/caller.md": c.caller, "a/code-fixer.md": strings.Replace(fixer, "‸", "", 1)})
		actions := Actions(h.world, h.sources, h.cursor, everything, nil)
		i := slices.IndexFunc(actions, func(a Action) bool { return a.Title == c.title })
		if i < 0 {
			t.Errorf("%s: there are %s", c.name, titles(actions))
			continue
		}
		if got := h.apply(actions[i].Edit)["a/caller.md"]; got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		if len(actions[i].Problems) == 0 {
			t.Errorf("%s: no problem is said to be mended", c.name)
		}
	}
}

func TestActionsOfOtherFiles(t *testing.T) {
	h := newFixture(t, map[string]string{
		"a/caller.md": "---\nkind: agent\nname: ‸caller\ntitle: C\nhandoffs: [{to: security}]\n---\nx\n",
		"a/wrong.md":  "---\nkind: agent\nname: right\ntitle: C\n---\nx\n",
		"a/other.md":  "---\nkind: agent\nname: other\ntitle: C\nsubagents: [right]\n---\nx\n",
	})
	h.world.Templates = builtin(t)
	actions := Actions(h.world, h.sources, h.cursor, everything, []string{QuickFix})
	if titles(actions) != "Create the agent security | Remove the handoff to security" || len(actions[0].Edit.Creates) != 1 {
		t.Fatal(titles(actions))
	}
	made := actions[0].Edit.Creates[0]
	if h.name(made.URI) != "a/security.md" || !strings.Contains(made.Text, "\nname: security\n") || !strings.Contains(made.Text, "triggers:") {
		t.Error(made)
	}
	f := h.file("a/wrong.md")
	actions = Actions(h.world, h.sources, f, everything, nil)
	if titles(actions) != "Rename the file to right.md | Rename the agent to wrong" {
		t.Fatal(titles(actions))
	}
	if r := actions[0].Edit.Renames; len(r) != 1 || h.name(r[0].New) != "a/right.md" {
		t.Error(r)
	}
	if got := h.apply(actions[1].Edit); !strings.Contains(got["a/wrong.md"], "name: wrong\n") || !strings.Contains(got["a/other.md"], "[wrong]") {
		t.Error(got)
	}
	// What lies there is not overwritten.
	exists := h.sources
	exists.Exists = func(string) bool { return true }
	if got := titles(Actions(h.world, exists, h.file("a/wrong.md"), everything, nil)); got != "Rename the agent to wrong" {
		t.Error(got)
	}
	if got := titles(Actions(h.world, exists, h.cursor, everything, nil)); got != "Remove the handoff to security" {
		t.Error(got)
	}
}

func TestActionsConfigureAServer(t *testing.T) {
	text := "---\nkind: agent\nname: x\ntitle: X\nmcp:\n  servers: [db]\n---\nx\n"
	f := Open(definition.Source{Path: "/w/.gemini/agents/x.md", Folder: "/w", Scope: definition.Project, Data: []byte(text),
		Installed: definition.Installed{Servers: func(string) []string { return nil }}})
	asked := ""
	w := &World{Configure: func(folder, server string) (WorkspaceEdit, bool) {
		asked = folder + " " + server
		return WorkspaceEdit{Edits: []Edit{{URI: "file:///settings.json", Text: "{}"}}}, true
	}}
	if got := titles(Actions(w, Sources{}, f, everything, nil)); !strings.HasPrefix(got, "Describe the MCP server db in the settings") || asked != "/w db" {
		t.Error(got, asked)
	}
	w.Configure = func(string, string) (WorkspaceEdit, bool) { return WorkspaceEdit{}, false }
	if got := titles(Actions(w, Sources{}, f, everything, nil)); strings.Contains(got, "Describe") {
		t.Error(got)
	}
}

func TestActionsOnlyWhatIsAskedFor(t *testing.T) {
	f := openText("/w/.gemini/agents/x.md", "---\nname: x\n---\nx\n")
	w := &World{}
	for only, want := range map[string]int{"": 3, "quickfix": 2, "source": 1, "source.fixAll": 1, "source.fixAll.agentls": 1, "source.fixAll.agentls.more": 0, "refactor": 0} {
		var kinds []string
		if only != "" {
			kinds = []string{only}
		}
		if got := Actions(w, Sources{}, f, everything, kinds); len(got) != want {
			t.Errorf("%q: %s", only, titles(got))
		}
	}
	// Only findings where the cursor is; what is certain is for the whole file.
	body := definition.Range{Start: definition.Position{Line: 3}, End: definition.Position{Line: 3}}
	if got := titles(Actions(w, Sources{}, f, body, nil)); got != "Fix all that is certain" {
		t.Error(got)
	}
	// A cursor elsewhere on a finding's line has its fixes, a selection there has not,
	// and where the cursor is on a finding there are those of no other.
	f = openText("/w/.gemini/agents/x.md", "---\nkind: agent\nname: x\ntitle: X\ntools: {allow: [gerp, raed_file]}\n---\nx\n")
	at := func(from, to uint32) definition.Range {
		return definition.Range{Start: definition.Position{Line: 4, Character: from}, End: definition.Position{Line: 4, Character: to}}
	}
	both, first := "Replace with grep | Remove gerp | Replace with read_file | Remove raed_file", "Replace with grep | Remove gerp"
	for r, want := range map[definition.Range]string{at(0, 0): both, at(33, 33): both, at(0, 5): "", at(17, 17): first} {
		if got := titles(Actions(w, Sources{}, f, r, []string{QuickFix})); got != want {
			t.Errorf("%v: %s", r, got)
		}
	}
}

func TestDiagnose(t *testing.T) {
	h := newFixture(t, map[string]string{
		"a/x.md": "---\nkind: agent\nname: ‸x\ntitle: X\nhandoffs: [{to: y}, {to: z}]\nmodel: [1]\n---\nx\n",
		"a/y.md": "---\nkind: agent\nname: y\ntitle: Y\nhandoffs: [{to: x}]\n---\nx\n",
	})
	var codes []string
	for _, p := range Diagnose(h.world, h.cursor) {
		codes = append(codes, p.Code)
	}
	if got := strings.Join(codes, " "); got != "agent/handoff-cycle agent/handoff-target agent/type" {
		t.Error(got)
	}
	if got := Diagnose(&World{}, h.cursor); len(got) != 1 || got[0].Code != "agent/type" {
		t.Error(got)
	}
}

// TestFixesMend applies every quick fix of files with mistakes, and all that is
// certain: each edit applies, and fixing all ends.
func TestFixesMend(t *testing.T) {
	line := rapid.SampledFrom([]string{
		"kind: agent", "name: x", "name: other", "name: Not Good", "title: T", "titel: T", "description: a: b", "model: flahs", "tools:\n  allow: [ls, bsh, read_file]\n  deny: [ls]", "handoffs:\n  - to: nobody\n  - to: user",
		"handoffs: [{to: nobody}]", "version: 1.0", "inputs: {a: {type: string}}\nquery: ${b}", "color: #aabbcc", "displayName: D", "\ttabs: 1", "systemPrompt: p", "\x00", "]",
	})
	h := newFixture(t, map[string]string{"a/y.md": "---\nkind: agent\nname: y\ntitle: Y\n---\nx\n"})
	path := filepath.Join(h.dir, "a/.gemini/agents/x.md")
	open := func(text string) *File {
		return Open(definition.Source{Path: path, Folder: filepath.Join(h.dir, "a"), Scope: definition.Project, Data: []byte(text)})
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SampledFrom([]string{"", "\ufeff", "\n"}).Draw(rt, "begin") + "---\n" + strings.Join(rapid.SliceOfN(line, 0, 7).Draw(rt, "lines"), "\n") + rapid.SampledFrom([]string{"\n---\nbody", "\nbody", "\n---\n"}).Draw(rt, "end")
		f := open(text)
		for _, a := range Actions(h.world, h.sources, f, everything, nil) {
			var own []Edit
			for _, e := range a.Edit.Edits {
				if e.URI == f.URI {
					own = append(own, e)
				}
			}
			if next := applyEdits(rt, text, own); len(own) > 0 && next == text {
				rt.Fatalf("%q: %s changes nothing", text, a.Title)
			}
		}
		for range 20 {
			actions := Actions(h.world, h.sources, f, everything, []string{FixAll})
			if len(actions) == 0 {
				return
			}
			f = open(applyEdits(rt, f.Text, actions[0].Edit.Edits))
		}
		rt.Fatalf("fixing all of %q does not end: %q", text, f.Text)
	})
}
