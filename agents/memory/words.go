package memory

import (
	"slices"
	"strings"
	"unicode"

	"cmp"
)

// maxWords is how many words of a query count. More would only make a query slow: each
// costs a search.
const maxWords = 64

// Words returns the words of a text, each once, in the order in which they first stand
// there: lower case, without the s of a plural. In scripts without spaces each character
// is one.
// The stores' indexes have words as this makes them: a change of it needs another index.
func Words(text string) []string {
	var all []string
	seen := make(map[string]bool)
	for _, word := range split(text) {
		if !seen[word] {
			seen[word] = true
			all = append(all, word)
		}
	}
	return all
}

// QueryWords are the words of a question.
// They are the first 64, since each one costs the store a look-up.
func QueryWords(text string) []string {
	all := Words(text)
	return all[:min(len(all), maxWords)]
}

// split returns the words of a text in order, as often as they are there.
//
// Words are in lower case, without the s of a plural. Characters of scripts that have no
// blanks between words stand alone.
func split(text string) []string {
	var all []string
	begin := -1
	end := func(at int) {
		if begin >= 0 {
			word := text[begin:at]
			if len(word) > 3 && !strings.HasSuffix(word, "ss") {
				word = strings.TrimSuffix(word, "s")
			}
			all, begin = append(all, word), -1
		}
	}
	text = strings.ToLower(text)
	for i, r := range text {
		switch {
		case alone(r):
			end(i)
			all = append(all, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if begin < 0 {
				begin = i
			}
		default:
			end(i)
		}
	}
	end(len(text))
	return all
}

// alone reports a character of a script that is written without spaces.
func alone(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// WordsOf returns the words by which a record is found.
func WordsOf(r Record) []string { return Words(r.Key + " " + r.Content) }

// WordScore is which part of a query's words a record has.
// It is from 0 to 1; 0 where the query has no words. query is as [QueryWords] makes it.
func WordScore(query []string, r Record) float64 {
	if len(query) == 0 {
		return 0
	}
	has := WordsOf(r)
	n := 0
	for _, word := range query {
		if slices.Contains(has, word) {
			n++
		}
	}
	return float64(n) / float64(len(query))
}

// Best puts matches in order, the best first and of equal ones the newest, and keeps
// those that a query takes.
// The slice that is given is used for the result, and must not be used afterwards.
// Matches with a score of 0 are left out whatever the threshold.
func Best(all []Match, q Query) []Match {
	all = slices.DeleteFunc(all, func(m Match) bool { return m.Score < q.Threshold || m.Score <= 0 })
	slices.SortStableFunc(all, compareMatches)
	return all[:min(len(all), max(q.Limit, 0))]
}

// compareMatches orders the best first, and of equal ones the newest.
func compareMatches(a, b Match) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), b.Time.Compare(a.Time))
}
