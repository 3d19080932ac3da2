package language

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
)

func openText(path, text string) *File {
	return Open(definition.Source{Path: path, Folder: "/w", Scope: definition.Project, Data: []byte(text)})
}

// format formats a text by its edits.
func format(t interface {
	Fatalf(string, ...any)
	Helper()
}, path, text string) string {
	t.Helper()
	return applyEdits(t, text, Format(openText(path, text)))
}

func TestFormat(t *testing.T) {
	const path = "/w/.gemini/agents/x.md"
	for _, c := range []struct{ name, text, want string }{
		{"order", "---\nmodel: pro\nname: x\nkind: agent\ntitle: X\n---\nb\n", "---\nkind: agent\nname: x\ntitle: X\nmodel: pro\n---\nb\n"},
		{"unknown last", "---\nzeta: 1\nalpha: 2\nkind: agent\nname: x\n---\nb\n", "---\nkind: agent\nname: x\nzeta: 1\nalpha: 2\n---\nb\n"},
		{"comments", "---\n# of the model\n# two lines\nmodel: pro # beside\nname: x\n  # deeper, of the name\n\n# of the kind\nkind: agent\n# at the end\n---\nb\n",
			"---\n# of the kind\nkind: agent\nname: x\n  # deeper, of the name\n# of the model\n# two lines\nmodel: pro # beside\n# at the end\n---\nb\n"},
		{"header", "---\n# header\n\nname: x\nkind: agent\n---\nb\n", "---\n# header\n\nkind: agent\nname: x\n---\nb\n"},
		{"spaces", "--- \nkind:   agent  \nname: x\t\ntools:\n  allow: [ls,glob ,  grep ]\n  deny:\n    -   bash\n---\t\nb  \nc\n\n\n", "---\nkind: agent\nname: x\ntools:\n  allow: [ls, glob, grep]\n  deny:\n    - bash\n---\nb  \nc\n"},
		{"nested", "---\nkind: agent\nname: x\nrun:\n  mode: task # m\n  # of turns\n  max_turns: 3\ntools:\n  deny: [bash]\n  allow: [ls]\n---\nb\n",
			"---\nkind: agent\nname: x\ntools:\n  allow: [ls]\n  deny: [bash]\nrun:\n  # of turns\n  max_turns: 3\n  mode: task # m\n---\nb\n"},
		{"several lines", "---\nname: x\ndescription: |\n  a  \n  b\n\n    c   \nkind: agent\n---\nb\n", "---\nkind: agent\nname: x\ndescription: |\n  a  \n  b\n\n    c   \n---\nb\n"},
		{"kept lines", "---\ndescription: |+\n  a\n\n\nname: x\nkind: agent\n---\nb\n", "---\nkind: agent\nname: x\ndescription: |+\n  a\n\n\n---\nb\n"},
		{"folded", "---\nname: x\ndescription: a\n  b  \n  c\nkind: agent\n---\nb\n", "---\nkind: agent\nname: x\ndescription: a\n  b  \n  c\n---\nb\n"},
		{"line ends", "\ufeff---\r\nname: x \r\nkind: agent\r\n---\r\nb", "\ufeff---\r\nkind: agent\r\nname: x\r\n---\r\nb\r\n"},
		{"same twice", "---\nname: x\nmaxTokens: 5\nmax_tokens: 4\nkind: agent\n---\nb\n", "---\nkind: agent\nname: x\nmaxTokens: 5\nmax_tokens: 4\n---\nb\n"},
		{"handoffs", "---\nname: x\nhandoffs:\n  - to:   b\n    when: auto\nmodel:   pro\nkind: agent\n---\nb\n", "---\nkind: agent\nname: x\nmodel: pro\nhandoffs:\n  - to: b\n    when: auto\n---\nb\n"},
		{"broken", "---\nname:   x\n  kind: {{\n---\nb\n", "---\nname:   x\n  kind: {{\n---\nb\n"},
		{"repaired", "---\nname:   x\ndescription: a: b\n---\nb\n", "---\nname:   x\ndescription: a: b\n---\nb\n"},
		{"twice", "---\nname:   x\nname: y\n---\nb\n", "---\nname:   x\nname: y\n---\nb\n"},
		{"in braces", "---\n{name:   x, kind: agent}\n---\nb\n", "---\n{name: x, kind: agent}\n---\nb\n"},
		{"no front-matter", "name:   x  \n", "name:   x  \n"},
		{"empty", "", ""},
		{"Claude", "---\ntools: Read,  Grep\nname:   x\ndescription: d\n---\nb\n", "---\ntools: Read,  Grep\nname: x\ndescription: d\n---\nb\n"},
	} {
		if got := format(t, path, c.text); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
		if again := Format(openText(path, c.want)); len(again) > 0 {
			t.Errorf("%s: formatting it again gives %+v", c.name, again)
		}
	}
}

