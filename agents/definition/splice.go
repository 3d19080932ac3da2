package definition

// Parts of the front-matter taken out or written anew, line by line.

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// splice is what a repair puts in the place of a part of the text.
//
// An editor gets it as an edit of Span. Text outside of it is not touched.
type splice struct {
	Span
	text    string
	changes Span // the lines whose findings it fixes
}

// splices returns what [repair] changes, a splice for each line or value of
// several lines.
// They are in order and do not overlap. Each changes as little as it can, so that
// an editor keeps the person's cursor and marks.
// It runs the repairer line by line and compares what came out with what was there, from
// both ends. The borders are then moved out of characters and of \r\n.
func splices(src string, front Span) []splice {
	m := &repairer{src: src, to: front.End}
	var found []splice
	for at := front.Start; at < front.End; {
		written, changes := len(m.out), len(m.changes)
		next := m.line(at)
		if len(m.changes) > changes {
			s := splice{Span: Span{at, next}, text: string(m.out[written:]), changes: Span{at, next}}
			// Only what differs is written.
			for s.Start < s.End && s.text != "" && src[s.Start] == s.text[0] {
				s.Start++
				s.text = s.text[1:]
			}
			// The repairer ends lines with \n; the file keeps its own line ends.
			if text, ok := strings.CutSuffix(s.text, "\n"); ok {
				s.End, s.text = s.Start+len(strings.TrimRight(src[s.Start:s.End], "\r\n")), text
			}
			for s.End > s.Start && s.text != "" && src[s.End-1] == s.text[len(s.text)-1] {
				s.End--
				s.text = s.text[:len(s.text)-1]
			}
			// Not inside of a character or a line ending.
			for s.Start > at && !utf8.RuneStart(src[s.Start]) {
				s.Start--
				s.text = src[s.Start:s.Start+1] + s.text
			}
			for s.End < next && (!utf8.RuneStart(src[s.End]) ||
				(src[s.End] == '\n' && src[s.End-1] == '\r' && s.End > s.Start)) {
				s.text += src[s.End : s.End+1]
				s.End++
			}
			found = append(found, s)
		}
		at = next
	}
	return found
}

// lineStart returns where the line of an offset starts.
func (f *fixer) lineStart(off int) int {
	return strings.LastIndexAny(f.Text[:off], "\n\r") + 1
}

// keyOf returns the place of the key whose value v is, a part of the tree.
// It is zero for a value that is no key's. The whole tree is searched: there is no way up.
func (f *fixer) keyOf(v *Value) Span {
	var look func(in *Value) Span
	look = func(in *Value) Span {
		for i := range in.Items {
			if item := &in.Items[i]; item == v && in.Kind == Mapping {
				return in.Keys[i].Span
			} else if s := look(item); s != (Span{}) {
				return s
			}
		}
		return Span{}
	}
	return look(f.Root)
}

// entry returns the list whose entry has the problem's place, and which it is.
//
// The list is nil where none has it.
func (f *fixer) entry() (*Value, int) {
	var look func(in *Value) (*Value, int)
	look = func(in *Value) (*Value, int) {
		for i := range in.Items {
			item := &in.Items[i]
			if in.Kind == List && item.Span == f.span {
				return in, i
			}
			if list, at := look(item); list != nil {
				return list, at
			}
		}
		return nil, 0
	}
	if f.Root == nil {
		return nil, 0
	}
	return look(f.Root)
}

// withoutEntry takes an entry out of a list, with its line or its comma.
//
// The only entry of a list in lines leaves [] behind, since a key without a value is null
// and no list. It reports false where comments would be lost or the dash stands
// elsewhere.
func (f *fixer) withoutEntry(list *Value, i int) (Edit, bool) {
	item := list.Items[i]
	if f.Text[list.Start] == '[' {
		return f.withoutPart(list.Span, spansOf(list.Items), i)
	}
	start := f.lineStart(item.Start)
	dash := strings.TrimSpace(f.Text[start:item.Start])
	if dash != "-" {
		return Edit{}, false // an entry of another line, or of a list in a list
	}
	if len(list.Items) > 1 {
		return f.edit(Span{start, nextLine(f.Text, lineEnd(f.Text, item.End))}, ""), true
	}
	// Comments between the key and the entry would go with it.
	key := f.keyOf(list)
	if key == (Span{}) || strings.Contains(f.Text[key.End+1:list.End], "#") {
		return Edit{}, false
	}
	return f.edit(Span{key.End + 1, list.End}, " []"), true
}

