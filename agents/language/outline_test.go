package language

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentls/agentls/agents/definition"
)

// sample has something of everything.
const sample = `---
kind: agent # ours
name: mine
title: Mine
# a comment
model: gemini-2.5-pro
fallback_models: [inherit, pro]
color: "#FF8000"
tools:
  allow:
    - ls
    - mcp.github.*
mcp: {servers: [github]}
handoffs:
  - to: reviewer
    when: auto
  - description: "Who # goes on"
    to: user
inputs:
  goal: {type: string, required: true}
query: Do ${goal} for @reviewer
triggers:
  patterns: ['\bfix\b']
description: |
  Two # lines
  of text
run:
  max_turns: 3
---
# Role

You fix ${goal}; $${goal} is kept. See https://example.org/a_(b), and @docs/rules.md.

## Steps ##

` + "```sh\n# no heading ${goal}\n```" + `

Ask @reviewer, not @nobody. Read GEMINI.md.
# End
`

func openSample(t testing.TB) *File {
	t.Helper()
	return Open(definition.Source{Path: mine, Folder: "/w", Scope: definition.Project, Data: []byte(sample)})
}

func TestOutline(t *testing.T) {
	f := openSample(t)
	var b strings.Builder
	var show func(parts []Part, indent string)
	show = func(parts []Part, indent string) {
		for _, p := range parts {
			fmt.Fprintf(&b, "%s%s %s [%s] %d-%d\n", indent, p.Kind, p.Name, p.Detail, p.Range.Start.Line, p.Range.End.Line)
			show(p.Children, indent+" ")
		}
	}
	show(Outline(f), "")
	for _, want := range []string{
		"agent mine [Mine] 0-", "\n field model [gemini-2.5-pro] 5-5\n", "\n field tools [] 8-11\n  field allow [2 entries] 9-11\n",
		"\n field handoffs [2 entries] 13-17\n  field reviewer [] 14-15\n   field to [reviewer] 14-14\n", "\n  field Who # goes on [] 16-17\n",
		"\n  field goal [] 19-19\n   field type [string] 19-19\n", "\n field description [Two # lines of text] 23-2",
		"\n heading Role [] 29-39\n  heading Steps [] 33-39\n heading End [] 40-40\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if parts := Outline(Open(definition.Source{Data: []byte("# A\ntext\n## B\n")})); len(parts) != 1 || parts[0].Name != "A" || len(parts[0].Children) != 1 {
		t.Errorf("without front-matter: %+v", parts)
	}
}

