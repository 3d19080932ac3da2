package definition

// The tree that both readers of front-matter give.

import "math"

// kind is the type of a YAML node.
// The zero kind is null: a node of which nothing was read is an empty value.
type kind uint8

const (
	null kind = iota
	boolean
	number
	str
	list
	mapping
)

// kindNames are what messages call the kinds.
var kindNames = [...]string{null: "empty", boolean: "a boolean", number: "a number", str: "a string",
	list: "a list", mapping: "an object"}

// node is one value of the front-matter. Offsets are bytes of the file.
// A null of a key without a value is empty, behind the colon. Trees of the
// quick reader are valid until its next text.
type node struct {
	kind       kind
	whole      bool    // a number without a fraction
	plain      bool    // a scalar without quotes
	truth      bool    // the value of a boolean
	num        float64 // the value of a number
	text       string  // the value of a string; another scalar as it is written
	start, end int
	keys       []key  // of a mapping, as long as items
	items      []node // the values of a mapping, or of a list
}

// key is a mapping's key.
// Its place includes quotes.
type key struct {
	// Without quotes.
	name       string
	start, end int
}

// get returns the value of a mapping's key, or nil.
// The result points into the tree, so a reader may change the node.
func (n *node) get(name string) *node {
	if n.kind != mapping {
		return nil
	}
	for i := range n.keys {
		if n.keys[i].name == name {
			return &n.items[i]
		}
	}
	return nil
}

// value returns n as encoding/json would have decoded it.
// Numbers are float64, and null is nil.
func (n *node) value() any {
	switch n.kind {
	case boolean:
		return n.truth
	case number:
		return n.num
	case str:
		return n.text
	case list:
		values := make([]any, len(n.items))
		for i := range n.items {
			values[i] = n.items[i].value()
		}
		return values
	case mapping:
		return n.object()
	}
	return nil
}

// object returns a mapping as encoding/json would have decoded it.
func (n *node) object() map[string]any {
	values := make(map[string]any, len(n.items))
	for i := range n.items {
		values[n.keys[i].name] = n.items[i].value()
	}
	return values
}

// resolve gives a plain scalar the type that YAML 1.2's core schema gives it.
// It reports false where it is not sure, which only the fast reader may meet.
// Where it is sure it agrees with the YAML parser (FuzzFastIsExact). Signs and dots at the
// start are left to the parser: +1, -.5 and .inf are numbers there.
func resolve(n *node) bool {
	s := n.text
	n.kind, n.plain = str, true
	if s == "" {
		n.kind = null
		return true
	}
	switch s[0] {
	case '~':
		if s == "~" {
			n.kind = null
		}
		return true
	case 'n', 'N':
		if s == "null" || s == "Null" || s == "NULL" {
			n.kind = null
		}
		return true
	case 't', 'T':
		if s == "true" || s == "True" || s == "TRUE" {
			n.kind, n.truth = boolean, true
		}
		return true
	case 'f', 'F':
		if s == "false" || s == "False" || s == "FALSE" {
			n.kind = boolean
		}
		return true
	case '+', '-', '.':
		return false
	}
	if s[0] < '0' || s[0] > '9' {
		return true
	}
	return resolveNumber(n)
}

// resolveNumber decides about a scalar that starts with a digit: plain decimal
// numbers and texts that cannot be numbers; it is not sure of anything else.
// More than 15 digits are left to the parser, as a float64 may not hold them.
func resolveNumber(n *node) bool {
	s := n.text
	value, scale, digits := 0.0, 1.0, 0
	dot := -1
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			value = value*10 + float64(c-'0')
			digits++
			if dot >= 0 {
				scale *= 10
			}
		case c == '.' && dot < 0:
			dot = i
		case c == ' ' || c == '/' || c == '%' || c == '(' || c == '$':
			return true
		default:
			return false
		}
	}
	if digits > 15 || dot == len(s)-1 || (s[0] == '0' && len(s) > 1 && dot != 1) {
		return false
	}
	// Both are whole and exact as float64, so the quotient is what strconv would give.
	n.kind, n.num, n.whole = number, value/scale, dot < 0
	return true
}

// integral reports whether a number has no fraction and fits an int.
// The bound is that of whole numbers in a float64.
func (n *node) integral() bool {
	return n.kind == number && n.num == math.Trunc(n.num) && math.Abs(n.num) < 1<<53
}
