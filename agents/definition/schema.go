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
	if bad := remoteRef(v); bad != nil {
		r.at(bad, "agent/schema", Error, "A $ref may only lead to a place in the same schema (#/…); write the other schema out.")
		return nil, false
	}
	if !r.schemaPatterns(v) {
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

// schemaPatterns reports a pattern of a schema that must not come to be compiled.
func (r *reader) schemaPatterns(v *node) bool {
	check := func(text string, at *node) bool {
		r.spent += pattern.Cost(text) + 1
		bad := pattern.Check(text)
		if bad == nil && r.spent > pattern.PerFile {
			bad = &pattern.Error{What: "is one too many for this file", Do: "write fewer, or shorter ones"}
		}
		if bad != nil {
			r.at(at, "agent/schema", Error, "The pattern %s; %s.", bad.What, bad.Do)
		}
		return bad == nil
	}
	for i := range v.items {
		n := &v.items[i]
		if v.kind == mapping && v.keys[i].name == "pattern" && n.kind == str && !check(n.text, n) {
			return false
		}
		if v.kind == mapping && v.keys[i].name == "patternProperties" {
			for j := range n.keys {
				if !check(n.keys[j].name, n.keys[j].node()) {
					return false
				}
			}
		}
		if !r.schemaPatterns(n) {
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
func remoteRef(v *node) *node {
	for i := range v.items {
		n := &v.items[i]
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
		if bad := remoteRef(n); bad != nil {
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
