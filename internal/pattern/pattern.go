// Package pattern keeps regular expressions that stand in files from costing more
// than they are worth: a kilobyte of them can ask for gigabytes. It imports
// nothing of this module.
package pattern

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
type Error struct{ What, Do string }

// Error returns both in one clause.
func (e *Error) Error() string { return "the pattern " + e.What + "; " + e.Do }

// Check parses a pattern of RE2's syntax, without compiling it, and says why it is
// refused; nil for one that may be compiled.
func Check(text string) *Error {
	if len(text) > Longest {
		return &Error{fmt.Sprintf("is longer than %d bytes", Longest), "make it shorter"}
	}
	if Cost(text) > onePattern {
		return &Error{"has too many classes of characters", `write fewer of \p{…} and of wide ranges`}
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		reason := "it is none"
		if bad, ok := errors.AsType[*syntax.Error](err); ok {
			reason = fmt.Sprintf("%s: %s", bad.Code, bad.Expr)
		}
		return &Error{fmt.Sprintf("does not compile (%s)", reason), "patterns have RE2's syntax"}
	}
	if n := size(re); n > maxSize {
		return &Error{"becomes too large by what it repeats", "repeat less, or use * or +"}
	}
	return nil
}

// Cost is about how many microseconds a pattern, or a text that holds patterns,
// takes to parse at most, from its bytes alone.
func Cost(text string) int {
	cost := len(text) / 2
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == 'p' || text[i+1] == 'P'):
			cost += 70
		case text[i] == '-' && i > 0 && i+1 < len(text) && (text[i+1] == '\\' || text[i+1] >= utf8.RuneSelf):
			// Where case does not count, each character of a range is looked at.
			cost += max(0, highest(text[i+1:])-lowest(text[:i])) / 64
		}
	}
	return cost
}

// highest is the character that a text begins with, or the escape \x{…}.
func highest(text string) int {
	if rest, ok := strings.CutPrefix(text, `\x{`); ok {
		digits, _, _ := strings.Cut(rest[:min(len(rest), 9)], "}")
		return hex(digits, unicode.MaxRune)
	}
	c, _ := utf8.DecodeRuneInString(text)
	return int(c)
}

// lowest is the character that a text ends with, or 0 where that is not plain.
func lowest(text string) int {
	if head, ok := strings.CutSuffix(text, "}"); ok {
		head = head[max(0, len(head)-9):]
		if i := strings.LastIndex(head, `\x{`); i >= 0 {
			return hex(head[i+3:], 0)
		}
		return 0
	}
	c, _ := utf8.DecodeLastRuneInString(text)
	if c < utf8.RuneSelf || c == utf8.RuneError {
		return 0
	}
	return int(c)
}

func hex(digits string, otherwise int) int {
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || n > unicode.MaxRune {
		return otherwise
	}
	return int(n)
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
