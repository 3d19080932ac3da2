package definition

// JSON Schemas in the front-matter: made from nodes, and checked.

import (
	"encoding/json"
	"fmt"
	"net/url"
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
func (r *reader) schema(v *node, field string) (json.RawMessage, bool) {
	if v.kind != mapping && v.kind != boolean {
		r.at(v, "agent/schema", Error, "%s must be a JSON Schema: an object or a boolean, not %s.", field, kindNames[v.kind])
		return nil, false
	}
	if bad := remoteRef(v, aSchema); bad != nil {
		r.at(bad, "agent/schema", Error, "A $ref may only lead to a place in the same schema (#/…); write the other schema out.")
		return nil, false
	}
	p := partsOf(r, v)
	if !p.affordable(field) {
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
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "items", "additionalItems", "prefixItems", "contains", "contentSchema",
		"additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
		return aSchema
	}
	return unknown
}

// maxSteps is how much the patterns of one schema may become together, each
// counted as often as it stands there: a run compiles them all, and a thousand steps
// take it up to 300 µs, half a megabyte on the way and 200 KB to keep.
const maxSteps = 100_000

// parts is what of a schema comes to be compiled: the schemas that JSON Schema
// knows in it, and what a $ref leads to wherever that is.
type parts struct {
	r        *reader
	root     *node
	schemas  int
	paths    int // the bytes of their JSON pointers
	links    int // references
	late     int // schemas that only a reference finds
	ids      int // schemas with an $id of their own
	anchors  int
	steps    int // what the patterns become
	patterns map[string]parsed
	refs     map[string]bool // the references met
	met      []*node         // they in their order
	followed int             // how many of them are
	bases    []*node         // the schemas that references may start from
	draft    int             // the oldest that is named
	reached  map[*node]bool  // the schemas that only a reference finds
	anywhere bool            // where references lead is not known, so all counts
}

// maxBases is how many schemas of one file references are followed from.
const maxBases = 8

// partsOf returns the parts of a schema, none of them counted.
func partsOf(r *reader, root *node) *parts {
	return &parts{
		r: r, root: root, patterns: make(map[string]parsed), refs: make(map[string]bool), bases: []*node{root}, draft: 2020, reached: make(map[*node]bool),
	}
}

// parsed is what is known of a pattern.
type parsed struct {
	steps int
	bad   *pattern.Error
}

// affordable counts the parts and reports what must not come to be compiled.
func (p *parts) affordable(field string) bool {
	if !p.add(p.root, aSchema, 0) {
		return false
	}
	for p.followed < len(p.met) && !p.anywhere {
		ref := p.met[p.followed]
		p.followed++
		if !p.follow(ref) {
			return false
		}
	}
	if p.anywhere {
		p.schemas, p.paths, p.links, p.late, p.ids, p.anchors, p.steps = 0, 0, 0, 0, 0, 0, 0
		if !p.add(p.root, aSchema, 0) {
			return false
		}
		for _, ref := range p.met {
			_, pointer, _ := strings.Cut(ref.text, "#")
			for name := range strings.SplitSeq(decodeFragment(pointer), "/") {
				if !p.spelled(ref, name) {
					return false
				}
			}
		}
		p.late = min(p.links, len(p.refs)*(p.ids+1)) // each leads to one place from each $id
	}
	// These are the microseconds that it takes, as measured. The library looks for
	// each schema among all before it by its pointer, copies the list of all for one
	// that only a reference finds, and compares each $id with all.
	plain := 12*p.schemas + p.schemas*p.schemas/1000
	long := p.paths/400 + p.schemas*p.paths/40_000
	links := 6*p.links + p.late*(p.schemas+p.anchors)/8 + p.ids*p.schemas/40 + p.anchors*p.anchors/200
	// They count half, so that a file may have 20 ms of them.
	before, own := p.r.spent, 20+(plain+long+links)/2
	if p.r.spent += own; p.r.spent <= pattern.PerFile {
		return true
	}
	what, do := fmt.Sprintf("has %d schemas in it", p.schemas), "describe fewer of its parts, or leave what is below them open"
	switch {
	case before > own:
		p.r.at(p.root, "agent/schema", Error, "The patterns, conditions and schemas up to the end of %s are more than can be checked quickly; write fewer that differ, or shorter ones.", field)
		return false
	case links > plain && links > long:
		defs := "$defs"
		if p.draft < since(defs) {
			defs = "definitions"
		}
		what, do = "has many references to what is no schema by its place, or many parts with an $id or anchor", "put what they lead to under "+defs+", without these"
	case long > plain:
		what, do = fmt.Sprintf("has %d schemas in it below long keys", p.schemas), "shorten the keys"
	}
	p.r.at(p.root, "agent/schema", Error, "%s %s, which is more than can be checked quickly with the file's other schemas, patterns and conditions; %s.", field, what, do)
	return false
}

// add counts a part and what is in it, and checks its patterns. Path is how long
// its JSON pointer is.
func (p *parts) add(v *node, in inside, path int) bool {
	if (in == aValue || in == unknown) && !p.anywhere {
		return true
	}
	schema := in == aSchema || p.anywhere
	if schema && (v.kind == mapping || v.kind == boolean) {
		p.schemas++
		p.paths += path
	}
	for i := range v.items {
		n, below, step := &v.items[i], in, 5
		if v.kind == mapping {
			name := v.keys[i].name
			if schema && !p.keyword(v, name, n, in) {
				return false
			}
			below, step = in.member(name), 1+len(name)
		}
		if !p.add(n, below, path+step) {
			return false
		}
	}
	return true
}

// keyword looks at a key of a schema.
func (p *parts) keyword(v *node, name string, n *node, in inside) bool {
	switch name {
	case "pattern":
		return n.kind != str || p.pattern(n.text, n, in)
	case "patternProperties":
		for i := range n.keys {
			if !p.pattern(n.keys[i].name, n.keys[i].node(), in) {
				return false
			}
		}
	case "$id", "id":
		if n.kind == str && v != p.root {
			p.ids++
			p.bases = append(p.bases, v)
			// Where the others lead from here is not looked up once more.
			p.anywhere = p.anywhere || p.followed > 0 || len(p.bases) > maxBases
		}
	case "$schema":
		p.draft = min(p.draft, draftOf(n.text))
	case "$anchor", "$dynamicAnchor":
		p.anchors++
	case "$ref", "$dynamicRef", "$recursiveRef":
		if p.links++; n.kind == str && !p.refs[n.text] {
			p.refs[n.text] = true
			p.met = append(p.met, n)
		}
	}
	return true
}

// follow adds what a reference leads to, unless it is counted. One that leads nowhere
// is the library's to report.
func (p *parts) follow(ref *node) bool {
	rest, local := strings.CutPrefix(ref.text, "#")
	if !local {
		p.anywhere = true
		return true
	}
	pointer, found := strings.CutPrefix(decodeFragment(rest), "/")
	if !found {
		return true // to a schema with an $id, or to an anchor, which only a schema has
	}
	for _, base := range p.bases {
		if !p.reach(ref, base, pointer) {
			return false
		}
	}
	return true
}

// reach adds what a reference leads to from a schema, unless it is counted.
func (p *parts) reach(ref, base *node, pointer string) bool {
	v, in := base, aSchema
	placed := true // the library finds it without the reference
	last := ""     // the key that it is the value of, in a schema
	for name := range strings.SplitSeq(pointer, "/") {
		name = unescaped.Replace(name)
		before := last
		last = ""
		if v.kind == list {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v.items) {
				return true
			}
			if !p.spelled(ref, name) {
				return false
			}
			placed = placed && (before == "items" || onlyList(before))
			v = &v.items[i]
			continue
		}
		placed = placed && !onlyList(before)
		if in == aSchema {
			placed, last = placed && p.draft >= since(name), name
		}
		in = in.member(name)
		if v = v.get(name); v == nil {
			return true
		}
	}
	if (in == aSchema && v.kind != list && placed && !onlyList(last)) || p.reached[v] {
		return true
	}
	p.late++
	p.reached[v] = true
	if in == aSchema && v.kind != list {
		return true // it is late, but counted
	}
	return p.add(v, aSchema, len(pointer)+1)
}

