package language

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

func TestInlineCommands(t *testing.T) {
	w := team(t)
	for _, test := range []struct{ language, text, want string }{
		{"go", "x := 1\n\t// @reviewer look at this\n", "reviewer: look at this"},
		{"go", "//@reviewer look\n/// @auto  what to do \n", "reviewer: look|auto: what to do"},
		{"go", "x := 1 // @reviewer look\ns := \"// @reviewer no\"\n", ""},
		{"go", "# @reviewer look\n", ""},
		{"java", "/**\n * @param x it\n * @Override\n * @reviewer look\n */\n@Override void f() {}\n", "reviewer: look"},
		{"java", "/* @reviewer look */\n/* @code-fixer mend\n@auto go */ @reviewer no\n", "reviewer: look|code-fixer: mend|auto: go"},
		{"python", "#   @auto --strategy=rule fix it\n@decorator\n@reviewer\ndef f(): pass\n", "auto: fix it"},
		{"sql", "-- @reviewer is this fast?\nselect @x;\n", "reviewer: is this fast?"},
		{"clojure", ";; @reviewer look\n", "reviewer: look"},
		{"latex", "%% @reviewer look\n", "reviewer: look"},
		{"html", "<!-- @reviewer look -->\n<p>@reviewer no</p>\n", "reviewer: look"},
		{"vim", "\" @reviewer look\n", "reviewer: look"},
		{"vb", "' @reviewer look\n", "reviewer: look"},
		{"css", "/* @reviewer look */\n@media print {}\n", "reviewer: look"},
		{"ocaml", "(* @reviewer look *)\n", "reviewer: look"},
		{"bat", "REM @reviewer look\n", "reviewer: look"},
		{"unheard-of", "// @reviewer a\n# @reviewer b\n-- @reviewer c\n' @reviewer no\n", "reviewer: a|reviewer: b|reviewer: c"},
		{"markdown", "@reviewer look\n\n  @auto go\n\n    @reviewer code\n- @reviewer item\n<!-- @reviewer hidden -->\n", "reviewer: look|auto: go|reviewer: hidden"},
		{"markdown", "```\n@reviewer no\n```\n~~~\n@auto no\n```\n~~~\n@reviewer yes\n", "reviewer: yes"},
		{"markdown", "```text\n```js\n@reviewer no\n    ```\n@reviewer no\n```\n@reviewer yes\n", "reviewer: yes"},
		{"markdown", "a\n    ```\n@reviewer yes\n", "reviewer: yes"},
		{"markdown", "1.  Do:\n\n    ```html\n    <!-- @reviewer no -->\n    ```\n    <!-- @reviewer yes -->\n", "reviewer: yes"},
		{"markdown", "-\t3) Do:\n\n\t\t~~~\n\t\t<!-- @reviewer no -->\n\t\t~~~\n\n@reviewer yes\n", "reviewer: yes"},
		{"markdown", "- ```\n  @reviewer no\n  ```\n*\n  ```\n  @reviewer no\n  ```\n  @reviewer yes\n", "reviewer: yes"},
		{"markdown", "- Do:\n\nNot in it:\n\n    ```sh\n@reviewer yes\n    ```\n@reviewer this\n", "reviewer: yes|reviewer: this"},
		{"markdown", "-     ```\n@reviewer yes\n1234567890. x\n    ```\n@reviewer this\n", "reviewer: yes|reviewer: this"},
		{"markdown", "---\n@reviewer below a rule\n", "reviewer: below a rule"},
		{"markdown", "---\nname: x\n@reviewer no\n---\n@reviewer yes\n", "reviewer: yes"},
		{"markdown", "a <!-- b\n@reviewer look\r\n@reviewer \"quoted\"\r\n", "reviewer: look|reviewer: quoted"},
		{"go", "// @reviewer\n// @hidden look\n// @broken look\n// @nobody look\n// @reviewer.x y\n// @reviewer(1)\n// say @reviewer x\n// @ reviewer\n", ""},
		{"go", "// @b:other look\n// @b:reviewer look\n// @main, hello\n", "b:other: look|main: hello"},
		{"Go", "// @reviewer 看看 @code-fixer 的改动\n", "reviewer: 看看 @code-fixer 的改动"},
		{"go", "", ""},
	} {
		var got []string
		index := definition.NewIndex(test.text)
		for _, c := range InlineCommands(w, "", test.language, test.text) {
			got = append(got, c.Agent+": "+c.Text)
			from, to := index.Offset(c.Range.Start), index.Offset(c.Range.End)
			if test.text[from:to] != c.Typed || !strings.Contains(test.text, c.Before+c.Typed+c.After) || !strings.HasPrefix(c.Typed, "@") {
				t.Errorf("%q: range %q, typed %q between %q and %q", test.text, test.text[from:to], c.Typed, c.Before, c.After)
			}
			if l := c.Lens("file:///x"); l.Command != CommandRunInline || !slices.Equal(l.Args, []any{"file:///x", c.Range.Start.Line, c.Typed}) || l.Range != c.Range {
				t.Errorf("lens %+v", l)
			}
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%s %q: got %q, want %q", test.language, test.text, strings.Join(got, "|"), test.want)
		}
	}
	if got := InlineCommands(&World{}, "", "go", "// @reviewer x\n// @auto y\n"); len(got) != 1 || got[0].Agent != "auto" {
		t.Errorf("without agents: %v", got)
	}
	c := InlineCommands(w, "", "html", "  <!-- @auto --strategy=llm go -->\n")[0]
	if c.Before != "  <!-- " || c.After != " -->" || c.Strategy != "llm" {
		t.Errorf("%+v", c)
	}
}

func TestCompleteInline(t *testing.T) {
	w := team(t)
	for _, test := range []struct {
		language, text string
		offered        bool
	}{
		{"go", "x\n// @‸", true}, {"go", "x\n\t// @rev‸iewer look", true}, {"go", "// look @‸", false}, {"go", "@‸", false},
		{"markdown", "@‸", true}, {"markdown", "Hello.\n@code‸\n", true}, {"markdown", "```\n@‸\n```", false}, {"markdown", "a @‸", false},
		{"python", "# @‸", true}, {"java", "/**\n * @‸\n */", true}, {"go", "// @ ‸", false}, {"go", "//‸", false},
	} {
		before, after, _ := strings.Cut(test.text, cursor)
		at := definition.NewIndex(before + after).Position(len(before))
		items := CompleteInline(w, "", test.language, before+after, at).Items
		got := labels(items)
		if want := []string{"code-fixer", "reviewer", "other", "codebase_investigator", "main", "auto"}; (test.offered && !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))) || (!test.offered && items != nil) {
			t.Errorf("%s %q: %q", test.language, test.text, got)
		}
		if test.text == "x\n\t// @rev‸iewer look" && taken(&File{Text: before + after, Index: definition.NewIndex(before + after)}, items[0]) != "x\n\t// @"+got[0]+" look" {
			t.Errorf("%s is put in at %v", got[0], items[0].Range)
		}
	}
}
