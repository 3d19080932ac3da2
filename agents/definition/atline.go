package definition

// Parts of one line: keys, comments, and collections in brackets.

import "strings"

// after is where a value of several lines in brackets ends: the next line to
// read, or the path to the offset in it.
type after struct {
	at   int
	path []Step
	end  int // of the collection, if it was closed before the offset
}

// bracket is one that is open.
//
// step is the entry or key at hand; its Key is "" until the colon was read.
type bracket struct {
	list bool
	step Step
	word int // where the entry or key at hand starts
}

// brackets reads the collection in brackets that begins at from, as the value of
// what was opened last, in the column. It ends with its last bracket, or before
// a line that begins with a key in the column or before.
//
// It reads on past the offset to the end of the entry at hand, so that the span is that of
// the whole entry. Brackets that are not closed end at the next key.
func (l *lineReader) brackets(from, column int) *after {
	var nest []bracket
	quote := byte(0)
	for i := from; ; i++ {
		atEnd := i >= len(l.src)
		if !atEnd && quote == 0 && i > from && (l.src[i-1] == '\n' || l.src[i-1] == '\r') {
			start, indent := l.content(i, lineEnd(l.src, i))
			if indent <= column && looseColon(l.src[start:lineEnd(l.src, i)]) >= 0 {
				atEnd = true
			}
		}
		if !atEnd && quote != 0 {
			// A quote that is not closed ends with its line: text that is half typed must
			// not swallow the rest.
			if l.src[i] == quote || l.src[i] == '\n' {
				quote = 0
			}
			continue
		}
		// The end ends an entry as a comma does.
		c := byte(',')
		if !atEnd {
			c = l.src[i]
		}
		if len(nest) > 0 && i >= l.offset {
			keyEnds := c == ':' && nest[len(nest)-1].beforeKey()
			if atEnd || keyEnds || strings.IndexByte(",]}\n\r", c) >= 0 {
				return l.within(nest, i)
			}
		}
		if atEnd {
			return &after{at: i}
		}
		switch c {
		case '"', '\'':
			// An apostrophe inside a word begins no quote.
			if before := l.src[i-1]; space(before) || strings.IndexByte("[{,:", before) >= 0 {
				quote = c
			}
		case '[', '{':
			// The offset lies before the inner brackets, so it is about what holds them.
			if i > from && i >= l.offset {
				return l.within(nest, i)
			}
			b := bracket{list: c == '[', word: i + 1, step: Step{Index: -1}}
			if b.list {
				b.step.Index = 0
			}
			nest = append(nest, b)
		case ']', '}':
			nest = nest[:len(nest)-1]
			if len(nest) == 0 {
				return &after{at: nextLine(l.src, lineEnd(l.src, i)), end: i + 1}
			}
			nest[len(nest)-1].word = i + 1
		case ',':
			nest[len(nest)-1].next(i)
		case ':':
			nest[len(nest)-1].colon(l.src, i)
		}
	}
}

// beforeKey reports whether the key of an entry is still to come.
func (b *bracket) beforeKey() bool { return !b.list && b.step.Key == "" }

// next begins another entry behind the comma at i.
func (b *bracket) next(i int) {
	b.word = i + 1
	if b.list {
		b.step.Index++
	} else {
		b.step = Step{Index: -1}
	}
}

// colon takes what is before the colon at i as a key, if it may be one.
// Otherwise the bracket stays as it is.
func (b *bracket) colon(src string, i int) {
	// A colon inside a word, as in a URL, ends no key.
	if !b.beforeKey() || (i+1 < len(src) && !space(src[i+1]) && src[i+1] != '\r' &&
		strings.IndexByte(",]}[{\"'", src[i+1]) < 0) {
		return
	}
	start := b.word
	for start < i && space(src[start]) {
		start++
	}
	b.step = Step{Key: trimQuotes(strings.TrimRight(src[start:i], " \t")), Index: -1, Span: Span{start, i}}
	b.word = i + 1
}

// within returns the path to the offset in the brackets that are open, of which the part
// at hand ends at end.
// nest is from the outermost in, and not empty. The last step has the span of the text
// that is written there; a key that no colon follows is OnKey.
func (l *lineReader) within(nest []bracket, end int) *after {
	path := l.path()
	for i, b := range nest {
		step := b.step
		if i < len(nest)-1 {
			if b.list {
				step.Span = Span{}
			}
			path = append(path, step)
			continue
		}
		start := b.word
		for start < end && space(l.src[start]) {
			start++
		}
		stop := start + len(strings.TrimRight(l.src[start:max(start, end)], " \t\r\n"))
		// The offset is in the blanks around the entry, where nothing is written.
		if l.offset < start || l.offset > stop {
			start, stop = l.offset, l.offset
		}
		if b.list || b.step.Key != "" {
			step.Span = Span{start, stop}
		} else {
			step = Step{Key: trimQuotes(l.src[start:stop]), Index: -1, OnKey: true, Span: Span{start, stop}}
		}
		path = append(path, step)
	}
	return &after{path: path}
}

// dashed reports whether a text begins with the dash of a list's entry.
func dashed(s string) bool {
	return s != "" && s[0] == '-' && (len(s) == 1 || s[1] == ' ')
}

// looseColon returns where the colon after a key is, also one in quotes, or -1.
func looseColon(s string) int {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		end := quoteEnd(s)
		if end > 0 && end < len(s) && s[end] == ':' && (end+1 == len(s) || space(s[end+1])) {
			return end
		}
		return -1
	}
	return keyColon(s)
}

// trimQuotes returns a key without its quotes.
func trimQuotes(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// withoutComment returns a line's text without a comment and the spaces before
// it.
// s begins with the text, not with blanks. Behind a closing quote nothing is kept.
func withoutComment(s string) string {
	if s == "" || s[0] == '#' {
		return ""
	}
	if s[0] == '"' || s[0] == '\'' {
		if end := quoteEnd(s); end > 0 {
			return s[:end]
		}
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = s[:i]
	}
	return strings.TrimRight(s, " \t\r")
}
