package definition

// Which key or value an offset is in, also where something is about to be typed.

import "strings"

// Step is one step of the path to a place in the front-matter.
type Step struct {
	Key   string // of a mapping, as it is written; "" in a list, and where a key is about to be typed
	Index int    // of a list's entry, from 0; -1 for a key
	OnKey bool   // the place is on the key itself, not on its value; of the last step only
	// Span is what is written at the place, in the last step: the key, or the
	// value's scalar or collection with its quotes and brackets; empty, at the
	// offset, where nothing is yet. In the other steps it is that of the key, and
	// empty for an index.
	Span
}

// At returns the path to the key or value that an offset of the text is in or at
// the end of. Where nothing is written yet it is where something may be: on an
// empty line a key of the mapping that the line's indentation leads to, with the
// Key "", or an entry of the list there; after "key:" its value; in brackets the
// entry at hand. A word alone on the lines below "key:" is a key that is being
// typed; one after "- " is an entry, whether it is to become a key or not. It is
// nil in the body, on the lines ---, and in comments. A front-matter that cannot
// be read is read by its lines.
// Offsets outside the text are as outside the front-matter. The caller owns the
// slice.
//
// TestAt has the cases; TestLinesLeadWhereTheTreeLeads holds that the lines and the tree
// give the same path where both can.
func (t *Tree) At(offset int) []Step {
	// The closing line begins where Front ends, so that offset is on the line --- and not
	// in the front-matter.
	outside := offset < t.Front.Start || offset > t.Front.End || (t.Close != (Span{}) && offset == t.Close.Start)
	if outside || (t.Open == (Span{}) && !t.whole) {
		return nil
	}
	if offset > 0 && offset < len(t.Text) && t.Text[offset-1] == '\r' && t.Text[offset] == '\n' {
		offset-- // inside of a line ending: the line's end
	}
	if t.Root != nil {
		if path := within(t.Root, offset, nil, t.Text); path != nil {
			return path
		}
	}
	return (&lineReader{src: t.Text[:t.Front.End], offset: offset}).read(t.Front.Start)
}

// within is At for what the tree has at the offset: a key or a scalar.
// It is nil where the tree has nothing that can be trusted: the lines are then
// read by lineReader. A plain text alone on the line below its key is taken for a
// key that is being typed.
func within(v *Value, offset int, path []Step, text string) []Step {
	for i := range v.Items {
		item := &v.Items[i]
		step := Step{Index: i}
		if v.Kind == Mapping {
			key := v.Keys[i]
			step = Step{Key: key.Name, Index: -1, Span: key.Span}
			if key.Holds(offset) {
				step.OnKey = true
				return append(path, step)
			}
		}
		// Where nothing is written the lines tell what may stand there.
		if !item.Holds(offset) || item.Start == item.End {
			continue
		}
		if item.Kind == Mapping || item.Kind == List {
			if deeper := within(item, offset, append(path, step), text); deeper != nil {
				return deeper
			}
			continue
		}
		if flush(text[item.Start:offset]) {
			// Only a repair takes it for a part of the value: its own line says more.
			return nil
		}
		if v.Kind == Mapping && item.Plain && lineEnd(text, step.End) < item.Start &&
			!strings.ContainsAny(text[item.Start:item.End], "\n\r") {
			return append(path, step, Step{Key: item.Text, Index: -1, OnKey: true, Span: item.Span})
		}
		step.Span = item.Span
		return append(path, step)
	}
	return nil
}

// flush reports whether a text without quotes goes on, up to where it is given,
// with a line that begins in the first column.
func flush(s string) bool {
	i := strings.LastIndexAny(s, "\n\r")
	return i >= 0 && strings.IndexByte("'\"|>", s[0]) < 0 && (i+1 == len(s) || (s[i+1] != ' ' && s[i+1] != '\t'))
}

// lineReader finds the path to an offset from the lines before it, without
// asking whether they are YAML.
// It is used for one offset.
//
// open is the stack of what the lines so far are in, the outermost first; columns grow
// from one to the next, but for a key whose list is not indented.
type lineReader struct {
	src string // up to the front-matter's end
	// Moved within its line by last, to the text that it stands before.
	offset int
	// The outermost first.
	open []opened
}

// opened is a key or a list's entry whose value may go on with the next line.
type opened struct {
	step   Step
	column int    // of the key's first character, or of the dash
	value  string // what of the value is on its line, without spaces around it and comment
}

