package tool

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// searching are the tools whose plans name the folder that they look through.
var searching = []string{"glob", "grep", "ls", "read_many_files"}

// maxAlternatives is how many patterns the braces of one may stand for.
const maxAlternatives = 256

// ValidGlob reports whether a glob can be read, and stands for no more than 256 by its
// braces: the time that it takes to match one name grows with that number.
func ValidGlob(pattern string) bool {
	return doublestar.ValidatePattern(pattern) && len(alternatives(pattern)) <= maxAlternatives
}

// words returns the words of a command that may be paths, each once: behind a wrapper
// each word begins a command of its own, so a long one stands in hundreds of them.
func (p *Plan) words() []string {
	var all []string
	known := make(map[string]bool)
	for _, words := range p.Commands {
		for _, word := range words {
			if known[word] {
				continue
			}
			known[word] = true
			if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
				word = value
			}
			if !filepath.IsAbs(word) && p.Preview.Cwd != "" {
				word = filepath.Join(p.Preview.Cwd, word)
			}
			all = append(all, word)
		}
	}
	return all
}

// matches reports whether a path is one of the rule's; with below also whether
// it lies in one, or is one in another spelling.
func (r Rule) matches(at, folder string, below bool) bool {
	elements, patterns := elementsOf(at), r.patterns(folder, below)
	if below {
		return matchFolded(patterns, elements)
	}
	return slices.ContainsFunc(patterns, func(pattern []string) bool { return matchElements(pattern, elements, false) })
}

// matchFolded reports whether a path is one of the patterns' of a rule that
// denies, or lies below one, in the spelling of either. The patterns are folded
// too.
func matchFolded(patterns [][]string, elements []string) bool {
	spellings := [][]string{elements}
	if folded := foldElements(elements); !slices.Equal(folded, elements) {
		spellings = append(spellings, folded)
	}
	for _, pattern := range patterns {
		for _, spelling := range spellings {
			if matchElements(pattern, spelling, true) {
				return true
			}
		}
	}
	return false
}

// foldElements returns the elements of a path or of a pattern as file systems
// compare them (see [fold]). Of an element with wildcards only the case goes.
func foldElements(elements []string) []string {
	all := make([]string, len(elements))
	for i, e := range elements {
		if all[i] = fold(e); strings.ContainsAny(e, `*?[{\`) {
			all[i] = strings.ToLower(e)
		}
	}
	return all
}

// reaches reports whether a path of the rule's may lie in a folder.
func (r Rule) reaches(in, folder string) bool {
	elements := elementsOf(in)
	folded := foldElements(elements)
	return slices.ContainsFunc(r.patterns(folder, true), func(pattern []string) bool {
		return mayMatchBelow(pattern, elements) || mayMatchBelow(pattern, folded)
	})
}

// patterns returns what the rule's path stands for, element by element: for a
// rule that denies in its other spellings too, and folded.
func (r Rule) patterns(folder string, denies bool) [][]string {
	spellings := []string{r.Path}
	if denies {
		spellings = append(spellings, r.Also...)
	}
	var all [][]string
	for _, spelling := range spellings {
		for _, pattern := range alternatives(spelling) {
			if !path.IsAbs(pattern) && !filepath.IsAbs(pattern) {
				pattern = path.Join(filepath.ToSlash(folder), pattern)
			}
			elements := strings.Split(path.Clean(pattern), "/")
			all = append(all, elements)
			if folded := foldElements(elements); denies && !slices.Equal(folded, elements) {
				all = append(all, folded)
			}
		}
	}
	return all
}

// elementsOf returns the elements of a path, cleaned; of an absolute one the
// first is "".
func elementsOf(at string) []string {
	return strings.Split(filepath.ToSlash(filepath.Clean(at)), "/")
}

// matchElements compares element by element; ** stands for any number. With
// below a pattern that is used up has matched.
// Where an element does not fit, only the last ** takes one more: what the ones before it
// took need not change, so the time grows with the pattern times the path.
func matchElements(pattern, at []string, below bool) bool {
	next, i := 0, 0
	last, taken := -1, 0 // the last **, and up to where it reaches
	for i < len(at) {
		switch {
		case next == len(pattern) && below:
			return true
		case next < len(pattern) && pattern[next] == "**":
			last, taken = next, i
			next++
		case next < len(pattern) && matchElement(pattern[next], at[i]):
			next, i = next+1, i+1
		case last >= 0:
			taken++
			next, i = last+1, taken
		default:
			return false
		}
	}
	for next < len(pattern) && pattern[next] == "**" {
		next++
	}
	return next == len(pattern)
}

// mayMatchBelow reports whether a pattern may match something in a folder.
func mayMatchBelow(pattern, in []string) bool {
	for i, element := range in {
		if i == len(pattern) || pattern[i] == "**" {
			return true
		}
		if !matchElement(pattern[i], element) {
			return false
		}
	}
	return true
}

// matchElement compares one element with a pattern without slashes. One that
// cannot be read matches nothing; ParseRule has refused it.
func matchElement(pattern, element string) bool {
	ok, err := doublestar.Match(pattern, element)
	return err == nil && ok
}

// alternatives returns the patterns that one with braces stands for, each
// without; more than [maxAlternatives] of them mean that there are too many.
// Braces in braces are opened by the recursion. It stops as soon as there are
// too many, so that a short pattern cannot stand for millions.
func alternatives(pattern string) []string {
	open, commas, depth := -1, []int(nil), 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			if depth++; depth == 1 {
				open = i
			}
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth = max(0, depth-1); depth != 0 || open < 0 {
				continue
			}
			var all []string
			from := open + 1
			for _, to := range append(commas, i) {
				all = append(all, alternatives(pattern[:open]+pattern[from:to]+pattern[i+1:])...)
				if len(all) > maxAlternatives {
					return all
				}
				from = to + 1
			}
			return all
		}
	}
	return []string{pattern}
}
