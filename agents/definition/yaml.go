package definition

// The full reader: github.com/goccy/go-yaml's syntax tree made into ours.
//
// Its positions are lines and columns (runes, from 1). Its offsets are not used,
// since they are wrong after comments, nor is its printer.

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxDepth = 16 // of spec 1.5
	maxOpen  = 64 // brackets open at once, or "- " in one line, that the parser gets to see: it is quadratic in them
)

// finding is a problem before its place is a range: offsets of the file.
type finding struct {
	// As in Problem.
	code       string
	start, end int
	message    string
}

// source is YAML text as a parser reads it: lines end with \n. at, if not nil,
// holds for each byte its offset in the file, and one more for the end;
// otherwise starts holds the offset of each line, and lines are as in the file.
type source struct {
	text   string
	lines  []int // starts of text's lines
	at     []int
	starts []int

	// The last column that was looked up, since lines may be long: its line, from
	// 0, the column in runes, and where it is in text.
	line, column, place int
}

// plainSource returns src[from:to], with its line endings made \n.
// lines and starts then have the same length: a line keeps its number.
func plainSource(src string, from, to int) *source {
	s := &source{text: src[from:to]}
	if strings.IndexByte(s.text, '\r') >= 0 {
		s.text = strings.ReplaceAll(strings.ReplaceAll(s.text, "\r\n", "\n"), "\r", "\n")
	}
	s.lines = lineStarts(s.text)
	s.starts = lineStarts(src[from:to])
	for i := range s.starts {
		s.starts[i] += from
	}
	return s
}

// converter makes our tree of the parser's.
//
// findings are of code agent/yaml-feature, maxFeatures at most.
type converter struct {
	*source
	findings []finding
}

// read parses the text. Findings are of codes agent/yaml, with a zero node, and
// agent/yaml-feature, with what could be read.
// A panic of the parser is a finding.
// The guards come before the parser, whose time some texts make grow with the square of
// their length (SEC-121). Keys that are there twice are let through by the parser and told
// here, as it would end at the first.
func (s *source) read() (root node, findings []finding) {
	defer func() {
		if cause := recover(); cause != nil {
			root, findings = node{}, []finding{{"agent/yaml", s.file(0), s.file(0),
				"The YAML parser failed on this front-matter; write it in a simpler form."}}
		}
	}()
	if off, deep := s.tooDeep(); deep {
		return node{}, []finding{{"agent/yaml-feature", s.file(off), s.file(off + 1),
			fmt.Sprintf("The front-matter is nested deeper than %d levels; make it flatter.", maxDepth)}}
	}
	tokens, over := s.tokens()
	if over != nil {
		return node{}, []finding{*over}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return node{}, []finding{s.syntax(err)}
	}
	c := converter{source: s}
	body := ast.Node(nil)
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if doc.Body.Type() == ast.DirectiveType || body != nil {
			off := s.offset(doc.Body.GetToken().Position)
			return node{}, []finding{{"agent/yaml", s.file(off), s.file(off),
				"The front-matter must be one YAML document without directives; remove the rest."}}
		}
		body = doc.Body
	}
	if body == nil {
		return node{kind: mapping, start: s.file(0), end: s.file(0)}, nil
	}
	root = c.convert(body, 0, 1)
	return root, c.findings
}

// tokens returns the text's tokens, or what is said of a text that is too much for
// the parser.
func (s *source) tokens() (token.Tokens, *finding) {
	refuse := func(off int, what string) *finding {
		return &finding{"agent/too-large", s.file(off), s.file(lineEnd(s.text, off)),
			what + "; make it shorter, or move parts of it to files that the agent reads."}
	}
	if off, ok := s.tedious(); ok {
		return nil, refuse(off, "The front-matter has too many empty lines, tabs or < in a row")
	}
	tokens := lexer.Tokenize(s.text)
	if tk, what := burdens(tokens); tk != nil {
		return nil, refuse(s.offset(tk.Position), what)
	}
	return tokens, nil
}

// syntax makes a finding of a parser's error, at its line and column.
// An error without a place is told at the first line.
func (s *source) syntax(err error) finding {
	message, off := "", 0
	var located interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &located) {
		message = err.Error()
	} else {
		// Error would draw the place, which in a long text costs its square.
		message = located.GetMessage()
		if tk := located.GetToken(); tk != nil && tk.Position != nil {
			off = s.offset(tk.Position)
		}
	}
	message, off = s.explain(message, min(off, len(s.text)))
	return finding{"agent/yaml", s.file(off), s.file(lineEnd(s.text, off)), message}
}

// tooDeep reports where the text opens more than maxOpen brackets, or more than
// that many entries in one line. It does not look at quotes: it only keeps from
// the parser what no agent file holds.
func (s *source) tooDeep() (int, bool) {
	open, entries := 0, 0
	for i := range len(s.text) {
		switch s.text[i] {
		case '[', '{':
			open++
		case ']', '}':
			open = max(0, open-1)
		case '-', '?', ':':
			if i+1 < len(s.text) && s.text[i+1] == ' ' {
				entries++
			}
		case ' ', '\t':
		case '\n':
			entries = 0
		default:
			if entries <= maxOpen {
				entries = 0
			}
		}
		if open > maxOpen || entries > maxOpen {
			return i, true
		}
	}
	return 0, false
}

