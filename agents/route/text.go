package route

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold returns a text in one form for each way to write it: compatible characters are
// one, and case does not count.
func fold(text string) string { return cases.Fold().String(norm.NFKC.String(text)) }

// isASCII reports a text for which lower case is enough.
func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// parts returns the words of a text in lower case, those of identifiers one by one:
// TypeError2 is type error 2.
func parts(text string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(text)
	for i, r := range runes {
		isLetter, isDigit := unicode.IsLetter(r), unicode.IsDigit(r)
		if !isLetter && !isDigit {
			end()
			continue
		}
		if i > 0 && len(word) > 0 {
			before := runes[i-1]
			// fooBar, and HTTPServer, whose last capital begins the next word.
			rises := unicode.IsUpper(r) && unicode.IsLower(before)
			begins := unicode.IsUpper(r) && unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if rises || begins || isDigit != unicode.IsDigit(before) {
				end()
			}
		}
		word = append(word, r)
	}
	end()
	return out
}

// wholes returns the words of a text in lower case, identifiers whole.
func wholes(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsDigit(r) && r != '_'
	})
}

// forms returns a word with its simple English inflections. It is for keywords, so a
// form too many costs nothing but space; irregular ones are left to the author of the
// file.
func forms(word string) []string {
	out := []string{word, word + "s"}
	n := len(word)
	if n < 3 {
		return out
	}
	stem := word[:n-1]
	switch last := word[n-1]; {
	case last == 'e':
		return append(out, word+"d", stem+"ing")
	case last == 'y' && !isVowel(word[n-2]):
		return append(out, stem+"ies", stem+"ied", word+"ing")
	case last == 's' || last == 'x' || last == 'z' || strings.HasSuffix(word, "ch") || strings.HasSuffix(word, "sh"):
		out = append(out, word+"es")
	// stop, stopped: but not every such word doubles its end, so both spellings are kept.
	case !isVowel(last) && isVowel(word[n-2]) && !isVowel(word[n-3]):
		out = append(out, word+string(last)+"ed", word+string(last)+"ing")
	}
	return append(out, word+"ed", word+"ing")
}

// isVowel reports one of aeiou.
func isVowel(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }

// How much features count, measured on CLINC150 (docs/routing.md).
const (
	wordWeight = 1.0
	pairWeight = 0.5
	gramWeight = 0.3
	gramLength = 4
)

// maxWords is how many words of a text have features: those of its beginning.
const maxWords = 500

// The kinds of features, which begin their keys.
const (
	wordKind = 14695981039346656037 + iota // where FNV-1a begins
	pairKind
	gramKind
	unpartedKind
)

// extend returns the key of a feature with more of its text (FNV-1a).
func extend(key uint64, text string) uint64 {
	for i := range len(text) {
		key = (key ^ uint64(text[i])) * 1099511628211
	}
	return key
}

// eachFeature calls add for each feature of a text: its words, pairs of words, and, so
// that forms of a word and misspelt ones are alike, sequences of characters. Of scripts
// that do not part words, sequences of one to three characters. A feature that is there
// more than once is given more than once.
func eachFeature(text string, add func(key uint64, weight float32)) {
	if isASCII(text) {
		text = strings.ToLower(text)
	} else {
		text = fold(text)
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsDigit(r) && r != '\''
	})
	before := "^"
	for _, word := range words[:min(len(words), maxWords)] {
		if isUnparted(word) {
			for length := 1; length <= 3; length++ {
				eachGram(word, length, func(gram string) { add(extend(unpartedKind, gram), wordWeight/2) })
			}
			before = "^"
			continue
		}
		add(extend(wordKind, word), wordWeight)
		add(extend(extend(extend(pairKind, before), " "), word), pairWeight)
		before = word
		eachGram("_"+word+"_", gramLength, func(gram string) { add(extend(gramKind, gram), gramWeight) })
	}
}

// eachGram calls f for each sequence of so many characters.
func eachGram(text string, length int, f func(gram string)) {
	if isASCII(text) {
		for i := 0; i+length <= len(text); i++ {
			f(text[i : i+length])
		}
		return
	}
	runes := []rune(text)
	for i := 0; i+length <= len(runes); i++ {
		f(string(runes[i : i+length]))
	}
}

// isUnparted reports whether a word is of a script that does not part words by spaces.
func isUnparted(word string) bool {
	for _, r := range word {
		if r >= 0x80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Khmer,
			unicode.Lao, unicode.Myanmar) {
			return true
		}
	}
	return false
}
