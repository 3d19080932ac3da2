// Package pattern keeps regular expressions that stand in files from costing more
// than they are worth: a kilobyte of them can ask for gigabytes. It imports
// nothing of this module.
//
// Check is asked before a pattern is compiled, wherever one comes out of a file: of an
// agent, of settings, in a condition. Go's engine runs in time linear in the text, so
// it is only making a pattern that may cost much. All of it is safe for concurrent use.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Longest is how many bytes a pattern may have (SEC-123).
const Longest = 1 << 10

// PerFile is how large all patterns of one file may be together, as [Size] has it.
const PerFile = 10_000

// maxSteps is how many steps a pattern may compile to, and maxSize how large it may be.
const (
	maxSteps = 5000
	maxSize  = PerFile / 4
)

// Error says why a pattern is refused: What is said of it, and what to Do, each
// without a full stop. It is for whoever wrote the pattern.
type Error struct {
	What, Do  string
	NoPattern bool // it has not the syntax of one, and would not compile
}

// Error returns both in one clause.
func (e *Error) Error() string { return "the pattern " + e.What + "; " + e.Do }

// Size is what a pattern comes to.
type Size struct {
	Steps int // it compiles to about so many, of which a thousand take some 200 µs
	Parse int // its text, its classes, and the characters of wide ranges where case does not count
}

// Check parses a pattern of RE2's syntax, without compiling it, and says why it is
// refused; nil for one that may be compiled. Size is right also of one that is refused
// for what comes after it, so that the sum of a file can be held against [PerFile]; 0
// for one that is too long. It takes at most some milliseconds itself: what the parser
// would be slow for is estimated from the text before it is parsed.
func Check(text string) (Size, *Error) {
	if len(text) > Longest {
		return Size{}, &Error{What: fmt.Sprintf("is longer than %d bytes", Longest), Do: "make it shorter"}
	}
	size := Size{Parse: 1 + len(text)/4 + wideRanges(text)}
	if size.Parse > maxSize {
		return size, tooManyClasses
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err == nil {
		size.Parse += classes(re)
		switch size.Steps = steps(re); {
		case size.Parse > maxSize:
			return size, tooManyClasses
		case size.Steps > maxSteps:
			return size, &Error{What: "becomes too large by what it repeats", Do: "repeat less, or use * or +"}
		}
		return size, nil
	}
	reason := "it is none"
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
		reason = fmt.Sprintf("%s: %s", bad.Code, bad.Expr)
	}
	return size, &Error{fmt.Sprintf("does not compile (%s)", reason), "patterns have RE2's syntax", true}
}

var tooManyClasses = &Error{What: "has too many classes of characters", Do: `write fewer of \p{…} and of wide ranges`}

// wideRanges is how large the ranges up to characters that are not ASCII are in a pattern
// in which case does not count somewhere: the parser looks at each character of them.
func wideRanges(text string) (size int) {
	if !folding.MatchString(text) {
		return 0
	}
	for _, m := range wideRange.FindAllStringSubmatch(text, -1) {
		low, _ := utf8.DecodeRuneInString(m[1])
		high, _ := utf8.DecodeRuneInString(m[3])
		if m[1] == "" {
			low = 0
		}
		if m[2] != "" {
			n, err := strconv.ParseInt(m[2], 16, 32)
			if high = rune(n); err != nil {
				high = unicode.MaxRune
			}
		}
		size += int(max(0, min(high, lastFolded)-low)) / 64
	}
	return size
}

var (
	folding   = regexp.MustCompile(`\(\?[msU-]*i`)
	wideRange = regexp.MustCompile(`([^\x00-\x7F]?)-(?:\\x\{([^}]*)\}|([^\x00-\x7F]))`)
)

// classes is how large the classes of a pattern are.
func classes(re *syntax.Regexp) (size int) {
	if re.Op == syntax.OpCharClass {
		size = len(re.Rune) / 16
	}
	for _, sub := range re.Sub {
		size += classes(sub)
	}
	return size
}

// lastFolded is the last character that has another case.
var lastFolded = rune(unicode.CaseRanges[len(unicode.CaseRanges)-1].Hi)

// steps is about how many steps a pattern compiles to; large classes count for
// more. It stops counting a little over [maxSteps].
func steps(re *syntax.Regexp) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 32
	}
	for _, sub := range re.Sub {
		n = min(n+steps(sub), 2*maxSteps)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 2*maxSteps)
}
