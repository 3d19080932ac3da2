package definition

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// at parses a file with a cursor | and shows its path: keys and indices with
// dots, "=" and the text of the span for a value, "?" for a key.
func at(t *testing.T, front string) string {
	t.Helper()
	src := "---\n" + front
	if !strings.Contains(front, "\n---") {
		src += "\n---\nBody\n"
	}
	offset := strings.IndexByte(src, '^')
	src = src[:offset] + src[offset+1:]
	tree, _ := ReadTree("/w/.gemini/agents/a.md", src)
	return showPath(src, tree.At(offset))
}

func showPath(src string, path []Step) string {
	if path == nil {
		return "nil"
	}
	var parts []string
	for i, s := range path {
		part := s.Key
		if s.Index >= 0 {
			part = fmt.Sprint(s.Index)
		}
		if i == len(path)-1 {
			mark := "="
			if s.OnKey {
				part, mark = "", "?"
			}
			part += mark + src[s.Start:s.End]
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ".")
}

func TestAt(t *testing.T) {
	for _, test := range []struct{ front, want string }{
		{"name: a^", "name=a"},
		{"na^me: a", "?name"},
		{"^name: a", "?name"},
		{"name: a\n^", "?"},
		{"name: a\nmo^", "?mo"},
		{"name: a\nmo^\ntitle: T", "?mo"},
		{"model: ^", "model="},
		{"model:^", "model="},
		{"model: ^\ntitle: x", "model="},
		{"model: fl^\ntitle: x", "model=fl"},
		{"model: 'fl^ash' # why", "model='flash'"},
		{"model: flash # w^hy", "nil"},
		{"# no^te\nname: a", "nil"},
		{"tools: [read_^", "tools.0=read_"},
		{"tools: [read_^\nmodel: x", "tools.0=read_"},
		{"tools: [ls, ^\nmodel: x", "tools.1="},
		{"tools: [read_\nmodel: x^", "model=x"},
		{"tools:\n  allow: [ls, gr^]\nmodel: x", "tools.allow.1=gr"},
		{"tools:\n  allow: [^]", "tools.allow.0="},
		{"tools:\n  allow: [ls,\n    'gr^ep',\n    x]", "tools.allow.1='grep'"},
		{"tools:\n  allow: [ls,\n    gr^", "tools.allow.1=gr"},
		{"tools:\n  allow: [ls,\n    grep\nmodel: f^", "model=f"},
		{"tools:\n  ^", "tools.?"},
		{"tools:\n  al^", "tools.?al"},
		{"tools:\n  al^\nmodel: x", "tools.?al"},
		{"tools:\n  allow: [ls]\n  ^\nmodel: x", "tools.?"},
		{"tools:\n  allow: [ls]\n  de^", "tools.?de"},
		{"tools:\n  allow:\n    - ls\n    - ^", "tools.allow.1="},
		{"tools:\n  allow:\n    - ls\n    -^", "tools.allow.1="},
		{"tools:\n  allow:\n    - ls\n    - re^ad", "tools.allow.1=read"},
		{"tools:\n  allow:\n  - ls\n  - re^ad", "tools.allow.1=read"},
		{"tools:\n  allow:\n    - ls\n    ^", "tools.allow.1="},
		{"tools:\n  allow:\n    - ls\n  ^", "tools.?"},
		{"tools:\n  allow:\n    - ls\n^", "?"},
		{"tools: {allow: [ls], de^", "tools.?de"},
		{"tools: {allow: [ls], deny: ^}", "tools.deny="},
		{"tools: {allow: [ls], deny: [ba^sh]}", "tools.deny.0=bash"},
		{"tools: {^}", "tools.?"},
		{"x: [a\ntools: [ls]^", "tools=[ls]"},
		{"x: [a\ntools: [ls] # wh^y", "nil"},
		{"handoffs:\n  - to: b\n    ^", "handoffs.0.?"},
		{"handoffs:\n  - to: b\n    wh^", "handoffs.0.?wh"},
		{"handoffs:\n  - to: b\n    when: ^\n  - to: c", "handoffs.0.when="},
		{"handoffs:\n  - to: b\n  - to: c^", "handoffs.1.to=c"},
		{"handoffs:\n  - to: b\n  - t^", "handoffs.1=t"},
		{"handoffs:\n  - to: b\n  - ^to: c", "handoffs.1.?to"},
		{"handoffs:\n  - {to: b, when: ma^", "handoffs.0.when=ma"},
		{"handoffs: [{to: b}, {to: ^}]", "handoffs.1.to="},
		{"description: |\n  one\n  tw^o\nmodel: x", "description=|\n  one\n  two"},
		{"description: |\n  one: x\n  two\nmodel: x^", "model=x"},
		{"description: some\n  mo^re text", "description=some\n  more text"},
		{"inputs:\n  goal:\n    type: st^\n  other:", "inputs.goal.type=st"},
		{"\"name\": a^", "name=a"},
		{"name: a\r\nmodel: ^\r\ntitle: x", "model="},
		{"description: Use: it\nmodel: pr^o", "model=pro"},
		{"description: Use: it^\nmodel: pro", "description=Use: it"},
		{"a: [x\nname: b\nrun:\n  max_^", "run.?max_"},
		{"name: a\n---\nBo^dy", "nil"},
		{"name: a\n-^--\nBody", "nil"},
	} {
		if got := at(t, test.front); got != test.want {
			t.Errorf("%q: got %q, want %q", test.front, got, test.want)
		}
	}
	for _, test := range []struct{ src, want string }{
		{"---\nname: a\nmodel: ^", "model="},
		{"---\nname: a\n^", "?"},
		{"---\n^", "?"},
		{"^", "nil"},
		{"--^-\nname: a\n---\n", "nil"},
		{"text ^", "nil"},
		{"---\nname: a\n---\n\nbo^dy", "nil"},
	} {
		offset := strings.IndexByte(test.src, '^')
		src := test.src[:offset] + test.src[offset+1:]
		tree, _ := ReadTree("", src)
		if got := showPath(src, tree.At(offset)); got != test.want {
			t.Errorf("%q: got %q, want %q", test.src, got, test.want)
		}
	}
}

// TestLinesLeadWhereTheTreeLeads: read by its lines, a file gives the same paths
// as its tree, at each key and each scalar.
func TestLinesLeadWhereTheTreeLeads(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/data/agents/*/*.md")
	sources := []string{own(allFields)}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, string(data))
	}
	checked := 0
	for _, src := range sources {
		tree, ok := ReadTree("/w/.gemini/agents/code-fixer.md", src)
		if !ok || tree.Repaired {
			continue
		}
		lines := *tree
		lines.Root = nil
		var walk func(v *Value)
		look := func(s Span) {
			checked++
			for _, offset := range []int{s.Start, s.End} {
				want, got := showPath(src, tree.At(offset)), showPath(src, lines.At(offset))
				if want != got && !strings.Contains(src[s.Start:s.End], "\n") {
					t.Errorf("%d in %.60q: lines %q, tree %q", offset, src[tree.Front.Start:], got, want)
				}
			}
		}
		walk = func(v *Value) {
			for i := range v.Items {
				if v.Kind == Mapping {
					look(v.Keys[i].Span)
				}
				switch item := &v.Items[i]; {
				case item.Kind == Mapping || item.Kind == List:
					walk(item)
				case item.Start < item.End:
					look(item.Span)
				}
			}
		}
		walk(tree.Root)
	}
	if checked < 40 {
		t.Errorf("only %d places were looked at", checked)
	}
}

// TestFind: every spelling of spec 1.2 is found by the canonical path, where it
// stands.
func TestFind(t *testing.T) {
	for _, test := range []struct{ front, path, want string }{
		{"title: T", "title", "T"},
		{"displayName: T", "title", "T"},
		{"display_name: T\ntitle: U", "title", "U"},
		{"maxTokens: 7", "run.max_tokens", "7"},
		{"run: {maxTokens: 8}", "run.max_tokens", "8"},
		{"max_tokens: 9\nrun: {max_turns: 1}", "run.max_tokens", "9"},
		{"tool_confirmation: {timeout: 5}", "tools.confirmation.timeout", "5"},
		{"tool_confirmation: {require_confirmation: [a, b]}", "tools.confirmation.require_confirmation.1", "b"},
		{"handoffs: [{to: x}, {to: y, includeContext: false}]", "handoffs.1.include_context", "false"},
		{"handoffs: [{to: x}, {to: y}]", "handoffs.1.to", "y"},
		{"handoffs: [{to: x}]", "handoffs.1.to", ""},
		{"temp: 1", "temperature", "1"},
		{"system_prompt: hi", "systemPrompt", "hi"},
		{"inputs: {goal: {type: string}}", "inputs.goal.type", "string"},
		{"name: a", "run.max_turns", ""},
	} {
		src := "---\n" + test.front + "\n---\nx\n"
		tree, ok := ReadTree("", src)
		if !ok {
			t.Fatal(test.front)
		}
		got := ""
		if v := tree.Find(strings.Split(test.path, ".")...); v != nil {
			got = v.Text
			if src[v.Start:v.End] != got {
				t.Errorf("%q %s is said to stand at %q", test.front, test.path, src[v.Start:v.End])
			}
		}
		if got != test.want {
			t.Errorf("%q %s: %q, want %q", test.front, test.path, got, test.want)
		}
	}
}

// TestTreeParts: where the parts of a file are, also of one that is not finished.
func TestTreeParts(t *testing.T) {
	show := func(tree *Tree) string {
		part := func(s Span) string { return fmt.Sprintf("%q", tree.Text[s.Start:s.End]) }
		return strings.Join([]string{part(tree.Open), part(tree.Front), part(tree.Close), part(tree.Body), string(tree.Dialect), fmt.Sprint(tree.Root != nil, tree.Repaired)}, " ")
	}
	for _, test := range []struct{ path, src, want string }{
		{"", "---\nkind: agent\n---\nx", `"---" "kind: agent\n" "---" "x" agentls true false`},
		{"", "---\nkind: local\r\n---\r\n", `"---" "kind: local\r\n" "---" "" gemini-cli true false`},
		{"", "\ufeff\n--- \na: b: c\n---\n\nx", `"--- " "a: b: c\n" "---" "\nx" agentls true true`},
		{"", "---\n---\n", `"---" "" "---" "" agentls true false`},
		{"/w/.claude/agents/a.md", "---\nname: [\n---\nx", `"---" "name: [\n" "---" "x" claude false false`},
		{"/w/.claude/agents/a.md", "---\nname: a", `"---" "name: a" "" "" claude false false`},
		{"", "text\n", `"" "" "" "text\n" agentls false false`},
		{"", "", `"" "" "" "" agentls false false`},
		{"", "---\nname: \x00\n---\nx", `"---" "name: \x00\n" "---" "x" agentls false false`},
	} {
		tree, ok := ReadTree(test.path, test.src)
		if got := show(tree); got != test.want || ok != (tree.Root != nil) {
			t.Errorf("%q: got  %s\nwant %s", test.src, got, test.want)
		}
	}
	if tree, ok := ReadTree("", strings.Repeat("-", MaxFile+1)); ok || tree.Body.End != MaxFile+1 {
		t.Errorf("%v %+v", ok, tree.Body)
	}
}

// TestIndex: offsets and positions lead to each other.
func TestIndex(t *testing.T) {
	src := "aé😀b\r\n\rx\n\n😀"
	x := NewIndex(src)
	for offset := range src {
		if src[offset] == '\n' && offset > 0 && src[offset-1] == '\r' {
			continue
		}
		if p := x.Position(offset); x.Offset(p) != offset {
			t.Errorf("%d: %v leads to %d", offset, p, x.Offset(p))
		}
	}
	for _, test := range []struct {
		line, character uint32
		want            int
	}{{0, 2, 3}, {0, 3, 3}, {0, 4, 7}, {0, 5, 8}, {0, 99, 8}, {1, 0, 10}, {1, 5, 10}, {2, 1, 12}, {4, 2, len(src)}, {9, 0, len(src)}, {1 << 31, 1 << 31, len(src)}} {
		if got := x.Offset(Position{test.line, test.character}); got != test.want {
			t.Errorf("%d:%d: %d, want %d", test.line, test.character, got, test.want)
		}
	}
	if got := x.Range(Span{-5, 100}); got != (Range{Position{}, Position{4, 2}}) {
		t.Error(got)
	}
}

// TestFieldsAreThoseThatAreRead: each row of the table, in each spelling, is read
// by the parser without a hint that it is not known; its values, and only those,
// are taken; and a key that is not in the table is told.
func TestFieldsAreThoseThatAreRead(t *testing.T) {
	unknown := func(d *Definition) []string {
		var told []string
		for _, p := range d.Problems {
			if p.Code == "agent/unknown-field" && strings.Contains(p.Message, "not known") {
				told = append(told, p.Message)
			}
		}
		return told
	}
	last := ""
	for i, f := range Fields() {
		if f.Order != i || f.Doc == "" || len(f.Type) == 0 || !strings.HasSuffix(f.Path, f.Name) || strings.HasPrefix(last, f.Path+".") {
			t.Errorf("row %d: %+v", i, f)
		}
		last = f.Path
		if strings.HasPrefix(f.Path, "graph") || strings.HasPrefix(f.Path, "memory.") || strings.HasPrefix(f.Path, "tracing.") {
			continue // their insides belong to later features
		}
		for _, path := range append([]string{f.Path}, f.Aliases...) {
			if at, ok := FieldAt(strings.ReplaceAll(path, "*", "goal")); !ok || at.Path != f.Path {
				t.Errorf("%s leads to %+v", path, at)
			}
			for _, bad := range []string{"", "zzz"} {
				front, close := "", ""
				parts := strings.Split(path, ".")
				for i, part := range parts {
					name, isList := strings.CutSuffix(strings.ReplaceAll(part, "*", "goal"), "[]")
					if i == len(parts)-1 {
						name += bad
					}
					front += name + ": "
					if isList {
						front, close = front+"[", "]"+close
					}
					if i < len(parts)-1 {
						front, close = front+"{", "}"+close
					}
				}
				if parts[len(parts)-1] == "*" {
					continue // any key
				}
				d := parse(ownPath, "---\n"+front+close+"\n---\nx\n")
				if got := unknown(d); (len(got) > 0) != (bad != "") {
					t.Errorf("%q: %q", front+close, got)
				}
			}
		}
	}
	for path, taken := range map[string]string{"run.mode": "run: {mode: %s}", "thinking_level": "thinking_level: %s", "scope": "scope: %s", "kind": "kind: %s",
		"inputs.*.type": "inputs: {a: {type: '%s'}}", "initial_messages[].role": "initial_messages: [{text: x, role: %s}]", "handoffs[].when": "handoffs: [{to: b, condition: x, when: %s}]",
		"guardrails.on_failure": "guardrails: {on_failure: %s}", "guardrails[].policy": "guardrails: [{policy: %s}]", "guardrails[].on": "guardrails: [{on: %s}]"} {
		f, _ := FieldAt(path)
		for _, value := range append(f.Values, "zzz") {
			src := "---\nname: code-fixer\nkind: agent\ntitle: T\n" + fmt.Sprintf(taken, value) + "\n---\nx\n"
			if path == "kind" {
				src = strings.Replace(src, "kind: agent\n", "", 1)
			}
			ok, _ := parse(ownPath, src).Usable()
			if ok != (value != "zzz") {
				t.Errorf("%s: %s: usable %v", path, value, ok)
			}
		}
	}
}

// FuzzEditing: any bytes can be edited. Paths lead to text of the file, fixes
// change only it, and what is sure makes nothing worse.
func FuzzEditing(f *testing.F) {
	for _, s := range hostile() {
		f.Add(s, 4, len(s)/2)
	}
	for _, s := range []string{"---\ntools: [a\nb: {c: \n - - d: 'e", "---\na:\n  - b\n\t- “c”: d\n---", "---\r\nx: |\r\n  y\r\n- z\r\n", "---\n\"a\": [\"b\", 'c' #d\n]\n---\n"} {
		f.Add(s, 7, 12)
	}
	f.Fuzz(func(t *testing.T, src string, a, b int) {
		if len(src) > 4<<10 {
			src = src[:4<<10]
		}
		const path = "/w/.gemini/agents/a.md"
		tree, ok := ReadTree(path, src)
		if ok != (tree.Root != nil) {
			t.Fatal(ok)
		}
		x := NewIndex(src)
		for _, offset := range []int{a, b, len(src), x.Offset(Position{uint32(a), uint32(b)})} {
			steps := tree.At(offset)
			for i, s := range steps {
				if s.Start < 0 || s.Start > s.End || s.End > len(src) || (s.Index >= 0 && s.Key != "") || (s.OnKey && (i < len(steps)-1 || s.Index >= 0)) {
					t.Fatalf("%q at %d: %+v", src, offset, steps)
				}
			}
			if n := len(steps); n > 0 && !steps[n-1].Holds(offset) && !strings.HasSuffix(src[:offset], "\r") {
				// Before a line's text the path is that of the text.
				s := steps[n-1]
				if gap := src[min(offset, s.End):max(offset, s.Start)]; offset > s.End || strings.Trim(gap, " \t-") != "" {
					t.Fatalf("%q at %d is not in %+v", src, offset, s)
				}
			}
		}
		source := furnished(path, src)
		d := Parse(source)
		for _, p := range d.Problems {
			for _, fix := range tree.Fixes(x, path, p) {
				for _, e := range fix.Edits {
					if x.Position(x.Offset(e.Range.Start)) != e.Range.Start || x.Position(x.Offset(e.Range.End)) != e.Range.End || before(e.Range.End, e.Range.Start) {
						t.Fatalf("%q: %+v", src, fix)
					}
				}
			}
		}
		source.Data = []byte(FixAll(source))
		if after := Parse(source); Worse(d, after) {
			t.Fatalf("%q became %q with %v", src, source.Data, after.Problems)
		}
	})
}

// BenchmarkKeystroke parses an agent file of usual size as its author types: what
// an editor needs after each key, at most 1 ms.
func BenchmarkKeystroke(b *testing.B) {
	src := own(allFields) + strings.Repeat("Read the code first, then change as little as you can — and say why.\n", 60)
	offset := strings.Index(src, "search_file")
	for b.Loop() {
		d := Parse(furnished(ownPath, src))
		tree, ok := ReadTree(ownPath, src)
		x := NewIndex(src)
		if !ok || len(tree.At(offset)) != 3 || len(d.Problems) == 0 || x.Offset(x.Position(offset)) != offset {
			b.Fatal(d.Problems)
		}
	}
}

// BenchmarkLargest parses front-matter as large as it may be, in shapes that were
// quadratic before (up to 4 s): at most some tens of ms each on an idle machine.
func BenchmarkLargest(b *testing.B) {
	for _, shape := range []struct{ name, head, each, tail string }{
		{"tools in a line", "tools: {allow: [", "xx%d,", "ls]}\n"},
		{"tools in lines", "tools:\n  allow:\n", "    - readfle%d\n", ""},
		{"servers", "mcp: {servers: [", "jra%d,", "x]}\n"},
		{"handoffs", "handoffs: [", "{to: b%d},", "{to: c}]\n"},
		{"colons", "x:\n", "  a%d: b: c\n", ""},
		{"keys", "", "mde%d: 1\n", ""},
	} {
		var fields strings.Builder
		fields.WriteString(shape.head)
		for i := 0; fields.Len() < MaxFrontMatter-200; i++ {
			fmt.Fprintf(&fields, shape.each, i)
		}
		src := own(fields.String() + shape.tail)
		b.Run(shape.name, func(b *testing.B) {
			for b.Loop() {
				Parse(furnished(ownPath, src))
			}
		})
	}
}
