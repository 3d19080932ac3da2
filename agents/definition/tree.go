package definition

// The front-matter as it is written, for who edits a file: an editor's features,
// formatting, import and export.

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Span is the text from byte Start up to, not including, byte End of a file.
type Span struct{ Start, End int }

// Holds reports whether an offset is in the span or at its end, as a cursor
// behind a word is still on it.
func (s Span) Holds(offset int) bool { return s.Start <= offset && offset <= s.End }

// Kind is the type of a value of the front-matter.
type Kind uint8

// The kinds.
const (
	Null    Kind = Kind(null)
	Boolean Kind = Kind(boolean)
	Number  Kind = Kind(number)
	String  Kind = Kind(str)
	List    Kind = Kind(list)
	Mapping Kind = Kind(mapping)
)

// Tree is a file's text with its front-matter as it is written. It is immutable.
// It may be shared between goroutines.
//
// splices is computed when it is first asked for, and once.
type Tree struct {
	Text     string
	Dialect  Dialect
	Open     Span   // the opening line ---, without its line ending; empty where there is none
	Front    Span   // what is between the lines ---
	Close    Span   // the closing line ---; empty where there is none
	Body     Span   // what follows the closing line; the whole text of a file without front-matter
	Root     *Value // the front-matter; nil where it cannot be read
	Repaired bool   // the YAML was read only after a repair (agent/yaml-repaired)

	splices func() []splice // what a repair changes
	whole   bool            // all of the text is YAML, without the lines ---
}

// Value is one value of the front-matter.
// Its span includes quotes and brackets; of Null without a text it is empty, where the
// text would be.
type Value struct {
	Kind Kind
	Span
	Text  string  // a string's value; another scalar as it is written
	Plain bool    // a scalar without quotes
	Keys  []Key   // of a mapping, as long as Items
	Items []Value // a mapping's values, or a list's entries
}

// Key is a mapping's key.
type Key struct {
	Name string
	Span
}

// ReadTree reads the front-matter of a file as [Parse] does: strictly first, then
// with the repairs of spec 1.5. It reports false for a file whose front-matter
// cannot be read: the tree then has no Root, and Open, Front and Body as far as
// they are known, which is enough for [Tree.At]. The path decides the dialect with
// the keys (spec 1.7) and may be "". It never panics.
// Findings are not told: [Parse] has them.
// A front-matter without its closing line is being written: all that follows counts as its
// lines for At, and there is no Root.
func ReadTree(path, text string) (*Tree, bool) {
	t := &Tree{Text: text, Dialect: Agentls, Body: Span{0, len(text)}}
	t.splices = sync.OnceValue(func() []splice { return splices(t.Text, t.Front) })
	if len(text) > MaxFile {
		return t, false
	}
	r := begin(Source{Path: path})
	r.text.src = text
	// Its findings are for Parse; here only whether the text can be read counts.
	sound := r.checkBytes()
	from, to, closed := r.split()
	t.Open = spanOf(r.open)
	switch {
	case closed:
		t.Front, t.Close, t.Body = Span{from, to}, spanOf(r.shut), Span{r.body, len(text)}
	case t.Open != Span{}:
		// Somebody is writing it: all that follows may be its lines.
		from = nextLine(text, t.Open.End)
		t.Front, t.Body = Span{from, len(text)}, Span{len(text), len(text)}
		to = len(text)
	default:
		return t, false
	}
	if !sound || !closed || to-from > MaxFrontMatter {
		// Keys that cannot be read say nothing, so the path alone decides.
		t.Dialect = dialectOf(path, &node{kind: mapping})
		return t, false
	}
	before := len(r.problems)
	root, ok := r.readYAML(from, to)
	if !ok {
		t.Dialect = dialectOf(path, &node{kind: mapping})
		return t, false
	}
	t.Repaired = slices.ContainsFunc(r.problems[before:],
		func(p Problem) bool { return p.Code == "agent/yaml-repaired" })
	t.Dialect = dialectOf(path, &root)
	t.Root = new(Value)
	*t.Root = valueOf(&root)
	return t, true
}

// ReadYAML reads a text that is YAML as a whole, as strictly as a front-matter and without
// repairs. For one that cannot be read it returns what is wrong, and the tree has no Root.
// A value that a front-matter may not have (an alias, or one that lies too deep) is Null in
// the tree. [Tree.At] answers for it as for a front-matter. It never panics.
func ReadYAML(text string) (*Tree, *Problem) {
	t := &Tree{Text: text, Front: Span{0, len(text)}, Body: Span{len(text), len(text)}, whole: true}
	t.splices = func() []splice { return nil }
	root, findings := plainSource(text, 0, len(text)).read()
	for _, f := range findings {
		// A feature leaves a tree in which its value is Null, unless nothing could be
		// read at all.
		if f.code != "agent/yaml-feature" || root.kind == null {
			return t, &Problem{
				Range: NewIndex(text).Range(Span{f.start, f.end}), Code: f.code, Severity: Error,
				Message: strings.ReplaceAll(f.message, "front-matter", "file"),
			}
		}
	}
	v := valueOf(&root)
	t.Root = &v
	return t, nil
}