// spansOf returns where values stand.
func spansOf(items []Value) []Span {
	spans := make([]Span, len(items))
	for i := range items {
		spans[i] = items[i].Span
	}
	return spans
}

// withoutPart takes a part out of a collection in brackets, with the comma on its
// one side.
//
// It reports false where that would take a comment away.
func (f *fixer) withoutPart(in Span, parts []Span, i int) (Edit, bool) {
	s := parts[i]
	switch {
	case i+1 < len(parts):
		s.End = parts[i+1].Start
	case i > 0:
		s.Start = parts[i-1].End
	default:
		s = Span{in.Start + 1, in.End - 1}
	}
	return f.edit(s, ""), s.Start < s.End && !strings.Contains(f.Text[s.Start:s.End], "#")
}

// withoutKey takes a key with its value out of the mapping that holds it. It
// reports false where that would leave nothing, or where the key shares its line.
func (f *fixer) withoutKey(key Span) (Edit, bool) {
	in, i := f.holder(f.Root, key)
	if in == nil || len(in.Keys) < 2 {
		return Edit{}, false
	}
	if f.Text[in.Start] == '{' {
		parts := make([]Span, len(in.Keys))
		for j := range parts {
			parts[j] = Span{in.Keys[j].Start, max(in.Keys[j].End+1, in.Items[j].End)}
		}
		return f.withoutPart(in.Span, parts, i)
	}
	start := f.lineStart(key.Start)
	if strings.TrimSpace(f.Text[start:key.Start]) != "" {
		return Edit{}, false
	}
	end := max(key.End, in.Items[i].End)
	return f.edit(Span{start, nextLine(f.Text, lineEnd(f.Text, end))}, ""), true
}

// holder returns the mapping that has a key in a place, and which it is.
// nil where no key stands exactly there.
func (f *fixer) holder(in *Value, key Span) (*Value, int) {
	if in == nil {
		return nil, 0
	}
	if i := slices.IndexFunc(in.Keys, func(k Key) bool { return k.Span == key }); i >= 0 {
		return in, i
	}
	for i := range in.Items {
		if found, at := f.holder(&in.Items[i], key); found != nil {
			return found, at
		}
	}
	return nil, 0
}

// YAMLText writes a text as a YAML scalar: as it is where it is sure to be read
// as the same text, also in brackets; else in double quotes.
func YAMLText(s string) string {
	if plainText(s) {
		return s
	}
	return yamlQuoted(s)
}

// plainText reports whether a text needs no quotes anywhere.
//
// Words that some YAML reads as a boolean or a number need quotes, whatever our parser
// makes of them. TestYAMLText holds it.
func plainText(s string) bool {
	if s == "" || s[len(s)-1] == ' ' || (s[0]|0x20 < 'a' || s[0]|0x20 > 'z') {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("_-./ ", c) < 0 {
			return false
		}
	}
	n := node{text: s}
	switch strings.ToLower(s) {
	case "yes", "no", "on", "off", "y", "n", "inf", "nan":
		return false
	}
	return resolve(&n) && n.kind == str
}

// yamlQuoted writes a text in double quotes.
// Everything that YAML may not have as it is, or that is not seen, is escaped.
func yamlQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029 || c == 0xfeff:
			const digits = "0123456789ABCDEF"
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(digits[c>>shift&15])
			}
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Difference returns what makes one text of another: nil where they are the same,
// else one edit of the lines that differ.
// It is small where little differs, so that an editor keeps the cursor and what
// is folded.
// TestDifference holds that the edit makes to of from. The edit begins and ends at line
// starts, so that no \r\n is cut apart.
func Difference(from, to string) []Edit {
	if from == to {
		return nil
	}
	start, end := 0, len(from)
	for start < len(to) {
		stop := nextLine(from, lineEnd(from, start))
		if stop == start || !strings.HasPrefix(to[start:], from[start:stop]) ||
			strings.IndexByte("\r\n", from[stop-1]) < 0 {
			break
		}
		if stop < len(to) && from[stop-1] == '\r' && to[stop] == '\n' {
			break
		}
		start = stop
	}
	rest := to[start:]
	for end > start {
		line := strings.LastIndexByte(from[start:end-1], '\n') + 1 + start
		kept := len(rest) - (end - line)
		if !strings.HasSuffix(rest, from[line:end]) || (kept > 0 && rest[kept-1] != '\n') {
			break
		}
		rest, end = rest[:kept], line
	}
	return []Edit{{NewIndex(from).Range(Span{start, end}), rest}}
}
