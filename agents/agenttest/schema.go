package agenttest

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// schemaText is the JSON Schema of files of tests. The test of this package makes it from
// the types; docs/agent-test.schema.json is the same.
//
//go:embed agent-test.schema.json
var schemaText []byte

// schema is what the JSON Schema says of a value.
type schema struct {
	Type        any                `json:"type"` // a string, or a list of them; nil for any value
	Description string             `json:"description"`
	Enum        []string           `json:"enum"`
	Required    []string           `json:"required"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Further     json.RawMessage    `json:"additionalProperties"` // false, or the schema of each

	each *schema // Further, where it is a schema
	path string  // as in choices
}

// root is the schema, read once.
var root = sync.OnceValue(func() *schema {
	s := new(schema)
	if err := json.Unmarshal(schemaText, s); err != nil {
		panic(err) // it is part of the program
	}
	s.finish("")
	return s
})

// finish reads what further properties are, and notes paths.
func (s *schema) finish(path string) {
	s.path = path
	if len(s.Further) > 0 && s.Further[0] == '{' {
		s.each = new(schema)
		if err := json.Unmarshal(s.Further, s.each); err != nil {
			panic(err) // it is part of the program
		}
		s.each.finish(path + ".*")
	}
	for name, p := range s.Properties {
		p.finish(strings.TrimPrefix(path+"."+name, "."))
	}
	if s.Items != nil {
		s.Items.finish(path + "[]")
	}
}

// is reports whether a value of the kind fits.
func (s *schema) is(kind string) bool {
	switch t := s.Type.(type) {
	case string:
		return t == kind
	case []any:
		return slices.Contains(t, any(kind))
	}
	return true
}

// below returns the schema of a key; nil where the key is unknown or may hold anything.
func (s *schema) below(key string) *schema {
	if p := s.Properties[key]; p != nil {
		return p
	}
	return s.each
}

// kind names what a value is to be, for people.
func (s *schema) kind() string {
	switch {
	case s.is("object") && s.is("string"):
		return "any value"
	case s.is("object"):
		return "keys with values"
	case s.is("array"):
		return "a list"
	}
	return "text"
}
