package definition

// JSON Schemas in the front-matter: made from nodes, and checked.

import (
	"encoding/json"
	"fmt"
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
	if !r.schemaPatterns(v, aSchema) {
		return nil, false
	}
	if r.spent += 20 + 10*schemas(v); r.spent > pattern.PerFile {
		r.at(v, "agent/schema", Error, "%s is more than can be checked quickly with the file's other schemas, patterns and conditions; make it smaller.", field)
		return nil, false
	}
	raw := encode(v)
	if v.kind == boolean {
		return json.RawMessage(raw), true
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err == nil {
		err = compile(document)
	}
	if err != nil {
		r.at(v, "agent/schema", Error, "%s is not a valid JSON Schema: %s.", field, schemaFault(err))
		return nil, false
	}
	return json.RawMessage(raw), true
}

// schemas counts what may be a schema in a schema, each of which takes some 10 µs
// to compile.
func schemas(v *node) int {
	n := 0
	if v.kind == mapping || v.kind == boolean {
		n = 1
	}
	for i := range v.items {
		n += schemas(&v.items[i])
	}
	return n
}

// inside says what a part of a schema is.
type inside uint8

const (
	aSchema inside = iota
	names          // its members are schemas by names of the author's
	aValue         // nothing in it is a schema
)

// member says what the value of a key of such a part is.
func (in inside) member(key string) inside {
	switch {
	case in == aValue:
		return aValue
	case in == names:
		return aSchema
	}
	switch key {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return names
	case "const", "default", "enum", "examples":
		return aValue
	}
	return aSchema
}

// schemaPatterns reports a pattern of a schema that must not come to be compiled.
// In a value nothing need be a pattern; but a $ref may lead there.
func (r *reader) schemaPatterns(v *node, in inside) bool {
	check := func(text string, at *node) bool {
		bad := &pattern.Error{What: "is one too many for this file", Do: "write fewer, or shorter ones"}
		if r.spent += pattern.Cost(text) + 1; r.spent <= pattern.PerFile {
			var steps int
			steps, bad = pattern.Check(text)
			r.spent += steps / 3
		}
		if bad == nil || bad.NoPattern && in == aValue {
			return true
		}
		r.at(at, "agent/schema", Error, "The pattern %s; %s.", bad.What, bad.Do)
		return false
	}
	for i := range v.items {
		n := &v.items[i]
		below := in
		if v.kind == mapping {
			name := v.keys[i].name
			below = in.member(name)
			if name == "pattern" && n.kind == str && !check(n.text, n) {
				return false
			}
			if name == "patternProperties" {
				for j := range n.keys {
					if !check(n.keys[j].name, n.keys[j].node()) {
						return false
					}
				}
			}
		}
		if !r.schemaPatterns(n, below) {
			return false
		}
	}
	return true
}

// compile compiles a schema as draft 2020-12.
func compile(document any) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("it cannot be compiled")
		}
	}()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
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
			below = in.member(v.keys[i].name)
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
