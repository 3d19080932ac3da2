package language

// A file's outline: symbols and what folds.

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
	"github.com/agentls/agentls/agents/tool"
)

// PartKind is what a [Part] is.
type PartKind string

// The kinds. Those of LSP that fit best: Class, Property, String.
const (
	AgentPart   PartKind = "agent"
	FieldPart   PartKind = "field"
	HeadingPart PartKind = "heading"
)

// Part is a part of a file, as an outline shows it (textDocument/documentSymbol). Selection lies in Range, and Children's ranges do.
type Part struct {
	Name      string // never empty
	Detail    string
	Kind      PartKind
	Range     definition.Range
	Selection definition.Range
	Children  []Part
}

// Outline returns the parts of a file: the agent, in it its fields and the
// headings of its prompt. A file whose front-matter cannot be read has its
// headings alone.
// It has at most 2000 headings.
func Outline(f *File) []Part {
	var inside []Part
	o := &outline{f, locator{f: f}}
	if f.Tree.Root != nil {
		inside = o.fields(f.Tree.Root)
	}
	inside = append(inside, o.headings()...)
	name := f.Definition.Name
	if name == "" || f.Tree.Root == nil {
		return inside
	}
	whole := f.Index.Range(definition.Span{Start: 0, End: len(f.Text)})
	return []Part{{Name: name, Detail: f.Definition.Title, Kind: AgentPart, Range: whole,
		Selection: f.Definition.NameRange, Children: inside}}
}

// outline is the outline of a file in the making.
type outline struct {
	f *File
	locator
}

// maxDetail is how many characters of a value an outline shows.
const maxDetail = 60

// fields returns the keys of a mapping, with what is below them.
// An empty key is called (empty), since LSP wants each part to have a name.
func (o *outline) fields(v *definition.Value) []Part {
	var found []Part
	for i, key := range v.Keys {
		item := &v.Items[i]
		s := Part{Name: key.Name, Kind: FieldPart, Selection: o.span(key.Span)}
		s.Range = o.span(definition.Span{Start: key.Start, End: max(key.End, reach(item))})
		if s.Name == "" {
			s.Name = "(empty)"
		}
		switch item.Kind {
		case definition.Mapping:
			s.Children = o.fields(item)
		case definition.List:
			s.Detail = plural(len(item.Items), "entry")
			if len(item.Items) != 1 {
				s.Detail = decimal(len(item.Items)) + " entries"
			}
			for j := range item.Items {
				s.Children = append(s.Children, o.entry(&item.Items[j])...)
			}
		default:
			s.Detail = tool.Clip(oneLine(item.Text), maxDetail)
		}
		for _, c := range s.Children { // what the parser says of places with tabs may be wrong
			if before(c.Range.Start, s.Range.Start) {
				s.Range.Start = c.Range.Start
			}
			if before(s.Range.End, c.Range.End) {
				s.Range.End = c.Range.End
			}
		}
		found = append(found, s)
	}
	return found
}

// reach returns where what is written of a value ends. A value that is not written
// has a place too, which may be behind what holds it.
func reach(v *definition.Value) int {
	end := 0
	if v.Start < v.End && (v.Kind != definition.Null || v.Text != "") {
		end = v.End
	}
	for i := range v.Items {
		if v.Kind == definition.Mapping {
			end = max(end, v.Keys[i].End)
		}
		end = max(end, reach(&v.Items[i]))
	}
	return end
}

// entry is a list's entry that has keys of its own: it is called as its
// first text.
// It is nil for any other entry.
func (o *outline) entry(v *definition.Value) []Part {
	if v.Kind != definition.Mapping || len(v.Keys) == 0 {
		return nil
	}
	name := v.Keys[0].Name
	for i := range v.Items {
		if v.Items[i].Kind == definition.String && v.Items[i].Text != "" {
			name = v.Items[i].Text
			break
		}
	}
	if name = tool.Clip(oneLine(name), maxDetail); name == "" {
		name = "(empty)"
	}
	span := definition.Span{Start: v.Keys[0].Start, End: v.Keys[0].End}
	for i := range v.Keys {
		span.Start = min(span.Start, v.Keys[i].Start)
		span.End = max(span.End, v.Keys[i].End, reach(&v.Items[i]))
	}
	return []Part{{Name: name, Kind: FieldPart, Range: o.span(span), Selection: o.span(v.Keys[0].Span),
		Children: o.fields(v)}}
}

// oneLine is a text without line ends.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// heading is a heading of the body.
type heading struct {
	level int
	text  string
	definition.Span
}

// maxHeadings is how many headings a file's outline has.
const maxHeadings = 2000

