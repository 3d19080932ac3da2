package definition

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile are the inputs of SEC-120 to SEC-122, and what broke parsers before.
func hostile() []string {
	many := strings.Builder{}
	for i := 0; many.Len() < MaxFrontMatter-100; i++ {
		fmt.Fprintf(&many, "k%d: v\n", i)
	}
	wrap := func(yaml string) string { return "---\nname: a\n" + yaml + "\n---\nBody.\n" }
	hard := []string{
		wrap("title: T\ntoo"), wrap(" name: ind"), wrap("memory: {enabled: 3, type: x, long_term: {config: 1}}"), wrap("handoffs: [a, {to: b:c}, 3]"),
		wrap("tools: Read, Bsh, mcp__a__b"), wrap("tools: {allow: a, deny: ~}"), wrap("modle: x\nmodel: y"), wrap("description: x\n\n<a>\n- b: c"),
	}
	for _, yaml := range costly() {
		hard = append(hard, wrap(yaml[:min(len(yaml), 8<<10)]))
	}
	return append(hard, []string{
		"", "---", "---\n", "---\n---", "---\n---\n", "--- \nname: a\n---  \nx", "\ufeff---\nname: a\n---\nx", "\n\n---\nname: a\n---\nx",
		"---\r\nname: a\r\ndescription: b\r\n---\r\nBody\r\n", "---\rname: a\r---\rBody", "---\nname: a\n", "---\n- a\n- b\n---\nx",
		"---\ntext\n---\nx", "---\nname: \x00\n---\n", "---\nname: \xff\n---\nx", "\xff\xfe-\x00-\x00", strings.Repeat("x", MaxFile+1),
		wrap(many.String()), wrap(strings.Repeat("[", 60000)), wrap(strings.Repeat("{a: ", 15000)), wrap(strings.Repeat("- ", 30000)),
		wrap(strings.Repeat("? ", 30000)), wrap("x: &a [b]\ny: *a\n<<: *a"), wrap("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]"),
		wrap("x: !!binary aGVsbG8="), wrap("x: !foo bar"), wrap("name: b"), wrap("x:\n" + deep(20)), wrap("version: 1.20\nkind: no"),
		wrap("description: a: b"), wrap("description: \"say \"hi\" now\""), wrap("tools:\t[a]"), wrap("\tx: y"), wrap("description: “a: b”"),
		wrap("description: one\ntwo\nuser: \"x\"\n\n<example>"), wrap("description: |\n  a: b\n\n  c\nmodel: x"), wrap("description: >-\n  a\n   b"),
		wrap("description: 'it''s'"), wrap("description: 'it's'"), wrap("description: \"a\n  b\""), wrap("description: **bold** text"),
		wrap("description: @x"), wrap("color: #00FF00"), wrap("tools: Read, Bash(git:*), Task(a, b)"), wrap("permissionMode: plan"),
		wrap("handoffs:\n- to: b\n  when: x == 1\n- to: a"), wrap("inputs:\n  x: {type: string[], enum: [a]}\nquery: ${y} $${z}"),
		wrap("output: {name: r, schema: {type: object, properties: {a: {$ref: 'http://x/y'}}}}"),
		wrap("triggers: {patterns: ['(a+)+$', '(.{1000}){1000}', '(']}"), wrap("a: b # c\n# d\ne:\n  - f\n  - g: h\n    i: j\n"),
		wrap("x: 1e3\ny: .5\nz: 0x10\nw: 1_0\nv: -1\nu: +1\nt: 1.\ns: 01\nr: 12:30\nq: ~\np: .inf\no: .nan"),
		wrap("x: a\u2028b\ny: a\u0085b\nz: \u200b"), "---\nname: a\n---\n\u202e\u200b\U000E0041 ghp_0123456789abcdefghijABCDEFGHIJ456789",
		wrap("x: [a, b: c]\ny: {a, b}\nz: [a,]\n"), wrap("? x\n: y\n"), wrap("%YAML 1.2\n"), wrap("...\nx: y"), wrap("\"name\": x"),
		wrap("x:\n    y: z\n  w: v"), wrap("x: y\n  z"), wrap("x:\n- y\n- z\nw: v"), wrap("x: - y"), wrap("x: [\n a,\n b\n]"),
	}...)
}

func deep(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i+1) + "k:\n")
	}
	return b.String()
}

// FuzzParse: any bytes give a definition whose problems lie in the text
// (SEC-120, SEC-122).
func FuzzParse(f *testing.F) {
	for _, s := range hostile() {
		f.Add([]byte(s))
	}
	for _, schema := range []string{"{$ref: '#/default', default: {anyOf: [{$ref: '#/x/01'}]}, x: [a, true]}", "{$id: a, not: {$id: b, $ref: '#/enum/0'}, enum: [{pattern: '('}]}", "{$ref: '#/%64efault', default: {patternProperties: {'^.{1,500}$': {}}}}"} {
		f.Add([]byte("---\nname: a\noutput: {schema: " + schema + "}\n---\nx\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8<<10 {
			data = data[:8<<10]
		}
		for _, path := range []string{"/p/.gemini/agents/a.md", "/p/.github/agents/a.agent.md", "/p/.opencode/agent/a.md"} {
			d := Parse(Source{Path: path, Scope: Project, Data: data})
			checkProblems(t, string(data), d)
			if ok, _ := d.Usable(); ok && (!validName(d.Name) || reservedName(d.Name) || d.Prompt == "" || d.Title == "") {
				t.Fatalf("usable without name, title or prompt: %+v", d)
			}
			if _, err := json.Marshal(d); err != nil {
				t.Fatal(err)
			}
			if len(d.Inputs) > 0 && !json.Valid(d.Inputs) {
				t.Fatalf("inputs %s", d.Inputs)
			}
		}
	})
}

