package definition

// The table of fields (spec 1.2–1.4), which completion, hover, formatting and
// "did you mean" are fed from.

import (
	"slices"
	"strings"
)

// Field is one key that the front-matter may have.
// The slices belong to the table: do not change them.
type Field struct {
	Name     string    // the last part of Path
	Path     string    // canonical: run.max_turns; handoffs[].to in each entry of a list; inputs.*.type under any key
	Aliases  []string  // other paths that are read alike
	Type     []string  // string, integer, number, boolean, duration, object, list, string[]; several: any of them
	Values   []string  // all that it may be; nil = more than can be listed
	Doc      string    // what it means, in one or two sentences
	Default  string    // as it would be written, or in words; "" = none
	Required bool      // an agent is not usable without it
	Order    int       // its place in spec 1.2, from 0, which is the order of [Fields]
	Dialects []Dialect // whose format has it; nil = ours
}

// Fields returns every field of spec 1.2 to 1.4, a nested one after what holds
// it. The caller owns the outer slice and must not change the inner ones.
func Fields() []Field { return slices.Clone(fieldTable) }

// FieldAt returns the field at a path in any of its spellings, as [Field.Path]
// writes paths. The key of a map, as in inputs.goal.type, may stand for *.
// false = no field is there. The path has [] for any entry of a list, and no
// indices.
func FieldAt(path string) (Field, bool) {
	if f, ok := fieldIndex[path]; ok {
		return *f, true
	}
	for _, any := range []string{"inputs.", "graph.state."} {
		rest, ok := strings.CutPrefix(path, any)
		if !ok {
			continue
		}
		name, tail, nested := strings.Cut(rest, ".")
		if name == "" {
			continue
		}
		path := any + "*"
		if nested {
			path += "." + tail
		}
		if f, ok := fieldIndex[path]; ok {
			return *f, true
		}
	}
	return Field{}, false
}

// fieldIndex leads from each path and alias to its row.
var fieldIndex = indexFields()

// indexFields completes the rows and indexes them. It runs once, before main.
func indexFields() map[string]*Field {
	index := make(map[string]*Field, 2*len(fieldTable))
	for i := range fieldTable {
		f := &fieldTable[i]
		f.Order = i
		f.Name = f.Path[strings.LastIndexByte(f.Path, '.')+1:]
		index[f.Path] = f
		for _, a := range f.Aliases {
			// Where two fields have one alias the first row has it.
			if _, taken := index[a]; !taken {
				index[a] = f
			}
		}
	}
	return index
}

// KeysUnder returns the keys that may stand at a path of the table: "" is the
// top, others as run, handoffs[] or inputs.*. The canonical spellings come first,
// in the table's order. The caller must not change the slice.
func KeysUnder(path string) []string { return keyIndex[path] }

// keyIndex leads from a path to the keys under it.
var keyIndex = indexKeys()

// indexKeys makes keyIndex of the rows, the canonical spellings first.
func indexKeys() map[string][]string {
	index := make(map[string][]string)
	note := func(path string) {
		parent, name := "", path
		if i := strings.LastIndexByte(path, '.'); i >= 0 {
			parent, name = path[:i], path[i+1:]
		}
		// Under * any key may stand, so there is none to suggest.
		if name != "*" {
			index[parent] = add(index[parent], name)
		}
	}
	for i := range fieldTable {
		note(fieldTable[i].Path)
	}
	for i := range fieldTable {
		for _, a := range fieldTable[i].Aliases {
			note(a)
		}
	}
	return index
}