// spelled reports a reference with a number that is not spelt as numbers are: the
// library tells places apart by their spellings, so that each of these would be a
// schema more.
func (p *parts) spelled(ref *node, name string) bool {
	i, err := strconv.Atoi(name)
	if err != nil || strconv.Itoa(i) == name {
		return true
	}
	p.r.at(ref, "agent/schema", Error, "The $ref writes an entry's number as %.20s; write it as %d.", name, i)
	return false
}

// onlyList reports whether the schemas of a key are the entries of a list.
func onlyList(key string) bool {
	return key == "allOf" || key == "anyOf" || key == "oneOf" || key == "prefixItems"
}

// since is the draft of JSON Schema that a key with schemas came with.
func since(key string) int {
	switch key {
	case "propertyNames", "contains":
		return 6
	case "if", "then", "else":
		return 7
	case "$defs", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "contentSchema":
		return 2019
	case "prefixItems":
		return 2020
	}
	return 4
}

// draftOf is the draft that a $schema names.
func draftOf(schema string) int {
	for _, d := range []struct {
		name  string
		draft int
	}{{"draft-04", 4}, {"draft-06", 6}, {"draft-07", 7}, {"2019-09", 2019}} {
		if strings.Contains(schema, d.name) {
			return d.draft
		}
	}
	return 2020
}

