package builtin

import (
	"regexp/syntax"
	"strings"
	"unicode"
)

// literal is a text that each match of an expression holds. Go's engine takes
// a hundred times as long for a file as a search for a text does, so a file
// without it is passed over.
type literal struct {
	text string // "" = none is known; in lower case if fold
	fold bool
}

// requiredText returns the longest text that each match of pattern holds.
// Without one, and for an expression that does not parse, the literal is empty and every
// text passes.
func requiredText(pattern string) literal {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return literal{}
	}
	return longest(tree.Simplify())
}

// longest returns the longest text that each match of an expression holds. Of
// alternatives it knows none.
// A literal that is optional is none, since a match without it is possible.
func longest(re *syntax.Regexp) literal {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return literal{text: string(re.Rune)}
		}
		return longestFoldable(re.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return longest(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return longest(re.Sub[0])
		}
	// Each part of a sequence is in each match, so the longest of them may be asked for.
	case syntax.OpConcat:
		var best literal
		for _, sub := range re.Sub {
			if l := longest(sub); len(l.text) > len(best.text) {
				best = l
			}
		}
		return best
	}
	return literal{}
}

// longestFoldable returns the longest run of ASCII letters that only ASCII letters are
// folded to: k and s have foreign forms.
func longestFoldable(runes []rune) literal {
	best, from := "", 0
	for i := 0; i <= len(runes); i++ {
		if i < len(runes) && runes[i] <= unicode.MaxASCII && !strings.ContainsRune("kKsS", runes[i]) {
			continue
		}
		if i-from > len(best) {
			best = strings.ToLower(string(runes[from:i]))
		}
		from = i + 1
	}
	return literal{text: best, fold: true}
}

// in reports whether text may match.
// It never says no to a text that matches. It is asked before the regular expression,
// which costs much more.
func (l literal) in(text string) bool {
	if l.text == "" {
		return true
	}
	if !l.fold {
		return strings.Contains(text, l.text)
	}
	// The first letter in both cases is looked for, and what follows compared.
	lower, upper := l.text[0], l.text[0]
	if lower >= 'a' && lower <= 'z' {
		upper -= 'a' - 'A'
	}
	for {
		i := strings.IndexByte(text, lower)
		if upper != lower {
			end := len(text)
			if i >= 0 {
				end = i
			}
			if k := strings.IndexByte(text[:end], upper); k >= 0 {
				i = k
			}
		}
		if i < 0 || len(text)-i < len(l.text) {
			return false
		}
		if equalASCII(text[i:i+len(l.text)], l.text) {
			return true
		}
		// On by one character: the literal may begin inside of what did not match.
		text = text[i+1:]
	}
}

// equalASCII reports whether s is lower, which is in lower case, but for the
// case of ASCII letters.
func equalASCII(s, lower string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
