package language

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/agentls/agentls/agents/definition"
)

// Format returns the edits that give an agent file its usual form: the keys of
// its front-matter in the order of spec 1.2, those that are not known behind them
// in their own; one space where one is enough; no blanks at the ends of lines;
// one line ending at the end of the file. Comments stay with the key below them,
// or beside them.
//
// Nothing else changes: not the body, not a text of several lines, not how a
// value is written; and what the file says is the same, which is checked before
// an answer is given. A file whose YAML cannot be read, or only by a repair, is
// left alone, and so is the order of keys in another tool's file. Formatting what
// was formatted gives no edits.
// The edits do not overlap and are in the order of the text; nil = there is
// nothing to change.
func Format(f *File) []Edit {
	text := formatText(f)
	if text == f.Text {
		return nil
	}
	// A line of blanks that another key comes before may mean nothing any more.
	for range maxFormatted {
		src := f.source
		src.Data = []byte(text)
		again := formatText(Open(src))
		if again == text {
			break
		}
		text = again
	}
	return lineEdits(f, text)
}

// maxFormatted is how often a text is formatted again until nothing changes: once has been
// enough for all that was seen, so the limit is there for what was not.
const maxFormatted = 3

// WhyUnformatted says why a file is not formatted; "" for one that is.
func WhyUnformatted(f *File) string {
	if t := f.Tree; t.Root != nil && !t.Repaired && !slices.ContainsFunc(f.Definition.Problems,
		func(p definition.Problem) bool { return p.Code == "agent/yaml-feature" }) {
		return ""
	}
	for _, p := range f.Definition.Problems {
		if strings.HasPrefix(p.Code, "agent/yaml") || p.Fatal() {
			return fmt.Sprintf("%s is not formatted before its front-matter is fixed, line %d: %s",
				filepath.Base(f.Path), p.Range.Start.Line+1, p.Message)
		}
	}
	return filepath.Base(f.Path) + " is not formatted, since its front-matter cannot be read."
}

// formatText returns the text of a file in its usual form: with its blanks put right and
// its keys in order, or with its blanks only where the order would change what the file
// says, or as it is where those would, too.
func formatText(f *File) string {
	t := f.Tree
	if WhyUnformatted(f) != "" {
		return f.Text
	}
	spaced := spacing(t)
	next, ok := definition.ReadTree(f.Path, spaced)
	if !ok || next.Repaired {
		return f.Text
	}
	ordered := spaced
	if t.Dialect == definition.Agentls {
		ordered = ordering(next)
	}
	for _, text := range []string{ordered, spaced} {
		if text == f.Text || sameMeaning(f, text) {
			return text
		}
	}
	return f.Text
}

// sameMeaning reports whether another text of a file says what the file says. Both are
// parsed alike, and all that the definition has is compared but for places and the digest.
// New fields of the definition are compared without being named here.
func sameMeaning(f *File, text string) bool {
	d := f.Definition
	other := definition.Parse(definition.Source{Path: d.Path, Folder: d.Folder, Scope: d.Scope, URI: f.URI,
		Data: []byte(text), Updated: d.Updated, Created: d.Created, Model: sameModel(d)})
	same := definition.Parse(definition.Source{Path: d.Path, Folder: d.Folder, Scope: d.Scope, URI: f.URI,
		Data: []byte(f.Text), Updated: d.Updated, Created: d.Created, Model: sameModel(d)})
	a, b := reflect.ValueOf(same).Elem(), reflect.ValueOf(other).Elem()
	for i := range a.NumField() {
		field := a.Type().Field(i)
		// All places of a definition are called so.
		place := strings.HasSuffix(strings.TrimSuffix(field.Name, "s"), "Range")
		switch {
		case !field.IsExported(), place, field.Name == "Digest", field.Name == "Problems":
		case field.Name == "Handoffs" && slices.EqualFunc(same.Handoffs, other.Handoffs, sameHandoff):
		case !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()):
			return false
		}
	}
	return sameProblems(same.Problems, other.Problems) && reflect.DeepEqual(same.FrontMatter(), other.FrontMatter())
}

// sameHandoff compares handoffs but for their places.
func sameHandoff(a, b definition.Handoff) bool {
	a.Range = b.Range
	return reflect.DeepEqual(a, b)
}

