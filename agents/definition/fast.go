package definition

// The quick reader: front-matter of the simple form that nearly every file has.
// What it is not sure of it refuses, and the YAML parser reads it instead; what
// it accepts it reads exactly as the YAML parser does (FuzzFastIsExact).
//
// It takes mappings and lists in lines, lists of scalars in brackets on one line, plain
// and quoted scalars of one line, and comments. It refuses tabs, escapes, texts after | or
// >, braces, anchors, aliases, tags, keys in quotes or with other signs, keys that are
// there twice, and numbers in any but the plain decimal form.

import "strings"

// quickDepth is how deep the quick reader goes; deeper is the parser's.
const quickDepth = 8

// quick is a cursor over lines. Its line is the one at hand: ind spaces, then
// the text from start up to end, offsets of src. A line that is left over after
// "- " counts as a line of its own with the column as its indentation.
// It is used again for each text of one goroutine.
// done is set when no line is left. longest decides whether a text is light.
type quick struct {
	src        string
	next       int // where the line after the one at hand starts
	ind        int
	start, end int
	done       bool
	longest    int // of the keys, in bytes

	// Parts wait in open until their collection ends, and then move to nodes or
	// keys, where they stay until the next text: a tree costs no memory of its own.
	//
	// Those of the collections that are being read, the outer ones first.
	openNodes, nodes []node
	openKeys, keys   []key
}

// hold adds an entry to the collection being read.
func (q *quick) hold(v node) { q.openNodes = append(q.openNodes, v) }

// close returns the entries held since there were mark of them. What is open in
// collections around it stays.
// The result has no room behind it, so an append by the caller copies and does not write
// into the next collection.
func (q *quick) close(mark int) []node {
	at := len(q.nodes)
	q.nodes = append(q.nodes, q.openNodes[mark:]...)
	q.openNodes = q.openNodes[:mark]
	return q.nodes[at:len(q.nodes):len(q.nodes)]
}

// closeKeys is close for keys.
func (q *quick) closeKeys(mark int) []key {
	at := len(q.keys)
	q.keys = append(q.keys, q.openKeys[mark:]...)
	q.openKeys = q.openKeys[:mark]
	return q.keys[at:len(q.keys):len(q.keys)]
}

// read reads src[from:to] as a block mapping. The tree is valid until the next
// call.
// ok is false for all that is not sure to mean the same to the YAML parser, so
// what is wrong is never told here.
// It first looks at every byte: what some parsers take for a line break or ignore is not
// read here. TestFastIsExactOnPublicFiles compares both readers on files that people have
// published.
func (q *quick) read(src string, from, to int) (root node, ok bool) {
	for i := from; i < to; i++ {
		switch c := src[i]; {
		case c >= 0x80:
			// NEL, LS, PS and BOM are line breaks or nothing to some parsers.
			rest := src[i:to]
			if strings.HasPrefix(rest, "\u0085") || strings.HasPrefix(rest, "\u2028") ||
				strings.HasPrefix(rest, "\u2029") || strings.HasPrefix(rest, "\ufeff") {
				return node{}, false
			}
		case (c >= ' ' && c != 0x7f) || c == '\n':
		case c == '\r' && i+1 < to && src[i+1] == '\n':
		default:
			return node{}, false
		}
	}
	*q = quick{
		src: src[:to], next: from,
		openNodes: q.openNodes[:0], nodes: q.nodes[:0], openKeys: q.openKeys[:0], keys: q.keys[:0],
	}
	q.advance()
	// Front-matter that is no mapping at the margin is left to the parser.
	if q.done || q.ind != 0 || q.src[q.start] == '-' || !light(src[from:to]) {
		return node{}, false
	}
	root, ok = q.mapping(0, 1)
	if !ok || !q.done {
		return node{}, false
	}
	// The parser's guard counts what stands in plain text too; what it would
	// refuse must not be read here, or one odd line elsewhere in a file would
	// change what the rest means.
	text := &source{text: src[from:to]}
	if suspect(text.text) {
		if _, deep := text.tooDeep(); deep {
			return node{}, false
		}
	}
	if _, slow := text.tedious(); slow || (q.longest > lightKey && len(text.text) > lightText) {
		return node{}, false
	}
	return root, true
}

