package definition

// JSON Schemas in the front-matter: made from nodes, and checked.

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentls/agentls/internal/pattern"
)

// schemaURL is where a schema of an agent file is said to lie.
const schemaURL = "agent:///schema.json"

// schema checks a JSON Schema 2020-12 and returns it as JSON, its members in the
// file's order. What is not one is agent/schema at the value; a $ref that leads
// out of the schema is refused, and nothing is ever fetched.
// It is counted before it is compiled, since the library's time may grow with the square
// of what a schema has. TestCostlySchemasSayWhatCosts and TestHonestSchemasAreRead hold
// the limits from both sides.
func (r *reader) schema(v *node, field string) (json.RawMessage, bool) {
	if v.kind != mapping && v.kind != boolean {
		r.at(v, "agent/schema", Error, "%s must be a JSON Schema: an object or a boolean, not %s.",
			field, kindNames[v.kind])
		return nil, false
	}
	if bad := remoteRef(v, aSchema); bad != nil {
		r.at(bad, "agent/schema", Error,
			"A $ref may only lead to a place in the same schema (#/…); write the other schema out.")
		return nil, false
	}
	p := partsOf(r, v)
	if !p.fits(field) {
		return nil, false
	}
	raw := encode(v)
	if v.kind == boolean {
		return json.RawMessage(raw), true
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err == nil {
		err = compile(document, p.regexp)
	}
	if err != nil {
		r.at(v, "agent/schema", Error, "%s is not a valid JSON Schema: %s.", field, schemaFault(err))
		return nil, false
	}
	return json.RawMessage(raw), true
}

// inside says what a part of a schema is.
type inside uint8

const (
	aSchema inside = iota
	names          // its members are schemas by names of the author's
	aValue         // nothing in it is a schema
	unknown        // JSON Schema does not say
)

// member says what the value of a key of such a part is.
//
// A keyword that JSON Schema does not have makes its value unknown: it is only looked into
// where references may lead there.
func (in inside) member(key string) inside {
	switch {
	case in == aValue || in == unknown:
		return in
	case in == names:
		return aSchema
	}
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return names
	case "const", "default", "enum", "examples":
		return aValue
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "items", "additionalItems", "prefixItems",
		"contains", "contentSchema",
		"additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
		return aSchema
	}
	return unknown
}

// What a schema may have: the library looks for each part among all others by its
// pointer, and compares what references lead to with each $id and anchor.
const (
	maxParts    = 2500    // objects and booleans
	maxPointers = 200_000 // bytes of the JSON pointers to them
	maxLinks    = 200     // different references, as often as there is an $id
	maxOddLinks = 20      // of them to anything but the root and its $defs
	maxAnchors  = 200
	// maxSteps is how much its patterns may become together, each counted as often as
	// it stands there: a run compiles them all, and a thousand steps take it up to
	// 300 µs, half a megabyte on the way and 200 KB to keep.
	maxSteps = 100_000
)

// parts counts what of a schema comes to be compiled.
//
// schemas, pointers, ids, anchors and steps are what the limits above are about; r.spent
// is shared with the other schemas and patterns of the file.
type parts struct {
	r        *reader
	root     *node
	anywhere bool // references may lead to values, so these count as schemas
	odd      int  // references that may
	schemas  int
	pointers int
	ids      int // schemas with an $id of their own
	anchors  int
	steps    int
	refs     map[string]bool // the different references
	// Checked so far, by their texts.
	patterns map[string]parsed
}

// parsed is what is known of a pattern.
type parsed struct {
	size pattern.Size
	// Why it may not be used; nil = it may.
	bad *pattern.Error
}

// partsOf returns the count of a schema, of which nothing is counted yet.
func partsOf(r *reader, root *node) *parts {
	return &parts{r: r, root: root, patterns: make(map[string]parsed), refs: make(map[string]bool)}
}

// plainRef matches references that lead to schemas.
var plainRef = regexp.MustCompile(`^#(/(\$defs|definitions)/[^/]+)?$`)