// sameModel resolves models alike in both readings, whatever is installed: each name is
// its own model.
func sameModel(*definition.Definition) func(string) (string, bool) {
	return func(name string) (string, bool) { return name, true }
}

// sameProblems compares findings but for their places and order.
// A finding is the same where its code and its text are.
func sameProblems(a, b []definition.Problem) bool {
	said := func(list []definition.Problem) []string {
		var texts []string
		for _, p := range list {
			texts = append(texts, p.Code+" "+p.Message)
		}
		slices.Sort(texts)
		return texts
	}
	return slices.Equal(said(a), said(b))
}

// splice replaces a span of a text.
type splice struct {
	definition.Span
	text string
}

// spacing returns the text with its blanks put right. Lines of texts in which blanks may
// mean something are left alone, and so is the prompt but for blanks at its end. The
// changes are collected as splices of the original text, so that offsets of the tree stay
// right; of two that overlap the first counts.
func spacing(t *definition.Tree) string {
	var splices []splice
	put := func(start, end int, text string) {
		if t.Text[start:end] != text {
			splices = append(splices, splice{definition.Span{Start: start, End: end}, text})
		}
	}
	put(t.Open.Start, t.Open.End, "---")
	put(t.Close.Start, t.Close.End, "---")
	kept := map[int]bool{} // lines, by their start, whose blanks may mean something
	valueSpacing(t, t.Root, put, kept)
	for _, l := range linesOf(t.Text, t.Front.Start, t.Front.End) {
		if trimmed := len(strings.TrimRight(t.Text[l.Start:l.End], " \t")); !kept[l.Start] && l.Start+trimmed < l.End {
			put(l.Start+trimmed, l.End, "")
		}
	}
	if body := t.Text[t.Body.Start:]; strings.TrimSpace(body) != "" {
		end := t.Body.Start + len(strings.TrimRight(body, " \t\r\n"))
		put(end, len(t.Text), eolOf(t.Text))
	}
	slices.SortFunc(splices, func(a, b splice) int { return a.Start - b.Start })
	var b strings.Builder
	last := 0
	for _, s := range splices {
		if s.Start < last {
			continue
		}
		b.WriteString(t.Text[last:s.Start] + s.text)
		last = s.End
	}
	return b.String() + t.Text[last:]
}

// valueSpacing puts one blank after colons, dashes and commas of a value, where
// only blanks are in question, and notes the lines of texts that have several.
// put is called with offsets of the tree's text. kept gets the starts of lines.
func valueSpacing(t *definition.Tree, v *definition.Value, put func(int, int, string), kept map[int]bool) {
	text := t.Text
	if v.Kind != definition.Mapping && v.Kind != definition.List {
		if strings.ContainsAny(text[v.Start:v.End], "\r\n") {
			end := v.End
			if strings.IndexByte("|>", text[v.Start]) >= 0 {
				// Empty lines behind it may be a part of it.
				end = v.End + len(text[v.End:t.Front.End]) - len(strings.TrimLeft(text[v.End:t.Front.End], " \t\r\n"))
			}
			for _, l := range linesOf(text, v.Start, end) {
				kept[l.Start] = true
			}
			// Also the line on which the text begins, which may be that of its key.
			kept[lineStart(text, v.Start)] = true
		}
		return
	}
	flow := v.Start < v.End && (text[v.Start] == '[' || text[v.Start] == '{')
	end := v.Start + 1
	for i := range v.Items {
		item := &v.Items[i]
		start := item.Start
		if v.Kind == definition.Mapping {
			key := v.Keys[i].Span
			if gap := text[min(key.End, item.Start):item.Start]; item.Start < item.End &&
				strings.Trim(gap, " \t") == ":" {
				put(key.End, item.Start, ": ")
			}
			start = key.Start
		}
		switch {
		case flow && start >= end:
			gap := text[end:start]
			if i == 0 && gap != "" && strings.Trim(gap, " \t") == "" && v.Kind == definition.List {
				put(end, start, "")
			} else if i > 0 && strings.Trim(gap, " \t") == "," {
				put(end, start, ", ")
			}
		case v.Kind == definition.List && item.Kind != definition.Mapping && item.Kind != definition.List:
			if line := lineStart(text, start); strings.HasPrefix(strings.TrimLeft(text[line:start], " "), "-") {
				dash := start - len(strings.TrimLeft(text[line:start],
					" -")) // no more than blanks and the dash may stand there
				if gap := strings.TrimLeft(text[line:start], " "); dash == start && strings.Trim(gap, " ") == "-" &&
					item.Start < item.End {
					put(start-len(gap), start, "- ")
				}
			}
		}
		valueSpacing(t, item, put, kept)
		end = item.End
	}
	if flow && len(v.Items) > 0 && v.Kind == definition.List && end < v.End {
		if gap := text[end : v.End-1]; gap != "" && strings.Trim(gap, " \t") == "" {
			put(end, v.End-1, "")
		}
	}
}

