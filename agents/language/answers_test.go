package language

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
)

// ask puts every question about a text at an offset, and holds each answer to
// what all have in common: its ranges are inside of the text.
func ask(t interface {
	Helper()
	Errorf(format string, args ...any)
}, w *World, path, language, text string, offset int) {
	t.Helper()
	f := Open(definition.Source{Path: path, Folder: "/w", Scope: definition.Project, Data: []byte(text)})
	// A place between \r and \n is none.
	at := f.Index.Position(f.Index.Offset(f.Index.Position(offset)))
	last := f.Index.Position(len(text))
	inside := func(what string, r definition.Range) {
		if before(r.End, r.Start) || before(last, r.End) {
			t.Errorf("%s: %v is not inside %q", what, r, text)
		}
		// Each end is a place of its line.
		if utf8.ValidString(text) && (f.Index.Position(f.Index.Offset(r.Start)) != r.Start || f.Index.Position(f.Index.Offset(r.End)) != r.End) {
			t.Errorf("%s: %v is no place of %q", what, r, text)
		}
	}
	for _, i := range slices.Concat(sortedItems(t, Complete(w, f, at).Items), sortedItems(t, CompleteInline(w, "/w", language, text, at).Items)) {
		if i.Range.Start.Line != i.Range.End.Line || before(at, i.Range.Start) || before(i.Range.End, at) {
			t.Errorf("completion: %s takes the place of %v at %v in %q", i.Label, i.Range, at, text)
		}
		inside("completion", i.Range)
		if i.Label == "" || i.Insert == "" || strings.ContainsAny(i.Label+i.Detail, "\r\n") {
			t.Errorf("completion: %+v", i)
		}
		_ = i.Plain()
	}
	if h, ok := HoverAt(w, f, at); ok {
		inside("hover", h.Range)
		if h.Markdown == "" || before(at, h.Range.Start) || before(h.Range.End, at) {
			t.Errorf("hover: %+v at %v in %q", h, at, text)
		}
	}
	for _, h := range Hints(w, f, definition.Range{End: last}) {
		inside("hint", definition.Range{Start: h.Position, End: h.Position})
	}
	for _, l := range Lenses(w, f) {
		inside("lens", l.Range)
	}
	var parts func(all []Part, within definition.Range)
	parts = func(all []Part, within definition.Range) {
		for _, p := range all {
			inside("outline", p.Range)
			if before(p.Selection.Start, p.Range.Start) || before(p.Range.End, p.Selection.End) || p.Name == "" {
				t.Errorf("outline: %+v in %q", p, text)
			}
			if before(p.Range.Start, within.Start) || before(within.End, p.Range.End) {
				t.Errorf("outline: %v is not in %v in %q", p.Range, within, text)
			}
			parts(p.Children, p.Range)
		}
	}
	parts(Outline(f), definition.Range{End: last})
	for _, fold := range Folds(f) {
		if fold.Start >= fold.End || fold.End > last.Line {
			t.Errorf("fold %v in %q", fold, text)
		}
	}
	var end definition.Position
	for _, tok := range Tokens(w, f) {
		stop := tok.Start
		stop.Character += tok.Length
		inside("token", definition.Range{Start: tok.Start, End: stop})
		if tok.Length == 0 || before(tok.Start, end) || int(tok.Type) >= len(TokenTypes()) {
			t.Errorf("token %+v after %v in %q", tok, end, text)
		}
		end = stop
	}
	for _, c := range Colors(f) {
		inside("colour", c.Range)
	}
	for _, l := range Links(w, f, nil) {
		inside("link", l.Range)
	}
	for _, c := range InlineCommands(w, "/w", language, text) {
		inside("command", c.Range)
		if c.Text == "" || c.Agent == "" || c.Range.Start.Line != c.Range.End.Line {
			t.Errorf("command %+v in %q", c, text)
		}
	}
}

// sortedItems holds the items of one answer to an order of their own, and returns
// them.
func sortedItems(t interface {
	Helper()
	Errorf(format string, args ...any)
}, items []Item) []Item {
	t.Helper()
	seen := make(map[string]bool)
	for _, i := range items {
		if i.Sort == "" || seen[i.Sort] {
			t.Errorf("completion: the place of %+v among %d is none or another's", i, len(items))
		}
		seen[i.Sort] = true
	}
	return items
}

// paths are files of each dialect that a place decides.
var paths = []string{mine, "/w/.claude/agents/mine.md", "/w/.github/agents/mine.agent.md", "/w/.opencode/agent/mine.md", ""}

