package mcp

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The limits of a schema, with its references put in.
const (
	maxSchema      = 64 << 10 // bytes
	maxSchemaDepth = 32
	maxSchemaNodes = 5_000
)

// plain are the words of JSON Schema that every provider takes and whose value is
// put in as it is; types are the names of types.
var (
	plain = map[string]bool{
		"title": true, "format": true, "enum": true, "required": true, "minimum": true, "maximum": true,
		"minItems": true, "maxItems": true, "minLength": true, "maxLength": true, "minProperties": true,
		"maxProperties": true,
	}
	types = map[string]bool{"string": true, "number": true, "integer": true, "boolean": true, "array": true,
		"object": true, "null": true}
)

// cleanSchema returns the input schema of a tool with what providers take: no
// references, which are put in where they are used, and no words that some
// provider refuses. One that refers to itself takes anything there. The error says
// why the tool cannot be offered.
func cleanSchema(raw []byte) ([]byte, error) {
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("its schema has more than %d KiB", maxSchema>>10)
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("its schema cannot be read: %w", err)
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, errors.New("its schema is no object")
	}
	c := cleaner{root: object, open: make(map[string]bool)}
	out := c.schema(object, 0)
	if c.err != nil {
		return nil, c.err
	}
	if kind, given := out["type"]; given && kind != "object" {
		return nil, errors.New("its schema is not that of an object")
	}
	out["type"] = "object"
	if out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	cleaned, err := json.Marshal(out, json.Deterministic(true), jsontext.EscapeForHTML(false))
	if err == nil && len(cleaned) > maxSchema {
		err = fmt.Errorf("its schema has more than %d KiB with its references put in", maxSchema>>10)
	}
	return cleaned, err
}

// cleaner makes one schema clean. Once err is set nothing it returns is of use.
type cleaner struct {
	root  map[string]any
	open  map[string]bool // references that are being put in
	nodes int
	size  int // of the words with a value, each time that they are put in
	err   error
}

// count counts a value that is put in, once more with each reference to it.
func (c *cleaner) count(value any) any {
	raw, err := json.Marshal(value)
	if c.size += len(raw); err != nil || c.size > maxSchema {
		c.err = fmt.Errorf("its schema has more than %d KiB with its references put in", maxSchema>>10)
	}
	return value
}

// schema cleans one schema. It returns an empty one, which takes anything, once
// there is an error.
// References are put in the place where they are used. One that leads into itself
// becomes a schema that takes anything: providers take no cycles.
func (c *cleaner) schema(in any, depth int) map[string]any {
	out := make(map[string]any)
	if c.nodes++; c.nodes > maxSchemaNodes || depth > maxSchemaDepth {
		c.err = errors.New("its schema is too large or too deep")
	}
	object, ok := in.(map[string]any)
	if c.err != nil || !ok { // true and false are schemas as well
		return out
	}
	if ref, ok := object["$ref"].(string); ok {
		target := c.find(ref)
		if target == nil || c.open[ref] {
			return out
		}
		// Only while it is put in: the same reference may be used at two places.
		c.open[ref] = true
		out = c.schema(target, depth+1)
		delete(c.open, ref)
	}
	for _, word := range slices.Sorted(maps.Keys(object)) { // the same for each run: what a provider caches begins with it
		value := object[word]
		switch {
		case c.err != nil:
			return out
		case word == "description":
			if text, ok := value.(string); ok {
				out[word] = c.count(description(text))
			}
		case plain[word]:
			out[word] = c.count(value)
		// Not every provider knows const; a list of one value is the same.
		case word == "const":
			out["enum"] = []any{c.count(value)}
		case word == "type":
			c.types(out, value)
		case word == "properties":
			members, _ := value.(map[string]any)
			cleaned := make(map[string]any, len(members))
			// In any order, since a map is written sorted; which error comes first does not matter.
			for name, member := range members {
				cleaned[name] = c.schema(member, depth+1)
			}
			out[word] = cleaned
		case word == "items", word == "additionalProperties":
			if flag, ok := value.(bool); ok {
				if word == "additionalProperties" {
					out[word] = flag
				}
				continue
			}
			out[word] = c.schema(value, depth+1)
		case word == "anyOf", word == "oneOf", word == "prefixItems":
			c.list(out, map[string]string{"oneOf": "anyOf"}[word], word, value, depth)
		case word == "allOf": // one after the other, as far as they do not speak of the same
			parts, _ := value.([]any)
			for _, part := range parts {
				for name, one := range c.schema(part, depth+1) {
					if _, taken := out[name]; !taken {
						out[name] = one
					}
				}
			}
		}
	}
	return out
}

// types puts the type of a schema in; of several, as a choice between them.
func (c *cleaner) types(out map[string]any, value any) {
	switch value := value.(type) {
	case string:
		if types[value] {
			out["type"] = value
		}
	case []any:
		var known []any
		for _, one := range value {
			if name, ok := one.(string); ok && types[name] {
				known = append(known, name)
			}
		}
		if len(known) > 0 {
			out["type"] = known
		}
	}
}

// list puts a list of schemas in, under word or, where as is not "", under that.
// One that is there already stays, so that of oneOf and anyOf one remains.
func (c *cleaner) list(out map[string]any, as, word string, value any, depth int) {
	if as == "" {
		as = word
	}
	parts, _ := value.([]any)
	var cleaned []any
	for _, part := range parts {
		cleaned = append(cleaned, c.schema(part, depth+1))
	}
	if len(cleaned) > 0 && out[as] == nil {
		out[as] = cleaned
	}
}

// find returns what a reference means: only what lies in the schema itself.
func (c *cleaner) find(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil // nothing is loaded (SEC-104)
	}
	var at any = c.root
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}