// ordering returns the text with the keys of its front-matter in the table's
// order.
// The lines themselves stay as they are; one that comes last gets an ending of the text's
// own kind where it has none.
func ordering(t *definition.Tree) string {
	lines := linesOf(t.Text, t.Front.Start, t.Front.End)
	if len(lines) == 0 || t.Root.Kind != definition.Mapping {
		return t.Text
	}
	eol := eolOf(t.Text)
	var b strings.Builder
	b.WriteString(t.Text[:t.Front.Start])
	for _, line := range orderLines(t, t.Root, "", lines) {
		b.WriteString(t.Text[line.Start:line.End])
		b.WriteString(lineEnding(t.Text, line.End, eol))
	}
	return b.String() + t.Text[t.Front.End:]
}

// block is a key with its value and the comments above them.
type block struct {
	// rank is the key's place in the table, see rankOf.
	rank int
	// lines are whole lines without their endings.
	lines []definition.Span
}

// orderLines returns the lines of a mapping with its keys in order; lines holds all that
// belongs to it. What is not written a key a line stays as it is.
//
// It cuts the lines into blocks, one for each key with the comments and empty lines right
// above it, and sorts the blocks by the keys' places in the table. What stands before the
// first block stays first, and comments behind the last value stay last. Within tools, run
// and tools.confirmation keys are sorted too; in all other values their order stays.
func orderLines(t *definition.Tree, v *definition.Value, path string, lines []definition.Span) []definition.Span {
	// A key that shares its line, or stands in another column than the first, means that
	// the mapping is not written a key a line.
	at := make([]int, len(v.Keys)) // the line of each key
	for i, key := range v.Keys {
		if i > 0 {
			at[i] = at[i-1] + 1
		}
		for at[i] < len(lines) && lines[at[i]].End < key.Start {
			at[i]++
		}
		if at[i] == len(lines) || key.Start < lines[at[i]].Start {
			return lines
		}
		indent := t.Text[lines[at[i]].Start:key.Start]
		if strings.Trim(indent, " ") != "" || len(indent) != v.Keys[0].Start-lines[at[0]].Start {
			return lines
		}
	}
	if len(at) == 0 {
		return lines
	}
	column := v.Keys[0].Start - lines[at[0]].Start
	// Where each block begins: with the comments right above its key.
	begin := make([]int, len(at)+1)
	begin[len(at)] = len(lines)
	for i := range at {
		least := 0
		if i > 0 {
			least = at[i-1] + 1
			for least < at[i] && lines[least].Start < v.Items[i-1].End {
				least++
			}
		}
		n := at[i]
		for n > least && comment(t.Text, lines[n-1], column) {
			n--
		}
		// Empty lines above a key move with it, unless the text before counts them.
		for n > least && i > 0 && empty(t.Text, lines[n-1]) && !keeps(t.Text, &v.Items[i-1]) {
			n--
		}
		begin[i] = n
	}
	// What stands behind the last key and is not of it stays last.
	tail := len(lines)
	lastValue := &v.Items[len(at)-1]
	for tail > at[len(at)-1]+1 && lines[tail-1].Start >= lastValue.End &&
		(comment(t.Text, lines[tail-1], column) || empty(t.Text, lines[tail-1])) && !keeps(t.Text, lastValue) {
		tail--
	}
	begin[len(at)] = tail
	blocks := make([]block, len(at))
	for i := range at {
		inner := lines[begin[i]:begin[i+1]]
		child := &v.Items[i]
		if name := childPath(path, v.Keys[i].Name); (name == "tools" || name == "run" ||
			name == "tools.confirmation") && child.Kind == definition.Mapping && len(child.Keys) > 0 &&
			t.Text[child.Start] != '{' {
			head := at[i] - begin[i] + 1
			inner = slices.Concat(inner[:head], orderLines(t, child, name, inner[head:]))
		}
		blocks[i] = block{rankOf(childPath(path, v.Keys[i].Name)), inner}
	}
	slices.SortStableFunc(blocks, func(a, b block) int { return a.rank - b.rank })
	next := slices.Clone(lines[:begin[0]])
	for i, b := range blocks {
		inner := b.lines
		// The front-matter must not begin with an empty line.
		for i == 0 && len(inner) > 0 && begin[0] == 0 && empty(t.Text, inner[0]) {
			inner = inner[1:]
		}
		next = append(next, inner...)
	}
	return append(next, lines[tail:]...)
}

