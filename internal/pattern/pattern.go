// Package pattern keeps regular expressions that stand in files from costing more
// than they are worth: a kilobyte of them can ask for gigabytes. It imports
// nothing of this module.
package pattern

import (
	"errors"
	"fmt"
	"regexp/syntax"
)

// Longest is how many bytes a pattern may have (SEC-123).
const Longest = 1 << 10

// PerFile is how much [Cost] all patterns of one file may have together: some
// milliseconds.
const PerFile = 10_000

// maxSize is how many steps a pattern may compile to, and onePattern what it may
// cost to parse.
const (
	maxSize    = 5000
	onePattern = PerFile / 4
)

// Error says why a pattern is refused: What is said of it, and what to Do, each
// without a full stop.
type Error struct {
	What, Do  string
	NoPattern bool // it has not the syntax of one, and would not compile
}

// Error returns both in one clause.
func (e *Error) Error() string { return "the pattern " + e.What + "; " + e.Do }

// Check parses a pattern of RE2's syntax, without compiling it, and says why it is
// refused; nil for one that may be compiled. Steps is about how many steps that
// comes to, of which a thousand take some 200 µs.
func Check(text string) (steps int, bad *Error) {
	if len(text) > Longest {
		return 0, &Error{What: fmt.Sprintf("is longer than %d bytes", Longest), Do: "make it shorter"}
	}
	if Cost(text) > onePattern {
		return 0, &Error{What: "has too many classes of characters", Do: `write fewer of \p{…} and of wide ranges`}
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		reason := "it is none"
		if bad, ok := errors.AsType[*syntax.Error](err); ok {
			reason = fmt.Sprintf("%s: %s", bad.Code, bad.Expr)
		}
		return 0, &Error{fmt.Sprintf("does not compile (%s)", reason), "patterns have RE2's syntax", true}
	}
	n := size(re)
	if n > maxSize {
		return n, &Error{What: "becomes too large by what it repeats", Do: "repeat less, or use * or +"}
	}
	return n, nil
}

// size is about how many steps a pattern compiles to; large classes count for
// more. It stops counting a little over [maxSize].
func size(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 32
	}
	for _, sub := range re.Sub {
		n = min(n+size(sub), 2*maxSize)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 2*maxSize)
}
