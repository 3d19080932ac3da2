package main

import (
	"bytes"
	"fmt"
	"strings"
)

// typescript returns editors/vscode/src/protocol.ts: the types of the schema, and
// which ones belong to a method and to an event.
func (s *surface) typescript() []byte {
	var b bytes.Buffer
	b.WriteString("// Written by internal/cmd/protocoldoc from the Go types. Do not edit.\n\n")
	for _, name := range s.types.names() {
		s.writeType(&b, s.types.defs[name])
	}
	b.WriteString("/** Data of an event by its type. */\nexport interface Events {\n")
	for _, e := range s.events {
		fmt.Fprintf(&b, "\t%q: %s;\n", e.name, e.def)
	}
	b.WriteString("}\n")
	for _, f := range s.families {
		name := map[string]string{"Requests from the client": "Requests", "Requests to the client": "Questions",
			"Notifications from the client": "ClientNotifications"}[f.title]
		if name == "" {
			name = "Notifications"
		}
		fmt.Fprintf(&b, "\n/** %s. */\nexport interface %s {\n", f.title, name)
		for _, m := range f.methods {
			params, result := "undefined", "unknown"
			if m.params != "" {
				params = m.params
			}
			if len(m.results) > 0 {
				result = strings.Join(m.results, " | ")
			}
			if strings.HasSuffix(name, "Notifications") {
				fmt.Fprintf(&b, "\t%q: %s;\n", m.name, params)
			} else {
				fmt.Fprintf(&b, "\t%q: { params: %s; result: %s };\n", m.name, params, result)
			}
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

func (s *surface) writeType(b *bytes.Buffer, d *namedType) {
	if text := paragraph(onTheWire(d.doc, d.members)); text != "" {
		fmt.Fprintf(b, "/** %s */\n", text)
	}
	switch {
	case d.either != nil:
		var forms []string
		for _, f := range d.either {
			forms = append(forms, shapeType(f))
		}
		fmt.Fprintf(b, "export type %s = %s;\n\n", d.name, strings.Join(forms, " | "))
	case d.values != nil:
		var values []string
		for _, c := range d.values {
			values = append(values, fmt.Sprintf("%q", c.value))
		}
		fmt.Fprintf(b, "export type %s = %s;\n\n", d.name, strings.Join(values, " | "))
	case d.other != nil:
		fmt.Fprintf(b, "export type %s = %s;\n\n", d.name, shapeType(*d.other))
	case len(d.members) == 0:
		fmt.Fprintf(b, "export type %s = Record<string, never>;\n\n", d.name)
	default:
		fmt.Fprintf(b, "export interface %s {\n", d.name)
		for _, m := range d.members {
			optional := "?"
			if m.required {
				optional = ""
			}
			if text := paragraph(onTheWire(m.doc, d.members)); text != "" {
				fmt.Fprintf(b, "\t/** %s */\n", text)
			}
			fmt.Fprintf(b, "\t%s%s: %s;\n", m.name, optional, shapeType(m.typ))
		}
		b.WriteString("}\n\n")
	}
}

// shapeType returns a shape in TypeScript.
func shapeType(t shape) string {
	text := "unknown"
	switch t.kind {
	case isString, isBytes:
		text = "string"
	case isInteger, isNumber, isCount:
		text = "number"
	case isBoolean:
		text = "boolean"
	case isList:
		text = shapeType(*t.elem) + "[]"
	case isMap:
		text = "Record<string, " + shapeType(*t.elem) + ">"
	case isNamed:
		text = t.name
	}
	if t.null {
		text += " | null"
	}
	return text
}
