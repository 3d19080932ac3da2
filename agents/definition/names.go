package definition

// What is wrong with names, in words.

import (
	"fmt"
	"slices"
	"strings"
)

// agentName reports whether a text names an agent as another agent's file does:
// name, or folder:name for one of another workspace folder (spec 1.1).
func agentName(text string) bool {
	if i := strings.LastIndexByte(text, ':'); i > 0 {
		text = text[i+1:]
	}
	return validName(text)
}

// nameFault says why a text is no name, as the beginning of a sentence: the first
// character that does not fit, else what is wrong with its shape.
func nameFault(name string) string {
	odd := oddest(name)
	switch {
	case name == "":
		return "A name has at least one letter"
	case odd == " ":
		return "A name has no spaces"
	case odd != "" && strings.ToLower(odd) != odd:
		return "A name has no capital letters"
	case odd != "":
		return fmt.Sprintf("A name has letters from a to z, digits, - and _ alone, not “%s”", odd)
	case len(name) > maxName:
		return fmt.Sprintf("A name has at most %d characters", maxName)
	case name[0] < 'a' || name[0] > 'z':
		return "A name begins with a letter"
	}
	return "A name has single - or _ inside, none at its end and none twice in a row"
}

// oddest returns the first character that no name has, or "".
func oddest(name string) string {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return string(c)
		}
	}
	return ""
}

// given reports whether what a misspelt key k, under a path of the table, may have
// meant stands beside it, in any spelling.
// Two spellings of one field are the same field.
func (r *reader) given(k *key, under, meant string) bool {
	if r.root == nil {
		return false
	}
	at := func(name string) *Field {
		if under != "" {
			name = under + "." + name
		}
		f, _ := FieldAt(name)
		// The row itself, so that two spellings of one field are equal.
		return fieldIndex[f.Path]
	}
	holder := r.root.holderOf(k)
	return holder != nil && slices.ContainsFunc(holder.keys, func(other key) bool {
		return other.start != k.start && (other.name == meant || (at(other.name) != nil && at(other.name) == at(meant)))
	})
}

// holderOf returns the mapping below n that has a key in the place of k, or nil.
func (n *node) holderOf(k *key) *node {
	for i := range n.keys {
		if n.keys[i].start == k.start {
			return n
		}
	}
	for i := range n.items {
		if item := &n.items[i]; len(item.items) > 0 && item.start <= k.start && k.start <= item.end {
			if holder := item.holderOf(k); holder != nil {
				return holder
			}
		}
	}
	return nil
}

// versionOf makes a semantic version of a number, or "".
func versionOf(text string) string {
	for range 3 {
		if semver(text) {
			return text
		}
		text += ".0"
	}
	return ""
}