// TestFormatPublic formats public files: nothing that they say changes, and
// nothing changes the second time.
func TestFormatPublic(t *testing.T) {
	files, err := filepath.Glob("../template/builtin/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	more, err := filepath.Glob("../definition/testdata/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkFormat(t, "/w/.gemini/agents/"+filepath.Base(file), string(data))
	}
}

// checkFormat holds Format to what it promises.
func checkFormat(t interface {
	Fatalf(string, ...any)
	Helper()
}, path, text string) {
	t.Helper()
	f := openText(path, text)
	got := applyEdits(t, text, Format(f))
	if got != text && !sameMeaning(f, got) {
		t.Fatalf("%s\nformatted to something else:\n%s", text, got)
	}
	if again := Format(openText(path, got)); len(again) > 0 {
		t.Fatalf("%q\nformatted to\n%q\nand again %+v", text, got, again)
	}
	count := func(s string) (n int) {
		for _, c := range s {
			if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				n += int(c)
			}
		}
		return n
	}
	if count(got) != count(text) {
		t.Fatalf("%q\nlost or gained text:\n%q", text, got)
	}
}

func TestFormatKeepsMeaning(t *testing.T) {
	line := rapid.SampledFrom([]string{
		"kind: agent", "name:   x", "title: 'a  b'", "description: one", "description: >-\n  a\n\n  b ", "description: |+\n  a\n\n", "description: |\n  b\n  ", "model:  pro  # why", "# note", "", "  # deeper", "\t",
		"tools:\n  deny: [bash ]\n  # c\n  allow: [ ls,glob]", "tools: {deny: [bash],  allow: [ls]}", "run:\n    mode: task\n    max_turns:   3", "run: {max_turns: 3}", "maxTokens: 9", "displayName: D", "title: T",
		"handoffs:\n- to: b\n  when:   auto\n-   to: c", "handoffs:\n  -   {to: b}", "subagents:\n  - a\n  -    b", "zeta: [1,2]", "alpha: \"x \\\n  y\"", "inputs:\n  b: {type: string}\n  a:   {type: string}",
		"query: ${a}", "triggers:\n  keywords: [a ,b]\n\n  # in between\n  examples:\n    - c d",
	})
	rapid.Check(t, func(rt *rapid.T) {
		eol := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(rt, "eol")
		text := "---\n" + strings.Join(rapid.SliceOfN(line, 0, 9).Draw(rt, "lines"), "\n") + "\n---\nbody" + rapid.SampledFrom([]string{"", "\n", " \n\n"}).Draw(rt, "end")
		checkFormat(rt, "/w/.gemini/agents/x.md", strings.ReplaceAll(text, "\n", eol))
	})
}

// TestUnformatted: what is left alone says why, with its line.
func TestUnformatted(t *testing.T) {
	for text, want := range map[string]string{
		"---\nkind: agent\nname: x\ntitle: X\n---\np\n":               "",
		"---\nkind: agent\nname: x\ndescription: a: b\n---\np\n":      "x.md is not formatted before its front-matter is fixed, line 4: ",
		"---\nkind: agent\nname: [\n---\np\n":                         "x.md is not formatted before its front-matter is fixed, line ",
		"nothing":                                                     "x.md is not formatted before its front-matter is fixed, line 1: The front-matter is missing",
		"---\nkind: agent\nname: x\ntitle: &a X\nmodel: *a\n---\np\n": "x.md is not formatted before its front-matter is fixed, line 4: ",
	} {
		f := openText("/w/.gemini/agents/x.md", text)
		if got := WhyUnformatted(f); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q", text, got)
		}
		if edits := Format(f); want != "" && len(edits) > 0 {
			t.Errorf("%q is formatted: %v", text, edits)
		}
	}
}
