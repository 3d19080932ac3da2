package language

import (
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/internal/fault"
)

// put makes an edit of a text.
func put(text string, e Edit) string {
	index := definition.NewIndex(text)
	return text[:index.Offset(e.Range.Start)] + e.Text + text[index.Offset(e.Range.End):]
}

func TestBelow(t *testing.T) {
	w := team(t)
	long := strings.TrimSpace(strings.Repeat("word ", 40))
	for _, test := range []struct{ language, text, answer, want string }{
		{"go", "\t// @reviewer look\n\tx()\n", "Fine.\n\nIt is.", "\t// @reviewer look\n\t// > Fine.\n\t// >\n\t// > It is.\n\tx()\n"},
		{"go", "//@reviewer look", "Fine.", "//@reviewer look\n// > Fine."},
		{"python", "# @reviewer look\r\nx\r\n", "a\nb", "# @reviewer look\r\n# > a\r\n# > b\r\nx\r\n"},
		{"go", "/* @reviewer look */\nx", "*/ panic(1) /*", "/* @reviewer look */\n/* > * / panic(1) / * */\nx"},
		{"java", "/**\n * @reviewer look\n */\nx", "a */ b\n/", "/**\n * @reviewer look\n * > a * / b\n * > /\n */\nx"},
		{"java", "/** @reviewer look\n */\nx", "a\nb", "/** @reviewer look\n    > a\n    > b\n */\nx"},
		{"java", "/*\n @reviewer look */\nx", "a\nb", "/*\n @reviewer look */\n /*\n > a\n > b\n */\nx"},
		{"html", "  <!-- @reviewer look -->\n<p>", "<p> --> <script>", "  <!-- @reviewer look -->\n  <!-- > <p> - -> <script> -->\n<p>"},
		{"markdown", "@reviewer look\nmore", "a\n@main do it\n--x", "@reviewer look\n<!--\n> a\n> @main do it\n> - -x\n-->\nmore"},
		{"c", "// @reviewer look\nx", `a \`, "// @reviewer look\n// > a \\ .\nx"},
		{"java", "// @reviewer look\nx", `\u000a int x;`, "// @reviewer look\n// > \\ u000a int x;\nx"},
		{"javascript", "// @reviewer look\nx", "a\u2028b\u202ec\x00\x1bd\xff", "// @reviewer look\n// > a\n// > bcd\uFFFD\nx"},
		{"php", "# @reviewer look\nx", "?><script>", "# @reviewer look\n# > ? ><script>\nx"},
		{"python", "# @reviewer look\nx", "coding: utf-7 vim: set x: index: 1", "# @reviewer look\n# > coding : utf-7 vim : set x: index: 1\nx"},
		{"python", "# @reviewer look\nx", "Vim: set x:\nVim700: y\nlocal variables: z", "# @reviewer look\n# > Vim : set x:\n# > Vim700 : y\n# > local variables : z\nx"},
		{"rust", "/// A.\n/// @reviewer look\nfn x() {}", "```\nx()\n```", "/// A.\n/// @reviewer look\n// > ```\n// > x()\n// > ```\nfn x() {}"},
		{"rust", "\t//! @reviewer look\n", "    x()", "\t//! @reviewer look\n\t// > x()\n"},
		{"rust", "/** @reviewer look */\nx", "a", "/** @reviewer look */\n/* > a */\nx"},
		{"nim", "## @reviewer look\nx", "a", "## @reviewer look\n# > a\nx"},
		{"clojure", ";; @reviewer look\nx", "a", ";; @reviewer look\n;; > a\nx"},
		{"makefile", "a:\n\t# @reviewer look\n", "$(shell x) ${y}", "a:\n\t# @reviewer look\n\t# > $ (shell x) $ {y}\n"},
		{"shellscript", "awk '\n# @reviewer look\n'", "don't {`x`} \"$(y)\"", "awk '\n# @reviewer look\n# > don’t {’x’} ”$ (y)”\n'"},
		{"yaml", "run: |\n  echo \"\n  # @reviewer look\n  \"", "see `touch x`", "run: |\n  echo \"\n  # @reviewer look\n  # > see ’touch x’\n  \""},
		{"sql", "DO $a$\n-- @reviewer look\n$a$;", "$a$; DROP 'x'", "DO $a$\n-- @reviewer look\n-- > $ a$ ; DROP ’x’\n$a$;"},
		{"rust", "x(\"a\n// @reviewer look\nb\");", "\"; y('a')", "x(\"a\n// @reviewer look\n// > ”; y('a')\nb\");"},
		{"go", "x := `\n// @reviewer look\n`", "`; y(\"a\"); `", "x := `\n// @reviewer look\n// > '; y(\"a\"); '\n`"},
		{"lua", "x = [=[\n-- @reviewer look\n]=]", "]=]; y() --[==[", "x = [=[\n-- @reviewer look\n-- > ] =]; y() --[==[\n]=]"},
		{"typescript", "const s = `\n// @reviewer look\n`", "`${x}`", "const s = `\n// @reviewer look\n// > '$ {x}'\n`"},
		{"javascript", "/* @reviewer look */\n<b/>", "{y({a: 'b'})}", "/* @reviewer look */\n/* > {y({a: 'b'})} */\n<b/>"},
		{"python", "x = \"\"\"a\"\"\"\n# @reviewer look\n", "{x()}", "x = \"\"\"a\"\"\"\n# @reviewer look\n# > {x()}\n"},
		{"swift", "x = #\"\"\"\n// @reviewer look\n\"\"\"#", "\\#(y()) \\##(y())", "x = #\"\"\"\n// @reviewer look\n// > \\ #(y()) \\ ##(y())\n\"\"\"#"},
		{"vba", "' @reviewer look\nx", "a _\t\nb_", "' @reviewer look\n' > a _ .\n' > b_\nx"},
		{"php", "// @reviewer look\n", "{!! x !!} @(y) {$z}", "// @reviewer look\n// > { !! x !!} @ (y) { $z}\n"},
		{"go", "// @reviewer look\n", "1.  Do:\n\n    ```\n    " + long + "\n    ```", "// @reviewer look\n// > 1.  Do:\n// >\n// >     ~~~\n// >     " + long + "\n// >     ~~~\n"},
		{"go", "// @reviewer look\n", "```text\n```js\n" + long + "\n```", "// @reviewer look\n// > ~~~text\n// > ~~~js\n// > " + long + "\n// > ~~~\n"},
		{"go", "// @reviewer look\n", long, "// @reviewer look\n// > " + strings.TrimSpace(long[:94]) + "\n// > " + strings.TrimSpace(long[95:189]) + "\n// > " + long[190:] + "\n"},
		{"go", "// @reviewer look\n", "```\n" + long + "\n```", "// @reviewer look\n// > ~~~\n// > " + long + "\n// > ~~~\n"},
	} {
		c := InlineCommands(w, "", test.language, test.text)[0]
		e, err := c.Below(test.language, test.text, test.answer)
		if got := put(test.text, e); err != nil || got != test.want {
			t.Errorf("%s %q: %v, got\n%q, want\n%q", test.language, test.answer, err, got, test.want)
		}
	}
	for _, test := range []struct{ language, text, answer string }{
		{"bat", "REM @reviewer look\n", "a"}, {"mdx", "@reviewer look\n", "a"}, {"quarto", "@reviewer look\n", "a"}, {"rmd", "@reviewer look\n", "a"},
		{"blade", "<!-- @reviewer look -->\n", "a"}, {"razor", "<!-- @reviewer look -->\n", "a"}, {"AspNetCoreRazor", "// @reviewer look\n", "a"}, {"smarty", "<!-- @reviewer look -->\n", "a"},
		{"ruby", "# @reviewer look\n", "a"}, {"perl", "# @reviewer look\n", "a"}, {"julia", "# @reviewer look\n", "a"}, {"ocaml", "(* @reviewer look *)\n", "a"},
		{"python", "x = f\"\"\"\n# @reviewer look\n\"\"\"", "a"}, {"csharp", "x = $@\"a\n// @reviewer look\n\";", "a"}, {"typescriptreact", "<p>\n// @reviewer look\n</p>", "a"},
		{"rust", "/**\n @reviewer look\n*/", "a"}, {"go", "// @reviewer look\n", " \n"}, {"go", "// @reviewer look\n", "\u200b"}, {"go", "/* @reviewer look */ x()\n", "a"},
		{"go", "/* @reviewer look */ /*\n*/", "a"}, {"c", "// @reviewer look \\\nx", "a"}, {"go", "// @reviewer look\n", strings.Repeat("a\n", 201)},
	} {
		c := InlineCommands(w, "", test.language, test.text)[0]
		if e, err := c.Below(test.language, test.text, test.answer); fault.KindOf(err) != fault.Invalid || e != (Edit{}) {
			t.Errorf("%s %q: %+v, %v", test.language, test.text, e, err)
		}
	}
}

// TestALineOfSpacesIsCutAtOnce: what stands before a space is not looked at for each.
func TestALineOfSpacesIsCutAtOnce(t *testing.T) {
	blank := strings.Repeat(" ", 1<<20)
	if got := wrapLine(blank + "a"); len(got) != 1 || got[0] != blank+"a" {
		t.Errorf("%d parts", len(got))
	}
}

func TestInstead(t *testing.T) {
	w := team(t)
	for _, test := range []struct{ language, text, answer, want, why string }{
		{"go", "a\n\t// @reviewer look\nb\n", "Here:\n```go\nif x {\n\ty()\n}\n```\nDone.", "a\n\tif x {\n\t\ty()\n\t}\nb\n", ""},
		{"go", "a\n\t// @reviewer look\nb\n", "```go\n\tif x {\n\t\ty()\n\n\t}\n```", "a\n\tif x {\n\t\ty()\n\n\t}\nb\n", ""},
		{"go", "\t/* @reviewer look */\r\n", "a()\nb()", "\ta()\r\n\tb()\r\n", ""},
		{"markdown", "@reviewer look", "````md\n```\nx\n```\n````", "```\nx\n```", ""},
		{"go", "// @reviewer look\n", "1.  Do:\n\n    ```go\n    if x {\n\ty()\n\n      }\n    ```\n2.  Done.", "if x {\ny()\n\n  }\n", ""},
		{"go", "// @reviewer look\n", "```\n```", "", "empty"},
		{"go", "// @reviewer look\n", " \n", "", "empty"},
		{"go", "// @reviewer look\n", "```\na", "a\n", ""},
		{"go", "// @reviewer look\n", "```\na\n```\n```\nb\n```", "", "several"},
		{"java", "/**\n * @reviewer look\n */", "a", "", "longer comment"},
		{"go", "/* @reviewer look */ x", "a", "", "something else"},
	} {
		c := InlineCommands(w, "", test.language, test.text)[0]
		e, err := c.Instead(test.text, test.answer)
		if test.why != "" {
			if err == nil || !strings.Contains(err.Error(), test.why) {
				t.Errorf("%q: %v", test.text, err)
			}
		} else if got := put(test.text, e); err != nil || got != test.want {
			t.Errorf("%q: %v, got %q, want %q", test.answer, err, got, test.want)
		}
	}
}

func TestAround(t *testing.T) {
	big := strings.Repeat("\tx()\n", 300)
	for _, test := range []struct{ language, text, want string }{
		{"go", "package x\n\n// f\n// ‸\nfunc f(\n\ta int,\n) {\n\tx()\n\n\ty()\n}\n\nfunc g() {}\n", "// f..}"},
		{"go", "package x\n\n// f\nfunc f() {\n\tif a {\n\t\tb\n\t} else {\n\t\t// ‸\n\t\tc\n\t}\n}\n\nfunc g() {}\n", "// f..}"},
		{"csharp", "class A\n{\n    void F()\n    {\n        // ‸\n        x();\n    }\n}\n", "class A..}"},
		{"python", "import x\n\n# ‸\n@deco\ndef f():\n    a\n\n    b\n\ndef g():\n    c\n", "# ‸..    b"},
		{"python", "class A:\n    def f(self):\n        # ‸\n        a\n\n    def g(self):\n        b\n\nx = 1\n", "class A:..        b"},
		{"go", "func f() {\n\tif a {\n\t\t// ‸\n\t\tb\n\t}\n" + big + "}\n", "\tif a {..\t}"},
		{"go", "func f() {\n" + big + "\t// ‸\n" + big + "}\n", "\tx()..\tx()"},
		{"go", "// ‸\na\nb\n\nc\n", "// ‸..b"},
		{"go", "a\n// ‸", "// ‸..// ‸"},
		{"markdown", "# a\n" + big + "## b\n‸\ntext\n### c\nmore\n## d\n", "## b..more"},
		{"markdown", "a\n‸\nb\n", "a..b"},
		{"html", "<ul>\n  <!-- ‸ -->\n  <li>\n</ul>\n<p>\n", "<ul>..</ul>"},
		{"go", "‸", "‸..‸"},
	} {
		at := strings.Count(test.text[:strings.Index(test.text, cursor)], "\n")
		first, last := Around(test.language, test.text, at)
		lines := strings.Split(test.text, "\n")
		if got := lines[first] + ".." + lines[last]; got != test.want {
			t.Errorf("%q: lines %d to %d, %q, want %q", test.text[:min(len(test.text), 80)], first, last, got, test.want)
		}
	}
	first, last := Around("go", "func f() {\n"+big+"\t// @\n"+big+"}\n", 301)
	if first != 261 || last != 341 {
		t.Errorf("in a long function: lines %d to %d", first, last)
	}
}