// lines yields the lines of a part of the text without their endings, which are \n, \r\n
// or \r. The last one may be a part of a longer line.
func (f *File) lines(s definition.Span) iter.Seq[definition.Span] {
	return func(yield func(definition.Span) bool) {
		for at := s.Start; at < s.End; {
			// No further than the part goes: it may be a word of a long line.
			end := s.End
			if i := strings.IndexAny(f.Text[at:s.End], "\r\n"); i >= 0 {
				end = at + i
			}
			if !yield(definition.Span{Start: at, End: end}) {
				return
			}
			if at = end + 1; strings.HasPrefix(f.Text[end:s.End], "\r\n") {
				at++
			}
		}
	}
}

// fences yields each fenced block of the body, from its opening line's start to
// its closing line's end, or the body's.
func (f *File) fences() []definition.Span {
	var found []definition.Span
	var code fence
	open, end := -1, f.Tree.Body.Start
	for line := range f.lines(f.Tree.Body) {
		end = line.End
		switch code.next(f.Text[line.Start:line.End]) {
		case opens:
			open = line.Start
		case closes:
			found = append(found, definition.Span{Start: open, End: line.End})
			open = -1
		}
	}
	if open >= 0 {
		found = append(found, definition.Span{Start: open, End: end})
	}
	return found
}

// fence is where the lines of a Markdown text are that were taken. What they are indented
// by counts from the list's item that they are in, as in CommonMark. The zero fence is the
// beginning of a text.
type fence struct {
	mark   string // what opened the block of code at hand; "" outside of one
	column int    // where that stands
	items  []int  // the columns where the text of the open items begins, outermost first
}

// part is what a line is to the blocks of code of a text.
type part uint8

const (
	outside part = iota
	opens
	inside
	closes
)

// next takes the next line, which has no ending, and says what it is to the blocks of
// code.
func (c *fence) next(line string) part {
	text, column := unindent(line, 0)
	if c.mark == "" && text != "" {
		text, column = c.item(text, column)
	}
	run := ""
	// Further in it would be code by its indentation.
	if text != "" && (text[0] == '`' || text[0] == '~') && column <= c.in()+3 {
		rest := strings.TrimLeft(text, text[:1])
		// A line of backticks with another one behind them is code within the line.
		if n := len(text) - len(rest); n >= 3 && (text[0] == '~' || !strings.Contains(rest, "`")) {
			run = text[:n]
		}
	}
	switch {
	case c.mark == "" && run == "":
		return outside
	case c.mark == "":
		c.mark, c.column = run, column
		return opens
	case strings.HasPrefix(run, c.mark) && strings.TrimRight(text, " \t") == run:
		c.mark = ""
		return closes
	}
	return inside
}

// in returns the column where the text of the innermost item begins.
func (c *fence) in() int {
	if len(c.items) == 0 {
		return 0
	}
	return c.items[len(c.items)-1]
}

// item leaves the items that a line outside of code is not in, and enters those
// that it begins. It returns what is left of the line, and its column.
func (c *fence) item(text string, column int) (string, int) {
	for column < c.in() {
		c.items = c.items[:len(c.items)-1]
	}
	for column <= c.in()+3 {
		n := bullet(text)
		if n == 0 {
			break
		}
		rest, at := unindent(text[n:], column+n)
		in := at
		// What stands further behind the mark is code of the item, whose text begins
		// right behind the mark.
		if rest == "" || at > column+n+4 {
			in = column + n + 1
		}
		c.items = append(c.items, in)
		text, column = rest, at
	}
	return text, column
}

// bullet returns the length of the mark of a list's item that a text begins with, 0
// for none.
func bullet(text string) int {
	n := 0
	for n < len(text) && n <= 9 && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	marks := "-+*"
	if n > 0 {
		marks = ".)"
	}
	if n > 9 || n == len(text) || strings.IndexByte(marks, text[n]) < 0 ||
		(n+1 < len(text) && text[n+1] != ' ' && text[n+1] != '\t') {
		return 0
	}
	return n + 1
}

// content returns a line of the block without what the block is indented by.
func (c *fence) content(line string) string {
	at := 0
	for column := 0; at < len(line) && column < c.column; at++ {
		_, next := unindent(line[at:at+1], column)
		if next == column || next > c.column {
			break
		}
		column = next
	}
	return line[at:]
}

// unindent returns a text that begins at a column without the blanks before it, and the
// column behind them. A tab goes to the next column that is a multiple of four, as in
// CommonMark.
func unindent(text string, column int) (string, int) {
	for i := range len(text) {
		switch text[i] {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		default:
			return text[i:], column
		}
	}
	return "", column
}