// feature records a YAML feature that agent files may not use.
func (c *converter) feature(start, end int, what string) {
	if len(c.findings) >= maxFeatures {
		return
	}
	c.findings = append(c.findings, finding{"agent/yaml-feature", c.file(start), c.file(end), what})
}

// convert makes a node. parent is the column (from 0) of the key or dash that
// holds it, -1 at the root.
// What the front-matter may not have (anchors, aliases, tags, depth) is a
// finding; the value goes on with what is behind it where there is something.
// An anchor or a tag counts as a level of depth, so that many of them around one value end
// as well.
func (c *converter) convert(n ast.Node, parent, depth int) node {
	if depth > maxDepth {
		off := c.offset(n.GetToken().Position)
		c.feature(off, off+1, fmt.Sprintf("The front-matter is nested deeper than %d levels; make it flatter.",
			maxDepth))
		return node{start: c.file(off), end: c.file(off)}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return c.mapping(n.Values, flow{n.IsFlowStyle, n.Start, n.End}, depth)
	case *ast.MappingValueNode:
		return c.mapping([]*ast.MappingValueNode{n}, flow{}, depth)
	case *ast.SequenceNode:
		return c.sequence(n, depth)
	case *ast.LiteralNode:
		return c.block(n, parent)
	case *ast.AnchorNode:
		off := c.offset(n.Start.Position)
		c.feature(off, lineEnd(c.text, off), "Anchors are not allowed in front-matter; write the value out.")
		return c.convert(n.Value, parent, depth+1)
	case *ast.AliasNode:
		off := c.offset(n.Start.Position)
		c.feature(off, lineEnd(c.text, off),
			"Aliases are not allowed in front-matter; write the value out, or quote a text that begins with *.")
		return node{start: c.file(off), end: c.file(off)}
	case *ast.TagNode:
		off := c.offset(n.Start.Position)
		c.feature(off, lineEnd(c.text, off),
			"A tag (!) is not allowed in front-matter; remove it, or put a text that begins with ! in quotes.")
		if n.Value == nil {
			return node{start: c.file(off), end: c.file(off)}
		}
		return c.convert(n.Value, parent, depth+1)
	}
	return c.scalar(n)
}

// flow is what a collection in brackets has over one in lines.
type flow struct {
	is         bool
	start, end *token.Token
}

// brackets gives a collection in brackets its extent.
// In any other collection, and without a closing bracket, its end stays as it is.
func (c *converter) brackets(n *node, f flow) {
	if !f.is || f.start == nil {
		return
	}
	n.start = c.file(c.offset(f.start.Position))
	if f.end != nil {
		n.end = max(n.start, c.file(c.offset(f.end.Position))+1)
	}
}

// mapping makes a node of keys and values. Of a key that is there twice the first
// counts.
// A value that is missing stands right behind the colon, so that an edit can put
// one there.
// Keys that are no scalars are findings, and are left out with their values.
func (c *converter) mapping(values []*ast.MappingValueNode, f flow, depth int) node {
	n := node{kind: mapping, keys: make([]key, 0, len(values)), items: make([]node, 0, len(values))}
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		tk := v.Key.GetToken()
		off := c.find(tk)
		switch k := v.Key.(type) {
		case *ast.MergeKeyNode:
			c.feature(off, off+2, "Merge keys are not allowed in front-matter; write the values out.")
			continue
		case *ast.MappingKeyNode:
			c.feature(off, off+1, "Keys with ? are not allowed in front-matter; write key: value.")
			continue
		case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
			// It reports the feature; the key itself has no name that could be read.
			c.convert(k, 0, depth)
			continue
		case ast.ScalarNode:
		default:
			c.feature(off, off+1, "A key must be a text; write key: value.")
			continue
		}
		end := c.scalarEnd(off, tk)
		k := key{name: tk.Value, start: c.file(off), end: c.file(end)}
		if seen[k.name] {
			c.feature(off, end, fmt.Sprintf("The key %q is there twice; remove one.", k.name))
			continue
		}
		seen[k.name] = true
		column := off - c.lines[searchLine(c.lines, off)]
		var value node
		// The parser makes a null of a value that is missing.
		if _, isNull := v.Value.(*ast.NullNode); isNull && (v.Value.GetToken().Origin == "" || !c.written(v.Value)) {
			value = node{start: c.file(c.colon(end)), end: c.file(c.colon(end))}
		} else {
			value = c.convert(v.Value, column, depth+1)
		}
		if len(n.keys) == 0 {
			n.start = k.start
		}
		n.keys, n.items = append(n.keys, k), append(n.items, value)
		n.end = max(n.end, k.end, value.end)
	}
	c.brackets(&n, f)
	return n
}

