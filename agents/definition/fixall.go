package definition

import (
	"slices"
)

// maxAtOnce is how many fixes are applied together.
// Each is compared with the places of those before it; the others wait for the next round.
const maxAtOnce = 500

// maxRounds is how often [FixAll] looks again at what it has made.
// What one round leaves, as the second of two fixes for one place, the next one can make.
const maxRounds = 16

// FixAll applies every fix that is sure and returns the text, which is src's own
// where there is none. What it leaves says the same, and has no error that src
// has not.
// src.Data is not changed. It parses the text at most 64 times, so it takes that
// many times what Parse does for a file with many findings.
// TestFixAllSaysTheSame holds that the definition stays the same.
func FixAll(src Source) string {
	text := string(src.Data)
	d, tries := Parse(src), maxTries
	for range maxRounds {
		fixes := sure(src.Path, text, d.Problems)
		if len(fixes) == 0 {
			break
		}
		next, after := apply(src, text, d, fixes, &tries)
		// Every fix that is left would do harm, or no tries are left.
		if next == text {
			break
		}
		text, d = next, after
	}
	return text
}

// sure returns the fixes of problems that are sure, without those that concern a
// part of the text that one before them does.
//
// Of two fixes for one place the first problem's is taken; the other has its turn in the
// next round.
func sure(path, text string, problems []Problem) []Fix {
	tree, _ := ReadTree(path, text)
	index := NewIndex(text)
	var fixes []Fix
	var taken []Range
	for _, p := range problems {
		if len(fixes) == maxAtOnce {
			break
		}
		for _, fix := range tree.Fixes(index, path, p) {
			if !fix.Sure || slices.ContainsFunc(fix.Edits, func(e Edit) bool {
				return slices.ContainsFunc(taken,
					e.Range.overlaps)
			}) {
				continue
			}
			for _, e := range fix.Edits {
				taken = append(taken, e.Range)
			}
			fixes = append(fixes, fix)
			break
		}
	}
	return fixes
}

// overlaps reports whether two ranges share more than an end. Two that are the
// same do, also without a text.
func (r Range) overlaps(other Range) bool {
	return r == other || (before(r.Start, other.End) && before(other.Start, r.End))
}

// before reports whether a position comes before another.
func before(a, b Position) bool {
	return a.Line < b.Line || (a.Line == b.Line && a.Character < b.Character)
}

// maxTries is how often one call of [FixAll] parses a text.
const maxTries = 64

// apply applies fixes to the text that d was parsed from, and parses what comes
// of it, if there are tries left. Where all together are worse, it applies a part
// of them that is not; where there is none, text and d are returned.
// The fixes are halved until one part does no harm, so that one bad fix does not keep the
// others from being made.
func apply(src Source, text string, d *Definition, fixes []Fix, tries *int) (string, *Definition) {
	if *tries--; *tries < 0 {
		return text, d
	}
	var edits []Edit
	for _, fix := range fixes {
		edits = append(edits, fix.Edits...)
	}
	next := Apply(text, edits)
	src.Data = []byte(next)
	after := Parse(src)
	switch half := len(fixes) / 2; {
	case !Worse(d, after):
		return next, after
	case half == 0:
		return text, d
	default:
		if next, after := apply(src, text, d, fixes[:half], tries); next != text {
			return next, after
		}
		return apply(src, text, d, fixes[half:], tries)
	}
}

// Worse reports whether there are more errors of one code after a change.
// It compares numbers of errors, not the errors.
func Worse(d, after *Definition) bool {
	count := make(map[string]int)
	for _, p := range d.Problems {
		if p.Severity == Error {
			count[p.Code]++
		}
	}
	for _, p := range after.Problems {
		if p.Severity == Error {
			if count[p.Code]--; count[p.Code] < 0 {
				return true
			}
		}
	}
	return false
}