// fits reports whether a schema may be compiled, and says why not.
// The finding is at the whole schema and says which limit is passed and what to change.
func (p *parts) fits(field string) bool {
	p.links(p.root)
	if !p.add(p.root, aSchema, 0) {
		return false
	}
	p.r.spent += 20 + 4*p.schemas
	var what, do string
	switch {
	case p.schemas > maxParts:
		what, do = fmt.Sprintf("has %d schemas in it", p.schemas),
			"describe fewer of its parts, or leave what is below them open"
	case p.pointers > maxPointers:
		what, do = fmt.Sprintf("has %d schemas in it below long keys", p.schemas), "shorten the keys"
	case p.odd > maxOddLinks:
		what, do = "has many references to what is not under $defs", "put what they lead to there"
	case len(p.refs)*(p.ids+1) > maxLinks, p.anchors > maxAnchors, p.ids > maxAnchors:
		what, do = "has many references, or many parts with an $id or anchor", "refer to fewer, without these"
	// Patterns and conditions outside of schemas end at one PerFile; schemas count on top of them.
	case p.r.spent > 2*pattern.PerFile:
		p.r.at(p.root, "agent/schema", Error,
			"The patterns, conditions and schemas up to the end of %s are more than can be checked quickly; write fewer that differ, or shorter ones.", field)
		return false
	default:
		return true
	}
	p.r.at(p.root, "agent/schema", Error, "%s %s, which is more than can be checked quickly; %s.", field, what, do)
	return false
}

// links collects the references of a schema.
// A reference that may lead anywhere in the schema makes every part of it count as
// used.
func (p *parts) links(v *node) {
	for i := range v.items {
		n := &v.items[i]
		if v.kind == mapping && n.kind == str {
			switch v.keys[i].name {
			// A reference to the root or into $defs leads to a schema that is counted anyway.
			case "$ref", "$dynamicRef", "$recursiveRef":
				if !p.refs[n.text] && !plainRef.MatchString(n.text) {
					p.anywhere = true
					p.odd++
				}
				p.refs[n.text] = true
			case "$id", "id":
				// The root's own $id names the whole and adds no place that could be
				// referred to.
				if v != p.root {
					p.ids++
					p.anywhere = true
				}
			case "$anchor", "$dynamicAnchor":
				p.anchors++
			}
		}
		p.links(n)
	}
}

// add counts a part and what is in it, and checks its patterns. Pointer is how long its
// JSON pointer is.
// Where a reference may lead anywhere (anywhere) values count as schemas too. It stops at
// the first pattern that may not be compiled, which is reported already.
func (p *parts) add(v *node, in inside, pointer int) bool {
	if (in == aValue || in == unknown) && !p.anywhere {
		return true
	}
	if v.kind == mapping || v.kind == boolean {
		p.schemas++
		p.pointers += pointer
	}
	for i := range v.items {
		// A slash and up to four digits, of an index.
		n, below, step := &v.items[i], in, 5
		if v.kind == mapping {
			name := v.keys[i].name
			if (in == aSchema || p.anywhere) && !p.keyword(name, n, in) {
				return false
			}
			below, step = in.member(name), 1+len(name)
		}
		if !p.add(n, below, pointer+step) {
			return false
		}
	}
	return true
}

// keyword checks the patterns of a key.
func (p *parts) keyword(name string, n *node, in inside) bool {
	switch name {
	case "pattern":
		return n.kind != str || p.pattern(n.text, n, in)
	case "patternProperties":
		for i := range n.keys {
			if !p.pattern(n.keys[i].name, n.keys[i].node(), in) {
				return false
			}
		}
	}
	return true
}