// spanOf returns a pair of offsets as a span.
func spanOf(pair [2]int) Span { return Span{pair[0], pair[1]} }

// valueOf copies a node.
// The copy shares only texts with the node, which the reader uses again.
func valueOf(n *node) Value {
	v := Value{Kind: Kind(n.kind), Span: Span{n.start, n.end}, Text: n.text, Plain: n.plain}
	if len(n.keys) > 0 {
		v.Keys = make([]Key, len(n.keys))
		for i, k := range n.keys {
			v.Keys[i] = Key{k.name, Span{k.start, k.end}}
		}
	}
	if len(n.items) > 0 {
		v.Items = make([]Value, len(n.items))
		for i := range n.items {
			v.Items[i] = valueOf(&n.items[i])
		}
	}
	return v
}

// Get returns the value of a mapping's key, or nil. v may be nil.
func (v *Value) Get(name string) *Value {
	if v == nil || v.Kind != Mapping {
		return nil
	}
	for i := range v.Keys {
		if v.Keys[i].Name == name {
			return &v.Items[i]
		}
	}
	return nil
}

// Strings returns a list's entries that are strings with a text, or a string
// itself as the only one.
// v may be nil. The values are those of the tree.
func (v *Value) Strings() []*Value {
	switch {
	case v == nil:
	case v.Kind == String && v.Text != "":
		return []*Value{v}
	case v.Kind == List:
		var found []*Value
		for i := range v.Items {
			if item := &v.Items[i]; item.Kind == String && item.Text != "" {
				found = append(found, item)
			}
		}
		return found
	}
	return nil
}

// step returns the value that one step of a path leads to, or nil: a key, or an
// index of a list in decimal.
func (v *Value) step(name string) *Value {
	if v != nil && v.Kind == List {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v.Items) {
			return &v.Items[i]
		}
		return nil
	}
	return v.Get(name)
}

// Find returns the value at a path of keys, and of indices in decimal, or nil. A
// path in the canonical spelling finds the other spellings of spec 1.2 too, each
// where it stands: Find("run", "max_tokens") a maxTokens at the top. Of several
// the canonical one comes first, then the order of [Field.Aliases].
// The value is that of the tree.
func (t *Tree) Find(path ...string) *Value {
	if t.Root == nil {
		return nil
	}
	for spelling := range spellings(path) {
		at := t.Root
		for _, name := range spelling {
			if at = at.step(name); at == nil {
				break
			}
		}
		if at != nil {
			return at
		}
	}
	return nil
}

// spellings yields a path as it is, and as the aliases of the fields on it have
// it.
//
// The longest part of the path that has aliases is exchanged first. Only one part is
// exchanged at a time.
func spellings(path []string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		if !yield(path) {
			return
		}
		for n := len(path); n > 0; n-- {
			f, known := fieldIndex[fieldPath(path[:n])]
			if !known {
				continue
			}
			for _, alias := range f.Aliases {
				if !yield(append(steps(alias, path[:n]), path[n:]...)) {
					return
				}
			}
		}
	}
}

// fieldPath is the path of a field that a path of keys and indices leads to.
//
// An index becomes [], as Field.Path writes it.
func fieldPath(path []string) string {
	var b strings.Builder
	for i, name := range path {
		switch _, err := strconv.Atoi(name); {
		case err == nil:
			b.WriteString("[]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		b.WriteString(name)
	}
	return b.String()
}

// steps takes a field's path apart; indices are those of like.
// A part with [] takes the next index of like, or none where like has no more.
func steps(field string, like []string) []string {
	var path, indices []string
	for _, name := range like {
		if _, err := strconv.Atoi(name); err == nil {
			indices = append(indices, name)
		}
	}
	for part := range strings.SplitSeq(field, ".") {
		name, isList := strings.CutSuffix(part, "[]")
		path = append(path, name)
		if isList && len(indices) > 0 {
			path, indices = append(path, indices[0]), indices[1:]
		}
	}
	return path
}

// Index converts between byte offsets and positions of one text. It may be used
// by several goroutines at once.
type Index struct{ text text }

// NewIndex returns the index of a text.
// It reads the text once, and keeps it.
func NewIndex(src string) *Index { return &Index{text{src: src, lines: lineStarts(src)}} }

// Offset returns the byte offset of a position. One behind a line's end is the
// line's end, without its line ending; one behind the text is the text's end.
func (x *Index) Offset(p Position) int {
	if int64(p.Line) >= int64(len(x.text.lines)) {
		return len(x.text.src)
	}
	start := x.text.lines[p.Line]
	end := lineEnd(x.text.src, start)
	units := uint32(0)
	for i, r := range x.text.src[start:end] {
		if units >= p.Character {
			return start + i
		}
		units++
		if r > 0xFFFF {
			if units++; units > p.Character {
				return start + i
			}
		}
	}
	return end
}

// Position returns the place of a byte offset; one outside the text is moved to
// its nearest end.
// It takes time in proportion to the line's length.
func (x *Index) Position(offset int) Position {
	t := x.text // which keeps the last question in itself
	return t.position(offset)
}

// Range returns the range of a span.
func (x *Index) Range(s Span) Range {
	t := x.text
	return t.span(s.Start, s.End)
}