// read reads the lines from the one that starts at from up to the offset.
// A line above the offset changes what is open (line); the line with the offset gives the
// answer (last).
func (l *lineReader) read(from int) []Step {
	for at := from; ; {
		end := lineEnd(l.src, at)
		if l.offset <= end {
			return l.last(at, end)
		}
		next := l.line(at, end)
		if next == nil {
			at = nextLine(l.src, end)
		} else if next.path != nil || next.at > l.offset {
			return next.path
		} else {
			at = next.at
		}
		if at >= len(l.src) && l.offset >= len(l.src) && l.offset != at {
			return nil
		}
	}
}

// line takes a line that ends before the offset into what is open.
// Entries that are not as far in are closed first. What it returns is not nil
// where the line opens brackets that reach over the offset.
func (l *lineReader) line(at, end int) *after {
	start, column := l.content(at, end)
	if start == end || l.src[start] == '#' || l.literal(column) {
		return nil
	}
	for dashed(l.src[start:end]) {
		l.dash(start, column)
		for start++; start < end && l.src[start] == ' '; start++ {
		}
		column = start - at
		if start == end {
			return nil
		}
	}
	colon := looseColon(l.src[start:end])
	value := start
	if colon >= 0 && !l.continues(column) {
		// Keys in this column and further in are complete.
		l.close(column)
		l.open = append(l.open, opened{step: Step{Key: trimQuotes(l.src[start : start+colon]), Index: -1,
			Span: Span{start, start + colon}}, column: column})
		value = start + colon + 1
		for value < end && (l.src[value] == ' ' || l.src[value] == '\t') {
			value++
		}
		// A line without a key goes on with the text above it, unless it stands behind a dash
		// of its own line.
	} else if colon < 0 && (len(l.open) == 0 || !l.onLine(at)) {
		return nil
	}
	if len(l.open) == 0 {
		return nil
	}
	top := &l.open[len(l.open)-1]
	top.value = withoutComment(l.src[value:end])
	if top.value != "" && (top.value[0] == '[' || top.value[0] == '{') {
		return l.brackets(value, top.column)
	}
	return nil
}

// onLine reports whether what was opened last is a dash of the line that starts
// at at.
func (l *lineReader) onLine(at int) bool {
	top := l.open[len(l.open)-1]
	return top.step.Index >= 0 && top.step.Start >= at
}

// content returns where a line's text starts, and its column.
// The column counts bytes, and a tab as one. A blank line starts at its end.
func (l *lineReader) content(at, end int) (start, column int) {
	for start = at; start < end && (l.src[start] == ' ' || l.src[start] == '\t'); start++ {
	}
	return start, start - at
}

// literal reports whether a line with text in the column is part of a text after
// | or >.
//
// Such lines are text and open nothing, whatever they look like.
func (l *lineReader) literal(column int) bool {
	if len(l.open) == 0 {
		return false
	}
	top := l.open[len(l.open)-1]
	return top.value != "" && (top.value[0] == '|' || top.value[0] == '>') && column > top.column
}

// continues reports whether a line with text in the column goes on with a plain
// text of the line before.
func (l *lineReader) continues(column int) bool {
	if len(l.open) == 0 {
		return false
	}
	top := l.open[len(l.open)-1]
	return top.value != "" && column > top.column
}

// close closes what a key in the column ends.
// Keys in that column or deeper have ended there.
func (l *lineReader) close(column int) {
	for len(l.open) > 0 && l.open[len(l.open)-1].column >= column {
		l.open = l.open[:len(l.open)-1]
	}
}

// dash opens the entry whose dash is at an offset.
// A dash in the column of a key without a value begins that key's list, as YAML allows it.
func (l *lineReader) dash(at, column int) {
	index := 0
	for len(l.open) > 0 {
		top := l.open[len(l.open)-1]
		if top.column < column || (top.column == column && top.step.Index < 0 && top.value == "") {
			break
		}
		if top.column == column && top.step.Index >= 0 {
			index = top.step.Index + 1
		}
		l.open = l.open[:len(l.open)-1]
	}
	l.open = append(l.open, opened{step: Step{Index: index, Span: Span{at, at}}, column: column})
}

