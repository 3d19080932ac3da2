package template_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/template"
	"github.com/agentls/agentls/internal/fault"
)

// TestBuiltIn holds the templates in the binary to spec 1.6.
func TestBuiltIn(t *testing.T) {
	reading := []string{"read_file", "read_many_files", "ls", "glob", "grep", "diagnostics", "symbols", "definition", "references"}
	list, err := template.List("")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tpl := range list {
		names = append(names, tpl.Name)
		d := definition.Parse(definition.Source{Path: "/agents/" + tpl.Name + ".md", Scope: definition.Global, Data: tpl.Text})
		if len(d.Problems) > 0 || tpl.Problem != "" {
			t.Errorf("%s: %+v %s", tpl.Name, d.Problems, tpl.Problem)
		}
		if d.Name != tpl.Name || d.Title != tpl.Title || d.Description != tpl.Description || tpl.Title == "" || tpl.Description == "" {
			t.Errorf("%s: %q %q %q", tpl.Name, d.Name, tpl.Title, tpl.Description)
		}
		more := []string{}
		for _, tool := range d.Tools.Allow {
			if !slices.Contains(reading, tool) {
				more = append(more, tool)
			}
		}
		want := []string{}
		if tpl.Name == "test-generator" {
			want = []string{"write_file", "edit_file", "bash"}
		}
		if !d.Tools.Given || !slices.Equal(more, want) {
			t.Errorf("%s does more than read: %v, want %v", tpl.Name, more, want)
		}
		if tpl.Name == "blank" {
			continue
		}
		for _, heading := range []string{"# Duties\n", "# Guidelines\n", "# Constraints\n"} {
			if !strings.Contains(d.Prompt, heading) {
				t.Errorf("%s has no part %q", tpl.Name, heading)
			}
		}
		triggers, _ := d.FrontMatter()["triggers"].(map[string]any)
		for field, least := range map[string]int{"keywords": 3, "examples": 5} {
			english, chinese := 0, 0
			for _, v := range triggers[field].([]any) {
				if strings.ContainsFunc(v.(string), func(c rune) bool { return unicode.Is(unicode.Han, c) }) {
					chinese++
				} else {
					english++
				}
			}
			if english < least || chinese < least || (field == "examples" && english+chinese != 10) {
				t.Errorf("%s has %d English and %d Chinese %s", tpl.Name, english, chinese, field)
			}
		}
		if to := len(d.Handoffs); (tpl.Name == "debugging" && (to != 1 || d.Handoffs[0].To != "code-fixer")) || (tpl.Name != "debugging" && to != 0) {
			t.Errorf("%s hands to %+v", tpl.Name, d.Handoffs)
		}
	}
	if want := []string{"debugging", "code-review", "documentation", "test-generator", "security", "blank"}; !slices.Equal(names, want) {
		t.Errorf("there are %v, want %v", names, want)
	}
	files, _ := filepath.Glob("builtin/*.md")
	if len(files) != len(names) {
		t.Errorf("%d files for %d templates", len(files), len(names))
	}
}

// TestLocale: whose locale is not Chinese gets the same template without the
// Chinese words; one of the person's own stays as it is.
func TestLocale(t *testing.T) {
	list, err := template.List("")
	if err != nil {
		t.Fatal(err)
	}
	han := func(text []byte) bool {
		return strings.ContainsFunc(string(text), func(c rune) bool { return unicode.Is(unicode.Han, c) })
	}
	for _, tpl := range list {
		if got := tpl.In("zh_CN.UTF-8"); string(got.Text) != string(tpl.Text) {
			t.Errorf("%s for a Chinese locale is another", tpl.Name)
		}
		for _, locale := range []string{"", "C", "en_US.UTF-8", "de_DE"} {
			got := tpl.In(locale)
			if han(got.Text) {
				t.Errorf("%s for %q has Chinese words:\n%s", tpl.Name, locale, got.Text)
			}
			whole := definition.Parse(definition.Source{Path: "/agents/" + tpl.Name + ".md", Scope: definition.Global, Data: tpl.Text})
			d := definition.Parse(definition.Source{Path: "/agents/" + tpl.Name + ".md", Scope: definition.Global, Data: got.Text})
			if len(d.Problems) > 0 || d.Prompt != whole.Prompt || d.Description != whole.Description || 2*len(d.Examples) != len(whole.Examples) || d.Priority != whole.Priority {
				t.Errorf("%s for %q: %+v\n%s", tpl.Name, locale, d.Problems, got.Text)
			}
		}
	}
	own := template.Template{Name: "mine", Path: "/mine.md", Text: []byte("---\nname: mine\ntriggers: {keywords: [评审]}\n---\nx\n")}
	if got := own.In("en_US"); !han(got.Text) {
		t.Errorf("the person's own: %s", got.Text)
	}
}

// TestOwn: the person's templates come with the built-in ones, in the place of
// one that has the same name; what cannot be used is listed with the reason.
func TestOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "templates")
	if list, err := template.List(dir); err != nil || len(list) != 6 {
		t.Errorf("without a folder: %d, %v", len(list), err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	agent := func(name, title string) string {
		return "---\nkind: agent\nname: " + name + "\ntitle: " + title + "\ndescription: of " + title + "\n---\nYou work.\n"
	}
	for name, text := range map[string]string{
		"house.md": agent("house", "House"), "security.md": agent("security", "Our Security"), "docs.md": agent("docs", "Our Docs"),
		"broken.md": "---\nname: [\n---\nx\n", "huge.md": agent("huge", "Huge") + strings.Repeat("x", definition.MaxFile),
		".hidden.md": agent("hidden", "Hidden"), "_draft.md": agent("draft", "Draft"), "notes.txt": "x", ".md": "x",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "lost.md")); err != nil {
		t.Fatal(err)
	}
	list, err := template.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tpl := range list {
		line := tpl.Name
		switch {
		case tpl.Problem != "":
			line += "!"
			if tpl.Text != nil {
				t.Errorf("%s has a text", tpl.Name)
			}
		case tpl.Path != "":
			line += "=" + tpl.Title
		}
		got = append(got, line)
	}
	want := "debugging code-review documentation test-generator security=Our Security blank broken! docs=Our Docs house=House huge! lost!"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}

	for name, title := range map[string]string{
		"house": "House", "security": "Our Security", "debug": "Debugger", "review": "Code Reviewer", "test": "Test Generator", "testing": "Test Generator",
		"docs": "Our Docs", // a template of the name comes before the alias
	} {
		if tpl, err := template.Find(dir, name); err != nil || tpl.Title != title || len(tpl.Text) == 0 {
			t.Errorf("%s: %q, %v", name, tpl.Title, err)
		}
	}
	if tpl, err := template.Find("", "docs"); err != nil || tpl.Name != "documentation" {
		t.Errorf("docs is %q, %v", tpl.Name, err)
	}
	if _, err := template.Find(dir, "broken"); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Message(err), "broken.md") {
		t.Errorf("a broken one: %v", err)
	}
	for _, name := range []string{"", "nothing", "hidden"} {
		if _, err := template.Find("", name); fault.KindOf(err) != fault.NotFound || !strings.Contains(fault.Message(err), "debugging, code-review") {
			t.Errorf("%q: %v", name, err)
		}
	}
	loud := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "house.md"), filepath.Join(loud, "OUR-STYLE.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := template.Find(loud, "our-style"); !strings.Contains(fault.Message(err), "did you mean OUR-STYLE?") {
		t.Errorf("another case: %v", err)
	}
	if _, err := template.List(filepath.Join(dir, "notes.txt")); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a file instead of a folder: %v", err)
	}
}