// headings returns the headings of the body (# to ######) outside of code.
// They are maxHeadings at most.
func (f *File) headings() []heading {
	var found []heading
	code := f.fences()
	for line := range f.lines(f.Tree.Body) {
		for len(code) > 0 && code[0].End < line.Start {
			code = code[1:]
		}
		text := f.Text[line.Start:line.End]
		if !strings.HasPrefix(text, "#") || (len(code) > 0 && line.Start >= code[0].Start) {
			continue
		}
		rest := strings.TrimLeft(text, "#")
		level := len(text) - len(rest)
		if level > 6 || (rest != "" && rest[0] != ' ' && rest[0] != '\t') {
			continue
		}
		title := strings.TrimSpace(strings.TrimRight(strings.TrimSpace(rest), "#"))
		if title == "" {
			continue
		}
		line.End = line.Start + len(strings.TrimRight(text, " \t"))
		if found = append(found, heading{level, title, line}); len(found) == maxHeadings {
			break
		}
	}
	return found
}

// section returns where the section of a heading ends: before the next of its level or
// above, without the line ends between, else with the text.
func (f *File) section(all []heading, i int) int {
	for _, next := range all[i+1:] {
		if next.level <= all[i].level {
			end := next.Start
			for end > all[i].End && (f.Text[end-1] == '\n' || f.Text[end-1] == '\r') {
				end--
			}
			return end
		}
	}
	return len(strings.TrimRight(f.Text, " \t\r\n"))
}

// headings returns the headings, each in the one that it is below.
func (o *outline) headings() []Part {
	all := o.f.headings()
	var nest func(from, to int) []Part
	nest = func(from, to int) []Part {
		var found []Part
		for from < to {
			below := from + 1
			for below < to && all[below].level > all[from].level {
				below++
			}
			found = append(found, Part{
				Name: tool.Clip(all[from].text, 2*maxDetail), Kind: HeadingPart,
				Range: o.span(definition.Span{Start: all[from].Start,
					End: max(all[from].End, o.f.section(all, from))}),
				Selection: o.span(all[from].Span), Children: nest(from+1, below),
			})
			from = below
		}
		return found
	}
	return nest(0, len(all))
}

// Fold is a part of a file that can be shown as its first line: from one line to
// another, from 0, both of which belong to it.
type Fold struct {
	Start, End uint32
	Comment    bool // it is comments only
}

// Folds returns what folds: the front-matter, its fields and comments of several lines, the
// sections of the prompt, and its blocks of code.
// They are in the order of the text, an outer one before those in it.
func Folds(f *File) []Fold {
	var found []Fold
	l := &locator{f: f}
	add := func(start, end int) {
		from, to := l.position(start).Line, l.position(end).Line
		if to > from {
			found = append(found, Fold{Start: from, End: to})
		}
	}
	if t := f.Tree; t.Close != (definition.Span{}) {
		add(t.Open.Start, t.Close.End)
	}
	if f.Tree.Root != nil {
		f.foldFields(f.Tree.Root, add)
		found = append(found, f.foldComments()...)
	}
	all := f.headings()
	for i := range all {
		add(all[i].Start, f.section(all, i))
	}
	for _, code := range f.fences() {
		add(code.Start, code.End)
	}
	slices.SortStableFunc(found, func(a, b Fold) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start),
			cmp.Compare(b.End, a.End))
	})
	return slices.Compact(found)
}

// foldComments returns the comments of several lines in the front-matter.
// One line alone is nothing to fold.
func (f *File) foldComments() []Fold {
	var texts []definition.Span // of several lines, where # is a character like any other
	var collect func(v *definition.Value)
	collect = func(v *definition.Value) {
		for i := range v.Items {
			item := &v.Items[i]
			if len(item.Items) == 0 && strings.ContainsAny(f.Text[item.Start:item.End], "\r\n") {
				texts = append(texts, item.Span)
			}
			collect(item)
		}
	}
	collect(f.Tree.Root)
	var found []Fold
	l := &locator{f: f}
	last := uint32(0)
	for line := range f.lines(f.Tree.Front) {
		for len(texts) > 0 && texts[0].End <= line.Start {
			texts = texts[1:]
		}
		inText := len(texts) > 0 && texts[0].Start <= line.Start
		if inText || !strings.HasPrefix(strings.TrimLeft(f.Text[line.Start:line.End], " \t"), "#") {
			continue
		}
		n := l.position(line.Start).Line
		if k := len(found) - 1; k >= 0 && last+1 == n {
			found[k].End = n
		} else {
			found = append(found, Fold{Start: n, End: n, Comment: true})
		}
		last = n
	}
	return slices.DeleteFunc(found, func(fold Fold) bool { return fold.Start == fold.End })
}

// foldFields adds the keys whose values go on below them.
func (f *File) foldFields(v *definition.Value, add func(start, end int)) {
	for i := range v.Items {
		item := &v.Items[i]
		if v.Kind == definition.Mapping {
			end := item.End
			for end > v.Keys[i].End && strings.IndexByte(" \t\r\n", f.Text[end-1]) >= 0 {
				end--
			}
			add(v.Keys[i].Start, end)
		}
		f.foldFields(item, add)
	}
}