// path returns what is open, with more steps.
// The slice is the caller's: l.open goes on to change.
func (l *lineReader) path(more ...Step) []Step {
	var path []Step
	for _, o := range l.open {
		step := o.step
		// dash keeps the place of the dash there, for onLine.
		if step.Index >= 0 {
			step.Span = Span{}
		}
		path = append(path, step)
	}
	return append(path, more...)
}

// last returns the path for the line that holds the offset.
// The line may be half typed: it decides by the column and by what is on it
// whether the offset is in a key, in a value, or where a new entry begins. nil is
// a place that has no path, such as a comment.
func (l *lineReader) last(at, end int) []Step {
	start, column := l.content(at, end)
	if l.offset < start || start == end {
		if start < end {
			// Before a line's text: what is there.
			column = start - at
		} else {
			column = l.offset - at
		}
		if start == end {
			return l.empty(column)
		}
		// An offset in the indentation is about the text behind it.
		l.offset = start
	}
	if l.src[start] == '#' {
		return nil
	}
	if l.literal(column) {
		return l.value(start, end)
	}
	for dashed(l.src[start:end]) {
		l.dash(start, column)
		// An offset on the dash is about the entry behind it.
		if l.offset == start {
			l.offset++
		}
		for start++; start < end && l.src[start] == ' '; start++ {
		}
		if start == end {
			return l.value(l.offset, l.offset)
		}
		l.offset = max(l.offset, start)
		column = start - at
	}
	dash := len(l.open) > 0 && l.onLine(at)
	if !dash && l.continues(column) {
		return l.value(start, end)
	}
	colon := looseColon(l.src[start:end])
	if colon < 0 && dash {
		return l.scalar(start, end, column)
	}
	l.close(column)
	word := end
	if colon >= 0 {
		word = start + colon
	}
	word = start + len(strings.TrimRight(withoutComment(l.src[start:word]), " \t"))
	key := Step{Key: trimQuotes(l.src[start:word]), Index: -1, Span: Span{start, word}}
	if colon < 0 || l.offset <= start+colon {
		// Behind a lone word and a blank nothing can be typed that belongs to it.
		if l.offset > word && colon < 0 {
			return nil
		}
		key.OnKey = true
		return l.path(key)
	}
	l.open = append(l.open, opened{step: key, column: column})
	return l.scalar(start+colon+1, end, column)
}

// empty returns the path for a line without text, at a column.
//
// The column alone decides: in the column of a list's dashes it is the next entry, else a
// key of the mapping that is open there.
func (l *lineReader) empty(column int) []Step {
	here := Span{l.offset, l.offset}
	if l.literal(column) {
		return l.value(l.offset, l.offset)
	}
	next := 0 // entry of a list in the column
	for len(l.open) > 0 && l.open[len(l.open)-1].column >= column {
		if top := l.open[len(l.open)-1]; top.column == column && top.step.Index >= 0 {
			next = top.step.Index + 1
		}
		l.open = l.open[:len(l.open)-1]
	}
	if next > 0 {
		return l.path(Step{Index: next, Span: here})
	}
	return l.path(Step{Index: -1, OnKey: true, Span: here})
}

// value returns the path to the value of what was opened last, which is written
// in src[start:end].
func (l *lineReader) value(start, end int) []Step {
	path := l.path()
	if len(path) > 0 {
		path[len(path)-1].Span = Span{start, end}
	}
	return path
}

// scalar returns the path to the offset in the value that begins in
// src[from:end], after spaces.
// A place behind the text but before the line's end still is the value's: more of it may
// be typed there.
func (l *lineReader) scalar(from, end, column int) []Step {
	for from < end && (l.src[from] == ' ' || l.src[from] == '\t') {
		from++
	}
	text := withoutComment(l.src[from:end])
	switch {
	case l.offset < from || text == "":
		if from < end && l.src[from] == '#' && l.offset > from {
			return nil
		}
		return l.value(l.offset, l.offset)
	case text[0] == '[' || text[0] == '{':
		switch found := l.brackets(from, column); {
		case found.path != nil:
			return found.path
		case l.offset > found.end:
			return nil // a comment
		default:
			return l.value(from, found.end)
		}
	case l.offset > from+len(text) && from+len(text) < end && strings.TrimLeft(l.src[from+len(text):end], " \t") != "":
		// A comment.
		return nil
	case l.offset > from+len(text):
		return l.value(from, l.offset)
	}
	return l.value(from, from+len(text))
}