// unescaped undoes what a JSON pointer does to names.
var unescaped = strings.NewReplacer("~1", "/", "~0", "~")

// decodeFragment undoes what a URI does to a JSON pointer; one that is wrong leads nowhere.
func decodeFragment(fragment string) string {
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return ""
	}
	return pointer
}

// pattern reports a pattern that must not come to be compiled. Where no schema is
// known to be, a text need be none.
func (p *parts) pattern(text string, at *node, in inside) bool {
	known, ok := p.patterns[text]
	if !ok {
		if p.r.spent += pattern.Cost(text) + 1; p.r.spent > pattern.PerFile {
			p.r.at(at, "agent/schema", Error, "The pattern takes longer to read than is left for this file; write fewer that differ, or shorter ones, with fewer of \\p{…} and, after (?i), of wide ranges.")
			return false
		}
		known.steps, known.bad = pattern.Check(text)
		p.patterns[text] = known
	}
	if bad := known.bad; bad != nil && !(bad.NoPattern && in != aSchema) {
		p.r.at(at, "agent/schema", Error, "The pattern %s; %s.", bad.What, bad.Do)
		return false
	}
	if p.steps += known.steps; p.steps > maxSteps {
		p.r.at(at, "agent/schema", Error, "The patterns of this schema repeat too much together, up to this one; write * or + for {…}, and how long a text may be as maxLength.")
		return false
	}
	return true
}

// regexp stands in for a pattern: [regexp.Compile] refuses just what does not parse,
// and here nothing is matched.
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

func (u unmatched) String() string { return string(u) }

// MatchString matches nothing.
func (unmatched) MatchString(string) bool { return false }

// compile compiles a schema as draft 2020-12, with patterns in the place of its own.
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

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not loaded", url)
}

// remoteRef returns the first $ref, $dynamicRef, $id or $schema that leads
// anywhere but into the schema or to a known draft.
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
				if !strings.HasPrefix(n.text, "https://json-schema.org/draft/") && !strings.HasPrefix(n.text, "http://json-schema.org/draft-") {
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
func encode(v *node) string {
	var b strings.Builder
	encodeTo(&b, v)
	return b.String()
}

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
