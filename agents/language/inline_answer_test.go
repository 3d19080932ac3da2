package language

import (
	"fmt"
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
		{"ruby", "x = <<~A\n# @reviewer look\nA\n", "#{x} \\(y) @{z} {$q}", "x = <<~A\n# @reviewer look\n# > # {x} \\ (y) @ {z} { $q}\nA\n"},
		{"python", "x = f\"\"\"\n# @reviewer look\n\"\"\"", "{x()}", "x = f\"\"\"\n# @reviewer look\n# > (x())\n\"\"\""},
		{"shellscript", "cat <<A\n# @reviewer look\nA", "`x`", "cat <<A\n# @reviewer look\n# > 'x'\nA"},
		{"shellscript", "# @reviewer look\n", "`x` \"it's\"", "# @reviewer look\n# > 'x' \"it's\"\n"},
		{"shellscript", "# don't\n# @reviewer look\n", "```\n{\"it's\"}\n```", "# don't\n# @reviewer look\n# > ~~~\n# > {\"it's\"}\n# > ~~~\n"},
		{"shellscript", "x=`\n# @reviewer look\necho a`", "see ` ; touch x; `", "x=`\n# @reviewer look\n# > see ' ; touch x; '\necho a`"},
		{"bash", "x=\"\n# @reviewer look\n\"", "`x` \"; y; \"", "x=\"\n# @reviewer look\n# > ’x’ ”; y; ”\n\""},
		{"zsh", "awk '\n# @reviewer look\n'", "don't {`x`}", "awk '\n# @reviewer look\n# > don’t {’x’}\n'"},
		{"ruby", "a = s.split(/,/)\nl =~ /^name=/\n# @reviewer look\n", "https://a/b.rb", "a = s.split(/,/)\nl =~ /^name=/\n# @reviewer look\n# > https://a/b.rb\n"},
		{"ruby", "a << b\n# @reviewer look\n", "`x`", "a << b\n# @reviewer look\n# > `x`\n"},
		{"yaml", "<<: *d\n# @reviewer look\n", "`x`", "<<: *d\n# @reviewer look\n# > `x`\n"},
		{"perl", "# if m<n\n# @reviewer look\n", "a > b", "# if m<n\n# @reviewer look\n# > a > b\n"},
		{"typescript", "x = 'a <> b'\n// @reviewer look\n", "if (a < b) { c() }", "x = 'a <> b'\n// @reviewer look\n// > if (a < b) { c() }\n"},
		{"shellscript", "echo \"a' b\" 'c\n# @reviewer look\nd'", "'; touch x; echo '", "echo \"a' b\" 'c\n# @reviewer look\n# > ’; touch x; echo ’\nd'"},
		{"shellscript", "echo \"it's\" # don't\n# @reviewer look\n", "\"it's\"", "echo \"it's\" # don't\n# @reviewer look\n# > \"it's\"\n"},
		{"perl", "my $x = 'a\n# @reviewer look\nb';", "'; system('touch x'); my $y = '", "my $x = 'a\n# @reviewer look\n# > ’; system(’touch x’); my $y = ’\nb';"},
		{"Ruby", "x = \"a\n# @reviewer look\n\"", "\"; y; \"", "x = \"a\n# @reviewer look\n# > ”; y; ”\n\""},
		{"rust", "fn f(x: &'a str) { '\"'; \"\n// @reviewer look\n\"; }", "\"; y('a')", "fn f(x: &'a str) { '\"'; \"\n// @reviewer look\n// > ”; y('a')\n\"; }"},
		{"rust", "fn f(x: &'a str) { '\"'; }\n// @reviewer look\n", "y(\"a\")", "fn f(x: &'a str) { '\"'; }\n// @reviewer look\n// > y(\"a\")\n"},
		{"sql", "SELECT 'a\n-- @reviewer look\n'", "'; DROP TABLE x; --", "SELECT 'a\n-- @reviewer look\n-- > ’; DROP TABLE x; --\n'"},
		{"sql", "SELECT /* it's */ 'a\n-- @reviewer look\n'", "'; x", "SELECT /* it's */ 'a\n-- @reviewer look\n-- > ’; x\n'"},
		{"sql", "/* it's\n it's */ SELECT 'a\n-- @reviewer look\n' /* it's */", "'; x", "/* it's\n it's */ SELECT 'a\n-- @reviewer look\n-- > ’; x\n' /* it's */"},
		{"ruby", "x = /it's/ =~ 'a\n# @reviewer look\nit' =~ /it's/", "'; x", "x = /it's/ =~ 'a\n# @reviewer look\n# > ’; x\nit' =~ /it's/"},
		{"rust", "/* \" */ \"a\n// @reviewer look\nb\" /* \" */", "\"; x", "/* \" */ \"a\n// @reviewer look\n// > ”; x\nb\" /* \" */"},
		{"sql", "SELECT 'a' /* b */, N'c'\n-- @reviewer look\n", "'c'", "SELECT 'a' /* b */, N'c'\n-- @reviewer look\n-- > 'c'\n"},
		{"julia", "x = 1 ; y = \"a\n# @reviewer look\n\"", "\"; x", "x = 1 ; y = \"a\n# @reviewer look\n# > ”; x\n\""},
		{"vue", "<a #item=\"{\n// @reviewer look\n}\" />", "\" x=\"", "<a #item=\"{\n// @reviewer look\n// > ” x=”\n}\" />"},
		{"nix", "x = ''\n  # @reviewer look\n'';", "x='' y", "x = ''\n  # @reviewer look\n  # > x=’’ y\n'';"},
		{"csharp", "x = $@\"a\n// @reviewer look\n\";", "{y(\"b\")}", "x = $@\"a\n// @reviewer look\n// > (y(”b”))\n\";"},
		{"vb", "x = \"a\n' @reviewer look\n\"", "\" & y() _", "x = \"a\n' @reviewer look\n' > ” & y() _ .\n\""},
		{"vba", "' @reviewer look\nx", "a _\t\nb_", "' @reviewer look\n' > a _ .\n' > b_\nx"},
		{"pgsql", "DO $$\n-- @reviewer look\n$$;", "$$; DROP TABLE x; DO $_ä1$", "DO $$\n-- @reviewer look\n-- > $ $ ; DROP TABLE x; DO $ _ä1$\n$$;"},
		{"sql", "DO $_ä1$\n-- @reviewer look\n$_ä1$;", "$_ä1$", "DO $_ä1$\n-- @reviewer look\n-- > $ _ä1$\n$_ä1$;"},
		{"sql", "SELECT 1;\n-- @reviewer look\n", "$1 or $a$", "SELECT 1;\n-- @reviewer look\n-- > $1 or $a$\n"},
		{"lua", "x = [=[\n-- @reviewer look\n]=]", "]=]; y() --[==[", "x = [=[\n-- @reviewer look\n-- > ] =]; y() --[==[\n]=]"},
		{"haskell", "x = [r|\n-- @reviewer look\n|]", "|]; y", "x = [r|\n-- @reviewer look\n-- > | ]; y\n|]"},
		{"d", "/+\n// @reviewer look\n+/", "+/ x(); /+", "/+\n// @reviewer look\n// > + / x(); / +\n+/"},
		{"go", "// it`s\nx := `\n// @reviewer look\n`", "`; y(); `", "// it`s\nx := `\n// @reviewer look\n// > '; y(); '\n`"},
		{"go", "x := '\"'\n// @reviewer look\n", "\"a\"", "x := '\"'\n// @reviewer look\n// > \"a\"\n"},
		{"go", "// it`s odd\n// @reviewer look\n", "if a { b(`x`) }", "// it`s odd\n// @reviewer look\n// > if a { b('x') }\n"},
		{"php", "// @reviewer look\n", "{!! x !!} @(y) {$z}", "// @reviewer look\n// > { !! x !!} @ (y) { $z}\n"},
		{"go", "// @reviewer look\n", "1.  Do:\n\n    ```\n    " + long + "\n    ```", "// @reviewer look\n// > 1.  Do:\n// >\n// >     ```\n// >     " + long + "\n// >     ```\n"},
		{"go", "// @reviewer look\n", "```text\n```js\n" + long + "\n```", "// @reviewer look\n// > ```text\n// > ```js\n// > " + long + "\n// > ```\n"},
		{"perl", "print \"a\n# @reviewer look\n\"", "$x{system(qq(y))} @x[0] @{[ y ]} $ x{z}", "print \"a\n# @reviewer look\n# > $x｛system(qq(y))｝ @x［0］ @｛［ y ］｝ $ x｛z｝\n\""},
		{"perl", "# @reviewer look\n", "if (x) { y[0] }\n$x{z}", "# @reviewer look\n# > if (x) { y[0] }\n# > $x｛z｝\n"},
		{"perl", "$x = q{a\n# @reviewer look\n};", "}; y(); {", "$x = q{a\n# @reviewer look\n# > ｝; y(); ｛\n};"},
		{"perl", "$x = q{a}; qw(b (c)); m|d|; s/e/f/;\n# @reviewer look\n", "{(|/)}", "$x = q{a}; qw(b (c)); m|d|; s/e/f/;\n# @reviewer look\n# > {(|/)}\n"},
		{"perl", "if ($y < 3 and $m < $s) { # it's (so\n# @reviewer look\n}", "{(|/)}", "if ($y < 3 and $m < $s) { # it's (so\n# @reviewer look\n# > {(|/)}\n}"},
		{"perl", "$x = qq|a\n# @reviewer look\n|;", "|; y()", "$x = qq|a\n# @reviewer look\n# > ¦; y()\n|;"},
		{"perl", "s{a}{\n# @reviewer look\n}e", "}; y()", "s{a}{\n# @reviewer look\n# > ｝; y()\n}e"},
		{"ruby", "x =~ /a/ || y =~ /\n# @reviewer look\n/x", "/; y(1)", "x =~ /a/ || y =~ /\n# @reviewer look\n# > ∕; y(1)\n/x"},
		{"fish", "echo \"\n# @reviewer look\n\"", "$x[(y)]", "echo \"\n# @reviewer look\n# > $x［(y)］\n\""},
		{"ruby", "x = %q(\n# @reviewer look\n)", "); y(", "x = %q(\n# @reviewer look\n# > ）; y（\n)"},
		{"ruby", "x = %w[a b] + [5 %(2)]\n# @reviewer look\n", "y([1])", "x = %w[a b] + [5 %(2)]\n# @reviewer look\n# > y([1])\n"},
		{"elixir", "x = ~s(\n# @reviewer look\n)", "); y(", "x = ~s(\n# @reviewer look\n# > ）; y（\n)"},
		{"swift", "x = #\"\"\"\n// @reviewer look\n\"\"\"#", "\\#(y()) \\##(y())", "x = #\"\"\"\n// @reviewer look\n// > \\ #(y()) \\ ##(y())\n\"\"\"#"},
		{"javascriptreact", "<a title=\"one\n// @reviewer look\ntwo\" />", "\" onClick={() => y()} b=\"", "<a title=\"one\n// @reviewer look\n// > ” onClick=(() => y()) b=”\ntwo\" />"},
		{"typescriptreact", "<p>\n// @reviewer look\n</p>", "{y()} <b/>", "<p>\n// @reviewer look\n// > (y()) ‹b/>\n</p>"},
		{"javascript", "const a = '>' < b\n// @reviewer look\n", "if (a < b) { y(\"c\") }", "const a = '>' < b\n// @reviewer look\n// > if (a < b) { y(\"c\") }\n"},
		{"javascript", "/// <reference path=\"x\" />\n// @reviewer look\n", "y({a: 'b'})", "/// <reference path=\"x\" />\n// @reviewer look\n// > y({a: 'b'})\n"},
		{"groovy", "z = $/\n// @reviewer look\n/$", "/$; y(); z = $/", "z = $/\n// @reviewer look\n// > / $; y(); z = $/\n/$"},
		{"dockerfile", "RUN <<A\necho \"\n# @reviewer look\n\"\nA", "\"; `y`; \"", "RUN <<A\necho \"\n# @reviewer look\n# > ”; ’y’; ”\n\"\nA"},
		{"makefile", "a:\n\techo '\n\t# @reviewer look\n\t'", "'; `y`", "a:\n\techo '\n\t# @reviewer look\n\t# > ’; ’y’\n\t'"},
		{"c", "x = R\"a(\n// @reviewer look\n)a\";", ")a\"; y(); R\"a(", "x = R\"a(\n// @reviewer look\n// > )a”; y(); R”a(\n)a\";"},
		{"c", "x = '\"'; y(\"a\");\n// @reviewer look\n", "y(\"a\", 'b')", "x = '\"'; y(\"a\");\n// @reviewer look\n// > y(\"a\", 'b')\n"},
		{"yaml", "run: |\n  echo \"\n  # @reviewer look\n  \"", "see `touch x`", "run: |\n  echo \"\n  # @reviewer look\n  # > see ’touch x’\n  \""},
		{"yaml", "run: |\n  cat <<A\n  # @reviewer look\n  A", "see `touch x`", "run: |\n  cat <<A\n  # @reviewer look\n  # > see 'touch x'\n  A"},
		{"yaml", "a: 'b'\n# @reviewer look\n", "see `c`", "a: 'b'\n# @reviewer look\n# > see `c`\n"},
		{"typescript", "const s = `\n// @reviewer look\n`", "`${x}`", "const s = `\n// @reviewer look\n// > '$ {x}'\n`"},
		{"pascal", "{ @reviewer look }\nx", "} begin {", "{ @reviewer look }\n{ > ) begin ( }\nx"},
		{"ocaml", "(* @reviewer look *)\nx", `"a *)`, "(* @reviewer look *)\n(* > ''a * ) *)\nx"},
		{"go", "// @reviewer look\n", long, "// @reviewer look\n// > " + strings.TrimSpace(long[:94]) + "\n// > " + strings.TrimSpace(long[95:189]) + "\n// > " + long[190:] + "\n"},
		{"go", "// @reviewer look\n", "```\n" + long + "\n```", "// @reviewer look\n// > ```\n// > " + long + "\n// > ```\n"},
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
		{"rust", "/**\n @reviewer look\n*/", "a"}, {"go", "// @reviewer look\n", " \n"}, {"go", "// @reviewer look\n", "\u200b"}, {"go", "/* @reviewer look */ x()\n", "a"},
		{"go", "/* @reviewer look */ /*\n*/", "a"}, {"c", "// @reviewer look \\\nx", "a"}, {"perl", "$x = q<\n# @reviewer look\n>;", "a"}, {"go", "// @reviewer look\n", strings.Repeat("a\n", 201)},
	} {
		c := InlineCommands(w, "", test.language, test.text)[0]
		if e, err := c.Below(test.language, test.text, test.answer); fault.KindOf(err) != fault.Invalid || e != (Edit{}) {
			t.Errorf("%s %q: %+v, %v", test.language, test.text, e, err)
		}
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

// bed are comments of several languages around a command; what is outside of the
// comment is known by a line that begins another command.
var bed = []struct {
	language, before, after string
	never                   string // what would end the string that it stands in, with spaces between
}{
	{"go", "\t// @reviewer look", "\n// @reviewer last\n", ""},
	{"go", "/* @reviewer look */", "\n// @reviewer last\n", ""},
	{"java", "/**\n * @reviewer look", "\n */\n// @reviewer last\n", ""},
	{"java", "/* @reviewer look", "\n*/\n// @reviewer last\n", ""},
	{"python", "# @reviewer look", "\n# @reviewer last\n", ""},
	{"html", "<!-- @reviewer look -->", "\n<!-- @reviewer last -->\n", ""},
	{"markdown", "@reviewer look", "\n@reviewer last\n", ""},
	{"perl", "$x = 'a\n# @reviewer look", "\n# @reviewer last\n';", "' \""},
	{"bash", "echo \"it's\" x = 'a\n# @reviewer look", "\n# @reviewer last\n'", "' \""},
	{"ocaml", "(* @reviewer look *)", "\n(* @reviewer last *)\n", ""},
	{"pascal", "{ @reviewer look }", "\n{ @reviewer last }\n", ""},
	{"php", "/* @reviewer look */", "\r\n# @reviewer last\r\n", ""},
	{"nix", "x = ''\n  # @reviewer look", "\n  # @reviewer last\n'';", "'' ${"},
	{"pgsql", "DO $a$\n-- @reviewer look", "\n-- @reviewer last\n$a$;", "$$ $a$"},
	{"lua", "x = [=[\n-- @reviewer look", "\n-- @reviewer last\n]=]", "]=] ]]"},
	{"vb", "x = $\"\n' @reviewer look", "\n' @reviewer last\n\"", "\" {"},
	{"perl", "print \"$a\n# @reviewer look", "\n# @reviewer last\n\"", "' \" ` ${ $x{ $x[ $_{ $1[ @{ @x["},
	{"perl", "$x = q{\n# @reviewer look", "\n# @reviewer last\n}", "{ }"},
	{"ruby", "x = %q(\n# @reviewer look", "\n# @reviewer last\n)", "( )"},
	{"elixir", "x = ~s|\n# @reviewer look", "\n# @reviewer last\n|", "|"},
	{"swift", "x = #\"\"\"\n// @reviewer look", "\n// @reviewer last\n\"\"\"#", "\"\"\" \\# \\("},
	{"javascriptreact", "<a title=\"one\n// @reviewer look", "\n// @reviewer last\n\" />", "' \" { } <"},
	{"groovy", "x = $/\n// @reviewer look", "\n// @reviewer last\n/$", "/$ ${"},
	{"makefile", "a:\n\techo \"\n\t# @reviewer look", "\n\t# @reviewer last\n\t\"", "' \" ` $( ${"},
	{"yaml", "run: |\n  echo \"\n  # @reviewer look", "\n  # @reviewer last\n  \"", "' \" ` $("},
	{"c", "x = R\"a(\n// @reviewer look", "\n// @reviewer last\n)a\"", "\""},
	{"unheard-of", "-- @reviewer look", "\n; @reviewer last\n", ""},
}

// FuzzBelow puts any text below commands: around it nothing changes, it is lines
// of comments, and it ends or begins none.
func FuzzBelow(f *testing.F) {
	for _, s := range []string{"a", "*/ x /*", "-->\n<!--", "*) (*", "} {", "@main go\n* @main go", "\\", "*\n/", "*\\\n/", "\u2028@main x", "```\n@main x", "--!>", "''*)", "/**/*/", "\r@main x\r\n", "\\u002a/", "a\u202eb\x00\x1b\u200b",
		"$x{system(qq(y))} @x[0] $1[y]", "}; y(); {", "); y(", "\" onClick={y} <b/>", "/$; y", "see `y`", "\\#(y)", ")a\"; y", "|; y",
		strings.Repeat("w ", 46) + "\\  " + strings.Repeat("b", 30), strings.Repeat("w ", 46) + "??/  " + strings.Repeat("b", 30), strings.Repeat("w ", 46) + "\\\t " + strings.Repeat("b", 30)} {
		f.Add(s)
	}
	w := team(f)
	f.Fuzz(func(t *testing.T, answer string) {
		if len(answer) > 4<<10 {
			return
		}
		for _, b := range bed {
			text := b.before + b.after
			all := InlineCommands(w, "", b.language, text)
			e, err := all[0].Below(b.language, text, answer)
			if err != nil {
				if strings.Contains(err.Error(), "too long") || strings.Contains(err.Error(), "empty") {
					continue
				}
				t.Fatal(err)
			}
			after := put(text, e)
			if !strings.HasPrefix(after, b.before) || !strings.HasSuffix(after, b.after) {
				t.Fatalf("%s: %q", b.language, after)
			}
			var got []string
			for _, c := range InlineCommands(w, "", b.language, after) {
				got = append(got, c.Typed)
			}
			if fmt.Sprint(got) != "[@reviewer look @reviewer last]" {
				t.Fatalf("%s: %q has %q", b.language, after, got)
			}
			marks := all[0].marks
			if b.language == "markdown" {
				marks = angles.block[0]
			}
			inside := e.Text
			if marks[0] != "" && !all[0].goes {
				inside = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(inside), marks[0]), marks[1])
			}
			if marks[0] != "" && (strings.Contains(inside, marks[0]) || strings.Contains(inside, marks[1])) {
				t.Fatalf("%s: %q", b.language, inside)
			}
			for never := range strings.FieldsSeq(b.never) {
				if strings.Contains(strings.ReplaceAll(inside, b.before[strings.LastIndexByte(b.before, '\n')+1:], ""), never) {
					t.Fatalf("%s: the string ends in %q", b.language, inside)
				}
			}
			if strings.ContainsAny(inside, "\u2028\u2029\u0085\v\f\x00\x1b\u202e\u200b") || strings.Contains(inside, `\u`) {
				t.Fatalf("%s: %q", b.language, inside)
			}
			for line := range strings.SplitSeq(strings.TrimLeft(strings.ReplaceAll(inside, "\r\n", "\n"), "\n"), "\n") {
				if splices(strings.TrimRight(line, " \t")) || (!strings.Contains(line, ">") && strings.TrimSpace(line) != "") {
					t.Fatalf("%s: a line %q", b.language, line)
				}
			}
		}
	})
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