// FuzzAnswers: any text has answers, at any offset, with ranges inside of it.
func FuzzAnswers(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text, uint16(len(text)/2), uint8(0))
		f.Add(text, uint16(len(text)), uint8(1))
	}
	f.Add("---\n# @", uint16(7), uint8(24)) // both lists have items here
	f.Add("---\nname: a\ntools: 'Read, Write'\n---\nx\n", uint16(19), uint8(1))
	f.Add("---\nname: a\ntools: 'Read, Write'\n---\nx\n", uint16(32), uint8(1))
	f.Add("---\nname: mine\ninputs: {\"\": {}, a: {}}\n---\n${ x\n", uint16(45), uint8(0))
	f.Add("---\noutput: {text: '${', schema: {properties: {\"\": {type: \"a\\nb\"}}}}\n---\n", uint16(22), uint8(0))
	w := team(f)
	languages := []string{"markdown", "go", "java", "", "html"}
	f.Fuzz(func(t *testing.T, text string, offset uint16, choice uint8) {
		if len(text) > 4<<10 {
			text = text[:4<<10]
		}
		ask(t, w, paths[int(choice)%len(paths)], languages[int(choice/8)%len(languages)], text, int(offset))
	})
}

// seeds are texts of which each has something that others do not.
func seeds(t testing.TB) []string {
	texts := []string{
		"", "---", "---\n", "---\n---\n", "---\nname: a\n---\nx", sample, strings.ReplaceAll(sample, "\n", "\r\n"), strings.ReplaceAll(sample, "\n", "\r"),
		"\ufeff" + sample, "---\nname: \xff\n---\n\xff@main ${x}", "---\nname: a\ntools: [a, {b: c, ", "---\n- a\n- b\n---\n", "---\nx: 'it''s\n  on'\n---\n",
		"---\n\"a b\": {c: [d, e], f: 'g'}\n---\n# h\n```\n", "---\ncolor: #12345\n---\n😀 @auto go ${a}\n@main 😀", "---\nname: 😀: x\ndescription: \"a\\\n  b\"\n---\n",
		"---\n? a\n: b\n---\n", "---\nx: &a b\ny: *a\n---\n", "/* a\n * @main x */\n", "<!-- @main x", "---\n\tname: x\n---\n", "---\ni\te: {tie}\n---", "---\nname: a\n# c\n\n\n---\nhttp://a@b.c/(d)\n",
		"---\nquery: ${a} @main\ninputs: {a: {}, a: {}}\n---\n", "---\ntools: Read, ,Bash(git:*)\n---\n",
	}
	files, _ := filepath.Glob("../../../shared/data/agents/*/*.md")
	for i, name := range files {
		if i%9 == 0 {
			if b, err := os.ReadFile(name); err == nil {
				texts = append(texts, string(b[:min(len(b), 3000)]))
			}
		}
	}
	return texts
}

// TestAnswersAnywhere: each offset of each seed has answers, and so have their
// lines mixed.
func TestAnswersAnywhere(t *testing.T) {
	w := team(t)
	texts := seeds(t)
	for i, text := range texts {
		for offset := 0; offset <= len(text); offset += 1 + len(text)/60 {
			ask(t, w, paths[i%len(paths)], "markdown", text, offset)
		}
	}
	var lines []string
	for _, text := range texts[:24] {
		lines = append(lines, strings.SplitAfter(text, "\n")...)
	}
	rapid.Check(t, func(t *rapid.T) {
		picked := rapid.SliceOfN(rapid.SampledFrom(lines), 1, 14).Draw(t, "lines")
		text := "---\nname: mine\n" + strings.Join(picked, "")
		ask(t, w, rapid.SampledFrom(paths).Draw(t, "path"), "go", text, rapid.IntRange(0, len(text)).Draw(t, "offset"))
	})
}

// answers are all of the answers about a file, one by one.
var answers = []struct {
	name string
	ask  func(w *World, f *File, at definition.Position)
}{
	{"complete", func(w *World, f *File, at definition.Position) { Complete(w, f, at) }},
	{"hover", func(w *World, f *File, at definition.Position) { HoverAt(w, f, at) }},
	{"hints", func(w *World, f *File, at definition.Position) {
		Hints(w, f, definition.Range{End: definition.Position{Line: 1 << 30}})
	}},
	{"lenses", func(w *World, f *File, at definition.Position) { Lenses(w, f) }},
	{"outline", func(w *World, f *File, at definition.Position) { Outline(f) }},
	{"folds", func(w *World, f *File, at definition.Position) { Folds(f) }},
	{"tokens", func(w *World, f *File, at definition.Position) { EncodeTokens(Tokens(w, f)) }},
	{"colors", func(w *World, f *File, at definition.Position) { Colors(f) }},
	{"links", func(w *World, f *File, at definition.Position) { Links(w, f, nil) }},
	{"inline", func(w *World, f *File, at definition.Position) { InlineCommands(w, "/w", "go", f.Text) }},
	{"inline markdown", func(w *World, f *File, at definition.Position) { InlineCommands(w, "/w", "markdown", f.Text) }},
	{"complete inline", func(w *World, f *File, at definition.Position) { CompleteInline(w, "/w", "go", f.Text, at) }},
}

// TestLongTexts: texts of the largest size have answers too.
func TestLongTexts(t *testing.T) {
	w := team(t)
	for _, text := range longTexts() {
		f := Open(definition.Source{Path: mine, Folder: "/w", Scope: definition.Project, Data: []byte(text)})
		for _, a := range answers {
			a.ask(w, f, f.Index.Position(len(text)/8))
		}
	}
}