// pattern reports a pattern that must not come to be compiled. Where no schema is
// known to be, a text need be none.
// It reports whether the schema may still be compiled. A pattern that is there twice is
// parsed once, and counts each time in what it costs to run.
func (p *parts) pattern(text string, at *node, in inside) bool {
	known, ok := p.patterns[text]
	if !ok {
		if p.r.spent > pattern.PerFile {
			p.r.at(at, "agent/schema", Error,
				"The pattern takes longer to read than is left for this file; write fewer that differ, or shorter ones, with fewer of \\p{…} and, after (?i), of wide ranges.")
			return false
		}
		known.size, known.bad = pattern.Check(text)
		p.r.spent += known.size.Parse
		p.patterns[text] = known
	}
	// In a value the word pattern may stand for anything.
	if bad := known.bad; bad != nil && !(bad.NoPattern && in != aSchema) {
		p.r.at(at, "agent/schema", Error, "The pattern %s; %s.", bad.What, bad.Do)
		return false
	}
	if p.steps += known.size.Steps; p.steps > maxSteps {
		p.r.at(at, "agent/schema", Error,
			"The patterns of this schema repeat too much together, up to this one; write * or + for {…}, and how long a text may be as maxLength.")
		return false
	}
	return true
}

// regexp stands in for a pattern: [regexp.Compile] refuses just what does not parse,
// and here nothing is matched.
//
// It is the engine that the library is given, so that no pattern is compiled while a file
// is only read.
func (p *parts) regexp(text string) (jsonschema.Regexp, error) {
	known, ok := p.patterns[text]
	if !ok {
		_, known.bad = pattern.Check(text)
	}
	if known.bad != nil {
		return nil, known.bad
	}
	return unmatched(text), nil
}

// unmatched is the text of a pattern.
type unmatched string

// String returns the pattern.
func (u unmatched) String() string { return string(u) }

// MatchString matches nothing.
func (unmatched) MatchString(string) bool { return false }

// compile compiles a schema as draft 2020-12, with patterns in the place of its own.
//
// A panic of the library is an error.
// It reads nothing but the document.
func compile(document any, patterns jsonschema.RegexpEngine) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("it cannot be compiled")
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(patterns)
	if err := c.AddResource(schemaURL, document); err != nil {
		return err
	}
	_, err = c.Compile(schemaURL)
	return err
}

// noLoader refuses to load other schemas.
type noLoader struct{}

// Load implements the library's loader: it refuses.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not loaded", url)
}

// remoteRef returns the first $ref, $dynamicRef or $schema that leads anywhere but into
// the schema or to a known draft.
//
// It is asked before anything is compiled. A reference inside a value is found by noLoader
// at the latest.
func remoteRef(v *node, in inside) *node {
	if in == aValue {
		return nil // should a $ref lead here, noLoader refuses what this one would load
	}
	for i := range v.items {
		n := &v.items[i]
		below := in
		if v.kind == mapping {
			if below = in.member(v.keys[i].name); below == unknown {
				below = aSchema // that is what it is most likely meant to be
			}
		}
		if v.kind == mapping && n.kind == str {
			switch v.keys[i].name {
			case "$ref", "$dynamicRef":
				if !strings.HasPrefix(n.text, "#") {
					return n
				}
			case "$schema":
				if !strings.HasPrefix(n.text, "https://json-schema.org/draft/") &&
					!strings.HasPrefix(n.text, "http://json-schema.org/draft-") {
					return n
				}
			}
		}
		if bad := remoteRef(n, below); bad != nil {
			return bad
		}
	}
	return nil
}

// encode returns a node as JSON, a mapping's members in the file's order.
// It is what schemas are compiled from, so that their findings come in that order.
func encode(v *node) string {
	var b strings.Builder
	encodeTo(&b, v)
	return b.String()
}

// encodeTo writes a node as JSON.
// Members keep the order of the file, so the same file always gives the same bytes.
// Anchors and tags are gone by then.
func encodeTo(b *strings.Builder, v *node) {
	switch v.kind {
	case null:
		b.WriteString("null")
	case boolean:
		b.WriteString(strconv.FormatBool(v.truth))
	case number:
		b.WriteString(strconv.FormatFloat(v.num, 'f', -1, 64))
	case str:
		b.WriteString(quote(v.text))
	case list:
		b.WriteByte('[')
		for i := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			encodeTo(b, &v.items[i])
		}
		b.WriteByte(']')
	case mapping:
		b.WriteByte('{')
		for i := range v.items {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote(v.keys[i].name))
			b.WriteByte(':')
			encodeTo(b, &v.items[i])
		}
		b.WriteByte('}')
	}
}