func TestFolds(t *testing.T) {
	f := openSample(t)
	var got []string
	for _, fold := range Folds(f) {
		got = append(got, fmt.Sprintf("%d-%d", fold.Start, fold.End))
	}
	want := "0-28 8-11 9-11 13-17 18-19 21-22 23-25 26-27 29-39 33-39 35-37"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

func TestFoldedComments(t *testing.T) {
	const text = "---\n# one\n# two\r\n  # three\nname: x\n# alone\ntitle: X # beside\n# a\n# b\nquery: |\n  # a text\n  # of two lines\n\n# end\n# of it\n---\n# Title\n# Another\n"
	var got []Fold
	for _, fold := range Folds(Open(definition.Source{Path: "/w/.gemini/agents/x.md", Data: []byte(text)})) {
		if fold.Comment {
			got = append(got, fold)
		}
	}
	if want := []Fold{{1, 3, true}, {7, 8, true}, {13, 14, true}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTokens(t *testing.T) {
	w, f := team(t), openSample(t)
	tokens := Tokens(w, f)
	types, modifiers := TokenTypes(), TokenModifiers()
	var got []string
	for _, tok := range tokens {
		end := tok.Start
		end.Character += tok.Length
		s := types[tok.Type] + ":" + f.in(definition.Range{Start: tok.Start, End: end})
		for i, m := range modifiers {
			if tok.Modifiers>>i&1 == 1 {
				s += "/" + m
			}
		}
		got = append(got, s)
	}
	for _, want := range []string{
		"operator:---", "property:kind", "keyword:agent", "comment:# ours", "class:mine/declaration", "string:Mine", "comment:# a comment",
		"type:gemini-2.5-pro/deprecated", "macro:inherit", "type:pro", `string:"#FF8000"`, "function:ls", "macro:mcp.github.*", "namespace:github",
		"class:reviewer", "keyword:auto", `string:"Who # goes on"`, "class:user", "keyword:string", "keyword:true", "string:Do", "variable:${goal}",
		"string:for", "class:@reviewer", `regexp:'\bfix\b'`, "string:|", "string:Two # lines", "string:of text", "number:3",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("there is no %s in %q", want, got)
		}
	}
	count := func(s string) (n int) {
		for _, g := range got {
			if g == s {
				n++
			}
		}
		return n
	}
	if count("variable:${goal}") != 3 || count("class:@reviewer") != 2 || count("operator:---") != 2 || count("class:@nobody") != 0 {
		t.Errorf("placeholders %d, mentions %d", count("variable:${goal}"), count("class:@reviewer"))
	}
	data := EncodeTokens(tokens[:3])
	// Lines of ---, kind and its value.
	if want := []uint32{0, 0, 3, uint32(OperatorToken), 0, 1, 0, 4, uint32(PropertyToken), 0, 0, 6, 5, uint32(KeywordToken), 0}; !slices.Equal(data, want) {
		t.Errorf("encoded %v, want %v", data, want)
	}
}

func TestColors(t *testing.T) {
	for _, test := range []struct{ path, yaml, over, taken string }{
		{mine, `color: "#FF8000"`, "#FF8000", `color: "#0080FF"`},
		{mine, `color: '#ff8000' # warm`, "#ff8000", `color: '#0080FF' # warm`},
		{mine, `color: #FF8000 why`, "#FF8000", `color: "#0080FF" why`},
		{"/w/.claude/agents/mine.md", "description: d\ncolor: orange", "orange", `color: "#0080FF"`},
		{mine, `color: warm`, "", ""},
		{mine, `title: x`, "", ""},
		{mine, `color: [`, "", ""},
	} {
		f := Open(definition.Source{Path: test.path, Data: []byte(front(test.yaml))})
		colors := Colors(f)
		if (len(colors) == 1) != (test.over != "") || len(colors) > 1 {
			t.Errorf("%s: %v", test.yaml, colors)
			continue
		}
		for _, c := range colors {
			if f.in(c.Range) != test.over || c.Red < 0.97 || c.Green < 0.44 || c.Green > 0.51 || c.Blue > 0.1 {
				t.Errorf("%s: %v over %q", test.yaml, c, f.in(c.Range))
			}
			c.Red, c.Green, c.Blue = -1, 0.5, 7
			label, edit := ColorEdit(f, c)
			if text := applyEdits(t, f.Text, []Edit{edit}); label != "#0080FF" || !strings.Contains(text, test.taken+"\n") {
				t.Errorf("%s becomes %q", test.yaml, text)
			}
		}
	}
}

func TestLinks(t *testing.T) {
	w := &World{Exists: func(path string) bool { return path != "/w/gone.md" && path != "/w/nobody" }}
	f := Open(definition.Source{Path: mine, Folder: "/w", Data: []byte(front("description: see http://a.b/c.\nmemory_files: true") +
		"Go to https://x.y/p_(q), (https://x.y/z). Read @docs/ä.md, @gone.md, @Makefile; GEMINI.md.\nNot @nobody, a@b.org, @../up.md, @/etc/passwd, xhttp://n or ftp://n.\n")})
	var got []string
	for _, l := range Links(w, f, nil) {
		got = append(got, f.in(l.Range)+" → "+l.Target)
	}
	want := []string{
		"http://a.b/c → http://a.b/c", "true → file:///w/GEMINI.md", "https://x.y/p_(q) → https://x.y/p_(q)", "https://x.y/z → https://x.y/z",
		"docs/ä.md → file:///w/docs/%C3%A4.md", "Makefile → file:///w/Makefile", "GEMINI.md → file:///w/GEMINI.md",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	got = nil
	f.Folder = ""
	for _, l := range Links(&World{}, f, func(path string) string { return "u:" + path }) {
		got = append(got, l.Target)
	}
	if !slices.Contains(got, "u:/w/.gemini/agents/gone.md") || slices.Contains(got, "u:/w/.gemini/agents/Makefile") {
		t.Errorf("beside the file: %q", got)
	}
}