// BenchmarkLongTexts asks each question of texts of the largest size that a file
// may have, of one line or of many (spec: at most 50 ms); worst-ms is the slowest
// answer.
func BenchmarkLongTexts(b *testing.B) {
	w := team(b)
	var files []*File
	for _, text := range longTexts() {
		files = append(files, Open(definition.Source{Path: mine, Folder: "/w", Scope: definition.Project, Data: []byte(text)}))
	}
	for _, q := range answers {
		b.Run(strings.ReplaceAll(q.name, " ", "-"), func(b *testing.B) {
			worst, which := time.Duration(0), ""
			for b.Loop() {
				for _, f := range files {
					for _, offset := range []int{0, len(f.Text) / 8, len(f.Text) / 2, len(f.Text)} {
						at := f.Index.Position(offset)
						begun := time.Now()
						q.ask(w, f, at)
						if took := time.Since(begun); took > worst {
							worst, which = took, tool.Clip(f.Text[max(0, min(len(f.Text)-1, 40)):], 20)
						}
					}
				}
			}
			b.ReportMetric(worst.Seconds()*1000, "worst-ms")
			b.Logf("the slowest is %q", which)
		})
	}
}

// longTexts are texts of the largest size that a file may have.
func longTexts() []string {
	body := func(s string) string {
		return "---\nname: mine\ninputs: {a: {}}\n---\n" + strings.Repeat(s, (definition.MaxFile-200)/len(s))
	}
	yaml := func(open, s, shut string) string {
		return "---\nname: mine\n" + open + strings.Repeat(s, (definition.MaxFrontMatter-200)/len(s)) + shut + "\n---\nx\n"
	}
	return []string{
		body("${a} "), body("@main "), body("@b:main x\n"), body("# h\n"), body("```\n"), body("http://a.b "), body("@a/b.md "), body("// @main x\n"), body("<!-- @a:b x\n"),
		body("@"), body("`"), body("GEMINI.md "), body("(((((("), yaml("tools: [", "ls, ", "ls]"), yaml("x: {", "😀: 1, ", "}"), yaml("tools: [", "ls, ", ""), yaml("", "a", ": b"),
		yaml("description: |\n", " # a\n", ""), yaml("", "# c\n", ""), yaml("handoffs:\n", "  - to: b\n", ""), yaml("x: ", "[", ""), yaml("query: '", "${a} ", "'"), yaml("tools:\n", "  a\n", ""),
		strings.Repeat("x", definition.MaxFile+1), strings.Repeat("\n", definition.MaxFile),
	}
}

// BenchmarkAnswers asks for completion and hover among a thousand agents (spec 13:
// 99 of 100 within 10 ms), with the file read anew for each, as while typing.
// p99-ms is what all but one in a hundred took.
func BenchmarkAnswers(b *testing.B) {
	h := thousand(b, 1000)
	w := known(b, h.world)
	for _, c := range []struct {
		name, text string
		answers    func(f *File, at definition.Position) bool
	}{
		{"complete/agents", front("handoffs:\n  - to: agent-‸"), func(f *File, at definition.Position) bool { return len(Complete(w, f, at).Items) >= maxAgents }},
		{"complete/agents-broken", front("tools: [ls\nhandoffs:\n  - to: agent-‸"), func(f *File, at definition.Position) bool { return len(Complete(w, f, at).Items) >= maxAgents }},
		{"complete/keys", front("‸"), func(f *File, at definition.Position) bool { return len(Complete(w, f, at).Items) > 20 }},
		{"complete/tools", front("tools:\n  allow: [‸]"), func(f *File, at definition.Position) bool { return len(Complete(w, f, at).Items) > 40 }},
		{"complete/inline", "x\n// @‸", func(f *File, at definition.Position) bool {
			return len(CompleteInline(w, "", "go", f.Text, at).Items) >= maxAgents
		}},
		{"hover/agent", front("handoffs:\n  - to: agent-‸500"), func(f *File, at definition.Position) bool { _, ok := HoverAt(w, f, at); return ok }},
		{"hover/field", front("mod‸el: pro"), func(f *File, at definition.Position) bool { _, ok := HoverAt(w, f, at); return ok }},
		{"hover/model", front("model: pr‸o"), func(f *File, at definition.Position) bool { _, ok := HoverAt(w, f, at); return ok }},
		{"tokens", front("handoffs:\n  - to: agent-500") + strings.Repeat("Ask @agent-7 about it.\n", 100) + cursor, func(f *File, at definition.Position) bool { return len(Tokens(w, f)) > 100 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			f, at := marked(b, mine, c.text)
			data := []byte(f.Text)
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				f := Open(definition.Source{Path: mine, Folder: "/w", Scope: definition.Project, Data: data})
				if !c.answers(f, at) {
					b.Fatal("no answer")
				}
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
		})
	}
}