// rankOf returns the place of a field in the table; what is not known comes last.
// Fields that only other tools have count as not known.
func rankOf(path string) int {
	if f, ok := definition.FieldAt(path); ok && f.Dialects == nil {
		return f.Order
	}
	return 1 << 20
}

// childPath returns the path of a key below another.
func childPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// keeps reports whether a text counts the empty lines behind it.
// It is so for | and > with a +, also where that text is the last part of the value.
func keeps(text string, v *definition.Value) bool {
	for (v.Kind == definition.Mapping || v.Kind == definition.List) && len(v.Items) > 0 {
		v = &v.Items[len(v.Items)-1]
	}
	head, _, _ := strings.Cut(text[v.Start:v.End], "\n")
	return head != "" && strings.IndexByte("|>", head[0]) >= 0 && strings.Contains(strings.SplitN(head, " ", 2)[0], "+")
}

// comment reports whether a line is a comment that is no deeper than a column.
// A deeper one belongs to the value above it.
func comment(text string, l definition.Span, column int) bool {
	line := text[l.Start:l.End]
	content := strings.TrimLeft(line, " ")
	return strings.HasPrefix(content, "#") && len(line)-len(content) <= column
}

// empty reports whether a line has nothing but blanks.
func empty(text string, l definition.Span) bool {
	return strings.TrimSpace(text[l.Start:l.End]) == ""
}

// linesOf returns the lines that begin from one offset up to another, without
// their endings.
func linesOf(text string, from, to int) []definition.Span {
	return slices.Collect((&File{Text: text}).lines(definition.Span{Start: from, End: to}))
}

// lineEnding returns the line ending at an offset, or another text at the end.
// The offset must be where a line ends.
func lineEnding(text string, at int, none string) string {
	switch {
	case strings.HasPrefix(text[at:], "\r\n"):
		return "\r\n"
	case at < len(text):
		return text[at : at+1]
	}
	return none
}

// lineStart returns where the line begins that holds an offset.
func lineStart(text string, at int) int { return (&File{Text: text}).lineStart(at) }

// eolOf returns how a text ends its lines: as it ends the first.
// It is \n for a text of one line.
func eolOf(text string) string {
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		return lineEnding(text, i, "\n")
	}
	return "\n"
}

// lineEdits returns edits that make another text of a file's: of the lines that differ
// alone, where there are as many; else one of all between those that are the same at both
// ends.
func lineEdits(f *File, text string) []Edit {
	before, after := wholeLines(f.Text), wholeLines(text)
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	offset := len(strings.Join(before[:head], ""))
	edit := func(n int, text string) Edit {
		return Edit{f.URI, f.Index.Range(definition.Span{Start: offset, End: offset + n}), text}
	}
	old, now := before[head:len(before)-tail], after[head:len(after)-tail]
	if len(old) != len(now) {
		return []Edit{edit(len(strings.Join(old, "")), strings.Join(now, ""))}
	}
	var edits []Edit
	for i := range old {
		if old[i] != now[i] {
			edits = append(edits, edit(len(old[i]), now[i]))
		}
		offset += len(old[i])
	}
	return edits
}

// wholeLines returns a text's lines with their endings.
// Together they are the text.
func wholeLines(text string) []string {
	var lines []string
	for at := 0; at < len(text); {
		end := len(text)
		if i := strings.IndexAny(text[at:], "\r\n"); i >= 0 {
			end = at + i
			end += len(lineEnding(text, end, ""))
		}
		lines = append(lines, text[at:end])
		at = end
	}
	return lines
}