// TestSEC121BombsNeverReachTheParser: what takes the parser seconds under the
// cap is refused before it; many keys under the cap are read.
func TestSEC121BombsNeverReachTheParser(t *testing.T) {
	for _, bomb := range []string{strings.Repeat("[", 60000), strings.Repeat("{a: ", 15000), strings.Repeat("- ", 30000), strings.Repeat("? ", 30000), "x: " + strings.Repeat("[{", 100)} {
		d := Parse(Source{Path: "/p/a.md", Scope: Project, Data: []byte("---\nname: a\n" + bomb + "\n---\nx")})
		if ok, reason := d.Usable(); ok || reason.Code != "agent/yaml-feature" || !strings.Contains(reason.Message, "nested") {
			t.Errorf("%.20q: %v", bomb, reason)
		}
	}
	var many strings.Builder
	for i := range 1400 {
		fmt.Fprintf(&many, "k%d: v\n", i)
	}
	d := Parse(Source{Path: "/p/a.md", Scope: Project, Data: []byte("---\nname: a\n" + many.String() + "---\nx")})
	if ok, reason := d.Usable(); !ok || len(d.FrontMatter()) != 1401 {
		t.Errorf("%v, %d keys", reason, len(d.FrontMatter()))
	}
	over := parse(ownPath, own(strings.Repeat("key0000000000: v\n", 40000)))
	if ok, reason := over.Usable(); ok || reason.Code != "agent/too-large" {
		t.Errorf("%v", reason)
	}
}

// FuzzFastIsExact: what the quick reader accepts, the parser reads the same, to
// the last offset.
func FuzzFastIsExact(f *testing.F) {
	for _, s := range hostile() {
		if s, ok := strings.CutPrefix(s, "---\n"); ok {
			s, _, _ = strings.Cut(s, "\n---")
			f.Add(s + "\n")
		}
	}
	for _, s := range []string{"a: b\n", "a: b: c\n", "a:\n  b: c\n  d:\n    - e\n    - f\n", "a: [b, 'c', \"d\"]\n", "a: []\n", "a: 007\n", "a: 1.50\n", "a: b #c\n", "a: b#c\n", "a: true\nb: Null\n", "a:\n\n  b: c\n# d\ne: f", "a: é ü\nb: 漢字\n", "a: http://x\n", "a-b_c: d\n", "a:\n- b: c\n  d: e\n-   f: g\n    h: i\n", "a: x y\t\n", "a: 1 2\n", "a: 50%\n", "null: x\ntrue: y\n", "a: 'b' # c\n", "a: n\nb: y\n", "a: [1, 2.5, true, x y]\n", "a: =\n", "a: <<\n", "a: (b)\n", "a: $b\n", "A:\n- 0 \n", "A: x x \n", "A: A" + strings.Repeat("{", 65), "A: '" + strings.Repeat("- ", 66) + "'\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4<<10 || !utf8.ValidString(s) {
			return // Parse refuses it before
		}
		root, ok := new(quick).read(s, 0, len(s))
		if !ok {
			return
		}
		exact, findings := plainSource(s, 0, len(s)).read()
		if len(findings) > 0 {
			t.Fatalf("accepted %q, which the parser refuses: %+v", s, findings)
		}
		if !reflect.DeepEqual(normal(root), normal(exact)) {
			t.Fatalf("%q\nquick  %+v\nparser %+v", s, normal(root), normal(exact))
		}
	})
}

// normal makes nil and empty slices alike.
func normal(n node) node {
	if n.kind == null {
		n.text, n.plain = "", false
	}
	if len(n.items) == 0 {
		n.items, n.keys = nil, nil
	}
	for i := range n.items {
		n.items[i] = normal(n.items[i])
	}
	return n
}

// TestFastIsExactOnPublicFiles: the same on real front-matter, and most of it is
// read the quick way.
func TestFastIsExactOnPublicFiles(t *testing.T) {
	quick, all := 0, 0
	for _, files := range publicFiles(t) {
		for _, file := range files {
			r := begin(Source{Path: file})
			r.text.src = readFile(t, file)
			from, to, ok := r.split()
			if !ok {
				continue
			}
			all++
			root, ok := r.quick.read(r.text.src, from, to)
			if !ok {
				continue
			}
			quick++
			exact, findings := plainSource(r.text.src, from, to).read()
			if len(findings) > 0 || !reflect.DeepEqual(normal(root), normal(exact)) {
				t.Errorf("%s: %v\nquick  %+v\nparser %+v", file, findings, normal(root), normal(exact))
			}
		}
	}
	if quick*2 < all {
		t.Errorf("only %d of %d files were read the quick way", quick, all)
	}
	t.Logf("%d of %d files were read the quick way", quick, all)
}
