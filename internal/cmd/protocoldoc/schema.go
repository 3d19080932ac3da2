package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// object is a JSON object whose members keep their order.
type object []entry

type entry struct {
	key   string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, e := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(e.key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(e.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schema returns docs/protocol.schema.json: a JSON Schema (2020-12) with a
// definition for every type, and under x-methods which ones a method has.
func (s *surface) schema() ([]byte, error) {
	var defs object
	for _, name := range s.types.names() {
		defs = append(defs, entry{name, s.define(s.types.defs[name])})
	}
	var methods object
	for _, f := range s.families {
		for _, m := range f.methods {
			o := object{{"direction", strings.ToLower(f.title[:1]) + f.title[1:]}}
			if m.params != "" {
				o = append(o, entry{"params", ref(m.params)})
			}
			if strings.HasPrefix(f.title, "Request") {
				o = append(o, entry{"result", resultSchema(m.results)})
			}
			methods = append(methods, entry{m.name, o})
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "The daemon's own part of the protocol"},
		{"description", "Written by internal/cmd/protocoldoc from the Go types; docs/protocol.md says what they mean. Unknown members are to be ignored."},
		{"x-version", json.Number(s.version)},
		{"x-methods", methods},
		{"$defs", defs},
	})
	return out.Bytes(), err
}

func resultSchema(results []string) any {
	switch len(results) {
	case 0:
		return object{{"type", "object"}}
	case 1:
		return ref(results[0])
	}
	var any []object
	for _, name := range results {
		any = append(any, ref(name))
	}
	return object{{"anyOf", any}}
}

func ref(name string) object { return object{{"$ref", "#/$defs/" + name}} }

// define returns the schema of a definition.
func (s *surface) define(d *namedType) object {
	o := object{}
	if text := paragraph(onTheWire(d.doc, d.members)); text != "" {
		o = append(o, entry{"description", text})
	}
	switch {
	case d.either != nil:
		var forms []object
		for _, f := range d.either {
			forms = append(forms, shapeSchema(f))
		}
		return append(o, entry{"anyOf", forms})
	case d.values != nil:
		var values []string
		for _, c := range d.values {
			values = append(values, c.value)
		}
		return append(o, entry{"type", "string"}, entry{"enum", values})
	case d.other != nil:
		return append(o, shapeSchema(*d.other)...)
	}
	members := object{}
	required := []string{}
	for _, m := range d.members {
		schema := shapeSchema(m.typ)
		if text := paragraph(onTheWire(m.doc, d.members)); text != "" {
			schema = append(schema, entry{"description", text})
		}
		members = append(members, entry{m.name, schema})
		if m.required {
			required = append(required, m.name)
		}
	}
	o = append(o, entry{"type", "object"}, entry{"properties", members})
	if len(required) > 0 {
		o = append(o, entry{"required", required})
	}
	if d.name == "ActivityParams" {
		o = append(o, entry{"allOf", s.dataByType()})
	}
	return o
}

// dataByType says which definition the data of an event has. An event of a type
// that is not here is from a newer daemon, and may have any data.
func (s *surface) dataByType() []object {
	var all []object
	for _, e := range s.events {
		all = append(all, object{
			{"if", object{{"properties", object{{"type", object{{"const", e.name}}}}}}},
			{"then", object{{"properties", object{{"data", ref(e.def)}}}}},
		})
	}
	return all
}

func shapeSchema(t shape) object {
	var o object
	switch t.kind {
	case isAny:
		return object{}
	case isString, isInteger, isNumber, isBoolean:
		o = object{{"type", string(t.kind)}}
	case isCount:
		o = object{{"type", "integer"}, {"minimum", 0}}
	case isBytes:
		o = object{{"type", "string"}, {"contentEncoding", "base64"}}
	case isList:
		o = object{{"type", "array"}, {"items", shapeSchema(*t.elem)}}
	case isMap:
		o = object{{"type", "object"}}
		if t.elem.kind != isAny {
			o = append(o, entry{"additionalProperties", shapeSchema(*t.elem)})
		}
	case isNamed:
		o = ref(t.name)
	}
	if t.null {
		return object{{"anyOf", []object{o, {{"type", "null"}}}}}
	}
	return slices.Clip(o)
}
