package tool

import (
	"path"
	"slices"
)

// Pattern is an entry of a list of tools: a canonical name, or a glob over such names as
// path.Match has them.
//
// Gives and Takes differ in what they make of a pattern that cannot be read: a list that
// gives power gives none by it, a list that takes power takes all.
type Pattern string

// Valid reports whether the pattern can be read.
func (p Pattern) Valid() bool {
	_, err := path.Match(string(p), "")
	return err == nil
}

// Gives reports whether the pattern, in a list that gives tools, is about the one of a
// name. One that cannot be read gives nothing but a tool that is called so.
func (p Pattern) Gives(name string) bool {
	ok, err := path.Match(string(p), name)
	return ok || (err != nil && string(p) == name)
}

// Takes reports whether the pattern, in a list that takes tools away or has them ask, is
// about the one of a name. One that cannot be read is about every tool.
func (p Pattern) Takes(name string) bool {
	ok, err := path.Match(string(p), name)
	return ok || err != nil
}

// AnyGives reports whether a pattern of a list gives a tool.
func AnyGives(list []string, name string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return Pattern(p).Gives(name) })
}

// AnyTakes reports whether a pattern of a list takes a tool away, or has it ask.
func AnyTakes(list []string, name string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return Pattern(p).Takes(name) })
}
