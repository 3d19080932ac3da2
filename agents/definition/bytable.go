package definition

// Fields of which nothing is kept yet: what the table of fields says is checked.

import (
	"fmt"
	"math"
	"slices"
)

// byTable checks an object's keys by their rows in the table of fields.
// Files of other tools are not checked so: their keys of the same name may mean something
// else.
func (r *reader) byTable(v *node, path string) {
	if !r.shape(v, path, mapping) || r.Dialect != Agentls {
		return
	}
	for i := range v.keys {
		k, n := &v.keys[i], &v.items[i]
		r.trimSmartQuotes(n)
		name := path + "." + k.name
		f := fieldIndex[name]
		if f == nil {
			r.unknown(k, path+".", path)
			continue
		}
		r.byRow(f, n)
	}
}

// byRow checks one value by the row of its field.
// Fields that have a reader of their own are not read by it.
// It only judges: the value is kept nowhere.
func (r *reader) byRow(f *Field, n *node) {
	// Fields that are read by their rows have one type each.
	switch f.Type[0] {
	case "boolean":
		var on bool
		r.boolField(n, f.Path, &on)
	case "integer":
		// All integers of these fields are at least 1, and all numbers are from 0 to 1.
		r.intField(n, f.Path, 1, math.MaxInt32)
	case "number":
		r.floatField(n, f.Path, 0, 1)
	case "string":
		var text string
		if r.stringField(n, f.Path, &text) {
			r.oneOfRow(f, n)
		}
	case "string[]":
		r.strings(n, f.Path)
		for i := range n.items {
			if n.kind == list && n.items[i].kind == str && n.items[i].text != "" {
				r.oneOfRow(f, &n.items[i])
			}
		}
	case "object":
		if KeysUnder(f.Path) != nil {
			r.byTable(n, f.Path)
		} else {
			r.shape(n, f.Path, mapping)
		}
	}
}

// elsewhere are values of other versions, by the field that may have them: the
// spellings of spec 1.2, read as one of ours, and those that are not here yet.
var elsewhere = map[string][2][]string{
	"tracing.backend":          {{"opentelemetry"}, nil},
	"memory.backend":           {nil, {"vertex", "pinecone"}},
	"memory.long_term.backend": {nil, {"vertex", "pinecone"}},
}

// oneOfRow checks a text by the values of its field's row.
func (r *reader) oneOfRow(f *Field, n *node) {
	if f.Values == nil || slices.Contains(f.Values, n.text) || slices.Contains(elsewhere[f.Path][0], n.text) {
		return
	}
	values := either(f.Values, nil)
	if slices.Contains(elsewhere[f.Path][1], n.text) {
		r.at(n, "agent/type", Warning, "%s: %s is not in this version; write %s.", f.Path, n.text, values)
		return
	}
	r.oneOf(n, f.Path, "%s", fmt.Sprintf("%s must be %s.", f.Path, values))
}

// stateKeys reads memory.session. What is no list of texts still restricts: to nothing.
//
// A nil StateKeys restricts nothing, an empty one allows no key.
func (r *reader) stateKeys(v *node) {
	keys := v.get("session")
	if v.kind != mapping || keys == nil || keys.kind == null {
		return
	}
	r.StateKeys = []string{}
	for i := range keys.items {
		if n := &keys.items[i]; keys.kind == list && n.kind == str {
			r.StateKeys = append(r.StateKeys, n.text)
		}
	}
}