// suspect reports whether the text holds enough of what [source.tooDeep] counts
// to be worth counting line by line.
func suspect(text string) bool {
	return strings.Count(text, "{")+strings.Count(text, "[") > maxOpen ||
		strings.Count(text, ": ")+strings.Count(text, "- ")+strings.Count(text, "? ") > maxOpen
}

// advance goes to the next line that holds more than spaces and a comment.
//
// Blanks and a carriage return at its end are cut off. done is set behind the last one.
func (q *quick) advance() {
	for q.next < len(q.src) {
		begin := q.next
		end := strings.IndexByte(q.src[begin:], '\n')
		if end < 0 {
			end = len(q.src)
			q.next = end
		} else {
			end += begin
			q.next = end + 1
		}
		start := begin
		for start < end && q.src[start] == ' ' {
			start++
		}
		for end > start && (q.src[end-1] == ' ' || q.src[end-1] == '\r') {
			end--
		}
		if start < end && q.src[start] != '#' {
			q.ind, q.start, q.end = start-begin, start, end
			return
		}
	}
	q.done = true
}

// keyEnd returns where a simple key that starts at start ends, if a colon and a
// space or the line's end follow; else -1.
func (q *quick) keyEnd(start int) int {
	i := start
	for i < q.end {
		c := q.src[i]
		if (c|0x20 >= 'a' && c|0x20 <= 'z') || c == '_' || (i > start && (c == '-' || (c >= '0' && c <= '9'))) {
			i++
			continue
		}
		break
	}
	if i == start || i >= q.end || q.src[i] != ':' || (i+1 < q.end && q.src[i+1] != ' ') {
		return -1
	}
	return i
}

// mapping reads the block mapping whose first line is at hand.
// False leaves the whole text to the real parser; that is also the answer to a
// key that is there twice.
func (q *quick) mapping(ind, depth int) (n node, ok bool) {
	n = node{kind: mapping, start: q.start}
	nodes, keys := len(q.openNodes), len(q.openKeys)
	var seen map[string]bool // of a mapping with many keys
	for !q.done && q.ind >= ind {
		if q.ind > ind || depth > quickDepth {
			return n, false
		}
		end := q.keyEnd(q.start)
		if end < 0 {
			return n, false
		}
		k := key{name: q.src[q.start:end], start: q.start, end: end}
		// Few keys are compared one by one, which needs no memory.
		if seen == nil {
			for _, before := range q.openKeys[keys:] {
				if before.name == k.name {
					return n, false
				}
			}
			if len(q.openKeys)-keys > 32 {
				seen = make(map[string]bool)
				for _, before := range q.openKeys[keys:] {
					seen[before.name] = true
				}
			}
		} else if seen[k.name] {
			return n, false
		}
		if seen != nil {
			seen[k.name] = true
		}
		q.openKeys = append(q.openKeys, k)
		q.longest = max(q.longest, end-q.start)
		v, ok := q.entry(end+1, ind, depth)
		if !ok {
			return n, false
		}
		// entry found no text: the place of the value is behind the colon.
		if v.kind == null && v.start == 0 {
			v.start, v.end = end+1, end+1
		}
		q.hold(v)
		n.end = max(v.end, end+1)
	}
	n.keys, n.items = q.closeKeys(keys), q.close(nodes)
	return n, len(n.keys) > 0
}

// entry reads a mapping's value, whose text on the line at hand starts at from.
// An empty one has the offset 0.
// A list may begin in the column of its key; a mapping has to be indented.
func (q *quick) entry(from, ind, depth int) (n node, ok bool) {
	for from < q.end && q.src[from] == ' ' {
		from++
	}
	if from < q.end && !(q.src[from] == '#') {
		return q.scalar(from, ind)
	}
	q.advance()
	switch {
	case q.done || q.ind < ind:
		return node{}, true
	case q.src[q.start] == '-' && (q.start+1 == q.end || q.src[q.start+1] == ' '):
		return q.sequence(q.ind, depth+1)
	case q.ind == ind:
		return node{}, true
	}
	return q.mapping(q.ind, depth+1)
}