// colon returns the offset after the colon that follows a key.
func (c *converter) colon(off int) int {
	for off < len(c.text) && c.text[off] != ':' && c.text[off] != '\n' {
		off++
	}
	return min(off+1, len(c.text))
}

// written reports whether a null stands in the text, and not only nothing.
func (c *converter) written(n ast.Node) bool {
	tk := n.GetToken()
	return tk.Type == token.NullType && strings.HasPrefix(c.text[c.find(tk):], tk.Value)
}

// sequence makes a node of a list.
// An entry that is missing stands right behind its dash.
func (c *converter) sequence(s *ast.SequenceNode, depth int) node {
	n := node{kind: list, items: make([]node, 0, len(s.Values))}
	if s.Start != nil {
		n.start = c.file(c.offset(s.Start.Position))
		n.end = n.start + 1
	}
	column := 0
	if !s.IsFlowStyle && s.Start != nil {
		column = s.Start.Position.Column - 1
	}
	for i, v := range s.Values {
		var item node
		if v == nil || (v.Type() == ast.NullType && !c.written(v)) {
			off := n.end
			if i < len(s.Entries) && s.Entries[i] != nil && s.Entries[i].Start != nil {
				off = c.file(c.offset(s.Entries[i].Start.Position)) + 1
			}
			item = node{start: off, end: off}
		} else {
			item = c.convert(v, column, depth+1)
		}
		n.items = append(n.items, item)
		n.end = max(n.end, item.end)
	}
	c.brackets(&n, flow{s.IsFlowStyle, s.Start, s.End})
	return n
}

// block makes a node of a text after | or >, which reaches to the end of the
// last line that is indented deeper than what holds it.
func (c *converter) block(l *ast.LiteralNode, parent int) node {
	start := c.offset(l.Start.Position)
	end := lineEnd(c.text, start)
	for next := nextLine(c.text, end); next < len(c.text); {
		stop := lineEnd(c.text, next)
		line := c.text[next:stop]
		if indent := len(line) - len(strings.TrimLeft(line, " ")); indent < len(line) {
			if indent <= parent {
				break
			}
			end = stop
		}
		next = nextLine(c.text, stop)
	}
	text := ""
	if l.Value != nil {
		text = l.Value.Value
	}
	return node{kind: str, text: text, start: c.file(start), end: c.file(end)}
}

// scalar makes a node of anything without parts.
// Quoted it is always a text, and a number that is not finite is one as well:
// JSON has none.
func (c *converter) scalar(n ast.Node) node {
	tk := n.GetToken()
	start := c.find(tk)
	end := c.scalarEnd(start, tk)
	v := node{text: tk.Value, start: c.file(start), end: c.file(end)}
	quoted := tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType
	if quoted {
		v.kind = str
		return v
	}
	v.plain = true
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		v.kind, v.truth = boolean, n.Value
	case *ast.IntegerNode:
		v.kind, v.whole = number, true
		switch value := n.Value.(type) {
		case int64:
			v.num = float64(value)
		case uint64:
			v.num = float64(value)
		case int:
			v.num = float64(value)
		}
	case *ast.FloatNode:
		v.kind, v.num = number, n.Value
		if math.IsInf(v.num, 0) || math.IsNaN(v.num) {
			v.kind = str
		}
	default:
		v.kind = str
		// The parser takes 1e3 for a text, against YAML 1.2.
		if len(v.text) > 0 && len(v.text) < 32 && strings.IndexByte("+-.0123456789", v.text[0]) >= 0 &&
			strings.ContainsAny(v.text, "eE") {
			if f, err := strconv.ParseFloat(v.text, 64); err == nil && !strings.ContainsAny(v.text, "xXpP_nN") {
				v.kind, v.num = number, f
			}
		}
	}
	return v
}

// scalarEnd returns where the scalar that starts at start ends.
// The parser tells only where a token begins, and its value without folds and
// quotes, so the source is compared with that.
// Where the two differ sooner than expected the end is that of what was the same.
func (c *converter) scalarEnd(start int, tk *token.Token) int {
	s := c.text[start:]
	switch {
	case s == "":
		return start
	case tk.Type == token.DoubleQuoteType && s[0] == '"':
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '"':
				return start + i + 1
			}
		}
		return lineEnd(c.text, start)
	case tk.Type == token.SingleQuoteType && s[0] == '\'':
		for i := 1; i < len(s); i++ {
			if s[i] == '\'' {
				if i+1 < len(s) && s[i+1] == '\'' {
					i++
					continue
				}
				return start + i + 1
			}
		}
		return lineEnd(c.text, start)
	}
	// A plain text of several lines was folded: each space may stand for more.
	i := 0
	for j := 0; j < len(tk.Value); {
		if space(tk.Value[j]) {
			for j < len(tk.Value) && space(tk.Value[j]) {
				j++
			}
			if j == len(tk.Value) {
				break
			}
			for i < len(s) && space(s[i]) {
				i++
			}
			continue
		}
		if i >= len(s) || s[i] != tk.Value[j] {
			break
		}
		i++
		j++
	}
	return start + i
}

// space reports whether c is white space of YAML.
func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