// sequence reads the block sequence whose first line is at hand.
// An entry that is a mapping begins on the dash's line: ind and start are moved to its
// first key for that.
func (q *quick) sequence(ind, depth int) (n node, ok bool) {
	n = node{kind: list, start: q.start}
	mark := len(q.openNodes)
	for !q.done && q.ind == ind && q.src[q.start] == '-' && q.start+1 < q.end && q.src[q.start+1] == ' ' {
		if depth > quickDepth {
			return n, false
		}
		from := q.start + 1
		for from < q.end && q.src[from] == ' ' {
			from++
		}
		var v node
		if q.keyEnd(from) >= 0 {
			q.ind, q.start = ind+from-q.start, from
			v, ok = q.mapping(q.ind, depth+1)
		} else {
			v, ok = q.scalar(from, ind)
		}
		if !ok {
			return n, false
		}
		q.hold(v)
		n.end = v.end
	}
	n.items = q.close(mark)
	// A line further in, or a dash without a blank, may continue the list in another way.
	if (!q.done && q.ind > ind) || (!q.done && q.ind == ind && q.src[q.start] == '-') {
		return n, false
	}
	return n, len(n.items) > 0
}

// scalar reads a scalar or a list in brackets that ends on the line at hand, and
// goes to the next line, which must not go on with it.
// A line that is indented deeper would be a part of the same text to YAML, so such a text
// is refused.
func (q *quick) scalar(from, ind int) (n node, ok bool) {
	var end int
	if q.src[from] == '[' {
		n, end, ok = q.brackets(from)
	} else {
		n, end, ok = q.single(from, q.end, false)
	}
	if !ok {
		return n, false
	}
	if end < q.end {
		// Only a comment may follow.
		rest := strings.TrimLeft(q.src[end:q.end], " ")
		// A comment needs a blank before it.
		if rest[0] != '#' || len(rest) == q.end-end {
			return n, false
		}
	}
	q.advance()
	return n, q.done || q.ind <= ind
}

// single reads one scalar of src[from:to] and returns where it ends. In
// brackets a comma or bracket ends a plain one.
// It knows what needs no YAML: quotes without escapes, and plain texts without
// signs that mean something. Everything else is false.
func (q *quick) single(from, to int, flow bool) (n node, end int, ok bool) {
	s := q.src[from:to]
	switch c := s[0]; c {
	case '"', '\'':
		i := strings.IndexByte(s[1:], c)
		if i < 0 || (c == '"' && strings.IndexByte(s[1:1+i], '\\') >= 0) ||
			(c == '\'' && i+2 < len(s) && s[i+2] == '\'') {
			return n, 0, false
		}
		end = from + i + 2
		return node{kind: str, text: s[1 : 1+i], start: from, end: end}, end, true
	case '-', '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '%', '@', '`', '=', '<':
		return n, 0, false
	}
	last := len(s)
scan:
	for i := range len(s) {
		switch s[i] {
		// In brackets a colon may begin a mapping, so it is refused there.
		case ':':
			if i+1 == len(s) || s[i+1] == ' ' || flow {
				return n, 0, false
			}
		case '#':
			// s[0] is no #: the switch above has refused that.
			if s[i-1] == ' ' {
				if flow {
					return n, 0, false
				}
				last = i
				break scan
			}
		case '{', '}', '[':
			if flow {
				return n, 0, false
			}
		case ',', ']':
			if flow {
				last = i
				break scan
			}
		}
	}
	value := strings.TrimRight(s[:last], " ")
	n = node{text: value, start: from, end: from + len(value)}
	return n, n.end, resolve(&n)
}

// brackets reads a list in brackets of one line.
// Only scalars may be in it.
func (q *quick) brackets(from int) (n node, end int, ok bool) {
	n = node{kind: list, start: from}
	mark := len(q.openNodes)
	i := from + 1
	for {
		for i < q.end && q.src[i] == ' ' {
			i++
		}
		if i >= q.end {
			return n, 0, false
		}
		if q.src[i] == ']' {
			if len(q.openNodes) > mark {
				// A comma before the bracket.
				return n, 0, false
			}
			break
		}
		v, after, ok := q.single(i, q.end, true)
		if !ok {
			return n, 0, false
		}
		q.hold(v)
		for after < q.end && q.src[after] == ' ' {
			after++
		}
		if after >= q.end {
			return n, 0, false
		}
		i = after
		if q.src[i] == ']' {
			break
		}
		if q.src[i] != ',' {
			return n, 0, false
		}
		i++
	}
	n.items, n.end = q.close(mark), i+1
	return n, n.end, true
}
